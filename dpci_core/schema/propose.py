"""A first schema read off a table: for public and simulated files only, never for a sensitive
one.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
import pandas as pd

from dpci_core.base.errors import DataRejectedError, expect
from dpci_core.schema.categorical import CategoricalColumn
from dpci_core.schema.column import Column, as_text
from dpci_core.schema.declare import Schema, StandardEncoding
from dpci_core.schema.numeric import SPAN, NumericColumn

MAX_LEVELS = 50
"""A text column with more different values than this is left out."""
MAX_LEVEL_LENGTH = 200
"""A text column with a longer value than this is left out: its values name features."""
_BOUND_DIGITS = 2
"""Bounds are rounded outward to this many digits of the column's range."""


def propose_schema(frame: pd.DataFrame, target: str, positive: str) -> Schema:
    """Return a schema with observed bounds rounded outward and observed levels, most frequent
    first.

    Args:
        frame: the table.
        target: column of the classes.
        positive: level that counts as +1.

    Privacy: none. Bounds and levels come from the data, so the table must be public, simulated or
             synthetic.
    Raises:  ValueError naming `target` or `positive`; DataRejectedError if no column can be used.
    """
    expect(target in frame.columns, f"Expected target={target!r} to be a column of the table.")
    expect(
        positive in {as_text(value) for value in frame[target].dropna().unique()},
        f"Expected positive={positive!r} to occur in column {target!r}.",
    )
    columns: list[Column] = []
    notes: list[str] = []
    for name in frame.columns:
        if name == target:
            continue
        proposal = _propose(frame[name], str(name))
        if isinstance(proposal, str):
            notes.append(proposal)
        else:
            columns.append(proposal)
    if not columns:
        raise DataRejectedError("no_feature_to_encode")
    return Schema(features=tuple(columns), target=target, positive=positive, notes=tuple(notes))


def propose_standard(frame: pd.DataFrame, schema: Schema, standard: StandardEncoding) -> Schema:
    """Return the schema with the standard encoding and what it needs, from a public table: medians,
    standard deviations and shares of levels, rounded to two digits, or to more where a median would
    move by a quarter of the spread.

    Args:
        frame: the public table.
        schema: what is declared of it; typical values, spreads and shares that it has stay.
        standard: shape and limit.

    Privacy: none. The numbers come from the data, so the table must be public, simulated or
             synthetic.
    Raises:  DataRejectedError for a table without rows.
    """
    if len(frame) == 0:
        raise DataRejectedError("no_row_of_data")
    columns = tuple(column.with_usual(frame[column.name]) for column in schema.features)
    return replace(schema, features=columns, standard=standard)


def _propose(series: pd.Series[Any], name: str) -> Column | str:
    """The column's declaration, or a sentence that says why it is left out."""
    if pd.api.types.is_numeric_dtype(series):
        values = np.asarray(pd.to_numeric(series), dtype=np.float64)
        values = values[np.isfinite(values)]
        if len(values) == 0 or values.min() == values.max():
            return f"Column {name!r} is left out: it holds no two different numbers."
        low, high = float(values.min()), float(values.max())
        if (
            not SPAN[0] <= high - low <= SPAN[1] / 10.0
        ):  # rounding outward takes less than the factor 10
            return (
                f"Column {name!r} is left out: its numbers are too far apart or too close together "
                "to be scaled."
            )
        return NumericColumn(name, *round_outward(low, high))
    if pd.api.types.is_datetime64_any_dtype(series) or pd.api.types.is_timedelta64_dtype(series):
        return f"Column {name!r} is left out: it holds dates or times."
    n_distinct = int(series.nunique())
    if n_distinct > MAX_LEVELS:
        return (
            f"Column {name!r} is left out: it has {n_distinct:,} different texts, more than "
            f"{MAX_LEVELS}."
        )
    counts: Counter[str] = Counter()
    for level, count in series.value_counts().items():
        counts[as_text(level)] += int(count)
    levels = sorted(
        (level for level, count in counts.items() if count),
        key=lambda level: (-counts[level], level),
    )
    if max(map(len, levels), default=0) > MAX_LEVEL_LENGTH:
        return (
            f"Column {name!r} is left out: it holds texts of more than {MAX_LEVEL_LENGTH} "
            "characters."
        )
    if len(levels) < 2:
        return f"Column {name!r} is left out: it has fewer than two levels."
    return CategoricalColumn(name, tuple(levels))


def round_outward(low: float, high: float) -> tuple[float, float]:
    """Return bounds around [low, high], rounded outward to two digits of its length.

    >>> round_outward(17, 90), round_outward(0.0123, 0.4567)
    ((17.0, 90.0), (0.01, 0.46))
    """
    digits = math.floor(math.log10(high - low)) - (_BOUND_DIGITS - 1)
    step = Decimal(1).scaleb(digits)
    below = (Decimal(repr(float(low))) / step).to_integral_value(ROUND_FLOOR) * step
    above = (Decimal(repr(float(high))) / step).to_integral_value(ROUND_CEILING) * step
    return float(below), float(above)
