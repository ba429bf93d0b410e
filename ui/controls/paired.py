"""One value, shown by a slider and a typed number that follow each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from ui.kit.bound import is_stale, put
from ui.session import text
from ui.session.settings import LIMITS
from ui.session.typed import Limits, Number, number_in, whole_in, written
from ui.session.words import in_words

Apply = Callable[[Any], None]

_REFUSED, _UNSEEN = "refused", "unseen"
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
        both_ends(key, *ends)
    footnote(key, note, value)


def both_ends(key: str, low: str, high: str) -> None:
    """What the two ends of a slider mean."""
    with st.container(
        horizontal=True, horizontal_alignment="distribute", gap="xsmall", key=f"ends_{key}"
    ):
        st.caption(f"←\N{NO-BREAK SPACE}{_held(low)}", width="content")
        st.caption(f"{_held(high)}\N{NO-BREAK SPACE}→", width="content")


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
        refusal(key, value)


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
        value=value,
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
        apply,
        limits=(grid[0], grid[-1]),
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
    limits: Limits | None = None,
    name: str = "",
    beside: str | None = None,
    is_shown: bool = True,
    **more: Any,
) -> None:
    """A number as it was typed; one that is emptied keeps its own. What is refused stays to be
    corrected until the value is another: the browser tells of a value that is typed again only
    where the field shows something else.

    name, beside: of the widget where it is not the key, and of another for the same value.
    """
    name = name or key
    shown = _still_refused(key, value) or written(value)
    put(name, shown, () if is_shown else None)
    read = whole_in if isinstance(value, int) else number_in
    st.text_input(
        label,
        shown,
        key=name,
        on_change=take,
        args=(name, key, lambda entry: apply(read(entry, limits)), beside),
        **more,
    )


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
        refuse(key, problem, value)


def refuse(key: str, problem: ValueError, entry: object = None) -> None:
    """Keep why a move of a control was refused, until the next move of any."""
    st.session_state[_REFUSED] = (key, in_words(problem), entry, _UNSEEN)


def footnote(key: str, note: str, value: Number | None = None) -> None:
    """The sentence under a control, and why its last move was refused (`refusal`)."""
    refusal(key, value)
    if note:
        st.caption(note)


def refusal(key: str, value: Number | None = None) -> None:
    """Why the last move of a control was refused, if it was, and the value that stands."""
    if why := _refused(key):
        held = "" if value is None else f" All that is shown is still for {written(value)}."
        st.warning(why + held)


def is_refused(key: str) -> bool:
    """Whether the last move of a control was refused."""
    return bool(_refused(key))


def _refused(key: str) -> str:
    """Why the last move of a control was refused; empty if it was not."""
    of, why, *_ = st.session_state.get(_REFUSED, ("", ""))
    return why if of == key else ""


def _still_refused(key: str, value: Number | None) -> str:
    """What was typed and refused while a control had this value; a refusal is gone once it has
    another, whatever moved it.
    """
    of, why, entry, held = st.session_state.get(_REFUSED, ("", "", "", _UNSEEN))
    if of != key:
        return ""
    if held not in (_UNSEEN, value):
        del st.session_state[_REFUSED]
        return ""
    st.session_state[_REFUSED] = (of, why, entry, value)
    return entry if isinstance(entry, str) else ""


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
