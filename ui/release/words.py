"""The wording of the page Release."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from dpci_core import Plan
from dpci_core.ledger import Account, Charge
from dpci_core.ledger.amounts import exact_difference
from dpci_core.privacy.budget import DEFINITIONS
from dpci_core.release import Price
from dpci_core.report.covered import covered
from ui.session.text import PRIVACY_UNIT, noise_sentence, number, plain, risk_approx, risk_pure
from ui.views.ledger_text import cost_words, moment, shown, symbol

INTRODUCTION = (
    "Here the private table is read, **once**: the model is fitted, noise is drawn from the "
    "operating system, and you get coefficients and intervals that may be published. It costs "
    "budget, and it cannot be undone."
)
NEEDS_DECLARATION = (
    "A release starts from a plan for a table that you **describe**: its columns with bounds or "
    "levels, known beforehand. The table of this plan is not of that kind yet."
)
PRICED = {
    "metric": "shape of the noise",
    "model": "coefficients",
    "inexact minimiser": "coefficients, for an inexact minimiser",
    "hessian": "Hessian",
    "covariance": "gradient covariance",
}
PARTS = {
    "1": "What is released",
    "2": "What it costs, and from which budget",
    "3": "The private table",
    "4": "Release, once",
}
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
    "Only the **header** is read before you release: column names (of a Parquet file also types "
    "and the number of rows), nothing below them. The file stays in the memory of this session, "
    "never on the disk; remove it with the × beside its name when you are done."
)
ENCODINGS = {"utf-8": "UTF-8 (usual)", "latin-1": "Latin-1 (older programs)"}


def plan_words(plan: Plan) -> str:
    """The plan in a paragraph."""
    design = plan.design
    names = ", ".join(plain(name) for name in plan.names[:-1])
    noise = noise_sentence(design)
    return (
        f"**{plain(plan.title)}**: {design.loss.title} of **{plain(plan.schema.target)}** = "
        f"{plain(plan.schema.positive)} on {len(plan.names) - 1} features ({names}), "
        f"{design.mechanism} perturbation, c = {design.regularization:g}, "
        f"{100 * design.confidence_level:g} % intervals for the **{covered(design)}**. Planned for "
        f"n = {plan.n_records:,}; one row is: {plain(plan.unit)}.{f' {noise}' if noise else ''}"
    )


def guarantee_words(price: Price) -> str:
    """The price in its own definition, and what it means for one person."""
    cost, numbers = price.cost, price.numbers
    amount = f"**{cost_words(cost)}**"
    if not DEFINITIONS[cost.definition].has_delta:
        return f"{amount}. {risk_pure(float(cost.amount))}"
    return (
        f"{amount}, that is ε = {number(numbers.epsilon)} at δ = {numbers.delta:g}. "
        f"{risk_approx(numbers.epsilon, numbers.delta)}"
    )


def before_click(plan: Plan, account: Account, price: Price, spent: Decimal) -> str:
    """Price, what remains, unit, planned lengths, and that it cannot be undone."""
    left = exact_difference(account.remaining, spent)
    in_cap = (
        ""
        if price.cost.symbol == account.cap.symbol
        else f" (it counts as {symbol(account.cap)} = {shown(spent)})"
    )
    remains = (
        f"{symbol(account.cap)} = {shown(left)} of {shown(account.cap.amount)}"
        if left >= 0
        else "nothing"
    )
    return (
        f"- **Price:** {guarantee_words(price)}{in_cap}\n"
        f"- **What remains afterwards** of the budget of “{plain(account.dataset)}”: {remains}.\n"
        f"- {PRIVACY_UNIT} One row is: {plain(account.unit)}.\n"
        f"- **Planned:** intervals {number(price.numbers.ci_length_mean)} long on average (scaled "
        "coefficients).\n"
        f"- If the table has another number of rows than {plan.n_records:,}, lengths will differ, "
        "and with far fewer the release can fail; the price is spent all the same.\n"
        "- **This cannot be undone.** Whatever happens after the click, the price is spent."
    )


def other_rows(found: int, planned: int) -> str:
    """That the file has another number of rows than the plan; the number of rows is public."""
    return (
        f"The table has {found:,} rows by its own header; the plan is for {planned:,}. Lengths "
        "will differ from the planned ones. The number of rows is public: plan again with this one "
        "if that matters."
    )


def missing(person: str, is_confirmed: bool, has_file: bool, *, is_read: bool = True) -> str:
    """What the button waits for."""
    wanted = [
        words
        for words, is_there in (
            ("a table whose header fits", has_file),
            ("your name", bool(person)),
            ("the typed name of the data set", is_confirmed),
            ("that you have read the warnings", is_read),
        )
        if not is_there
    ]
    return f"Still needed: {', '.join(wanted)}." if wanted else ""


def before_words(charge: Charge) -> str:
    """What became of an earlier charge of the same plan."""
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
    return (
        f"A release of this plan was booked {when} and has no result in the ledger: it is running, "
        "or it broke off. Its price is spent, and no noise is ever drawn for it again."
    )


def no_folder(folder: Path) -> str:
    """Where the result should have been."""
    return (
        f"Its folder {folder.name} is not on this server. It may be on another machine, or was "
        "moved."
    )
