"""A total and three parts that always add up, exactly: the arithmetic behind the linked budget
controls.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from dpci_core.base.decimals import EXACT
from dpci_core.privacy.budget import Budget, Parts

Locks = tuple[bool, bool, bool]

DIGITS = 4
"""Significant digits of the smallest part that is shared out; what of the total is finer goes to
the largest.
"""
SMALLEST_SHARE = Decimal("0.01")
"""Share of the total that parts which give way keep on average, unless what was chosen for them is
less.
"""
SMALLEST_PART = Decimal("1e-8")
"""No part is smaller: its noise would drown everything, and 1 % of the smallest total is well
above.
"""


@dataclass(frozen=True)
class Split:
    """A total with three parts that add up to it exactly, and which of them are locked.

    chosen: the parts as they were chosen, at the total of that time; None where `parts` are that
    still. Free parts are always derived from their proportions by one rounding, so no sequence of
    totals can make shares drift.
    """

    total: Decimal
    parts: Parts
    locked: Locks = (False, False, False)
    chosen: Parts | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", _written(self.parts))
        object.__setattr__(self, "chosen", self.chosen and _written(self.chosen))
        if sum(self.parts) != self.total:
            raise ValueError(
                f"Expected parts to add up to total={self.total}, got {sum(self.parts)}."
            )
        if min(self.parts) < SMALLEST_PART:
            raise ValueError(f"Expected every part >= {SMALLEST_PART}, got {min(self.parts)}.")
        if min(self.weights) < SMALLEST_PART or self._at(self.total) != self.parts:
            raise ValueError(
                f"Expected parts in the proportions of chosen={self.weights}, got {self.parts}."
            )

    @property
    def weights(self) -> Parts:
        """What the parts are proportional to: the amounts that were chosen."""
        return self.chosen or self.parts

    def share(self, index: int) -> float:
        """Share of one part in percent."""
        return float(100 * self.parts[index] / self.total)

    def with_total(self, total: Decimal) -> Split:
        """Scale the free parts to a new total; locked amounts stay.

        Raises:  ValueError in words where the locked amounts leave nothing for the others.
        """
        free = [i for i in range(3) if not self.locked[i]]
        if not free:
            raise ValueError(
                "All three parts are locked, so the total cannot change. Unlock one of them."
            )
        held = sum((self.parts[i] for i in range(3) if self.locked[i]), Decimal(0))
        chosen = Fraction(sum(self.weights[i] for i in free)) / Fraction(sum(self.weights))
        smallest = min(len(free) * Fraction(SMALLEST_SHARE), chosen)
        if held and total - held < max(
            smallest * Fraction(total), len(free) * Fraction(SMALLEST_PART)
        ):
            needed = float(Fraction(held) / (1 - smallest))
            raise ValueError(
                f"The locked parts already take {held:f}. Unlock one, or choose a total above "
                f"{needed:.4g}."
            )
        return _made(total, self._at(total), self.locked, self.weights)

    def with_part(self, index: int, amount: Decimal) -> Split:
        """Choose one part; the free others share what remains in their old proportions.

        Raises:  ValueError in words where the others are locked or nothing would remain for them.
        """
        others = [i for i in range(3) if i != index and not self.locked[i]]
        if not others:
            raise ValueError(
                "Both other parts are locked, so this one cannot move. Unlock one of them."
            )
        rest = self.parts[index] + sum(self.parts[i] for i in others)
        room = rest - min(len(others) * SMALLEST_SHARE * self.total, rest - self.parts[index])
        if not 0 < amount <= room:
            raise ValueError(
                f"This part has to be above 0 and at most {room:f} here, so that something is "
                "left for the others."
            )
        if amount < SMALLEST_PART:
            raise ValueError(
                f"This part must be at least {SMALLEST_PART:f}: with less, its noise drowns "
                "everything."
            )
        parts = list(self.parts)
        parts[index] = amount
        for i, part in zip(
            others, shared_out(rest - amount, [self.weights[i] for i in others]), strict=True
        ):
            parts[i] = part
        return Split(self.total, (parts[0], parts[1], parts[2]), self.locked)

    def with_share(self, index: int, percent: float) -> Split:
        """Choose one part by its share in percent: exactly that share, at every total, unless
        another is locked.
        """
        share = Decimal(repr(percent)) / 100
        moved = self.with_part(index, _rounded(self.total * share))  # or why not, in words
        others = [i for i in range(3) if i != index]
        if any(self.locked[i] for i in others):
            return moved
        rest = shared_out(1 - share, [self.weights[i] for i in others])
        chosen = {index: share, **dict(zip(others, rest, strict=True))}
        return from_shares(self.total, (chosen[0], chosen[1], chosen[2])).with_locks(self.locked)

    def toggled(self, index: int) -> Split:
        """Lock or unlock one part."""
        locked = list(self.locked)
        locked[index] = not locked[index]
        return self.with_locks((locked[0], locked[1], locked[2]))

    def with_locks(self, locked: Locks = (False, False, False)) -> Split:
        """Return the same parts with other locks; what a lock had moved away from the chosen
        proportions is chosen now.
        """
        try:
            return replace(self, locked=locked)
        except ValueError:
            return replace(self, locked=locked, chosen=None)

    def _at(self, total: Decimal) -> Parts:
        """The parts at a total: locked ones as they are, the others in the chosen proportions."""
        if total == sum(self.weights) and all(
            self.parts[i] == self.weights[i] for i in range(3) if self.locked[i]
        ):
            return self.weights
        free = [i for i in range(3) if not self.locked[i]]
        parts = list(self.parts)
        rest = total - sum(parts[i] for i in range(3) if self.locked[i])
        if free:
            for i, part in zip(
                free, shared_out(rest, [self.weights[i] for i in free]), strict=True
            ):
                parts[i] = part
        return parts[0], parts[1], parts[2]


def split_of(budget: Budget, now: Split | None = None) -> Split:
    """The split of a whole budget: what its metric does not take, in proportion; locked parts of
    the present split stay as they are. Of amounts in mu^2, which no control shows, the shares.
    """
    locked = (False, False, False) if now is None else now.locked
    free = [i for i in range(3) if not locked[i]]
    total = now.total if now is not None and budget.additive_only else budget.total
    if (not budget.metric and total == budget.total) or not free:
        return Split(total, budget.parts if now is None or free else now.parts, locked)
    parts = list(budget.parts if now is None else now.parts)
    rest = total - sum(parts[i] for i in range(3) if locked[i])
    for i, part in zip(free, shared_out(rest, [budget.parts[i] for i in free]), strict=True):
        parts[i] = part
    return Split(total, (parts[0], parts[1], parts[2]), locked)


def shared_out(total: Decimal, weights: Sequence[Decimal]) -> tuple[Decimal, ...]:
    """A total in given proportions, rounded by largest remainder: however they are written, the
    same amounts.

    The step is `DIGITS` digits of the smallest; what is finer than a step, or below
    `SMALLEST_PART`, is settled with the largest.
    """
    whole = sum(map(Fraction, weights))
    wanted = [Fraction(total) * Fraction(weight) / whole for weight in weights]
    step = Decimal(1).scaleb(_exponent(min(wanted)) - DIGITS + 1)
    steps = [math.floor(part / Fraction(step)) for part in wanted]
    left = total - step * sum(steps)
    largest_remainder = sorted(
        range(len(weights)), key=lambda i: steps[i] - wanted[i] / Fraction(step)
    )
    for i in largest_remainder[: int(left // step)]:
        steps[i] += 1
    parts = [max(step * n, SMALLEST_PART) for n in steps]
    parts[max(range(len(weights)), key=lambda i: wanted[i])] += total - sum(parts)
    return tuple(part.normalize() for part in parts)


def _exponent(amount: Fraction) -> int:
    """The power of ten of the first digit."""
    return (Decimal(amount.numerator) / Decimal(amount.denominator)).adjusted()


def _written(parts: Parts) -> Parts:
    """The same amounts without zeros at the end, with which a link is too long to be read again."""
    first, second, third = (Decimal(f"{part.normalize(EXACT):f}") for part in parts)
    return first, second, third


def _rounded(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal(1).scaleb(amount.adjusted() - DIGITS + 1)).normalize()


def _made(total: Decimal, parts: Parts, locked: Locks, chosen: Parts) -> Split:
    """A split that remembers what was chosen only where the parts do not say the same."""
    is_free = not any(locked)
    is_same = parts == chosen or (
        is_free
        and all(
            part * sum(chosen) == weight * total for part, weight in zip(parts, chosen, strict=True)
        )
        and shared_out(sum(chosen, Decimal(0)), parts) == chosen
    )
    return Split(total, parts, locked, None if is_same else chosen)


def from_shares(
    total: Decimal, shares: Parts = (Decimal("0.5"), Decimal("0.25"), Decimal("0.25"))
) -> Split:
    """A fresh split of a total in given proportions, nothing locked."""
    return Split(sum(shares, Decimal(0)), shares).with_total(total)
