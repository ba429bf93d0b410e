"""A regression of a number on the page Plan: from its description to the approval, and its file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpci_core import GDP, ZCDP, DeclaredTable, LinearPlan, Target, read_plan
from dpci_core.plan import as_yaml, to_html, to_script
from dpci_core.plan.effects import planned_effects
from dpci_core.planner.linear import CLIPS
from dpci_core.planner.worlds import foreseen
from dpci_core.schema import NumericColumn, Persons
from tests.linear_example import GUESSES, SCHEMA, linear_plan
from tests.ui.plan.test_describe import LINES, add, described, go_on, title
from tests.ui.test_pages import ROOT, check, now, start
from ui.controls import declare
from ui.plan import options
from ui.plan.linear import LinearDesigns, SearchedLinear
from ui.session.case import NumberCase, make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, declared_table, packed_table
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import from_query
from ui.views.goals import steps_words

SOURCE = TableSource(PUBLIC)
TABLE = DeclaredTable(schema=SCHEMA, guesses=GUESSES, unit="one patient")
LINK = {
    "dataset": DECLARED,
    "declared": packed_table(TABLE),
    "d": "2",
    "n": "3000",
    "currency": "approx",
    "epsilon": "2",
    "goal": "all",
    "goal_length": "5",
}


def told(app: AppTest) -> str:
    kinds = (app.markdown, app.caption, app.warning, app.error, app.info, app.success)
    return "\n".join(str(one.value) for kind in kinds for one in kind).replace("\\", "")


def a_case(**changes: object) -> NumberCase:
    settings = from_query(LINK)[0]
    case = make_case(replace(settings, **changes), SOURCE)  # type: ignore[arg-type]
    assert isinstance(case, NumberCase)
    return case


def refused(page: str, **query: str) -> AppTest:
    """A page by a link that it cannot follow; it says why."""
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60)
    for name, value in (LINK | query).items():
        app.query_params[name] = value
    if page != "explore":
        app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    app.run()
    assert not app.exception
    return app


def test_a_pasted_line_with_bounds_is_a_number_and_becomes_the_outcome(hasty):
    app = start("plan")
    app.text_input(key="describe_n").set_value("8000")
    add(app, LINES)
    app.radio(key="describe_target_pick").set_value("systolic_bp").run()
    assert app.segmented_control(key="describe_outcome_pick").value == "A number"
    assert not [one for one in app.text_input if one.label.startswith("Share of")]
    go_on(app)
    assert title(app) == "How exact must the results be?"
    table = declared_table(now(app).declared)
    assert table.schema.outcome == NumericColumn(
        "systolic_bp", 60.0, 260.0, typical=130.0, spread=18.0, units="mmHg"
    )
    assert [column.name for column in table.schema.features] == ["age", "sex", "diabetes"]
    settings = now(app)
    assert (settings.goal, settings.goal_length) == ("all", 3.6)
    assert settings.currency == "approx"
    assert settings.split.share(0) == pytest.approx(70.0, rel=1e-3)
    assert [one.label for one in app.text_input if one.key == "goal_all_"] == ["To within ± (mmHg)"]


def test_what_an_outcome_that_is_a_number_lacks_is_said_where_it_is_handed_in(hasty):
    app = described()
    app.radio(key="describe_target_pick").set_value("sex").run()
    app.segmented_control(key="describe_outcome_pick").set_value("A number").run()
    app.button(key="describe_continue").click().run()
    assert "“sex”, lowest possible: a number is needed" in told(app)


def test_one_person_may_have_several_rows_with_an_outcome_that_is_a_number(hasty):
    app = start("plan")
    app.text_input(key="describe_n").set_value("8000")
    add(app, LINES)
    app.radio(key="describe_target_pick").set_value("systolic_bp").run()
    app.radio(key="describe_persons").set_value("Yes").run()
    app.text_input(key="describe_whose").set_value("patient").run()
    app.text_input(key="describe_most").set_value("3").run()
    go_on(app)
    assert title(app) == "How exact must the results be?"
    settings = now(app)
    assert declared_table(settings.declared).schema.persons == Persons("patient", 3)
    assert settings.linear_design.rows_per_person == 3


def test_the_step_of_each_difference_is_told_with_the_goal():
    assert steps_words(a_case()) == "age: per 10 years"


def test_effects_on_a_number_are_typed_in_its_units():
    rows = declare.to_rows(TABLE)
    assert [row["effect"] for row in rows] == ["4", "-3"]
    again = declare.from_rows(
        rows, outcome=SCHEMA.outcome, unit="one patient", rows=400, before=TABLE
    )
    assert again == TABLE
    wrong = declare.wrong_cell({**rows[0], "effect": "many"}, is_number=True)
    assert str(wrong) == (
        "“age”, guessed effect: “many” is no number. Numbers have a decimal point, 1.5, and "
        "semicolons between them."
    )


@pytest.mark.parametrize(
    "budget",
    [
        GDP(model="0.7", hessian="0.2", covariance="0.1"),
        ZCDP(model="0.07", hessian="0.02", covariance="0.01"),
    ],
)
def test_a_plan_opens_and_is_written_again(budget):
    plan = linear_plan()
    plan = replace(plan, design=replace(plan.design, budget=budget, steps=4, clip=2.0))
    made = plan_of(make_case(settings_of(plan), SOURCE), plan.title)
    assert isinstance(made, LinearPlan)
    assert (made.source, made.names) == (plan.source, plan.names)
    assert replace(made.design, budget=budget) == plan.design
    for part in ("model", "hessian", "covariance"):
        assert float(getattr(made.design.budget, part)) == pytest.approx(
            float(getattr(budget, part)), rel=1e-4
        )
    assert read_plan(as_yaml(made)) == made


def test_a_pure_epsilon_is_refused_with_the_nearest_way():
    app = refused("plan", currency="pure", step="choose")
    assert "Under a pure ε each of them would need noise" in told(app)
    app.button(key="remedy").click().run()
    check(app)
    assert now(app).currency == "approx"


def test_a_precision_is_met_by_the_releases_that_are_asked_for():
    designs = LinearDesigns(a_case(goal_length=6.0), SOURCE)
    made = max(designs.case.plan.promise().longest * (10.0, 1.0))
    precision = designs.answer("precision").precision
    assert made < precision < 1.4 * made  # 90 % are to be as short, not the mean


@pytest.mark.parametrize(("find", "is_first"), [("budget", True), ("records", False)])
def test_an_answer_meets_the_goal_a_little_less_does_not_and_none_is_looked_at_twice(
    find, is_first, monkeypatch
):
    """Between the least that is enough and the one below it lies none that is shown."""
    looked, describe = [], LinearDesigns.described
    monkeypatch.setattr(
        LinearDesigns, "described", lambda self, case: looked.append(case) or describe(self, case)
    )
    searched, name = [], f"needed_{find}"
    search = getattr(options, name)
    monkeypatch.setattr(options, name, lambda *a, **k: searched.append(a) or search(*a, **k))
    designs = LinearDesigns(a_case(goal_length=6.0), SOURCE, is_first=is_first)
    option = designs.answer(find)
    assert option.works
    amounts = [(case.settings.typed_total, case.n) for case in looked]
    assert 1 < len(amounts) == len(set(amounts))
    assert len(searched) == 1  # the method is the same everywhere, and so is what it needs
    typed, n = option.typed, option.settings.n
    less = designs.at(0.97 * typed, n) if find == "budget" else designs.at(typed, int(0.97 * n))
    assert not designs.described(less).meets


def test_every_difference_is_told_as_on_the_page_for_the_board():
    case = a_case()
    shown = LinearDesigns(case, SOURCE).described(case).effects
    plan = plan_of(case, "The same")
    approved = planned_effects(plan, plan.numbers())
    assert (shown.heads, shown.cells) == (approved.heads, approved.cells)
    assert shown.saying() == approved.saying()


def test_from_the_goal_to_an_approved_plan_with_its_files(patient):
    app = start("plan", **LINK | {"step": "choose", "find": "precision"})
    assert "Every effect to within ± (mmHg)" in told(app)
    assert not [one for one in app.segmented_control if one.key in ("by", "parts")]
    assert {"odds", "penalty"}.isdisjoint(told(app).lower().split())
    app.button(key="use_design").click().run()
    check(app)
    assert title(app) == "Approve the plan"
    assert "Each odds ratio to within" not in str([one.label for one in app.text_input])
    assert "linear regression in 3 steps" in told(app)
    app.text_input(key="approve_person").set_value("Ada").run()
    app.button(key="approve").click().run()
    assert not app.exception


def test_a_factor_that_was_typed_for_odds_ratios_can_be_taken_back(patient):
    app = start("plan", **LINK, step="approve", publish_within="1.5", publish_reported="1")
    assert "no `within` for a model without odds ratios" in told(app)
    app.text_input(key="plan_publish_within").set_value("").run()
    check(app)
    assert "no `within`" not in told(app)


def test_a_difference_that_is_missed_gives_way_to_the_one_that_is_reached(patient):
    app = start("plan", **LINK | {"step": "choose", "find": "precision", "goal_length": "0.5"})
    assert "Your goal is missed" in told(app)
    app.button(key="ask_less").click().run()
    check(app)
    assert "Your goal is met" in told(app)
    case = make_case(now(app), SOURCE)
    assert LinearDesigns(case, SOURCE).answer("precision").works


def test_a_goal_that_no_release_meets_is_not_met():
    case = a_case(goal="length", goal_on="", goal_length=3_000.0, n=250)
    option = LinearDesigns(case, SOURCE, is_first=True).described(case)
    assert option.precision < 3_000.0
    assert option.probability == 0.0
    assert not option.meets


def test_the_page_for_the_board_and_the_script_speak_of_the_number():
    case = a_case()
    plan = plan_of(case, "Pressure")
    page = to_html(plan, plan.numbers())
    for said in (
        "Difference in mmHg known to within ±",
        "coefficients of a linear regression of pressure, each with a 95 % confidence interval",
        "Made by 3 Newton steps with Gaussian noise",
        "pressure about 130, spread 18",
        "pressure is cut at 60 and 250 mmHg",
    ):
        assert said in page
    assert "pressure in " not in page  # a share of “yes” is of no number
    assert "LinearPlan(" in to_script(plan)


def test_other_pages_say_where_a_number_has_its_place():
    app = refused("evidence", evidence="coverage")
    assert "The outcome of this table is a number" in told(app)


def test_no_clip_by_hand_needs_less_than_a_searched_method():
    """At the split and the steps that were found, of clips that bias no effect too far; the answer
    rests on nothing that was typed.
    """
    case = a_case(goal_length=6.0)
    found = SearchedLinear(case, SOURCE, is_first=True).answer("budget")
    assert found.works
    typed = case.settings
    other = case.of(replace(typed, steps=5, clip=9.0, row_clip=7.0))
    again = SearchedLinear(other, SOURCE, is_first=True).at(found.typed, case.n)
    assert again.design == found.design
    less = float(f"{0.97 * found.typed:.3g}")
    for clip, row_clip in CLIPS:
        by_hand = case.of(replace(found.settings, clip=clip, row_clip=row_clip))
        designs = LinearDesigns(by_hand, SOURCE, is_first=True)
        there = designs.at(less, case.n)
        made = foreseen(there.moments, design=replace(there.design, n_records=there.fewest))
        assert made.is_biased[:-1].any() or not designs.described(there).works


def test_more_records_need_less_and_the_records_of_a_budget_come_back():
    found = {
        n: SearchedLinear(a_case(n=n), SOURCE, is_first=True).answer("budget")
        for n in (3_000, 8_000)
    }
    assert all(one.works for one in found.values())
    assert found[8_000].typed < 0.5 * found[3_000].typed
    there = a_case(n=100, epsilon=f"{found[3_000].typed:g}")
    back = SearchedLinear(there, SOURCE, is_first=True).answer("records")
    assert back.works
    assert 2_850 <= back.settings.n <= 3_030


def test_a_plan_and_the_page_choose_the_same_method():
    plan = linear_plan(guesses=replace(GUESSES, n_rows=100), goal=Target(9.0, coefficient=0))
    budget = GDP(model="0.7", hessian="0.2", covariance="0.1")
    plan = replace(plan, design=replace(plan.design, budget=budget))
    case = make_case(settings_of(plan), SOURCE)
    assert isinstance(case, NumberCase)
    designs = SearchedLinear(case, SOURCE)
    page, chosen = (designs.at(case.settings.typed_total, case.n).design, plan.with_best_design())
    assert (page.steps, page.clip, page.row_clip) == (
        *(chosen.design.steps, chosen.design.clip),
        chosen.design.row_clip,
    )
    for part in ("model", "hessian", "covariance"):
        made, kept = (float(getattr(of.budget, part)) for of in (page, chosen.design))
        assert made == pytest.approx(kept, rel=1e-3)


def test_a_clip_that_may_bias_the_effect_of_the_goal_is_not_enough():
    """Of bounds within their error a search would take those that planning rows favour."""
    designs = SearchedLinear(a_case(goal_length=6.0), SOURCE, is_first=True)
    case = designs.at(4.0, 3_000)
    option = replace(designs.described(case), meets=True, is_lost=False, reportable=2)
    designs._search.is_biased = np.array([False, False])
    assert designs.is_enough(option)
    designs._search.is_biased = np.array([False, True])
    assert not designs.is_enough(option)
    designs.case = replace(case, target=Target(1.0, coefficient=0))
    assert designs.is_enough(option)
    designs.case = replace(case, target=Target(1.0))
    assert designs.is_enough(option)


def test_a_split_that_is_set_by_hand_stays_while_clips_are_found():
    case = a_case(split=a_case().settings.split.with_share(0, 50.0))
    made = SearchedLinear(case, SOURCE, is_first=True, is_split_free=False).at(1.0, 8_000)
    assert made.settings.split.share(0) == pytest.approx(50.0, rel=1e-4)
    free = SearchedLinear(case, SOURCE, is_first=True).at(1.0, 8_000)
    assert abs(free.settings.split.share(0) - 50.0) > 4.0


def test_an_effect_that_is_lost_where_the_length_is_met_is_left_in_large_steps(monkeypatch):
    """What a design needs for its length says nothing of when its effects can be reported."""
    designs, looked = LinearDesigns(a_case(goal_length=6.0), SOURCE, is_first=True), []
    usual = designs.described(designs.at(2.0, 3_000))

    def described(self, case):
        looked.append(case.settings.typed_total)
        is_lost = looked[-1] < 6.0
        chance = 0.0 if is_lost else 1.0
        return replace(
            usual,
            settings=case.settings,
            typed=looked[-1],
            probability=chance,
            meets=not is_lost,
            is_lost=is_lost,
        )

    monkeypatch.setattr(LinearDesigns, "described", described)
    monkeypatch.setattr(LinearDesigns, "_needed", lambda *_: 0.5)
    found = designs.answer("budget")
    assert found.works
    assert 6.0 <= found.typed < 6.1


def amounts(app) -> tuple[float, int]:
    return now(app).typed_total, now(app).n


def test_the_page_shows_the_method_only_where_it_is_set_by_hand(patient):
    query = LINK | {"step": "choose", "find": "precision", "goal_length": "6"}
    app = start("plan", **query, method="chosen")
    assert app.radio(key="method").value == "chosen"
    assert not [one for one in app.text_input if one.key == "linear_clip"]
    assert "for their standard errors" in told(app)
    app.segmented_control(key="parts").set_value("own").run()
    check(app)
    assert app.expander[0].label == "How well each effect will be known"
    found = SearchedLinear(a_case(goal_length=6.0), SOURCE).at(*amounts(app)).design
    assert now(app).linear_design != found
    app.radio(key="method").set_value("own").run()
    check(app)
    assert now(app).linear_design == found  # by hand begins with what was found
    assert [one for one in app.text_input if one.key.startswith("linear_clip")]
    assert not [one for one in app.segmented_control if one.key == "parts"]


def test_the_searched_method_is_taken_with_the_design(patient):
    query = LINK | {"step": "choose", "find": "precision", "goal_length": "6", "epsilon": "4"}
    app = start("plan", **query, method="chosen", clip="9", steps="5")
    app.button(key="use_design").click().run()
    check(app)
    found = now(app).linear_design
    made = SearchedLinear(a_case(goal_length=6.0, epsilon="4"), SOURCE).at(4.0, 3_000)
    assert found == made.design
    assert (found.clip, found.steps) != (9.0, 5)
