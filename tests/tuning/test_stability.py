"""The price of a private choice, attacked: exact densities in one dimension, worst tables, and
oracles typed from the proofs in docs/proofs/selection.md. Nothing here computes with the code it
tests.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpci_core.privacy.choice import choose, noisy_max_probabilities
from dpci_core.privacy.randomness import SystemSource
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning.repeated import (
    repeated_price,
    repeated_run,
)
from dpci_core.tuning.stability import (
    ConcentratedPlan,
    ScoreBounds,
    SelectionPlan,
    histogram_score_bounds,
    linear_score_bounds,
    plan_concentrated_selection,
    plan_selection,
)

RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy."""
SCORES = [0.1, 0.3, 0.25, 0.0]


# --- the choice -----------------------------------------------------------------------------------


def signed_sum(scores: list[float], b: float) -> np.ndarray:
    """P_i as the sum over subsets S of the others: a_i (-1)^|S| prod(a_S) / (|S| + 1)."""
    a = np.exp((np.array(scores) - max(scores)) / b)
    found = []
    for i in range(len(a)):
        others = [j for j in range(len(a)) if j != i]
        total = sum(
            (-1) ** size * math.prod(a[j] for j in subset) / (size + 1)
            for size in range(len(a))
            for subset in itertools.combinations(others, size)
        )
        found.append(a[i] * total)
    return np.array(found)


@pytest.mark.parametrize("k", range(1, 7))
def test_chances_are_the_sum_of_all_signed_terms(k: int) -> None:
    scores = np.random.default_rng(k).uniform(-1, 0, k).tolist()
    for b in (0.03, 0.2, 5.0):
        found = noisy_max_probabilities(scores, scale=b)
        assert found == pytest.approx(signed_sum(scores, b), abs=1e-13)
        assert found.sum() == pytest.approx(1.0, abs=1e-14)


def test_chances_by_hand() -> None:
    found = noisy_max_probabilities(SCORES, scale=0.1)
    assert found.round(4).tolist() == [0.0532, 0.6428, 0.2849, 0.0191]
    halves = noisy_max_probabilities([0.0, -math.log(2.0)], scale=1.0, noise="gumbel")
    assert halves == pytest.approx([2 / 3, 1 / 3], rel=1e-14)
    assert noisy_max_probabilities([3.0], scale=1e-9).tolist() == [1.0]
    assert noisy_max_probabilities([0.5] * 7, scale=0.1) == pytest.approx([1 / 7] * 7)
    assert noisy_max_probabilities([1e6, 0.0], scale=1e-3).tolist() == [1.0, 0.0]
    both = noisy_max_probabilities([SCORES, SCORES[::-1]], scale=0.1)
    assert both[1] == pytest.approx(found[::-1])
    for bad in ([], [0.0, math.nan], [math.inf, 0.0]):
        with pytest.raises(ValueError, match="finite"):
            noisy_max_probabilities(bad, scale=1.0)


def test_chances_are_those_of_exponential_noise() -> None:
    rng = np.random.default_rng(1)
    noisy = np.array(SCORES) + rng.exponential(0.1, (400_000, 4))
    counts = np.bincount(noisy.argmax(axis=1), minlength=4)
    law = noisy_max_probabilities(SCORES, scale=0.1)
    assert stats.chisquare(counts, law * counts.sum()).pvalue > 1e-4
    wrong = noisy_max_probabilities(SCORES, scale=0.11)
    assert stats.chisquare(counts, wrong * counts.sum()).pvalue < 1e-9


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_a_release_chooses_by_the_same_law(noise) -> None:
    draws = [choose(SCORES, scale=0.1, noise=noise, source=SystemSource()) for _ in range(8_000)]
    counts = np.bincount(draws, minlength=4)
    law = noisy_max_probabilities(SCORES, scale=0.1, noise=noise)
    assert stats.chisquare(counts, law * counts.sum()).pvalue > RELEASED
    other = noisy_max_probabilities(SCORES, scale=0.1 if noise == "gumbel" else 0.13)
    assert stats.chisquare(counts, other * counts.sum()).pvalue < RELEASED


