"""Algorithm 2: the law of the noise on a matrix, the floor, and what is spent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpci_core import ZCDP, Design, Logistic, PureDP
from dpci_core.private_moments import private_matrix, release_moments
from dpci_core.sensitivity import covariance_sensitivity, hessian_sensitivity

P = 3
M = np.array([[5.0, 1.0, 0.0], [1.0, 4.0, -1.0], [0.0, -1.0, 6.0]])
N_DRAWS = 6000
NO_FLOOR = -1e9


def noises(kind: str, amount: float, sensitivity: float = 0.2, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    keep = {"sensitivity": sensitivity, "amount": amount, "kind": kind, "floor": NO_FLOOR, "rng": rng}
    return np.array([private_matrix(M, **keep).matrix - M for _ in range(N_DRAWS)])  # type: ignore[arg-type]


def test_gaussian_noise_has_the_stated_law() -> None:
    N = noises("zcdp", 0.5)
    sd = 0.2 / math.sqrt(2 * 0.5)
    for i in range(P):
        for j in range(i, P):
            # Off the diagonal two independent entries are averaged.
            scale = sd if i == j else sd / math.sqrt(2)
            assert stats.kstest(N[:, i, j], stats.norm(scale=scale).cdf).pvalue > 1e-3
            assert stats.kstest(N[:, i, j], stats.norm(scale=1.2 * scale).cdf).pvalue < 1e-6


def test_laplace_noise_has_the_stated_law() -> None:
    epsilon, sensitivity = 0.5, 0.2
    N = noises("pure", epsilon, sensitivity)
    rng = np.random.default_rng(99)
    direction = rng.normal(size=(40_000, P * P))
    radius = rng.gamma(P * P, sensitivity / epsilon, size=len(direction))
    B = (direction * (radius / np.linalg.norm(direction, axis=1))[:, None]).reshape(-1, P, P)
    B = (B + B.transpose(0, 2, 1)) / 2
    for i, j in ((0, 0), (0, 1), (2, 2)):
        assert stats.ks_2samp(N[:, i, j], B[:, i, j]).pvalue > 1e-3
    norms, expected = (np.linalg.norm(a, axis=(1, 2)) for a in (N, B))
    assert stats.ks_2samp(norms, expected).pvalue > 1e-3
    assert stats.ks_2samp(norms, 1.1 * expected).pvalue < 1e-6


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


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_no_matrix_without_a_budget(bad: float, kind: str) -> None:
    rng = np.random.default_rng(0)
    for change in ({"amount": bad}, {"sensitivity": bad}):
        keep = {"sensitivity": 1.0, "amount": 1.0, **change}
        with pytest.raises(ValueError, match="> 0"):
            private_matrix(M, **keep, kind=kind, floor=0.0, rng=rng)  # type: ignore[arg-type]


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
    )
    calls = []

    def spy(matrix: np.ndarray, **keywords: object) -> object:
        calls.append(keywords)
        return private_matrix(matrix, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr("dpci_core.private_moments.private_matrix", spy)
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
