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
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.base.packed import Codes, PackedRows, smallest_codes
from dpci_core.base.rows import WeightedRows
from dpci_core.schema.declare import Column, NumericColumn, Schema
from dpci_core.schema.encode import encoded_rows, packed_rows, to_original


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


Cells = Sequence[object] | Coded | Array
"""Values, values by code, or the numbers of a numeric column (NaN where there is none)."""
_LONGEST_NUMBER = 400
"""Signs; a longer text is no number, so that no cell takes long to read."""


def number_of(cell: object) -> float:
    """Return the number in a cell, NaN where there is none. Infinity is a number: it is clipped
    like any other.

    >>> [number_of(cell) for cell in (" 1.5", "1e3", 7, True, "", "1,5", "1_000", None)]
    [1.5, 1000.0, 7.0, 1.0, nan, nan, nan, nan]
    """
    if isinstance(cell, str):
        return _parsed(cell)
    if not isinstance(cell, Real | Decimal | np.bool_):
        return math.nan
    try:
        return float(cell)
    except (OverflowError, ValueError):  # too large a whole number; a signalling NaN
        return _end_of(cell)


def _end_of(cell: Real | Decimal | np.bool_) -> float:
    if isinstance(cell, Decimal):
        return math.nan
    return math.inf if cell > 0 else -math.inf  # type: ignore[operator]


def _parsed(text: str) -> float:
    if "_" in text or len(text) > _LONGEST_NUMBER:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def level_of(cell: object, levels: Mapping[str, int]) -> int:
    """Return the index of a cell's level, -1 for none of them.

    The text without spaces around it, as it stands; else a whole number without its decimal point;
    else yes/no as Python writes it.

    >>> [level_of(cell, {"1": 0, "True": 1, "a": 2})
    ...  for cell in ("a ", 1.0, "1.0", "TRUE", True, None, "A")]
    [2, 0, 0, 1, 1, -1, -1]
    """
    if cell is None:
        return -1
    text = cell.strip() if isinstance(cell, str) else str(cell)
    found = levels.get(text, -1)
    if found >= 0:
        return found
    number = number_of(cell)
    if math.isfinite(number) and number.is_integer() and not isinstance(cell, bool | np.bool_):
        return levels.get(str(int(number)), -1)
    return levels.get({"true": "True", "false": "False"}.get(text.lower(), ""), -1)


@dataclass(slots=True)
class MappingNote:
    """For the steward alone: how many cells were mapped, by column and kind. Not private, so never
    written or shown to others."""

    n_records: int = 0
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def sentences(self) -> tuple[str, ...]:
        """One sentence for every kind of mapped cell that occurred."""
        return tuple(
            f"{n:,} of {self.n_records:,} cells of {column}: {kind}."
            for (column, kind), n in self.items()
        )

    def items(self) -> Iterable[tuple[tuple[str, str], int]]:
        """((column, kind), count), by column."""
        return sorted(item for item in self.counts.items() if item[1])


