"""Newton's method with a line search: p^2 operations a record and step, and a few steps from
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.optimize import brentq

from dpci_core.base.array import Array
from dpci_core.base.batches import RecordBatches, Table
from dpci_core.base.errors import ConvergenceError, check_positive
from dpci_core.base.rows import Rows, times_weights
from dpci_core.losses import Loss
from dpci_core.solvers.batch_sums import derivatives
from dpci_core.solvers.objective import TOLERANCE, Fit, gradient_and_hessian

_ARMIJO = 1e-4
_ROUNDING_SLACK = 1e-12
"""Relative slack of the descent test: near the minimum, J changes by less than its own rounding
error.
"""


def solve(
    A: Table,
    *,
    loss: Loss,
    regularization: float,
    noise_vector: Array | None = None,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = 500,
) -> Fit:
    """Return the minimiser of J, exact to |grad J| <= tolerance, by Newton's method with a line
    search.

    Args:
        A: rows y_i x_i, (n, p).
        loss: f.
        regularization: c > 0, in c |theta|^2 of the mean objective.
        noise_vector: b of objective perturbation, (p,).
        start: first guess, (p,); the answer does not depend on it beyond the tolerance.
        tolerance: bound on the gradient norm of the mean objective, > 0.
        max_iterations: Newton steps before it gives up.

    Raises:  ConvergenceError if the tolerance is out of reach; never a looser answer.
    """
    check_positive(regularization=regularization, tolerance=tolerance)
    theta = np.zeros(A.shape[1]) if start is None else np.array(start, dtype=np.float64)
    for iteration in range(max_iterations + 1):
        gradient, hessian = gradient_and_hessian(
            A, theta, loss=loss, regularization=regularization, noise_vector=noise_vector
        )
        norm = float(np.linalg.norm(gradient))
        step = -_solved(hessian, gradient)
        # Strong convexity turns a small gradient into a small error, so the norm alone certifies
        # the answer; the decrement is reported because it is the distance in the curvature's own
        # units.
        if norm <= tolerance:
            return Fit(theta, norm, float(np.sqrt(max(0.0, -float(gradient @ step)))), iteration)
        theta = (
            theta
            + _step_length(A, theta, step, gradient, loss, regularization, noise_vector) * step
        )
    raise ConvergenceError("too_many_steps", norm=norm, tolerance=tolerance, steps=max_iterations)


def _solved(hessian: Array, gradient: Array) -> Array:
    try:
        solution: Array = cho_solve(cho_factor(hessian), gradient)
    except LinAlgError:
        raise ConvergenceError("hessian_singular") from None
    return solution


def _along(
    A: Table, theta: Array, step: Array, loss: Loss
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Mean slope and value of the loss along a line, by its margins; of batches by a pass each."""
    n = len(A)
    if isinstance(A, RecordBatches):
        table = A
        return (
            lambda s: float(derivatives(table, theta + s * step, loss)[1] @ step) / n,
            lambda s: float(derivatives(table, theta + s * step, loss)[0]) / n,
        )
    rows: Rows = A
    z, dz = rows @ theta, rows @ step
    return (
        lambda s: float(times_weights(loss.slope(z + s * dz), rows) @ dz) / n,
        lambda s: float(times_weights(loss.value(z + s * dz), rows).sum()) / n,
    )


def _step_length(
    A: Table,
    theta: Array,
    step: Array,
    gradient: Array,
    loss: Loss,
    regularization: float,
    noise_vector: Array | None,
) -> float:
    """1 where the full Newton step descends enough, otherwise the minimiser of J along the step.

    Backtracking alone stalls on piecewise quadratic losses with a narrow middle branch; the exact
    minimiser along a line costs only one-dimensional work on the margins.
    """
    n = len(A)
    slope_of_loss, value_of_loss = _along(A, theta, step, loss)
    linear = (
        0.0 if noise_vector is None else float(noise_vector @ step) / n
    ) + 2.0 * regularization * float(theta @ step)
    quadratic = 2.0 * regularization * float(step @ step)
    slope_at_0 = float(gradient @ step)

    def slope(s: float) -> float:
        return slope_of_loss(s) + linear + s * quadratic

    if (
        not slope(0.0) < 0.0
    ):  # the descent is lost in rounding, so no point of the line is known to be better
        return 1.0
    before = value_of_loss(0.0)
    change = value_of_loss(1.0) - before + linear + quadratic / 2.0
    if change <= _ARMIJO * slope_at_0 + _ROUNDING_SLACK * max(1.0, abs(before)) and abs(
        slope(1.0)
    ) <= abs(slope_at_0):
        return 1.0
    high = 1.0
    while slope(high) < 0.0:
        high *= 2.0
    return float(brentq(slope, 0.0, high, xtol=1e-12 * high, rtol=1e-10))
