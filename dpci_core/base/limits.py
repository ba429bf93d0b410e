"""Ranges of the numbers a caller chooses: far beyond any study, and inside them floating point
gives finite results.

The conversions of `privacy` and the bounds of `sensitivity` are general; who makes a design or runs
it checks here.
"""

from __future__ import annotations

from numbers import Real

from dpci_core.base.errors import (
    RangeError,
    check_count,
    check_positive,
    check_probability,
    check_range,
    expect,
)

NORM_MARGIN = 1.0 - 1e-12
"""Factor on every row, so that rounding cannot lift a norm above 1."""
REGULARIZATION = (1e-10, 1e6)
"""c. With `HUBER_WIDTH` it bounds the condition number of a Hessian by 1e14, so that it can be
solved with.
"""
HUBER_WIDTH = (1e-4, 1e6)
RIDGE = (1e-4, 1e6)
"""lambda of a metric. The lower end bounds the condition number of the metric by about 100."""
LEVERAGE = (1e-6, 1e4)
"""C^2 of a metric: as a ridge allows, and far from where its square overflows."""
BUDGET_PART = (1e-12, 1e20)
"""Epsilon or rho of one of the three releases; the upper end is no privacy at all, as a limit to
compare with.
"""
DELTA = (1e-300, 1.0 - 1e-12)
CONFIDENCE_LEVEL = (1e-6, 1.0 - 1e-9)
MOST_COEFFICIENTS = 4_000
"""p from which on rounding may lift the norm of a weighted row or a cut gradient above 1
(docs/proofs/map.md#rows); noise in a metric allows fewer (`solvers.metric.most_coefficients`).
"""
MOST_RECORDS = 10**15
MOST_ROWS_PER_PERSON = 1_000
"""k. Persons of a chunk of rows then cut it nearly where rows would (`objective.chunks`)."""
TOLERANCE = (1e-12, 1e-2)
"""Bound on the gradient norm of a fit. Below the first, rounding alone keeps every fit from it."""
LARGEST_START = 1e9
"""Entries of a first guess; every minimiser at a c of this range is smaller."""
CONTRAST = (1e-50, 1e50)
"""Largest entry of a row of contrasts, in size; squares of it must be finite and not 0."""
SHAPE = (1e-6, 1e6)
"""Of the diagonal of a map of rows; the other entries are at most as large, with either sign."""


def regularization_in_range(value: object) -> float:
    """Return c as a float, or raise ValueError."""
    check_positive(regularization=value)
    check_range(REGULARIZATION, regularization=value)
    return float(value)  # type: ignore[arg-type]


def confidence_level_in_range(value: object) -> float:
    """Return a confidence level as a float, or raise ValueError."""
    if isinstance(value, Real) and 2.0 <= float(value) < 100.0:  # a percentage
        hint = f" Write a fraction below 1, such as {float(value) / 100:g}."
        raise RangeError("confidence_level", value, 0.0, 1.0, is_open=True, hint=hint)
    check_probability(confidence_level=value)
    check_range(CONFIDENCE_LEVEL, confidence_level=value)
    return float(value)  # type: ignore[arg-type]


def width_in_range(value: object) -> float:
    """Return a Huber width h as a float, or raise ValueError."""
    check_positive(h=value)
    check_range(HUBER_WIDTH, h=value)
    return float(value)  # type: ignore[arg-type]


def records_in_range(value: object) -> int:
    """Return a number of records as an int, or raise ValueError."""
    check_count(n_records=value)
    check_range((1, MOST_RECORDS), n_records=value)
    return int(value)  # type: ignore[call-overload, no-any-return]


def check_coefficients(p: int) -> None:
    """Raise ValueError for more coefficients than rounding leaves room for."""
    expect(
        p < MOST_COEFFICIENTS,
        f"Expected fewer than {MOST_COEFFICIENTS:,} coefficients, got {p:,}.",
    )


def rows_per_person_in_range(value: object) -> int:
    """Return k as an int, or raise ValueError."""
    check_count(rows_per_person=value)
    check_range((1, MOST_ROWS_PER_PERSON), rows_per_person=value)
    return int(value)  # type: ignore[call-overload, no-any-return]
