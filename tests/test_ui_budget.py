"""Linked parts always add up exactly, whatever is moved, typed or locked."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ui.budget import Split, from_shares

moves = st.lists(
    st.one_of(
        st.tuples(st.just("total"), st.decimals("0.0005", "20", places=5)),
        st.tuples(st.sampled_from([0, 1, 2]), st.floats(1, 98)),
        st.tuples(st.sampled_from(["lock 0", "lock 1", "lock 2"]), st.just(0)),
    ),
    max_size=12,
)


@settings(derandomize=True, max_examples=300, deadline=None)
@given(moves)
def test_parts_add_up_after_any_sequence_of_moves(sequence):
    split = from_shares(Decimal(1))
    for what, value in sequence:
        before = split
        try:
            if what == "total":
                split = split.with_total(value)
            elif isinstance(what, int):
                split = split.with_share(what, value)
            else:
                split = split.toggled(int(what[-1]))
        except ValueError:
            split = before
        assert sum(split.parts) == split.total
        assert min(split.parts) > 0
        for i in range(3):
            if before.locked[i] and what != i:
                assert split.parts[i] == before.parts[i]


def test_default_shares_are_the_papers():
    assert from_shares(Decimal(1)).parts == (Decimal("0.5"), Decimal("0.25"), Decimal("0.25"))


def test_moving_one_part_keeps_the_proportions_of_the_others():
    split = from_shares(Decimal(1)).with_part(0, Decimal("0.7"))
    assert split.parts == (Decimal("0.7"), Decimal("0.15"), Decimal("0.15"))


def test_a_locked_part_keeps_its_amount_when_the_total_moves():
    split = from_shares(Decimal(1)).toggled(0).with_total(Decimal(2))
    assert split.parts == (Decimal("0.5"), Decimal("0.75"), Decimal("0.75"))


def test_floats_typed_by_people_do_not_refuse():
    split = from_shares(Decimal("0.3")).with_part(0, Decimal("0.1")).with_part(1, Decimal("0.1"))
    assert split.total == Decimal("0.3")
    assert split.parts[0] + split.parts[1] + split.parts[2] == Decimal("0.3")


@pytest.mark.parametrize("total", ["0.4", "0.5"])
def test_a_total_below_the_locked_parts_is_refused_with_the_way_out(total):
    with pytest.raises(ValueError, match="locked parts already take"):
        from_shares(Decimal(1)).toggled(0).with_total(Decimal(total))


def test_everything_locked_is_refused_in_words():
    split = from_shares(Decimal(1)).toggled(0).toggled(1).toggled(2)
    with pytest.raises(ValueError, match="Unlock"):
        split.with_total(Decimal(2))
    with pytest.raises(ValueError, match="Unlock"):
        split.with_share(0, 40.0)


@pytest.mark.parametrize("amount", ["0", "-1", "0.99", "5"])
def test_an_amount_that_leaves_nothing_is_refused(amount):
    with pytest.raises(ValueError, match="at most"):
        from_shares(Decimal(1)).with_part(0, Decimal(amount))


@pytest.mark.parametrize("amount", ["1e-30", "1e-320", "9e-9"])
def test_an_amount_that_noise_would_drown_is_refused(amount):
    with pytest.raises(ValueError, match=r"at least 0\.00000001"):
        from_shares(Decimal(1)).with_part(1, Decimal(amount))


def test_parts_that_do_not_add_up_cannot_exist():
    with pytest.raises(ValueError, match="add up"):
        Split(Decimal(1), (Decimal("0.5"), Decimal("0.25"), Decimal("0.24")))
