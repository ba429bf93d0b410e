"""What a steward declares about a table before looking at it: columns with bounds or levels, and
the target.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from dpci_core.base.errors import check_range
from dpci_core.base.limits import rows_per_person_in_range

CONSTANT = "constant"
"""Name of the last coefficient."""
SHARES_SLACK = 0.01
"""Shares may add up to 1 within this, as rounded ones do; they are scaled to 1."""
SPAN = (1e-30, 1e30)
"""Smallest and largest distance between the bounds of a number, so that slopes in its units can be
squared.
"""


LIMIT = (1.0, 1e6)
"""Least and greatest number of spreads from the typical value at which values may be cut off."""
COMPLETE = (0.05, 1.0)
"""Least and greatest expected share of records without a missing cell."""
RADIUS = (1.0, 1e6)
"""Least and greatest length of a row that still counts in full."""
DEFAULT_LIMIT = 4.0
MOST_UNITS = 40
"""Characters of the units of a column."""
DEFAULT_STEP = {"log": 2.0}
"""Effects of a logarithm are told for each doubling, where no step is declared."""
LEVEL_SPREAD = 0.5
"""What a level's 0 or 1 is divided by: as far apart as one that every other record has. A rarer
level gains nothing from a smaller divisor, since its rows would count less (`StandardEncoding`)."""


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """A number, declared to lie in [low, high]; values outside are clipped.

    Everything declared is public knowledge, never read from the table that is to be protected.

    Args:
        name: of the column in the table.
        low: smallest value, in the column's units.
        high: largest value.
        missing: what a missing value, or one that is no number, counts as; None: its record has a
            missing cell, and counts for nothing.
        typical: a middling value, in the column's units.
        spread: about the standard deviation, in the column's units; of a logarithm the factor,
            greater than 1, between a middling and a large value.
        step: the difference for which effects are told, such as 10 for 10 years; of a logarithm a
            factor, by default 2.
        limit: values further than so many spreads from the typical one count as that far; None is
            the limit of the encoding. Only the standard encoding has limits.
        transform: "log" where effects are meant for ratios, as of amounts; low is positive then.
        units: what the number is measured in, such as "mmHg"; only words, no calculation uses them.

    Raises:
        ValueError: naming the argument, the rule and the value.

    >>> NumericColumn("age", 18, 98, typical=60, spread=15, step=10).standard_range(2.0)
    (30.0, 90.0)
    """

    name: str
    low: float
    high: float
    missing: float | None = None
    typical: float | None = None
    spread: float | None = None
    step: float | None = None
    limit: float | None = None
    transform: Literal["log"] | None = None
    units: str = ""

    def __post_init__(self) -> None:
        if len(self.units) > MOST_UNITS or not self.units.isprintable():
            raise ValueError(
                f"Expected units={self.units!r} of column {self.name!r} to be printable and at "
                f"most {MOST_UNITS} characters."
            )
        if not (math.isfinite(self.high - self.low) and self.low < self.high):
            raise ValueError(
                f"Expected finite low={self.low!r} < high={self.high!r} for column {self.name!r}."
            )
        if not SPAN[0] <= self.high - self.low <= SPAN[1]:
            raise ValueError(
                f"Expected low={self.low!r} and high={self.high!r} of column {self.name!r} to be "
                f"{SPAN[0]:g} to {SPAN[1]:g} apart."
            )
        for name in ("missing", "typical"):
            value = getattr(self, name)
            if value is not None and not self.low <= value <= self.high:
                raise ValueError(
                    f"Expected {name}={value!r} of column {self.name!r} to lie within its bounds."
                )
        if self.transform not in (None, "log"):
            raise ValueError(
                f"Expected transform={self.transform!r} of column {self.name!r} to be None or "
                "'log'."
            )
        if self.transform == "log" and not self.low > 0.0:
            raise ValueError(
                f"Expected low={self.low!r} > 0 for column {self.name!r}, whose logarithm is taken."
            )
        apart = self.on_scale(self.high) - self.on_scale(self.low)
        if not apart >= SPAN[0]:  # as for two large bounds next to each other
            raise ValueError(
                f"Expected low={self.low!r} and high={self.high!r} of column {self.name!r} to have "
                "different logarithms."
            )
        if (self.typical is None) != (self.spread is None):
            raise ValueError(
                f"Expected typical and spread of column {self.name!r} both or neither."
            )
        least = 1.0 if self.transform == "log" else 0.0
        for name in ("spread", "step"):
            value = getattr(self, name)
            if value is None:
                continue
            if not (math.isfinite(value) and value > least):
                raise ValueError(
                    f"Expected {name}={value!r} of column {self.name!r} to be finite and > "
                    f"{least:g}."
                )
            # An effect of a larger step may be no finite number, which only shows once it is drawn.
            size = math.log(value) if self.transform == "log" else value
            if not apart / 1e9 <= size <= apart * 10.0:
                raise ValueError(
                    f"Expected {name}={value!r} of column {self.name!r} to be at most ten times, "
                    "and not a vanishing part of, the distance between its bounds."
                )
        if self.limit is not None:
            check_range(LIMIT, **{f"limit of column {self.name!r}": self.limit})

    @property
    def fill(self) -> str:
        """What a missing value counts as, in words; empty where its record counts for nothing."""
        return "" if self.missing is None else f"{self.missing:.12g}"

    @property
    def middling(self) -> float:
        """The typical value, or the middle of the bounds where none is declared."""
        return (self.low + self.high) / 2.0 if self.typical is None else self.typical

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features: the column itself, or its logarithm."""
        return (f"log({self.name})" if self.transform == "log" else self.name,)

    def on_scale(self, value: float) -> float:
        """A value of the column as effects are meant: itself, or its natural logarithm."""
        return math.log(value) if self.transform == "log" else value

    @property
    def centre(self) -> float:
        """The typical value on that scale; undeclared, the middle of the bounds."""
        if self.typical is not None:
            return self.on_scale(self.typical)
        return (self.on_scale(self.low) + self.on_scale(self.high)) / 2.0

    @property
    def unit(self) -> float:
        """The spread on that scale; undeclared, the standard deviation of even values between the
        bounds.
        """
        if self.spread is not None:
            return math.log(self.spread) if self.transform == "log" else self.spread
        return (self.on_scale(self.high) - self.on_scale(self.low)) / math.sqrt(12.0)

    @property
    def step_size(self) -> float:
        """The step of an effect on that scale, 1 where none is declared."""
        step = DEFAULT_STEP.get(self.transform or "") if self.step is None else self.step
        if step is None:
            return 1.0
        return math.log(step) if self.transform == "log" else step

    def standard_range(self, limit: float) -> tuple[float, float]:
        """Values on that scale beyond which others count as these, in the standard encoding."""
        reach = (limit if self.limit is None else self.limit) * self.unit
        low, high = self.on_scale(self.low), self.on_scale(self.high)
        return max(low, self.centre - reach), min(high, self.centre + reach)


