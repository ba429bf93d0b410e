"""One value, shown by a slider and a typed number that follow each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from ui.kit.bound import is_stale, put
from ui.session import text
from ui.session.settings import LIMITS
from ui.session.words import in_words

Number = int | float
Apply = Callable[[Any], None]

_REFUSED = "refused"
_SAME = 1e-9
_TYPED_DIGITS = 12
"""The buttons of a number field add floats: 0.001 + 0.0001 is not 0.0011 beyond these digits."""


def positions(value: Number, grid: list[Number]) -> tuple[Number, list[Number]]:
    """A value within the grid's ends, and the positions of its slider: the grid and the value
    itself.

    A value that floats hold a hair beside a position is that position: the same number twice would
    be a step that does nothing.

    >>> positions(1.0999999999999999, [1.0, 1.1, 1.25])
    (1.1, [1.0, 1.1, 1.25])
    """
    value = min(max(value, grid[0]), grid[-1])
    value = next((at for at in grid if math.isclose(at, value, rel_tol=_SAME)), value)
    return value, sorted({*grid, value})


def step_for(value: Number, low: float, high: float) -> Number:
    """What the buttons of a number field add: one of the second digit, less where an end is nearer
    than that.

    >>> step_for(0.001, 1e-6, 1.0), step_for(30_000, 100, 1_000_000)
    (0.0001, 1000)
    >>> step_for(0.99, 0.5, 0.999), step_for(7, 1, 36)
    (0.001, 1)
    """
    step = _power_below(value) / 10
    for room in (value - low, high - value):
        if room > 0:
            step = min(step, _power_below(room))
    return max(1, round(step)) if isinstance(value, int) else step


def _power_below(amount: float) -> float:
    """The largest power of ten that is not above an amount, but for what floats lose in a
    difference.
    """
    return float(f"1e{math.floor(math.log10(amount) + 1e-9)}")


def paired(
    key: str,
    label: str,
    value: Number,
    grid: list[Number],
    apply: Apply,
    *,
    note: str,
    help: str,
    ends: tuple[str, str] | None = None,
    show: Callable[[float], str] | None = None,
    is_shown: bool = False,
) -> None:
    """A logarithmic slider and a number field for one value, with the sentence that moves with it.

    ends: what the two ends of the slider mean.
    show: the words at the slider's thumb, where they are more than the number.
    is_shown: whether it is on the screen from the start. What stands in something closed is set in
        every run: a browser makes it when that is opened, and would show, and then send, the
        smallest value.
    """
    st.markdown(f"**{label}**", help=help or None)
    left, right = st.columns([3, 2], vertical_alignment="center")
    value, options = positions(value, grid)
    with left:
        _slider(key, label, value, options, apply, show, is_shown=is_shown)
    with right:
        _number(key, label, value, grid, apply, is_shown=is_shown)
    if ends is not None:
        with st.container(
            horizontal=True, horizontal_alignment="distribute", gap="xsmall", key=f"ends_{key}"
        ):
            st.caption(f"←\N{NO-BREAK SPACE}{_held(ends[0])}", width="content")
            st.caption(f"{_held(ends[1])}\N{NO-BREAK SPACE}→", width="content")
    footnote(key, note)


def _held(words: str) -> str:
    return words.replace(" ", "\N{NO-BREAK SPACE}")


def compact(
    key: str,
    label: str,
    value: Number,
    grid: list[Number],
    apply: Apply,
    *,
    help: str,
    show: Callable[[float], str] | None = None,
    beside: Callable[[], None] | None = None,
) -> None:
    """Draw the pair in two lines: the name with the typed number, and the slider below; `beside`
    draws what stands between the two.
    """
    value, options = positions(value, grid)
    with st.container(key=f"compact_{key}", gap=None):
        with st.container(horizontal=True, vertical_alignment="center", gap="small", wrap=False):
            st.markdown(f"**{label}**", help=help or None, width="stretch")
            if beside is not None:
                beside()
            _number(key, label, value, grid, apply, is_shown=True)
        _slider(key, label, value, options, apply, show, is_shown=True)
        refusal(key)


def _slider(
    key: str,
    label: str,
    value: Number,
    options: list[Number],
    apply: Apply,
    show: Callable[[float], str] | None,
    *,
    is_shown: bool,
) -> None:
    put(f"{key}_slider", value, options if is_shown else None)
    st.select_slider(
        label,
        options=options,
        format_func=show or ("{:,}".format if isinstance(value, int) else short),
        key=f"{key}_slider",
        on_change=take,
        args=(f"{key}_slider", key, apply, f"{key}_number"),
        label_visibility="collapsed",
    )


def _number(
    key: str, label: str, value: Number, grid: list[Number], apply: Apply, *, is_shown: bool
) -> None:
    put(f"{key}_number", value, () if is_shown else None)
    st.number_input(
        f"{label}, typed",
        # an emptied field keeps its own; and no ends: the browser would show no word of them
        value=None,
        step=step_for(value, grid[0], grid[-1]),
        format="%d" if isinstance(value, int) else "%.6g",
        key=f"{key}_number",
        on_change=take,
        args=(f"{key}_number", key, _within(grid, apply), f"{key}_slider"),
        label_visibility="collapsed",
    )


def _within(grid: list[Number], apply: Apply) -> Apply:
    """What refuses a typed number beyond the ends of a slider in words."""

    def typed(value: Number) -> None:
        if not grid[0] <= value <= grid[-1]:
            raise ValueError(f"Type a number from {grid[0]:,.12g} to {grid[-1]:,.12g}.")
        apply(value)

    return typed


def short(value: float) -> str:
    """A position of a slider; round ones below 1e-4 as 1e-6, not 1.00e-06."""
    rounded = f"{value:.3g}"
    return rounded.replace("e-0", "e-") if abs(value) < 1e-4 else text.number(value)


def take(widget_key: str, key: str, apply: Apply, beside: str | None = None) -> None:
    """Hand a widget's value to the state; a refusal is kept for the control that caused it.

    beside: the other widget of the same value, if there is one.
    """
    if is_stale(widget_key, beside):
        return
    st.session_state.pop(_REFUSED, None)
    value = st.session_state.get(widget_key)
    if value is None:
        return
    try:
        is_typed = isinstance(value, float)
        apply(float(f"{value:.{_TYPED_DIGITS}g}") if is_typed else value)
    except ValueError as problem:
        st.session_state[_REFUSED] = (key, in_words(problem))


def footnote(key: str, note: str) -> None:
    """The sentence under a control, and why its last move was refused."""
    refusal(key)
    if note:
        st.caption(note)


def refusal(key: str) -> None:
    """Why the last move of a control was refused, if it was."""
    refused = st.session_state.get(_REFUSED)
    if refused and refused[0] == key:
        st.warning(refused[1])


FINE = (1, 1.1, 1.25, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.6, 6.3, 7, 8, 9)

_COARSE = (1, 1.25, 1.6, 2, 2.5, 3, 4, 5, 6, 8)


def log_grid(
    name: str, mantissas: tuple[float, ...] = _COARSE, *, whole: bool = False
) -> list[Number]:
    """Round numbers, evenly spaced on a logarithmic scale, between the limits of a control and with
    both ends.
    """
    low, high = LIMITS[name]
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = {float(f"{m}e{e}") for m in mantissas for e in exponents}
    inside = sorted({low, high, *(v for v in values if low <= v <= high)})
    return [round(v) for v in inside] if whole else [float(v) for v in inside]
