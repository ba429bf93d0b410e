"""The page Plan through Streamlit's test runner: targets, answers in both directions, the map,
buttons.
"""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from dpci_core import (
    DeclaredTable,
    Guesses,
    InfeasibleDesignError,
    Target,
    forecast,
    needed_budget,
    needed_records,
)
from dpci_core.intervals.forecast import MOST_ODDS
from dpci_core.plan.link import pack
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.targets import meeting_probability, outcome
from dpci_core.schema import CategoricalColumn, Schema
from tests.ui.test_pages import (
    PAPER_TERMS,
    ROOT,
    charts_of,
    check,
    now,
    start,
    visit,
    visit_unchecked,
)
from ui.controls import declare, plan_file
from ui.plan import numbers as planning
from ui.plan import options
from ui.plan.words import no_answer
from ui.session import text
from ui.session.case import Case, make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, declared_table, packed_table
from ui.session.settings import PRECISION, USUAL_CHANCE, Settings, from_query
from ui.session.text import number
from ui.views.goals import found_words, from_number, nearest_goal

pytestmark = pytest.mark.usefixtures("patient")


SMALL = {"d": "3", "n": "20000", "calibrations": "published"}


def case_of(app) -> Case:
    return make_case(now(app), TableSource(PUBLIC))


def case_from(**query: str) -> Case:
    """That of a link."""
    return make_case(from_query(PAPER_TERMS | SMALL | query)[0], TableSource(PUBLIC))


def words(app) -> str:
    return "\n".join(
        element.value for kind in (app.markdown, app.caption, app.warning) for element in kind
    )


def set_goal(app, kind: str, *, on: str = "", amount: float | str = "", chance: float = 0.5):
    """Back to the step Goal, another goal, and on."""
    app.button(key="step_goal").click().run()
    app.radio(key="goal_first").set_value("all" if kind == "all" else "other").run()
    if kind != "all":
        app.radio(key="goal").set_value(kind).run()
    if kind == "all":
        app.text_input(key="goal_all_").set_value(str(amount))
    elif kind == "mean":
        app.text_input(key="goal_mean").set_value(str(amount))
    else:
        pick = app.radio if any(r.key == "goal_on" for r in app.radio) else app.selectbox
        pick(key="goal_on").set_value(on).run()
        app.text_input(key=f"goal_{kind}_{on}").set_value(str(amount))
    app.select_slider(key="goal_chance").set_value(chance)
    app.button(key="goal_continue").click().run()
    assert not app.exception
    return app


def shown(app) -> str:
    """The quantity that is the answer."""
    (found,) = [m.value for m in app.markdown if m.value.startswith("## ")]
    return found.removeprefix("## ").removeprefix(":gray[").removesuffix("]")


def least_total(app) -> float:
    return float(shown(app))


def find(app, what: str):
    app.segmented_control(key="find").set_value(what).run()
    check(app)
    return app


def test_each_of_the_three_is_found_from_the_other_two_and_is_that_of_the_core():
    app = start("plan", **SMALL)
    case = case_of(app)
    assert case.target == Target(0.5, probability=USUAL_CHANCE)
    budget = needed_budget(case.moments, design=case.design, target=case.target)
    assert least_total(app) == pytest.approx(float(budget.total), rel=1e-4)
    assert int(shown(find(app, "records")).replace(",", "")) <= case.n
    app = start("plan", **SMALL, find="records")
    records = needed_records(case.moments, design=case.design, target=case.target)
    assert int(shown(app).replace(",", "")) == records.n_records
    app = start("plan", **SMALL, find="precision")
    reached = outcome(case.moments, design=case.design, target=case.target).within_reach
    assert float(shown(app)) == pytest.approx(reached, rel=5e-3)
    assert not [b for b in app.button if b.key in ("use_least", "use_own", "use_records")]


