"""A plan as code that people can read, run and change: a Python script, and a notebook of the same
steps.

Both use the front door of `dpci_core` only and print the plan's numbers to the last digit. Whatever
somebody typed enters the code as a literal that Python itself has quoted, and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any

from dpci_core.design import Calibration, Design
from dpci_core.plan.base import AnyPlan
from dpci_core.plan.codec import decimal_text, number_fields
from dpci_core.plan.linear import LinearPlan
from dpci_core.plan.plan import Plan
from dpci_core.plan.source import DeclaredTable
from dpci_core.planner import Target
from dpci_core.privacy.budget import PARTS
from dpci_core.schema import Column, Guesses, Schema

_WIDTH = 100


@dataclass(frozen=True, slots=True)
class _Step:
    """A heading, words about it, and code."""

    heading: str
    words: str
    code: str


def to_script(plan: AnyPlan) -> str:
    """Return a Python script that makes the plan's design again and prints its numbers; `--json`
    for machines.
    """
    parts = [
        '"""A plan for a private release with confidence intervals, as a script to read, run and '
        "change.\n\n"
        "It reads no private table. Run it where dpci_core can be imported; --json prints the "
        "numbers for machines.\n"
        '"""\n\nimport json\nimport sys\n\n' + _imports(plan)
    ]
    for step in _STEPS[type(plan)](plan):
        comment = "\n".join(f"# {line}" for line in (f"{step.heading}.", *step.words.splitlines()))
        parts.append(f"\n{comment}\n{step.code}")
    shown = "\n".join(f"    {line}" for line in _SHOWN[type(plan)].splitlines())
    parts.append(
        '\nif "--json" in sys.argv[1:]:\n    print(json.dumps(numbers, '
        f"indent=1))\nelse:\n{shown}\n"
    )
    return "".join(parts)


def to_notebook(plan: AnyPlan) -> dict[str, Any]:
    """Return the same steps as a Jupyter notebook (nbformat 4) for `json.dumps`; the numbers are in
    `numbers`.
    """
    steps = list(_STEPS[type(plan)](plan))
    cells = [_cell(_INTRODUCTION), _cell(_imports(plan), is_code=True)]
    for step in steps:
        cells += [_cell(f"## {step.heading}\n\n{step.words}"), _cell(step.code, is_code=True)]
    cells.append(_cell(_SHOWN[type(plan)], is_code=True))
    for index, cell in enumerate(cells):
        cell["id"] = f"cell-{index}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def notebook_text(plan: AnyPlan) -> str:
    """The notebook as the text of a file."""
    return json.dumps(to_notebook(plan), indent=1) + "\n"


_INTRODUCTION = (
    "# A plan for a private release with confidence intervals\n\n"
    "No private table is read here. Change a value, run all cells, and see what it does to the "
    "lengths."
)
_PENALISED_SHOWN = """\
print(title)
print(f"mean length {numbers['ci_length_mean']:.4g}, without privacy {numbers['nonprivate_length_mean']:.4g}")
print(f"epsilon = {epsilon!r} at delta = {numbers['delta']:g}; coverage {numbers['coverage_mean']:.1%}")
for row in numbers["coefficients"]:
    scaled, per_unit = row["scaled"]["ci_length"], row["original"]["ci_length"]
    print(f"{row['name']:<30} length {scaled:.4g}, in original units {per_unit:.4g}")
"""  # noqa: E501 - text of the script
_LINEAR_SHOWN = """\
print(title)
print(f"epsilon = {numbers['epsilon']!r} at delta = {numbers['delta']:g}")
for row in numbers["coefficients"]:
    planned = row["original"]
    length, without = planned["ci_length"], planned["nonprivate_length"]
    print(f"{row['name']:<30} length per unit {length:.4g}, without privacy {without:.4g}")
"""
_SHOWN: dict[type, str] = {Plan: _PENALISED_SHOWN, LinearPlan: _LINEAR_SHOWN}


def _cell(source: str, *, is_code: bool = False) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "cell_type": "code" if is_code else "markdown",
        "metadata": {},
        "source": source.strip("\n"),
    }
    return cell | ({"execution_count": None, "outputs": []} if is_code else {})


