"""How the parts of a plan stand in a file, where the types of their fields do not say it all."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from functools import partial
from typing import Any, get_type_hints

from dpci_core.design import CALIBRATIONS, Calibration, Design
from dpci_core.losses import LOSSES, Loss
from dpci_core.plan.codec import (
    FORMS,
    READERS,
    Form,
    Kinds,
    PlanFieldError,
    at,
    built,
    one_of,
    plain_fields,
    read,
)
from dpci_core.plan.source import DeclaredTable, PublicTable, Source
from dpci_core.planner import Target
from dpci_core.planner.targets import check_target
from dpci_core.privacy.budget import DEFINITIONS, ApproxDP, Budget
from dpci_core.schema import (
    CONSTANT,
    KINDS,
    Column,
    Guesses,
    NumberGuess,
    Schema,
    StandardEncoding,
)
from dpci_core.schema.declare import Shape, Triangle
from dpci_core.schema.twin import Rate


def _calibration_from(value: object) -> Calibration:
    """By its name, or by all its switches where it has none."""
    if isinstance(value, Mapping):
        found: Calibration = read(Calibration, value)
        return found
    return CALIBRATIONS[one_of(tuple(CALIBRATIONS), value)]


def _rate_from(value: object) -> Rate:
    """A share, or the ends of its range."""
    found: Rate = read(tuple[float, float] if isinstance(value, list | tuple) else float, value)
    return found


def _shape_from(value: object) -> Shape:
    """One number, or the rows of a triangle."""
    found: Shape = read(Triangle if isinstance(value, list | tuple) else float, value)
    return found


def _plain_calibration(switches: Calibration) -> Any:
    return switches.name or plain_fields(switches)


def _declared_table(**given: Any) -> DeclaredTable:
    with at("guesses"):
        given.get("guesses", Guesses()).check_against(given["schema"])
    return DeclaredTable(**given)


READERS.update(
    {
        Column: Kinds("kind", KINDS),
        Source: Kinds("kind", {"public": PublicTable, "declared": DeclaredTable}),
        Loss: Kinds("name", LOSSES, is_word=True),
        Budget: Kinds("definition", ChainMap({"approx": ApproxDP}, DEFINITIONS)),
        get_type_hints(Design)["calibration"]: _calibration_from,
        Rate: _rate_from,
        Shape: _shape_from,
    }
)
FORMS.update(
    {
        Column: Form(short=None),
        StandardEncoding: Form(short=("shape", "limit")),
        Schema: Form(first=("target", "positive", "negative"), short=("complete",)),
        NumberGuess: Form(short=("centre", "spread")),
        Guesses: Form(always=("base_rate", "n_rows"), short=("effects", "pairs")),
        DeclaredTable: Form(always=("unit", "guesses"), build=_declared_table),
        Calibration: Form(
            needed=Calibration.__slots__, always=Calibration.__slots__, write=_plain_calibration
        ),
        Design: Form(
            always=("confidence_level", "calibration", "target"), without=("n_records",), build=dict
        ),
        Target: Form(always=("probability",), types={"coefficient": Any}, build=dict),
    }
)


def design_from(given: Mapping[str, Any], n_records: int) -> Design:
    """Return the design of its fields, with the n that stands beside them in a file."""
    with at("design"):
        made: Design = built(partial(Design, n_records=n_records), given)
        return made


def goal_from(given: Mapping[str, Any], names: tuple[str, ...]) -> Target:
    """Return the goal of its fields, whose coefficient is a name, or a place from 0."""
    place = given.get("coefficient")
    if isinstance(place, str):
        if place not in names:
            raise PlanFieldError("coefficient", f"Expected a coefficient, got {place!r}.")
        place = names.index(place)
    goal = Target(**{**given, "coefficient": place})
    check_target(goal, p=len(names))
    return goal


def coefficient_names(
    of: Schema | Source, features: int | tuple[str, ...] | None
) -> tuple[str, ...]:
    """The coefficients of a plan in their order, the constant last."""
    return (*of.select(features), CONSTANT)
