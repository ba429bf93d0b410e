"""Describing a table that nobody opens: columns with bounds or levels and what is usual in them,
typed into a grid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from dpci_core import DeclaredTable, Guesses
from dpci_core.base.errors import DataRejectedError
from dpci_core.release.table import MemoryFile, read_header
from dpci_core.schema import (
    CategoricalColumn,
    Column,
    NumericColumn,
    Schema,
    StandardEncoding,
)
from dpci_core.schema.twin import BASE_RATE
from ui.session import state, text
from ui.session.compute import DECLARED, declared_table, packed_table, step_of
from ui.session.words import in_words

KINDS = ("number", "levels")
COLUMNS = (
    "column",
    "kind",
    "lowest",
    "highest",
    "typical",
    "spread",
    "step",
    "log",
    "levels",
    "shares",
    "if missing",
    "effect",
)
WHY = (
    "Bounds and levels must come from what you knew **before** looking at the table: a form, a "
    "code book, the law, common sense. A bound read off the data would give away its most unusual "
    "person, and nothing in the guarantee would account for it. Values outside are clipped."
)


def example() -> DeclaredTable:
    """What the grid holds at first."""
    schema = Schema(
        (
            NumericColumn("age", 18, 100, typical=62.0, spread=16.0, step=10.0),
            CategoricalColumn("sex", ("female", "male")),
            CategoricalColumn("smoker", ("no", "yes"), shares=(0.8, 0.2)),
            NumericColumn("bmi", 12, 60, typical=27.0, spread=5.0, step=5.0),
            CategoricalColumn("treatment", ("usual care", "new")),
        ),
        target="readmitted",
        positive="yes",
    )
    schema = replace(schema, standard=usual_encoding(schema))
    guesses = Guesses(
        effects={"age": 0.02, "smoker=yes": 0.4, "treatment=new": -0.3}, base_rate=0.2
    )
    return DeclaredTable(schema=schema, guesses=guesses, unit="one patient")


def usual_encoding(schema: Schema) -> StandardEncoding:
    """The encoding before anybody chose one: most rows count in full."""
    return StandardEncoding(radius=float(f"{math.sqrt(len(schema.feature_names) + 1):.2g}"))


def to_grid(table: DeclaredTable) -> pd.DataFrame:
    """A declaration as rows of the grid."""
    guesses = table.guesses
    rows = []
    for column in table.schema.features:
        row: dict[str, object] = dict.fromkeys(COLUMNS)
        row["column"] = column.name
        step = step_of(column)
        effects = [guesses.effects.get(name, 0.0) * step for name in column.feature_names]
        row["effect"] = _listed(effects) if any(effects) else None
        if isinstance(column, NumericColumn):
            missing = None if column.missing is None else f"{column.missing:.12g}"
            row |= {
                "kind": "number",
                "lowest": column.low,
                "highest": column.high,
                "if missing": missing,
                "typical": column.typical,
                "spread": column.spread,
                "step": column.step,
                "log": column.transform == "log",
            }
            if column.typical is None and (guess := guesses.numbers.get(column.name)):
                row |= {"typical": guess.centre, "spread": guess.spread}
        else:
            row |= {"kind": "levels", "levels": _joined(column), "if missing": column.other}
            if shares := column.shares or guesses.shares.get(column.name):
                row["shares"] = _listed(shares)
        rows.append(row)
    return _typed(rows)


_TYPES = dict.fromkeys(COLUMNS, "string") | {
    **dict.fromkeys(("lowest", "highest", "typical", "spread", "step"), "Float64"),
    "log": "boolean",
}


def _typed(rows: Sequence[Mapping[Any, object]]) -> pd.DataFrame:
    """Rows of the grid; a column that is empty all over has its type none the less."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(_TYPES)


def _joined(column: CategoricalColumn) -> str:
    return "; ".join(column.levels)


def _listed(values: Sequence[float]) -> str:
    return "; ".join(f"{value:.12g}" for value in values)