def _imports(plan: AnyPlan) -> str:
    names = {type(plan.design.budget).__name__} | _NAMES[type(plan)](plan)
    if isinstance(plan.source, DeclaredTable):
        kinds = (type(column).__name__ for column in plan.schema.guessed)
        names |= {"Guesses", "Schema", *kinds}
        names |= {"NumberGuess"} if plan.source.guesses.numbers else set()
    else:
        names.add("datasets")
    names |= {"Persons"} if plan.persons is not None else set()
    names |= {"StandardEncoding"} if plan.source.is_standard else set()
    listed = "".join(f"    {name},\n" for name in sorted(names))
    return f"from dpci_core import (\n{listed})\n"


def _penalised_names(plan: Plan) -> set[str]:
    names = {"Design", "fit_moments", "forecast", "as_if_records", "promise"}
    names.add(type(plan.design.loss).__name__)
    if isinstance(plan.source, DeclaredTable):
        names |= {"WorldMoments", "simulate_twin", "worlds_of"}
    if plan.goal is not None:
        names.add("Target")
    if isinstance(_calibration(plan.design), Calibration):
        names.add("Calibration")
    return names


_NAMES: dict[type, Callable[[Any], set[str]]] = {
    Plan: _penalised_names,
    LinearPlan: lambda plan: {
        *("DeclaredTable", "LinearDesign", "LinearPlan"),
        *(["Target"] if plan.goal is not None else []),
    },
}


def _penalised_steps(plan: Plan) -> Iterable[_Step]:
    """The steps from declarations to numbers."""
    yield _words_of(plan)
    yield _records(plan)
    yield _design_step(plan, _design(plan.design))
    yield _Step("The numbers", _NUMBERS_WORDS, _numbers(plan))


def _linear_steps(plan: LinearPlan) -> Iterable[_Step]:
    """The same of a regression of a number."""
    assert isinstance(plan.source, DeclaredTable)
    design = plan.design
    own = ("steps", "clip", "row_clip", "confidence_level")
    parts = {part: decimal_text(getattr(design.budget, part)) for part in PARTS}
    yield _words_of(plan)
    yield _Step(
        "The table",
        "Declared columns and guesses about them; a table is simulated from these alone.",
        f"schema = {_schema(plan.schema)}\nguesses = {_guesses(plan.source.guesses)}\n"
        + _assigned(unit=plan.source.unit),
    )
    made = _call(
        "LinearDesign",
        f"budget={_call(type(design.budget).__name__, *_named(parts))}",
        f"n_records={design.n_records!r}",
        *_named({name: getattr(design, name) for name in own}),
    )
    yield _design_step(plan, made)
    planned = _call(
        "LinearPlan",
        "title=title",
        "source=DeclaredTable(schema=schema, guesses=guesses, unit=unit)",
        "design=design",
        "delta=delta",
        *([] if plan.features is None else [f"features={plan.features!r}"]),
        *([] if plan.goal is None else [f"goal={_goal(plan.goal)}"]),
    )
    yield _Step(
        "The numbers",
        "Expected length of the intervals (ci), and of their part from sampling, in units of the "
        "outcome; per\nspread, and per original unit of each column.",
        f"numbers = {planned}.numbers().to_record()\n",
    )


_STEPS: dict[type, Callable[[Any], Iterable[_Step]]] = {
    Plan: _penalised_steps,
    LinearPlan: _linear_steps,
}


def _words_of(plan: AnyPlan) -> _Step:
    said = _assigned(title=plan.title, notes=plan.notes)
    return _Step("The plan", "Its words, for whoever reads on.", said)


def _design_step(plan: AnyPlan, design: str) -> _Step:
    return _Step(
        "The design",
        "What would be released. The parts of the budget are exact decimals, in "
        f"{plan.design.budget.symbol}.",
        f"design = {design}\n" + _assigned(delta=decimal_text(plan.delta)),
    )


