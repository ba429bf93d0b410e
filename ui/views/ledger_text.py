"""The wording of the pages Release and Ledger that depends on a value."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from dpci_core.ledger import Account, Cap, Charge, Cost, Proposal, as_text
from dpci_core.ledger.amounts import exact_difference
from dpci_core.privacy.budget import DEFINITIONS, to_float_down
from dpci_core.report.words import LARGE_EPSILON, number_at_most
from ui.session.text import LARGE_BUDGET, code, lowered, plain, risk_approx, risk_pure

GREEK = {kind.symbol: kind.letter for kind in DEFINITIONS.values()}
SIGNS = {"booked": "⏳", "done": "✓", "failed": "✗"}
"""Before what became of a charge."""
EMPTY = (
    "The ledger is empty: no data set has a budget yet. The page Release gives one its budget "
    "before its first release."
)
BACKUP = (
    "Keep a backup of two things, in two places: of the ledger, without which nobody knows what "
    "was spent, and of the key that signs it, without which nothing more can be. Whoever runs this "
    "dashboard knows where they are."
)
ADDITIVE_ONLY = (
    "It counts in μ², which is worth more than ρ, and pays for releases under Gaussian "
    "differential privacy only."
)
"""Stands with a cap of Gaussian differential privacy."""
NEEDS_APPROVAL = "Each release needs the approval of another person."
WAITING = (
    "Nothing is spent for these releases yet. What one person proposed another has to approve; "
    "then whoever proposed it releases exactly that. Each can be withdrawn until then."
)
NO_LOGIN = (
    "To answer, type your name. Without a login the ledger writes down whichever name is typed."
)
NEVER = "More than is left: it can never be booked."
THE_OWN = "Another person has to approve it."
READ_AT = 1e-6
"""The delta at which a rho or mu^2 cap is read as (epsilon, delta) where none was declared."""


def shown(amount: Decimal) -> str:
    """An amount for people: all its digits, thousands with commas."""
    whole, dot, rest = as_text(amount).partition(".")
    return f"{int(whole):,}{dot}{rest}"


def symbol(cap: Cap) -> str:
    """Return the Greek letter of the cap's currency."""
    return GREEK[cap.symbol]


def cost_words(cost: Cost) -> str:
    """An amount of a budget with its symbol."""
    return f"{GREEK[cost.symbol]} = {shown(cost.amount)}"


def cap_sentence(cap: Cap) -> str:
    """What a cap means for one person, if all of it is spent."""
    kind = DEFINITIONS[cap.definition]
    if not kind.has_delta:
        epsilon = to_float_down(cap.amount)
        said = f"If all of it is spent: {lowered(risk_pure(epsilon))}"
    elif cap.epsilon is not None and cap.delta is not None:
        epsilon = float(cap.epsilon)
        said = (
            f"Declared as ε = {number_at_most(epsilon)} at δ = {float(cap.delta):g}. If all of it "
            f"is spent: {lowered(risk_approx(epsilon, float(cap.delta)))}"
        )
    else:
        epsilon = kind.epsilon_of(to_float_down(cap.amount), READ_AT)
        said = (
            f"That is ε = {number_at_most(epsilon)} at δ = {READ_AT:g}. If all of it is spent: "
            f"{lowered(risk_approx(epsilon, READ_AT))}"
        )
    if kind.additive_only:
        said += f" {ADDITIVE_ONLY}"
    return said + (f" {LARGE_BUDGET}" if epsilon > LARGE_EPSILON else "")


def left(account: Account) -> str:
    """What is left of a budget, and whether another person has to approve."""
    said = f"{symbol(account.cap)} = {shown(account.remaining)} left"
    return f"{said}. {NEEDS_APPROVAL}" if account.needs_approval else said


def left_after(account: Account, spent: Decimal) -> str:
    """What a charge would leave of a budget."""
    left = exact_difference(account.remaining, spent)
    if left < 0:
        return "nothing"
    return f"{symbol(account.cap)} = {shown(left)} of {shown(account.cap.amount)}"


def proposed(one: Proposal, account: Account) -> str:
    """What is asked for: all that an approval agrees to. The hash is whole, since two plans with
    the same beginning are found in seconds.
    """
    left = f"; what would remain: {left_after(account, one.spent)}"
    lines = ", ".join(f"{plain(name)} {shown(amount)}" for name, amount in one.cost.lines)
    return (
        f"**{plain(one.dataset)}**: {plain(one.purpose)}\n"
        f"- **{cost_words(one.cost)}**{f' ({lines})' if lines else ''}{left * one.stands}\n"
        f"- Proposed by {plain(one.person)} on {moment(one.proposed_at)}, as entry "
        f"{one.proposal_id}; plan {code(one.plan_hash)}"
    )


def answered(one: Proposal, *, is_left: bool = True) -> str:
    """What became of a proposal."""
    who = plain(one.person)
    if one.state == "approved" and not is_left:
        return f"Entry {one.proposal_id} is approved by {plain(one.approved_by or '')}. {NEVER}"
    return {
        "proposed": f"Entry {one.proposal_id} waits for another person than {who}.",
        "approved": f"Entry {one.proposal_id} is approved by {plain(one.approved_by or '')}: {who} "
        "may release it now.",
        "withdrawn": f"Entry {one.proposal_id} was withdrawn by {plain(one.withdrawn_by or '')}: "
        "it will never be booked.",
        "booked": f"Entry {one.proposal_id} is booked, by {who}.",
    }[one.state]


def day(written: str) -> str:
    """The date of an entry."""
    return written[:10]


def moment(written: str) -> str:
    """Date and hour of an entry, in universal time: the ledger keeps no more, so that it tells no
    durations.
    """
    try:
        return f"{datetime.fromisoformat(written):%Y-%m-%d, %H} h UTC"
    except ValueError:
        return written


def history_sentence(charges: Sequence[Charge]) -> str:
    """How many charges, and how they ended."""
    counts = {state: sum(charge.state == state for charge in charges) for state in SIGNS}
    parts = [f"{counts['done']} released"]
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed (spent all the same)")
    if counts["booked"]:
        parts.append(
            f"{counts['booked']} booked without a result (running, or broke off; spent in any case)"
        )
    many = "1 charge" if len(charges) == 1 else f"{len(charges)} charges"
    return f"{many}: {', '.join(parts)}."
