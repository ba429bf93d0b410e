"""Charges that another person approves before they are booked."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpci_core.base.errors import LedgerRuleError, LedgerTextError
from dpci_core.ledger import (
    Account,
    BudgetExceededError,
    Cap,
    Charge,
    Cost,
    Entry,
    Ledger,
    LedgerDamagedError,
    LedgerError,
    NotApprovedError,
    Proposal,
)
from dpci_core.ledger.state import LedgerState
from tests.ledger.test_seals import tampered
from tests.refusals import refuses

ASKED: dict[str, Any] = {
    "dataset": "Clinic",
    "schema_hash": "s",
    "cost": Cost(definition="zcdp", amount="0.25", lines=[("model", "0.15"), ("hessian", "0.1")]),
    "purpose": "model",
    "plan_hash": "p",
    "person": "Ada",
    "request_id": "r",
}


def create(ledger: Ledger, name: str = "Clinic", **other: Any) -> Account:
    given = {"schema_hash": "s", "cap": Cap.zcdp("0.5"), "unit": "one row", "person": "Ada"}
    return ledger.create_dataset(name, **{**given, "needs_approval": True, **other})


def propose(ledger: Ledger, **other: Any) -> Proposal:
    return ledger.propose(**{**ASKED, **other})


def book(ledger: Ledger, **other: Any) -> Charge:
    return ledger.book(**{**ASKED, **other})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "ledger.sqlite")
    create(made)
    return made


def test_nothing_is_booked_that_nobody_else_approved(ledger: Ledger) -> None:
    assert ledger.account("Clinic").needs_approval
    with refuses(NotApprovedError, match="was not proposed. Nothing was booked"):
        book(ledger)
    made = propose(ledger)
    assert (made.state, made.spent, ledger.proposals()) == ("proposed", Decimal("0.25"), (made,))
    with refuses(NotApprovedError, match="Another person than Ada has to approve entry 2 first"):
        book(ledger)
    assert (ledger.history(), ledger.find("r")) == ((), None)
    approved = ledger.approve(made.proposal_id, person="Grace")
    assert (approved.state, approved.approved_by) == ("approved", "Grace")
    assert ledger.proposal_of("r") == approved
    assert ledger.remaining("Clinic") == Decimal("0.5")
    charge = book(ledger)
    assert (charge.is_new, book(ledger).is_new) == (True, False)
    assert ledger.remaining("Clinic") == Decimal("0.25")
    assert ledger.proposal_of("r") == replace(approved, is_booked=True)
    assert ledger.verify().is_good


@pytest.mark.parametrize(
    ("person", "name"),
    [("Ada", name) for name in ("Ada", " ada", "A.D.A.", "\uff21da")]
    + [("Ayd\u0131n", "AYDIN"), ("ilker", "\u0130LKER")],
)
def test_nobody_approves_an_own_proposal(ledger: Ledger, person: str, name: str) -> None:
    made = propose(ledger, person=person)
    with refuses(LedgerRuleError, match="was proposed by .*: another person has to approve"):
        ledger.approve(made.proposal_id, person=name)
    ledger.approve(made.proposal_id, person="Grace")
    with refuses(LedgerRuleError, match="another person has to approve"):
        ledger.approve(made.proposal_id, person=name)
    assert ledger.proposal_of("r").approved_by == "Grace"


def test_one_person_does_not_fill_the_ledger_with_proposals(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether they wait or were withdrawn; what is booked counts no more."""
    monkeypatch.setattr("dpci_core.ledger.transaction.MOST_UNBOOKED", 3)
    made = propose(ledger)
    for _ in range(2):
        ledger.withdraw(propose(ledger, request_id="again").proposal_id, person="Ada")
    size = len(ledger.entries())
    with refuses(LedgerRuleError, match="A.d.a has 3 proposals in this ledger that were not"):
        propose(ledger, request_id="again", person="A.d.a")
    assert (len(ledger.entries()), propose(ledger)) == (size, made)
    assert propose(ledger, request_id="hers", person="Grace").state == "proposed"
    ledger.approve(made.proposal_id, person="Grace")
    assert book(ledger).is_new
    assert propose(ledger, request_id="again").state == "proposed"


