"""Proposals that wait for another person, and what that person answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from dpci_core.ledger import Account, Ledger, Proposal
from ui.controls import person
from ui.session import access
from ui.session.text import plain
from ui.session.words import in_words
from ui.views import ledger_text

_SEEN, _REFUSED = "ledger_seen", "ledger_refused"
Answer = Callable[[Ledger, int, str], Proposal]


def section(accounts: tuple[Account, ...], proposals: tuple[Proposal, ...]) -> None:
    """Every proposal that stands, with the buttons that this person may press.

    What was shown once stays in its place while the page is open: otherwise the second half of a
    double click answers the row that moved under the pointer.
    """
    paying = {account.account_id: account for account in accounts}  # read before the proposals
    seen = st.session_state.setdefault(_SEEN, set())
    shown = [
        one
        for one in proposals
        if one.account_id in paying and (one.stands or one.proposal_id in seen)
    ]
    seen.update(one.proposal_id for one in shown)
    number, refused = st.session_state.pop(_REFUSED, (None, ""))
    if refused and number not in [one.proposal_id for one in shown]:
        st.error(plain(refused))
    if not shown:
        return
    who = _head(shown)
    for one in shown:
        with st.container(border=True):
            _row(one, paying[one.account_id], who)
            if one.proposal_id == number:
                st.error(plain(refused))


def _head(shown: list[Proposal]) -> str:
    """What stands above the rows; who answers, empty where nobody can."""
    if not any(one.stands for one in shown):
        st.header("Answered")
        return ""
    is_open = any(one.state == "proposed" for one in shown)
    st.header("Waiting for approval" if is_open else "Approved, not released yet")
    st.markdown(ledger_text.WAITING)
    who = person.field(st, "ledger")
    if access.person() is None:
        st.caption(ledger_text.NO_LOGIN)
    return who


def _row(one: Proposal, account: Account, who: str) -> None:
    st.markdown(ledger_text.proposed(one, account))
    is_left = one.spent <= account.remaining
    is_own = bool(who) and one.is_by(who)
    if one.state != "proposed":
        st.caption(ledger_text.answered(one, is_left=is_left))
    elif not is_left:
        st.caption(ledger_text.NEVER)
    elif is_own:
        st.caption(ledger_text.THE_OWN)
    if not one.stands:
        return
    with st.container(horizontal=True):
        # withdrawing comes first: it never takes the place of what was just pressed
        _button("Withdraw", "withdraw", one, who)
        if one.state == "proposed" and is_left and not is_own:
            _button("Approve", "approve", one, who)


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
    """Write it down; the row of exactly the proposal that was shown says what became of it."""
    try:
        _ANSWERS[name](Ledger(), number, person.now("ledger"))
    except ValueError as problem:
        st.session_state[_REFUSED] = number, in_words(problem)
