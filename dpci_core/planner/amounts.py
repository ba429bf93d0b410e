"""Amounts of three significant digits, and a design at another total."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_FLOOR, Context, Decimal, localcontext

from dpci_core.design import Design
from dpci_core.limits import DELTA
from dpci_core.privacy import Amount, check_amount, to_decimal, to_float_down

MOST_RECORDS = 10**12
"""More records are not looked for."""
LARGEST_TOTAL = Decimal("1e9")
"""More budget is not looked for; far below it nothing is protected any more."""
SEARCH_DRAWS = 16
"""Draws behind a forecast while searching; the last steps and the answer take all of them."""
DECADE = 900
"""Amounts with three significant digits from one power of ten to the next."""

EXACT = Context(prec=200)
"""Budgets add up exactly, whatever decimal context the caller has set."""
DOWN = Context(prec=28, rounding=ROUND_FLOOR)


def amount_at(place: int) -> Decimal:
    """100, 101, ... 999 times powers of ten, in one row."""
    decade, step = divmod(place, DECADE)
    return Decimal(100 + step).scaleb(decade - 2)


def place_up(amount: Decimal) -> int:
    """The first place whose amount is not smaller."""
    decade = amount.adjusted()
    return decade * DECADE + math.ceil(amount.scaleb(2 - decade, EXACT)) - 100


def smallest_amount(works: Callable[[Decimal], bool], *, start: Decimal, largest: Decimal) -> Decimal | None:
    """The smallest amount above `start` that works, if all larger ones do; None if `largest` does not.

    >>> smallest_amount(lambda amount: amount >= 2, start=Decimal("0.5"), largest=Decimal(1000))
    Decimal('2.00')
    """
    low, high = place_up(start), place_up(largest)
    if high <= low or not works(largest):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(amount_at(middle)) else (middle, high)
    return min(amount_at(high), largest)


def with_total(design: Design, total: Decimal) -> Design:
    """The design at another total: the same shares to 28 digits, the sum exactly the total."""
    own = design.budget
    h, s = (DOWN.divide(DOWN.multiply(total, part), own.total) for part in (own.hessian, own.covariance))
    with localcontext(EXACT):
        model = total - h - s
    return replace(design, budget=type(own)(model=model, hessian=h, covariance=s))


def delta_in_range(delta: Amount) -> float:
    """Return a delta as a float, rounded down, or raise ValueError."""
    exact = to_decimal(delta, name="delta")
    check_amount(DELTA, delta=exact)
    return to_float_down(exact)