MISSING_NUMBER = "missing or no number, counted as declared for that"
OUTSIDE = "outside the bounds, clipped"
UNKNOWN_LEVEL = "missing or not declared, counted as the declared level for that"
MISSING_TARGET = "missing target, counted as not the positive level"


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
        """The columns that hold numbers."""
        return frozenset(
            column.name for column in self.columns if isinstance(column, NumericColumn)
        )

    @property
    def to_original(self) -> Array:
        """L (p, p): L @ theta are the coefficients in original units, the intercept last."""
        return to_original(self.schema, self.names)

    def features_of(self, cells: Mapping[str, Cells]) -> Array | WeightedRows:
        """X (n, p) for cells by column; rows of norm at most 1, or with weights."""
        clean = {column.name: self._clean(column, cells[column.name]) for column in self.columns}
        X, _ = encoded_rows(pd.DataFrame(clean), self.schema, self.names)
        return X

    def records_of(self, cells: Mapping[str, Cells]) -> tuple[Array | WeightedRows, Array]:
        """X (n, p) and y (n,) for cells by column, the target among them."""
        X = self.features_of(cells)
        self.note.n_records += len(X)
        return X, self.labels_of(cells[self.schema.target])

    def packed(self, cells: Mapping[str, Cells]) -> PackedRows:
        """The rows y x of `records_of` by the values that differ; `note` counts nothing of them."""
        columns: dict[str, tuple[Array | None, Codes | None]] = {}
        for column in self.columns:
            given = cells[column.name]
            if isinstance(column, NumericColumn):
                numbers, codes = _distinct(given, number_of)
                columns[column.name] = _reached(column, numbers), codes
            else:
                levels, codes = _distinct(given, level_finder(column.levels))
                found = np.where(levels < 0, column.levels.index(column.stand_in), levels)
                found = smallest_codes(found, len(column.levels))
                columns[column.name] = None, found if codes is None else found[codes]
        positive, codes = _distinct(
            cells[self.schema.target], level_finder((self.schema.positive,))
        )
        signs = np.where(positive == 0, 1, -1).astype(np.int8)
        signs = signs if codes is None else signs[codes]
        return packed_rows(columns, signs, self.schema, self.names)

    def labels_of(self, cells: Cells) -> Array:
        """y (n,) for cells of the target."""
        name, positive = self.schema.target, self.schema.positive
        codes = _by_distinct(cells, level_finder((positive,)))
        are_missing = _by_distinct(cells, is_missing)
        self.note.counts[name, MISSING_TARGET] += int(
            np.count_nonzero((are_missing > 0) & (codes < 0))
        )
        return np.where(codes == 0, 1.0, -1.0)

    def _clean(self, column: Column, cells: Cells) -> Any:
        """A column of numbers within reach, or of declared levels only."""
        counts = self.note.counts
        if isinstance(column, NumericColumn):
            values = _by_distinct(cells, number_of)
            outside = (values < column.low) | (values > column.high)
            counts[column.name, MISSING_NUMBER] += int(np.isnan(values).sum())
            counts[column.name, OUTSIDE] += int(outside.sum())
            return _reached(column, values)
        codes = _by_distinct(cells, level_finder(column.levels)).astype(np.int64)
        counts[column.name, UNKNOWN_LEVEL] += int((codes < 0).sum())
        codes = np.where(codes < 0, column.levels.index(column.stand_in), codes).astype(np.int64)
        return pd.Categorical.from_codes(codes, categories=pd.Index(column.levels))


def _reached(column: NumericColumn, values: Array) -> Array:
    """Numbers within reach, what is missing as declared."""
    return np.where(np.isnan(values), column.stand_in, np.clip(values, column.low, column.high))


def level_finder(levels: tuple[str, ...]) -> Callable[[object], float]:
    """The function that gives the index of a cell's level (`level_of`)."""
    index = {level: k for k, level in enumerate(levels)}
    return lambda cell: level_of(cell, index)


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
        return _by_distinct(cells, function), None
    found, codes = _of_values(cells, function), cells.codes
    if len(codes) and codes.min() < 0:
        codes = np.where(codes < 0, len(cells.values), codes)
    return found, smallest_codes(codes, len(found))


def _of_values(cells: Coded, function: Callable[[object], float]) -> Array:
    """The function of the values of codes 0, 1, ..., and of a cell without one."""
    if isinstance(cells.values, np.ndarray) and function is number_of:
        return np.append(cells.values, math.nan)
    return np.array([function(value) for value in (*cells.values, None)], dtype=np.float64)


def _by_distinct(cells: Cells, function: Callable[[object], float]) -> Array:
    """The function of every cell, called once for equal cells of one type."""
    if isinstance(cells, np.ndarray):
        return cells if function is number_of else np.array([function(cell) for cell in cells])
    if isinstance(cells, Coded):
        return np.asarray(_of_values(cells, function)[cells.codes])
    known: dict[tuple[type, object], float] = {}
    values = np.empty(len(cells))
    for i, cell in enumerate(cells):
        plain = cell if isinstance(cell, str | float | int) else str(cell)
        key = (type(cell), plain or str(plain))  # 0.0 and -0.0 are equal, and not the same level
        if key not in known:
            known[key] = function(cell)
        values[i] = known[key]
    return values
