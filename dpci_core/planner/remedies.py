"""What makes useless intervals useful."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

import numpy as np

from dpci_core.base.linalg import floor_eigenvalues
from dpci_core.base.roots import find_root
from dpci_core.design import Design
from dpci_core.intervals.forecast import N_DRAWS, forecast
from dpci_core.report import words
from dpci_core.solvers.moments import Moments

_LARGEST = (1e6, 1e6, 1e4)
"""Remedies are looked for up to these multiples of n, of the budget and of c."""
_STEP = math.log(2.5)
"""A factor is looked for in steps of its logarithm, at least of this size, then between two of
them.
"""
_CLOSE = 0.02
"""Margins so near 0 count as 0 while draws are few: those with all draws differ by more."""
_FAR = 10.0
"""The largest margin, and one that stands for any larger."""
_BEYOND, _BEFORE = 1.05, 0.004
"""Part of a margin by which a step goes too far on purpose; what the last step stays short of the
root.
"""
_MOST_OFF = 0.1
"""Few draws are off by less; where the margin with all of them is farther from 0, it jumps
there.
"""
_FEW_DRAWS = 16
_CONFIRMATIONS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedies:
    """The smallest single changes that make a useless design useful, each None where none is found.

    To a few per cent, rounded up, up to the multiples of `_LARGEST`.

    Args:
        n_records: confirmed by forecast.
        budget_factor: of all three parts, confirmed by forecast.
        regularization: a first guess of c, by few draws around moments that one Newton step carried
            there; a larger c also moves what is estimated.
    """

    n_records: int | None
    budget_factor: float | None
    regularization: float | None

    @property
    def sentence(self) -> str:
        """The changes in words."""
        return words.remedies(self.n_records, self.budget_factor, self.regularization)


Case = Callable[[float], tuple[Moments, Design]]
"""From a factor to moments and the design of one forecast."""


def remedies(moments: Moments, *, design: Design) -> Remedies:
    """Return the smallest n, budget or c at which the forecast of a useless design is usable and no
    longer useless.

    Args:
        moments: fit of the table that stands for the data, at the c of the design.
        design: loss, mechanism, budget, c, level and calibration, and the n planned for.

    Privacy:
        None of its own; see the package docstring for what it may steer.
    """
    n = design.n_records

    def at_n(factor: float) -> tuple[Moments, Design]:
        return moments, replace(design, n_records=_at_least(n * factor))

    def at_budget(factor: float) -> tuple[Moments, Design]:
        times = Decimal(repr(factor))
        own = design.budget
        model, hessian, covariance = (part * times for part in own.parts)
        budget = replace(
            own, model=model, hessian=hessian, covariance=covariance, metric=own.metric * times
        )
        return moments, replace(design, budget=budget)

    def at_c(factor: float) -> tuple[Moments, Design]:
        c = _rounded_up(design.regularization * factor)
        return moments_near(moments, c), replace(design, regularization=c)

    present = _margin(lambda factor: (moments, design), 1.0, _FEW_DRAWS)
    of_n, of_budget, of_c = (
        _log_of_smallest_factor(case, present, largest)
        for case, largest in zip((at_n, at_budget, at_c), _LARGEST, strict=True)
    )
    of_n, of_budget = (
        _confirmed(case, factor) for case, factor in ((at_n, of_n), (at_budget, of_budget))
    )
    return Remedies(
        n_records=None if of_n is None else _at_least(n * of_n),
        budget_factor=of_budget,
        regularization=None
        if of_c is None
        else _rounded_up(design.regularization * math.exp(of_c)),
    )


def _at_least(n: float) -> int:
    """n rounded up to three digits, or to the next whole number."""
    return math.ceil(_rounded_up(n)) if n > 1000 else math.ceil(n)


def _rounded_up(x: float) -> float:
    """x rounded up to three significant digits."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return float(f"{math.ceil(x / unit * (1.0 - 1e-12)) * unit:.12g}")


def moments_near(moments: Moments, regularization: float) -> Moments:
    """Moments at another c by one Newton step from theta_hat, S with the new penalty term; a first
    guess.
    """
    extra = 2.0 * (regularization - moments.regularization)
    H = moments.hessian + extra * np.eye(len(moments.hessian))
    theta = moments.theta_hat - np.linalg.solve(H, extra * moments.theta_hat)
    outer = 4.0 * moments.regularization**2 * np.outer(moments.theta_hat, moments.theta_hat)
    S = moments.covariance + outer - 4.0 * regularization**2 * np.outer(theta, theta)
    S = floor_eigenvalues(S, 0.0).matrix
    truth = moments.unpenalised_fit
    if truth is not None:
        truth = replace(truth, one_step_point=truth.one_step_point + extra * np.eye(len(H)))
    return replace(
        moments,
        theta_hat=theta,
        hessian=H,
        covariance=S,
        regularization=regularization,
        unpenalised_fit=truth,
    )


def _margin(case: Case, factor: float, n_draws: int) -> float:
    """How far from useless a forecast is, on the scale of the logarithm of its noise; -_STEP where
    there is none.

    Negative where it is useless or cannot be used. Useless intervals are longer than the typical
    estimate, which is partly noise itself: taking that part off both sides leaves what grows in
    step with the logarithm of n or budget.
    """
    try:
        moments, design = case(factor)
        made = forecast(moments, design=design, n_draws=n_draws)
    except ValueError:  # infeasible, or out of the range of an argument
        return -_STEP
    use, signal = made.usefulness, float(np.mean(moments.theta_hat**2))
    too_long = _half_log_ratio(signal, use.half_width**2 - use.coefficient**2 + signal)
    too_noisy = _half_log_ratio(1.0 - use.privacy_share, use.privacy_share)
    margin = max(too_long, too_noisy)
    return margin if made.validity.grade != "unusable" else min(margin, -_STEP)


def _half_log_ratio(above: float, below: float) -> float:
    """Half the logarithm of above / below, between the largest margins."""
    if below <= 0.0:
        return _FAR
    return min(_FAR, max(-_FAR, 0.5 * math.log(above / below))) if above > 0.0 else -_FAR


def _log_of_smallest_factor(case: Case, present: float, largest: float) -> float | None:
    """The logarithm of the smallest factor whose case is useful, from few draws; None up to
    `largest`.

    present: margin at factor 1.
    """

    @cache
    def margin(x: float) -> float:
        found = present if x == 0.0 else _margin(case, math.exp(x), _FEW_DRAWS)
        return 0.0 if abs(found) < _CLOSE else found

    low = high = 0.0
    while margin(high) < 0.0:
        if high >= math.log(largest):
            return None
        low, high = high, min(high + max(_STEP, -_BEYOND * margin(high)), math.log(largest))
    if low == high:
        return 0.0
    x = find_root(margin, low, high, xtol=_CLOSE)
    return (
        x if margin(x) >= 0.0 else x + _CLOSE
    )  # the margin jumps where a forecast becomes feasible or usable


def _confirmed(case: Case, x: float | None) -> float | None:
    """The factor whose logarithm was found with few draws, corrected and confirmed with all of
    them, rounded up.
    """
    if x is None:
        return None
    off = _margin(case, math.exp(x), N_DRAWS)
    x = max(0.0, x - min(_MOST_OFF, max(-_MOST_OFF, off)) + _BEFORE)
    for k in range(_CONFIRMATIONS):
        factor = _rounded_up(math.exp(x))
        if _margin(case, factor, N_DRAWS) >= 0.0:
            return factor
        x += 0.01 * 1.25**k
    return None
