"""What is typed at the step Describe, kept in the address until somebody goes on, so that a reload
loses nothing.

Only what a person declares is in it: names, bounds, levels and the number of records, as in the
address of a plan. No shared memory holds any of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pandas as pd
import streamlit as st

from dpci_core.base.limits import MOST_ROWS_PER_PERSON
from dpci_core.plan.link import MOST_IN_LINK, pack, unpack
from dpci_core.schema.declare import COMPLETE
from ui.controls import declare
from ui.kit import linked

_DRAFT = linked.text("draft", MOST_IN_LINK, widget="describe_draft")
_BEGUN = "describe_begun"
TYPED = 10**15
"""A number field takes what is typed up to this, to say below it what is wrong with it."""
ANSWERS = ("No", "Yes")
"""Whether one person can have several rows."""
LEAVE_OUT, FILL_IN = "Leave out", "Fill in"
"""What becomes of rows with missing cells."""
_LONGEST, _MOST_COLUMNS = 1_000, 500


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST


def _within(low: float, high: float) -> Callable[[object], bool]:
    return lambda value: type(value) in (int, float) and low <= cast(float, value) <= high


FIELDS: dict[str, Callable[[object], bool]] = {
    "n": lambda value: type(value) is int and abs(value) <= TYPED,
    "unit": _is_text,
    "persons": ANSWERS.__contains__,
    "whose": _is_text,
    "most": lambda value: type(value) is int and 1 <= value <= MOST_ROWS_PER_PERSON,
    "target": _is_text,
    "positive": _is_text,
    "negative": _is_text,
    "fill": (LEAVE_OUT, FILL_IN).__contains__,
    "complete": _within(100.0 * COMPLETE[0], 100.0),
    "rate": _is_text,
    "pairs": _is_text,
}
"""What stands beside the columns, and what it may be: names of session keys after "describe_"."""


def begin() -> None:
    """What stands there when this run ends is nothing yet that somebody typed."""
    st.session_state.pop(_BEGUN, None)


def keep(rows: pd.DataFrame) -> None:
    """Keep columns and fields as they stand; where nothing was changed, or it is too long for an
    address, nothing.
    """
    said = st.session_state
    cells = [
        {str(name): cell for name, cell in row.items() if not pd.isna(cell)}
        for row in rows.to_dict("records")
    ]
    fields = {name: said.get(f"describe_{name}") for name in FIELDS}
    try:
        packed = pack({"rows": cells} | {k: v for k, v in fields.items() if v is not None})
    except ValueError:
        packed = ""
    _DRAFT.take("" if packed == said.setdefault(_BEGUN, packed) else packed)


def forget() -> None:
    """It is taken over."""
    _DRAFT.take("")


def read() -> pd.DataFrame | None:
    """The columns of the draft in the address, its fields put on their widgets; None without one,
    or where it is none of ours.
    """
    if not _DRAFT.value:
        return None
    try:
        found = _checked(unpack(_DRAFT.value))
        rows = declare.typed(found.pop("rows"))
    except (ValueError, TypeError):
        forget()
        return None
    st.session_state[_BEGUN] = ""
    st.session_state.update({f"describe_{name}": value for name, value in found.items()})
    return rows


def _checked(found: object) -> dict[str, Any]:
    """The draft; raises ValueError where it is none."""
    if not isinstance(found, dict) or not isinstance(rows := found.get("rows"), list):
        raise ValueError("draft")
    names = [row.get("column") if isinstance(row, dict) else None for row in rows]
    if len(names) > _MOST_COLUMNS or not all(map(_is_text, names)) or len({*names}) < len(names):
        raise ValueError("rows")
    for name, value in found.items():
        if name != "rows" and not (name in FIELDS and FIELDS[name](value)):
            raise ValueError(name)
    return found
