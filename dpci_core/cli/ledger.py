"""The command `python -m dpci_core ledger
create|show|approve|withdraw|verify|public-key|rotate-key|adopt|export`.
"""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Callable
from itertools import chain
from pathlib import Path

from dpci_core.base.text import beginning
from dpci_core.cli.command import (
    JSON,
    OF_A_LEDGER,
    OUTPUT,
    Command,
    Flag,
    OneOf,
    Run,
    flag,
    person,
    person_of,
    pinned,
    public_key,
    put,
)
from dpci_core.cli.refuse import refuse
from dpci_core.ledger import (
    Account,
    Cap,
    Charge,
    Ledger,
    Proposal,
    RecordedHead,
    SamePeopleQuestionError,
    account_row,
    as_csv,
    charge_row,
    entry_row,
    proposal_row,
)
from dpci_core.plan import read_plan
from dpci_core.plan.source import AccountUnit
from dpci_core.release import schema_hash
from dpci_core.report.refusals import said

Action = Callable[[argparse.Namespace, Ledger], int]


def _on_the_ledger(action: Action) -> Run:
    """An action on the ledger that the flags name."""
    return lambda options: action(options, Ledger(options.ledger, key_path=options.key))


def _declared(options: argparse.Namespace) -> tuple[str, AccountUnit]:
    """Schema hash and whom a row stands for, of the plan or of the flags."""
    if options.plan is None:
        if options.unit is None:
            raise ValueError("Expected --unit with --schema-hash.")
        return options.schema_hash, {"unit": options.unit, "several_rows": options.several_rows}
    plan = read_plan(options.plan)
    if options.unit not in {None, plan.unit}:
        raise ValueError(f"Expected --unit to be that of the plan, {plan.unit!r}.")
    if options.several_rows and plan.persons is None:
        raise ValueError("Expected no --several-rows: in the plan one row is one record.")
    return schema_hash(plan.schema), plan.account_unit


def _create(options: argparse.Namespace, ledger: Ledger) -> int:
    found_hash, unit = _declared(options)
    try:
        account = ledger.create_dataset(
            options.dataset,
            schema_hash=found_hash,
            cap=_cap(options),
            **unit,
            person=person_of(options),
            same_people_as=options.same_people_as,
            other_people=options.other_people,
            needs_approval=options.needs_approval,
        )
    except SamePeopleQuestionError as error:
        return refuse(error, "\nUse --same-people-as DATASET or --other-people.")
    print(json.dumps(account_row(account), indent=1) if options.json else _in_words(account))
    return 0


def _cap(options: argparse.Namespace) -> Cap | None:
    """None where the cap is that of the same people."""
    if options.gaussian and options.delta is None:
        raise ValueError("Expected --epsilon and --delta with --gaussian.")
    for name, make in (("rho", Cap.zcdp), ("mu", Cap.gdp)):
        if (amount := getattr(options, name)) is not None:
            others = [x for x in ("epsilon", "delta", "rho", "mu") if x != name]
            if any(getattr(options, other) is not None for other in others):
                raise ValueError(f"Expected no --{', --'.join(others)} with --{name}.")
            return make(amount)
    if options.epsilon is not None:
        if options.delta is None:
            return Cap.pure(options.epsilon)
        kind = "gdp" if options.gaussian else "zcdp"
        return Cap.approx(options.epsilon, options.delta, definition=kind)
    if options.delta is not None:
        raise ValueError("Expected --epsilon with --delta.")
    if options.same_people_as is None:
        raise ValueError(
            "Expected --epsilon, --rho or --mu, the most that may ever be spent on these people; "
            "or --same-people-as the data set whose cap they share."
        )
    return None


def _show(options: argparse.Namespace, ledger: Ledger) -> int:
    charges, accounts = ledger.history(options.dataset), ledger.accounts()
    if options.dataset is not None:
        pool = ledger.account(options.dataset).pool_id
        accounts = tuple(account for account in accounts if account.pool_id == pool)
    shown = {account.account_id for account in accounts}
    proposals = [one for one in ledger.proposals() if one.account_id in shown]
    if options.json:
        rows = {
            "accounts": list(map(account_row, accounts)),
            "charges": list(map(charge_row, charges)),
            "proposals": list(map(proposal_row, proposals)),
        }
        print(json.dumps(rows, indent=1))
    elif not accounts:
        print(f"The ledger {ledger.path} is empty.")
    else:
        waiting = (one for one in proposals if one.stands)
        lines = map(_charge_in_words, charges), map(_proposal_in_words, waiting)
        print("\n".join([*map(_in_words, accounts), *chain(*lines)]))
    return 0


