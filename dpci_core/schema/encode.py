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
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.rows import Meaning, WeightedRows, parted, plain
from dpci_core.report.words import lacking, many, plainly
from dpci_core.schema.column import Column, Scale, read_each
from dpci_core.schema.declare import Schema, Shape, StandardEncoding, map_of
from dpci_core.schema.numeric import NumericColumn
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
    X, is_complete, notes = design_matrix(frame, columns, names, scale=scale_by(schema.standard))
    rows, in_full = scaled_rows(X, is_complete, columns, schema.standard), None
    y = outcomes_in(frame, schema)
    is_complete = leave_out(rows, y, is_number=schema.outcome is not None)
    if schema.standard is not None and schema.used(names).transformations.cut:
        free, _, _ = design_matrix(frame, columns, names, scale=math.inf)
        in_full = plain(scaled_rows(free, is_complete, columns, schema.standard))
        in_full[~is_complete] = 0.0
    if n_left := int(np.count_nonzero(~is_complete)):
        notes = (*notes, lacking(n_left, len(y), "row"))
    if len(set(y[is_complete].tolist())) < 2:
        notes = (
            *notes,
            "Every record is of the same class: the fit says little about the features.",
        )
    return make_records(
        rows,
        y,
        names=names,
        encoding="schema" if schema.standard is None else "standard",
        source=source,
        title=title,
        to_original=to_original(schema, names),
        meaning=replace(meaning_of(schema, names), in_full=in_full),
        notes=notes,
    )


def leave_out(X: Array | WeightedRows, y: Array, *, is_number: bool = False) -> Flags:
    """Return which records are complete, (n,), after making those that are not rows of zeros with
    y = +1, or 0 for a number, whatever their other cells hold.

    Args:
        X: encoded rows (n, p), of zeros where a feature is missing; written to.
        y: signs (n,), 0 where the outcome is missing, or numbers, NaN there; written to.
        is_number: whether the outcome is a number.
    """
    rows, weights = parted(X)
    has_outcome = ~np.isnan(y) if is_number else y != 0.0
    is_complete = np.asarray(has_outcome & (rows[:, -1] != 0.0))  # the constant, else never 0
    if not is_complete.all():
        rows[~is_complete], y[~is_complete] = 0.0, 0.0 if is_number else 1.0
        if weights is not None:
            weights[~is_complete] = 1.0
    return is_complete


def scale_of(columns: tuple[Column, ...]) -> float:
    """1 / (B sqrt 2) for the source columns used, by the margin against rounding."""
    return NORM_MARGIN / math.sqrt(2.0 * len(columns))


def scaled_rows(
    X: Array, is_complete: Flags, columns: tuple[Column, ...], standard: StandardEncoding | None
) -> Array | WeightedRows:
    """Return finished rows: of norm at most 1, or with a weight that makes up for a greater one; of
    zeros where a cell is missing.

    Args:
        X: features (n, p) as of `feature_matrix`, written to.
        is_complete: which rows have all cells, (n,).
        columns: that are used.
        standard: the standard encoding, or None for the one by bounds.
    """
    if standard is None:
        X *= scale_of(columns)
        X[:, -1] = is_complete * (NORM_MARGIN / math.sqrt(2.0))
        return X
    X[:, -1] = is_complete
    return WeightedRows.of(mapped_by(X, standard.shape))


def mapped_by(V: Array, shape: Shape) -> Array:
    """Return the rows U v (n, p) of the rows v in spreads, written in their place.

    Column by column, in one order and with one rounding an operation: a row is a function of that
    record alone to its last bit, wherever it stands in a block.
    """
    if not isinstance(shape, tuple):
        V /= shape
        return V
    for j, row in enumerate(map_of(shape, V.shape[1])):
        V[:, j] *= row[j]
        for k in np.flatnonzero(row[j + 1 :]) + j + 1:
            V[:, j] += row[k] * V[:, k]
    return V


