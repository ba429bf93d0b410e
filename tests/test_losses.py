"""Losses against hand values, finite differences and the bounds the privacy proofs use."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpci_core.base.errors import ConvergenceError
from dpci_core.losses import HuberSVM, Logistic, Loss, SmoothedHinge, make_loss
from dpci_core.solvers.moments import unpenalised_minimiser
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.one_step import one_step_point
from dpci_core.solvers.risk import PenalisedRisk

WIDTHS = (0.001, 0.1, 0.5, 1.0, 10.0)
LOSSES: tuple[Loss, ...] = (
    Logistic(),
    *(kind(h=h) for kind in (HuberSVM, SmoothedHinge) for h in WIDTHS),
)


@pytest.fixture(params=LOSSES, ids=repr)
def loss(request: pytest.FixtureRequest) -> Loss:
    return request.param


def margins(loss: Loss) -> np.ndarray:
    """A grid over both tails, dense in the middle branch and with its two kinks."""
    h = getattr(loss, "h", 1.0)
    return np.concatenate(
        [np.linspace(-40, 40, 2001), 1 + h * np.linspace(-1.5, 1.5, 601), [1 - h, 1.0, 1 + h]]
    )


def test_logistic_by_hand() -> None:
    # sigmoid(log 3) = 3/4, so every value is a simple fraction.
    z = np.log([1.0, 3.0, 1.0 / 3.0])
    f = Logistic()
    assert f.value(z) == pytest.approx(np.log([2.0, 4.0 / 3.0, 4.0]), rel=1e-14)
    assert f.slope(z) == pytest.approx([-0.5, -0.25, -0.75], rel=1e-14)
    assert f.curvature(z) == pytest.approx([0.25, 0.1875, 0.1875], rel=1e-14)
    assert f.max_curvature == 0.25


def test_huber_by_hand() -> None:
    f = HuberSVM(h=0.5)
    z = np.array([2.0, 1.5, 1.25, 1.0, 0.75, 0.5, 0.25, -3.0])
    assert f.value(z) == pytest.approx([0, 0, 0.03125, 0.125, 0.28125, 0.5, 0.75, 4.0], abs=1e-15)
    assert f.slope(z) == pytest.approx([0, 0, -0.25, -0.5, -0.75, -1, -1, -1], abs=1e-15)
    assert f.curvature(z) == pytest.approx([0, 1, 1, 1, 1, 1, 0, 0], abs=1e-15)
    assert f.max_curvature == 1.0
    assert HuberSVM(h=2.0).max_curvature == 0.25


@pytest.mark.parametrize("h", WIDTHS)
def test_smoothed_hinge_is_the_printed_polynomial(h: float) -> None:
    # CMS eq. 38 in u = 1 - z, and its first two derivatives.
    u = h * np.linspace(-1, 1, 401)
    f, z = SmoothedHinge(h=h), 1 - u
    at = {"rtol": 1e-9, "atol": 1e-12 * max(1.0, 1 / h)}
    np.testing.assert_allclose(
        f.value(z), -(u**4) / (16 * h**3) + 3 * u**2 / (8 * h) + u / 2 + 3 * h / 16, **at
    )
    np.testing.assert_allclose(f.slope(z), u**3 / (4 * h**3) - 3 * u / (4 * h) - 1 / 2, **at)
    np.testing.assert_allclose(f.curvature(z), 3 / (4 * h) - 3 * u**2 / (4 * h**3), **at)
    assert f.max_curvature == pytest.approx(3 / (4 * h), rel=1e-15)


def test_smoothed_hinge_by_hand_and_its_corner() -> None:
    f = SmoothedHinge(h=2.0)
    z = np.array([-2.0, -1.0, 1.0, 3.0, 4.0])
    assert f.value(z) == pytest.approx([3, 2, 0.375, 0, 0], abs=1e-15)
    assert f.slope(z) == pytest.approx([-1, -1, -0.5, 0, 0], abs=1e-15)
    assert f.curvature(z) == pytest.approx([0, 0, 0.375, 0, 0], abs=1e-15)
    # At z = 0 the ramp is 3/4: slope 9/16 * 3/2 = 27/32.
    assert f.exact_squared_slope(0.0) == pytest.approx((27 / 32) ** 2, rel=1e-15)
    for radius in (0.0, 0.5, 5.0):
        z = np.linspace(-radius, radius, 2001)
        assert f.exact_squared_slope(radius) == pytest.approx(np.max(f.slope(z) ** 2), rel=1e-12)
    assert SmoothedHinge(h=0.5).exact_squared_slope(0.0) == 1.0


def test_losses_by_name() -> None:
    assert make_loss("logistic") == Logistic()
    assert make_loss("smoothed_hinge", 2.0) == SmoothedHinge(h=2.0)
    assert make_loss("huber_svm", 2.0) == HuberSVM(h=2.0)
    with pytest.raises(ValueError, match="loss='hinge'"):
        make_loss("hinge", 1.0)
    with pytest.raises(ValueError, match="h=None"):
        make_loss("huber_svm")


@pytest.mark.parametrize("h", WIDTHS)
def test_huber_is_the_hinge_outside_its_middle_branch(h: float) -> None:
    z = np.array([1 - h - 7, 1 - h - 0.01, 1 - h, 1 + h, 1 + h + 0.01, 1 + h + 7])
    assert HuberSVM(h=h).value(z) == pytest.approx(np.maximum(0.0, 1 - z), abs=1e-12 + 4e-16 * h)
    assert HuberSVM(h=h).value(np.array([1.0])) == pytest.approx([h / 4])


def test_slope_is_the_derivative_of_value(loss: Loss) -> None:
    z = margins(loss)
    step = 1e-6 * min(1.0, getattr(loss, "h", 1.0) * 10)
    numeric = (loss.value(z + step) - loss.value(z - step)) / (2 * step)
    np.testing.assert_allclose(
        loss.slope(z), numeric, atol=step * loss.max_curvature + 5e-14 / step
    )


def test_curvature_is_the_derivative_of_slope_away_from_kinks(loss: Loss) -> None:
    h = getattr(loss, "h", 1.0)
    z = margins(loss)
    z = z[np.abs(np.abs(1 - z) - h) > 1e-3 * h] if hasattr(loss, "h") else z
    step = 1e-4 * h
    numeric = (loss.slope(z + step) - loss.slope(z - step)) / (2 * step)
    np.testing.assert_allclose(
        loss.curvature(z), numeric, atol=1e-8 + 1e-7 * loss.max_curvature + 1e-11 / step
    )


def test_bounds_hold_and_are_attained(loss: Loss) -> None:
    z = margins(loss)
    slope, curvature = loss.slope(z), loss.curvature(z)
    assert np.all((slope <= 0) & (slope >= -1))
    assert slope.min() == pytest.approx(-1, abs=1e-12)
    assert np.all((curvature >= 0) & (curvature <= loss.max_curvature))
    assert curvature.max() == pytest.approx(loss.max_curvature, rel=1e-12)
    assert np.all(loss.value(z) >= 0)


def test_extreme_margins(loss: Loss) -> None:
    # filterwarnings = error turns any overflow into a failure.
    z = np.array([-1e3, 1e3, -1e8, 1e8])
    h = getattr(loss, "h", 0.0)
    assert np.all(np.isfinite(loss.value(z)))
    assert loss.value(z) == pytest.approx(
        [1e3 + (1 if h else 0), 0, 1e8 + (1 if h else 0), 0], abs=1e-9
    )
    assert loss.slope(z) == pytest.approx([-1, 0, -1, 0], abs=1e-15)
    assert loss.curvature(z) == pytest.approx(np.zeros(4), abs=1e-15)


def test_logistic_keeps_precision_in_the_right_tail() -> None:
    z = np.array([30.0, 300.0, 700.0])
    assert Logistic().value(z) == pytest.approx(np.exp(-z), rel=1e-12, abs=0)
    assert Logistic().slope(z) == pytest.approx(-np.exp(-z), rel=1e-12, abs=0)
    assert Logistic().curvature(-z) == pytest.approx(np.exp(-z), rel=1e-12, abs=0)


@pytest.mark.parametrize("radius", [0.0, 0.3, 1.0, 5.0, 1e3])
def test_max_squared_slope_bounds_the_ball(loss: Loss, radius: float) -> None:
    z = np.linspace(-radius, radius, 4001)
    assert np.max(loss.slope(z) ** 2) <= loss.max_squared_slope(radius) * (1 + 1e-15)


def test_max_squared_slope_by_hand() -> None:
    assert Logistic().max_squared_slope(0.0) == pytest.approx(0.25, rel=1e-15)
    assert Logistic().max_squared_slope(math.log(3)) == pytest.approx(0.5625, rel=1e-14)
    assert Logistic().max_squared_slope(1e3) == 1.0
    for radius in (0.0, 2.0, 1e9):
        assert HuberSVM(h=0.5).max_squared_slope(radius) == 1.0


def test_max_squared_slope_is_attained_by_the_logistic() -> None:
    worst = float(Logistic().slope(np.array([-2.0]))[0]) ** 2
    assert Logistic().max_squared_slope(2.0) == pytest.approx(worst, rel=1e-14)


@pytest.mark.parametrize("bound", ["max_squared_slope", "exact_squared_slope"])
def test_the_root_of_the_slope_bound_is_concave_where_weights_are_allowed(
    loss: Loss, bound: str
) -> None:
    """What the covariance of a weighted row rests on: sqrt(w) phi(r / sqrt(w)) <= phi(r)."""
    assert loss.allows_weights
    phi = np.vectorize(lambda radius: math.sqrt(getattr(loss, bound)(float(radius))))
    for reach in (3.0 * getattr(loss, "h", 1.0), 3.0, 30.0):
        radii = np.linspace(0.0, reach, 601)
        assert (np.diff(phi(radii), n=2) <= 1e-14).all()
        for w in (0.9, 0.5, 0.01):
            assert (math.sqrt(w) * phi(radii / math.sqrt(w)) <= phi(radii) * (1 + 1e-14)).all()


def test_convexity(loss: Loss) -> None:
    assert np.all(np.diff(loss.slope(np.sort(margins(loss)))) >= -1e-15)


def test_losses_compare_and_hash() -> None:
    assert Logistic() == Logistic()
    assert len({HuberSVM(h=1.0), HuberSVM(h=1.0), HuberSVM(h=2.0), Logistic()}) == 3
    assert (Logistic().name, HuberSVM(h=1.0).name) == ("logistic", "huber_svm")
    with pytest.raises(AttributeError):
        HuberSVM(h=1.0).h = 2.0  # type: ignore[misc]
    with pytest.raises(TypeError):
        Loss()  # type: ignore[abstract]


def test_shape_is_kept(loss: Loss) -> None:
    z = np.zeros((2, 3, 4))
    assert loss.value(z).shape == loss.slope(z).shape == loss.curvature(z).shape == z.shape


# --- the rule of thumb for a Newton step ----------------------------------------------------------


def left_by_a_step(loss: Loss, c: float, scale: float, seed: int) -> float | None:
    """What one Newton step from the penalised minimiser leaves, in units of |step| times its
    largest coordinate.

    None where the step is so long that nobody would take it, or there is no minimiser without
    penalty.
    """
    rng = np.random.default_rng(seed)
    X = np.c_[rng.uniform(-0.6, 0.6, (1_500, 2)), np.full(1_500, 0.5)]
    truth = rng.normal(size=3)
    y = np.where(
        rng.random(1_500) < 1.0 / (1.0 + np.exp(-X @ (scale * truth / np.linalg.norm(truth)))),
        1.0,
        -1.0,
    )
    try:
        target = unpenalised_minimiser(y[:, None] * X, loss=loss)
    except ConvergenceError:
        return None
    theta = Newton().minimise(PenalisedRisk(y[:, None] * X, loss=loss, regularization=c)).theta
    z = y * (X @ theta)
    S = (X * (loss.slope(z) ** 2)[:, None]).T @ X / len(X)
    at = theta
    if loss.is_log_odds:  # its Hessian is released half way
        at = one_step_point(
            theta, S - 4.0 * c**2 * np.outer(theta, theta), regularization=c, matrix_sd=0
        )
    K = (X * loss.curvature(y * (X @ at))[:, None]).T @ X / len(X)
    step = -np.linalg.solve(K, (X * (y * loss.slope(z))[:, None]).mean(axis=0))
    if np.linalg.norm(step) > 1.0:
        return None
    return float(np.abs(theta + step - target).max() / (np.linalg.norm(step) * np.abs(step).max()))


@pytest.mark.parametrize(
    "loss",
    [
        Logistic(),
        *(kind(h=h) for kind in (HuberSVM, SmoothedHinge) for h in (0.1, 0.25, 0.5, 1.0, 2.0)),
    ],
)
def test_half_of_the_steps_leave_less_than_the_rule_says(loss: Loss) -> None:
    grid = [
        (c, scale, seed)
        for c in (1e-4, 1e-3, 3e-3, 1e-2)
        for scale in (1.0, 3.0, 8.0)
        for seed in range(4)
    ]
    left = [found for one in grid if (found := left_by_a_step(loss, *one)) is not None]
    assert len(left) >= 30
    assert 0.2 * loss.newton_remainder < np.median(left) <= loss.newton_remainder


def test_the_rule_counts_the_width_of_a_band_of_even_curvature() -> None:
    assert [HuberSVM(h=h).newton_remainder for h in (0.1, 1.0, 4.0)] == pytest.approx(
        [3.0, 0.3, 0.3]
    )
    assert [SmoothedHinge(h=h).newton_remainder for h in (0.1, 1.0, 4.0)] == pytest.approx(
        [4.5, 0.45, 0.3]
    )
