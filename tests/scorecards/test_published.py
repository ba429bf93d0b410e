"""RSPM, OPDisc, one-hot noise and OPSamp: their laws, their prices and the counterexample."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from dpci_core.privacy.randomness import SystemSource
from dpci_core.scorecards import cell_counts
from dpci_core.scorecards import opsamp as averaging
from dpci_core.scorecards.opsamp import opsamp, stability
from dpci_core.scorecards.published import (
    PUBLISHED_METHODS,
    IntegerBall,
    draw_noise,
    features_of,
    hypercube_delta,
    noise_scale,
    perturbed_choice,
)

BALL = IntegerBall(6, 2, 7)
"""As large as the classes of [NRVW]'s experiment: d = 7, D^2 = 7."""
SMALL = IntegerBall(1, 1, 1)
DELTA = {"opdisc_published": 1e-5}


def table(n: int, k: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, k))
    return cell_counts(X, (X[:, 0] + rng.random(n) > 0.9).astype(int))


def test_the_class_and_its_mistakes() -> None:
    vectors = np.array([v for v in itertools.product(range(-2, 3), repeat=4) if np.dot(v, v) <= 5])
    ball = IntegerBall(3, 2, 5)
    assert sorted(map(tuple, ball.vectors)) == sorted(map(tuple, vectors))
    assert (len(BALL.vectors), BALL.n_entries) == (5_449, 7)
    assert len(IntegerBall(2, 1).vectors) == 27
    cells = table(200, 3)
    X = (np.arange(8)[:, None] >> np.arange(3)[::-1]) & 1
    for vector, mistakes in zip(ball.vectors, ball.mistakes(cells), strict=True):
        yes = X @ vector[:-1] + vector[-1] > 0
        assert mistakes == cells[yes, 0].sum() + cells[~yes, 1].sum()
    lifted = ball.lifted()
    np.testing.assert_allclose(np.linalg.norm(lifted, axis=1), 1.0, rtol=1e-12)
    apart = np.linalg.norm(lifted[:, None] - lifted, axis=2)[~np.eye(len(lifted), dtype=bool)]
    assert apart.min() >= 1.0 / math.sqrt(5) - 1e-12  # tau / D


