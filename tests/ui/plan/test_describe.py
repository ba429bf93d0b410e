"""The step Describe: empty at first, number of records first, nothing of an example in a plan of
one's own.
"""

from __future__ import annotations

import math
import random
import string
from dataclasses import replace

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dpci_core import GDP, DeclaredTable, Guesses
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.plan import as_yaml, to_html
from dpci_core.plan.link import pack
from dpci_core.schema import CategoricalColumn, NumericColumn, Persons, Schema
from tests.linear_example import linear_plan
from tests.ui.test_pages import ROOT, now, position, start, told_focus
from ui.controls import declare, plan_file, suggest
from ui.controls.lines import read_lines
from ui.plan import draft
from ui.session.case import make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, declared_table, packed_table
from ui.session.forms import FIELDS, LEFT_OUT
from ui.session.plan_settings import plan_of
from ui.session.settings import BUDGET, Settings, from_query

LINES = """age: 18 to 100 years, per 10
sex: F, M
systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10
diabetes: no, yes"""


def title(app) -> str:
    return str(app.title[0].value)


def add(app, lines: str):
    app.text_area(key="describe_text").set_value(lines)
    next(b for b in app.button if b.label == "Add these columns").click().run()
    assert not app.exception
    return app


def go_on(app):
    app.button(key="describe_continue").click().run()
    assert not app.exception
    return app


def cards_of(app) -> list[str]:
    """The cards, each in its line, as they are read."""
    found = [str(button.label) for button in app.button if str(button.key).endswith("_line")]
    return [line.replace("\\", "").replace("**", "") for line in found]


def open_card(app, place: int) -> int:
    """Open the card at a place; the number that its fields are keyed by."""
    line = [button for button in app.button if str(button.key).endswith("_line")][place]
    line.click().run()
    assert not app.exception
    return int(line.key.split("_")[1])


def described(n: int | str = 8_000):
    app = start("plan")
    app.text_input(key="describe_n").set_value(str(n))
    add(app, LINES)
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    return app


def test_it_starts_empty_and_asks_for_the_number_of_records_first():
    app = start("plan")
    assert title(app) == "Describe the table, without opening it"
    first = app.text_input[0]
    assert (first.key, first.label) == ("describe_n", "Number of records (public)")
    assert first.value == ""
    example = app.text_area(key="describe_text").placeholder
    assert "smoker: no 80 %, yes 20 %" in example
    read, wrong = read_lines(example)
    assert not wrong
    assert read["smoker"]["shares"] == "80; 20"
    assert app.text_area(key="describe_text").value == ""
    assert now(app).dataset == Settings().dataset
    assert "Nothing yet" in str([c.value for c in app.caption])


def test_lines_become_a_table_with_what_was_typed_and_nothing_else():
    app = go_on(described())
    assert title(app) == "How exact must the results be?"
    table = declared_table(now(app).declared)
    assert table.schema.features == (
        NumericColumn("age", 18.0, 100.0, typical=50.0, spread=18.0, step=10.0, units="years"),
        CategoricalColumn("sex", ("F", "M")),
        NumericColumn(
            "systolic_bp", 60.0, 260.0, typical=130.0, spread=18.0, step=10.0, units="mmHg"
        ),
    )
    schema = table.schema
    assert (schema.target, schema.positive, schema.negative) == ("diabetes", "yes", ("no",))
    assert schema.complete == 1.0
    assert (schema.suggested, schema.notes) == (("age",), ())
    assert table.guesses == Guesses(base_rate=(0.05, 0.5))
    assert table.unit == "one person"
    assert (now(app).n, now(app).d, now(app).target) == (8_000, 3, "unpenalised")


def test_no_guess_of_the_example_stays_in_a_table_of_ones_own():
    app = start("plan")
    app.button(key="describe_example").click().run()
    assert declare.is_example(declared_table(now(app).declared))
    assert any("built-in example" in info.value for info in app.info)
    add(app, LINES)
    assert app.text_input(key="describe_n").value == ""
    app.text_input(key="describe_n").set_value("8000")
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    go_on(app)
    table = declared_table(now(app).declared)
    assert table.guesses.effects == {}
    assert table.guesses.shares == {}
    assert table.guesses.base_rate == (0.05, 0.5)
    age = NumericColumn("age", 18.0, 100.0, typical=50.0, spread=18.0, step=10.0, units="years")
    assert table.schema.features[0] == age
    assert table.unit == "one person"


def test_an_example_of_shares_has_as_many_as_there_are_values():
    app = add(start("plan"), "ward: north, south, west\nsmoker: no, yes")
    assert app.text_input(key="card_0_shares").placeholder == "for example 34; 33; 33"
    assert app.text_input(key="card_1_shares").placeholder == "for example 80; 20"


def test_what_is_missing_is_said_at_the_button_all_at_once():
    app = go_on(start("plan"))
    (problem,) = app.error
    place = position(app, "error", problem.value)
    assert position(app, "text_area", "describe_text") < place
    assert place < position(app, "button", "describe_continue")
    assert told_focus(app)
    assert "how many records" in problem.value
    assert "at least one column" in problem.value
    add(app, "age, sex, ill")
    app.text_input(key="describe_n").set_value("500")
    go_on(app)
    assert "Choose the outcome" in app.error[0].value
    app.radio(key="describe_target_pick").set_value("ill").run()
    go_on(app)
    assert "the values of “ill”, as the file writes them" in app.error[-1].value
    app.text_input(key="card_2_levels").set_value("1").run()
    go_on(app)
    assert "two at least" in app.error[-1].value
    app.text_input(key="card_2_levels").set_value("no; never; sick").run()
    go_on(app)
    assert "which value of “ill” counts as yes" in app.error[-1].value
    app.text_input(key="card_2_levels").set_value("no; yes; never").run()
    go_on(app)
    at_field, at_button = app.error
    assert at_field.value.startswith("**Lowest possible**: a number is needed")
    assert "“age”, lowest possible" in at_button.value
    assert "“sex”, lowest possible" in at_button.value
    add(app, "age: 0 to 100\nsex: f, m")
    go_on(app)
    assert title(app) == "How exact must the results be?"
    assert declared_table(now(app).declared).schema.codes == ("yes", "no", "never")


def test_the_outcome_is_picked_and_leaves_the_columns_by_itself():
    app = described()
    assert app.radio(key="describe_positive_pick").value == "yes"
    app.radio(key="describe_target_pick").set_value("sex").run()
    assert app.radio(key="describe_positive_pick").value is None
    app.radio(key="describe_positive_pick").set_value("F").run()
    go_on(app)
    schema = declared_table(now(app).declared).schema
    assert (schema.target, schema.positive) == ("sex", "F")
    assert [c.name for c in schema.features] == ["age", "systolic_bp", "diabetes"]


