"""Half way to the coefficients without penalty: what a Newton step from there leaves, on exact
expectations written out here.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from dpci_core import Design, HuberSVM, Logistic, PureDP, fit_moments
from dpci_core.solvers.one_step import floor_of, has_one_step_point, one_step_point

Array = np.ndarray

TRUTH = np.array([1.6, -1.1, 0.7])


def cells() -> tuple[Array, Array]:
    """Rows (m, 3) of a population, and the share of each: two features on a lopsided grid."""
    first, second = np.meshgrid(np.linspace(-1.0, 1.5, 6), np.linspace(-0.5, 1.0, 5))
    X = np.c_[first.ravel(), second.ravel(), np.ones(first.size)]
    X /= np.linalg.norm(X, axis=1).max()
    share = np.arange(1.0, len(X) + 1.0)
    return X, share / share.sum()


def exact(theta: Array) -> tuple[Array, Array, Array]:
    """Gradient, Hessian and covariance of the gradients, none with a penalty, in expectation."""
    X, share = cells()
    chance, fitted = expit(X @ TRUTH), expit(X @ theta)
    gradient = (share * (fitted - chance)) @ X
    K = (X.T * (share * fitted * (1.0 - fitted))) @ X
    squared = chance * (1.0 - fitted) ** 2 + (1.0 - chance) * fitted**2
    return gradient, K, (X.T * (share * squared)) @ X - np.outer(gradient, gradient)


def penalised(c: float) -> Array:
    """The minimiser with this penalty, by Newton's method."""
    theta = TRUTH
    for _ in range(40):
        gradient, K, _ = exact(theta)
        theta = theta - np.linalg.solve(K + 2.0 * c * np.eye(3), gradient + 2.0 * c * theta)
    return theta


def left(c: float, *, is_half: bool) -> float:
    """Distance from the truth after the step."""
    theta = penalised(c)
    at = theta
    if is_half:
        at = one_step_point(theta, exact(theta)[2], regularization=c, matrix_sd=0.0)
    return float(np.linalg.norm(theta + 2.0 * c * np.linalg.solve(exact(at)[1], theta) - TRUTH))


C = 2.0 ** -np.arange(12.0, 17.0)


def test_what_is_left_is_of_third_order() -> None:
    """A penalty of half the size leaves an eighth; a quarter with the Hessian at the penalised
    minimiser, which also leaves more to begin with.
    """
    half, whole = (np.array([left(c, is_half=is_half) for c in C]) for is_half in (True, False))
    np.testing.assert_allclose(half[1:] / half[:-1], 1.0 / 8.0, rtol=0.12)
    np.testing.assert_allclose(whole[1:] / whole[:-1], 1.0 / 4.0, rtol=0.12)
    assert np.all(half < 0.25 * whole)


def test_it_is_half_the_way() -> None:
    """To second order in the penalty: of the way itself only a share that vanishes with it."""
    gaps = []
    for c in C:
        theta = penalised(c)
        at = one_step_point(theta, exact(theta)[2], regularization=c, matrix_sd=0.0)
        middle = (theta + TRUTH) / 2.0
        gaps.append(np.linalg.norm(at - middle) / np.linalg.norm(TRUTH - theta))
    assert gaps[-1] < 0.02
    np.testing.assert_allclose(np.array(gaps[1:]) / gaps[:-1], 0.5, rtol=0.15)


