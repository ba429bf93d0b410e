"""Accounts, charges and entries as plain rows, for JSON and for spreadsheets."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dpci_core.ledger.amounts import as_text
from dpci_core.ledger.entries import Entry
from dpci_core.ledger.proposals import Proposal
from dpci_core.ledger.state import Account, Charge

Row = dict[str, str | int | None]
_STARTS = "=＝﹦⁼₌+＋﹢⁺₊\\-－﹣−⁻₋@＠﹫"
"""A spreadsheet may take a cell that begins so for a formula, the wide and small forms included."""
_ENDS = ";\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029"
"""Where a cell may end that no comma does: spreadsheets of half of Europe cut at semicolons, and do
not see the quotation marks of a cell that is not the first in its line."""
_UNSEEN = r"\s\x00-\x1f\x7f-\x9f\xad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\""
"""What may stand before a formula and be cut off."""
_FORMULA = re.compile(f"(^|[{_ENDS}])(?=[{_UNSEEN}]*[{_STARTS}])|^(?=[\t\r\n])")


def account_row(account: Account) -> Row:
    """An account with what its people have spent and what is left, exact amounts as text."""
    cap = account.cap
    return {
        "account": account.account_id,
        "dataset": account.dataset,
        "schema_hash": account.schema_hash,
        "unit": account.unit,
        "several_rows": "yes" if account.several_rows else "no",
        "currency": cap.symbol,
        "cap": as_text(cap.amount),
        "declared_epsilon": None if cap.epsilon is None else as_text(cap.epsilon),
        "declared_delta": None if cap.delta is None else as_text(cap.delta),
        "spent": as_text(account.spent),
        "remaining": as_text(account.remaining),
        "charges": account.n_charges,
        "people": account.people,
        "same_people_as": account.same_people_as,
        "shares_the_cap_of_account": account.pool_id,
        "needs_approval": "yes" if account.needs_approval else "no",
        "person": account.person,
        "created_at": account.created_at,
    }


def charge_row(charge: Charge) -> Row:
    """A charge with its parts in one text, exact amounts as text."""
    return {
        "charge": charge.charge_id,
        "dataset": charge.dataset,
        "schema_hash": charge.schema_hash,
        "state": charge.state,
        "currency": charge.cost.symbol,
        "cost": as_text(charge.cost.amount),
        "lines": _lines(charge),
        "spent_of_cap": as_text(charge.spent),
        "purpose": charge.purpose,
        "person": charge.person,
        "booked_at": charge.booked_at,
        "ended_at": charge.ended_at,
        "plan_hash": charge.plan_hash,
        "result_hash": charge.result_hash,
        "reason": charge.reason,
        "request_id": charge.request_id,
        "head": charge.head,
    }


def _lines(one: Charge | Proposal) -> str:
    return "; ".join(f"{name} {as_text(amount)}" for name, amount in one.cost.lines)


def proposal_row(proposal: Proposal) -> Row:
    """A proposal with what became of it, exact amounts as text."""
    return {
        "proposal": proposal.proposal_id,
        "dataset": proposal.dataset,
        "schema_hash": proposal.schema_hash,
        "state": proposal.state,
        "currency": proposal.cost.symbol,
        "cost": as_text(proposal.cost.amount),
        "lines": _lines(proposal),
        "spent_of_cap": as_text(proposal.spent),
        "purpose": proposal.purpose,
        "person": proposal.person,
        "proposed_at": proposal.proposed_at,
        "approved_by": proposal.approved_by,
        "withdrawn_by": proposal.withdrawn_by,
        "plan_hash": proposal.plan_hash,
        "request_id": proposal.request_id,
    }


def entry_row(entry: Entry) -> Row:
    """An entry as it stands in the database."""
    return asdict(entry)


def as_csv(rows: Sequence[Mapping[str, str | int | None]]) -> str:
    """Rows of the same columns as CSV that no spreadsheet takes for formulas; empty text for no
    rows.
    """
    if not rows:
        return ""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([safe_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()


def safe_cell(value: str | int | None) -> str | int | None:
    """A cell that stays text in a spreadsheet, whatever that cuts lines at: what could be a formula
    gets an apostrophe in front.

    >>> safe_cell("=1+1"), safe_cell(" -2"), safe_cell(-2), safe_cell("age"), safe_cell("x;=1")
    ("'=1+1", "' -2", -2, 'age', "x;'=1")
    """
    return _FORMULA.sub(r"\1'", value) if isinstance(value, str) else value
