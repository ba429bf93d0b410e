"""A design at another total, and how far the planner searches."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from typing import TypeVar

from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.limits import DELTA
from dpci_core.design import Design
from dpci_core.privacy.budget import Amount, check_amount, to_decimal, to_float_down
from dpci_core.regression.design import LinearDesign

DesignT = TypeVar("DesignT", bound=Design | LinearDesign)

MOST_RECORDS = 10**12
"""More records are not searched for."""
LARGEST_TOTAL = Decimal("1e9")
"""More budget is not searched for; far below it nothing is protected any more."""
SEARCH_DRAWS = 16
"""Draws behind a forecast while searching; the last steps and the answer take all of them."""


def with_total(design: DesignT, total: Decimal) -> DesignT:
    """The design at another total: the same shares to 28 digits, the sum exactly the total."""
    own = design.budget
    h, s, m = (
        DOWN.divide(DOWN.multiply(total, part), own.total)
        for part in (own.hessian, own.covariance, own.metric)
    )
    with localcontext(EXACT):
        model = total - h - s - m
    budget = replace(own, model=model, hessian=h, covariance=s, metric=m)
    return replace(design, budget=budget)


def delta_in_range(delta: Amount) -> float:
    """Return a delta as a float, rounded down, or raise ValueError."""
    exact = to_decimal(delta, name="delta")
    check_amount(DELTA, delta=exact)
    return to_float_down(exact)
