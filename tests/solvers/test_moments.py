"""Moments with and without a penalty against SciPy, for plain rows and rows with weights."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from dpci_core import Design, HuberSVM, Logistic, PureDP, fit_moments, forecast
from dpci_core.base.rows import WeightedRows
from dpci_core.solvers.moments import _size_of_sum, unweighted_minimiser

Array = np.ndarray

C = 0.0002


def table(n: int = 600) -> tuple[Array, Array]:
    """Rows, some of them long, and labels of a model that is not the one that is fitted."""
    rng = np.random.default_rng(4)
    X = np.c_[rng.standard_t(4, size=(n, 2)), np.ones(n)] / 2.5
    odds = 1.5 * X[:, 0] - np.tanh(2.0 * X[:, 1]) + 0.3
    return X, np.where(rng.random(n) < expit(odds), 1.0, -1.0)


def weights(X: Array) -> Array:
    return np.minimum(1.0, (1.0 - 1e-12) / np.einsum("ij,ij->i", X, X))


def rows_of(kind: str) -> tuple[Array | WeightedRows, Array, Array, Array]:
    """What is fitted, with its rows, weights and labels."""
    X, y = table()
    if kind == "weighted":
        return WeightedRows(X, weights(X)), X, weights(X), y
    X = X / np.linalg.norm(X, axis=1).max()
    return X, X, np.ones(len(X)), y


def minimiser(X: Array, w: Array, y: Array, c: float) -> Array:
    """Of mean w log(1 + exp(-y x.theta)) + c |theta|^2, by SciPy."""

    def value(theta: Array) -> tuple[float, Array]:
        margin = y * (X @ theta)
        gradient = -((w * y * expit(-margin)) @ X) / len(y) + 2.0 * c * theta
        return float(np.mean(w * np.logaddexp(0.0, -margin)) + c * theta @ theta), gradient

    return minimize(value, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-11}).x


def slow_moments(X: Array, w: Array, y: Array, theta: Array, c: float) -> tuple[Array, Array]:
    """Hessian and covariance of the gradients, record by record."""
    H, S = 2.0 * c * np.eye(3), -4.0 * c**2 * np.outer(theta, theta)
    for x, weight, label in zip(X, w, y, strict=True):
        chance = expit(-label * (x @ theta))
        H += weight * chance * (1.0 - chance) * np.outer(x, x) / len(y)
        S += weight**2 * chance**2 * np.outer(x, x) / len(y)
    return H, S


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_both_fits_against_scipy(kind: str) -> None:
    rows, X, w, y = rows_of(kind)
    found = fit_moments(rows, y, loss=Logistic(), regularization=C, target="unpenalised")
    truth = found.unpenalised_fit
    assert truth is not None
    theta, star = minimiser(X, w, y, C), minimiser(X, w, y, 0.0)
    meant = minimiser(X, np.ones(len(y)), y, 0.0)
    np.testing.assert_allclose(found.theta_hat, theta, atol=1e-6)
    np.testing.assert_allclose(truth.theta, star, rtol=1e-5)
    np.testing.assert_allclose(truth.unweighted, meant, rtol=1e-5)
    H, S = slow_moments(X, w, y, theta, C)
    np.testing.assert_allclose(found.hessian, H, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(found.covariance, S, rtol=1e-5, atol=1e-9)
    K, at_star = slow_moments(X, w, y, star, 0.0)
    np.testing.assert_allclose(truth.hessian, K, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(truth.covariance, at_star, rtol=1e-5, atol=1e-9)
    between, _ = slow_moments(X, w, y, theta + C * np.linalg.solve(S, theta), C)
    np.testing.assert_allclose(truth.one_step_point, between, rtol=1e-5, atol=1e-9)
    if kind == "weighted":
        assert np.linalg.norm(meant - star) > 0.02, "or weights would not be seen"
    else:
        np.testing.assert_allclose(truth.unweighted, truth.theta, atol=1e-8)


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_the_variance_that_a_fit_hides_record_by_record(kind: str) -> None:
    """A large penalty, or the mean of the gradients, -2 c theta, would not be seen."""
    rows, X, w, y = rows_of(kind)
    c = 0.05
    found = fit_moments(rows, y, loss=Logistic(), regularization=c)
    theta = minimiser(X, w, y, c)
    H, _ = slow_moments(X, w, y, theta, c)
    leverage_correction = np.zeros((3, 3))
    for x, weight, label in zip(X, w, y, strict=True):
        chance = expit(-label * (x @ theta))
        off = -weight * chance * label * x + 2.0 * c * theta
        leverage = weight * chance * (1.0 - chance) * (x @ np.linalg.solve(H, x))
        leverage_correction += leverage * np.outer(off, off) / len(y)
    np.testing.assert_allclose(found.leverage_correction, leverage_correction, rtol=1e-5, atol=1e-9)


def test_the_unpenalised_target_has_every_row_in_full() -> None:
    rows, X, _, y = rows_of("weighted")
    assert isinstance(rows, WeightedRows)
    signed = WeightedRows(y[:, None] * X, rows.weights)
    found = unweighted_minimiser(signed, loss=Logistic())
    np.testing.assert_allclose(found, minimiser(X, np.ones(len(y)), y, 0.0), rtol=1e-5)
    np.testing.assert_array_equal(found, unweighted_minimiser(signed.rows, loss=Logistic()))


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.5)], ids=lambda loss: loss.name)
def test_a_target_moves_nothing_else(kind: str, loss: Logistic | HuberSVM) -> None:
    """The penalised fit and its moments are the same to the last bit."""
    rows, _, _, y = rows_of(kind)
    one, other = (
        fit_moments(rows, y, loss=loss, regularization=C, target=target)
        for target in ("penalised", "unpenalised")
    )
    for name in ("theta_hat", "hessian", "covariance"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert one.leverage_correction == pytest.approx(other.leverage_correction, rel=1e-6)
    assert one.drift is not None
    assert other.drift is not None
    for field in dataclasses.fields(one.drift):
        mine, theirs = (getattr(found.drift, field.name) for found in (one, other))
        np.testing.assert_array_equal(mine, theirs, err_msg=field.name)
    assert one.unpenalised_fit is None
    assert not one.is_separable
    assert other.unpenalised_fit is not None
    assert not other.is_separable


def test_a_rare_level_that_is_in_both_classes_has_a_coefficient() -> None:
    """One record of four, whether rows are long or short."""
    X, y = table()
    X = np.c_[np.tanh(X[:, 0]), np.arange(len(X)) < 4, np.ones(len(X))] / 2.0
    y = np.where(X[:, 1] > 0.0, 1.0, y)
    y[0] = -1.0
    for scale in (1.0, 0.1):
        found = fit_moments(
            scale * X, y, loss=Logistic(), regularization=1e-4, target="unpenalised"
        )
        assert found.unpenalised_fit is not None
        np.testing.assert_allclose(
            scale * found.unpenalised_fit.theta, minimiser(X, np.ones(len(y)), y, 0.0), rtol=0.01
        )


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("how", ["just", "by a gap", "one class", "a rare level"])
def test_classes_that_can_be_separated(kind: str, how: str) -> None:
    """There is no coefficient without penalty: no exception, and everything is out of reach, also
    where a fit that nearly has none stops early, or only a few records of one level are alike.
    """
    rows, X, w, y = rows_of(kind)
    if how == "a rare level":
        X = X.copy()
        X[:, 1] = np.arange(len(X)) < 4
        X *= 0.7 / np.linalg.norm(X, axis=1).max()
        y = np.where(X[:, 1] > 0.0, 1.0, y)
    elif how == "one class":
        y = np.ones(len(X))
    else:
        y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
        keep = np.abs(X[:, 0]) > (0.05 if how == "by a gap" else 0.0)
        X, w, y = X[keep], w[keep], y[keep]
    rows = WeightedRows(X, w) if kind == "weighted" else X
    found = fit_moments(rows, y, loss=Logistic(), regularization=C, target="unpenalised")
    assert found.is_separable
    assert found.unpenalised_fit is None
    assert not fit_moments(rows, y, loss=Logistic(), regularization=C).is_separable
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=PureDP(model=50, hessian=25, covariance=25),
        regularization=C,
        n_records=10**6,
        target="unpenalised",
        calibration="published",
    )
    expected = forecast(found, design=design)
    assert expected.is_not_reportable.all()
    penalised = dataclasses.replace(design, target="penalised")
    assert not forecast(found, design=penalised).is_not_reportable.any()


@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.5)], ids=lambda loss: loss.name)
def test_a_level_for_every_record_leaves_the_other_columns_alone(loss: Logistic | HuberSVM) -> None:
    """Two levels and the constant say the same thing thrice: nothing tells their coefficients
    apart, which are out of reach; the number beside them is forecast as with one level.
    """
    X, y = table()
    level = (np.arange(len(X)) % 3 == 0).astype(float)
    both = np.c_[np.tanh(X[:, 0]), level, 1.0 - level, np.ones(len(X))] / 2.0
    design = Design(
        loss=loss,
        mechanism="objective",
        budget=PureDP(model=50, hessian=25, covariance=25),
        regularization=5e-5,
        n_records=5_000,
        target="unpenalised",
        calibration="published",
    )
    found, one = (
        forecast(
            fit_moments(rows, y, loss=loss, regularization=5e-5, target="unpenalised"),
            design=design,
        )
        for rows in (both, both[:, [0, 1, 3]])
    )
    assert found.is_not_reportable.tolist() == [False, True, True, True]
    assert not one.is_not_reportable.any()
    assert np.isfinite(found.ci_length).all()
    for name in ("ci_length", "vi_length", "coverage"):
        np.testing.assert_allclose(
            getattr(found, name)[0], getattr(one, name)[0], rtol=0.03, err_msg=name
        )


def test_the_standard_error_of_what_weights_move() -> None:
    """Against the spread of the difference of both fits over many tables of a right model."""
    rng = np.random.default_rng(12)
    found, expected = [], []
    for _ in range(150):
        X = np.c_[rng.standard_normal((1_000, 2)), np.ones(1_000)] / 1.5
        y = np.where(rng.random(1_000) < expit(X @ np.array([1.0, -0.5, 0.3])), 1.0, -1.0)
        weights = np.minimum(1.0, (1.0 - 1e-12) / np.einsum("ij,ij->i", X, X))
        fit = fit_moments(
            WeightedRows(X, weights), y, loss=Logistic(), regularization=1e-3, target="unpenalised"
        )
        assert fit.unpenalised_fit is not None
        found.append(fit.unpenalised_fit.unweighted - fit.unpenalised_fit.theta)
        expected.append(fit.unpenalised_fit.unweighted_se)
    spread, se = np.std(found, axis=0), np.mean(expected, axis=0)
    np.testing.assert_allclose(se, spread, rtol=0.2)
    plain = fit_moments(
        X / 10.0, y, loss=Logistic(), regularization=1e-3, target="unpenalised"
    ).unpenalised_fit
    assert plain is not None
    np.testing.assert_array_equal(plain.unweighted_se, np.zeros(3))


@pytest.mark.parametrize("p", [2, 12])
def test_the_size_of_a_weighted_sum_of_squares_of_rows(p):
    """By the entries where they are few, else by the Gram matrix."""
    rng = np.random.default_rng(0)
    rows, weights = rng.standard_normal((30, p)), rng.standard_normal((30, 4))
    sums = np.einsum("nk,ni,nj->kij", weights, rows, rows)
    found = _size_of_sum(rows)(weights)
    np.testing.assert_allclose(found, np.linalg.norm(sums, axis=(1, 2)), rtol=1e-12)
