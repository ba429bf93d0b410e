"""Where a page is scrolled to: a page that becomes another one begins at its top, though Streamlit
keeps the place; an error is brought before the eyes of whoever pressed the button.
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


_TOLD_JS = """let told
export default function ({ data }) {
  if (told === data.turn) return
  told = data.turn
  const shown = document.querySelector('.st-key-told_here')
  if (!shown) return
  shown.tabIndex = -1
  shown.focus({ preventScroll: true })
  shown.scrollIntoView({ block: 'center' })
}"""
_told = st.components.v2.component("dpci_told", html="<span></span>", js=_TOLD_JS)
_TURN = "told_turn"


def told_here(error: str) -> None:
    """Show an error, in Markdown, and bring it into view; one on a page."""
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    with st.container(key="told_here"):
        st.error(error)
        _told(key="told", data={"turn": st.session_state[_TURN]})