def test_the_precision_is_asked_for_at_the_amount_that_was_found():
    """The budget was 1 again, and the precision that of another design than the one found."""
    app = start("plan", **SMALL, goal_length="0.4")
    found = least_total(app)
    assert abs(now(app).typed_total - found) > 0.1
    find(app, "precision")
    assert now(app).typed_total == pytest.approx(found, rel=1e-4)
    assert app.text_input(key="total_number").value == f"{found:g}"
    assert float(shown(app)) == pytest.approx(0.4, rel=1e-2)
    app.text_input(key="total_number").set_value("5").run()
    asked = int(shown(find(app, "records")).replace(",", ""))
    assert now(app).n == 20_000 != asked
    find(app, "budget")
    assert now(app).n == 20_000, "else the answer would be the 5 that were given"
    find(app, "records")
    find(app, "precision")
    assert (now(app).n, now(app).typed_total, now(app).goal_length) == (asked, 5.0, 0.4)


def test_an_amount_that_is_not_enough_is_not_given():
    app = start("plan", **SMALL, goal_length="0.001")
    assert shown(app) == "–"
    before = now(app)
    find(app, "precision")
    assert now(app) == before


def test_a_suggestion_is_as_much_noise_as_sampling_error():
    app = start("plan", find="precision", **SMALL)
    app.button(key="use_balanced").click().run()
    check(app)
    case = case_of(app)
    made = forecast(case.moments, design=case.design)
    ratio = made.ci_length_mean / made.nonprivate_length_mean
    assert ratio == pytest.approx(math.sqrt(2.0), rel=0.01)


@pytest.mark.parametrize("what", ["budget", "records", "precision"])
@pytest.mark.parametrize("length", [0.5, 0.05])
def test_using_what_is_found_leads_on_and_the_goal_that_was_typed_stays(what, length):
    app = start("plan", find=what, **SMALL, goal_length=str(length))
    found = shown(app).replace(",", "")
    if app.button(key="use_design").disabled:  # nothing meets it, and nothing is found
        assert what != "precision"
        return
    app.button(key="use_design").click().run()
    check(app)
    assert now(app).goal_length == length
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    assert from_query(link)[0].goal_length == length
    assert plan_file.bare_plan(case_of(app)).goal == Target(length, probability=USUAL_CHANCE)
    assert f"mean interval at most {length} long" in words(app)
    assert [t.value for t in app.title] == ["Approve the plan"]
    assert sum(now(app).split.parts) == now(app).split.total
    if what == "budget":
        case = case_of(app)
        assert float(now(app).split.total) == pytest.approx(float(found))
        assert forecast(case.moments, design=case.design).ci_length_mean <= length
    elif what == "records":
        assert now(app).n == int(found)


def test_a_design_that_was_used_is_not_changed_elsewhere_without_a_word():
    """Explore took the place of the plan that waited to be approved."""
    app = start("plan", find="budget", **SMALL, goal_length="0.5")
    app.button(key="use_design").click().run()
    used, moved = now(app), "something was changed since"
    assert moved not in words(app)
    app.switch_page(str(ROOT / "pages" / "explore.py"))
    app.run()
    app.text_input(key="total_number").set_value("7").run()
    app.query_params["step"] = "approve"
    app.switch_page(str(ROOT / "pages" / "plan.py"))
    app.run()
    check(app)
    assert now(app) != used
    assert moved in words(app)
    app.button(key="take_back").click().run()
    check(app)
    assert now(app) == used
    assert moved not in words(app)


@pytest.mark.parametrize(("length", "said"), [(0.5, "met"), (0.05, "missed")])
def test_a_precision_that_is_found_is_held_against_the_goal(length, said):
    app = start("plan", find="precision", **SMALL, goal_length=str(length))
    (verdict,) = re.findall(r"\*\*Your goal is (met|missed)\.", words(app))
    assert verdict == said
    reached = outcome(case_of(app).moments, design=case_of(app).design, target=case_of(app).target)
    shown_too = f"{text.number_at_most(reached.within_reach, 4)}, not {length:g}."
    assert (shown_too in words(app)) == (said == "missed")
    assert "3 of 3 coefficients can be reported" in words(app)


@pytest.mark.parametrize(
    "goal",
    [
        {"goal": "all", "goal_length": "0.02"},
        {"goal": "length", "goal_on": "age", "goal_length": "0.004"},
        {"goal": "length", "goal_on": "", "goal_length": "0.01"},
        {"goal": "zero", "goal_on": "age", "goal_value": "0.001"},
        {"goal": "zero", "goal_on": "age", "goal_value": "-0.001"},
    ],
)
def test_a_goal_that_is_missed_gives_way_to_the_one_that_is_reached(goal):
    app = start("plan", find="precision", **SMALL, **goal)
    before = now(app)
    assert "Your goal is missed" in words(app)
    button = app.button(key="ask_less")
    assert button.label == f"Take {shown(app)} as the goal"
    button.click().run()
    check(app)
    assert options.described(case_of(app), TableSource(PUBLIC)).works
    assert "Your goal is met" in words(app)
    assert now(app).usual(*PRECISION) == before.usual(*PRECISION)
    assert not [b for b in app.button if b.key == "ask_less"]


