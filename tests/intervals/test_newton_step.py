"""The step to the unpenalised coefficient: by hand, by Monte Carlo, and by experiments with a known
truth.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpci_core import (
    ZCDP,
    ConvergenceError,
    Design,
    Forecast,
    HuberSVM,
    Logistic,
    Moments,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.base.rows import Meaning
from dpci_core.intervals._newton_step import Correction, correction, floor_of, no_correction
from dpci_core.intervals.half_widths import HalfWidths, private_half_widths
from dpci_core.losses import Loss
from dpci_core.mechanisms.matrices import MatrixNoise
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.moments import unpenalised_minimiser
from dpci_core.solvers.one_step import one_step_point
from tests.refusals import refuses

C = 0.004


def step(
    H: np.ndarray,
    theta: np.ndarray,
    sd: float = 1e-6,
    L: np.ndarray | None = None,
    loss: Loss | None = None,
) -> Correction:
    values, vectors = np.linalg.eigh(H)
    contrasts = np.eye(len(theta)) if L is None else L
    given = {"loss": loss or Logistic(), "regularization": C, "hessian_sd": sd}
    return correction(values, vectors, theta, contrasts=contrasts, **given)


def rotated(values: list[float], seed: int = 3) -> np.ndarray:
    p = len(values)
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, p)))[0]
    return (Q * values) @ Q.T


H3 = rotated([0.03, 0.05, 0.12])
THETA3 = np.array([1.0, -2.0, 0.5])


# --- the step -------------------------------------------------------------------------------------


def test_the_step_in_one_dimension_by_hand() -> None:
    # K = 0.048 - 0.008 = 0.04, so T = 0.048/0.04 = 1.2 and the step is 0.2 theta.
    found = step(np.array([[0.048]]), np.array([1.5]), sd=0.003)
    assert found.contrasts.item() == pytest.approx(1.2, rel=1e-12)
    # d(T theta)/dH = -2c theta/K^2 = -0.008 * 1.5/0.0016 = -7.5, times sd 0.003, squared.
    assert found.extra.item() == pytest.approx((7.5 * 0.003) ** 2, rel=1e-12)
    # Length of the step 0.3, times its own size, times 0.01.
    assert found.remainder.item() == pytest.approx(0.01 * 0.3 * 0.3, rel=1e-12)
    assert not found.has_inestimable_part.any()


def test_a_newton_step_of_the_unpenalised_objective() -> None:
    """At the penalised minimiser the unpenalised gradient is -2c theta: T theta is one Newton step
    from there.
    """
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(-0.6, 0.6, (4000, 2)), np.full(4000, 0.5)]
    y = np.where(
        rng.random(4000) < 1.0 / (1.0 + np.exp(-X @ np.array([2.0, -1.0, 0.5]))), 1.0, -1.0
    )
    fit = fit_moments(X, y, loss=Logistic(), regularization=C)
    z = y * (X @ fit.theta_hat)
    falling = 1.0 / (1.0 + np.exp(z))
    gradient = -(X * (y * falling)[:, None]).mean(axis=0)
    K = (X * (falling * (1.0 - falling))[:, None]).T @ X / len(X)
    expected = fit.theta_hat - np.linalg.solve(K, gradient)
    np.testing.assert_allclose(
        step(fit.hessian, fit.theta_hat).contrasts @ fit.theta_hat, expected, rtol=1e-7
    )
    unpenalised = unpenalised_minimiser(y[:, None] * X, loss=Logistic())
    left = np.linalg.norm(expected - unpenalised)
    assert left < 0.15 * np.linalg.norm(fit.theta_hat - unpenalised), (
        "one step removes most of the bias"
    )


def test_the_step_in_three_dimensions() -> None:
    K = H3 - 2.0 * C * np.eye(3)
    T = np.linalg.solve(K, H3)
    found = step(H3, THETA3)
    np.testing.assert_allclose(found.contrasts, T, rtol=1e-10, atol=1e-12)
    L = np.array([[1.0, -1.0, 0.0], [0.0, 0.3, 2.0]])
    combined = step(H3, THETA3, L=L)
    np.testing.assert_allclose(combined.contrasts, L @ T, rtol=1e-10, atol=1e-12)
    moved = T @ THETA3 - THETA3
    expected = 0.01 * np.linalg.norm(moved) * np.abs(L @ moved)
    np.testing.assert_allclose(combined.remainder, expected, rtol=1e-10)


def test_a_stack_is_its_members() -> None:
    stack = np.array([H3, 1.3 * H3, rotated([0.009, 0.05, 0.3], seed=5)])
    theta = np.array([THETA3, 2.0 * THETA3, -THETA3])
    values, vectors = np.linalg.eigh(stack)
    L = np.array([[1.0, -1.0, 0.0], [0.0, 0.3, 2.0]])
    found = correction(
        values, vectors, theta, loss=Logistic(), regularization=C, hessian_sd=1e-3, contrasts=L
    )
    for i in range(3):
        one = step(stack[i], theta[i], sd=1e-3, L=L)
        for field in dataclasses.fields(one):
            np.testing.assert_allclose(
                getattr(found, field.name)[i], getattr(one, field.name), rtol=1e-12
            )


def matrix_noise(p: int, sd: float, size: int, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Symmetric noise with diagonal deviation sd, Gaussian or spherical Laplace in p(p+1)/2
    dimensions.
    """
    m = p * (p + 1) // 2
    flat = rng.standard_normal((size, m))
    if kind == "pure":
        flat *= rng.gamma(m, 1.0 / np.sqrt(m + 1.0), size=(size, 1)) / np.linalg.norm(
            flat, axis=1, keepdims=True
        )
    out = np.zeros((size, p, p))
    rows, columns = np.triu_indices(p, 1)
    out[:, range(p), range(p)] = sd * flat[:, :p]
    out[:, rows, columns] = out[:, columns, rows] = sd * flat[:, p:] / np.sqrt(2.0)
    return out


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_the_extra_variance_is_that_of_the_noise_on_h(kind: str) -> None:
    """Monte Carlo: T is computed anew with noise on H; standard errors of the variances are below
    0.5 %.
    """
    sd = 2e-4
    L = np.vstack([np.eye(3), [1.0, -1.0, 2.0]])
    noisy = H3 + matrix_noise(3, sd, 200_000, kind, np.random.default_rng(1))
    K = noisy - 2.0 * C * np.eye(3)
    moved = THETA3 + 2.0 * C * np.linalg.solve(K, np.tile(THETA3[:, None], (len(K), 1, 1)))[..., 0]
    np.testing.assert_allclose(
        step(H3, THETA3, sd=sd, L=L).extra, (moved @ L.T).var(axis=0), rtol=0.03
    )


