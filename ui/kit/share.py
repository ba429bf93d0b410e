"""The address of what is on screen, to copy."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import streamlit as st


def button(query: Mapping[str, str]) -> None:
    """A button that shows the link of this page with these parameters."""
    with st.popover("Share"):
        link = address(st.context.url or "", query)
        st.code(link, language=None, wrap_lines=True)


def address(page: str, query: Mapping[str, str]) -> str:
    """The link of a page with parameters.

    >>> address("http://localhost:8501/learn", {"screen": "odds", "value": "1"})
    'http://localhost:8501/learn?screen=odds&value=1'
    """
    return f"{page.partition('?')[0]}?{urlencode(query)}" if query else page.partition("?")[0]
