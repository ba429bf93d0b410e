"""How lengths move with the points of the matrices, against differences of the half-widths."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core import ZCDP, Design, Logistic, fit_moments
from dpci_core.intervals._length_drift import length_drift
from dpci_core.mechanisms.mechanism import model_noise

Array = np.ndarray
N, P, C, STEP = 900, 3, 0.004, 1e-4


def rows() -> tuple[Array, Array]:
    rng = np.random.default_rng(8)
    X = np.c_[np.clip(rng.standard_normal((N, P - 1)) * [1.0, 0.6], -2, 2), np.ones(N)] / 3.0
    chance = 1.0 / (1.0 + np.exp(2.0 - X @ [2.0, -2.0, 0.0]))
    return X, np.where(rng.random(N) < chance, 1.0, -1.0)


@pytest.mark.parametrize("target", ["unpenalised", "penalised"])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_it_is_the_derivative_of_the_half_widths(mechanism: str, target: str) -> None:
    X, y = rows()
    design = Design(
        loss=Logistic(),
        mechanism=mechanism,
        budget=ZCDP(model="0.5", hessian="0.2", covariance="0.2"),
        regularization=C,
        n_records=700,
        calibration="sharp",
        target=target,
    )
    moments = fit_moments(X, y, loss=Logistic(), regularization=C, target=target)
    noise = model_noise(design)
    found = length_drift(moments, design=design, noise=noise, contrasts=None, metric=None)
    assert found is not None
    theta, unit, n = moments.theta_hat, np.eye(P), design.n_records
    variance, is_objective = noise.variance(P), mechanism == "objective"
    is_unpenalised = target == "unpenalised"

    def curvature(point: Array) -> Array:
        p = 1.0 / (1.0 + np.exp(-X @ point))
        return (X * (p * (1 - p))[:, None]).T @ X / N + (0.0 if is_unpenalised else 2 * C * unit)

    def gradients(point: Array) -> Array:
        slope = -y / (1.0 + np.exp(y * (X @ point)))
        return (X * (slope**2)[:, None]).T @ X / N

    fixed = gradients(theta) - moments.covariance  # of the penalty
    K = curvature(theta)
    # what noise on the coefficients leaves in an interval of output perturbation follows no point
    still = unit + np.linalg.inv(K) @ (moments.hessian - K)

    def log_half_width(of_hessian: Array, of_covariance: Array) -> Array:
        v = np.linalg.inv(curvature(of_hessian))
        by_noise = (v**2).sum(axis=1) / n**2 if is_objective else (still**2).sum(axis=1)
        S = gradients(of_covariance) - fixed
        return 0.5 * np.log(np.einsum("ij,jk,ik->i", v, S, v) / n + variance * by_noise)

    def correction(point: Array) -> Array:
        return 2.0 * C * np.linalg.inv(curvature(point)) @ theta

    def slopes(of: object) -> Array:
        ends = [(of(theta + STEP * e), of(theta - STEP * e)) for e in unit]  # type: ignore[operator]
        return np.stack([(up - down) / (2.0 * STEP) for up, down in ends], axis=1)

    by_hessian = slopes(lambda at: log_half_width(at, theta))
    by_covariance = slopes(lambda at: log_half_width(theta, at))
    for claimed, true in (
        (found.by_hessian, by_hessian),
        (found.by_covariance, by_covariance),
        (found.of_estimate, slopes(correction)),
    ):
        assert np.abs(claimed - true).max() <= 2e-3 * np.abs(true).max()

    S, reached = moments.covariance, np.linalg.inv(moments.hessian)
    along = unit + C * np.linalg.inv(S) if is_unpenalised else unit
    sums = by_hessian @ along + by_covariance
    spread = reached / n if is_objective else unit
    error = variance * spread @ spread.T + reached @ S @ reached / n
    of_error = found.by_error @ found.by_error.T
    np.testing.assert_allclose(of_error, sums @ error @ sums.T, rtol=1e-2)
