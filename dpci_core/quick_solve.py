"""The minimiser of `erm.solve` from a few passes over the records, for tables with many more rows than columns.

Newton's method pays p^2 operations a record and step for its Hessian. Here a Hessian of some of the rows starts a
quasi-Newton method, whose steps cost p operations a record; the gradient of all rows certifies the answer as before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from dpci_core.erm import TOLERANCE, Fit, solve
from dpci_core.errors import check_positive
from dpci_core.losses import Loss

Array = npt.NDArray[np.float64]

_SAMPLE_ROWS = 4_096
"""Rows of the Hessian that a stretch of steps starts from, evenly spaced."""
_STRETCH = 4
"""Steps before the Hessian is taken anew, at a point that is then closer,"""
_LAST_HESSIAN = 17
"""up to this pass."""
_MAX_PASSES = 60
_STALLED = 0.9
"""A step that leaves more than this share of the gradient norm is a stall."""
_MAX_STALLS = 6
"""After so many `erm.solve` takes over; SVMs stall often before the band of their corner is found."""


def solve_quickly(
    A: Array, *, loss: Loss, regularization: float, tilt: Array | None = None, tolerance: float = TOLERANCE
) -> Fit:
    """Return the minimiser of J, exact to |grad J| <= tolerance; the arguments and the promise of `erm.solve`.

    n_iterations counts passes over the records.
    Raises:  ConvergenceError as `erm.solve` does, which takes over where steps stall, from the best point.
    """
    check_positive(regularization=regularization, tolerance=tolerance)
    theta = np.zeros(A.shape[1])
    gradient = _gradient(A, theta, loss=loss, regularization=regularization, tilt=tilt)
    norm, n_stalls = float(np.linalg.norm(gradient)), 0
    best, best_norm = theta, norm
    inverse = np.empty((0, 0))
    for n_passes in range(1, _MAX_PASSES + 1):
        if norm <= tolerance:
            return Fit(theta, norm, _decrement(inverse, gradient), n_passes)
        if n_passes % _STRETCH == 1 and n_passes <= _LAST_HESSIAN:
            # At the start the largest curvature: the Hessian of an SVM there says nothing about where a step ends.
            at = None if n_passes == 1 else theta
            inverse = _inverse_hessian(A, at, loss=loss, regularization=regularization)
        if n_stalls >= _MAX_STALLS or not len(inverse):
            break
        step = -inverse @ gradient
        moved = _gradient(A, theta + step, loss=loss, regularization=regularization, tilt=tilt)
        n_stalls += not float(np.linalg.norm(moved)) <= _STALLED * norm
        inverse = _updated(inverse, step, moved - gradient)
        theta, gradient, norm = theta + step, moved, float(np.linalg.norm(moved))
        if norm < best_norm:
            best, best_norm = theta, norm
    return solve(A, loss=loss, regularization=regularization, tilt=tilt, start=best, tolerance=tolerance)


def _gradient(A: Array, theta: Array, *, loss: Loss, regularization: float, tilt: Array | None) -> Array:
    total = loss.slope(A @ theta) @ A
    return np.asarray((total if tilt is None else total + tilt) / len(A) + 2.0 * regularization * theta)


def _inverse_hessian(A: Array, theta: Array | None, *, loss: Loss, regularization: float) -> Array:
    """Of the objective on some of the rows at theta, or for its largest curvature; empty if singular up to rounding."""
    sample = A[:: max(1, len(A) // _SAMPLE_ROWS)]
    curvature = np.full(len(sample), loss.max_curvature) if theta is None else loss.curvature(sample @ theta)
    scaled = sample * np.sqrt(curvature)[:, None]
    hessian = scaled.T @ scaled / len(sample) + 2.0 * regularization * np.eye(A.shape[1])
    try:
        return np.asarray(cho_solve(cho_factor(hessian), np.eye(len(hessian))))
    except LinAlgError:
        return np.empty((0, 0))


def _updated(inverse: Array, step: Array, change: Array) -> Array:
    """BFGS update; left out where the curvature along the step is not positive."""
    curvature = float(step @ change)
    if not curvature > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
        return inverse
    bent = inverse @ change
    cross = np.outer(step, bent)
    along = (1.0 + float(change @ bent) / curvature) / curvature
    return np.asarray(inverse - (cross + cross.T) / curvature + along * np.outer(step, step))


def _decrement(inverse: Array, gradient: Array) -> float:
    """About that of Newton's method, from the curvature that the steps have seen; 0 at a start that is exact."""
    return float(np.sqrt(max(0.0, float(gradient @ inverse @ gradient)))) if len(inverse) else 0.0
