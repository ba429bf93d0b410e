"""The forecast against brute force, its monotonicity, its contrasts and its validity grades."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from dpci_core import (
    ZCDP,
    Design,
    HuberSVM,
    Logistic,
    Moments,
    PureDP,
    SmoothedHinge,
    fit_moments,
    forecast,
    private_intervals,
)
from dpci_core.design import MECHANISMS
from dpci_core.intervals.forecast import _CUTS as NOISE_CUTS
from dpci_core.intervals.inflation import error_variance
from dpci_core.mechanisms.matrices import fixed_draws, hessian_noise, noise_scale, unit_noise
from dpci_core.mechanisms.mechanism import mechanism_named, model_noise
from dpci_core.privacy.budget import definition_named
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.sensitivity import hessian_sensitivity

N_RECORDS = 4000
REGULARIZATION = 0.005
N_RUNS = 150
"""Bootstrap replicates behind each brute-force comparison."""
LOSSES = {
    "logistic": Logistic(),
    "huber_svm": HuberSVM(h=0.5),
    "smoothed_hinge": SmoothedHinge(h=0.5),
}
AMOUNTS = {"pure": ("0.5", "0.25", "0.25"), "zcdp": ("0.125", "0.03125", "0.03125")}
COMBINATIONS = [
    pytest.param(*names, id="-".join(names))
    for names in itertools.product(("pure", "zcdp"), ("objective", "output"), LOSSES)
]


def make_table(n: int = N_RECORDS) -> tuple[np.ndarray, np.ndarray]:
    """n records with three features and the constant, row norms at most 1."""
    rng = np.random.default_rng(21)
    X = np.column_stack(
        [
            rng.uniform(-0.5, 0.5, n),
            rng.beta(2, 5, n) * 0.5,
            rng.integers(0, 2, n) * 0.4,
            np.full(n, 0.5),
        ]
    )
    chance = 1.0 / (1.0 + np.exp(-(3.0 * X[:, 0] - 2.0 * X[:, 1] + X[:, 2])))
    return X, np.where(rng.random(n) < chance, 1.0, -1.0)


@pytest.fixture(scope="module")
def moments() -> dict[str, Moments]:
    """One fit per loss."""
    X, y = make_table()
    return {
        name: fit_moments(X, y, loss=loss, regularization=REGULARIZATION)
        for name, loss in LOSSES.items()
    }


def make_design(
    definition: str, mechanism: str, loss: str, amounts: Sequence[str | float] | None = None
) -> Design:
    model, hessian, covariance = amounts or AMOUNTS[definition]
    kind = PureDP if definition == "pure" else ZCDP
    budget = kind(model=model, hessian=hessian, covariance=covariance)
    return Design(
        loss=LOSSES[loss],
        mechanism=mechanism,
        budget=budget,
        regularization=REGULARIZATION,
        n_records=N_RECORDS,
        calibration="published",
    )


def test_of_long_arrays_a_result_shows_the_shape(moments: dict[str, Moments]) -> None:
    design = make_design("pure", "output", "logistic")
    few = forecast(moments["logistic"], design=design)
    many = dataclasses.replace(few, estimate=np.arange(13.0))
    assert repr(few).startswith(f"Forecast(estimate={few.estimate!r}, ")
    assert repr(many).startswith("Forecast(estimate=array (13,), ")
    for made in (moments["logistic"], few):
        assert len(repr(made)) < 1500


@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_forecast_agrees_with_brute_force(
    definition: str, mechanism: str, loss: str, moments: dict[str, Moments]
) -> None:
    X, y = make_table()
    design = make_design(definition, mechanism, loss)
    expected = forecast(moments[loss], design=design)
    assert expected.validity.grade == "valid"
    runs = []
    for i in range(N_RUNS):
        rng = np.random.default_rng([17, i])
        rows = rng.integers(0, len(X), len(X))
        runs.append(private_intervals(X[rows], y[rows], design=design, rng=rng))
    root = np.sqrt(N_RUNS)

    by_coefficient = np.array([r.length for r in runs])
    tolerance = 0.02 * by_coefficient.mean(axis=0) + 4.0 * by_coefficient.std(axis=0, ddof=1) / root
    assert np.all(np.abs(expected.ci_length - by_coefficient.mean(axis=0)) <= tolerance)
    assert expected.ci_length_mean == pytest.approx(expected.ci_length.mean(), rel=1e-12)
    lengths = by_coefficient.mean(axis=1)
    tolerance = 0.02 * lengths.mean() + 4.0 * lengths.std(ddof=1) / root
    assert abs(expected.ci_length_mean - lengths.mean()) <= tolerance

    truth = moments[loss].theta_hat
    covered = np.array([((r.low <= truth) & (truth <= r.high)).mean() for r in runs])
    tolerance = 0.007 + 3.0 * covered.std(ddof=1) / root
    assert abs(expected.coverage_mean - covered.mean()) <= tolerance

    errors = np.array([r.estimate - truth for r in runs])
    law = error_variance(
        moments[loss].hessian,
        moments[loss].covariance,
        mechanism=design.mechanism,
        noise=model_noise(design),
        n_records=N_RECORDS,
    )
    predicted = np.sqrt(law.normal + law.laplace * (len(truth) + 1) / 2.0)
    np.testing.assert_allclose(
        expected.vi_length, 2.0 * law.half_width(dim=len(truth), confidence_level=0.95)
    )
    spread = errors.std(axis=0, ddof=1)
    fourth = ((errors - errors.mean(axis=0)) ** 4).mean(axis=0)
    spread_se = np.sqrt((fourth - spread**4) / N_RUNS) / (2.0 * spread)
    assert np.all(np.abs(predicted - spread) <= 0.05 * spread + 4.0 * spread_se)


@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_same_question_same_answer(
    definition: str, mechanism: str, loss: str, moments: dict[str, Moments]
) -> None:
    design = make_design(definition, mechanism, loss)
    first, second = (forecast(moments[loss], design=design) for _ in range(2))
    for field in dataclasses.fields(first):
        np.testing.assert_array_equal(
            getattr(first, field.name), getattr(second, field.name), err_msg=field.name
        )


def test_n_records_is_a_free_number(moments: dict[str, Moments]) -> None:
    design = make_design("zcdp", "output", "logistic")
    default = forecast(moments["logistic"], design=design)
    same = forecast(moments["logistic"], design=design)
    huge = forecast(
        moments["logistic"], design=dataclasses.replace(design, n_records=100 * N_RECORDS)
    )
    np.testing.assert_array_equal(default.ci_length, same.ci_length)
    assert (default.n_records, huge.n_records) == (N_RECORDS, 100 * N_RECORDS)
    np.testing.assert_allclose(huge.nonprivate_length, default.nonprivate_length / 10.0)
    assert np.all(huge.vi_length < default.vi_length / 10.0)
    with pytest.raises(ValueError, match="n_records=0"):
        forecast(moments["logistic"], design=dataclasses.replace(design, n_records=0))


def test_moments_of_another_fit_are_rejected(moments: dict[str, Moments]) -> None:
    design = make_design("pure", "output", "logistic")
    with pytest.raises(ValueError, match=r"Expected moments of loss Logistic\(\)"):
        forecast(moments["huber_svm"], design=design)
    with pytest.raises(ValueError, match=r"Expected moments of loss HuberSVM\(h=0\.4\)"):
        forecast(moments["huber_svm"], design=dataclasses.replace(design, loss=HuberSVM(h=0.4)))
    with pytest.raises(ValueError, match=r"Expected moments at regularization=0\.006"):
        forecast(moments["logistic"], design=dataclasses.replace(design, regularization=0.006))


MAX_RISE = 0.005
"""Relative rise of the mean length with more budget that still counts as none: the error of 64
fixed draws.
"""
amount_lists = st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(scales=amount_lists, part=st.integers(0, 2), more=st.floats(0.01, 1.0))
@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_more_budget_is_never_longer(
    definition: str,
    mechanism: str,
    loss: str,
    moments: dict[str, Moments],
    scales: list[float],
    part: int,
    more: float,
) -> None:
    amounts = [float(a) * 10.0**s for a, s in zip(AMOUNTS[definition], scales, strict=True)]
    raised = [a * (10.0**more if i == part else 1.0) for i, a in enumerate(amounts)]
    short, long = (
        forecast(moments[loss], design=make_design(definition, mechanism, loss, a))
        for a in (raised, amounts)
    )
    assert short.ci_length_mean <= long.ci_length_mean * (1.0 + MAX_RISE)
    assert short.vi_length_mean <= long.vi_length_mean * (1.0 + 1e-12)


@settings(derandomize=True, max_examples=30, deadline=None)
@given(n=st.integers(500, 1_000_000), factor=st.floats(1.001, 20.0))
@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_more_records_are_never_longer(
    definition: str, mechanism: str, loss: str, moments: dict[str, Moments], n: int, factor: float
) -> None:
    design = make_design(definition, mechanism, loss)
    long, short = (
        forecast(moments[loss], design=dataclasses.replace(design, n_records=m))
        for m in (n, int(n * factor) + 1)
    )
    assert short.ci_length_mean <= long.ci_length_mean * (1.0 + MAX_RISE)
    assert short.vi_length_mean <= long.vi_length_mean


FIELDS = ("ci_length", "ci_length_sd", "vi_length", "nonprivate_length")


@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_contrasts(definition: str, mechanism: str, loss: str, moments: dict[str, Moments]) -> None:
    design = make_design(definition, mechanism, loss)
    plain = forecast(moments[loss], design=design)
    identity = forecast(moments[loss], design=design, contrasts=np.eye(4))
    scale = np.array([2.0, -3.0, 0.5, 10.0])
    scaled = forecast(moments[loss], design=design, contrasts=np.diag(scale))
    two = forecast(
        moments[loss],
        design=design,
        contrasts=np.array([[0.0, 2.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0]]),
    )
    for name in FIELDS:
        lengths = getattr(plain, name)
        np.testing.assert_array_equal(getattr(identity, name), lengths)
        np.testing.assert_allclose(getattr(scaled, name), np.abs(scale) * lengths, rtol=1e-10)
        np.testing.assert_allclose(getattr(two, name)[0], 2.0 * lengths[1], rtol=1e-10)
    np.testing.assert_allclose(scaled.coverage, plain.coverage, rtol=1e-10)
    # The variance of a difference is at most twice the sum of the variances: sqrt 2 in lengths, and
    # a little for the shape of the law.
    assert np.all(two.vi_length[1] <= 1.5 * np.hypot(*plain.vi_length[:2]))
    assert two.validity == plain.validity


@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_sixteen_draws_stay_close(
    definition: str, mechanism: str, loss: str, moments: dict[str, Moments]
) -> None:
    design = make_design(definition, mechanism, loss)
    full = forecast(moments[loss], design=design)
    quick = forecast(moments[loss], design=design, n_draws=16)
    assert full.validity.grade == "valid"
    assert quick.ci_length_mean == pytest.approx(full.ci_length_mean, rel=0.02)


def mean_length_of_runs(design: Design) -> float:
    """Mean interval length over bootstrap replicates."""
    X, y = make_table()
    lengths = []
    for i in range(N_RUNS):
        rng = np.random.default_rng([19, i])
        rows = rng.integers(0, len(X), len(X))
        lengths.append(private_intervals(X[rows], y[rows], design=design, rng=rng).length.mean())
    return float(np.mean(lengths))


def test_grades_tell_a_good_forecast_from_a_bad_one(moments: dict[str, Moments]) -> None:
    good = make_design("pure", "objective", "huber_svm", ("0.2", "0.5", "0.5"))
    bad = make_design("pure", "objective", "huber_svm", ("0.03", "0.5", "0.5"))
    expected_good, expected_bad = (forecast(moments["huber_svm"], design=d) for d in (good, bad))
    assert expected_good.validity.grade == "valid"
    assert expected_good.ci_length_mean == pytest.approx(mean_length_of_runs(good), rel=0.04)
    assert expected_bad.validity.grade == "unusable"
    assert expected_bad.ci_length_mean < 0.8 * mean_length_of_runs(bad)


_ALIKE = {"newton": "objective"}
"""Mechanisms whose noise moves a Hessian alike, and so with the same limits."""
_CUTS = NOISE_CUTS | {
    f"r3 {name}": mechanism_named(name).drift_limits for name in MECHANISMS if name not in _ALIKE
}
PARTS = {"r1": 1, "r2": 2, "r3 objective": 0, "r3 output": 0}
"""Which amount drives which ratio."""


def design_with_ratio(cut: str, target: float, moments: Moments, mechanism: str) -> Design:
    """A design with generous amounts, but for the one that brings the ratio named by `cut` to
    `target`.
    """

    def design_at(log_amount: float) -> Design:
        amounts = ["20", "20", "20"]
        amounts[PARTS[cut]] = repr(float(np.exp(log_amount)))
        return make_design("pure", mechanism, "logistic", tuple(amounts))

    def gap(log_amount: float) -> float:
        ratio = getattr(
            forecast(moments, design=design_at(log_amount), n_draws=2).validity, cut.split()[0]
        )
        return float(np.log(max(ratio, 1e-12) / target))

    smallest = (
        0.00626 if cut == "r3 objective" else 1e-6
    )  # log(1 + t/(2nc)) = 0.00623: objective perturbation needs more
    return design_at(float(brentq(gap, np.log(smallest), np.log(20.0), xtol=1e-6)))


@pytest.mark.parametrize("side", ["below", "between", "above"])
@pytest.mark.parametrize("cut", PARTS)
def test_validity_on_both_sides_of_each_cut(
    cut: str, side: str, moments: dict[str, Moments]
) -> None:
    assert {*PARTS, "r4"} == set(_CUTS), "A cut without a test."
    for one, other in _ALIKE.items():
        assert mechanism_named(one).drift_limits == mechanism_named(other).drift_limits
    valid, rough = _CUTS[cut]
    mechanism = "objective" if cut == "r3 objective" else "output"
    target = {"below": 0.97 * valid, "between": 1.03 * valid, "above": 1.03 * rough}[side]
    fit = moments["logistic"]
    # The drift of this table levels off at 0.65; half as much again brings every cut within reach.
    drift = dataclasses.replace(
        fit.drift, output=1.5 * fit.drift.output, objective=1.5 * fit.drift.objective
    )
    fit = dataclasses.replace(fit, drift=drift)
    validity = forecast(fit, design=design_with_ratio(cut, target, fit, mechanism)).validity
    assert getattr(validity, cut.split()[0]) == pytest.approx(target, rel=1e-3)
    assert validity.grade == {"below": "valid", "between": "rough", "above": "unusable"}[side]
    assert (validity.grade == "valid") == (side == "below")
    assert len(validity.reasons) == (side != "below")
    words = {
        "r1": "the noise on the hessian",
        "r2": "gradient covariance",
        "r3": "noise on the coefficients",
    }
    for reason in validity.reasons:
        assert words[cut.split()[0]] in reason.lower()
        assert f"{valid:g}" in reason


@pytest.mark.parametrize("side", ["below", "between", "above"])
def test_few_records_are_no_privacy_effect_and_are_seen(
    side: str, moments: dict[str, Moments]
) -> None:
    valid, rough = _CUTS["r4"]
    target = {"below": 0.97 * valid, "between": 1.05 * valid, "above": 1.05 * rough}[side]
    fit = moments["logistic"]
    design = make_design("pure", "output", "logistic", ("20000", "20000", "20000"))
    now = forecast(fit, design=design).validity.r4
    assert 0.0 < now < valid
    alike = forecast(
        dataclasses.replace(fit, leverage_correction=fit.covariance), design=design
    ).validity.r4
    fit = dataclasses.replace(fit, leverage_correction=fit.covariance * (target / alike))
    validity = forecast(fit, design=design).validity
    assert validity.r4 == max(validity.r4_each) == pytest.approx(target, rel=1e-9)
    assert min(validity.r4_each) == pytest.approx(target, rel=0.01)  # of all coefficients alike
    assert validity.is_decided_by_few == (side != "below",) * len(fit.theta_hat)
    assert validity.grade == {"below": "valid", "between": "rough", "above": "unusable"}[side]
    assert ["too small" in reason for reason in validity.reasons] == [True] * (side != "below")
    half = forecast(
        fit, design=dataclasses.replace(design, n_records=2 * fit.n_records)
    ).validity.r4
    assert half == pytest.approx(target / 2.0, rel=0.01)
    unknown = forecast(dataclasses.replace(fit, leverage_correction=None), design=design).validity
    assert (unknown.r4, unknown.r4_each, unknown.is_decided_by_few) == (0.0, (), ())


HUGE = PureDP(model="2e4", hessian="2e4", covariance="2e4")


def test_a_rare_level_is_marked_and_the_others_stay() -> None:
    """One record in 1,000 has the level: its coefficient alone is decided by few."""
    rng = np.random.default_rng(1)
    n = 4_000
    X = np.c_[rng.uniform(-1, 1, (n, 2)), np.arange(n) % 1_000 == 0, np.ones(n)] / 2.0
    y = np.where(rng.random(n) < 0.5 + X[:, 0] / 2.0, 1.0, -1.0)
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=HUGE,
        regularization=1e-5,
        n_records=n,
        calibration="published",
    )
    fit = fit_moments(X, y, loss=design.loss, regularization=1e-5)
    validity = forecast(fit, design=design).validity
    assert validity.is_decided_by_few == (False, False, True, False)
    assert validity.grade == "rough"
    (reason,) = validity.reasons_of(["age", "income", "town=North", "constant"])
    assert "So few records decide town: North that the variance" in reason
    assert max(np.delete(validity.r4_each, 2)) < 0.01
    worse = dataclasses.replace(
        fit, leverage_correction=10.0 * fit.leverage_correction
    )  # beyond the second limit
    again = forecast(worse, design=design).validity
    assert again.r4 > _CUTS["r4"][1]
    assert (again.grade, again.is_decided_by_few) == ("rough", validity.is_decided_by_few)


def test_few_records_on_a_separable_table_decide_every_coefficient() -> None:
    """Between two clouds the same few rows have a slope: they are in every variance, and no
    coefficient, the intercept neither, is worse off than the others by much.
    """
    rng = np.random.default_rng(2)
    n, d = 1_000, 20
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = 0.3 * rng.standard_normal((n, d))
    X[:, :3] += 1.5 * y[:, None]
    X = np.c_[X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None], np.ones(n)] / 2.0**0.5
    X /= 1.0 + 1e-9
    design = Design(
        loss=HuberSVM(h=0.1),
        mechanism="output",
        budget=HUGE,
        regularization=1e-3,
        n_records=n,
        calibration="published",
    )
    fit = fit_moments(X, y, loss=design.loss, regularization=1e-3)
    validity = forecast(fit, design=design, n_draws=2).validity
    assert validity.is_decided_by_few == (True,) * (d + 1)
    assert max(validity.r4_each) < 2.0 * min(validity.r4_each)


def test_the_variance_is_seen_too_small_by_r4() -> None:
    """Two clouds apart, so that few rows have a slope: what samples see against what they do."""
    rng = np.random.default_rng(4)
    y = np.where(rng.random(4000) < 0.5, 1.0, -1.0)
    X = np.c_[0.3 * rng.standard_normal((4000, 2)) + y[:, None], np.ones(4000)]
    X /= np.linalg.norm(X, axis=1)[:, None] * (1.0 + 1e-9)
    loss, c, n = HuberSVM(h=0.5), 1e-3, 300
    whole = fit_moments(X, y, loss=loss, regularization=c)
    fits = []
    for _ in range(100):
        rows = rng.integers(0, len(y), n)
        fits.append(fit_moments(X[rows], y[rows], loss=loss, regularization=c, with_drift=False))
    inverse = np.linalg.inv(whole.hessian)
    seen = np.mean([inverse @ fit.covariance @ inverse for fit in fits], axis=0).diagonal()
    true = (inverse @ whole.covariance @ inverse).diagonal()
    lost = (inverse @ whole.leverage_correction @ inverse).diagonal() / n
    assert (lost / true).min() > 0.1
    assert 1.0 - seen / true == pytest.approx(lost / true, abs=0.06)


# --- constants, one by one ------------------------------------------------------------------------


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_matrix_noise_has_the_size_of_the_real_one(
    definition: str, moments: dict[str, Moments]
) -> None:
    design = make_design(definition, "output", "logistic", ("0.5", "0.3", "0.2"))
    fit, n = moments["logistic"], 4000
    sd_h = hessian_noise(dataclasses.replace(design, n_records=n)).diagonal_sd(len(fit.theta_hat))
    rng, p = np.random.default_rng(0), len(fit.theta_hat)
    bound = hessian_sensitivity(loss=design.loss, n_records=n)
    scale = noise_scale(sensitivity=bound, amount=0.3, kind=definition)
    diagonal = np.array(
        [
            scale * np.diag(unit_noise(p, law=definition_named(definition).law, rng=rng))
            for _ in range(8000)
        ]
    )
    assert diagonal.std() == pytest.approx(sd_h, rel=0.02)


def test_unit_draws_have_the_spread_of_spherical_laplace_noise() -> None:
    p = 2
    draws = fixed_draws(p, n_draws=400_000, law="laplace", symmetric=False, seed=1)
    entries = draws[:, 0, 0]
    assert entries.var() == pytest.approx(1.0, rel=0.03)
    # E W^2 / (E W)^2 = 1 + 1/shape with shape (p^2 + 1)/2, so the kurtosis is 3 (1 + 2/(p^2 + 1)).
    assert np.mean(entries**4) == pytest.approx(3.0 * (1.0 + 2.0 / (p * p + 1.0)), rel=0.05)
    assert draws[:, 0, 1].var() == pytest.approx(0.5, rel=0.03)


def test_r1_is_the_noise_over_the_smallest_eigenvalue(moments: dict[str, Moments]) -> None:
    design = make_design("zcdp", "output", "logistic", ("0.5", "0.02", "0.2"))
    fit, n = moments["logistic"], 4000
    p = len(fit.theta_hat)
    sd = 0.25 * 2 / n / np.sqrt(2 * 0.02)
    expected = sd * np.sqrt(2 * p) / np.linalg.eigvalsh(fit.hessian)[0]
    assert forecast(
        fit, design=dataclasses.replace(design, n_records=n)
    ).validity.r1 == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dim", [1, 4, 11])
def test_the_variance_of_model_noise_is_that_of_its_draws(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for noise in (NoiseLaw(rate=2.0), NoiseLaw(sd=0.3)):
        draws = np.array([noise.sample(dim, rng) for _ in range(30_000)])
        assert draws.var() == pytest.approx(noise.variance(dim), rel=0.05)
        unit = NoiseLaw(rate=1.0) if noise.rate else NoiseLaw(sd=1.0)
        assert noise.variance(dim) == pytest.approx(noise.scale**2 * unit.variance(dim))
