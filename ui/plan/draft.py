"""What is typed at the step Describe, kept in the address until somebody goes on, so that a reload
loses nothing.

Only what a person declares is in it: names, bounds, levels and the number of records, as in the
address of a plan. No shared memory holds any of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import streamlit as st

from dpci_core.plan.link import pack, unpack
from ui.session import steps
from ui.session.forms import FIELDS as CELLS
from ui.session.forms import Row

_BEGUN, _LOST = "describe_begun", "describe_lost"
OUTCOMES = (YES_NO, NUMBER) = ("Yes or no", "A number")
"""What the outcome is."""
ANSWERS = ("No", "Yes")
"""Whether one person can have several rows."""
LEAVE_OUT, FILL_IN = "Leave out", "Fill in"
"""What becomes of rows with missing cells."""
_LONGEST, _LONGEST_LINES, _MOST_COLUMNS = 1_000, 20_000, 500


def _is_line(value: object) -> bool:
    """A text without halves of characters, which no page can show."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def is_text(value: object) -> bool:
    """Whether a field of words may hold this."""
    return _is_line(value) and len(cast(str, value)) <= _LONGEST


def _is_lines(value: object) -> bool:
    """Whether the box of lines may hold this."""
    return _is_line(value) and len(cast(str, value)) <= _LONGEST_LINES


def _is_tick(value: object) -> bool:
    return isinstance(value, bool)


FIELDS: dict[str, Callable[[object], bool]] = {
    "n": is_text,
    "unit": is_text,
    "persons": ANSWERS.__contains__,
    "whose": is_text,
    "most": is_text,
    "target": is_text,
    "outcome": OUTCOMES.__contains__,
    "positive": is_text,
    "fill": (LEAVE_OUT, FILL_IN).__contains__,
    "complete": is_text,
    "rate": is_text,
    "pairs": is_text,
    "text": _is_lines,
}
"""What stands beside the columns, and what it may be: names of session keys after "describe_"."""

_CELLS: dict[str, Callable[[object], bool]] = {
    **{name: _is_tick if field.is_tick else _is_line for name, field in CELLS.items()},
    "column": is_text,
}
"""What is typed of a column may be this."""


def begin() -> None:
    """What stands there when this run ends is nothing yet that somebody typed."""
    st.session_state.pop(_BEGUN, None)


def keep(rows: Sequence[Row]) -> None:
    """Keep columns and fields as they stand; where nothing was changed, or it is too long or too
    odd for an address, nothing. Lines that make it too long are left out first.
    """
    said = st.session_state
    fields = {name: said.get(f"describe_{name}") for name in FIELDS}
    given = {"rows": list(rows)} | {k: v for k, v in fields.items() if v is not None}
    packed = _packed(given) or _packed({k: v for k, v in given.items() if k != "text"})
    is_new = packed != said.setdefault(_BEGUN, packed)
    steps.DRAFT.take(packed if is_new else "")
    if is_new:
        said.pop(_LOST, None)


def _packed(given: dict[str, Any]) -> str:
    """A draft for the address; empty where a reload would not take it."""
    try:
        return pack(_checked(given))
    except ValueError:
        return ""


def forget() -> None:
    """It is taken over."""
    steps.DRAFT.take("")


def read() -> list[Row] | None:
    """The columns of the draft in the address, its fields put on their widgets; None without one,
    or where it cannot be drawn, which `say_lost` tells.
    """
    if not steps.DRAFT.value:
        return None
    try:
        found = _checked(unpack(steps.DRAFT.value))
    except ValueError:
        forget()
        st.session_state[_LOST] = True
        return None
    st.session_state[_BEGUN] = ""
    rows: list[Row] = found.pop("rows")
    st.session_state.update({f"describe_{name}": value for name, value in found.items()})
    return rows


def say_lost() -> None:
    """Say that a draft was dropped, until something else is typed."""
    if st.session_state.get(_LOST):
        st.warning("The draft in this address cannot be read. It was dropped; describe it anew.")


def _checked(found: object) -> dict[str, Any]:
    """The draft; raises ValueError where it is none."""
    if not isinstance(found, dict) or not isinstance(rows := found.get("rows"), list):
        raise ValueError("draft")
    if len(rows) > _MOST_COLUMNS or not all(isinstance(row, dict) for row in rows):
        raise ValueError("rows")
    for row in rows:
        for name, cell in row.items():
            if not (name in _CELLS and _CELLS[name](cell)):
                raise ValueError("cell")
    for name, value in found.items():
        if name != "rows" and not (name in FIELDS and FIELDS[name](value)):
            raise ValueError(name)
    return found