@dataclass(frozen=True, slots=True)
class CategoricalColumn:
    """One of the declared levels; the first is the reference and has no feature unless
    `has_reference` is False.

    Args:
        name: of the column in the table.
        levels: as texts, at least two.
        other: the level that missing and undeclared ones count as; None: such a record has a
            missing cell, and counts for nothing.
        has_reference: whether the first level has no feature of its own.
        shares: expected share of every level, at least 0, 1 together up to rounding; public
            knowledge, by default equal.
    """

    name: str
    levels: tuple[str, ...]
    other: str | None = None
    has_reference: bool = True
    shares: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if len(set(self.levels)) < max(2, len(self.levels)):
            raise ValueError(
                f"Expected at least two levels, all different, for column {self.name!r}."
            )
        if self.other is not None and self.other not in self.levels:
            raise ValueError(
                f"Expected other={self.other!r} to be one of the levels of column {self.name!r}."
            )
        if self.shares is None:
            return
        if len(self.shares) != len(self.levels):
            raise ValueError(
                f"Expected shares of column {self.name!r} to hold {len(self.levels)} numbers, got "
                f"{len(self.shares)}."
            )
        total = math.fsum(self.shares)
        if not (min(self.shares) >= 0.0 and abs(total - 1.0) <= SHARES_SLACK):
            raise ValueError(
                f"Expected shares of column {self.name!r} to be at least 0 and to add up to 1, got "
                f"{list(self.shares)}."
            )

    @property
    def fill(self) -> str:
        """What a missing or undeclared level counts as; empty where its record counts for
        nothing.
        """
        return self.other or ""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features: "column=level"."""
        return tuple(f"{self.name}={level}" for level in self.levels[int(self.has_reference) :])

    @property
    def expected_shares(self) -> tuple[float, ...]:
        """Share of every level, 1 together; equal where none are declared."""
        if self.shares is None:
            return (1.0 / len(self.levels),) * len(self.levels)
        total = math.fsum(self.shares)
        return tuple(share / total for share in self.shares)


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardEncoding:
    """Columns centred and scaled by what is declared of them, the constant beside them, and rows
    longer than a public radius counting less.

    A row is v = ((g - typical)/spread for every number, (0 or 1 - share)/`LEVEL_SPREAD` for every
    level, 1), where g is the value, or its logarithm, cut off `limit` spreads from the typical one.
    It enters as x = v / radius with weight w = min(1, 1/|x|^2) on its loss. The weight depends on
    that row and on public numbers only, and w |x|^2 <= 1: docs/standard.md has the argument that
    noise for rows of norm 1 protects it.

    Args:
        radius: R, in spreads; a row longer than that counts less.
        limit: in spreads, for columns without a limit of their own.

    Raises:
        ValueError: naming the argument, the rule and the value.
    """

    radius: float
    limit: float = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        check_range(RADIUS, radius=self.radius)
        check_range(LIMIT, limit=self.limit)


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True, slots=True)
class Persons:
    """Whose row it is, where one person may have several.

    Args:
        column: that names the person; it is no feature, and its cells are never shown.
        rows: k; the first k rows of each person count, a row with an empty cell does not.

    Raises:
        ValueError: naming the argument.
    """

    column: str
    rows: int

    def __post_init__(self) -> None:
        if not self.column.strip():
            raise ValueError("Expected the column of persons to have a name.")
        object.__setattr__(self, "rows", rows_per_person_in_range(self.rows))


class Transformations(NamedTuple):
    """What a declaration does to values besides scaling them.

    logarithms: columns of which the logarithm is taken.
    cut: limits in spreads, each with the columns whose bounds are wider than it.
    radius: in spreads, beyond which a row counts less; None where every row counts in full.
    filled: columns of which a missing cell counts as something, with what that is.
    complete: expected share of records without a missing cell.
    """

    logarithms: tuple[str, ...] = ()
    cut: tuple[tuple[float, tuple[str, ...]], ...] = ()
    radius: float | None = None
    filled: tuple[tuple[str, str], ...] = ()
    complete: float = 1.0


@dataclass(frozen=True, slots=True)
class Schema:
    """What a steward declares about a table before looking at it: feature columns, target column,
    positive level.

    Args:
        features: the columns, each name once.
        target: column of the outcome.
        positive: its code for y = +1.
        negative: its codes for y = -1; empty: every other value, for tables that anybody may look
            at. A record with another value, or none, has a missing cell, and counts for nothing.
        notes: what a proposal left out and why.
        standard: the standard encoding with its public numbers, or None for the one by bounds
            (`encode`).
        persons: whose row it is, where a person may have several; None where a row is a record.
        complete: expected share of records without a missing cell, for planning.
    """

    features: tuple[Column, ...]
    target: str
    positive: str
    notes: tuple[str, ...] = field(default=())
    standard: StandardEncoding | None = None
    persons: Persons | None = None
    negative: tuple[str, ...] = ()
    complete: float = 1.0

    def __post_init__(self) -> None:
        check_range(COMPLETE, complete=self.complete)
        for code in _repeated(list(self.codes)):
            raise ValueError(f"Expected every code of {self.target!r} once, got {code!r} twice.")
        if not self.features:
            raise ValueError("Expected features to hold at least one column.")
        whose = [] if self.persons is None else [self.persons.column]
        for name in _repeated([*(column.name for column in self.features), self.target, *whose]):
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
    def codes(self) -> tuple[str, ...]:
        """Declared codes of the outcome, the positive one first."""
        return (self.positive, *self.negative)

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

    @property
    def transformations(self) -> Transformations:
        """What is done to values besides scaling them."""
        numbers = [column for column in self.features if isinstance(column, NumericColumn)]
        made = Transformations(
            logarithms=tuple(column.name for column in numbers if column.transform == "log"),
            filled=tuple((one.name, one.fill) for one in self.features if one.fill),
            complete=self.complete,
        )
        if self.standard is None:
            return made
        cut: dict[float, list[str]] = {}
        for column in numbers:
            limit = self.standard.limit if column.limit is None else column.limit
            ends = (column.on_scale(column.low), column.on_scale(column.high))
            if column.standard_range(limit) != ends:
                cut.setdefault(limit, []).append(column.name)
        listed = tuple((limit, tuple(names)) for limit, names in sorted(cut.items()))
        return made._replace(cut=listed, radius=self.standard.radius)

    def used(self, names: tuple[str, ...]) -> Schema:
        """Return the declaration of the columns that the encoded `names` are made of."""
        return replace(self, features=self.columns_of(names))

    def columns_of(self, names: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the source columns that the encoded `names` are made of."""
        wanted = set(names)
        return tuple(
            column for column in self.features if wanted.intersection(column.feature_names)
        )


def _repeated(names: list[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)
