"""Rows of persons through every solver, against a slow loop over persons."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from dpci_core import HuberSVM, Logistic
from dpci_core.base import batches
from dpci_core.base.rows import PersonRows, WeightedRows
from dpci_core.losses import Loss
from dpci_core.solvers.minimise import Solver, minimise
from dpci_core.solvers.risk import PenalisedRisk
from tests.oracle import paper
from tests.solvers.test_minimise import SOLVERS
from tests.solvers.test_weights import make_rows, name_and_width

C = 0.01
SMALL = make_rows(90)
WHOSE = np.random.default_rng(3).integers(-1, 30, 90)
"""A number for each row, some without one, in no order."""


def persons_of(rows: WeightedRows, whose: np.ndarray, most: int) -> PersonRows:
    return PersonRows.of(rows, whose.astype(np.int64), most=most)


def slow(
    rows: WeightedRows, whose: np.ndarray, most: int, theta: np.ndarray, loss: Loss
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[list[int]]]:
    """Gradient, H and S person by person, and which rows count."""
    p, kind = len(theta), name_and_width(loss)
    names = sorted(set(whose[whose >= 0]))
    gradient, H, S, kept = np.zeros(p), np.zeros((p, p)), np.zeros((p, p)), []
    for name in names:
        own = [i for i in range(len(whose)) if whose[i] == name][:most]
        kept.append(own)
        g = np.zeros(p)
        for i in own:
            row, w = rows.rows[i], rows.weights[i] / len(own)
            z = float(row @ theta)
            g += w * float(paper.loss_slope(z, *kind)) * row
            H += w * float(paper.loss_curvature(z, *kind)) * np.outer(row, row)
        gradient += g
        S += np.outer(g, g)
    n = len(names)
    return (
        gradient / n + 2 * C * theta,
        H / n + 2 * C * np.eye(p),
        S / n - 4 * C * C * np.outer(theta, theta),
        kept,
    )


@pytest.mark.parametrize("loss", [Logistic(), HuberSVM(h=0.5)], ids=repr)
@pytest.mark.parametrize("chunk", [8192, 7])
def test_moments_are_those_of_a_loop_over_persons(
    loss: Loss, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK_ROWS", chunk)
    A, theta = persons_of(SMALL, WHOSE, 3), np.array([0.6, -0.4, 0.3, 0.2])
    g, H, S, kept = slow(SMALL, WHOSE, 3, theta, loss)
    assert len(A) == len(kept) < 31
    assert len(A.rows) < np.count_nonzero(WHOSE >= 0)
    found = PenalisedRisk(A, loss=loss, regularization=C).derivatives(theta)
    np.testing.assert_allclose(found[0], g, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found[1], H, rtol=1e-10)
    found = PenalisedRisk(A, loss=loss, regularization=C).moments(theta)
    np.testing.assert_allclose(found[0], H, rtol=1e-10)
    np.testing.assert_allclose(found[1], S, rtol=1e-10, atol=1e-12)
    W = np.diag([1.0, 0.5, 2.0, 0.1]) + 0.05
    risk = PenalisedRisk(A, loss, C)
    for of, plain in ((risk.hessian, H), (risk.covariance, S)):
        turned = of(theta, W)
        np.testing.assert_allclose(turned, W @ plain @ W, rtol=1e-9, atol=1e-12)


def test_which_rows_of_a_person_count_depends_on_nobody_else() -> None:
    """The rows of one person stay while all others change, go, or come between."""
    own = [4, 10, 11, 40]
    for seed in range(5):
        whose = np.random.default_rng(seed).integers(-1, 30, 90)
        whose[whose == 17] = 16
        whose[own] = 17
        A = persons_of(SMALL, whose, 3)
        at = int(np.searchsorted(np.unique(whose[whose >= 0]), 17))
        one = A[at : at + 1]
        np.testing.assert_array_equal(one.rows, SMALL.rows[own[:3]])
        np.testing.assert_allclose(one.weights, SMALL.weights[own[:3]] / 3, rtol=1e-9)
        assert one.weights.sum() <= SMALL.weights[own[:3]].sum() / 3


class Seen(Logistic):
    """The logistic loss, and what it was asked and said."""

    told: ClassVar[list[np.ndarray]] = []

    def slope(self, z: np.ndarray) -> np.ndarray:
        self.told.append(np.stack([z, super().slope(z)]))
        return super().slope(z)

    def derivatives(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        self.told.append(np.stack([z, *super().derivatives(z)]))
        return super().derivatives(z)


@pytest.mark.parametrize("of", ["hessian", "covariance"])
@pytest.mark.parametrize("p", [8, 13, 20])
def test_how_many_rows_a_person_has_moves_no_bit_of_what_others_add(of: str, p: int) -> None:
    """Linear algebra rounds the last rows of a block otherwise, and they are other rows then."""
    rng = np.random.default_rng(p)
    rows, theta = WeightedRows.of(rng.normal(size=(2002, p))), rng.normal(size=p) * 30.0
    seen, whose = [], np.repeat(np.arange(1001), 2)
    for numbers in (whose, np.where(np.arange(2002) == 1, -1, whose)):
        Seen.told.clear()
        A = persons_of(rows, numbers, 2)
        getattr(PenalisedRisk(A, loss=Seen(), regularization=C), of)(theta)
        (told,) = Seen.told
        assert told.shape[1] == len(A.rows)
        seen.append(told[:, -2000:])
    np.testing.assert_array_equal(*seen)


def test_shares_never_add_up_to_more_than_one() -> None:
    for k in range(1, 60):
        rows = PersonRows.of(np.ones((k, 1)), np.zeros(k, dtype=np.int64), most=k)
        assert 1.0 - 1e-9 < np.sum(rows.weights) <= 1.0


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_solver_finds_the_minimiser_over_persons(solver: Solver) -> None:
    """Enough persons for a start in single precision; the same as when all have one row alike."""
    rows = make_rows(2 * 4096 + 500, seed=1)
    whose = np.arange(len(rows) + 1000) % len(rows)  # a thousand have a row twice
    twice = WeightedRows(
        np.concatenate([rows.rows, rows.rows[:1000]]),
        np.concatenate([rows.weights, rows.weights[:1000]]),
    )
    A = persons_of(twice, whose, 2)
    b = np.array([3.0, -2.0, 1.0, 0.5])
    found, wanted = (
        minimise(PenalisedRisk(table, Logistic(), C, b), solver).theta for table in (A, rows)
    )
    assert len(A) == len(rows)
    assert len(A.rows) == len(twice)
    np.testing.assert_allclose(found, wanted, atol=1e-7)
