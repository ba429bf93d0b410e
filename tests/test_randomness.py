"""The operating system's entropy behind every sampler: right laws pass, laws 10 % off fail, nothing is mixed up."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from scipy import stats

from dpci_core import ZCDP, Design, Logistic, private_intervals
from dpci_core.errors import check_generator
from dpci_core.noise import sample_gaussian, sample_spherical_laplace
from dpci_core.randomness import NoiseError, SystemSource, check_system_source

N = 50_000
RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy: the draws differ in every run."""


def test_uniforms_are_odd_multiples_strictly_inside() -> None:
    u = SystemSource().uniform(N) * 2.0**53
    assert np.array_equal(u, np.round(u))
    assert (u.astype(np.int64) % 2 == 1).all()
    assert u.min() >= 1.0
    assert u.max() <= 2.0**53 - 1.0
    assert stats.kstest(u / 2.0**53, "uniform").pvalue > RELEASED


def test_extreme_bytes_give_finite_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    for byte in (b"\x00", b"\xff"):
        monkeypatch.setattr("dpci_core.randomness.secrets.token_bytes", lambda n, byte=byte: byte * n)
        u = SystemSource().uniform(3)
        assert ((u > 0.0) & (u < 1.0)).all()
        assert np.isfinite(SystemSource().standard_normal(3)).all()
        assert np.linalg.norm(SystemSource().standard_normal(3)) > 0.0
        assert (SystemSource().gamma(2, 1.0, (3, 1)) > 0.0).all()


@pytest.mark.parametrize("dim", [1, 2, 11])
def test_spherical_laplace_of_a_release(dim: int) -> None:
    rate = 3.0
    b = sample_spherical_laplace(dim, rate=rate, rng=SystemSource(), size=N)
    norm = np.linalg.norm(b, axis=1)
    assert stats.kstest(norm, stats.gamma(dim, scale=1 / rate).cdf).pvalue > RELEASED
    for wrong in (0.9, 1.1):
        assert stats.kstest(norm, stats.gamma(dim, scale=1 / (rate * wrong)).cdf).pvalue < RELEASED
    assert stats.binomtest(int((b[:, 0] > 0).sum()), N).pvalue > RELEASED
    if dim > 1:
        squared = (b[:, 0] / norm) ** 2
        assert stats.kstest(squared, stats.beta(0.5, (dim - 1) / 2).cdf).pvalue > RELEASED
        assert abs(stats.spearmanr(norm, squared).statistic) < 6.0 / math.sqrt(N)


def test_normals_of_a_release() -> None:
    z = sample_gaussian(2, sd=2.0, rng=SystemSource(), size=N // 2).ravel()
    assert stats.kstest(z, stats.norm(scale=2.0).cdf).pvalue > RELEASED
    for wrong in (1.8, 2.2):
        assert stats.kstest(z, stats.norm(scale=wrong).cdf).pvalue < RELEASED


def exact(values: np.ndarray, *, sd: float = 2.0, sensitivity: float = 2.0, rho: float = 0.5) -> np.ndarray:
    return SystemSource().add_gaussian(values, sd=sd, sensitivity=sensitivity, rho=rho)


def test_exact_gaussian_is_around_the_values_with_the_deviation() -> None:
    values = np.linspace(-5.0, 5.0, N)
    z = exact(values) - values
    assert stats.kstest(z, stats.norm(scale=2.0).cdf).pvalue > RELEASED
    for wrong in (1.8, 2.2):
        assert stats.kstest(z, stats.norm(scale=wrong).cdf).pvalue < RELEASED


def test_exact_gaussian_refuses_a_deviation_below_what_was_booked() -> None:
    with pytest.raises(NoiseError, match="too small"):
        exact(np.zeros(3), sd=2.0 * (1.0 - 1e-6))
    # Rounding alone is made up for: 1 ulp below the exact scale the map would exceed rho.
    assert exact(np.zeros(3), sd=math.nextafter(2.0, 0.0)).shape == (3,)


@pytest.mark.parametrize(
    "values",
    [np.array([np.nan]), np.array([np.inf]), np.zeros((2, 2)), np.zeros(0), np.zeros(2, dtype=np.float32)],
    ids=["nan", "infinite", "matrix", "empty", "float32"],
)
def test_exact_gaussian_takes_finite_vectors_only(values: np.ndarray) -> None:
    with pytest.raises(NoiseError, match="finite"):
        exact(values)


def test_exact_gaussian_checks_what_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in ([0.0], [0.0, math.inf]):
        monkeypatch.setattr("dpci_core.randomness._gaussian_of", lambda *_, answer=answer, **__: lambda _: answer)
        with pytest.raises(NoiseError, match="as many finite numbers"):
            exact(np.zeros(2))


def test_processes_forked_from_one_draw_differently() -> None:
    exact(np.zeros(1))  # warm: a generator inside the library would be copied with its state
    answers = []
    for _ in range(3):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                draws = np.r_[exact(np.zeros(1)), SystemSource().standard_normal(1)]
                os.write(write, draws.tobytes())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        answers.append(np.frombuffer(os.read(read, 100)))
        os.close(read)
        os.close(write)
    draws = np.array([*answers, np.r_[exact(np.zeros(1)), SystemSource().standard_normal(1)]])
    assert draws.shape == (4, 2)
    assert all(len(set(column)) == 4 for column in draws.T)


def test_sources_cannot_be_mixed_up() -> None:
    with pytest.raises(ValueError, match="Expected rng to be a numpy"):
        check_generator(SystemSource())
    for other in (np.random.default_rng(1), 7, None):
        with pytest.raises(ValueError, match="system source"):
            check_system_source(other)
    budget = ZCDP(model="0.5", hessian="0.25", covariance="0.25")
    design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.01)
    with pytest.raises(ValueError, match="Expected rng to be a numpy"):
        private_intervals(np.ones((3, 1)), np.ones(3), design=design, rng=SystemSource())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        SystemSource(7)  # type: ignore[call-arg]
