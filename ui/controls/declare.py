"""The table that somebody describes and nobody opens: its columns as rows of a grid, and back.

Nothing here comes from a file: bounds, levels and what is usual are typed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dpci_core import DeclaredTable, Guesses
from dpci_core.schema import (
    CategoricalColumn,
    Column,
    NumericColumn,
    Persons,
    Schema,
    StandardEncoding,
)
from ui.session import state
from ui.session.compute import DECLARED, packed_table, step_of
from ui.session.words import in_words

LEFT_OUT = "not in the model"
KINDS = ("number", "levels", LEFT_OUT)
USUAL_ROWS = Guesses().n_rows
COLUMNS = (
    "column",
    "kind",
    "lowest",
    "highest",
    "units",
    "step",
    "typical",
    "spread",
    "levels",
    "shares",
    "log",
    "if missing",
    "effect",
)
WHY = (
    "Bounds and levels must come from what you knew **before** looking at the table: a form, a "
    "code book, the law, common sense. A bound read off the data would give away its most unusual "
    "person, and nothing in the guarantee would account for it. Values outside are clipped."
)


def example() -> DeclaredTable:
    """A table to look around with; nothing of it gets into a description of one's own."""
    schema = Schema(
        (
            NumericColumn("age", 18, 100, typical=62.0, spread=16.0, step=10.0, units="years"),
            CategoricalColumn("sex", ("female", "male")),
            CategoricalColumn("smoker", ("no", "yes"), shares=(0.8, 0.2)),
            NumericColumn("bmi", 12, 60, typical=27.0, spread=5.0, step=5.0),
            CategoricalColumn("treatment", ("usual care", "new")),
        ),
        target="readmitted",
        positive="yes",
        negative=("no",),
    )
    schema = replace(schema, standard=usual_encoding(schema))
    guesses = Guesses(
        effects={"age": 0.02, "smoker=yes": 0.4, "treatment=new": -0.3}, base_rate=0.2
    )
    return DeclaredTable(schema=schema, guesses=guesses, unit="one patient")


def is_example(table: DeclaredTable) -> bool:
    """Whether that is what is described, whatever encoding was chosen for it."""
    bare = replace(table, schema=replace(table.schema, standard=None))
    shown = example()
    return bare == replace(shown, schema=replace(shown.schema, standard=None))


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
                "units": column.units or None,
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
    return typed(rows)


_TYPES = dict.fromkeys(COLUMNS, "string") | {
    **dict.fromkeys(("lowest", "highest", "typical", "spread", "step"), "Float64"),
    "log": "boolean",
}


def typed(rows: Sequence[Mapping[Any, object]]) -> pd.DataFrame:
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
    negative: tuple[str, ...],
    base_rate: float,
    unit: str,
    rows: int,
    correlation: float = 0.0,
    before: DeclaredTable | None = None,
    persons: Persons | None = None,
    complete: float = 1.0,
) -> DeclaredTable:
    """The declaration that a grid and the fields beside it describe.

    positive, negative: codes of the outcome.
    rows, correlation: of the twin, which the grid does not show.
    before: what filled the grid. What it says and a row cannot show stays: levels with a semicolon
    in them and levels without a reference, as long as the row's levels are as they were; limits;
    the encoding, as long as there are as many features; and notes.
    persons: whose row it is, where one person may have several.
    complete: expected share of records without a missing cell.
    Raises:  ValueError naming the row and the field.
    """
    columns: list[Column] = []
    effects: dict[str, float] = {}
    old = before.schema if before else None
    known = {column.name.strip(): column for column in old.features} if old else {}
    filled = _filled(grid)
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
        tuple(columns),
        target=target,
        positive=positive,
        negative=negative,
        notes=old.notes if old else (),
        persons=persons,
        complete=complete,
    )
    if old is None or old.standard is not None:
        is_same = old is not None and len(old.feature_names) == len(schema.feature_names)
        encoding = old.standard if old is not None and is_same else usual_encoding(schema)
        schema = replace(schema, standard=encoding)
    return DeclaredTable(schema=schema, guesses=guesses, unit=unit)


def _filled(grid: pd.DataFrame) -> list[dict[Any, Any]]:
    """The rows that describe a column of the model."""
    return [
        row
        for row in grid.to_dict("records")
        if _text(row["column"]) and _text(row["kind"]) != LEFT_OUT
    ]


def problems(grid: pd.DataFrame) -> list[str]:
    """What is wrong with rows that have their bounds or levels, to be said while they are typed."""
    found = []
    for place, row in enumerate(_filled(grid), start=1):
        needed = ("levels",) if row["kind"] == "levels" else ("lowest", "highest")
        try:
            if all(_is_given(row[name]) for name in needed):
                _column(row, place)
        except ValueError as problem:
            found.append(in_words(problem))
    return found


def _column(row: dict[Any, Any], place: int, known: Column | None = None) -> Column:
    name, where = _text(row["column"]), f"row {place} (“{_text(row['column'])}”)"
    if row["kind"] == "levels":
        return _levels(row, name, where, known)

    def number(field: str) -> float:
        return _number(row[field], f"{where}, {field}")

    def maybe(field: str) -> float | None:
        return _number(row[field], f"{where}, {field}") if _is_given(row.get(field)) else None

    if not (_is_given(row["lowest"]) or _is_given(row["highest"])):
        raise ValueError(
            f"{where[0].upper()}{where[1:]}, lowest and highest: two numbers are needed, or the "
            f"kind “{LEFT_OUT}”."
        )
    low, high, missing = number("lowest"), number("highest"), maybe("if missing")
    if not low < high:
        raise ValueError(
            f"{where[0].upper()}{where[1:]}: the lowest, {low:g}, is not below the highest, "
            f"{high:g}."
        )
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
        units=_text(row["units"]),
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
    other = _text(row.get("if missing")) or None
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


# --- what pages do with it ------------------------------------------------------------------------


def take(table: DeclaredTable) -> None:
    """Plan with this description: all its columns, without penalty, method and budget to be
    found."""
    now = state.settings()
    is_new = now.dataset != DECLARED
    state.update(
        dataset=DECLARED,
        declared=packed_table(table),
        names=(),
        d=len(table.schema.feature_names),
        encoding="schema",
        **({"target": "unpenalised"} if is_new and table.schema.standard else {}),
    )
