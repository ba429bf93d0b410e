"""A schema as the table description of CSVW-EO, which is CSV on the Web (W3C 2015) with terms for
what a private release asks for besides.

    in a schema                       in the file
    name of a column                  name
    numbers from low to high          minimum and maximum, beside the datatype or within it
    levels, in their order            keyValues; read also from a format like "f|m"
    column of persons, rows of each   privacyUnit, privacyId and maxContributions

Nothing else of a schema has a place there: typical values, spreads, steps, limits, logarithms,
units, shares, what a missing cell counts as, which column is the outcome and which code is yes.
Only a plan file holds them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from dpci_core.base.errors import expect
from dpci_core.plan.link import load_json
from dpci_core.schema import CategoricalColumn, Column, NumericColumn, Persons, Schema
from dpci_core.schema.declare import check_as_outcome
from dpci_core.schema.spelling import no_first

CONTEXT = "http://www.w3.org/ns/csvw"
MOST_IN_DESCRIPTION = 1_000_000
"""Of a description that is read."""
_NUMBERS = frozenset(
    {
        "number",
        "decimal",
        "double",
        "float",
        "integer",
        "int",
        "long",
        "short",
        "byte",
        "nonNegativeInteger",
        "positiveInteger",
        "nonPositiveInteger",
        "negativeInteger",
        "unsignedLong",
        "unsignedInt",
        "unsignedShort",
        "unsignedByte",
    }
)
_LEAST = ("minimum", "minInclusive", "minExclusive")
_LARGEST = ("maximum", "maxInclusive", "maxExclusive")
_TOLD = (
    "Typical values, spreads, steps, limits, logarithms, units, shares, fills of missing cells and "
    "the outcome of the plan have no place in this file."
)
_CHOICE = re.compile(r"(?:\\.|[^\\|])+", re.DOTALL)
_LITERAL = re.compile(r"(?:\\[^A-Za-z0-9]|[^\\.\[\]{}()*+?^$|])+")
"""A choice of a pattern, and one that matches a single text."""
_BOOLEAN = "true|false"
"""The format of a boolean that has none."""


def csvw_of(schema: Schema, *, url: str = "table.csv") -> str:
    """Return the description of a table with these columns, as JSON-LD text.

    Args:
        schema: whose columns are described, the outcome and the persons among them.
        url: of the table.
    """
    columns = [_described(column) for column in schema.guessed]
    if schema.outcome is None:
        columns.append(_of_levels(schema.target, schema.codes))
    told: dict[str, Any] = {"@context": [CONTEXT], "@type": "Table", "url": url}
    rows, whose = 1, {}
    if schema.persons is not None:
        rows, whose = schema.persons.rows, {"privacyUnit": schema.persons.column}
        columns.append(_named(schema.persons.column) | {"datatype": "string", "privacyId": True})
    told |= whose | {"maxContributions": rows, "rdfs:comment": _TOLD}
    return json.dumps(told | {"tableSchema": {"columns": columns}}, indent=1) + "\n"


def _described(column: Column) -> dict[str, Any]:
    if not column.reads_numbers:
        return _of_levels(column.name, column.levels)  # type: ignore[attr-defined]
    ends = {"minimum": column.low, "maximum": column.high}  # type: ignore[attr-defined]
    return _named(column.name) | {"datatype": "double"} | ends


def _of_levels(name: str, levels: tuple[str, ...]) -> dict[str, Any]:
    return _named(name) | {"datatype": "string", "keyValues": list(levels)}


def _named(name: str) -> dict[str, Any]:
    return {"@type": "Column", "name": name}


def schema_of_csvw(text: str, *, target: str, positive: str = "") -> Schema:
    """Return the schema that a description holds; no table is looked at.

    Args:
        text: JSON-LD of one table, or of a group that has one.
        target: title of the column that is the outcome: a number with bounds, or one with codes.
        positive: of an outcome with codes, the one for yes; its other codes are no.

    A column without bounds, or without a list of its values, is left out, which `Schema.notes`
    says. A description that has a unit to protect, or several rows of each, but no column of that
    unit with privacyId is refused: its rows would be protected instead.

    Effects are against the first of the values of a column. A list of them stays in its order; of a
    pattern or a boolean “no” is before “yes”. Other terms of a description say nothing here.

    Privacy: bounds and values have to be known beforehand. A description that a tool made from the
             records, by their smallest and largest numbers, tells of them, and so would all that
             is released.

    Raises:
        ValueError: naming what is wrong, also for an outcome that cannot be one.
    """
    expect(
        len(text) <= MOST_IN_DESCRIPTION,
        f"Expected a description of at most {MOST_IN_DESCRIPTION:,} characters, got {len(text):,}.",
    )
    table = _table(load_json(text))
    found: dict[str, Column] = {}
    notes, persons = [], None
    called: tuple[object, ...] = ()
    for given in _list(_object(table.get("tableSchema"), "tableSchema").get("columns"), "columns"):
        described = _object(given, "a column")
        name = _title(described)
        expect(name not in found, f"Expected every title once, got {name!r} twice.")
        is_person = described.get("privacyId", False)
        expect(isinstance(is_person, bool), f"Expected privacyId of {name!r} to be true or false.")
        if is_person:
            expect(persons is None, "Expected one column with privacyId, got two.")
            persons, called = Persons(name, _rows(table)), (name, described.get("name"))
            continue
        column = _column(name, described)
        if column is None:
            notes.append(f"{name}: left out, as it has neither bounds nor a list of its values.")
        else:
            found[name] = column
    _check_unit(table, called)
    expect(target in found, f"Expected target={target!r} to be a column with bounds or values.")
    outcome = found.pop(target)
    given_fields: dict[str, Any] = {"notes": tuple(notes), "persons": persons}
    if not isinstance(outcome, CategoricalColumn):
        expect(not positive, f"Expected no positive: the outcome {target!r} is a number.")
        return Schema(tuple(found.values()), outcome=check_as_outcome(outcome), **given_fields)
    codes = outcome.levels
    expect(
        positive in codes,
        f"Expected positive={positive!r} to be one of the codes of {target!r}: {', '.join(codes)}.",
    )
    negative = tuple(code for code in codes if code != positive)
    return Schema(tuple(found.values()), target, positive, negative=negative, **given_fields)


def _table(found: object) -> Mapping[str, Any]:
    """The description of the only table."""
    described = _object(found, "a table description")
    if "tables" in described:
        tables = _list(described["tables"], "tables")
        expect(len(tables) == 1, f"Expected one table, got {len(tables)}.")
        described = _object(tables[0], "a table description")
    return described


def _column(name: str, described: Mapping[str, Any]) -> Column | None:
    """The column of a description; None where it has neither bounds nor values."""
    given = described.get("datatype", "string")
    datatype: Mapping[str, Any] = (
        {"base": given} if isinstance(given, str) else _object(given, f"datatype of {name!r}")
    )
    base, pattern = datatype.get("base", "string"), datatype.get("format")
    expect(isinstance(base, str), f"Expected base of {name!r} to be a text.")
    if described.get("virtual") is True:
        return None
    if base in _NUMBERS and "keyValues" not in described:
        both = {**described, **datatype}
        low, high = (_end(name, both, names) for names in (_LEAST, _LARGEST))
        return None if low is None or high is None else NumericColumn(name, low, high)
    if "keyValues" in described:
        values = _list(described["keyValues"], f"keyValues of {name!r}")
        expect(
            all(
                isinstance(x, str | int | float) and x not in (math.inf, -math.inf) for x in values
            ),
            f"Expected keyValues of {name!r} to be texts or finite numbers.",
        )
        levels = tuple(one if isinstance(one, str) else json.dumps(one) for one in values)
    elif base == "boolean":  # its format has the code for true first
        levels = _choices(_BOOLEAN if pattern is None else pattern)[::-1]
    else:
        levels = _choices(pattern) if base == "string" else ()
        levels = tuple(levels[place] for place in no_first(levels))  # a pattern has no order
    return CategoricalColumn(name, levels) if levels else None


def _choices(pattern: object) -> tuple[str, ...]:
    """The texts that a pattern is a list of, like "f|m"; none of another pattern."""
    if not isinstance(pattern, str):
        return ()
    plain = re.sub(r"\A\^|(?<!\\)\$\Z", "", pattern)
    if plain.startswith("(") and plain.endswith(")"):
        plain = plain[1:-1]
    parts = _CHOICE.findall(plain)
    is_list = "|".join(parts) == plain and len(parts) > 1
    if not (is_list and all(_LITERAL.fullmatch(part) for part in parts)):
        return ()
    return tuple(re.sub(r"(?s)\\(.)", r"\1", part) for part in parts)


def _end(name: str, described: Mapping[str, Any], terms: tuple[str, ...]) -> float | None:
    """The bound of a number; an excluded one counts as one that is attained."""
    given = next((described[term] for term in terms if described.get(term) is not None), None)
    if given is None:
        return None
    try:
        found = math.nan if isinstance(given, bool) else float(given)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    expect(math.isfinite(found), f"Expected {terms[0]} of {name!r} to be a finite number.")
    return found


def _title(described: Mapping[str, Any]) -> str:
    """What stands over a column: its titles, in any language the first, or its name."""
    given = described.get("titles", described.get("name"))
    if isinstance(given, dict):
        given = next(iter(given.values()), None)
    if isinstance(given, list):
        given = given[0] if given else None
    expect(isinstance(given, str) and given != "", "Expected every column to have titles or name.")
    return str(given)


def _check_unit(table: Mapping[str, Any], called: tuple[object, ...]) -> None:
    """Raise ValueError where a release would protect other units than a table describes.

    called: what the column of persons is called; nothing where there is none.
    """
    unit = table.get("privacyUnit")
    expect(
        unit is None or unit in called,
        f"Expected the column of privacyUnit {unit!r} to be the one with privacyId.",
    )
    expect(
        bool(called) or table.get("maxContributions") in (None, 1),
        "Expected a column with privacyId, as maxContributions of the table is not 1.",
    )


def _rows(table: Mapping[str, Any]) -> int:
    given = table.get("maxContributions")
    if not isinstance(given, int) or isinstance(given, bool):
        raise ValueError("Expected maxContributions of the table beside a column with privacyId.")
    return given


def _object(given: object, what: str) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"Expected {what} to be an object.")
    return given


def _list(given: object, what: str) -> list[Any]:
    if not isinstance(given, list):
        raise ValueError(f"Expected {what} to be a list.")
    return given
