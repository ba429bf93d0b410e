"""Where the Hessian is released when intervals are for the coefficient without penalty (own).

From the penalised minimiser theta_c the coefficient without penalty is theta* = theta_c - s, and

    grad F(theta_c) - grad F(theta*) = K(m) s + O(|s|^3),    m = (theta_c + theta*) / 2

so a Newton step with the Hessian K at m leaves an error of third order in its length, with that at
theta_c one of second order. m needs no look at the records: where the loss is the negative log
likelihood of the model, the covariance of the gradients estimates K, so it is released first, at
the private coefficients, and its step, half of it, says where the Hessian is released. Both
releases and their sensitivities are those of `matrices`, the second at another public point.
"""

from __future__ import annotations

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.linalg import symmetrise
from dpci_core.design import ESTIMANDS, Design

_SMALLEST_CURVATURE = 2.0
"""K is raised to this many times the noise on it, and to 2c, where the step would double what it
corrects.
"""


def has_one_step_point(design: Design) -> bool:
    """Whether the Hessian is released at the one-step point."""
    return ESTIMANDS[design.target].has_one_step_point(design.loss)


def floor_of(regularization: float, matrix_sd: float | Array, p: int) -> Array:
    """Return the flattest curvature along which a step is taken in full, (...,).

    Args:
        regularization: c.
        matrix_sd: standard deviation of a diagonal entry of the noise on the matrix.
        p: number of coefficients.
    """
    return np.asarray(np.maximum(2.0 * regularization, noise_floor(matrix_sd, p)))


def noise_floor(matrix_sd: float | Array, p: int) -> Array:
    """Return the curvature (...,) that noise of this standard deviation on the diagonal hides."""
    return np.asarray(_SMALLEST_CURVATURE * np.asarray(matrix_sd) * np.sqrt(p / 2.0))


def of_coefficients(
    values: Array, vectors: Array, whiten: Array, *, floor: Array
) -> tuple[Array, Array]:
    """Return eigenvalues and eigenvectors of a curvature of the coefficients that is known in a
    metric.

    Args:
        values, vectors: of W K W, (..., p) and (..., p, p).
        whiten: W (..., p, p).
        floor: (...,), to which the values are raised first: the noise on W K W.
    """
    back = np.linalg.inv(whiten)
    lifted = (vectors * np.maximum(values, floor[..., None])[..., None, :]) @ np.swapaxes(
        vectors, -1, -2
    )
    found = np.linalg.eigh(symmetrise(back @ lifted @ back))
    return found.eigenvalues, found.eigenvectors


def one_step_point(
    theta: Array,
    S_noisy: Array,
    *,
    regularization: float,
    matrix_sd: float | Array,
    whiten: Array | None = None,
) -> Array:
    """Return theta (..., p) moved by half a Newton step of the gradient covariance (..., p, p).

    Args:
        theta: private coefficients, or their mean in a forecast.
        S_noisy: released at theta, before any floor.
        regularization: c.
        matrix_sd: standard deviation (...,) of a diagonal entry of the noise on S.
        whiten: W (..., p, p) of the metric that S_noisy is in.

    Privacy: post-processing of what was released.
    """
    values, vectors = np.linalg.eigh(S_noisy)
    p = theta.shape[-1]
    floor = floor_of(regularization, matrix_sd, p)
    if whiten is not None:
        hidden = noise_floor(matrix_sd, p)
        values, vectors = of_coefficients(values, vectors, whiten, floor=hidden)
        floor = np.asarray(2.0 * regularization)
    steep = np.maximum(values, floor[..., None])
    along = np.einsum("...ji,...j->...i", vectors, theta) / steep
    return np.asarray(theta + regularization * np.einsum("...ij,...j->...i", vectors, along))
