"""Proposals that wait for another person, and what that person answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from dpci_core.ledger import Account, Ledger, LedgerError, Proposal
from ui.controls import person
from ui.session import access
from ui.session.text import plain
from ui.session.words import in_words
from ui.views import ledger_text

_TOLD, _REFUSED = "ledger_told", "ledger_refused"
Answer = Callable[[Ledger, int, str], Proposal]


def section(accounts: tuple[Account, ...], proposals: tuple[Proposal, ...]) -> None:
    """Every proposal that stands, with the buttons that this person may press."""
    paying = {account.account_id: account for account in accounts}  # read before the proposals
    standing = [
        one
        for one in proposals
        if one.state in ("proposed", "approved") and one.account_id in paying
    ]
    if standing:
        is_open = any(one.state == "proposed" for one in standing)
        st.header("Waiting for approval" if is_open else "Approved, not released yet")
        st.markdown(ledger_text.WAITING)
    if refused := st.session_state.pop(_REFUSED, None):
        st.error(plain(refused))
    if told := st.session_state.pop(_TOLD, None):
        st.info(told)
    if not standing:
        return
    who = person.field(st, "ledger")
    if access.person() is None:
        st.caption(ledger_text.NO_LOGIN)
    for one in standing:
        with st.container(border=True):
            _row(one, paying[one.account_id], who)


def _row(one: Proposal, account: Account, who: str) -> None:
    st.markdown(ledger_text.proposed(one, account))
    is_left = one.spent <= account.remaining
    is_own = bool(who) and one.is_by(who)
    if one.state == "approved":
        st.caption(ledger_text.answered(one))
    elif not is_left:
        st.caption(ledger_text.NEVER)
    elif is_own:
        st.caption(ledger_text.THE_OWN)
    with st.container(horizontal=True):
        if one.state == "proposed" and is_left and not is_own:
            _button("Approve", "approve", one, who)
        _button("Withdraw", "withdraw", one, who)


def _button(label: str, name: str, one: Proposal, who: str) -> None:
    st.button(
        label,
        key=f"ledger_{name}_{one.proposal_id}",
        type="primary" if name == "approve" else "secondary",
        disabled=not who,
        on_click=_answer,
        args=(name, one.proposal_id),
    )


_ANSWERS: Mapping[str, Answer] = {
    "approve": lambda ledger, number, who: ledger.approve(number, person=who),
    "withdraw": lambda ledger, number, who: ledger.withdraw(number, person=who),
}


def _answer(name: str, number: int) -> None:
    """Write it down, and say what became of exactly the proposal that was shown."""
    try:
        told = _ANSWERS[name](Ledger(), number, person.now("ledger"))
    except LedgerError as problem:
        st.session_state[_REFUSED] = in_words(problem)
    else:
        st.session_state[_TOLD] = ledger_text.answered(told)
