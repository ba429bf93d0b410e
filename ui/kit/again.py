"""The one thing by which a page asks for itself: once more when nobody has moved anything for a
while, and when it has come to be empty.

Everything that comes later than a move may take is drawn by such a run of the whole page: what is
found when nothing moves, and how work in the background stands. Nothing here is a fragment of
Streamlit. A run of a fragment that comes while its page is left names that page, and the browser
then throws away everything of the new one, which no run draws again; and where it comes while a run
ends, the end of that run is never told. A run of the whole page draws all of it, whatever else was
lost. The browser sends only while the page is at rest, and never after a message that is not
answered: a page that is being left asks for nothing.
"""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_CSS = (
    "<style>.st-key-again {position: absolute; left: 0} "
    # What comes at rest must not flicker; Streamlit fades the heads of expanders on their own.
    "[data-stale=true], [data-testid=stExpander] summary {opacity: 1 !important}</style>"
)
_component = st.components.v2.component("dpci_again", html="<span hidden></span>", js=_JS)
_KEY, _WANTED, _TOLD, _BEGUN = "again", "again_wanted", "again_told", "again_begun"
QUIET = 0.45
"""Seconds without a move after which a page is quiet."""


def begin() -> None:
    """Note that a run begins, and that it wants nothing yet."""
    st.session_state[_WANTED] = {}
    st.session_state[_BEGUN] = time.monotonic()


def want(seconds: float, version: str = "") -> None:
    """Have this page drawn once more when nobody has moved anything for so many seconds.

    version: what `is_asked` knows the reason by.
    """
    st.session_state.setdefault(_WANTED, {})[version] = seconds


def is_asked(version: str) -> bool:
    """Whether this run is the one that was wanted for this."""
    return version in st.session_state.get(_TOLD, "").split()


def watch() -> None:
    """Have the browser do it: once in a run, below the page."""
    wanted: dict[str, float] = st.session_state[_WANTED]
    st.session_state.pop(_TOLD, None)
    st.html(_CSS)
    _component(
        data={
            "took": 1000 * (time.monotonic() - st.session_state[_BEGUN]),  # another in every run
            "version": " ".join(wanted),
            "wait": 1000 * min(wanted.values()) if wanted else None,
        },
        key=_KEY,
        on_asked_change=_tell,
    )


def _tell() -> None:
    st.session_state[_TOLD] = getattr(st.session_state.get(_KEY), "asked", None) or ""
