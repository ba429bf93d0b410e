"""The quick solver against the exact one and against gradients from first principles."""

from __future__ import annotations

import numpy as np
import pytest

from dpci_core import HuberSVM, Logistic, SmoothedHinge
from dpci_core.base.errors import ConvergenceError
from dpci_core.base.rows import EncodedRows
from dpci_core.solvers import quasi_newton
from dpci_core.solvers.minimise import Quick, minimise
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.solvers.test_newton import assert_exact, margins_matrix

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
    noise_vector = size * np.random.default_rng(4).normal(size=A.shape[1])
    theta = minimise(PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector)).theta
    with np.errstate(over="ignore"):  # in the loops of the oracle, far out
        assert_exact(A, theta, loss, c, noise_vector)


def test_more_rows_than_the_sample_take_few_passes(monkeypatch) -> None:
    A, newton = margins_matrix(20_000, 6, 3), Newton.minimise
    monkeypatch.setattr(Newton, "minimise", None)  # would be called if the steps stalled
    for loss in (Logistic(), HuberSVM(h=0.5)):
        risk = PenalisedRisk(A, loss, 1e-3)
        fit, exact = minimise(risk), newton(Newton(), risk)
        np.testing.assert_allclose(fit.theta, exact.theta, atol=1e-7)
        assert fit.gradient_norm <= 1e-10
        assert fit.n_iterations <= 20


def gradient_norm(A, theta, loss, c, noise_vector) -> float:
    """From the definition of J, in extended precision."""
    A, theta = A.astype(np.longdouble), theta.astype(np.longdouble)
    slopes = loss.slope((A @ theta).astype(np.float64))
    return float(
        np.linalg.norm((A.T @ slopes.astype(np.longdouble) + noise_vector) / len(A) + 2 * c * theta)
    )


def large_table(name: str) -> np.ndarray:
    """10,000 rows, for which the start is a fit of some of them."""
    A = margins_matrix(10_000, 5, 6)
    if name == "separable":
        return np.abs(A)
    if name == "rare column":  # 0 in all rows that the start looks at
        A[:, 2] = 0.0
        A[1:4_000:2, 2] = 0.3
    if name == "ill-conditioned":
        A[:, 1] = A[:, 0] + 1e-7 * A[:, 1]
        A[:, 2] *= 1e-6
    if name == "one half is otherwise":
        A[::2] *= -1.0
    return A


@pytest.mark.parametrize(
    "name", ["plain", "separable", "rare column", "ill-conditioned", "one half is otherwise"]
)
@pytest.mark.parametrize("c", [1e-8, 1e-5, 1e-2, 10.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_start_and_single_precision_leave_no_trace(loss, name, c) -> None:
    A = large_table(name)
    for size in (0.0, 300.0):
        noise_vector = size * np.random.default_rng(4).normal(size=6)
        fit = minimise(PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector))
        assert fit.gradient_norm <= 1e-10
        assert gradient_norm(A, fit.theta, loss, c, noise_vector) <= 1.01e-10 + 1e-13 / c


def test_a_norm_in_single_precision_certifies_nothing(monkeypatch) -> None:
    A = margins_matrix(10_000, 5, 6)
    monkeypatch.setattr(
        quasi_newton._Objective, "changed_gradient", lambda self, theta: np.zeros_like(theta)
    )
    fit = minimise(PenalisedRisk(A, loss=Logistic(), regularization=1e-4))
    assert gradient_norm(A, fit.theta, Logistic(), 1e-4, np.zeros(6)) <= 1.01e-10


def test_changes_in_single_precision_are_near() -> None:
    A, rng = margins_matrix(10_000, 5, 6), np.random.default_rng(1)
    for loss in LOSSES:
        objective = quasi_newton._Objective(
            A, A[::3], loss, 1e-3, rng.normal(size=6) / 100, A.astype(np.float32)
        )
        theta = rng.normal(size=6)
        first = objective.gradient(theta).copy()
        for size in (1.0, 1e-4, 1e-8):
            moved = theta + size * rng.normal(size=6)
            exact = quasi_newton._Objective(A, A[::3], loss, 1e-3, objective.linear).gradient(moved)
            change = np.linalg.norm(exact - first)
            assert (
                np.linalg.norm(objective.changed_gradient(moved) - exact) <= 3e-5 * change + 1e-16
            )


@pytest.mark.parametrize("n", [300, 5_000])
def test_steps_start_from_the_hessian_of_the_sample_or_its_upper_bound(n: int) -> None:
    """The bound, curvature as large as it gets, is taken over every fourth row of a large
    sample.
    """
    A, c, loss = margins_matrix(n, 4, 7), 0.3, Logistic()
    objective = quasi_newton._Objective(A, A, loss, c, np.zeros(5))
    theta = np.linspace(-1.0, 1.0, 5)
    exact = (A.T * loss.curvature(A @ theta)) @ A / n + 2.0 * c * np.eye(5)
    np.testing.assert_allclose(objective.inverse_hessian(theta) @ exact, np.eye(5), atol=1e-12)
    some = A if n < 4_096 else A[::4]
    bound = 0.25 * some.T @ some / len(some) + 2.0 * c * np.eye(5)
    np.testing.assert_allclose(objective.inverse_hessian(None) @ bound, np.eye(5), atol=1e-12)


def test_encoded_rows_are_solved_like_the_rows_themselves() -> None:
    rng = np.random.default_rng(2)
    for n in (500, 12_000):
        rows = EncodedRows(
            rng.uniform(-1, 1, (n, 4)), scale=0.3, constant=0.7, signs=rng.choice([-1.0, 1.0], n)
        )
        noise_vector = rng.normal(size=5)
        fit = minimise(
            PenalisedRisk(rows, loss=Logistic(), regularization=1e-3, noise_vector=noise_vector)
        )
        exact = Newton().minimise(
            PenalisedRisk(rows[:], loss=Logistic(), regularization=1e-3, noise_vector=noise_vector)
        )
        np.testing.assert_allclose(fit.theta, exact.theta, atol=1e-7)
        assert gradient_norm(rows[:], fit.theta, Logistic(), 1e-3, noise_vector) <= 1.01e-10


def test_stalls_go_to_newton_from_the_best_point(monkeypatch) -> None:
    A, starts = margins_matrix(300, 4, 0), []
    newton = Newton.minimise

    def spy(self, risk, start):
        starts.append(start)
        return newton(self, risk, start)

    monkeypatch.setattr(Newton, "minimise", spy)
    monkeypatch.setattr(quasi_newton, "_STALLED", 0.0)
    monkeypatch.setattr(quasi_newton, "_MAX_STALLS", 3)
    fit = minimise(PenalisedRisk(A, loss=Logistic(), regularization=1e-3))
    assert_exact(A, fit.theta, Logistic(), 1e-3)
    assert len(starts) == 1
    assert np.linalg.norm(starts[0] - fit.theta) < np.linalg.norm(fit.theta)


def test_what_cannot_be_reached_is_refused_not_loosened() -> None:
    with pytest.raises(ConvergenceError):
        minimise(PenalisedRisk(TABLES["plain"], loss=Logistic(), regularization=1e-3), Quick(1e-30))
    with pytest.raises(ValueError, match="regularization=0"):
        minimise(PenalisedRisk(TABLES["plain"], loss=Logistic(), regularization=0))