def test_the_usual_codes_of_an_outcome_are_offered():
    app = add(start("plan"), "age: 0 to 100\nill")
    app.text_input(key="describe_n").set_value("500")
    app.radio(key="describe_target_pick").set_value("ill").run()
    app.pills(key="describe_usual").set_value("0; 1").run()
    assert not app.exception
    assert app.text_input(key="card_1_levels").value == "0; 1"
    assert app.radio(key="describe_positive_pick").value == "1"
    go_on(app)
    assert declared_table(now(app).declared).schema.codes == ("1", "0")
    app.button(key="step_describe").click().run()
    assert app.radio(key="describe_positive_pick").value == "1"


def test_rows_with_missing_cells_are_left_out_or_filled_in():
    app = described()
    assert app.radio(key="describe_fill").value == "Leave out"
    app.text_input(key="describe_complete").set_value("90")
    go_on(app)
    schema = declared_table(now(app).declared).schema
    assert schema.complete == 0.9
    assert [column.fill for column in schema.features] == ["", "", ""]
    app.button(key="step_describe").click().run()
    assert app.text_input(key="describe_complete").value == "90"
    add(app, "bmi: 12 to 60 points, if missing 27")
    assert app.radio(key="describe_fill").value == "Fill in"
    go_on(app)
    schema = declared_table(now(app).declared).schema
    assert [column.fill for column in schema.features] == ["", "", "", "27"]
    app.button(key="step_describe").click().run()
    app.radio(key="describe_fill").set_value("Leave out").run()
    go_on(app)
    schema = declared_table(now(app).declared).schema
    assert [column.fill for column in schema.features] == ["", "", "", ""]


def test_bad_lines_stay_where_they_are_and_are_told():
    app = add(start("plan"), "age: many")
    assert "Line 1" in app.error[0].value
    assert app.text_area(key="describe_text").value == "age: many"


def test_of_seven_lines_the_six_good_ones_are_taken():
    lines = [f"x{k}: 0 to 1" for k in range(6)]
    app = add(start("plan"), "\n".join([*lines[:3], "age: many", *lines[3:]]))
    assert "Line 1" in app.error[0].value  # of what is left in the field
    assert app.text_area(key="describe_text").value == "age: many"
    assert [line.partition(" ")[0] for line in cards_of(app)] == [f"x{k}" for k in range(6)]


def test_a_described_table_comes_back_to_be_changed():
    app = go_on(described())
    app.button(key="step_describe").click().run()
    assert app.text_input(key="describe_n").value == "8000"
    assert app.radio(key="describe_target_pick").value == "diabetes"
    add(app, "bmi: 12 to 60, per 5")
    go_on(app)
    schema = declared_table(now(app).declared).schema
    assert [c.name for c in schema.features] == ["age", "sex", "systolic_bp", "bmi"]
    assert schema.features[2].spread == 18.0


@pytest.mark.parametrize("rate", [1e-6, 0.0005, 1.0 - 1e-6])
def test_every_base_rate_of_a_plan_has_its_place(rate):
    table = DeclaredTable(
        schema=declare.example().schema, guesses=Guesses(base_rate=rate, n_rows=1_000)
    )
    app = start("plan", dataset=DECLARED, declared=packed_table(table), d="2", step="describe")
    line = app.text_input(key="describe_rate").value
    assert suggest.read_rate(line) == pytest.approx(rate, rel=1e-9)


def test_a_suggestion_says_that_it_is_one_until_something_is_typed():
    app = described()
    age, _, pressure, _ = cards_of(app)
    assert age.endswith("typical 50, spread 18 (suggested)")
    assert pressure.endswith("typical 130, spread 18")  # typed
    app.text_input(key="describe_rate").set_value("10 to 30")
    app.text_input(key="describe_pairs").set_value("age, systolic_bp: strong").run()
    go_on(app)
    table = declared_table(now(app).declared)
    assert table.guesses.base_rate == (0.1, 0.3)
    assert table.guesses.pairs == (("age", "systolic_bp", 0.9),)
    app.button(key="step_describe").click().run()
    assert cards_of(app)[0].endswith("typical 50, spread 18 (suggested)")
    assert app.text_input(key="describe_rate").value == "10 to 30"
    assert app.text_input(key="describe_pairs").value == "age, systolic_bp: strong"
    add(app, "age: 18 to 100 years, typical 61")
    assert cards_of(app)[0].endswith("typical 61, spread 18 (suggested)")
    go_on(app)
    table = declared_table(now(app).declared)
    assert (table.schema.features[0].typical, table.schema.features[0].spread) == (61.0, 18.0)
    assert table.schema.suggested == ("age",)
    app.button(key="step_describe").click().run()
    assert cards_of(app)[0].endswith("typical 61, spread 18 (suggested)")
    add(app, "age: 18 to 100 years, typical 61, spread 12, per 10")
    assert not [line for line in cards_of(app) if "suggested" in line]
    assert "sex · 2 values, F (reference), M, how often is not said: some may be rare" in cards_of(
        app
    )
    add(app, "sex: F 40 %, M 60 %")
    assert not [line for line in cards_of(app) if "suggested" in line]
    table = declared_table(now(go_on(app)).declared)
    assert table.schema.features[0].typical == 61.0
    assert table.schema.notes == ()


def test_a_line_that_is_not_understood_is_refused_where_it_is_typed_and_at_the_button():
    app = described()
    for field, line, said in (
        ("rate", "many", "between 0 and 100"),
        ("rate", "0 to 20", "between 0 and 100"),
        ("pairs", "age and sex", "such as “weight, waist: strong”"),
        ("pairs", "age, height: strong", "such as “weight, waist: strong”"),
        ("pairs", "age, sex: 1.2", "such as “weight, waist: strong”"),
        ("pairs", "age, sex: .9; sex, systolic_bp: .9; age, systolic_bp: -.9", "be together"),
    ):
        app.text_input(key=f"describe_{field}").set_value(line).run()
        is_of_all = said == "be together"  # of what the pairs say together
        assert is_of_all or said in app.error[0].value.replace("\\", "")
        go_on(app)
        assert said in app.error[-1].value.replace("\\", "")
        assert now(app).dataset != DECLARED
        app.text_input(key=f"describe_{field}").set_value("").run()


def drafted(**cells: object):
    """A draft of one number and an outcome of levels."""
    age = {"column": "age", "kind": "number", "lowest": "18", "highest": "100"}
    ill = {"column": "ill", "kind": "levels", "levels": "no; yes"}
    rows = [age | cells, ill, ill | {"column": "smoker"}]
    return pack({"rows": rows, "n": "8000", "target": "ill", "positive": "yes"})


def opened(draft: str) -> AppTest:
    """The step by an address with a draft, whatever it says of it."""
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60)
    app.query_params["draft"] = draft
    app.switch_page(str(ROOT / "pages" / "plan.py")).run()
    assert not app.exception
    return app


def told(app) -> str:
    return " ".join(one.value for one in app.error).replace("\\", "")


