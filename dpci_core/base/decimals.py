"""Exact decimals, once: the contexts that budgets are added, divided and rounded in, and amounts of
three digits.

Every context is named, so that no result depends on the one the caller has set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    Context,
    Decimal,
    DivisionByZero,
    FloatOperation,
    Inexact,
    InvalidOperation,
    Overflow,
)

EXACT = Context(prec=200)
"""Sums and products of budgets: more digits than two of them can have."""
STRICT = Context(
    prec=600, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow, FloatOperation]
)
"""Sums of the ledger: arithmetic that would lose a digit raises."""
DOWN = Context(prec=28, rounding=ROUND_FLOOR)
UP = Context(prec=28, rounding=ROUND_CEILING)
DOWN_3 = Context(prec=3, rounding=ROUND_FLOOR)
UP_3 = Context(prec=3, rounding=ROUND_CEILING)
UP_4 = Context(prec=4, rounding=ROUND_CEILING)
DECADE = 900
"""Amounts with three significant digits from one power of ten to the next."""


def amount_at(place: int) -> Decimal:
    """100, 101, ... 999 times powers of ten, in one row."""
    decade, step = divmod(place, DECADE)
    return Decimal(100 + step).scaleb(decade - 2)


def place_up(amount: Decimal) -> int:
    """The first place whose amount is not smaller."""
    decade = amount.adjusted()
    return decade * DECADE + math.ceil(amount.scaleb(2 - decade, EXACT)) - 100


def smallest_amount(
    works: Callable[[Decimal], bool], *, start: Decimal, largest: Decimal
) -> Decimal | None:
    """Return the smallest amount above `start` that works, if all larger ones do; None if `largest`
    does not.

    Args:
        works: whether an amount is enough.
        start: amount that is not.
        largest: where the search ends.

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
