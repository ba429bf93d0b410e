"""The forecast of a target without penalty against noise that is really drawn: its error law in one
dimension, coverage, length and bias of whole experiments, and what counts as not reportable.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from dpci_core import (
    ZCDP,
    Design,
    HuberSVM,
    Logistic,
    Moments,
    PureDP,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.base.rows import WeightedRows
from dpci_core.design import MechanismName
from dpci_core.intervals._newton_step import unpenalised_error
from dpci_core.intervals.estimands import released_hessian
from dpci_core.intervals.forecast import (
    drawn_intervals,
    forecast_of,
)
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.moments import UnpenalisedFit

Array = np.ndarray

# --- one dimension --------------------------------------------------------------------------------

CELLS = np.array([1.0, -1.0, 0.6, -0.6, 0.3, -0.3])
"""y x of a table with one coefficient, as often as a true coefficient of 3 says."""
SHARE = np.array([0.5, 0.5, 0.3, 0.3, 0.2, 0.2]) * expit(3.0 * CELLS)
C1, N1, N_RUNS = 0.005, 20_000, 60_000


def fitted(counts: Array, b: Array, c: float) -> Array:
    """Minimisers (runs,) of mean log(1 + exp(-margin)) + c theta^2 + b theta / n."""
    share, theta = counts / N1, np.full(len(counts), 2.0)
    for _ in range(60):
        chance = expit(-theta[:, None] * CELLS)
        gradient = -(share * chance) @ CELLS + 2.0 * c * theta + b / N1
        slope = (share * chance * (1.0 - chance)) @ CELLS**2 + 2.0 * c
        theta = theta - np.clip(gradient / slope, -0.7, 0.7)
    return theta


def curvature(counts: Array, theta: Array) -> Array:
    chance = expit(-theta[:, None] * CELLS)
    return (counts / N1 * chance * (1.0 - chance)) @ CELLS**2


def slope_square(counts: Array, theta: Array) -> Array:
    return (counts / N1 * expit(-theta[:, None] * CELLS) ** 2) @ CELLS**2 - (2 * C1 * theta) ** 2


def law_of(mechanism: str, kind: str) -> NoiseLaw:
    """Noise of about the size of the sampling error."""
    sd = 60.0 if mechanism == "objective" else 0.03
    return NoiseLaw(sd=sd) if kind == "zcdp" else NoiseLaw(rate=np.sqrt(2.0) / sd)


def one_moments(is_half: bool) -> tuple[Moments, Array]:
    """Of the expected table, with the Hessian that a release has but for its noise."""
    counts, none = N1 * SHARE[None], np.zeros(1)
    theta, star = fitted(counts, none, C1), fitted(counts, none, 0.0)
    S = slope_square(counts, theta)
    at = theta + C1 * theta / S
    H = curvature(counts, at) + 2.0 * C1

    def matrix(value: Array) -> Array:
        return value.reshape(1, 1)

    H0 = curvature(counts, theta) + 2.0 * C1
    truth = UnpenalisedFit(
        star,
        np.zeros_like(star),
        star,
        matrix(curvature(counts, star)),
        matrix((SHARE[None] * expit(-star[:, None] * CELLS) ** 2) @ CELLS**2),
        matrix(H),
    )
    found = Moments(theta, matrix(H0), matrix(S), N1, Logistic(), C1, None, truth)
    return found, matrix(H if is_half else H0)


@pytest.mark.parametrize("is_half", [True, False], ids=["half way", "at the minimiser"])
@pytest.mark.parametrize("kind", ["pure", "zcdp"])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
def test_the_error_in_one_dimension(
    mechanism: MechanismName, kind: str, is_half: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The part of the noise to 3 %, with records as they are; all of it to 5 % half way and 8 %
    at the minimiser, from records and noise that are drawn anew in every run.
    The third derivative makes more of a difference.
    """
    rng, noise = np.random.default_rng(2), law_of(mechanism, kind)
    b = (
        rng.normal(0.0, noise.sd, N_RUNS)
        if noise.sd is not None
        else rng.laplace(0.0, 1.0 / (noise.rate or 1.0), N_RUNS)
    )
    is_objective = mechanism == "objective"

    def estimates(counts: Array, sd_h: float, sd_s: float) -> Array:
        theta = fitted(counts, b if is_objective else np.zeros(N_RUNS), C1)
        at = theta = theta if is_objective else theta + b
        if is_half:
            S = slope_square(counts, theta) + rng.normal(0.0, sd_s, N_RUNS)
            at = theta + C1 * theta / S
        K = curvature(counts, at) + rng.normal(0.0, sd_h, N_RUNS)
        return theta + 2.0 * C1 * theta / K

    sd_h = 4e-4
    drawn = rng.multinomial(N1, SHARE, size=N_RUNS).astype(np.float64)
    estimate = estimates(drawn, sd_h, sd_h)
    alone = estimates(np.tile(N1 * SHARE, (N_RUNS, 1)), 0.0, 0.0)

    moments, H = one_moments(is_half)
    assert moments.unpenalised_fit is not None
    loss = Logistic()
    if not is_half:
        monkeypatch.setattr(
            "dpci_core.intervals._newton_step.has_one_step_point", lambda design: False
        )
    design = Design(
        loss=loss,
        mechanism=mechanism,
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=C1,
        n_records=N1,
        target="unpenalised",
        calibration="published",
    )
    T = H / (H - 2.0 * C1)
    law = unpenalised_error(moments, H, np.eye(1), T, design=design, noise=noise)
    k = float(H[0, 0]) - 2.0 * C1
    extra = (2.0 * C1 * sd_h * float(moments.theta_hat[0]) / k**2) ** 2
    expected = float(np.sqrt(law.total(1)[0] + extra))
    assert float(np.sqrt(law.privacy(1)[0])) == pytest.approx(float(alone.std()), rel=0.03)
    assert expected == pytest.approx(float(estimate.std()), rel=0.05 if is_half else 0.08)
    assert (law.laplace[0] > 0.0) == (kind == "pure")
    bent = float((moments.unpenalised_fit.hessian - moments.hessian + 2.0 * C1)[0, 0]) / k
    assert abs(bent) > 0.25, "or the third derivative would not be seen"


