"""A page that becomes another one begins at its top: Streamlit keeps the place where somebody had
scrolled to.
"""

from __future__ import annotations

import streamlit as st

_JS = """let shown
export default function ({ data }) {
  if (shown !== undefined && shown !== data.step)
    document.querySelector('[data-testid=stMain]')?.scrollTo(0, 0)
  shown = data.step
}"""
_CSS = "<style>.st-key-top {position: absolute; left: 0}</style>"

_component = st.components.v2.component("dpci_top", html="<span></span>", js=_JS)


def begin_at_top(step: str) -> None:
    """Show the page from its top whenever the step is another than it was."""
    st.html(_CSS)
    _component(key="top", data={"step": step})
