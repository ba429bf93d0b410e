"""What somebody asks to be booked."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger.amounts import as_text
from dpci_core.ledger.names import MOST_CHARACTERS, MOST_OF_PURPOSE, one_line
from dpci_core.ledger.problems import NotApprovedError
from dpci_core.ledger.proposals import Asked, Proposal, content_of
from dpci_core.ledger.state import Account, Charge, lines_text


@dataclass(frozen=True, slots=True)
class Request(Asked):
    """A charge that is asked for; blanks around its texts do not count.

    Raises:
        LedgerError: for a text that is not one readable line.
    """

    def __post_init__(self) -> None:
        for name in ("schema_hash", "purpose", "plan_hash", "person", "request_id"):
            most = MOST_OF_PURPOSE if name == "purpose" else MOST_CHARACTERS
            object.__setattr__(self, name, one_line(getattr(self, name), name=name, most=most))

    def check_same(self, known: Charge | Proposal, entry: int) -> None:
        """Refuse anything else than what is known of this request."""
        if content_of(self) != content_of(known):
            raise LedgerRuleError("another_content", request=self.request_id, entry=entry)

    def check_approved(self, proposal: Proposal | None) -> None:
        """Refuse unless it is the proposal of exactly this, and another person approved it."""
        if proposal is None or proposal.state == "withdrawn":
            raise NotApprovedError("not_proposed", request=self.request_id)
        self.check_same(proposal, proposal.proposal_id)
        if proposal.state != "approved":
            raise proposal.waiting()

    def fields(self, account: Account, spent: Decimal) -> dict[str, Any]:
        """Return the fields of the ledger entry that books or proposes the request."""
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
