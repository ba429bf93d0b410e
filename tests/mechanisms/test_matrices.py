"""Algorithm 2: the law of the noise on a matrix, the floor, and what is spent."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammainc

from dpci_core import ZCDP, Design, Logistic, PureDP
from dpci_core.base.linalg import floor_eigenvalues, symmetrise
from dpci_core.mechanisms.matrices import private_matrix, release_moments
from dpci_core.privacy.sensitivity import covariance_sensitivity, hessian_sensitivity

P = 3
M = np.array([[5.0, 1.0, 0.0], [1.0, 4.0, -1.0], [0.0, -1.0, 6.0]])
N_DRAWS = 6000
NO_FLOOR = -1e9


def noises(kind: str, amount: float, sensitivity: float = 0.2, seed: int = 0) -> np.ndarray:
    """Draws of (released matrix - M), (N_DRAWS, P, P); a matrix and public numbers are all it
    takes.
    """
    rng = np.random.default_rng(seed)
    keep = {
        "sensitivity": sensitivity,
        "amount": amount,
        "kind": kind,
        "floor": NO_FLOOR,
        "rng": rng,
    }
    return np.array([private_matrix(M, **keep).matrix - M for _ in range(N_DRAWS)])  # type: ignore[arg-type]


def assert_law(draws: np.ndarray, law: Callable[[np.ndarray], np.ndarray]) -> None:
    """The draws follow the law at its own scale, and would not at one that is 10 % off."""
    assert stats.kstest(draws, law).pvalue > 1e-3
    for factor in (0.9, 1.1):
        assert stats.kstest(factor * draws, law).pvalue < 1e-5


def assert_every_direction_alike(N: np.ndarray) -> None:
    """In the coordinates whose norm is Frobenius (diagonal, sqrt 2 times the rest), directions are
    uniform in R^6.
    """
    above = np.triu_indices(P, 1)
    v = np.c_[np.diagonal(N, axis1=1, axis2=2), math.sqrt(2) * N[:, above[0], above[1]]]
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    for column in v.T:
        assert stats.kstest(column**2, stats.beta(0.5, 2.5).cdf).pvalue > 1e-3
    assert np.abs(v.mean(axis=0)).max() < 4.5 * math.sqrt(1 / 6 / N_DRAWS)
    # sd of u_j^2 is sqrt(3/48 - 1/36), of u_j u_k it is sqrt(1/48); an off-diagonal 10 % too long
    # moves u_j^2 by 0.02.
    assert np.abs(v.T @ v / N_DRAWS - np.eye(6) / 6).max() < 4.5 * 0.19 / math.sqrt(N_DRAWS)


def test_gaussian_noise_has_the_stated_law() -> None:
    # sd s/sqrt(2 rho) on the diagonal; elsewhere two entries are averaged, which makes it
    # sd/sqrt 2.
    sd = 0.2 / math.sqrt(2 * 0.3)
    N = noises("zcdp", 0.3)
    assert_law(np.diagonal(N, axis1=1, axis2=2).ravel(), stats.norm(scale=sd).cdf)
    assert_law(N[:, *np.triu_indices(P, 1)].ravel(), stats.norm(scale=sd / math.sqrt(2)).cdf)
    assert_law(np.linalg.norm(N, axis=(1, 2)), stats.chi(6, scale=sd).cdf)
    assert_every_direction_alike(N)


def test_laplace_noise_has_the_stated_law() -> None:
    # Norm Gamma(9) of rate epsilon/s in R^9; symmetrising keeps 6 dimensions, a Beta(3, 3/2) share
    # of the square.
    epsilon, sensitivity = 0.5, 0.2
    N = noises("pure", epsilon, sensitivity)
    kept = np.sqrt(stats.beta(3.0, 1.5).ppf((np.arange(200) + 0.5) / 200)) * sensitivity / epsilon
    assert_law(
        np.linalg.norm(N, axis=(1, 2)), lambda r: gammainc(9.0, r[:, None] / kept).mean(axis=1)
    )
    assert_every_direction_alike(N)


@pytest.mark.parametrize(("kind", "factor"), [("pure", 2.0), ("zcdp", math.sqrt(2.0))])
def test_twice_the_amount_shrinks_the_noise(kind: str, factor: float) -> None:
    ratio = noises(kind, 0.25).std() / noises(kind, 0.5, seed=1).std()
    assert ratio == pytest.approx(factor, rel=0.03)


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
@pytest.mark.parametrize("floor", [0.0, 0.02, 4.0])
def test_the_floor_holds_and_counts_what_it_lifts(kind: str, floor: float) -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        made = private_matrix(M, sensitivity=3.0, amount=1.0, kind=kind, floor=floor, rng=rng)  # type: ignore[arg-type]
        values = np.linalg.eigvalsh(made.matrix)
        np.testing.assert_array_equal(made.matrix, made.matrix.T)
        assert values[0] >= floor - 1e-12 * values[-1]
        assert made.n_lifted == np.sum(np.isclose(values, floor, rtol=0, atol=1e-9))
        assert (made.smallest_before < floor) == (made.n_lifted > 0)


def test_the_floor_raises_eigenvalues_to_itself_and_nothing_else() -> None:
    keep = {"sensitivity": 3.0, "amount": 1.0, "kind": "zcdp"}
    for seed in range(50):
        plain, floored = (
            private_matrix(M, floor=floor, rng=np.random.default_rng(seed), **keep)  # type: ignore[arg-type]
            for floor in (NO_FLOOR, 4.0)
        )
        values, vectors = np.linalg.eigh(plain.matrix)
        expected = sum(max(v, 4.0) * np.outer(u, u) for v, u in zip(values, vectors.T, strict=True))
        np.testing.assert_allclose(floored.matrix, expected, rtol=0, atol=1e-12)
        assert (floored.n_lifted, plain.n_lifted) == ((values < 4.0).sum(), 0)
        assert floored.smallest_before == pytest.approx(values[0], abs=1e-12)


def test_an_eigenvalue_on_the_floor_is_not_lifted() -> None:
    made = floor_eigenvalues(np.diag([1.0, 2.0, 3.0]), 2.0)
    np.testing.assert_allclose(made.matrix, np.diag([2.0, 2.0, 3.0]), atol=1e-15)
    assert made.n_lifted == 1


def test_a_stack_is_repaired_like_its_matrices() -> None:
    noise = np.random.default_rng(8).normal(size=(20, P, P)) * 4
    together = floor_eigenvalues(symmetrise(M + noise), 0.5)
    for k, one in enumerate(noise):
        alone = floor_eigenvalues(symmetrise(M + one), 0.5)
        np.testing.assert_allclose(together.matrix[k], alone.matrix, rtol=0, atol=1e-13)
        assert together.n_lifted[k] == alone.n_lifted


def test_the_matrix_given_is_left_alone_and_a_seed_makes_a_result() -> None:
    given = M.copy()
    keep = {"sensitivity": 1.0, "amount": 1.0, "kind": "pure", "floor": 0.1}
    one, two = (private_matrix(given, rng=np.random.default_rng(3), **keep) for _ in range(2))  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.matrix, two.matrix)
    np.testing.assert_array_equal(given, M)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_no_matrix_without_a_budget(bad: float, kind: str) -> None:
    rng = np.random.default_rng(0)
    untouched = rng.bit_generator.state
    symbol = "epsilon" if kind == "pure" else "rho"
    for change, name in (({"amount": bad}, symbol), ({"sensitivity": bad}, "sensitivity")):
        keep = {"sensitivity": 1.0, "amount": 1.0, **change}
        with pytest.raises(ValueError, match=f"Expected {name}={bad} > 0 and finite"):
            private_matrix(M, **keep, kind=kind, floor=0.0, rng=rng)  # type: ignore[arg-type]
    assert rng.bit_generator.state == untouched


@pytest.mark.parametrize("definition", ["pure", "zcdp"])
def test_each_matrix_spends_its_own_part_at_its_own_sensitivity(
    definition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = PureDP if definition == "pure" else ZCDP
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=kind(model="0.5", hessian="0.3", covariance="0.2"),
        regularization=0.01,
        n_records=40,
        calibration="published",
    )
    calls = []

    def spy(matrix: np.ndarray, **keywords: object) -> object:
        calls.append(keywords)
        return private_matrix(matrix, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr("dpci_core.mechanisms.matrices.private_matrix", spy)
    rng = np.random.default_rng(1)
    A = rng.uniform(-0.5, 0.5, (40, P))
    theta = np.array([3.0, -1.0, 2.0])
    release_moments(A, theta, design=design, rng=rng)
    assert [c["amount"] for c in calls] == pytest.approx([0.3, 0.2], rel=1e-15)
    assert [c["floor"] for c in calls] == [0.02, 0.02]
    assert {c["kind"] for c in calls} == {definition}
    radius = float(np.linalg.norm(theta))
    expected = [
        hessian_sensitivity(loss=design.loss, n_records=40),
        covariance_sensitivity(loss=design.loss, n_records=40, radius=radius),
    ]
    assert [c["sensitivity"] for c in calls] == expected


@pytest.mark.parametrize("kind", [PureDP, ZCDP])
def test_a_huge_budget_releases_both_matrices_at_the_private_coefficients(kind: type) -> None:
    budget = kind(model=1, hessian="1e20", covariance="1e20")
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=budget,
        regularization=0.01,
        n_records=40,
        calibration="published",
    )
    rng = np.random.default_rng(2)
    A, theta = rng.uniform(-0.5, 0.5, (40, P)), np.array([3.0, -1.0, 2.0])
    released = release_moments(A, theta, design=design, rng=rng)
    s = 1 / (1 + np.exp(A @ theta))  # -f', and f'' = s (1 - s)
    H = (A.T * (s * (1 - s))) @ A / 40 + 0.02 * np.eye(P)
    values, vectors = np.linalg.eigh((A.T * s**2) @ A / 40 - 0.0004 * np.outer(theta, theta))
    S = (vectors * np.maximum(values, 0.02)) @ vectors.T
    np.testing.assert_allclose(released.hessian.matrix, H, rtol=0, atol=1e-9)
    np.testing.assert_allclose(released.covariance.matrix, S, rtol=0, atol=1e-9)
    assert released.covariance.n_lifted == (values < 0.02).sum() > 0
