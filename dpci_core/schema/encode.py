"""The encodings of declared columns: noise for rows of norm 1 protects every record, whatever the
data are.

`schema`, by bounds: numbers go to [-1, 1] by their bounds, levels to 0 and 1; then x' = (x / (B
sqrt 2), 1 / sqrt 2), where B = sqrt(number of source columns used) is at least |x|: a number and a
one-hot group each have norm at most 1.

`standard`, by typical value and spread: `StandardEncoding`. Rows are longer where a record is
unusual, and then its loss has a weight (`base.rows.WeightedRows`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dpci_core.base.array import Array, Flags, Integers
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.packed import Codes, PackedColumn, PackedRows
from dpci_core.base.rows import WeightedRows, plain
from dpci_core.schema.declare import (
    LEVEL_SPREAD,
    CategoricalColumn,
    Column,
    NumericColumn,
    Schema,
    StandardEncoding,
)
from dpci_core.schema.records import Provenance, Records, make_records
from dpci_core.schema.spelling import level_finder

_MISSING, _OUTSIDE, _FAR = "missing", "outside", "far"
"""Why a value was mapped."""

_BLOCK_ROWS = 32_768
"""Rows encoded at a time, so that memory holds the table, the matrix and little else."""


def encode(
    frame: pd.DataFrame,
    schema: Schema,
    *,
    features: int | tuple[str, ...] | None = None,
    source: Provenance,
    title: str,
) -> Records:
    """Return the records of a table, by the `schema` encoding or, where the schema has one, its
    standard encoding.

    Args:
        frame: the table; columns that are not declared are ignored.
        schema: what is declared of it.
        features: the first so many encoded features, or their names; chosen before encoding, so
            that only the source columns used count.
        source: where the table comes from.
        title: what people call it.

    Raises:
        DataRejectedError: naming row and column, never a value: a declared column is absent, a
            number is not a number. Values outside a declaration are mapped and counted in `notes`;
            a record with a missing cell is a row of zeros with y = +1.
    """
    names = schema.select(features)
    columns = schema.columns_of(names)
    X, notes = encoded_rows(frame, schema, names)
    y = target_signs(frame, schema)
    is_complete = leave_out(X, y)
    if n_left := int(np.count_nonzero(~is_complete)):
        notes = (*notes, f"{n_left} of {len(y)} rows have a missing cell and count for nothing.")
    if len(set(y[is_complete].tolist())) < 2:
        notes = (
            *notes,
            "Every record is of the same class: the fit says little about the features.",
        )
    return make_records(
        X,
        y,
        names=names,
        encoding="schema" if schema.standard is None else "standard",
        source=source,
        title=title,
        to_original=_to_original(columns, names, schema.standard),
        notes=notes,
    )


def leave_out(X: Array | WeightedRows, y: Array) -> Flags:
    """Return which records are complete, (n,), after making those that are not rows of zeros with
    y = +1, whatever their other cells hold.

    Args:
        X: encoded rows (n, p), of zeros where a feature is missing; written to.
        y: signs (n,), 0 where the outcome is missing; written to.
    """
    rows = plain(X)
    is_complete = np.asarray((y != 0.0) & (rows[:, -1] != 0.0))  # the constant, else never 0
    if not is_complete.all():
        rows[~is_complete], y[~is_complete] = 0.0, 1.0
        if isinstance(X, WeightedRows):
            X.weights[~is_complete] = 1.0
    return is_complete


def scale_of(columns: tuple[Column, ...]) -> float:
    """1 / (B sqrt 2) for the source columns used, by the margin against rounding."""
    return NORM_MARGIN / math.sqrt(2.0 * len(columns))


def encoded_rows(
    frame: pd.DataFrame, schema: Schema, names: tuple[str, ...]
) -> tuple[Array | WeightedRows, tuple[str, ...]]:
    """Return the rows of the features `names`, the constant last, and notes on mapped values.

    Each row is a function of that record and the schema alone: of norm at most 1, or with a weight
    that makes up for a greater one; of zeros where a cell is missing.
    """
    columns, standard = schema.columns_of(names), schema.standard
    X, is_complete, notes = design_matrix(
        frame, columns, names, scale="bounds" if standard is None else standard.limit
    )
    if standard is None:
        X *= scale_of(columns)
        X[:, -1] = is_complete * (NORM_MARGIN / math.sqrt(2.0))
        return X, notes
    X[:, -1] = is_complete
    X /= standard.radius
    return WeightedRows.of(X), notes


def to_original(schema: Schema, features: int | tuple[str, ...] | None = None) -> Array:
    """Return the L of `Records.to_original` from the declaration alone: original units are L @
    theta.
    """
    names = schema.select(features)
    return _to_original(schema.columns_of(names), names, schema.standard)


def _to_original(
    columns: tuple[Column, ...], names: tuple[str, ...], standard: StandardEncoding | None
) -> Array:
    """L with beta = L @ theta: slopes per original unit, or per unit of a logarithm, and the
    intercept that undoes every column's centring.
    """
    scale = scale_of(columns) if standard is None else 1.0 / standard.radius
    L = np.zeros((len(names) + 1, len(names) + 1))
    L[-1, -1] = NORM_MARGIN / math.sqrt(2.0) if standard is None else scale
    position = {name: j for j, name in enumerate(names)}
    for column in columns:
        for name, (centre, unit) in _affine(column, standard is not None).items():
            if name in position:
                j = position[name]
                L[j, j] = scale / unit
                L[-1, j] = -L[j, j] * centre
    return L


def _affine(column: Column, is_standard: bool) -> dict[str, tuple[float, float]]:
    """By feature name, what is subtracted and what is divided by afterwards."""
    if isinstance(column, NumericColumn):
        if is_standard:
            return {column.feature_names[0]: (column.centre, column.unit)}
        low, high = column.on_scale(column.low), column.on_scale(column.high)
        return {column.feature_names[0]: ((low + high) / 2.0, (high - low) / 2.0)}
    if not is_standard:
        return dict.fromkeys(column.feature_names, (0.0, 1.0))
    shares = column.expected_shares[int(column.has_reference) :]
    return {
        name: (share, LEVEL_SPREAD)
        for name, share in zip(column.feature_names, shares, strict=True)
    }


def design_matrix(
    frame: pd.DataFrame,
    columns: tuple[Column, ...],
    names: tuple[str, ...],
    *,
    scale: Literal["original", "bounds"] | float,
) -> tuple[Array, Flags, tuple[str, ...]]:
    """Return the features `names` as a matrix (n, d+1) with a last column of zeros, which rows have
    all cells (n,), the others being zeros, and notes on mapped values.

    scale: "original" for the units of the table (numbers as their transformation gives them) and
    levels as 0 and 1; "bounds" for numbers in [-1, 1] by their bounds; a number is the limit of the
    standard encoding, whose units are spreads from the expected value.
    """
    if len(frame) == 0:
        raise DataRejectedError("no_row_of_data")
    X = np.zeros((len(frame), len(names) + 1))
    is_complete = np.ones(len(frame), dtype=bool)
    position = {name: j for j, name in enumerate(names)}
    mapped: Counter[tuple[str, str]] = Counter()
    limit = None if isinstance(scale, str) else scale
    for column in columns:
        series = _series(frame, column.name)
        affine = _affine(column, limit is not None)
        if isinstance(column, NumericColumn):
            name = column.feature_names[0]
            for rows in _blocks(len(frame)):
                values, is_there = _numbers(series.iloc[rows], column, mapped, start=rows.start)
                is_complete[rows] &= is_there
                if scale != "original":
                    values = _within(values, column, mapped, limit)
                X[rows, position[name]] = values
            continue
        offset = int(column.has_reference)
        to_feature = np.full(len(column.levels), -1)
        for k, name in enumerate(column.feature_names, start=offset):
            to_feature[k] = position.get(name, -1)
        for rows in _blocks(len(frame)):
            codes = _levels(series.iloc[rows], column, mapped)
            is_complete[rows] &= codes >= 0
            target = to_feature[codes]
            rows_used = np.flatnonzero(target >= 0)
            X[rows.start + rows_used, target[rows_used]] = 1.0
        if limit is not None:
            for name, (share, unit) in affine.items():
                if name in position:
                    X[:, position[name]] = (X[:, position[name]] - share) / unit
    X[~is_complete] = 0.0
    return X, is_complete, tuple(_notes(columns, mapped))


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK_ROWS):
        yield slice(start, start + _BLOCK_ROWS)


def target_signs(frame: pd.DataFrame, schema: Schema) -> Array:
    """Return y (n,): +1 for the positive code of the target, -1 for a negative one, 0 for a missing
    cell (`Schema.negative`).
    """
    series = _series(frame, schema.target)
    y = np.empty(len(series))
    for rows in _blocks(len(series)):
        part = series.iloc[rows]
        codes = _codes(part, schema.codes)
        is_negative = codes > 0 if schema.negative else (codes < 0) & part.notna().to_numpy()
        y[rows] = np.where(codes == 0, 1.0, np.where(is_negative, -1.0, 0.0))
    return y


def _series(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    if name not in frame.columns:
        raise DataRejectedError("column_missing", column=name)
    return frame[name]


def _numbers(
    series: pd.Series[Any],
    column: NumericColumn,
    mapped: Counter[tuple[str, str]],
    *,
    start: int,
) -> tuple[Array, Flags]:
    """Some rows of a numeric column on the scale of its effects, missing ones counted and as
    declared for that, and which rows have a number then.

    Before a logarithm is taken, values are brought within the bounds: some have none.
    """
    values = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
    missing = np.isnan(values)
    is_text = missing & ~series.isna().to_numpy()
    if is_text.any():
        row = start + int(is_text.argmax())
        raise DataRejectedError("cell_not_a_number", row=row, column=column.name)
    if n_missing := int(missing.sum()):
        values = np.where(missing, column.low if column.missing is None else column.missing, values)
        mapped[column.name, _MISSING] += n_missing
    if column.transform == "log":
        mapped[column.name, _OUTSIDE] += int(((values < column.low) | (values > column.high)).sum())
    is_there = ~missing if column.missing is None else np.ones(len(values), dtype=bool)
    return _on_scale(values, column), is_there


def _on_scale(values: Array, column: NumericColumn) -> Array:
    if column.transform != "log":
        return values
    logs = np.log(np.clip(values, column.low, column.high))
    # The logarithm of an array may differ from that of a bound in the last bit.
    return np.clip(logs, column.on_scale(column.low), column.on_scale(column.high))


def _within(
    values: Array, column: NumericColumn, mapped: Counter[tuple[str, str]], limit: float | None
) -> Array:
    """Values on the scale of effects as the encoding has them, before rows are scaled."""
    ((centre, unit),) = _affine(column, limit is not None).values()
    low, high = _range(values, column, mapped, limit)
    if limit is not None:
        return (np.clip(values, low, high) - centre) / unit
    return np.clip((values - centre) / unit, -1.0, 1.0)


def packed_rows(
    columns: Mapping[str, tuple[Array | None, Codes | None]],
    signs: npt.NDArray[np.int8],
    schema: Schema,
    names: tuple[str, ...],
) -> PackedRows:
    """Return the rows y x of `encoded_rows`, by the values that differ in each column.

    Args:
        columns: by name, the numbers that differ, none missing, and which of them each row has
            (None where there is one for each row); for a column of levels None, and their indices.
        signs: y (n,).
        schema: what is declared.
        names: of the features.
    """
    used, standard = schema.columns_of(names), schema.standard
    limit = None if standard is None else standard.limit
    position = {name: j for j, name in enumerate(names)}
    packed = []
    for column in used:
        numbers, codes = columns[column.name]
        if isinstance(column, NumericColumn):
            assert numbers is not None
            values = _within(_on_scale(numbers, column), column, Counter(), limit)[:, None]
        else:
            shown = np.arange(len(column.levels))[:, None] - int(column.has_reference)
            values = (shown == np.arange(len(column.feature_names))).astype(np.float64)
            if limit is not None:
                shares, units = np.array(list(_affine(column, True).values())).T
                values = (values - shares) / units
        here = [k for k, name in enumerate(column.feature_names) if name in position]
        values = values[:, here]
        values *= scale_of(used) if standard is None else 1.0
        values /= 1.0 if standard is None else standard.radius
        places = tuple(position[column.feature_names[k]] for k in here)
        packed.append(PackedColumn(places, values, codes))
    constant = NORM_MARGIN / math.sqrt(2.0) if standard is None else 1.0 / standard.radius
    return PackedRows(tuple(packed), signs, constant, len(names) + 1, standard is not None)


def _range(
    values: Array, column: NumericColumn, mapped: Counter[tuple[str, str]], limit: float | None
) -> tuple[float, float]:
    """The values between which others are brought, on the scale of effects; those outside are
    counted.
    """
    low, high = column.on_scale(column.low), column.on_scale(column.high)
    is_outside = (values < low) | (values > high)
    mapped[column.name, _OUTSIDE] += int(is_outside.sum())
    if limit is None:
        return low, high
    low, high = column.standard_range(limit)
    mapped[column.name, _FAR] += int((~is_outside & ((values < low) | (values > high))).sum())
    return low, high


def _levels(
    series: pd.Series[Any], column: CategoricalColumn, mapped: Counter[tuple[str, str]]
) -> Integers:
    """Index of every row's level; unknown and missing ones counted, and as `other` where that is
    declared, else -1.
    """
    codes = _codes(series, column.levels)
    unknown = codes < 0
    mapped[column.name, _MISSING] += int(unknown.sum())
    return codes if column.other is None else np.where(unknown, place_of_other(column), codes)


def place_of_other(column: CategoricalColumn) -> int:
    """Index of the level that missing and undeclared ones count as, -1 where none is declared."""
    return -1 if column.other is None else column.levels.index(column.other)


def _notes(columns: tuple[Column, ...], mapped: Counter[tuple[str, str]]) -> Iterator[str]:
    """A sentence for every kind of mapped value that occurred."""
    for column in columns:
        n_missing, n_outside = mapped[column.name, _MISSING], mapped[column.name, _OUTSIDE]
        if n_missing and isinstance(column, NumericColumn):
            yield f"{n_missing} missing values of {column.name}{_counting(column)}."
        elif n_missing:
            what = f"{n_missing} values of {column.name} that are missing or not declared"
            yield f"{what}{_counting(column)}."
        if n_outside:
            yield f"{n_outside} values of {column.name} outside its bounds were clipped."
        if n_far := mapped[column.name, _FAR]:
            yield f"{n_far} values of {column.name} beyond the limit count as the limit."


def _counting(column: Column) -> str:
    return f" count as {column.fill}" if column.fill else ": their rows count for nothing"


def _codes(series: pd.Series[Any], levels: tuple[str, ...]) -> Integers:
    """Index of every value among the levels (`spelling`); -1 where it is none of them."""
    distinct = pd.Categorical(series)
    table = np.array([*map(level_finder(levels), distinct.categories), -1], dtype=np.int64)
    return table[np.asarray(distinct.codes)]


def as_text(value: object) -> str:
    """A level as people write it: whole numbers without a decimal point, texts without spaces
    around them.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
