"""Where the Hessian of a release is taken: a function of what was released before it, and no
sensitivity is another one there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core import ZCDP, Design, HuberSVM, Logistic
from dpci_core.base.rows import WeightedRows, signed
from dpci_core.mechanisms import matrices
from dpci_core.mechanisms.matrices import covariance_noise, hessian_noise, release_moments
from dpci_core.privacy.randomness import SystemSource
from dpci_core.solvers.one_step import one_step_point
from dpci_core.solvers.risk import PenalisedRisk

P, N = 4, 60
DESIGN = Design(
    loss=Logistic(),
    mechanism="output",
    budget=ZCDP(model="1", hessian="1", covariance="1"),
    regularization=0.01,
    n_records=N,
    calibration="sharp",
    target="unpenalised",
)
THETA = np.array([1.5, -2.0, 0.5, 1.0])


def rows(seed: int, *, are_weighted: bool) -> np.ndarray | WeightedRows:
    """y x of N records of an encoding."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(N, P))
    if not are_weighted:
        return x / np.maximum(1.0, np.linalg.norm(x, axis=1))[:, None]
    weights = np.minimum(1.0, 1.0 / (x * x).sum(axis=1))
    found = signed(WeightedRows(x, weights), np.ones(N))
    assert isinstance(found, WeightedRows)
    return found


@pytest.mark.parametrize("are_weighted", [False, True])
def test_its_place_is_made_of_released_numbers(are_weighted: bool) -> None:
    on_s = covariance_noise(DESIGN, float(np.linalg.norm(THETA)))
    for seed in range(5):
        A = rows(seed, are_weighted=are_weighted)
        made = release_moments(A, THETA, design=DESIGN, rng=SystemSource())
        at = one_step_point(
            THETA,
            made.covariance.noisy,
            regularization=DESIGN.regularization,
            matrix_sd=on_s.diagonal_sd(P),
        )
        np.testing.assert_array_equal(made.hessian_at, at)
        assert 0.0 < np.linalg.norm(at - THETA) <= np.linalg.norm(THETA) / 2.0 + 1e-12


def test_the_covariance_is_drawn_first_and_each_at_its_own_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[float] = []
    original = matrices.private_matrix

    def seen(matrix, **given):
        drawn.append(given["amount"])
        return original(matrix, **given)

    monkeypatch.setattr(matrices, "private_matrix", seen)
    budget = ZCDP(model="1", hessian="0.25", covariance="0.5")
    design = replace(DESIGN, budget=budget)
    A = rows(1, are_weighted=True)
    release_moments(A, THETA, design=design, rng=SystemSource())
    assert drawn == [0.5, 0.25]
    for other in (replace(design, target="penalised"), replace(design, loss=HuberSVM(h=1.0))):
        if not other.loss.allows_weights:
            A = rows(1, are_weighted=False)
        made = release_moments(A, THETA, design=other, rng=SystemSource())
        np.testing.assert_array_equal(made.hessian_at, THETA)


@pytest.mark.parametrize("are_weighted", [False, True])
def test_one_record_moves_the_hessian_by_its_sensitivity_at_most_wherever_it_is_taken(
    are_weighted: bool,
) -> None:
    rng, largest = np.random.default_rng(7), 0.0
    limit = hessian_noise(DESIGN).sensitivity
    for _ in range(300):
        A, B = (rows(int(rng.integers(1e6)), are_weighted=are_weighted) for _ in range(2))
        at = rng.normal(size=P) * 10.0 ** rng.uniform(-3, 1)
        H = []
        for last in (A[-1:], B[-1:]):
            if isinstance(A, WeightedRows):
                assert isinstance(last, WeightedRows)
                table = WeightedRows(
                    np.concatenate([A.rows[:-1], last.rows]),
                    np.concatenate([A.weights[:-1], last.weights]),
                )
            else:
                table = np.concatenate([A[:-1], last])
            H.append(PenalisedRisk(table, loss=DESIGN.loss, regularization=0.01).moments(at)[0])
        largest = max(largest, float(np.linalg.norm(H[0] - H[1])))
    assert limit / 3.0 < largest <= limit