def test_moments_have_the_hessian_there() -> None:
    """fit_moments of rows that are drawn: the Hessian at the point written out here."""
    rng = np.random.default_rng(1)
    X = cells()[0][rng.choice(30, 3000, p=cells()[1])]
    y = np.where(rng.random(3000) < expit(X @ TRUTH), 1.0, -1.0)
    c = 0.002
    found = fit_moments(X, y, loss=Logistic(), regularization=c, target="unpenalised")
    theta, gradients = found.theta_hat, (-y * expit(-y * (X @ found.theta_hat)))[:, None] * X
    S = np.cov(gradients.T, bias=True)
    at = theta + c * np.linalg.solve(S, theta)
    chance = expit(X @ at)
    H = (X.T * (chance * (1.0 - chance))) @ X / 3000 + 2.0 * c * np.eye(3)
    assert found.unpenalised_fit is not None
    np.testing.assert_allclose(found.unpenalised_fit.one_step_point, H, rtol=1e-8)
    step = theta + 2.0 * c * np.linalg.solve(H - 2.0 * c * np.eye(3), theta)
    plain = theta + 2.0 * c * np.linalg.solve(found.hessian - 2.0 * c * np.eye(3), theta)
    goal = found.unpenalised_fit.theta
    assert np.linalg.norm(step - goal) < 0.25 * np.linalg.norm(plain - goal)


# --- the floor ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("c", "sd", "p", "expected"),
    [(0.01, 0.0, 3, 0.02), (0.01, 0.001, 2, 0.02), (0.01, 0.5, 2, 1.0), (1e-6, 0.5, 8, 2.0)],
)
def test_the_floor(c: float, sd: float, p: int, expected: float) -> None:
    """2c, or twice sd sqrt(p/2), whichever is larger."""
    assert float(floor_of(c, sd, p)) == pytest.approx(expected, rel=1e-15)
    assert floor_of(c, np.array([0.0, sd]), p).tolist() == pytest.approx([2.0 * c, expected])


@pytest.mark.parametrize("flat", [-0.3, 0.0, 0.009])
def test_a_flat_direction_counts_as_the_floor(flat: float) -> None:
    """Along it the move is c/floor of theta, at most half; along the other it is c over its own."""
    c, theta = 0.005, np.array([2.0, -3.0])
    S = np.diag([flat, 0.4])
    at = one_step_point(theta, S, regularization=c, matrix_sd=0.0)
    np.testing.assert_allclose(at - theta, [0.5 * 2.0, -c / 0.4 * 3.0], rtol=1e-12)
    at = one_step_point(theta, S, regularization=c, matrix_sd=0.3)
    np.testing.assert_allclose(at - theta, c / 0.6 * theta, rtol=1e-12)


# --- stacks and turns -----------------------------------------------------------------------------


def stack(size: tuple[int, ...] = (4, 2)) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(2)
    S = rng.normal(size=(*size, 3, 3)) * 0.1 + 0.1 * np.eye(3)
    return (
        rng.normal(size=(*size, 3)),
        (S + np.swapaxes(S, -1, -2)) / 2.0,
        rng.random(size) * 0.05,
    )


def test_a_stack_equals_its_members() -> None:
    theta, S, sd = stack()
    found = one_step_point(theta, S, regularization=0.01, matrix_sd=sd)
    assert found.shape == theta.shape
    for place in np.ndindex(4, 2):
        one = one_step_point(
            theta[place], S[place], regularization=0.01, matrix_sd=float(sd[place])
        )
        np.testing.assert_allclose(found[place], one, rtol=1e-12)


def test_it_turns_with_the_coordinates() -> None:
    theta, S, sd = stack()
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    given = {"regularization": 0.01, "matrix_sd": sd}
    found = one_step_point(theta @ turn.T, turn @ S @ turn.T, **given)
    np.testing.assert_allclose(
        found, one_step_point(theta, S, **given) @ turn.T, rtol=1e-9, atol=1e-12
    )


def test_where_it_is_used() -> None:
    """Without penalty, and only where the loss is the negative log likelihood of a model."""
    design = {
        "mechanism": "output",
        "budget": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        "regularization": 0.01,
        "n_records": 100,
    }
    assert has_one_step_point(Design(loss=Logistic(), target="unpenalised", **design))
    assert not has_one_step_point(Design(loss=Logistic(), **design))
    assert not has_one_step_point(Design(loss=HuberSVM(h=0.5), target="unpenalised", **design))
