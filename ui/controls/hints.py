"""Explanations that can be switched off, never warnings, guarantees or units; and what was wrong
with a link.
"""

from __future__ import annotations

import streamlit as st

from ui.kit.bound import bound
from ui.session import access, state, text
from ui.session.case import RemediedError


def words(explanation: str) -> str:
    """Words that only explain: empty where explanations are switched off."""
    return explanation if state.is_help_on() else ""


def way_out(problem: Exception) -> None:
    """The button of a refusal that knows settings without it."""
    if isinstance(problem, RemediedError):
        st.button(problem.way, key="remedy", on_click=state.put, args=(problem.remedied,))


def expander(label: str, words: str) -> None:
    """An explanation behind a click."""
    if state.is_help_on():
        with st.expander(label):
            st.markdown(words)


def to_about() -> None:
    """To the answer for who has not heard of it."""
    st.page_link("../pages/about.py", label="What is differential privacy?")


def foot() -> None:
    """One line below all pages: what is protected, whether explanations are shown, and who is
    logged in.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="foot"):
        with st.popover("What is protected?", type="tertiary"):
            st.markdown(text.privacy_unit(state.settings()))
            to_about()
        st.toggle(
            "Explanations",
            **bound("help_switch", state.is_help_on(), state.set_help),
            help="Hides what explains controls and charts, on all pages. Warnings, guarantees and "
            "units stay.",
        )
        access.leave()


def link_problem() -> None:
    """Say what the link held but could not be used."""
    if bad := state.link_problem():
        listed = text.plain(", ".join(bad))
        st.warning(
            f"This link held values that cannot be used ({listed}); the defaults stand in for them."
        )
