"""The ledger in ordinary use: caps, charges, people, requests, heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpci_core.ledger import (
    NO_HEAD,
    Account,
    Cap,
    Charge,
    Cost,
    Ledger,
    RecordedHead,
    UnknownDatasetError,
)

UNIT = "one row is one person"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def create(ledger: Ledger, name: str = "Census", cap: Cap | None = None, **other: Any) -> Account:
    what = {"schema_hash": "schema-1", "unit": UNIT, "person": "Ada"} | other
    return ledger.create_dataset(name, cap=cap, **what)


def book(ledger: Ledger, amount: str, request: str, definition: str = "zcdp", **other: Any) -> Charge:
    what = {"dataset": "Census", "schema_hash": "schema-1", "purpose": "model", "plan_hash": "plan", "person": "Ada"}
    cost = other.pop("cost", None) or Cost(definition=definition, amount=amount)  # type: ignore[arg-type]
    return ledger.book(cost=cost, request_id=request, **(what | other))


def test_a_ledger_that_does_not_exist_is_empty_and_stays_away(ledger: Ledger) -> None:
    assert (ledger.accounts(), ledger.history(), ledger.head(), ledger.find("r")) == ((), (), NO_HEAD, None)
    assert ledger.verify([RecordedHead(NO_HEAD)]).is_good
    with pytest.raises(UnknownDatasetError, match="none yet"):
        ledger.remaining("Census")
    assert not ledger.path.exists()
    assert not ledger.key_path.exists()


def test_a_charge_is_spent_from_booking_on_whatever_becomes_of_it(ledger: Ledger) -> None:
    create(ledger, cap=Cap.zcdp("0.3"))
    first, second, third = (book(ledger, "0.1", request) for request in "abc")
    assert ledger.remaining("Census") == 0
    done = ledger.finish(first.charge_id, result_hash="result")
    failed = ledger.fail(second.charge_id, reason="the solver stopped")
    assert [charge.state for charge in ledger.history()] == ["done", "failed", "booked"]
    assert ledger.remaining("Census") == 0
    assert (done.result_hash, failed.reason, third.is_new) == ("result", "the solver stopped", True)
    assert failed.head == ledger.head() != done.head
    assert ledger.verify([RecordedHead(done.head), RecordedHead(third.head)]).n_entries == 6
