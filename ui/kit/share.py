"""The address of what is on screen, to copy or to photograph."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import segno
import streamlit as st

from ui.kit.palette import SCANNED

_LONGEST_SCANNED = 1_000
"""Characters: with more the squares of a QR code are too small for a camera."""


def button(
    query: Mapping[str, str], label: str = "Share", *, page: str | None = None, note: str = ""
) -> None:
    """A button that shows the link of this page with these parameters, and its QR code, unless that
    would be too fine, or no camera's machine could follow it.

    The code is made here: no address is sent to anybody.

    page: its address, if not the one at which it is open.  note: why others cannot reach it.
    """
    with st.popover(label):
        link = address(page or st.context.url or "", query)
        if note:
            st.caption(note)
        st.code(link, language=None, wrap_lines=True)
        if not note and len(link) <= _LONGEST_SCANNED:
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