@pytest.mark.parametrize(("what", "length"), [("budget", "1e-4"), ("records", "1e-6")])
def test_of_a_goal_out_of_reach_the_largest_amount_says_what_can_be_asked(what, length):
    app = start("plan", find=what, goal_length=length, goal="length", goal_on="", **SMALL)
    app.button(key="ask_most").click().run()
    check(app)
    assert "Your goal is met" in words(app)
    assert not [b for b in app.button if b.key in ("ask_less", "ask_most")]


@pytest.mark.parametrize(("value", "what"), [(0.2, "zero"), (-0.2, "zero"), (0.3, "all")])
@pytest.mark.parametrize("factor", [1.0001, 1.234567, 3.3])
def test_no_goal_that_is_offered_is_closer_than_what_is_reached(value, what, factor):
    """An odds ratio below 1 that was found was told as one nearer to 1."""
    name = "goal_value" if what == "zero" else "goal_length"
    case = case_from(goal=what, goal_on="age" if what == "zero" else "", **{name: str(value)})
    reached = factor * value
    typed = nearest_goal(case, reached)
    assert found_words(case, reached) == number(typed, 4)
    taken = from_number(case, typed)[name]
    assert abs(reached) <= abs(taken) * (1 + 1e-9)
    assert taken == pytest.approx(reached, rel=0.01)
    assert nearest_goal(case, 0.9 * value) is None  # which is no looser
    assert nearest_goal(case, 1e6 * value) is None  # which nobody can ask for


def test_the_least_budget_gives_intervals_that_are_of_use():
    """A goal that is met by intervals too long to be of use is not called met."""
    app = start("plan", **(SMALL | {"goal_length": "6", "goal_chance": "0.5"}))
    case = case_of(app)
    bare = needed_budget(case.moments, design=case.design, target=case.target)
    assert bare.forecast.usefulness.is_useless
    least = options.Designs(case, TableSource(PUBLIC)).answer("budget")
    assert least.works
    assert least.typed > float(bare.total)
    assert least_total(app) == pytest.approx(least.typed, rel=1e-3)


@pytest.mark.parametrize("goal", ["all", "length"])
@pytest.mark.parametrize("on", ["", "age"])
def test_the_three_answers_agree(goal, on):
    """One truth: what is found at one place is given at another, and the same comes back."""
    settings = Settings(d=3, n=20_000, goal=goal, goal_on=on, goal_length=0.4, goal_chance=0.8)
    source = TableSource(PUBLIC)
    case = make_case(settings, source)
    least = options.Designs(case, source).answer("budget")
    assert least.works
    there = make_case(options.adopted(settings, least), source)
    again = options.Designs(there, source).answer("precision")
    assert abs(again.precision) <= 0.4 * (1.0 + 1e-9)
    enough = options.Designs(there, source).answer("records")
    assert enough.settings.n <= 20_000
    assert (
        options.Designs(make_case(options.adopted(settings, enough), source), source)
        .answer("precision")
        .works
    )
    little = make_case(settings.swept("total", 0.97 * least.typed), source)
    assert not options.Designs(little, source).answer("precision").works


@pytest.mark.parametrize("what", ["records", "precision"])
@pytest.mark.parametrize("currency", ["pure", "zcdp", "approx"])
def test_a_budget_is_called_large_once_somebody_typed_it(what, currency, hasty):
    app = start("plan", find=what, **SMALL)
    app.segmented_control(key="currency").set_value(currency).run()
    assert "Large budget" not in words(app)
    app.text_input(key="total_number").set_value("4").run()
    assert "Large budget" in words(app)