# --- its limits -----------------------------------------------------------------------------------


def test_the_floor_of_the_step() -> None:
    assert floor_of(0.01, 1e-9, 4) == 0.02
    assert floor_of(1e-9, 0.3, 8) == pytest.approx(2.0 * 0.3 * 2.0)


def test_a_direction_that_is_not_estimable_is_marked_and_the_steep_ones_are_not() -> None:
    """The first direction is flat next to the penalty or to the noise: the step there goes only
    part of the way.
    """
    theta = np.array([0.3, 0.3, 0.3])
    half_width = np.full(3, 10.0)
    for H, sd, floor in (
        (np.diag([2.0 * C + 0.9 * 2.0 * C, 0.1, 0.2]), 1e-6, 2.0 * C),
        (np.diag([2.0 * C + 0.018, 0.1, 0.2]), 0.01 / np.sqrt(1.5), 0.02),
    ):
        found = step(H, theta, sd=sd)
        assert found.marked(half_width).tolist() == [True, False, False]
        expected = 1.0 + 2.0 * C / np.array([floor, 0.1 - 2.0 * C, 0.2 - 2.0 * C])
        np.testing.assert_allclose(found.contrasts, np.diag(expected), rtol=1e-12)
        steeper = H + np.diag([0.25 * floor, 0.0, 0.0])
        assert not step(steeper, theta, sd=sd).marked(half_width).any()


def test_a_coefficient_partly_in_a_direction_that_is_not_estimable() -> None:
    """Marked above 5 % of its squared length, whatever the length of the contrast."""
    H = np.diag([2.0 * C + 0.004, 0.1])
    for share, marked in ((0.04, False), (0.06, True)):
        row = np.array([[np.sqrt(share), np.sqrt(1.0 - share)]])
        for scale in (1.0, 30.0):
            found = step(H, np.array([0.1, 0.1]), L=scale * row)
            assert found.marked(np.array([100.0])).tolist() == [marked]


