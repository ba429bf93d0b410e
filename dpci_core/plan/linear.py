"""The plan of a linear regression: an outcome that is a number, clipped steps, and what is forecast
of its intervals (docs/proofs/gaussian.md#linear-regression).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import as_table
from dpci_core.base.errors import expect
from dpci_core.base.rows import WeightedRows, beside
from dpci_core.design import Design
from dpci_core.plan.base import FIRST, TYPES, AnyPlan, plan_from
from dpci_core.plan.codec import (
    FORMS,
    READERS,
    Form,
    PlanFieldError,
    at,
    built,
    one_of,
    plain,
    read,
)
from dpci_core.plan.plan import Plan
from dpci_core.plan.source import DeclaredTable
from dpci_core.planner import Promise, Worlds, as_worlds, best_linear_design
from dpci_core.planner.worlds import foreseen
from dpci_core.regression.design import COVERS, LinearDesign
from dpci_core.regression.forecast import LinearForecast, PlanningRows
from dpci_core.report.cautions import Caution, unreachable
from dpci_core.schema import NumericColumn, Records, basis_of, to_original

MODEL = "linear"
"""What a plan file calls it, in `design.model`."""
NOT_OFFERED = "A linear regression has none."


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinearLengths:
    """One unit's forecast, arrays (p,): planned length of the intervals, the part that sampling
    causes, and the expected distance from plain least squares; in units of the outcome.
    """

    ci_length: Array
    nonprivate_length: Array
    bias: Array


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinearNumbers:
    """What the plan of a linear regression promises, by forecast. All but `promise` is about the
    first world, in which everything is as declared.

    scaled, original: per spread of each column, and per unit.
    is_not_reportable: coefficients out of reach, (p,) (`LinearForecast`).
    share_clipped: of gradients that the last clip cuts.
    promise: what holds in every world, of the effects in original units, (d,), the chance of the
        goal among it.
    epsilon, delta: the guarantee at the plan's delta.
    """

    names: tuple[str, ...]
    n_records: int
    scaled: LinearLengths
    original: LinearLengths
    is_not_reportable: Flags
    share_clipped: float
    epsilon: float
    delta: float
    promise: Promise

    @property
    def not_reportable(self) -> tuple[str, ...]:
        """Names of the coefficients out of reach."""
        flags = zip(self.names, self.is_not_reportable, strict=True)
        return tuple(name for name, is_lost in flags if is_lost)

    def cautions(self, design: LinearDesign) -> tuple[Caution, ...]:
        """Return what speaks against a release: coefficients out of reach, in one world or all."""
        return tuple(unreachable(self.is_not_reportable[:-1], self.names[:-1], self.promise))

    def covers(self, design: LinearDesign) -> str:
        """Return what the intervals are for, to stand after "for the"."""
        return COVERS

    def rests_on(self, design: LinearDesign) -> tuple[str, ...]:
        """Return what a release rests on that is not the same for every model, in sentences."""
        return (
            "The outcome is cut at its declared bounds. Long rows and large residuals count less, "
            "from lengths on that are released: the intervals are for the plain least-squares "
            "coefficient where the mean is linear and the errors are symmetric.",
            "No solver and no tolerance: every step is defined for every table.",
        )

    def to_record(self) -> dict[str, Any]:
        """Return the numbers as plain values for JSON."""

        def of(lengths: LinearLengths, j: int) -> dict[str, float]:
            return {one.name: float(getattr(lengths, one.name)[j]) for one in fields(lengths)}

        return {
            "n_records": self.n_records,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "share_clipped": self.share_clipped,
            "not_reportable": list(self.not_reportable),
            "promise": self.promise.to_record(self.names[:-1]),
            "coefficients": [
                {"name": name, "scaled": of(self.scaled, j), "original": of(self.original, j)}
                for j, name in enumerate(self.names)
            ],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class LinearPlan(AnyPlan):
    """A plan of a linear regression; it starts from a declared table in the standard encoding.

    Raises:
        ValueError: naming the field.

    >>> from dpci_core import ApproxDP, Schema, StandardEncoding
    >>> age = NumericColumn("age", 18, 98, typical=60, spread=15, step=10)
    >>> pressure = NumericColumn("pressure", 60, 250, typical=130, spread=18, units="mmHg")
    >>> schema = Schema((age,), outcome=pressure, standard=StandardEncoding())
    >>> design = LinearDesign(budget=ApproxDP("1", "1e-6", ("0.7", "0.2", "0.1")), n_records=5000)
    >>> LinearPlan(title="Pressure", source=DeclaredTable(schema=schema), design=design,
    ...            delta="1e-6").names
    ('age', 'constant')
    """

    elsewhere: ClassVar[str] = (
        "This is the plan of a linear regression: `dpci plan show`, `split`, `records`, `budget`, "
        "`rehearse` and `dpci release` take it."
    )

    design: LinearDesign

    def _check_model(self) -> None:
        expect(
            isinstance(self.design, LinearDesign),
            f"Expected a LinearDesign, got {type(self.design).__name__}.",
        )
        expect(
            isinstance(self.source, DeclaredTable),
            "Expected source to be a declared table: the sets that come with the project have an "
            "outcome with codes.",
        )
        schema = self.source.schema
        expect(
            schema.outcome is not None and schema.outcome.has_usual,
            "Expected schema.outcome for a linear regression: a number with bounds, typical value "
            "and spread.",
        )
        expect(
            schema.standard is not None,
            "Expected schema.standard for a linear regression: rows are by typical values and "
            "spreads.",
        )
        self.source.in_standard(schema.standard)  # type: ignore[arg-type]  # every number has them

    @property
    def outcome(self) -> NumericColumn:
        """The outcome as declared."""
        assert self.schema.outcome is not None
        return self.schema.outcome

    def check_can_run(self, n_records: int) -> None:
        """Any number of records runs; too few leave every coefficient out of reach."""
        replace(self.design, n_records=n_records)

    @property
    def lines(self) -> tuple[tuple[str, Decimal], ...]:
        """What each part of the total pays for."""
        return self.design.lines

    @property
    def contrasts(self) -> Array:
        """The coefficients per spread, then per unit of each column, (2p, p), as combinations of
        theta: in units of the outcome, the last of each without its typical value.
        """
        basis = basis_of(self.schema, self.features)
        assert basis is not None
        original = to_original(self.schema, self.features) @ basis
        return np.asarray(self.outcome.unit * np.concatenate([basis, original]))

    def rows(self) -> WeightedRows:
        """Return the planning rows [t, x], (m, 1 + p)."""
        records = self.records()
        return beside(records.y, records.X)

    def moments_of(self, records: Records) -> PlanningRows:
        """Return the planning rows with what their coefficients say."""
        basis = self.contrasts[: len(self.names)]
        return PlanningRows(as_table(beside(records.y, records.X)), basis)

    def numbers(self, worlds: Worlds | None = None) -> LinearNumbers:
        """Return what the plan promises, as `AnyPlan.numbers`; nothing is drawn."""
        given, p = as_worlds(self.worlds() if worlds is None else worlds), len(self.names)
        rows, L = given[0].moments, to_original(self.schema, self.features)
        found = foreseen(rows, design=self.design, contrasts=np.concatenate([np.eye(p), L]))
        assert isinstance(found, LinearForecast)
        scaled, original = (
            LinearLengths(
                ci_length=found.length[part],
                nonprivate_length=found.nonprivate_length[part],
                bias=found.bias[part],
            )
            for part in (slice(p), slice(p, None))
        )
        epsilon, delta = self.design.budget.guarantee(self.delta)
        return LinearNumbers(
            names=self.names,
            n_records=self.n_records,
            scaled=scaled,
            original=original,
            is_not_reportable=found.is_not_reportable[:p] | found.is_not_reportable[p:],
            share_clipped=found.share_clipped,
            epsilon=epsilon,
            delta=delta,
            promise=self.promise(given),
        )

    def with_best_design(self, worlds: Worlds | None = None) -> LinearPlan:
        """Return the plan with the clips, steps and split of its total that suit its goal and its
        worlds best, by the least favourable of them (`best_linear_design`); `worlds` as for
        `numbers`.
        """
        given = self.worlds() if worlds is None else worlds
        asked = replace(self.design, n_records=self.fewest)
        found = best_linear_design(given, design=asked, target=self.goal)
        return replace(self, design=replace(found, n_records=self.n_records))

    def to_dict(self) -> dict[str, Any]:
        """Return the content as plain values that `from_dict` turns back into an equal plan."""
        return self._plain() | {"design": plain_design(self.design)}


def plain_design(design: LinearDesign) -> dict[str, Any]:
    """Return the fields of a design in a file, its model first."""
    return {"model": MODEL, **plain(design)}


def linear_design_from(given: Mapping[str, Any], n_records: int) -> LinearDesign:
    """Return the design of its fields, with the n that stands beside them in a file."""
    with at("design"):
        made: LinearDesign = built(lambda **of: LinearDesign(**of, n_records=n_records), given)
        return made


def kind_in(value: object, kinds: tuple[type, type]) -> Any:
    """Return the object of a file about a design: of the second kind where its model is linear,
    else of the first; its version comes first, because another has other fields.
    """
    if isinstance(value, Mapping) and "version" in value:
        read(FORMS[kinds[0]].types["version"], value["version"], "version")
    design = value.get("design") if isinstance(value, Mapping) else None
    if not isinstance(design, Mapping) or "model" not in design:
        return read(kinds[0], value)
    assert isinstance(value, Mapping)
    with at("design.model"):
        one_of((MODEL,), design["model"])
    for name in design:
        if name in _OF_OTHERS:
            raise PlanFieldError(f"design.{name}", NOT_OFFERED)
    left = {name: given for name, given in design.items() if name != "model"}
    return read(kinds[1], {**value, "design": left})


_OF_OTHERS = {one.name for one in fields(Design)} - {one.name for one in fields(LinearDesign)}


def _plan_of(value: object) -> Any:
    return kind_in(value, (Plan, LinearPlan))


READERS[AnyPlan] = _plan_of
FORMS[LinearDesign] = Form(
    always=("steps", "clip", "row_clip", "confidence_level"), without=("n_records",), build=dict
)
FORMS[LinearPlan] = Form(
    first=FIRST,
    always=("features", "notes"),
    types={**TYPES, "design": LinearDesign},
    build=partial(plan_from, LinearPlan, linear_design_from),
)
