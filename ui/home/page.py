"""Doors of the front page: questions that people come with and that another page answers."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dpci_core.base.places import HOME
from ui.session import state
from ui.session.settings import Look


@dataclass(frozen=True)
class Door:
    """A question, and where the page Plan opens: with a closer look, or with another table."""

    key: str
    question: str
    look: Look | None = None


DOORS = (
    Door("split", "Which split should I use?", "split"),
    Door("records", "How many records do I need?"),
)


def doors() -> None:
    """One line of buttons."""
    with st.container(horizontal=True, gap="small"):
        for door in DOORS:
            if st.button(door.question, key=f"question_{door.key}"):
                if door.look:
                    state.update(look=door.look)
                st.switch_page(HOME / "pages" / "plan.py")
