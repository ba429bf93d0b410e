"""The switches of a calibration: each keeps the guarantee, each is attained or attacked, what it
buys is measured.
"""

from __future__ import annotations

import dataclasses
import math
import os

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from dpci_core import (
    ZCDP,
    Calibration,
    Design,
    HuberSVM,
    Logistic,
    PureDP,
    datasets,
    fit_moments,
    forecast,
    private_intervals,
    run_experiment,
)
from dpci_core.mechanisms.matrices import covariance_noise, hessian_noise, unit_noise
from dpci_core.privacy.sensitivity import covariance_sensitivity, hessian_sensitivity
from dpci_core.solvers.risk import PenalisedRisk

LOSSES = [Logistic(), HuberSVM(h=0.5), HuberSVM(h=2.0)]
EVERY = Calibration.published(
    covariance_floor="zero", tight_sensitivity=True, symmetric_noise=True, exact_slope_bound=True
)
BUDGETS = {
    "pure": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    "zcdp": ZCDP(model="0.125", hessian="0.03125", covariance="0.03125"),
}


def design(
    definition="pure", mechanism="objective", loss=None, calibration=EVERY, c=0.001, n=20_000
):
    return Design(
        loss=loss or Logistic(),
        mechanism=mechanism,
        budget=BUDGETS[definition],
        regularization=c,
        n_records=n,
        calibration=calibration,
    )


# --- switches -------------------------------------------------------------------------------------


def test_published_is_every_switch_off():
    assert design(calibration="published").calibration == Calibration.published()
    assert design(calibration="published") == design(calibration=Calibration.published())


