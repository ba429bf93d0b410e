"""Where more of a budget lengthens intervals: with a split held fixed, while noise dominates the
Hessian.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpci_core import forecast
from dpci_core.base.errors import InfeasibleDesignError
from ui.session import compute, text
from ui.session.results import SweepCurve

_WORTH_A_WORD = 0.002
"""A share of the length; what is gained by spending less is told from here on."""


def shorter_with_less(curve: SweepCurve, current: float) -> float | None:
    """The smaller value of the swept control at which a curve is shortest, where it rises from
    there.
    """
    reached = np.flatnonzero((curve.x <= current * (1.0 + 1e-9)) & curve.is_firm)
    if not len(reached):
        return None
    best = reached[np.argmin(curve.ci_length[reached])]
    rises = curve.ci_length[reached[-1]] > curve.ci_length[best] * (1.0 + _WORTH_A_WORD)
    return float(curve.x[best]) if rises else None


def sentences(view: compute.View, curves: Sequence[SweepCurve], total: float) -> list[str]:
    """For each design that is drawn and would be shorter for less, by whole forecasts: curves have
    few draws.
    """
    found, by_combination = [], {curve.combination: curve for curve in curves}
    for outcome in view.drawn:
        curve, made = by_combination.get(outcome.combination), outcome.forecast
        less = None if curve is None else shorter_with_less(curve, total)
        if less is None or made is None or outcome.moments is None:
            continue
        moved = view.settings.swept("total", less)
        try:
            design = compute.designed(moved, outcome.combination, outcome.moments)
            there = forecast(outcome.moments, design=design).ci_length_mean
        except InfeasibleDesignError:  # the curve's point was rounded
            continue
        if made.ci_length_mean > there * (1.0 + _WORTH_A_WORD):
            found.append(_words(view, outcome.combination.label, less, there, made.ci_length_mean))
    return found


def _words(view: compute.View, name: str, less: float, there: float, here: float) -> str:
    letter = view.settings.typed.letter
    return (
        f"{name}: with this split, spending less is better. {letter} = {text.number(less)} "
        f"already gives a mean length of {text.number(there, 4)}; now it is "
        f"{text.number(here, 4)}. Part of what is added goes into learning more exactly which "
        "coefficients are hard to tell, instead of into telling them. The best split does not do "
        "that."
    )
