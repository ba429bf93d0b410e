"""The package against literal transcriptions of the paper's algorithms (tests/oracle), in every
combination.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from dpci_core import ZCDP, Design, PureDP, private_intervals
from dpci_core.intervals.inflation import error_variance
from dpci_core.losses import make_loss
from dpci_core.mechanisms.matrices import private_matrix
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.privacy.sensitivity import covariance_sensitivity, hessian_sensitivity
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.oracle import paper

H_WIDTH = 0.5
"""The Huber half-width h."""
REGULARIZATION = 0.01
AMOUNTS = {"pure": ("0.5", "0.25", "0.25"), "zcdp": ("0.125", "0.03125", "0.03125")}
COMBINATIONS = [
    pytest.param(definition, mechanism, loss, id=f"{definition}-{mechanism}-{loss}")
    for definition in ("pure", "zcdp")
    for mechanism in ("objective", "output")
    for loss in ("logistic", "huber_svm", "smoothed_hinge")
]
N_DRAWS = 200_000
"""Monte Carlo draws of the oracle's quantiles in the comparison on the same released quantities."""
N_RUNS = 150
"""Runs of each implementation in the comparison end to end."""
MAX_SE = 5.0
"""Accepted distance in standard errors: a false alarm once in 1.7 million comparisons."""


def make_pair(
    definition: str, mechanism: str, loss: str, level: float = 0.95, n: int = 1_500
) -> tuple[Design, paper.Setting]:
    """The same settings for the package and for the oracle."""
    model, hessian, covariance = AMOUNTS[definition]
    budget = (PureDP if definition == "pure" else ZCDP)(
        model=model, hessian=hessian, covariance=covariance
    )
    design = Design(
        loss=make_loss(loss, H_WIDTH),
        mechanism=mechanism,
        budget=budget,
        regularization=REGULARIZATION,
        n_records=n,
        confidence_level=level,
        calibration="published",
    )
    amounts = (float(model), float(hessian), float(covariance))
    setting = paper.Setting(loss, H_WIDTH, mechanism, definition, amounts, REGULARIZATION, level)
    return design, setting


def simulated_table() -> tuple[np.ndarray, np.ndarray]:
    """1,500 records, two features and the constant."""
    rng = np.random.default_rng(11)
    X = np.column_stack(
        [rng.uniform(-0.6, 0.6, 1500), rng.beta(2, 5, 1500) * 0.5, np.full(1500, 0.6)]
    )
    chance = 1.0 / (1.0 + np.exp(-(3.0 * X[:, 0] - 2.0 * X[:, 1] + 0.5)))
    return X, np.where(rng.random(1500) < chance, 1.0, -1.0)


def adult_slice() -> tuple[np.ndarray, np.ndarray]:
    """2,000 rows of Adult with 4 features in the paper's encoding."""
    if not os.environ.get("DPCI_SHARED_DATA"):
        pytest.skip("Adult is read from the folder in DPCI_SHARED_DATA, which is not set.")
    from dpci_core.datasets import load

    records = load("adult", encoding="paper", features=4, n_rows=2000)
    return records.X, records.y


TABLES = {"simulated": simulated_table, "adult": adult_slice}


def quantile_se(draws: np.ndarray, quantile: np.ndarray, level: float) -> np.ndarray:
    """Standard error of a sample quantile: sqrt(level (1 - level) / m) over the density there."""
    near = np.abs(draws - quantile) <= 0.05 * quantile
    density = near.mean(axis=0) / (0.1 * quantile)
    return np.sqrt(level * (1.0 - level) / len(draws)) / density


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_half_widths_agree_on_the_same_released_quantities(
    definition: str, mechanism: str, loss: str, level: float
) -> None:
    design, setting = make_pair(definition, mechanism, loss, level)
    X, y = simulated_table()
    rng = np.random.default_rng(5)
    ours = private_intervals(X, y, design=design, rng=rng)
    q = (ours.high - ours.low) / 2.0
    if (mechanism, definition) == ("output", "zcdp"):
        oracle = paper.half_widths(ours.hessian, ours.covariance, len(X), setting, rng)
        np.testing.assert_allclose(q, oracle, rtol=1e-7)
        return
    draws = np.abs(paper.error_draws(ours.hessian, ours.covariance, len(X), setting, rng, N_DRAWS))
    oracle = np.quantile(draws, level, axis=0)
    se = quantile_se(draws, oracle, level)
    assert np.all(se < 0.01 * oracle), "The oracle is too noisy to tell anything."
    assert np.all(np.abs(q - oracle) <= MAX_SE * se), (q - oracle) / se


@pytest.mark.parametrize(("definition", "mechanism", "loss"), COMBINATIONS)
def test_quantile_comparison_sees_three_percent(definition: str, mechanism: str, loss: str) -> None:
    design, setting = make_pair(definition, mechanism, loss)
    X, _ = simulated_table()
    H, S = 0.1 * np.eye(3), 0.05 * np.eye(3)
    draws = np.abs(paper.error_draws(H, S, len(X), setting, np.random.default_rng(6), N_DRAWS))
    law = error_variance(
        H,
        S,
        mechanism=design.mechanism,
        noise=model_noise(design),
        n_records=len(X),
    )
    q = law.half_width(dim=3, confidence_level=0.95)
    oracle = np.quantile(draws, 0.95, axis=0)
    se = quantile_se(draws, oracle, 0.95)
    assert np.all(np.abs(q - oracle) <= MAX_SE * se)
    assert np.all(np.abs(1.03 * q - oracle) > MAX_SE * se)


