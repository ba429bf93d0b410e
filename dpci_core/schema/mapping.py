"""Records of a private table: every cell by a fixed function of that cell and the schema, nothing
refused.

`encode` serves public tables and may stop at a bad cell; what stops, or infers a type from a
column, tells something about records. Here a cell becomes a declared number or level whatever it
holds, then the encoding is the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.packed import Codes, PackedColumn, PackedRows, smallest_codes
from dpci_core.base.rows import WeightedRows
from dpci_core.report.words import lacking, many, plainly
from dpci_core.schema.column import Column
from dpci_core.schema.declare import Schema
from dpci_core.schema.encode import (
    basis_of,
    constant_of,
    feature_matrix,
    in_spreads,
    leave_out,
    mapped_by,
    places_in,
    scale_by,
    scale_of,
    scaled_rows,
    to_original,
)
from dpci_core.schema.spelling import level_finder, number_of


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """Cells of a column by the values that differ; code -1 is a cell without one.

    >>> list(Coded(["a", "b"], np.array([1, -1, 0])))
    ['b', None, 'a']
    """

    values: Sequence[object] | Array
    codes: npt.NDArray[np.signedinteger[Any]]

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[object]:
        values = [*self.values, None]
        return (values[code] for code in self.codes)


Fits = npt.NDArray[np.int64]
"""Counts of cells that fit a declaration, for each needed column, of complete records, and of
records."""
Cells = Sequence[object] | Coded | Array
"""Values, values by code, or the numbers of a numeric column (NaN where there is none)."""


@dataclass(slots=True)
class MappingNote:
    """For the steward alone: how many cells were mapped, by column and kind, and how many records
    have a missing cell. Not private, so never written or shown to others."""

    n_records: int = 0
    n_incomplete: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def sentences(self) -> tuple[str, ...]:
        """One sentence for every kind of mapped cell that occurred, and one for the records."""
        left = lacking(self.n_incomplete, self.n_records, "record")
        return (
            *(
                f"{n:,} of {many(self.n_records, 'cell')} of {plainly(column)}: {kind}."
                for (column, kind), n in self.items()
            ),
            *([left] if self.n_incomplete else []),
        )

    def items(self) -> Iterable[tuple[tuple[str, str], int]]:
        """((column, kind), count), by column."""
        return sorted(item for item in self.counts.items() if item[1])


OUTSIDE = "outside the bounds, clipped"
NO_CODE = "missing or none of its declared codes"


def _kind(problem: str, column: Column) -> str:
    """What became of cells, in words."""
    return f"{problem}, counted as {column.fill}" if column.fill else problem


class RecordMapper:
    """Maps blocks of rows of one schema to records, each row for itself; `note` counts what was
    changed.

    Args:
        features: as for `schema.encode`.
    """

    def __init__(self, schema: Schema, features: int | tuple[str, ...] | None = None) -> None:
        self.schema = schema
        self.names = schema.select(features)
        self.columns: tuple[Column, ...] = schema.columns_of(self.names)
        self.note = MappingNote()

    @property
    def needed(self) -> tuple[str, ...]:
        """Columns that a table must have, the target last."""
        return (*(column.name for column in self.columns), self.schema.target)

    @property
    def numbers(self) -> frozenset[str]:
        """The columns of which only the numbers in their cells matter."""
        read = (*self.columns, *([] if self.schema.outcome is None else [self.schema.outcome]))
        return frozenset(column.name for column in read if column.reads_numbers)

    @property
    def to_original(self) -> Array:
        """L (p, p): L times the coefficients are those in original units, the intercept last."""
        return to_original(self.schema, self.names)

    @property
    def basis(self) -> Array | None:
        """B (p, p): B theta are the coefficients; None where theta is (`Meaning`)."""
        return basis_of(self.schema, self.names)

    @property
    def constant(self) -> float:
        """The last entry of the row of a complete record (`Meaning`)."""
        return constant_of(self.schema, self.names)

    @property
    def mapped(self) -> Callable[[Array], Array] | None:
        """Writes U v in the place of rows v in spreads; None for the encoding by bounds."""
        standard = self.schema.standard
        return None if standard is None else partial(mapped_by, shape=standard.shape)

    def features_of(self, cells: Mapping[str, Cells]) -> Array | WeightedRows:
        """X (n, p) for cells by column; rows of norm at most 1, or with weights."""
        values = {column.name: self._values(column, cells[column.name]) for column in self.columns}
        X, is_complete = feature_matrix(
            lambda column, rows: values[column.name][rows],
            len(next(iter(values.values()))),
            self.columns,
            self.names,
            scale_by(self.schema.standard),
        )
        return scaled_rows(X, is_complete, self.columns, self.schema.standard)

    def records_of(self, cells: Mapping[str, Cells]) -> tuple[Array | WeightedRows, Array]:
        """X (n, p) and y (n,) for cells by column, the target among them; a record with a missing
        cell is a row of zeros with y = +1. Of an outcome that is a number, y has it in its spreads
        from the typical value, 0 where a cell is missing.
        """
        outcome, given = self.schema.outcome, cells[self.schema.target]
        X = self.features_of(cells)
        y = (
            self.signs_of(given)
            if outcome is None
            else in_spreads(outcome, self._values(outcome, given))
        )
        is_complete = leave_out(X, y, is_number=outcome is not None)
        self.note.n_records += len(y)
        self.note.n_incomplete += int(np.count_nonzero(~is_complete))
        return X, y

    def packed(self, cells: Mapping[str, Cells]) -> PackedRows:
        """The rows y x of `records_of`, or [y, x] of a number, by the values that differ; `note`
        counts nothing of them.
        """
        given, outcome, outcomes = cells[self.schema.target], self.schema.outcome, None
        if outcome is not None:
            outcomes = in_spreads(outcome, by_distinct(given, outcome.reader))
            signs = (~np.isnan(outcomes)).astype(np.int8)
        else:
            values, codes = _distinct(given, self._sign)
            signs = values.astype(np.int8) if codes is None else values.astype(np.int8)[codes]
        packed, standard = list[PackedColumn](), self.schema.standard
        factor = scale_of(self.columns) if standard is None else 1.0
        for column in self.columns:
            found, codes = _distinct(cells[column.name], column.reader)
            values = column.filled(column.within(found))
            is_missing = np.isnan(values)
            if is_missing.any():
                signs[is_missing if codes is None else is_missing[codes]] = 0
                values = np.where(is_missing, 0.0, values)  # of a row of zeros
            if column.n_values:
                codes = smallest_codes(values if codes is None else values[codes], column.n_values)
                values = np.arange(float(column.n_values))
            here, places = places_in(column, self.names)
            features = column.encoded(values, scale_by(standard))[:, here]
            packed.append(PackedColumn(places, features * factor, codes))
        constant = NORM_MARGIN / math.sqrt(2.0) if standard is None else 1.0
        p = len(self.names) + 1
        return PackedRows(tuple(packed), signs, constant, p, self.mapped, outcomes)

    def fits(self, cells: Mapping[str, Cells]) -> Fits:
        """How many cells of each needed column fit, (k + 4,), the outcome last; of those how many
        are positive and how many negative, none of a number; how many records are complete, and how
        many there are.

        A number fits within its bounds, a level or code as it is declared, and an empty cell where
        a value is declared for that; every cell does where others have a level of their own. Not
        private, and `note` counts nothing of it.
        """
        given, outcome = cells[self.schema.target], self.schema.outcome
        if outcome is None:
            signs = by_distinct(given, self._sign)
            n_yes, n_no = np.count_nonzero(signs > 0.0), np.count_nonzero(signs < 0.0)
            n_fitting, is_complete = n_yes + n_no, signs != 0.0
        else:
            numbers = by_distinct(given, outcome.reader)
            n_yes = n_no = np.intp(0)
            n_fitting, is_complete = np.count_nonzero(outcome.fits(numbers)), ~np.isnan(numbers)
        found = list[int]()
        for column in self.columns:
            given = cells[column.name]
            values = by_distinct(given, column.reader)
            fits = column.fits(values)
            if column.fill:
                is_array = isinstance(given, np.ndarray)
                fits |= np.isnan(values) if is_array else by_distinct(given, is_missing) > 0.0
            else:
                is_complete &= ~np.isnan(values)
            found.append(int(np.count_nonzero(fits)))
        whole = (n_fitting, n_yes, n_no, np.count_nonzero(is_complete), len(is_complete))
        return np.array([*found, *whole], dtype=np.int64)

    @property
    def _sign(self) -> Callable[[object], float]:
        """The function that gives the sign of a cell of the target, 0 where it is missing."""
        place, has_negative = level_finder(self.schema.codes), bool(self.schema.negative)

        def sign(cell: object) -> float:
            found = place(cell)
            is_negative = found > 0 if has_negative else found < 0 and not is_missing(cell)
            return 1.0 if found == 0 else -float(is_negative)

        return sign

    def signs_of(self, cells: Cells) -> Array:
        """Signs (n,) for cells of the target, 0 for a missing one."""
        signs = by_distinct(cells, self._sign)
        self.note.counts[self.schema.target, NO_CODE] += int(np.count_nonzero(signs == 0.0))
        return signs

    def _values(self, column: Column, cells: Cells) -> Array:
        """The values of a column as declared, NaN where a cell is missing."""
        values, counts = by_distinct(cells, column.reader), self.note.counts
        is_absent = np.isnan(values)
        counts[column.name, _kind(column.absent, column)] += int(is_absent.sum())
        counts[column.name, OUTSIDE] += int((~column.fits(values) & ~is_absent).sum())
        return column.filled(column.within(values))


def is_missing(cell: object) -> float:
    """Return 1 for an empty cell, None or NaN, 0 for others."""
    if isinstance(cell, str):
        return float(not cell.strip())
    return float(cell is None or cell is pd.NaT or cell is pd.NA or cell != cell)


def _distinct(cells: Cells, function: Callable[[object], float]) -> tuple[Array, Codes | None]:
    """The function of the values that differ, and which of them each cell has; of every cell and
    None where nobody knows what differs.
    """
    if not isinstance(cells, Coded):
        return by_distinct(cells, function), None
    found, codes = _of_values(cells, function), cells.codes
    if len(codes) and codes.min() < 0:
        codes = np.where(codes < 0, len(cells.values), codes)
    return found, smallest_codes(codes, len(found))


def _of_values(cells: Coded, function: Callable[[object], float]) -> Array:
    """The function of the values of codes 0, 1, ..., and of a cell without one."""
    if isinstance(cells.values, np.ndarray) and function is number_of:
        return np.append(cells.values, math.nan)
    return np.array([function(value) for value in (*cells.values, None)], dtype=np.float64)


def by_distinct(cells: Cells, function: Callable[[object], float]) -> Array:
    """The function of every cell, called once for equal cells of one type."""
    if isinstance(cells, np.ndarray):
        return cells if function is number_of else np.array([function(cell) for cell in cells])
    if isinstance(cells, Coded):
        return np.asarray(_of_values(cells, function)[cells.codes])
    if set(map(type, cells)) == {str}:
        by_text = {cell: function(cell) for cell in set(cells)}
        return np.fromiter(map(by_text.__getitem__, cells), np.float64, len(cells))
    known: dict[tuple[type, object], float] = {}
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        plain = cell if isinstance(cell, str | float | int) else str(cell)
        key = (type(cell), plain or str(plain))  # 0.0 and -0.0 are equal, and not the same level
        if key not in known:
            known[key] = function(cell)
        values[i] = known[key]
    return values
