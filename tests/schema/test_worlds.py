"""The worlds of a declaration: what is typed narrows them, and every one of them can be drawn."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpci_core.schema import (
    CategoricalColumn,
    Guesses,
    NumberGuess,
    NumericColumn,
    Schema,
    simulate_twin,
    twin_table,
    worlds_of,
)
from dpci_core.schema.worlds import UNKNOWN_RATE, checked
from tests.plan_examples import guesses, schemas

SCHEMA = Schema(
    (
        NumericColumn("age", 18, 98, typical=60, spread=15, step=10),
        NumericColumn("cost", 0, 1e5, typical=1000, spread=800),
        NumericColumn("dose", 1, 1e4, typical=100, spread=3, transform="log"),
        CategoricalColumn("home", ("none", "rented", "owned")),
    ),
    "ill",
    "yes",
)
ALL = Guesses(base_rate=(0.05, 0.3), n_rows=40_000)


def names_of(schema: Schema, typed: Guesses) -> list[str]:
    return [world.name for world in worlds_of(schema, typed)]


def test_nine_worlds_where_nothing_is_typed_and_fewer_where_something_is():
    assert names_of(SCHEMA, ALL) == [
        "as declared",
        "high rate",
        "rare levels",
        "other rare levels",
        "one direction",
        "half spreads",
        "twice the spreads",
        "off centre",
        "long tails",
    ]
    effects = dict.fromkeys(SCHEMA.feature_names, 0.0)
    typed = Guesses(
        base_rate=0.2, effects=effects, shares={"home": (0.5, 0.3, 0.2)}, correlation=0.5
    )
    assert names_of(SCHEMA, typed) == [
        "as declared",
        "half spreads",
        "twice the spreads",
        "off centre",
        "long tails",
    ]
    assert "common factor" in names_of(SCHEMA, replace(typed, correlation=0.0))


@pytest.mark.parametrize("rates", [(0.05, 0.3), (0.6, 0.9), (0.2, 0.95)])
def test_what_is_off_is_off_where_yes_and_no_tell_least_and_levels_are_rare(rates):
    least, most = sorted(rates, key=lambda rate: rate * (1.0 - rate))
    made = {world.name: world for world in worlds_of(SCHEMA, replace(ALL, base_rate=rates))}
    ends = {name: world.guesses.base_rate for name, world in made.items()}
    assert ends.pop("as declared") not in rates
    assert ends.pop("high rate" if most > least else "low rate") == most
    assert set(ends.values()) == {least}
    for name in ends:
        assert min(made[name].guesses.shares["home"]) == pytest.approx(1 / 9), name
        assert f"“yes” is {100 * least:g} %" in made[name].assumption
        assert (
            "levels of home are rare (a third of an even share; say theirs)"
            in made[name].assumption
        )


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_every_level_is_rare_with_the_first_in_one_of_two_worlds(n):
    column = CategoricalColumn("x", tuple(map(str, range(n))))
    shares = [np.array(guess) for guess in column.doubts(None).values()]
    assert len(shares) == 2
    for share in shares:
        assert share.sum() == pytest.approx(1.0)
        assert share.min() == pytest.approx(1 / (3 * n))
    rare = [share < 1.5 / (3 * n) for share in shares]
    assert np.logical_or(*rare).all()
    for level in range(1, n if n > 2 else 1):
        assert any(one[0] and one[level] for one in rare)


def test_an_effect_that_nobody_guessed_is_there_in_turn_up_and_down():
    made = {world.name: world for world in worlds_of(SCHEMA, replace(ALL, effects={"age": 0.07}))}
    first, one_way = made["as declared"], made["one direction"]
    assert first.guesses.effects["age"] == one_way.guesses.effects["age"] == 0.07
    units = {"cost": 800.0, "log(dose)": math.log(3.0)}
    for world, signs in ((first, (-1, 1, -1, 1)), (one_way, (1, 1, 1, 1))):
        effects = list(world.guesses.effects.items())[1:]
        for (name, effect), sign in zip(effects, signs, strict=True):
            contrast = effect * 2.0 * units.get(name, 0.5)
            assert contrast == pytest.approx(sign * math.log(1.5), rel=1e-12), name


def test_each_world_is_what_its_phrase_says():
    made = {world.name: world for world in worlds_of(SCHEMA, ALL)}
    tables = {name: twin_table(SCHEMA, world.guesses) for name, world in made.items()}
    rate = {name: float((table["ill"] == "yes").mean()) for name, table in tables.items()}
    middle = 1.0 / (1.0 + math.sqrt(0.95 / 0.05 * 0.7 / 0.3))
    assert rate["as declared"] == pytest.approx(middle, abs=0.01)
    assert rate["half spreads"] == pytest.approx(0.05, abs=0.006)
    assert rate["high rate"] == pytest.approx(0.3, abs=0.01)
    ages = {name: table["age"] for name, table in tables.items()}
    for name, factor in (("half spreads", 0.5), ("as declared", 1.0), ("twice the spreads", 2.0)):
        law = stats.truncnorm(-42 / 15 / factor, 38 / 15 / factor, 60, 15 * factor)
        assert float(ages[name].std()) == pytest.approx(law.std(), rel=0.02), name
    off = stats.truncnorm((18 - 45) / 15, (98 - 45) / 15, 45, 15)
    assert float(ages["off centre"].mean()) == pytest.approx(off.mean(), abs=0.4)
    dose = np.log(tables["half spreads"]["dose"])
    assert float(dose.std()) == pytest.approx(math.log(3.0) / 2.0, rel=0.02)
    cost = tables["long tails"]["cost"]
    assert float(cost.median()) == pytest.approx(1000, rel=0.02)
    assert float(stats.skew(cost)) > 3.0 > float(stats.skew(tables["as declared"]["cost"]))
    assert set(made["long tails"].guesses.numbers) == {"cost"}  # a logarithm has a tail already
    together = tables["rare levels"][["age", "cost", "dose"]]
    assert stats.spearmanr(together).statistic[0, 1] == pytest.approx(0.48, abs=0.02)
    assert float((tables["rare levels"]["home"] == "owned").mean()) == pytest.approx(
        7 / 9, abs=0.01
    )


@pytest.mark.parametrize(("tail", "sign"), [("high", 1.0), ("low", -1.0)])
def test_a_long_tail_has_the_declared_median_and_spread(tail, sign):
    wide = Schema((NumericColumn("x", -1e4, 1e4),), "y", "1")
    typed = Guesses(numbers={"x": NumberGuess(10.0, 2.0, tail)}, n_rows=100_000)
    away = sign * (twin_table(wide, typed)["x"] - 10.0) / 2.0
    sd = math.sqrt(math.e * (math.e - 1.0))
    assert stats.kstest(away * sd + 1.0, stats.lognorm(1.0).cdf).pvalue > 1e-4
    near = replace(wide, features=(NumericColumn("x", 9.5, 11.0),))
    assert twin_table(near, replace(typed, n_rows=1_000))["x"].between(9.5, 11.0).all()


def test_named_pairs_go_together_and_the_others_do_not():
    pairs = (("age", "cost", 0.9), ("dose", "home", -0.6))
    typed = Guesses(pairs=pairs, n_rows=60_000)
    table = twin_table(SCHEMA, typed)
    found = stats.spearmanr(table[["age", "cost", "dose"]]).statistic
    expected = 6 / math.pi * math.asin(0.45)
    assert found[0, 1] == pytest.approx(expected, abs=0.01)
    assert abs(found[0, 2]) < 0.02
    level = table["home"].cat.codes
    assert stats.spearmanr(table["dose"], level).statistic < -0.4
    beside = {world.name: world for world in worlds_of(SCHEMA, typed)}["rare levels"]
    assert beside.assumption == (
        "levels of home are rare (a third of an even share; say theirs), and columns go together "
        "(correlation 0.4)"
    )
    with pytest.raises(ValueError, match="be together"):  # 0.4 is the most beside these pairs
        replace(beside.guesses, correlation=0.5).check_against(SCHEMA)


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        ((("age", "cost", 0.9), ("cost", "dose", 0.9), ("age", "dose", -0.5)), "be together"),
        ((("age", "height", 0.9),), "height"),
        ((("age", "age", 0.9),), r"pairs\[0\]"),
        ((("age", "cost", 0.9), ("cost", "age", 0.3)), r"pairs\[1\]"),
        ((("age", "cost"),), r"pairs\[0\]"),
        ((("age", "cost", 1.0),), r"pairs\[0\]"),
        ("age, cost", "str"),
    ],
)
def test_pairs_that_cannot_be_are_refused_in_words(pairs, named):
    with pytest.raises(ValueError, match=named):
        worlds_of(SCHEMA, Guesses(pairs=pairs))


@pytest.mark.parametrize("rate", [(0.3, 0.1), (0.2, 0.2), (0.1,), (0.0, 0.5), ("a", 0.5), None])
def test_a_share_that_is_no_range_is_refused(rate):
    with pytest.raises(ValueError, match="base_rate"):
        Guesses(base_rate=rate)


def test_a_tail_on_no_side_is_refused():
    with pytest.raises(ValueError, match="tail"):
        Guesses(numbers={"age": NumberGuess(60, 15, "left")})


@settings(derandomize=True, max_examples=40, deadline=None)
@given(data=st.data())
def test_every_world_of_every_declaration_can_be_drawn(data):
    schema = replace(data.draw(schemas()), positive="yes", negative=())
    typed = data.draw(guesses(schema))
    made = worlds_of(schema, typed)
    assert 1 <= len(made) <= 9
    assert len({world.assumption for world in made}) == len(made)
    for world in made:
        twin = simulate_twin(schema, guesses=replace(world.guesses, n_rows=100))
        assert np.isfinite(np.asarray(getattr(twin.X, "rows", twin.X))).all(), world.name


@pytest.mark.parametrize(
    ("low", "high", "tail"), [(-39, 39, None), (-41, 39, "low"), (-5, 41, "high")]
)
def test_bounds_beyond_four_spreads_are_those_of_a_tail(low, high, tail):
    found = NumericColumn("x", low, high, typical=0, spread=10).doubts(None)
    assert (found["long tails"].tail if "long tails" in found else None) == tail


def test_who_does_not_know_the_rate_has_five_to_fifty_percent():
    assert UNKNOWN_RATE == (0.05, 0.5)


def test_what_was_checked_is_what_the_worlds_change_and_the_rest_is_said_to_be_as_typed():
    """A board read that shares were varied where they had been typed and nothing varied them."""
    said = checked(SCHEMA, ALL)
    assert said == (
        "What is promised holds under 9 sets of assumptions: as declared, and where columns go "
        "together (correlation 0.5); all effects go in one direction; spreads are half as large; "
        "spreads are twice as large; typical values are one spread off; numbers have long tails "
        "towards far bounds; the share of “yes” is at either end; untold values are rare."
    )
    phrases = {phrase for one in worlds_of(SCHEMA, ALL) for phrase in one.said}
    left = {one for one in phrases if one.removesuffix(" as declared") not in said}
    assert {one.partition(" of ")[0] for one in left} == {"the share", "levels", "other levels"}
    wards = CategoricalColumn("ward", ("icu", "other"), shares=(0.1, 0.9))
    two = Schema((wards, replace(wards, name="sex")), "ill", "yes")
    assert checked(two, Guesses(base_rate=0.18)) == (
        "What is promised holds under 3 sets of assumptions: as declared, and where columns go "
        "together (correlation 0.5); all effects go in one direction. Not doubted, as typed: how "
        "often values occur and the share of “yes”."
    )
    typed = Guesses(
        base_rate=(0.1, 0.2),
        effects=dict.fromkeys(SCHEMA.feature_names, 1e-4),
        shares={"home": (0.5, 0.3, 0.2)},
        correlation=0.5,
        pairs=(("age", "cost", 0.7),),
    )
    assert checked(SCHEMA, typed).partition(" as typed: ")[2] == (
        "how often values occur, the guessed effects, how much columns go together and the named "
        "pairs of columns that go together."
    )
