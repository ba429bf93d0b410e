"""What the Back button goes back to: the page before, or the screen of Learn or the step of Plan
before, with the settings as they are now.

All pages share one state, and the address follows it. Streamlit adds an entry to the browser's
history whenever the address changes, so that after ten moves of a slider Back would have to be
pressed ten times before anything happened. Here a change of settings takes the place of the entry
that is there.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_JS = Path(__file__).with_name("address.js").read_text(encoding="utf-8")
_CSS = "<style>.st-key-address {position: absolute; left: 0}</style>"
"""The component draws nothing, and takes no line of the page."""

_component = st.components.v2.component("dpci_address", html="<span></span>", js=_JS)


def one_entry_per_page() -> None:
    """Keep changes of settings from adding to the browser's history."""
    st.html(_CSS)
    _component(key="address")