def _in_words(account: Account) -> str:
    shared = f", shared with {account.same_people_as}" if account.same_people_as else ""
    return (
        f"{account.dataset}: {account.cap.symbol} {account.remaining:f} left of "
        f"{account.cap.sentence}{shared}; {account.protected}; schema {account.schema_hash}"
        f"{'; each charge needs the approval of another person' * account.needs_approval}"
    )


def _charge_in_words(charge: Charge) -> str:
    return (
        f"  {charge.charge_id:>5}  {charge.booked_at[:13]}h  {charge.became}; {charge.cost.symbol} "
        f"{charge.cost.amount:f}  {charge.dataset}: {beginning(charge.purpose)} ({charge.person})"
        f"{_to_do(charge)}"
    )


def _to_do(charge: Charge) -> str:
    """How to get what was paid for and has no result; empty where it ended."""
    if charge.state != "booked":
        return ""
    asked = f"spent; ask again with --request {shlex.quote(charge.request_id)} and the same folder:"
    if charge.may_go_on:
        return f"; {asked} it goes on, at no further price"
    return f"; {asked} a result that is there is noted, else it is lost"


def _proposal_in_words(one: Proposal) -> str:
    """Free texts in quotation marks, so that none of them can go on with the words around it."""
    told = f"approved by {one.approved_by!r}" if one.approved_by else "waits for approval"
    lines = ", ".join(f"{name!r} {amount:f}" for name, amount in one.cost.lines)
    return (
        f"  {one.proposal_id:>5}  {one.proposed_at[:13]}h  {one.state:<9}{one.cost.symbol} "
        f"{one.cost.amount:f}  {one.dataset}: {one.purpose!r} ({one.person!r}), {told}; of it "
        f"{lines or 'no parts'}; plan "
        f"{one.plan_hash!r}; request {one.request_id!r}"
    )


def _approve(options: argparse.Namespace, ledger: Ledger) -> int:
    one = ledger.approve(options.proposal, person=person_of(options))
    print(_proposal_in_words(one))
    if one.state == "booked":
        print("It was approved and booked before.")
    elif one.spent > (left := ledger.remaining(one.dataset)):
        print(f"Only {left:f} is left of the cap, so it cannot be booked.")
    else:
        named = shlex.quote(one.request_id)
        print(f"{one.person} may release it now, with --request {named} (a fit: as request_id)")
    return 0


def _withdraw(options: argparse.Namespace, ledger: Ledger) -> int:
    one = ledger.withdraw(options.proposal, person=person_of(options))
    print(f"Proposal {one.proposal_id} is withdrawn: it will never be booked.")
    return 0


_FOUND = ("problems", "record_problems", "remarks")


def _verify(options: argparse.Namespace, ledger: Ledger) -> int:
    found = ledger.verify(
        [RecordedHead.from_record(path) for path in options.against],
        public_key=pinned(options),
    )
    parts = {name: list(map(said, getattr(found, name))) for name in _FOUND}
    by = "" if found.checked_with is None else said(found.checked_with)
    if options.json:
        numbers = {"n_entries": found.n_entries, "records": len(options.against)}
        about = {"is_good": found.is_good, **parts, "checked_with": by, **numbers}
        print(json.dumps(about, indent=1))
    else:
        print("\n".join(filter(None, [*chain(*parts.values()), by, said(found.verdict)])))
    return int(not found.is_good)


def _public_key(options: argparse.Namespace, ledger: Ledger) -> int:
    key = ledger.public_key()
    if key is None:
        raise ValueError("The ledger has no public key: it is empty.")
    if options.all:
        print("\n".join(f"from entry {first}: {key.text}" for first, key in ledger.public_keys()))
    else:
        print(f"dpci-ledger-public-key {key.text}")
    return 0


