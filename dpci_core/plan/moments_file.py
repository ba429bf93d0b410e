"""Moments as a file, so that a forecast needs neither the table nor the machine that has it.

They describe the table: only those of public or simulated tables belong in a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, check_positive, expect
from dpci_core.base.limits import SHAPE
from dpci_core.plan.codec import FORMS, READERS, Form, plain, read
from dpci_core.plan.link import load_json
from dpci_core.solvers.moments import Moments

VERSION = 1
MOST_BYTES = 50_000_000
"""Of a file of moments; longer ones are not opened."""
_MOST_RECORDS = 10**15
_SLACK = 1.0 + 1e-6
"""For what rounding adds."""


@dataclass(frozen=True, slots=True)
class NamedMoments:
    """Moments that were read from a file, with the names of their coefficients, the constant
    last.

    plan: the record of the plan that they were computed for, unread; None where the file has none.
    """

    moments: Moments
    names: tuple[str, ...]
    plan: dict[str, Any] | None = None


def moments_record(
    moments: Moments, *, names: Sequence[str], plan: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the content of a file of moments as plain values.

    Args:
        moments: of a public or simulated table.
        names: of its coefficients, the constant last.
        plan: the record of the plan that they were computed for.

    Raises:  ValueError for another number of names.
    """
    if len(names) != len(moments.theta_hat):
        raise ValueError(f"Expected {len(moments.theta_hat)} names, got {len(names)}.")
    return {"version": VERSION, "names": list(names), **plain(moments), "plan": plan}


def read_moments(path: Path | str) -> NamedMoments:
    """Return the moments of a file (`moments_record` as JSON).

    Raises:  ValueError for what is no file of moments; OSError.
    """
    with Path(path).open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"A file of moments has at most {MOST_BYTES:,} bytes.")
    return moments_of(content)


def moments_of(content: bytes) -> NamedMoments:
    """Return the moments that stand in the bytes of a file; errors as for `read_moments`."""
    try:
        found: NamedMoments = read(Moments, load_json(content.decode("utf-8")))
        return found
    except ValueError as error:
        raise ValueError(f"No file of moments: {error}") from None


def write_moments(
    moments: Moments,
    path: Path | str,
    *,
    names: Sequence[str],
    plan: dict[str, Any] | None = None,
) -> None:
    """Write a new file of moments; arguments and errors as for `moments_record`,
    FileExistsError.
    """
    text = json.dumps(moments_record(moments, names=names, plan=plan), indent=1) + "\n"
    with Path(path).open("x", encoding="utf-8") as file:
        file.write(text)


def _array(value: object) -> Array:
    """Numbers, or rows of as many."""
    is_matrix = isinstance(value, list) and bool(value) and isinstance(value[0], list)
    given = read(tuple[tuple[float, ...], ...] if is_matrix else tuple[float, ...], value)
    expect(not is_matrix or len(set(map(len, given))) == 1, "Expected rows of one length.")
    return np.array(given, dtype=np.float64)


def _named(
    *, version: int, names: tuple[str, ...], plan: dict[str, Any] | None, **given: Any
) -> NamedMoments:
    """Moments of the fields of their file, if a table can have them."""
    expect(0 < len(set(names)) == len(names), "Expected names that differ.")
    moments = Moments(**given)
    check_positive(regularization=moments.regularization)
    check_count(n_records=moments.n_records)
    expect(moments.n_records <= _MOST_RECORDS, f"Expected n_records of at most {_MOST_RECORDS:,}.")
    if moments.constant is not None:
        check_positive(constant=moments.constant)
    _check_shapes(moments, len(names))
    _check_sizes(moments)
    return NamedMoments(moments, names, plan)


def _check_shapes(moments: Moments, p: int) -> None:
    """Raise ValueError unless every array has the shape that it has for p coefficients, and the
    matrices that are symmetric are.
    """
    square = (p, p)
    spread, drift, without = moments.spread, moments.drift, moments.unpenalised_fit
    vectors = [moments.theta_hat]
    symmetric = [moments.hessian, moments.covariance]
    others: list[tuple[Array, tuple[int, ...]]] = []
    if moments.leverage_correction is not None:
        symmetric.append(moments.leverage_correction)
    if without is not None:
        vectors += [without.unweighted, without.unweighted_se, without.theta]
        symmetric += [without.hessian, without.covariance, without.one_step_point]
    if spread is not None:
        symmetric.append(spread.second_moment)
        tabulated = (spread.ridges.size,)
        others += [(one, tabulated) for one in (spread.ridges, spread.leverages)]
    if drift is not None:
        steps = (drift.step.size,)
        others += [(one, steps) for one in (drift.step, drift.output, drift.objective)]
    for varied in (moments.variance_drift, moments.unpenalised_variance_drift):
        if varied is not None:
            parts = (varied.sampling, varied.noise, varied.slopes, varied.step)
            others += [(one, square) for one in parts]
    if moments.basis is not None:
        others.append((moments.basis, square))
    if moments.told is not None:
        others.append((moments.told, (p,)))
    for array, shape in (
        *((one, (p,)) for one in vectors),
        *((one, square) for one in symmetric),
        *others,
    ):
        expect(array.shape == shape and 0 not in shape, f"Expected numbers of shape {shape}.")
    expect(
        all(np.allclose(one, one.T, rtol=1e-9, atol=1e-12) for one in symmetric),
        "Expected symmetric matrices.",
    )


def _check_sizes(moments: Moments) -> None:
    """Raise ValueError for what no table has: rows have norm at most 1 and slopes at most 1, so
    that J(theta_hat) <= J(0) and the eigenvalues of H and S have bounds; a map of rows is a lower
    triangle with a positive diagonal.
    """
    c, loss, basis = moments.regularization, moments.loss, moments.basis
    at_zero = float(loss.value(np.zeros(1))[0])
    sizes = np.linalg.eigvalsh(moments.hessian), np.linalg.eigvalsh(moments.covariance)
    with np.errstate(over="ignore"):
        reach = c * float(np.sum(moments.theta_hat**2))
    expect(
        reach <= at_zero * _SLACK
        and 2.0 * c <= sizes[0][0] * _SLACK
        and sizes[0][-1] <= (2.0 * c + loss.max_curvature) * _SLACK
        and sizes[1][0] >= 1.0 - _SLACK
        and sizes[1][-1] <= _SLACK,
        "Expected moments that a table can have.",
    )
    expect(
        basis is None
        or (
            not np.triu(basis, 1).any()
            and np.abs(basis).max() <= SHAPE[1]
            and np.diag(basis).min() >= SHAPE[0]
        ),
        "Expected a basis that is a lower triangle.",
    )
    expect(
        moments.told is None or moments.told.min() >= 0.0,
        "Expected told to hold lengths, none below zero.",
    )


READERS[Array] = _array
FORMS[Moments] = Form(
    always=tuple(field.name for field in fields(Moments) if field.name != "cuts"),
    without=("cuts",),
    types={"version": Literal[VERSION], "names": tuple[str, ...], "plan": Any},
    build=_named,
)