@pytest.mark.parametrize("typed", ["1,5", "much", "0", "-1", "nan", "1e999", "1.5; 1,5"])
def test_an_odds_ratio_that_is_none_is_refused_at_its_field_and_breaks_nothing(typed: str):
    app = opened(drafted(effect=typed))
    assert f"effect**: “{typed.rpartition(' ')[2]}” is no number above 0" in told(app)
    app.radio(key="describe_target_pick").set_value("smoker").run()
    assert not app.exception
    assert "is no number above 0" in told(app)
    go_on(app)
    assert now(app).dataset != DECLARED
    app = opened(app.query_params["draft"])
    assert "is no number above 0" in told(app)  # and the draft has what was typed


def test_guessed_effects_are_odds_ratios_as_they_were_typed():
    app = start("plan", draft=drafted(effect="1.5", step="10"))
    go_on(app)
    table = declared_table(now(app).declared)
    assert table.guesses.effects == {"age": pytest.approx(math.log(1.5) / 10, rel=1e-9)}
    app.button(key="step_describe").click().run()
    number = open_card(app, 0)
    assert app.text_input(key=f"card_{number}_effect").value == "1.5"
    go_on(app)
    assert declared_table(now(app).declared) == table  # Continue alone changes nothing


def test_a_number_that_was_moved_at_another_step_is_not_put_back(hasty):
    """Describe showed the old one, and Continue there took it again, without a word."""
    app = go_on(described())
    app.button(key="step_choose").click().run()
    app.text_input(key="n_number").set_value("21000").run()
    app.button(key="step_describe").click().run()
    assert app.text_input(key="describe_n").value == "21000"
    assert "draft" not in app.query_params
    go_on(app)
    assert now(app).n == 21_000


def test_another_outcome_has_another_share_of_yes():
    app = described()
    app.text_input(key="describe_rate").set_value("25").run()
    add(app, "smoker: no, yes 15 %")
    app.radio(key="describe_target_pick").set_value("smoker").run()
    assert app.text_input(key="describe_rate").value == "15"
    app.radio(key="describe_target_pick").set_value("sex").run()
    assert app.text_input(key="describe_rate").value == ""


@pytest.mark.parametrize("is_chosen_before", [False, True])
@pytest.mark.parametrize("line", ["no, yes 10 to 20 %", "no 80–90%, yes"])
def test_a_range_in_a_line_is_the_share_of_the_outcome(line: str, is_chosen_before: bool):
    """“yes 10 to” was a value of it, and the range was lost."""
    app = start("plan")
    app.text_input(key="describe_n").set_value("8000")
    add(app, "age: 18 to 100\nreadmitted")
    if is_chosen_before:
        app.radio(key="describe_target_pick").set_value("readmitted").run()
    add(app, f"readmitted: {line}")
    assert not app.error
    if not is_chosen_before:
        assert cards_of(app)[1] == (
            "readmitted · 2 values, no 80 to 90 % (reference), yes 10 to 20 %"
        )
        app.radio(key="describe_target_pick").set_value("readmitted").run()
    assert app.radio(key="describe_positive_pick").options == ["no", "yes"]
    assert app.text_input(key="describe_rate").value == "10 to 20"
    go_on(app)
    table = declared_table(now(app).declared)
    assert table.schema.codes == ("yes", "no")
    assert table.guesses.base_rate == (0.1, 0.2)


def test_a_range_of_a_column_that_is_not_the_outcome_is_refused_and_stays():
    app = described()
    add(app, "smoker: no, yes 10 to 20 %")
    why = "only the outcome can have a range: write a number for each value, such as 85; 15."
    assert why in told(app)
    go_on(app)
    assert now(app).dataset != DECLARED
    assert why in told(app)
    app.text_input(key="card_4_shares").set_value("85; 15").run()
    go_on(app)
    assert declared_table(now(app).declared).schema.features[-1].shares == (0.85, 0.15)


def test_the_range_of_an_outcome_goes_with_its_column_and_its_value():
    app = add(described(), "diabetes: no, yes 5 to 20 %")
    app.radio(key="describe_positive_pick").set_value("no").run()
    assert app.text_input(key="describe_rate").value == "80 to 95"
    app.radio(key="describe_positive_pick").set_value("yes").run()
    app.text_input(key="describe_rate").set_value("10 to 30").run()
    app.radio(key="describe_positive_pick").set_value("no").run()
    assert app.text_input(key="describe_rate").value == "10 to 30"  # as it was typed there
    app.radio(key="describe_positive_pick").set_value("yes").run()
    app.radio(key="describe_target_pick").set_value("sex").run()
    assert app.text_input(key="describe_rate").value == ""
    add(app, "sex: F 30 to 40 %, M")
    assert app.text_input(key="describe_rate").value == ""  # of which nobody knows
    app.radio(key="describe_positive_pick").set_value("M").run()
    assert app.text_input(key="describe_rate").value == "60 to 70"
    app.radio(key="describe_positive_pick").set_value("F").run()
    assert app.text_input(key="describe_rate").value == "30 to 40"
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    assert app.text_input(key="describe_rate").value == "10 to 30"


def test_half_a_range_is_no_value_of_the_outcome():
    app = described()
    app.text_input(key="card_3_levels").set_value("no; yes 10 to").run()
    app.radio(key="describe_positive_pick").set_value("yes 10 to").run()
    go_on(app)
    assert "“yes 10 to” ends like half a range" in told(app)
    assert now(app).dataset != DECLARED


def test_a_set_that_is_here_is_planned_for_by_the_same_path():
    app = start("plan")
    app.segmented_control(key="describe_how").set_value("here").run()
    assert not app.exception
    assert app.text_input(key="describe_n").value == str(now(app).n)
    app.text_input(key="describe_n").set_value("12000")
    go_on(app)
    assert (now(app).dataset, now(app).n) == ("census", 12_000)
    assert title(app) == "How exact must the results be?"


def test_a_plan_file_opens_at_the_choice():
    plan = plan_of(make_case(Settings(d=2), TableSource(PUBLIC)), "A study")
    app = start("plan")
    app.segmented_control(key="describe_how").set_value("plan").run()
    app.file_uploader(key="plan_open").upload("p.yaml", as_yaml(plan).encode(), "text/yaml").run()
    assert not app.exception
    assert title(app) == "Budget, records, precision"
    assert now(app).d == 2
    assert app.segmented_control(key="find").value == "precision", "a plan has its amounts"