def test_many_names_do_not_fill_the_ledger_with_proposals(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where names are typed, one person has as many as they like: an account takes so many."""
    monkeypatch.setattr("dpci_core.ledger.transaction.MOST_UNBOOKED_OF_ACCOUNT", 3)
    made = propose(ledger)
    for name in ("Bo", "Cy"):
        ledger.withdraw(propose(ledger, request_id=name, person=name).proposal_id, person=name)
    size = len(ledger.entries())
    with refuses(LedgerRuleError, match="3 proposals for 'Clinic' were not booked.*makes room"):
        propose(ledger, request_id="Di", person="Di")
    assert (len(ledger.entries()), propose(ledger)) == (size, made)
    create(ledger, "Other", other_people=True)
    assert propose(ledger, dataset="Other", request_id="theirs", person="Di").state == "proposed"
    ledger.approve(made.proposal_id, person="Grace")
    assert book(ledger).is_new
    assert propose(ledger, request_id="Di", person="Di").state == "proposed"


def test_a_name_without_letters_proposes_nothing(ledger: Ledger) -> None:
    """Everybody would be another person."""
    with refuses(LedgerTextError, match="letter"):
        propose(ledger, person="...")
    assert ledger.proposals() == ()


def test_a_name_without_letters_approves_nothing(ledger: Ledger) -> None:
    made = propose(ledger)
    with refuses(LedgerRuleError, match="another person"):
        ledger.approve(made.proposal_id, person="!")
    with refuses(LedgerError, match="person"):
        ledger.approve(made.proposal_id, person=" ")


CHANGES: dict[str, Any] = {
    "cost": Cost(definition="zcdp", amount="0.25", lines=[("model", "0.1"), ("hessian", "0.15")]),
    "purpose": "histogram",
    "plan_hash": "q",
    "person": "Grace",
    "schema_hash": "t",
    "dataset": "Other",
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("act", [book, propose])
def test_what_was_approved_is_what_is_booked(
    ledger: Ledger, act: Callable[..., object], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # a second account is a new sum
    create(ledger, schema_hash="t", cap=None, same_people_as="Clinic")
    create(ledger, "Other", other_people=True)
    ledger.approve(propose(ledger).proposal_id, person="Grace")
    with refuses(LedgerRuleError, match="another content"):
        act(ledger, **{name: CHANGES[name]})
    assert ledger.history() == ()
    assert book(ledger).is_new


def test_a_proposal_reserves_nothing(ledger: Ledger) -> None:
    numbers = [propose(ledger, request_id=name).proposal_id for name in ("r", "r2", "r3")]
    for number in numbers:
        ledger.approve(number, person="Grace")
    book(ledger)
    book(ledger, request_id="r2")
    with pytest.raises(BudgetExceededError):
        book(ledger, request_id="r3")
    with pytest.raises(BudgetExceededError):
        propose(ledger, request_id="r4")
    states = [one.state for one in ledger.proposals()]
    assert states == ["booked", "booked", "approved"]


@pytest.mark.parametrize("is_approved", [False, True])
def test_a_withdrawn_proposal_is_never_booked(ledger: Ledger, is_approved: bool) -> None:
    first = propose(ledger).proposal_id
    if is_approved:
        ledger.approve(first, person="Grace")
    gone = ledger.withdraw(first, person="Joan")
    assert (gone.state, gone.withdrawn_by) == ("withdrawn", "Joan")
    assert ledger.withdraw(first, person="Grace") == gone
    with refuses(NotApprovedError, match="was not proposed"):
        book(ledger)
    with refuses(LedgerRuleError, match="was withdrawn"):
        ledger.approve(first, person="Grace")
    again = propose(ledger)
    assert (again.proposal_id > first, again.state) == (True, "proposed")
    with refuses(NotApprovedError, match=f"has to approve entry {again.proposal_id} first"):
        book(ledger)
    ledger.approve(again.proposal_id, person="Grace")
    assert book(ledger).is_new
    with refuses(LedgerRuleError, match="what is booked stays spent"):
        ledger.withdraw(again.proposal_id, person="Grace")
    assert [one.state for one in ledger.proposals()] == ["withdrawn", "booked"]
    assert ledger.verify().is_good


def test_the_same_again_changes_nothing(ledger: Ledger) -> None:
    made = propose(ledger)
    assert propose(ledger) == made
    approved = ledger.approve(made.proposal_id, person="Grace")
    assert ledger.approve(made.proposal_id, person="Joan") == approved == propose(ledger)
    assert len(ledger.entries()) == 3
    book(ledger)
    assert ledger.approve(made.proposal_id, person="Joan") == propose(ledger)
    assert len(ledger.entries()) == 4


@pytest.mark.parametrize("number", [1, 3, 99, -1, 10**30, "2", None, 4.0, np.int64(4), [4]])
def test_only_a_proposal_is_answered(ledger: Ledger, number: Any) -> None:
    """A number that is no whole one of Python would be sealed otherwise than it is kept."""
    propose(ledger)
    ledger.approve(2, person="Grace")
    propose(ledger, request_id="r2")
    for answer in (ledger.approve, ledger.withdraw):
        with refuses(LedgerRuleError, match="no proposal"):
            answer(number, person="Grace")
    assert ledger.verify().is_good


@pytest.mark.parametrize("number", [4.0, np.int64(4), [4]])
def test_only_a_charge_is_drawn_for_and_ended(ledger: Ledger, number: Any) -> None:
    ledger.approve(propose(ledger).proposal_id, person="Grace")
    assert book(ledger, draws_later=True).charge_id == 4
    for act in (ledger.begin_draw, lambda one: ledger.finish(one, result_hash="h")):
        with refuses(LedgerRuleError, match="no charge"):
            act(number)
    assert ledger.verify().is_good


def test_a_request_that_another_account_booked_books_no_proposal(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    create(ledger, "Free", other_people=True, needs_approval=False)
    ledger.approve(propose(ledger).proposal_id, person="Grace")
    assert book(ledger, dataset="Free").is_new
    assert [one.state for one in ledger.proposals()] == ["approved"]
    with refuses(LedgerRuleError, match="another content"):
        book(ledger)
    number = ledger.proposals()[0].proposal_id
    assert ledger.withdraw(number, person="Grace").state == "withdrawn"


def test_approval_is_declared_with_the_cap_once(ledger: Ledger, monkeypatch: Any) -> None:
    monkeypatch.undo()
    shared = create(ledger, "Later", cap=None, same_people_as="Clinic", needs_approval=False)
    assert shared.needs_approval
    with pytest.raises(NotApprovedError):
        book(ledger, dataset="Later")
    assert not create(ledger, "Free", other_people=True, needs_approval=False).needs_approval
    with refuses(LedgerRuleError, match="declared with the cap, once"):
        create(ledger, "Free too", cap=None, same_people_as="Free")
    with refuses(LedgerRuleError, match="No charge of the data set 'Free' needs approval"):
        propose(ledger, dataset="Free")
    assert book(ledger, dataset="Free").is_new
    with refuses(LedgerRuleError, match="another content"):
        propose(ledger)  # the request is known, of another account


# --- what somebody with the file, or a wrong program, could have written --------------------------


def written(folder: Path) -> Ledger:
    """account, proposed, approved, booked, proposed, withdrawn, proposed."""
    made = Ledger(folder / "ledger.sqlite")
    create(made)
    made.approve(propose(made).proposal_id, person="Grace")
    book(made)
    made.withdraw(propose(made, request_id="r2").proposal_id, person="Grace")
    propose(made, request_id="r2")
    return made


@pytest.fixture
def booked(tmp_path: Path) -> Ledger:
    return written(tmp_path)


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> tuple[Entry, ...]:
    """Of such a ledger; nothing can change them."""
    return written(tmp_path_factory.mktemp("booked")).entries()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET approval = NULL WHERE sequence = 1",
        "UPDATE entries SET person = 'Joan' WHERE sequence = 3",
        "UPDATE entries SET proposal = 5 WHERE sequence = 3",
        "UPDATE entries SET proposal = 2 WHERE sequence = 6",
        "UPDATE entries SET kind = 'approved' WHERE sequence = 6",
        "DELETE FROM entries WHERE sequence = 6",
    ],
)
def test_an_edit_is_found(booked: Ledger, statement: str) -> None:
    assert booked.verify().is_good
    assert not tampered(booked, statement).is_good
    with pytest.raises(LedgerDamagedError):
        propose(booked, request_id="r3")


def edited(given: tuple[Entry, ...], *kept: int, **changes: Any) -> list[Entry]:
    """Entries that a program with the key could write, numbered anew; the last one is changed."""
    entries = [given[number - 1] for number in kept]
    entries[-1] = replace(entries[-1], **changes)
    return [replace(entry, sequence=k) for k, entry in enumerate(entries, start=1)]


SAME_PEOPLE = {"people": "same", "account": 1, "dataset": "B"}
"""Of an account that shares the cap of the first."""


@pytest.mark.parametrize(
    ("kept", "changes", "code"),
    [
        ((1, 4), {}, "entry_not_approved"),
        ((1, 2, 4), {}, "entry_not_approved"),
        ((1, 2, 3, 4), {"plan_hash": "q"}, "entry_not_approved"),
        ((1, 2, 3, 4), {"person": "Joan"}, "entry_not_approved"),
        ((1, 2, 3, 4), {"purpose": "q"}, "entry_not_approved"),
        ((1, 2, 3, 4), {"cost_lines": '[["model", "0.25"]]'}, "entry_not_approved"),
        ((1, 2, 3, 6, 4), {}, None),
        ((1, 2, 3), {"person": "ada"}, "entry_answers_again"),
        ((1, 2, 3, 3), {"person": "Joan"}, "entry_answers_again"),
        ((1, 2, 3, 4, 6), {"proposal": 2}, "entry_answers_again"),
        ((1, 2, 2), {}, "entry_of_a_known_request"),
        ((1, 2, 3, 4, 2), {}, "entry_proposes_in_vain"),
        ((1, 3), {}, "entry_impossible"),
        ((1, 2, 3), {"proposal": 1}, "entry_impossible"),
        ((1, 1), {**SAME_PEOPLE, "approval": None}, "other"),
        (
            (1, 1),
            {"people": "other", "schema_hash": "t", "approval": None},
            "entry_with_another_cap",
        ),
        ((1, 1), {**SAME_PEOPLE, "unit": "one visit"}, "entry_with_another_unit"),
        ((1, 1), {**SAME_PEOPLE, "rows": "several a person"}, "entry_with_another_unit"),
        ((1,), {"rows": "some"}, "entry_impossible"),
        ((1,), {"approval": "nobody"}, "entry_impossible"),
        ((1, 2), {"account": 1}, "none needed"),
    ],
)
def test_what_no_right_program_writes_is_damage(
    entries: tuple[Entry, ...], kept: tuple[int, ...], changes: dict[str, Any], code: str | None
) -> None:
    if code is None:  # withdrawn before it is booked
        wrong = edited(entries, *kept)
        wrong[3] = replace(wrong[3], proposal=2)
        code = "entry_not_approved"
    else:
        wrong = edited(entries, *kept, **changes)
    if code == "none needed":
        wrong[0], code = replace(wrong[0], approval=None), "entry_proposes_in_vain"
    code = "entry_with_another_approval" if code == "other" else code
    with pytest.raises(LedgerDamagedError) as found:
        LedgerState.of(wrong)
    assert found.value.code == code
    LedgerState.of(entries)


def test_an_approval_is_of_one_account(tmp_path: Path) -> None:
    """Two that a wrong program gave names which are one."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    create(ledger)
    create(ledger, "Other", other_people=True)
    ledger.approve(propose(ledger).proposal_id, person="Grace")
    book(ledger)
    first, other, proposed, approved, booked = ledger.entries()
    other = replace(other, dataset="CLINIC")
    LedgerState.of([first, other, proposed, approved, booked])
    with pytest.raises(LedgerDamagedError) as found:
        LedgerState.of([first, other, proposed, approved, replace(booked, account=2)])
    assert found.value.code == "entry_not_approved"


@pytest.mark.parametrize("is_rotated", [False, True])
def test_a_withdrawal_taken_out_is_found_by_the_very_booking(
    tmp_path: Path, is_rotated: bool
) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    create(ledger)
    number = ledger.approve(propose(ledger).proposal_id, person="Grace").proposal_id
    ledger.withdraw(number, person="Joan")
    if is_rotated:
        ledger.rotate_key(person="Ada")
    propose(ledger, request_id="r2")
    with pytest.raises(NotApprovedError):
        book(ledger)
    tampered(ledger, "DELETE FROM entries WHERE kind = 'withdrawn'")
    with pytest.raises(LedgerDamagedError):
        book(ledger)
    assert ledger.history() == ()


ANSWERS = (
    "CREATE UNIQUE INDEX one_answer_a_proposal ON entries (proposal, kind) "
    "WHERE kind IN ('approved', 'withdrawn')"
)
CHARGES = "CREATE UNIQUE INDEX one_charge_a_request ON entries (request_id) WHERE kind = 'booked'"


def hide(ledger: Ledger, index: str, hidden: str, shown: str) -> None:
    """Make an index that holds less than it says."""
    with sqlite3.connect(ledger.path) as connection:
        connection.execute(f"DROP INDEX {index}")
        connection.execute(hidden)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?", (shown, index))
    connection.close()


@pytest.mark.parametrize(
    ("index", "hidden", "kind"),
    [
        ("one_answer_a_proposal", f"{ANSWERS} AND kind != 'withdrawn'", "withdrawn"),
        ("one_charge_a_request", f"{CHARGES} AND request_id = ''", "booked"),
    ],
)
def test_what_is_left_out_of_an_index_is_known_all_the_same(
    tmp_path: Path, index: str, hidden: str, kind: str
) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    create(ledger)
    number = ledger.approve(propose(ledger).proposal_id, person="Grace").proposal_id
    if kind == "withdrawn":
        ledger.withdraw(number, person="Grace")
    else:
        book(ledger)
    hide(ledger, index, hidden, {"withdrawn": ANSWERS, "booked": CHARGES}[kind])
    if kind == "withdrawn":
        with pytest.raises(NotApprovedError):
            book(ledger)
    else:
        assert not book(ledger).is_new
    assert not ledger.verify().is_good


def test_a_clock_set_back_is_remarked_at_proposals_and_their_answers(tmp_path: Path) -> None:
    days = iter((5, 4, 3, 6))
    ledger = Ledger(
        tmp_path / "ledger.sqlite", clock=lambda: datetime(2026, 3, next(days), tzinfo=UTC)
    )
    create(ledger)
    ledger.approve(propose(ledger).proposal_id, person="Grace")
    book(ledger)
    assert [remark.facts["entry"] for remark in ledger.verify().remarks] == [2, 3]


# --- at once --------------------------------------------------------------------------------------


def at_once(*works: Callable[[], object]) -> list[object]:
    """What each returns or raises, all started together."""
    found: list[object] = [None] * len(works)
    start = threading.Barrier(len(works))

    def run(place: int) -> None:
        start.wait()
        try:
            found[place] = works[place]()
        except LedgerError as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


@pytest.mark.parametrize("k", range(5))
def test_of_withdrawing_and_booking_at_once_one_wins(tmp_path: Path, k: int) -> None:
    path = tmp_path / "ledger.sqlite"
    create(Ledger(path))
    number = propose(Ledger(path)).proposal_id
    Ledger(path).approve(number, person="Grace")
    charges = at_once(
        lambda: book(Ledger(path)),
        lambda: Ledger(path).withdraw(number, person="Grace"),
        lambda: book(Ledger(path)),
        lambda: propose(Ledger(path)),
    )
    ledger = Ledger(path)
    n_new = sum(isinstance(one, Charge) and one.is_new for one in charges)
    assert n_new == len(ledger.history())
    assert isinstance(charges[1], Proposal) is (n_new == 0)
    assert ledger.verify().is_good


def test_a_look_at_what_is_booked_meanwhile_says_what_booking_would(ledger: Ledger) -> None:
    """A request that another account booked is no damage, and what is booked waits for nobody."""
    ledger.approve(propose(ledger).proposal_id, person="Grace")
    create(ledger, "Free", needs_approval=False, other_people=True)
    ledger.approve(propose(ledger, request_id="q").proposal_id, person="Grace")
    book(ledger, dataset="Free", request_id="q")
    for ask in (ledger.check_approved, ledger.book):
        with refuses(LedgerRuleError, match="another content"):
            ask(**ASKED | {"request_id": "q"})
    book(ledger)
    ledger.check_approved(**ASKED)
    assert not book(ledger).is_new
