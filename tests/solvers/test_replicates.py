"""Batched replicates: kernels against plain NumPy, fits against the one-table solver, counts
against their law.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from dpci_core import HuberSVM, Logistic, SmoothedHinge
from dpci_core.base.errors import ConvergenceError
from dpci_core.losses import Loss
from dpci_core.solvers import kernels
from dpci_core.solvers import replicates as batched
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.replicates import Table, draw_counts, fit_replicates, replicate_moments
from dpci_core.solvers.risk import PenalisedRisk

LOSSES = [Logistic(), HuberSVM(h=1.0), HuberSVM(h=0.1), SmoothedHinge(h=1.0), SmoothedHinge(h=0.1)]


@dataclasses.dataclass(frozen=True)
class Smooth(Loss):
    """A loss of another kind: f(z) = sqrt(1 + (1 - z)^2) - (z - 1), halved, which the kernels do
    not know.
    """

    name = "smooth"

    def value(self, z):
        return 0.5 * (np.sqrt(1 + (1 - z) ** 2) + 1 - z)

    def slope(self, z):
        return -0.5 * ((1 - z) / np.sqrt(1 + (1 - z) ** 2) + 1)

    def curvature(self, z):
        return 0.5 * (1 + (1 - z) ** 2) ** -1.5

    @property
    def max_curvature(self):
        return 0.5

    def max_squared_slope(self, radius):
        return 1.0


def rows(n: int = 1300, p: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, (n, p))
    X[:, -1] = 0.5
    return X * np.where(rng.random(n) < expit(6 * X[:, 0]), 1, -1)[:, None]


def counts_of(n_rows: int, n_records: int, seeds: range) -> np.ndarray:
    counts = np.empty((len(seeds), n_rows), dtype=np.float32)
    for b, seed in enumerate(seeds):
        draw_counts(counts[b], n_records, np.random.SFC64(seed))
    return counts


@pytest.mark.parametrize("z", [np.linspace(-36, 36, 4001), np.array([-1e6, -37.0, 0.0, 37.0, 1e6])])
def test_both_sigmoids(z):
    exact, double, single = expit(-z), z.copy(), z.astype(np.float32)
    kernels._sigmoids(double, np.ones(len(z), dtype=np.float32))
    kernels._single_sigmoids(single)
    np.testing.assert_allclose(double, exact, rtol=1e-13, atol=1e-16)
    np.testing.assert_allclose(single, exact, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("p", [1, 2, 3, 8])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_weighted_sums_for_every_shape(loss, p):
    A, counts = rows(n=1100, p=p), counts_of(1100, 1100, range(3))
    theta = np.random.default_rng(1).normal(size=(2, p))
    sums, which = np.empty((2, p)), np.array([2, 0])
    kernels.weighted_slopes(np.ascontiguousarray(A.T), theta, counts, which, *_code(loss), sums)
    for b in range(2):
        expected = -(counts[which[b]] * loss.slope(A @ theta[b])) @ A
        np.testing.assert_allclose(sums[b], expected, rtol=1e-11, atol=1e-10)


def _code(loss):
    codes = {Logistic: kernels.LOGISTIC, HuberSVM: kernels.HUBER, SmoothedHinge: kernels.SMOOTHED}
    return codes[type(loss)], getattr(loss, "h", 1.0)


@pytest.mark.parametrize("with_noise_vector", [False, True])
@pytest.mark.parametrize("loss", [*LOSSES, Smooth()], ids=repr)
def test_fits_and_moments_are_those_of_the_repeated_rows(loss, with_noise_vector):
    A, n, c = rows(), 900, 0.01
    table = Table.of(A, loss=loss, regularization=c)
    counts = counts_of(len(A), n, range(5))
    noise_vector = (
        8.0 * np.random.default_rng(2).normal(size=(5, A.shape[1])) if with_noise_vector else None
    )
    fits = fit_replicates(table, counts, n_records=n, noise_vector=noise_vector, tolerance=1e-11)
    H, S = replicate_moments(table, counts, fits.theta, n_records=n)
    assert fits.converged.all()
    for b in range(5):
        repeated = np.repeat(A, counts[b].astype(int), axis=0)
        one_vector = None if noise_vector is None else noise_vector[b]
        exact = (
            Newton(1e-12)
            .minimise(PenalisedRisk(repeated, loss=loss, regularization=c, noise_vector=one_vector))
            .theta
        )
        np.testing.assert_allclose(fits.theta[b], exact, atol=1e-9)
        expected = PenalisedRisk(repeated, loss=loss, regularization=c).moments(fits.theta[b])
        np.testing.assert_allclose(H[b], expected[0], rtol=1e-11, atol=1e-14)
        np.testing.assert_allclose(S[b], expected[1], rtol=1e-11, atol=1e-14)


def test_a_gradient_norm_is_the_true_one():
    A, c = rows(), 0.001
    table, counts = (
        Table.of(A, loss=Logistic(), regularization=c),
        counts_of(len(A), len(A), range(8)),
    )
    fits = fit_replicates(table, counts, n_records=len(A))
    for b in range(8):
        gradient = (counts[b] * Logistic().slope(A @ fits.theta[b])) @ A / len(
            A
        ) + 2 * c * fits.theta[b]
        assert np.linalg.norm(gradient) == pytest.approx(fits.gradient_norm[b], rel=1e-4, abs=1e-14)
        assert np.linalg.norm(gradient) <= 1e-8


@pytest.mark.parametrize("c", [1e-8, 1e-4])
def test_hard_fits_are_solved_one_by_one_and_still_hold_the_tolerance(c):
    A = np.abs(
        rows(n=200)
    )  # every margin can be made positive: separable, so theta runs far at a small c
    table = Table.of(A, loss=HuberSVM(h=0.05), regularization=c)
    counts = counts_of(200, 200, range(6))
    noise_vector = 30.0 * np.random.default_rng(0).normal(size=(6, 4)) if c == 1e-4 else None
    fits = fit_replicates(table, counts, n_records=200, noise_vector=noise_vector)
    assert fits.converged.all()
    assert (fits.gradient_norm <= 1e-8).all()


def test_a_fit_that_fails_is_reported(monkeypatch):
    def give_up(*_, **__):
        raise ConvergenceError("too hard")

    A = rows(n=200)
    table = Table.of(A, loss=Logistic(), regularization=1e-3)
    monkeypatch.setattr("dpci_core.solvers.replicates.minimise", give_up)
    monkeypatch.setattr("dpci_core.solvers.replicates._MAX_PASSES", 1)
    fits = fit_replicates(table, counts_of(200, 200, range(3)), n_records=200)
    assert not fits.converged.any()
    assert np.isinf(fits.gradient_norm).all()


@pytest.mark.parametrize(("n_rows", "n_records"), [(7, 5000), (1000, 1000), (3, 1), (65_537, 400)])
def test_counts_are_uniform_and_complete(n_rows, n_records):
    counts = counts_of(n_rows, n_records, range(300))
    np.testing.assert_array_equal(counts.sum(axis=1), n_records)
    total = counts.sum(axis=0)
    if n_rows * 20 < 300 * n_records:
        assert stats.chisquare(total).pvalue > 1e-4
    assert np.var(counts[:, 0]) < 3 * n_records / n_rows + 0.2


def test_numbers_that_would_favour_a_row_are_passed_over():
    # 2^32 = 1 (mod 3): one of the 2^32 numbers must go, the one whose product with 3 starts a row
    # at 0.
    hit = np.zeros(3, dtype=np.float32)
    assert kernels.count_draws(np.array([0, 1], dtype=np.uint64), 10, hit) == 1
    np.testing.assert_array_equal(hit, [1, 0, 0])


def test_too_many_records_for_single_precision_counts():
    with pytest.raises(ValueError, match="below 16777216"):
        draw_counts(np.empty(5, dtype=np.float32), 2**24, np.random.SFC64(0))


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_replicate_does_not_feel_its_neighbours(loss):
    table = Table.of(rows(), loss=loss, regularization=1e-3)
    counts = counts_of(1300, 1300, range(6))
    together = fit_replicates(table, counts, n_records=1300)
    for b in range(6):
        alone = fit_replicates(table, counts[b : b + 1], n_records=1300)
        np.testing.assert_array_equal(alone.theta[0], together.theta[b])


def test_the_start_does_not_decide_the_answer():
    table, counts = (
        Table.of(rows(), loss=Logistic(), regularization=1e-3),
        counts_of(1300, 1300, range(4)),
    )
    crooked = dataclasses.replace(table, inverse_hessian=table.inverse_hessian * 3.0)
    right = fit_replicates(table, counts, n_records=1300, tolerance=1e-11)
    found = fit_replicates(crooked, counts, n_records=1300, tolerance=1e-11)
    np.testing.assert_allclose(found.theta, right.theta, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_what_single_precision_says_is_nearly_the_truth(loss):
    A, n = rows(), 1300
    table, counts = Table.of(A, loss=loss, regularization=1e-3), counts_of(1300, n, range(4))
    theta = table.theta_hat + 0.1 * np.random.default_rng(0).normal(size=(4, A.shape[1])).astype(
        np.float32
    )
    every = np.arange(4)
    rough = (
        batched._first_slopes(table, counts, n)
        + batched._slope_changes(table, theta, counts, every) / n
    )
    exact = batched.slope_sums(table.columns, table.loss, theta, counts, every) / n
    np.testing.assert_allclose(rough, exact, atol=1e-7)
    start = np.tile(table.theta_hat, (4, 1))
    np.testing.assert_allclose(
        batched._first_slopes(table, counts, n),
        batched.slope_sums(table.columns, table.loss, start, counts, every) / n,
        atol=1e-8,
    )