def _records(plan: Plan) -> _Step:
    features = f", features={plan.features!r}" if plan.features is not None else ""
    if isinstance(plan.source, DeclaredTable):
        guesses = f"guesses = {_guesses(plan.source.guesses)}\n"
        drawn = (
            "tables = [\n    (world.assumption, simulate_twin(schema, guesses=world.guesses"
            f"{features}))\n    for world in worlds_of(schema, guesses)\n]\n"
            "records = tables[0][1]\n"
        )
        words = (
            "Declared columns and guesses about them; tables are simulated from these alone, one "
            "of every world that\nthey allow. The first is as declared."
        )
        code = (
            _assigned(unit=plan.source.unit) + f"schema = {_schema(plan.schema)}\n{guesses}{drawn}"
        )
        return _Step("The table", words, code)
    rows = "" if plan.source.n_rows is None else f", n_rows={plan.source.n_rows}"
    encoding = ""
    if plan.source.standard is not None:
        encoding = f', encoding="standard", standard={plan.source.standard!r}'
    code = f"records = datasets.load({plan.source.key!r}{features}{rows}{encoding})\n"
    return _Step("The table", "A public or simulated set that stands for the private one.", code)


_NUMBERS_WORDS = """\
Moments of one fit, then the forecast: expected length of the private intervals (ci), of the variability intervals of
the private estimates (vi), and without privacy; in encoded units, and per original unit of each column. Then what holds
in every world."""  # noqa: E501 - text of the script

_RECORD = """\
fields = ("estimate", "ci_length", "ci_length_sd", "vi_length", "nonprivate_length", "bias")
is_lost = encoded.is_not_reportable | original.is_not_reportable
numbers = {
    "n_records": design.n_records,
    "epsilon": epsilon,
    "delta": at_delta,
    "ci_length_mean": encoded.ci_length_mean,
    "vi_length_mean": encoded.vi_length_mean,
    "nonprivate_length_mean": encoded.nonprivate_length_mean,
    "coverage_mean": encoded.coverage_mean,
    "as_if_records": as_if_records(moments, design=design),
    "validity": encoded.validity.grade,
    "is_useless": encoded.usefulness.is_useless,
    "not_reportable": [name for name, lost in zip(records.feature_names, is_lost) if lost],
    "promise": promised.to_record(records.feature_names[:-1]),
    "coefficients": [
        {
            "name": name,
            "coverage": float(encoded.coverage[j]),
            "scaled": {field: float(getattr(encoded, field)[j]) for field in fields},
            "original": {field: float(getattr(original, field)[j]) for field in fields},
        }
        for j, name in enumerate(records.feature_names)
    ],
}
"""


def _numbers(plan: Plan) -> str:
    guarantee = "epsilon, at_delta = design.budget.guarantee(float(delta))\n"
    geometry = "" if plan.design.geometry is None else "        geometry=design.geometry,\n"
    worlds = "worlds = moments = fit(records)\n"
    if isinstance(plan.source, DeclaredTable):
        worlds = (
            "worlds = [WorldMoments(assumption, fit(table)) for assumption, table in tables]\n"
            "moments = worlds[0].moments\n"
        )
    goal = target = ""
    if plan.goal is not None:
        goal, target = f"goal = {_goal(plan.goal)}\n", "    target=goal,\n"
    return (
        "\n\ndef fit(records):\n    return fit_moments(\n        records.X,\n        records.y,\n"
        "        loss=design.loss,\n        regularization=design.regularization,\n"
        "        target=design.target,\n        meaning=records.meaning,\n"
        f"{geometry}    )\n\n\n{worlds}"
        "encoded = forecast(moments, design=design)\n"
        "original = forecast(moments, design=design, contrasts=records.to_original)\n"
        f"{guarantee}{goal}promised = promise(\n    worlds,\n    design=design,\n"
        f"    fewest={plan.fewest},\n"
        f"    contrasts=records.to_original[:-1],\n{target})\n{_RECORD}"
    )


def _calibration(design: Design) -> Calibration | str:
    """Return the name of the design's calibration, or its switches where it has no name."""
    return design.switches.name or design.switches


def _design(design: Design) -> str:
    calibration = _calibration(design)
    parts = {part: decimal_text(amount) for part, amount in design.budget.lines}
    loss = repr(design.loss)
    return _call(
        "Design",
        f"loss={loss}",
        f"mechanism={design.mechanism!r}",
        f"budget={_call(type(design.budget).__name__, *_named(parts))}",
        f"regularization={design.regularization!r}",
        f"n_records={design.n_records!r}",
        f"confidence_level={design.confidence_level!r}",
        "calibration="
        + (
            repr(calibration)
            if isinstance(calibration, str)
            else _call("Calibration", *_named(asdict(calibration)))
        ),
        f"target={design.target!r}",
        *([] if design.geometry is None else [f"geometry={design.geometry!r}"]),
        *([] if design.clip == 1.0 else [f"clip={design.clip!r}"]),
        *([] if design.rows_per_person == 1 else [f"rows_per_person={design.rows_per_person}"]),
    )


