"""The penalised empirical risk, its minimiser, and the two moments that intervals are made of.

    J(theta) = (1/n) sum_i f(a_i.theta) + c |theta|^2 + tilt.theta / n,     a_i = y_i x_i

Mean over records, no 1/2 in the penalty (so J is 2c-strongly convex), the constant column penalised too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq

from dpci_core.base.array import Array
from dpci_core.base.errors import ConvergenceError, check_positive
from dpci_core.base.limits import LARGEST_START, regularization_in_range
from dpci_core.base.rows import Rows
from dpci_core.base.validation import check_records, check_vector
from dpci_core.losses import Loss, check_loss

CHUNK_ROWS = 8192
"""Rows handled at a time, so that a pass over a large table needs no table-sized temporary."""
TOLERANCE = 1e-10
"""Bound on the gradient norm at which a fit counts as exact."""
_ARMIJO = 1e-4
_ROUNDING_SLACK = 1e-12
"""Relative slack of the descent test: near the minimum, J changes by less than its own rounding error."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A minimiser theta (p,) with what certifies it: |theta - exact| <= gradient_norm / (2c)."""

    theta: Array
    gradient_norm: float
    decrement: float
    n_iterations: int


@dataclass(frozen=True, slots=True)
class HessianDrift:
    """How far the Hessian moves when theta does: mean |H(theta + step) - H| / |H| by root-mean-square |step|.

    Steps are isotropic ("output", like output perturbation) or shaped like H^-1 z ("objective").
    """

    step: Array
    output: Array
    objective: Array


@dataclass(frozen=True, slots=True)
class Moments:
    """Non-private fit of one table: theta_hat (p,), Hessian and gradient covariance (p, p), and how they were made.

    drift is None where no records were at hand, as for moments that are themselves a release.

    Not private: on a sensitive table, neither these nor anything chosen with them may reach a release.
    """

    theta_hat: Array
    hessian: Array
    covariance: Array
    n_records: int
    loss: Loss
    regularization: float
    drift: HessianDrift | None = None


def _chunks(A: Rows) -> Iterator[Array]:
    for start in range(0, len(A), CHUNK_ROWS):
        yield A[start : start + CHUNK_ROWS]


def objective(A: Rows, theta: Array, *, loss: Loss, regularization: float, tilt: Array | None = None) -> float:
    """J(theta)."""
    total = sum(float(loss.value(a @ theta).sum()) for a in _chunks(A))
    linear = 0.0 if tilt is None else float(tilt @ theta)
    return (total + linear) / len(A) + regularization * float(theta @ theta)


def gradient_and_hessian(
    A: Rows, theta: Array, *, loss: Loss, regularization: float, tilt: Array | None = None
) -> tuple[Array, Array]:
    """Gradient (p,) and Hessian (p, p) of J at theta [WKL eq. 5]."""
    p = len(theta)
    gradient = np.zeros(p) if tilt is None else tilt.astype(np.float64)
    hessian = np.zeros((p, p))
    for a in _chunks(A):
        z = a @ theta
        gradient = gradient + a.T @ loss.slope(z)
        hessian += (a * loss.curvature(z)[:, None]).T @ a
    n = len(A)
    return gradient / n + 2.0 * regularization * theta, hessian / n + 2.0 * regularization * np.eye(p)


def moments_at(A: Rows, theta: Array, *, loss: Loss, regularization: float) -> tuple[Array, Array]:
    """Return H(theta) and S(theta), each (p, p): WKL eq. 5 and eq. 6.

    S = (1/n) sum f'(z_i)^2 a_i a_i' - 4 c^2 theta theta' is the gradient covariance at a minimiser; elsewhere it
    may be indefinite.
    """
    p, n = len(theta), len(A)
    hessian, second = np.zeros((p, p)), np.zeros((p, p))
    for a in _chunks(A):
        z = a @ theta
        hessian += (a * loss.curvature(z)[:, None]).T @ a
        second += (a * (loss.slope(z) ** 2)[:, None]).T @ a
    two_c = 2.0 * regularization
    return hessian / n + two_c * np.eye(p), second / n - two_c**2 * np.outer(theta, theta)


def solve(
    A: Rows,
    *,
    loss: Loss,
    regularization: float,
    tilt: Array | None = None,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = 500,
) -> Fit:
    """Return the minimiser of J, exact to |grad J| <= tolerance, by Newton's method with a line search.

    Args:    A: rows y_i x_i, (n, p).  tilt: the noise vector b of objective perturbation, (p,).
             start: first guess, (p,); the answer does not depend on it beyond the tolerance.
    Raises:  ConvergenceError with a remedy if the tolerance is out of reach; never a looser answer.
    """
    check_positive(regularization=regularization, tolerance=tolerance)
    theta = np.zeros(A.shape[1]) if start is None else np.array(start, dtype=np.float64)
    for iteration in range(max_iterations + 1):
        gradient, hessian = gradient_and_hessian(A, theta, loss=loss, regularization=regularization, tilt=tilt)
        norm = float(np.linalg.norm(gradient))
        step = -_solved(hessian, gradient)
        # Strong convexity turns a small gradient into a small error, so the norm alone certifies the answer; the
        # decrement is reported because it is the distance in the curvature's own units.
        if norm <= tolerance:
            return Fit(theta, norm, float(np.sqrt(max(0.0, -float(gradient @ step)))), iteration)
        theta = theta + _step_length(A, theta, step, gradient, loss, regularization, tilt) * step
    raise ConvergenceError(
        f"The gradient norm is still {norm:.1e} > {tolerance:.0e} after {max_iterations} Newton steps. {_REMEDY}"
    )


