"""The figures about another package that docs/comparison.md quotes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm

from benchmarks import dp_econometrics as command
from benchmarks.compare import SETS
from dpci_core.base.rows import signed
from dpci_core.losses import Logistic
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk
from tests.benchmarks.test_reproduce import needs_data
from tests.test_docs import ROOT

TEXT = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
N, K, PENALTY = 30_162, 11, 0.002


def test_the_noise_is_too_small_by_the_factor_quoted():
    by_hand = 2.0 / (2.0 * np.sqrt(K) / (N * PENALTY))  # what it needs over what it takes
    assert command.factor_missing(n=N, k=K, penalty=PENALTY) == pytest.approx(by_hand)
    assert f"asks for {by_hand:.0f} times the noise" in " ".join(TEXT.split())


def test_a_label_turned_around_is_told_at_the_epsilon_quoted():
    distance = 1.0 / command.noise_sd(n=N, k=K, penalty=PENALTY)
    epsilon = command.smallest_epsilon(distance)

    def excess(z: float) -> float:  # delta by its definition, for N(0, 1) against N(distance, 1)
        return max(norm.pdf(z) - np.exp(epsilon) * norm.pdf(z - distance), 0.0)

    delta = quad(excess, -12.0, distance / 2.0, points=[-6.0, -4.0], limit=500)[0]
    assert delta == pytest.approx(command.DELTA, rel=1e-3)
    assert f"told at ε = {epsilon:.1f}, not 1" in " ".join(TEXT.split())


def test_a_label_turned_around_shifts_the_noise_by_its_record_and_nothing_else():
    """The step that makes this exact, at coefficients that nobody chose."""
    rng = np.random.default_rng(3)
    x, b = rng.standard_normal((2, 4))

    def gradient(label: float) -> np.ndarray:
        return x * (expit(x @ b) - label)

    def curvature(sign: float) -> float:
        return float(expit(sign * (x @ b)) * expit(-sign * (x @ b)))

    assert gradient(0.0) - gradient(1.0) == pytest.approx(x)
    assert curvature(1.0) == pytest.approx(curvature(-1.0))


@needs_data
def test_the_lengths_quoted_are_those_of_its_formula():
    records = SETS["adult-10"].records()
    rows, loss = signed(records.X, records.y), Logistic()
    c = PENALTY / 2.0
    theta = minimise(PenalisedRisk(rows, loss=loss, regularization=c)).theta
    H, S = PenalisedRisk(rows, loss=loss, regularization=c).moments(theta)
    told = 2.0 * 1.96 * command.standard_errors(H, 0.583, N).mean()
    # of one record: n times the rows make its own part no shorter
    assert told == pytest.approx(2.0 * 1.96 * np.sqrt(np.diag(np.linalg.inv(H))).mean(), rel=1e-3)
    assert f"its mean length is {told:.0f} where" in " ".join(TEXT.split())
    inverse = np.linalg.inv(H)
    honest = 2.0 * 1.96 * np.sqrt(np.diag(inverse @ S @ inverse) / N).mean()
    assert re.search(rf"where {honest:.2f} is the length without privacy", " ".join(TEXT.split()))
