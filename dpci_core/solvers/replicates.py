"""The same minimiser and moments, for many bootstrap replicates of one table at once.

A replicate is a vector of counts over the rows of the table. Its minimiser is found from the full
table's by quasi-Newton steps that start at the full table's Hessian; every answer is certified by
its own gradient, and where the steps do not converge quickly `minimise` takes over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpci_core.base.array import Array, Flags, Integers, Single
from dpci_core.base.batches import as_table
from dpci_core.base.errors import ConvergenceError
from dpci_core.base.linalg import symmetrise
from dpci_core.base.rows import WeightedRows, plain, times_weights, weights_of
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge
from dpci_core.solvers import kernels
from dpci_core.solvers.kernels import Counts
from dpci_core.solvers.minimise import Quick, minimise
from dpci_core.solvers.risk import PenalisedRisk

TOLERANCE = 1e-8
"""Bound on the gradient norm of a replicate's fit."""
_MAX_PASSES = 25
_COARSE_PASSES = 2
"""Passes in single precision, before the first that can certify."""
MOST_RECORDS = 2**24
"""Where single precision stops counting: a table and a replicate have fewer records."""
_STALLED = 0.5
"""A step that leaves more than this share of the gradient norm, twice, hands the replicate to
`minimise`.
"""


@dataclass(frozen=True)
class Table:
    """A table to resample, with the fit that all its replicates start from.

    columns: y_i x_i as (p, N), each column contiguous.
    gradient: mean of w f' a at theta_hat, (p,).
    single, margins, slopes: the columns, a.theta_hat and |f'| there in single precision.
    weights: w (N,) of the rows, or None for 1.
    """

    columns: Array
    theta_hat: Array
    inverse_hessian: Array
    gradient: Array
    single: Single
    margins: Single
    slopes: Single
    loss: Loss
    regularization: float
    weights: Array | None = None

    @classmethod
    def of(cls, A: Array | WeightedRows, *, loss: Loss, regularization: float) -> Table:
        """Fit the table itself, exactly."""
        risk = PenalisedRisk(as_table(A), loss, regularization)
        theta = minimise(risk).theta
        H = risk.hessian(theta)
        columns = np.ascontiguousarray(plain(A).T)
        margins = A @ theta
        slopes = loss.slope(margins)
        single = margins.astype(np.float32)
        compiled = _compiled(loss)
        return cls(
            columns=columns,
            theta_hat=theta,
            inverse_hessian=symmetrise(np.asarray(np.linalg.inv(H))),
            gradient=columns @ times_weights(slopes, A) / len(A),
            single=columns.astype(np.float32),
            margins=single,
            slopes=-slopes.astype(np.float32)
            if compiled is None
            else kernels.single_slopes(single, *compiled),
            loss=loss,
            regularization=regularization,
            weights=weights_of(A),
        )

    def weighted(self, counts: Counts, power: int = 1) -> Counts:
        """Counts (..., N) times that power of the weights, in single precision: close enough for a
        simulation, whose weights these then are.
        """
        if self.weights is None:
            return counts
        return np.asarray(counts * (self.weights**power).astype(np.float32), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Replicates:
    """Minimisers theta (B, p), their gradient norms (B,), and which of them reached the tolerance
    (B,).
    """

    theta: Array
    gradient_norm: Array
    converged: Flags


def draw_counts(counts: Counts, n_records: int, bits: np.random.BitGenerator) -> None:
    """Fill `counts` with how often each row is drawn in a bootstrap sample.

    Args:
        counts: filled in place, (n_rows,).
        n_records: drawn, with replacement (>= 1).
        bits: the stream of this replicate.

    Raises:  ValueError for more than 2^24 records, where single precision stops counting.
    """
    if max(n_records, len(counts)) >= MOST_RECORDS:
        raise ValueError(
            f"Expected n_records={n_records} and the table's {len(counts)} rows below "
            f"{MOST_RECORDS}."
        )
    counts[:] = 0.0
    left = n_records
    while left:
        left -= kernels.count_draws(bits.random_raw(left // 2 + 1), left, counts)


def fit_replicates(
    table: Table,
    counts: Counts,
    *,
    n_records: int,
    noise_vector: Array | None = None,
    tolerance: float = TOLERANCE,
    weights: Counts | None = None,
) -> Replicates:
    """Return the minimiser of J on each replicate, exact to |grad J| <= tolerance.

    Args:
        table: rows, loss and penalty.
        counts: (B, N), each row sums to n_records.
        n_records: size of a replicate.
        noise_vector: the noise b of objective perturbation, (B, p).
        tolerance: bound on each gradient norm, > 0.
        weights: of the rows in each replicate, (B, N), instead of those of the table.
    """
    theta = np.tile(table.theta_hat, (len(counts), 1))
    drawn, counts = counts, table.weighted(counts) if weights is None else counts * weights
    constant = _first_slopes(table, drawn if weights is None else counts, n_records, weights) + (
        0.0 if noise_vector is None else noise_vector / n_records
    )
    two_c = 2.0 * table.regularization
    gradient = constant + two_c * theta
    inverse = np.tile(table.inverse_hessian, (len(counts), 1, 1))
    norm = np.full(len(counts), np.inf)  # only a gradient in double precision certifies
    before, stalls = np.linalg.norm(gradient, axis=1), np.zeros(len(counts), dtype=np.int64)
    for n_done in range(_MAX_PASSES):
        active = np.flatnonzero((norm > tolerance) & (stalls < 2))
        if not len(active):
            break
        target = theta[active] - np.einsum("bij,bj->bi", inverse[active], gradient[active])
        is_coarse = n_done < _COARSE_PASSES and _compiled(table.loss) is not None
        if is_coarse:  # land on a point that single precision can stand on
            target = table.theta_hat + (target - table.theta_hat).astype(np.float32)
            moved = constant[active] + _slope_changes(table, target, counts, active) / n_records
        else:
            moved = slope_sums(table.columns, table.loss, target, counts, active) / n_records
            moved += 0.0 if noise_vector is None else noise_vector[active] / n_records
        moved += two_c * target
        step, theta[active] = target - theta[active], target
        inverse[active] = updated(inverse[active], step, moved - gradient[active])
        gradient[active] = moved
        size = np.linalg.norm(moved, axis=1)
        stalls[active] += ~(size <= _STALLED * before[active])
        before[active] = size
        if not is_coarse:
            norm[active] = size
    for b in np.flatnonzero(~(norm <= tolerance)):
        theta[b], norm[b] = _solve_one(
            table,
            drawn[b],
            noise_vector=None if noise_vector is None else noise_vector[b],
            tolerance=tolerance,
            weights=table.weights if weights is None else weights[b].astype(np.float64),
        )
    return Replicates(theta, norm, norm <= tolerance)


def _first_slopes(
    table: Table, counts: Counts, n_records: int, weights: Counts | None = None
) -> Array:
    """Mean of w f' a over each replicate at the full table's minimiser, (B, p); counts have the
    weights of the replicates already, if there are some.
    """
    sums = np.empty((len(counts), len(table.theta_hat)))
    n_rows = table.columns.shape[1]
    if weights is not None:
        kernels.excess_sums(table.single, table.slopes, counts, 0.0, sums)
        return np.asarray(-sums / n_records)
    slopes = table.weighted(table.slopes)
    kernels.excess_sums(table.single, slopes, counts, n_records / n_rows, sums)
    return np.asarray(table.gradient - sums / n_records)


def slope_sums(
    columns: Array, loss: Loss, theta: Array, counts: Counts, which: Integers | None = None
) -> Array:
    """Return weighted sums of f'(z_i) a_i at one theta per replicate, (B, p).

    Args:
        columns: a as (p, N), each column contiguous.
        loss: f.
        theta: (B, p).
        counts: times weights, (B', N).
        which: rows of the counts, (B,); None for all.
    """
    sums = np.empty_like(theta)
    rows = np.arange(len(theta)) if which is None else which
    if (compiled := _compiled(loss)) is not None:
        kernels.weighted_slopes(columns, theta, counts, rows, *compiled, sums)
        return -sums
    for b, row in enumerate(rows):
        sums[b] = columns @ (loss.slope(theta[b] @ columns) * counts[row])
    return sums


def _slope_changes(table: Table, theta: Array, counts: Counts, which: Integers) -> Array:
    """`slope_sums` less its value at theta_hat, in single precision."""
    sums = np.empty_like(theta)
    compiled = _compiled(table.loss)
    assert compiled is not None
    steps = (theta - table.theta_hat).astype(np.float32)
    kernels.slope_changes(
        table.single, table.margins, table.slopes, steps, counts, which, *compiled, sums
    )
    return -sums


def _compiled(loss: Loss) -> tuple[int, float] | None:
    """Code and width for the compiled kernels; any other loss goes through its own methods."""
    if type(loss) is Logistic:
        return kernels.LOGISTIC, 1.0
    if type(loss) is HuberSVM:
        return kernels.HUBER, loss.h
    return (kernels.SMOOTHED, loss.h) if type(loss) is SmoothedHinge else None


def updated(inverse: Array, step: Array, change: Array) -> Array:
    """BFGS update of inverse Hessians (B, p, p), left out where the curvature along the step is not
    positive.
    """
    curvature = np.einsum("bi,bi->b", step, change)
    size = np.linalg.norm(step, axis=1) * np.linalg.norm(change, axis=1)
    usable = curvature > 1e-12 * size
    rho = np.divide(1.0, curvature, out=np.zeros_like(curvature), where=usable)
    bent = np.einsum("bij,bj->bi", inverse, change)
    cross = step[:, :, None] * bent[:, None, :]
    along = rho * (1.0 + rho * np.einsum("bi,bi->b", change, bent))
    outer = step[:, :, None] * step[:, None, :]
    return np.asarray(
        inverse
        - rho[:, None, None] * (cross + np.swapaxes(cross, 1, 2))
        + along[:, None, None] * outer
    )


def _solve_one(
    table: Table,
    counts: Counts,
    *,
    noise_vector: Array | None,
    tolerance: float,
    weights: Array | None,
) -> tuple[Array, float]:
    """One replicate by itself, as its noise led it far from the table's fit; infinite gradient norm
    if that fails.
    """
    times = counts.astype(np.int64)
    repeated = np.repeat(table.columns.T, times, axis=0)
    rows: Array | WeightedRows = repeated
    if weights is not None:
        rows = WeightedRows(repeated, np.repeat(weights, times))
    try:
        fit = minimise(
            PenalisedRisk(as_table(rows), table.loss, table.regularization, noise_vector),
            Quick(tolerance),
        )
    except ConvergenceError:
        return table.theta_hat, np.inf
    return fit.theta, fit.gradient_norm


def replicate_gradients(table: Table, counts: Counts, theta: Array, *, n_records: int) -> Array:
    """Return the gradient (B, p) of J on each replicate at its own theta.

    Args:
        table: rows, loss and penalty.
        counts: how often each row is drawn, (B, N).
        theta: (B, p).
        n_records: size of a replicate.
    """
    sums = slope_sums(table.columns, table.loss, theta, table.weighted(counts))
    return np.asarray(sums / n_records + 2.0 * table.regularization * theta)


Moment = Literal["hessian", "covariance"]


def replicate_moments(
    table: Table,
    counts: Counts,
    theta: Array,
    *,
    n_records: int,
    weights: Counts | None = None,
    of: tuple[Moment, ...] = ("hessian", "covariance"),
) -> tuple[Array, Array]:
    """Return H and S of each replicate at its own theta, two arrays (B, p, p); the formulas of
    `PenalisedRisk.moments`.

    Args:
        table: rows, loss and penalty.
        counts: how often each row is drawn, (B, N).
        theta: (B, p).
        n_records: size of a replicate.
        weights: as for `fit_replicates`.
        of: which are wanted; one alone costs about half, the other is empty (0, p, p).
    """
    if weights is None:
        once, twice = table.weighted(counts), table.weighted(counts, 2)
    else:
        once, twice = counts * weights, counts * weights**2
    curved, squared = moment_sums(table.columns, table.loss, theta, once, twice, of=of)
    return moments_of_sums(
        curved, squared, theta, n_records=n_records, regularization=table.regularization
    )


def moments_of_sums(
    curved: Array, squared: Array, theta: Array, *, n_records: int, regularization: float
) -> tuple[Array, Array]:
    """Return H and S (B, p, p) of the sums of `moment_sums` at each theta (B, p)."""
    two_c, at = 2.0 * regularization, theta[: len(squared)]
    outer = at[:, :, None] * at[:, None, :]
    H = curved / n_records + two_c * np.eye(theta.shape[-1])
    return H, squared / n_records - two_c**2 * outer


def moment_sums(
    columns: Array,
    loss: Loss,
    theta: Array,
    counts: Counts,
    twice: Counts,
    *,
    of: tuple[Moment, ...],
) -> tuple[Array, Array]:
    """Return sums (B, p, p) of f'' a a' and of f'^2 a a' of each replicate; one not asked for is
    empty.

    Args:
        columns: a as (p, N), each column contiguous.
        loss: f.
        theta: (B, p).
        counts: times the weights of the rows, (B, N).
        twice: times their squares, (B, N).
        of: which are wanted.
    """
    B, p = theta.shape
    curved, squared = (np.empty((B if one in of else 0, p, p)) for one in ("hessian", "covariance"))
    if (compiled := _compiled(loss)) is not None:
        kernels.weighted_moments(columns, theta, counts, twice, *compiled, curved, squared)
        return _mirrored(curved), _mirrored(squared)
    for b in range(B):
        z = theta[b] @ columns
        if len(curved):
            curved[b] = (columns * (counts[b] * loss.curvature(z))) @ columns.T
        if len(squared):
            squared[b] = (columns * (twice[b] * loss.slope(z) ** 2)) @ columns.T
    return curved, squared


def _mirrored(lower: Array) -> Array:
    """Symmetric matrices from their lower triangles."""
    return np.asarray(np.tril(lower) + np.swapaxes(np.tril(lower, -1), -1, -2))
