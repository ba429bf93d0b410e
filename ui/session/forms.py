"""What a person fills in for each kind of column: rows of the grid, and a field for one cell.

A kind that is not in the table can be planned with and released, but not typed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from dpci_core.base.errors import expect
from dpci_core.schema import CategoricalColumn, Column, NumberGuess, NumericColumn
from ui.session.text import plain

LEFT_OUT = "not in the model"


@dataclass(frozen=True, kw_only=True)
class ColumnForm:
    """How one kind of column is typed.

    kind: in the grid.
    needed: cells without which a row is not finished.
    to_row: cells of a column, and of what is guessed of its values.
    from_row: a column of a row, where it stands, and the column of this kind that filled it.
    ask: a field for one cell, with its key.
    widened: the column with bounds so many times as far apart; None for a column without bounds.
    """

    kind: str
    needed: tuple[str, ...]
    to_row: Callable[[Any, Any], dict[str, object]]
    from_row: Callable[[dict[Any, Any], str, Any], Column]
    ask: Callable[[Any, str], float | str]
    widened: Callable[[Any, float], Any] | None = None

    @property
    def has_bounds(self) -> bool:
        """Whether such a column has bounds."""
        return self.widened is not None


def form_of(row: dict[Any, Any]) -> ColumnForm:
    """The form of a row of the grid, that of a number unless it says another kind."""
    said = text_of(row["kind"])
    return next((form for form in FORMS.values() if form.kind == said), FORMS[NumericColumn])


def _number_row(column: NumericColumn, guess: NumberGuess | None) -> dict[str, object]:
    typical, spread = column.typical, column.spread
    if typical is None and guess is not None:
        typical, spread = guess.centre, guess.spread
    return {
        "lowest": column.low,
        "highest": column.high,
        "if missing": column.fill or None,
        "typical": typical,
        "spread": spread,
        "units": column.units or None,
        "step": column.step,
        "log": column.takes_log,
    }


def _numeric(row: dict[Any, Any], where: str, known: NumericColumn | None) -> NumericColumn:
    def number(field: str) -> float:
        return _number(row[field], f"{where}, {field}")

    def maybe(field: str) -> float | None:
        return _number(row[field], f"{where}, {field}") if text_of(row.get(field)) else None

    expect(
        text_of(row["lowest"]) + text_of(row["highest"]) != "",
        f"{where[0].upper()}{where[1:]}, lowest and highest: two numbers are needed, or the "
        f"kind “{LEFT_OUT}”.",
    )
    low, high, missing = number("lowest"), number("highest"), maybe("if missing")
    expect(
        low < high,
        f"{where[0].upper()}{where[1:]}: the lowest, {low:g}, is not below the highest, {high:g}.",
    )
    typical, spread = maybe("typical"), maybe("spread")
    if typical is not None or spread is not None:
        typical, spread = number("typical"), number("spread")
        expect(
            low <= typical <= high,
            f"{where[0].upper()}{where[1:]}, typical: {typical:g} lies outside {low:g} to "
            f"{high:g}.",
        )
    return NumericColumn(
        text_of(row["column"]),
        low,
        high,
        missing,
        typical=typical,
        spread=spread,
        step=maybe("step"),
        limit=known.limit if known else None,
        transform="log" if row["log"] is True else None,
        units=text_of(row["units"]),
    )


def _ask_number(column: NumericColumn, key: str) -> float:
    units = f" ({column.units})" if column.units else ""
    return float(
        st.number_input(
            plain(f"{column.name}{units}"),
            min_value=float(column.low),
            max_value=float(column.high),
            value=float(column.middling),
            key=key,
        )
    )


def _widened(column: NumericColumn, factor: float) -> NumericColumn:
    middle, half = (column.low + column.high) / 2.0, factor * (column.high - column.low) / 2.0
    return replace(column, low=middle - half, high=middle + half, missing=None)


def _levels_row(column: CategoricalColumn, guess: tuple[float, ...] | None) -> dict[str, object]:
    shares = column.shares or guess
    levels: dict[str, object] = {"levels": "; ".join(column.levels), "if missing": column.other}
    return levels | ({"shares": listed(shares)} if shares else {})


def _levels(row: dict[Any, Any], where: str, known: CategoricalColumn | None) -> CategoricalColumn:
    where = f"{where[0].upper()}{where[1:]}"
    is_same = known is not None and text_of(row["levels"]) == "; ".join(known.levels)
    old = known if is_same else None
    typed = (part.strip() for part in text_of(row["levels"]).split(";"))
    levels = old.levels if old else tuple(part for part in typed if part)
    expect(len(levels) >= 2, f"{where}, levels: at least two are needed, separated by semicolons.")
    other = text_of(row.get("if missing")) or None
    expect(
        other is None or other in levels,
        f"{where}, if missing: {other!r} is not one of its levels.",
    )
    shares = tuple(numbers_of(row["shares"], f"{where}, shares")) or None
    expect(
        not shares or len(shares) == len(levels),
        f"{where}, shares: {len(levels)} are needed, one for each level.",
    )
    return CategoricalColumn(
        text_of(row["column"]), levels, other, old is None or old.has_reference, shares
    )


def _ask_level(column: CategoricalColumn, key: str) -> str:
    return str(st.selectbox(plain(column.name), column.levels, key=key))


def listed(values: Sequence[float]) -> str:
    """Numbers as they are typed."""
    return "; ".join(f"{value:.12g}" for value in values)


def text_of(value: object) -> str:
    """A cell of the grid, empty where nothing is typed."""
    is_missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else str(value).strip()


def _number(value: object, where: str) -> float:
    try:
        return float(text_of(value))
    except ValueError:
        raise ValueError(f"{where[0].upper()}{where[1:]}: a number is needed.") from None


def numbers_of(value: object, where: str) -> list[float]:
    """Numbers with semicolons between them."""
    return [_number(part, where) for part in text_of(value).split(";") if part.strip()]


FORMS: dict[type[Column], ColumnForm] = {
    NumericColumn: ColumnForm(
        kind="number",
        needed=("lowest", "highest"),
        to_row=_number_row,
        from_row=_numeric,
        ask=_ask_number,
        widened=_widened,
    ),
    CategoricalColumn: ColumnForm(
        kind="levels", needed=("levels",), to_row=_levels_row, from_row=_levels, ask=_ask_level
    ),
}
"""By kind; the only place of the pages that knows one from another."""
BOUNDED = tuple(form.kind for form in FORMS.values() if form.has_bounds)
"""Kinds in the grid that have bounds."""
KINDS = (*(form.kind for form in FORMS.values()), LEFT_OUT)
