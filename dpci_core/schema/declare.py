"""What a steward declares about a table before looking at it: columns with bounds or levels, and
the target.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.errors import check_range, expect
from dpci_core.base.limits import SHAPE, rows_per_person_in_range
from dpci_core.schema.categorical import CategoricalColumn
from dpci_core.schema.column import Column
from dpci_core.schema.numeric import LIMIT, NumericColumn

KINDS: dict[str, type[Column]] = {"numeric": NumericColumn, "categorical": CategoricalColumn}
"""Kinds of columns by their names in files."""

CONSTANT = "constant"
"""Name of the last coefficient."""
COMPLETE = (0.05, 1.0)
"""Least and greatest expected share of records without a missing cell."""
RADIUS = (1.0, 1e6)
"""Least and greatest R of a map that is one number."""
DEFAULT_LIMIT = 4.0

Triangle = tuple[tuple[float, ...], ...]
Shape = float | Triangle
"""A map of rows in spreads: U by its rows from the diagonal on, or R for U = I/R."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardEncoding:
    """Columns centred and scaled by what is declared of them, the constant beside them, and rows
    that are long in the measure of a public map counting less.

    A row is v = ((g - typical)/spread for every number, (0 or 1 - share)/`LEVEL_SPREAD` for every
    level, 1), where g is the value, or its logarithm, cut off `limit` spreads from the typical one.
    It enters as x = U v with weight w = min(1, 1/|x|^2) on its loss. The weight depends on that row
    and on public numbers only, and w |x|^2 <= 1: docs/proofs/map.md has the argument that noise for
    rows of norm 1 protects it.

    Args:
        shape: U by its rows from the diagonal on, p, p - 1, ..., 1 numbers for the features that
            are used and the constant, the diagonal positive; or R, in spreads, for U = I/R,
            whichever features are used: a row longer than R counts less.
        limit: in spreads, for columns without a limit of their own.

    Raises:
        ValueError: naming the argument, the rule and the value.
    """

    shape: Shape = 1.0
    limit: float = DEFAULT_LIMIT

    def __post_init__(self) -> None:
        check_range(LIMIT, limit=self.limit)
        check_shape(self.shape)

    def map_of(self, p: int) -> Array:
        """Return U (p, p), upper triangular, for p - 1 features and the constant.

        Raises:  ValueError for a shape of another size.
        """
        return map_of(self.shape, p)


def check_shape(shape: Shape) -> None:
    """Raise ValueError, naming the place, unless these are the numbers of a map."""
    if not isinstance(shape, tuple):
        check_range(RADIUS, shape=shape)
        return
    for k, row in enumerate(shape):
        if len(row) != len(shape) - k:
            raise ValueError(
                f"Expected {len(shape) - k} numbers in row {k} of shape, got {len(row)}."
            )
        check_range(SHAPE, **{f"shape[{k}][0]": row[0]})
        for j, number in enumerate(row[1:], start=1):
            check_range((-SHAPE[1], SHAPE[1]), **{f"shape[{k}][{j}]": number})


def map_of(shape: Shape, p: int) -> Array:
    """Return U (p, p), upper triangular, of a checked shape.

    Raises:  ValueError for a shape of another size.
    """
    if not isinstance(shape, tuple):
        return np.eye(p) / shape
    if len(shape) != p:
        raise ValueError(
            f"Expected a shape of {p} rows, for the features used and the constant, got "
            f"{len(shape)}."
        )
    U = np.zeros((p, p))
    for k, row in enumerate(shape):
        U[k, k:] = row
    return U


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
        expect(self.column.strip() != "", "Expected the column of persons to have a name.")
        object.__setattr__(self, "rows", rows_per_person_in_range(self.rows))


class Transformations(NamedTuple):
    """What a declaration does to values besides scaling them.

    logarithms: columns of which the logarithm is taken.
    cut: limits in spreads, each with the columns whose bounds are wider than it.
    radius: in spreads, beyond which a row counts less; None where every row counts in full, or an
        ellipsoid says which do.
    is_shaped: whether an ellipsoid says it.
    filled: columns of which a missing cell counts as something, with what that is.
    complete: expected share of records without a missing cell.
    """

    logarithms: tuple[str, ...] = ()
    cut: tuple[tuple[float, tuple[str, ...]], ...] = ()
    radius: float | None = None
    is_shaped: bool = False
    filled: tuple[tuple[str, str], ...] = ()
    complete: float = 1.0


