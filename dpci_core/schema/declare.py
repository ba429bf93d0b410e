"""What a steward declares about a table before looking at it: columns with bounds or levels, and
the target.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

CONSTANT = "constant"
"""Name of the last coefficient."""
SPAN = (1e-30, 1e30)
"""Smallest and largest distance between the bounds of a number, so that slopes in its units can be
squared.
"""


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A number, declared to lie in [low, high]; values outside are clipped.

    missing: what a missing value, or one that is no number, counts as; None is the middle of the
    bounds.
    """

    name: str
    low: float
    high: float
    missing: float | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.high - self.low) and self.low < self.high):
            raise ValueError(
                f"Expected finite low={self.low!r} < high={self.high!r} for column {self.name!r}."
            )
        if not SPAN[0] <= self.high - self.low <= SPAN[1]:
            raise ValueError(
                f"Expected low={self.low!r} and high={self.high!r} of column {self.name!r} to be "
                f"{SPAN[0]:g} to {SPAN[1]:g} apart."
            )
        if self.missing is not None and not self.low <= self.missing <= self.high:
            raise ValueError(
                f"Expected missing={self.missing!r} of column {self.name!r} to lie within its "
                "bounds."
            )

    @property
    def stand_in(self) -> float:
        """What a missing value counts as."""
        return (self.low + self.high) / 2.0 if self.missing is None else self.missing

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features: the column itself."""
        return (self.name,)


@dataclass(frozen=True, slots=True)
class CategoricalColumn:
    """One of the declared levels; the first is the reference and has no feature unless
    `has_reference` is False.

    An unknown or missing level counts as `other` where that is declared, and as the first level
    where it is not.
    """

    name: str
    levels: tuple[str, ...]
    other: str | None = None
    has_reference: bool = True

    def __post_init__(self) -> None:
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise ValueError(
                f"Expected at least two levels, all different, for column {self.name!r}."
            )
        if self.other is not None and self.other not in self.levels:
            raise ValueError(
                f"Expected other={self.other!r} to be one of the levels of column {self.name!r}."
            )

    @property
    def stand_in(self) -> str:
        """What an unknown or missing level counts as."""
        return self.levels[0] if self.other is None else self.other

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features: "column=level"."""
        return tuple(f"{self.name}={level}" for level in self.levels[int(self.has_reference) :])


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True, slots=True)
class Schema:
    """What a steward declares about a table before looking at it: feature columns, target column,
    positive level.

    y is +1 where the target equals `positive`, -1 elsewhere. `notes` say what a proposal left out
    and why.
    """

    features: tuple[Column, ...]
    target: str
    positive: str
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.features:
            raise ValueError("Expected features to hold at least one column.")
        for name in _repeated([*(column.name for column in self.features), self.target]):
            raise ValueError(f"Expected every column name once, got {name!r} twice.")
        for name in _repeated(
            [*self.feature_names, CONSTANT]
        ):  # names the columns only: a level is a value of a cell
            owners = [column.name for column in self.features if name in column.feature_names]
            other = repr(owners[1]) if len(owners) > 1 else f"the last coefficient, {CONSTANT!r},"
            raise ValueError(
                f"Expected every feature name once; column {owners[0]!r} and {other} make the same "
                "one."
            )

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Encoded names in order, without the constant."""
        return tuple(name for column in self.features for name in column.feature_names)

    def select(self, features: int | tuple[str, ...] | None) -> tuple[str, ...]:
        """Return the encoded names of the first `features` features, or of the named ones, or of
        all.
        """
        known = self.feature_names
        if features is None:
            return known
        if isinstance(features, int):
            if isinstance(features, bool) or not 1 <= features <= len(known):
                raise ValueError(f"Expected 1 <= features={features!r} <= {len(known)}.")
            return known[:features]
        unknown = [name for name in features if name not in known]
        if unknown:
            raise ValueError(
                f"Expected features to be encoded names of the schema, got {unknown[0]!r}."
            )
        if not features or len(set(features)) < len(features):
            raise ValueError("Expected features to name at least one feature, each once.")
        return tuple(features)

    def columns_of(self, names: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the source columns that the encoded `names` are made of."""
        wanted = set(names)
        return tuple(
            column for column in self.features if wanted.intersection(column.feature_names)
        )


def _repeated(names: list[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)
