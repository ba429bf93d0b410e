"""The solver and the moments: certified by gradients recomputed here, and against independent
packages.
"""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

from dpci_core.base import batches
from dpci_core.base.errors import ConvergenceError
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge
from dpci_core.solvers.moments import fit_moments
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.refusals import refuses

LOSSES: tuple[Loss, ...] = (Logistic(), HuberSVM(h=0.5), SmoothedHinge(h=0.5))


def table(n: int, d: int, seed: int, *, signal: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of norm at most 1 with the constant last, labels of both classes."""
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-1, 1, (n, d)) / np.sqrt(2 * d), np.full(n, np.sqrt(0.5))]
    chance = 1 / (1 + np.exp(-signal * np.sqrt(d) * X[:, 0]))
    return X, np.where(rng.random(n) < chance, 1.0, -1.0)


def margins_matrix(n: int, d: int, seed: int) -> np.ndarray:
    X, y = table(n, d, seed)
    return y[:, None] * X


def gradient_by_loops(
    A: np.ndarray, theta: np.ndarray, loss: Loss, c: float, noise_vector: np.ndarray
) -> np.ndarray:
    """Written from the definition of J, in extended precision, sharing nothing with the solver but
    f'.
    """
    A, theta = A.astype(np.longdouble), theta.astype(np.longdouble)
    z = A @ theta
    total = noise_vector.astype(np.longdouble)
    for i in range(len(A)):
        if isinstance(loss, Logistic):
            slope = -1 / (1 + np.exp(z[i]))
        else:
            h = loss.h  # type: ignore[attr-defined]
            slope = -min(1.0, max(0.0, (1 + h - z[i]) / (2 * h)))
            if isinstance(loss, SmoothedHinge) and abs(1 - z[i]) < h:
                slope = (1 - z[i]) ** 3 / (4 * h**3) - 3 * (1 - z[i]) / (4 * h) - 1 / 2
        total = total + slope * A[i]
    return total / len(A) + 2 * c * theta


def assert_exact(
    A: np.ndarray, theta: np.ndarray, loss: Loss, c: float, noise_vector: np.ndarray | None = None
) -> None:
    gradient = gradient_by_loops(
        A, theta, loss, c, np.zeros(A.shape[1]) if noise_vector is None else noise_vector
    )
    assert np.linalg.norm(gradient) <= 1.001e-10


# --- objective and derivatives --------------------------------------------------------------------


def test_objective_by_hand() -> None:
    A = np.array([[0.6, 0.0], [0.0, -0.8]])
    theta = np.array([1.0, 2.0])
    noise_vector = np.array([3.0, -1.0])
    logistic = (np.log1p(np.exp(-0.6)) + np.log1p(np.exp(1.6))) / 2 + 0.01 * 5 + (3 - 2) / 2
    assert PenalisedRisk(A, loss=Logistic(), regularization=0.01, noise_vector=noise_vector).value(
        theta
    ) == pytest.approx(logistic, rel=1e-14)
    huber = ((1.5 - 0.6) ** 2 / 2 + 2.6) / 2 + 0.01 * 5
    assert PenalisedRisk(A, loss=HuberSVM(h=0.5), regularization=0.01).value(
        theta
    ) == pytest.approx(huber, rel=1e-14)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_derivatives_match_finite_differences(loss: Loss) -> None:
    A = margins_matrix(300, 3, 1)
    rng = np.random.default_rng(2)
    theta, noise_vector, c, step = rng.normal(size=4), rng.normal(size=4) * 5, 0.03, 1e-5

    def at(point: np.ndarray) -> float:
        return PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector).value(point)

    gradient, hessian = PenalisedRisk(
        A, loss=loss, regularization=c, noise_vector=noise_vector
    ).derivatives(theta)
    for j, e in enumerate(np.eye(4) * step):
        assert (at(theta + e) - at(theta - e)) / (2 * step) == pytest.approx(gradient[j], abs=2e-9)
        if isinstance(
            loss, Logistic
        ):  # the Huber gradient has kinks, so its differences are only directional
            ahead = PenalisedRisk(
                A, loss=loss, regularization=c, noise_vector=noise_vector
            ).derivatives(theta + e)[0]
            behind = PenalisedRisk(
                A, loss=loss, regularization=c, noise_vector=noise_vector
            ).derivatives(theta - e)[0]
            assert (ahead - behind) / (2 * step) == pytest.approx(hessian[:, j], abs=1e-9)


def test_gradient_leaves_its_arguments_alone() -> None:
    A = margins_matrix(50, 2, 3)
    theta, noise_vector = np.ones(3), np.ones(3)
    Newton().minimise(
        PenalisedRisk(A, loss=Logistic(), regularization=0.01, noise_vector=noise_vector), theta
    )
    assert np.all(theta == 1)
    assert np.all(noise_vector == 1)


# --- exactness ------------------------------------------------------------------------------------


def collinear() -> np.ndarray:
    """All levels of a category beside the constant: the columns add up to the constant column."""
    rng = np.random.default_rng(4)
    X = np.c_[np.eye(4)[rng.integers(0, 4, 400)], np.ones(400)] / np.sqrt(2)
    return np.where(rng.random(400) < 0.6, 1.0, -1.0)[:, None] * X


def separable() -> np.ndarray:
    X, _ = table(400, 3, 5)
    return np.where(X[:, 0] > 0, 1.0, -1.0)[:, None] * X


def one_class() -> np.ndarray:
    return table(300, 2, 6)[0]


HARD = {"collinear": collinear, "separable": separable, "one class": one_class}


@pytest.mark.parametrize("shape", HARD)
@pytest.mark.parametrize("c", [1.0, 1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_minimiser_is_exact_on_hard_tables(shape: str, c: float, loss: Loss) -> None:
    A = HARD[shape]()
    fit = Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c))
    assert fit.gradient_norm <= 1e-10
    assert_exact(A, fit.theta, loss, c)


@pytest.mark.parametrize("h", [0.001, 0.01, 0.1, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("c", [1e-1, 1e-3, 1e-6])
def test_every_huber_width_is_solved(h: float, c: float) -> None:
    A = margins_matrix(400, 4, 7)
    loss = HuberSVM(h=h)
    assert_exact(A, Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta, loss, c)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("size", [0.1, 10.0, 300.0])
def test_perturbed_objective_is_solved_exactly(loss: Loss, size: float) -> None:
    A = margins_matrix(250, 3, 8)
    noise_vector = np.random.default_rng(9).normal(size=4) * size
    fit = Newton().minimise(
        PenalisedRisk(A, loss=loss, regularization=1e-3, noise_vector=noise_vector)
    )
    assert_exact(A, fit.theta, loss, 1e-3, noise_vector)
    assert (
        np.linalg.norm(
            fit.theta - Newton().minimise(PenalisedRisk(A, loss=loss, regularization=1e-3)).theta
        )
        > 1e-3
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_one_record(loss: Loss) -> None:
    A = np.array([[0.6, 0.8]])
    fit = Newton().minimise(PenalisedRisk(A, loss=loss, regularization=0.1))
    assert_exact(A, fit.theta, loss, 0.1)
    assert fit.theta[0] / fit.theta[1] == pytest.approx(0.75, rel=1e-8)


def test_huber_minimiser_by_hand() -> None:
    # One record of norm 1 and f' = -1 there: 2c theta = 1, and z = 1/(2c) = 0.4 lies left of 1 - h.
    fit = Newton().minimise(
        PenalisedRisk(np.array([[1.0]]), loss=HuberSVM(h=0.5), regularization=1.25)
    )
    assert fit.theta == pytest.approx([0.4], abs=1e-10)
    # With the noise vector b/n, n = 2: -1 + b/2 + 2c theta = 0.
    fit = Newton().minimise(
        PenalisedRisk(
            np.ones((2, 1)), loss=HuberSVM(h=0.5), regularization=1.25, noise_vector=np.array([0.5])
        )
    )
    assert fit.theta == pytest.approx([0.3], abs=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_start_does_not_matter(loss: Loss) -> None:
    A = margins_matrix(300, 3, 10)
    c = 1e-3
    reference = Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta
    rng = np.random.default_rng(11)
    for scale in (1.0, 30.0, 1e3):
        other = Newton().minimise(
            PenalisedRisk(A, loss=loss, regularization=c), rng.normal(size=4) * scale
        )
        assert other.theta == pytest.approx(
            reference, abs=1e-10 / c
        )  # two certified points: 2 * tol / (2c)
    again = Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c), reference)
    assert again.n_iterations == 0
    assert np.array_equal(again.theta, reference)


def test_fit_reports_what_certifies_it() -> None:
    A = margins_matrix(300, 3, 12)
    fit = Newton().minimise(PenalisedRisk(A, loss=Logistic(), regularization=0.01))
    gradient = PenalisedRisk(A, loss=Logistic(), regularization=0.01).gradient(fit.theta)
    assert fit.gradient_norm == pytest.approx(np.linalg.norm(gradient))
    assert 1 <= fit.n_iterations <= 12
    loose = Newton(1e-3).minimise(PenalisedRisk(A, loss=Logistic(), regularization=0.01))
    assert 1e-10 < loose.gradient_norm <= 1e-3


@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.05)], ids=repr)
def test_convergence_error_names_a_remedy(loss: Loss) -> None:
    A = margins_matrix(300, 3, 13)
    with refuses(ConvergenceError, match=r"after 1 Newton steps.*Raise the regularization c"):
        Newton(max_iterations=1).minimise(PenalisedRisk(A, loss=loss, regularization=1e-4))


@pytest.mark.parametrize(
    "bad", [{"regularization": 0.0}, {"regularization": -1.0}, {"tolerance": 0.0}]
)
def test_bad_numbers_are_named(bad: dict[str, float]) -> None:
    risk = PenalisedRisk(np.ones((1, 1)), Logistic(), bad.get("regularization", 0.1))
    with pytest.raises(ValueError, match=f"Expected {next(iter(bad))}="):
        Newton(bad.get("tolerance", 1e-10)).minimise(risk)


# --- other packages -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "c"), [(500, 3, 1e-2), (2000, 8, 1e-3), (300, 2, 1e-4)])
def test_equals_scikit_learn(n: int, d: int, c: float) -> None:
    X, y = table(n, d, 14)
    # scikit-learn: C sum f + |theta|^2/2, so C = 1/(2nc).
    other = LogisticRegression(
        C=1 / (2 * n * c), fit_intercept=False, tol=1e-12, max_iter=10_000
    ).fit(X, y)
    ours = Newton().minimise(PenalisedRisk(y[:, None] * X, loss=Logistic(), regularization=c)).theta
    assert ours == pytest.approx(other.coef_[0], abs=1e-6)


def test_equals_statsmodels_without_penalty() -> None:
    X, y = table(3000, 3, 15, signal=1.0)
    result = sm.Logit((y > 0).astype(float), X).fit(disp=0, tol=1e-14)
    moments = fit_moments(X, y, loss=Logistic(), regularization=1e-10)
    assert moments.theta_hat == pytest.approx(result.params, abs=1e-6)
    information = np.linalg.inv(np.asarray(result.cov_params())) / len(X)
    assert moments.hessian == pytest.approx(information, abs=1e-6)
    # sum of score outer products: the meat of a sandwich estimator.
    scores = result.model.score_obs(result.params)
    assert moments.covariance == pytest.approx(scores.T @ scores / len(X), abs=1e-6)


# --- moments --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_moments_against_plain_loops(loss: Loss) -> None:
    A = margins_matrix(37, 2, 16)
    theta, c = np.array([1.0, -2.0, 0.5]), 0.05
    H, S = PenalisedRisk(A, loss=loss, regularization=c).moments(theta)
    expected_H, expected_S = np.zeros((3, 3)), np.zeros((3, 3))
    for a in A:
        z = np.array([sum(a[j] * theta[j] for j in range(3))])
        for j in range(3):
            for k in range(3):
                expected_H[j, k] += loss.curvature(z)[0] * a[j] * a[k] / 37
                expected_S[j, k] += loss.slope(z)[0] ** 2 * a[j] * a[k] / 37
    for j in range(3):
        expected_H[j, j] += 0.1  # 2c
        for k in range(3):
            expected_S[j, k] -= 0.01 * theta[j] * theta[k]  # 4c^2
    np.testing.assert_allclose(H, expected_H, rtol=0, atol=1e-14)
    np.testing.assert_allclose(S, expected_S, rtol=0, atol=1e-14)
    solver_hessian = PenalisedRisk(A, loss=loss, regularization=c).derivatives(theta)[1]
    np.testing.assert_allclose(H, solver_hessian, rtol=0, atol=1e-15)


def test_moments_where_no_record_counts() -> None:
    # All margins right of 1 + h: only the penalty terms remain.
    A, theta = np.full((4, 2), 0.7), np.array([10.0, 10.0])
    H, S = PenalisedRisk(A, loss=HuberSVM(h=0.5), regularization=0.25).moments(theta)
    assert np.array_equal(H, 0.5 * np.eye(2))
    assert np.array_equal(S, -0.25 * np.full((2, 2), 100.0))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_covariance_at_the_minimiser_is_the_gradient_covariance(loss: Loss) -> None:
    A, c = margins_matrix(200, 3, 17), 0.02
    theta = Newton().minimise(PenalisedRisk(A, loss=loss, regularization=c)).theta
    gradients = loss.slope(A @ theta)[:, None] * A + 2 * c * theta
    assert PenalisedRisk(A, loss=loss, regularization=c).moments(theta)[1] == pytest.approx(
        gradients.T @ gradients / len(A), abs=1e-9
    )


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_chunks_do_not_matter(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    A, c = margins_matrix(203, 3, 18), 0.01
    noise_vector = np.arange(4.0)
    whole = (
        Newton()
        .minimise(PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector))
        .theta
    )
    whole_moments = PenalisedRisk(A, loss=loss, regularization=c).moments(whole)
    value = PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector).value(whole)
    for rows in (1, 10, 203):
        monkeypatch.setattr(batches, "CHUNK_ROWS", rows)
        assert Newton().minimise(
            PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector)
        ).theta == pytest.approx(whole, abs=1e-8)
        chunked = PenalisedRisk(A, loss=loss, regularization=c).moments(whole)
        np.testing.assert_allclose(chunked, whole_moments, rtol=0, atol=1e-13)
        assert PenalisedRisk(A, loss=loss, regularization=c, noise_vector=noise_vector).value(
            whole
        ) == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fit_moments(loss: Loss) -> None:
    X, y = table(9000, 3, 19)  # more than one chunk
    c = 0.01
    moments = fit_moments(X, y, loss=loss, regularization=c)
    A = y[:, None] * X
    assert_exact(
        A[:50], Newton().minimise(PenalisedRisk(A[:50], loss=loss, regularization=c)).theta, loss, c
    )
    assert (
        np.linalg.norm(
            PenalisedRisk(A, loss=loss, regularization=c).derivatives(moments.theta_hat)[0]
        )
        <= 1e-10
    )
    H, S = PenalisedRisk(A, loss=loss, regularization=c).moments(moments.theta_hat)
    assert np.array_equal(moments.hessian, H)
    assert np.array_equal(moments.covariance, S)
    assert (moments.n_records, moments.loss, moments.regularization) == (9000, loss, c)
    started = fit_moments(X, y, loss=loss, regularization=c, start=moments.theta_hat)
    assert np.array_equal(started.theta_hat, moments.theta_hat)


def test_hessian_drift_grows_from_nothing() -> None:
    X, y = table(2000, 3, 20)
    drift = fit_moments(X, y, loss=Logistic(), regularization=0.01).drift
    for series in (drift.output, drift.objective):
        assert series.shape == drift.step.shape
        assert series[0] < 0.01
        assert np.all(np.diff(series) > 0)


def test_hessian_drift_against_plain_recomputation() -> None:
    X, y = table(400, 2, 21)
    loss, c = Logistic(), 0.01
    moments = fit_moments(X, y, loss=loss, regularization=c)
    A = y[:, None] * X
    rng = np.random.default_rng(22)
    for step, claimed in zip(moments.drift.step[2:7:2], moments.drift.output[2:7:2], strict=True):
        moved = [
            np.linalg.norm(
                PenalisedRisk(A, loss=loss, regularization=c).moments(
                    moments.theta_hat + step * z / np.sqrt(3)
                )[0]
                - moments.hessian
            )
            for z in rng.standard_normal((400, 3))
        ]
        assert claimed == pytest.approx(np.mean(moved) / np.linalg.norm(moments.hessian), rel=0.35)