_REMEDY = (
    "Raise the regularization c, or the Huber width h if the loss is a Huber SVM, or the budget of the coefficients "
    "if their noise tilts the objective."
)


def _solved(hessian: Array, gradient: Array) -> Array:
    try:
        solution: Array = cho_solve(cho_factor(hessian), gradient)
    except LinAlgError:
        raise ConvergenceError(f"The Hessian is singular up to rounding. {_REMEDY}") from None
    return solution


def _step_length(
    A: Rows,
    theta: Array,
    step: Array,
    gradient: Array,
    loss: Loss,
    regularization: float,
    tilt: Array | None,
) -> float:
    """1 where the full Newton step descends enough, otherwise the minimiser of J along the step.

    Backtracking alone stalls on piecewise quadratic losses with a narrow middle branch; the exact minimiser along a
    line costs only one-dimensional work on the margins.
    """
    n = len(A)
    z, dz = A @ theta, A @ step
    linear = (0.0 if tilt is None else float(tilt @ step) / n) + 2.0 * regularization * float(theta @ step)
    quadratic = 2.0 * regularization * float(step @ step)
    slope_at_0 = float(gradient @ step)

    def slope(s: float) -> float:
        return float(loss.slope(z + s * dz) @ dz) / n + linear + s * quadratic

    if not slope(0.0) < 0.0:  # the descent is lost in rounding, so no point of the line is known to be better
        return 1.0
    before = float(loss.value(z).sum()) / n
    change = float(loss.value(z + dz).sum()) / n - before + linear + quadratic / 2.0
    if change <= _ARMIJO * slope_at_0 + _ROUNDING_SLACK * max(1.0, abs(before)) and abs(slope(1.0)) <= abs(slope_at_0):
        return 1.0
    high = 1.0
    while slope(high) < 0.0:
        high *= 2.0
    return float(brentq(slope, 0.0, high, xtol=1e-12 * high, rtol=1e-10))


def rounding_of_sums(n_records: int) -> float:
    """Return the largest relative error of a mean over n records, against the mean of the absolute values.

    A sum of m numbers in any order errs by at most about m 2^-53 of the sum of their sizes; here rows are added within
    a chunk, then chunks, then a few more operations. Twice that.
    """
    return (min(n_records, CHUNK_ROWS) + n_records / CHUNK_ROWS + 16.0) * 2.0**-52


def gradient_rounding(*, n_records: int, dim: int, condition: float, tilt_norm: float) -> float:
    """Return the largest error of a computed gradient at any point where its norm is below 1, from public numbers.

    Args:    condition: kappa = (t + 2c)/(2c).  tilt_norm: |b|, drawn without looking at the records.

    At such a point 2c|theta| <= 2 + |b|/n, as slopes are at most 1. The sum, the tilt and the penalty err by
    `rounding_of_sums`; the margins by (p + 2) 2^-53 |theta|, and curvature times that enters the slopes. The doubles
    of b are within 2^-51 |b| of the real vector that was drawn (`exact.RealNoise`), whose objective is meant.
    """
    reach = 2.0 + tilt_norm / n_records
    return reach * (2.0 * rounding_of_sums(n_records) + condition * (dim + 2.0) * 2.0**-53 + 2.0**-51)


def descent_passes(*, condition: float, first_norm: float, tolerance: float) -> int:
    """Return K, after which gradient descent has reached the tolerance in exact arithmetic (`docs/release.md`)."""
    return max(1, math.ceil(condition * (math.log(condition) + 2.0 * math.log(max(1.0, first_norm / tolerance)))))


