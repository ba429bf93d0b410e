"""The differences that effects are told for: 10 mmHg, a doubling, one level instead of another."""

from __future__ import annotations

import math

from dpci_core.schema.declare import NumericColumn, Schema

_ONE_BY_ONE = (2.0, 200.0)
"""A declared range within these is told per unit: a year of age, a point of a score."""


def unit_step(column: NumericColumn) -> float:
    """Return the difference that an effect is told for where none is declared: 1, or a power of ten
    of at most a tenth of the declared range.

    >>> [unit_step(NumericColumn("x", 0, high)) for high in (1, 99, 100_000)]
    [0.1, 1.0, 10000.0]
    """
    width = column.high - column.low
    if _ONE_BY_ONE[0] <= width <= _ONE_BY_ONE[1]:
        return 1.0
    return float(f"1e{math.floor(math.log10(width / 10.0) + 1e-9)}")


def told_step(column: NumericColumn) -> float:
    """Return the same, or the declared step, on the scale of effects: of a logarithm that of a
    factor.

    >>> told_step(NumericColumn("pressure", 80, 240, step=10))
    10
    >>> round(told_step(NumericColumn("cost", 1, 10_000, transform="log")), 3)
    0.693
    """
    if column.step is None and column.transform is None:
        return unit_step(column)
    return column.step_size


def told_steps(schema: Schema, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the step of every coefficient, (p,), by which the one in original units is told.

    Args:
        schema: what is declared.
        names: of the coefficients, the constant among them; it and levels have step 1.
    """
    steps = {
        column.feature_names[0]: told_step(column)
        for column in schema.features
        if isinstance(column, NumericColumn)
    }
    return tuple(steps.get(name, 1.0) for name in names)