def test_odd_numbers_on_the_calculator_change_nothing(hasty):
    records, budget = (
        start("plan", find=what, goal="all", goal_length="0.5", **SMALL)
        for what in ("records", "budget")
    )
    before = now(records)
    for typed in (None, -5, 0, 1, 1e12):
        records.text_input(key="precision_number").set_value(str(typed)).run()
        check(records)
        assert now(records) == before, typed
        n = None if typed is None else int(typed)
        budget.text_input(key="n_number").set_value(str(n)).run()
        check(budget)
        assert now(budget) == before, typed


def test_a_design_is_kept_beside_another_and_the_link_restores_both():
    app = start("plan", find="precision", **SMALL)
    app.button(key="keep_design").click().run()
    app.text_input(key="total_number").set_value("2.0").run()
    check(app)
    kept, here = [m.value for m in app.markdown if m.value.startswith("- ε = ")]
    kept, here = sorted((kept, here), key=lambda card: "**2**" in card)
    assert "ε = **1**" in kept
    assert "73.2 %" in kept
    assert "ε = **2**" in here
    assert "**, in 90 % of releases\n" in here  # of one table: no world is less favourable
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    again = visit("plan", **link)
    assert [m.value for m in again.markdown] == [m.value for m in app.markdown]
    keep = again.button(key="keep_design")
    assert keep.disabled  # a second one would take its place
    keep.proto.disabled = False  # in a browser that has not heard of it
    keep.click().run()
    assert again.query_params["kept"] == app.query_params["kept"]
    again.button(key="remove_kept").click().run()
    assert "kept" not in again.query_params
    assert not again.button(key="keep_design").disabled


def test_an_effect_is_asked_for_as_an_odds_ratio():
    app = set_goal(start("plan", **SMALL), "zero", on="age", amount=1.005, chance=0.8)
    check(app)
    assert (now(app).goal, now(app).goal_on, now(app).goal_chance) == ("zero", "age", 0.8)
    assert now(app).goal_value == pytest.approx(math.log(1.005))
    case = case_of(app)
    per_year = float(case.records.to_original[0, 0])
    assert case.target.excludes_zero_at == pytest.approx(math.log(1.005) / per_year)
    chance = meeting_probability(case.moments, design=case.design, target=case.target)
    found = options.described(case)
    assert found.probability == pytest.approx(chance)
    assert found.meets == (chance >= 0.8)
    assert charts_of(app)[0]["layout"]["meta"]["target"] == 0.8


def test_a_factor_is_half_an_interval_of_log_odds():
    app = set_goal(start("plan", **SMALL), "length", on="age", amount=1.01)
    check(app)
    assert now(app).goal_length == pytest.approx(2.0 * math.log(1.01))
    case = case_of(app)
    made = forecast(
        case.moments,
        design=case.design,
        contrasts=case.records.to_original,
    )
    factor = math.exp(float(made.ci_length[0]) / 2.0)
    assert f"to within a factor of {number(factor)}" in words(app)


POINT = "Type a number with a decimal point, such as 1.5, and without commas."
MOST = "Type a factor up to 4.47: wider odds intervals are not reported."


@pytest.mark.parametrize(
    ("kind", "typed", "words"),
    [
        ("all", "1,5", POINT),
        ("all", "0,5", POINT),
        ("all", "1.5 or so", POINT),
        ("all", "1e400", POINT),
        ("all", "1", "The factor has to be above 1."),
        ("all", "", "Type the factor."),
        ("all", "1e12", MOST),
        ("all", "4.48", MOST),
        ("length", "1,5", POINT),
        ("length", "1e12", MOST),
        ("zero", "1,2", POINT),
        ("zero", "1e12", "Type an odds ratio from 0.0001 to 10,000."),
        ("zero", "1e-12", "Type an odds ratio from 0.0001 to 10,000."),
        ("mean", "0,4", POINT),
    ],
)
def test_an_amount_that_nobody_meant_or_could_use_is_refused_and_stays(kind, typed, words, hasty):
    """A field of numbers made 15 of "1,5" and 5 of "0,5" before anybody could refuse it; a factor
    of 1e12 was a goal that every design met.
    """
    app = start("plan", **SMALL, goal="all", step="goal")
    before = now(app)
    app = set_goal(app, kind, on="age", amount=typed)
    assert [one.value.replace("\\", "").split("\n")[-1] for one in app.error] == [f"- {words}"]
    assert now(app) == before
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    key = {"all": "goal_all_", "mean": "goal_mean"}.get(kind, f"goal_{kind}_age")
    assert app.text_input(key=key).value == typed
    if typed:
        again = visit_unchecked("plan", **link)
        assert again.text_input(key=key).value == typed
        assert [one.value.replace("\\", "") for one in again.error] == [words], "before Continue"


