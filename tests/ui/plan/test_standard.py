"""The standard encoding on the page Plan: chosen by a job, set by hand, in the units people typed,
and with what speaks against it.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest

from dpci_core import DeclaredTable, Guesses, InfeasibleDesignError, forecast
from dpci_core.plan.goals import goal_of
from dpci_core.planner.standard import PENALTIES, StandardSearch
from dpci_core.privacy.budget import PARTS
from dpci_core.report.cautions import cautions, gravest
from dpci_core.schema import CategoricalColumn, NumericColumn, Schema, StandardEncoding
from tests.ui.plan.test_page import shown
from tests.ui.plan.test_work import endless, job_of
from tests.ui.session.test_jobs import wait_for
from tests.ui.test_pages import check, now, start, visit
from ui.evidence.coverage import tab as validate_page
from ui.plan import options, pictures
from ui.plan import work as plan_work
from ui.plan.job import Choice, both_searched, parts_of
from ui.plan.options import Find
from ui.plan.words import (
    FOUND,
    against_sentence,
    beside_sentence,
    design_lines,
    equal_sentence,
    law_sentence,
    reach_sentence,
    split_words,
    ways_sentence,
)
from ui.plan.work import Work, with_better
from ui.session import jobs
from ui.session.case import Case, make_case
from ui.session.compute import DECLARED, LRU, PUBLIC, TableSource, declared_table, packed_table
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import LIMITS, Settings, from_query
from ui.session.text import number, plain
from ui.views import goals
from ui.views.goals import found_words, goal_words, steps_words, unit_words

SCHEMA = Schema(
    (
        NumericColumn("pressure", 60.0, 240.0, typical=130.0, spread=18.0, step=10.0),
        NumericColumn("cost", 1.0, 1e6, typical=900.0, spread=3.0, transform="log"),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.8, 0.2)),
    ),
    "ill",
    "yes",
    standard=StandardEncoding(shape=2.0),
)
TABLE = DeclaredTable(
    schema=SCHEMA, guesses=Guesses(effects={"pressure": 0.02}, base_rate=0.3, n_rows=1_000)
)
LINK = {
    "dataset": DECLARED,
    "declared": packed_table(TABLE),
    "d": "3",
    "n": "20000",
    "target": "unpenalised",
}


PRECISION = {"find": "precision"}
pytestmark = pytest.mark.usefixtures("patient")


def words(app) -> str:
    kinds = (app.markdown, app.caption, app.warning, app.error, app.info)
    return "\n".join(element.value for kind in kinds for element in kind)


def case_of(**changes: object) -> Case:
    settings = Settings(
        dataset=DECLARED, declared=packed_table(TABLE), d=3, n=20_000, target="unpenalised"
    )
    return make_case(replace(settings, **changes), TableSource(PUBLIC))


@pytest.fixture
def wished():
    """A goal about one coefficient of a small table, with everything searched for."""
    return {"method": "chosen", "goal": "zero", "goal_on": "pressure", "goal_value": "0.2"}


def test_encoding_penalty_and_split_are_chosen_and_no_search_is_made_twice(wished, monkeypatch):
    made, search = [], StandardSearch.found

    def counted(*args, **given):
        made.append(search(*args, **given))
        return made[-1]

    monkeypatch.setattr(StandardSearch, "found", counted)
    app = start("plan", **(LINK | wished | {"goal_chance": "0.8", "find": "precision"}))
    assert len(made) == 2  # and equal parts to compare with
    app.button(key="use_design").click().run()
    check(app)
    settings = now(app)
    assert declared_table(settings.declared).schema.standard is not None
    assert settings.target == "unpenalised"
    case = make_case(settings, TableSource(PUBLIC))
    assert options.described(case, TableSource(PUBLIC)).meets
    assert from_query(settings.to_query()) == (settings, ())
    before = len(made)
    app.button(key="step_choose").click().run()
    check(app)
    assert len(made) == before


@pytest.fixture(scope="module")
def searched():
    """What is searched for does not depend on the goal."""
    return LRU(64)


def searching(memo: LRU, *, is_split_free: bool = True, **changes: object) -> options.Searched:
    source = TableSource(PUBLIC)
    return options.Searched(case_of(**changes), source, SCHEMA, "objective", is_split_free, memo)


def test_a_budget_falls_with_records(searched):
    """Between round amounts the method of a smaller one was taken: 8,000 records asked for as much
    as 6,820.
    """
    goal = {"goal": "all", "goal_length": 0.3, "goal_chance": 0.9}
    less, more = (searching(searched, **goal, n=n).answer("budget", 1.2) for n in (9_300, 10_700))
    assert less.works
    assert more.works
    assert more.typed < less.typed / 1.05


def test_a_chance_to_report_at_the_edge_of_the_draws_is_no_answer_of_a_search():
    """Of designs that a search compares, it takes those that are lucky in the draws."""
    source, goal = TableSource(PUBLIC), {"goal": "all", "goal_length": 5.0}
    option = options.described(case_of(**goal), source)
    assert option.works
    sure, edge = (
        replace(option, promise=replace(option.promise, chance=np.array([one, 1.0, 1.0])))
        for one in (1.0, 0.96)
    )
    assert searching(LRU(8), **goal).is_enough(sure)
    assert not searching(LRU(8), **goal).is_enough(edge)
    about = {"goal": "zero", "goal_value": 0.2}
    assert searching(LRU(8), **about, goal_on="smoker=yes").is_enough(edge)
    assert not searching(LRU(8), **about, goal_on="pressure").is_enough(edge)


def test_where_no_effect_is_in_reach_nothing_is_said_against_intervals_without_privacy():
    """A penalty that shrinks every interval was told as 0.08 times as long as without privacy."""
    option = options.described(case_of())
    assert "times as long as without privacy" in against_sentence(option)
    assert against_sentence(replace(option, reportable=0)) == ""
    for against, is_as_long in ((0.999, True), (1.004, True), (1.006, False)):
        said = against_sentence(replace(option, against=against))
        assert ("about as long as without privacy." in said) == is_as_long


@pytest.mark.parametrize("find", ["budget", "records"])
def test_the_least_amount_of_the_page_is_called_so(find):
    """“With less, some effects could not be reported”, at the end of the slider."""
    case = case_of(goal="all", goal_length=1.0)
    option = options.described(case, TableSource(PUBLIC))
    option = replace(option, meets=True, precision=0.1, reportable=3, is_lost=False)
    option = replace(option, is_useless=False)
    low = {"budget": LIMITS["pure"], "records": LIMITS["n"]}[find][0]
    there = replace(option, typed=low, settings=replace(option.settings, n=int(low)))
    assert option.works
    assert "with less the goal was missed" in reach_sentence(case, option, find)
    assert "with less" not in reach_sentence(case, option, find, is_least=False)
    said = reach_sentence(case, there, find)
    assert "This is the least that can be asked for on this page." in said
    assert "with less" not in said


@pytest.mark.parametrize("goal", ["all", "zero"])
def test_the_answers_of_a_described_table_agree_and_are_of_use(goal, searched):
    """One truth: budget, records and precision come from the same designs."""
    source, choice = TableSource(PUBLIC), Choice(SCHEMA, "objective", True, searched)

    def answer(settings: Settings, find: Find) -> options.Option:
        case = make_case(settings, source)
        return parts_of(case, source, find, choice=choice)["answer"].find()

    about = {"goal_on": "pressure", "goal_value": 0.2, "goal_chance": 0.8}
    settings = case_of(goal=goal, goal_length=1.0, **about).settings
    least = answer(settings, "budget")
    assert least.works
    assert least.reportable == least.of
    assert not any("too long to be of use" in one.sentence for one in least.cautions)
    there = settings.swept("total", least.typed)
    again = answer(there, "precision")
    assert abs(again.precision) <= {"all": 1.0, "zero": 0.2}[goal] * (1.0 + 1e-9)
    assert again.settings == least.settings
    for found in (least.settings, again.settings):
        assert from_query(found.to_query()) == (found, ())  # what a reload reads
        assert max(len(str(part)) for part in found.split.parts) <= 12
    assert answer(there, "records").settings.n <= 20_200  # the least up to one per cent


@pytest.mark.parametrize("goal", ["all", "zero"])
def test_the_command_line_answers_as_the_page(goal, searched):
    """“dpci plan standard” gave other intervals than Plan for one budget and number of records."""
    source, choice = TableSource(PUBLIC), Choice(SCHEMA, "objective", True, searched)
    about = {"goal_on": "pressure", "goal_value": 0.2, "goal_chance": 0.8}
    case = case_of(goal=goal, goal_length=1.0, **about)
    page = parts_of(case, source, "precision", choice=choice)["answer"].find()
    plan, found = plan_of(case, "Title").in_standard()
    assert plan.goal == case.target
    assert found.encoding == page.encoding
    assert plan.design.regularization == page.design.regularization
    assert plan.design.n_records == page.design.n_records
    for name in PARTS:
        parts = (getattr(design.budget, name) for design in (plan.design, page.design))
        assert float(next(parts)) == pytest.approx(float(next(parts)), rel=1e-3)
    assert LIMITS["c"] == PENALTIES


@pytest.mark.parametrize("find", ["budget", "records", "precision"])
def test_what_equal_parts_would_cost_is_found_by_the_same_method_in_the_same_worlds(find, searched):
    source, choice = TableSource(PUBLIC), Choice(SCHEMA, "objective", True, searched)
    case = case_of(goal="all", goal_length=1.0, goal_chance=0.8)
    parts = parts_of(case, source, find, choice=choice)
    best = parts["answer"].find()
    searched.put(parts["answer"].key, (best, None))
    equal = parts["equal"].find()
    shares = [equal.settings.split.share(i) for i in range(3)]
    assert shares == pytest.approx([100.0 / 3.0] * 3, rel=1e-3)
    assert equal.promise.worlds == best.promise.worlds
    amounts = (equal.typed, equal.settings.n), (best.typed, best.settings.n)
    if find == "precision":
        assert amounts[0] == amounts[1]
        assert equal.precision >= best.precision
        said = f"Equal parts would give {found_words(case, equal.precision)}"
        fewer = replace(equal, reportable=1)
        assert equal_sentence(case, replace(equal, reportable=3), best, find) == f"{said}."
        assert equal_sentence(case, fewer, best, find) == f"{said}, and 1 of 3 could be reported."
        return
    assert equal.works
    assert amounts[0] >= amounts[1]
    here = replace(case, settings=equal.settings)
    designs = options.Searched(here, source, SCHEMA, "objective", False, searched)
    names = "budget", "records"
    less = [
        amount / 1.06 if of == find else amount
        for of, amount in zip(names, amounts[0], strict=True)
    ]
    assert not designs.described(designs.at(less[0], round(less[1]))).works
    said = {"budget": f"ε = {number(equal.typed, 3)}", "records": f"{equal.settings.n:,} records"}
    assert equal_sentence(case, equal, best, find) == f"Equal parts would need about {said[find]}."
    assert equal_sentence(case, replace(equal, meets=False), best, find) == ""
    assert equal_sentence(case, equal, equal, find) == ""
    known = {"answer": (best, None), "equal": (equal, None)}
    assert with_better(known, find) == known
    more = replace(best.settings, n=10 * best.settings.n)
    known["answer"] = (replace(best, typed=10.0 * best.typed, settings=more), None)
    assert with_better(known, find)["answer"] == (equal, None)
    assert with_better(known | {"equal": (None, None)}, find)["answer"] == known["answer"]
    alone = {"answer": known["answer"]}
    assert with_better(alone | {"first": (equal, None)}, find)["answer"] == (equal, None)
    kindest = replace(equal, promise=None)  # of one table: no answer, however good
    assert with_better(alone | {"first": (kindest, None)}, find) == alone | {
        "first": (kindest, None)
    }
    no_budget = {"answer": (None, InfeasibleDesignError("none", ""))}
    assert with_better(no_budget | {"equal": (equal, None)}, find)["answer"] == (equal, None)
    defect = {"answer": (None, ValueError("of no design")), "equal": (equal, None)}
    assert with_better(defect, find) == defect
    searched.put(parts["answer"].key, (replace(best, meets=False), None))
    assert parts["equal"].find() is None  # nothing to compare with


def test_the_plan_so_far_has_the_records_that_the_answer_asks_for_and_the_steps(wished):
    """It said 2,000 records beside a design for 68,500; the steps stand on the card beside it."""
    app = start("plan", **(LINK | wished | {"goal": "all", "find": "records"}))
    n = shown(app)
    assert n not in ("–", "20,000")
    (line,) = [m.value.replace("\\", "") for m in app.markdown if m.value.startswith("- **")]
    assert line.startswith(f"- **{n} records**, as this answer asks (the plan has 20,000), one per")
    assert words(app).count("per doubling") == 1
    assert "pressure: per 10; cost: per doubling" in [
        c.value.replace("\\", "") for c in app.caption
    ]
    assert "Equal parts would need" in words(app)
    app.button(key="use_design").click().run()
    assert f"- **{n} records**, one per" in words(app)
    assert "(pressure: per 10; cost: per doubling)" in words(app).replace("\\", "")


def test_where_first_looks_disagree_both_mechanisms_are_searched_for(monkeypatch):
    """The one that reports more at first sight was taken, with intervals nine times as long."""
    source, case = TableSource(PUBLIC), case_of(goal="zero", goal_on="pressure", goal_value=0.2)
    near = options.described(case)
    looks = {
        "objective": replace(near, reportable=1, precision=0.1),
        "output": replace(near, reportable=near.of, precision=0.9),
    }
    found = {name: replace(near, reportable=near.of, precision=0.1) for name in looks}
    found["output"] = replace(looks["output"], precision=0.8)
    ways = options.ranked("precision", {name: (one, None) for name, one in looks.items()})
    assert ways.best == "output"
    assert ways.in_question == ("output", "objective")
    few = f"Objective perturbation: 1 of {near.of} can be reported, by a first look."
    assert ways_sentence(ways, "precision", is_first=True) == few
    turned = options.Ways(found=ways.found[::-1])
    said = ways_sentence(turned, "precision", is_first=True)
    assert said == "Output perturbation gives longer intervals, by a first look."
    alike = replace(turned, found=(turned.found[0], ("output", turned.found[0][1])))
    assert ways_sentence(alike, "precision", is_first=True) == (
        "Output perturbation does as well, by a first look."
    )
    said = ways_sentence(turned, "precision", is_first=False)
    assert said == "Output perturbation: 9 times as long intervals."
    lost = {name: replace(one, meets=False) for name, one in looks.items()}
    neither = options.ranked("records", {name: (one, None) for name, one in lost.items()})
    assert "times" not in ways_sentence(neither, "records", is_first=True)
    one = options.ranked(
        "records", {"objective": (looks["output"], None), "output": (lost["output"], None)}
    )
    assert ways_sentence(one, "records", is_first=True) == (
        "Output perturbation does not meet the goal, by a first look."
    )
    worse = looks | {"objective": replace(near, reportable=1, precision=1.0)}
    worst = options.ranked("precision", {name: (one, None) for name, one in worse.items()})
    assert worst.in_question == ("output",)

    monkeypatch.setattr(options.FirstLook, "answer", lambda self, find: looks[self.mechanism])
    monkeypatch.setattr(
        options.Searched, "answer", lambda self, find, start=None: found[self.mechanism]
    )
    choice = Choice(SCHEMA, "", True, LRU(64))
    assert both_searched(case, source, "precision", choice) is None
    answer = parts_of(case, source, "precision", choice=choice)["answer"].find()
    assert answer is found["objective"]
    both = both_searched(case, source, "precision", choice)
    assert both is not None
    assert dict(both.found) == found  # no first look among them


@pytest.mark.parametrize("find", ["budget", "records"])
def test_an_amount_that_is_not_enough_is_no_answer(wished, monkeypatch, find):
    """“1,000,000. Enough even if only 855,000 of them can be used” stood above “missed”."""

    def last(self, find, start=None):
        found = options.described(self.case, self.source)
        return replace(found, meets=False, is_lost=True)

    monkeypatch.setattr(options.Searched, "answer", last)
    app = start("plan", **(LINK | wished | {"goal": "all", "find": find}))
    check(app)
    assert shown(app) == "–"
    assert "Your goal is missed" in words(app)
    other = {"budget": "“Records” above finds how many", "records": "“Budget” above finds which"}
    assert other[find] in words(app)
    assert "at the least" not in words(app)
    assert "Enough even if" not in words(app)


def test_an_epsilon_at_delta_is_spent_as_a_pure_one_where_that_is_shorter():
    """What is epsilon-DP is (epsilon, delta)-DP for every delta, so both are looked at."""
    source, name = TableSource(PUBLIC), "objective"
    choice = Choice(SCHEMA, name, True, LRU(64))
    about = {"goal": "zero", "goal_on": "pressure", "goal_value": 0.2, "goal_chance": 0.8}
    seen = set()
    for epsilon in ("0.5", "2"):
        case = case_of(**about, currency="approx", epsilon=epsilon, definitions=("zcdp",))
        case = make_case(case.settings.with_epsilon(float(epsilon)), source)
        typed, pure = options.laws(case.settings)
        assert typed == case.settings
        (own,) = pure.designs()
        assert own.budget.definition == "pure"
        assert own.budget.total == Decimal(epsilon)
        looks = {
            law.currency: options.FirstLook(
                replace(case, settings=law), source, SCHEMA, "objective"
            )
            for law in (typed, pure)
        }
        length = {name: abs(one.answer("precision").precision) for name, one in looks.items()}
        first = parts_of(case, source, "precision", choice=choice)["first"].find()
        shortest = min(length, key=length.__getitem__)
        assert first.settings.currency == shortest
        law = next(one for one in (typed, pure) if one.currency == shortest)
        quick = options.Searched(
            replace(case, settings=law), source, SCHEMA, name, is_quick=True
        ).answer("precision")
        assert (first.precision, first.probability) == (quick.precision, quick.probability)
        assert bool(law_sentence(case, first)) == (first.settings.currency == "pure")
        taken = make_case(options.adopted(case.settings, first), source).design
        assert taken.budget.definition == {"approx": "zcdp"}.get(first.settings.currency, "pure")
        seen.add(taken.budget.definition)
        if taken.budget.definition == "pure":
            assert taken.budget.total == Decimal(epsilon)
    assert options.laws(pure) == (pure,)
    assert "pure" in seen


def looking(monkeypatch, now, **query):
    """The page with a first look alone, while the search for this is under way."""
    monkeypatch.setattr(plan_work, "PATIENCE", 0.0)
    monkeypatch.setattr(StandardSearch, "found", lambda *_, **__: endless(case_of()))
    app = start("plan", **(LINK | query | {"goal": "all"}))

    def is_there():
        app.run()  # as often as the page asks how its job stands
        return job_of(app).now == now

    wait_for(is_there)
    app.run()
    check(app)
    return app


LOOK = "**A first look**, in the least favourable case"


def test_a_first_look_is_true_of_every_table_and_stands_when_the_search_is_stopped(
    wished, monkeypatch
):
    """It was of the kindest table with a usual method: “about .71” became .90, and Stop left
    nothing.
    """
    app = looking(monkeypatch, "the least budget that works", **wished)
    assert shown(app).startswith("about ")
    assert LOOK in words(app).splitlines()
    assert "A first look. The best design is being searched for." in words(app)
    assert "can be reported" not in words(app)
    assert "an attacker" not in words(app)  # beside “about 3.9” stood 98.1 %
    assert app.button(key="use_design").disabled
    app.button(key="plan_stop").click().run()
    wait_for(lambda: not job_of(app).is_active)
    monkeypatch.setattr("ui.plan.words._SPARE", 99.0)  # any answer is shorter than the goal asks
    app.run()
    assert "A first look" not in words(app)
    assert "with less the goal was missed" not in words(app), "nobody looked at less"
    assert "What it had found by then is shown. A longer search may" in words(app)
    found = float(shown(app))
    app.button(key="use_design").click().run()
    check(app)
    case = make_case(now(app), TableSource(PUBLIC))
    assert float(case.design.budget.total) == found
    option = options.described(case, TableSource(PUBLIC))
    assert option.works
    assert option.reportable == option.of


def test_a_first_look_at_a_precision_is_at_every_table(wished, monkeypatch):
    """Of the kindest table it was a third of the answer."""
    query = wished | {"find": "precision", "n": "8000", "epsilon": "2"}
    app = looking(monkeypatch, "the precision", **query)
    assert shown(app).startswith("about ")
    assert LOOK in words(app).splitlines()
    assert "A first look. The best design is being searched for." in words(app)


def test_a_first_look_at_a_precision_is_near_the_answer(wished):
    source, choice = TableSource(PUBLIC), Choice(SCHEMA, "objective", True, LRU(64))
    case = case_of(goal="all", epsilon="2", n=8_000)
    parts = parts_of(case, source, "precision", choice=choice)
    first, answer = (parts[name].find() for name in ("first", "answer"))
    kind = options.described(options.FirstLook(case, source, SCHEMA, "objective").at(2.0, 8_000))
    assert kind.precision < answer.precision <= first.precision < 1.1 * answer.precision
    assert first.promise.worlds == answer.promise.worlds


def test_a_first_look_at_a_precision_says_that_nothing_can_be_reported(wished, monkeypatch):
    query = wished | {"find": "precision", "epsilon": "0.2", "n": "500"}
    app = looking(monkeypatch, "the precision", **query)
    assert shown(app) == "…"
    said = "A first look finds nothing that can be reported in the least favourable case. A better"
    assert said in words(app)


def test_an_amount_that_is_not_enough_at_first_sight_is_no_answer(wished, monkeypatch):
    name = "the least budget that works"
    app = looking(monkeypatch, name, **(wished | {"goal_length": "0.001"}))
    assert shown(app) == "…"
    assert "no budget that is enough. A better design is being searched for" in words(app)
    app.button(key="plan_stop").click().run()
    wait_for(lambda: not job_of(app).is_active)
    app.run()
    assert "Your goal is missed" in words(app)
    assert "an attacker go from" not in words(app)


def test_mechanism_and_split_are_chosen_and_can_be_moved(wished):
    app = start("plan", **(LINK | wished | {"find": "precision", "goal": "all"}))
    control = app.segmented_control(key="by")
    assert any("Chosen for you: objective" in str(one) for one in control.options)
    assert "in the least favourable case" in words(app)
    assert "utput perturbation" not in words(app)  # of which no answer is known
    assert "first look" not in words(app)  # nor a number of one beside the answer
    assert not shown(app).startswith("about ")
    before = shown(app)
    app.segmented_control(key="by").set_value("output").run()
    check(app)
    other = shown(app)
    assert other != before
    app.segmented_control(key="by").set_value("").run()
    assert shown(app) == before
    best, longer = (math.log(float(one.removeprefix("×/÷ "))) for one in (before, other))
    said = re.search(r"Output perturbation: (\S+) times as long intervals", words(app))
    assert float(said[1]) == pytest.approx(longer / best, rel=0.05)
    (found,) = [c.value for c in app.caption if "for their standard errors" in c.value]
    app.segmented_control(key="parts").set_value("own").run()
    check(app)
    own = math.log(float(shown(app).removeprefix("×/÷ ")))
    assert own == pytest.approx(best, rel=0.02)  # it began at 50, 25 and 25 per cent
    assert found == f"{split_words(now(app))} {FOUND}"
    app.slider(key="split_slider").set_value((40, 90)).run()
    check(app)
    assert shown(app) != before
    app.button(key="use_design").click().run()
    assert [round(now(app).split.share(i)) for i in range(3)] == [40, 50, 10]


def test_by_hand_begins_with_the_design_that_was_found(wished):
    """It began at c = .001 and half of the budget for the effects, whatever had been found."""
    begun = {"find": "precision", "goal": "all", "c": "0.005"}
    app = start("plan", **(LINK | wished | begun))
    before, found = now(app), shown(app)
    app.radio(key="method").set_value("own").run()
    check(app)
    here = now(app)
    assert shown(app) == found
    assert here.c != before.c
    assert here.split != before.split
    assert declared_table(here.declared).schema.standard != SCHEMA.standard


def test_by_hand_tells_what_the_budget_that_was_found_gives(wished):
    """Its own least budget is another, and stood in the place of the one that was found."""
    app = start("plan", **(LINK | wished | {"find": "budget", "goal": "all"}))
    found = shown(app)
    app.radio(key="method").set_value("own").run()
    check(app)
    assert app.segmented_control(key="find").value == "precision"
    assert number(now(app).typed_total, 4) == found
    assert "Your goal is met" in words(app)


def test_by_hand_begins_with_no_amount_that_is_not_enough(wished, monkeypatch):
    name = "the least budget that works"
    app = looking(monkeypatch, name, **(wished | {"goal_length": "0.001"}))
    before = now(app)
    app.radio(key="method").set_value("own").run()
    check(app)
    assert now(app) == before


def test_a_design_that_is_kept_stays_what_it_was(wished):
    """It took the split of the best one, and its numbers, once that was chosen beside it."""
    app = start("plan", **(LINK | wished | {"find": "precision", "goal": "all", "parts": "own"}))
    app.slider(key="split_slider").set_value((40, 90)).run()
    app.button(key="keep_design").click().run()
    card, same = (m.value for m in app.markdown if m.value.startswith("- ε = "))
    assert card == same
    app.segmented_control(key="parts").set_value("best").run()
    check(app)
    cards = [m.value for m in app.markdown if m.value.startswith("- ε = ")]
    assert cards[0] != card
    assert cards[1] == card
    link = {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}
    again = visit("plan", **link)
    assert card in [m.value for m in again.markdown]


def test_the_encoding_can_be_set_by_hand(hasty):
    app = start("plan", **LINK)
    app.text_input(key="standard_radius").set_value("3.5").run()
    app.text_input(key="standard_limit").set_value("3").run()
    check(app)
    schema = declared_table(now(app).declared).schema
    assert schema.standard == StandardEncoding(shape=3.5, limit=3.0)
    app.radio(key="is_standard").set_value(False).run()
    check(app)
    assert declared_table(now(app).declared).schema == replace(schema, standard=None)


def test_a_comma_in_the_encoding_is_refused_and_stays_until_it_is_corrected(hasty):
    """A field of numbers made 35 of "3,5"."""
    app = start("plan", **LINK)
    before = now(app)
    for key in ("standard_radius", "standard_limit"):
        for typed, words in (("3,5", "Type a number with a decimal point"), ("1e12", "1 to 1,000")):
            app.text_input(key=key).set_value(typed).run()
            check(app)
            assert any(words in one.value for one in app.warning)
            assert app.text_input(key=key).value == typed
            assert now(app) == before
    app.text_input(key="standard_limit").set_value("3").run()
    assert not [one for one in app.warning if "Type a number" in one.value]
    assert declared_table(now(app).declared).schema.standard.limit == 3.0


def test_one_choice_sets_the_map_of_a_described_table_and_takes_it_back(hasty):
    app = start("plan", **LINK)
    before = declared_table(now(app).declared).schema.standard
    assert app.radio(key="shape").value == "declared"
    app.radio(key="shape").set_value("planning").run()
    check(app)
    found = declared_table(now(app).declared).schema.standard
    assert isinstance(found.shape, tuple)
    assert found.limit == before.limit
    assert not [one for one in app.text_input if one.key == "standard_radius"]
    app.multiselect(key="names").set_value(["pressure", "smoker=yes"]).run()
    check(app)
    assert len(declared_table(now(app).declared).schema.standard.shape) == 3
    app.multiselect(key="names").set_value([]).run()
    check(app)
    assert declared_table(now(app).declared).schema.standard == found
    app.radio(key="shape").set_value("declared").run()
    check(app)
    assert declared_table(now(app).declared).schema.standard == before
    app.radio(key="is_standard").set_value(False).run()
    check(app)
    assert "planning" not in app.radio(key="shape").options


def test_an_example_starts_without_penalty_in_the_standard_encoding_and_says_what_it_is(hasty):
    app = start("plan")
    app.button(key="describe_example").click().run()
    check(app)
    assert now(app).target == "unpenalised"
    assert declared_table(now(app).declared).schema.standard is not None
    assert any("built-in example" in info.value for info in app.info)


@pytest.mark.parametrize(
    ("on", "unit", "factor"),
    [
        ("pressure", "log odds per 10 of “pressure”", 10.0 / 18.0),
        ("log(cost)", "log odds per doubling of “cost”", math.log(2.0) / math.log(3.0)),
        ("smoker=yes", "log odds, “smoker: yes” against its reference", 1.0 / 0.5),
    ],
)
def test_a_target_is_in_the_units_people_typed(on, unit, factor):
    case = case_of(goal="zero", goal_on=on, goal_value=0.2, goal_chance=0.8)
    assert unit_words(case) == unit
    assert case.target.excludes_zero_at * factor == pytest.approx(0.2, rel=1e-12)
    again = settings_of(plan_of(case, "Title"))
    assert again.goal_value == pytest.approx(0.2, rel=1e-12)
    assert again.goal_on == on


def test_a_plan_with_a_tolerance_of_its_own_is_not_opened_as_another():
    """It came in with the usual one, and its approval was of another plan then."""
    plan = plan_of(case_of(), "Title")
    with pytest.raises(ValueError, match="n_tolerance, which the plan sets to"):
        settings_of(replace(plan, n_tolerance=0.2))


def test_log_odds_are_said_as_odds_too(hasty):
    case = case_of(goal="zero", goal_on="pressure", goal_value=0.2, goal_chance=0.8)
    said = "detect an odds ratio of 1.221 of pressure, per 10 with 80 % chance"
    assert goal_words(case) == said
    app = start("plan", **LINK | {"goal": "zero", "goal_on": "pressure", "goal_value": "0.2"})
    assert "odds ratio of 1.221" in words(app).replace("\\", "")


def test_the_steps_of_odds_ratios_are_told_with_a_goal_about_all_of_them(monkeypatch):
    assert steps_words(case_of(goal="all")) == "pressure: per 10; cost: per doubling"
    assert steps_words(case_of(goal="all", d=1)) == "pressure: per 10"
    named = replace(SCHEMA, features=(replace(SCHEMA.features[0], name="blood_pressure"),))
    declared = packed_table(DeclaredTable(schema=named))
    assert steps_words(case_of(goal="all", d=1, declared=declared)) == "blood pressure: per 10"
    assert steps_words(case_of(goal="length", goal_on="pressure")) == ""  # which tells its own
    assert steps_words(case_of(goal="all", losses=("huber_svm",), target="penalised")) == ""
    monkeypatch.setattr(goals, "_MOST_STEPS", 1)
    assert steps_words(case_of(goal="all")) == "pressure: per 10; 1 more"


def test_a_description_without_steps_is_told_per_unit_as_before():
    columns = (NumericColumn("age", 0.0, 100.0), CategoricalColumn("sex", ("f", "m")))
    table = DeclaredTable(schema=Schema(columns, "ill", "yes"), guesses=Guesses(n_rows=1_000))
    case = case_of(declared=packed_table(table), d=2, goal="zero", goal_on="age", goal_value=0.1)
    assert unit_words(case) == "log odds per unit of “age”"
    assert case.records.encoding == "schema"
    assert case.scale == case.records.to_original[0, 0]


def test_what_speaks_against_a_design_is_said_in_the_words_of_the_boards_page():
    """And a target that is met by intervals of no use is not called met."""
    poor = {"split": "0.03~0.01~0.01", "n": "8000", "goal_length": "1e6"}
    app = start("plan", **LINK | poor | PRECISION)
    case = make_case(now(app), TableSource(PUBLIC))
    plan = plan_of(case, "Title")
    numbers = plan.numbers(case.moments)
    assert numbers.usefulness.is_useless
    said = cautions(numbers, design=plan.design, names=plan.names, shrinkage=numbers.shrinkage)
    box = next(w.value for w in app.warning if plain("too long to be of use") in w.value)
    grave, smaller = gravest(said)
    assert box == "\n".join(f"- {plain(one.sentence)}" for one in grave)
    assert all(plain(one.sentence) in words(app) for one in smaller)
    assert not options.described(case).works
    fine = make_case(replace(now(app), c=0.0005).swept("total", 1.0), TableSource(PUBLIC))
    assert options.described(fine).works


def test_a_coefficient_out_of_reach_is_named_and_has_no_length():
    app = start("plan", **LINK | {"c": "0.02", "goal_on": "pressure", "n": "100000"} | PRECISION)
    case = make_case(now(app), TableSource(PUBLIC))
    made = forecast(case.moments, design=case.design)
    assert made.is_not_reportable[0]
    assert "Not reportable" in words(app)
    assert "pressure" in next(one for one in words(app).split("\n") if "Not reportable" in one)


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ({"goal": "all"}, "×/÷ 1.5 (length 0.8109)"),
        ({"goal": "all", "target": "penalised"}, "×/÷ 1.5 (length 0.8109)"),
        ({"goal": "zero", "goal_on": "pressure", "goal_chance": 0.8}, "chance 0.8"),
    ],
)
def test_the_line_of_the_goal_says_the_factor_that_was_asked_for(goal, said):
    """A factor of 1.5 was asked for, and the line was “length 0.811”."""
    changes = goal | {"goal_length": 2.0 * math.log(1.5)}
    case = case_of(**changes)
    target = case.settings.goal_chance if case.target.is_power else case.settings.goal_length
    assert pictures._goal(case, float(f"{target:.4g}")) == said


@pytest.mark.parametrize(
    ("goal", "has_number"),
    [({"goal": "all"}, True), ({"goal": "length", "goal_on": "pressure"}, False)],
)
def test_a_precision_says_of_how_many_effects_it_is_where_not_all_can_be_reported(goal, has_number):
    """Under “every odds ratio” stood a factor that one of three would have; under one that is never
    reported the length that it would have had.
    """
    app = start("plan", **(LINK | {"c": "0.005"} | goal | PRECISION))
    assert "1 of 3 coefficients can be reported" in words(app)
    heading = "Of the 1 of 3 that can be reported, every odds ratio to within ×/÷"
    assert (heading in words(app)) == has_number
    case = make_case(now(app), TableSource(PUBLIC))
    made = options.described(case, TableSource(PUBLIC))
    few = replace(made, is_lost=True, reportable=1)
    assert (f"- {heading}: " in design_lines(case, few)) == has_number
    assert (": **–**" in design_lines(case, few)) != has_number
    assert ": **–**" in design_lines(case, replace(few, reportable=0))
    differ, same = "different effects", "Both are the same so far"
    assert (differ in beside_sentence(case, few, replace(few, reportable=2))) == has_number
    assert same in beside_sentence(case, few, few)
    assert not beside_sentence(case, few, replace(few, settings=replace(few.settings, n=9_000)))
    assert made.promise is not None
    turned = replace(made.promise, chance=1.0 - made.promise.chance)
    assert (differ in beside_sentence(case, made, replace(made, promise=turned))) == has_number
    assert (shown(app) != "–") == has_number


def test_shrunken_intervals_are_called_so_before_they_are_planned_with():
    app = start("plan", **LINK | {"c": "0.02", "target": "penalised"})
    assert "shrunk to about" in words(app)


def test_weighted_records_are_simulated(monkeypatch):
    monkeypatch.setitem(validate_page._EFFORT, "Quick", (40, 40))
    app = start("coverage", **LINK | {"mechanisms": "objective", "n": "3000"})
    app.button(key="start").click().run()
    job = jobs.find(app.session_state["job"])
    deadline = time.monotonic() + 120.0
    while job.is_active and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state == "done", job.problem
    app.run()
    check(app)
    assert any("Result for the coefficient without penalty" in h.value for h in app.markdown)
    assert np.isfinite(job.result.designs[0].coverage_mean)


@pytest.mark.parametrize("typed", [1.2, 2.345])
@pytest.mark.parametrize("kind", ["length", "zero"])
def test_a_goal_that_was_typed_stays_as_it_was_typed(typed, kind):
    """On the page, where it is asked again, and on the page for the board."""
    value = math.log(typed) * (2.0 if kind == "length" else 1.0)
    case = case_of(
        goal=kind,
        goal_on="pressure",
        goal_chance=0.8,
        **{"goal_value" if kind == "zero" else "goal_length": float(f"{value:.12g}")},
    )
    assert re.search(rf"\b{typed:g}\b", goal_words(case))
    plan = plan_of(case, "Title")
    assert re.search(rf"\b{typed:g}\b", goal_of(plan, plan.goal))
    app = start("plan", **LINK | case.settings.to_query() | {"step": "goal"})
    assert app.text_input(key=f"goal_{kind}_pressure").value == str(typed)


@pytest.mark.parametrize("find", ["budget", "records"])
def test_a_first_look_is_nearer_a_little_later_and_nothing_is_looked_at_twice(monkeypatch, find):
    looked, quick = [], StandardSearch.quick

    def noted(search, design, **given):
        looked.append((design.mechanism, design.budget.total, design.n_records))
        return quick(search, design, **given)

    monkeypatch.setattr(StandardSearch, "quick", noted)
    case = case_of(goal="zero", goal_on="pressure", goal_value=0.2, goal_chance=0.8)
    parts = parts_of(case, TableSource(PUBLIC), find, choice=Choice(SCHEMA, "", True, LRU(64)))
    assert list(parts) == ["first", "ways", "nearer", "answer", "equal"]
    first, n_looks = parts["first"].find(), len(looked)
    nearer = parts["nearer"].find()
    assert first.works
    assert nearer.works
    assert n_looks < len(looked) == len(set(looked))
    assert (nearer.typed, nearer.settings.n) < (first.typed, first.settings.n)
    known = {"first": (first, None), "nearer": (nearer, None)}
    assert looks(known) is nearer
    assert looks(known | {"nearer": (None, ValueError())}) is first
    assert looks({"first": (first, None)}) is first
    failed = {"answer": (None, InfeasibleDesignError("none", ""))}
    assert with_better(known | failed, find)["answer"] == (nearer, None)


def looks(known):
    """What stands for an answer."""
    return Work(known, ("answer",), None, is_active=True, problem=None).first