def test_a_long_step_is_marked() -> None:
    """More than a quarter of the half-width is left: 0.01 |step| times the step of the
    coefficient.
    """
    H = np.diag([0.04, 0.2])
    theta = np.array([5.0, 5.0])
    own = 2.0 * C / (np.array([0.04, 0.2]) - 2.0 * C) * theta
    left = 0.01 * np.linalg.norm(own) * own
    found = step(H, theta)
    np.testing.assert_allclose(found.remainder, left, rtol=1e-12)
    assert not found.has_inestimable_part.any()
    assert found.marked(4.0 * left * 1.01).tolist() == [False, False]
    assert found.marked(4.0 * left * 0.99).tolist() == [True, True]
    assert found.marked(np.full(2, 0.03)).tolist() == [True, False]


@pytest.mark.parametrize(("h", "share"), [(0.1, 3.0), (0.5, 0.6), (1.0, 0.3), (2.0, 0.3)])
def test_a_step_of_a_huber_loss_is_marked_earlier(h: float, share: float) -> None:
    """Its curvature jumps at the ends of a band of width 2h: 0.3/min(h, 1) in place of 0.01, and
    nothing else.
    """
    H = np.diag([0.04, 0.2])
    theta = np.array([1.0, 2.0])
    own = 2.0 * C / (np.array([0.04, 0.2]) - 2.0 * C) * theta
    left = share * np.linalg.norm(own) * own
    found, logistic = step(H, theta, loss=HuberSVM(h=h)), step(H, theta)
    np.testing.assert_allclose(found.remainder, left, rtol=1e-12)
    assert found.marked(4.0 * left * 1.01).tolist() == [False, False]
    assert found.marked(4.0 * left * 0.99).tolist() == [True, True]
    assert not logistic.marked(4.0 * left * 0.99).any()
    assert not logistic.marked(4.0 * left * 0.34).any()
    for name in ("contrasts", "extra", "has_inestimable_part"):
        np.testing.assert_array_equal(getattr(found, name), getattr(logistic, name), err_msg=name)


# --- half-widths ----------------------------------------------------------------------------------

SD_MODEL, N, SD_H = 3.0, 20_000, 2e-3


def widths(
    target: str,
    mechanism: str = "objective",
    theta: np.ndarray = THETA3,
    L: np.ndarray | None = None,
    loss: Loss | None = None,
) -> HalfWidths:
    """Half-widths as published, under zCDP with Gaussian noise of either mechanism, at H3."""
    loss = loss or Logistic()
    rho = (2.0 * loss.max_curvature / N) ** 2 / (2.0 * SD_H**2)
    budget = ZCDP(model=1, hessian=rho, covariance=1)
    design = Design(
        loss=loss,
        mechanism=mechanism,
        budget=budget,
        regularization=C,
        n_records=N,
        target=target,
        calibration="published",
    )
    law = MatrixNoise(1e-9, 1.0, "zcdp", False, 0.0)
    given = {
        "design": design,
        "noise": NoiseLaw(sd=SD_MODEL),
        "covariance_noise": law,
    }
    return private_half_widths(H3, 0.5 * H3, theta_priv=theta, contrasts=L, **given)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_half_widths_of_the_step(mechanism: str) -> None:
    """Variance of T (theta_priv - theta_0) plus what the noise on H adds, by numpy."""
    T = np.linalg.solve(H3 - 2.0 * C * np.eye(3), H3)
    rows = T @ np.linalg.inv(H3)
    sampling = np.diag(rows @ (0.5 * H3) @ rows.T) / N
    spread = rows / N if mechanism == "objective" else T
    model = SD_MODEL**2 * np.diag(spread @ spread.T)
    K = np.linalg.inv(H3 - 2.0 * C * np.eye(3))
    moved = K @ THETA3
    extra = (2.0 * C * SD_H) ** 2 / 2.0 * (np.diag(K @ K.T) * (moved @ moved) + (K @ moved) ** 2)
    found = widths("unpenalised", mechanism)
    expected = norm.ppf(0.975) * np.sqrt(sampling + model + extra)
    np.testing.assert_allclose(found.half_width, expected, rtol=1e-9)
    np.testing.assert_allclose(found.law.gaussian, model + extra, rtol=1e-9)
    np.testing.assert_allclose(found.estimate(THETA3), T @ THETA3, rtol=1e-10)
    if mechanism == "objective":
        assert np.all(extra > 0.05 * (sampling + model)), "or this test would not see it"


