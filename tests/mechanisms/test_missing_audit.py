"""The audits of this folder once more, for neighbours of which one record has a missing cell.

Such a record is a row of zeros (docs/proofs/map.md#rows). Nothing that is claimed changes, so
each bound is attacked from both sides: a record that becomes incomplete, and one that becomes
complete.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core.base.rows import PersonRows, WeightedRows
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from tests.mechanisms import test_weighted_audit as weighted
from tests.mechanisms.test_audit import (
    EPSILON,
    IDENTITY_EPSILON,
    KAPPAS,
    LOSSES,
    TABLE,
    drawn_many,
    identity_density,
    identity_distance,
    make_design,
    make_pairs,
)
from tests.mechanisms.test_renyi_audit import attack

Array = np.ndarray
Pair = tuple[Array, Array]


def without_first(A: Array) -> Array:
    """The table whose first record has a missing cell."""
    return np.vstack([np.zeros((1, A.shape[1])), A[1:]])


def incomplete_pairs(p: int, *, n_pairs: int = 25) -> list[Pair]:
    """Neighbours, the first record of one of them incomplete; long rows and others among them."""
    rng = np.random.default_rng([11, p])
    tables = [A for A, _ in (*make_pairs(p, rng, n_pairs), *weighted.long_pairs(p, rng, n_pairs))]
    tables += [weighted.turned_round(p, length)[0] for length in (1.0, 1.01, 30.0)]
    return [(A, without_first(A)) for A in tables]


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("kappa", [*KAPPAS, weighted.STEEP])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_missing_cell_costs_objective_perturbation_at_most_epsilon(
    loss: str, kappa: float, p: int
) -> None:
    largest = weighted.largest_loss(incomplete_pairs(p), loss, kappa)
    assert largest <= EPSILON + 1e-9
    # One gradient of at most 1 where two are paid for, and all of the curvature.
    rate = (EPSILON - np.log1p(kappa)) / 2.0
    assert largest <= rate + np.log1p(kappa) + 1e-9
    if loss == "huber_svm":  # and this pair reaches what it can
        assert largest >= 0.95 * (rate + np.log1p(kappa))


@pytest.mark.parametrize("kind", weighted.KINDS)
@pytest.mark.parametrize("p", [1, 2])
def test_a_missing_cell_stays_below_the_renyi_bounds(kind: str, p: int) -> None:
    found = [
        attack(pair, weighted.Weighted(*weighted.KINDS[kind], kappa, sd), [1.5, 8.0])
        for pair in incomplete_pairs(p, n_pairs=2 if p == 1 else 1)
        for kappa, sd in ((0.02, 1.0), (1.0, 8.0))
    ]
    assert 0.0 < max(one.ratio for one in found) <= 1.0


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_missing_cell_moves_the_minimiser_half_as_far_as_is_paid_for(loss: str, p: int) -> None:
    moves = []
    for A, B in incomplete_pairs(p):
        for c in (0.001, 0.1, 1.0, 100.0):
            here, there = (
                Newton()
                .minimise(
                    PenalisedRisk(weighted.with_weights(T), loss=LOSSES[loss], regularization=c)
                )
                .theta
                for T in (A, B)
            )
            moves.append(len(A) * c * float(np.linalg.norm(here - there)))
    assert 0.2 < max(moves) <= 0.5 + 1e-9


@pytest.mark.parametrize("loss", weighted.MATRIX_LOSSES, ids=repr)
def test_a_missing_cell_moves_the_matrices_by_less_than_their_sensitivities(loss) -> None:
    rng = np.random.default_rng(12)
    found = []
    for _ in range(300):
        row, theta = rng.normal(size=2) * np.exp(rng.uniform(-2, 2)), 3.0 * rng.normal(size=2)
        found.append(weighted.change(row, np.zeros(2), theta, loss))
        found.append(weighted.change(row / np.linalg.norm(row), np.zeros(2), 0.01 * theta, loss))
    assert 0.3 < np.max(found) <= 1.0 / np.sqrt(2.0) + 1e-9


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
@pytest.mark.parametrize("mechanism", ["objective", "output"])
@pytest.mark.parametrize("loss", ["logistic", "huber_svm"])
def test_density_identity_with_a_missing_cell(loss: str, mechanism: str, definition: str) -> None:
    log_density, c = identity_density(loss, mechanism, definition)
    design = make_design(loss, mechanism, definition, str(int(IDENTITY_EPSILON)), c, len(TABLE))
    here, there = without_first(TABLE), TABLE
    rng = np.random.default_rng(13)

    def distance(sampled: Array, claimed: Array) -> float:
        ran = replace(design, n_records=len(sampled))
        theta = drawn_many(sampled, 3_000, design=ran, rng=rng)
        return abs(identity_distance(theta, log_density, (claimed, there)))

    assert distance(here, here) <= 4.0
    # The incomplete record dropped instead of zeroed: another n, another law.
    assert mechanism == "output" or distance(TABLE[1:], here) > 5.0


def test_a_person_with_incomplete_rows_moves_nothing_farther_than_one_row() -> None:
    rng = np.random.default_rng(14)
    loss = LOSSES["logistic"]
    persons = np.array([0, 0, 0, 1, 2], dtype=np.int64)
    for _ in range(60):
        rows = rng.normal(size=(5, 2))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        tables = []
        for n_zero in range(4):
            changed = rows.copy()
            changed[:n_zero] = 0.0
            tables.append(PersonRows.of(changed, persons, most=3))
        theta = rng.normal(size=2)
        H = [PenalisedRisk(A, loss=loss, regularization=0.1).moments(theta)[0] for A in tables]
        at = [
            Newton().minimise(PenalisedRisk(A, loss=loss, regularization=0.1)).theta for A in tables
        ]
        for one in range(4):
            for other in range(one):
                assert np.linalg.norm(H[one] - H[other]) <= np.sqrt(2.0) * 0.25 / 3.0 + 1e-12
                assert np.linalg.norm(at[one] - at[other]) <= 1.0 / (3.0 * 0.1) + 1e-9


def test_what_a_person_has_left_is_shared_among_complete_rows() -> None:
    rows = np.array([[0.0, 0.0], [0.6, 0.1], [0.0, 0.0], [0.5, 0.2], [0.4, 0.3], [0.0, 0.0]])
    found = PersonRows.of(rows, np.array([4, 4, 9, 4, 4, -1], dtype=np.int64), most=2)
    assert len(found) == 2
    assert found.rows.tolist() == [[0.6, 0.1], [0.5, 0.2], [0.0, 0.0]]
    assert found.weights.round(9).tolist() == [0.5, 0.5, 1.0]
    assert found.first.tolist() == [0, 2]
    found = PersonRows.of(rows[:3], np.array([1, 1, 1], dtype=np.int64), most=3)
    assert (found.rows.tolist(), found.weights.tolist()) == ([[0.6, 0.1]], [1.0])


def test_weights_of_rows_of_zeros_are_one() -> None:
    found = WeightedRows.of(np.array([[0.0, 0.0], [3.0, 4.0]]))
    assert found.weights.tolist() == [1.0, (1 - 1e-12) / 25.0]