def test_scales_are_those_of_the_claimed_budget() -> None:
    scales = {m: noise_scale(BALL, m, epsilon=0.5, delta=DELTA.get(m)) for m in PUBLISHED_METHODS}
    assert scales == {
        "rspm": 2 * 28 / 0.5,  # m = 7 entries of 4 separators
        "opdisc": 4 * 7 / 0.5,  # c = 4 D^2 / tau^2
        "one_hot": 2 * 7 / 0.5,
        "opdisc_published": pytest.approx(1.75 * 28 * math.sqrt(math.log(1e5)) / 0.5),
    }
    for method, delta in (("rspm", 1e-5), ("opdisc", 1e-5), ("opdisc_published", None)):
        with pytest.raises(ValueError, match="delta"):
            noise_scale(BALL, method, epsilon=1.0, delta=delta)
    with pytest.raises(ValueError, match="method"):
        noise_scale(BALL, "prsma", epsilon=1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("method", PUBLISHED_METHODS)
def test_noise_has_its_law_and_a_tenth_less_is_seen(method) -> None:
    rng = np.random.default_rng(1)
    ball = IntegerBall(2, 1)  # three entries, six separators, D^2 = 3
    noise = draw_noise(ball, method, epsilon=2.0, delta=DELTA.get(method), n_draws=50_000, rng=rng)
    scale = {"rspm": 6.0, "opdisc": 6.0, "one_hot": 3.0}.get(
        method, 21 * math.sqrt(math.log(1e5)) / 2
    )
    seen, law = {
        "rspm": (noise[:, 3], stats.laplace),
        "one_hot": (noise[:, 2], stats.expon),
        "opdisc": (np.linalg.norm(noise, axis=1), stats.gamma(4)),
        "opdisc_published": (noise[:, 3], stats.norm),
    }[method]
    assert noise.shape[1] == {"rspm": 6, "one_hot": 9}.get(method, 4)
    assert stats.kstest(seen / scale, law.cdf).pvalue > 1e-4
    assert stats.kstest(seen / (0.9 * scale), law.cdf).pvalue < 1e-9
    if method == "opdisc":  # the shape is d + 1, and every direction alike
        for shape in (1, 3):
            assert stats.kstest(seen / scale, stats.gamma(shape).cdf).pvalue < 1e-9
        u = noise / np.linalg.norm(noise, axis=1)[:, None]
        np.testing.assert_allclose(u.T @ u / len(u), np.eye(4) / 4, atol=0.01)


# --- the theorem, exactly along rays of noise -----------------------------------------------------


def rays(method: str, m: int, n: int) -> np.ndarray:
    """Directions of noise; its size is Gamma(m) along each."""
    rng = np.random.default_rng(0)
    if method == "opdisc":
        u = rng.normal(size=(n, m))
        return u / np.linalg.norm(u, axis=1)[:, None]
    u = rng.dirichlet(np.ones(m), n)
    return u if method == "one_hot" else u * rng.choice([-1, 1], (n, m))


def law_of(losses: np.ndarray, along: np.ndarray, m: int, scale: float) -> np.ndarray:
    """P(w) for noise R u: along each ray w is best on one interval of R."""
    found = np.zeros(len(losses))
    for w in range(len(losses)):
        slope, lead = along - along[:, [w]], losses - losses[w]
        with np.errstate(divide="ignore", invalid="ignore"):
            meets = lead / slope
        last = np.where(slope > 1e-13, meets, np.inf).min(axis=1)
        first = np.maximum(np.where(slope < -1e-13, meets, 0.0).max(axis=1), 0.0)
        inside = stats.gamma.cdf(last, m, scale=scale) - stats.gamma.cdf(first, m, scale=scale)
        found[w] = np.where(last > first, inside, 0.0).mean()
    return found


def worst_ratio(method: str, ball: IntegerBall, share: float) -> float:
    """Largest log ratio over tables whose losses one record moved by 1, each its own way."""
    phi = features_of(ball, method)
    m, n = phi.shape[1], len(phi)
    along = rays(method, m, 6_000) @ phi.T
    scale = share * noise_scale(ball, method, epsilon=1.0)
    rng, worst = np.random.default_rng(2), 0.0
    for size in (1, 2, 5, 5):
        losses = rng.integers(0, size, n).astype(float)
        for w in range(n):
            moved = losses + np.where(np.arange(n) == w, -1.0, 1.0)
            one, other = law_of(losses, along, m, scale), law_of(moved, along, m, scale)
            is_seen = np.minimum(one, other) > 0.01
            worst = max(worst, float(np.abs(np.log(one / other))[is_seen].max()))
    return worst


@pytest.mark.parametrize(
    ("method", "ball", "reached", "broken"),
    [("rspm", SMALL, 0.85, 1.6), ("one_hot", SMALL, 0.9, 1.7),
     ("opdisc", IntegerBall(1, 1), 0.65, 1.2)],
)  # fmt: skip
def test_the_theorem_holds_and_half_the_noise_breaks_it(method, ball, reached, broken) -> None:
    assert reached < worst_ratio(method, ball, 1.0) < 1.06  # errors of the rays: a few hundredths
    assert worst_ratio(method, ball, 0.5) > broken


def test_two_rules_attain_epsilon_exactly() -> None:
    # Two rules, one separator: Laplace noise of scale 2 / epsilon against a lead of 5, then 3.
    law = stats.laplace(scale=noise_scale(SMALL, "rspm", epsilon=1.0) / 4)  # m = 4 there, 1 here
    assert math.log(law.sf(3) / law.sf(5)) == pytest.approx(1.0, abs=1e-12)
    half = stats.laplace(scale=1.0)
    assert math.log(half.sf(3) / half.sf(5)) == pytest.approx(2.0, abs=1e-12)


# --- not private as published ---------------------------------------------------------------------


def test_the_hypercube_breaks_the_printed_noise() -> None:
    """Numbers of the closed form, typed from an independent computation."""
    found = [hypercube_delta(d, epsilon=1, delta=1e-5) for d in (5, 50, 85, 100, 200, 400)]
    assert found == pytest.approx([0, 0, 1.6e-3, 0.0526, 0.283, 0.516], abs=5e-4)
    half = [hypercube_delta(d, epsilon=1, delta=1e-5, noise_share=0.5) for d in (20, 21, 100)]
    assert half == pytest.approx([0, 4.7e-3, 0.519], abs=5e-4)


def test_the_closed_form_is_what_draws_give() -> None:
    """Every vertex of the cube in eight dimensions, noise small enough to show."""
    d, share, rng = 8, 0.12, np.random.default_rng(3)
    sd = share * 1.75 * d * math.sqrt(math.log(1e5))
    vertices = np.array(list(itertools.product((-1, 1), repeat=d)))
    is_even = (vertices == -1).sum(axis=1) % 2 == 0
    gain = rng.normal(0, sd, (40_000, d)) @ vertices.T / math.sqrt(d)
    even = is_even[np.argmin(is_even - gain, axis=1)].mean()  # D: loss 1 where even
    q = 2.0 * even
    delta = 1 - q / 2 - math.e * q / 2
    se = (1 + math.e) * math.sqrt(even * (1 - even) / 40_000)
    claimed = hypercube_delta(d, epsilon=1.0, delta=1e-5, noise_share=share)
    assert claimed > 0.1
    assert abs(delta - claimed) < 4 * se


def test_a_release_cannot_draw_from_them() -> None:
    mistakes = SMALL.mistakes(table(20, 1))
    for method in PUBLISHED_METHODS:
        with pytest.raises(TypeError, match="never a release"):
            perturbed_choice(mistakes, SMALL, method=method, epsilon=1.0, delta=DELTA.get(method),
                             rng=SystemSource())  # type: ignore[arg-type] # fmt: skip
    with pytest.raises(TypeError, match="never a release"):
        opsamp(lambda s: s, low=[0], high=[1], lipschitz=1, epsilon=1, delta=1e-6, n_calls=2,
               rate=1, rng=SystemSource())  # type: ignore[arg-type] # fmt: skip


def test_choices_minimise_what_they_say() -> None:
    ball, cells = IntegerBall(3, 1), table(300, 3)
    mistakes = ball.mistakes(cells)
    for method in PUBLISHED_METHODS:
        given = {"method": method, "delta": DELTA.get(method), "rng": np.random.default_rng(4)}
        sure = perturbed_choice(mistakes, ball, epsilon=1e7, n_draws=20, **given)
        assert (mistakes[sure] == mistakes.min()).all()
        blind = perturbed_choice(mistakes, ball, epsilon=1e-7, n_draws=400, **given)
        assert mistakes[blind].mean() > mistakes.min() + 30
    with pytest.raises(ValueError, match="81 vectors"):
        perturbed_choice(mistakes[1:], ball, epsilon=1.0, **given)


def test_one_hot_noise_is_taken_off_and_is_permute_and_flip_on_one_entry() -> None:
    """Mistakes that depend on the first entry alone: its value is chosen by exponential noise."""
    ball, lead = IntegerBall(1, 1), 5.0
    mistakes = np.where(ball.vectors[:, 0] == 1, 0.0, lead)
    drawn = perturbed_choice(
        mistakes, ball, method="one_hot", epsilon=1.0, n_draws=5_000, rng=np.random.default_rng(12)
    )
    won = int((ball.vectors[drawn, 0] == 1).sum())
    a = math.exp(-lead / 4.0)  # noise of scale 2 d / epsilon, d = 2
    share = (1 - (1 - a) ** 3) / (3 * a)  # the integral of (1 - a t)^2
    assert stats.binomtest(won, 5_000, share).pvalue > 1e-4
    assert stats.binomtest(won, 5_000, share + 0.05).pvalue < 1e-4


# --- OPSamp ---------------------------------------------------------------------------------------


def test_the_power_of_the_width_is_the_first() -> None:
    """d = 1, a slope of +1 and a record's -1 replaced by +1: the distance in closed form."""
    B, rate = 0.004, 1e-3
    true = B * -math.expm1(-2 * rate)
    assert true > 125 * rate * B**2 * 2  # as printed, with the square
    assert true <= stability([B], lipschitz=1.0, rate=rate)
    scale = averaging.noise_scale(
        [B], lipschitz=1.0, delta=0.5, n_calls=10**12, rate=rate, calibration="published"
    )
    assert scale == pytest.approx(250 * rate * B, rel=1e-2)


@pytest.mark.parametrize(
    ("d", "rate"), [(1, 0.05), (2, 0.05), (3, 0.05), (1, 0.3), (2, 0.3), (3, 0.3)]
)
def test_no_pair_of_tables_exceeds_the_stability(d, rate) -> None:
    rng = np.random.default_rng(7)
    grid = np.array(list(itertools.product(np.linspace(0, 1, {1: 41, 2: 9, 3: 5}[d]), repeat=d)))
    slopes = rng.exponential(1 / rate, (3_000, d)) @ grid.T
    worst = 0.0
    for trial in range(25):
        if trial < 5:  # one record of slope -1 becomes +1 beside a base that pulls
            base = (trial - 1.0) * grid.sum(axis=1)
            change = 2.0 * grid.sum(axis=1)
        else:  # any losses, not convex; the record's are 1-Lipschitz in the 1-norm
            base = rng.normal(0, 3, len(grid)) * rng.choice([0.1, 1])
            centre = rng.random((2, d))
            change = np.abs(grid - centre[0]).sum(axis=1) - np.abs(grid - centre[1]).sum(axis=1)
        one = grid[np.argmin(base - slopes, axis=1)]
        other = grid[np.argmin(base + change - slopes, axis=1)]
        worst = max(worst, float(np.abs(one - other).sum(axis=1).mean()))
    bound = stability(np.ones(d), lipschitz=1.0, rate=rate)
    assert 0.05 * bound < worst <= bound
    assert bound <= min(d, 8 * rate * d**2) * 1.05 + 1e-9
    c = np.geomspace(2 * d, 1e5, 200_000)  # the formula typed again, G_h = 2, D = 1
    left = 1 - np.exp(-rate * c) * 2 * d / c
    best = (1 - np.exp(-rate * c)) * d / np.where(left > 0, left, np.nan)
    assert bound == pytest.approx(min(d, np.nanmin(best)), rel=1e-4)
    alpha = 0.1  # of the sum of losses, three times
    inexact = ((1 - np.exp(-rate * c)) * d + 3 * d * alpha * np.exp(-rate * c) / c) / np.where(
        left > 0, left, np.nan
    )
    more = stability(np.ones(d), lipschitz=1.0, rate=rate, oracle_error=alpha)
    assert more == pytest.approx(min(d, np.nanmin(inexact)), rel=1e-4)
    assert more > bound or bound == d


def test_the_scale_of_an_average_is_what_is_written_down() -> None:
    """Both calibrations, typed from the docstring of `opsamp`."""
    given = {"lipschitz": 2.0, "delta": 1e-6, "n_calls": 50_000, "rate": 1e-4}
    widths, alpha = [0.5, 0.25], 0.04
    gamma = 2 * math.sqrt(math.log(4 * 2 / 1e-6) / (8 * 50_000))
    printed = 4 * 0.5 * gamma + 250 * 1e-4 * 2.0 * 4 * 0.5 + alpha / 20.0
    found = averaging.noise_scale(widths, calibration="published", oracle_error=alpha, **given)
    assert found == pytest.approx(printed, rel=1e-12)
    mean = stability(widths, lipschitz=2.0, rate=1e-4, oracle_error=alpha)
    tail = math.log(1e6) / 50_000
    sharp = mean + math.sqrt(2 * mean * 0.75 * tail) + 0.75 * tail / 3
    found = averaging.noise_scale(widths, calibration="sharp", oracle_error=alpha, **given)
    assert found == pytest.approx(sharp, rel=1e-12)
    assert sharp < 0.75


def test_an_average_has_its_two_laws_of_noise(monkeypatch) -> None:
    monkeypatch.setattr(averaging, "noise_scale", lambda *_, **__: 3.0)
    slopes = []

    def oracle(given: np.ndarray) -> np.ndarray:
        slopes.extend(given[:, 0])
        return np.full_like(given, 5.0)

    rng = np.random.default_rng(11)
    noise = [
        opsamp(oracle, low=[-1e6], high=[1e6], lipschitz=1.0, epsilon=2.0, delta=1e-6, n_calls=2,
               rate=0.25, rng=rng)[0] - 5.0
        for _ in range(5_000)
    ]  # fmt: skip
    assert stats.kstest(np.array(slopes) * 0.25, stats.expon.cdf).pvalue > 1e-4
    assert stats.kstest(np.array(noise) / (3.0 / 2.0), stats.laplace.cdf).pvalue > 1e-4


def test_a_private_median_is_near_at_the_sharper_constants() -> None:
    x = np.sort(np.random.default_rng(8).beta(2, 5, 10_000))
    n = len(x)

    def oracle(slopes: np.ndarray) -> np.ndarray:  # of sum |w - x_i| - slope w
        return x[np.clip(np.ceil((n + slopes) / 2).astype(int) - 1, 0, n - 1)]

    def error(calibration: str, rate: float) -> float:
        rng = np.random.default_rng(9)
        found = [
            opsamp(oracle, low=[0], high=[1], lipschitz=1.0, epsilon=1.0, delta=1e-6,
                   n_calls=20_000, rate=rate, calibration=calibration, rng=rng)[0]
            for _ in range(60)
        ]  # fmt: skip
        return float(np.sqrt(np.mean((np.array(found) - np.median(x)) ** 2)))

    sharp, published = error("sharp", 1e-3), error("published", 3e-4)
    assert 0.01 < sharp < 0.08
    assert published > 2.5 * sharp
    with pytest.raises(ValueError, match="at most 2 dimensions"):
        opsamp(oracle, low=[0] * 3, high=[1] * 3, lipschitz=1.0, epsilon=1.0, delta=1e-6, n_calls=2,
               rate=1.0, rng=np.random.default_rng(0))  # fmt: skip