def test_a_penalised_target_is_untouched() -> None:
    """No step, no extra variance and no mark, whatever theta is."""
    found, far = widths("penalised"), widths("penalised", theta=1000.0 * THETA3)
    np.testing.assert_array_equal(found.contrasts, np.eye(3))
    np.testing.assert_array_equal(found.estimate(THETA3), THETA3)
    np.testing.assert_array_equal(found.half_width, far.half_width)
    rows = np.linalg.inv(H3)
    model = SD_MODEL**2 * np.diag(rows @ rows.T) / N**2
    np.testing.assert_allclose(found.law.gaussian, model, rtol=1e-9)
    assert not far.is_not_estimable.any()
    assert widths("unpenalised", theta=1000.0 * THETA3).is_not_estimable.all()
    nothing = no_correction(np.ones((2, 3)), 4)
    assert nothing.contrasts.shape == (4, 2, 3)
    assert not nothing.marked(np.full((4, 2), 1e-9)).any()
    assert not nothing.extra.any()


def test_half_widths_are_marked_by_the_loss_of_the_design() -> None:
    """The same release: a step that is short enough for the logistic loss is too long for a Huber
    loss of small h.
    """
    logistic, huber = (widths("unpenalised", loss=loss) for loss in (Logistic(), HuberSVM(h=0.1)))
    np.testing.assert_allclose(huber.half_width, logistic.half_width, rtol=1e-9)
    assert not logistic.is_not_estimable.any()
    assert huber.is_not_estimable.all()


def test_contrasts_of_the_step_scale() -> None:
    L = np.array([[1.0, 0.0, 0.0], [-5.0, 0.0, 0.0], [1.0, 1.0, -1.0]])
    found, plain = widths("unpenalised", L=L), widths("unpenalised")
    np.testing.assert_allclose(
        found.half_width[:2], np.array([1.0, 5.0]) * plain.half_width[0], rtol=1e-10
    )
    np.testing.assert_allclose(found.contrasts, L @ plain.contrasts, rtol=1e-10, atol=1e-12)


# --- a known truth --------------------------------------------------------------------------------

TRUTH = np.array([3.0, -2.0, 0.5])
"""Coefficients of x = (x_1, x_2, 1)/sqrt 3 with x_1, x_2 uniform on [-1, 1]."""
N_TRUTH, N_RUNS, C_TRUTH = 3000, 300, 0.00064


def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = np.c_[rng.uniform(-1.0, 1.0, (n, 2)), np.ones(n)] / np.sqrt(3.0)
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-X @ TRUTH)), 1.0, -1.0)


def design_of(target: str, mechanism: str = "objective") -> Design:
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    given = {
        "loss": Logistic(),
        "budget": budget,
        "regularization": C_TRUTH,
        "n_records": N_TRUTH,
        "calibration": "sharp",
    }
    return Design(mechanism=mechanism, target=target, **given)


@dataclasses.dataclass(frozen=True)
class Runs:
    """300 releases of fresh data: whether an interval held the truth, its length and its mark."""

    inside: np.ndarray
    length: np.ndarray
    marked: np.ndarray
    expected: Forecast


@pytest.fixture(scope="module")
def experiments() -> dict[str, Runs]:
    found = {}
    for target in ("penalised", "unpenalised"):
        large = fit_moments(
            *draw(400_000, np.random.default_rng(99)),
            loss=Logistic(),
            regularization=C_TRUTH,
            target=target,
        )
        design, runs = design_of(target), []
        for i in range(N_RUNS):
            rng = np.random.default_rng([5, i])
            X, y = draw(N_TRUTH, rng)
            runs.append(private_intervals(X, y, design=design, rng=rng))
        inside = np.array([np.abs(TRUTH - r.estimate) <= r.length / 2.0 for r in runs])
        length, marked = (
            np.array([r.length for r in runs]),
            np.array([r.is_not_estimable for r in runs]),
        )
        found[target] = Runs(
            inside,
            length,
            marked,
            forecast(large, design=design),
        )
    return found


