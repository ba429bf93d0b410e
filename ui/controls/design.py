"""The controls of the study and the model: records, features, loss, mechanism, penalty, level."""

from __future__ import annotations

import streamlit as st

from ui.controls import hints
from ui.controls.paired import Apply, compact, log_grid, paired
from ui.controls.shape import shape_control, update_features
from ui.kit.bound import among, bound
from ui.session import state, text
from ui.session.choices import (
    CALIBRATIONS,
    DEFINITIONS,
    LOSSES,
    SMOOTHINGS,
    TARGETS,
    labels_of,
)
from ui.session.settings import Settings
from ui.session.typed import Number


def n_control(settings: Settings, n_table: int) -> None:
    """Number of records."""
    paired(
        "n",
        "Records n",
        settings.n,
        log_grid("n", whole=True),
        _set_n,
        note=text.n_sentence(settings, n_table, with_help=state.is_help_on()),
        help=N_HELP,
    )


N_HELP = "A free number: the shape of the data comes from the table, its size from here."
_C_HELP = "c·|θ|² is added to the average loss; the intercept is penalised like every coefficient."
_H_HELP = "The loss of an SVM has a kink, which privacy needs rounded."


def _set_n(value: Number) -> None:
    state.update(n=int(value))


def d_control(settings: Settings, names: tuple[str, ...]) -> None:
    """Number of features, or which ones."""
    chosen = n_features(settings, names)
    paired(
        "d",
        "Features d",
        chosen,
        feature_counts(names),
        take_features(names),
        note=hints.words(text.d_sentence(chosen + 1)),
        help=_D_HELP,
    )
    names_control(settings, names)


_D_HELP = "The first d of the list in “Features by name”, unless you choose there."


def n_features(settings: Settings, names: tuple[str, ...]) -> int:
    """How many features are chosen, by number or by name."""
    return len(settings.names) or min(settings.d, len(names))


def feature_counts(names: tuple[str, ...]) -> list[Number]:
    """How many can be."""
    return list(range(1, len(names) + 1)) if len(names) > 1 else [1, 2]


def take_features(names: tuple[str, ...]) -> Apply:
    """What sets how many of a table's features are chosen."""
    return lambda v: update_features(d=min(int(v), len(names)), names=())


def names_control(settings: Settings, names: tuple[str, ...]) -> None:
    """Which features, by name."""
    st.multiselect(
        "Features by name",
        names,
        **bound(
            "names",
            [n for n in settings.names if n in names],
            lambda picked: update_features(names=tuple(n for n in names if n in picked)),
        ),
        placeholder="the first d of the list",
    )


def quick_controls(settings: Settings, names: tuple[str, ...]) -> None:
    """n, d, c and, for an SVM, h, side by side; a regression of a number has no penalty."""
    is_number = settings.outcome is not None
    columns = iter(st.columns(2 if is_number else 4 if settings.has_width else 3, gap="medium"))
    with next(columns):
        grid = log_grid("n", whole=True)
        compact("n", "Records n", settings.n, grid, _set_n, help=N_HELP)
    with next(columns):
        chosen = n_features(settings, names)
        counts, take = feature_counts(names), take_features(names)
        help = f"{text.d_sentence(chosen + 1)} {_D_HELP}"
        compact("d", "Features d", chosen, counts, take, help=help)
    if is_number:
        return
    with next(columns):
        is_chosen = settings.penalty == "chosen"
        compact(
            "c",
            "Penalty c, chosen" if is_chosen else "Penalty c",
            settings.c,
            log_grid("c"),
            lambda v: state.update(c=float(v)),
            help=f"{text.c_sentence(settings)} {_C_HELP}",
            beside=None if is_chosen or settings.is_penalised else _choose_penalty,
        )
    if settings.has_width:
        with next(columns):
            compact(
                "h",
                "SVM width h",
                settings.h,
                log_grid("h"),
                lambda v: state.update(h=float(v)),
                help=f"{text.h_sentence(settings)} {_H_HELP}",
            )


def _choose_penalty() -> None:
    st.button(
        "Choose it for me",
        key="choose_penalty",
        type="tertiary",
        on_click=lambda: state.update(penalty="chosen"),
        help="As small as budget and records allow without more noise.",
    )


LEVELS: list[Number] = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999]


def model_controls(settings: Settings) -> None:
    """c, h and the confidence level."""
    paired(
        "c",
        "Penalty c",
        settings.c,
        log_grid("c"),
        lambda v: state.update(c=float(v)),
        note=text.c_sentence(settings),
        help=_C_HELP,
    )
    if settings.has_width:
        smoothing_control()
        paired(
            "h",
            SMOOTHINGS[settings.smoothing].width,
            settings.h,
            log_grid("h"),
            lambda v: state.update(h=float(v)),
            note=hints.words(text.h_sentence(settings)),
            help=_H_HELP,
        )
    level_control(settings)


