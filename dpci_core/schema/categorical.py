"""Columns of levels: what all share, and the kind whose first level is the reference, every other
one a feature of 0 or 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import expect
from dpci_core.schema.column import Column, Scale, as_text, rounded
from dpci_core.schema.spelling import level_finder

SHARES_SLACK = 0.01
"""Shares may add up to 1 within this, as rounded ones do; they are scaled to 1."""
LEVEL_SPREAD = 0.5
"""What a level's 0 or 1 is divided by: as far apart as one that every other record has. A rarer
level gains nothing from a smaller divisor, since its rows would count less (`StandardEncoding`)."""
_RARE = 1.0 / 3.0
"""Share of a rare level, over an even one, where none is told."""


BESIDE = "(beside the other levels, each of which has its own number)"
"""What a level is told against where every level has a coefficient."""


@dataclass(frozen=True, slots=True)
class LevelsColumn(Column):
    """One of the declared levels. A cell's value is the place of its level; what features it
    becomes, and the words for them, are left to the kinds.

    Args:
        name: as of `Column`.
        levels: as texts, at least two.

    A kind declares the fields `other` and `shares`, where they shall stand among its own.
    """

    guessed: ClassVar[str] = "shares"

    levels: tuple[str, ...]

    @property
    @abstractmethod
    def other(self) -> str | None:
        """The level that missing and undeclared ones count as; None: such a record has a missing
        cell, and counts for nothing.
        """

    @property
    @abstractmethod
    def shares(self) -> tuple[float, ...] | None:
        """Expected share of every level, at least 0, 1 together up to rounding; public knowledge,
        by default equal.
        """

    def __post_init__(self) -> None:
        expect(
            len(set(self.levels)) >= max(2, len(self.levels)),
            f"Expected at least two levels, all different, for column {self.name!r}.",
        )
        expect(
            self.other is None or self.other in self.levels,
            f"Expected other={self.other!r} to be one of the levels of column {self.name!r}.",
        )
        if self.shares is None:
            return
        expect(
            len(self.shares) == len(self.levels),
            f"Expected shares of column {self.name!r} to hold {len(self.levels)} numbers, got "
            f"{len(self.shares)}.",
        )
        total = math.fsum(self.shares)
        expect(
            min(self.shares) >= 0.0 and abs(total - 1.0) <= SHARES_SLACK,
            f"Expected shares of column {self.name!r} to be at least 0 and to add up to 1, got "
            f"{list(self.shares)}.",
        )

    @property
    def fill(self) -> str:
        """What a missing or undeclared level counts as; empty where its record counts for
        nothing.
        """
        return self.other or ""

    @property
    def expected_shares(self) -> tuple[float, ...]:
        """Share of every level, 1 together; equal where none are declared."""
        if self.shares is None:
            return (1.0 / len(self.levels),) * len(self.levels)
        total = math.fsum(self.shares)
        return tuple(share / total for share in self.shares)

    # --- cells to features ------------------------------------------------------------------------

    @property
    def reader(self) -> Callable[[object], float]:
        """The place of a cell's level."""
        find = level_finder(self.levels)

        def place(cell: object) -> float:
            found = find(cell)
            return math.nan if found < 0.0 else found

        return place

    @property
    def fill_value(self) -> float:
        """The place of the level that others count as."""
        return math.nan if self.other is None else float(self.levels.index(self.other))

    def fits(self, values: Array) -> Flags:
        """Which are declared; all of them where others count as a level."""
        return ~np.isnan(self.filled(values))

    @property
    def n_values(self) -> int:
        """The number of levels."""
        return len(self.levels)

    # --- what is declared -------------------------------------------------------------------------

    @property
    def texts(self) -> tuple[str, ...]:
        """The levels."""
        return self.levels

    def bare(self) -> Self:
        """The name alone: levels are codes."""
        return type(self)(self.name, ("0", "1"))

    @property
    def has_usual(self) -> bool:
        """Whether shares are declared."""
        return self.shares is not None

    def with_usual(self, series: pd.Series[Any]) -> Self:
        """Return the column with the shares of its levels in these values, where any occurs."""
        if self.shares is not None:
            return self
        counts = Counter(as_text(value) for value in series.dropna())
        seen = [counts[level] for level in self.levels]
        if self.other is not None:
            seen[self.levels.index(self.other)] += len(series) - sum(seen)
        if not any(seen):
            return self
        shares = [rounded(count / sum(seen)) for count in seen]
        total = math.fsum(shares)
        usual: dict[str, Any] = {"shares": tuple(share / total for share in shares)}
        return replace(self, **usual)

    def refused(self, cell: object) -> tuple[str, dict[str, object]] | None:
        """None of the levels."""
        is_known = not math.isnan(self.reader(cell))
        return None if is_known else ("level_to_predict_unknown", {"names": ", ".join(self.levels)})

    # --- twins ------------------------------------------------------------------------------------

    def check_guess(self, guess: tuple[float, ...]) -> None:
        """There is a share of every level."""
        expect(
            len(guess) == len(self.levels),
            f"Expected shares[{self.name!r}] to hold {len(self.levels)} shares, got {len(guess)}.",
        )

    def draw(self, uniform: Array, guess: tuple[float, ...] | None) -> Array:
        """Levels by their shares."""
        shares = self.expected_shares if guess is None else guess
        ends = np.cumsum(shares) / math.fsum(shares)
        return np.searchsorted(ends[:-1], uniform, side="right").astype(np.float64)

    def doubts(self, guess: tuple[float, ...] | None) -> dict[str, tuple[float, ...]]:
        """Rare levels, where no shares are told.

        A level against the first is least certain where both are rare: its variance goes with the
        sum of the inverses of their shares. So the first is rare with every second one of the
        others, and with the rest of them; of two levels either is.
        """
        if guess is not None or self.shares is not None:
            return {}
        places = range(len(self.levels))
        if len(places) == 2:
            return {"rare levels": self._with_rare({0}), "other rare levels": self._with_rare({1})}
        return {
            "rare levels": self._with_rare({0, *places[1::2]}),
            "other rare levels": self._with_rare({0, *places[2::2]}),
        }

    def _with_rare(self, rare: set[int]) -> tuple[float, ...]:
        """Shares where these levels have a third of an even one each, the others the same."""
        n = len(self.levels)
        least = _RARE / n
        rest = (1.0 - len(rare) * least) / (n - len(rare))
        return tuple(least if place in rare else rest for place in range(n))

    def cells(self, values: Array) -> object:
        """The levels."""
        return categories(values, self.levels)


