"""A total and three parts that always add up, exactly: the arithmetic behind the linked budget controls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal

PARTS = ("model", "hessian", "covariance")
DIGITS = 4
"""Significant digits of the total to which parts are rounded; the last free part takes up the rest."""
SMALLEST_SHARE = Decimal("0.01")
"""No part is ever moved below this share of the total by moving another."""
SMALLEST_PART = Decimal("1e-8")
"""No part is smaller: its noise would drown everything, and 1 % of the smallest total is well above."""


@dataclass(frozen=True)
class Split:
    """A total with three parts that add up to it exactly, and which of them are locked."""

    total: Decimal
    parts: tuple[Decimal, Decimal, Decimal]
    locked: tuple[bool, bool, bool] = (False, False, False)

    def __post_init__(self) -> None:
        if sum(self.parts) != self.total:
            raise ValueError(f"Expected parts to add up to total={self.total}, got {sum(self.parts)}.")
        if min(self.parts) < SMALLEST_PART:
            raise ValueError(f"Expected every part >= {SMALLEST_PART}, got {min(self.parts)}.")

    def share(self, index: int) -> float:
        """Share of one part in percent."""
        return float(100 * self.parts[index] / self.total)

    def with_total(self, total: Decimal) -> Split:
        """Scale the free parts to a new total; locked amounts stay.

        Raises:  ValueError in words where the locked amounts leave nothing for the others.
        """
        free = [i for i in range(3) if not self.locked[i]]
        if not free:
            raise ValueError("All three parts are locked, so the total cannot change. Unlock one of them.")
        rest = total - sum(self.parts[i] for i in range(3) if self.locked[i])
        if rest < len(free) * SMALLEST_SHARE * total:
            needed = (total - rest) / (1 - len(free) * SMALLEST_SHARE)
            raise ValueError(
                f"The locked parts already take {total - rest:f}. Unlock one, or choose a total above {needed:.4g}."
            )
        return replace(self, total=total, parts=_fill(total, self.parts, free, rest))

    def with_part(self, index: int, amount: Decimal) -> Split:
        """Set one part; the free others share what remains in their old proportions.

        Raises:  ValueError in words where the others are locked or nothing would remain for them.
        """
        others = [i for i in range(3) if i != index and not self.locked[i]]
        if not others:
            raise ValueError("Both other parts are locked, so this one cannot move. Unlock one of them.")
        fixed = sum(self.parts[i] for i in range(3) if i != index and self.locked[i])
        room = self.total - fixed - len(others) * SMALLEST_SHARE * self.total
        if not 0 < amount <= room:
            raise ValueError(f"This part can be at most {room:f} here, so that something is left for the others.")
        if amount < SMALLEST_PART:
            raise ValueError(f"This part must be at least {SMALLEST_PART:f}: with less, its noise drowns everything.")
        parts = list(self.parts)
        parts[index] = amount
        rest = self.total - fixed - amount
        return replace(self, parts=_fill(self.total, (parts[0], parts[1], parts[2]), others, rest))

    def with_share(self, index: int, percent: float) -> Split:
        """Set one part by its share in percent."""
        return self.with_part(index, _round(self.total, self.total * Decimal(repr(percent)) / 100))

    def toggled(self, index: int) -> Split:
        """Lock or unlock one part."""
        locked = list(self.locked)
        locked[index] = not locked[index]
        return replace(self, locked=(locked[0], locked[1], locked[2]))


def _fill(
    total: Decimal, parts: tuple[Decimal, Decimal, Decimal], free: list[int], rest: Decimal
) -> tuple[Decimal, Decimal, Decimal]:
    """Give `rest` to the free parts in their present proportions, rounded; the last one takes the remainder."""
    weight = sum(parts[i] for i in free)
    result = list(parts)
    smallest = SMALLEST_SHARE * total
    for position, i in enumerate(free[:-1]):
        wanted = max(smallest, _round(total, rest * parts[i] / weight))
        behind = (len(free) - 1 - position) * smallest
        result[i] = min(wanted, rest - behind)
        weight -= parts[i]
        rest -= result[i]
    result[free[-1]] = rest.normalize()
    return result[0], result[1], result[2]


def _round(total: Decimal, amount: Decimal) -> Decimal:
    """Round down to `DIGITS` significant digits of the total."""
    step = Decimal(1).scaleb(total.adjusted() - DIGITS)
    return amount.quantize(step, rounding=ROUND_FLOOR).normalize()


def from_shares(total: Decimal, shares: tuple[str, str, str] = ("0.5", "0.25", "0.25")) -> Split:
    """A fresh split of a total, nothing locked."""
    amounts = tuple(Decimal(s) for s in shares)
    equal = Split(sum(amounts, Decimal(0)), (amounts[0], amounts[1], amounts[2]))
    return Split(total, _fill(total, equal.parts, [0, 1, 2], total))