def sd_with_se(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column standard deviations and their standard errors, from the fourth moment."""
    centred = sample - sample.mean(axis=0)
    var, fourth = (centred**2).mean(axis=0), (centred**4).mean(axis=0)
    return np.sqrt(var), np.sqrt((fourth - var**2) / len(sample)) / (2.0 * np.sqrt(var))


def mean_with_se(sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Column means and their standard errors."""
    return sample.mean(axis=0), sample.std(axis=0, ddof=1) / np.sqrt(len(sample))


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm", "smoothed_hinge"])
def test_fit_moments_and_sensitivities_agree(loss: str, scale: float) -> None:
    # The differences that a comparison of whole runs is too noisy to see.
    design, setting = make_pair("pure", "output", loss)
    X, y = simulated_table()
    A, n = y[:, None] * X, len(X)
    fitted = (
        Newton().minimise(PenalisedRisk(A, loss=design.loss, regularization=REGULARIZATION)).theta
    )
    np.testing.assert_allclose(fitted, paper.minimise(X, y, setting), atol=1e-4)
    theta = scale * np.array([2.0, -1.0, 0.5])
    H, S = PenalisedRisk(A, loss=design.loss, regularization=REGULARIZATION).moments(theta)
    np.testing.assert_allclose(
        H, paper.hessian_matrix(X, y, theta, setting), rtol=1e-10, atol=1e-13
    )
    np.testing.assert_allclose(
        S, paper.gradient_covariance(X, y, theta, setting), rtol=1e-10, atol=1e-13
    )
    radius = float(np.linalg.norm(theta))
    ours = hessian_sensitivity(loss=design.loss, n_records=n)
    assert ours == pytest.approx(paper.sensitivity_of_hessian(n, setting), rel=1e-12)
    ours = covariance_sensitivity(loss=design.loss, n_records=n, radius=radius)
    assert ours == pytest.approx(paper.sensitivity_of_covariance(n, theta, setting), rel=1e-12)


@pytest.mark.parametrize("floor_binds", [False, True])
@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_private_matrices_agree(definition: str, floor_binds: bool) -> None:
    _, setting = make_pair(definition, "output", "logistic")
    M, amount, sensitivity = np.diag([0.5, 0.3, 0.2]), 0.25, 0.02 if floor_binds else 0.002
    rng, n_draws = np.random.default_rng(13), 3000
    arguments = {
        "sensitivity": sensitivity,
        "amount": amount,
        "kind": definition,
        "floor": 2.0 * REGULARIZATION,
    }
    ours = np.array(
        [private_matrix(M, rng=rng, **arguments).matrix for _ in range(n_draws)]
    ).reshape(n_draws, 9)
    oracle = [paper.algorithm_2(M, sensitivity, amount, setting, rng) for _ in range(n_draws)]
    for statistic in (mean_with_se, sd_with_se):
        (a, se_a), (b, se_b) = statistic(ours), statistic(np.reshape(oracle, (n_draws, 9)))
        assert np.all(np.abs(a - b) <= MAX_SE * np.hypot(se_a, se_b))


@pytest.mark.parametrize(
    ("definition", "mechanism", "loss", "table"),
    [
        *((*given.values, "simulated") for given in COMBINATIONS),
        ("pure", "objective", "logistic", "adult"),
        ("pure", "output", "huber_svm", "adult"),
        ("zcdp", "objective", "smoothed_hinge", "adult"),
        ("zcdp", "output", "logistic", "adult"),
    ],
)
def test_lengths_and_spread_agree_end_to_end(
    definition: str, mechanism: str, loss: str, table: str
) -> None:
    X, y = TABLES[table]()
    design, setting = make_pair(definition, mechanism, loss)
    ours = [
        private_intervals(X, y, design=design, rng=np.random.default_rng([1, i]))
        for i in range(N_RUNS)
    ]
    oracle = [
        paper.intervals(X, y, setting, np.random.default_rng([2, i]), m=4000) for i in range(N_RUNS)
    ]
    estimates = np.array([r.estimate for r in ours]), np.array([theta for theta, _ in oracle])
    lengths = np.array([r.length for r in ours]), np.array([2.0 * q for _, q in oracle])
    for what, statistic, samples in (
        ("mean length", mean_with_se, lengths),
        ("mean estimate", mean_with_se, estimates),
        ("sd of the estimates", sd_with_se, estimates),
    ):
        (a, se_a), (b, se_b) = (statistic(s) for s in samples)
        distance = (a - b) / np.hypot(se_a, se_b)
        assert np.all(np.abs(distance) <= MAX_SE), (
            f"{what}: {a} against {b}, {distance} standard errors"
        )
