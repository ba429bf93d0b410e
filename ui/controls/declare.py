"""The table that somebody describes and nobody opens: its columns as rows of a grid, and back.

Nothing here comes from a file: bounds, levels and what is usual are typed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from dpci_core import DeclaredTable, Guesses
from dpci_core.base.errors import expect
from dpci_core.schema import (
    CategoricalColumn,
    Column,
    NumericColumn,
    Persons,
    Schema,
)
from dpci_core.schema.copula import Pair
from dpci_core.schema.twin import Rate
from ui.session import state
from ui.session.choices import UNPENALISED
from ui.session.compute import DECLARED, packed_table, usual_encoding
from ui.session.forms import FORMS, LEFT_OUT, form_of, text_of
from ui.session.words import in_words

USUAL_ROWS = Guesses().n_rows
_DIGITS = 10
"""Of a guessed effect."""
_MOST = math.log(sys.float_info.max)
"""Log odds of an odds ratio that is a number."""
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
"""Of the grid; an effect is typed as odds ratios per step, or against the first level."""
NUMBERS = ("lowest", "highest", "typical", "spread", "step")
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


def to_grid(table: DeclaredTable) -> pd.DataFrame:
    """A declaration as rows of the grid."""
    guesses = table.guesses
    rows = []
    for column in table.schema.features:
        row: dict[str, object] = dict.fromkeys(COLUMNS)
        row["column"] = column.name
        effects = [guesses.effects.get(name, 0.0) for name in column.feature_names]
        told = [_as_odds(effect, column.step_size) for effect in effects]
        row["effect"] = "; ".join(told) if any(effects) else None
        form = FORMS[type(column)]
        row |= {"kind": form.kind} | form.to_row(column, guesses.of(column))
        if column.name in table.schema.suggested:
            row |= {"typical": None, "spread": None}
        rows.append(row)
    return typed(rows)


_TYPES = dict.fromkeys(COLUMNS, "string") | {
    **dict.fromkeys(NUMBERS, "Float64"),
    "log": "boolean",
}


def typed(rows: Sequence[Mapping[Any, object]]) -> pd.DataFrame:
    """Rows of the grid; a column that is empty all over has its type none the less."""
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(_TYPES)


def from_grid(
    grid: pd.DataFrame,
    *,
    target: str,
    positive: str,
    negative: tuple[str, ...],
    base_rate: Rate,
    unit: str,
    rows: int,
    correlation: float = 0.0,
    before: DeclaredTable | None = None,
    persons: Persons | None = None,
    complete: float = 1.0,
    pairs: tuple[Pair, ...] = (),
    suggested: Collection[str] = (),
) -> DeclaredTable:
    """The declaration that a grid and the fields beside it describe.

    positive, negative: codes of the outcome.
    rows, correlation: of the twin, which the grid does not show.
    before: what filled the grid. What it says and a row cannot show stays: levels with a semicolon
    in them and levels without a reference, as long as the row's levels are as they were; limits;
    the encoding, as long as there are as many features; and notes.
    persons: whose row it is, where one person may have several.
    complete: expected share of records without a missing cell.
    pairs: columns that go together.
    suggested: columns whose typical value and spread nobody typed.
    Raises:  ValueError naming the row and the field.
    """
    columns: list[Column] = []
    effects: dict[str, float] = {}
    old = before.schema if before else None
    known = {column.name.strip(): column for column in old.features} if old else {}
    filled = _filled(grid)
    for place, row in enumerate(filled, start=1):
        column = _column(row, place, known.get(text_of(row["column"])))
        columns.append(column)
        given = _log_odds(row, place)
        expect(
            not given or len(given) == len(column.feature_names),
            f"Row {place}, odds ratio: {len(column.feature_names)} numbers are needed, one for "
            f"{', '.join(column.feature_names)}; {len(given)} are there.",
        )
        effects |= {
            name: _per_unit(value, column.step_size)
            for name, value in zip(column.feature_names, given, strict=False)
            if value
        }
    guesses = Guesses(
        effects=effects, base_rate=base_rate, n_rows=rows, correlation=correlation, pairs=pairs
    )
    schema = Schema(
        tuple(columns),
        target=target,
        positive=positive,
        negative=negative,
        notes=old.notes if old else (),
        persons=persons,
        complete=complete,
        suggested=tuple(suggested),
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
        if text_of(row["column"]) and text_of(row["kind"]) != LEFT_OUT
    ]


def problems(grid: pd.DataFrame) -> list[str]:
    """What is wrong with rows that have their bounds or levels, to be said while they are typed."""
    found = []
    for place, row in enumerate(_filled(grid), start=1):
        try:
            if all(text_of(row[name]) for name in form_of(row).needed):
                _column(row, place)
        except ValueError as problem:
            found.append(in_words(problem))
    return found


def wrong_guesses(grid: pd.DataFrame) -> list[str]:
    """What is wrong with guessed effects, to be said where they are typed."""
    found = []
    for place, row in enumerate(_filled(grid), start=1):
        try:
            _log_odds(row, place)
        except ValueError as problem:
            found.append(in_words(problem))
    return found


def _log_odds(row: dict[Any, Any], place: int) -> list[float]:
    """The odds ratios of a row as log odds."""
    found = []
    for part in filter(str.strip, text_of(row["effect"]).split(";")):
        try:
            odds = float(part)
        except ValueError:
            odds = math.nan
        expect(
            0.0 < odds < math.inf,
            f"Row {place} (“{text_of(row['column'])}”), odds ratio: “{part.strip()}” is no number "
            "above 0. Numbers have a decimal point, 1.5, and semicolons between them.",
        )
        found.append(math.log(odds))
    return found


def _as_odds(effect: float, step: float) -> str:
    """Odds ratio per step of log odds per unit, with as many digits as give them back; one beyond
    all numbers is shown as such, to be typed anew.
    """
    odds = math.exp(effect * step) if effect * step < _MOST else math.inf
    if 0.0 < odds < math.inf:
        for digits in range(3, 17):
            text = f"{odds:.{digits}g}"
            if _per_unit(math.log(float(text)), step) == _per_unit(effect * step, step):
                return text
    return f"{odds:.17g}"


def _per_unit(log_odds: float, step: float) -> float:
    return float(f"{log_odds / step:.{_DIGITS}g}")


def _column(row: dict[Any, Any], place: int, known: Column | None = None) -> Column:
    """The column that a row describes; `known` is the one that filled it."""
    where, form = f"row {place} (“{text_of(row['column'])}”)", form_of(row)
    is_same = known is not None and FORMS[type(known)] is form
    return form.from_row(row, where, known if is_same else None)


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
        **({"target": UNPENALISED} if is_new and table.schema.standard else {}),
    )
