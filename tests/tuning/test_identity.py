"""The law of what a private choice publishes, (index, model), in two dimensions: samples of
`select_privately` against the density of docs/proofs/selection.md, p_i(h | T) w_i(h, T).

w_i, the chance that i wins with the model h, is a quadrature over the other model's noise. Losses
and minimisers come from tests/oracle; rates and the scale of the choice are typed from the budget.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpci_core import Logistic
from dpci_core.tuning import Candidate, Learner, select_privately, selection
from tests.mechanisms.test_audit import log_density_objective
from tests.oracle import paper

TRAIN = np.array([[0.9, 0.3], [-0.5, 0.8], [-0.2, -0.9]])
NEIGHBOUR = np.vstack([[-0.9, -0.4], TRAIN[1:]])
SCORING = np.array([[0.9, 0.1], [0.3, 0.9]])
N, C = len(TRAIN), (0.3, 0.05)
EPSILON = 8.0
EACH, SCALE = 4.0, 0.25
"""beta_T = 1 (the range), beta_V = 1/2: half of epsilon for each training, the scale 1 / 4."""
RATES = ((EACH - math.log1p(0.25 / (2 * N * C[0]))) / 2, N * C[1] * EACH)
"""Of the noise vector of the first candidate, in the objective, and of the second, on its model."""
CANDIDATES = tuple(
    Candidate(learner=Learner(loss=Logistic(), method=method, regularization=c))
    for method, c in zip(("objective_tight", "output"), C, strict=True)
)
SAMPLES = 900


class Undivided(np.random.Generator):
    """The first rows train, the last ones score."""

    def permutation(self, size, *_, **__):
        return np.arange(size)


def score(theta: np.ndarray) -> np.ndarray:
    return -np.clip(0.5 * (1.0 - theta @ SCORING.T), 0.0, 1.0).mean(axis=-1)


def setting(i: int) -> paper.Setting:
    return paper.Setting("logistic", 0.5, "output", "pure", (0.0, 0.0, 0.0), C[i])


def nodes(i: int, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of candidate i over its noise, and their weights."""
    r, weights = np.polynomial.laguerre.laggauss(24)
    angles = 2 * math.pi * np.arange(32) / 32
    at = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    noise = (r[:, None, None] / RATES[i] * at).reshape(-1, 2)
    each = np.repeat(weights * r, 32)  # the radius is Gamma(2, rate)
    if i == 0:
        models = np.array([tilted(A, b) for b in noise])
    else:
        models = paper.minimise(A, np.ones(N), setting(1)) + noise
    return score(models), each / each.sum()


def tilted(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minimiser with a noise vector, by Newton steps typed here."""
    theta = np.zeros(2)
    for _ in range(60):
        s = 1.0 / (1.0 + np.exp(A @ theta))
        slope = -(A.T @ s) / N + 2 * C[0] * theta + b / N
        H = (A.T * (s * (1 - s))) @ A / N + 2 * C[0] * np.eye(2)
        step = np.linalg.solve(H, slope)
        theta = theta - step * min(1.0, 2.0 / max(np.linalg.norm(step), 1e-300))
    return theta


def log_law(A: np.ndarray, index: np.ndarray, h: np.ndarray) -> np.ndarray:
    """log p_i(h | A) w_i(h, A), up to a constant of each i."""
    found = np.empty(len(h))
    for i in (0, 1):
        mine = h[index == i]
        if i == 0:
            density = log_density_objective(A, mine, loss="logistic", c=C[0], rate=RATES[0])
        else:
            away = mine - paper.minimise(A, np.ones(N), setting(1))
            density = -RATES[1] * np.linalg.norm(away, axis=1)
        others, weights = nodes(1 - i, A)
        ahead = (score(mine)[:, None] - others) / SCALE
        wins = np.where(ahead > 0, 1 - np.exp(-np.abs(ahead)) / 2, np.exp(-np.abs(ahead)) / 2)
        found[index == i] = density + np.log(wins @ weights)
    return found


def distance() -> float:
    """Of the mean of law' / law over samples of the law from 1, in standard errors."""
    X = np.vstack([TRAIN, SCORING])
    draws = [
        select_privately(
            X, np.ones(len(X)), candidates=CANDIDATES, epsilon=EPSILON, validation_share="0.4",
            rng=Undivided(np.random.PCG64(seed)),
        )
        for seed in range(SAMPLES)
    ]  # fmt: skip
    assert float(draws[0].spending.train) == EACH
    assert draws[0].spending.scale == pytest.approx(SCALE, rel=1e-5)
    index, h = np.array([d.index for d in draws]), np.array([d.theta for d in draws])
    assert min(np.bincount(index, minlength=2)) > SAMPLES / 10
    ratio = np.exp(log_law(NEIGHBOUR, index, h) - log_law(TRAIN, index, h))
    return float((ratio.mean() - 1.0) / (ratio.std(ddof=1) / math.sqrt(SAMPLES)))


def test_index_and_model_have_the_density_that_is_priced() -> None:
    assert abs(distance()) <= 4.0


def test_a_doubled_rate_of_training_is_seen(monkeypatch) -> None:
    train = selection.train
    monkeypatch.setattr(
        selection, "train", lambda A, *, epsilon, **more: train(A, epsilon=2 * epsilon, **more)
    )
    assert abs(distance()) > 5.0


def test_noise_that_candidates_share_is_seen(monkeypatch) -> None:
    train, first = selection.train, {}

    def shared(A, *, learner, epsilon, rng):
        """The second model's noise is drawn from the numbers of the first one's."""
        if learner is CANDIDATES[0].learner:
            first["seed"] = int(rng.integers(2**63))
        return train(A, learner=learner, epsilon=epsilon, rng=np.random.default_rng(first["seed"]))

    monkeypatch.setattr(selection, "train", shared)
    assert abs(distance()) > 5.0
