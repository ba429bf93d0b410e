"""Schemas as table descriptions of CSV on the Web."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core.cli.main import main
from dpci_core.plan import write_plan
from dpci_core.plan.csvw import MOST_IN_DESCRIPTION, csvw_of, schema_of_csvw
from dpci_core.schema import CategoricalColumn, NumericColumn, Persons, Schema
from dpci_core.schema.spelling import no_first
from tests.plan_examples import a_plan

CLINIC = {
    "@context": "http://www.w3.org/ns/csvw",
    "url": "clinic.csv",
    "maxContributions": 3,
    "tableSchema": {
        "columns": [
            {"name": "who", "datatype": "string", "privacyId": True},
            {"name": "age", "datatype": {"base": "integer", "minInclusive": "18", "maximum": 98}},
            {"titles": ["dose", "Dosis"], "datatype": "double", "minimum": 0.5, "maximum": 20},
            {"titles": {"en": "city"}, "keyValues": ["a", "b c", 3]},
            {"name": "sex", "datatype": {"base": "string", "format": "^(f|m)$"}},
            {"name": "smoker", "datatype": {"base": "boolean", "format": "Y|N"}},
            {"name": "sick", "datatype": "boolean"},
            {"name": "note", "datatype": "string"},
            {"name": "seen", "datatype": "date"},
            {"name": "id", "virtual": True, "datatype": "integer", "minimum": 0, "maximum": 9},
        ]
    },
}


def read(change: object = None, /, target: str = "sick", positive: str = "true") -> Schema:
    return schema_of_csvw(json.dumps(change or CLINIC), target=target, positive=positive)


def test_a_description_becomes_a_schema_and_says_what_it_left_out() -> None:
    schema = read()
    assert schema.features == (
        NumericColumn("age", 18, 98),
        NumericColumn("dose", 0.5, 20),
        CategoricalColumn("city", ("a", "b c", "3")),
        CategoricalColumn("sex", ("f", "m")),
        CategoricalColumn("smoker", ("N", "Y")),
    )
    assert (schema.positive, schema.negative) == ("true", ("false",))
    assert schema.persons == Persons("who", 3)
    assert [note.split(":")[0] for note in schema.notes] == ["note", "seen", "id"]
    assert read({"tables": [CLINIC]}) == schema
    number = read(target="dose", positive="")
    assert number.outcome == NumericColumn("dose", 0.5, 20)
    assert "sick" in [column.name for column in number.features]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tables": [CLINIC, CLINIC]}, "one table, got 2"),
        ({"tables": {}}, "tables to be a list"),
        ([CLINIC], "a table description to be an object"),
        ({"tableSchema": []}, "tableSchema to be an object"),
        ({"tableSchema": {"columns": {}}}, "columns to be a list"),
        ({"tableSchema": {"columns": ["age"]}}, "a column to be an object"),
        ({"tableSchema": {"columns": [{"datatype": "string"}]}}, "titles or name"),
        ({"tableSchema": {"columns": [{"name": "x"}] * 2}}, "every title once|target"),
        ({"tableSchema": {"columns": [{"name": "a", "privacyId": True}]}}, "maxContributions"),
    ],
)
def test_what_is_no_description_is_refused(change: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read(change)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"datatype": {"base": "number", "minimum": 9, "maximum": 3}}, "low=9.0 < high=3.0"),
        ({"datatype": {"base": "number", "minimum": True, "maximum": 3}}, "minimum of 'x'"),
        ({"datatype": {"base": "number", "minimum": 0, "maximum": "many"}}, "maximum of 'x'"),
        ({"datatype": {"base": "number", "minimum": 0, "maximum": 10**400}}, "maximum of 'x'"),
        ({"datatype": {"base": "number", "minimum": 0, "maximum": "inf"}}, "maximum of 'x'"),
        ({"datatype": [], "minimum": 0}, "datatype of 'x' to be an object"),
        ({"keyValues": "ab"}, "keyValues of 'x' to be a list"),
        ({"datatype": {"base": ["number"]}}, "base of 'x' to be a text"),
        ({"keyValues": ["a", ["b"]]}, "keyValues of 'x' to be texts"),
        ({"keyValues": ["a", math.inf]}, "keyValues of 'x' to be texts or finite numbers"),
        ({"keyValues": ["a", "a"]}, "two levels, all different, for column 'x'"),
        ({"datatype": {"format": "age|b"}, "titles": "age"}, "every title once, got 'age'"),
        ({"privacyId": True}, "one column with privacyId, got two"),
        ({"privacyId": "true"}, "privacyId of 'x' to be true or false"),
    ],
)
def test_what_a_column_cannot_be_is_refused_by_name(column: dict, words: str) -> None:
    changed = json.loads(json.dumps(CLINIC))
    changed["tableSchema"]["columns"].append({"titles": "x"} | column)
    with pytest.raises(ValueError, match=re.escape(words)):
        schema_of_csvw(
            json.dumps(changed).replace("Infinity", "1e999"), target="sick", positive="true"
        )


@pytest.mark.parametrize(
    ("who", "table", "words"),
    [
        ({}, {"privacyUnit": "who", "maxContributions": 1}, "privacyUnit 'who' to be the one"),
        ({}, {"maxContributions": 3}, "as maxContributions of the table is not 1"),
        ({"privacyId": False}, {"maxContributions": "3"}, "as maxContributions of the table"),
        ({"privacyId": True}, {"privacyUnit": "clinic"}, "privacyUnit 'clinic' to be the one"),
    ],
)
def test_rows_are_never_protected_in_the_place_of_persons(
    who: dict, table: dict, words: str
) -> None:
    columns = [{"name": "who"} | who, *CLINIC["tableSchema"]["columns"][1:]]
    with pytest.raises(ValueError, match=words):
        read(CLINIC | {"tableSchema": {"columns": columns}} | table)


def test_a_unit_is_called_by_name_or_title() -> None:
    columns = [dict(CLINIC["tableSchema"]["columns"][0], titles="Patient")]
    columns += CLINIC["tableSchema"]["columns"][1:]
    for unit in ("who", "Patient"):
        changed = CLINIC | {"tableSchema": {"columns": columns}, "privacyUnit": unit}
        assert read(changed).persons == Persons("Patient", 3)


def test_the_outcome_is_asked_for_by_its_codes() -> None:
    for target, positive, words in (
        ("sick", "yes", "one of the codes of 'sick': false, true"),
        ("dose", "1", "Expected no positive: the outcome 'dose' is a number"),
        ("seen", "", "target='seen' to be a column with bounds or values"),
    ):
        with pytest.raises(ValueError, match=words):
            read(target=target, positive=positive)
    for text, words in (
        ("{", "is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": NaN}', "finite numbers"),
        ('{"a": 1, "a": 2}', "given twice"),
        (" " * (MOST_IN_DESCRIPTION + 1), "at most 1,000,000 characters"),
    ):
        with pytest.raises(ValueError, match=words):
            schema_of_csvw(text, target="sick")


TEXTS = st.text(min_size=1, max_size=8).filter(str.strip)
LEVELS = st.lists(TEXTS, min_size=2, max_size=5, unique=True).map(tuple)


@settings(derandomize=True, max_examples=200, deadline=None)
@given(LEVELS, st.floats(-1e6, 1e6), st.floats(0.001, 1e6), st.booleans(), st.booleans())
def test_what_has_a_place_goes_there_and_back(
    levels: tuple[str, ...], low: float, apart: float, is_number: bool, has_persons: bool
) -> None:
    features = (NumericColumn("age", low, low + apart), CategoricalColumn("kind", levels))
    persons = Persons("who", 2) if has_persons else None
    schema = (
        Schema(features, outcome=NumericColumn("y", 0, 1), persons=persons)
        if is_number
        else Schema(features, "y", "1", negative=("0",), persons=persons)
    )
    told = csvw_of(schema)
    assert schema_of_csvw(told, target="y", positive=schema.positive) == schema
    other = json.loads(told)
    for column in other["tableSchema"]["columns"]:
        if values := column.pop("keyValues", None):
            column["datatype"] = {"base": "string", "format": "|".join(map(escaped, values))}
        if "minimum" in column:
            ends = {name: column.pop(name) for name in ("minimum", "maximum")}
            column["datatype"] = {"base": "number"} | ends
    found = schema_of_csvw(json.dumps(other), target="y", positive=schema.positive)
    kind = CategoricalColumn("kind", tuple(levels[place] for place in no_first(levels)))
    schema = replace(schema, features=(features[0], kind))
    assert found == schema, "as CSV on the Web without more says it"


def test_of_a_pattern_a_no_is_the_reference_and_a_list_keeps_its_order() -> None:
    ill = {"name": "ill", "datatype": "boolean"}
    for said, levels in (
        ({"datatype": {"format": "yes|no"}}, ("no", "yes")),
        ({"datatype": {"format": "m|f"}}, ("m", "f")),
        ({"datatype": {"base": "boolean", "format": "present|absent"}}, ("absent", "present")),
        ({"keyValues": ["yes", "no"]}, ("yes", "no")),
    ):
        columns = [{"name": "smoker"} | said, ill]
        schema = read({"tableSchema": {"columns": columns}}, target="ill")
        assert schema.features == (CategoricalColumn("smoker", levels),)


def escaped(text: str) -> str:
    return re.sub(r"[\\.\[\]{}()*+?^$|]", r"\\\g<0>", text)


def test_the_command_writes_what_another_tool_reads(tmp_path: Path, capsys) -> None:
    plan = tmp_path / "plan.yaml"
    write_plan(a_plan(), plan)
    assert main(["plan", "export", str(plan), "--to", "csvw"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["@context"] == ["http://www.w3.org/ns/csvw"]
    schema = a_plan().schema
    columns = told["tableSchema"]["columns"]
    assert [column["name"] for column in columns] == [*(c.name for c in schema.features), "ill"]
    assert columns[0] == {
        "@type": "Column",
        "name": "age",
        "datatype": "double",
        "minimum": 18,
        "maximum": 98,
    }
    assert told["maxContributions"] == 1
    with_persons = json.loads(csvw_of(replace(schema, persons=Persons("who", 2))))
    assert (with_persons["privacyUnit"], with_persons["maxContributions"]) == ("who", 2)
    assert "Typical values, spreads" in told["rdfs:comment"]
    again = schema_of_csvw(json.dumps(told), target=schema.target, positive=schema.positive)
    bounds = [(c.low, c.high) for c in schema.features if isinstance(c, NumericColumn)]
    assert bounds == [(c.low, c.high) for c in again.features if isinstance(c, NumericColumn)]
    assert again.feature_names == schema.feature_names
