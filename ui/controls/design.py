"""The controls of the study and the model: records, features, loss, mechanism, penalty, level."""

from __future__ import annotations

import streamlit as st

from dpci_core.mechanisms.mechanism import mechanism_named
from ui.controls import hints
from ui.controls.paired import Number, log_grid, paired
from ui.kit.bound import among, bound
from ui.session import state, text
from ui.session.settings import CHOICES, Settings


def n_control(settings: Settings, n_table: int) -> None:
    """Number of records."""
    paired(
        "n",
        "Records n",
        settings.n,
        log_grid("n", whole=True),
        lambda v: state.update(n=int(v)),
        note=text.n_sentence(settings, n_table, with_help=state.is_help_on()),
        help="A free number: the shape of the data comes from the table, its size from here.",
    )


def d_control(settings: Settings, names: tuple[str, ...]) -> None:
    """Number of features, or which ones."""
    chosen = len(settings.names) or min(settings.d, len(names))
    paired(
        "d",
        "Features d",
        chosen,
        list(range(1, len(names) + 1)) if len(names) > 1 else [1, 2],
        lambda v: state.update(d=min(int(v), len(names)), names=()),
        note=hints.words(text.d_sentence(chosen + 1)),
        help="The first d of the table's feature list, as the paper takes them, unless you choose "
        "by name.",
    )
    st.multiselect(
        "… or choose features by name",
        names,
        **bound(
            "names",
            [n for n in settings.names if n in names],
            lambda picked: state.update(names=tuple(n for n in names if n in picked)),
        ),
        placeholder="the first d of the list",
    )


def model_controls(settings: Settings) -> None:
    """c, h and the confidence level."""
    paired(
        "c",
        "Penalty c",
        settings.c,
        log_grid("c"),
        lambda v: state.update(c=float(v)),
        note=text.c_sentence(settings),
        help="c·|θ|² is added to the average loss; the constant is penalised like every "
        "coefficient.",
    )
    if "huber_svm" in settings.losses:
        corner_control()
        paired(
            "h",
            "Huber width h (SVM only)"
            if settings.corner == "huber_svm"
            else "Width h of the corner (SVM only)",
            settings.h,
            log_grid("h"),
            lambda v: state.update(h=float(v)),
            note=hints.words(text.h_sentence(settings)),
            help="The hinge loss has a kink; differential privacy needs it rounded.",
        )
    levels: list[Number] = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999]
    paired(
        "level",
        "Confidence level",
        settings.level,
        levels,
        lambda v: state.update(level=float(v)),
        note=text.level_sentence(settings),
        help="Higher levels give longer intervals.",
    )


def corner_control() -> None:
    """How the kink of the SVM is rounded."""
    st.segmented_control(
        "Corner of the SVM",
        **among(CORNERS),
        **state.bound("corner"),
        help="Both round the kink of the hinge over the same band. The smoothed hinge is twice "
        "differentiable; its largest curvature is one and a half times the Huber's at the same h, "
        "and so is what hides it.",
    )


def target_control() -> None:
    """What the intervals are for."""
    st.radio(
        "What the intervals are for",
        **among(text.TARGETS),
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


CORNERS = {"huber_svm": "Huber", "smoothed_hinge": "Smoothed hinge"}
LOSSES = {"logistic": "Logistic regression", "huber_svm": "SVM"}
MECHANISMS = {name: mechanism_named(name).title.capitalize() for name in CHOICES["mechanisms"]}
DEFINITIONS = {"pure": "Pure ε", "zcdp": "zCDP"}
_LOSS_HELP = "Logistic regression gives odds; the SVM does not."
_MECHANISM_HELP = (
    "Objective: the fitting problem gets a random linear term before it is solved. Output: noise "
    "is added to the answer."
)


def combination_controls(settings: Settings) -> None:
    """Loss, mechanism and definition; every combination of what is chosen is drawn."""
    _pills("losses", "Model", LOSSES, settings.losses, _LOSS_HELP)
    _pills("mechanisms", "Where the noise goes", MECHANISMS, settings.mechanisms, _MECHANISM_HELP)
    _pills(
        "definitions",
        "Compare definitions",
        DEFINITIONS,
        settings.definitions,
        "Choose both to draw pure and concentrated differential privacy side by side.",
    )
    _pills(
        "calibrations", "Intervals", text.CALIBRATIONS, settings.calibrations, text.CALIBRATION_HELP
    )
    _reviewed_toggle(settings)
    if settings.is_compared:
        words = {"guarantee": "the same (ε, δ)", "paper": "the paper's rule ρ = ε²/2, part by part"}
        st.radio("The two definitions are paired by", **among(words), **state.bound("pairing"))


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
        "project. Its proof stands in the documentation and on the page “Sharper intervals”; no "
        "journal has reviewed it yet.",
    )


def design_controls(settings: Settings) -> None:
    """One loss, one mechanism and one calibration; the definition is the budget's own."""
    first = settings.combinations[0]
    _one_of("loss", "Model", LOSSES, first.loss, "losses", _LOSS_HELP)
    _one_of(
        "mechanism",
        "Where the noise goes",
        MECHANISMS,
        first.mechanism,
        "mechanisms",
        _MECHANISM_HELP,
    )
    _one_of(
        "calibration",
        "Intervals",
        text.CALIBRATIONS,
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
