"""The controls of the method of a regression of a number: level, steps, clips, by hand or found."""

from __future__ import annotations

from functools import partial

import streamlit as st

from dpci_core.plan import LinearPlan
from ui.controls import design
from ui.controls.paired import number_field, refusal
from ui.session import state
from ui.session.budget import from_shares
from ui.session.choices import CURRENCIES
from ui.session.settings import LIMITS, Settings

NUMBER_CURRENCIES = tuple(n for n, one in CURRENCIES.items() if one.definition.law == "gaussian")
"""In which a budget can be typed that buys Gaussian noise only."""
_LINEAR = {
    "steps": ("Steps", "Each has 2.5 times the budget of the one before it; 3 do nearly always."),
    "clip": (
        "Largest influence of a record",
        "As a multiple of what nine of ten records stay below; what is larger counts as that much. "
        "More lets extreme records count, and adds noise.",
    ),
    "row_clip": (
        "Longest row that counts in full",
        "As a multiple of the length that nine of ten rows stay below.",
    ),
}
"""Settings by their names, with label and help."""


def method_controls(settings: Settings) -> None:
    """Level, steps and clips."""
    design.level_control(settings)
    for name, (label, help) in _LINEAR.items():
        key, value, take = f"linear_{name}", getattr(settings, name), partial(_set, name)
        number_field(key, label, value, take, limits=LIMITS[name], is_shown=False, help=help)
        refusal(key)


def choose(settings: Settings, plan: LinearPlan) -> None:
    """A button that finds split, steps and clips for this total."""
    is_asked = st.button(
        "Choose the method for me",
        key="choose_linear",
        disabled=any(settings.split.locked),
        help="Split, steps and clips with which most effects can be reported, whatever the table "
        "is like of what you declared; of those the shortest intervals. Takes up to a minute; not "
        "while a part of the split is locked.",
    )
    if not is_asked:
        return
    with st.spinner("Trying designs …", show_time=True, width="content"):
        found = plan.with_best_design().design
    shares = [part / found.budget.total for part in found.budget.parts]
    state.update(
        split=from_shares(settings.split.total, (shares[0], shares[1], 1 - shares[0] - shares[1])),
        steps=found.steps,
        clip=found.clip,
        row_clip=found.row_clip,
    )
    st.rerun()


def _set(name: str, value: float) -> None:
    state.update(**{name: value})