def test_opendp_counts_the_same_price() -> None:
    import opendp.prelude as dp

    from dpci_core.privacy.randomness import _noisy_max_of

    assert dp.__name__  # its measurements carry their own privacy map
    assert _noisy_max_of(0.1, False).map(0.05) == pytest.approx(2 * 0.05 / 0.1)
    assert _noisy_max_of(0.1, True).map(0.05) == pytest.approx(0.05**2 / (2 * 0.1**2))


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
def test_the_choice_costs_two_shifts_over_its_scale(noise) -> None:
    b, beta = 0.1, 0.05
    largest = 0.0
    for scores in (SCORES, [0.0, 0.0, 0.0], [5.0, 0.0], [0.0, 5.0]):
        for signs in itertools.product((-1, 1), repeat=len(scores)):
            moved = np.array(scores) + beta * np.array(signs)
            here, there = (
                noisy_max_probabilities(q, scale=b, noise=noise) for q in (scores, moved)
            )
            largest = max(largest, float(np.abs(np.log(here / there)).max()))
    price = 2 * beta / b
    assert largest <= price + 1e-12
    if noise == "exponential":  # attained where the others lead
        assert largest == pytest.approx(price, abs=1e-9)
        assert largest > beta / b * 1.9  # a mean of beta / alpha would promise half


def renyi(p: np.ndarray, q: np.ndarray, order: float) -> float:
    return float(np.log(np.sum(p**order * q ** (1.0 - order))) / (order - 1.0))


def test_gumbel_noise_has_a_price_in_zcdp_and_exponential_noise_has_another() -> None:
    rng = np.random.default_rng(3)
    worst = {"gumbel": 0.0, "exponential": 0.0}
    for _ in range(3_000):
        k = int(rng.integers(2, 7))
        scores = rng.normal(0, rng.choice([0.1, 1.0, 4.0]), k)
        d, order = float(rng.choice([0.05, 0.3])), float(rng.choice([1.01, 2, 16]))
        moved = scores + d * rng.choice([-1, 1], k)
        for noise in worst:
            p, q = (noisy_max_probabilities(s, scale=1.0, noise=noise) for s in (scores, moved))
            worst[noise] = max(worst[noise], renyi(p, q, order) / (order * d * d / 2.0))
    assert 0.9 < worst["gumbel"] <= 1.0 + 1e-9
    assert worst["exponential"] > 2.0


# --- linear classifiers ---------------------------------------------------------------------------


def huber_minimiser(margins: np.ndarray, c: float, b: float = 0.0, h: float = 0.5) -> float:
    """argmin of the mean Huber loss of u theta, plus c theta^2 + b theta / n, in one dimension."""

    def slope(theta: float) -> float:
        z = margins * theta
        f = np.where(z > 1 + h, 0.0, np.where(z < 1 - h, -1.0, -(1 + h - z) / (2 * h)))
        return float((f * margins).mean() + 2 * c * theta + b / len(margins))

    return float(optimize.brentq(slope, -1e4, 1e4, xtol=1e-14, rtol=1e-15))


def ramp(theta: float, margins: np.ndarray, s: float) -> float:
    return -float(np.clip(s * (1.0 - theta * margins), 0.0, 1.0).mean())


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_the_bound_of_training_is_attained(slope: float) -> None:
    n, c = 21, 0.2
    rest = np.array([1.0, -1.0] * 10)
    # Equal noise on both minimisers takes them to where the ramp is steep.
    thetas = [huber_minimiser(np.append(rest, u), c) + 0.4 for u in (1.0, -1.0)]
    moved = abs(ramp(thetas[0], np.ones(5), slope) - ramp(thetas[1], np.ones(5), slope))
    bound = linear_score_bounds(n_train=n, n_validation=5, regularization=c, slope=slope).training
    assert moved == pytest.approx(bound, rel=1e-9)
    assert moved > 0.9 * slope / (n * 2.0 * c) * 2  # Lambda in the place of c halves the bound


