"""Settings travel through links, and compared budgets are what the chart says they are."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core import InfeasibleDesignError
from dpci_core.privacy.budget import epsilon_to_zcdp, pure_to_zcdp, zcdp_to_epsilon
from ui.controls.currency import at_total
from ui.controls.declare import example
from ui.session.budget import from_shares
from ui.session.compute import packed_table
from ui.session.settings import LIMITS, START, SWEEPS, Settings, convert_currency, from_query
from ui.session.text import budget_sentence, c_sentence

some_settings = st.builds(
    Settings,
    encoding=st.sampled_from(["schema", "paper"]),
    names=st.lists(st.text("ab~%257E|é =;", min_size=1), unique=True).map(tuple),
    d=st.integers(1, 36),
    definitions=st.sampled_from([("pure",), ("zcdp",), ("pure", "zcdp")]),
    mechanisms=st.sampled_from([("objective",), ("output",), ("objective", "output")]),
    losses=st.sampled_from([("logistic",), ("huber_svm",), ("logistic", "huber_svm")]),
    currency=st.sampled_from(["pure", "zcdp"]),
    pairing=st.sampled_from(["guarantee", "paper"]),
    split=st.decimals("0.05", "9", places=4).map(from_shares),
    n=st.integers(100, 1_000_000),
    c=st.floats(1e-6, 1.0),
    h=st.floats(0.01, 10.0),
    smoothing=st.sampled_from(["huber_svm", "smoothed_hinge"]),
    level=st.floats(0.5, 0.999),
    sweep=st.sampled_from(SWEEPS),
    units=st.sampled_from(["scaled", "original", "odds"]),
    goal=st.sampled_from(["all", "length", "zero"]),
    goal_on=st.sampled_from(["", "age", "sex=Male", "é|;"]),
    goal_length=st.floats(1e-9, 1e9),
    goal_value=st.floats(-1e9, 1e9).filter(bool),
    goal_chance=st.floats(0.01, 0.99),
)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(some_settings)
def test_a_link_restores_every_setting(wanted):
    restored, bad = from_query(wanted.to_query())
    assert bad == ()
    assert restored == wanted


@pytest.mark.parametrize(
    ("names", "written"),
    [
        (("a~b", "c"), "a%7Eb~c"),
        (("~", "%7E", "%"), "%7E~%257E~%25"),
        (("age", "sex=Male"), "age~sex=Male"),
    ],
)
def test_names_that_hold_the_sign_between_names_travel_in_a_link(names, written):
    query = replace(START, names=names).to_query()
    assert query == {"names": written}
    assert from_query(query) == (replace(START, names=names), ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n", "-5"),
        ("n", "many"),
        ("c", "nan"),
        ("c", "0"),
        ("level", "1.5"),
        ("split", "1~2"),
        ("split", "1~2~NaN"),
        ("split", "1~2~-1"),
        ("split", "1E-400~1~1"),
        ("split", "0.1~1E-50~0.1"),
        ("split", "1E+999999~1~1"),
        ("split", "500~250~250"),
        ("split", "0.01~0.01~0.01"),
        ("currency", "euro"),
        ("definitions", ""),
        ("losses", "hinge"),
        ("delta", "0"),
        ("epsilon", "1e99"),
        ("d", "0"),
    ],
)
def test_a_broken_link_keeps_the_default_and_names_what_it_ignored(name, text):
    restored, bad = from_query({name: text, "unknown": "x"})
    assert bad == (name,)
    assert restored == (replace(START, names=()) if name == "d" else START)


@pytest.mark.parametrize(
    ("query", "ignored"),
    [
        ({}, ()),
        ({"epsilon": "0.1"}, ()),
        ({"epsilon": "0.123456789012345", "delta": "1e-9"}, ()),
        ({"split": "10~5~5"}, ("split",)),
        ({"epsilon": "2", "split": "0.5~0.25~0.25"}, ("split",)),
        ({"epsilon": "1e99"}, ("epsilon",)),
    ],
    ids=str,
)
def test_the_parts_of_a_link_spend_the_epsilon_that_is_shown(query, ignored):
    restored, bad = from_query({"currency": "approx", **query})
    assert bad == ignored
    assert restored.split.total == epsilon_to_zcdp(float(restored.epsilon), float(restored.delta))
    assert zcdp_to_epsilon(float(restored.split.total), float(restored.delta)) == pytest.approx(
        float(restored.epsilon)
    )
    assert [round(restored.split.share(i)) for i in range(3)] == [50, 25, 25]


@pytest.mark.parametrize("delta", ["1e-6", "1e-15", "0.1"])
@pytest.mark.parametrize("epsilon", [0.05, 1 / 3, 10.0])
def test_a_link_restores_an_approximate_budget_with_its_shares(epsilon, delta):
    wanted = convert_currency(Settings(delta=delta), "approx").with_epsilon(epsilon)
    wanted = replace(wanted, split=wanted.split.with_share(0, 30.0).toggled(1))
    assert from_query(wanted.to_query()) == (wanted, ())


@pytest.mark.parametrize("total", [0.05, 1.7, 1.0])
def test_a_link_restores_the_shares_that_were_chosen(total):
    """Also those that no amount at the present total shows: back at the old total, all is as it
    was.
    """
    typed = Settings(split=Settings().split.with_part(0, Decimal("0.07123456789")))
    moved = at_total(typed, total)
    restored, bad = from_query(moved.to_query())
    assert (restored, bad) == (moved, ())
    assert at_total(restored, 1.0) == typed


def test_a_link_restores_a_lock_and_refuses_shares_that_the_parts_do_not_have():
    locked = Settings(split=Settings().split.toggled(1))
    assert from_query(locked.to_query()) == (locked, ())
    assert from_query({"split": "1~0.5~0.5", "shares": "0.5~0.3~0.2"}) == (START, ("split",))


@pytest.mark.parametrize(
    "shares", ["1E+999999~1~1", "1E-999999~1~1", "1~1", "NaN~1~1", "x", "0~1~1", "-1~1~1"]
)
def test_shares_of_a_strangers_link_are_refused_without_arithmetic_that_never_ends(shares):
    assert from_query({"shares": shares}) == (START, ("shares",))


LONG = "3" * 500_000


@pytest.mark.parametrize(
    "query",
    [
        {"split": f"0.{LONG}~0.25~0.25"},
        {"split": "0.5~0.25~0.25", "shares": f"0.{LONG}~0.25~0.25"},
        {"split": f"0.{'3' * 60}~0.25~0.25"},
        {"split": "1_0~0.25~0.25"},
        {"epsilon": f"1.{LONG}", "currency": "approx"},
        {"delta": f"1e-6{LONG}"},
        {"n": LONG},
        {"c": f"0.{LONG}"},
        {"goal_on": LONG},
        {"names": "~".join(["age"] * 2_000)},
        {"definitions": "~".join(["pure"] * 100_000)},
    ],
    ids=lambda query: next(iter(query)),
)
def test_what_a_link_holds_is_bounded_before_any_arithmetic(query):
    settings, ignored = from_query(query)
    assert ignored == (next(iter(query)),)
    assert sum(map(len, settings.to_query().values())) < 200


@pytest.mark.parametrize("chosen", ["pure", "zcdp", "approx"])
@pytest.mark.parametrize("typed", ["pure", "zcdp", "approx"])
@pytest.mark.parametrize("end", [0, 1])
def test_a_new_currency_stays_in_the_range_of_its_control(typed, chosen, end):
    limit = LIMITS[typed][end]
    now = convert_currency(Settings(delta="1e-9"), typed)
    now = (
        now.with_epsilon(limit)
        if typed == "approx"
        else replace(now, split=from_shares(Decimal(repr(limit))))
    )
    moved = convert_currency(now, chosen)
    low, high = LIMITS[chosen]
    assert low <= float(moved.epsilon if chosen == "approx" else moved.split.total) <= high
    assert from_query(moved.to_query()) == (moved, ())


def test_a_rho_that_means_epsilon_0_has_no_pair_and_says_so():
    now = Settings(
        currency="zcdp",
        delta="0.1",
        split=from_shares(Decimal("0.0005")),
        definitions=("pure", "zcdp"),
    )
    with pytest.raises(
        InfeasibleDesignError,
        match=r"epsilon = 0 at delta = 0\.1.* total of .* or a delta of .* or less",
    ):
        now.budget("pure")
    assert "above" in c_sentence(now)
    assert "above" not in c_sentence(replace(now, definitions=("pure",)))


def test_the_papers_pairing_is_part_by_part():
    pair = Settings(pairing="paper").budget("zcdp")
    assert pair.parts == tuple(pure_to_zcdp(x) for x in ("0.5", "0.25", "0.25"))


def test_the_guarantee_pairing_never_promises_less():
    now = Settings(pairing="guarantee")
    assert zcdp_to_epsilon(float(now.budget("zcdp").total), 1e-6) <= 1.0
    assert zcdp_to_epsilon(float(now.budget("zcdp").total) * 1.001, 1e-6) > 1.0


def test_typing_epsilon_delta_buys_the_largest_rho():
    now = convert_currency(Settings(), "approx")
    assert now.epsilon == "1"
    assert float(now.split.total) == pytest.approx(0.02436, rel=1e-3)  # CKS20 at delta = 1e-6


def test_a_typed_promise_is_counted_exactly_where_all_noise_is_gaussian():
    now = replace(convert_currency(Settings(), "approx"), definitions=("zcdp",))
    designs = {design.mechanism: design for design in now.designs()}
    assert {name: d.definition for name, d in designs.items()} == {
        "objective": "zcdp",
        "output": "gdp",
    }
    budget = designs["output"].budget
    assert budget.guarantee("1e-6")[0] <= 1.0
    assert float(budget.as_rho(budget.total)) == pytest.approx(0.02801, rel=1e-3)
    assert [float(part / budget.total) for part in budget.parts] == pytest.approx(
        [0.5, 0.25, 0.25], rel=1e-4
    )
    said = budget_sentence(now)
    assert "counted exactly (Gaussian differential privacy)" in said
    assert "buys it ρ = 0.028" in said
    alone = replace(now, mechanisms=("objective",))
    assert "exactly" not in budget_sentence(alone)
    typed = replace(convert_currency(Settings(), "zcdp"), definitions=("zcdp",))
    said = budget_sentence(replace(at_total(typed, 0.5), delta="1e-6"))
    assert "ρ = 0.5 means (ε = 5.23, δ = 1e-6)" in said  # it is 5.2215
    assert {design.definition for design in typed.designs()} == {"zcdp"}


def test_changing_the_currency_there_and_back_keeps_the_shares():
    now = convert_currency(convert_currency(Settings(), "zcdp"), "pure")
    assert [round(now.split.share(i)) for i in range(3)] == [50, 25, 25]
    assert now.split.total == Decimal(1)
    assert zcdp_to_epsilon(
        float(convert_currency(Settings(), "zcdp").split.total), 1e-6
    ) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("name", SWEEPS)
def test_a_swept_value_is_the_only_thing_that_moves(name):
    start = replace(Settings(), losses=("huber_svm",))
    value = {
        "total": 2.0,
        "model": 70.0,
        "hessian": 10.0,
        "covariance": 30.0,
        "n": 5000,
        "d": 3,
        "c": 0.1,
        "h": 2.0,
    }
    moved = start.swept(name, value[name])
    if name in ("total", "model", "hessian", "covariance"):
        assert replace(moved, split=start.split) == start
        assert sum(moved.split.parts) == moved.split.total
    else:
        assert getattr(moved, name) == value[name]
        assert replace(moved, **{name: getattr(start, name)}) == start


@pytest.mark.parametrize("penalty", ["chosen", "typed"])
@pytest.mark.parametrize("held", [None, "", "zzz", "cut", "long"])
def test_a_link_whose_described_table_was_cut_off_begins_as_a_first_visit_does(held, penalty):
    whole = packed_table(example())
    query = {"dataset": "declared", "names": "age~score", "target": "unpenalised", "n": "500"}
    query |= {"penalty": penalty, "c": "0.002"}
    assert from_query({**query, "declared": whole})[0].declared == whole
    if held is not None:
        query["declared"] = {"cut": whole[:-9], "long": whole + "A" * 20_000}.get(held, held)
    restored, bad = from_query({**query, "level": "x"})
    lost = {"dataset", "declared", "names"} & set(query)
    assert set(bad) == lost | {"level"}
    kept = {name: text for name, text in query.items() if name not in lost}
    assert restored == from_query(kept)[0]
    assert (restored.dataset, restored.names) == (START.dataset, START.names)