def solve_surely(
    A: Rows,
    *,
    loss: Loss,
    regularization: float,
    tilt: Array | None = None,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Fit:
    """Return the minimiser of J as `solve` does, and where that gives up by gradient descent, which always arrives.

    A start (p,) that is within the tolerance already is the answer; its gradient is summed as `rounding_of_sums` says.
    One that is not finite counts as none.

    In exact arithmetic this never raises, whatever the records: an abort would tell something about them. It is for the
    release; 500 passes of Newton's method have been enough on every table tried.
    Raises:  ConvergenceError if rounding keeps even descent from the tolerance.
    Source:  docs/release.md, section 2.
    """
    if start is not None and not np.isfinite(start).all():
        start = None
    if start is not None:
        norm = float(np.linalg.norm(_gradient(A, start, loss=loss, regularization=regularization, tilt=tilt)))
        if norm <= tolerance:
            return Fit(start, norm, norm / math.sqrt(2.0 * regularization), 0)
    try:
        return solve(A, loss=loss, regularization=regularization, tilt=tilt, start=start, tolerance=tolerance)
    except RuntimeError:  # also of the root finder in the line search
        pass
    return _descend(A, loss=loss, regularization=regularization, tilt=tilt, tolerance=tolerance)


def _gradient(A: Rows, theta: Array, *, loss: Loss, regularization: float, tilt: Array | None) -> Array:
    """The gradient of `gradient_and_hessian`, summed in the same order."""
    gradient = np.zeros(len(theta)) if tilt is None else tilt.astype(np.float64)
    for a in _chunks(A):
        gradient = gradient + a.T @ loss.slope(a @ theta)
    return np.asarray(gradient / len(A) + 2.0 * regularization * theta)


def _descend(A: Rows, *, loss: Loss, regularization: float, tilt: Array | None, tolerance: float) -> Fit:
    """Gradient descent from 0 with the step 1/(t + 2c), for as many passes as its rate of convergence asks for."""
    steepest = loss.max_curvature + 2.0 * regularization
    first_norm = 1.0 + (0.0 if tilt is None else float(np.linalg.norm(tilt))) / len(A)
    condition = steepest / (2.0 * regularization)
    theta = np.zeros(A.shape[1])
    for k in range(descent_passes(condition=condition, first_norm=first_norm, tolerance=tolerance) + 1):
        gradient = _gradient(A, theta, loss=loss, regularization=regularization, tilt=tilt)
        norm = float(np.linalg.norm(gradient))
        if norm <= tolerance:
            return Fit(theta, norm, norm / math.sqrt(2.0 * regularization), k)
        theta = theta - gradient / steepest
    raise ConvergenceError("Rounding keeps the solver from its tolerance.")


def fit_moments(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    loss: Loss,
    regularization: float,
    start: npt.ArrayLike | None = None,
) -> Moments:
    """Return the non-private fit and its moments, from which `forecast` answers every question about lengths.

    Args:    X: (n, p), row norms at most 1, constant column included.  y: (n,) in {-1, +1}.
             start: first guess, (p,); it decides how long the fit takes.
    Privacy: none. The result describes the table; use it for public, simulated or already released data.
    Raises:  DataRejectedError (ValueError) for records that break a rule, ConvergenceError.
    """
    check_loss(loss)
    regularization = regularization_in_range(regularization)
    features, labels = check_records(X, y)
    first = None if start is None else check_vector(start, n=features.shape[1], largest=LARGEST_START, name="start")
    A = labels[:, None] * features
    theta = solve(A, loss=loss, regularization=regularization, start=first).theta
    H, S = moments_at(A, theta, loss=loss, regularization=regularization)
    return Moments(
        theta_hat=theta,
        hessian=H,
        covariance=S,
        n_records=len(A),
        loss=loss,
        regularization=regularization,
        drift=_hessian_drift(A, theta, H, loss=loss),
    )


_DRIFT_STEPS = np.logspace(-2.5, 1.5, 9)
_DRIFT_DRAWS = 16
_DRIFT_ROWS = 500


def _hessian_drift(A: Array, theta: Array, H: Array, *, loss: Loss) -> HessianDrift:
    """Tabulate `HessianDrift` on an evenly spaced subsample; the draws are a fixed constant of this module."""
    sample = A[:: -(-len(A) // _DRIFT_ROWS)]
    p = len(theta)
    z = np.random.default_rng(20_240_607).standard_normal((_DRIFT_DRAWS, p))
    shaped = np.linalg.solve(H, z.T).T / np.linalg.norm(np.linalg.inv(H))
    margin = sample @ theta
    # |sum_i w_i a_i a_i'|_F^2 = w' (K o K) w with K the Gram matrix of the rows: one product serves every step.
    squared_gram = (sample @ sample.T) ** 2
    families = []
    for directions in (z / np.sqrt(p), shaped):
        moved = margin[:, None, None] + (sample @ directions.T)[:, :, None] * _DRIFT_STEPS
        change = (loss.curvature(moved) - loss.curvature(margin)[:, None, None]).reshape(len(sample), -1)
        size = np.sqrt(np.maximum(0.0, np.einsum("ij,ij->j", change, squared_gram @ change))) / len(sample)
        families.append(size.reshape(_DRIFT_DRAWS, -1).mean(axis=0) / np.linalg.norm(H))
    return HessianDrift(step=_DRIFT_STEPS, output=families[0], objective=families[1])


_TINY_PENALTY = 1e-9
"""Stands for no penalty at all; it moves an unpenalised minimiser by far less than its gradient check allows."""
_FLAT_GRADIENT = 1e-6


def unpenalised_minimiser(A: Array, *, loss: Loss) -> Array:
    """Return the theta (p,) that minimises the risk without a penalty; not private.

    Raises:  ConvergenceError if there is none, as for a table whose classes can be separated.
    """
    fit = solve(A, loss=loss, regularization=_TINY_PENALTY)
    if 2.0 * _TINY_PENALTY * float(np.linalg.norm(fit.theta)) > _FLAT_GRADIENT:
        raise ConvergenceError("The unpenalised objective has no minimiser here: the classes can be separated.")
    return fit.theta
