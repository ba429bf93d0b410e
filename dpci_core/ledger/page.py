"""The open end of the ledger: what one writing operation knows, checks and adds."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from dpci_core.base.errors import BudgetExceededError, Finding, LedgerRuleError
from dpci_core.ledger.amounts import Cost, as_text, price
from dpci_core.ledger.books import Account, Books, Charge, lines_text
from dpci_core.ledger.database import (
    add_entry,
    charge_entries,
    proposal_entries,
    read_entries,
    read_some,
)
from dpci_core.ledger.entries import Entry, Kind, digest_of
from dpci_core.ledger.key import Key, SigningKey
from dpci_core.ledger.names import MOST_OF_PURPOSE, one_line
from dpci_core.ledger.problems import LedgerDamagedError, NotApprovedError
from dpci_core.ledger.proposals import Proposal, content_of
from dpci_core.ledger.running import entries_since, sealed

EntriesOf = Callable[[sqlite3.Connection, str, int | str], tuple[Entry, ...]]


@dataclass(slots=True)
class Wanted:
    """What somebody asks to be booked, its texts checked."""

    dataset: str
    schema_hash: str
    cost: Cost
    purpose: str
    plan_hash: str
    person: str
    request_id: str

    def __post_init__(self) -> None:
        for name in ("schema_hash", "plan_hash", "person", "request_id"):
            setattr(self, name, one_line(getattr(self, name), name=name))
        self.purpose = one_line(self.purpose, name="purpose", most=MOST_OF_PURPOSE)

    def check_same(self, known: Charge | Proposal, entry: int) -> None:
        """Refuse anything else than what is known of this request."""
        if content_of(self) != content_of(known):
            raise LedgerRuleError("another_content", request=self.request_id, entry=entry)

    def check_approved(self, proposal: Proposal | None) -> Proposal:
        """Return the proposal of exactly this that another person approved, or refuse."""
        if proposal is None or proposal.state == "withdrawn":
            raise NotApprovedError("not_proposed", request=self.request_id)
        self.check_same(proposal, proposal.proposal_id)
        if proposal.state != "approved":
            raise proposal.waiting()
        return proposal

    def fields(self, account: Account, spent: Decimal) -> dict[str, Any]:
        """Of its entry, booked or proposed."""
        return {
            "person": self.person,
            "account": account.account_id,
            "cost_definition": self.cost.definition,
            "cost_amount": as_text(self.cost.amount),
            "cost_lines": lines_text(self.cost),
            "spent": as_text(spent),
            "purpose": self.purpose,
            "plan_hash": self.plan_hash,
            "request_id": self.request_id,
        }


@dataclass(slots=True)
class Page:
    """The open end of the ledger while this process alone may write.

    is_long: whether the books hold accounts and sums only, and charges are looked up.
    """

    connection: sqlite3.Connection
    key: Key
    books: Books
    last: Entry | None
    clock: Callable[[], datetime]
    n_checked: int = 0
    is_long: bool = False

    def charge_of(self, request_id: str) -> Charge | None:
        """The charge of a request, None if there is none."""
        self._look_up("request_id = ?", request_id)
        known = self.books.by_request.get(request_id)
        return None if known is None else self.books.charges[known]

    def booked(self, wanted: Wanted) -> Charge | None:
        """The charge of exactly this, None if the request is not booked."""
        charge = self.charge_of(wanted.request_id)
        if charge is not None:
            wanted.check_same(charge, charge.charge_id)
        return charge

    def charge(self, charge_id: int) -> Charge | None:
        """The charge of a number, None if there is none."""
        # 2.0 would find the same, and be sealed as text that the table does not keep
        if type(charge_id) is not int:
            return None
        self._look_up("sequence = ?", charge_id)
        return self.books.charges.get(charge_id)

    def within_cap(self, wanted: Wanted) -> tuple[Account, Decimal]:
        """The account that would pay and what it would pay, if it has that much left."""
        account = self.books.account(wanted.dataset, wanted.schema_hash)
        spent = price(account.cap, wanted.cost)
        if spent > account.remaining:
            raise BudgetExceededError(spent, account.remaining, symbol=account.cap.symbol)
        return account, spent

    def proposal_of(self, request_id: str) -> Proposal | None:
        """The newest proposal of a request, None if there is none."""
        self._look_up("request_id = ?", request_id, proposal_entries)
        self._look_up("request_id = ?", request_id)  # whether it is booked
        return self.books.proposals.of(request_id)

    def check_approved(self, wanted: Wanted) -> None:
        """Refuse what nobody approved, and in a long ledger what was withdrawn or booked out of
        sight.
        """
        number = wanted.check_approved(self.proposal_of(wanted.request_id)).proposal_id
        self._check_nothing_hidden(
            number,
            lambda entry: (
                (entry.kind == "withdrawn" and entry.proposal == number)
                or entry.request_id == wanted.request_id
            ),
        )

    def check_not_begun(self, charge_id: int) -> None:
        """Refuse, in a long ledger, a charge that is drawn for or ended out of sight."""
        self._check_nothing_hidden(charge_id, lambda entry: entry.charge == charge_id)

    def _check_nothing_hidden(self, sequence: int, is_about: Callable[[Entry], bool]) -> None:
        """A look-up in a long ledger does not see an entry that was removed, or left out of an
        index; who follows the seals from an entry to the last one does.
        """
        if not self.is_long:
            return
        assert self.last is not None
        found = entries_since(self.connection, self.key, sequence, self.last.sequence)
        if found is None or any(map(is_about, found)):
            problem = Finding("seal_broken", entry=sequence)
            raise LedgerDamagedError("not_trusted", problem=problem)

    def proposal(self, proposal_id: int) -> Proposal:
        """The proposal of a number."""
        known, n_entries = None, self.last.sequence if self.last else 0
        if type(proposal_id) is int and 0 < proposal_id <= n_entries:
            if self.is_long:
                for entry in read_some(self.connection, "sequence = ?", proposal_id):
                    self.proposal_of(entry.request_id or "")
            known = self.books.proposals.by_id.get(proposal_id)
        if known is None:
            raise LedgerRuleError("unknown_proposal", proposal=proposal_id)
        return known

    def _look_up(
        self, which: str, value: int | str, entries_of: EntriesOf = charge_entries
    ) -> None:
        """Make the books of a long ledger know charges or proposals, if their own entries are
        whole.
        """
        if not self.is_long:
            return
        for entry in entries_of(self.connection, which, value):
            if sealed(self.connection, self.key, "sequence = ?", entry.sequence) != (entry,):
                problem = Finding("seal_broken", entry=entry.sequence)
                raise LedgerDamagedError("not_trusted", problem=problem)
            self.books.recall([entry])

    def write(self, kind: Kind, *, at: str | None = None, **what: str | int | None) -> Entry:
        """Seal one entry, check that it makes sense after all others, and put it into the open
        transaction.

        at: the time it carries. The end of a charge carries that of its booking: when a release
        ended tells how long its records took to read.
        """
        public = self.key.public if self.last is None else None
        entry = Entry(
            sequence=self.last.sequence + 1 if self.last else 1,
            kind=kind,
            written_at=at or _utc_hour(self.clock()),
            key_id=self.key.key_id,
            nonce=new_nonce(),
            public_key=public.text if public else None,
            **what,  # type: ignore[arg-type]
        )
        return self._put(self.key.sealed(entry, self.last.mac if self.last else ""))

    def give_place(self, key: SigningKey, person: str) -> Entry:
        """Put in an entry by which the present key agrees to another, which seals it and what
        follows.
        """
        assert self.last is not None
        previous, is_signed = self.last.mac, self.last.signature is not None
        entry = Entry(
            sequence=self.last.sequence + 1,
            kind="key",
            written_at=_utc_hour(self.clock()),
            key_id=key.key_id,
            person=person,
            nonce=new_nonce(),
            public_key=key.public.text,
            history=None if is_signed else digest_of(read_entries(self.connection)),
        )
        entry = key.sealed(self.key.agreed(entry, previous), previous)
        self.key = key
        return self._put(entry)

    def _put(self, entry: Entry) -> Entry:
        self.books.add(entry)
        add_entry(self.connection, entry)
        self.last = entry
        return entry


def new_nonce() -> str | None:
    """128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def _utc_hour(time: datetime) -> str:
    """The hour: bookings one after the other would tell how long the release between them took."""
    if time.tzinfo is None:
        raise LedgerRuleError("no_time_zone")
    return time.astimezone(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
