"""The parts of a plan as plain values (texts, numbers, lists, mappings), and back; amounts are
exact decimal texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from dpci_core.design import Calibration, Design
from dpci_core.losses import LOSSES, Loss, make_loss
from dpci_core.plan.fields import (
    Fields,
    PlanFieldError,
    a_list,
    a_number,
    a_record,
    a_text,
    an_amount,
    at,
    decimal_text,
    list_of,
    optional,
)
from dpci_core.plan.source import DEFAULT_UNIT, DeclaredTable, PublicTable, Source
from dpci_core.planner import Target
from dpci_core.privacy.budget import DEFINITIONS, PARTS, ApproxDP, Budget
from dpci_core.schema import CONSTANT, CategoricalColumn, Guesses, NumericColumn, Schema

Plain = dict[str, Any]
_LARGEST_WHOLE = 1e15
"""Whole numbers below it are written without a point."""


def _short(number: float) -> float | int:
    """A number as people write it: whole ones without a point."""
    return (
        int(number) if number == round(number) and abs(number) < _LARGEST_WHOLE else float(number)
    )


def plain_schema(schema: Schema) -> Plain:
    """A declaration; what has its default is left out."""
    record: Plain = {"target": schema.target, "positive": schema.positive}
    record["features"] = [_plain_column(column) for column in schema.features]
    return record | ({"notes": list(schema.notes)} if schema.notes else {})


def _plain_column(column: NumericColumn | CategoricalColumn) -> Plain:
    if isinstance(column, NumericColumn):
        number: Plain = {
            "kind": "numeric",
            "name": column.name,
            "low": _short(column.low),
            "high": _short(column.high),
        }
        return number if column.missing is None else number | {"missing": _short(column.missing)}
    record: Plain = {"kind": "categorical", "name": column.name, "levels": list(column.levels)}
    if column.other is not None:
        record["other"] = column.other
    return record if column.has_reference else record | {"has_reference": False}


def _column_from(record: object, path: str) -> NumericColumn | CategoricalColumn:
    given = Fields(record, path)
    kind = given.get("kind", a_text)
    if kind not in _COLUMNS:
        raise PlanFieldError(f"{path}.kind", f"Expected {kind!r} to be 'numeric' or 'categorical'.")
    return _COLUMNS[kind](given, path)


_COLUMNS: dict[str, Callable[[Any, str], NumericColumn | CategoricalColumn]] = {
    "numeric": a_record(NumericColumn),
    "categorical": a_record(CategoricalColumn),
}
schema_from = a_record(Schema, features=list_of(_column_from))
"""Reads a declaration."""
guesses_from = a_record(Guesses)
"""Reads guesses."""


def plain_guesses(guesses: Guesses) -> Plain:
    """Guesses; what has its default is left out, except the rate and the size."""
    record: Plain = {"base_rate": guesses.base_rate, "n_rows": guesses.n_rows}
    if guesses.correlation:
        record["correlation"] = guesses.correlation
    if guesses.numbers:
        record["numbers"] = {
            name: {"centre": _short(guess.centre), "spread": _short(guess.spread)}
            for name, guess in guesses.numbers.items()
        }
    if guesses.shares:
        record["shares"] = {name: list(shares) for name, shares in guesses.shares.items()}
    if guesses.effects:
        record["effects"] = {name: _short(effect) for name, effect in guesses.effects.items()}
    return record


def plain_source(source: Source) -> Plain:
    """Where a plan starts."""
    if isinstance(source, PublicTable):
        return {"kind": "public", "key": source.key} | (
            {} if source.n_rows is None else {"n_rows": source.n_rows}
        )
    return {
        "kind": "declared",
        "unit": source.unit,
        "schema": plain_schema(source.schema),
        "guesses": plain_guesses(source.guesses),
    }


def source_from(record: object, path: str) -> Source:
    """Read where a plan starts."""
    given = Fields(record, path)
    kind = given.get("kind", a_text)
    if kind == "public":
        return a_record(PublicTable)(given, path)
    if kind != "declared":
        raise PlanFieldError(
            given.where("kind"), f"Expected {kind!r} to be 'public' or 'declared'."
        )
    schema = given.get("schema", schema_from)
    guesses, unit = (
        given.get("guesses", guesses_from, Guesses()),
        given.get("unit", a_text, DEFAULT_UNIT),
    )
    given.done()
    with at(given.where("guesses")):
        guesses.check_against(schema)
    with at(path):
        return DeclaredTable(schema=schema, guesses=guesses, unit=unit)


def plain_design(design: Design) -> Plain:
    """A design; a calibration by its name, or by all its switches where it has none."""
    budget = design.budget
    switches = design.switches
    names = {Calibration.published(): "published", Calibration.sharp(): "sharp"}
    return {
        "loss": {"name": design.loss.name, **design.loss.parameters},
        "mechanism": design.mechanism,
        "budget": {
            "definition": design.definition,
            **{part: decimal_text(getattr(budget, part)) for part in PARTS},
        },
        "regularization": design.regularization,
        "confidence_level": design.confidence_level,
        "calibration": names.get(switches, asdict(switches)),
        "target": design.target,
    }


def design_from(record: object, path: str) -> Design:
    """Read a design."""
    given = Fields(record, path)
    loss, budget = given.get("loss", _loss_from), given.get("budget", _budget_from)
    calibration = given.get("calibration", _calibration_from)
    found = {
        "mechanism": given.get("mechanism", a_text),
        "regularization": given.get("regularization", a_number),
        "confidence_level": given.get("confidence_level", a_number, 0.95),
        "target": given.get("target", a_text, "penalised"),
    }
    given.done()
    with at(path):
        return Design(loss=loss, budget=budget, calibration=calibration, **found)


def _loss_from(record: object, path: str) -> Loss:
    given = Fields(record if isinstance(record, Mapping) else {"name": record}, path)
    name = given.get("name", a_text)
    if name not in LOSSES:
        raise PlanFieldError(
            given.where("name"), f"Expected {name!r} to be one of {', '.join(map(repr, LOSSES))}."
        )
    found = {
        parameter: given.get(parameter, a_number) for parameter in LOSSES[name].parameter_names()
    }
    with at(given.where(" and ".join(found))):
        loss = make_loss(name, **found)
    given.done()
    return loss


def _budget_from(record: object, path: str) -> Budget:
    given = Fields(record, path)
    definition = given.get("definition", a_text)
    if definition == "approx":
        epsilon, delta = given.get("epsilon", an_amount), given.get("delta", an_amount)
        shares = tuple(
            an_amount(x, f"{path}.shares[{i}]") for i, x in enumerate(given.get("shares", a_list))
        )
        given.done()
        with at(path):
            return ApproxDP(epsilon, delta, shares).to_zcdp()
    if definition not in DEFINITIONS:
        listed = ", ".join(map(repr, DEFINITIONS))
        raise PlanFieldError(
            given.where("definition"), f"Expected {definition!r} to be {listed} or 'approx'."
        )
    kind = DEFINITIONS[definition]
    parts = {}
    for part in PARTS:
        parts[part] = given.get(part, an_amount)
        with at(given.where(part)):
            kind(**(dict.fromkeys(PARTS, "1") | {part: parts[part]}))
    given.done()
    return kind(**parts)


def _calibration_from(record: object, path: str) -> Calibration:
    if not isinstance(record, Mapping):
        name = a_text(record, path)
        if name not in ("published", "sharp"):
            raise PlanFieldError(
                path, f"Expected {name!r} to be 'published', 'sharp' or all switches."
            )
        return Calibration.published() if name == "published" else Calibration.sharp()
    return a_record(Calibration, needed=Calibration.__slots__)(record, path)


def plain_goal(goal: Target, names: tuple[str, ...]) -> Plain:
    """A goal; its coefficient by name."""
    record: Plain = {
        "length": goal.length,
        "excludes_zero_at": goal.excludes_zero_at,
        "probability": goal.probability,
    }
    if goal.coefficient is not None:
        record["coefficient"] = names[goal.coefficient]
    order = ("length", "coefficient", "excludes_zero_at", "probability")
    return {name: record[name] for name in order if record.get(name) is not None}


def goal_from(record: object, path: str, names: tuple[str, ...]) -> Target:
    """Read a goal; its coefficient is a name, or a place from 0."""
    given = Fields(record, path)
    place = given.get("coefficient", _name_or_place, None)
    if isinstance(place, str):
        if place not in names:
            raise PlanFieldError(
                given.where("coefficient"), f"Expected {place!r} to be one of the coefficients."
            )
        place = names.index(place)
    length = given.get("length", optional(a_number), None)
    value = given.get("excludes_zero_at", optional(a_number), None)
    probability = given.get("probability", a_number, 0.5)
    given.done()
    with at(path):
        return Target(length, place, value, probability)


def _name_or_place(value: object, path: str) -> str | int | None:
    return (
        value
        if value is None or (isinstance(value, int) and not isinstance(value, bool))
        else a_text(value, path)
    )


def coefficient_names(schema: Schema, features: int | tuple[str, ...] | None) -> tuple[str, ...]:
    """The coefficients of a plan in their order, the constant last."""
    return (*schema.select(features), CONSTANT)
