"""Explanations that can be switched off; warnings, guarantees and units are never among them."""

from __future__ import annotations

import streamlit as st

from ui.session import state


def words(explanation: str) -> str:
    """Words that only explain: empty where explanations are switched off."""
    return explanation if state.is_help_on() else ""


def caption(words: str) -> None:
    """A sentence that explains."""
    if words and state.is_help_on():
        st.caption(words)


def expander(label: str, words: str) -> None:
    """An explanation behind a click."""
    if state.is_help_on():
        with st.expander(label):
            st.markdown(words)


def switch() -> None:
    """The switch at the foot of every page."""
    st.session_state["help_switch"] = state.is_help_on()
    st.toggle(
        "Explanations",
        key="help_switch",
        on_change=lambda: state.set_help(bool(st.session_state["help_switch"])),
        help="Hides what explains controls and charts, on all pages. Warnings, guarantees and units stay.",
    )
