"""Newton's method with a line search: p^2 operations a record and step, and a few steps from
anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpci_core.base.array import Array
from dpci_core.base.errors import ConvergenceError, check_positive
from dpci_core.base.roots import find_root
from dpci_core.base.rows import times_weights
from dpci_core.solvers.batch_sums import derivatives
from dpci_core.solvers.risk import TOLERANCE, Fit, PenalisedRisk

_ARMIJO = 1e-4
_ROUNDING_SLACK = 1e-12
"""Relative slack of the descent test: near the minimum, J changes by less than its own rounding
error.
"""


@dataclass(frozen=True, slots=True)
class Newton:
    """Newton's method with a line search.

    Args:
        tolerance: bound on the gradient norm of the mean objective, > 0.
        max_iterations: steps before it gives up.
    """

    tolerance: float = TOLERANCE
    max_iterations: int = 500

    def minimise(self, risk: PenalisedRisk, start: Array | None = None) -> Fit:
        """Return the minimiser of J, exact to |grad J| <= tolerance.

        Args:
            risk: J, with c > 0.
            start: first guess, (p,); the answer does not depend on it beyond the tolerance.

        Raises:  ConvergenceError if the tolerance is out of reach; never a looser answer.
        """
        check_positive(regularization=risk.regularization, tolerance=self.tolerance)
        p = risk.rows.shape[1]
        theta = np.zeros(p) if start is None else np.array(start, dtype=np.float64)
        for iteration in range(self.max_iterations + 1):
            gradient, hessian = risk.derivatives(theta)
            norm = float(np.linalg.norm(gradient))
            # Strong convexity turns a small gradient into a small error, so the norm alone
            # certifies the answer.
            if norm <= self.tolerance:
                return Fit(theta, norm, iteration)
            step = -_solved(hessian, gradient)
            theta = theta + _step_length(risk, theta, step, gradient) * step
        raise ConvergenceError(
            "too_many_steps", norm=norm, tolerance=self.tolerance, steps=self.max_iterations
        )


def _solved(hessian: Array, gradient: Array) -> Array:
    try:
        solution: Array = cho_solve(cho_factor(hessian), gradient)
    except LinAlgError:
        raise ConvergenceError("hessian_singular") from None
    return solution


def _along(
    risk: PenalisedRisk, theta: Array, step: Array
) -> tuple[Callable[[float], float], Callable[[float], float]]:
    """Mean slope and value of the loss along a line, by its margins; of batches by a pass each."""
    A, loss, n = risk.rows, risk.loss, len(risk.rows)
    rows = A.memory
    if rows is None:
        return (
            lambda s: float(derivatives(A, theta + s * step, loss, 1)[1] @ step) / n,
            lambda s: float(derivatives(A, theta + s * step, loss, 0)[0]) / n,
        )
    z, dz = rows @ theta, rows @ step
    return (
        lambda s: float(times_weights(loss.slope(z + s * dz), rows) @ dz) / n,
        lambda s: float(times_weights(loss.value(z + s * dz), rows).sum()) / n,
    )


def _step_length(risk: PenalisedRisk, theta: Array, step: Array, gradient: Array) -> float:
    """1 where the full Newton step descends enough, otherwise the minimiser of J along the step.

    Backtracking alone stalls on piecewise quadratic losses with a narrow middle branch; the exact
    minimiser along a line costs only one-dimensional work on the margins.
    """
    slope_of_loss, value_of_loss = _along(risk, theta, step)
    noise, two_c = risk.noise_vector, 2.0 * risk.regularization
    linear = 0.0 if noise is None else float(noise @ step) / len(risk.rows)
    linear += two_c * float(theta @ step)
    quadratic = two_c * float(step @ step)
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
    return find_root(slope, 0.0, high, xtol=1e-12 * high, rtol=1e-10)
