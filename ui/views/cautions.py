"""What speaks against a design, in the words of the board's page, wherever it is decided on."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ui.session.text import plain


def box(said: Sequence[str]) -> None:
    """All of it in one box; nothing where nothing speaks against the design."""
    if said:
        st.warning("\n".join(f"- {plain(sentence)}" for sentence in said))
