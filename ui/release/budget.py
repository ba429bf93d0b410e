"""The data set that a release is from, and its budget, which it gets once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import streamlit as st

from dpci_core.ledger import Account, Cap, Charge, Cost, Ledger, price
from dpci_core.ledger.amounts import exact_amount
from dpci_core.plan import AnyPlan
from dpci_core.privacy.budget import DEFINITIONS
from dpci_core.release import ModelTask, schema_hash
from ui.controls import person
from ui.kit.bound import among
from ui.kit.top import told_here
from ui.release import words
from ui.session import steps
from ui.session.choices import CURRENCIES, PROMISE, labels_of
from ui.session.settings import Settings
from ui.session.text import plain
from ui.session.words import in_words
from ui.views import ledger_text

_NEW = 0
"""Stands for an account that is yet to be made."""
_SAID, _CHOSEN, _PEOPLE = "budget_said", "release_account", "budget_people"
OTHERS = "No, these are different people"


def price_of(asked: ModelTask[Any]) -> None:
    """The price, and what it is made of."""
    st.markdown(f"**Price:** {words.guarantee_words(asked)}")
    with st.expander("What the price is made of"):
        for line in words.parts(asked):
            st.markdown(f"- {line}")


def data_set(
    accounts: tuple[Account, ...], history: tuple[Charge, ...], asked: ModelTask[Any]
) -> Account | None:
    """The account of the data set that the file is of; None for one that has no budget yet."""
    schema = schema_hash(asked.plan.schema)
    fitting = {a.account_id: a for a in accounts if a.schema_hash == schema}
    options = [*fitting, _NEW]
    if not fitting:
        st.session_state[_CHOSEN] = _NEW
        return None
    booked = [c for c in history if c.plan_hash == asked.digest]
    if st.session_state.get(_CHOSEN) not in options:
        st.session_state[_CHOSEN] = booked[-1].account_id if booked else options[-2]
    chosen = st.selectbox(
        "Data set",
        options,
        # Nothing that a release changes: the browser goes on showing the words under which it was
        # chosen.
        format_func=lambda i: fitting[i].dataset if i else "One that has no budget yet …",
        key=_CHOSEN,
        persist_state="session",
    )
    if booked and chosen not in [charge.account_id for charge in booked]:
        st.warning(
            f"This very plan was paid for from “{plain(booked[-1].dataset)}” on "
            f"{booked[-1].booked_at[:10]}. The same file holds the same people: they share that "
            "budget."
        )
    if not chosen:
        return None
    st.session_state.pop(_SAID, None)
    st.caption(ledger_text.left(fitting[chosen]))
    return fitting[chosen]


def people(ledger: Ledger) -> bool:
    """Whether it is said if these people have a budget already, which comes before their file."""
    names = list(dict.fromkeys(a.dataset for a in ledger.accounts()))
    if not names:
        return True
    before = st.session_state.get(steps.PEOPLE)
    st.radio(
        "Are these people in another data set of the ledger too, all or some of them?",
        [OTHERS, *names],
        format_func=lambda name: (
            name if name == OTHERS else f"Yes, in “{name}”: they share its budget"
        ),
        index=1 + names.index(before) if before in names else None,
        key=_PEOPLE,
    )
    if approval_comes_first(ledger):
        st.caption(f"{ledger_text.NEEDS_APPROVAL} No file is asked for before.")
    is_said = st.session_state[_PEOPLE] is not None
    if not is_said:
        _say()
    return is_said


def approval_comes_first(ledger: Ledger) -> bool:
    """Whether the budget that these people share asks for another person before their file."""
    name = shared()
    return any(a.needs_approval for a in ledger.accounts() if a.dataset == name)


def form(asked: ModelTask[Any], *, has_file: bool) -> None:
    """Give a data set its budget, once and for all, or its share of another's."""
    cost, is_shared = asked.price(), shared() is not None
    with st.container(border=True):
        if not is_shared:
            st.markdown(
                "**Give this data set its budget, once and for all.** It is the most that may ever "
                "be spent on the people in it, whatever is released; it cannot be raised later"
                f"{'.' if has_file else ', so see first whether your file fits.'}"
            )
        left, right = st.columns(2, gap="medium")
        left.text_input(
            "Name of the data set", key="budget_name", max_chars=100, placeholder="Clinic 2026"
        )
        person.field(right, "release")
        consent = "" if is_shared else _cap_fields(left, right, cost)
        _say()
        st.button(
            "Share this budget" if is_shared else consent or "Set this budget",
            # A click on the words of one amount is no consent to another that was typed since.
            key=f"budget_make_{consent}",
            type="primary",
            on_click=_make,
            args=(asked.plan, cost, consent),
        )


def _cap_fields(left: Any, right: Any, cost: Cost) -> str:
    """The total, what it would let happen, and whether another person has to approve; the words by
    which a total that pays is set.
    """
    kind = left.segmented_control(
        "Privacy definition",
        **among(labels_of(CURRENCIES)),
        default=_usual(cost),
        key="budget_kind",
    )
    typed = CURRENCIES[kind or PROMISE]
    right.text_input(f"Total {typed.letter} ever allowed", key="budget_amount", placeholder="1")
    if kind and typed.is_promise:
        right.text_input("δ", key="budget_delta", placeholder="1e-6")
    with right:
        consent = _what_it_means(cost)
    if kind == cost.definition:
        _suggestions(cost)
    paid = DEFINITIONS[cost.definition]
    can_pay = typed.is_promise or typed.definition.price_of(paid, cost.amount)
    if kind and not can_pay:
        st.caption(f"{typed.label} cannot pay for this plan: none of it is worth a {paid.letter}.")
    st.checkbox(
        "Another person has to approve every release from this budget",
        key="budget_approval",
        help="Declared once and for all, like the budget. From then on no file is asked for before "
        "a second person has approved, on the page Ledger or the command line.",
    )
    return consent


