"""Where a page is scrolled to: a page that becomes another one begins at its top, though Streamlit
keeps the place; an error is brought before the eyes of whoever pressed the button.
"""

from __future__ import annotations

from typing import Literal

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


_BRING_JS = """let brought
export default function ({ data }) {
  if (brought === data.turn) return
  brought = data.turn
  const shown = document.querySelector(`.st-key-${data.key}`)
  if (!shown) return
  if (data.focus) {
    const goal = data.focus === 'field' ? shown.querySelector('input') : shown
    if (goal === shown) shown.tabIndex = -1
    goal.focus({ preventScroll: true })
  }
  shown.scrollIntoView({ block: data.focus ? 'center' : 'nearest' })
  // What is taller than the window is seen from its top.
  const above = parseFloat(getComputedStyle(shown).scrollMarginTop)
  if (shown.getBoundingClientRect().top < above - 1) shown.scrollIntoView({ block: 'start' })
}"""
_bring = st.components.v2.component("dpci_bring", html="<span></span>", js=_BRING_JS)
_TURN = "brought_turn"


def bring(key: str, *, focus: Literal["", "alert", "field"] = "") -> None:
    """Bring what has a key into view, once for each call; an alert gets the focus, of a widget its
    field.
    """
    st.session_state[_TURN] = st.session_state.get(_TURN, 0) + 1
    turn = f"{key} {st.session_state[_TURN]}"
    _bring(key=f"bring_{key}", data={"key": key, "turn": turn, "focus": focus})


def told_here(error: str) -> None:
    """Show an error, in Markdown, and bring it into view; one on a page."""
    with st.container(key="told_here"):
        st.error(error)
        bring("told_here", focus="alert")
