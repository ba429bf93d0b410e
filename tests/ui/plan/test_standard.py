"""The standard encoding on the page Plan: chosen by a job, set by hand, in the units people typed,
and with what speaks against it.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from dpci_core import DeclaredTable, Guesses, forecast
from dpci_core.planner.standard import best_standard
from dpci_core.report.cautions import cautions
from dpci_core.schema import CategoricalColumn, NumericColumn, Schema, StandardEncoding
from tests.ui.test_pages import check, now, start
from ui.plan import work as plan_work
from ui.plan.words import chosen_words, goal_unit
from ui.session import jobs
from ui.session.case import Case, make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, declared_table, packed_table
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import Settings
from ui.session.text import plain
from ui.validate import page as validate_page

SCHEMA = Schema(
    (
        NumericColumn("pressure", 60.0, 240.0, typical=130.0, spread=18.0, step=10.0),
        NumericColumn("cost", 1.0, 1e6, typical=900.0, spread=3.0, transform="log"),
        CategoricalColumn("smoker", ("no", "yes"), shares=(0.8, 0.2)),
    ),
    "ill",
    "yes",
    standard=StandardEncoding(radius=2.0),
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


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Pages are drawn with all their answers."""
    monkeypatch.setattr(plan_work, "PATIENCE", 60.0)


def words(app) -> str:
    kinds = (app.markdown, app.caption, app.warning, app.error, app.info)
    return "\n".join(element.value for kind in kinds for element in kind)


def case_of(**changes: object) -> Case:
    settings = Settings(
        dataset=DECLARED, declared=packed_table(TABLE), d=3, n=20_000, target="unpenalised"
    )
    return make_case(replace(settings, **changes), TableSource(PUBLIC))


def finished(app):
    """The page after its search has ended."""
    job = jobs.find(app.session_state["standard_job"])
    deadline = time.monotonic() + 120.0
    while job.is_active and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state == "done", job.problem
    app.run()
    check(app)
    return job


def test_one_button_chooses_radius_penalty_and_split_and_says_why():
    app = start("plan", **LINK)
    app.button(key="choose_standard").click().run()
    found = finished(app).answer
    case = case_of()
    again = best_standard(
        lambda encoding: replace(TABLE, schema=replace(SCHEMA, standard=encoding)).records(3),
        design=case.design,
        n_records=20_000,
    )
    assert (again.encoding, again.design) == (found.encoding, found.design)
    settings = now(app)
    assert declared_table(settings.declared).schema.standard == found.encoding
    assert settings.c == found.design.regularization
    assert settings.split.parts == found.design.budget.parts
    assert chosen_words(found) in words(app)
    assert chosen_words(found).count(". ") == 1  # two sentences
    assert make_case(settings, TableSource(PUBLIC)).design == found.design
    app.number_input(key="c_number").set_value(0.01).run()  # what is chosen can be changed
    assert now(app).c == 0.01
    assert chosen_words(found) not in words(app)


def test_a_choice_is_not_taken_over_where_something_was_changed_since():
    app = start("plan", **LINK)
    app.button(key="choose_standard").click().run()
    app.number_input(key="n_number").set_value(30_000).run()
    finished(app)
    assert declared_table(now(app).declared).schema.standard == SCHEMA.standard
    assert (now(app).n, now(app).c) == (30_000, 0.001)


def test_the_encoding_can_be_set_by_hand():
    app = start("plan", **LINK)
    app.number_input(key="standard_radius").set_value(3.5).run()
    app.number_input(key="standard_limit").set_value(3.0).run()
    check(app)
    schema = declared_table(now(app).declared).schema
    assert schema.standard == StandardEncoding(radius=3.5, limit=3.0)
    assert "**R = 3.5**" in words(app)
    app.radio(key="is_standard").set_value(False).run()
    check(app)
    assert declared_table(now(app).declared).schema == replace(schema, standard=None)


def test_a_described_table_starts_without_penalty_in_the_standard_encoding():
    app = start("plan", n="50000")
    app.selectbox(key="dataset").set_value(DECLARED).run()
    check(app)
    assert now(app).target == "unpenalised"
    assert declared_table(now(app).declared).schema.standard is not None
    assert any("coefficient without penalty" in h.value for h in app.header)
    app.selectbox(key="dataset").set_value("census").run()
    app.radio(key="target").set_value("penalised").run()
    assert any("coefficient penalised at c = 0.001" in h.value for h in app.header)


