"""What follows on a release: the next study, and nothing of the last one in it; and what was read
once is not asked for again.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dpci_core import Guesses, StandardEncoding
from dpci_core.ledger import Ledger
from dpci_core.plan import as_yaml, read_plan
from dpci_core.schema import CategoricalColumn
from tests.ui.release.test_approved import approved, go
from tests.ui.release.test_page import (
    LINK,
    SCHEMA,
    TABLE,
    begin,
    button,
    csv_bytes,
    desk,
    ready,
    with_budget,
    with_file,
    words,
)
from tests.ui.test_pages import check, now, start, told_focus
from ui.session import quota
from ui.session.compute import declared_table, packed_table
from ui.session.settings import BUDGET, PRECISION, START
from ui.views.releases import folder_of

__all__ = ["desk"]  # a ledger for every test
TELLS = "**This plan was released** on "
WEAK = LINK | {"split": "0.03~0.01~0.01", "n": "8000"}
"""Of a plan that something grave speaks against."""


def released() -> AppTest:
    app = ready()
    app.button(key="release_now").click().run()
    check(app)
    return app


def test_the_result_is_brought_into_view_once_when_it_is_made():
    """The button stands below a page of steps, and there the report ended."""
    app = ready()
    assert not told_focus(app)
    app.button(key="release_now").click().run()
    assert told_focus(app)
    assert not told_focus(app.run())


def is_blank(app: AppTest) -> bool:
    """Whether nothing of a study is there."""
    cards = [b for b in app.button if str(b.key).endswith("_line")]
    assert app.title[0].value == "Describe the table, without opening it"
    assert app.text_area(key="describe_text").value == ""
    return not cards and app.text_input(key="describe_n").value == "" and now(app) == START


def test_after_a_release_one_button_begins_a_study_with_nothing_of_the_one_before():
    app = go(released(), "plan", "approve")
    app.text_input(key="plan_title").set_value("The first").run()
    app = go(app, "release")
    assert button(app, "new_study") is None  # another title, another plan
    app = go(app, "plan", "approve")
    app.text_input(key="plan_title").set_value("").run()
    app = go(app, "release")
    app.button(key="new_study").click().run()
    app = go(app, "plan")
    assert is_blank(app)
    assert not {"title", "declared", "approved", "n"} & set(app.query_params)
    assert TELLS not in words(app)


@pytest.mark.parametrize("page", ["plan", "release"])
def test_another_study_of_the_same_table_begins_with_its_columns_and_nothing_else(page):
    app = go(released(), "plan", "approve")
    of, n = declared_table(now(app).declared), now(app).n
    if page == "release":
        app = go(app, "release")
    app.session_state["plan_used"] = now(app)
    app.button(key="same_table").click().run()
    assert "plan_used" not in app.session_state, "a design of the study before is none of this one"
    app = go(app, "plan")
    cards = [b for b in app.button if str(b.key).endswith("_line")]
    assert app.title[0].value == "Describe the table, without opening it"
    assert len(cards) == len(of.schema.features) + 1
    assert app.text_input(key="describe_n").value == str(n)
    first = START.in_plain_terms()
    assert {name: getattr(now(app), name) for name in (*BUDGET, *PRECISION)} == {
        name: getattr(first, name) for name in (*BUDGET, *PRECISION)
    }
    table = declared_table(now(app).declared)
    assert replace(table.schema, standard=None) == replace(of.schema, standard=None)
    assert not {"title", "approved"} & set(app.query_params)
    left = Ledger().accounts()[0].remaining
    assert any("The people of “Clinic”: ε = " in one.value for one in app.caption)
    assert any(f" = {left:f} left" in one.value for one in app.caption)
    app.button(key="describe_continue").click().run()
    check(app)
    assert app.title[0].value == "How exact must the results be?"


@pytest.mark.parametrize("amount", ["1", "3"])
def test_another_study_of_a_table_is_offered_while_something_is_left_of_its_budget(amount):
    app = with_file(with_budget(begin(), amount))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    is_left = Ledger().accounts()[0].remaining > 0
    assert is_left == (amount == "3")
    for at in (app, go(app, "plan", "approve")):
        assert bool(button(at, "same_table")) == is_left
        assert button(at, "new_study")


GOAL = {"goal": "all", "goal_length": "2.5", "goal_chance": "0.75"}


def test_another_study_keeps_the_goal_and_the_share_of_the_outcome_so_far():
    """Both were typed before the release; nothing that it told goes on."""
    schema = replace(SCHEMA, standard=StandardEncoding())
    columns = (replace(schema.features[0], typical=50.0, spread=20.0), schema.features[1])
    table = replace(TABLE, schema=replace(schema, features=columns), guesses=Guesses(base_rate=0.3))
    app = ready(**GOAL, declared=packed_table(table))
    app.button(key="release_now").click().run()
    check(app)
    app.button(key="same_table").click().run()
    app = go(app, "plan")
    assert app.text_input(key="describe_rate").value == "30"
    app.radio(key="describe_target_pick").set_value("smoker").run()
    app.text_input(key="describe_rate").set_value("10 to 20").run()
    app.button(key="describe_continue").click().run()
    check(app)
    ill = declared_table(now(app).declared).schema.columns_of(("ill=yes",))
    assert ill == (CategoricalColumn("ill", ("no", "yes"), shares=(0.7, 0.3)),)
    assert (now(app).goal, now(app).goal_length, now(app).goal_chance) == ("all", 2.5, 0.75)
    app = go(app, "plan", "describe")
    app.radio(key="describe_target_pick").set_value("ill").run()
    assert app.text_input(key="describe_rate").value == "30"
    app.button(key="describe_continue").click().run()
    check(app)
    (smoker,) = declared_table(now(app).declared).schema.columns_of(("smoker=yes",))
    assert smoker.shares is None  # a range is no share


def test_the_people_of_a_table_that_is_studied_again_are_known_where_a_budget_is_asked_for():
    app = go(released(), "plan", "approve")
    app.button(key="same_table").click().run()
    app = go(app, "plan")
    app.radio(key="describe_target_pick").set_value("smoker").run()
    app.text_input(key="describe_rate").set_value("20").run()
    app.button(key="describe_continue").click().run()
    check(app)
    app = go(approved(go(app, "plan", "approve")), "release")
    assert app.radio(key="budget_people").value == "Clinic"


def test_a_plan_that_is_opened_is_about_other_people():
    app = go(released(), "plan", "approve")
    plan = read_plan(folder_of(Ledger().history()[0].request_id) / "plan.yaml")
    app.button(key="same_table").click().run()
    app = go(app, "plan", "describe")
    assert any("The people of “Clinic”" in one.value for one in app.caption)
    app.segmented_control(key="describe_how").set_value("plan").run()
    app.file_uploader(key="plan_open").upload("plan.yaml", as_yaml(plan).encode(), "text/yaml")
    app.run()
    check(app)
    assert not any("The people of “Clinic”" in one.value for one in app.caption)


def test_the_door_for_a_table_opens_no_released_plan_without_a_word():
    app = go(released(), "explore")
    app.button(key="door_private").click().run()
    app = go(app, "plan")
    assert TELLS in words(app)
    assert not is_blank(app)
    app.button(key="new_study").click().run()
    check(app)
    assert is_blank(app)
    assert Ledger().history()[0].state == "done"


def test_a_plan_that_was_changed_or_never_released_offers_none():
    app = start("plan", **LINK, step="describe")
    assert button(app, "new_study") is None
    app = go(released(), "plan", "approve")
    assert button(app, "new_study")
    app.text_input(key="plan_title").set_value("Another").run()
    assert button(app, "new_study") is None


def test_what_was_released_is_neither_approved_again_nor_withdrawn():
    app = go(released(), "plan", "approve")
    assert any("Approved by the board" in one.value for one in app.success)
    assert TELLS in words(app)
    assert button(app, "withdraw") is None
    assert button(app, "approve_go")
    app = start("plan", step="approve", **LINK)
    assert TELLS in words(app)
    assert button(app, "approve") is None
    app = start("plan", step="approve", **LINK, title="Another")
    assert button(app, "approve")


def test_where_each_release_is_approved_a_released_plan_may_be_approved_for_another():
    app = begin()
    app.checkbox(key="budget_approval").check()
    app = with_budget(app)
    app.text_input(key="release_person").set_value("Ada").run()
    app.button(key="release_propose").click().run()
    Ledger().approve(Ledger().proposals()[-1].proposal_id, person="Bob")
    app = with_file(app.run())
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    app = start("plan", step="approve", **LINK)
    assert TELLS in words(app)
    assert button(app, "approve")


def test_where_the_ledger_is_off_no_page_asks_it(monkeypatch):
    app = go(released(), "plan", "approve")
    monkeypatch.setattr(quota, "is_public_demo", lambda: True)
    app.run()
    assert TELLS not in words(app)


def test_a_ledger_that_cannot_be_read_keeps_nobody_from_planning(desk):
    app = go(released(), "plan", "approve")
    (desk / "ledger.sqlite").write_bytes(b"no ledger at all")
    app.run()
    check(app)
    assert TELLS not in words(app)


@pytest.mark.parametrize("step", ["goal", "choose", "approve"])
def test_after_a_new_study_was_begun_no_other_is_planned_for(step):
    """As after Back: no plan that nobody made is there to approve."""
    app = released()
    app.button(key="new_study").click().run()
    app = go(app, "plan", step)
    assert app.title[0].value == "Describe the table, without opening it"
    assert app.query_params["step"] in ("describe", ["describe"])


def to_the_button(app: AppTest) -> AppTest:
    """Everything but the tick."""
    app = with_budget(app)
    app.file_uploader(key="release_file").upload("private.csv", csv_bytes(), "text/csv").run()
    app.text_input(key="release_typed").set_value("Clinic").run()
    check(app)
    return app


def test_what_the_approver_read_is_not_asked_again_of_the_same_person():
    app = to_the_button(approved(start("plan", step="approve", **WEAK)))
    assert any("too long to be of use" in one.value for one in app.warning)  # it stays in sight
    assert not [c for c in app.checkbox if c.key == "release_read"]
    assert not button(app, "release_now").disabled
    app.text_input(key="release_person").set_value("Bob").run()
    assert not app.checkbox(key="release_read").value
    assert button(app, "release_now").disabled


def test_what_was_read_of_one_plan_is_asked_of_another():
    app = go(approved(start("plan", step="approve", **WEAK)), "plan", "approve")
    app.button(key="withdraw").click().run()
    app.text_input(key="plan_title").set_value("Another").run()
    app = to_the_button(go(app, "release"))
    assert not app.checkbox(key="release_read").value
    assert button(app, "release_now").disabled


@pytest.mark.parametrize("how", ["look", "release"])
def test_only_the_header_is_said_as_long_as_it_is_true(how):
    app = with_file(ready())
    assert any("Only its header was read" in one.value for one in app.success)
    if how == "look":
        app.button(key="release_look_now").click().run()
    else:
        content = b"age,smoker,ill\n" + b"1,no,no\n" * 10
        with_file(app, content)
        app.button(key="release_now").click().run()
    assert not app.exception
    assert Ledger().history() == ()
    said = [one.value for one in app.success]
    assert any("all 3 columns of the plan are there" in one for one in said)
    assert not any("Only its header" in one for one in said)
    with_file(app, name="another.csv")
    assert any("Only its header was read" in one.value for one in app.success)