@pytest.mark.parametrize("is_linear", [False, True])
def test_a_plan_without_a_goal_stays_without_one_until_somebody_takes_one(is_linear, monkeypatch):
    """It got one by being opened, and another digest, which no ledger knew."""
    bare, kept = plan_file.bare_plan, []
    monkeypatch.setattr(plan_file, "bare_plan", lambda case: kept.append(bare(case)) or kept[-1])
    if is_linear:
        budget = GDP(model="0.7", hessian="0.2", covariance="0.1")
        plan = linear_plan(design=replace(linear_plan().design, budget=budget))
    else:
        plan = plan_of(make_case(Settings(d=2), TableSource(PUBLIC)), "A study")
    plan = replace(plan, goal=None)
    app = start("plan", step="describe", how="plan")
    app.file_uploader(key="plan_open").upload("p.yaml", as_yaml(plan).encode(), "text/yaml").run()
    assert not app.exception
    assert "aim" in app.query_params
    assert [one.value[:16] for one in app.info if "goal" in one.value] == ["No goal was set."]
    assert "- Goal: none set" in "\n".join(one.value for one in app.markdown)
    assert "use_design" not in [button.key for button in app.button]  # of a goal that nobody has
    app.button(key="step_approve").click().run()
    assert kept[-1].goal is None
    assert is_linear or kept[-1].digest == plan.digest
    app.button(key="step_choose").click().run()
    app.button(key="usual_goal").click().run()
    app.button(key="step_approve").click().run()
    assert not app.exception
    assert kept[-1].goal is not None
    app.button(key="step_describe").click().run()
    app.segmented_control(key="describe_how").set_value("plan").run()
    app.file_uploader(key="plan_open").upload("p.yaml", as_yaml(plan).encode(), "text/yaml").run()
    app.button(key="set_goal").click().run()
    app.button(key="goal_continue").click().run()
    assert not app.exception
    assert "aim" not in app.query_params


def test_a_private_file_is_not_opened_and_leads_here():
    app = start("plan")
    app.segmented_control(key="describe_how").set_value("file").run()
    app.radio(key="upload_kind").set_value("private").run()
    assert app.get("file_uploader") == []
    app.button(key="describe_instead").click().run()
    assert title(app) == "Describe the table, without opening it"
    assert app.get("file_uploader") == []
    assert app.text_area(key="describe_text") is not None


def test_one_person_may_have_several_rows():
    """One question; a pasted column of names is no feature, and all pages count persons."""
    app = described(900)
    app.radio(key="describe_persons").set_value("Yes").run()
    assert not app.exception
    assert app.text_input(key="describe_n").label == "Number of persons (public)"
    assert app.text_input(key="describe_n").value == "900"
    go_on(app)
    assert "whose row it is" in app.error[0].value
    add(app, "patient_id: 1 to 9")
    app.text_input(key="describe_whose").set_value("patient_id")
    app.text_input(key="describe_most").set_value("3")
    go_on(app)
    table = declared_table(now(app).declared)
    assert table.schema.persons == Persons("patient_id", 3)
    assert len(table.schema.features) == 3
    assert any("900 persons" in m.value for m in app.markdown)
    assert any("one person with up to 3 rows" in m.value for m in app.markdown)
    settings = replace(now(app), currency="approx", definitions=("zcdp",))
    assert {d.rows_per_person for d in settings.designs()} == {3}
    for design in settings.designs():  # none that is not shown to protect persons
        model_noise(replace(design, n_records=900))
    assert not replace(settings, shape="released").is_shaped
    assert now(app) == from_query(now(app).to_query())[0]


def test_a_number_of_records_outside_is_refused_where_it_is_typed():
    app = start("plan")
    for n in (0, -5, 99, 10**12):
        app.text_input(key="describe_n").set_value(str(n)).run()
        assert "100 to 1,000,000" in app.error[0].value
    add(app, LINES)
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    go_on(app)
    assert title(app) == "Describe the table, without opening it"
    assert all("100 to 1,000,000" in e.value for e in app.error)
    app.text_input(key="describe_n").set_value("8000").run()
    assert not app.error


@pytest.mark.parametrize(
    "typed", ["0,5", "0,500", "8,00", "8.000", "800.000", "8000.5", "80 00", "many", "nan", "1e400"]
)
def test_what_is_no_whole_number_of_records_is_refused_in_words_and_stays(typed):
    """A field of numbers made 5 of "0,5" and 1 of "1e12" before anybody could refuse it."""
    app = start("plan")
    add(app, LINES)
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    app.text_input(key="describe_n").set_value(typed).run()
    assert [one.value for one in app.error] == [NOT_WHOLE]
    assert "records" not in next(c.value for c in app.caption if "Typed so far" in c.value)
    app = opened("".join(app.query_params["draft"]))
    assert app.text_input(key="describe_n").value == typed
    before = now(app)
    go_on(app)
    assert title(app) == "Describe the table, without opening it"
    assert NOT_WHOLE in app.error[-1].value
    assert now(app) == before


NOT_WHOLE = "Type a whole number, such as 20 or 8,000."


@pytest.mark.parametrize("typed", ["8,000", " 8000 ", "8e3"])
def test_a_number_of_records_may_have_commas_between_thousands(typed):
    app = described(typed)
    assert "8,000 records" in next(c.value for c in app.caption if "Typed so far" in c.value)
    go_on(app)
    assert title(app) == "How exact must the results be?"
    assert now(app).n == 8_000


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("one person", "**8,000 records**, one per person"),
        ("One visit", "**8,000 records**, one per visit"),
        ("patient", "**8,000 records**, one per patient"),
        ("onesie", "**8,000 records**, one per onesie"),
    ],
)
def test_the_plan_so_far_says_what_each_record_is_and_not_that_one_has_all(unit, words):
    app = described()
    app.text_input(key="describe_unit").set_value(unit)
    go_on(app)
    assert any(f"- {words}\n" in m.value.replace("\u00a0", " ") for m in app.markdown)


def test_what_cannot_be_is_refused_at_its_field_and_its_card_is_open():
    rows = [
        {"column": "age", "kind": "number", "lowest": "100", "highest": "18"},
        BMI | {"typical": "90", "spread": "1"},
        {"column": "sex", "kind": "levels", "levels": "f"},
        {"column": "fine", "kind": "number", "lowest": "0", "highest": "1"},
        {"column": "half", "kind": "number", "lowest": "15"},
        {"column": "fine", "kind": "levels", "levels": "f; m"},
    ]
    app = opened(pack({"rows": rows}))
    assert [e.value.replace("\\", "") for e in app.error] == [
        "**Highest possible**: it has to be above the lowest, 100; 18 is not.",
        "**Typical value**: it has to lie within 15 to 60.",
        "**Values, as the file writes them**: at least two are needed, with semicolons between.",
        "**Name of the column**: it is there twice.",
        "**Name of the column**: it is there twice.",
    ]
    assert cards_of(app)[0] == "age · to be corrected"
    assert cards_of(app)[4] == "half · still needed: lowest possible and highest possible"
    for error, field in zip(app.error[:2], ("card_0_highest", "card_1_typical"), strict=True):
        below = position(app, "error", error.value) - position(app, "text_input", field)
        assert 0 < below <= 4  # at the row of its field
    app = add(start("plan"), "bmi: 15 to 60, typical 90, spread 2")
    assert "**Typical value**: it has to lie within 15 to 60" in app.error[0].value
    app = add(start("plan"), "income: 0 to 1234567, typical 2000000, spread 2")
    assert "it has to lie within 0 to 1,234,567." in app.error[0].value


BMI = {"column": "bmi", "kind": "number", "lowest": "15", "highest": "60"}


