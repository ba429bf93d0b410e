"""What is said of a link that the page was opened by."""

from __future__ import annotations

import streamlit as st

from ui.session import state, text


def link_problem() -> None:
    """Say what the link held but could not be used."""
    if bad := state.link_problem():
        listed = text.plain(", ".join(bad))
        st.warning(f"This link held values that cannot be used ({listed}); the defaults stand in for them.")
