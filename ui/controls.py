"""The controls: each parameter has one value, shown by a slider and a typed number that follow each other.

Widgets are driven from `state.settings()`: their value is written before they are drawn, and their callbacks write
back. So a value can be set by slider, number, link, preset or another control, and all agree.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import streamlit as st

from dpci_core.privacy import epsilon_to_zcdp, to_float_down, zcdp_to_epsilon
from ui import hints, state, text
from ui.paired import Number, paired
from ui.settings import LIMITS, Currency, Settings

CURRENCIES: dict[Currency, str] = {"pure": "Pure ε", "zcdp": "zCDP ρ", "approx": "(ε, δ)"}
DELTAS = ("1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10")


def link_problem() -> None:
    """Say what the link held but could not be used."""
    if bad := state.link_problem():
        listed = text.plain(", ".join(bad))
        st.warning(f"This link held values that cannot be used ({listed}); the defaults stand in for them.")


FINE = (1, 1.1, 1.25, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.6, 6.3, 7, 8, 9)
_COARSE = (1, 1.25, 1.6, 2, 2.5, 3, 4, 5, 6, 8)


def _log_grid(name: str, mantissas: tuple[float, ...] = _COARSE, *, whole: bool = False) -> list[Number]:
    """Round numbers, evenly spaced on a logarithmic scale, between the limits of a control and with both ends."""
    low, high = LIMITS[name]
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = {float(f"{m}e{e}") for m in mantissas for e in exponents}
    inside = sorted({low, high, *(v for v in values if low <= v <= high)})
    return [round(v) for v in inside] if whole else [float(v) for v in inside]


def total_value(settings: Settings) -> float:
    """The total as it is typed: epsilon of an (epsilon, delta) budget, the amount itself of the others."""
    return float(settings.epsilon) if settings.currency == "approx" else to_float_down(settings.split.total)


def total_grid(settings: Settings) -> list[Number]:
    """Round totals over the range of the control."""
    return _log_grid(settings.currency, FINE)


def total_control(settings: Settings) -> None:
    """The total budget in its currency."""
    paired(
        "total",
        f"Total budget {text.symbol(settings)}",
        total_value(settings),
        total_grid(settings),
        _set_total,
        note=f"← more private · more accurate →  \n{text.budget_sentence(settings)}",
        help=text.PRIVACY_UNIT,
    )


def at_total(now: Settings, value: Number) -> Settings:
    """The settings with another total; locked parts keep their amounts.

    Raises:  ValueError in words where the locked amounts leave nothing for the others.
    """
    if now.currency == "approx":
        target = now.with_epsilon(float(value))
        return replace(target, split=now.split.with_total(target.split.total))
    return replace(now, split=now.split.with_total(Decimal(repr(value))))


def _set_total(value: Number) -> None:
    state.put(at_total(state.settings(), value))


def currency_control(settings: Settings) -> None:
    """In which definition the budget is typed, and delta where there is one."""
    st.session_state["currency"] = settings.currency
    st.segmented_control(
        "Privacy definition of the budget",
        list(CURRENCIES),
        format_func=CURRENCIES.__getitem__,
        key="currency",
        on_change=_set_currency,
        help="Pure ε is the strictest promise. zCDP ρ lets the same noise be accounted for more tightly and is read "
        "as an (ε, δ) promise; typing (ε, δ) buys the largest ρ with that promise.",
    )
    if settings.currency != "pure" or settings.is_compared:
        st.session_state["delta"] = settings.delta
        choices = sorted({*DELTAS, settings.delta}, key=lambda d: -float(d))
        st.selectbox(
            "δ: the chance that the ε promise fails",
            choices,
            key="delta",
            on_change=_set_delta,
            help="Keep it far below 1 in the number of people in the table.",
        )


def _set_currency() -> None:
    chosen: Currency | None = st.session_state["currency"]
    now = state.settings()
    if chosen is None or chosen == now.currency:
        return
    moved = convert_currency(now, chosen)
    state.put(replace(moved, definitions=(moved.own_definition,)))


def convert_currency(now: Settings, chosen: Currency) -> Settings:
    """The same settings with the budget in another currency: about the same (epsilon, delta), the same shares."""
    epsilon = float(f"{min(max(_epsilon(now), LIMITS['pure'][0]), LIMITS['pure'][1]):.3g}")
    rho = Decimal(f"{epsilon_to_zcdp(epsilon, float(now.delta)):.3g}")
    if now.currency == "approx":
        rho = now.split.total
    low, high = (Decimal(repr(limit)) for limit in LIMITS["zcdp"])
    pot = Decimal(f"{epsilon:.3g}") if chosen == "pure" else min(max(rho, low), high)
    moved = replace(now, currency=chosen, split=now.split.with_locks().with_total(pot))
    return moved.with_epsilon(epsilon) if chosen == "approx" else moved


def _epsilon(settings: Settings) -> float:
    total = to_float_down(settings.split.total)
    return total if settings.currency == "pure" else zcdp_to_epsilon(total, float(settings.delta))


def _set_delta() -> None:
    now = replace(state.settings(), delta=st.session_state["delta"])
    state.put(now.with_epsilon(float(now.epsilon)) if now.currency == "approx" else now)


def n_control(settings: Settings, n_table: int) -> None:
    """Number of records."""
    paired(
        "n",
        "Records n",
        settings.n,
        _log_grid("n", whole=True),
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
        note=hints.words(text.d_sentence(settings, chosen + 1)),
        help="The first d of the table's feature list, as the paper takes them, unless you choose by name.",
    )
    st.session_state["names"] = [n for n in settings.names if n in names]
    st.multiselect(
        "… or choose features by name",
        names,
        key="names",
        on_change=lambda: state.update(names=tuple(n for n in names if n in st.session_state["names"])),
        placeholder="the first d of the list",
    )


def model_controls(settings: Settings) -> None:
    """c, h and the confidence level."""
    paired(
        "c",
        "Penalty c",
        settings.c,
        _log_grid("c"),
        lambda v: state.update(c=float(v)),
        note=text.c_sentence(settings),
        help="c·|θ|² is added to the average loss; the constant is penalised like every coefficient.",
    )
    if "huber_svm" in settings.losses:
        corner_control(settings)
        paired(
            "h",
            "Huber width h (SVM only)" if settings.corner == "huber_svm" else "Width h of the corner (SVM only)",
            settings.h,
            _log_grid("h"),
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


def corner_control(settings: Settings) -> None:
    """How the kink of the SVM is rounded."""
    st.session_state["corner"] = settings.corner

    def take() -> None:
        if picked := st.session_state["corner"]:  # a click on the chosen one would leave none
            state.update(corner=picked)

    st.segmented_control(
        "Corner of the SVM",
        list(CORNERS),
        format_func=CORNERS.__getitem__,
        key="corner",
        on_change=take,
        help="Both round the kink of the hinge over the same band. The smoothed hinge is twice differentiable; its "
        "largest curvature is one and a half times the Huber's at the same h, and so is what hides it.",
    )


def target_control(settings: Settings) -> None:
    """What the intervals are for."""
    st.session_state["target"] = settings.target
    st.radio(
        "What the intervals are for",
        list(text.TARGETS),
        format_func=text.TARGETS.__getitem__,
        key="target",
        on_change=lambda: state.update(target=st.session_state["target"]),
        help=text.TARGET_HELP,
    )


def _pills(key: str, label: str, options: dict[str, str], chosen: tuple[str, ...], field: str, help: str) -> None:
    st.session_state[key] = list(chosen)

    def take() -> None:
        picked = tuple(o for o in options if o in st.session_state[key])
        if picked:  # at least one stays: an empty choice would leave nothing to draw
            state.update(**{field: picked})

    st.pills(
        label,
        list(options),
        selection_mode="multi",
        format_func=options.__getitem__,
        key=key,
        on_change=take,
        help=help,
    )


CORNERS = {"huber_svm": "Huber", "smoothed_hinge": "Smoothed hinge"}
LOSSES = {"logistic": "Logistic regression", "huber_svm": "SVM"}
MECHANISMS = {"objective": "Objective perturbation", "output": "Output perturbation"}
DEFINITIONS = {"pure": "Pure ε", "zcdp": "zCDP"}
_LOSS_HELP = "Logistic regression gives odds; the SVM does not."
_MECHANISM_HELP = (
    "Objective: the fitting problem is tilted at random before it is solved. Output: noise is added to the answer."
)


def combination_controls(settings: Settings) -> None:
    """Loss, mechanism and definition; every combination of what is chosen is drawn."""
    _pills("losses", "Model", LOSSES, settings.losses, "losses", _LOSS_HELP)
    _pills("mechanisms", "Where the noise goes", MECHANISMS, settings.mechanisms, "mechanisms", _MECHANISM_HELP)
    _pills(
        "definitions",
        "Compare definitions",
        DEFINITIONS,
        settings.definitions,
        "definitions",
        "Choose both to draw pure and concentrated differential privacy side by side.",
    )
    _pills("calibrations", "Intervals", text.CALIBRATIONS, settings.calibrations, "calibrations", text.CALIBRATION_HELP)
    if "sharp" in settings.calibrations and "objective" in settings.mechanisms and "zcdp" in settings.definitions:
        _reviewed_toggle(settings)
    if settings.is_compared:
        st.session_state["pairing"] = settings.pairing
        words = {"guarantee": "the same (ε, δ)", "paper": "the paper's rule ρ = ε²/2, part by part"}
        st.radio(
            "The two definitions are paired by",
            list(words),
            format_func=words.__getitem__,
            key="pairing",
            on_change=lambda: state.update(pairing=st.session_state["pairing"]),
        )


def _reviewed_toggle(settings: Settings) -> None:
    st.session_state["reviewed"] = settings.results == "reviewed"
    st.toggle(
        "Only peer-reviewed privacy results",
        key="reviewed",
        on_change=lambda: state.update(results="reviewed" if st.session_state["reviewed"] else "all"),
        help="Sharp objective perturbation under zCDP uses Gaussian noise, by a theorem of this project. Its proof "
        "stands in the documentation and on the page “Published or sharp”; no journal has reviewed it yet.",
    )


def design_controls(settings: Settings) -> None:
    """One loss, one mechanism and one calibration; the definition is the budget's own."""
    first = settings.combinations[0]
    _one_of("loss", "Model", LOSSES, first.loss, "losses", _LOSS_HELP)
    _one_of("mechanism", "Where the noise goes", MECHANISMS, first.mechanism, "mechanisms", _MECHANISM_HELP)
    _one_of("calibration", "Intervals", text.CALIBRATIONS, first.calibration, "calibrations", text.CALIBRATION_HELP)
    if settings.own_definition == "zcdp" and first.calibration == "sharp":
        _reviewed_toggle(settings)


def _one_of(key: str, label: str, options: dict[str, str], chosen: str, field: str, help: str) -> None:
    st.session_state[key] = chosen

    def take() -> None:
        if picked := st.session_state[key]:  # a click on the chosen one would leave none
            state.update(**{field: (picked,)})

    st.segmented_control(label, list(options), format_func=options.__getitem__, key=key, on_change=take, help=help)
