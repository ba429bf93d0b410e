"""Private matrices [WKL Algorithm 2], published calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.design import Definition, Design
from dpci_core.erm import moments_at
from dpci_core.errors import check_choice
from dpci_core.linalg import Floored, floor_eigenvalues, symmetrise
from dpci_core.noise import sample_gaussian, sample_spherical_laplace
from dpci_core.privacy import to_float_down
from dpci_core.sensitivity import covariance_sensitivity, gaussian_sd, hessian_sensitivity, laplace_rate

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PrivateMatrix:
    """A released symmetric matrix (p, p), and how many eigenvalues the floor lifted."""

    matrix: Array
    n_lifted: int
    smallest_before: float


@dataclass(frozen=True, slots=True)
class PrivateMoments:
    """Released Hessian and gradient covariance at theta_priv."""

    hessian: PrivateMatrix
    covariance: PrivateMatrix


def noise_scale(*, sensitivity: float, amount: float, kind: Definition) -> float:
    """Return what `unit_noise` is multiplied by: 1/rate ("pure") or the standard deviation ("zcdp").

    Privacy: a matrix of this Frobenius sensitivity plus the scaled noise is amount-DP or amount-zCDP.
    """
    check_choice(kind, ("pure", "zcdp"), name="kind")
    if kind == "pure":
        return 1.0 / laplace_rate(sensitivity=sensitivity, epsilon=amount)
    return gaussian_sd(sensitivity=sensitivity, rho=amount)


def unit_noise(p: int, *, kind: Definition, rng: np.random.Generator) -> Array:
    """Return (p, p) noise of scale 1, spherical Laplace in R^(p^2) or Gaussian, not symmetric."""
    check_choice(kind, ("pure", "zcdp"), name="kind")
    if kind == "pure":
        return sample_spherical_laplace(p * p, rate=1.0, rng=rng).reshape(p, p)
    return sample_gaussian(p * p, sd=1.0, rng=rng).reshape(p, p)


def add_noise(matrix: Array, noise: Array, *, floor: float) -> Floored:
    """Add noise to all p^2 entries, symmetrise, raise eigenvalues to `floor`; matrices (..., p, p)."""
    return floor_eigenvalues(symmetrise(matrix + noise), floor)


def private_matrix(
    matrix: Array,
    *,
    sensitivity: float,
    amount: float,
    kind: Definition,
    floor: float,
    rng: np.random.Generator,
) -> PrivateMatrix:
    """Release one symmetric matrix (p, p) with eigenvalues of at least `floor`.

    Args:    sensitivity: Frobenius.  amount: epsilon or rho of this matrix (> 0).
    Privacy: amount-DP ("pure") or amount-zCDP ("zcdp"); what follows the noise is post-processing.
    Source:  WKL Algorithm 2, Lemma 1.
    Differs: line 5 prints N(0, s^2 I_d); p^2 independent entries are meant and drawn.
    """
    scale = noise_scale(sensitivity=sensitivity, amount=amount, kind=kind)
    floored = add_noise(matrix, scale * unit_noise(len(matrix), kind=kind, rng=rng), floor=floor)
    return PrivateMatrix(floored.matrix, int(floored.n_lifted), float(floored.smallest_before))


def release_moments(A: Array, theta_priv: Array, *, design: Design, rng: np.random.Generator) -> PrivateMoments:
    """Release H and S at the already released theta_priv.

    Privacy: `budget.hessian` and `budget.covariance`, adaptively composed with the release of theta_priv, on which
    the matrices and the sensitivity of S depend. Both are floored at 2c, as published.
    """
    H, S = moments_at(A, theta_priv, loss=design.loss, regularization=design.regularization)
    n = len(A)
    radius = float(np.linalg.norm(theta_priv))
    floor = 2.0 * design.regularization
    hessian = private_matrix(
        H,
        sensitivity=hessian_sensitivity(loss=design.loss, n_records=n),
        amount=to_float_down(design.budget.hessian),
        kind=design.definition,
        floor=floor,
        rng=rng,
    )
    covariance = private_matrix(
        S,
        sensitivity=covariance_sensitivity(loss=design.loss, n_records=n, radius=radius),
        amount=to_float_down(design.budget.covariance),
        kind=design.definition,
        floor=floor,
        rng=rng,
    )
    return PrivateMoments(hessian, covariance)
