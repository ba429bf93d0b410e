"""Who acts, as the ledger writes it: whoever is logged in, or a typed name without a login."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpci_core.ledger import Charge, Proposal
from ui.session import access

_TYPED = "person_typed"
"""The name that was typed last in this session, on whichever page; emptying a field forgets it."""


def field(place: Any, page: str) -> str:
    """The person, with the field of a page that asks for a name where nobody is logged in."""
    if known := access.person():
        place.text_input(
            "You, as the ledger writes it", known, disabled=True, key=f"{page}_known_person"
        )
        return known
    key = _key(page)
    if not st.session_state.get(key) and (typed := st.session_state.get(_TYPED)):
        st.session_state[key] = typed
    name = place.text_input(
        "Your name, for the ledger",
        key=key,
        persist_state="session",
        on_change=lambda: st.session_state.update({_TYPED: st.session_state[key]}),
    )
    return str(name).strip()


def fixed(place: Any, decided: Charge | Proposal) -> str:
    """The person of what was proposed or booked, who cannot be changed any more."""
    place.text_input(
        "Who releases, for the ledger",
        decided.person,
        disabled=True,
        key=f"release_by_{decided.request_id}",
    )
    return decided.person


def now(page: str) -> str:
    """The person as a click finds it, empty where no name is typed.

    Raises:  ValueError for who may not be here any more.
    """
    return known_now() or str(st.session_state.get(_key(page)) or "").strip()


def known_now() -> str | None:
    """Who is logged in as a click finds it; raises as `now`."""
    if access.is_shut():
        raise ValueError("You may not use this dashboard any more: log in again.")
    return access.person()


def _key(page: str) -> str:
    return f"{page}_person"