# --- whole experiments ----------------------------------------------------------------------------

_MIDDLE = 1.9
"""Standard error of the middle of two outer quantiles of n normal numbers, times sqrt n."""
N, C, N_REPLICATES = 2_500, 0.004, 500
BUDGETS = {
    "pure": PureDP(model="3", hessian="2", covariance="1"),
    "zcdp": ZCDP(model="0.5", hessian="0.3", covariance="0.1"),
}
MECHANISMS: tuple[MechanismName, ...] = ("objective", "output")
CASES = list(itertools.product(MECHANISMS, BUDGETS))


def table(kind: str, n: int = N) -> tuple[Array | WeightedRows, Array]:
    """Two features and the constant; a penalty moves coefficients far. With weights, the model is
    not the one that is fitted.
    """
    rng = np.random.default_rng(12)
    X = np.c_[rng.normal(size=(n, 2)), np.ones(n)] / 1.9
    odds = X @ np.array([1.6, -1.1, 0.4]) if kind == "plain" else 3.0 * np.tanh(X[:, 0]) - X[:, 1]
    y = np.where(rng.random(n) < expit(odds), 1.0, -1.0)
    squares = np.einsum("ij,ij->i", X, X)
    if kind == "weighted":
        return WeightedRows(X, np.minimum(1.0, (1.0 - 1e-12) / squares)), y
    return X / max(1.0, np.sqrt(squares.max())), y


