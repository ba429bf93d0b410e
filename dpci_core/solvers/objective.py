"""The penalised empirical risk J, its derivatives, and the two moments that intervals are made of.

    J(theta) = (1/n) sum_i w_i f(a_i.theta) + c |theta|^2 + b.theta / n,     a_i = y_i x_i

Mean over records, no 1/2 in the penalty (so J is 2c-strongly convex), the constant column penalised
too; the weights w_i are 1 but for `base.rows.WeightedRows`. Of `base.rows.PersonRows` the sum goes
over rows, n is the number of persons, and a gradient in S is that of a person.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.base.batch import CHUNK_ROWS
from dpci_core.base.batches import RecordBatches, Table, has_weights
from dpci_core.base.rows import PersonRows, Rows, WeightedRows, plain, times_weights
from dpci_core.losses import Loss
from dpci_core.solvers.batch_sums import Outer, Pull, derivatives

Array = npt.NDArray[np.float64]

TOLERANCE = 1e-10
"""Bound on the gradient norm at which a fit counts as exact."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A minimiser theta (p,) with what certifies it: |theta - exact| <= gradient_norm / (2c)."""

    theta: Array
    gradient_norm: float
    decrement: float
    n_iterations: int


def chunks(A: Rows) -> Iterator[Array | WeightedRows]:
    """The rows, `CHUNK_ROWS` at a time; no person's rows are parted."""
    step = max(1, CHUNK_ROWS // A.most) if isinstance(A, PersonRows) else CHUNK_ROWS
    for start in range(0, len(A), step):
        yield A[start : start + step]


def objective(
    A: Table, theta: Array, *, loss: Loss, regularization: float, noise_vector: Array | None = None
) -> float:
    """Return J(theta).

    Args:
        A: rows y_i x_i, (n, p).
        theta: (p,).
        loss: f.
        regularization: c > 0, in c |theta|^2 of the mean objective.
        noise_vector: b (p,) of the linear term, None for none.
    """
    if isinstance(A, RecordBatches):
        total = float(derivatives(A, theta, loss)[0])
    else:
        total = sum(float(times_weights(loss.value(a @ theta), a).sum()) for a in chunks(A))
    linear = 0.0 if noise_vector is None else float(noise_vector @ theta)
    return (total + linear) / len(A) + regularization * float(theta @ theta)


def gradient_and_hessian(
    A: Table, theta: Array, *, loss: Loss, regularization: float, noise_vector: Array | None = None
) -> tuple[Array, Array]:
    """Return gradient (p,) and Hessian (p, p) of J at theta [WKL eq. 5]; arguments as for
    `objective`.
    """
    p = len(theta)
    gradient = np.zeros(p) if noise_vector is None else noise_vector.astype(np.float64)
    hessian = np.zeros((p, p))
    if isinstance(A, RecordBatches):
        _, slopes, hessian = derivatives(A, theta, loss)
        gradient = gradient + slopes
    else:
        for a in chunks(A):
            z = a @ theta
            rows = plain(a)
            gradient = gradient + rows.T @ times_weights(loss.slope(z), a)
            hessian += (rows * times_weights(loss.curvature(z), a)[:, None]).T @ rows
    n = len(A)
    return gradient / n + 2.0 * regularization * theta, hessian / n + 2.0 * regularization * np.eye(
        p
    )


def gradient_at(
    A: Table, theta: Array, *, loss: Loss, regularization: float, noise_vector: Array | None
) -> Array:
    """Return the gradient (p,) of J at theta, summed as in `gradient_and_hessian`: the one that
    certifies.
    """
    gradient = np.zeros(len(theta)) if noise_vector is None else noise_vector.astype(np.float64)
    if isinstance(A, RecordBatches):
        gradient = gradient + derivatives(A, theta, loss)[1]
    else:
        for a in chunks(A):
            gradient = gradient + plain(a).T @ times_weights(loss.slope(a @ theta), a)
    return np.asarray(gradient / len(A) + 2.0 * regularization * theta)


def certified(
    A: Table,
    theta: Array,
    *,
    loss: Loss,
    regularization: float,
    noise_vector: Array | None,
    tolerance: float,
) -> Fit | None:
    """Return theta (p,) as it is, if its gradient is within the tolerance, summed as
    `rounding_of_sums` says.
    """
    norm = float(
        np.linalg.norm(
            gradient_at(
                A, theta, loss=loss, regularization=regularization, noise_vector=noise_vector
            )
        )
    )
    return (
        Fit(theta, norm, norm / math.sqrt(2.0 * regularization), 0) if norm <= tolerance else None
    )


def moments_at(A: Table, theta: Array, *, loss: Loss, regularization: float) -> tuple[Array, Array]:
    """Return H(theta) and S(theta), each (p, p): `hessian_of` and `covariance_of`."""
    H = hessian_of(A, theta, loss=loss, regularization=regularization)
    return H, covariance_of(A, theta, loss=loss, regularization=regularization)


def hessian_of(
    A: Table, theta: Array, *, loss: Loss, regularization: float, whiten: Array | None = None
) -> Array:
    """Return H(theta), (p, p): WKL eq. 5.

    Args:
        A: rows y_i x_i, (n, p).
        theta: (p,).
        loss: f.
        regularization: c > 0, in c |theta|^2 of the mean objective.
        whiten: W (p, p), for W H W, summed from the rows W a.
    """
    _check_weights(A, loss)
    if whiten is None and isinstance(A, RecordBatches):
        total = derivatives(A, theta, loss)[2]
    else:
        total = sum_over(A, Outer("hessian", theta, loss, whiten))
    unit = np.eye(len(theta)) if whiten is None else whiten @ whiten
    return np.asarray(total / len(A) + 2.0 * regularization * unit)


def covariance_of(
    A: Table, theta: Array, *, loss: Loss, regularization: float, whiten: Array | None = None
) -> Array:
    """Return S(theta), (p, p): WKL eq. 6.

    S = (1/n) sum w_i^2 f'(z_i)^2 a_i a_i' - 4 c^2 theta theta' is the gradient covariance at a
    minimiser; elsewhere it may be indefinite. Of persons it is (1/N) sum g_i g_i' - 4 c^2 theta
    theta' with g_i the sum of w f' a over a person's rows. Arguments as for `hessian_of`.
    """
    _check_weights(A, loss)
    total = sum_over(A, Outer("covariance", theta, loss, whiten))
    pull = theta if whiten is None else whiten @ theta
    return np.asarray(total / len(A) - (2.0 * regularization) ** 2 * np.outer(pull, pull))


def sum_over(A: Table, of: Outer | Pull) -> Array:
    """Return the same sum in memory and in batches."""
    found = A.total(of) if isinstance(A, RecordBatches) else of.over(chunks(A))
    return np.asarray(found)


def _check_weights(A: Table, loss: Loss) -> None:
    if has_weights(A) and not loss.allows_weights:
        raise ValueError(f"Expected rows without weights for the loss {loss.name!r}.")


def rounding_of_sums(n_records: int) -> float:
    """Return the largest relative error of a mean over n records, against the mean of the absolute
    values.

    A sum of m numbers in any order errs by at most about m 2^-53 of the sum of their sizes; here
    rows are added within a chunk, then chunks, then a few more operations. Twice that.

    It holds for a table in batches however they are cut: batches add at most log2 n + 2 operations
    behind a term, and twice what is counted here leaves room for as many again (docs/release.md,
    section 7). So it depends on n alone.
    """
    return (min(n_records, CHUNK_ROWS) + n_records / CHUNK_ROWS + 16.0) * 2.0**-52
