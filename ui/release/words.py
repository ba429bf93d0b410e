"""The wording of the page Release."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from dpci_core.ledger import Account, Charge, Proposal
from dpci_core.plan import AnyPlan
from dpci_core.plan.acceptance import STAYS_SPENT
from dpci_core.plan.effects import planned_effects
from dpci_core.plan.goals import goals
from dpci_core.privacy.budget import DEFINITIONS
from dpci_core.release import Acceptable, Header, ModelTask, warnings_of
from dpci_core.release.look import CODES_ONLY
from dpci_core.report.cautions import Caution, reach
from dpci_core.report.covered import missing_cells
from dpci_core.report.words import (
    called,
    many,
    neighbours,
    number_at_most,
    one_is,
    person_rules,
    protected,
)
from ui.session.text import (
    PRIVACY_UNIT,
    covers_of,
    method,
    noise_sentence,
    plain,
    risk_approx,
    risk_pure,
)
from ui.views.ledger_text import GREEK, cost_words, day, left_after, moment, shown, symbol

INTRODUCTION = (
    "Here the private table is read, **once**: the model is fitted, random noise is added, and you "
    "get coefficients and intervals that may be published. It spends a part of the privacy budget "
    "of these people, and cannot be undone."
)
NEEDS_DECLARATION = (
    "A release starts from a plan for a table that you **describe**: its columns with bounds or "
    "levels, known beforehand. The table of this plan is not of that kind yet."
)
CHANGED = (
    "**The plan was changed since.** Nothing of it is released before it is approved as it is now."
)
APPROVAL = "the approval of this plan: step 4"
PRICED = {
    "metric": "shape of the noise",
    "model": "coefficients",
    "inexact minimiser": "coefficients, for an inexact minimiser",
    "hessian": "standard errors, Hessian",
    "covariance": "standard errors, gradient covariance",
    "steps": "steps to the coefficients",
    "second moment": "standard errors, second moment of the rows",
}
PARTS = {
    "1": "What is released",
    "2": "The private table",
    "3": "The budget",
    "4": "Release, once",
}
PROPOSE, PROPOSED = "Propose it", "Proposed"
ALLOW = "I accept a privacy proof that no journal has reviewed, for real records"
OTHERWISE = (
    "Or switch on **Only peer-reviewed privacy results** on the page Plan: objective perturbation "
    "then uses the published mechanism."
)
AGAIN = (
    "Another release draws new noise and **costs the whole price again**. It does not replace the "
    "first one: whoever sees both knows more about each person, and that is what the second price "
    "pays for."
)
FILE = (
    "Only the **header** is read until you look or release: column names (of a Parquet file also "
    "types and the number of rows), nothing below them. The file stays in memory while this "
    "page is open, never on the disk; remove it with the × beside its name when you are done."
)
NO_NAMES = (
    "None of the names of the plan is in the first line of this file. Has it a line of names? What "
    "stands there is not shown, since it may be a person’s record."
)
LOOK = "Look whether its cells fit"
ALONE = (
    "For you alone, and gone when you leave: how many cells of each column fit the plan. It costs "
    f"nothing and is in no file. {CODES_ONLY}"
)
NOT_LOOKED = "The cells of this file cannot be looked at beforehand."
ACCEPT: dict[Acceptable, str] = {
    "yes_absent": "No record of this file has the outcome. I go on all the same",
    "no_absent": "No record of this file is without the outcome. I go on all the same",
    "many_incomplete": "More records of this file have a cell that is missing or not declared than "
    "the plan expects. I go on without them",
}
"""What a tick accepts, by the code of what was found."""
ENCODINGS = {"utf-8": "UTF-8 (usual)", "latin-1": "Latin-1 (older programs)"}


def plan_words(plan: AnyPlan) -> str:
    """The plan in a paragraph."""
    design, missing = plan.design, missing_cells(plan.transformations)
    names = ", ".join(plain(called(name)) for name in plan.names[:-1])
    noise = noise_sentence(design)
    return (
        f"**{plain(plan.title)}**: {method(design)}; **{plain(plan.schema.outcome_words)}** on "
        f"{many(len(plan.names) - 1, 'feature')} ({names}), "
        f"{100 * design.confidence_level:g} % intervals for the **{covers_of(design)}**. Planned "
        f"for n = {plan.n_records:,}; {_one_is(plan, plan.unit)} {plain(missing)}"
        f"{f' {noise}' if noise else ''}"
    )


def _one_is(plan: AnyPlan, unit: str) -> str:
    """Whom a row stands for, or which person is protected and by which rows."""
    if plan.persons is None:
        return f"one row is: {plain(one_is(unit))}."
    rules = person_rules(f"“{plain(plan.persons.column)}”", plan.persons.rows)
    return f"protected is {plain(protected(unit, plan.persons.rows))}. {rules}"


def guarantee_words(asked: ModelTask[Any]) -> str:
    """The price in its own definition, and what it means for one person."""
    cost = asked.price()
    amount = f"**{cost_words(cost)}**"
    if not DEFINITIONS[cost.definition].has_delta:
        return f"{amount}. {risk_pure(float(cost.amount))}"
    delta = float(asked.plan.delta)
    epsilon = DEFINITIONS[cost.definition].epsilon_of(float(cost.amount), delta)
    told = number_at_most(epsilon)
    return f"{amount}, that is ε = {told} at δ = {delta:g}. {risk_approx(epsilon, delta)}"


def parts(asked: ModelTask[Any]) -> list[str]:
    """What the price is made of."""
    cost = asked.price()
    return [
        f"{PRICED.get(name, name)}: {GREEK[cost.symbol]} = {shown(amount)}"
        for name, amount in cost.lines
    ]


def fits(asked: ModelTask[Any], header: Header, *, is_whole: bool) -> str:
    """Which columns of a file were looked for and found, and how much of it was read for that."""
    others = len(header.columns) - len(asked.needed)
    read = "The columns that the plan needs were read" if is_whole else "Only its header was read"
    return (
        f"{read}: all {len(asked.needed)} columns of the plan are there"
        + (f", and {others} that stay{'s' if others == 1 else ''} unread." if others else ".")
        + (" Numbers may be written 3.5 or 3,5." if header.has_decimal_comma else "")
    )


def warnings(asked: ModelTask[Any]) -> tuple[Caution, ...]:
    """What speaks against a release, gravest first, before anything is spent."""
    return warnings_of(asked.plan, asked.priced)


def _protection(plan: AnyPlan, account: Account) -> str:
    if plan.persons is None:
        return f"{PRIVACY_UNIT} One row is: {plain(one_is(account.unit))}."
    one = _one_is(plan, plan.unit)
    return f"{one[0].upper()}{one[1:]} {neighbours(plan.persons.rows)}"


def remains(asked: ModelTask[Any], account: Account, spent: Decimal) -> str:
    """What a release would leave of a budget."""
    in_cap = (
        ""
        if asked.price().symbol == account.cap.symbol
        else f" (the price counts as {symbol(account.cap)} = {shown(spent)})"
    )
    return (
        f"**What remains afterwards** of the budget of “{plain(account.dataset)}”{in_cap}: "
        f"{left_after(account, spent)}."
    )


_NAMED = 3


def earlier(accounts: tuple[Account, ...], history: tuple[Charge, ...], account: Account) -> str:
    """What was released about the people of a data set before, newest first: the same question
    under another title, or from another table of theirs, costs its price again, though its answer
    is known. Empty where nothing was.
    """
    theirs = {one.account_id for one in accounts if one.pool_id == account.pool_id}
    done = [c for c in history if c.account_id in theirs and c.state == "done"][::-1]
    if not done:
        return ""
    named = ", ".join(f"“{plain(c.purpose)}” on {day(c.booked_at)}" for c in done[:_NAMED])
    more = len(done) - _NAMED
    rest = f" and {more} more on the page Ledger" if more > 0 else ""
    return (
        f"**Already released about these people:** {named}{rest}. Reading what was released costs "
        "nothing; asking it again costs the price again."
    )


def _what_it_is(asked: ModelTask[Any], account: Account) -> str:
    """Unit, how many effects can be reported, and planned lengths."""
    numbers = asked.priced.numbers
    effects = planned_effects(asked.plan, numbers).saying()
    reached = reach(numbers.promise, asked.plan.usable)
    planned = " ".join([reached, effects, *goals(asked.plan, numbers)])
    return f"- {_protection(asked.plan, account)}\n- **Planned:** {plain(planned)}\n"


def before_proposal(asked: ModelTask[Any], account: Account, spent: Decimal) -> str:
    """What is proposed, and that nothing is spent by it."""
    return (
        f"- {remains(asked, account, spent)}\n"
        f"{_what_it_is(asked, account)}"
        "- **Proposing spends nothing** and needs no file. Another person has to approve exactly "
        "this; then whoever proposed it releases it here."
    )


def proposal_words(one: Proposal) -> str:
    """What became of a proposal, and what it waits for."""
    number, by, what = one.proposal_id, plain(one.person), cost_words(one.cost)
    if one.state == "proposed":
        return (
            f"Entry {number}, proposed by {by}, waits for **another person** to approve it: on the "
            f"page Ledger, or with `python -m dpci_core ledger approve {number}`. Nothing is spent "
            "yet."
        )
    if one.state == "approved":
        whom = plain(one.approved_by or "")
        return f"The proposal by {by} to spend {what} is **approved by {whom}** as entry {number}."
    if one.state == "withdrawn":
        return (
            f"Entry {number}, proposed by {by}, was withdrawn by {plain(one.withdrawn_by or '')}. "
            "Nothing was spent, and it can be proposed again."
        )
    return f"Entry {number}, proposed by {by}, was just booked. Load this page anew to see it."


def another_content(one: Proposal) -> str:
    """That a proposal bears the request of what is on the page and asks for something else."""
    return (
        f"Entry {one.proposal_id}, proposed by {plain(one.person)}, has the request of this "
        f"release and asks for something else: {plain(one.purpose)}, {cost_words(one.cost)}. "
        "Nothing of this release is approved. Once that entry is withdrawn, this can be proposed."
    )


def another_login(one: Proposal) -> str:
    """Who has to release what somebody else is shown."""
    return f"{plain(one.person)} has to release it: whoever proposed it does."


def withdraw_words(one: Proposal, known: str | None) -> str:
    """On the button; without a login it names the person whom the ledger will name."""
    return "Withdraw it" if known else f"Withdraw it, as {plain(one.person)}"


def before_click(asked: ModelTask[Any], account: Account) -> str:
    """What is released, and that it cannot be undone."""
    plan = asked.plan
    low, high = plan.n_range
    return (
        f"{_what_it_is(asked, account)}"
        f"- Fewer than {low:,} {counted(plan)} or more than {high:,} (planned: "
        f"{plan.n_records:,}) are refused, and nothing is spent.\n"
        f"{_rule(plan)}"
        "- **This cannot be undone.** Once it is booked, the price is spent, whatever happens."
    )


def _rule(plan: AnyPlan) -> str:
    """What the release has to meet to be published."""
    return "" if plan.publish_if is None else f"- {plan.publish_if.sentence} {STAYS_SPENT}\n"


def counted(plan: AnyPlan) -> str:
    """What the records of a plan are counted by."""
    return "rows" if plan.persons is None else "persons"


def other_number(found: int, plan: AnyPlan) -> str:
    """That the file has another number of records than the plan; it is public."""
    return (
        f"The table has {found:,} {counted(plan)}; the plan is for {plan.n_records:,}. Lengths "
        "will differ from the planned ones. The number is public: plan again with it if that "
        "matters."
    )


def missing(
    person: str,
    is_confirmed: bool = True,
    has_file: bool = True,
    *,
    is_approved: bool,
    is_read: bool = True,
) -> str:
    """What the button waits for."""
    wanted = [
        words
        for words, is_there in (
            (APPROVAL, is_approved),
            ("a table whose header fits", has_file),
            ("your name", bool(person)),
            ("the typed name of the data set", is_confirmed),
            ("that you have read the warnings", is_read),
        )
        if not is_there
    ]
    return f"Still needed: {', '.join(wanted)}." if wanted else ""


def before_words(charge: Charge, *, has_result: bool = False) -> str:
    """What became of an earlier charge for the same plan, which this server does not carry out.

    has_result: whether its result is on this server.
    """
    when = f"on {moment(charge.booked_at)} by {plain(charge.person)}"
    if charge.state == "done":
        return (
            f"This plan was released {when}. The result is below; looking at it again costs "
            "nothing."
        )
    if charge.state == "failed":
        return (
            f"A release of this plan {when} failed, and its price is spent: "
            f"{plain(charge.reason or '')}"
        )
    if charge.may_go_on:
        return (
            f"A release of this plan was booked {when}, and its price is spent. It was stopped "
            "before anything was drawn, or is carried out elsewhere: it goes on here, with the "
            "same file, and costs nothing more. Noise is drawn for it once, whoever goes on."
        )
    if has_result:
        return f"A release of this plan was booked {when}, and its price is spent."
    return (
        f"A release of this plan was booked {when}, its noise began to be drawn, and there is no "
        "result. Unless it is carried out elsewhere, **it broke off and is lost**: its price is "
        "spent, and no noise is ever drawn for it again. Another release costs the price again."
    )


NOT_NOTED = (
    "The result below was written, and the server stopped before the ledger knew of it. Noting it "
    "draws and costs nothing."
)
RUNNING = (
    "**A release of this plan is running**: its file is read, or noise is drawn for it. What comes "
    "of it appears here by itself, and what is left of the budget with it."
)
NOT_BOOKED = (
    "The release that was running ended before it was booked. Nothing was spent; why, is said in "
    "the window that began it."
)
PAID = "The price is paid."
GO_ON = "Going on reads the file again and draws, once."


def no_folder(folder: Path) -> str:
    """Return the sentence about a result whose folder is not on this server."""
    return (
        f"Its folder {folder.name} is not on this server. It may be on another machine, or was "
        "moved."
    )
