"""How released lengths differ because the matrices are taken where the noise has led (own).

A half-width is about the root of V = v'Sv / n + s^2 v'v, v = K^-1 l, with S taken at the private
coefficients theta + e and K at the point m where the Hessian is released. To first order

    log q  moves by  (dS V . e + dK V . dm) / 2V,    dm = (I + c S^-1) e + c (S~^-1 - S^-1) theta

with e the error of the private coefficients, from their noise and from sampling. dm without its
second part is e where the Hessian is released at the private coefficients. The estimate moves with
dm by -2c K^-1 (D dm) K^-1 theta, D the derivative of K. The derivatives are the planning rows'
(`solvers.variance_drift`). That S and K differ between samples at the same coefficients is not in
it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.metric import Metric
from dpci_core.design import Design
from dpci_core.intervals.estimands import estimand_of
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.moments import Moments
from dpci_core.solvers.one_step import has_one_step_point

_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class LengthDrift:
    """Derivatives of what a release says of each contrast, (k, p), a column an entry of theta.

    by_hessian, by_covariance: of the logarithm of its half-width, by the point of the Hessian and
        of the gradient covariance.
    of_estimate: of its estimate, by the point of the Hessian.
    by_error: (k, 2p), of the logarithm of its half-width, by the noise on the coefficients and by
        their sampling error, in independent directions of standard deviation 1.
    """

    by_hessian: Array
    by_covariance: Array
    of_estimate: Array
    by_error: Array


def length_drift(
    moments: Moments,
    *,
    design: Design,
    noise: NoiseLaw,
    contrasts: Array | None,
    metric: Metric | None,
) -> LengthDrift | None:
    """Return the derivatives, None for moments that lack those of the variance, and for noise in a
    metric, whose part in them is not worked out.

    Args:
        moments: of the planning rows.
        design: of the release.
        noise: on the coefficients.
        contrasts: L (k, p) of the coefficients B theta; None for these. What several coefficients
            have in common is left out.
        metric: of the design's geometry.
    """
    p, c, n = len(moments.theta_hat), design.regularization, design.n_records
    H, S, unit = moments.hessian, moments.covariance, np.eye(len(moments.theta_hat))
    K, found = estimand_of(design).variance(moments)
    if found is None or not (metric is None or np.allclose(metric.whiten, unit)):
        return None
    inverse = np.asarray(np.linalg.pinv(K, rcond=1e-10, hermitian=True))
    basis = unit if moments.basis is None else moments.basis
    v, mechanism, variance = basis @ inverse, mechanism_of(design), noise.variance(p)
    sampled = np.einsum("ij,jk,ik->i", v, S, v) / n
    by_noise = variance * mechanism.error_size(v, basis + (v @ (H - K)), n)
    falls = found.sampling / n
    total = sampled + by_noise
    if mechanism.turns_noise:
        falls = falls + found.noise * (variance / n**2)
    rises = found.slopes / n
    if contrasts is None:
        contrasts = unit
    share = contrasts**2
    size = np.maximum(share @ total, _SMALLEST)[:, None]
    by_hessian, by_covariance = -(share @ falls) / size, (share @ rises) / (2.0 * size)
    moved = np.eye(p)
    if has_one_step_point(design):
        moved = moved + c * np.linalg.pinv(S, rcond=1e-10, hermitian=True)
    root, reached = np.sqrt(variance) * unit, np.linalg.inv(H)
    if mechanism.turns_noise:
        root = reached @ root / n
    values, vectors = np.linalg.eigh(S)
    sampling = reached @ vectors * np.sqrt(np.maximum(values, 0.0) / n)
    return LengthDrift(
        by_hessian,
        by_covariance,
        -2.0 * c * (contrasts @ found.step),
        (by_hessian @ moved + by_covariance) @ np.concatenate([root, sampling], axis=1),
    )