def _say() -> None:
    """Why the last click set no budget."""
    if said := st.session_state.pop(_SAID, None):
        told_here(plain(said))


def shared() -> str | None:
    """The data set whose budget these people share, as chosen."""
    people = st.session_state.get(_PEOPLE)
    return None if people in (None, OTHERS) else str(people)


def _usual(cost: Cost) -> str:
    """The control's own name for the definition of a price; (epsilon, delta) where it has none."""
    return cost.definition if cost.definition in CURRENCIES else PROMISE


def _what_it_means(cost: Cost) -> str:
    """What the typed cap would let happen, as at every other control of a budget; the words by
    which it is set, none where it is not typed yet, refused in words when it is set, or too little.
    """
    try:
        cap = _cap(cost)
    except ValueError:
        return ""
    st.caption(ledger_text.cap_sentence(cap))
    if too_little := _too_little(cap, cost):
        st.error(too_little)
        return ""
    return _consent(cap)


_TIMES = {
    1: "for this release alone",
    2: "to repeat it once, after a correction",
    5: "for one such release in each of five years",
}
"""Totals that are offered, as multiples of the price, with an example."""


def _suggestions(cost: Cost) -> None:
    """Totals to take over with a click, each with what it would be enough for."""
    letter = DEFINITIONS[cost.definition].letter
    st.caption("For example, to take over with a click:")
    with st.container(horizontal=True, gap="small"):
        for times, what in _TIMES.items():
            amount = f"{(times * cost.amount).normalize():f}"
            st.button(
                f"{letter} = {amount}: {what}",
                key=f"budget_suggest_{times}",
                type="tertiary",
                on_click=_suggest,
                args=(amount,),
            )


def _suggest(amount: str) -> None:
    st.session_state["budget_amount"] = amount


def _too_little(cap: Cap, cost: Cost) -> str:
    """Why a cap cannot pay for the release that waits; empty where it can."""
    try:
        spent = price(cap, cost)
    except ValueError as problem:
        return in_words(problem)
    if spent <= cap.amount:
        return ""
    return (
        f"{_amount_words(cap)} is less than this release costs, "
        f"{ledger_text.symbol(cap)} = {ledger_text.shown(spent)}. A budget cannot be raised later, "
        "so this release could never be made."
    )


def _is_beyond(cap: Cap) -> bool:
    """Whether a cap is larger than any budget that a page offers."""
    kind, most = (cap.definition, cap.amount) if cap.epsilon is None else (PROMISE, cap.epsilon)
    return most > Decimal(repr(CURRENCIES[kind].limits[1]))


def _amount_words(cap: Cap) -> str:
    if cap.epsilon is not None:
        return f"ε = {ledger_text.shown(cap.epsilon)}"
    return f"{ledger_text.symbol(cap)} = {ledger_text.shown(cap.amount)}"


def _consent(cap: Cap) -> str:
    """The words on the button that sets a cap, which name all of it: epsilon alone is another
    promise than epsilon at a delta.
    """
    at = "" if cap.delta is None else f" at δ = {ledger_text.shown(cap.delta)}"
    amount = f"Set {_amount_words(cap)}{at}, for good"
    if _is_beyond(cap):
        return f"{amount}, though it hardly protects anybody"
    return f"{amount}: nobody can raise it"


def _make(plan: AnyPlan, cost: Cost, consent: str) -> None:
    """Write the account with a budget that the button named, or say what is wrong."""
    typed = st.session_state
    people = typed.get(_PEOPLE)
    ledger = Ledger()
    try:
        if people is None and ledger.accounts():
            raise ValueError("Say whether these people are in another data set of the ledger too.")
        name = shared()
        account = ledger.create_dataset(
            typed["budget_name"],
            schema_hash=schema_hash(plan.schema),
            cap=None if name else _meant_cap(cost, consent),
            **plan.account_unit,
            person=person.now("release"),
            same_people_as=name,
            other_people=people == OTHERS,
            needs_approval=name is None and bool(typed.get("budget_approval")),
        )
    except ValueError as problem:
        typed[_SAID] = in_words(problem)
        return
    typed[_CHOSEN] = account.account_id


def _meant_cap(cost: Cost, consent: str) -> Cap:
    """The cap as typed, where it pays for the release and is the one that the button named."""
    cap = _cap(cost)
    if too_little := _too_little(cap, cost):
        raise ValueError(too_little)
    if consent != _consent(cap):
        raise ValueError(
            f"{_amount_words(cap)} stays the budget of these people for ever: press the button "
            "that says so."
        )
    return cap


def _cap(cost: Cost) -> Cap:
    """The cap as typed; (epsilon, delta) counts in mu^2 where the release that waits is paid in it,
    because a rho of the same promise would not cover it.
    """
    kind = st.session_state.get("budget_kind") or Settings().currency
    amount, delta = (
        str(st.session_state.get(f"budget_{name}") or "").strip() for name in ("amount", "delta")
    )
    typed = CURRENCIES[kind]
    if typed.is_promise:
        paid = DEFINITIONS[cost.definition]
        counted = paid if paid.additive_only else typed.definition
        return Cap.approx(amount, delta, definition=counted.definition)
    return Cap(definition=kind, amount=exact_amount(amount, name=typed.definition.symbol))
