"""The class of all cards: whole points for every yes, and a threshold that the sum has to pass."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Flags, Integers
from dpci_core.base.errors import InfeasibleDesignError, check_count, expect

WORK_LIMIT = 8_000_000
"""Most cards of a class, and most combinations of answers; a public constant."""
SUMS_LIMIT = 64_000_000
"""Most sums of points kept at once while cards are listed: few cards of large points have many."""
MOST_POINTS = 1_000
"""Largest size of the points for a yes."""
_DIGITS = 30
"""Of a number of cards that is printed."""
_HASH_SEED = 20_191_009
_BLOCK = 2**18
"""Sums kept at once while cards are listed, so that they stay in the second-level cache."""


class TooManyCardsError(InfeasibleDesignError):
    """A class of more cards than are ever listed.

    n_points: how many.  fits: classes that are small enough, by one change each.
    n_sums: of points kept at once, where they are too many and not the cards.
    """

    def __init__(self, n_points: int, fits: tuple[ScorecardClass, ...], *, n_sums: int = 0) -> None:
        self.n_points = n_points
        self.fits = fits
        self.n_sums = n_sums
        said = " or ".join(
            f"n_questions={one.n_questions}, weights={one.weights}, thresholds={one.thresholds}"
            for one in fits
        )
        shown = f"{n_points:,}" if n_points < 10**_DIGITS else f"more than 10^{_DIGITS}"
        super().__init__(
            f"Expected at most {SUMS_LIMIT:,} sums of points kept at once, got {n_sums:,}."
            if n_sums
            else f"Expected at most {WORK_LIMIT:,} cards and combinations of answers, got {shown}.",
            f"Small enough are {said}." if said else "",
        )


@dataclass(frozen=True, slots=True)
class Card:
    """Points for every yes, and the threshold that their sum has to exceed.

    points: (k,) whole numbers.
    threshold: a half, so that no sum equals it.
    """

    points: tuple[int, ...]
    threshold: float

    def scores(self, X: npt.ArrayLike) -> Array:
        """Return the sum of points minus the threshold for answers (n, k)."""
        sums = np.asarray(X, dtype=np.float64) @ np.array(self.points, dtype=np.float64)
        return np.asarray(sums - self.threshold)

    def says_yes(self, X: npt.ArrayLike) -> Flags:
        """Return whether the sum of points exceeds the threshold, for answers (n, k)."""
        return self.scores(X) > 0.0


@dataclass(frozen=True, slots=True)
class ScorecardClass:
    """All cards with whole points and half thresholds within public ranges.

    Args:
        n_questions: k.
        weights: smallest and largest points for a yes, whole numbers.
        thresholds: smallest and largest threshold, halves such as -1.5.

    Raises:  ValueError naming argument and value; TooManyCardsError above WORK_LIMIT.

    >>> cards = ScorecardClass(6)
    >>> cards.n_points, cards.n_rules
    (187500, 61088)
    """

    n_questions: int
    weights: tuple[int, int] = (-2, 2)
    thresholds: tuple[float, float] = (-5.5, 5.5)

    def __post_init__(self) -> None:
        check_count(n_questions=self.n_questions)
        low, high = _pair(self.weights, "weights")
        expect(
            float(low).is_integer() and float(high).is_integer() and low <= high,
            f"Expected weights={self.weights!r} to be whole numbers, low <= high.",
        )
        expect(
            max(-low, high) <= MOST_POINTS,
            f"Expected weights={self.weights!r} of size at most {MOST_POINTS}.",
        )
        first, last = _pair(self.thresholds, "thresholds")
        expect(
            first % 1 == 0.5 and last % 1 == 0.5 and first <= last,
            f"Expected thresholds={self.thresholds!r} to be halves such as -1.5, low <= high.",
        )
        object.__setattr__(self, "weights", (int(low), int(high)))
        object.__setattr__(self, "thresholds", (float(first), float(last)))
        if self._work > WORK_LIMIT:
            raise TooManyCardsError(self._work, self._smaller())
        n_sums = _sums_kept(self.n_questions, *self.weights)
        if n_sums > SUMS_LIMIT:
            raise TooManyCardsError(self._work, self._smaller(), n_sums=n_sums)

    @property
    def values(self) -> Integers:
        """Points that a yes may have (K,)."""
        return np.arange(self.weights[0], self.weights[1] + 1)

    @property
    def threshold_values(self) -> Array:
        """Thresholds (T,)."""
        return np.arange(self.thresholds[0], self.thresholds[1] + 0.5)

    @property
    def n_weights(self) -> int:
        """Number of ways to give points."""
        return int(len(self.values) ** self.n_questions)

    @property
    def n_points(self) -> int:
        """Number of cards; several may answer alike."""
        return self.n_weights * round(self.thresholds[1] - self.thresholds[0] + 1)

    @property
    def n_rules(self) -> int:
        """Number of cards that differ in an answer: public, whatever the table is."""
        return len(self.rules)

    @property
    def rules(self) -> Integers:
        """Places of one card for each rule, the one with the fewest points."""
        return _rules(self)

    def card_at(self, place: int) -> Card:
        """Return the card at a place among all `n_points`."""
        rest, t = divmod(int(place), len(self.threshold_values))
        points = []
        for _ in range(self.n_questions):
            rest, digit = divmod(rest, len(self.values))
            points.append(self.weights[0] + digit)
        return Card(tuple(points[::-1]), float(self.threshold_values[t]))

    def rule(self, number: int) -> Card:
        """Return the card of a rule, 0 to n_rules - 1."""
        return self.card_at(int(self.rules[number]))

    def all_points(self) -> Integers:
        """Return the points of all cards (n_points, k), in order."""
        places = np.arange(self.n_weights)
        digits = []
        for _ in range(self.n_questions):
            places, digit = np.divmod(places, len(self.values))
            digits.append(self.weights[0] + digit)
        return np.repeat(np.stack(digits[::-1], axis=1), len(self.threshold_values), axis=0)

    def all_thresholds(self) -> Array:
        """Return the thresholds of all cards (n_points,), in order."""
        return np.tile(self.threshold_values, self.n_weights)

    @property
    def _work(self) -> int:
        return max(self.n_points, int(2**self.n_questions))

    def _smaller(self) -> tuple[ScorecardClass, ...]:
        """The nearest classes that are small enough: fewer questions, or smaller points."""
        found = []
        k = min(self.n_questions, WORK_LIMIT.bit_length()) - 1  # 2^k is within the limit
        while k >= 1 and not _fits(k, self.weights, self.thresholds):
            k -= 1
        if k >= 1:
            found.append(ScorecardClass(k, self.weights, self.thresholds))
        if self.weights != (-1, 1) and _fits(self.n_questions, (-1, 1), self.thresholds):
            found.append(ScorecardClass(self.n_questions, (-1, 1), self.thresholds))
        return tuple(found)


def _fits(k: int, weights: tuple[int, int], thresholds: tuple[float, float]) -> bool:
    if 2**k > WORK_LIMIT:
        return False
    n_points = (weights[1] - weights[0] + 1) ** k * round(thresholds[1] - thresholds[0] + 1)
    return n_points <= WORK_LIMIT and _sums_kept(k, *weights) <= SUMS_LIMIT


def _split(k: int, low: int, high: int) -> tuple[int, int]:
    """(span of the points, how many questions' points are run through one by one, so that a block
    of sums stays small).
    """
    span, outer = max(high, 0) - min(low, 0), k
    while outer > 0 and (high - low + 1) ** (k - outer + 1) * (k * span + 1) <= _BLOCK:
        outer -= 1
    return span, outer


def _sums_kept(k: int, low: int, high: int) -> int:
    """Length of the longest array of `sums_above`."""
    width, (span, outer) = high - low + 1, _split(k, low, high)
    ways = (width ** (i if i <= outer else i - outer) for i in range(1, k + 1))
    return max(int(one) * (1 << (k - i)) * (i * span + 1) for i, one in enumerate(ways, 1))


def _pair(value: object, name: str) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ValueError(f"Expected {name}={value!r} to be two numbers, low and high.") from None
    return low, high


def sums_above(values: npt.NDArray[np.generic], cards: ScorecardClass) -> npt.NDArray[np.generic]:
    """Return for every card the sum of `values` over the cells it says yes to, (n_points,).

    One question after the other: cells that agree on the questions still to come and have the same
    sum of points so far are added up, for all points of the question at once. So the time does not
    depend on how many cells are occupied, and hardly on how many there are.

    Args:
        values: (2^k,) whole numbers by cell; the first question is the highest bit.
        cards: the class.
    """
    k, low, high = cards.n_questions, cards.weights[0], cards.weights[1]
    width = high - low + 1
    _, outer = _split(k, low, high)
    heads = values.reshape(1, -1, 1)
    for _ in range(outer):
        heads = _with_next_question(heads, low, high)
    first = k * min(low, 0)
    start = np.ceil(cards.threshold_values).astype(np.int64) - first
    found = np.empty((len(heads), width ** (k - outer), len(start)), dtype=values.dtype)
    for one, into in zip(heads, found, strict=True):
        sums = one[None]
        for _ in range(k - outer):
            sums = _with_next_question(sums, low, high)
        above = np.zeros((len(sums), sums.shape[-1] + 1), dtype=values.dtype)
        np.cumsum(sums[:, 0, ::-1], axis=1, out=above[:, 1:])  # of the j largest sums
        into[:] = above[:, sums.shape[-1] - np.clip(start, 0, sums.shape[-1])]
    return found.reshape(-1)


def _with_next_question(
    sums: npt.NDArray[np.generic], low: int, high: int
) -> npt.NDArray[np.generic]:
    """(W, 2 c, R) by points so far, cell and sum of points, to (W K, c, R + span)."""
    n, cells, reach = sums.shape
    no, yes = sums[:, : cells // 2], sums[:, cells // 2 :]
    base = -min(low, 0)
    longer = np.zeros(
        (n, high - low + 1, cells // 2, reach + max(high, 0) - min(low, 0)), dtype=sums.dtype
    )
    longer[..., base : base + reach] = no[:, None]
    for place, points in enumerate(range(low, high + 1)):
        longer[:, place, :, base + points : base + points + reach] += yes
    return longer.reshape(n * (high - low + 1), cells // 2, -1)


def _sizes(cards: ScorecardClass) -> Integers:
    """Return the place of every card (n_points,) in the order of size: fewer points are smaller,
    then thresholds nearer to 0.
    """
    size = np.zeros(1, dtype=np.int64)
    for _ in range(cards.n_questions):
        size = np.add.outer(size, np.abs(cards.values)).reshape(-1)
    halves = np.abs(2.0 * cards.threshold_values).astype(np.int64)
    return np.asarray(np.add.outer(size * (halves.max() + 1), halves).reshape(-1))


@lru_cache(8)
def _rules(cards: ScorecardClass) -> Integers:
    """Places of the cards that differ: equal sums of one random 64-bit number for each cell mean
    equal answers but for a chance of 2^-64 for each pair, in which a rule would be missing.
    """
    keys = np.random.default_rng(_HASH_SEED).integers(
        0, 2**64, 2**cards.n_questions, dtype=np.uint64
    )
    hashes = sums_above(keys, cards)
    order = np.lexsort((_sizes(cards), hashes))
    hashes = hashes[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = hashes[1:] != hashes[:-1]
    found = np.sort(order[is_first])
    found.flags.writeable = False
    return found