@pytest.mark.parametrize(("level", "most"), [("0.95", 4.47), ("0.99", 7.16), ("0.8", 2.66)])
def test_the_widest_factor_that_can_be_asked_for_is_the_widest_odds_interval_told(level, most):
    """At another level it is the same interval of level 95 %."""
    case = case_from(goal="all", level=level)
    told_for = norm.ppf(0.975) / norm.ppf(0.5 + float(level) / 2.0)
    assert 2.0 * math.log(most) * told_for <= math.log(MOST_ODDS)
    assert 2.0 * math.log(most + 0.01) * told_for > math.log(MOST_ODDS)
    length = from_number(case, most)["goal_length"]
    assert length == pytest.approx(2.0 * math.log(most))
    with pytest.raises(ValueError, match=f"up to {most:g}: "):
        from_number(case, most + 0.01)


def test_no_factor_that_is_refused_is_on_the_slider_of_the_precision(hasty):
    app = start("plan", **SMALL, goal="all")
    assert [float(x.split()[-1]) for x in app.select_slider(key="precision_slider").options][
        -2:
    ] == [4.0, 4.47]
    before = now(app)
    app.text_input(key="precision_number").set_value("5").run()
    assert any("to 4.47." in one.value for one in app.warning)
    assert now(app) == before


@pytest.mark.parametrize("key", ["total", "n", "precision"])
def test_beside_a_refused_amount_the_cards_are_told_to_be_of_the_one_before(key, hasty):
    app = start("plan", **SMALL, goal="all", find="budget" if key == "precision" else "precision")
    field = app.text_input(key=f"{key}_number")
    held = field.value
    field.set_value("abc").run()
    assert any(one.value.endswith(f" still for {held}.") for one in app.warning)


def test_nothing_is_filled_in_for_a_described_table(hasty):
    app = start("plan", dataset=DECLARED, declared=packed_table(declare.example()), d="5")
    app.button(key="step_goal").click().run()
    check(app)
    app.radio(key="goal_first").set_value("other").run()
    app.radio(key="goal").set_value(None).run()
    app.button(key="goal_continue").click().run()
    assert "Choose what you need" in app.error[0].value
    app.radio(key="goal").set_value("zero").run()
    assert app.radio(key="goal_on").value is None
    app.radio(key="goal_on").set_value("age").run()
    assert app.text_input(key="goal_zero_age").value == ""
    assert "age, per 10 years" in words(app) + str(app.radio(key="goal_on").options)
    app.button(key="goal_continue").click().run()
    assert "Type the odds ratio" in app.error[0].value


def test_what_is_typed_of_a_goal_stays_until_goal_or_table_is_another(hasty):
    app = start("plan", **SMALL, goal="all")
    app.button(key="step_goal").click().run()
    app.text_input(key="goal_all_").set_value("1.7").run()
    app.select_slider(key="goal_chance").set_value(0.8).run()
    app.radio(key="goal_first").set_value("other").run()
    assert not app.select_slider  # a kind of goal is asked for first
    app.radio(key="goal").set_value("zero").run()
    app.radio(key="goal_on").set_value("age").run()
    app.text_input(key="goal_zero_age").set_value("1.3").run()
    app.button(key="step_describe").click().run()
    app.button(key="step_goal").click().run()
    assert app.radio(key="goal").value == "zero"
    assert app.text_input(key="goal_zero_age").value == "1.3"
    app.radio(key="goal_first").set_value("all").run()
    assert app.text_input(key="goal_all_").value == "1.7"
    assert app.select_slider(key="goal_chance").value == 0.8
    app.session_state["settings"] = replace(now(app), d=4)
    app.run()
    assert app.text_input(key="goal_all_").value == "1.28402542"
    app.radio(key="goal_first").set_value("other").run()
    app.radio(key="goal").set_value("zero").run()
    app.radio(key="goal_on").set_value("age").run()
    assert app.text_input(key="goal_zero_age").value == ""
    assert app.select_slider(key="goal_chance").value == USUAL_CHANCE


