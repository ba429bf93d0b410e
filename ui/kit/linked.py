"""Choices of single pages beside the settings: kept by the session, carried by the link.

A page makes each of its choices once, when it is imported; `state` reads all of them from the link
of a first visit, and writes back what differs from the defaults, whichever page is on screen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from ui.kit.bound import among, bound

_KEPT = "linked"
_known: dict[str, Choice] = {}


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: its parameter in a link, the text it has at first, what else it may be, and the
    key of its widget.
    """

    name: str
    default: str
    accepts: Callable[[str], bool]
    widget: str

    @property
    def value(self) -> str:
        """What is chosen in this session."""
        return _kept().get(self.name, self.default)

    def bound(self, value: object = None) -> dict[str, Any]:
        """Key and callback of its widget; value: what that shows, if not what is chosen."""
        return bound(self.widget, self.value if value is None else value, self.take)

    def take(self, moved: object) -> None:
        """Choose this; what it cannot be changes nothing."""
        if self.accepts(str(moved)):
            _kept()[self.name] = str(moved)


def one_of(name: str, options: Collection[str], *, default: str, widget: str) -> Choice:
    """A choice among texts."""
    return _registered(Choice(name, default, options.__contains__, widget))


def whole_number(name: str, largest: int, *, default: int, widget: str) -> Choice:
    """A whole number from 0 on; the widget deals in numbers, the choice in digits."""

    def accepts(text: str) -> bool:
        return (
            text.isascii()
            and text.isdigit()
            and len(text) <= len(str(largest))
            and int(text) <= largest
        )

    return _registered(Choice(name, str(default), accepts, widget))


def text(name: str, most: int, *, widget: str, default: str = "") -> Choice:
    """A text that somebody types, of at most so many characters."""

    def accepts(text: str) -> bool:
        return len(text) <= most and all(c.isprintable() or c == "\n" for c in text)

    return _registered(Choice(name, default, accepts, widget))


def tabs(choice: Choice, words: Mapping[str, str]) -> str:
    """Draw the tabs of a page, each by its words; the one that is open."""
    st.segmented_control(
        "What is shown",
        **among(words),
        required=True,
        label_visibility="collapsed",
        **choice.bound(),
    )
    return choice.value


def _registered(choice: Choice) -> Choice:
    _known[choice.name] = choice
    return choice


def _kept() -> dict[str, str]:
    return st.session_state.setdefault(_KEPT, {})  # type: ignore[no-any-return]


def read(query: Mapping[str, str]) -> tuple[str, ...]:
    """Take the choices of a link; the names of those that it has wrong."""
    given = {name: query[name] for name in _known if name in query}
    _kept().update({name: text for name, text in given.items() if _known[name].accepts(text)})
    return tuple(name for name, text in given.items() if not _known[name].accepts(text))


def to_query() -> dict[str, str]:
    """The choices that differ from the defaults, as parameters of a link."""
    return {name: text for name, text in _kept().items() if text != _known[name].default}
