"""The address of what is on screen, to copy or to photograph."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import segno
import streamlit as st

from ui.kit.palette import SCANNED


def button(query: Mapping[str, str]) -> None:
    """A button that shows the link of this page with these parameters, and its QR code.

    The code is made here: no address is sent to anybody.
    """
    with st.popover("Share"):
        link = address(st.context.url or "", query)
        st.code(link, language=None, wrap_lines=True)
        st.image(code(link), width=240)


def address(page: str, query: Mapping[str, str]) -> str:
    """The link of a page with parameters.

    >>> address("http://localhost:8501/learn", {"screen": "odds", "value": "1"})
    'http://localhost:8501/learn?screen=odds&value=1'
    """
    return f"{page.partition('?')[0]}?{urlencode(query)}" if query else page.partition("?")[0]


def code(link: str) -> str:
    """A QR code as SVG."""
    made = segno.make(link, error="m", micro=False)
    return str(made.svg_inline(scale=6, border=4, **SCANNED))
