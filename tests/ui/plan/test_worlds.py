"""Plan tells what holds in every world of a described table, and Approve asks where its goal
fails in one.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpci_core import Target, needed_budget
from dpci_core.plan.effects import planned_effects
from dpci_core.planner.amounts import with_total
from dpci_core.planner.targets import outcome
from dpci_core.report.words import MEAN_COUNTS_ALL, foreseen_chance
from dpci_core.schema import CategoricalColumn
from dpci_core.schema.worlds import UNKNOWN_RATE
from tests.ui.plan.test_linear import LINK as A_NUMBER
from tests.ui.test_pages import PAPER_TERMS, check, start
from ui.controls import declare
from ui.plan import numbers, options, words
from ui.plan import work as plan_work
from ui.plan.job import parts_of
from ui.session.case import make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, packed_table
from ui.session.plan_settings import plan_of
from ui.session.settings import from_query
from ui.session.text import plain
from ui.session.worlds import worlds_of_case

SOURCE = TableSource(PUBLIC)
EXAMPLE = declare.example()
GOAL = {
    "dataset": DECLARED,
    "declared": packed_table(EXAMPLE),
    "d": "5",
    "n": "8000",
    "target": "unpenalised",
    "goal": "length",
    "goal_on": "bmi",
}


def a_case():
    return make_case(from_query(PAPER_TERMS | GOAL)[0], SOURCE)


def test_the_worlds_of_a_case_are_those_of_its_declaration_its_own_first():
    case = a_case()
    found = worlds_of_case(case, SOURCE)
    assert found[0].moments is case.moments
    assert [one.assumption for one in found] == [said for said, _ in EXAMPLE.worlds()]
    tables = [table for _, table in EXAMPLE.worlds(case.records.feature_names[:-1])]
    assert case.records.digest == tables[0].digest
    assert worlds_of_case(case, SOURCE)[3].moments is found[3].moments  # no fit is made twice
    (only,) = worlds_of_case(make_case(replace(case.settings, dataset="census"), SOURCE), SOURCE)
    assert only.moments.n_records > 0


def test_an_option_promises_no_more_than_its_worst_world():
    case = a_case()
    first = options.described(case)
    assert first.promise is None
    found = options.described(case, SOURCE)
    assert found.promise is not None
    assert found.probability <= first.probability
    assert not (found.meets and not first.meets)
    assert abs(found.precision) >= abs(first.precision)
    each = [options._nearest_goal(case, one) for one in worlds_of_case(case, SOURCE)]
    assert found.precision == max(each)
    said = words.reach_sentence(case, found, "precision")
    assert f"{found.promise.reportable} of 5 coefficients can be reported" in said
    assert plain(found.promise.probability_decided_by) in said
    least = foreseen_chance(found.probability)
    assert f"At least {least} of releases meet the goal with 95 % intervals" in said
    never = words.reach_sentence(case, replace(found, probability=1e-6), "precision")
    assert "Perhaps no releases meet the goal" in never
    assert "under 0.01 %" not in never
    gone = np.flatnonzero(found.promise.chance < 0.95)
    sentences = " ".join(one.sentence for one in found.cautions)
    assert all(case.records.feature_names[j].replace("=", ": ") in sentences for j in gone)


def test_a_mean_says_that_it_counts_what_cannot_be_reported():
    one = a_case()
    case = make_case(replace(one.settings, goal_on=""), SOURCE)
    found = options.described(case, SOURCE)
    for reportable, is_said in ((found.of, False), (found.of - 1, True)):
        said = words.reach_sentence(case, replace(found, reportable=reportable), "precision")
        assert (MEAN_COUNTS_ALL in said) == is_said
        of_one = words.reach_sentence(one, replace(found, reportable=reportable), "precision")
        assert MEAN_COUNTS_ALL not in of_one


def test_what_can_be_used_is_told_of_complete_records(monkeypatch):
    """“Even if only 7,290 of them can be used” was said of 9,000, half of them complete."""
    half = replace(EXAMPLE, schema=replace(EXAMPLE.schema, complete=0.5))
    link = PAPER_TERMS | GOAL | {"declared": packed_table(half), "n": "9000"}
    case = make_case(from_query(link)[0], SOURCE)
    assert (case.fewest, case.usable_of(case.fewest)) == (7_290, 3_645)
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)
    for find in ("precision", "budget", "records"):
        app = start("plan", **link, find=find)
        check(app)
        (told,) = re.findall(r"even if only ([0-9,]+) of them", words_of(app))
        if find == "records":
            n = int(re.search(r"## ([0-9,]+)", words_of(app))[1].replace(",", ""))
            assert int(told.replace(",", "")) == case.usable_of(case.fewest_of(n))
        else:
            assert told == "3,645"
    assert "even if only 3,645 records can be used" in words_of(start("plan", **link))


def words_of(app) -> str:
    return "\n".join(one.value for one in (*app.markdown, *app.warning, *app.success))


def test_the_least_budget_is_enough_in_every_world():
    case = a_case()
    found = options.Designs(case, SOURCE).answer("budget")
    kind = needed_budget(case.moments, design=case.design, target=case.target)
    assert found.typed >= float(kind.total)
    assert found.promise is not None
    assert found.promise.fewest == case.fewest < case.n
    assert found.promise.probability >= case.target.probability


def test_the_records_needed_keep_their_promise():
    case = a_case()
    answer = parts_of(case, SOURCE, "records")["answer"].find()
    there = make_case(replace(case.settings, n=answer.settings.n), SOURCE)
    promised = options.described(there, SOURCE).promise
    assert promised.fewest == there.fewest < answer.settings.n
    assert promised.probability == answer.promise.probability >= case.target.probability
    enough = f"**Your goal is met with {answer.settings.n:,} records.**"
    assert enough in words.reach_sentence(case, answer, "records")
    of_plan = plan_of(there, "The same").numbers()  # as the page for the board has them
    assert of_plan.promise.fewest == promised.fewest
    told = words.against_sentence(answer)
    assert f"with the intercept: as from {of_plan.as_if_records:,} records" in told


def test_every_effect_is_told_as_on_the_page_for_the_board():
    case = a_case()
    shown = options.described(case, SOURCE).effects
    assert "Least favourable case" in shown.heads
    plan = plan_of(case, "The same")
    approved = planned_effects(plan, plan.numbers())
    assert (shown.heads, shown.cells) == (approved.heads, approved.cells)
    assert shown.saying() == approved.saying()


def test_the_chance_is_told_of_the_worst_table_and_of_the_one_described():
    case = a_case()
    option = options.Designs(case, SOURCE).answer("budget")
    assert option.probability < option.as_described
    said = words.reach_sentence(case, option, "budget")
    assert f"; {foreseen_chance(option.as_described)} if the table is as described." in said
    alike = replace(option, probability=option.as_described)
    assert "as described" not in words.reach_sentence(case, alike, "budget")
    certain = words.reach_sentence(
        case, replace(alike, probability=1.0, as_described=1.0), "budget"
    )
    assert "At least 99 % of releases" in certain  # “100 %” was promised of 64 draws
    own = replace(
        option, promise=replace(option.promise, probability_decided_by=option.promise.worlds[0])
    )
    assert "fewest" not in words.reach_sentence(case, own, "budget")


def test_beside_a_goal_that_is_missed_the_chance_of_the_table_as_described_is_no_promise():
    """“Your goal is missed … 99 % if the table is as described” read as its opposite."""
    case = make_case(from_query(PAPER_TERMS | GOAL | {"goal_chance": "0.9"})[0], SOURCE)
    option = replace(options.described(case, SOURCE), meets=False, is_lost=False)
    option = replace(option, probability=0.86, as_described=1.0)
    said = words.reach_sentence(case, option, "precision")
    assert said.startswith("**Your goal is missed")
    assert "At least 86 % of releases meet the goal with 95 % intervals, fewest if" in said
    end = ": 90 % have to, in every case that was checked. If the table is as described, 99 % do."
    assert end in said
    met = words.reach_sentence(case, replace(option, meets=True, probability=0.95), "precision")
    assert "have to" not in met
    assert "; 99 % if the table is as described." in met


@pytest.mark.parametrize("find", ["budget", "records"])
@pytest.mark.parametrize(("factor", "is_spare"), [(3.0, True), (1.6, False)])
def test_an_amount_that_what_can_be_reported_decides_is_said_to_be_so(find, factor, is_spare):
    about = {"goal": "all", "goal_on": "", "goal_length": str(2.0 * math.log(factor))}
    case = make_case(from_query(GOAL | about)[0], SOURCE)
    settings = case.settings
    option = options.Designs(case, SOURCE).answer(find)
    less = {"budget": settings.swept("total", 0.93 * option.typed)}
    less["records"] = replace(settings, n=int(0.93 * option.settings.n))
    there = options.described(make_case(less[find], SOURCE), SOURCE)
    assert option.works
    assert not there.works
    assert there.meets == is_spare
    said = "with less the goal was missed, or not every effect could be reported" in (
        words.reach_sentence(case, option, find)
    )
    assert said == is_spare


def test_approval_asks_for_a_tick_where_the_goal_fails_in_a_world():
    app = start("plan", step="approve", **GOAL, split="0.15~0.1~0.05")
    app.text_input(key="approve_person").set_value("A. Steward").run()
    app.button(key="approve").click().run()
    assert any("Tick that you have read" in error.value for error in app.error)
    app.checkbox(key="approve_read").check().run()
    app.button(key="approve").click().run()
    assert not any("Tick" in error.value for error in app.error)


@pytest.mark.parametrize("is_taken", [True, False])
def test_approval_asks_for_a_tick_where_no_design_was_taken(is_taken):
    """Whoever did not wait for the search, or came back by an address, approved ε = 1 unasked."""
    typed = {"penalty": "typed", "c": "0.0014"} if is_taken else {"penalty": "chosen"}
    app = start("plan", step="approve", method="chosen", **GOAL, **typed)
    said = "No design that was found for your goal is in this plan: ε = 1 and its split"
    warned = [one.value for one in app.warning if said in one.value]
    assert len(warned) == (0 if is_taken else 2)  # above the page, and at the button
    app.text_input(key="approve_person").set_value("A. Steward").run()
    app.button(key="approve").click().run()
    if not is_taken:
        assert any("Tick that you have read" in error.value for error in app.error)


@pytest.mark.parametrize("taken", [{}, {"clip": "2"}, {"split": "0.0698~0.0202~0.01"}])
def test_of_a_number_too_it_is_said_that_no_design_was_taken(taken):
    begun = {"split": "0.07~0.02~0.01", "step": "approve", "method": "chosen"}
    rho = {"currency": "zcdp", "definitions": "zcdp", "epsilon": "1"}
    app = start("plan", **(A_NUMBER | rho | begun | taken))
    said = [one for one in app.warning if "No design that was found" in one.value]
    assert bool(said) == (not taken)


def test_approval_asks_for_a_tick_where_the_goal_is_missed():
    """A plan with the largest budget, and a goal out of reach, was approved without one."""
    app = start("plan", step="approve", **(GOAL | {"goal_length": "0.001"}), split="6~3~1")
    assert "The goal is missed." in " ".join(one.value for one in app.warning)
    app.text_input(key="approve_person").set_value("A. Steward").run()
    app.button(key="approve").click().run()
    assert any("Tick that you have read" in error.value for error in app.error)


def test_a_mean_length_is_no_goal_that_is_met_where_nothing_can_be_reported():
    case = replace(a_case(), target=Target(1e3))
    small = replace(case, design=with_total(case.design, Decimal("0.04")))
    found = options.described(small, SOURCE)
    assert found.promise.reportable == 0
    assert not found.meets
    assert not found.works


def reach() -> None:
    """What decides an answer, and the way to it."""
    import streamlit as st

    from ui.plan import choose

    case, option = st.session_state["shown"]
    choose._ask_shares(case, option)


@pytest.mark.parametrize("is_told", [False, True])
def test_shares_that_nobody_told_are_asked_for_where_they_decide(is_told):
    settings = replace(a_case().settings, goal_on="age")
    told = [
        replace(one, shares=(0.5, 0.5)) if isinstance(one, CategoricalColumn) else one
        for one in EXAMPLE.schema.features
    ]
    if is_told:
        table = replace(EXAMPLE, schema=replace(EXAMPLE.schema, features=tuple(told)))
        settings = replace(settings, declared=packed_table(table))
    case = make_case(settings, SOURCE)
    option = options.described(case, SOURCE)
    app = AppTest.from_function(reach, default_timeout=300)
    app.session_state["shown"] = case, option
    app.run()
    assert not app.exception
    if is_told:
        assert not app.button
        return
    assert "levels of sex, treatment are rare" in option.promise.probability_decided_by
    decided = ("spreads are off", *option.promise.decided_by[1:])
    lost = replace(  # an effect that cannot be reported for their sake is enough
        option.promise,
        probability_decided_by="everything is as declared",
        decided_by=(option.promise.probability_decided_by, *decided[1:]),
        chance=np.array([0.2, *np.ones(len(decided) - 1)]),
    )
    app.session_state["shown"] = case, replace(option, promise=lost)
    app.run()
    (button,) = app.button
    assert button.label == "Say the shares of “sex” and 1 more"
    button.click().run()
    assert app.session_state["describe_wanted"] == "sex"
    assert app.session_state["describe_returns"]
    assert app.session_state["linked"]["step"] == "describe"
    assert app.session_state["linked"]["how"] == "type"


@pytest.mark.parametrize("is_told", [False, True])
@pytest.mark.parametrize("rate", [UNKNOWN_RATE, (0.1, 0.3)])
def test_an_untold_share_of_yes_is_asked_for_where_it_decides(rate, is_told):
    """With all shares of columns said, a plan asked for three times what it needed."""
    told = [
        replace(one, shares=(0.5, 0.5)) if isinstance(one, CategoricalColumn) else one
        for one in EXAMPLE.schema.features
    ]
    schema = replace(EXAMPLE.schema, features=tuple(told)) if is_told else EXAMPLE.schema
    table = replace(EXAMPLE, schema=schema, guesses=replace(EXAMPLE.guesses, base_rate=rate))
    case = make_case(replace(a_case().settings, declared=packed_table(table)), SOURCE)
    app = AppTest.from_function(reach, default_timeout=300)
    app.session_state["shown"] = case, options.described(case, SOURCE)
    app.run()
    assert not app.exception
    names = {
        (False, False): ["Say the shares of “sex” and 1 more"],
        (False, True): [],
        (True, False): ["Say the shares of “yes”, “sex” and 1 more"],
        (True, True): ["Say the share of “yes”"],
    }
    labels = [one.label for one in app.button]
    assert labels == names[rate == UNKNOWN_RATE, is_told]
    if rate == UNKNOWN_RATE:
        app.button[0].click().run()
        asked = table.schema.target if is_told else "sex"
        assert app.session_state["describe_wanted"] == asked


@pytest.mark.parametrize("target", [Target(0.4), Target(coefficient=1, excludes_zero_at=0.05)])
def test_the_map_is_of_the_least_favourable_table_at_every_point(target):
    """On its line the goal was met as described, and missed in nine of ten releases of others."""
    case = replace(a_case(), target=replace(target, coefficient=1, probability=0.8))
    found, worlds = numbers.iso_map(case, SOURCE), worlds_of_case(case, SOURCE)
    decide = set()
    for i, k in ((8, 8), (10, 6), (12, 12), (7, 11)):
        fewest = case.fewest_of(round(found.records[i]))
        total = numbers.decimal(found.totals[k])
        design = replace(with_total(case.design, total), n_records=fewest)
        seen = [
            outcome(one.moments, design=design, target=case.target, n_draws=numbers.draws(case))
            for one in worlds
        ]
        if target.is_power:
            shown = [one.probability for one in seen]
            assert found.values[i, k] == pytest.approx(min(shown), rel=1e-12)
            decide.add(int(np.argmin(shown)))
        else:
            shown = [one.within_reach * case.scale for one in seen]
            assert found.values[i, k] == pytest.approx(max(shown), rel=1e-12)
            decide.add(int(np.argmax(shown)))
    assert decide != {0}
