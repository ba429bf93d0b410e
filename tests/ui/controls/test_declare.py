"""A described table: what is typed of it, link, page; nothing is opened, and what is wrong is said
with its column and its field.
"""

from __future__ import annotations

import hashlib
import math
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from pydantic import TypeAdapter

from dpci_core import DeclaredTable, Guesses, forecast
from dpci_core.schema import (
    CategoricalColumn,
    NumberGuess,
    NumericColumn,
    Schema,
    StandardEncoding,
    twin_table,
)
from tests.ui.test_pages import check, now, picture_of, start
from ui.controls import declare
from ui.plan import bounds
from ui.session.case import make_case
from ui.session.compute import DECLARED, PUBLIC, TableSource, declared_table, packed_table
from ui.session.settings import Settings, from_query
from ui.session.state import admissible

pytestmark = pytest.mark.usefixtures("patient")


OUTCOME = {
    "target": "ill",
    "positive": "yes",
    "negative": ("no",),
    "base_rate": 0.3,
    "unit": "one person",
    "rows": 5_000,
}


AGE = {"column": "age", "kind": "number", "lowest": "0", "highest": "100"}
SEX = {"column": "sex", "kind": "levels", "levels": "f; m; x"}


def table_of(*columns: object, **guesses: object) -> DeclaredTable:
    schema = Schema(columns, "y", "yes", negative=("no", "0"), complete=0.9)  # type: ignore[arg-type]
    schema = replace(schema, standard=StandardEncoding(shape=2.0, limit=3.0))
    return DeclaredTable(schema=schema, guesses=Guesses(base_rate=0.25, **guesses), unit="a visit")  # type: ignore[arg-type]


def through_the_rows(table: DeclaredTable, *, before: DeclaredTable | None = None) -> DeclaredTable:
    return declare.from_rows(
        declare.to_rows(table),
        target="y",
        positive="yes",
        negative=("no", "0"),
        base_rate=0.25,
        unit="a visit",
        rows=3_000,
        correlation=0.2,
        before=before,
        complete=0.9,
    )


def test_the_rows_return_what_was_put_in():
    table = table_of(
        NumericColumn(
            "a", -1, 3.5, missing=0.25, typical=1.0, spread=0.5, step=0.1, limit=2.5, units="m"
        ),
        CategoricalColumn("b", ("no", "1", "null"), other="1", shares=(0.2, 0.3, 0.5)),
        NumericColumn("c", 0, 1),
        NumericColumn("d", 1, 1e6, typical=2e4, spread=3.0, transform="log"),
        effects={"a": 0.1, "b=null": -2.0, "log(d)": 0.25},
        n_rows=3_000,
        correlation=0.2,
    )
    assert through_the_rows(table, before=table) == table
    assert declared_table(packed_table(table)) == table


def test_numbers_of_a_plan_are_read_from_their_cells_as_the_same():
    third = 1.0 / 3.0
    column = NumericColumn("a", -third, 0.1 + 0.2, typical=1e-7, spread=third, step=0.7)
    table = table_of(column)
    assert through_the_rows(table).schema.features == (column,)
    assert declare.to_rows(table)[0]["highest"] == "0.30000000000000004"


@pytest.mark.parametrize("field", ["lowest", "highest", "typical", "spread", "step", "if missing"])
@pytest.mark.parametrize("typed", ["0,5", "1,000", "many", "nan", "1e400"])
def test_a_cell_that_is_no_number_is_refused_at_its_field(field: str, typed: str):
    wrong = declare.wrong_cell(AGE | {field: typed})
    assert wrong is not None
    assert (wrong.field, wrong.why) == (field, POINT)


POINT = "Type a number with a decimal point, such as 1.5, and without commas."


def test_effects_are_typed_for_the_step_of_their_column():
    odds = float(str(declare.to_rows(declare.example())[0]["effect"]))
    assert odds == pytest.approx(math.exp(0.2), rel=1e-9)  # 0.02 a year, told for ten
    made = through_the_rows(
        table_of(NumericColumn("d", 1, 100, transform="log"), effects={"log(d)": 0.5})
    )
    assert made.guesses.effects["log(d)"] == pytest.approx(0.5, rel=1e-9)
    doubled = declare.to_rows(made)[0]["effect"]
    assert float(str(doubled)) == pytest.approx(2.0**0.5, rel=1e-9)


@pytest.mark.parametrize(("effect", "step"), [(0.02, 10), (0.3, 0.07), (-1e-9, 1), (99, 7)])
def test_an_effect_of_a_plan_comes_back_from_its_cell_as_it_was(effect: float, step: float):
    table = table_of(NumericColumn("a", 0, 1, step=step), effects={"a": effect})
    (row,) = declare.to_rows(table)
    assert declare.wrong_cell(row) is None
    assert through_the_rows(table).guesses.effects["a"] == pytest.approx(effect, abs=1e-15)