def test_what_is_typed_of_a_goal_survives_a_reload_and_is_gone_when_it_is_taken(hasty):
    app = start("plan", **SMALL, goal="all", step="goal")
    assert "goal_draft" not in app.query_params
    app.radio(key="goal_first").set_value("other").run()
    app.radio(key="goal").set_value("zero").run()
    app.radio(key="goal_on").set_value("age").run()
    app.text_input(key="goal_zero_age").set_value("1.3").run()
    app.select_slider(key="goal_chance").set_value(0.8).run()
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    again = visit("plan", **link)
    assert again.radio(key="goal").value == "zero"
    assert again.radio(key="goal_on").value == "age"
    assert again.text_input(key="goal_zero_age").value == "1.3"
    assert again.select_slider(key="goal_chance").value == 0.8
    assert now(again).goal == "all"  # nothing is taken over before somebody goes on
    again.button(key="goal_continue").click().run()
    assert now(again).goal == "zero"
    assert "goal_draft" not in again.query_params


@pytest.mark.parametrize(
    "draft",
    [
        "1.broken",
        pack({"goal_first": "other", "goal": "none", "goal_on": "nobody", "goal_chance": 7}),
        pack({"goal_all_": 1.7, "goal_mean": "\ud800", "goal_chance": 2}),
        pack({"goal_all_": True, "goal_of": ["x"], "settings": 1, "goal_continue": True}),
    ],
)
def test_a_draft_of_a_goal_that_no_widget_can_hold_changes_nothing(draft, hasty):
    app = start("plan", **SMALL, goal="all", step="goal", goal_draft=draft)
    app.radio(key="goal_first").set_value("all").run()
    check(app)
    assert app.text_input(key="goal_all_").value == "1.28402542"
    assert app.select_slider(key="goal_chance").value == USUAL_CHANCE
    assert now(app).goal == "all"


def test_an_effect_to_detect_is_in_the_made_up_rows_where_nobody_guessed_one(hasty):
    schema = replace(declare.example().schema)
    table = DeclaredTable(schema=schema, guesses=Guesses(n_rows=1_000))
    query = {"dataset": DECLARED, "declared": packed_table(table), "d": "5", "n": "50000"}
    app = set_goal(start("plan", **query), "zero", on="age", amount=1.2, chance=0.8)
    effects = declared_table(now(app).declared).guesses.effects
    assert effects == {"age": pytest.approx(math.log(1.2) / 10.0)}
    app = set_goal(app, "zero", on="bmi", amount=1.1, chance=0.8)
    effects = declared_table(now(app).declared).guesses.effects
    assert effects == {"bmi": pytest.approx(math.log(1.1) / 5.0)}
    guessed = replace(table, guesses=replace(table.guesses, effects={"age": 0.5}))
    query["declared"] = packed_table(guessed)
    app = set_goal(start("plan", **query), "zero", on="bmi", amount=1.1, chance=0.8)
    assert declared_table(now(app).declared).guesses.effects == {"age": 0.5}


def test_an_effect_that_is_reached_is_asked_for_in_the_table_that_was_looked_at():
    """An effect to detect is the guess of the made-up rows: other rows would reach another."""
    bare = replace(declare.example(), guesses=Guesses(base_rate=0.2, n_rows=400))
    query = {"dataset": DECLARED, "declared": packed_table(bare), "d": "5", "n": "8000"}
    app = set_goal(start("plan", **query), "zero", on="bmi", amount=1.02, chance=0.8)
    guessed = now(app).declared
    find(app, "precision").button(key="ask_less").click().run()
    check(app)
    assert "Your goal is met" in words(app)
    assert now(app).declared == guessed != query["declared"]
    assert options.described(case_of(app), TableSource(PUBLIC)).works


@pytest.mark.parametrize("goal", ["all", "length"])
def test_of_a_goal_out_of_reach_it_is_said_how_many_records_would_do(goal):
    case = case_from(goal=goal, goal_length="0.001")
    with pytest.raises(OutOfReachError) as refusal:
        needed_budget(case.moments, design=case.design, target=case.target)
    for needed in (None, 90_000):
        refusal.value.needed = needed
        said = no_answer(refusal.value, case)
        assert ("90,000 records would make it possible" in said) is (needed is not None)
        assert ("No number of records is known that would" in said) is (needed is None)