POINT = "Type a number with a decimal point, such as 1.5, and without commas."


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("lowest", "0,5"),
        ("highest", "1,000"),
        ("typical", "half"),
        ("spread", "1e400"),
        ("step", "1,5"),
    ],
)
def test_a_cell_that_is_no_number_is_told_below_its_row_and_stays_also_after_a_reload(field, typed):
    """A field of numbers made 5 of "0,5", and the bound of a column was another."""
    app = described()
    number = open_card(app, 0)
    app.text_input(key=f"card_{number}_{field}").set_value(typed).run()
    for _ in range(2):
        assert not app.exception
        assert cards_of(app)[0] == "age · to be corrected"
        assert [one.value for one in app.error] == [f"**{FIELDS[field].label}**: {POINT}"]
        below = position(app, "error", app.error[0].value)
        assert 0 < below - position(app, "text_input", f"card_{number}_{field}") <= 5
        assert app.text_input(key=f"card_{number}_{field}").value == typed
        app = opened("".join(app.query_params["draft"]))
    go_on(app)
    assert f"“age”, {FIELDS[field].label.lower()}: {POINT}" in told(app)
    assert now(app).dataset != DECLARED
    app.text_input(key=f"card_{number}_{field}").set_value("").run()
    assert POINT not in told(app)


def test_a_bound_that_is_no_number_is_told_before_the_other_is_typed():
    app = start("plan")
    app.button(key="describe_add").click().run()
    app.text_input(key="card_0_column").set_value("dose").run()
    assert not app.error
    app.text_input(key="card_0_lowest").set_value("0,5").run()
    assert cards_of(app) == ["dose · to be corrected"]
    assert told(app) == f"**Lowest possible**: {POINT}"
    app.text_input(key="card_0_lowest").set_value("0.5").run()
    assert not app.error
    assert cards_of(app) == ["dose · still needed: lowest possible and highest possible"]
    app.text_input(key="card_0_highest").set_value("1e1").run()
    assert cards_of(app) == ["dose · number, 0.5 to 10, typical 5.25, spread 1.6 (suggested)"]


def test_a_bound_of_the_outcome_that_is_no_number_is_told_below_its_row():
    app = described()
    app.radio(key="describe_target_pick").set_value("systolic_bp").run()
    assert not app.error
    app.text_input(key="card_2_highest").set_value("220,5").run()
    assert told(app) == f"**Highest possible**: {POINT}"
    below = position(app, "error", app.error[0].value) - position(
        app, "text_input", "card_2_highest"
    )
    assert 0 < below <= 4
    go_on(app)
    assert f"“systolic_bp”, highest possible: {POINT}" in told(app)
    assert now(app).dataset != DECLARED
    app.text_input(key="card_2_highest").set_value("220.5").run()
    go_on(app)
    assert declared_table(now(app).declared).schema.outcome.high == 220.5


@pytest.mark.parametrize(
    ("name", "typed", "why"),
    [
        ("most", "1,5", "Type a whole number, such as 20 or 8,000."),
        ("most", "0,500", "Type a whole number, such as 20 or 8,000."),
        ("most", "1e12", "Type a number from 1 to 1,000."),
        ("most", "", "Type a whole number, such as 20 or 8,000."),
        ("complete", "97,5", POINT),
        ("complete", "0", "Type a number from 5 to 100."),
        ("complete", "", POINT),
    ],
)
def test_rows_of_a_person_and_complete_rows_are_refused_as_they_were_typed(name, typed, why):
    """A field of numbers made 15 rows of "1,5", and 975 % of "97,5"."""
    app = described()
    app.radio(key="describe_persons").set_value("Yes").run()
    app.text_input(key="describe_whose").set_value("patient").run()
    app.text_input(key=f"describe_{name}").set_value(typed).run()
    for _ in range(2):
        assert [one.value for one in app.error] == [why]
        assert app.text_input(key=f"describe_{name}").value == typed
        app = opened("".join(app.query_params["draft"]))
    go_on(app)
    label = {"most": "Largest number of rows", "complete": "Expected share of complete rows"}[name]
    assert any(label in one.value and why in one.value for one in app.error)
    assert now(app).dataset != DECLARED
    app.text_input(key=f"describe_{name}").set_value("20").run()
    assert not app.error
    go_on(app)
    assert title(app) == "How exact must the results be?"


def test_shares_with_commas_become_no_share_of_yes():
    """Of no; yes, "0,5" was 0 % and 5 %, which stood under the share of “yes” without a word."""
    app = described()
    number = open_card(app, 3)
    app.radio(key="describe_target_pick").set_value("sex").run()
    app.text_input(key=f"card_{number}_shares").set_value("0,5").run()
    assert "Numbers have a decimal point, 1.5, and semicolons between them." in told(app)
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    assert app.text_input(key="describe_rate").value == ""


def test_a_column_can_be_left_out_of_the_model():
    app = start("plan")
    app.text_input(key="describe_n").set_value("8000")
    add(app, f"remark\n{LINES}")
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    go_on(app)
    assert "the kind “Not in the model”" in app.error[-1].value.replace("\\", "")
    add(app, f"remark: {LEFT_OUT}")
    assert app.segmented_control(key="card_0_kind").value == LEFT_OUT
    assert cards_of(app)[0] == "remark · not in the model"
    go_on(app)
    assert title(app) == "How exact must the results be?"
    table = declared_table(now(app).declared)
    assert [c.name for c in table.schema.features] == ["age", "sex", "systolic_bp"]


def test_a_column_that_tells_persons_apart_is_out_of_the_model_until_somebody_says_more():
    app = start("plan")
    add(app, "patient_id, age")
    assert cards_of(app)[0] == "patient_id · not in the model"
    app.button(key="describe_add").click().run()
    app.text_input(key="card_2_column").set_value("visit_id").run()
    assert app.segmented_control(key="card_2_kind").value == LEFT_OUT
    add(app, "patient_id: 1 to 9")
    assert cards_of(app)[0].startswith("patient_id · number, 1 to 9")


