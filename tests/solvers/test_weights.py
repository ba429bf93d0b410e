"""Rows with weights through every solver: against a slow loop, and weights of 1 against none."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from dpci_core import HuberSVM, Logistic, SmoothedHinge, fit_moments
from dpci_core.base.rows import WeightedRows
from dpci_core.losses import Loss
from dpci_core.solvers import quasi_newton
from dpci_core.solvers import replicates as batched
from dpci_core.solvers.guaranteed import Guaranteed, gradient_rounding
from dpci_core.solvers.minimise import Quick, minimise
from dpci_core.solvers.moments import unpenalised_minimiser
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.replicates import Table, fit_replicates, replicate_moments
from dpci_core.solvers.risk import (
    CHUNK_ROWS,
    PenalisedRisk,
)
from tests.oracle import paper
from tests.solvers.test_minimise import SOLVERS
from tests.solvers.test_replicates import Smooth, counts_of

LOSSES: tuple[Loss, ...] = (Logistic(), HuberSVM(h=0.5), SmoothedHinge(h=0.5))
C = 0.01


@dataclasses.dataclass(frozen=True)
class SmoothWeighted(Smooth):
    """The loss that the kernels do not know, with leave to have weights: its bound is constant."""

    allows_weights = True


def make_rows(n: int, p: int = 4, seed: int = 0, scale: float = 1.2) -> WeightedRows:
    """Rows y x with lengths around 1, the longer ones weighted down; labels of both classes."""
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_t(4, size=(n, p)) / np.sqrt(p)
    X[:, -1] = 0.4
    y = np.where(rng.random(n) < expit(1.5 * X[:, 0] - X[:, 1]), 1.0, -1.0)
    squares = (X**2).sum(axis=1)
    weights = np.where(squares > 1.0 - 1e-12, (1.0 - 1e-12) / squares, 1.0)
    assert 0.2 < (weights < 1.0).mean() < 0.9
    return WeightedRows(y[:, None] * X, weights)


SMALL = make_rows(300)
LARGE = make_rows(2 * 4096 + 500, seed=1)
"""Enough rows for a start from some of them in single precision, and for two chunks."""
assert len(LARGE) > CHUNK_ROWS


def name_and_width(loss: Loss) -> tuple[str, float]:
    return loss.name, getattr(loss, "h", 1.0)


def slow_moments(
    A: WeightedRows, theta: np.ndarray, loss: Loss, c: float, times: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradient, H and S record by record, from the oracle's losses."""
    n, p = A.shape
    kind = name_and_width(loss)
    count = np.ones(n) if times is None else times
    gradient, H, S = np.zeros(p), np.zeros((p, p)), np.zeros((p, p))
    for row, w, k in zip(A.rows, A.weights, count, strict=True):
        z = sum(row[j] * theta[j] for j in range(p))
        slope, curvature = (float(f(z, *kind)) for f in (paper.loss_slope, paper.loss_curvature))
        gradient += k * w * slope * row
        H += k * w * curvature * np.outer(row, row)
        S += k * (w * slope) ** 2 * np.outer(row, row)
    total = count.sum()
    return (
        gradient / total + 2 * c * theta,
        H / total + 2 * c * np.eye(p),
        S / total - 4 * c**2 * np.outer(theta, theta),
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_objective_derivatives_and_moments_are_those_of_a_slow_loop(loss: Loss) -> None:
    rng = np.random.default_rng(2)
    theta, b = rng.normal(size=4), 5.0 * rng.normal(size=4)
    slow = slow_moments(SMALL, theta, loss, C)
    values = paper.loss_value(SMALL.rows @ theta, *name_and_width(loss))
    expected = (values * SMALL.weights).sum() / 300 + C * theta @ theta + b @ theta / 300
    how = {"loss": loss, "regularization": C}
    assert PenalisedRisk(SMALL, noise_vector=b, **how).value(theta) == pytest.approx(
        expected, rel=1e-12
    )
    gradient, hessian = PenalisedRisk(SMALL, noise_vector=b, **how).derivatives(theta)
    at = PenalisedRisk(SMALL, noise_vector=b, **how).gradient(theta)
    H, S = PenalisedRisk(SMALL, **how).moments(theta)
    for found, exact in (
        (gradient, slow[0] + b / 300),
        (at, slow[0] + b / 300),
        (hessian, slow[1]),
        (H, slow[1]),
        (S, slow[2]),
    ):
        np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("A", [SMALL, LARGE], ids=len)
def test_every_solver_finds_the_weighted_minimiser(A: WeightedRows, loss: Loss, solver) -> None:
    b = 20.0 * np.random.default_rng(3).normal(size=4)
    fit = minimise(PenalisedRisk(A, loss, C, b), solver)
    kind = name_and_width(loss)
    slopes = A.weights * paper.loss_slope(A.rows @ fit.theta, *kind)
    gradient = np.array([(slopes * A.rows[:, j]).sum() for j in range(4)])
    assert np.linalg.norm((gradient + b) / len(A) + 2 * C * fit.theta) <= 1.1e-10
    unweighted = minimise(PenalisedRisk(A.rows, loss=loss, regularization=C, noise_vector=b)).theta
    assert np.linalg.norm(fit.theta - unweighted) > 1e-3  # weights count


def test_the_minimiser_is_that_of_a_general_purpose_method() -> None:
    def value(theta: np.ndarray) -> float:
        losses = np.log1p(np.exp(-(SMALL.rows @ theta)))
        return float((losses * SMALL.weights).mean() + C * theta @ theta)

    options = {"xatol": 1e-9, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000}
    found = minimize(value, np.zeros(4), method="Nelder-Mead", options=options)
    fit = minimise(PenalisedRisk(SMALL, loss=Logistic(), regularization=C))
    np.testing.assert_allclose(fit.theta, found.x, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradient_descent_of_a_release_arrives_with_weights(loss: Loss, monkeypatch) -> None:
    """Its step 1/(t + 2c) and its number of passes rest on w |x|^2 <= 1."""

    def give_up(*_, **__):
        raise RuntimeError

    exact = minimise(PenalisedRisk(SMALL, loss=loss, regularization=C), Quick(1e-11)).theta
    monkeypatch.setattr(Newton, "minimise", give_up)
    fit = Guaranteed(1e-9).continued(PenalisedRisk(SMALL, loss=loss, regularization=C), None)
    np.testing.assert_allclose(fit.theta, exact, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weights_of_one_are_no_weights_to_the_last_bit(loss: Loss) -> None:
    for n in (len(SMALL), len(LARGE)):
        plain = make_rows(n, seed=4).rows / 12.0
        A = WeightedRows(plain, np.ones(n))
        b = np.arange(4.0)
        how = {"loss": loss, "regularization": C}
        for solver in SOLVERS:
            risks = [PenalisedRisk(rows, loss, C, b) for rows in (plain, A)]
            one, two = (minimise(risk, solver) for risk in risks)
            np.testing.assert_array_equal(one.theta, two.theta)
            assert one.gradient_norm == two.gradient_norm
        moments = [PenalisedRisk(rows, **how).moments(one.theta) for rows in (plain, A)]
        np.testing.assert_array_equal(moments[0], moments[1])
        counts = counts_of(n, n, range(3))
        tables = [Table.of(rows, **how) for rows in (plain, A)]
        fits = [fit_replicates(table, counts, n_records=n) for table in tables]
        np.testing.assert_array_equal(fits[0].theta, fits[1].theta)
        found = [replicate_moments(table, counts, fits[0].theta, n_records=n) for table in tables]
        np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_quick_steps_start_from_the_weighted_hessian(loss: Loss) -> None:
    """No answer depends on it, only how long it takes."""
    start = quasi_newton._Objective(SMALL, SMALL, loss, C, np.zeros(4))
    theta = np.random.default_rng(13).normal(size=4)
    H = slow_moments(SMALL, theta, loss, C)[1]
    np.testing.assert_allclose(start.inverse_hessian(theta) @ H, np.eye(4), atol=1e-10)
    unit = np.sqrt(SMALL.weights)[:, None] * SMALL.rows
    steepest = loss.max_curvature * unit.T @ unit / 300 + 2 * C * np.eye(4)
    np.testing.assert_allclose(start.inverse_hessian(None) @ steepest, np.eye(4), atol=1e-10)


# --- replicates -----------------------------------------------------------------------------------


@pytest.mark.parametrize("with_noise_vector", [False, True])
@pytest.mark.parametrize("loss", [*LOSSES, SmoothWeighted()], ids=repr)
def test_replicates_are_those_of_the_repeated_rows(loss: Loss, with_noise_vector: bool) -> None:
    n = 900
    A = make_rows(1300, seed=5)
    table, counts = Table.of(A, loss=loss, regularization=C), counts_of(1300, n, range(4))
    b = 8.0 * np.random.default_rng(6).normal(size=(4, 4)) if with_noise_vector else None
    fits = fit_replicates(table, counts, n_records=n, noise_vector=b, tolerance=1e-10)
    H, S = replicate_moments(table, counts, fits.theta, n_records=n)
    assert fits.converged.all()
    for k in range(4):
        repeated = A[np.repeat(np.arange(1300), counts[k].astype(int))]
        exact = minimise(
            PenalisedRisk(
                repeated, loss=loss, regularization=C, noise_vector=None if b is None else b[k]
            )
        ).theta
        # Weights in single precision are what a simulation has; 6e-8 of a gradient by 2c.
        np.testing.assert_allclose(fits.theta[k], exact, atol=3e-6)
        expected = PenalisedRisk(repeated, loss=loss, regularization=C).moments(fits.theta[k])
        np.testing.assert_allclose(H[k], expected[0], rtol=0, atol=1e-7)
        np.testing.assert_allclose(S[k], expected[1], rtol=0, atol=1e-7)


def test_replicate_moments_are_those_of_a_slow_loop() -> None:
    A = make_rows(200, seed=7)
    for loss in LOSSES:
        table, counts = Table.of(A, loss=loss, regularization=C), counts_of(200, 150, range(2))
        theta = np.random.default_rng(8).normal(size=(2, 4))
        H, S = replicate_moments(table, counts, theta, n_records=150)
        for k in range(2):
            _, slow_H, slow_S = slow_moments(A, theta[k], loss, C, counts[k].astype(float))
            np.testing.assert_allclose(H[k], slow_H, rtol=0, atol=1e-7)
            np.testing.assert_allclose(S[k], slow_S, rtol=0, atol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_replicate_solved_by_itself_is_the_same(loss: Loss, monkeypatch) -> None:
    A = make_rows(400, seed=9)
    table, counts = Table.of(A, loss=loss, regularization=C), counts_of(400, 400, range(3))
    together = fit_replicates(table, counts, n_records=400)
    monkeypatch.setattr(batched, "_MAX_PASSES", 0)
    alone = fit_replicates(table, counts, n_records=400)
    assert alone.converged.all()
    np.testing.assert_allclose(alone.theta, together.theta, atol=5e-6)
    for k in range(3):
        gradient, _, _ = slow_moments(A, alone.theta[k], loss, C, counts[k].astype(float))
        assert np.linalg.norm(gradient) <= 1.1e-8


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_table_starts_from_its_weighted_fit(loss: Loss) -> None:
    table = Table.of(SMALL, loss=loss, regularization=C)
    gradient, H, _ = slow_moments(SMALL, table.theta_hat, loss, C)
    assert np.linalg.norm(gradient) <= 1.1e-10
    np.testing.assert_allclose(table.inverse_hessian @ H, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(table.gradient, -2 * C * table.theta_hat, atol=1e-9)


# --- moments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_moments_and_drift_are_those_of_a_slow_loop(loss: Loss) -> None:
    n = 300
    fit = fit_moments(SMALL, np.ones(n), loss=loss, regularization=C)
    gradient, H, S = slow_moments(SMALL, fit.theta_hat, loss, C)
    assert np.linalg.norm(gradient) <= 1.1e-10
    np.testing.assert_allclose(fit.hessian, H, rtol=0, atol=1e-12)
    np.testing.assert_allclose(fit.covariance, S, rtol=0, atol=1e-12)
    assert fit.drift is not None
    rng = np.random.default_rng(10)
    for k in (3, 5, 7):
        moved = [
            np.linalg.norm(slow_moments(SMALL, fit.theta_hat + step, loss, C)[1] - H)
            for step in fit.drift.step[k] * rng.standard_normal((60, 4)) / 2.0
        ]
        claimed = fit.drift.output[k] * np.linalg.norm(H)
        assert claimed == pytest.approx(np.mean(moved), rel=0.4)


def test_the_unpenalised_minimiser_is_weighted() -> None:
    theta = unpenalised_minimiser(SMALL, loss=Logistic())
    assert np.linalg.norm(slow_moments(SMALL, theta, Logistic(), 0.0)[0]) <= 1e-6


@pytest.mark.parametrize("p", [2, 5])
def test_a_loss_without_leave_has_no_moments_of_weighted_rows(p: int) -> None:
    A, theta = make_rows(50, p=p), np.zeros(p)
    with pytest.raises(ValueError, match="rows without weights for the loss 'smooth'"):
        PenalisedRisk(A, loss=Smooth(), regularization=C).moments(theta)
    with pytest.raises(ValueError, match="rows without weights for the loss 'smooth'"):
        fit_moments(A, np.ones(50), loss=Smooth(), regularization=C)
    with pytest.raises(ValueError, match="rows without weights for the loss 'smooth'"):
        Table.of(A, loss=Smooth(), regularization=C)
    PenalisedRisk(A.rows / 10.0, loss=Smooth(), regularization=C).moments(theta)


# --- rounding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_computed_gradient_errs_by_no_more_than_the_release_allows(
    loss: Loss, largest: float
) -> None:
    """Rows up to a million long: what their margins lose, their weights make up for."""
    rng = np.random.default_rng(11)
    worst = 0.0
    for _ in range(40):
        n = int(rng.integers(1, 6))
        p = n + int(rng.integers(1, 4))
        rows = rng.normal(size=(n, p))
        rows *= (largest ** rng.uniform(0, 1, n) / np.linalg.norm(rows, axis=1))[:, None]
        A = WeightedRows(rows, np.minimum(1.0, (1 - 1e-12) / (rows**2).sum(axis=1)))
        # As far out as a gradient norm below 1 lets theta be, with margins where slopes change.
        inverse = np.linalg.pinv(rows)
        theta = rng.normal(size=p)
        theta -= inverse @ (rows @ theta)
        theta *= 1.0 / (C * np.linalg.norm(theta))
        theta += inverse @ rng.uniform(0.0, 2.0, n)
        found = PenalisedRisk(A, loss=loss, regularization=C).gradient(theta)
        error = np.linalg.norm(found - exact_gradient(A, theta, loss))
        bound = gradient_rounding(
            n_records=n, dim=p, condition=(loss.max_curvature + 2 * C) / (2 * C), noise_norm=0.0
        )
        worst = max(worst, float(error) / bound)
    assert 0.005 < worst <= 1.0


def exact_gradient(A: WeightedRows, theta: np.ndarray, loss: Loss) -> np.ndarray:
    """In extended precision, by a loop."""
    rows, weights, theta = (v.astype(np.longdouble) for v in (A.rows, A.weights, theta))
    total = np.zeros(len(theta), dtype=np.longdouble)
    for row, w in zip(rows, weights, strict=True):
        z = (row * theta).sum()
        if isinstance(loss, Logistic):
            slope = -1 / (1 + np.exp(min(z, np.longdouble(11_000))))
        else:
            h = np.longdouble(loss.h)  # type: ignore[attr-defined]
            s = min(np.longdouble(1), max(np.longdouble(0), (1 + h - z) / (2 * h)))
            slope = -s * s * (3 - 2 * s) if isinstance(loss, SmoothedHinge) else -s
        total = total + w * slope * row
    return total / len(rows) + 2 * np.longdouble(C) * theta


# --- the target -----------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [0.0, 0.02])
def test_the_bias_of_weights_is_the_formula(c: float) -> None:
    """theta_w - theta* = Hbar^-1 mean (1 - w) f' u, on a table where the model is wrong."""
    loss = Logistic()
    rows, w = SMALL.rows, SMALL.weights
    if c:
        found = [
            minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta
            for A in (rows / 1.0, SMALL)
        ]
    else:
        found = [unpenalised_minimiser(A, loss=loss) for A in (rows, SMALL)]
    plain_theta, weighted_theta = found
    nodes, parts = np.polynomial.legendre.leggauss(20)
    mean = np.zeros((4, 4))
    for s, part in zip((nodes + 1.0) / 2.0, parts / 2.0, strict=True):
        at = plain_theta + s * (weighted_theta - plain_theta)
        mean += part * slow_moments(SMALL, at, loss, c)[1]
    missing = ((1.0 - w) * loss.slope(rows @ plain_theta)) @ rows / len(rows)
    bias = np.linalg.solve(mean, missing)
    assert np.linalg.norm(bias) > 0.05
    np.testing.assert_allclose(weighted_theta - plain_theta, bias, atol=2e-6)


def test_weights_leave_the_coefficient_of_a_right_model_where_it_is() -> None:
    """Every row with both labels, in the shares of the model: exact expectations, by repetition."""
    X = np.abs(SMALL.rows[:60]) * np.sign(np.random.default_rng(12).normal(size=(60, 4)))
    theta = np.array([0.6, -0.9, 0.4, 0.8])
    chance = expit(X @ theta)
    pairs = WeightedRows(np.vstack([X, -X]), np.tile(1.0 / np.maximum(1.0, (X**2).sum(axis=1)), 2))
    times = np.concatenate([chance, 1.0 - chance])
    right = WeightedRows(pairs.rows, pairs.weights * times)
    plain_rows = WeightedRows(pairs.rows, times)  # shares as weights: what a sum sees of them
    for A in (right, plain_rows):
        np.testing.assert_allclose(unpenalised_minimiser(A, loss=Logistic()), theta, atol=1e-5)
    wrong = WeightedRows(pairs.rows, pairs.weights * np.concatenate([chance, 1.0 - chance**2]))
    assert np.linalg.norm(unpenalised_minimiser(wrong, loss=Logistic()) - theta) > 0.1
