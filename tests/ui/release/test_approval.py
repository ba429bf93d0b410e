"""The page Release where another person has to approve: propose, wait, release; what other tabs do
meanwhile is a sentence.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpci_core.ledger import Cap, Cost, Ledger, Proposal
from dpci_core.release import load_release, once, schema_hash
from tests.ui.release.test_page import (
    LINK,
    SCHEMA,
    approved_link,
    begin,
    budget_button,
    button,
    desk,
    digest_of,
    start_allowing_errors,
    with_budget,
    with_file,
    words,
)
from tests.ui.session.test_access import ADA, AUTH
from tests.ui.test_pages import ROOT, check, start
from ui.kit import streamlit_internals
from ui.release import budget as release_budget
from ui.release import page as release_page
from ui.release import running
from ui.release import words as release_words
from ui.release.page import folder_of
from ui.session.text import plain
from ui.views.ledger_text import NEEDS_APPROVAL

__all__ = ["desk"]  # a ledger and a folder of releases for every test
BOB = {**ADA, "email": "bob@example.org"}
ADA_HERE = "ada@example.org"


@pytest.fixture
def asked_first(desk) -> Ledger:
    """The ledger of a data set whose releases need approval."""
    ledger = Ledger()
    ledger.create_dataset(
        "Clinic",
        schema_hash=schema_hash(SCHEMA),
        cap=Cap.pure(3),
        unit="one patient",
        person="Ada",
        needs_approval=True,
    )
    return ledger


def proposing(name: str = "Ada") -> AppTest:
    app = begin()
    app.text_input(key="release_person").set_value(name).run()
    return app


def proposed(name: str = "Ada") -> AppTest:
    app = proposing(name)
    app.button(key="release_propose").click().run()
    check(app)
    return app


def test_what_was_released_about_these_people_is_named_before_it_is_proposed(asked_first):
    assert "Already released" not in words(proposing())
    whose = {"schema_hash": schema_hash(SCHEMA), "person": "Ada"}
    ledger = asked_first
    ledger.create_dataset("Before", cap=None, unit="one patient", same_people_as="Clinic", **whose)
    one = {"purpose": "Last year", "request_id": "r", "plan_hash": "1" * 64}
    ready = ledger.propose("Before", cost=Cost(definition="pure", amount="1"), **one, **whose)
    ledger.approve(ready.proposal_id, person="Bob")
    charge = ledger.book("Before", cost=Cost(definition="pure", amount="1"), **one, **whose)
    ledger.finish(charge.charge_id, result_hash="2" * 64)
    app = proposing()
    assert "**Already released about these people:** “Last year” on" in words(app)


def the_one() -> Proposal:
    (proposal,) = Ledger().proposals()
    return proposal


def approve(name: str = "Bob") -> None:
    Ledger().approve(Ledger().proposals()[-1].proposal_id, person=name)


def ready_to_release() -> AppTest:
    app = with_file(begin())
    app.text_input(key="release_typed").set_value("Clinic").run()
    check(app)
    assert not button(app, "release_now").disabled
    return app


def withdraw_the_plan(app: AppTest) -> None:
    """As step 4 does, after the page was drawn."""
    app.session_state["linked"] |= {"approved": "", "approved_plan": ""}


def logged_in(user: dict) -> AppTest:
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60)
    app.secrets["auth"] = AUTH
    app.user = user
    for name, value in approved_link().items():
        app.query_params[name] = value
    app.switch_page(str(ROOT / "pages" / "release.py")).run()
    check(app)
    return app


def asks_for_nothing(app: AppTest) -> bool:
    """Whether neither a file nor a confirmation is asked for, and nothing can be spent."""
    typed = [field.key for field in app.text_input]
    return (
        app.get("file_uploader") == []
        and "release_typed" not in typed
        and button(app, "release_now") is None
    )


# --- the budget -----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_ticked", [False, True])
def test_who_sets_a_budget_says_whether_another_person_approves(is_ticked):
    app = begin()
    assert app.checkbox(key="budget_approval").value is False
    if is_ticked:
        app.checkbox(key="budget_approval").check()
    app = with_budget(app)
    (account,) = Ledger().accounts()
    assert account.needs_approval is is_ticked
    assert (NEEDS_APPROVAL in words(app)) is is_ticked
    assert asks_for_nothing(app) is is_ticked


@pytest.mark.parametrize("is_needed", [False, True])
def test_a_shared_budget_has_decided_on_approval(is_needed):
    Ledger().create_dataset(
        "First",
        schema_hash="0" * 64,
        cap=Cap.pure(3),
        unit="one patient",
        person="Ada",
        needs_approval=is_needed,
    )
    app = begin()
    assert asks_for_nothing(app)  # whose budget it is comes before the file
    app.radio(key="budget_people").set_value(release_budget.OTHERS).run()
    app.checkbox(key="budget_approval").check().run()
    assert not asks_for_nothing(app)
    app.radio(key="budget_people").set_value("First").run()
    check(app)
    assert [box for box in app.checkbox if box.key == "budget_approval"] == []
    assert "budget_amount" not in [field.key for field in app.text_input]
    assert (NEEDS_APPROVAL in words(app)) is is_needed
    assert asks_for_nothing(app) is is_needed
    app.text_input(key="budget_name").set_value("Clinic")
    app.text_input(key="release_person").set_value("Ada")
    budget_button(app).click().run()
    check(app)
    assert [one.needs_approval for one in Ledger().accounts()] == [is_needed] * 2
    assert asks_for_nothing(app) is is_needed


def test_a_file_seen_before_approval_was_asked_for_is_let_go_and_asked_for_again(monkeypatch):
    gone = []
    monkeypatch.setattr(streamlit_internals, "forget_file", gone.append)
    app = with_file(begin())
    app.checkbox(key="budget_approval").check()
    assert gone == []
    app = with_budget(app)
    assert asks_for_nothing(app)
    assert len(gone) == 1
    app.text_input(key="release_person").set_value("Ada")
    app.button(key="release_propose").click().run()
    approve()
    app.run()
    check(app)
    assert app.file_uploader(key="release_file").value is None
    assert "Still needed: a table whose header fits" in words(app)


def test_people_of_another_data_set_leave_the_question_open():
    Ledger().create_dataset(
        "First", schema_hash="0" * 64, cap=Cap.pure(3), unit="one visit", person="Ada"
    )
    app = begin()
    app.radio(key="budget_people").set_value("No, these are different people").run()
    app.checkbox(key="budget_approval").check()
    with_budget(app)
    assert Ledger().account("Clinic").needs_approval


# --- propose, wait, release -----------------------------------------------------------------------


def test_a_proposal_shows_price_and_warnings_and_asks_for_a_name_alone(asked_first):
    app = begin()
    assert asks_for_nothing(app)
    for needed in ("**Price:** **ε = 1**", "ε = 2 of 3", "**Proposing spends nothing**"):
        assert needed in words(app)
    assert "shrunk to about" in words(app)
    assert button(app, "release_propose").label == "Propose to spend ε = 1"
    assert button(app, "release_propose").disabled
    assert "Still needed: your name." in words(app)
    assert "3 ·" not in words(app), "no heading of what is not there yet"
    assert asked_first.proposals() == ()


def test_nothing_is_proposed_without_the_approval_of_the_plan(asked_first):
    app = start("release", **LINK)
    app.text_input(key="release_person").set_value("Ada").run()
    assert button(app, "release_propose").disabled
    assert f"Still needed: {release_words.APPROVAL}." in words(app)
    app = proposing()
    withdraw_the_plan(app)
    app.button(key="release_propose").click().run()
    assert [plain(release_words.APPROVAL) in one.value for one in app.error] == [True]
    assert asked_first.proposals() == ()


def test_what_another_person_approved_is_not_released_once_the_plan_is_withdrawn(asked_first):
    """Two approvals: a board member withdrew that of the plan, and believed she had stopped it."""
    proposed()
    approve()
    app = ready_to_release()
    assert "**The plan:** Approved by the board" in words(app)
    withdraw_the_plan(app)
    app.button(key="release_now").click().run()
    check(app)
    assert "**approved by Bob**" in words(app)
    assert f"Still needed: {release_words.APPROVAL}." in words(app)
    assert button(app, "release_now").disabled
    assert Ledger().history() == ()


def test_what_was_proposed_waits_and_spends_nothing(asked_first):
    app = proposed()
    one, account = the_one(), Ledger().accounts()[0]
    assert one.request_id == f"{account.account_id}/{digest_of(app)}/0"
    assert (one.person, one.state, str(one.spent)) == ("Ada", "proposed", "1")
    assert "Entry 2, proposed by Ada, waits for **another person**" in words(app)
    assert "python -m dpci_core ledger approve 2" in words(app)
    assert asks_for_nothing(app)
    assert button(app, "release_propose") is None
    assert Ledger().remaining("Clinic") == 3
    assert "waits for **another person**" in words(begin())  # in a new session too


def test_what_another_person_approved_is_released_by_who_proposed_it(asked_first):
    proposed()
    approve()
    app = ready_to_release()
    assert "The proposal by Ada to spend ε = 1 is **approved by Bob** as entry 2." in words(app)
    assert "release_person" not in [field.key for field in app.text_input]
    assert "Ada" in [field.value for field in app.text_input if field.disabled]
    app.button(key="release_now").click().run()
    check(app)
    (charge,) = Ledger().history()
    assert (charge.state, charge.person, the_one().state) == ("done", "Ada", "booked")
    assert load_release(folder_of(charge.request_id)).n_records == 3_000
    assert "This plan was released" in words(app)


def test_the_release_asks_for_the_confirmation_that_the_proposal_did_not(asked_first):
    proposed()
    approve()
    app = with_file(begin())
    assert button(app, "release_now").disabled
    assert "Still needed: the typed name of the data set." in words(app)


def test_another_release_is_another_proposal(asked_first):
    proposed()
    approve()
    app = ready_to_release()
    app.button(key="release_now").click().run()
    app.button(key="release_once_more").click().run()
    check(app)
    assert asks_for_nothing(app)
    app.text_input(key="release_person").set_value("Carl").run()
    app.button(key="release_propose").click().run()
    check(app)
    first, second = Ledger().proposals()
    assert second.request_id == f"{first.request_id[:-1]}1"
    assert (second.person, second.state) == ("Carl", "proposed")
    approve()
    with_file(app.run())
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    folders = [folder_of(charge.request_id) for charge in Ledger().history()]
    one, two = (load_release(folder).theta for folder in folders)
    assert not np.array_equal(one, two)
    assert Ledger().remaining("Clinic") == 1


def test_a_release_that_runs_is_shown_as_running_and_not_as_the_one_before(
    asked_first, monkeypatch
):
    """The page was loaded anew before the second was booked: the first stood there as what had
    come of it.
    """
    proposed()
    approve()
    app = ready_to_release()
    app.button(key="release_now").click().run()
    app.button(key="release_once_more").click().run()
    app.text_input(key="release_person").set_value("Ada").run()
    app.button(key="release_propose").click().run()
    approve()
    with_file(app.run())
    app.text_input(key="release_typed").set_value("Clinic").run()
    seen: dict[str, tuple[str, ...]] = {}
    monkeypatch.setattr(once, "reached", lambda stage: seen.update({stage: running.requests()}))
    app.button(key="release_now").click().run()
    first, second = Ledger().history()
    stages = ("before booking", "booked", "begun", "written", "finished")
    assert {stage: seen[stage] for stage in stages} == dict.fromkeys(stages, (second.request_id,))
    assert running.requests() == ()
    third = first.request_id.rpartition("/")[0] + "/2"
    with running.noted(third):
        later = begin()
        assert release_words.RUNNING in words(later)
        for told in ("This plan was released", "This is the report to send"):
            assert told not in words(later)
        assert button(later, "release_once_more") is None
        assert later.get("file_uploader") == []
        assert later.session_state["again_wanted"] == {"": release_page._POLL}
        assert release_words.RUNNING not in words(begin(seed="2", n="2999")), "another plan"
    later.run()
    assert release_words.NOT_BOOKED in [one.value for one in later.error]
    assert "This is the report to send" not in words(later)
    assert button(later, "release_propose") is not None


def test_what_is_withdrawn_may_be_proposed_again(asked_first):
    app = proposed()
    assert button(app, "release_withdraw").label == "Withdraw it, as Ada"
    app.button(key="release_withdraw").click().run()
    check(app)
    assert (the_one().state, the_one().withdrawn_by) == ("withdrawn", "Ada")
    assert "Entry 2, proposed by Ada, was withdrawn by Ada." in words(app)
    assert asks_for_nothing(app)
    app.text_input(key="release_person").set_value("Bob").run()
    app.button(key="release_propose").click().run()
    check(app)
    first, second = Ledger().proposals()
    assert (second.request_id, second.person) == (first.request_id, "Bob")
    assert "Entry 4, proposed by Bob, waits" in words(app)


def test_more_than_is_left_cannot_be_proposed(asked_first):
    proposed()
    one = the_one()
    for request in "abc":
        other = same(one, request) | {"plan_hash": "0" * 64}
        asked_first.approve(asked_first.propose("Clinic", **other).proposal_id, person="Bob")
        asked_first.book("Clinic", **other)
    asked_first.withdraw(one.proposal_id, person="Bob")
    app = start_allowing_errors("release")
    assert not app.exception
    assert button(app, "release_propose") is None
    assert any("can be released under this cap" in one.value for one in app.error)


# --- what another tab does meanwhile --------------------------------------------------------------


def test_a_second_tab_shows_what_the_first_one_proposed(asked_first):
    first, second = proposing(), proposing("Bob")
    for tab in (first, second):
        tab.button(key="release_propose").click().run()
        check(tab)
        assert "Entry 2, proposed by Ada, waits" in words(tab)
    assert the_one().person == "Ada"


def test_a_proposal_between_a_look_and_a_click_is_a_sentence(asked_first, monkeypatch):
    app = proposing("Bob")
    proposed()
    known, looks = Ledger.proposal_of, []

    def late(ledger: Ledger, request_id: str) -> Proposal | None:
        looks.append(request_id)
        return None if len(looks) == 1 else known(ledger, request_id)

    monkeypatch.setattr(Ledger, "proposal_of", late)
    app.button(key="release_propose").click().run()
    assert not app.exception
    assert any("with another content" in one.value for one in app.error)
    assert "Entry 2, proposed by Ada, waits" in words(app)


def test_a_withdrawal_that_comes_after_the_booking_is_a_sentence(asked_first):
    app = proposed()
    approve()
    other = ready_to_release()
    other.button(key="release_now").click().run()
    app.button(key="release_withdraw").click().run()
    assert not app.exception
    assert any("what is booked stays spent" in one.value for one in app.error)
    assert "This plan was released" in words(app)


def test_a_click_on_what_was_withdrawn_meanwhile_spends_nothing_then_or_later(asked_first):
    proposed()
    approve()
    app = ready_to_release()
    Ledger().withdraw(the_one().proposal_id, person="Bob")
    app.button(key="release_now").click().run()
    check(app)
    assert "was withdrawn by Bob" in words(app)
    assert asks_for_nothing(app)
    app.text_input(key="release_person").set_value("Ada").run()
    app.button(key="release_propose").click().run()
    approve()
    with_file(app.run())
    app.text_input(key="release_typed").set_value("Clinic").run()
    check(app)
    assert Ledger().history() == ()  # the click of before is forgotten
    app.button(key="release_now").click().run()
    assert [charge.state for charge in Ledger().history()] == ["done"]


def test_a_withdrawal_after_the_last_look_releases_nothing(asked_first, monkeypatch):
    proposed()
    approve()
    app, carry_out = ready_to_release(), release_page._carry_out

    def late(*what) -> None:
        Ledger().withdraw(the_one().proposal_id, person="Bob")
        carry_out(*what)

    monkeypatch.setattr(release_page, "_carry_out", late)
    app.button(key="release_now").click().run()
    assert not app.exception
    assert any("Another person than Ada has to approve entry 5" in e.value for e in app.error)
    assert Ledger().history() == ()
    assert asks_for_nothing(app)


def test_a_booking_between_two_looks_is_a_sentence(asked_first, monkeypatch):
    proposed()
    approve()
    app = ready_to_release()
    app.button(key="release_now").click().run()
    monkeypatch.setattr(release_page, "_charges", lambda *what: ())
    app.run()
    check(app)
    assert "Entry 2, proposed by Ada, was just booked." in words(app)
    assert asks_for_nothing(app)


def test_a_release_that_was_stopped_is_paid_and_asks_for_no_approval(asked_first):
    app = proposed()
    approve()
    one = the_one()
    Ledger().book("Clinic", **same(one, one.request_id), draws_later=True)
    app = ready_to_release()
    assert "The price is paid" in words(app)
    app.button(key="release_now").click().run()
    check(app)
    assert [(c.state, c.person) for c in Ledger().history()] == [("done", "Ada")]


# --- with a login ---------------------------------------------------------------------------------


def test_with_a_login_only_who_proposed_is_asked_for_the_file(asked_first):
    app = logged_in(ADA)
    app.button(key="release_propose").click().run()
    check(app)
    assert the_one().person == ADA_HERE
    approve("bob@example.org")
    other = logged_in(BOB)
    assert asks_for_nothing(other)
    assert "has to release it: whoever proposed it does" in words(other)
    assert button(other, "release_propose") is None
    app = with_file(logged_in(ADA))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    assert [charge.person for charge in Ledger().history()] == [ADA_HERE]


def test_a_login_is_the_same_person_in_other_capitals(asked_first):
    """What was proposed on the command line: the ledger goes on naming who proposed it."""
    proposed("Ada@Example.org")
    approve()
    app = with_file(logged_in(ADA))
    app.text_input(key="release_typed").set_value("Clinic").run()
    app.button(key="release_now").click().run()
    check(app)
    assert [charge.person for charge in Ledger().history()] == ["Ada@Example.org"]


def test_with_a_login_a_withdrawal_is_by_who_is_there(asked_first):
    proposed()
    app = logged_in(BOB)
    assert button(app, "release_withdraw").label == "Withdraw it"
    app.button(key="release_withdraw").click().run()
    check(app)
    assert the_one().withdrawn_by == "bob@example.org"


def test_an_address_that_differs_in_a_dot_releases_nothing_of_the_other(asked_first):
    """For the ledger it is no other person, so it does not approve either."""
    proposed("a.da@example.org")
    approve()
    app = logged_in(ADA)
    assert asks_for_nothing(app)
    assert "has to release it" in words(app)


def test_after_the_login_is_gone_a_click_withdraws_nothing(asked_first):
    app = logged_in(ADA)
    app.button(key="release_propose").click().run()
    app.user = {}
    app.button(key="release_withdraw").click().run()
    assert not app.exception
    assert the_one().state == "proposed"


# --- what is approved is something else -----------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"purpose": "Cheap"},
        {"plan_hash": "0" * 64},
        {"cost": Cost(definition="pure", amount="0.01")},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_proposal_of_something_else_by_the_request_of_a_release_opens_no_form(asked_first, other):
    """Made on the command line: what another person approved is not what the page shows."""
    proposed()
    one = the_one()
    asked_first.withdraw(one.proposal_id, person="Ada")
    asked_first.propose("Clinic", **same(one, one.request_id) | other)
    for answer in (lambda: None, approve):
        answer()
        app = start_allowing_errors("release")
        assert not app.exception
        assert asks_for_nothing(app)
        assert "asks for something else" in words(app)
        assert "**approved by" not in words(app)
    app.button(key="release_withdraw").click().run()
    assert button(app, "release_propose") is not None


def test_an_approval_that_nobody_signed_asks_for_no_file(asked_first):
    """Written into the file of the ledger by who has no key."""
    proposed()
    approve()
    with closing(sqlite3.connect(asked_first.path)) as connection:
        connection.execute("DROP TRIGGER entries_are_never_changed")
        connection.execute("UPDATE entries SET person = 'Eve' WHERE sequence = 3")
        connection.commit()
    app = start_allowing_errors("release")
    assert not app.exception
    assert asks_for_nothing(app)
    assert "**approved by" not in words(app)
    assert any("Entry 3 was changed" in one.value for one in app.error)


def test_what_is_approved_and_more_than_is_left_asks_for_no_file(asked_first):
    proposed()
    approve()
    one = the_one()
    for request in "abc":
        other = same(one, request) | {"plan_hash": "0" * 64}
        asked_first.approve(asked_first.propose("Clinic", **other).proposal_id, person="Bob")
        asked_first.book("Clinic", **other)
    app = start_allowing_errors("release")
    assert not app.exception
    assert asks_for_nothing(app)
    assert any("can be released under this cap" in one.value for one in app.error)


# --------------------------------------------------------------------------------------------------


def same(one: Proposal, request_id: str) -> dict:
    """A proposal as it is booked, for another request."""
    return {
        "schema_hash": one.schema_hash,
        "cost": one.cost,
        "purpose": one.purpose,
        "plan_hash": one.plan_hash,
        "person": one.person,
        "request_id": request_id,
    }