@pytest.mark.parametrize("dim", [2, 5])
def test_no_random_pair_exceeds_the_bound_of_training(dim: int) -> None:
    from dpci_core.losses import HuberSVM, Logistic

    rng = np.random.default_rng(dim)
    n, worst = 30, 0.0
    for trial in range(500):
        c = float(rng.choice([0.003, 0.05, 0.5]))
        A = rng.normal(size=(n, dim))
        A /= np.maximum(1.0, np.linalg.norm(A, axis=1))[:, None]
        B = A.copy()
        B[0] = -A[0] if trial % 2 else rng.normal(size=dim) / (3 * math.sqrt(dim))
        loss = Logistic() if trial % 3 else HuberSVM(h=0.5)
        # Noise in the objective, of any law, or on the minimiser: equal on both sides.
        tilt = rng.normal(size=dim) * 3.0 if trial % 4 < 2 else None
        offset = rng.normal(size=dim) * 3.0 if tilt is None else 0.0
        h, h_ = (
            Newton()
            .minimise(PenalisedRisk(rows, loss=loss, regularization=c, noise_vector=tilt))
            .theta
            + offset
            for rows in (A, B)
        )
        V = rng.normal(size=(4, dim))
        V /= np.maximum(1.0, np.linalg.norm(V, axis=1))[:, None]
        q, q_ = (-np.clip(0.5 * (1 - V @ t), 0, 1).mean() for t in (h, h_))
        bound = linear_score_bounds(n_train=n, n_validation=4, regularization=c).training
        assert abs(q - q_) <= bound * (1 + 1e-9)
        worst = max(worst, abs(q - q_) / bound)
    assert worst > 0.25


# --- the price, by exact densities ----------------------------------------------------------------
# One dimension, k = 2, output perturbation: h_i = theta_i + Laplace noise of rate n c alpha. The
# worst pair of tables moves both minimisers by 1/(n c); `mirror` lets the second one move the other
# way, as a candidate with the opposite feature does.

N_TRAIN, C = 20, 0.5
THETA = {"T": -0.5 / (N_TRAIN * C), "T'": 0.5 / (N_TRAIN * C)}


def joint_density(
    h: float, table: str, *, alpha: float, b: float, score, is_shared: bool = False
) -> float:
    """Density of (first candidate, h) given a table: p(h) times the chance that it wins."""
    rate, centre = N_TRAIN * C * alpha, THETA[table]
    p = 0.5 * rate * math.exp(-rate * abs(h - centre))
    mine = score(h)
    if is_shared:  # the second, mirrored, has the same noise: h - centre
        other = score(-(-centre + (h - centre)))
        return p * float(noisy_max_probabilities([mine, other], scale=b)[0])
    # The trapezoid rule over the other's noise, with a node at its kink: tails keep their digits.
    z = np.linspace(-45.0, 45.0, 40_001) / rate
    weights = np.exp(-rate * np.abs(z))
    others = centre + z
    pairs = np.stack([np.full_like(others, mine), score(others)], axis=-1)
    chances = noisy_max_probabilities(pairs, scale=b)[:, 0]
    return p * float(chances @ weights / weights.sum())


def ramp_score(theta):
    return -np.clip(0.5 * (1.0 - theta), 0.0, 1.0)


def mistake_score(theta):
    return -np.where(np.asarray(theta) > 0.0, 0.0, 1.0)


def largest_loss(alpha: float, b: float, score, **kind: bool) -> float:
    found = 0.0
    for h in (-0.9, -0.5, -0.1, -0.05, 0.0, 0.05, 0.1, 0.5, 0.9):
        pair = [joint_density(h, t, alpha=alpha, b=b, score=score, **kind) for t in THETA]
        if min(pair) > 1e-290:
            found = max(found, abs(math.log(pair[0] / pair[1])))
    return found


def audited(alpha: str, choice: float) -> tuple[ScoreBounds, SelectionPlan]:
    """Bounds from the code, and a plan whose choice costs a record of T so much."""
    bounds = linear_score_bounds(n_train=N_TRAIN, n_validation=10_000, regularization=C)
    total = Decimal(alpha) + Decimal(str(choice))
    return bounds, SelectionPlan(total, Decimal(alpha), bounds.training / choice)