def scale_by(standard: StandardEncoding | None) -> Scale:
    """How features are scaled before rows are."""
    return "bounds" if standard is None else standard.limit


def basis_of(schema: Schema, features: int | tuple[str, ...] | None = None) -> Array | None:
    """Return the B of `Meaning.basis` from the declaration alone."""
    standard = schema.standard
    return None if standard is None else standard.map_of(len(schema.select(features)) + 1).T


def constant_of(schema: Schema, features: int | tuple[str, ...] | None = None) -> float:
    """Return the `Meaning.constant` from the declaration alone."""
    standard = schema.standard
    if standard is None:
        return NORM_MARGIN / math.sqrt(2.0)
    return float(standard.map_of(len(schema.select(features)) + 1)[-1, -1])


def meaning_of(schema: Schema, features: int | tuple[str, ...] | None = None) -> Meaning:
    """Return what the coefficients of encoded rows mean, from the declaration alone."""
    return Meaning(
        basis_of(schema, features),
        constant=constant_of(schema, features),
        told=told_of(schema, features),
    )


def told_of(schema: Schema, features: int | tuple[str, ...] | None = None) -> Array:
    """Return the `Meaning.told` of the coefficients, (p,), from the declaration alone.

    Of a number it is two declared spreads, or its step where that is more; of a level, it against
    the first. A step alone says how an effect is written, not how far apart people are: per mmHg
    every interval of a blood pressure is narrow. Two spreads of a number compare with a level that
    half of all people have (Gelman 2008, Statistics in Medicine 27, 2865-2873).
    """
    names = schema.select(features)
    far = {
        name: max(column.told_step, column.two_spreads(None))
        for column in schema.columns_of(names)
        for name in column.feature_names
    }
    slopes = np.diag(to_original(schema, features))[:-1]
    return np.array([*(slopes * [far[name] for name in names]), 0.0])


def to_original(schema: Schema, features: int | tuple[str, ...] | None = None) -> Array:
    """Return the L of `Records.to_original` from the declaration alone: original units are L times
    the coefficients.

    It has the slopes per original unit, or per unit of a logarithm, and the intercept that undoes
    every column's centring.
    """
    names, standard = schema.select(features), schema.standard
    columns = schema.columns_of(names)
    scale = scale_of(columns) if standard is None else 1.0
    L = np.zeros((len(names) + 1, len(names) + 1))
    L[-1, -1] = NORM_MARGIN / math.sqrt(2.0) if standard is None else 1.0
    position = {name: j for j, name in enumerate(names)}
    for column in columns:
        affine = column.affine(is_standard=standard is not None)
        for name, (centre, unit) in zip(column.feature_names, affine, strict=True):
            if name in position:
                j = position[name]
                L[j, j] = scale / unit
                L[-1, j] = -L[j, j] * centre
    return L


def design_matrix(
    frame: pd.DataFrame,
    columns: tuple[Column, ...],
    names: tuple[str, ...],
    *,
    scale: Scale,
) -> tuple[Array, Flags, tuple[str, ...]]:
    """Return the features `names` of a table as of `feature_matrix`, which rows have all cells
    (n,), and notes on mapped values.
    """
    if len(frame) == 0:
        raise DataRejectedError("no_row_of_data")
    mapped: Counter[tuple[str, str]] = Counter()

    def values_of(column: Column, rows: slice) -> Array:
        read = column.parsed(_series(frame, column.name).iloc[rows], start=rows.start)
        values = column.filled(read)
        mapped[column.name, _MISSING] += int(np.isnan(read).sum())
        if scale != "original" or column.takes_log:
            is_outside = ~column.fits(values) & ~np.isnan(values)
            mapped[column.name, _OUTSIDE] += int(is_outside.sum())
        if not isinstance(scale, str):
            mapped[column.name, _FAR] += int(column.is_far(values, scale).sum())
        return values

    X, is_complete = feature_matrix(values_of, len(frame), columns, names, scale)
    return X, is_complete, tuple(_notes(columns, mapped, len(X)))