def test_an_impossible_target_is_answered_with_what_is_possible():
    app = start("plan", goal_length="0.02", **SMALL)
    case = case_of(app)
    with pytest.raises(InfeasibleDesignError) as refusal:
        needed_budget(case.moments, design=case.design, target=case.target)
    assert no_answer(refusal.value, case) in words(app)
    assert "needed budget" not in [trace.get("name") for trace in charts_of(app)[0]["data"]]


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("mean", -1, "Give a length above 0"),
        ("mean", 1e12, "up to a thousand million"),
        ("mean", "", "Type the number"),
        ("zero", 1, "above 0 and another than 1"),
        ("length", 1, "has to be above 1"),
    ],
)
def test_a_goal_that_cannot_be_is_refused_on_top_and_changes_nothing(kind, value, said, hasty):
    app = set_goal(start("plan", **SMALL), kind, on="age", amount=value)
    assert [t.value for t in app.title] == ["How exact must the results be?"]
    assert said in app.error[0].value
    assert now(app) == start_settings()
    app.button(key="step_describe").click().run()
    assert not app.error


def start_settings() -> Settings:
    return from_query(PAPER_TERMS | SMALL)[0]


def test_it_is_said_that_the_split_protects_nobody():
    assert "Only the total protects people; the split only affects accuracy." in words(
        start("plan", **SMALL)
    )


def test_the_link_restores_the_goal():
    app = start(
        "plan",
        goal="zero",
        goal_on="age",
        goal_value="0.02",
        goal_chance="0.9",
        **SMALL,
    )
    assert (now(app).goal, now(app).goal_on, now(app).goal_value, now(app).goal_chance) == (
        "zero",
        "age",
        0.02,
        0.9,
    )


@pytest.mark.parametrize("text", ["0", "nan", "inf", "1e10", "x"])
def test_a_link_with_an_impossible_target_says_so(text):
    settings, bad = from_query({"goal_value": text})
    assert bad == ("goal_value",)
    assert settings.goal_value == Settings().goal_value


def test_a_coefficient_that_is_not_in_the_table_falls_back(hasty):
    app = start("plan", goal_on="no such column", **SMALL)
    assert "Goal: mean interval" in words(app)
    app = start("plan", goal="zero", goal_on="no such column", **SMALL)
    assert case_of(app).target.coefficient == 0


def test_planning_always_encodes_by_declared_bounds():
    app = start("plan", encoding="paper", **SMALL)
    assert case_of(app).records.encoding == "schema"
    assert "encoding “schema”" in str(charts_of(app)[0]["layout"])


def test_comparisons_of_explore_become_one_design_and_stay_there(hasty):
    app = start("plan", definitions="pure~zcdp", mechanisms="output~objective", d="3")
    assert len(now(app).combinations) == 4
    assert case_of(app).design.mechanism == "objective"
    app.segmented_control(key="mechanism").set_value("output").run()
    check(app)
    assert now(app).mechanisms == ("output",)
    assert case_of(app).design.mechanism == "output"


def test_the_map_falls_with_budget_and_records_and_holds_the_answers():
    source = TableSource(PUBLIC)
    case = make_case(Settings(d=3, n=20_000, calibrations=("published",)), source)
    found = planning.iso_map(case, source)
    steps = [d for axis in (0, 1) for d in _steps(found.values, axis)]
    assert max(steps) < 0.0
    budget = needed_budget(case.moments, design=case.design, target=case.target)
    assert case.target.probability == USUAL_CHANCE > 0.5
    assert planning.at(case, float(budget.total), case.n) == pytest.approx(
        case.settings.goal_length, rel=0.02
    )


def _steps(values, axis: int) -> list[float]:
    return [d for d in np.diff(np.log(values), axis=axis).ravel().tolist() if math.isfinite(d)]


def test_the_heights_of_the_map_are_drawn_with_gaps_where_the_design_cannot_run():
    app = start("plan", **(SMALL | {"c": "0.0001"}))
    drawn = charts_of(app)[0]["data"][0]["z"]
    z = np.frombuffer(base64.b64decode(drawn["bdata"]), drawn["dtype"]).reshape(
        shape_of(drawn["shape"])
    )
    found = planning.iso_map(case_of(app), TableSource(PUBLIC)).values
    assert 0 < np.isnan(found).sum() < found.size
    finer = len(z) // (len(found) - 1)
    z = z[::finer, ::finer]
    is_drawn = np.isfinite(z)
    assert not is_drawn[np.isnan(found)].any()  # nor right beside a gap
    assert is_drawn.sum() > found.size / 2
    np.testing.assert_allclose(z[is_drawn], found[is_drawn], rtol=1e-5)