@pytest.mark.parametrize(("alpha", "choice"), [("1", 0.25), ("8", 0.5), ("60", 0.5)])
def test_the_price_of_the_winner_is_never_exceeded_and_attained(alpha: str, choice: float) -> None:
    bounds, plan = audited(alpha, choice)
    price = float(plan.price(bounds))
    loss = largest_loss(float(alpha), plan.scale, ramp_score)
    assert loss <= price + 1e-6
    assert loss > 0.98 * price
    if alpha == "60":
        assert price == pytest.approx(60.5)
        assert loss == pytest.approx(60.5, abs=5e-4)


def test_counting_mistakes_would_break_the_price() -> None:
    _, plan = audited("60", 0.5)
    # A record of T can turn every mistake: 60 + 1 / 0.1, where 60.5 is promised.
    assert largest_loss(60.0, plan.scale, mistake_score) == pytest.approx(70.0, abs=1e-6)


def test_shared_noise_would_break_the_price() -> None:
    bounds, plan = audited("60", 0.5)
    loss = largest_loss(60.0, plan.scale, ramp_score, is_shared=True)
    assert loss == pytest.approx(61.0, abs=1e-3)
    assert loss > float(plan.price(bounds)) + 0.4


def test_the_price_may_be_that_of_all_trainings() -> None:
    bounds, plan = audited("1", 8.0)
    assert float(plan.price(bounds)) == pytest.approx(9.0)
    assert plan.price(bounds, n_candidates=2) == Decimal(2)
    assert largest_loss(1.0, plan.scale, ramp_score) <= 2.0 + 1e-6
    again = SelectionPlan(Decimal(9), Decimal(1), plan.scale, "retrained")
    assert float(again.price(bounds)) == pytest.approx(17.0)
    assert again.price(bounds, n_candidates=2) == Decimal(3)


# --- the same under zCDP --------------------------------------------------------------------------
# Gaussian noise on the minimisers, the chosen candidate trained again: the law of (index, model).


def chances_of(table: str, *, sd: float, b: float, noise) -> np.ndarray:
    """Of both candidates, the second one mirrored, over the noise of the models that are scored."""
    z, weights = np.polynomial.hermite_e.hermegauss(80)
    first, second = np.meshgrid(THETA[table] + sd * z, -THETA[table] + sd * z, indexing="ij")
    scores = np.stack([ramp_score(first), ramp_score(second)], axis=-1)
    chances = noisy_max_probabilities(scores, scale=b, noise=noise)
    return np.einsum("ijk,i,j->k", chances, weights, weights) / weights.sum() ** 2


def renyi_of_retrained(order: float, *, rho: float, b: float, noise="gumbel") -> float:
    """Renyi divergence of the law of (index, model trained again), by its density."""
    sd = 1.0 / (N_TRAIN * C * math.sqrt(2.0 * rho))
    chances = [np.log(chances_of(table, sd=sd, b=b, noise=noise)) for table in THETA]
    parts = []
    for i, sign in enumerate((1.0, -1.0)):
        here, there = (sign * centre for centre in THETA.values())
        h = order * here + (1.0 - order) * there + sd * np.linspace(-10.0, 10.0, 4_001)
        p, q = (
            law[i] + stats.norm(at, sd).logpdf(h)
            for law, at in zip(chances, (here, there), strict=True)
        )
        parts.append(special.logsumexp(order * p + (1.0 - order) * q) + math.log(h[1] - h[0]))
    return float(special.logsumexp(parts)) / (order - 1.0)


