"""Listing cards: against loops over records, and what is refused before anything is read."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpci_core.scorecards import (
    WORK_LIMIT,
    CardSpending,
    ScorecardClass,
    TooManyCardsError,
    cell_counts,
    checked_cost,
    mistakes_of_all,
)
from dpci_core.scorecards import cards as cards_module
from dpci_core.scorecards.cards import SUMS_LIMIT, sums_above


def table(n: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, k))
    return X, (X[:, 0] + rng.random(n) > 1.0).astype(int)


def by_records(X, y, points, threshold, cost=(1, 1)) -> int:
    """Mistakes of one card, one record at a time."""
    total = 0
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        says = sum(w * x for w, x in zip(points, row, strict=True)) > threshold
        if says and not label:
            total += cost[0]
        if label and not says:
            total += cost[1]
    return total


@pytest.mark.parametrize(
    ("k", "weights", "thresholds"),
    [(1, (-1, 1), (-0.5, 0.5)), (2, (0, 3), (-2.5, 9.5)), (3, (-2, 2), (-5.5, 5.5)),
     (4, (-3, -1), (-4.5, 0.5)), (3, (2, 2), (0.5, 4.5)), (2, (-7, 1), (-20.5, -3.5))],
)  # fmt: skip
def test_enumeration_equals_a_loop_over_records(k, weights, thresholds) -> None:
    cards = ScorecardClass(k, weights, thresholds)
    X, y = table(40, k, seed=k)
    for cost in ((1, 1), (3, 7)):
        found = mistakes_of_all(cell_counts(X, y), cards, cost=cost)
        loop = {}
        for place, (*points, t) in enumerate(
            itertools.product(
                *[range(weights[0], weights[1] + 1)] * k,
                np.arange(thresholds[0], thresholds[1] + 0.5),
            )
        ):
            card = cards.card_at(place)
            assert (card.points, card.threshold) == (tuple(points), t)
            loop[place] = by_records(X, y, points, t, cost)
        assert len(loop) == cards.n_points
        assert found.tolist() == [loop[place] for place in cards.rules]


def test_blocks_give_what_one_piece_gives(monkeypatch) -> None:
    values = np.random.default_rng(1).integers(-50, 50, 64).astype(np.int32)
    cards = ScorecardClass(6, (-1, 2), (-3.5, 4.5))
    found = sums_above(values, cards)
    for size in (1, 300, 2**30):
        monkeypatch.setattr("dpci_core.scorecards.cards._BLOCK", size)
        np.testing.assert_array_equal(sums_above(values, cards), found)


def test_rules_are_what_differs_in_an_answer() -> None:
    cards = ScorecardClass(3, (-2, 2), (-5.5, 5.5))
    X = np.array(list(itertools.product((0, 1), repeat=3)))
    tables: dict[bytes, list[int]] = {}
    for place in range(cards.n_points):
        tables.setdefault(cards.card_at(place).says_yes(X).tobytes(), []).append(place)
    assert cards.n_rules == len(tables)
    chosen = {cards.card_at(place).says_yes(X).tobytes(): place for place in cards.rules}
    assert chosen.keys() == tables.keys()

    def size(place: int) -> tuple[int, float]:
        card = cards.card_at(place)
        return sum(map(abs, card.points)), abs(card.threshold)

    for says, places in tables.items():  # the card with the fewest points stands for its rule
        assert size(chosen[says]) == min(map(size, places))


def test_the_number_of_rules_is_public() -> None:
    assert (ScorecardClass(6).n_points, ScorecardClass(6).n_rules) == (187_500, 61_088)
    assert ScorecardClass(2).n_rules == 14  # all of 16 but the two of exclusive or
    X, y = table(300, 6)
    order = np.random.default_rng(2).permutation(300)
    first, second = (cell_counts(X[o], y[o]) for o in (slice(None), order))
    np.testing.assert_array_equal(first, second)
    assert len(mistakes_of_all(first, ScorecardClass(6))) == 61_088
    np.testing.assert_array_equal(
        mistakes_of_all(first, ScorecardClass(6)) / 300,
        mistakes_of_all(first * 10**8, ScorecardClass(6)) / (300 * 10**8),
    )  # beyond 32 bits


def test_one_record_moves_each_card_by_at_most_the_larger_cost() -> None:
    cards = ScorecardClass(3)
    X, y = table(30, 3)
    for cost in ((1, 1), (5, 2)):
        before = mistakes_of_all(cell_counts(X, y), cards, cost=cost)
        moves = []
        for row, label in itertools.product(itertools.product((0, 1), repeat=3), (0, 1)):
            A, b = X.copy(), y.copy()
            A[0], b[0] = row, label
            moves.append(mistakes_of_all(cell_counts(A, b), cards, cost=cost) - before)
        largest = np.abs(moves).max()
        assert largest <= max(cost)
        assert max(np.ptp(move) for move in moves) == sum(cost)  # a flipped label, both ways


def test_costs_are_exact_and_only_their_ratio_matters() -> None:
    assert checked_cost(("1", "1")) == checked_cost((0.3, 0.3)) == (1, 1)
    assert checked_cost((0.1, 1)) == (1, 10)
    for bad in (("0", "1"), ("1.1", "1"), (1, -1), ("1", "1e-7"), 1, ("1",), (True, 1)):
        with pytest.raises(ValueError, match="cost"):
            checked_cost(bad)


def test_too_many_cards_are_refused_with_classes_that_fit() -> None:
    assert WORK_LIMIT == 8_000_000
    for given in ((12,), (30, (0, 0)), (12, (-1, 2), (-0.5, 0.5)), (8, (-3, 3))):
        with pytest.raises(TooManyCardsError) as caught:
            ScorecardClass(*given)
        assert caught.value.n_points > WORK_LIMIT
        assert caught.value.fits
        assert f"n_questions={caught.value.fits[0].n_questions}" in str(caught.value)
        for one in caught.value.fits:
            assert one.n_points <= WORK_LIMIT
    assert ScorecardClass(12, (-1, 1), (-2.5, 1.5)).n_points == 2_657_205


@pytest.mark.parametrize(
    "given", [(22, (1000, 1000)), (12, (-1000, -998)), (2, (0, 800)), (2, (-500, 500), (0.5, 0.5))]
)
def test_few_cards_of_large_points_are_refused_before_their_sums_are_kept(given) -> None:
    with pytest.raises(TooManyCardsError, match="sums of points") as caught:
        ScorecardClass(*given)
    assert caught.value.n_sums > SUMS_LIMIT
    assert caught.value.fits


@pytest.mark.parametrize("given", [(6, (-2, 2)), (3, (10, 40)), (14, (3, 3)), (9, (-20, -19))])
def test_the_sums_that_are_kept_are_counted_beforehand(given, monkeypatch) -> None:
    sizes, add = [], cards_module._with_next_question
    monkeypatch.setattr(
        cards_module,
        "_with_next_question",
        lambda *sums: sizes.append((found := add(*sums)).size) or found,
    )
    sums_above(np.ones(2 ** given[0], dtype=np.int64), ScorecardClass(*given))
    assert max(sizes) == cards_module._sums_kept(given[0], *given[1])


def test_a_number_of_cards_too_long_to_print_is_refused_like_any_other() -> None:
    with pytest.raises(TooManyCardsError, match="more than 10"):
        ScorecardClass(10_000)  # as of a table of so many columns


@pytest.mark.parametrize(
    "given",
    [(0,), (True,), (2, (1, 0)), (2, (0.5, 1)), (2, (0,)), (2, 3), (2, (-1001, 0)),
     (2, (0, 1), (0, 1)), (2, (0, 1), (1.5, 0.5)), (2, (0, 1), (0.25, 0.75)), (2, (0, 1), "ab"),
     (2, (0, 1), (0.5, np.inf))],
)  # fmt: skip
def test_what_is_no_class_is_refused(given) -> None:
    with pytest.raises(ValueError, match="Expected"):
        ScorecardClass(*given)


def test_counts_refuse_what_is_no_answer_without_showing_it() -> None:
    for X, y in (([[0, 7]], [1]), ([[0, 1]], [2]), ([[0.5, 1]], [1])):
        with pytest.raises(ValueError, match="to be 0 or 1") as caught:
            cell_counts(X, y)
        assert not {"7", "2", "0.5"} & set(str(caught.value).split())
    for X, y in (([0, 1], [0, 1]), ([[0, 1]], [0, 1]), (np.zeros((2, 0)), [0, 1])):
        with pytest.raises(ValueError, match="shape"):
            cell_counts(X, y)
    with pytest.raises(ValueError, match="shape"):
        mistakes_of_all(np.zeros((4, 2), dtype=int), ScorecardClass(3))


@pytest.mark.parametrize("amount", ["1e-400", "1e-320", "1e21", "1e400", "nan"])
def test_an_amount_without_a_finite_noise_is_refused(amount: str) -> None:
    for name in ("epsilon", "rho"):
        with pytest.raises(ValueError, match=name):
            CardSpending.of(**{name: amount})