def test_coverage_of_the_true_coefficient(experiments: dict[str, Runs]) -> None:
    """The penalised interval misses it too often, the step repairs that."""
    penalised, unpenalised = (
        experiments[t].inside.mean(axis=0) for t in ("penalised", "unpenalised")
    )
    assert penalised.mean() < 0.91
    assert penalised[0] < 0.86
    assert unpenalised.mean() >= 0.93
    assert np.all(unpenalised >= 0.93)
    assert experiments["unpenalised"].marked.mean() < 0.02


@pytest.mark.parametrize("target", ["penalised", "unpenalised"])
def test_the_forecast_agrees_with_the_experiment(target: str, experiments: dict[str, Runs]) -> None:
    """Lengths to 2 %; coverage of the design's own target, so that only the unpenalised one can be
    compared.
    """
    runs = experiments[target]
    expected = runs.expected
    np.testing.assert_allclose(expected.ci_length, runs.length.mean(axis=0), rtol=0.02)
    np.testing.assert_allclose(expected.coverage, 0.95, atol=0.01)
    assert expected.not_estimable_share.max() == 0.0
    if target == "unpenalised":
        se = np.sqrt(0.95 * 0.05 / N_RUNS)
        np.testing.assert_allclose(expected.coverage, runs.inside.mean(axis=0), atol=3.0 * se)
        assert np.all(expected.ci_length > 1.01 * experiments["penalised"].expected.ci_length)
        assert np.all(expected.vi_length > experiments["penalised"].expected.vi_length)


def test_the_forecast_sees_a_target_out_of_reach() -> None:
    """With a large c and little budget the step falls short: marks in every release, and coverage
    is lost.
    """
    design = dataclasses.replace(design_of("unpenalised"), regularization=0.05)
    fit = fit_moments(
        *draw(20_000, np.random.default_rng(3)),
        loss=Logistic(),
        regularization=0.05,
        target="unpenalised",
    )
    found = forecast(fit, design=dataclasses.replace(design, n_records=100_000))
    assert found.is_not_reportable[:2].all()
    assert np.abs(found.bias[:2]).min() > 0.25 * found.ci_length[:2].max() / 2.0
    assert found.not_estimable_share[:2].min() == 1.0
    assert found.coverage[:2].max() < 0.5


def test_the_forecast_takes_contrasts_of_the_target() -> None:
    fit = fit_moments(
        *draw(20_000, np.random.default_rng(3)), loss=Logistic(), regularization=C_TRUTH
    )
    for mechanism in ("objective", "output"):
        design = design_of("unpenalised", mechanism)
        plain = forecast(fit, design=design)
        scaled = forecast(fit, design=design, contrasts=np.diag([2.0, -3.0, 0.1]))
        for name, scale in (
            ("ci_length", [2.0, 3.0, 0.1]),
            ("vi_length", [2.0, 3.0, 0.1]),
            ("coverage", np.ones(3)),
        ):
            np.testing.assert_allclose(
                getattr(scaled, name), np.array(scale) * getattr(plain, name), rtol=1e-9
            )


def test_intervals_are_around_the_step() -> None:
    """estimate = T theta_priv with T from the released Hessian, and the release itself is kept."""
    rng = np.random.default_rng(8)
    X, y = draw(N_TRUTH, rng)
    found = private_intervals(X, y, design=design_of("unpenalised"), rng=rng)
    T = np.linalg.solve(found.hessian - 2.0 * C_TRUTH * np.eye(3), found.hessian)
    np.testing.assert_allclose(found.estimate, T @ found.theta_priv, rtol=1e-9)
    np.testing.assert_allclose((found.low + found.high) / 2.0, found.estimate, rtol=1e-12)
    assert found.to_record()["target"] == "unpenalised"


def test_an_experiment_covers_the_unpenalised_coefficient() -> None:
    X, y = draw(N_TRUTH, np.random.default_rng(4))
    designs = [design_of(target) for target in ("unpenalised", "penalised")]
    found = run_experiment(
        X, y, designs=designs, n_variability=200, n_coverage=200, rng=np.random.default_rng(1)
    ).designs
    fit = unpenalised_minimiser(y[:, None] * X, loss=Logistic())
    np.testing.assert_allclose(found[0].theta_hat, fit, rtol=1e-9)
    gap = np.linalg.norm(found[0].theta_hat - found[1].theta_hat)
    assert gap > 0.05
    assert found[0].coverage_mean >= 0.91