@dataclass(frozen=True, slots=True)
class CategoricalColumn(LevelsColumn):
    """One of the declared levels; the first is the reference and has no feature unless
    `has_reference` is False.

    Args:
        name: as of `Column`.
        levels: as texts, at least two.
        other: the level that missing and undeclared ones count as; None: such a record has a
            missing cell, and counts for nothing.
        has_reference: whether the first level has no feature of its own.
        shares: expected share of every level, at least 0, 1 together up to rounding; public
            knowledge, by default equal.
    """

    other: str | None = None
    has_reference: bool = True
    shares: tuple[float, ...] | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features: "column=level"."""
        return tuple(f"{self.name}={level}" for level in self.levels[int(self.has_reference) :])

    def affine(self, *, is_standard: bool) -> tuple[tuple[float, float], ...]:
        """The share of every level and the spread of all, or none."""
        shares = self.expected_shares[int(self.has_reference) :]
        return tuple((share, LEVEL_SPREAD) if is_standard else (0.0, 1.0) for share in shares)

    def encoded(self, values: Array, scale: Scale) -> Array:
        """1 for the level of a value and 0 for the others, scaled."""
        places = np.arange(int(self.has_reference), len(self.levels))
        centres, units = np.array(self.affine(is_standard=not isinstance(scale, str))).T
        features: Array = ((values[:, None] == places) - centres) / units
        return features

    @property
    def middling(self) -> str:
        """The first level."""
        return self.levels[0]

    # --- words ------------------------------------------------------------------------------------

    def _level(self, name: str) -> str:
        """A feature in words."""
        return f"{self.name} = {name.removeprefix(f'{self.name}=')}"

    def contrast(self, name: str) -> str:
        """A level against the reference."""
        against = f", against {self.levels[0]}" if self.has_reference else ""
        return f"{self._level(name)}{against}"

    def change(self, name: str, features: Collection[str]) -> tuple[str, str, str]:
        """One level instead of those without a coefficient of their own."""
        rest = [level for level in self.levels if f"{self.name}={level}" not in features]
        against = f"instead of {' or '.join(rest)}" if rest else BESIDE
        change = f"{self._level(name)} {against}"
        return change, f"for {change}", ""


def categories(places: Array | Flags, levels: tuple[str, ...]) -> object:
    """Return cells (n,) that hold the levels at some places (n,)."""
    return pd.Categorical.from_codes(
        places.astype(np.int32), dtype=pd.CategoricalDtype(list(levels))
    )
