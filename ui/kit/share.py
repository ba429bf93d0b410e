"""The address of what is on screen, to copy or to photograph."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

import segno
import streamlit as st

from ui.kit.palette import SCANNED

_LONGEST_SCANNED = 1_000
"""Characters: with more the squares of a QR code are too small for a camera."""
_copy = st.components.v2.component(
    "dpci_copy",
    html='<button type="button">Copy</button> <span role="status"></span>',
    css="""button { font: 14px var(--st-font); cursor: pointer; padding: 0.5rem 0.75rem;
             color: var(--st-text-color); background: var(--st-background-color);
             border: 1px solid var(--st-border-color); border-radius: 0.5rem }
           button:focus-visible { outline: 3px solid var(--st-link-color); outline-offset: 2px }
           span { font: 14px var(--st-font); color: var(--st-text-color) }""",
    js="""export default function ({ parentElement }) {
  const told = parentElement.querySelector('span')
  parentElement.querySelector('button').onclick = async () => {
    const link = document.querySelector('.st-key-share_link code')
    getSelection().selectAllChildren(link)
    let isCopied
    try {
      await navigator.clipboard.writeText(link.textContent)
      isCopied = true
    } catch { // no page of plain http from another machine has a clipboard
      isCopied = document.execCommand('copy')
    }
    told.textContent = isCopied ? 'Copied.' : 'Selected: press Ctrl+C or ⌘C.'
  }
}""",
)
_CSS = "<style>.st-key-share_link [data-testid=stCode] button { display: none }</style>"
"""Streamlit's own button copies nothing without the clipboard of https, and says nothing."""


def button(query: Mapping[str, str], *, page: str | None = None, note: str = "") -> None:
    """A button that shows the link of this page with these parameters, and its QR code, unless that
    would be too fine, or no camera's machine could follow it.

    The code is made here: no address is sent to anybody.

    page: its address, if not the one at which it is open.  note: why others cannot reach it.
    """
    with st.popover("Share"):
        if note:
            st.caption(note)
        show(address(page or st.context.url or "", query), is_scanned=not note)


def show(link: str, *, is_scanned: bool = True) -> None:
    """A link that can be copied, once on a page; is_scanned: and its code, unless too fine."""
    with st.container(key="share_link"):
        st.html(_CSS)
        st.code(link, language=None, wrap_lines=True)
        _copy(key="share_copy")
    if is_scanned and len(link) <= _LONGEST_SCANNED:
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
