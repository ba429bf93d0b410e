"""Accounts and charges as the entries tell them: read from the first entry to the last, in
order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Literal

from dpci_core.base.errors import ArgumentError
from dpci_core.design import Definition
from dpci_core.ledger.amounts import (
    Cap,
    Cost,
    as_text,
    exact_difference,
    exact_sum,
    price,
)
from dpci_core.ledger.entries import Entry
from dpci_core.ledger.names import name_key
from dpci_core.ledger.problems import LedgerDamagedError, SchemaChangedError, UnknownDatasetError
from dpci_core.ledger.proposals import ANOTHER_PERSON, Asked, Proposal, Proposals
from dpci_core.privacy.budget import definition_named

State = Literal["booked", "done", "failed"]
Draw = Literal["", "announced", "begun"]
People = Literal["first", "other", "same"]
SEVERAL_ROWS = "several a person"
"""What the entry of an account says that pays where a person may have more than one row."""


def whom(unit: str, *, several_rows: bool) -> str:
    """Who is protected, for a reader: what one row is, or a person with all rows.

    >>> whom("one visit", several_rows=False), whom("one patient", several_rows=True)
    ('one visit', 'one patient, with several rows')
    """
    return f"{unit}, with several rows" if several_rows else unit


_AMOUNT = re.compile(r"(?=.*[1-9])[0-9]{1,21}(\.[0-9]{1,600})?")
"""A sum as `as_text` writes it: it may have more digits than any one amount."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """What a cap had paid once a charge was booked: for the same people, so it adds up.

    definition, amount: of all charges so far, this one included, in the currency of the cap.
    earlier: how many came before.  same_plan: the number of the newest of them that was for the
    very same plan.
    """

    definition: Definition
    amount: str
    earlier: int = 0
    same_plan: int | None = None

    def __post_init__(self) -> None:
        definition_named(self.definition)
        if not _AMOUNT.fullmatch(self.amount):
            raise ArgumentError("amount", self.amount, "Expected an amount in plain digits.")
        if self.earlier < (0 if self.same_plan is None else 1):
            raise ArgumentError("earlier", self.earlier, "Expected a number of earlier charges.")


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge(Asked):
    """One booking. It is spent from the moment it stands, whether or not a result came of it.

    charge_id: its sequence in the ledger.  spent: the cost in the currency of the cap.  state:
    "booked" (running, or broken off), "done", "failed".  head: of the ledger right after the newest
    entry about this charge.
    is_new: whether this very call booked it; False where the request was known.
    draw: "announced" where nothing is drawn before the ledger says that it begins, "begun" from
    then on; "" where the booking itself gave the right to draw.
    so_far: what its cap had paid with it; later charges do not change it.
    """

    charge_id: int
    account_id: int
    state: State
    spent: Decimal
    booked_at: str
    head: str
    so_far: Spending
    ended_at: str | None = None
    result_hash: str | None = None
    reason: str | None = None
    is_new: bool = False
    draw: Draw = ""

    @property
    def may_go_on(self) -> bool:
        """Whether nothing was drawn for it yet, so that the same request may be carried on."""
        return self.state == "booked" and self.draw == "announced"

    @property
    def became(self) -> str:
        """What became of it, for a reader. Whether a draw that was begun still runs or broke off
        is in no ledger.
        """
        if self.state == "booked":
            what = "nothing drawn yet" if self.may_go_on else "no result: it runs, or broke off"
            return f"booked, {what}"
        return {"done": "released", "failed": "failed, spent all the same"}[self.state]


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """A data set with one schema, and what is left of its cap; accounts of the same people share a
    cap.

    unit: whom one row stands for, or who has rows.
    several_rows: whether what is protected is a person who may have several rows.
    needs_approval: whether another person has to approve each charge; of the whole pool.
    people: "first" of its ledger, "other" than in every account before (declared so), or the "same"
    as in another.
    pool_id: the account that holds the cap.  spent, remaining, n_charges: of the whole pool.
    """

    account_id: int
    dataset: str
    schema_hash: str
    unit: str
    cap: Cap
    people: People
    same_people_as: str | None
    pool_id: int
    person: str
    created_at: str
    head: str
    needs_approval: bool = False
    several_rows: bool = False
    spent: Decimal = Decimal(0)
    n_charges: int = 0

    @property
    def protected(self) -> str:
        """Who is protected, for a reader."""
        return whom(self.unit, several_rows=self.several_rows)

    @property
    def remaining(self) -> Decimal:
        """What may still be spent, in the currency of the cap."""
        return exact_difference(self.cap.amount, self.spent)


@dataclass(slots=True)
class LedgerState:
    """The state after some entries; `add` reads one more and refuses what no correct program
    writes.
    """

    _accounts: dict[int, Account] = field(default_factory=dict)
    charges: dict[int, Charge] = field(default_factory=dict)
    by_request: dict[str, int] = field(default_factory=dict)
    proposals: Proposals = field(default_factory=Proposals)
    _spent: dict[int, Decimal] = field(default_factory=dict)
    _n_charges: dict[int, int] = field(default_factory=dict)
    _of_plan: dict[tuple[int, str], int] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[Entry]) -> LedgerState:
        """Read all entries."""
        state = cls()
        for entry in entries:
            state.add(entry)
        return state

    def add(self, entry: Entry) -> None:
        """Read one more entry; what no correct program writes is damage."""
        readers: dict[str, Callable[[Entry], object]] = {
            "account": self._open,
            "proposed": self._propose,
            "approved": self.proposals.answer,
            "withdrawn": self.proposals.answer,
            "booked": self._book,
            "drawing": self._draw,
            "done": self._end,
            "failed": self._end,
            "key": _nothing,
        }
        try:
            readers[entry.kind](entry)
        except LedgerDamagedError:
            raise
        except (LookupError, ValueError, TypeError, ArithmeticError, RecursionError) as error:
            raise LedgerDamagedError(
                "entry_impossible", entry=entry.sequence, problem=type(error).__name__
            ) from None

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Every account with what its pool has spent."""
        return tuple(map(self._with_totals, self._accounts.values()))

    def named(self, dataset: str) -> tuple[Account, ...]:
        """The accounts of this name, oldest first; small differences in writing do not make another
        name.
        """
        key = name_key(dataset)
        found = [account for account in self._accounts.values() if name_key(account.dataset) == key]
        return tuple(map(self._with_totals, found))

    def pool(self, dataset: str) -> Account:
        """The oldest account of this name: with every other one of the name it shares the cap."""
        found = self.named(dataset)
        if not found:
            known = ", ".join(
                dict.fromkeys(repr(account.dataset) for account in self._accounts.values())
            )
            raise UnknownDatasetError("unknown_dataset", dataset=dataset, known=known or "none yet")
        return found[0]

    def account(self, dataset: str, schema_hash: str) -> Account:
        """The account of a name and a schema."""
        first = self.pool(dataset)
        for account in self.named(dataset):
            if account.schema_hash == schema_hash:
                return account
        raise SchemaChangedError(first.dataset, schema_hash)

    def of_pool(self, pool_id: int) -> tuple[Charge, ...]:
        """The charges on one cap, oldest first."""
        return tuple(
            c for c in self.charges.values() if self._accounts[c.account_id].pool_id == pool_id
        )

    def _with_totals(self, account: Account) -> Account:
        """The exact sum of every charge on the pool, whatever its state."""
        pool_id = account.pool_id
        return replace(account, spent=self._spent[pool_id], n_charges=self._n_charges[pool_id])

    def _open(self, entry: Entry) -> None:
        pool_id, other = entry.sequence, None
        if entry.people == "same":
            other = self._accounts[_number(entry.account)]
            pool_id = other.pool_id
        cap = Cap(
            definition=entry.cap_definition,  # type: ignore[arg-type]
            amount=Decimal(_text(entry.cap_amount)),
            epsilon=None if entry.cap_epsilon is None else Decimal(entry.cap_epsilon),
            delta=None if entry.cap_delta is None else Decimal(entry.cap_delta),
        )
        if other is not None and cap != other.cap:
            raise LedgerDamagedError("entry_with_another_cap", entry=entry.sequence)
        namesakes = (one for one in self._accounts.values() if one.dataset == entry.dataset)
        if any(one.pool_id != pool_id for one in namesakes):
            raise LedgerDamagedError("entry_with_another_cap", entry=entry.sequence)
        if entry.approval not in (None, ANOTHER_PERSON):
            raise ValueError
        needs_approval = entry.approval is not None
        if other is not None and needs_approval != other.needs_approval:
            raise LedgerDamagedError("entry_with_another_approval", entry=entry.sequence)
        if entry.rows not in (None, SEVERAL_ROWS):
            raise ValueError
        several_rows = entry.rows is not None
        if other is not None and (entry.unit, several_rows) != (other.unit, other.several_rows):
            raise LedgerDamagedError("entry_with_another_unit", entry=entry.sequence)
        self._spent.setdefault(pool_id, Decimal(0))
        self._n_charges.setdefault(pool_id, 0)
        self._accounts[entry.sequence] = Account(
            account_id=entry.sequence,
            dataset=_text(entry.dataset),
            schema_hash=_text(entry.schema_hash),
            unit=_text(entry.unit),
            cap=cap,
            people=_text(entry.people),  # type: ignore[arg-type]
            same_people_as=None if other is None else other.dataset,
            pool_id=pool_id,
            person=_text(entry.person),
            created_at=entry.written_at,
            head=entry.head,
            needs_approval=needs_approval,
            several_rows=several_rows,
        )

    def _book(self, entry: Entry) -> None:
        if entry.request_id in self.by_request:
            raise LedgerDamagedError("entry_of_a_known_request", entry=entry.sequence)
        asked = self._asked(entry)
        account, spent = self._accounts[asked["account_id"]], asked["spent"]
        pool_id, of_plan = account.pool_id, (account.pool_id, asked["plan_hash"])
        together = exact_sum((self._spent[pool_id], spent))
        charge = Charge(
            charge_id=entry.sequence,
            state="booked",
            booked_at=entry.written_at,
            head=entry.head,
            draw=_announced(entry),
            so_far=Spending(
                definition=account.cap.definition,
                amount=as_text(together),
                earlier=self._n_charges[pool_id],
                same_plan=self._of_plan.get(of_plan),
            ),
            **asked,
        )
        is_approved = self.proposals.book(charge, charge.account_id)
        if account.needs_approval and not is_approved:
            raise LedgerDamagedError("entry_not_approved", entry=entry.sequence)
        if spent > self._with_totals(account).remaining:
            raise LedgerDamagedError("entry_above_the_cap", entry=entry.sequence)
        self.by_request[charge.request_id] = entry.sequence
        self.charges[entry.sequence] = charge
        self._spent[pool_id] = together
        self._n_charges[pool_id] += 1
        self._of_plan[of_plan] = charge.charge_id

    def _asked(self, entry: Entry) -> dict[str, Any]:
        """What a charge and its proposal state alike."""
        account = self._accounts[_number(entry.account)]
        cost = cost_of(entry)
        spent = price(account.cap, cost)
        if as_text(spent) != entry.spent:
            raise LedgerDamagedError("entry_with_another_amount", entry=entry.sequence)
        return {
            "account_id": account.account_id,
            "dataset": account.dataset,
            "schema_hash": account.schema_hash,
            "cost": cost,
            "spent": spent,
            "purpose": _text(entry.purpose),
            "plan_hash": _text(entry.plan_hash),
            "person": _text(entry.person),
            "request_id": _text(entry.request_id),
        }

    def _propose(self, entry: Entry) -> None:
        account = self._accounts[_number(entry.account)]
        if not account.needs_approval or entry.request_id in self.by_request:
            raise LedgerDamagedError("entry_proposes_in_vain", entry=entry.sequence)
        self.proposals.add(
            Proposal(proposal_id=entry.sequence, proposed_at=entry.written_at, **self._asked(entry))
        )

    def _draw(self, entry: Entry) -> None:
        charge = self.charges[_number(entry.charge)]
        if not charge.may_go_on:
            raise LedgerDamagedError("entry_draws_again", entry=entry.sequence)
        self.charges[charge.charge_id] = replace(charge, draw="begun", head=entry.head)

    def _end(self, entry: Entry) -> None:
        charge = self.charges[_number(entry.charge)]
        if charge.state != "booked":
            raise LedgerDamagedError("entry_ends_again", entry=entry.sequence)
        self.charges[charge.charge_id] = replace(
            charge,
            state=entry.kind,  # type: ignore[arg-type]
            ended_at=entry.written_at,
            result_hash=entry.result_hash,
            reason=entry.reason,
            head=entry.head,
        )


def _announced(entry: Entry) -> Draw:
    if entry.draw not in (None, "announced"):
        raise ValueError
    return "announced" if entry.draw else ""


def _nothing(entry: Entry) -> None:
    """A key decides about seals, and about no account."""


def lines_text(cost: Cost) -> str:
    """The lines of a cost as JSON."""
    return json.dumps([[name, as_text(amount)] for name, amount in cost.lines], ensure_ascii=False)


def cost_of(entry: Entry) -> Cost:
    """The cost that a booking states."""
    if entry.cost_definition is None or entry.cost_amount is None or entry.cost_lines is None:
        raise LedgerDamagedError("entry_without_cost", entry=entry.sequence)
    lines = [(str(name), str(amount)) for name, amount in json.loads(entry.cost_lines)]
    return Cost(definition=entry.cost_definition, amount=entry.cost_amount, lines=lines)


def _text(value: str | None) -> str:
    if value is None:
        raise ValueError
    return value


def _number(value: int | None) -> int:
    if value is None:
        raise ValueError
    return value