@dataclass(frozen=True, slots=True)
class Schema:
    """What a steward declares about a table before looking at it: feature columns, and the outcome,
    which has codes or is a number.

    Args:
        features: the columns, each name once.
        target: column of the outcome; of a number its name.
        positive: its code for y = +1; empty where it is a number.
        negative: its codes for y = -1; empty: every other value, for tables that anybody may look
            at. A record with another value, or none, has a missing cell, and counts for nothing.
        notes: what a proposal left out and why.
        standard: the standard encoding with its public numbers, or None for the one by bounds
            (`encode`).
        persons: whose row it is, where a person may have several; None where a row is a record.
        complete: expected share of records without a missing cell, for planning.
        suggested: names of the columns, the outcome among them, whose typical value or spread
            nobody typed.
        outcome: the outcome as a number, with bounds at which it is cut, typical value, spread and
            unit; None where it has codes. A record without the number has a missing cell.
    """

    features: tuple[Column, ...]
    target: str = ""
    positive: str = ""
    notes: tuple[str, ...] = field(default=())
    standard: StandardEncoding | None = None
    persons: Persons | None = None
    negative: tuple[str, ...] = ()
    complete: float = 1.0
    suggested: tuple[str, ...] = ()
    outcome: NumericColumn | None = None

    def __post_init__(self) -> None:
        check_range(COMPLETE, complete=self.complete)
        if self.outcome is not None:
            self._check_outcome(self.outcome)
        expect(self.target != "", "Expected a target with its codes, or an outcome.")
        for code in _repeated(list(self.codes)):
            raise ValueError(f"Expected every code of {self.target!r} once, got {code!r} twice.")
        expect(len(self.features) > 0, "Expected features to hold at least one column.")
        known = {column.name for column in self.guessed}
        for name in self.suggested:
            expect(name in known, f"Expected suggested to name columns, got {name!r}.")
        for name in _repeated(list(self.suggested)):
            raise ValueError(f"Expected suggested to name {name!r} once.")
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

    def _check_outcome(self, outcome: object) -> None:
        """Raise ValueError for what does not go with an outcome that is a number."""
        number = check_as_outcome(outcome)
        expect(
            not self.codes and self.target in ("", number.name),
            "Expected no target, positive or negative beside outcome, which is a number.",
        )
        object.__setattr__(self, "target", number.name)

    @property
    def codes(self) -> tuple[str, ...]:
        """Declared codes of the outcome, the positive one first; none of a number."""
        return (self.positive, *self.negative) if self.positive or self.negative else ()

    @property
    def guessed(self) -> tuple[Column, ...]:
        """The columns whose values somebody may guess, an outcome that is a number the last."""
        return self.features if self.outcome is None else (*self.features, self.outcome)

    @property
    def outcome_words(self) -> str:
        """What effects are on: "sick = yes", or the name of a number."""
        return self.target if self.outcome else f"{self.target} = {self.positive}"

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
            expect(
                not isinstance(features, bool) and 1 <= features <= len(known),
                f"Expected 1 <= features={features!r} <= {len(known)}.",
            )
            return known[:features]
        unknown = [name for name in features if name not in known]
        if unknown:
            raise ValueError(
                f"Expected features to be encoded names of the schema, got {unknown[0]!r}."
            )
        expect(
            len(set(features)) == len(features) > 0,
            "Expected features to name at least one feature, each once.",
        )
        return tuple(features)

    @property
    def transformations(self) -> Transformations:
        """What is done to values besides scaling them."""
        made = Transformations(
            logarithms=tuple(column.name for column in self.features if column.takes_log),
            filled=tuple((one.name, one.fill) for one in self.features if one.fill),
            complete=self.complete,
        )
        if self.standard is None:
            return made
        cut: dict[float, list[str]] = {}
        for column in self.features:
            if (limit := column.cut(self.standard.limit)) is not None:
                cut.setdefault(limit, []).append(column.name)
        listed = tuple((limit, tuple(names)) for limit, names in sorted(cut.items()))
        shape = self.standard.shape
        if isinstance(shape, tuple):
            return made._replace(cut=listed, is_shaped=True)
        return made._replace(cut=listed, radius=shape)

    def used(self, names: tuple[str, ...]) -> Schema:
        """Return the declaration of the columns that the encoded `names` are made of."""
        features = self.columns_of(names)
        left = {column.name for column in features}
        return replace(
            self,
            features=features,
            suggested=tuple(name for name in self.suggested if name in (*left, self.target)),
        )

    def columns_of(self, names: tuple[str, ...]) -> tuple[Column, ...]:
        """Return the source columns that the encoded `names` are made of."""
        wanted = set(names)
        return tuple(
            column for column in self.features if wanted.intersection(column.feature_names)
        )

    def column_of(self, name: str) -> Column:
        """Return the source column of an encoded feature."""
        return self.columns_of((name,))[0]


def check_as_outcome(column: object) -> NumericColumn:
    """Return the column as an outcome that is a number.

    Raises:  ValueError for anything else, and for what such an outcome does not have.
    """
    if not isinstance(column, NumericColumn):
        raise ValueError(
            "Expected outcome=NumericColumn(name, low, high, typical=..., spread=...), declared "
            "from what is known beforehand: a column with codes is a target."
        )
    for name in ("missing", "step", "limit", "transform"):
        expect(
            getattr(column, name) is None,
            f"Expected no {name} of the outcome {column.name!r}: its bounds cut it, a record "
            "without it counts for nothing, and its logarithm is taken in the table.",
        )
    return column


def _repeated(names: list[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def told_steps(schema: Schema, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the step of every coefficient, (p,), by which the one in original units is told.

    Args:
        schema: what is declared.
        names: of the coefficients, the constant among them, whose step is 1.
    """
    steps = {name: column.told_step for column in schema.features for name in column.feature_names}
    return tuple(steps.get(name, 1.0) for name in names)
