"""The plan that was approved and what becomes of it on the page Release: one hash from the page for
the board to the ledger, and no release of a plan that was changed in between.
"""

from __future__ import annotations

import re

import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from dpci_core import read_plan
from dpci_core.ledger import Ledger
from dpci_core.plan import as_yaml
from dpci_core.release import load_release
from tests.ui.plan.test_rule import page as board_page
from tests.ui.release.test_page import (
    LINK,
    budget_button,
    button,
    of_others,
    with_budget,
    with_file,
    words,
)
from tests.ui.test_pages import ROOT, check, now, start
from ui.controls import plan_file
from ui.release.budget import OTHERS
from ui.release.page import folder_of
from ui.release.words import CHANGED
from ui.session import state, steps
from ui.session.case import make_case
from ui.session.compute import PUBLIC, TableSource


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A ledger and a folder of releases of its own."""
    monkeypatch.setenv("DPCI_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("DPCI_RELEASES", str(tmp_path / "releases"))


def approved(app: AppTest) -> AppTest:
    """Ada approves; the page Release."""
    app.text_input(key="approve_person").set_value("Ada").run()
    for tick in app.checkbox:
        if tick.key == "approve_read":
            tick.check().run()
    app.button(key="approve").click().run()
    check(app)
    assert app.title[0].value == "Release, once"
    return go(app, "release")  # the runner forgets where a page led


def link_of(app: AppTest) -> dict[str, str]:
    return {k: v if isinstance(v, str) else v[0] for k, v in app.query_params.items()}


def go(app: AppTest, page: str, step: str = "") -> AppTest:
    """The same session at another page."""
    if step:
        app.query_params["step"] = step
    app.switch_page(str(ROOT / "pages" / f"{page}.py"))
    app.run()
    check(app)
    return app


def test_what_was_approved_is_released_once():
    """The page for the board says once, and the page Release offered another with no question."""
    app = approved(start("plan", step="approve", **LINK))
    assert app.text_input(key="release_person").value == "", "who approves does not spend"
    app = with_file(with_budget(app))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    assert Ledger().accounts()[0].remaining == 2
    assert button(app, "release_once_more") is None
    assert "approved for one release, which is entry 2 of the ledger" in words(app)


def test_the_same_file_under_another_name_is_not_released_by_the_same_approval():
    """Declared to be of other people three times, one approval paid three times for one file."""
    refused = "approved for one release, which is entry 2 of the ledger"
    app = with_file(with_budget(approved(start("plan", step="approve", **LINK))))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    app.selectbox(key="release_account").set_value(0).run()
    app.radio(key="budget_people").set_value(OTHERS).run()
    assert [refused in e.value for e in app.error] == [True]
    assert budget_button(app) is None
    renamed = of_others("Renamed")
    app.run()
    app.selectbox(key="release_account").set_value(renamed.account_id).run()
    assert [refused in e.value for e in app.error] == [True]
    assert button(app, "release_now") is None


def test_the_page_of_the_board_has_the_hash_of_the_record_and_of_the_ledger():
    app = start("plan", step="approve", **LINK)
    (signed,) = re.findall(r"Plan <code>([0-9a-f]{64})</code>", board_page(app))
    app = with_file(with_budget(approved(app)))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    (charge,) = Ledger().history()
    folder = folder_of(charge.request_id)
    assert load_release(folder).plan_hash == charge.plan_hash == signed
    kept = read_plan(folder / "plan.yaml")
    assert kept.digest == signed
    said = rf"Approved by Ada on \d{{4}}-\d\d-\d\d \(plan {signed[:12]}\)\."
    assert re.fullmatch(said, kept.approved)
    assert signed in (folder / "report.html").read_text(encoding="utf-8")


def test_an_approval_that_comes_after_a_look_at_the_price_is_in_what_is_released():
    app = go(start("release", **LINK), "plan", "approve")
    app = with_file(with_budget(approved(app)))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    (charge,) = Ledger().history()
    assert "Ada" in read_plan(folder_of(charge.request_id) / "plan.yaml").approved


def test_a_plan_that_was_changed_after_its_approval_is_not_released():
    app = approved(start("plan", step="approve", **LINK))
    assert "What is typed" not in words(app)
    assert CHANGED not in words(app)
    assert "**Price:**" in words(app)
    later = start("release", **(link_of(app) | {"n": "3200"}))
    assert CHANGED in words(later)
    assert "Approved by Ada" in words(later)
    assert "**Price:**" not in words(later)
    assert later.get("file_uploader") == []
    assert button(later, "release_back") is None  # this session never saw the approved one
    later.button(key="release_approve").click().run()
    check(later)
    assert later.title[0].value == "Approve the plan"
    assert CHANGED not in words(approved(go(later, "plan", "approve")))


def test_the_approved_plan_is_not_lost_by_a_change():
    app = start("plan", step="approve", **LINK, notes="For the board")
    before, shown = now(app), board_page(app)
    approved(app)
    app.session_state["settings"] = state.replace(before, n=3_200)
    app.session_state["linked"]["notes"] = "Other words"
    app.run()
    assert CHANGED in words(app)
    app.button(key="release_back").click().run()
    check(app)
    assert CHANGED not in words(app)
    assert "**Price:**" in words(app)
    assert now(app) == before
    assert "title" not in app.query_params  # nobody typed one: it would head another plan too
    again = go(app, "plan", "approve")
    assert again.text_area(key="plan_notes").value == "For the board"
    digest = r"[0-9a-f]{64}"
    assert re.findall(digest, board_page(again)) == re.findall(digest, shown)


def test_what_is_typed_and_not_taken_over_is_said_beside_the_price():
    app = approved(start("plan", step="approve", **LINK))
    go(app, "plan", "describe")
    app.text_input(key="describe_n").set_value("3300").run()
    app.button(key="step_release").click().run()
    check(app)
    assert "What is released is the plan as it is here. Approved by Ada on " in words(app)
    assert "What is typed at the step Describe is not in this plan" in words(app)
    assert "**Price:**" in words(app)
    assert now(app).n == 3_000
    go(app, "plan", "describe")
    app.button(key="describe_continue").click().run()
    go(app, "release")
    assert "What is typed" not in words(app)
    assert CHANGED in words(app)


def test_a_step_that_was_pressed_is_shown_by_the_next_run_where_its_own_was_cut_short(monkeypatch):
    """A page that watches work asks for itself, and may do so as a press is answered."""
    app = start("plan", step="goal", **LINK)

    def cut_short(*_: object) -> None:
        raise StopException

    with monkeypatch.context() as patched:
        patched.setattr(steps, "follow", cut_short)
        app.button(key="step_release").click().run()
    go(app, "plan")
    assert app.title[0].value == "Release, once"


def test_a_budget_that_choose_found_and_nobody_took_is_said(patient):
    app = start("plan", step="choose", **(LINK | {"goal_length": "0.6"}))
    found = next(m.value for m in app.markdown if m.value.startswith("## ")).removeprefix("## ")
    go(app, "release")
    assert f"a budget of ε = {found} was found, and this plan has 1" in words(app)
    go(app, "plan", "choose")
    app.button(key="use_design").click().run()
    go(app, "release")
    assert "was found" not in words(app)


def file_opened() -> None:
    """Take a plan file as the page does, then tell what the page would release."""
    import streamlit as st

    from ui.controls import plan_file
    from ui.session import state
    from ui.session.case import make_case
    from ui.session.compute import PUBLIC, TableSource

    plan_file.take(st.session_state["raw"])
    plan = plan_file.current_plan(make_case(state.settings(), TableSource(PUBLIC)))
    st.text(plan.approved)
    st.text(plan.digest)


def test_a_file_of_an_approved_plan_brings_its_approval():
    first = start("plan", step="approve", **LINK)
    plan = plan_file.plan_of(make_case(now(first), TableSource(PUBLIC)), "Illness", "")
    said = "Approved by Ada on 2026-01-31"
    own, other = f"{said} (plan {plan.digest[:12]}).", f"{said} (plan {'0' * 12})."
    for line, brought in ((own, own), (f"{said}.", f"{said}."), ("", ""), (other, "")):
        app = AppTest.from_function(file_opened, default_timeout=300)
        app.session_state["raw"] = as_yaml(plan_file.replace(plan, approved=line)).encode()
        app.run()
        check(app)
        assert [one.value for one in app.text] == [brought, plan.digest]
        assert (app.session_state["linked"]["approved"] or "") == line  # told as of another plan
