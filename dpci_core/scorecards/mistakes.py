"""Records as counts by combination of answers, and the mistakes of every card of a class."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Integers
from dpci_core.base.errors import RangeError, expect
from dpci_core.privacy.budget import Amount, to_decimal
from dpci_core.scorecards.cards import ScorecardClass, sums_above

Cost = tuple[int, int]
"""What a false positive and a false negative cost, in whole units."""
EQUAL: Cost = (1, 1)
_DIGITS = 6


def cell_counts(X: npt.ArrayLike, y: npt.ArrayLike) -> Integers:
    """Return how many records have each combination of answers and label, (2^k, 2).

    Args:
        X: (n, k) answers, 0 or 1; the first question is the highest bit of a cell.
        y: (n,) labels, 0 or 1.

    Raises:  ValueError for other shapes and values; the message holds none.
    """
    bits, labels = np.asarray(X), np.asarray(y)
    expect(
        bits.ndim == 2 and bits.shape[1] != 0 and labels.shape == bits.shape[:1],
        "Expected X of shape (n, k) and y of shape (n,).",
    )
    expect(
        bool(np.isin(bits, (0, 1)).all() and np.isin(labels, (0, 1)).all()),
        "Expected answers and labels to be 0 or 1.",
    )
    k = bits.shape[1]
    cells = bits.astype(np.int64) @ (1 << np.arange(k)[::-1])
    counts = np.bincount(2 * cells + labels.astype(np.int64), minlength=2 ** (k + 1))
    return counts.reshape(-1, 2)


def checked_cost(cost: tuple[Amount, Amount]) -> Cost:
    """Return exact costs as whole numbers without a common factor.

    Raises:  ValueError unless both lie in (0, 1] and have at most six decimals.

    >>> checked_cost(("1", "0.25"))
    (4, 1)
    """
    if not isinstance(cost, tuple | list) or len(cost) != 2:
        raise ValueError(f"Expected cost={cost!r} to be a pair: false positive, false negative.")
    units = []
    for one in cost:
        amount = to_decimal(one, name="cost")
        scaled = amount.scaleb(_DIGITS)
        if amount > 1 or scaled != scaled.to_integral_value():
            raise RangeError("cost", Decimal(amount), 0.0, 1.0)
        units.append(int(scaled))
    common = math.gcd(*units)
    return units[0] // common, units[1] // common


def mistakes_of_all(cells: Integers, cards: ScorecardClass, *, cost: Cost = EQUAL) -> Integers:
    """Return what the mistakes of every rule cost, (n_rules,), exactly.

    Args:
        cells: (2^k, 2) counts.
        cards: the class.
        cost: of a false positive and a false negative.

    Privacy: replacing one record moves each number by at most max(cost); nothing here is private.
    """
    counts = np.asarray(cells, dtype=np.int64)
    expect(
        counts.shape == (2**cards.n_questions, 2),
        f"Expected cells of shape ({2**cards.n_questions}, 2), got {counts.shape}.",
    )
    false_positive, false_negative = counts[:, 0] * cost[0], counts[:, 1] * cost[1]
    missed = int(false_negative.sum())
    gained = false_positive - false_negative
    small = int(np.abs(gained).sum()) < 2**31  # half the memory to go through
    above = sums_above(gained.astype(np.int32) if small else gained, cards)
    return missed + above[cards.rules].astype(np.int64)
