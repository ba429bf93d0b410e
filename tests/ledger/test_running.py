"""A long ledger is booked on from its sealed sums: what that finds, and what it cannot change."""

from __future__ import annotations

import json
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest

from dpci_core.base.errors import BudgetExceededError, LedgerRuleError
from dpci_core.ledger import Charge, Cost, DrawBegunError, Ledger, LedgerDamagedError, running
from dpci_core.ledger import ledger as ledger_module
from tests.ledger.test_faults import book, opened
from tests.ledger_lab import charge as charge_for

_INDEX = "CREATE UNIQUE INDEX one_draw_a_charge ON entries (charge) WHERE kind = 'drawing'"
_TRIGGERS = ("entries_are_never_changed", "entries_are_never_deleted", "entries_are_added_in_order")


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Seven entries, which is long here, and three of them are checked in turn."""
    monkeypatch.setattr(running, "CHECKED_WHOLE", 3)
    monkeypatch.setattr(ledger_module, "CHECKED_WHOLE", 3)
    monkeypatch.setattr(running, "WINDOW", 3)
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


def no_whole_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "check_entries", None)


def test_a_long_ledger_is_booked_on_without_reading_every_entry(ledger, monkeypatch) -> None:
    n, left = len(ledger.history()), ledger.remaining("Census")
    with monkeypatch.context() as patch:
        no_whole_check(patch)
        charge = book(ledger, "next")
        assert charge.is_new
        assert ledger.finish(charge.charge_id, result_hash="x").state == "done"
        assert not book(ledger, "next").is_new
        assert not book(ledger, "r1").is_new
        ends = book(ledger, "r3")
        assert (ends.state, ends.result_hash) == ("done", "result")
        assert ledger.find("r2").request_id == "r2"
        with pytest.raises(LedgerRuleError) as again:
            ledger.fail(charge.charge_id, reason="late")
        assert again.value.code == "charge_has_ended"
    assert (len(ledger.history()), ledger.remaining("Census")) == (n + 1, left - charge.spent)
    assert ledger.verify().is_good


def test_the_cap_of_a_long_ledger_holds_to_the_last_digit(ledger, monkeypatch) -> None:
    left = ledger.remaining("Census")
    no_whole_check(monkeypatch)
    given = {"schema_hash": "s", "purpose": "p", "plan_hash": "h", "person": "Ada"}
    more = Cost(definition="zcdp", amount=left + Decimal("1e-20"))
    with pytest.raises(BudgetExceededError):
        ledger.book("Census", cost=more, request_id="more", **given)
    ledger.book("Census", cost=Cost(definition="zcdp", amount=left), request_id="all", **given)
    assert ledger.remaining("Census") == 0


def test_an_edited_old_amount_gives_nothing_back_and_is_found_when_its_turn_comes(ledger) -> None:
    spent = ledger.account("Census").spent
    edit(ledger, "UPDATE entries SET spent = '0.0000001' WHERE sequence = 3")
    sums = []

    def spend() -> None:
        for k in range(20):
            charge_for(ledger, f"later {k}", Cost(definition="zcdp", amount="0.001"))
            with sqlite3.connect(ledger.path) as connection:
                kept = connection.execute("SELECT content FROM running").fetchone()[0]
            sums.append(Decimal(next(iter(json.loads(kept)["sums"].values()))[0]))

    with pytest.raises(LedgerDamagedError) as found:
        spend()
    assert found.value.code == "not_trusted"
    assert sums == [spent + Decimal("0.001") * k for k in range(1, len(sums) + 1)]
    assert not ledger.verify().is_good


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE running SET content = replace(content, '\"sums\"', '\"sum\"')",
        "UPDATE running SET mac = replace(mac, substr(mac, 1, 1), 'x')",
        "DELETE FROM running",
        "UPDATE running SET content = 'no JSON'",
    ],
)
def test_sums_that_were_changed_are_made_anew_by_the_whole_check(ledger, statement) -> None:
    left = ledger.remaining("Census")
    edit(ledger, statement)
    charge = book(ledger, "next")
    assert ledger.remaining("Census") == left - charge.spent
    assert ledger.verify().is_good


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET cap_amount = '900' WHERE kind = 'account'",
        "UPDATE entries SET unit = 'another' WHERE kind = 'account'",
        "UPDATE entries SET person = 'Eve' WHERE sequence = (SELECT max(sequence) FROM entries)",
        "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
    ],
)
def test_what_decides_a_booking_is_checked_at_each_booking(ledger, statement) -> None:
    book(ledger, "newest")
    edit(ledger, statement)
    with pytest.raises(LedgerDamagedError):
        book(ledger, "next")


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
    ledger, monkeypatch, statements
) -> None:
    monkeypatch.setattr(running, "WINDOW", 0)  # the turn of these entries is not now
    drawn = announced(ledger)
    ledger.begin_draw(drawn.charge_id)
    book(ledger, "later")
    book(ledger, "and later")
    edit(ledger, *statements)
    with pytest.raises(LedgerDamagedError):
        ledger.begin_draw(drawn.charge_id)


def test_a_charge_of_a_long_ledger_goes_on_until_it_is_drawn_for(ledger, monkeypatch) -> None:
    drawn = announced(ledger)
    book(ledger, "later")
    no_whole_check(monkeypatch)
    assert ledger.begin_draw(drawn.charge_id).draw == "begun"
    with pytest.raises(DrawBegunError):
        ledger.begin_draw(drawn.charge_id)


def test_older_sums_with_an_older_end_are_an_older_ledger(ledger, tmp_path: Path) -> None:
    with sqlite3.connect(ledger.path) as connection:
        old = connection.execute("SELECT content, mac FROM running").fetchone()
    book(ledger, "next")
    edit(
        ledger,
        "DELETE FROM entries WHERE sequence = (SELECT max(sequence) FROM entries)",
        f"UPDATE running SET content = '{old[0]}', mac = '{old[1]}'",
    )
    with pytest.raises(LedgerDamagedError):
        book(ledger, "another")


def test_an_edited_charge_is_not_finished(ledger) -> None:
    charge = book(ledger, "r0")
    edit(ledger, f"UPDATE entries SET purpose = 'x' WHERE sequence = {charge.charge_id}")
    with pytest.raises(LedgerDamagedError):
        ledger.finish(charge.charge_id, result_hash="x")
    with pytest.raises(LedgerDamagedError):
        book(ledger, "r0")