def test_a_table_is_described_by_cards_alone():
    app = start("plan")
    app.text_input(key="describe_n").set_value("8000")
    for number, name in enumerate(("age", "sex", "ill")):
        app.button(key="describe_add").click().run()
        app.text_input(key=f"card_{number}_column").set_value(name).run()
    app.text_input(key="card_0_lowest").set_value("18")
    app.text_input(key="card_0_highest").set_value("100")
    app.text_input(key="card_0_units").set_value("years")
    app.text_input(key="card_0_step").set_value("10")
    app.text_input(key="card_0_typical").set_value("60")
    app.text_input(key="card_0_spread").set_value("16")
    app.text_input(key="card_0_effect").set_value("1.5")
    app.segmented_control(key="card_1_kind").set_value("levels").run()
    app.text_input(key="card_1_levels").set_value("F; M")
    app.text_input(key="card_1_shares").set_value("60; 40")
    app.segmented_control(key="card_2_kind").set_value("levels").run()
    app.text_input(key="card_2_levels").set_value("0; 1").run()
    assert cards_of(app) == [
        "age · number, 18 to 100 years, effects per 10, typical 60, spread 16",
        "sex · 2 values, F 60 % (reference), M 40 %",
        "ill · 2 values, 0 (reference), 1, how often is not said: some may be rare",
    ]
    app.radio(key="describe_target_pick").set_value("ill").run()
    assert cards_of(app)[2] == "ill · the outcome"
    assert app.radio(key="describe_positive_pick").value == "1"
    go_on(app)
    assert title(app) == "How exact must the results be?"
    table = declared_table(now(app).declared)
    assert table.schema.features == (
        NumericColumn("age", 18, 100, typical=60, spread=16, step=10, units="years"),
        CategoricalColumn("sex", ("F", "M"), shares=(0.6, 0.4)),
    )
    assert table.schema.codes == ("1", "0")
    assert table.guesses.effects == {"age": pytest.approx(math.log(1.5) / 10, rel=1e-9)}


def test_nothing_is_lost_when_a_card_is_added_moved_or_removed():
    app = described()
    number = open_card(app, 0)
    app.text_input(key=f"card_{number}_typical").set_value("61")
    app.text_input(key=f"card_{number}_spread").set_value("12").run()
    age, sex, pressure, outcome = cards_of(app)
    assert age.endswith("typical 61, spread 12")
    app.button(key=f"card_{number}_down").click().run()
    assert cards_of(app) == [sex, age, pressure, outcome]
    assert app.text_input(key=f"card_{number}_typical").value == "61"
    app.button(key="describe_add").click().run()
    app.text_input(key="card_4_column").set_value("bmi").run()
    assert cards_of(app)[:4] == [sex, age, pressure, outcome]
    other = open_card(app, 0)
    assert app.text_input(key=f"card_{other}_levels").value == "F; M"
    app.button(key=f"card_{other}_remove").click().run()
    still = "bmi · still needed: lowest possible and highest possible"
    assert cards_of(app) == [age, pressure, outcome, still]
    assert app.text_input(key=f"card_{number}_typical").value == "61"
    app.button(key=f"card_{number}_next").click().run()
    assert cards_of(app) == [age, pressure, outcome, still]
    open_card(app, 0)
    assert app.text_input(key=f"card_{number}_spread").value == "12"
    app = reloaded(app)
    assert cards_of(app) == [age, pressure, outcome, still]


def test_the_outcome_stays_the_outcome_under_another_name_and_goes_with_its_card():
    app = described()
    number = open_card(app, 3)
    app.text_input(key=f"card_{number}_column").set_value("sugar").run()
    assert app.radio(key="describe_target_pick").value == "sugar"
    assert app.radio(key="describe_positive_pick").value == "yes"
    app.button(key=f"card_{number}_remove").click().run()
    assert app.radio(key="describe_target_pick").value is None
    go_on(app)
    assert "Choose the outcome" in app.error[-1].value


def test_a_card_that_has_the_name_of_the_outcome_for_a_while_is_not_the_outcome():
    """What is typed twice by mistake, then corrected or removed, changes no other card."""
    app = described()
    app.button(key="describe_add").click().run()
    name = app.text_input(key="card_4_column")
    name.set_value("diabetes").run()
    app.text_input(key="card_4_column").set_value("bmi").run()
    assert app.radio(key="describe_target_pick").value == "diabetes"
    app.text_input(key="card_4_column").set_value("diabetes").run()
    app.button(key="card_4_remove").click().run()
    assert app.radio(key="describe_target_pick").value == "diabetes"
    assert app.radio(key="describe_positive_pick").value == "yes"
    number = open_card(app, 3)
    app.text_input(key=f"card_{number}_column").set_value("").run()
    go_on(app)
    assert "Choose the outcome." in app.error[-1].value
    app.text_input(key=f"card_{number}_column").set_value("sugar").run()
    assert app.radio(key="describe_target_pick").value == "sugar"


def test_a_column_called_none_is_a_column():
    app = add(start("plan"), "None: 0 to 10")
    assert cards_of(app) == ["None · number, 0 to 10, typical 5, spread 1.7 (suggested)"]


@pytest.mark.parametrize(("button", "left"), [("remove", 3), ("up", 4), ("next", 4)])
def test_a_double_click_on_a_button_of_a_card_breaks_nothing(monkeypatch, button: str, left: int):
    """The second half comes before the page was drawn anew, and Streamlit calls it once more."""
    plain = st.button

    def clicked_twice(*given, **named):
        if str(named.get("key")).endswith(f"_{button}"):
            act = named["on_click"]
            named["on_click"] = lambda *args: [act(*args) for _ in range(2)]
        return plain(*given, **named)

    monkeypatch.setattr(st, "button", clicked_twice)
    app = described()
    number = open_card(app, 1)
    app.button(key=f"card_{number}_{button}").click().run()
    assert not app.exception
    assert len(cards_of(app)) == left


def test_of_many_columns_the_first_is_open_and_the_button_names_a_few():
    app = start("plan")
    add(app, ", ".join([*(f"x{k}" for k in range(30)), "ill"]))
    assert len(cards_of(app)) == 31
    assert len([one for one in app.text_input if one.key.endswith("_column")]) == 1
    app.text_input(key="describe_n").set_value("500")
    app.selectbox(key="describe_target_pick").set_value("ill").run()
    app.text_input(key="card_30_levels").set_value("0; 1").run()
    go_on(app)
    assert app.error[-1].value.count("lowest possible") == 5
    assert "25 more columns below" in app.error[-1].value


def reloaded(app):
    """The page that a reload of this address shows."""
    return start("plan", **dict(app.query_params))


def test_a_reload_keeps_what_was_typed_until_somebody_goes_on():
    app = start("plan")
    assert "draft" not in app.query_params
    app.text_input(key="describe_n").set_value("8000").run()
    assert "8,000 records" in str([c.value for c in app.caption])
    app = reloaded(app)
    assert app.text_input(key="describe_n").value == "8000"
    add(app, LINES)
    assert "4 columns" in str([c.value for c in app.caption])
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    app.text_input(key="describe_unit").set_value("one visit")
    app.radio(key="describe_persons").set_value("Yes").run()
    app.text_input(key="describe_most").set_value("7").run()
    app = reloaded(app)
    assert app.radio(key="describe_target_pick").value == "diabetes"
    assert app.radio(key="describe_positive_pick").value == "yes"
    assert app.text_input(key="describe_most").value == "7"
    app.radio(key="describe_persons").set_value("No").run()
    go_on(app)
    assert title(app) == "How exact must the results be?"
    assert "draft" not in app.query_params
    table = declared_table(now(app).declared)
    assert [c.name for c in table.schema.features] == ["age", "sex", "systolic_bp"]
    assert table.schema.features[2].spread == 18.0
    assert (table.unit, now(app).n) == ("one visit", 8_000)
    app.button(key="step_describe").click().run()
    assert "draft" not in app.query_params  # what was handed in is no draft
    add(app, "bmi: 12 to 60, per 5")
    app = reloaded(app)
    assert "bmi" in cards_of(app)[-1]


