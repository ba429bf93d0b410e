"""The forecast of a target without penalty against noise that is really drawn: its error law in one
dimension, coverage, length and bias of whole experiments, and what counts as out of reach.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

from dpci_core import (
    ZCDP,
    Design,
    Logistic,
    Moments,
    PureDP,
    fit_moments,
    forecast,
    run_experiment,
)
from dpci_core.base.rows import WeightedRows
from dpci_core.design import MechanismName
from dpci_core.intervals._newton_step import unpenalised_error
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.moments import WithoutPenalty

Array = np.ndarray

# --- one dimension --------------------------------------------------------------------------------

CELLS = np.array([1.0, -1.0, 0.6, -0.6, 0.3, -0.3])
"""y x of a table with one coefficient, as often as a true coefficient of 3 says."""
SHARE = np.array([0.5, 0.5, 0.3, 0.3, 0.2, 0.2]) * expit(3.0 * CELLS)
C1, N1, N_RUNS = 0.02, 4_000, 200_000


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
    """Noise of about twice the sampling error."""
    sd = 25.0 if mechanism == "objective" else 0.09
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
    truth = WithoutPenalty(
        star,
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
    """Its standard deviation to 3 %, from records and noise that are drawn anew in every run; the
    third derivative makes more of a difference than that.
    """
    rng, noise = np.random.default_rng(2), law_of(mechanism, kind)
    counts = rng.multinomial(N1, SHARE, size=N_RUNS).astype(np.float64)
    b = (
        rng.normal(0.0, noise.sd, N_RUNS)
        if noise.sd is not None
        else rng.laplace(0.0, 1.0 / noise.rate, N_RUNS)
    )
    is_objective = mechanism == "objective"
    theta = fitted(counts, b if is_objective else np.zeros(N_RUNS), C1)
    theta = theta if is_objective else theta + b
    sd_h = sd_s = 4e-4
    at = theta
    if is_half:
        at = theta + C1 * theta / (slope_square(counts, theta) + rng.normal(0.0, sd_s, N_RUNS))
    K = curvature(counts, at) + rng.normal(0.0, sd_h, N_RUNS)
    estimate = theta + 2.0 * C1 * theta / K

    moments, H = one_moments(is_half)
    assert moments.without_penalty is not None
    loss = Logistic()
    if not is_half:
        monkeypatch.setattr("dpci_core.intervals._newton_step.is_halfway", lambda design: False)
    design = Design(
        loss=loss,
        mechanism=mechanism,
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=C1,
        target="unpenalised",
    )
    T = H / (H - 2.0 * C1)
    law = unpenalised_error(moments, H, np.eye(1), T, design=design, noise=noise, n_records=N1)
    k = float(H[0, 0]) - 2.0 * C1
    extra = (2.0 * C1 * sd_h * float(moments.theta_hat[0]) / k**2) ** 2
    expected = float(np.sqrt(law.total(1)[0] + extra))
    print(expected / estimate.std(), noise, law, extra)
    assert expected == pytest.approx(float(estimate.std()), rel=0.03)
    assert (law.laplace[0] > 0.0) == (kind == "pure")
    bent = float((moments.without_penalty.hessian - moments.hessian + 2.0 * C1)[0, 0]) / k
    assert abs(bent) > 0.1, "or the third derivative would not be seen"
    bias = float(moments.theta_hat[0] * T[0, 0] - moments.without_penalty.theta[0])
    if is_half:
        assert abs(float(estimate.mean()) - 3.0 - bias) < 0.15 * expected


# --- whole experiments ----------------------------------------------------------------------------

N, C, N_REPLICATES = 2_500, 0.004, 500
BUDGETS = {
    "pure": PureDP(model="3", hessian="2", covariance="1"),
    "zcdp": ZCDP(model="0.5", hessian="0.3", covariance="0.1"),
}
MECHANISMS: tuple[MechanismName, ...] = ("objective", "output")
CASES = list(itertools.product(MECHANISMS, BUDGETS))


def table(kind: str, n: int = N) -> tuple[Array | WeightedRows, Array]:
    """Two features and the constant; a coefficient that a penalty moves far."""
    rng = np.random.default_rng(12)
    X = np.c_[rng.normal(size=(n, 2)), np.ones(n)] / 1.9
    y = np.where(rng.random(n) < expit(X @ np.array([1.6, -1.1, 0.4])), 1.0, -1.0)
    squares = np.einsum("ij,ij->i", X, X)
    if kind == "weighted":
        return WeightedRows(X, np.minimum(1.0, (1.0 - 1e-12) / squares)), y
    return X / max(1.0, np.sqrt(squares.max())), y


def design_of(mechanism: str = "objective", budget: str = "pure", **changes: Any) -> Design:
    given = {
        "loss": Logistic(),
        "mechanism": mechanism,
        "budget": BUDGETS[budget],
        "regularization": C,
        "calibration": "sharp",
        "target": "unpenalised",
    }
    return Design(**(given | changes))


@pytest.mark.parametrize("kind", ["plain", "weighted"])
def test_the_forecast_against_experiments(kind: str) -> None:
    """Coverage, length and bias within three Monte Carlo errors, length also 2 %, for both
    mechanisms and definitions, where the step is long against the half-width.
    """
    X, y = table(kind)
    c = C if kind == "weighted" else C / 10.0
    designs = [design_of(*case, regularization=c) for case in CASES]
    moments = fit_moments(X, y, loss=Logistic(), regularization=c, target="unpenalised")
    assert moments.without_penalty is not None
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
        way = np.abs(moments.without_penalty.meant - moments.theta_hat)
        print(way / expected.ci_length * 2)
        assert way[0] > 0.1 * expected.ci_length[0] / 2.0, "or there would be no step to see"
        np.testing.assert_allclose(result.theta_hat, moments.without_penalty.meant, rtol=1e-9)
        error = np.sqrt(0.95 * 0.05 / N_REPLICATES)
        np.testing.assert_allclose(
            result.coverage, expected.coverage, atol=3.0 * error, err_msg=str(case)
        )
        error = result.ci_length_sd / np.sqrt(N_REPLICATES)
        np.testing.assert_array_less(
            np.abs(result.ci_length - expected.ci_length),
            3.0 * error + 0.02 * expected.ci_length,
            err_msg=str(case),
        )
        middle = (result.vi_high + result.vi_low) / 2.0 - result.theta_hat
        print(
            case,
            result.coverage,
            expected.coverage,
            result.ci_length / expected.ci_length,
            middle,
            expected.bias,
            result.vi_length / expected.vi_length,
        )