def _goal(goal: Target) -> str:
    given = {
        "length": goal.length,
        "coefficient": goal.coefficient,
        "excludes_zero_at": goal.excludes_zero_at,
        "limits": goal.limits,
    }
    given["probability"] = goal.probability
    return _call(
        "Target", *_named({name: value for name, value in given.items() if value is not None})
    )


def _schema(schema: Schema) -> str:
    return _call(
        "Schema",
        f"features={_sequence(map(_column, schema.features))}",
        *([f"target={schema.target!r}"] if schema.outcome is None else []),
        *([f"positive={schema.positive!r}"] if schema.positive else []),
        *([f"negative={schema.negative!r}"] if schema.negative else []),
        *([f"complete={schema.complete!r}"] if schema.complete != 1.0 else []),
        *([f"notes={schema.notes!r}"] if schema.notes else []),
        *([f"suggested={schema.suggested!r}"] if schema.suggested else []),
        *([f"standard={schema.standard!r}"] if schema.standard is not None else []),
        *([f"persons={schema.persons!r}"] if schema.persons is not None else []),
        *([f"outcome={_column(schema.outcome)}"] if schema.outcome is not None else []),
    )


def _column(column: Column) -> str:
    numbers, items = number_fields(type(column)), []
    for field in fields(column)[1:]:
        if (value := getattr(column, field.name)) != field.default:
            items.append(f"{field.name}={_literal(_floats(value, field.name in numbers))}")
    return _call(type(column).__name__, repr(column.name), *items)


def _floats(value: object, are_numbers: bool) -> object:
    """Numbers as floats: equal columns have one text."""
    if are_numbers and isinstance(value, tuple):
        return tuple(map(float, value))
    return float(value) if are_numbers and isinstance(value, int) else value


def _literal(value: object) -> str:
    return _sequence(map(repr, value)) if isinstance(value, tuple) else repr(value)


def _guesses(guesses: Guesses) -> str:
    items = []
    if guesses.numbers:
        centres = {
            name: _call(
                "NumberGuess",
                f"centre={guess.centre!r}",
                f"spread={guess.spread!r}",
                *([] if guess.tail is None else [f"tail={guess.tail!r}"]),
            )
            for name, guess in guesses.numbers.items()
        }
        items.append(f"numbers={_dictionary(centres)}")
    for name, given in (("shares", guesses.shares), ("effects", guesses.effects)):
        if given:
            items.append(
                f"{name}={_dictionary({key: repr(value) for key, value in given.items()})}"
            )
    items.append(f"base_rate={guesses.base_rate!r}")
    items += [f"correlation={guesses.correlation!r}"] if guesses.correlation else []
    items += [f"pairs={guesses.pairs!r}"] if guesses.pairs else []
    return _call("Guesses", *items, f"n_rows={guesses.n_rows!r}")


def _assigned(**values: str | int | Decimal) -> str:
    return "".join(f"{name} = {value!r}\n" for name, value in values.items())


def _named(values: dict[str, Any]) -> list[str]:
    return [f"{name}={value!r}" for name, value in values.items()]


def _call(name: str, *items: str) -> str:
    return _bracketed(f"{name}(", items, ")", last_comma=False)


def _sequence(items: Iterable[str]) -> str:
    listed = tuple(items)
    return _bracketed("(", listed, ")", last_comma=len(listed) == 1)


def _dictionary(items: dict[str, str]) -> str:
    return _bracketed(
        "{", tuple(f"{key!r}: {value}" for key, value in items.items()), "}", last_comma=False
    )


def _bracketed(
    start: str, items: tuple[str, ...] | list[str], end: str, *, last_comma: bool
) -> str:
    """Items on one line where they fit, otherwise a line each, indented; no line break of theirs is
    inside a text.
    """
    line = f"{start}{', '.join(items)}{',' if last_comma else ''}{end}"
    if len(line) <= _WIDTH and "\n" not in line:
        return line
    body = "".join("".join(f"    {part}\n" for part in f"{item},".split("\n")) for item in items)
    return f"{start}\n{body}{end}"
