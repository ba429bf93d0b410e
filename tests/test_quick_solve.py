"""The quick solver against the exact one and against gradients from first principles."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core import HuberSVM, Logistic, SmoothedHinge, quick_solve
from dpci_core.erm import solve
from dpci_core.errors import ConvergenceError
from dpci_core.quick_solve import solve_quickly
from tests.test_erm import assert_exact, margins_matrix

LOSSES = (Logistic(), HuberSVM(h=0.5), HuberSVM(h=0.01), SmoothedHinge(h=0.5))
TABLES = {
    "plain": margins_matrix(300, 4, 0),
    "one class": np.abs(margins_matrix(60, 3, 1)),
    "collinear": np.repeat(margins_matrix(80, 1, 2), 3, axis=1) / np.sqrt(3),
    "one record": np.array([[0.6, 0.8]]),
}


@pytest.mark.parametrize("size", [0.0, 3.0, 100.0])
@pytest.mark.parametrize("c", [1e-6, 1e-3, 10.0])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gradient_is_zero(loss, name, c, size) -> None:
    A = TABLES[name]
    tilt = size * np.random.default_rng(4).normal(size=A.shape[1])
    theta = solve_quickly(A, loss=loss, regularization=c, tilt=tilt).theta
    with np.errstate(over="ignore"):  # in the loops of the oracle, far out
        assert_exact(A, theta, loss, c, tilt)


def test_more_rows_than_the_sample_take_few_passes(monkeypatch) -> None:
    A = margins_matrix(20_000, 6, 3)
    monkeypatch.setattr(quick_solve, "solve", None)  # would be called if the steps stalled
    for loss in (Logistic(), HuberSVM(h=0.5)):
        fit = solve_quickly(A, loss=loss, regularization=1e-3)
        exact = solve(A, loss=loss, regularization=1e-3)
        np.testing.assert_allclose(fit.theta, exact.theta, atol=1e-7)
        assert fit.gradient_norm <= 1e-10
        assert fit.n_iterations <= 20


def test_stalls_go_to_newton_from_the_best_point(monkeypatch) -> None:
    A, starts = margins_matrix(300, 4, 0), []

    def spy(*args, start, **settings):
        starts.append(start)
        return solve(*args, start=start, **settings)

    monkeypatch.setattr(quick_solve, "solve", spy)
    monkeypatch.setattr(quick_solve, "_STALLED", 0.0)
    monkeypatch.setattr(quick_solve, "_MAX_STALLS", 3)
    fit = solve_quickly(A, loss=Logistic(), regularization=1e-3)
    assert_exact(A, fit.theta, Logistic(), 1e-3)
    assert len(starts) == 1
    assert np.linalg.norm(starts[0] - fit.theta) < np.linalg.norm(fit.theta)


def test_what_cannot_be_reached_is_refused_not_loosened() -> None:
    with pytest.raises(ConvergenceError):
        solve_quickly(TABLES["plain"], loss=Logistic(), regularization=1e-3, tolerance=1e-30)
    with pytest.raises(ValueError, match="regularization=0"):
        solve_quickly(TABLES["plain"], loss=Logistic(), regularization=0)
