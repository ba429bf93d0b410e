"""Derivatives of a coefficient's variance against differences of the variance itself."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from dpci_core import HuberSVM, Logistic
from dpci_core.base.batches import RecordBatches, as_table, table_of
from dpci_core.base.rows import WeightedRows, signed
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.solvers.variance_drift import VarianceDrift

Array = np.ndarray
N, P, STEP = 800, 4, 1e-4


def rows() -> tuple[WeightedRows, Array]:
    rng = np.random.default_rng(5)
    X = np.c_[rng.standard_normal((N, P - 1)) * [1.0, 0.6, 0.3], np.ones(N)] / 1.5
    y = np.where(rng.random(N) < 1.0 / (1.0 + np.exp(2.0 - X @ [1.0, -1.0, 2.0, 0.0])), 1.0, -1.0)
    return WeightedRows.of(X), y


@pytest.mark.parametrize("c", [0.0, 0.01])
def test_they_are_the_derivatives_of_the_variance(c: float) -> None:
    """Of v'Sv and of v'v, v = K^-1 B', and of the Newton step; S without its penalty."""
    X, y = rows()
    theta, basis = np.array([0.5, -0.8, 0.3, -2.0]), np.tril(np.full((P, P), 0.4)) + np.eye(P)
    risk = PenalisedRisk(as_table(signed(X, y)), Logistic(), c)
    plain = PenalisedRisk(as_table(signed(X, y)), Logistic(), 0.0)
    K, S = risk.hessian(theta), plain.covariance(theta)
    found = VarianceDrift.of(risk.rows, theta, K, S, loss=Logistic(), basis=basis)

    def parts(point: Array) -> tuple[Array, ...]:
        """With K there, then with S there."""
        v = basis @ np.linalg.inv(risk.hessian(point))
        u = basis @ np.linalg.inv(K)
        turned = plain.covariance(point)
        return (
            np.einsum("ij,jk,ik->i", v, S, v),
            np.einsum("ij,ij->i", v, v),
            np.einsum("ij,jk,ik->i", u, turned, u),
            v @ theta,
        )

    for k, unit in enumerate(np.eye(P)):
        up, down = parts(theta + STEP * unit), parts(theta - STEP * unit)
        slopes = [(a - b) / (2.0 * STEP) for a, b in zip(up, down, strict=True)]
        claimed = (-2.0 * found.sampling, -2.0 * found.noise, found.slopes, -found.step)
        for one, other in zip(claimed, slopes, strict=True):
            assert np.abs(one[:, k] - other).max() <= 1e-3 * np.abs(other).max()


@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.3)], ids=lambda loss: loss.name)
def test_batches_have_those_of_the_table(loss: Logistic | HuberSVM) -> None:
    X, y = rows()
    theta = np.array([0.5, -0.8, 0.3, -2.0])
    tables = table_of(X, y), table_of(RecordBatches.of(X, y, batch_rows=300), None)
    risk = PenalisedRisk(tables[0], loss, 0.01)
    K, S = risk.moments(theta)
    one, other = (
        VarianceDrift.of(table, theta, K, S, loss=loss, basis=np.eye(P)) for table in tables
    )
    for field in fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12, err_msg=field.name)
        assert np.any(mine != 0.0)