@pytest.mark.parametrize(("effect", "told"), [(99, "inf"), (-99, "0")])
def test_an_effect_beyond_all_odds_is_shown_and_refused_in_words(effect: float, told: str):
    (row,) = declare.to_rows(table_of(NumericColumn("a", 0, 1, step=10), effects={"a": effect}))
    assert row["effect"] == told
    wrong = declare.wrong_cell(row)
    assert wrong is not None
    assert wrong.field == "effect"
    assert str(wrong).startswith(f"“a”, guessed effect: “{told}” is no number above 0.")


def test_guesses_of_an_older_description_become_part_of_it():
    """They stood in the rows as guesses; handed in, they are declared, and the twin is the same."""
    old = DeclaredTable(
        schema=Schema(
            (NumericColumn("a", 0, 10), CategoricalColumn("b", ("no", "yes"))),
            "y",
            "yes",
            negative=("no", "0"),
            complete=0.9,
        ),
        guesses=Guesses(
            numbers={"a": NumberGuess(4.0, 2.0)}, shares={"b": (0.9, 0.1)}, n_rows=3_000
        ),
    )
    made = through_the_rows(old, before=old)
    assert made.schema.standard is None
    assert made.schema.features == (
        NumericColumn("a", 0, 10, typical=4.0, spread=2.0),
        CategoricalColumn("b", ("no", "yes"), shares=(0.9, 0.1)),
    )
    assert twin_table(made.schema, Guesses(n_rows=500)).equals(
        twin_table(old.schema, replace(old.guesses, base_rate=0.5, n_rows=500))
    )


def test_a_new_description_has_the_standard_encoding_and_keeps_the_one_that_was_chosen():
    columns = (NumericColumn("a", 0, 1), NumericColumn("b", 0, 1), NumericColumn("c", 0, 1))
    assert through_the_rows(table_of(*columns)).schema.standard == StandardEncoding(shape=2.0)
    chosen = table_of(*columns)
    assert through_the_rows(chosen, before=chosen).schema.standard == chosen.schema.standard
    other = through_the_rows(table_of(*columns[:2]), before=chosen)
    assert other.schema.standard == StandardEncoding(shape=1.7)