def test_an_experiment_needs_matrices_for_every_unpenalised_estimate() -> None:
    X, y = draw(300, np.random.default_rng(4))
    design = dataclasses.replace(design_of("unpenalised", "output"), regularization=0.01)
    with pytest.raises(
        ValueError, match=r"Expected n_variability=20 <= n_coverage=10 with an unpenalised target"
    ):
        run_experiment(
            X, y, designs=[design], n_variability=20, n_coverage=10, rng=np.random.default_rng(1)
        )
    same = dataclasses.replace(design, target="penalised")
    run_experiment(
        X, y, designs=[same], n_variability=20, n_coverage=10, rng=np.random.default_rng(1)
    )
    run_experiment(
        X, y, designs=[design, same], n_variability=10, n_coverage=20, rng=np.random.default_rng(1)
    )


def test_separable_classes_have_no_unpenalised_minimiser() -> None:
    X, y = draw(400, np.random.default_rng(4))
    separated = np.where(X @ TRUTH > 0.0, 1.0, -1.0)
    with refuses(ConvergenceError, match="can be separated"):
        unpenalised_minimiser(separated[:, None] * X, loss=Logistic())
    theta = unpenalised_minimiser(y[:, None] * X, loss=Logistic())
    gradient = -(X * (y / (1.0 + np.exp(y * (X @ theta))))[:, None]).mean(axis=0)
    assert np.linalg.norm(gradient) < 1e-6


# --- the curvature beyond the point of the Hessian ------------------------------------------------

RARE = np.array([[0.9, 1.0], [-0.6, 1.0], [-0.1, 1.0]])
"""Rows of three kinds of records but for the constant, whose share of "yes" is a few per cent."""
SHARES, U_LAST, C_RARE = np.array([0.2, 0.3, 0.5]), 0.4, 0.0003


def rare_moments() -> tuple[Moments, np.ndarray]:
    """Of a large table with so many of each kind, its outcomes those of log odds -3.4 and 0.6."""
    rows, signs = [], []
    for row, share in zip(RARE, SHARES, strict=True):
        chance = 1.0 / (1.0 + math.exp(3.4 - 0.6 * row[0]))
        n = round(40_000 * share)
        yes = round(n * chance)
        rows += [U_LAST * row] * n
        signs += [1.0] * yes + [-1.0] * (n - yes)
    X, y = np.array(rows), np.array(signs)
    found = fit_moments(
        X,
        y,
        loss=Logistic(),
        regularization=C_RARE,
        target="unpenalised",
        meaning=Meaning(constant=U_LAST),
    )
    return found, X


def rare_step(found: Moments, constant: float | None) -> Correction:
    assert found.unpenalised_fit is not None
    return correction(
        *np.linalg.eigh(found.unpenalised_fit.one_step_point),
        found.theta_hat,
        loss=Logistic(),
        regularization=C_RARE,
        hessian_sd=0.0,
        contrasts=np.eye(2),
        constant=constant,
    )


def test_the_fall_of_the_curvature_is_that_of_the_mean_record_by_curvature() -> None:
    """Against a loop over the records, which released matrices stand for."""
    found, X = rare_moments()
    step = rare_step(found, U_LAST)
    point = one_step_point(found.theta_hat, found.covariance, regularization=C_RARE, matrix_sd=0.0)
    end = step.contrasts @ found.theta_hat

    def curvature(margin: float) -> float:
        return math.exp(-margin) / (1.0 + math.exp(-margin)) ** 2

    weights = np.array([curvature(float(row @ point)) for row in X])
    mean = sum(w * row for w, row in zip(weights, X, strict=True)) / weights.sum()
    taken = math.log(curvature(float(mean @ found.theta_hat)) / curvature(float(mean @ end)))

    def lacking(fall: float) -> float:
        return (1.0 - math.exp(-fall)) * math.exp((math.exp(fall) - 1.0) / 2.0) - taken

    fall = float(brentq(lacking, 0.0, math.log(2.0)))
    beyond = fall - (math.exp(fall) - 1.0) / 2.0
    assert float(step.lift) == pytest.approx(math.exp(beyond), rel=1e-4)
    assert float(step.lift) > 1.1, "or there would be nothing to see"
    K = weights @ np.einsum("ni,nj->nij", X, X).reshape(len(X), -1) / len(X)
    truth = found.unpenalised_fit
    assert truth is not None
    shares = np.diag(np.linalg.inv(truth.hessian)) / np.diag(np.linalg.inv(K.reshape(2, 2)))
    np.testing.assert_allclose(shares, float(step.lift), rtol=0.03)
    T, lost = step.contrasts, math.log(float(step.lift))
    inverse = np.linalg.inv(found.unpenalised_fit.one_step_point - 2.0 * C_RARE * np.eye(2))
    third = -2.0 * lost * np.linalg.inv(inverse)
    acting = T - inverse @ third @ (np.eye(2) + C_RARE * inverse)
    np.testing.assert_allclose(step.acting, acting, rtol=1e-9)
    unknown = rare_step(found, None)
    assert float(unknown.lift) == 1.0
    np.testing.assert_array_equal(unknown.acting, unknown.contrasts)