def feature_matrix(
    values_of: Callable[[Column, slice], Array],
    n: int,
    columns: tuple[Column, ...],
    names: tuple[str, ...],
    scale: Scale,
) -> tuple[Array, Flags]:
    """Return the features `names` as a matrix (n, d+1) with a last column of zeros, and which rows
    have all cells (n,); the others are zeros.

    Args:
        values_of: gives the filled values of some rows of a column.
        n: rows.
        columns: that the features are made of.
        names: of the features.
        scale: of the features.
    """
    X = np.zeros((n, len(names) + 1))
    is_complete = np.ones(n, dtype=bool)
    for column in columns:
        here, places = places_in(column, names)
        for rows in _blocks(n):
            values = values_of(column, rows)
            is_complete[rows] &= ~np.isnan(values)
            X[rows, places] = column.encoded(values, scale)[:, here]
    X[~is_complete] = 0.0
    return X, is_complete


def places_in(column: Column, names: tuple[str, ...]) -> tuple[list[int], tuple[int, ...]]:
    """Return which features of a column are among these, and where."""
    here = [k for k, name in enumerate(column.feature_names) if name in names]
    return here, tuple(names.index(column.feature_names[k]) for k in here)


def _blocks(n: int) -> Iterator[slice]:
    for start in range(0, n, _BLOCK_ROWS):
        yield slice(start, start + _BLOCK_ROWS)


def outcomes_in(frame: pd.DataFrame, schema: Schema) -> Array:
    """Return y (n,) of a public table: signs, or the number in its spreads from the typical value,
    NaN where it is missing.
    """
    if schema.outcome is None:
        return target_signs(frame, schema)
    values = schema.outcome.parsed(_series(frame, schema.target), start=0)
    return in_spreads(schema.outcome, values)


def in_spreads(outcome: NumericColumn, values: Array) -> Array:
    """Return numbers (n,), brought within the bounds of the outcome, in its spreads from the
    typical value; NaN stays.
    """
    return outcome.encoded(values, math.inf)[:, 0]


def target_signs(frame: pd.DataFrame, schema: Schema) -> Array:
    """Return y (n,): +1 for the positive code of the target, -1 for a negative one, 0 for a missing
    cell (`Schema.negative`).
    """
    series = _series(frame, schema.target)
    y = np.empty(len(series))
    for rows in _blocks(len(series)):
        part = series.iloc[rows]
        codes = read_each(part, level_finder(schema.codes), -1.0)
        is_negative = codes > 0 if schema.negative else (codes < 0) & part.notna().to_numpy()
        y[rows] = np.where(codes == 0, 1.0, np.where(is_negative, -1.0, 0.0))
    return y


def _series(frame: pd.DataFrame, name: str) -> pd.Series[Any]:
    if name not in frame.columns:
        raise DataRejectedError("column_missing", column=name)
    return frame[name]


def _notes(columns: tuple[Column, ...], mapped: Counter[tuple[str, str]], n: int) -> Iterator[str]:
    """A sentence for every kind of mapped value that occurred in n records."""
    for column in columns:
        n_missing, n_outside = mapped[column.name, _MISSING], mapped[column.name, _OUTSIDE]
        if n_missing:
            yield f"{column.count_absent(n_missing)}{_counting(column, n_missing)}."
        if n_outside:
            were = "was" if n_outside == 1 else "were"
            told = f"{many(n_outside, 'value')} of {plainly(column.name)} outside its bounds"
            yield f"{told} {were} clipped."
        if n_far := mapped[column.name, _FAR]:
            count = "counts" if n_far == 1 else "count"
            of = f"{many(n, 'value')} of {plainly(column.name)} beyond the limit"
            yield f"{n_far:,} of {of} {count} as it."


def _counting(column: Column, n: int) -> str:
    """What becomes of n cells without a value."""
    if column.fill:
        return f" count{'s' if n == 1 else ''} as {column.fill}"
    return ": its row counts for nothing" if n == 1 else ": their rows count for nothing"
