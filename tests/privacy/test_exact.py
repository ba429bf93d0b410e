"""Exact noise: the law on the grid against masses typed by hand, and answers that no precision
changes.
"""

from __future__ import annotations

import math
import random
import threading
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from scipy import stats

from dpci_core.privacy import exact
from dpci_core.privacy.exact import RealNoise, Uniforms

RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy: the draws differ in every run."""
VALUE, STEP, SCALE = 0.3, 0.5, 1.3


@cache
def drawn(law: exact.Law, dim: int) -> np.ndarray:
    """Multiples of STEP, (20,000, dim), around VALUE."""
    values, rate = np.full(dim, VALUE), Fraction(1.0 / SCALE)
    exponent = round(math.log2(STEP))
    return np.array(
        [
            RealNoise(dim, law=law, rate=rate).rounded(values, exponent=exponent)
            for _ in range(20_000)
        ]
    )


def laplace_below(x: float, scale: float = SCALE) -> float:
    """P(Z <= x) for density exp(-|z|/s)/(2s)."""
    return 0.5 * math.exp(x / scale) if x < 0 else 1.0 - 0.5 * math.exp(-x / scale)


def coordinate_below(x: float, scale: float = SCALE) -> float:
    """The same of one coordinate of spherical Laplace noise in R^3: density (1 + |z|/s)
    exp(-|z|/s)/(4s).
    """
    tail = 0.25 * (2.0 + abs(x) / scale) * math.exp(-abs(x) / scale)
    return tail if x < 0 else 1.0 - tail


def normal_below(x: float, scale: float = SCALE) -> float:
    return 0.5 * math.erfc(-x / (scale * math.sqrt(2.0)))


def chi_square(points: np.ndarray, below, *, reach: int = 16) -> float:
    """p-value of the counts on every point of the grid and of both tails beyond them."""
    k = np.round(points / STEP).astype(int)
    assert np.array_equal(k * STEP, points)
    borders = [(i + 0.5) * STEP - VALUE for i in range(-reach, reach)]
    mass = np.diff([0.0, *(below(x) for x in borders), 1.0])
    counts = np.bincount(np.clip(k, -reach, reach) + reach, minlength=2 * reach + 1)
    assert mass[0] * len(points) > 5
    assert mass[-1] * len(points) > 5
    return float(stats.chisquare(counts, mass * len(points)).pvalue)


@pytest.mark.parametrize(
    ("law", "dim", "below", "reach"),
    [
        ("laplace", 1, laplace_below, 14),
        ("laplace", 3, coordinate_below, 16),
        ("gaussian", 1, normal_below, 6),
        ("gaussian", 2, normal_below, 6),
    ],
)
def test_every_point_of_the_grid_and_both_tails_have_their_mass(law, dim, below, reach) -> None:
    """The statistic of the wrong laws lies at least 3.7 standard deviations beyond the limit
    (Laplace, 1.1: 188 on average, with 24, against 98), as it does for draws at a wrong rate.
    """
    points = drawn(law, dim)
    for column in points.T:
        assert chi_square(column, below, reach=reach) > RELEASED
    for wrong in (0.9, 1.1):
        off = partial(below, scale=wrong * SCALE)
        assert chi_square(points[:, -1], off, reach=reach) < RELEASED


def test_the_nearest_point_is_meant_and_not_the_one_below() -> None:
    points = drawn("laplace", 1)[:, 0]
    assert chi_square(points + STEP, laplace_below, reach=12) < RELEASED


def fixed_digits(monkeypatch: pytest.MonkeyPatch, seed: int, *, first: int) -> None:
    """The k-th draw of a test gets the same endless digits, whatever number of them is drawn at
    once.
    """
    rows = random.Random(seed)

    def draw(self: Uniforms, bits: int = 0) -> None:
        if not self.bits:
            self.digits = [rows.getrandbits(4096) for _ in self._words]
        self.bits += 8 if self.bits else first
        self._words = [whole >> 4096 - self.bits for whole in self.digits]

    monkeypatch.setattr(exact, "Uniforms", type("Fixed", (Uniforms,), {"draw": draw}))


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_no_precision_changes_an_answer(law, monkeypatch) -> None:
    values = np.array([0.0, 1e-3, -7.25, 1e6, math.pi])
    found = []
    for first in (1, 7, 64, 2048):
        fixed_digits(monkeypatch, 5, first=first)
        draws = [RealNoise(5, law=law, rate=Fraction(1, 3)) for _ in range(40)]
        found.append([noise.rounded(values, exponent=-30).tolist() for noise in draws])
    assert found[0] == found[1] == found[2] == found[3]


def test_doubles_are_within_two_units_of_the_last_place(monkeypatch) -> None:
    fixed_digits(monkeypatch, 6, first=2048)
    for _ in range(50):
        noise = RealNoise(7, law="laplace", rate=Fraction(1, 3))
        doubles = noise.doubles()
        far = noise.rounded(np.zeros(7), exponent=-900)  # the double nearest to 900 binary places
        assert (np.abs(doubles - far) <= np.abs(far) * 2.0**-51).all()


@pytest.mark.parametrize("byte", [b"\x00", b"\xff"])
def test_extreme_digits_ask_for_more_of_them(byte, monkeypatch) -> None:
    """Where all digits drawn are 0 or 1 the logarithm of the number is unbounded or may be 0."""
    original, calls = exact.secrets.token_bytes, []

    def extreme_once(n: int) -> bytes:
        calls.append(n)
        return byte * n if len(calls) == 1 else original(n)

    monkeypatch.setattr(exact.secrets, "token_bytes", extreme_once)
    for ask in (
        lambda noise: noise.doubles(),
        lambda noise: noise.rounded(np.zeros(3), exponent=-8),
    ):
        calls.clear()
        assert np.isfinite(ask(RealNoise(3, law="laplace", rate=Fraction(1)))).all()
        assert len(calls) > 1


def test_multiples_beyond_the_digits_of_a_double_are_the_nearest_doubles() -> None:
    found = RealNoise(1, law="gaussian", rate=Fraction(2) ** 1000).rounded(
        np.array([math.pi]), exponent=-300
    )
    assert found.tolist() == [math.pi]


def test_numbers_have_digits_of_their_own_and_more_are_added_at_the_end(monkeypatch) -> None:
    stream = iter(range(1, 256))
    monkeypatch.setattr(
        exact.secrets, "token_bytes", lambda n: bytes(next(stream) for _ in range(n))
    )
    uniforms = Uniforms(2)
    first = [bytes(range(1, 17)), bytes(range(17, 33))]
    assert [word.to_bytes(16) for word in uniforms._words] == first
    uniforms.draw()
    assert uniforms.bits == 192
    assert [word.to_bytes(24) for word in uniforms._words] == [
        first[0] + bytes(range(33, 41)),
        first[1] + bytes(range(41, 49)),
    ]
    with exact.ctx.workprec(256):
        for word, ball in zip(uniforms._words, uniforms.balls(), strict=True):
            for end in (word, word + 1):
                assert ball.contains(exact.arb((end, -192)))
            assert not ball.contains(exact.arb((word - 4, -192)))


def test_threads_leave_the_working_precision_as_it_was() -> None:
    before = exact.ctx.prec

    def work() -> None:
        for _ in range(50):
            RealNoise(5, law="laplace", rate=Fraction(1)).rounded(np.zeros(5), exponent=-20)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert exact.ctx.prec == before