def _rotate_key(options: argparse.Namespace, ledger: Ledger) -> int:
    key = ledger.rotate_key(person=person_of(options), new_key_path=options.new_key)
    place = options.new_key or ledger.key_path
    print(f"The key in {place} signs from here on. Back it up, and publish the public key:")
    print(f"dpci-ledger-public-key {key.text}")
    return 0


def _adopt(options: argparse.Namespace, ledger: Ledger) -> int:
    entries = ledger.adopt().partition(":")[0]
    print(
        f"The ledger {ledger.path} ends with entry {entries}, and counts as whole from here on. A "
        "charge that it does not hold would be spent again: `ledger verify --against` with every "
        "record finds it."
    )
    return 0


def _export(options: argparse.Namespace, ledger: Ledger) -> int:
    rows = (
        map(entry_row, ledger.entries()) if options.entries else map(charge_row, ledger.history())
    )
    return put(as_csv(list(rows)), options.output)


def _action(name: str, help: str, action: Action, *flags: Flag | OneOf) -> Command:
    return Command(name=name, help=help, flags=(*flags, *OF_A_LEDGER), run=_on_the_ledger(action))


_PROPOSAL = (
    flag("proposal", type=int, help="its number, as `show` tells it"),
    person("does this"),
)
_NEW_ACCOUNT = (
    flag("dataset", help="a name for the people behind the table"),
    OneOf(
        (
            flag("--plan", type=Path, help="a plan file, whose schema and unit are declared"),
            flag("--schema-hash", help="hash of the declared schema, in the place of --plan"),
        ),
        required=True,
    ),
    flag("--epsilon", help="cap in pure epsilon; with --delta it becomes rho, rounded down"),
    flag("--delta"),
    flag("--rho", help="cap in rho, in the place of --epsilon"),
    flag(
        "--mu",
        help="cap in mu of Gaussian differential privacy, where no noise is in an objective",
    ),
    flag(
        "--gaussian",
        action="store_true",
        help="with --epsilon and --delta: count in mu^2, which is worth more, for such releases",
    ),
    flag("--unit", help='who is protected, like "one row is one person" (default: the plan\'s)'),
    flag(
        "--several-rows",
        action="store_true",
        help="a person may have several rows, so that nothing that protects one row is paid "
        "(default: the plan's)",
    ),
    person("declares this"),
    flag(
        "--needs-approval",
        action="store_true",
        help="another person has to approve each charge before it is booked, once and for all",
    ),
    OneOf(
        (
            flag(
                "--same-people-as",
                metavar="DATASET",
                help="share the cap of a data set with some of them",
            ),
            flag(
                "--other-people",
                action="store_true",
                help="no other data set has any of these people",
            ),
        )
    ),
    JSON,
)
LEDGER = Command(
    name="ledger",
    help="budgets of data sets, what was spent, and whether the book is whole",
    actions=(
        _action("create", "give a data set its cap, once and for all", _create, *_NEW_ACCOUNT),
        _action(
            "show",
            "caps, what remains, and every charge",
            _show,
            flag("dataset", nargs="?", help="only this one"),
            JSON,
        ),
        _action("approve", "agree to what another person proposed to spend", _approve, *_PROPOSAL),
        _action(
            "withdraw",
            "take back a proposal that is not booked, approved or not",
            _withdraw,
            *_PROPOSAL,
        ),
        _action(
            "verify",
            "check every entry, without any secret; exit code 1 if anything is wrong",
            _verify,
            flag(
                "--against",
                nargs="+",
                type=Path,
                default=[],
                metavar="RELEASE",
                help="release.json files to hold it against",
            ),
            public_key("the ledger itself names"),
            JSON,
        ),
        _action(
            "public-key",
            "print the key that others check with",
            _public_key,
            flag("--all", action="store_true", help="every key it ever had, with its first entry"),
        ),
        _action(
            "rotate-key",
            "sign with a new key from here on",
            _rotate_key,
            flag("--new-key", type=Path, help="a new file for it (default: by itself)"),
            person("does this"),
        ),
        _action(
            "adopt",
            "take a ledger whose .head file is not beside it for the whole; what it lacks is "
            "forgotten",
            _adopt,
        ),
        _action(
            "export",
            "write every charge as CSV",
            _export,
            flag(
                "--entries",
                action="store_true",
                help="every entry as it stands in the file, with its seal",
            ),
            OUTPUT,
        ),
    ),
)
