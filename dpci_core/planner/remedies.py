"""What makes useless intervals useful."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core.design import Design
from dpci_core.erm import Moments
from dpci_core.errors import InfeasibleDesignError
from dpci_core.forecast import forecast
from dpci_core.linalg import floor_eigenvalues

_LARGEST_FACTOR = 1e6
"""Remedies are looked for up to this multiple of n, of the budget and of c."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remedies:
    """The smallest single change that makes a useless design useful; None where none up to a millionfold does.

    n_records and budget_factor (of all three parts) are exact to 1 % by forecast. regularization is from moments
    carried to the other c by one Newton step, so it is a first guess; a larger c also moves what is estimated.
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
            ways.append(f"about c = {self.regularization:.2g}, which also pulls the coefficients towards zero")
        if not ways:
            return "No single change of n, budget or c helps."
        return "The smallest change that helps: " + ", or ".join(ways) + "."


def remedies(moments: Moments, *, design: Design, n_records: int | None = None) -> Remedies:
    """Return the smallest n, budget or c at which the forecast of a useless design is no longer useless.

    Args:    as for `forecast`.
    Privacy: as for every plan, see the package docstring.
    """
    n = moments.n_records if n_records is None else n_records

    def is_useful(moments: Moments, design: Design, n: int) -> bool:
        try:
            return not forecast(moments, design=design, n_records=n).usefulness.is_useless
        except InfeasibleDesignError:
            return False

    def with_budget(factor: float) -> Design:
        times = Decimal(repr(factor))
        model, hessian, covariance = (part * times for part in design.budget.parts)
        budget = type(design.budget)(model=model, hessian=hessian, covariance=covariance)
        return replace(design, budget=budget)

    def at_c(factor: float) -> bool:
        c = design.regularization * factor
        return is_useful(moments_near(moments, c), replace(design, regularization=c), n)

    of_n = _smallest_factor(lambda factor: is_useful(moments, design, math.ceil(n * factor)))
    of_c = _smallest_factor(at_c)
    return Remedies(
        n_records=None if of_n is None else math.ceil(n * of_n),
        budget_factor=_smallest_factor(lambda factor: is_useful(moments, with_budget(factor), n)),
        regularization=None if of_c is None else design.regularization * of_c,
    )


def moments_near(moments: Moments, regularization: float) -> Moments:
    """Moments at another c by one Newton step from theta_hat, S with the new penalty term; a first guess."""
    extra = 2.0 * (regularization - moments.regularization)
    H = moments.hessian + extra * np.eye(len(moments.hessian))
    theta = moments.theta_hat - np.linalg.solve(H, extra * moments.theta_hat)
    outer = 4.0 * moments.regularization**2 * np.outer(moments.theta_hat, moments.theta_hat)
    S = moments.covariance + outer - 4.0 * regularization**2 * np.outer(theta, theta)
    S = floor_eigenvalues(S, 0.0).matrix
    return replace(moments, theta_hat=theta, hessian=H, covariance=S, regularization=regularization)


def _smallest_factor(works: Callable[[float], bool]) -> float | None:
    """The smallest factor >= 1 that works, to 1 %; None if the largest does not."""
    high = 1.0
    while not works(high):
        high *= 4.0
        if high > _LARGEST_FACTOR:
            return None
    low = max(1.0, high / 4.0)
    while high > low * 1.01:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if works(middle) else (middle, high)
    return high