def from_grid(
    grid: pd.DataFrame,
    *,
    target: str,
    positive: str,
    base_rate: float,
    unit: str,
    rows: int,
    correlation: float = 0.0,
    before: DeclaredTable | None = None,
) -> DeclaredTable:
    """The declaration that a grid and the fields beside it describe.

    rows, correlation: of the twin, which the grid does not show.
    before: what filled the grid. What it says and a row cannot show stays: levels with a semicolon
    in them and levels without a reference, as long as the row's levels are as they were; limits;
    the encoding, as long as there are as many features; and notes.
    Raises:  ValueError naming the row and the field.
    """
    columns: list[Column] = []
    effects: dict[str, float] = {}
    old = before.schema if before else None
    known = {column.name.strip(): column for column in old.features} if old else {}
    filled = [row for row in grid.to_dict("records") if _text(row["column"])]
    for place, row in enumerate(filled, start=1):
        column = _column(row, place, known.get(_text(row["column"])))
        columns.append(column)
        given = _numbers(row["effect"], f"row {place}, effect")
        if given and len(given) != len(column.feature_names):
            raise ValueError(
                f"Row {place}, effect: {len(column.feature_names)} numbers are needed, one for "
                f"{', '.join(column.feature_names)}; {len(given)} are there."
            )
        step = step_of(column)
        effects |= {
            name: float(f"{value / step:.10g}")
            for name, value in zip(column.feature_names, given, strict=False)
            if value
        }
    guesses = Guesses(effects=effects, base_rate=base_rate, n_rows=rows, correlation=correlation)
    schema = Schema(
        tuple(columns), target=target, positive=positive, notes=old.notes if old else ()
    )
    if old is None or old.standard is not None:
        is_same = old is not None and len(old.feature_names) == len(schema.feature_names)
        encoding = old.standard if old is not None and is_same else usual_encoding(schema)
        schema = replace(schema, standard=encoding)
    return DeclaredTable(schema=schema, guesses=guesses, unit=unit)


def _column(row: dict[Any, Any], place: int, known: Column | None = None) -> Column:
    name, where = _text(row["column"]), f"row {place} (“{_text(row['column'])}”)"
    if row["kind"] == "levels":
        return _levels(row, name, where, known)

    def number(field: str) -> float:
        return _number(row[field], f"{where}, {field}")

    def maybe(field: str) -> float | None:
        return number(field) if _is_given(row[field]) else None

    low, high, missing = number("lowest"), number("highest"), maybe("if missing")
    typical, spread = maybe("typical"), maybe("spread")
    if typical is not None or spread is not None:
        typical, spread = number("typical"), number("spread")
        if not low <= typical <= high:
            raise ValueError(
                f"{where[0].upper()}{where[1:]}, typical: {typical:g} lies outside {low:g} to "
                f"{high:g}."
            )
    return NumericColumn(
        name,
        low,
        high,
        missing,
        typical=typical,
        spread=spread,
        step=maybe("step"),
        limit=known.limit if isinstance(known, NumericColumn) else None,
        transform="log" if row["log"] is True else None,
    )


def _levels(row: dict[Any, Any], name: str, where: str, known: Column | None) -> CategoricalColumn:
    where = f"{where[0].upper()}{where[1:]}"
    old = (
        known
        if isinstance(known, CategoricalColumn) and _text(row["levels"]) == _joined(known)
        else None
    )
    typed = (part.strip() for part in _text(row["levels"]).split(";"))
    levels = old.levels if old else tuple(part for part in typed if part)
    if len(levels) < 2:
        raise ValueError(f"{where}, levels: at least two are needed, separated by semicolons.")
    other = _text(row["if missing"]) or None
    if other is not None and other not in levels:
        raise ValueError(f"{where}, if missing: {other!r} is not one of its levels.")
    shares = tuple(_numbers(row["shares"], f"{where}, shares")) or None
    if shares and len(shares) != len(levels):
        raise ValueError(f"{where}, shares: {len(levels)} are needed, one for each level.")
    return CategoricalColumn(name, levels, other, old is None or old.has_reference, shares)


def _text(value: object) -> str:
    is_missing = value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value))
    return "" if is_missing else str(value).strip()


def _is_given(value: object) -> bool:
    return _text(value) != ""


def _number(value: object, where: str) -> float:
    try:
        return float(_text(value))
    except ValueError:
        raise ValueError(f"{where[0].upper()}{where[1:]}: a number is needed.") from None


def _numbers(value: object, where: str) -> list[float]:
    return [_number(part, where) for part in _text(value).split(";") if part.strip()]


# --- the panel ------------------------------------------------------------------------------------


def take(table: DeclaredTable) -> None:
    """Plan with this description."""
    count = len(table.schema.feature_names)
    now = state.settings()
    is_new = now.dataset != DECLARED
    state.update(
        dataset=DECLARED,
        declared=packed_table(table),
        names=(),
        d=min(10, count) if is_new or now.names or now.d > count else now.d,
        encoding="schema",
        **({"target": "unpenalised"} if is_new and table.schema.standard else {}),
    )


_OFFERED = "declare_offered"


