"""One value, shown by a slider and a typed number that follow each other."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from ui.kit.bound import is_stale, put
from ui.session import text
from ui.session.settings import LIMITS
from ui.session.words import in_words

Number = int | float
Apply = Callable[[Any], None]

_REFUSED = "refused"
_GROUPED = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+")
"""A whole number with commas between thousands."""
_NO_NUMBER = "Type a number with a decimal point, such as 1.5, and without commas."
_NOT_WHOLE = "Type a whole number, such as 20 or 8,000."
_SAME = 1e-9


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
    number_field(
        key,
        f"{label}, typed",
        value,
        within(grid, apply),
        name=f"{key}_number",
        beside=f"{key}_slider",
        is_shown=is_shown,
        label_visibility="collapsed",
    )


def number_field(
    key: str,
    label: str,
    value: Number | None,
    apply: Apply,
    *,
    name: str = "",
    beside: str | None = None,
    is_shown: bool = True,
    **more: Any,
) -> None:
    """A number as it was typed; one that is emptied keeps its own.

    It is a field of words that is read here, for a field of numbers changes what was typed before
    anybody can refuse it: the browser leaves out a comma, so that 0,5 is 5, and Streamlit reads a
    whole number up to its first letter, so that 1e3 is 1.

    name, beside: of the widget where it is not the key, and of another for the same value.
    """
    name = name or key
    put(name, written(value), () if is_shown else None)
    read = whole_in if isinstance(value, int) else number_in
    st.text_input(
        label,
        key=name,
        on_change=take,
        args=(name, key, lambda entry: apply(read(entry)), beside),
        **more,
    )


def written(value: Number | None, digits: int = 6) -> str:
    """A number as it stands in its field, empty where there is none; of what is not whole so many
    digits.
    """
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.{digits}g}".replace("e-0", "e-")


def number_in(entry: str) -> float:
    """The number that was typed.

    Raises:  ValueError in words.

    >>> number_in("1e-3")
    0.001
    """
    value = _finite(entry)
    if value is None:
        raise ValueError(_NO_NUMBER)
    return value


def whole_in(entry: str) -> int:
    """The whole number that was typed. Commas may stand between thousands; a point may only where
    an exponent follows, for 800.000 is eight hundred thousand to many.

    Raises:  ValueError in words.

    >>> whole_in("8,000"), whole_in("1.25e5")
    (8000, 125000)
    """
    entry = entry.strip()
    is_grouped = _GROUPED.fullmatch(entry) is not None
    value = _finite(entry.replace(",", "") if is_grouped else entry)
    if value is None or not value.is_integer() or ("." in entry and "e" not in entry.lower()):
        raise ValueError(_NOT_WHOLE)
    return int(value)


def _finite(entry: str) -> float | None:
    """The number that an entry is, None where it is none."""
    try:
        value = float(entry)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def within(grid: Sequence[Number], apply: Apply) -> Apply:
    """What refuses a typed number beyond the ends of a slider, or beyond two others, in words."""

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
    if value in (None, ""):
        return
    try:
        apply(value)
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