def test_the_example_is_a_table_to_plan_with():
    table = declare.example()
    records = table.records()
    assert records.source == "simulated"
    assert (records.y > 0).mean() == pytest.approx(table.guesses.base_rate, abs=0.01)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([AGE | {"lowest": None}], "“age”, lowest possible: a number is needed, or the kind “Not"),
        ([AGE, SEX | {"levels": "f"}], "“sex”, values, as .*: at least two"),
        (
            [SEX | {"levels": "f; m; f"}],
            "“sex”, values, as .*: Expected at least two levels, all different",
        ),
        (
            [SEX | {"effect": "1"}],
            "“sex”, guessed effect: 2 numbers are needed, one for sex=m, sex=x; 1 are there",
        ),
        ([SEX | {"effect": "1; many"}], "“sex”, guessed effect: “many” is no number above 0"),
        ([AGE | {"effect": "1,5"}], "“age”, guessed effect: “1,5” is no number above 0"),
        ([SEX | {"shares": "50; 50"}], "“sex”, how often .*: 3 are needed"),
        (
            [SEX | {"shares": "50; 20; 20"}],
            "“sex”, how often .*: they have to add up to 100, none below 0; these add up to 90",
        ),
        (
            [SEX | {"levels": "f; m", "shares": "0,5"}],
            r"add up to 5\. Numbers have a decimal point",
        ),
        ([SEX | {"levels": "f; m", "shares": "99,5; 0,5"}], "“sex”, how often .*: Type a number"),
        ([SEX | {"levels": "f; m", "shares": "99,5, 0,5"}], r"2 are .* value\. Numbers have a dec"),
        ([SEX | {"levels": "0,5, 1,7"}], "“sex”, values, as .*: values with a comma in them need"),
        ([AGE | {"typical": "50"}], "“age”, spread: a number is needed"),
        (
            [AGE | {"typical": "500", "spread": "1"}],
            "“age”, typical value: it has to lie within 0 to 100",
        ),
        ([AGE | {"typical": "50", "spread": "0"}], "“age”, spread: it has to be above 0"),
        (
            [AGE | {"typical": "50", "spread": "5e9"}],
            "“age”, spread: it has to be at most 1,000, ten",
        ),
        ([AGE | {"step": "-1"}], "“age”, report effects per: it has to be above 0"),
        ([AGE | {"log": True}], "“age”, lowest possible: on a log scale"),
        ([AGE | {"lowest": "100"}], "“age”, highest possible: it has to be above the lowest, 100"),
        ([AGE, AGE], "age.*twice"),
        ([AGE | {"if missing": "300"}], "“age”, an empty cell .*: it has to lie within 0 to 100"),
        (
            [SEX | {"if missing": "other"}],
            "“sex”, an empty cell counts as: “other” is not one of the values",
        ),
        ([], "at least one column"),
        ([{"column": "   "}], "at least one column"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(rows, message):
    with pytest.raises(ValueError, match=message):
        declare.from_rows(rows, **OUTCOME)


def test_values_may_have_commas_between_them_where_no_semicolon_is():
    table = declare.from_rows(
        [SEX | {"levels": "f, m"}, SEX | {"column": "b", "levels": "1,5; 2"}], **OUTCOME
    )
    assert [column.texts for column in table.schema.features] == [("f", "m"), ("1,5", "2")]


def test_a_bound_of_zero_is_a_bound():
    (row,) = declare.to_rows(table_of(NumericColumn("a", 0, 1)))
    assert (row["lowest"], row["highest"]) == ("0", "1")


def test_empty_rows_are_left_out():
    table = declare.from_rows([AGE, {}, SEX], **OUTCOME)
    assert [c.name for c in table.schema.features] == ["age", "sex"]


def test_a_link_restores_a_described_table():
    wanted = Settings(dataset=DECLARED, declared=packed_table(declare.example()), d=3)
    again, bad = from_query(wanted.to_query())
    assert bad == ()
    assert again == wanted
    assert admissible(wanted) == (wanted, ())


@pytest.mark.parametrize("text", ["", "1.", "1.AAAA", "2.x", "x" * 9_000])
def test_a_damaged_description_falls_back_to_the_census(text):
    settings, bad = admissible(Settings(dataset=DECLARED, declared=text))
    assert settings.dataset == "census"
    assert "declared" in bad


def test_a_description_of_other_columns_drops_chosen_names():
    wanted = Settings(
        dataset=DECLARED, declared=packed_table(declare.example()), names=("height",), d=99
    )
    settings, bad = admissible(wanted)
    assert bad == ("names", "d")
    assert settings.d == 5


def test_explore_starts_from_a_description():
    app = start("explore", dataset=DECLARED, declared=packed_table(declare.example()), d="5")
    footer = picture_of(app)["footer"]
    assert "Simulated twin" in footer
    assert "Made-up people" in footer


def of_few_rows(settings: Settings) -> Settings:
    """Two columns of the same description and a small twin: quick to draw and to fit."""
    table = declared_table(settings.declared)
    schema = replace(table.schema, features=table.schema.features[:2])
    guesses = replace(table.guesses, effects={"age": 0.02}, n_rows=1_000)
    few = replace(table, schema=schema, guesses=guesses)
    return replace(settings, declared=packed_table(few), d=2)


def test_the_whole_path_opens_no_file_and_no_connection():
    """Only code and the page's own settings are read: no table can be in reach of what is shown."""
    start("plan", step="approve", d="2")  # what is imported when it is needed is code as well
    TypeAdapter(int), go.Figure(go.Scatter(x=np.ones(2)))  # look once for plugins of their own
    app = start("plan", find="precision")
    seen: list[str] = []
    with watched(seen):
        app.button(key="describe_example").click().run()
        app.session_state["settings"] = of_few_rows(now(app))
        for step in ("goal", "choose", "approve", "describe"):
            app.button(key=f"step_{step}").click().run()
            check(app)
        app.session_state["linked"]["method"] = "own"
        app.button(key="step_choose").click().run()
        check(app)
    assert seen == []
    with watched(seen):
        Path(__file__).with_name("test_hypothetical.csv").exists()
        Path(__file__).read_text()
    assert seen == [str(Path(__file__))]


_WATCHED: list[list[str]] = []
_CODE = (".py", ".pyc", ".toml", ".so", ".nbi", ".nbc", "/proc/self/maps")
"""What a program may open to run; the last is the list of libraries it has in memory."""


@contextmanager
def watched(seen: list[str]):
    """Note every file that is opened, code aside, and every connection; the hook itself cannot be
    taken out again.
    """
    if not hasattr(watched, "hook"):
        watched.hook = True
        sys.addaudithook(_note)
    _WATCHED.append(seen)
    try:
        yield
    finally:
        _WATCHED.clear()


def _note(event: str, args: tuple) -> None:
    if not _WATCHED or event not in ("open", "socket.connect"):
        return
    name = str(args[0]) if event == "open" else "connection"
    if not name.endswith(_CODE) or name == __file__:
        _WATCHED[-1].append(name)


@pytest.mark.parametrize(
    "column", [NumericColumn("age", 0, 100), CategoricalColumn("sex", ("f", "m"))]
)
def test_a_table_with_columns_of_one_kind_is_drawn(column):
    table = DeclaredTable(schema=Schema((column,), "ill", "yes"), guesses=Guesses(n_rows=1_000))
    check(start("plan", dataset=DECLARED, declared=packed_table(table), d="1", n="50000"))


def bounded() -> DeclaredTable:
    """The example under the encoding by bounds."""
    table = declare.example()
    return replace(table, schema=replace(table.schema, standard=None))


def test_a_bad_bound_is_shown_to_cost_length_or_truth():
    app = start("plan", n="50000", dataset=DECLARED, declared=packed_table(bounded()), d="5")
    app.toggle(key="bounds_demo").set_value(True).run()
    check(app)
    case = make_case(now(app), TableSource(PUBLIC))
    found = {o.factor: o for o in bounds.outcomes(case, bounded(), "age")}
    made = forecast(
        case.moments,
        design=case.design,
        contrasts=case.records.to_original,
    )
    assert found[1.0].length == pytest.approx(float(made.ci_length[0]), rel=1e-9)
    assert found[1.0].outside == 0.0
    assert found[8.0].against_estimate > 3.0 * found[1.0].against_estimate
    assert 0.0 < found[8.0].estimate < 0.5 * found[1.0].estimate
    assert found[0.25].outside > 0.3
    assert abs(found[0.25].estimate - found[1.0].estimate) > 0.002
    assert any("the interval of “age” is around" in m.value for m in app.markdown)


def test_what_a_row_cannot_show_stays_as_it_was():
    columns = (
        CategoricalColumn("all", ("a", "b"), has_reference=False),
        CategoricalColumn("parts", ("p; q", "r")),
        NumericColumn("z", 0, 1, typical=0.5, spread=0.1),
    )
    note = "Suggested, not typed: typical value or spread of “z”."  # words, which say nothing
    schema = Schema(columns, "ill", "yes", notes=(note,), negative=("no",))
    table = DeclaredTable(
        schema=schema, guesses=Guesses(effects={"all=a": 0.3, "all=b": 0.1, "parts=r": 1.0})
    )
    again = declare.from_rows(declare.to_rows(table), **OUTCOME, before=table)
    assert again.schema == schema
    assert again.guesses.effects == table.guesses.effects
    first, *others = declare.to_rows(table)
    changed = [first | {"levels": "a; b; c", "effect": None}, *others]
    made = declare.from_rows(changed, **OUTCOME, before=table)
    assert made.schema.features[0] == CategoricalColumn("all", ("a", "b", "c"))


def test_what_was_suggested_is_no_cell_and_stays_suggested_until_it_is_typed():
    schema = Schema((NumericColumn("z", 0, 1, typical=0.5, spread=0.17),), "ill", "yes")
    table = DeclaredTable(schema=replace(schema, suggested=("z",)))
    (row,) = declare.to_rows(table)
    assert "typical" not in row
    assert "spread" not in row
    half = NumericColumn("z", 0, 1, typical=0.5, spread=0.1)  # one of the two was typed
    (row,) = declare.to_rows(replace(table, schema=replace(table.schema, features=(half,))))
    assert "typical" not in row
    assert row["spread"] == "0.1"
    typed = declare.from_rows(declare.to_rows(DeclaredTable(schema=schema)), **OUTCOME)
    assert typed.schema.suggested == ()
    assert declared_table(packed_table(table)) == table


@pytest.mark.parametrize("half", [4.9e29, 1e-30])
def test_bounds_at_the_ends_of_what_can_be_declared_have_no_wider_or_narrower_ones(half):
    schema = Schema((NumericColumn("x", -half, half), NumericColumn("y", 0, 1)), "ill", "yes")
    table = DeclaredTable(schema=schema, guesses=Guesses(n_rows=1_000))
    settings = Settings(dataset=DECLARED, declared=packed_table(table), d=2, c=0.01)
    found = bounds.outcomes(make_case(settings, TableSource(PUBLIC)), table, "x")
    assert 0 < len(found) < len(bounds.FACTORS)
    assert bounds.sentence_of(found, "x")


def test_a_description_too_long_for_the_address_is_refused_in_its_own_words():
    names = [f"{i} {hashlib.sha256(str(i).encode()).hexdigest()}" for i in range(200)]
    schema = Schema(tuple(NumericColumn(name, 0, 1) for name in names), "ill", "yes")
    with pytest.raises(ValueError, match="The description is too long for this page"):
        packed_table(DeclaredTable(schema=schema))