def shape_of(words: str) -> tuple[int, ...]:
    return tuple(int(word) for word in words.split(","))


def test_a_move_computes_the_map_only_if_it_changes_the_map(monkeypatch):
    made, make = [], planning.iso_map
    monkeypatch.setattr(planning, "iso_map", lambda *given: made.append(make(*given)) or made[-1])
    app = start("plan", find="precision", **SMALL)
    app.text_input(key="total_number").set_value("2.0").run()
    app.text_input(key="n_number").set_value("50000").run()
    set_goal(app, "mean", amount=0.7, chance=USUAL_CHANCE)
    check(app)
    assert len(made) == 1
    fresh = make(case_of(app), TableSource(PUBLIC))
    np.testing.assert_allclose(made[0].values, fresh.values, rtol=1e-12)
    app.text_input(key="c_number").set_value("0.01").run()
    assert len(made) == 2
    assert np.all(made[1].values != made[0].values)
    set_goal(app, "mean", amount=0.7, chance=0.5)
    check(app)
    assert np.nanmax(made[2].values / made[1].values) < 1.0  # fewer releases are to be so precise


def test_an_impossible_target_is_answered_in_the_units_it_was_made_in():
    """Lengths and values, those reached and those to ask for, are per year of age, as typed."""
    for goal, value in (("length", {"goal_length": "0.0001"}), ("zero", {"goal_value": "0.00001"})):
        app = start("plan", goal=goal, goal_on="age", **value, **SMALL)
        case = case_of(app)
        with pytest.raises(InfeasibleDesignError) as refusal:
            needed_budget(case.moments, design=case.design, target=case.target)
        scaled = refusal.value.nearest
        shown = re.search(r"(?:length of|value must be) (\S+) or", words(app))
        assert float(shown[1]) == pytest.approx(scaled * case.scale, rel=6e-3)
        assert float(shown[1]) >= scaled * case.scale
        assert f"{float(next(iter(value.values()))):.3g}" in words(app)


def test_answers_are_not_those_of_another_currency():
    app = start("plan", currency="approx", definitions="zcdp", **SMALL)
    before = charts_of(app)[0]
    app.session_state["settings"] = replace(now(app), currency="zcdp")
    app.run()
    check(app)
    assert charts_of(app)[0]["data"][-1] != before["data"][-1]
    contours = [
        next(t for t in chart["data"] if t["type"] == "contour")
        for chart in (before, charts_of(app)[0])
    ]
    assert contours[0]["x"] != contours[1]["x"]


def test_a_target_about_a_coefficient_that_is_gone_says_so(hasty):
    app = start("plan", goal_on="not *here*", **SMALL)
    assert "Your goal was about “not \\*here\\*”" in words(app)
    app.button(key="keep_which").click().run()
    check(app)
    assert now(app).goal_on == ""
    assert "Your goal was about" not in words(app)


def test_a_value_that_no_calculation_can_hold_is_refused_and_a_link_with_it_has_a_way_out(hasty):
    app = start("plan", goal="zero", goal_on="age", goal_value="0.01", **SMALL)
    app.session_state["settings"] = replace(now(app), goal_value=1e9)
    app.run()
    assert "cannot be 1e+09 here" in app.error[0].value
    app.button(key="remedy").click().run()
    check(app)
    assert now(app).goal == "length"


def test_many_coefficients_are_computed_on_request_only():
    schema = Schema(
        (CategoricalColumn("big", tuple(f"level {i}" for i in range(100))),), "y", "yes"
    )
    table = DeclaredTable(schema=schema, guesses=Guesses(n_rows=1_000))
    app = start("plan", dataset=DECLARED, declared=packed_table(table), d="99")
    assert not charts_of(app)
    assert not app.metric
    assert app.toggle(key="many_coefficients").label.startswith(
        "Compute the answers for 100 coefficients"
    )
