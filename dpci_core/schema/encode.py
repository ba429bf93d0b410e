"""The `schema` encoding: declared bounds and levels, so that every row has norm at most 1 whatever
the data are.

Numeric columns go to [-1, 1] by their bounds, levels to 0 and 1; then x' = (x / (B sqrt 2), 1 /
sqrt 2), where B = sqrt(number of source columns used) is at least |x|: a number and a one-hot group
each have norm at most 1.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import DataRejectedError
from dpci_core.schema.declare import CategoricalColumn, Column, NumericColumn, Schema
from dpci_core.schema.records import NORM_MARGIN, Provenance, Records, make_records

_MISSING, _OUTSIDE = "missing", "outside"
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
    """Return the records of a table under the `schema` encoding.

    Args:    features: the first so many encoded features, or their names; chosen before encoding,
             so that B counts only the source columns used.
    Raises:  DataRejectedError naming row and column, never a value: a declared column is absent, a
             number is not a number, a target is missing. Values outside a declaration are mapped
             and counted in `notes`.
    """
    names = schema.select(features)
    columns = schema.columns_of(names)
    X, notes = scaled_matrix(frame, columns, names)
    y = target_signs(frame, schema)
    if np.all(y == y[0]):
        notes = (
            *notes,
            "Every record is of the same class: the fit says little about the features.",
        )
    return make_records(
        X,
        y,
        names=names,
        encoding="schema",
        source=source,
        title=title,
        to_original=_to_original(columns, names),
        notes=notes,
    )


def scale_of(columns: tuple[Column, ...]) -> float:
    """1 / (B sqrt 2) for the source columns used, by the margin against rounding."""
    return NORM_MARGIN / math.sqrt(2.0 * len(columns))


def scaled_matrix(
    frame: pd.DataFrame, columns: tuple[Column, ...], names: tuple[str, ...]
) -> tuple[Array, tuple[str, ...]]:
    """Return X (n, p) with row norms at most 1, the constant last, and notes on mapped values."""
    X, notes = design_matrix(frame, columns, names, is_scaled=True)
    X *= scale_of(columns)
    X[:, -1] = NORM_MARGIN / math.sqrt(2.0)
    return X, notes


def to_original(schema: Schema, features: int | tuple[str, ...] | None = None) -> Array:
    """Return the L of `Records.to_original` from the declaration alone: original units are L @
    theta.
    """
    names = schema.select(features)
    return _to_original(schema.columns_of(names), names)


def _to_original(columns: tuple[Column, ...], names: tuple[str, ...]) -> Array:
    """L with beta = L @ theta: slopes per original unit, and the intercept that undoes every
    column's centring.
    """
    scale = scale_of(columns)
    L = np.zeros((len(names) + 1, len(names) + 1))
    L[-1, -1] = NORM_MARGIN / math.sqrt(2.0)
    numeric = {column.name: column for column in columns if isinstance(column, NumericColumn)}
    for j, name in enumerate(names):
        column = numeric.get(name)
        if column is None:
            L[j, j] = scale
            continue
        L[j, j] = scale * 2.0 / (column.high - column.low)
        L[-1, j] = -L[j, j] * (column.low + column.high) / 2.0
    return L


def design_matrix(
    frame: pd.DataFrame, columns: tuple[Column, ...], names: tuple[str, ...], *, is_scaled: bool
) -> tuple[Array, tuple[str, ...]]:
    """Return the features `names` as a matrix (n, d+1) with a last column of zeros, and notes on
    mapped values.

    Numeric columns come in original units, or in [-1, 1] by their bounds if `is_scaled`; levels as
    0 and 1.
    """
    if len(frame) == 0:
        raise DataRejectedError("no_row_of_data")
    X = np.zeros((len(frame), len(names) + 1))
    position = {name: j for j, name in enumerate(names)}
    mapped: Counter[tuple[str, str]] = Counter()
    for column in columns:
        series = _series(frame, column.name)
        if isinstance(column, NumericColumn):
            for rows in _blocks(len(frame)):
                values = _numbers(
                    series.iloc[rows], column, mapped, is_scaled=is_scaled, start=rows.start
                )
                X[rows, position[column.name]] = values
            continue
        offset = int(column.has_reference)
        to_feature = np.full(len(column.levels), -1)
        for k, name in enumerate(column.feature_names, start=offset):
            to_feature[k] = position.get(name, -1)
        for rows in _blocks(len(frame)):
            target = to_feature[_levels(series.iloc[rows], column, mapped)]
            rows_used = np.flatnonzero(target >= 0)
            X[rows.start + rows_used, target[rows_used]] = 1.0
    return X, tuple(_notes(columns, mapped))


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK_ROWS):
        yield slice(start, start + _BLOCK_ROWS)


def target_signs(frame: pd.DataFrame, schema: Schema) -> Array:
    """Return y (n,): +1 where the target equals the positive level, -1 elsewhere; a missing target
    is refused.
    """
    series = _series(frame, schema.target)
    y = np.empty(len(series))
    for rows in _blocks(len(series)):
        part = series.iloc[rows]
        missing = part.isna().to_numpy()
        if missing.any():
            row = rows.start + int(missing.argmax())
            raise DataRejectedError("target_missing", row=row, column=schema.target)
        y[rows] = np.where(_codes(part, (schema.positive,)) == 0, 1.0, -1.0)
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
    is_scaled: bool,
    start: int,
) -> Array:
    """Values of some rows of a numeric column; clipped to the bounds, missing ones as declared,
    both counted.
    """
    values = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
    missing = np.isnan(values)
    is_text = missing & ~series.isna().to_numpy()
    if is_text.any():
        row = start + int(is_text.argmax())
        raise DataRejectedError("cell_not_a_number", row=row, column=column.name)
    middle, half = (column.low + column.high) / 2.0, (column.high - column.low) / 2.0
    if n_missing := int(missing.sum()):
        values = np.where(missing, column.stand_in, values)
        mapped[column.name, _MISSING] += n_missing
    if not is_scaled:
        return values
    mapped[column.name, _OUTSIDE] += int(((values < column.low) | (values > column.high)).sum())
    return np.clip((values - middle) / half, -1.0, 1.0)


def _levels(
    series: pd.Series[Any], column: CategoricalColumn, mapped: Counter[tuple[str, str]]
) -> Integers:
    """Index of every row's level; unknown and missing ones as `other` or the first level,
    counted.
    """
    codes = _codes(series, column.levels)
    unknown = codes < 0
    mapped[column.name, _MISSING] += int(unknown.sum())
    return np.where(unknown, column.levels.index(column.stand_in), codes)


def _notes(columns: tuple[Column, ...], mapped: Counter[tuple[str, str]]) -> Iterator[str]:
    """A sentence for every kind of mapped value that occurred."""
    for column in columns:
        n_missing, n_outside = mapped[column.name, _MISSING], mapped[column.name, _OUTSIDE]
        if n_missing and isinstance(column, NumericColumn):
            as_what = "the middle of its bounds" if column.missing is None else "declared for that"
            yield f"{n_missing} missing values of {column.name} count as {as_what}."
        elif n_missing:
            what = f"{n_missing} values of {column.name} that are missing or not declared"
            yield f"{what} count as {column.stand_in!r}."
        if n_outside:
            yield f"{n_outside} values of {column.name} outside its bounds were clipped."


def _codes(series: pd.Series[Any], levels: tuple[str, ...]) -> Integers:
    """Index of every value among the levels, compared as text; -1 where it is none of them."""
    distinct = pd.Categorical(series)
    index = {level: k for k, level in enumerate(levels)}
    table = np.array(
        [index.get(as_text(value), -1) for value in distinct.categories] + [-1], dtype=np.int64
    )
    return table[np.asarray(distinct.codes)]


def as_text(value: object) -> str:
    """A level as people write it: whole numbers without a decimal point, texts without spaces
    around them.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