def panel() -> None:
    """The description in a form: nothing is computed before it is handed in."""
    table = declared_table(state.settings().declared)
    with st.expander("The table you describe", expanded=True):
        st.markdown(WHY)
        _offer_names()
        offered: tuple[str, ...] = st.session_state.get(_OFFERED, ())
        with st.form("declare", border=False):
            grid = st.data_editor(
                with_offered(to_grid(table), offered),
                num_rows="dynamic",
                placeholder="",
                hide_index=True,
                key=f"declare_grid_{state.settings().declared[-24:]}_{hash(offered)}",
                column_config=_CONFIG,
                width="stretch",
                alt="The columns you describe, one in each row",
            )
            typed = _outcome(table)
            if st.form_submit_button("Use this description", type="primary"):
                _hand_in(grid, typed)
        if refused := st.session_state.pop("declare_refused", None):
            st.error(text.plain(refused))
        st.caption(HOW)


def _offer_names() -> None:
    """Column names of a file's header, to be declared; nothing below the header is read."""
    if state.is_public_demo():
        return
    file = st.file_uploader(
        "Take the column names from a file (only its header is read)",
        type=["csv", "tsv", "txt", "parquet"],
        key="declare_header",
    )
    if file is None:
        return
    try:
        names = read_header(MemoryFile(file.name, file.getvalue())).columns
    except DataRejectedError as problem:
        st.error(in_words(problem))
        return
    st.button(
        f"Offer its {len(names)} column names below",
        key="declare_offer",
        on_click=lambda: st.session_state.update({_OFFERED: tuple(dict.fromkeys(names))}),
    )


def with_offered(grid: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """A grid with a row for each offered name: what was declared about it before, or nothing
    yet.
    """
    if not names:
        return grid
    known = grid.set_index("column")
    rows = [
        {"column": name, **(known.loc[name].to_dict() if name in known.index else {})}
        for name in names
    ]
    return _typed(rows)


HOW = (
    "**Typical, spread, shares** are declared like bounds: never read off the table. **Told per**: "
    "the step that effects are told for, 10 years, not 1. **Log**: effects of ratios; spread and "
    "step are factors then. **Effect** is a guess in log odds per step; for levels one for each "
    "but the first, the reference. Empty is 0. Lists are separated by semicolons."
)
_CONFIG = {
    "column": st.column_config.TextColumn("Column", width=88, required=True),
    "kind": st.column_config.SelectboxColumn("Kind", width=70, options=list(KINDS), required=True),
    "lowest": st.column_config.NumberColumn(
        "Lowest", width=74, help="Bound of a number, known beforehand."
    ),
    "highest": st.column_config.NumberColumn(
        "Highest", width=76, help="Bound of a number, known beforehand."
    ),
    "levels": st.column_config.TextColumn(
        "Levels", width=100, help="All levels, separated by semicolons; the first is the reference."
    ),
    "if missing": st.column_config.TextColumn(
        "If missing",
        help="What a missing value counts as: a number (empty: the middle), or a level (empty: the "
        "first).",
    ),
    "typical": st.column_config.NumberColumn(
        "Typical", width=74, help="A middling value; empty: the middle of the bounds."
    ),
    "spread": st.column_config.NumberColumn(
        "Spread", width=74, help="About the standard deviation; empty: every value is as likely."
    ),
    "step": st.column_config.NumberColumn(
        "Told per", width=80, help="Effects are told for so many units."
    ),
    "log": st.column_config.CheckboxColumn(
        "Log", width=62, help="For amounts, where ratios count."
    ),
    "shares": st.column_config.TextColumn(
        "Shares", width=74, help="How often each level occurs, in their order; empty: all alike."
    ),
    "effect": st.column_config.TextColumn(
        "Effect", help="A guess: log odds per step, or against the reference."
    ),
}


def _outcome(table: DeclaredTable) -> dict[str, Any]:
    """The fields beside the grid."""
    first, second, third, fourth = st.columns(4)
    low, high = (100.0 * rate for rate in BASE_RATE)
    return {
        "target": first.text_input("Outcome column", table.schema.target),
        "positive": second.text_input("Its value that counts as “yes”", table.schema.positive),
        "base_rate": third.number_input(
            "Guessed share of “yes” (%)",
            low,
            high,
            min(max(100.0 * table.guesses.base_rate, low), high),
            format="%.7g",
        )
        / 100.0,
        "unit": fourth.text_input("What one row is", table.unit),
    }


def _hand_in(grid: pd.DataFrame, typed: dict[str, Any]) -> None:
    """Take the description over, or keep the old one and say what is wrong."""
    old = declared_table(state.settings().declared)
    guesses = old.guesses
    try:
        take(
            from_grid(
                grid,
                **typed,
                rows=guesses.n_rows,
                correlation=guesses.correlation,
                before=old,
            )
        )
        st.session_state.pop(_OFFERED, None)
    except ValueError as problem:
        st.session_state["declare_refused"] = (
            f"This description cannot be used yet. {in_words(problem)}"
        )
    st.rerun()
