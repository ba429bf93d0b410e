"""A page that begins at its top when what it shows is something else, as a next screen is."""

from __future__ import annotations

import streamlit as st

_JS = """
const shown = Symbol.for("dpci place")
export default function ({ data }) {
  const main = document.querySelector("[data-testid=stMain]")
  if (main[shown] !== undefined && main[shown] !== data.place) main.scrollTo({ top: 0, behavior: "instant" })
  main[shown] = data.place
}"""  # noqa: E501 - a script
_component = st.components.v2.component("dpci_top", html="<span hidden></span>", js=_JS)


def begin(place: str) -> None:
    """Scroll to the top if the page showed another place before."""
    _component(data={"place": place}, key="top")