def design_of(
    mechanism: str = "objective", budget: str | PureDP = "pure", **changes: Any
) -> Design:
    given = {
        "loss": Logistic(),
        "mechanism": mechanism,
        "budget": BUDGETS[budget] if isinstance(budget, str) else budget,
        "regularization": C,
        "n_records": N,
        "calibration": "sharp",
        "target": "unpenalised",
    }
    return Design(**(given | changes))


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_the_forecast_against_experiments(kind: str) -> None:
    """Coverage and length within three Monte Carlo errors and 1.5 points or 2 %, bias within four,
    for both mechanisms and definitions, where the step is long against the half-width.
    """
    X, y = table(kind)
    c = C if kind == "weighted" else C / 10.0
    designs = [design_of(*case, regularization=c) for case in CASES]
    moments = fit_moments(X, y, loss=Logistic(), regularization=c, target="unpenalised")
    assert moments.unpenalised_fit is not None
    found = run_experiment(
        X,
        y,
        designs=designs,
        n_variability=N_REPLICATES,
        n_coverage=N_REPLICATES,
        rng=np.random.default_rng(3),
    ).designs
    for case, design, result in zip(CASES, designs, found, strict=True):
        expected = forecast(moments, design=design)
        way = np.abs(moments.unpenalised_fit.unweighted - moments.theta_hat)
        assert way[0] > 0.1 * expected.ci_length[0] / 2.0, "or there would be no step to see"
        np.testing.assert_allclose(result.theta_hat, moments.unpenalised_fit.unweighted, atol=1e-8)
        error = np.sqrt(expected.coverage * (1.0 - expected.coverage) / N_REPLICATES)
        np.testing.assert_array_less(
            np.abs(result.coverage - expected.coverage), 3.0 * error + 0.015, err_msg=str(case)
        )
        error = result.ci_length_sd / np.sqrt(N_REPLICATES)
        np.testing.assert_array_less(
            np.abs(result.ci_length - expected.ci_length),
            3.0 * error + 0.02 * expected.ci_length,
            err_msg=str(case),
        )
        middle = (result.vi_high + result.vi_low) / 2.0 - result.theta_hat
        error = _MIDDLE * result.vi_length / (2.0 * 1.96) / np.sqrt(N_REPLICATES)
        np.testing.assert_array_less(
            np.abs(middle - expected.bias),
            4.0 * error + 0.15 * np.abs(expected.bias),
            err_msg=str(case),
        )
    if kind == "weighted":
        assert abs(expected.bias[0]) > 1.3 * error[0], "or there would be no bias to see"


# --- not reportable -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fit() -> Moments:
    X, y = table("weighted")
    return fit_moments(X, y, loss=Logistic(), regularization=C, target="unpenalised")


