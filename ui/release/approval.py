"""What stands between a budget and the file where another person has to approve each release."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpci_core.ledger import Account, BudgetExceededError, Ledger, Proposal, price
from dpci_core.release import ModelTask, check_approved, propose
from ui.controls import person
from ui.release import words
from ui.session import access, steps
from ui.session.text import plain
from ui.session.words import in_words
from ui.views import ledger_text
from ui.views.cautions import box

SAID = "release_said"
"""What the last click on the page led to, if it was refused."""


def step(
    ledger: Ledger, asked: ModelTask[Any], account: Account, request_id: str, before: str
) -> Proposal | None:
    """The approved proposal that whoever is here may release; None where something is missing, and
    then it is said what.

    before: what was released about these people, in words.
    """
    known = ledger.proposal_of(request_id)
    if known is None or known.state == "withdrawn":
        st.header(words.PROPOSE)
        if known is not None:
            st.info(words.proposal_words(known))
        _form(asked, account, request_id, before)
        return None
    if known.state != "booked" and not _is_of(known, asked, account):
        st.header(words.PROPOSED)
        st.error(words.another_content(known))
        _withdrawing(known)
        return None
    if known.state == "approved":
        return _approved(ledger, asked, known)
    st.header(words.PROPOSED)
    st.info(words.proposal_words(known))
    if known.state == "proposed":
        _withdrawing(known)
    return None


def _is_of(known: Proposal, asked: ModelTask[Any], account: Account) -> bool:
    """Whether exactly this was proposed: whoever can write proposals may have named another by the
    request of this one.
    """
    decided = account.account_id, asked.price(), asked.title.strip(), asked.digest
    return (known.account_id, known.cost, known.purpose, known.plan_hash) == decided


def _approved(ledger: Ledger, asked: ModelTask[Any], known: Proposal) -> Proposal | None:
    """What is approved, for who proposed it and while it can be booked. Reading checks no seal, and
    somebody else's entries must not open the form.
    """
    who = access.person()
    if who is not None and _as_login(who) != _as_login(known.person):
        st.info(f"{words.proposal_words(known)} {words.another_login(known)}")
        return None
    by, request_id = known.person, known.request_id
    try:
        check_approved(asked, ledger, known.dataset, person=by, request_id=request_id)
    except ValueError as problem:
        st.error(plain(in_words(problem)))
        return None
    st.success(words.proposal_words(known))
    return known


def _as_login(person: str) -> str:
    """What is the same for one login; addresses that differ in a dot are two."""
    return person.strip().casefold()


def _withdrawing(known: Proposal) -> None:
    """On the right: a double click on what proposes at the left must not take it back."""
    with st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
        st.page_link("../pages/ledger.py", label="To the page Ledger →")
        st.button(
            words.withdraw_words(known, access.person()),
            key="release_withdraw",
            on_click=_withdraw,
            args=(known,),
        )


def _form(asked: ModelTask[Any], account: Account, request_id: str, before: str) -> None:
    """Price and warnings as before a release, and the button that spends nothing."""
    cost = asked.price()
    spent = price(account.cap, cost)
    with st.container(border=True):
        box(words.warnings(asked))
        st.markdown(words.before_proposal(asked, account, spent))
        if spent > account.remaining:
            st.error(
                in_words(BudgetExceededError(spent, account.remaining, symbol=account.cap.symbol))
            )
            return
        if before:
            st.markdown(before)
        who = person.field(st, "release")
        missing = words.missing(who, is_approved=bool(asked.plan.approved))
        st.button(
            f"Propose to spend {ledger_text.cost_words(cost)}",
            key="release_propose",
            type="primary",
            disabled=bool(missing),
            on_click=_propose,
            args=(asked, account.dataset, request_id),
        )
        if missing:
            st.caption(missing)


def _propose(asked: ModelTask[Any], dataset: str, request_id: str) -> None:
    """Propose, unless somebody did in another tab: then the page shows theirs."""
    ledger = Ledger()
    try:
        known = ledger.proposal_of(request_id)
        if known is None or known.state == "withdrawn":
            if not steps.approval(asked.plan.digest):
                raise ValueError(f"Nothing was proposed. Still needed: {words.APPROVAL}.")
            who = person.now("release")
            propose(asked, ledger, dataset, person=who, request_id=request_id)
    except ValueError as problem:
        st.session_state[SAID] = in_words(problem)


def _withdraw(proposal: Proposal) -> None:
    """Take it back, in the name of whoever is logged in, or else of who proposed it."""
    try:
        who = person.known_now() or proposal.person
        Ledger().withdraw(proposal.proposal_id, person=who)
    except ValueError as problem:
        st.session_state[SAID] = in_words(problem)
