"""Who may write the file and has no key can neither give budget back nor hide what was booked,
drawn or ended; and a ledger that is full ends what it holds.
"""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from dpci_core.base.errors import BudgetExceededError, LedgerRuleError
from dpci_core.ledger import Cap, Charge, Cost, DrawBegunError, Ledger, LedgerDamagedError
from dpci_core.ledger import transaction as transaction_module
from tests.ledger.test_faults import book, create, opened
from tests.refusals import refuses

_INDEX = "CREATE UNIQUE INDEX one_draw_a_charge ON entries (charge) WHERE kind = 'drawing'"
_TRIGGERS = ("entries_are_never_changed", "entries_are_never_deleted", "entries_are_added_in_order")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """Seven entries."""
    made = opened(tmp_path / "ledger.sqlite")
    for k in range(4):
        charge = book(made, f"r{k}")
    made.finish(charge.charge_id, result_hash="result")
    return made


def edit(ledger: Ledger, *statements: str) -> None:
    """As somebody who may write the file and has no key."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    kept = [
        connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
        for name in _TRIGGERS
    ]
    for name in _TRIGGERS:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in (*statements, *kept):
        connection.execute(statement)
    connection.close()


def announced(ledger: Ledger) -> Charge:
    return ledger.book(
        "Census",
        schema_hash="s",
        cost=Cost(definition="zcdp", amount="0.1"),
        purpose="model",
        plan_hash="p",
        person="Ada",
        request_id="announced",
        draws_later=True,
    )


def test_the_cap_holds_to_the_last_digit(ledger: Ledger) -> None:
    left = ledger.remaining("Census")
    given = {"schema_hash": "s", "purpose": "p", "plan_hash": "h", "person": "Ada"}
    more = Cost(definition="zcdp", amount=left + Decimal("1e-20"))
    with pytest.raises(BudgetExceededError):
        ledger.book("Census", cost=more, request_id="more", **given)
    ledger.book("Census", cost=Cost(definition="zcdp", amount=left), request_id="all", **given)
    assert ledger.remaining("Census") == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spent = '0.0000001' WHERE sequence = 3",
        "UPDATE entries SET purpose = 'x' WHERE sequence = 3",
        "UPDATE entries SET cap_amount = '900' WHERE kind = 'account'",
        "UPDATE entries SET unit = 'another' WHERE kind = 'account'",
        "UPDATE entries SET rows = 'several a person' WHERE kind = 'account'",
        "UPDATE entries SET result_hash = 'x' WHERE sequence = 7",
        "DELETE FROM entries WHERE sequence = 3",
        "DELETE FROM entries WHERE sequence = 7",
    ],
)
def test_any_edit_is_found_by_whatever_is_done_next(ledger: Ledger, statement: str) -> None:
    edit(ledger, statement)
    assert not ledger.verify().is_good
    for do in (
        lambda: book(ledger, "next"),
        lambda: book(ledger, "r0"),
        lambda: ledger.finish(3, result_hash="x"),
        lambda: ledger.begin_draw(3),
        lambda: create(ledger, "Others", other_people=True),
        lambda: ledger.rotate_key(person="Ada"),
    ):
        with refuses(LedgerDamagedError, match="nothing is booked on it"):
            do()


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM entries WHERE kind = 'drawing'"],
        ["UPDATE entries SET charge = 2 WHERE kind = 'drawing'"],
        [
            "DROP INDEX one_draw_a_charge",
            f"{_INDEX} AND charge < 0",
            "PRAGMA writable_schema = ON",
            f'UPDATE sqlite_master SET sql = "{_INDEX}" WHERE name = "one_draw_a_charge"',
        ],
    ],
    ids=["removed", "moved", "left out of its index"],
)
def test_nothing_is_drawn_again_for_a_charge_whose_draw_is_hidden(
    ledger: Ledger, statements: list[str]
) -> None:
    drawn = announced(ledger)
    ledger.begin_draw(drawn.charge_id)
    book(ledger, "later")
    edit(ledger, *statements)
    with pytest.raises((LedgerDamagedError, DrawBegunError)):
        ledger.begin_draw(drawn.charge_id)


def test_a_full_ledger_takes_no_further_charge_and_ends_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transaction_module, "MOST_ENTRIES", 6)
    ledger = Ledger(tmp_path / "ledger.sqlite")
    create(ledger)
    create(ledger, "Asked", needs_approval=True, other_people=True, cap=Cap.zcdp(1))
    asked = {"schema_hash": "s", "cost": Cost(definition="zcdp", amount="0.1"), "purpose": "model"}
    asked |= {"plan_hash": "p", "person": "Ada"}
    ledger.approve(ledger.propose("Asked", request_id="a", **asked).proposal_id, person="Grace")
    waits = ledger.propose("Asked", request_id="b", **asked)
    drawn = announced(ledger)  # the sixth entry
    for do in (
        lambda: book(ledger, "next"),
        lambda: create(ledger, "Others", other_people=True),
        lambda: ledger.propose("Asked", request_id="c", **asked),
        lambda: ledger.book("Asked", request_id="a", **asked),
        lambda: ledger.check_approved("Asked", request_id="a", **asked),
    ):
        with refuses(LedgerRuleError, match="has 6 entries and takes no further charge"):
            do()
    assert not announced(ledger).is_new
    assert ledger.begin_draw(drawn.charge_id).draw == "begun"
    assert ledger.finish(drawn.charge_id, result_hash="r").state == "done"
    assert ledger.withdraw(waits.proposal_id, person="Ada").state == "withdrawn"
    ledger.rotate_key(person="Ada")
    assert ledger.verify().is_good
