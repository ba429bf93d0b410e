"""The price of a card and of the count of its mistakes, its forecast, and the interval.

Laws are typed here from docs/proofs/selection.md#cards; scales and divisions are the code's.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pytest
from scipy import stats
from scipy.special import roots_legendre

from dpci_core.privacy.choice import noisy_max_probabilities
from dpci_core.privacy.randomness import SystemSource
from dpci_core.scorecards import (
    CardSpending,
    ScorecardClass,
    cell_counts,
    choose_rule,
    draw_card,
    error_interval,
    mistakes_of_all,
)
from dpci_core.scorecards.spending import parts_of

RELEASED = 1e-9
"""Probability of a false alarm of one test with fresh entropy."""
CARDS = ScorecardClass(2)


def polynomial(scores: np.ndarray, scale: float) -> np.ndarray:
    """The law of permute-and-flip by a rule of Gauss that is exact for so many candidates."""
    a = np.exp((scores - scores.max()) / scale)
    x, w = roots_legendre(len(a) // 2 + 1)
    logs = np.log1p(-np.outer((x + 1) / 2, a))
    return a * ((w / 2)[:, None] * np.exp(logs.sum(axis=1)[:, None] - logs)).sum(axis=0)


@pytest.mark.parametrize("k", [5, 40, 201, 700])
def test_the_law_of_many_is_the_polynomial(k: int) -> None:
    rng = np.random.default_rng(k)
    for scale in (0.003, 0.05, 0.4, 30.0):
        scores = -rng.integers(0, 60, k) / 20.0
        found = noisy_max_probabilities(scores, scale=scale)
        np.testing.assert_allclose(found, polynomial(scores, scale), atol=1e-12)
        assert found.sum() == pytest.approx(1.0, abs=1e-12)
        distinct, counts = np.unique(scores, return_counts=True)
        together = noisy_max_probabilities(distinct, scale=scale, counts=counts)
        summed = [found[scores == one].sum() for one in distinct]
        np.testing.assert_allclose(together, summed, atol=1e-12)
        soft = noisy_max_probabilities(distinct, scale=scale, counts=counts, noise="gumbel")
        weights = counts * np.exp((distinct - distinct.max()) / scale)
        np.testing.assert_allclose(soft, weights / weights.sum(), rtol=1e-9, atol=1e-300)
    for bad in ([1.0], [1.0, 0.0], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match="counts"):
            noisy_max_probabilities([0.0, 1.0], scale=1.0, counts=bad)


def test_scales_are_those_of_the_claimed_budget() -> None:
    pure, zcdp = CardSpending.of(epsilon="0.5"), CardSpending.of(rho="0.02")
    assert pure.choice_scale() == pytest.approx(2 / 0.5, rel=1e-14)
    assert pure.choice_scale(3.0) == pytest.approx(6 / 0.5, rel=1e-14)
    assert pure.count_scale == pytest.approx(1 / 0.5, rel=1e-14)
    # The exponential mechanism at epsilon = sqrt(8 rho) has noise 2 / epsilon.
    assert zcdp.choice_scale() == pytest.approx(2 / math.sqrt(8 * 0.02), rel=1e-14)
    assert zcdp.count_scale == pytest.approx(math.sqrt(1 / (2 * 0.02)), rel=1e-14)
    assert (pure.noise, zcdp.noise) == ("exponential", "gumbel")
    for amount in ("0.1", "0.3", "1", "7"):  # rounded up, exactly
        one = CardSpending.of(epsilon=amount)
        assert Decimal(one.choice_scale()) * Decimal(amount) >= 2
        assert Decimal(one.count_scale) * Decimal(amount) >= 1
        other = CardSpending.of(rho=amount)
        assert Decimal(other.count_scale) ** 2 * 2 * Decimal(amount) >= 1
    for given in ({}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"rho": "-1"}, {"epsilon": True}):
        with pytest.raises(ValueError, match="Expected"):
            CardSpending.of(**given)


def neighbours() -> list[tuple[np.ndarray, np.ndarray]]:
    """Counts of two questions before and after one record is replaced: small and large tables, the
    large ones by a flipped label.
    """
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 2, (5, 2)), rng.integers(0, 2, 5)
        for row, label in itertools.product(itertools.product((0, 1), repeat=2), (0, 1)):
            A, b = X.copy(), y.copy()
            A[0], b[0] = row, label
            found.append((cell_counts(X, y), cell_counts(A, b)))
    for seed in range(40):
        cells = np.random.default_rng(seed).integers(1, 30, (4, 2))
        for u in range(4):
            moved = cells.copy()
            moved[u] += [-1, 1]
            found.append((cells, moved))
    return found


def worst_ratio(share: float) -> float:
    """Largest log ratio of the choice on neighbouring tables, with this share of the noise."""
    scale = share * CardSpending.of(epsilon="1").choice_scale()
    worst = 0.0
    for pair in neighbours():
        one, other = (
            polynomial(-mistakes_of_all(cells, CARDS).astype(float), scale) for cells in pair
        )
        worst = max(worst, float(np.abs(np.log(one / other)).max()))
    return worst


def test_the_choice_of_a_card_reaches_epsilon_and_half_the_noise_breaks_it() -> None:
    assert 0.999 < worst_ratio(1.0) <= 1.0 + 1e-9
    assert worst_ratio(0.5) > 1.99


def joint_law(X: np.ndarray, y: np.ndarray, *, is_reused: bool, share: float = 1.0) -> np.ndarray:
    """P(rule, noisy count) over all divisions of four rows, counts -30 to 30."""
    spending = CardSpending.of(epsilon="1")
    n_train, n_holdout = parts_of(4, "0.5")
    assert (n_train, n_holdout) == (2, 2)
    q = math.exp(-1.0 / (share * spending.count_scale))
    counts = np.arange(-30, 31)
    law = np.zeros((CARDS.n_rules, len(counts)))
    rules = [CARDS.rule(number) for number in range(CARDS.n_rules)]
    for train in itertools.combinations(range(4), 2):
        held = [i for i in range(4) if i not in train]
        if is_reused:
            held[0] = train[0]
        t = list(train)
        mistakes = mistakes_of_all(cell_counts(X[t], y[t]), CARDS).astype(float)
        chosen = polynomial(-mistakes, share * spending.choice_scale())
        for number, rule in enumerate(rules):
            wrong = int((rule.says_yes(X[held]) != y[held]).sum())
            law[number] += chosen[number] * q ** np.abs(counts - wrong) * (1 - q) / (1 + q) / 6
    return law


def largest(**given) -> float:
    found = 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 2, (4, 2)), rng.integers(0, 2, 4)
        one = np.log(joint_law(X, y, **given))
        for i, label in itertools.product(range(4), (0, 1)):
            for row in itertools.product((0, 1), repeat=2):
                A, b = X.copy(), y.copy()
                A[i], b[i] = row, label
                found = max(found, float(np.abs(one - np.log(joint_law(A, b, **given))).max()))
    return found


def test_card_and_count_together_cost_epsilon_once() -> None:
    assert 0.6 < largest(is_reused=False) <= 1.0 + 1e-9
    assert largest(is_reused=False, share=0.5) > 1.3
    # A row that chooses and counts pays twice.
    assert largest(is_reused=True) > 1.05


def test_the_parts_are_disjoint_and_drawn_without_a_look(monkeypatch) -> None:
    seen = []

    class Source(np.random.Generator):
        def permutation(self, size, axis=0):
            order = super().permutation(size, axis)
            seen.append(order)
            return order

    X, y = np.eye(10, 2, dtype=int), np.zeros(10, dtype=int)
    counted = []
    import dpci_core.scorecards.draw as module

    real = module.cell_counts

    def count(bits, labels):
        counted.append(len(labels))
        return real(bits, labels)

    monkeypatch.setattr(module, "cell_counts", count)
    drawn = draw_card(
        X,
        y,
        cards=CARDS,
        spending=CardSpending.of(epsilon=1),
        source=Source(np.random.PCG64(0)),
        holdout="0.3",
    )
    assert (drawn.n_train, drawn.n_holdout, counted) == (7, 3, [7])
    assert sorted(seen[0].tolist()) == list(range(10))
    assert len(seen) == 1
    assert parts_of(1_000_000, "0.3") == (700_000, 300_000)
    for n, share in ((1, "0.5"), (3, "0.3"), (10, "1"), (10, "0"), (10, "-0.1"), (10, "1.5")):
        with pytest.raises(ValueError, match="holdout"):
            parts_of(n, share)


def test_no_row_chooses_and_counts_and_costs_lengthen_the_noise(monkeypatch) -> None:
    import dpci_core.scorecards.draw as module

    X = np.array(list(itertools.product((0, 1), repeat=3)))  # every row another one
    chose, counted, scales = [], [], []
    count, say, choose = module.cell_counts, module.Card.says_yes, module.choose
    monkeypatch.setattr(
        module, "cell_counts", lambda A, b: chose.extend(map(tuple, A.tolist())) or count(A, b)
    )
    monkeypatch.setattr(
        module.Card, "says_yes", lambda c, A: counted.extend(map(tuple, A.tolist())) or say(c, A)
    )
    monkeypatch.setattr(
        module, "choose", lambda *a, **k: scales.append(k["scale"]) or choose(*a, **k)
    )
    for cost in ((1, 1), (5, 2), (2, 5)):
        chose.clear(), counted.clear()
        drawn = draw_card(
            X,
            X[:, 0],
            cards=ScorecardClass(3, (-1, 1)),
            spending=CardSpending.of(epsilon="0.5"),
            source=np.random.default_rng(1),
            holdout="0.4",
            cost=cost,
        )
        assert (drawn.n_train, drawn.n_holdout) == (len(chose), len(counted)) == (5, 3)
        assert set(chose) | set(counted) == set(map(tuple, X.tolist()))
        assert not set(chose) & set(counted)
    assert scales == pytest.approx([2 / 0.5, 10 / 0.5, 10 / 0.5], rel=1e-12)


@pytest.mark.parametrize("source", ["seeded", "system"])
@pytest.mark.parametrize("amount", ["epsilon", "rho"])
def test_the_count_that_leaves_has_its_noise_and_says_whose(source, amount) -> None:
    where = SystemSource() if source == "system" else np.random.default_rng(3)
    drawn = [
        draw_card(
            np.ones((40, 1), dtype=int),
            np.ones(40, dtype=int),
            cards=ScorecardClass(1, (1, 1), (0.5, 0.5)),  # one card, never wrong
            spending=CardSpending.of(**{amount: "0.1"}),
            source=where,
        )
        for _ in range(40)
    ]
    assert len({one.noisy_mistakes for one in drawn}) > 1  # all alike: below 1e-20
    assert all(one.is_simulation == (source == "seeded") for one in drawn)


@pytest.mark.parametrize("source", ["seeded", "system"])
@pytest.mark.parametrize("amount", ["epsilon", "rho"])
def test_cards_are_drawn_by_their_law(source, amount) -> None:
    mistakes = np.array([3, 5, 9, 4, 4])
    spending = CardSpending.of(**{amount: "0.7"})
    where = SystemSource() if source == "system" else np.random.default_rng(5)
    draws = [choose_rule(mistakes, spending=spending, source=where) for _ in range(8_000)]
    if amount == "epsilon":
        law = polynomial(-mistakes.astype(float), 2 / 0.7)
        wrong = polynomial(-mistakes.astype(float), 1 / 0.7)
    else:
        weights = np.exp(-math.sqrt(8 * 0.7) / 2 * mistakes)
        law, wrong = weights / weights.sum(), weights**0.5 / (weights**0.5).sum()
    seen = np.bincount(draws, minlength=5)
    assert stats.chisquare(seen, law * len(draws)).pvalue > RELEASED
    assert stats.chisquare(seen, wrong * len(draws)).pvalue < RELEASED


@pytest.mark.parametrize("amount", ["epsilon", "rho"])
def test_among_many_cards_the_seeded_draw_has_the_same_law(amount) -> None:
    mistakes = np.repeat([0, 2, 5], [1, 40, 300])
    spending = CardSpending.of(**{amount: "0.7"})
    rng = np.random.default_rng(6)
    draws = [choose_rule(mistakes, spending=spending, source=rng) for _ in range(4_000)]
    seen = np.array([(mistakes[draws] == one).sum() for one in (0, 2, 5)])
    if amount == "epsilon":
        each = polynomial(-mistakes.astype(float), 2 / 0.7)
    else:
        each = np.exp(-math.sqrt(8 * 0.7) / 2 * mistakes)
    law = np.array([each[mistakes == one].sum() for one in (0, 2, 5)]) / each.sum()
    assert stats.chisquare(seen, law * len(draws)).pvalue > 1e-4


@pytest.mark.parametrize("source", ["seeded", "system"])
@pytest.mark.parametrize(("amount", "size"), [("epsilon", 0.4), ("rho", 0.02)])
def test_counts_have_noise_of_the_law_that_the_interval_inverts(source, amount, size) -> None:
    spending = CardSpending.of(**{amount: str(size)})
    where = SystemSource() if source == "system" else np.random.default_rng(7)
    noise = np.array([spending.add_to_count(40, where) - 40 for _ in range(6_000)])
    k = np.arange(-9, 10)

    def law(scale: float) -> np.ndarray:
        if amount == "epsilon":
            p = np.exp(-np.abs(k) / scale) * np.tanh(0.5 / scale)
        else:
            p = stats.norm.cdf(k + 0.5, scale=scale) - stats.norm.cdf(k - 0.5, scale=scale)
        return np.append(p, 1 - p.sum())

    inside = np.abs(noise) <= 9
    seen = np.append(np.bincount(noise[inside] + 9, minlength=19), (~inside).sum())
    right = 1 / size if amount == "epsilon" else math.sqrt(1 / (2 * size))
    assert stats.chisquare(seen, law(right) * len(noise)).pvalue > RELEASED
    assert stats.chisquare(seen, law(1.4 * right) * len(noise)).pvalue < RELEASED
    tail = spending.noise_at_least(np.append(k, 10.0).astype(float))
    np.testing.assert_allclose(-np.diff(tail), law(right)[:-1], rtol=1e-9)


def coverage(error: float, n: int, epsilon: float, *, forgets: bool = False) -> float:
    """Exact coverage, over all counts and all noise that matters."""
    q = math.exp(-epsilon)
    k = np.arange(-int(25 / epsilon), int(25 / epsilon) + 1)
    noise = np.exp(-np.abs(k) * epsilon) * (1 - q) / (1 + q)
    count = stats.binom.pmf(np.arange(n + 1), n, error)
    law = np.convolve(count, noise)
    inside = np.zeros(len(law), dtype=bool)
    known: dict[int, bool] = {}
    for place in np.flatnonzero(law > 1e-9):
        seen = min(max(int(place + k[0]), 0), n)
        if seen not in known:
            low, high = error_interval(seen, n_holdout=n, epsilon=1e6 if forgets else epsilon)
            known[seen] = low <= error <= high
        inside[place] = known[seen]
    return float(law[inside].sum())


@pytest.mark.parametrize(
    ("error", "n", "epsilon"),
    [(0.22, 150, 1.0), (0.22, 600, 0.1), (0.01, 60, 0.5), (0.5, 40, 1.0)],
)
def test_the_interval_covers_exactly(error, n, epsilon) -> None:
    assert 0.95 - 1e-6 <= coverage(error, n, epsilon) <= 0.99


def test_an_interval_that_forgets_the_noise_does_not() -> None:
    assert coverage(0.22, 600, 0.1, forgets=True) < 0.83


def test_intervals_are_nested_and_valid_everywhere() -> None:
    for amount in ({"epsilon": "0.1"}, {"rho": "0.005"}):
        for seen in (-500, -1, 0, 1, 30, 59, 60, 61, 900):
            before = None
            for level in (0.5, 0.8, 0.95, 0.999):
                low, high = error_interval(seen, n_holdout=60, confidence_level=level, **amount)
                assert 0.0 <= low < high <= 1.0
                assert before is None or (low <= before[0] and high >= before[1])
                before = (low, high)
    for seen in (0, 1, 30, 99, 100):  # without noise to speak of, Clopper and Pearson's
        found = error_interval(seen, n_holdout=100, epsilon="1e6")
        exact = stats.binomtest(seen, 100).proportion_ci(0.95, method="exact")
        assert found == pytest.approx((exact.low, exact.high), abs=1e-6)
    assert error_interval(5, n_holdout=10**6, epsilon=1)[1] < 1e-4
    for bad in ({"n_holdout": 0}, {"n_holdout": 5, "confidence_level": 1.0}):
        with pytest.raises(ValueError, match="Expected"):
            error_interval(3, epsilon=1, **bad)