def test_out_of_reach_by_three_rules(fit: Moments) -> None:
    """A bias above a quarter of the half-width, marks in more than one release of twenty, coverage
    more than three points below the level: each alone, on both sides of its limit.
    """
    design = design_of()
    drawn = drawn_intervals(fit, design=design)
    none = dataclasses.replace(
        drawn,
        shift=0.0 * drawn.half_width,
        is_not_estimable=np.zeros_like(drawn.is_not_estimable),
        goal=dataclasses.replace(drawn.goal, target_se=0.0),
    )

    def flags(**changes: Any) -> list[bool]:
        changed = dataclasses.replace(none, **changes)
        return forecast_of(changed, fit).is_not_reportable.tolist()

    assert flags() == [False] * 3
    wide = 1.5 * none.half_width
    for share, expected in ((0.24, False), (0.26, True)):
        for sign in (-1.0, 1.0):
            shift = np.broadcast_to(sign * share * wide.mean(axis=0), wide.shape)
            assert flags(half_width=wide, shift=shift) == [expected] * 3
    for count, expected in ((3, False), (4, True)):
        marks = np.zeros_like(drawn.is_not_estimable)
        marks[:count, 1] = True
        assert len(marks) == 64
        assert flags(is_not_estimable=marks) == [False, expected, False]
    found = []
    for factor in np.linspace(0.8, 1.0, 41):
        short = dataclasses.replace(none, half_width=factor * none.half_width)
        coverage = short.coverage.mean(axis=0)
        assert flags(half_width=short.half_width) == (coverage < 0.92).tolist()
        found.append(coverage[0])
    assert min(found) < 0.919 < 0.921 < max(found)
    penalised = dataclasses.replace(design, target="penalised")
    own = drawn_intervals(fit, design=penalised)
    own = dataclasses.replace(own, is_not_estimable=np.ones_like(own.is_not_estimable))
    assert not forecast_of(own, fit).is_not_reportable.any()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_contrasts_scale(mechanism: MechanismName, fit: Moments) -> None:
    design, scale = design_of(mechanism), np.array([2.0, -3.0, 0.1])
    plain = forecast(fit, design=design)
    scaled = forecast(fit, design=design, contrasts=np.diag(scale))
    for name in ("ci_length", "vi_length", "nonprivate_length"):
        expected = np.abs(scale) * getattr(plain, name)
        np.testing.assert_allclose(getattr(scaled, name), expected, rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(scaled.bias, scale * plain.bias, rtol=1e-8)
    np.testing.assert_allclose(scaled.coverage, plain.coverage, rtol=1e-9)
    np.testing.assert_array_equal(scaled.is_not_reportable, plain.is_not_reportable)


def test_where_the_hessian_is(fit: Moments) -> None:
    assert fit.unpenalised_fit is not None
    assert released_hessian(fit, design_of()) is fit.unpenalised_fit.one_step_point
    assert released_hessian(fit, design_of(target="penalised")) is fit.hessian
    assert released_hessian(fit, design_of(loss=HuberSVM(h=0.5))) is fit.hessian
    without = dataclasses.replace(fit, unpenalised_fit=None)
    assert released_hessian(without, design_of()) is fit.hessian


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_moments_that_are_themselves_a_release(mechanism: MechanismName, fit: Moments) -> None:
    """No second fit: the full Newton step at the Hessian at hand is the goal, and lengths are near
    those with it.
    """
    without = dataclasses.replace(fit, unpenalised_fit=None, drift=None)
    found = forecast(without, design=design_of(mechanism))
    full = forecast(fit, design=design_of(mechanism))
    np.testing.assert_allclose(found.ci_length, full.ci_length, rtol=0.2)
    assert np.isfinite(found.coverage).all()
    assert np.all(np.abs(found.bias) < 0.05 * found.ci_length)


# --- flags must not select ------------------------------------------------------------------------


def two_coefficients(n: int, rng: np.random.Generator) -> tuple[Array, Array]:
    X = np.c_[rng.uniform(-1.0, 1.0, n), np.ones(n)] / np.sqrt(2.0)
    return X, np.where(rng.random(n) < expit(X @ np.array([2.0, 0.5])), 1.0, -1.0)


@pytest.mark.parametrize(
    ("n", "epsilon", "c", "is_out"),
    [
        (1_000, 0.1, 0.01, True),
        (1_000, 0.3, 0.005, None),
        (1_000, 1.0, 0.001, False),
        (3_000, 0.3, 0.001, False),
    ],
)
def test_flags_do_not_select(n: int, epsilon: float, c: float, is_out: bool | None) -> None:
    """Where a release would often mark a coefficient, it is not reportable before any is drawn; the
    unmarked intervals of the others cover.
    """
    amounts = [str(epsilon / 2.0), str(epsilon / 4.0), str(epsilon / 4.0)]
    budget = PureDP(**dict(zip(("model", "hessian", "covariance"), amounts, strict=True)))
    design = design_of(budget=budget, regularization=c)
    large = two_coefficients(100_000, np.random.default_rng(0))
    moments = fit_moments(*large, loss=Logistic(), regularization=c, target="unpenalised")
    out = forecast(moments, design=dataclasses.replace(design, n_records=n)).is_not_reportable
    if is_out is not None:
        assert out.tolist() == [is_out] * 2
    if out.all():
        return
    assert moments.unpenalised_fit is not None
    inside, marked = [], []
    for i in range(400):
        rng = np.random.default_rng([1, i])
        found = private_intervals(*two_coefficients(n, rng), design=design, rng=rng)
        gap = np.abs(found.estimate - moments.unpenalised_fit.unweighted)
        inside.append(gap <= found.length / 2.0)
        marked.append(found.is_not_estimable)
    unmarked = ~np.array(marked)
    for j in np.flatnonzero(~out):
        assert unmarked[:, j].mean() > 0.9
        assert np.array(inside)[unmarked[:, j], j].mean() >= 0.95 - 0.04


def planning(*, is_simulated: bool, n: int = 1000) -> Moments:
    """Moments of three coefficients with gaps of 5, -13 and 0.9, known up to 3, 5 and 1."""
    found = UnpenalisedFit(
        theta=np.zeros(3),
        unweighted=np.array([5.0, -13.0, 0.9]),
        unweighted_se=np.array([3.0, 5.0, 1.0]),
        hessian=np.eye(3),
        covariance=np.eye(3),
        one_step_point=np.eye(3),
    )
    return Moments(
        np.zeros(3),
        1.1 * np.eye(3),
        np.eye(3),
        n,
        Logistic(),
        0.05,
        unpenalised_fit=found,
        is_simulated=is_simulated,
    )


LARGE = Design(
    loss=Logistic(),
    mechanism="objective",
    budget=PureDP(model="100", hessian="100", covariance="100"),
    regularization=0.05,
    n_records=1_000,
    calibration="sharp",
    target="unpenalised",
)


def test_what_simulated_rows_cannot_tell_is_no_bias() -> None:
    """The gap loses its standard error squared where planning rows are as many as records, and up
    to 2.5 times that where they are few.
    """
    twin = planning(is_simulated=True)
    same = forecast(twin, design=LARGE)
    np.testing.assert_allclose(same.estimate, [4.0, -12.0, 0.0])
    many = forecast(twin, design=dataclasses.replace(LARGE, n_records=10**9))
    np.testing.assert_allclose(many.estimate, [0.0, -np.sqrt(12.75), 0.0], atol=1e-4)
    assert twin.unpenalised_fit is not None
    sure = dataclasses.replace(twin.unpenalised_fit, unweighted_se=np.zeros(3))
    exact = forecast(
        dataclasses.replace(twin, unpenalised_fit=sure),
        design=dataclasses.replace(LARGE, n_records=10**4),
    )
    np.testing.assert_allclose(exact.estimate, sure.unweighted)


def test_what_rows_of_a_table_cannot_tell_counts_as_bias() -> None:
    """Nobody knows on which side of the gap the records of a release lie."""
    table = planning(is_simulated=False)
    assert table.unpenalised_fit is not None
    np.testing.assert_allclose(
        forecast(table, design=LARGE).estimate,
        table.unpenalised_fit.unweighted,
    )
    half = forecast(table, design=LARGE).ci_length / 2.0
    for se, expected in ((0.2, False), (0.3, True)):
        fit = dataclasses.replace(
            table.unpenalised_fit, unweighted=np.zeros(3), unweighted_se=se * half
        )
        made = forecast(
            dataclasses.replace(table, unpenalised_fit=fit),
            design=LARGE,
        )
        np.testing.assert_array_equal(made.is_not_reportable, expected)


@pytest.mark.parametrize("covariance", ["1e-4", "0.3"])
def test_a_starved_half_step_is_in_the_forecast(covariance: str) -> None:
    """With hardly any budget for S the Hessian is released near the penalised coefficients, where
    it is larger: estimates stop short.
    """
    rng = np.random.default_rng(3)
    X = np.c_[rng.normal(size=(6_000, 2)), np.ones(6_000)]
    X /= np.linalg.norm(X, axis=1).max()
    y = np.where(rng.random(6_000) < expit(X @ np.array([9.0, -9.0, 1.0])), 1.0, -1.0)
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=ZCDP(model="50", hessian="50", covariance=covariance),
        regularization=0.001,
        n_records=6_000,
        calibration="sharp",
        target="unpenalised",
    )
    moments = fit_moments(X, y, loss=Logistic(), regularization=0.001, target="unpenalised")
    made = forecast(moments, design=design)
    found = [
        private_intervals(X, y, design=design, rng=np.random.default_rng(k)) for k in range(40)
    ]
    middle = np.mean([one.estimate for one in found], axis=0)
    np.testing.assert_allclose(made.bias + made.estimate, middle, atol=0.1 * made.ci_length.mean())


def test_where_noise_moves_the_hessian_too_far_nothing_is_in_reach() -> None:
    """At a c hardly above the smallest most releases mark every coefficient, which a forecast
    without a draw of the coefficients does not see; r3 does.
    """
    rng = np.random.default_rng(1)
    X = np.c_[rng.uniform(-1.0, 1.0, (20_000, 2)), np.ones(20_000)] / np.sqrt(3.0)
    y = np.where(rng.random(20_000) < expit(X @ np.array([3.0, -2.0, 0.5])), 1.0, -1.0)
    smallest = 0.25 / (2 * 3_000 * np.expm1(0.25))
    for factor, expected in ((1.05, True), (10.0, False)):
        c = factor * smallest
        design = Design(
            loss=Logistic(),
            mechanism="objective",
            budget=PureDP(model="0.25", hessian="0.125", covariance="0.125"),
            regularization=c,
            n_records=3_000,
            calibration="sharp",
            target="unpenalised",
        )
        fit = fit_moments(X, y, loss=Logistic(), regularization=c, target="unpenalised")
        found = forecast(fit, design=design)
        assert (found.validity.grade == "unusable") is expected
        assert found.is_not_reportable.tolist() == [expected] * 3
        assert found.not_estimable_share.max() <= 0.05