@pytest.mark.parametrize(
    "content",
    [
        {"rows": "no"},
        {"rows": [{"column": 1}]},
        {"rows": [{"column": "a"}, ["column", "b"]]},
        {"rows": [{"column": "a", "lowest": [1]}]},
        {"rows": [{"column": "a", "lowest": True}]},
        {"rows": [{"column": "a", "highest": 10**400}]},
        {"rows": [{"column": "a", "effect": ["x"]}]},
        {"rows": [{"column": "a", "effect": 1.5}]},
        {"rows": [{"column": "a", "kind": ["number"]}]},
        {"rows": [{"column": "a", "levels": {"b": 1}}]},
        {"rows": [{"column": "a", "levels": "\ud800; b"}]},
        {"rows": [{"column": "a", "log": "yes"}]},
        {"rows": [{"column": "a", "other": 1}]},
        {"rows": [{"kind": 1}]},
        {"rows": [], "unit": "\ud800"},
        {"rows": [], "n": True},
        {"rows": [], "n": 10**30},
        {"rows": [{"column": str(i)} for i in range(501)]},
    ],
)
def test_a_draft_that_is_none_of_ours_is_dropped_and_that_is_said(content):
    app = start("plan", draft=pack(content))
    assert not app.exception
    assert "The draft in this address cannot be read" in str([w.value for w in app.warning])
    assert "draft" not in app.query_params
    assert app.text_input(key="describe_n").value == ""
    assert app.radio(key="describe_persons").value == "No"
    assert app.text_area(key="describe_text").value == ""
    app.text_input(key="describe_n").set_value("8000").run()
    app.run()
    assert not app.warning


def test_a_field_of_a_draft_is_what_may_be_typed_there():
    for name, value in (
        ("n", True),
        ("most", 10**6),
        ("rate", 200),
        ("unit", "x" * 2_000),
        ("persons", "Perhaps"),
    ):
        assert not draft.FIELDS[name](value)
    assert "edited" not in draft.FIELDS


def test_the_address_of_another_step_leads_there():
    """Back and Forward change the address alone."""
    app = go_on(described())
    assert app.query_params["step"] == "goal"
    app.query_params["step"] = "describe"
    app.run()
    assert title(app) == "Describe the table, without opening it"
    app.query_params["step"] = "goal"
    app.run()
    assert title(app) == "How exact must the results be?"
    app.query_params["step"] = "nowhere"
    app.run()
    assert title(app) == "How exact must the results be?"


def test_a_no_is_the_reference_beside_its_yes_until_somebody_types_another_order():
    app = add(start("plan"), "smoker: yes 20 %, no 80 %\nsex: M, F\nill: Ja, nein")
    assert cards_of(app) == [
        "smoker · 2 values, no 80 % (reference), yes 20 %",
        "sex · 2 values, M (reference), F, how often is not said: some may be rare",
        "ill · 2 values, nein (reference), Ja, how often is not said: some may be rare",
    ]
    app.radio(key="describe_target_pick").set_value("ill").run()
    assert app.radio(key="describe_positive_pick").value == "Ja"
    number = open_card(app, 1)
    app.text_input(key=f"card_{number}_levels").set_value("1; 0").run()
    assert app.text_input(key=f"card_{number}_levels").value == "0; 1"
    app.text_input(key=f"card_{number}_levels").set_value("true; false").run()
    assert (
        cards_of(app)[1]
        == "sex · 2 values, false (reference), true, how often is not said: some may be rare"
    )
    add(app, "smoker: yes, no")
    app.text_input(key="describe_n").set_value("8000")
    go_on(app)
    smoker, sex = declared_table(now(app).declared).schema.features
    assert (smoker.levels, sex.levels) == (("yes", "no"), ("false", "true"))


def test_the_reference_of_a_plan_that_is_opened_stays_and_none_is_named_where_there_is_none():
    features = (
        CategoricalColumn("smoker", ("yes", "no")),
        CategoricalColumn("site", ("a", "b"), has_reference=False),
    )
    table = DeclaredTable(schema=Schema(features, "ill", "1"), unit="one person")
    given = {"dataset": DECLARED, "declared": packed_table(table), "d": "3", "n": "8000"}
    app = start("plan", step="describe", **given)
    assert cards_of(app)[:2] == [
        "smoker · 2 values, yes (reference), no, how often is not said: some may be rare",
        "site · 2 values, a, b, how often is not said: some may be rare",
    ]


def test_the_place_says_which_door_it_is_until_something_stands_there():
    app = start("plan")
    said = "**A table to publish?** Begin with its header line. **None yet?** Type its"
    assert said in "".join(one.value for one in app.markdown)
    add(app, "age,ward")
    assert said not in "".join(one.value for one in app.markdown)


def test_lines_are_taken_where_their_field_is_left():
    app = start("plan")
    app.text_area(key="describe_text").set_value("age years 30 to 90, ward: a 60 %, b 40 %").run()
    assert not app.exception
    assert [line.split(" · ")[0] for line in cards_of(app)] == ["age", "ward"]
    assert "a 60 % (reference), b 40 %" in cards_of(app)[1]
    assert app.text_area(key="describe_text").value == ""


def test_the_plan_so_far_says_what_it_rests_on():
    lines = """age: 18 to 100 years
ward: a, b, c
sex: F 50 %, M 50 %
bp: 60 to 260 mmHg, typical 130, spread 18
diabetes: no, yes"""
    app = start("plan")
    app.text_input(key="describe_n").set_value("8000")
    app.text_input(key="describe_complete").set_value("95")
    add(app, lines)
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    go_on(app)
    (said,) = [one.value for one in app.caption if one.value.startswith("It rests on")]
    assert said.replace("\N{NO-BREAK SPACE}", " ") == (
        "It rests on unsaid shares of ward; suggested values of age; typed values of sex, bp; "
        "“yes” in 5 to 50 % of records; 95 % complete rows."
    )


def test_a_public_set_rests_on_no_description():
    app = start("plan", n="30000", step="goal")
    assert not [one for one in app.caption if one.value.startswith("It rests on")]


@pytest.mark.parametrize("key", ["card_1_shares", "describe_rate"])
def test_shares_that_are_asked_for_have_the_cursor(key):
    app = go_on(described())
    outcome = app.session_state["describe_target"]
    app.session_state["describe_wanted"] = "sex" if key == "card_1_shares" else outcome
    app.button(key="step_describe").click().run()
    assert app.text_input(key=key).value == ""
    assert not [field for field in app.text_input if field.key == "card_0_column"]
    brought = [e.proto.id for e in app.get("bidi_component") if "bring" in e.proto.component_name]
    assert len(brought) == 1
    assert f"bring_{key}" in brought[0]
    app.run()
    assert not told_focus(app)


