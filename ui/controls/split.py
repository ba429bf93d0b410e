"""The controls of the split: three linked parts with locks, each a share and an amount."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import streamlit as st

from dpci_core.privacy.budget import PARTS
from ui.controls import hints
from ui.controls.paired import footnote, step_for, take
from ui.kit.bound import bound
from ui.session import state, text
from ui.session.budget import Split
from ui.session.settings import Settings


def split_controls(settings: Settings) -> None:
    """Three linked parts with locks; they add up to the total exactly."""
    for index, name in enumerate(PARTS):
        _part_control(settings.split, index, name)
    st.caption(
        f"The parts add up to {settings.split.total:f} exactly; nothing is left over. "
        f"{text.SPLIT_NOTE}"
    )


def _part_control(split: Split, index: int, name: str) -> None:
    amount = float(split.parts[index])
    share = min(98.0, max(1.0, float(round(split.share(index)))))
    st.session_state[f"{name}_slider"] = share
    st.session_state[f"{name}_number"] = amount
    st.markdown(
        f"**{text.PART_NAMES[name]}**",
        help="Its share of the budget, the amount, and a lock for the amount.",
    )
    left, middle, right = st.columns([4, 3, 3], vertical_alignment="center")
    left.slider(
        f"{text.PART_NAMES[name]}, share of the budget",
        1.0,
        98.0,
        step=1.0,
        format="%.0f %%",
        key=f"{name}_slider",
        on_change=take,
        args=(
            f"{name}_slider",
            name,
            lambda value: _move(index, lambda s: s.with_share(index, float(value))),
        ),
        label_visibility="collapsed",
    )
    middle.number_input(
        f"{text.PART_NAMES[name]}, amount",
        min_value=0.0,
        value=None,
        step=step_for(amount, 0.0, float(split.total)),
        format="%.6g",
        key=f"{name}_number",
        on_change=take,
        args=(
            f"{name}_number",
            name,
            lambda value: _move(index, lambda s: s.with_part(index, Decimal(repr(value)))),
        ),
        label_visibility="collapsed",
    )
    right.checkbox(
        "Lock",
        **bound(
            f"{name}_lock", split.locked[index], lambda _: _move(index, lambda s: s.toggled(index))
        ),
        help=f"Keep the amount for “{text.PART_NAMES[name]}” when other parts or the total move.",
    )
    footnote(name, hints.words(text.PART_SENTENCES[name]))


def _move(index: int, change: Callable[[Split], Split]) -> None:
    state.update(split=change(state.settings().split))
