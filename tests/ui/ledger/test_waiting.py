"""The page Ledger where proposals wait for another person: who may answer, and what a late click
leads to.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from dpci_core.estimators.settings import written_call
from dpci_core.ledger import Cap, Cost, Ledger, Proposal
from tests.ui.release.test_page import desk, words
from tests.ui.session.test_access import ADA, AUTH
from tests.ui.test_pages import ROOT, check, start
from ui.ledger import page
from ui.session.text import plain
from ui.views import ledger_text

__all__ = ["desk"]  # a ledger for every test
BOB = {**ADA, "email": "bob@example.org"}
HASH = "0123456789abcdef" * 4


@pytest.fixture
def ledger(desk) -> Ledger:
    """A data set of which each charge needs approval."""
    made = Ledger()
    made.create_dataset(
        "Clinic",
        schema_hash="0" * 64,
        cap=Cap.pure(3),
        unit="one patient",
        person="Ada",
        needs_approval=True,
    )
    return made


def asked(request: str = "r1", amount: str = "1", person: str = "Ada", **other: str) -> dict:
    return {
        "schema_hash": "0" * 64,
        "cost": Cost(definition="pure", amount=amount),
        "purpose": "First plan",
        "plan_hash": HASH,
        "person": person,
        "request_id": request,
    } | other


def propose(ledger: Ledger, *what: str, **other: str) -> int:
    return ledger.propose("Clinic", **asked(*what, **other)).proposal_id


def as_person(app: AppTest, name: str) -> AppTest:
    app.text_input(key="ledger_person").set_value(name).run()
    check(app)
    return app


def page_of(user: dict) -> AppTest:
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60)
    app.secrets["auth"] = AUTH
    app.user = user
    app.switch_page(str(ROOT / "pages" / "ledger.py")).run()
    check(app)
    return app


def buttons(app: AppTest) -> dict[str, bool]:
    """The answers that the page offers, and whether they can be pressed."""
    keys = {b.key: not b.disabled for b in app.button if b.key}
    names = ("ledger_approve_", "ledger_withdraw_")
    return {key.removeprefix("ledger_"): on for key, on in keys.items() if key.startswith(names)}


def headers(app: AppTest) -> list[str]:
    return [header.value for header in app.header]


def states(ledger: Ledger) -> list[str]:
    return [one.state for one in ledger.proposals()]


def downloads(app: AppTest) -> set[str]:
    return {b.proto.label for b in app.get("download_button")}


# --- what is shown --------------------------------------------------------------------------------


def test_a_ledger_that_asks_for_no_approval_has_no_such_part(desk):
    Ledger().create_dataset(
        "Clinic", schema_hash="0" * 64, cap=Cap.pure(3), unit="one patient", person="Ada"
    )
    app = start("ledger")
    assert headers(app) == ["Budgets", "History", "Integrity check", "Downloads"]
    assert ledger_text.NEEDS_APPROVAL not in words(app)
    assert "Proposals (CSV)" not in downloads(app)


def test_a_budget_says_that_it_needs_approval_and_the_part_waits_for_a_proposal(ledger):
    app = start("ledger")
    assert ledger_text.NEEDS_APPROVAL in words(app)
    assert "Waiting for approval" not in headers(app)
    assert "Proposals (CSV)" not in downloads(app)
    propose(ledger)
    app = start("ledger")
    assert headers(app)[:3] == ["Budgets", "Waiting for approval", "History"]
    assert "Proposals (CSV)" in downloads(app)


def test_a_proposal_shows_all_that_is_agreed_to(ledger):
    propose(ledger, purpose="A *plan*")
    shown = words(start("ledger"))
    for needed in (
        f"**Clinic**: {plain('A *plan*')}",
        "**ε = 1**; what would remain: ε = 2 of 3",
        "Proposed by Ada on 20",
        "as entry 2; plan `0123",
    ):
        assert needed in shown
    assert f"plan `{HASH}`" in shown


def test_the_settings_of_a_fit_are_shown_in_full_and_its_charge_by_their_beginning(ledger):
    call = written_call("DPLogisticRegression.fit", {"label": "t_1", "classes": ("a", "b") * 20})
    number = propose(ledger, purpose=call)
    shown = start("ledger")
    assert f"**Clinic**: {plain(call)}" in words(shown)
    ledger.approve(number, person="Bob")
    ledger.book("Clinic", **asked(purpose=call))
    table = page.history_table(ledger.history())
    assert table["what for"].tolist() == [call[:79] + "…"]


def test_a_cost_in_another_currency_leaves_what_it_takes_of_the_cap(desk):
    ledger = Ledger()
    cap = {"cap": Cap.zcdp(2), "unit": "one patient", "person": "Ada"}
    ledger.create_dataset("Clinic", schema_hash="0" * 64, needs_approval=True, **cap)
    propose(ledger)
    assert "**ε = 1**; what would remain: ρ = 1.5 of 2" in words(start("ledger"))


def test_a_draw_that_was_begun_and_has_no_result_is_told_otherwise_than_one_that_waits(desk):
    ledger = Ledger()
    cap = {"cap": Cap.pure(3), "unit": "one patient", "person": "Ada"}
    ledger.create_dataset("Free", schema_hash="0" * 64, **cap)
    ledger.book("Free", **asked("waits"), draws_later=True)
    lost = ledger.book("Free", **asked("lost"), draws_later=True)
    ledger.begin_draw(lost.charge_id)
    assert page.history_table(ledger.history())["state"].tolist() == [
        "⏳ booked, no result: it runs, or broke off",
        "⏳ booked, nothing drawn yet",
    ]


@pytest.mark.parametrize("end", ["withdrawn", "booked"])
def test_what_was_withdrawn_or_booked_waits_for_nobody(ledger, end):
    number = propose(ledger)
    if end == "withdrawn":
        ledger.withdraw(number, person="Ada")
    else:
        ledger.approve(number, person="Bob")
        ledger.book("Clinic", **asked())
    app = start("ledger")
    assert states(ledger) == [end]
    assert headers(app)[:2] == ["Budgets", "History"]
    assert buttons(app) == {}
    assert "Proposals (CSV)" in downloads(app)


# --- without a login ------------------------------------------------------------------------------


def test_without_a_login_a_name_has_to_be_typed(ledger):
    number = propose(ledger)
    app = start("ledger")
    assert ledger_text.NO_LOGIN in words(app)
    assert buttons(app) == {f"approve_{number}": False, f"withdraw_{number}": False}
    as_person(app, "Bob")
    assert all(buttons(app).values())
    app.button(key=f"ledger_approve_{number}").click().run()
    check(app)
    (one,) = ledger.proposals()
    assert (one.state, one.approved_by) == ("approved", "Bob")
    assert "Entry 2 is approved by Bob: Ada may release it now." in words(app)
    assert buttons(app) == {f"withdraw_{number}": True}
    assert headers(app)[1] == "Approved, not released yet"


@pytest.mark.parametrize("name", ["Ada", " ada", "A.D.A."])
def test_the_own_proposal_has_a_sentence_in_the_place_of_the_button(ledger, name):
    number = propose(ledger)
    app = as_person(start("ledger"), name)
    assert ledger_text.THE_OWN in words(app)
    assert buttons(app) == {f"withdraw_{number}": True}


def test_a_name_typed_at_the_last_moment_does_not_approve_the_own(ledger):
    number = propose(ledger)
    app = as_person(start("ledger"), "Bob")
    app.text_input(key="ledger_person").set_value("Ada")
    app.button(key=f"ledger_approve_{number}").click().run()
    assert not app.exception
    assert any("another person has to approve it" in one.value for one in app.error)
    assert states(ledger) == ["proposed"]


def test_a_name_that_the_ledger_refuses_is_a_sentence(ledger):
    number = propose(ledger)
    app = as_person(start("ledger"), "Bob\u200b")
    app.button(key=f"ledger_approve_{number}").click().run()
    assert not app.exception
    assert any("zero width space" in one.value for one in app.error)
    assert states(ledger) == ["proposed"]


def test_a_click_answers_the_proposal_of_its_row_alone(ledger):
    first, second = propose(ledger), propose(ledger, "r2")
    app = as_person(start("ledger"), "Bob")
    app.button(key=f"ledger_approve_{second}").click().run()
    check(app)
    assert states(ledger) == ["proposed", "approved"]
    app.button(key=f"ledger_withdraw_{second}").click().run()
    check(app)
    assert states(ledger) == ["proposed", "withdrawn"]
    assert "Entry 3 was withdrawn by Bob: it will never be booked." in words(app)
    assert set(buttons(app)) == {f"approve_{first}", f"withdraw_{first}"}


def test_what_is_more_than_is_left_cannot_be_approved(ledger):
    number, large = propose(ledger), propose(ledger, "r2", "2.5")
    ledger.approve(number, person="Bob")
    ledger.book("Clinic", **asked())
    app = as_person(start("ledger"), "Bob")
    assert ledger_text.NEVER in words(app)
    assert "**ε = 2.5**; what would remain: nothing" in words(app)
    assert buttons(app) == {f"withdraw_{large}": True}


# --- with a login ---------------------------------------------------------------------------------


def test_with_a_login_the_ledger_writes_who_is_there(ledger):
    number = propose(ledger, person="ada@example.org")
    own = page_of(ADA)
    assert ledger_text.NO_LOGIN not in words(own)
    assert ledger_text.THE_OWN in words(own)
    assert buttons(own) == {f"withdraw_{number}": True}
    other = page_of(BOB)
    other.button(key=f"ledger_approve_{number}").click().run()
    check(other)
    assert ledger.proposals()[0].approved_by == "bob@example.org"
    own = page_of(ADA)
    own.button(key=f"ledger_withdraw_{number}").click().run()
    check(own)
    assert ledger.proposals()[0].withdrawn_by == "ada@example.org"


# --- what another tab does meanwhile --------------------------------------------------------------


def at_the_button(ledger: Ledger) -> tuple[AppTest, Proposal]:
    propose(ledger)
    return as_person(start("ledger"), "Bob"), ledger.proposals()[0]


@pytest.mark.parametrize("name", ["approve", "withdraw"])
def test_a_second_click_changes_nothing(ledger, name):
    app, one = at_the_button(ledger)
    other = as_person(start("ledger"), "Carl")
    for tab in (app, other):
        tab.button(key=f"ledger_{name}_{one.proposal_id}").click().run()
        check(tab)
        assert "by Bob: " in words(tab)
    assert len(ledger.entries()) == 3


def test_what_was_withdrawn_meanwhile_is_not_approved(ledger):
    app, one = at_the_button(ledger)
    ledger.withdraw(one.proposal_id, person="Ada")
    propose(ledger)  # the same again: another proposal, which nobody has read here
    app.button(key="ledger_approve_2").click().run()
    assert not app.exception
    assert any("The proposal 2 was withdrawn" in error.value for error in app.error)
    assert states(ledger) == ["withdrawn", "proposed"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("approve", "Entry 2 is booked, by Ada."), ("withdraw", "what is booked stays spent")],
)
def test_what_was_booked_meanwhile_is_said_so(ledger, name, said):
    app, one = at_the_button(ledger)
    ledger.approve(one.proposal_id, person="Carl")
    ledger.book("Clinic", **asked())
    app.button(key=f"ledger_{name}_2").click().run()
    assert not app.exception
    assert said in words(app)
    assert states(ledger) == ["booked"]


def test_an_account_made_between_two_looks_waits_for_the_next_one(ledger, monkeypatch):
    propose(ledger)
    one = ledger.proposals()[0]
    newer = replace(one, proposal_id=9, account_id=8)
    monkeypatch.setattr(Ledger, "proposals", lambda self: (one, newer))
    assert set(buttons(start("ledger"))) == {"approve_2", "withdraw_2"}


def test_what_was_answered_stays_in_its_row(ledger):
    """Else the second half of a double click answers the next row."""
    first, second = propose(ledger), propose(ledger, "r2")
    app = as_person(start("ledger"), "Bob")
    assert list(buttons(app))[:2] == [f"withdraw_{first}", f"approve_{first}"]
    app.button(key=f"ledger_withdraw_{first}").click().run()
    check(app)
    shown = words(app)
    assert shown.index("as entry 2") < shown.index("as entry 3")
    assert set(buttons(app)) == {f"withdraw_{second}", f"approve_{second}"}
    ledger.withdraw(second, person="Ada")
    app.run()
    check(app)
    assert headers(app)[1] == "Answered"
    assert "Entry 3 was withdrawn by Ada" in words(app)
    assert ledger_text.WAITING not in words(app)
    assert headers(start("ledger"))[1] == "History"


def test_what_is_approved_and_more_than_is_left_may_not_be_released(ledger):
    number, large = propose(ledger), propose(ledger, "r2", "2.5")
    for one in (number, large):
        ledger.approve(one, person="Bob")
    ledger.book("Clinic", **asked())
    shown = words(start("ledger"))
    assert "Ada may release it now" not in shown
    assert f"Entry {large} is approved by Bob. {ledger_text.NEVER}" in shown


@pytest.mark.parametrize(
    "text", ["`**x**`", "``", "`![](//e.example)", ":smile:", "&lt;b&gt;"], ids=str
)
def test_a_hash_that_is_none_stays_a_text(ledger, text):
    propose(ledger, plan_hash=text)
    shown = words(start("ledger"))
    longest = "`" * (1 + max(len(run) for run in re.findall("`*", text)))
    blank = " " * ("`" in text)
    assert f"plan {longest}{blank}{text}{blank}{longest}\n" in shown + "\n"


def test_who_left_the_list_answers_nothing_on_a_page_that_is_still_open(ledger):
    number = propose(ledger)
    for user, secrets in (({}, {}), (BOB, {"people": ["carl@example.org"]})):
        app = page_of(BOB)
        app.user = user
        app.secrets["access"] = secrets
        app.button(key=f"ledger_approve_{number}").click().run()
        assert not app.exception
        assert states(ledger) == ["proposed"]


def test_a_name_is_typed_once_in_a_session_and_can_be_emptied(ledger):
    propose(ledger)
    app = start("ledger")
    assert app.text_input(key="ledger_person").value == ""
    as_person(app, "Bob")
    as_person(app, "")
    assert app.text_input(key="ledger_person").value == ""
