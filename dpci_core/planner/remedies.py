"""What makes useless intervals useful."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core.design import Design
from dpci_core.erm import Moments
from dpci_core.forecast import N_DRAWS, forecast
from dpci_core.linalg import floor_eigenvalues

_LARGEST = (1e6, 1e6, 1e4)
"""Remedies are looked for up to these multiples of n, of the budget and of c."""
_FIRST_STEP = 2.5
_FEW_DRAWS = 16
_CONFIRMATIONS = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedies:
    """The smallest single change that makes a useless design useful, to a few per cent, rounded up; None where none is
    found up to the multiples of `_LARGEST`.

    n_records and budget_factor (of all three parts) are confirmed by forecast. regularization is from moments carried
    to the other c by one Newton step, so it is a first guess; a larger c also moves what is estimated.
    """

    n_records: int | None
    budget_factor: float | None
    regularization: float | None

    @property
    def sentence(self) -> str:
        """The changes in words."""
        ways = []
        if self.n_records is not None:
            ways.append(f"{self.n_records:,} records")
        if self.budget_factor is not None:
            ways.append(f"{self.budget_factor:.3g} times the budget")
        if self.regularization is not None:
            ways.append(f"about c = {self.regularization:.3g}, which also pulls the coefficients towards zero")
        if not ways:
            return "No single change of n, budget or c helps."
        return "The smallest change that helps: " + ", or ".join(ways) + "."


def remedies(moments: Moments, *, design: Design, n_records: int | None = None) -> Remedies:
    """Return the smallest n, budget or c at which the forecast of a useless design is usable and no longer useless.

    Args:    as for `forecast`.
    Privacy: as for every plan, see the package docstring.
    """
    n = moments.n_records if n_records is None else n_records

    def is_useful(moments: Moments, design: Design, n: int, n_draws: int) -> bool:
        made = forecast(moments, design=design, n_records=n, n_draws=n_draws)
        return not made.usefulness.is_useless and made.validity.grade != "unusable"

    def at_n(factor: float, n_draws: int) -> bool:
        return is_useful(moments, design, _at_least(n * factor), n_draws)

    def at_budget(factor: float, n_draws: int) -> bool:
        times = Decimal(repr(factor))
        model, hessian, covariance = (part * times for part in design.budget.parts)
        budget = type(design.budget)(model=model, hessian=hessian, covariance=covariance)
        return is_useful(moments, replace(design, budget=budget), n, n_draws)

    def at_c(factor: float, n_draws: int) -> bool:
        c = _rounded_up(design.regularization * factor)
        return is_useful(moments_near(moments, c), replace(design, regularization=c), n, n_draws)

    of_n, of_budget, of_c = (
        _smallest_factor(works, largest) for works, largest in zip((at_n, at_budget, at_c), _LARGEST, strict=True)
    )
    return Remedies(
        n_records=None if of_n is None else _at_least(n * of_n),
        budget_factor=of_budget,
        regularization=None if of_c is None else _rounded_up(design.regularization * of_c),
    )


def _at_least(n: float) -> int:
    """n rounded up to three digits, or to the next whole number."""
    return math.ceil(_rounded_up(n)) if n > 1000 else math.ceil(n)


def _rounded_up(x: float) -> float:
    """x rounded up to three significant digits."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 2)
    return float(f"{math.ceil(x / unit * (1.0 - 1e-12)) * unit:.12g}")


def moments_near(moments: Moments, regularization: float) -> Moments:
    """Moments at another c by one Newton step from theta_hat, S with the new penalty term; a first guess."""
    extra = 2.0 * (regularization - moments.regularization)
    H = moments.hessian + extra * np.eye(len(moments.hessian))
    theta = moments.theta_hat - np.linalg.solve(H, extra * moments.theta_hat)
    outer = 4.0 * moments.regularization**2 * np.outer(moments.theta_hat, moments.theta_hat)
    S = moments.covariance + outer - 4.0 * regularization**2 * np.outer(theta, theta)
    S = floor_eigenvalues(S, 0.0).matrix
    return replace(moments, theta_hat=theta, hessian=H, covariance=S, regularization=regularization)


def _smallest_factor(works: Callable[[float, int], bool], largest: float) -> float | None:
    """The smallest factor that works, found with few draws and confirmed with all, rounded up; None up to `largest`."""

    def try_out(factor: float, n_draws: int) -> bool:
        try:
            return works(factor, n_draws)
        except ValueError:  # infeasible, or out of the range of an argument
            return False

    if try_out(1.0, N_DRAWS):
        return 1.0
    high = _FIRST_STEP
    while not try_out(high, _FEW_DRAWS):
        if high >= largest:
            return None
        high = min(high * _FIRST_STEP, largest)
    low = high / _FIRST_STEP
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if try_out(middle, _FEW_DRAWS) else (middle, high)
    for _ in range(_CONFIRMATIONS):
        high = _rounded_up(high)
        if try_out(high, N_DRAWS):
            return high
        high *= 1.02
    return None