@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("kind", ["pure", "zcdp"])
@pytest.mark.parametrize("calibration", ["published", "sharp"])
def test_half_widths_are_those_of_the_error_in_full(
    mechanism: str, kind: str, calibration: str
) -> None:
    """Where an outcome is rare: within 5 %; without the constant they are short by more."""
    found, _ = rare_moments()
    budget = {
        "pure": PureDP(model="4", hessian="400", covariance="400"),
        "zcdp": ZCDP(model="1", hessian="400", covariance="400"),
    }[kind]
    design = Design(
        loss=Logistic(),
        mechanism=mechanism,
        budget=budget,
        regularization=C_RARE,
        n_records=20_000,
        calibration=calibration,
        target="unpenalised",
    )
    known, unknown = (
        forecast(one, design=design) for one in (found, dataclasses.replace(found, constant=None))
    )
    np.testing.assert_allclose(known.ci_length, known.vi_length, rtol=0.05)
    assert np.all(unknown.ci_length < 0.95 * known.vi_length)
    np.testing.assert_allclose(known.vi_length, unknown.vi_length, rtol=1e-12)


def test_a_release_that_is_forecast_from_lifts_its_error_as_it_lifts_its_half_widths() -> None:
    """Moments without a fit of their own know no more than the mean record."""
    found, _ = rare_moments()
    bare = dataclasses.replace(found, unpenalised_fit=None)
    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=ZCDP(model="1", hessian="400", covariance="400"),
        regularization=C_RARE,
        n_records=20_000,
        target="unpenalised",
        calibration="published",
    )
    known, unknown = (
        forecast(one, design=design) for one in (bare, dataclasses.replace(bare, constant=None))
    )
    lift = correction(
        *np.linalg.eigh(found.hessian),
        found.theta_hat,
        loss=Logistic(),
        regularization=C_RARE,
        hessian_sd=0.0,
        contrasts=np.eye(2),
        constant=U_LAST,
    ).lift
    assert float(lift) > 1.1
    ratio = known.nonprivate_length / unknown.nonprivate_length
    np.testing.assert_allclose(ratio, float(lift), rtol=1e-9)


def test_the_fall_of_a_long_way_is_the_largest_there_is_and_other_losses_have_none() -> None:
    """log 2 - 1/2, however far the curvature of the mean record falls."""
    for end in (10.0, 30.0, 300.0):
        given = {"regularization": C, "hessian_sd": 0.0, "contrasts": np.eye(1), "constant": 1.0}
        values, vectors = np.array([0.02]), np.eye(1)
        found = correction(values, vectors, np.array([end]), loss=Logistic(), **given)
        assert float(found.lift) == pytest.approx(2.0 * math.exp(-0.5), rel=1e-12)
        other = correction(values, vectors, np.array([1.0]), loss=HuberSVM(h=0.5), **given)
        assert float(other.lift) == 1.0


def test_a_fall_never_shortens_and_is_bounded() -> None:
    """Whatever noise makes of the matrices."""
    rng = np.random.default_rng(8)
    for _ in range(200):
        noise = rng.normal(size=(3, 3)) * 10.0 ** rng.uniform(-4, 1)
        found = correction(
            *np.linalg.eigh(np.diag([0.2, 0.1, 0.01]) + (noise + noise.T) / 2.0),
            rng.normal(size=3) * 10.0 ** rng.uniform(-2, 3),
            loss=Logistic(),
            regularization=0.01,
            hessian_sd=0.01,
            contrasts=np.eye(3),
            constant=0.5,
        )
        assert 1.0 <= float(found.lift) <= 1.22
        assert np.all(np.isfinite(found.acting))