@pytest.mark.parametrize("order", [1.05, 2.0, 8.0])
@pytest.mark.parametrize(
    ("train", "choice"), [(0.05, 0.01), (20.0, 0.01), (20.0, 0.1), (20.0, 2.0)]
)
def test_the_price_of_the_retrained_in_zcdp(train: float, choice: float, order: float) -> None:
    bounds = linear_score_bounds(n_train=N_TRAIN, n_validation=10_000, regularization=C)
    b = bounds.training / math.sqrt(2.0 * choice)
    plan = ConcentratedPlan(Decimal(str(train + choice)), Decimal(str(train)), b)
    assert float(plan.price(bounds)) == pytest.approx(train + choice, rel=1e-9)
    found = renyi_of_retrained(order, rho=train, b=b) / order
    assert train < found <= float(plan.price(bounds)) * (1 + 1e-9)
    if (
        train == 20.0 and choice * order < 0.3
    ):  # training hardly blurs the scores: the choice costs it all
        assert found - train > 0.8 * choice
        # Half the scale, or exponential noise of the same scale, would not keep the price.
        assert renyi_of_retrained(order, rho=train, b=b / 2) / order > train + 2 * choice
        other = renyi_of_retrained(order, rho=train, b=b, noise="exponential") / order
        assert other > train + 2 * choice


def test_the_split_of_a_rho_by_hand() -> None:
    # beta_T above beta_V / sqrt 2: half for the choice; else what makes V pay all of it.
    half = plan_concentrated_selection(rho="0.5", bounds=ScoreBounds(0.3, 0.02))
    assert (half.train, round(half.scale, 6)) == (Decimal("0.25"), 0.424264)
    rich = plan_concentrated_selection(rho="0.5", bounds=ScoreBounds(0.001, 0.01))
    assert float(rich.train) == pytest.approx(0.495)
    assert rich.scale == pytest.approx(0.01, rel=1e-9)


# --- plans ----------------------------------------------------------------------------------------

ADULT = {"n_train": 24_130, "n_validation": 3_016, "regularization": 0.0005}


def test_plans_by_hand() -> None:
    bounds = linear_score_bounds(**ADULT, slope=1.0)
    assert bounds.training == pytest.approx(1 / (24_130 * 0.0005), rel=1e-12)
    assert (round(bounds.training, 5), round(bounds.validation, 5)) == (0.08288, 0.00033)
    published = plan_selection(epsilon="1", bounds=bounds, accounting="published")
    assert (published.train, round(published.scale, 4)) == (Decimal("0.5"), 0.3315)
    assert published.releases == "retrained"
    half = linear_score_bounds(**ADULT)
    sharp = plan_selection(epsilon="1", bounds=half)
    assert (sharp.train, round(sharp.scale, 5)) == (Decimal("0.5"), 0.08288)
    # Many training rows: the side of T costs little, training has nearly everything.
    rich = plan_selection(epsilon="2", bounds=ScoreBounds(0.001, 0.1))
    assert float(rich.train) == pytest.approx(2 * (1 - 0.005))
    assert rich.scale == pytest.approx(0.1)


def test_a_sharp_plan_costs_its_epsilon_and_one_side_needs_all_of_it() -> None:
    rng = np.random.default_rng(12)
    for _ in range(10_000):
        T, V = 10.0 ** rng.uniform(-8, 0, 2)
        epsilon = Decimal(repr(round(float(10.0 ** rng.uniform(-3, 2)), 6)))
        kind = "winner" if rng.random() < 0.5 else "retrained"
        check_plans(float(T), float(V), epsilon, kind)


def check_plans(T: float, V: float, epsilon: Decimal, kind) -> None:
    bounds = ScoreBounds(T, V)
    plan = plan_selection(epsilon=epsilon, bounds=bounds, releases=kind)
    assert plan.price(bounds) <= epsilon
    assert float(plan.price(bounds)) == pytest.approx(float(epsilon), rel=1e-9)
    assert epsilon / 2 <= plan.train <= epsilon
    published = plan_selection(epsilon=epsilon, bounds=bounds, accounting="published")
    assert published.price(bounds) <= epsilon
    assert published.train <= plan.train
    rho = plan_concentrated_selection(rho=epsilon, bounds=bounds)
    assert rho.price(bounds) <= epsilon
    assert float(rho.price(bounds)) == pytest.approx(float(epsilon), rel=1e-9)