@pytest.mark.parametrize(
    "bad",
    [
        {"covariance_floor": "c"},
        {"tight_sensitivity": "yes"},
        {"symmetric_noise": None},
        {"exact_slope_bound": 2},
    ],
)
def test_an_unknown_setting_is_refused_by_name(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Calibration(**bad)
    with pytest.raises(ValueError, match="calibration='sharpest'"):
        design(calibration="sharpest")


# --- tight sensitivities --------------------------------------------------------------------------


def change(A, record, theta, loss):
    B = A.copy()
    B[0] = record
    one, two = (PenalisedRisk(T, loss=loss, regularization=0.1).moments(theta) for T in (A, B))
    return np.linalg.norm(one[0] - two[0]), np.linalg.norm(one[1] - two[1])


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_an_explicit_pair_attains_the_tight_bounds(loss):
    # Orthogonal records of norm 1 with the largest curvature and slope on both.
    n, A = 5, np.zeros((5, 3))
    A[0] = [1, 0, 0]
    record = np.array([0.0, 1.0, 0.0])
    z = 0.0 if isinstance(loss, Logistic) else 1.0
    theta = np.array([z, z, 0.0])
    dH, _ = change(A, record, theta, loss)
    assert dH == pytest.approx(hessian_sensitivity(loss=loss, n_records=n, tight=True), rel=1e-12)
    theta = (
        np.array([-1.0, -1.0, 0.0]) / math.sqrt(2) * (4.0 if isinstance(loss, HuberSVM) else 0.0)
    )
    radius = float(np.linalg.norm(theta))
    _, dS = change(A, record, theta, loss)
    bound = covariance_sensitivity(
        loss=loss, n_records=n, radius=radius, tight=True, exact_slope=True
    )
    assert dS == pytest.approx(bound, rel=1e-12)


@pytest.mark.parametrize("radius", [0.3, 2.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("which", [0, 1])
def test_the_tight_bounds_withstand_a_search(loss, which, radius):
    n, p = 4, 3
    bounds = (
        hessian_sensitivity(loss=loss, n_records=n, tight=True),
        covariance_sensitivity(loss=loss, n_records=n, radius=radius, tight=True, exact_slope=True),
    )

    def minus(v):
        a, b, theta = (x / max(1.0, np.linalg.norm(x)) for x in v.reshape(3, p))
        A = np.zeros((n, p))
        A[0] = a
        return -change(A, b, radius * theta, loss)[which] / bounds[which]

    rng = np.random.default_rng(0)
    starts = sorted((rng.normal(size=3 * p) for _ in range(400)), key=minus)[:4]
    worst = max(
        -minimize(minus, start, method="Nelder-Mead", options={"maxiter": 1500}).fun
        for start in starts
    )
    assert worst <= 1 + 1e-9


@pytest.mark.parametrize("h", [1.5, 2.0, 5.0])
@pytest.mark.parametrize("radius", [0.0, 0.4, 3.0])
def test_the_corner_is_the_true_maximum(h, radius):
    loss = HuberSVM(h=h)
    z = np.linspace(-radius, radius, 20_001)
    assert loss.exact_squared_slope(radius) == pytest.approx(
        float((loss.slope(z) ** 2).max()), rel=1e-12
    )
    assert loss.exact_squared_slope(radius) <= loss.max_squared_slope(radius)


# --- symmetric noise ------------------------------------------------------------------------------

P, M = 3, 6


def isometric(matrices):
    """Diagonal and sqrt 2 times the part above it: keeps the Frobenius norm."""
    i, j = np.triu_indices(P, 1)
    return np.concatenate(
        [np.diagonal(matrices, axis1=1, axis2=2), math.sqrt(2) * matrices[:, i, j]], axis=1
    )


LAW = {"pure": "laplace", "zcdp": "gaussian"}


def draws(kind, symmetric=True, n=20_000):
    rng = np.random.default_rng(1)
    return np.array([unit_noise(P, law=LAW[kind], rng=rng, symmetric=symmetric) for _ in range(n)])


def test_symmetric_laplace_noise_has_the_law_in_half_the_dimensions_and_no_other():
    noise = draws("pure")
    np.testing.assert_array_equal(noise, noise.swapaxes(1, 2))
    vectors = isometric(noise)
    norms = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(norms, np.linalg.norm(noise, axis=(1, 2)))
    assert stats.kstest(norms, stats.gamma(M).cdf).pvalue > 1e-3
    for wrong in (stats.gamma(P * P), stats.gamma(M, scale=1.05), stats.gamma(1)):
        assert stats.kstest(norms, wrong.cdf).pvalue < 1e-6
    directions = vectors / norms[:, None]
    for k in (0, M - 1):
        assert stats.kstest(directions[:, k] ** 2, stats.beta(0.5, (M - 1) / 2).cdf).pvalue > 1e-3


def test_symmetric_gaussian_noise_has_the_published_law():
    vectors = isometric(draws("zcdp"))
    for k in range(M):
        assert stats.kstest(vectors[:, k], stats.norm.cdf).pvalue > 1e-3
        assert stats.kstest(vectors[:, k], stats.norm(scale=1.1).cdf).pvalue < 1e-6
    published = draws("zcdp", symmetric=False)
    published = isometric((published + published.swapaxes(1, 2)) / 2)
    for k in (0, M - 1):
        assert stats.ks_2samp(vectors[:, k], published[:, k]).pvalue > 1e-3


def test_the_forecast_knows_the_spread_of_the_noise():
    for definition in ("pure", "zcdp"):
        for symmetric in (False, True):
            made = design(definition, calibration=Calibration.published(symmetric_noise=symmetric))
            law = hessian_noise(dataclasses.replace(made, n_records=1000))
            entries = law.scale * draws(definition, symmetric)[:, 0, 0]
            assert entries.std() == pytest.approx(law.diagonal_sd(P), rel=0.02)
    pure = [
        hessian_noise(
            dataclasses.replace(
                design(calibration=Calibration.published(symmetric_noise=s)), n_records=1000
            )
        ).diagonal_sd(P)
        for s in (True, False)
    ]
    assert pure[0] / pure[1] == pytest.approx(math.sqrt((M + 1) / (P * P + 1)))


# --- the floor ------------------------------------------------------------------------------------


def test_the_floor_under_the_covariance_goes_and_the_one_under_the_hessian_stays():
    loss = Logistic()
    for calibration, floor in (
        (Calibration.published(), 0.002),
        (Calibration.published(covariance_floor="zero"), 0.0),
    ):
        made = design(calibration=calibration, loss=loss)
        assert covariance_noise(dataclasses.replace(made, n_records=100), 1.0).floor == floor
        assert hessian_noise(dataclasses.replace(made, n_records=100)).floor == 0.002
    X, y = np.full((4000, 2), 0.5), np.tile([1.0, -1.0], 2000)
    made = design("zcdp", "output", calibration=dataclasses.replace(EVERY), c=0.05)
    result = private_intervals(X, y, design=made, rng=np.random.default_rng(0))
    assert np.linalg.eigvalsh(result.covariance)[0] < 0.1
    assert np.linalg.eigvalsh(result.covariance)[0] >= -1e-12
    assert np.linalg.eigvalsh(result.hessian)[0] >= 0.1 - 1e-12


# --- what it buys ---------------------------------------------------------------------------------

SWITCHES = {
    "covariance_floor": Calibration.published(covariance_floor="zero"),
    "tight_sensitivity": Calibration.published(tight_sensitivity=True),
    "symmetric_noise": Calibration.published(symmetric_noise=True),
    "exact_slope_bound": Calibration.published(exact_slope_bound=True),
}


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=1.0)], ids=repr)
def test_no_switch_makes_intervals_longer(definition, mechanism, loss):
    records = datasets.load("census", encoding="paper", features=10, n_rows=20_000)
    moments = fit_moments(records.X, records.y, loss=loss, regularization=0.001)
    published = forecast(moments, design=design(definition, mechanism, loss, "published"))
    every = forecast(moments, design=design(definition, mechanism, loss))
    for name, calibration in SWITCHES.items():
        one = forecast(moments, design=design(definition, mechanism, loss, calibration))
        assert one.ci_length_mean <= published.ci_length_mean * 1.002, name
        assert every.ci_length_mean <= one.ci_length_mean * 1.002
    assert every.ci_length_mean < 0.97 * published.ci_length_mean
    assert every.vi_length_mean == pytest.approx(published.vi_length_mean, rel=1e-9)


