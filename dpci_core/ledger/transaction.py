"""The open end of the ledger: what one writing operation knows, checks and adds."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from dpci_core.base.errors import BudgetExceededError, LedgerRuleError
from dpci_core.ledger.amounts import price
from dpci_core.ledger.database import add_entry
from dpci_core.ledger.entries import Entry, Kind
from dpci_core.ledger.key import SigningKey
from dpci_core.ledger.proposals import Proposal
from dpci_core.ledger.request import Request
from dpci_core.ledger.state import Account, Charge, LedgerState

MOST_ENTRIES = 10_000
"""A ledger of so many takes no further charge: each booking checks every entry."""
MOST_UNBOOKED = 100
"""Proposals of one person that wait or were withdrawn: each is an entry, and costs nothing else."""
MOST_UNBOOKED_OF_ACCOUNT = 1_000
"""Of one account, whoever made them: where nobody logs in, one person may have many names."""


@dataclass(slots=True)
class Transaction:
    """The open end of a ledger whose entries were checked, while this process alone may write."""

    connection: sqlite3.Connection
    key: SigningKey
    state: LedgerState
    last: Entry | None
    clock: Callable[[], datetime]

    def check_room(self) -> None:
        """Refuse to begin anything in a full ledger; what was booked in it goes on and ends."""
        if self.last is not None and self.last.sequence >= MOST_ENTRIES:
            raise LedgerRuleError("ledger_full", most=MOST_ENTRIES)

    def check_unbooked(self, person: str) -> None:
        """Refuse a proposal of a person whose others were not booked, withdrawn ones among them."""
        made = self.state.proposals.by_id.values()
        if sum(one.is_by(person) and not one.is_booked for one in made) >= MOST_UNBOOKED:
            raise LedgerRuleError("too_many_proposals", person=person, most=MOST_UNBOOKED)

    def check_unbooked_of(self, account: Account) -> None:
        """Refuse a proposal on an account of which too many were not booked, whoever made them."""
        made = self.state.proposals.by_id.values()
        unbooked = (one for one in made if one.account_id == account.account_id)
        if sum(not one.is_booked for one in unbooked) >= MOST_UNBOOKED_OF_ACCOUNT:
            most, dataset = MOST_UNBOOKED_OF_ACCOUNT, account.dataset
            raise LedgerRuleError("account_of_too_many_proposals", dataset=dataset, most=most)

    def booked(self, request: Request) -> Charge | None:
        """The charge of exactly this, None if the request is not booked."""
        known = self.state.by_request.get(request.request_id)
        if known is None:
            return None
        request.check_same(self.state.charges[known], known)
        return self.state.charges[known]

    def charge(self, charge_id: int) -> Charge:
        """The charge of a number."""
        # 2.0 would find the same, and be sealed as text that the table does not keep
        charge = self.state.charges.get(charge_id) if type(charge_id) is int else None
        if charge is None:
            raise LedgerRuleError("unknown_charge", charge=charge_id)
        return charge

    def proposal(self, proposal_id: int) -> Proposal:
        """The proposal of a number."""
        known = self.state.proposals.by_id
        found = known.get(proposal_id) if type(proposal_id) is int else None
        if found is None:
            raise LedgerRuleError("unknown_proposal", proposal=proposal_id)
        return found

    def within_cap(self, request: Request) -> tuple[Account, Decimal]:
        """The account that would pay and what it would pay, if it has that much left."""
        account = self.state.account(request.dataset, request.schema_hash)
        spent = price(account.cap, request.cost)
        if spent > account.remaining:
            raise BudgetExceededError(spent, account.remaining, symbol=account.cap.symbol)
        return account, spent

    def may_book(self, request: Request) -> tuple[Account, Decimal]:
        """The account that pays and what it pays; refuse where the ledger is full, too little is
        left, or another person has to approve exactly this and has not.
        """
        self.check_room()
        account, spent = self.within_cap(request)
        if account.needs_approval:
            request.check_approved(self.state.proposals.of(request.request_id))
        return account, spent

    def write(self, kind: Kind, *, at: str | None = None, **what: str | int | None) -> Entry:
        """Seal one entry, check that it makes sense after all others, and put it into the open
        transaction.

        at: the time it carries. The end of a charge carries that of its booking: when a release
        ended tells how long its records took to read.
        """
        if self.last is None:
            what["public_key"] = self.key.public.text
        return self._put(self.key.sealed(self._next(kind, self.key, at, **what), self._seal))

    def give_place(self, key: SigningKey, person: str) -> Entry:
        """Put in an entry by which the present key agrees to another, which seals it and what
        follows.
        """
        entry = self._next("key", key, None, person=person, public_key=key.public.text)
        entry = key.sealed(self.key.agreed(entry, self._seal), self._seal)
        self.key = key
        return self._put(entry)

    @property
    def _seal(self) -> str:
        """What the next entry follows."""
        return self.last.seal if self.last else ""

    def _next(self, kind: Kind, key: SigningKey, at: str | None, **what: str | int | None) -> Entry:
        return Entry(
            sequence=self.last.sequence + 1 if self.last else 1,
            kind=kind,
            written_at=at or _utc_hour(self.clock()),
            key_id=key.key_id,
            nonce=new_nonce(),
            **what,  # type: ignore[arg-type]
        )

    def _put(self, entry: Entry) -> Entry:
        self.state.add(entry)
        add_entry(self.connection, entry)
        self.last = entry
        return entry


def new_nonce() -> str:
    """128 random bits in hexadecimal."""
    return secrets.token_hex(16)


def _utc_hour(time: datetime) -> str:
    """The hour: bookings one after the other would tell how long the release between them took."""
    if time.tzinfo is None:
        raise LedgerRuleError("no_time_zone")
    return time.astimezone(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
