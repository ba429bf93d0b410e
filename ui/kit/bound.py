"""Widgets that show a value which is kept elsewhere: written before they are drawn, and written
back by callbacks.

So a value can be set by a widget, a link, a preset or another widget, and all agree.

A browser sends what all its widgets show with whatever it asks for. What a widget was just set to
by the page may not have reached it by then: it sends the old value, and Streamlit takes that for a
move. `is_stale` knows such an echo, without which it would undo what somebody just typed elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

_SET, _PAGE = "set_by_page", "page_of_widgets"
_LATE = 4.0
"""Seconds within which a browser may still send what a widget showed before."""


def begin(page: str) -> None:
    """Note which page is drawn: a browser forgets what the widgets of another one showed."""
    if st.session_state.get(_PAGE) != page:
        known = st.session_state.get(_SET, {})
        st.session_state[_SET] = {
            key: (shown, late, None) for key, (shown, late, _) in known.items()
        }
        st.session_state[_PAGE] = page


def put(key: str, value: object, options: Sequence[object] | None = None) -> None:
    """Have a widget show a value; one that shows it already is left alone where its options are
    given. Such a widget needs the value as its default, too: what is put is sent once, with a run
    that may not reach the browser, which would show the default, and report it as a move.

    Whatever is put replaces what somebody has moved on to meanwhile: the next press of a key, or
    digits that are being typed.

    options: of a slider; an old value that is no longer among them comes back as the first. Empty
        for a number.
    """
    before, now = st.session_state.get(key), time.monotonic()
    shown, late, among = st.session_state.setdefault(_SET, {}).get(key, (before, [], None))
    if before == value:  # the browser has it, and sends nothing older any more
        late = []
    elif before is not None:  # what the page set last may be on its way too
        gone = options[:1] if options and before not in options else ()
        late = [*late, *((now, old) for old in (before, shown, *gone) if old is not None)]
    late = [(since, old) for since, old in late if now - since <= _LATE and old != value]
    st.session_state[_SET][key] = (value, late, options)
    if options is None or among != options or key not in st.session_state or before != value:
        st.session_state[key] = value


def is_stale(key: str, beside: str | None = None) -> bool:
    """Whether a widget reports what it shows, or what it showed before the page set it just now.

    beside: a widget of the same value, set with it. A browser that reports of that one what the
        page set has this one's value too: what it reports is a move, also back to the old value.
    """
    shown, late, _ = _known(key)
    reported, now = st.session_state[key], time.monotonic()
    if reported == shown:
        return True
    if beside is not None:
        there, moved, _ = _known(beside)
        if moved and st.session_state.get(beside) == there:
            return False
    return any(now - since <= _LATE and reported == old for since, old in late)


def _known(key: str) -> tuple[Any, list[tuple[float, Any]], Any]:
    """What the page set a widget to, what may still come of it since when, and its options."""
    nothing: tuple[Any, list[tuple[float, Any]], Any] = (None, [], None)
    return st.session_state.get(_SET, {}).get(key, nothing)  # type: ignore[no-any-return]


def bound(
    key: str,
    value: object,
    take: Callable[[Any], object],
    *,
    empty: object = None,
    options: Sequence[object] | None = None,
) -> dict[str, Any]:
    """Key and callback of a widget that shows a value; one that is emptied gives `empty`, or
    changes nothing.

    options: as of `put`.
    """
    put(key, value, options)

    def give() -> None:
        if is_stale(key):
            return
        moved = st.session_state[key]
        if (given := empty if moved is None else moved) is not None:
            take(given)

    return {"key": key, "on_change": give}


def among(words: Mapping[Any, str]) -> dict[str, Any]:
    """Options of a widget, each shown by its words."""
    return {"options": list(words), "format_func": words.__getitem__}
