"""A page for other people inside a page, whole, as it will be printed: for a board, or a report."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_component = st.components.v2.component(
    "dpci_board",
    html='<button type="button">Print</button><iframe></iframe>',
    css="""button { font: inherit; color: var(--st-text-color); background: none; padding: 0.3rem 0.8rem;
                    border: 1px solid var(--st-border-color); border-radius: 0.5rem; cursor: pointer }
           iframe { display: block; width: 100%; box-sizing: border-box; height: 900px; margin-top: 0.5rem;
                    border: 1px solid var(--st-border-color); border-radius: 0.5rem }""",  # noqa: E501 - CSS
    js=Path(__file__).with_name("board.js").read_text(encoding="utf-8"),
)


def board(html: str, title: str = "Page for the board", *, key: str = "board") -> None:
    """Show the page in the theme of the dashboard, with a button that prints it alone, in black on
    white.
    """
    _component(key=key, data={"html": html, "title": title})
