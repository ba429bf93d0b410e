"""Widgets that show a value which is kept elsewhere: written before they are drawn, and written
back by callbacks.

So a value can be set by a widget, a link, a preset or another widget, and all agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st


def bound(
    key: str, value: object, take: Callable[[Any], object], *, empty: object = None
) -> dict[str, Any]:
    """Key and callback of a widget that shows a value; one that is emptied gives `empty`, or
    changes nothing.
    """
    st.session_state[key] = value

    def give() -> None:
        moved = st.session_state[key]
        if (given := empty if moved is None else moved) is not None:
            take(given)

    return {"key": key, "on_change": give}


def among(words: Mapping[Any, str]) -> dict[str, Any]:
    """Options of a widget, each shown by its words."""
    return {"options": list(words), "format_func": words.__getitem__}
