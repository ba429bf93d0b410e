"""The attack on epsilon: its share of right guesses against closed forms, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpci_core import ZCDP, Design, Geometry, HuberSVM, Logistic, PureDP
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.simulation import attack
from dpci_core.simulation.attack import play_attack

ROWS = np.array([[1.0], [1.0], [-1.0], [1.0]])
"""With the last one turned round, the minimiser of the SVM moves by all of 1/(nc)."""
WITH_LOOK = PureDP(model="1", hessian="1", covariance="1", metric="1")
TURNED = ROWS * [[1.0], [1.0], [1.0], [-1.0]]


def design(mechanism: str = "output", epsilon: str = "1", **changes: object) -> Design:
    made = Design(
        loss=HuberSVM(h=0.25),
        mechanism=mechanism,
        budget=PureDP(model=epsilon, hessian="1", covariance="1"),
        regularization=0.5,
        n_records=4,
        calibration="sharp",
    )
    return replace(made, **changes)


def play(made: Design, *, n_games: int = 6000, one=ROWS, other=TURNED):
    return play_attack(one, other, design=made, n_games=n_games, rng=np.random.default_rng(11))


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
def test_two_points_under_laplace_noise_are_told_apart_as_often_as_its_law_says(epsilon):
    """The noise beats half the distance between the points with probability e^(-epsilon/2)/2."""
    found = play(design(epsilon=epsilon))
    right = 1.0 - math.exp(-float(epsilon) / 2.0) / 2.0
    assert abs(found.share - right) < 4.0 * found.standard_error
    assert found.bound == pytest.approx(1.0 / (1.0 + math.exp(-float(epsilon))))


@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.25)])
@pytest.mark.parametrize("mechanism", ["output", "objective"])
def test_no_attack_beats_the_bound_and_too_little_noise_is_found(mechanism, loss):
    """With the noise of four times the budget the same attack is right more often than it may."""
    kept = play(design(mechanism, "1", loss=loss), n_games=2000)
    broken = play(design(mechanism, "4", loss=loss), n_games=2000)
    assert kept.share < kept.bound + 4.0 * kept.standard_error
    assert kept.share > 0.5
    assert broken.share > kept.bound + 4.0 * broken.standard_error


def test_the_density_of_the_objective_has_the_same_total_for_every_table():
    """A wrong derivative of the noise vector would show as unequal totals."""
    made = design("objective", loss=Logistic())
    points = np.linspace(-40.0, 40.0, 80_001)[:, None]
    totals = [
        np.exp(attack._log_density(points, rows, None, made, model_noise(made))).sum()
        for rows in (ROWS, TURNED)
    ]
    assert totals[0] == pytest.approx(totals[1], rel=1e-3)


def test_equal_tables_are_a_coin():
    found = play(design(), other=ROWS)
    assert abs(found.share - 0.5) < 4.0 * found.standard_error


@pytest.mark.parametrize(
    ("changes", "one", "other"),
    [
        ({}, ROWS, -ROWS),
        ({}, ROWS, ROWS[:3]),
        ({"budget": ZCDP(model="1", hessian="1", covariance="1")}, ROWS, TURNED),
        ({"geometry": Geometry(ridge=0.1, leverage=5), "budget": WITH_LOOK}, ROWS, TURNED),
    ],
)
def test_what_the_bound_is_not_for_is_refused(changes, one, other):
    with pytest.raises(ValueError, match="Expected"):
        play(design(**changes), one=one, other=other, n_games=10)