@pytest.mark.parametrize("is_same", [True, False])
def test_shares_that_choose_asked_for_lead_back_to_it_where_the_goal_is_still_one(hasty, is_same):
    """The goal was said before; that of an outcome of yes or no is none of a number."""
    app = go_on(described())
    app.button(key="goal_continue").click().run()
    app.session_state["describe_returns"] = True  # as the button of Choose leaves it
    app.button(key="step_describe").click().run()
    if is_same:
        app.text_input(key="card_1_shares").set_value("60; 40").run()
    else:
        app.radio(key="describe_target_pick").set_value("systolic_bp").run()
    go_on(app)
    asked = "How exact must the results be?"
    assert title(app) == ("Budget, records, precision" if is_same else asked)
    app.button(key="step_describe").click().run()
    assert title(go_on(app)) == asked  # nobody asked this time


def test_lines_that_were_not_added_are_not_left_behind_silently():
    """A plan was made of the one column that was understood, the others still in their box."""
    app = described()
    add(app, "bmi: 10 to 60,5")
    app.button(key="describe_continue").click().run()
    assert title(app) == "Describe the table, without opening it"
    assert any("Lines above were not added" in one.value for one in app.error)
    app.text_area(key="describe_text").set_value("").run()
    assert title(go_on(app)) == "How exact must the results be?"


def test_lines_that_are_not_added_yet_survive_a_reload_and_another_page():
    app = add(start("plan"), "age: 18 to 100 years\nbmi: 10 to 60,5")
    assert app.text_area(key="describe_text").value == "bmi: 10 to 60,5"
    app.switch_page(str(ROOT / "pages" / "explore.py")).run()
    app.switch_page(str(ROOT / "pages" / "plan.py")).run()
    assert app.text_area(key="describe_text").value == "bmi: 10 to 60,5"
    app = reloaded(app)
    assert app.text_area(key="describe_text").value == "bmi: 10 to 60,5"
    assert len(cards_of(app)) == 1
    add(app, "bmi: 10 to 60.5")
    assert reloaded(app).text_area(key="describe_text").value == ""


def test_lines_that_no_address_can_hold_leave_the_columns_in_it():
    app = add(start("plan"), "age: 18 to 100 years")
    noise = "".join(random.Random(1).choices(string.ascii_letters, k=19_000))
    app.text_area(key="describe_text").set_value(f"bmi: {noise}").run()
    assert len(cards_of(reloaded(app))) == 1


def test_shares_that_nobody_said_are_asked_for_at_the_button():
    app = described()
    (said,) = (one.value for one in app.warning if "values of sex occur? Until you" in one.value)
    assert "several times" not in said  # how much it takes shows when the design is searched for
    app.text_input(key="card_1_shares").set_value("60; 40").run()
    assert not app.warning


def test_a_closed_card_asks_how_often_its_values_occur_and_keeps_the_field():
    """So that the first plan is made with it, and a keyboard finds the next field where it was."""
    app = described()
    asked = [field.key for field in app.text_input if field.key.endswith("_shares")]
    assert asked == ["card_1_shares"]  # of "sex", and not of the outcome
    field = app.text_input(key="card_1_shares")
    field.set_value("50; 40").run()
    assert any("add up to 100" in one.value for one in app.error)
    field.set_value("60; 40").run()
    assert not app.error
    assert app.text_input(key="card_1_shares").value == "60; 40"
    assert any("60 % (reference)" in line for line in cards_of(app))
    go_on(app)
    assert declared_table(now(app).declared).schema.features[1].shares == (0.6, 0.4)


def door(app, name: str):
    """Go to Explore, and by a door of it to the page Plan."""
    app.switch_page(str(ROOT / "pages" / "explore.py")).run()
    app.button(key=name).click().run()
    assert not app.exception
    return app


def test_who_plans_a_study_begins_with_its_table_and_finds_her_draft_again():
    app = door(start("explore", n="30000"), "door_plan")
    assert title(app) == "Describe the table, without opening it"
    assert app.segmented_control(key="describe_how").value == "type"
    assert not cards_of(app)
    add(app, "age: 18 to 100 years")
    assert len(cards_of(door(app, "door_plan"))) == 1
    app = go_on(described())
    assert title(door(app, "door_plan")) == "How exact must the results be?"


def test_a_plan_is_headed_by_what_it_is_about_until_somebody_says_better():
    app = go_on(described())
    app.button(key="step_approve").click().run()
    case = make_case(now(app), TableSource(PUBLIC))
    field = app.text_input(key="plan_title")
    assert (field.value, field.placeholder) == ("", "diabetes = yes, from 8,000 records")
    page = to_html(plan := plan_of(case, field.placeholder), plan.numbers(case.moments))
    assert "<title>diabetes = yes, from 8,000 records</title>" in page
    assert "the distribution of 2 of 3 columns" in page
    assert "Suggested, not typed: typical value or spread of “age”." in page
    assert "of every column an odds ratio of 1.5 for a level, or two spreads of a number" in page


def test_a_new_study_begins_with_no_budget_of_the_one_before():
    usual = {name: getattr(Settings(), name) for name in BUDGET}
    app = start("plan", currency="zcdp", definitions="zcdp", split="2~1~1", kept="n=5000")
    app.query_params["step"] = "describe"
    app.run()
    app.segmented_control(key="describe_how").set_value("type").run()
    app.text_input(key="describe_n").set_value("8000")
    add(app, LINES)
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    go_on(app)
    assert {name: getattr(now(app), name) for name in BUDGET} == usual
    assert "kept" not in app.query_params


@pytest.mark.parametrize(
    ("lines", "target", "is_new"),
    [
        (["weight: 30 to 200 kg", "stroke: no, yes"], "stroke", True),
        (["stroke: no, yes"], "stroke", True),
        (["weight: 30 to 200 kg"], "diabetes", False),
    ],
)
def test_a_budget_and_a_title_are_of_their_study(lines, target, is_new):
    app = go_on(described())
    app.session_state["linked"]["title"] = "First"
    typed = now(app).swept("total", 3.17)
    app.session_state["settings"] = typed
    app.button(key="step_describe").click().run()
    add(app, "\n".join(lines))
    app.radio(key="describe_target_pick").set_value(target).run()
    go_on(app)
    assert title(app) == "How exact must the results be?"
    assert now(app).split == (Settings() if is_new else typed).split
    assert app.session_state["linked"]["title"] == ("" if is_new else "First")


def test_the_share_of_yes_is_asked_for_once_there_is_an_outcome():
    app = add(start("plan"), LINES)
    assert "describe_rate" not in [field.key for field in app.text_input]
    assert "describe_pairs" in [field.key for field in app.text_input]
    assert not any("Until you say it" in one.value for one in app.warning)  # the outcome's as well
    app.radio(key="describe_target_pick").set_value("diabetes").run()
    assert any("values of sex occur? Until you" in one.value for one in app.warning)
    assert "describe_rate" in [field.key for field in app.text_input]