def test_bad_bounds_and_plans() -> None:
    for bad in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="training"):
            ScoreBounds(bad, 0.1)
    with pytest.raises(ValueError, match="n_train=0"):
        linear_score_bounds(n_train=0, n_validation=1, regularization=1.0)
    assert linear_score_bounds(n_train=1, n_validation=1, regularization=1e-6).training == 1.0


# --- histograms -----------------------------------------------------------------------------------


def test_the_bounds_of_histograms_hold_and_are_nearly_attained() -> None:
    rng = np.random.default_rng(5)
    worst = {"training": 0.0, "validation": 0.0}
    bins, n = 4, 40
    h = 1.0 / bins
    for trial in range(20_000):
        counts = rng.multinomial(n, rng.dirichlet([0.2] * bins)).astype(float)
        if trial % 7 == 0:  # the corner: everything in one bin
            counts[:] = 0
            counts[0] = n
        a = int(counts.argmax()) if trial % 2 else int(rng.choice(np.flatnonzero(counts)))
        b = int(rng.integers(bins))
        moved = counts.copy()
        moved[a] -= 1
        moved[b] += 1
        noise = rng.laplace(0, float(rng.choice([0.01, 0.3, 3.0])), bins)
        v = np.zeros(bins)
        v[b] = 1.0
        if trial % 3 == 0:
            v = rng.dirichlet([0.3] * bins)
        public = [np.clip((x + noise) / n, 0, 1) for x in (counts, moved)]
        q = [(2 * v @ p - p @ p) / h for p in public]
        worst["training"] = max(worst["training"], abs(q[0] - q[1]) * h * n)
        w = v.copy()
        step = min(0.1, w[b])
        w[b] -= step
        w[a] += step
        change = abs(2 * (v - w) @ public[0]) / h
        worst["validation"] = max(worst["validation"], change * h / 0.1)
    assert 3.9 < worst["training"] <= 4.0 + 1e-9
    assert 1.9 < worst["validation"] <= 2.0 + 1e-9
    found = histogram_score_bounds(n_train=40, n_validation=10, narrowest=h)
    assert found.training == pytest.approx(4 / (h * 40), rel=1e-12)
    assert found.validation == pytest.approx(2 / (h * 10), rel=1e-12)


# --- privacy is no stability ----------------------------------------------------------------------


def index_probability(f: tuple[float, float], n: float, alpha: float) -> float:
    """Of the first index, by the exponential mechanism at alpha / 2 with weights e^(n alpha f /
    4).
    """
    return 1.0 / (1.0 + math.exp(n * alpha / 4.0 * (f[1] - f[0])))


def test_a_private_training_can_be_unstable() -> None:
    n, alpha = 50, 0.5
    jump = index_probability((1, 0.5), n, alpha) - index_probability(
        (1 - 1 / n, 0.5 + 1 / n), n, alpha
    )
    e = math.exp(n * alpha / 8)
    closed = e * (math.exp(alpha / 2) - 1) / ((e + 1) * (e + math.exp(alpha / 2)))
    assert jump == pytest.approx(closed, rel=1e-12)
    assert jump == pytest.approx(0.0113156, abs=5e-8)
    # A maximum of noisy values moves by what the values move, at equal noise.
    noise = np.random.default_rng(0).laplace(0, 2 / (alpha * n), (100_000, 2))
    f, f_ = np.array([1, 0.5]), np.array([1 - 1 / n, 0.5 + 1 / n])
    moved = (noise + f).max(axis=1) - (noise + f_).max(axis=1)
    assert n * np.abs(moved).max() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("n", [10, 10**6])
def test_a_near_tie_is_unstable_for_every_n(n: int) -> None:
    alpha = 1.0
    jump = index_probability((0.5, 0.5), n, alpha) - index_probability(
        (0.5 - 1 / n, 0.5 + 1 / n), n, alpha
    )
    assert jump == pytest.approx(math.tanh(alpha / 4) / 2, rel=1e-6)
    assert round(jump, 3) == 0.122


# --- random stopping ------------------------------------------------------------------------------