def test_the_forecast_holds_with_every_switch_on():
    records = datasets.load("census", encoding="schema", features=6, n_rows=20_000)
    designs = [
        design(definition, mechanism, loss)
        for definition in BUDGETS
        for mechanism in ("objective", "output")
        for loss in (Logistic(), HuberSVM(h=1.5))
    ]
    result = run_experiment(
        records.X,
        records.y,
        designs=designs,
        n_variability=1000,
        n_coverage=400,
        rng=np.random.default_rng(3),
        n_jobs=2,
    )
    for made, found in zip(designs, result.designs, strict=True):
        moments = fit_moments(
            records.X, records.y, loss=made.loss, regularization=made.regularization
        )
        expected = forecast(moments, design=made)
        slack = 3 * found.ci_length_mean_se
        assert (
            abs(found.ci_length_mean - expected.ci_length_mean)
            <= 0.02 * expected.ci_length_mean + slack
        )
        assert abs(found.coverage_mean - expected.coverage_mean) <= 3 * found.coverage_se + 0.007


@pytest.mark.skipif(not os.environ.get("DPCI_SHARED_DATA"), reason="DPCI_SHARED_DATA is not set")
@pytest.mark.parametrize(
    ("key", "n", "definition", "mechanism", "ratio"),
    [
        ("adult", 30_162, "pure", "objective", 1.09),
        ("adult", 30_162, "pure", "output", 1.06),
        ("adult", 30_162, "zcdp", "output", 1.03),
        ("kdd99", 450_000, "zcdp", "output", 1.12),
    ],
)
def test_lengths_come_close_to_the_variability_interval(key, n, definition, mechanism, ratio):
    records = datasets.load(key, encoding="paper", features=10, n_rows=n)
    moments = fit_moments(records.X, records.y, loss=Logistic(), regularization=0.001)
    every = forecast(moments, design=design(definition, mechanism, n=n))
    published = forecast(
        moments, design=design(definition, mechanism, calibration="published", n=n)
    )
    assert every.ci_length_mean / every.vi_length_mean < ratio
    assert published.ci_length_mean / published.vi_length_mean > 1.1
    assert every.coverage_mean > 0.945


def test_a_calibration_travels_with_its_result():
    records = datasets.load("census", encoding="schema", features=2, n_rows=2000)
    result = run_experiment(
        records.X,
        records.y,
        designs=[design(c=0.01, n=2_000)],
        n_variability=4,
        n_coverage=4,
        rng=np.random.default_rng(0),
    )
    again = type(result).from_record(result.to_record())
    assert again.designs[0].design == result.designs[0].design
    assert result.to_record()["designs"][0]["calibration"]["tight_sensitivity"] is True
    made = private_intervals(
        records.X, records.y, design=design(c=0.01, n=2_000), rng=np.random.default_rng(0)
    )
    assert made.to_record()["calibration"]["covariance_floor"] == "zero"
    assert made.is_noise_aware.shape == made.estimate.shape
    assert made.to_record()["is_noise_aware"] == made.is_noise_aware.tolist()
