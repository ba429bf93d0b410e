"""Charges that another person has to approve before they are booked: what is asked for, and what
became of it.

docs/operations.md, "Approval by another person", has the argument.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal

from dpci_core.base.text import one_i
from dpci_core.ledger.amounts import Cost
from dpci_core.ledger.entries import Entry
from dpci_core.ledger.names import name_key
from dpci_core.ledger.problems import LedgerDamagedError, NotApprovedError

ANOTHER_PERSON = "another person"
"""What the entry of an account says whose charges need approval."""
ProposalState = Literal["proposed", "approved", "withdrawn", "booked"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for, what is proposed and what is booked have in common.

    Args:
        dataset: name of the account.
        schema_hash: of the declared columns; it must be the account's.
        cost: amount and its lines, in the definition of the release.
        purpose: one line of text.
        plan_hash: of what will be drawn.
        person: who spends.
        request_id: of this release.
    """

    dataset: str
    schema_hash: str
    cost: Cost
    purpose: str
    plan_hash: str
    person: str
    request_id: str


def content_of(asked: Asked) -> tuple[object, ...]:
    """What has to be the same, field for field."""
    account = name_key(asked.dataset), asked.schema_hash
    named = asked.person, asked.request_id
    return *account, *named, asked.cost, asked.purpose, asked.plan_hash


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal(Asked):
    """A charge that one person means to book. It spends and reserves nothing.

    proposal_id: its sequence in the ledger.  spent: what it would take, in the currency of the cap.
    state: "proposed", "approved" (may be booked), "withdrawn", "booked".
    approved_by, withdrawn_by: the person, None until then.
    """

    proposal_id: int
    account_id: int
    spent: Decimal
    proposed_at: str
    approved_by: str | None = None
    withdrawn_by: str | None = None
    is_booked: bool = False

    @property
    def state(self) -> ProposalState:
        """What became of it; a withdrawn one is never booked."""
        if self.withdrawn_by is not None:
            return "withdrawn"
        if self.is_booked:
            return "booked"
        return "proposed" if self.approved_by is None else "approved"

    @property
    def stands(self) -> bool:
        """Whether it may still be booked."""
        return self.state in ("proposed", "approved")

    def waiting(self) -> NotApprovedError:
        """What to raise, or to say, while nobody else has approved it."""
        return NotApprovedError("not_approved", proposal=self.proposal_id, person=self.person)

    def is_by(self, person: str) -> bool:
        """Whether a name is that of the person who proposed it, small differences aside; one
        without letters is nobody else's.
        """
        return _person_key(person) in ("", _person_key(self.person))


def _person_key(name: str) -> str:
    """What names of one person share."""
    return one_i(name_key(name))


@dataclass(slots=True)
class Proposals:
    """The state after some entries; each request has one proposal at a time that stands."""

    by_id: dict[int, Proposal] = field(default_factory=dict)
    _newest: dict[str, int] = field(default_factory=dict)

    def of(self, request_id: str) -> Proposal | None:
        """The newest proposal of a request."""
        known = self._newest.get(request_id)
        return None if known is None else self.by_id[known]

    def add(self, proposal: Proposal) -> None:
        """One more."""
        before, number = self.of(proposal.request_id), proposal.proposal_id
        if before is not None and before.state != "withdrawn":
            raise LedgerDamagedError("entry_of_a_known_request", entry=number)
        self._newest[proposal.request_id] = number
        self.by_id[number] = proposal

    def answer(self, entry: Entry) -> None:
        """Somebody approves or withdraws; nobody approves an own proposal."""
        if entry.proposal is None or not entry.person:
            raise ValueError
        proposal = self.by_id[entry.proposal]
        if entry.kind == "withdrawn":
            if not proposal.stands:
                raise LedgerDamagedError("entry_answers_again", entry=entry.sequence)
            changed = replace(proposal, withdrawn_by=entry.person)
        else:
            if proposal.state != "proposed" or proposal.is_by(entry.person):
                raise LedgerDamagedError("entry_answers_again", entry=entry.sequence)
            changed = replace(proposal, approved_by=entry.person)
        self.by_id[proposal.proposal_id] = changed

    def book(self, charge: Asked, account_id: int) -> bool:
        """Note that what was proposed is booked; whether exactly this had been approved.

        Another account that needs no approval may have booked a request of the same name.
        """
        proposal = self.of(charge.request_id)
        if proposal is None or proposal.account_id != account_id:
            return False
        if content_of(proposal) != content_of(charge):
            return False
        self.by_id[proposal.proposal_id] = replace(proposal, is_booked=True)
        return proposal.state == "approved"