def level_control(settings: Settings) -> None:
    """The confidence level."""
    paired(
        "level",
        "Confidence level",
        settings.level,
        LEVELS,
        lambda v: state.update(level=float(v)),
        note=text.level_sentence(settings),
        help="Higher levels give longer intervals.",
    )


def smoothing_control() -> None:
    """How the kink of the SVM is rounded."""
    st.segmented_control(
        "Smoothing of the SVM",
        **among(labels_of(SMOOTHINGS)),
        **state.bound("smoothing"),
        help="Both round the kink over the same band. At the same h the smoothed hinge needs 1.5 "
        "times as much noise on the Hessian.",
    )


def target_control() -> None:
    """What the intervals are for."""
    st.radio(
        "Target",
        **among(labels_of(TARGETS)),
        **state.bound("target"),
        help=text.TARGET_HELP,
    )


def _pills(
    field: str, label: str, options: dict[str, str], chosen: tuple[str, ...], help: str
) -> None:
    def take(picked: list[str]) -> None:
        if picked:  # at least one stays: an empty choice would leave nothing to draw
            state.update(**{field: tuple(o for o in options if o in picked)})

    st.pills(
        label,
        selection_mode="multi",
        **among(options),
        **bound(field, list(chosen), take),
        help=help,
    )


_LOSS_HELP = "Logistic regression gives odds; the SVM does not."
MECHANISM_HELP = (
    "Noise is added to the problem before it is solved (objective), to the answer (output), or to "
    "each of a few steps towards it (Newton)."
)


def combination_controls(settings: Settings) -> None:
    """Loss, mechanism and definition; every combination of what is chosen is drawn."""
    loss_control(settings)
    mechanism_control(settings)
    definition_control(settings)
    method_control(settings)


def loss_control(settings: Settings) -> None:
    """Which models."""
    _pills("losses", "Model", labels_of(LOSSES), settings.losses, _LOSS_HELP)


def mechanism_control(settings: Settings) -> None:
    """Which mechanisms."""
    offered = labels_of(settings.offered_mechanisms)
    _pills("mechanisms", "Mechanism", offered, settings.mechanisms, MECHANISM_HELP)


def definition_control(settings: Settings) -> None:
    """Which definitions are drawn, and how their budgets are paired."""
    _pills(
        "definitions",
        "Definitions compared",
        labels_of(DEFINITIONS),
        settings.definitions,
        "Choose both to see them side by side.",
    )
    if settings.is_compared:
        words = {"guarantee": "the same (ε, δ)", "paper": "the paper's rule ρ = ε²/2, part by part"}
        st.radio("The two definitions are paired by", **among(words), **state.bound("pairing"))


def method_control(settings: Settings) -> None:
    """How the intervals are made."""
    _pills(
        "calibrations",
        "Interval method",
        labels_of(CALIBRATIONS),
        settings.calibrations,
        text.CALIBRATION_HELP,
    )
    _reviewed_toggle(settings)
    shape_control(settings)


def _reviewed_toggle(settings: Settings) -> None:
    """Where a chosen combination rests on a result that no journal has reviewed."""
    if not any(design.status for design in settings.usual("results").designs()):
        return
    st.toggle(
        "Only peer-reviewed privacy results",
        **bound(
            "reviewed",
            settings.results == "reviewed",
            lambda is_on: state.update(results="reviewed" if is_on else "all"),
        ),
        help="Sharp objective perturbation under zCDP uses Gaussian noise, by a theorem of this "
        "project. Its proof stands on the page About; "
        "no journal has reviewed it yet.",
    )


def design_controls(settings: Settings) -> None:
    """One loss, one mechanism and one calibration; the definition is the budget's own."""
    first = settings.combinations[0]
    _one_of("loss", "Model", labels_of(LOSSES), first.loss, "losses", _LOSS_HELP)
    _one_of(
        "mechanism",
        "Mechanism",
        labels_of(settings.offered_mechanisms),
        first.mechanism,
        "mechanisms",
        MECHANISM_HELP,
    )
    _one_of(
        "calibration",
        "Interval method",
        labels_of(CALIBRATIONS),
        first.calibration,
        "calibrations",
        text.CALIBRATION_HELP,
    )
    _reviewed_toggle(settings)


def _one_of(
    key: str, label: str, options: dict[str, str], chosen: str, field: str, help: str
) -> None:
    binding = bound(key, chosen, lambda picked: state.update(**{field: (picked,)}))
    st.segmented_control(label, **among(options), **binding, help=help)