@pytest.mark.parametrize(
    ("on", "unit", "factor"),
    [
        ("pressure", "log odds per 10 of “pressure”", 10.0 / (2.0 * 18.0)),
        ("log(cost)", "log odds per doubling of “cost”", math.log(2.0) / (2.0 * math.log(3.0))),
        ("smoker=yes", "log odds, “smoker=yes” against its reference", 1.0 / (2.0 * 0.5)),
    ],
)
def test_a_target_is_in_the_units_people_typed(on, unit, factor):
    case = case_of(goal="zero", goal_on=on, goal_value=0.2, goal_chance=0.8)
    assert goal_unit(case) == unit
    assert case.target.excludes_zero_at * factor == pytest.approx(0.2, rel=1e-12)
    again = settings_of(plan_of(case, "Title"))
    assert again.goal_value == pytest.approx(0.2, rel=1e-12)
    assert again.goal_on == on


def test_log_odds_are_said_as_odds_too():
    app = start("plan", **LINK | {"goal": "zero", "goal_on": "pressure", "goal_value": "0.2"})
    assert "That is odds × 1.22." in words(app)


def test_a_description_without_steps_is_told_per_unit_as_before():
    columns = (NumericColumn("age", 0.0, 100.0), CategoricalColumn("sex", ("f", "m")))
    table = DeclaredTable(schema=Schema(columns, "ill", "yes"), guesses=Guesses(n_rows=1_000))
    case = case_of(declared=packed_table(table), d=2, goal="zero", goal_on="age", goal_value=0.1)
    assert goal_unit(case) == "log odds per unit of “age”"
    assert case.records.encoding == "schema"
    assert case.scale == case.records.to_original[0, 0]


def test_what_speaks_against_a_design_is_said_in_the_words_of_the_boards_page():
    """And a target that is met by intervals of no use is not called met."""
    app = start("plan", **LINK | {"split": "0.03~0.01~0.01", "n": "8000", "goal_length": "1e6"})
    case = make_case(now(app), TableSource(PUBLIC))
    plan = plan_of(case, "Title")
    numbers = plan.numbers(case.moments)
    assert numbers.usefulness.is_useless
    said = cautions(numbers, design=plan.design, names=plan.names, shrinkage=numbers.shrinkage)
    (box,) = (w.value for w in app.warning if plain("too long to be of use") in w.value)
    assert box == "\n".join(f"- {plain(sentence)}" for sentence in said)
    assert "meets your target" not in words(app)
    assert "Too long to be of use" in words(app)
    fine = start("plan", **LINK | {"c": "0.0005", "goal_length": "1e6"})
    assert "meets your target" in words(fine)


def test_a_coefficient_out_of_reach_is_named_and_has_no_length():
    app = start("plan", **LINK | {"c": "0.02", "goal_on": "pressure", "n": "100000"})
    case = make_case(now(app), TableSource(PUBLIC))
    made = forecast(case.moments, design=case.design, n_records=case.n)
    assert made.is_out_of_reach[0]
    assert "cannot speak about this coefficient" in words(app)
    assert "cannot speak about pressure" in words(app)
    assert not any(m.label == "Expected length" for m in app.metric)
    assert "meets your target" not in words(app)


def test_shrunken_intervals_are_called_so_before_they_are_planned_with():
    app = start("plan", **LINK | {"c": "0.02", "target": "penalised"})
    assert "pulled to about" in words(app)


@pytest.mark.parametrize("page", ["explore", "validate", "accuracy", "sharp", "reproduce"])
def test_every_page_opens_with_weighted_records(page):
    check(start(page, **LINK))


def test_test_errors_are_refused_in_words_where_rows_count_less():
    assert "encoding by bounds only" in words(start("accuracy", **LINK))


def test_weighted_records_are_simulated(monkeypatch):
    monkeypatch.setitem(validate_page._EFFORT, "Quick", (40, 40))
    app = start("validate", **LINK | {"mechanisms": "objective", "n": "3000"})
    app.button(key="start").click().run()
    job = jobs.find(app.session_state["job"])
    deadline = time.monotonic() + 120.0
    while job.is_active and time.monotonic() < deadline:
        time.sleep(0.05)
    assert job.state == "done", job.problem
    app.run()
    check(app)
    assert any("Result for the coefficient without penalty" in h.value for h in app.header)
    assert np.isfinite(job.result.designs[0].coverage_mean)