def best_of(q: np.ndarray, shape: float, stop: float) -> np.ndarray:
    """Law of the best of K draws from q, whose outcomes stand from the worst to the best."""
    below = np.concatenate([[0.0], np.cumsum(q)])
    below[-1] = 1.0
    if shape == 0:
        f = np.log1p(-(1 - stop) * below) / math.log(stop)
    else:
        f = ((1 - (1 - stop) * below) ** -shape - 1) / (stop**-shape - 1)
    return np.diff(f)


def worst_three_outcomes(run: float, shape: float, stop: float) -> float:
    """Largest log ratio over three-outcome runs at the extremes of run-DP."""
    found = 0.0
    x = 1.0 / (1.0 + math.exp(run))
    for tiny in (1e-3, 1e-5, 1e-7):
        for u in (1 - x, 0.9 * (1 - x), 0.5):
            q = np.array([u - tiny, tiny, 1 - u])
            low = np.maximum(math.exp(-run) * (u - tiny), 1 - math.exp(run) * (1 - (u - tiny)))
            q_ = np.array([low, tiny * math.exp(-run), 0.0])
            q_[2] = 1 - q_.sum()
            if (np.abs(np.log(q / q_)) > run + 1e-9).any():
                continue
            ratio = best_of(q, shape, stop) / best_of(q_, shape, stop)
            found = max(found, float(np.abs(np.log(ratio)).max()))
    return found


@pytest.mark.parametrize(("shape", "stop"), [(0, 0.1), (1, 0.1), (1, 0.5), (2, 0.3)])
def test_three_outcomes_attain_the_price_of_random_stopping(shape: float, stop: float) -> None:
    price = repeated_price(1.0, shape=shape, stop=stop)
    found = worst_three_outcomes(1.0, shape, stop)
    assert price - 0.002 < found <= price
    assert price < 2 + shape


def test_the_price_of_random_stopping_by_hand() -> None:
    e = math.e
    assert repeated_price(1.0, shape=1, stop=0.1) == pytest.approx(
        1 + 2 * math.log((e + 0.1) / (1 + 0.1 * e)), rel=1e-9
    )
    assert round(repeated_price(1.0, shape=1, stop=0.1), 4) == 2.5913
    assert round(repeated_price(1.0, shape=0, stop=0.1), 4) == 1.7957
    assert round(repeated_run(1.0, shape=1, stop=0.1), 4) == 0.3803
    assert round(repeated_run(3.0, shape=1, stop=0.1), 4) == 1.1649
    assert repeated_price(800.0, shape=1, stop=1e-9) < 3 * 800  # no overflow
    for total in (1e-6, 0.1, 1.0, 30.0):
        run = repeated_run(total, shape=1, stop=0.02)
        assert repeated_price(run, shape=1, stop=0.02) <= total
        assert repeated_price(run * (1 + 1e-9), shape=1, stop=0.02) > total
    prices = [repeated_price(1.0, shape=1, stop=g) for g in (0.9, 0.5, 0.1, 0.01)]
    assert prices == sorted(prices)
    prices = [repeated_price(1.0, shape=eta, stop=0.1) for eta in (0, 0.5, 1, 2)]
    assert prices == sorted(prices)


def test_random_stopping_refuses_what_is_no_law_of_runs() -> None:
    with pytest.raises(ValueError, match="shape"):
        repeated_price(1.0, shape=-0.5, stop=0.1)
    with pytest.raises(ValueError, match="stop"):
        repeated_price(1.0, shape=1, stop=1.0)


def test_the_price_is_that_of_the_side_that_pays_more() -> None:
    bounds = ScoreBounds(0.01, 0.4)
    plan = SelectionPlan(Decimal(9), Decimal("0.5"), 0.1)
    assert float(plan.price(bounds)) == pytest.approx(max(0.5 + 0.1, 8.0))
    other = SelectionPlan(Decimal(9), Decimal("0.5"), 0.1, "retrained")
    assert float(other.price(ScoreBounds(0.4, 0.01))) == pytest.approx(0.5 + 8.0)
