"""The operating system's entropy behind every sampler: right laws pass, laws 10 % off fail, nothing
is mixed up.
"""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
import textwrap
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from dpci_core import ZCDP, Design, Logistic, private_intervals
from dpci_core.base.errors import check_generator
from dpci_core.privacy.randomness import NoiseError, SystemSource, check_system_source

N = 50_000
RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy: the draws differ in every run."""


def test_an_order_is_one_of_all_with_the_same_chance() -> None:
    orders = [tuple(SystemSource().permutation(3)) for _ in range(6000)]
    counts = [orders.count(order) for order in itertools.permutations(range(3))]
    assert sum(counts) == 6000
    assert stats.chisquare(counts).pvalue > RELEASED


@pytest.mark.parametrize("dim", [1, 2, 11])
def test_length_and_direction_of_spherical_laplace_noise(dim: int) -> None:
    rate = 3.0
    b = np.array([SystemSource().spherical_laplace(dim, rate=rate) for _ in range(N // 2)])
    norm = np.linalg.norm(b, axis=1)
    assert stats.kstest(norm, stats.gamma(dim, scale=1 / rate).cdf).pvalue > RELEASED
    for wrong in (0.9, 1.1):
        assert stats.kstest(norm, stats.gamma(dim, scale=1 / (rate * wrong)).cdf).pvalue < RELEASED
    for side in (b[:, 0], b[:, -1]):
        assert stats.binomtest(int((side > 0).sum()), len(b)).pvalue > RELEASED
    if dim == 1:
        return
    squared = (b[:, 0] / norm) ** 2
    assert stats.kstest(squared, stats.beta(0.5, (dim - 1) / 2).cdf).pvalue > RELEASED
    assert abs(stats.spearmanr(norm, squared).statistic) < 6.0 / math.sqrt(len(b))
    # Coordinates that share a pair of uniform numbers are as independent as others given the
    # length.
    assert abs(stats.spearmanr(b[:, 0] / norm, b[:, 1] / norm).statistic) < 6.0 / math.sqrt(len(b))


def test_normals_of_an_objective() -> None:
    z = SystemSource().gaussian(N, sd=2.0)
    assert stats.kstest(z, stats.norm(scale=2.0).cdf).pvalue > RELEASED
    for wrong in (1.8, 2.2):
        assert stats.kstest(z, stats.norm(scale=wrong).cdf).pvalue < RELEASED


def laplace(values: np.ndarray, *, rate: float = 0.25, epsilon: float = 0.5) -> np.ndarray:
    return SystemSource().add_spherical_laplace(
        values, rate=rate, sensitivity=2.0, epsilon=epsilon, exponent=-20
    )


def test_spherical_laplace_of_a_release_is_around_the_values_on_the_grid() -> None:
    z = np.concatenate([laplace(np.array([1e3, -7.125])) - [1e3, -7.125] for _ in range(20_000)])
    assert np.array_equal(z, np.round(z * 2.0**20) / 2.0**20)
    # A coordinate of R^2: density proportional to |z| K_1(rate |z|).
    below = stats.norm(scale=np.sqrt(2.0 * stats.gamma(1.5).rvs(40_000, random_state=1)) / 0.25)
    assert stats.ks_2samp(z, below.rvs(40_000, random_state=2)).pvalue > RELEASED
    assert stats.ks_2samp(z * 1.2, below.rvs(40_000, random_state=2)).pvalue < RELEASED


def test_spherical_laplace_refuses_a_rate_above_what_was_booked() -> None:
    with pytest.raises(NoiseError, match="too large"):
        laplace(np.zeros(3), rate=math.nextafter(0.25, 1.0))
    assert laplace(np.zeros(3)).shape == (3,)


def exact(
    values: np.ndarray, *, sd: float = 2.0, sensitivity: float = 2.0, rho: float = 0.5
) -> np.ndarray:
    return SystemSource().add_gaussian(
        values, sd=sd, sensitivity=sensitivity, rho=rho, exponent=-20
    )


def test_exact_gaussian_is_around_the_values_with_the_deviation() -> None:
    values = np.linspace(-5.0, 5.0, N)
    noisy = exact(values)
    assert np.array_equal(noisy, np.round(noisy * 2.0**20) / 2.0**20)
    z = noisy - values
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
    [
        np.array([np.nan]),
        np.array([np.inf]),
        np.zeros((2, 2)),
        np.zeros(0),
        np.zeros(2, dtype=np.float32),
    ],
    ids=["nan", "infinite", "matrix", "empty", "float32"],
)
def test_noise_is_added_to_finite_vectors_only(values: np.ndarray) -> None:
    for add in (exact, laplace):
        with pytest.raises(NoiseError, match="finite"):
            add(values)


def test_exact_gaussian_checks_what_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer in ([0.0], [0.0, math.inf]):
        monkeypatch.setattr(
            "dpci_core.privacy.randomness._gaussian_of",
            lambda *_, answer=answer, **__: lambda _: answer,
        )
        with pytest.raises(NoiseError, match="as many finite numbers"):
            exact(np.zeros(2))


@pytest.mark.parametrize("scale", [0.5, 1.5, 3.0, 6.0])
def test_whole_noise_is_discrete_laplace_where_denominators_are_small(scale: float) -> None:
    """The sampler of OpenDP before 0.14.2 was off by 6 to 18 % at all but the first of these."""
    z = SystemSource().add_discrete_laplace(
        np.zeros(N, dtype=np.int64), scale=scale, sensitivity=1, epsilon=Decimal(2)
    )
    ratio = math.exp(-1.0 / scale)
    last = math.ceil(-scale * math.log(100 / N))  # at least some dozen draws lie beyond
    k = np.arange(last)
    at = (1.0 - ratio) / (1.0 + ratio) * ratio**k * np.where(k == 0, 1.0, 2.0)
    counts = np.bincount(np.minimum(np.abs(z), last), minlength=last + 1)
    expected = N * np.append(at, 1.0 - at.sum())
    assert stats.chisquare(counts, expected).pvalue > RELEASED
    assert stats.binomtest(int((z > 0).sum()), int((z != 0).sum())).pvalue > RELEASED


def test_processes_forked_from_one_draw_differently() -> None:
    exact(np.zeros(1))  # warm: a generator inside the library would be copied with its state
    answers = []
    for _ in range(3):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                draws = np.r_[exact(np.zeros(1)), laplace(np.zeros(1))]
                os.write(write, draws.tobytes())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        answers.append(np.frombuffer(os.read(read, 100)))
        os.close(read)
        os.close(write)
    draws = np.array([*answers, np.r_[exact(np.zeros(1)), laplace(np.zeros(1))]])
    assert draws.shape == (4, 2)
    assert all(len(set(column)) == 4 for column in draws.T)


def test_sources_cannot_be_mixed_up() -> None:
    with pytest.raises(ValueError, match="Expected rng to be a numpy"):
        check_generator(SystemSource())
    for other in (np.random.default_rng(1), 7, None):
        with pytest.raises(ValueError, match="system source"):
            check_system_source(other)
    budget = ZCDP(model="0.5", hessian="0.25", covariance="0.25")
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=budget,
        regularization=0.01,
        n_records=3,
        calibration="published",
    )
    with pytest.raises(ValueError, match="Expected rng to be a numpy"):
        private_intervals(np.ones((3, 1)), np.ones(3), design=design, rng=SystemSource())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        SystemSource(7)  # type: ignore[call-arg]


def test_a_worker_that_starts_does_not_draw_what_its_parent_drew(tmp_path: Path) -> None:
    """Started anew, a process runs the script of its parent, up to the guard of its main part."""
    script, told = tmp_path / "script.py", tmp_path / "told.txt"
    script.write_text(
        textwrap.dedent(f"""
        import multiprocessing
        from dpci_core.privacy.randomness import SystemSource

        def draw():
            try:
                SystemSource().below(2)
                said = "drawn"
            except RuntimeError as error:
                said = str(error)
            with open({str(told)!r}, "a") as file:
                print(said, file=file)

        draw()
        if __name__ == "__main__":
            worker = multiprocessing.get_context("spawn").Process(target=draw)
            worker.start()
            worker.join()
        """)
    )
    subprocess.run([sys.executable, str(script)], check=True, env={**os.environ, "PYTHONPATH": "."})
    first, again, in_worker = told.read_text(encoding="utf-8").splitlines()
    assert first == in_worker == "drawn"
    assert "a second time" in again
