"""Moments as a file, so that a forecast needs neither the table nor the machine that has it.

They describe the table: only those of public or simulated tables belong in a file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from dpci_core.base.array import Array
from dpci_core.base.limits import SHAPE
from dpci_core.design import Geometry
from dpci_core.losses import make_loss
from dpci_core.solvers.moments import HessianDrift, Moments, Spread, UnpenalisedFit
from dpci_core.solvers.variance_drift import VarianceDrift

VERSION = 1
MOST_BYTES = 50_000_000
"""Of a file of moments; longer ones are not opened."""

_SLACK = 1.0 + 1e-6
"""For what rounding adds."""

Vector = list[FiniteFloat]
Matrix = list[Vector]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Loss(_Strict):
    name: str
    h: FiniteFloat | None = None


class _Drift(_Strict):
    step: Vector
    output: Vector
    objective: Vector


class _Without(_Strict):
    unweighted: Vector
    unweighted_se: Vector
    theta: Vector
    hessian: Matrix
    covariance: Matrix
    one_step_point: Matrix


class _Spread(_Strict):
    second_moment: Matrix
    ridges: Vector
    leverages: Vector


class _VarianceDrift(_Strict):
    sampling: Matrix
    noise: Matrix
    slopes: Matrix
    step: Matrix


class _Geometry(_Strict):
    ridge: FiniteFloat
    leverage: FiniteFloat


class _File(_Strict):
    """What a file of moments holds."""

    version: Literal[1]
    names: list[str]
    theta_hat: Vector
    hessian: Matrix
    covariance: Matrix
    n_records: int = Field(ge=1, le=10**15)
    loss: _Loss
    regularization: FiniteFloat = Field(gt=0)
    drift: _Drift | None = None
    unpenalised_fit: _Without | None = None
    is_separable: bool = False
    geometry: _Geometry | None = None
    spread: _Spread | None = None
    n_weighted: int = 0
    plan: dict[str, Any] | None = None
    leverage_correction: Matrix | None = None
    basis: Matrix | None = None
    is_simulated: bool = False
    variance_drift: _VarianceDrift | None = None
    unpenalised_variance_drift: _VarianceDrift | None = None
    constant: FiniteFloat | None = Field(default=None, gt=0)
    told: list[Annotated[FiniteFloat, Field(ge=0)]] | None = None


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
    record = _plain(moments)
    record["loss"] = {"name": moments.loss.name, **moments.loss.parameters}
    return {"version": VERSION, "names": list(names), **record, "plan": plan}


def _plain(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "loss"}
    return value


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
        found = _File.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"No file of moments: {place or 'content'}: {first['msg']}.") from None
    p = len(found.names)
    if p < 1 or len(set(found.names)) < p:
        raise ValueError("No file of moments: Expected names that differ.")
    moments = _moments(found, p)
    _check_sizes(moments)
    return NamedMoments(moments, tuple(found.names), found.plan)


def _check_sizes(moments: Moments) -> None:
    """Raise ValueError for what no table has: rows have norm at most 1 and slopes at most 1, so
    that J(theta_hat) <= J(0) and the eigenvalues of H and S have bounds.
    """
    c, loss = moments.regularization, moments.loss
    at_zero = float(loss.value(np.zeros(1))[0])
    sizes = np.linalg.eigvalsh(moments.hessian), np.linalg.eigvalsh(moments.covariance)
    with np.errstate(over="ignore"):
        reach = c * float(np.sum(moments.theta_hat**2))
    if not (
        reach <= at_zero * _SLACK
        and 2.0 * c <= sizes[0][0] * _SLACK
        and sizes[0][-1] <= (2.0 * c + loss.max_curvature) * _SLACK
        and sizes[1][0] >= 1.0 - _SLACK
        and sizes[1][-1] <= _SLACK
    ):
        raise ValueError("No file of moments: Expected moments that a table can have.")


def _moments(found: _File, p: int) -> Moments:
    given = found.geometry
    shape = None if given is None else Geometry(ridge=given.ridge, leverage=given.leverage)
    return Moments(
        theta_hat=_shaped(found.theta_hat, p),
        hessian=_shaped(found.hessian, p, p),
        covariance=_shaped(found.covariance, p, p),
        n_records=found.n_records,
        loss=make_loss(found.loss.name, found.loss.h),
        regularization=found.regularization,
        drift=None if found.drift is None else _drift(found.drift),
        unpenalised_fit=(
            None if found.unpenalised_fit is None else _without(found.unpenalised_fit, p)
        ),
        is_separable=found.is_separable,
        geometry=shape,
        spread=None if found.spread is None else _spread(found.spread, p),
        n_weighted=found.n_weighted,
        leverage_correction=None
        if found.leverage_correction is None
        else _shaped(found.leverage_correction, p, p),
        basis=None if found.basis is None else _basis(found.basis, p),
        is_simulated=found.is_simulated,
        variance_drift=_variance_drift(found.variance_drift, p),
        unpenalised_variance_drift=_variance_drift(found.unpenalised_variance_drift, p),
        constant=found.constant,
        told=None if found.told is None else _shaped(found.told, p),
    )


def _basis(rows: Matrix, p: int) -> Array:
    """A lower triangle (p, p) with a positive diagonal; ValueError for anything else."""
    if [len(row) for row in rows] != [p] * p:
        raise ValueError(f"No file of moments: Expected a basis of {p} rows of {p} numbers.")
    found = np.array(rows, dtype=np.float64)
    size = np.abs(found).max()
    if np.any(np.triu(found, 1)) or not (size <= SHAPE[1] and np.diag(found).min() >= SHAPE[0]):
        raise ValueError("No file of moments: Expected a basis that is a lower triangle.")
    return found


def _drift(found: _Drift) -> HessianDrift:
    columns = (found.step, found.output, found.objective)
    return HessianDrift(*(_shaped(column, len(found.step)) for column in columns))


def _variance_drift(found: _VarianceDrift | None, p: int) -> VarianceDrift | None:
    if found is None:
        return None
    parts = (found.sampling, found.noise, found.slopes, found.step)
    return VarianceDrift(*(_sized(part, p, p) for part in parts))


def _without(found: _Without, p: int) -> UnpenalisedFit:
    return UnpenalisedFit(
        *(_shaped(v, p) for v in (found.unweighted, found.unweighted_se, found.theta)),
        *(_shaped(v, p, p) for v in (found.hessian, found.covariance, found.one_step_point)),
    )


def _spread(found: _Spread, p: int) -> Spread:
    columns = (found.ridges, found.leverages)
    return Spread(
        _shaped(found.second_moment, p, p),
        *(_shaped(column, len(found.ridges)) for column in columns),
    )


def _sized(values: Vector | Matrix, *shape: int) -> Array:
    """An array of this shape; ValueError for another."""
    try:
        found = np.array(values, dtype=np.float64)
    except ValueError:  # rows of different lengths
        found = np.empty(0)
    if found.shape != shape or 0 in shape:
        raise ValueError(f"No file of moments: Expected numbers of shape {shape}.")
    return found


def _shaped(values: Vector | Matrix, *shape: int) -> Array:
    """An array of this shape, symmetric if it is a matrix; ValueError for another."""
    found = _sized(values, *shape)
    if len(shape) == 2 and not np.allclose(found, found.T, rtol=1e-9, atol=1e-12):
        raise ValueError("No file of moments: Expected symmetric matrices.")
    return found


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
