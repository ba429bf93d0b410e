"""The table that somebody describes and nobody opens: its columns as rows of what is typed, and
back.

Nothing here comes from a file: bounds, levels and what is usual are typed.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from dpci_core import DeclaredTable, Guesses
from dpci_core.schema import (
    CategoricalColumn,
    Column,
    NumericColumn,
    Persons,
    Schema,
)
from dpci_core.schema.copula import Pair
from dpci_core.schema.twin import Rate
from ui.controls import suggest
from ui.session import state
from ui.session.choices import UNPENALISED
from ui.session.compute import DECLARED, declared_table, packed_table, usual_encoding
from ui.session.forms import (
    FORMS,
    LEFT_OUT,
    OUTCOME_FIELDS,
    POINTS,
    CellError,
    Row,
    column_of,
    text_of,
)
from ui.session.settings import PRECISION, START, Settings, for_outcome

USUAL_ROWS = Guesses().n_rows
_DIGITS = 10
"""Of a guessed effect."""
_MOST = math.log(sys.float_info.max)
"""Log odds of an odds ratio that is a number."""
WHY = (
    "Take bounds and values from what you knew **before** looking at the table: a form, a code "
    "book, common sense. A bound read off the data gives away its most unusual person, which no "
    "guarantee covers. A value outside counts as the bound."
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


def example_of_a_number() -> DeclaredTable:
    """The same patients with another outcome, a number."""
    shown = example()
    pressure = NumericColumn("pressure", 70, 250, typical=135.0, spread=20.0, units="mmHg")
    schema = Schema(shown.schema.features, outcome=pressure)
    schema = replace(schema, standard=usual_encoding(schema))
    effects = {"age": 0.4, "sex=male": 3.0, "smoker=yes": 2.0, "bmi": 0.8, "treatment=new": -5.0}
    return DeclaredTable(schema=schema, guesses=Guesses(effects=effects), unit=shown.unit)


def is_example(table: DeclaredTable) -> bool:
    """Whether one of these is what is described, whatever encoding was chosen for it."""
    return _bare(table) in (_bare(example()), _bare(example_of_a_number()))


def _bare(table: DeclaredTable) -> DeclaredTable:
    return replace(table, schema=replace(table.schema, standard=None))


def to_rows(table: DeclaredTable) -> list[dict[str, object]]:
    """A declaration as what somebody would type of each column, what is empty left out."""
    guesses, rows = table.guesses, []
    for column in table.schema.features:
        form = FORMS[type(column)]
        row: dict[str, object] = {"column": column.name, "kind": form.kind}
        row |= form.to_row(column, guesses.of(column))
        effects = [guesses.effects.get(name, 0.0) for name in column.feature_names]
        if any(effects):
            tell = _as_odds if table.schema.outcome is None else _as_number
            row["effect"] = "; ".join(tell(effect, column.step_size) for effect in effects)
        rows.append(_given(row, table.schema))
    return rows


def outcome_row(schema: Schema) -> dict[str, object]:
    """The outcome as what somebody would type of it."""
    if schema.outcome is None:
        levels = "; ".join((*schema.negative, schema.positive))
        return {"column": schema.target, "kind": "levels", "levels": levels}
    form = FORMS[NumericColumn]
    row = {"column": schema.target, "kind": form.kind} | form.to_row(schema.outcome, None)
    return _given(row, schema)


def _given(row: Row, schema: Schema) -> dict[str, object]:
    """What of a row is typed: not what is empty or suggested."""
    left: Mapping[str, object] = {}
    if row["column"] in schema.suggested:
        (left,), _ = suggest.with_suggestions([{**row, "typical": "", "spread": ""}])
    return {
        name: cell
        for name, cell in row.items()
        if text_of(cell)
        and cell is not False
        and not (name in ("typical", "spread") and cell == left.get(name))
    }


def outcome_of(row: Row) -> NumericColumn:
    """The number that a row describes as the outcome.

    Raises:  CellError.
    """
    said = {name: row.get(name) for name in ("column", *OUTCOME_FIELDS)}
    column = column_of(said)
    assert isinstance(column, NumericColumn)
    return column


def from_rows(
    typed: Sequence[Row],
    *,
    target: str = "",
    positive: str = "",
    negative: tuple[str, ...] = (),
    outcome: NumericColumn | None = None,
    base_rate: Rate = 0.5,
    unit: str,
    rows: int,
    correlation: float = 0.0,
    before: DeclaredTable | None = None,
    persons: Persons | None = None,
    complete: float = 1.0,
    pairs: tuple[Pair, ...] = (),
    suggested: Collection[str] = (),
) -> DeclaredTable:
    """The declaration that the columns and the fields beside them describe.

    typed: a row for each column, empty ones and those that are not in the model left out.
    positive, negative: codes of the outcome.  outcome: instead, the outcome as a number.
    rows, correlation: of the twin, which no field shows.
    before: what filled the rows. What it says and a row cannot show stays: levels with a semicolon
    in them and levels without a reference, as long as the row's levels are as they were; limits;
    the encoding, as long as there are as many features; and notes.
    persons: whose row it is, where one person may have several.
    complete: expected share of records without a missing cell.
    pairs: columns that go together.
    suggested: columns whose typical value or spread nobody typed.
    Raises:  ValueError, for what is wrong in a field CellError.
    """
    columns: list[Column] = []
    effects: dict[str, float] = {}
    old = before.schema if before else None
    known = {column.name.strip(): column for column in old.features} if old else {}
    for row in in_model(typed):
        column = column_of(row, known.get(text_of(row["column"])))
        columns.append(column)
        effects |= _effects(row, column, is_number=outcome is not None)
    guesses = Guesses(
        effects=effects, base_rate=base_rate, n_rows=rows, correlation=correlation, pairs=pairs
    )
    schema = Schema(
        tuple(columns),
        target=target,
        positive=positive,
        negative=negative,
        outcome=outcome,
        notes=old.notes if old else (),
        persons=persons,
        complete=complete,
        suggested=tuple(suggested),
    )
    if old is None or old.standard is not None or outcome is not None:
        is_same = old is not None and len(old.feature_names) == len(schema.feature_names)
        encoding = old.standard if old is not None and is_same else usual_encoding(schema)
        schema = replace(schema, standard=encoding)
    return DeclaredTable(schema=schema, guesses=guesses, unit=unit)


def in_model(typed: Sequence[Row]) -> list[Row]:
    """The rows that describe a column of the model."""
    return [row for row in typed if text_of(row.get("column")) and row.get("kind") != LEFT_OUT]


def wrong_names(typed: Sequence[Row]) -> list[CellError | None]:
    """What is wrong with the name of each column, None where nothing is."""
    names = [text_of(row.get("column")) for row in typed]
    count = Counter(names)
    return [
        CellError(row, "column", "a name is needed." if not name else "it is there twice.")
        if not name or count[name] > 1
        else None
        for row, name in zip(typed, names, strict=True)
    ]


def wrong_cell(
    row: Row, known: Column | None = None, *, is_number: bool = False
) -> CellError | None:
    """What is wrong with what is typed of a column of the model, None where nothing is; `known` is
    the column that filled the row, and effects are on a number or on odds.
    """
    try:
        _effects(row, column_of(row, known), is_number=is_number)
    except CellError as problem:
        return problem
    return None


def _effects(row: Row, column: Column, *, is_number: bool) -> dict[str, float]:
    """The guessed effects of a row per unit, by feature: log odds, or differences of a number.

    Raises:  CellError.
    """
    found = []
    for part in filter(str.strip, text_of(row.get("effect")).split(";")):
        try:
            typed = float(part)
        except ValueError:
            typed = math.nan
        if not (-math.inf if is_number else 0.0) < typed < math.inf:
            raise CellError(
                row,
                "effect",
                f"“{part.strip()}” is no number{'' if is_number else ' above 0'}. {POINTS}",
            )
        found.append(typed if is_number else math.log(typed))
    names = column.feature_names
    if found and len(found) != len(names):
        needed = f"{len(names)} numbers are needed, one for {', '.join(names)}"
        raise CellError(row, "effect", f"{needed}; {len(found)} are there.")
    effects = zip(names, found, strict=False)
    return {name: _per_unit(effect, column.step_size) for name, effect in effects if effect}


def _as_number(effect: float, step: float) -> str:
    """The difference for a step of a difference per unit, with as many digits as give it back."""
    shown = (f"{effect * step:.{digits}g}" for digits in range(3, 17))
    same = (text for text in shown if _per_unit(float(text), step) == effect)
    return next(same, f"{effect * step:.17g}")


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


def _per_unit(effect: float, step: float) -> float:
    return float(f"{effect / step:.{_DIGITS}g}")


# --- what pages do with it ------------------------------------------------------------------------


def take(table: DeclaredTable) -> None:
    """Plan with this description: all its columns, without penalty, method and budget to be
    found."""
    state.put(with_table(state.settings(), table))


def anew(now: Settings) -> Settings:
    """The settings of a first study of the table that these describe, with its goal; one about
    columns by their bounds has another scale, and is left behind.
    """
    table = declared_table(now.declared)
    bare = replace(table, schema=replace(table.schema, standard=usual_encoding(table.schema)))
    first = for_outcome(with_table(replace(START, n=now.n), bare))
    if table.schema.standard is None:
        return first
    return replace(first, **{name: getattr(now, name) for name in PRECISION})


def with_table(now: Settings, table: DeclaredTable) -> Settings:
    """The settings with this description."""
    is_new = now.dataset != DECLARED
    return replace(
        now,
        dataset=DECLARED,
        declared=packed_table(table),
        names=(),
        d=len(table.schema.feature_names),
        encoding="schema",
        target=UNPENALISED if is_new and table.schema.standard else now.target,
    )
