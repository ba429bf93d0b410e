"""The effects of a plan: how each is named, and how long its interval is planned to be."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpci_core.base.array import Array, Flags
from dpci_core.design import Design, Measures
from dpci_core.plan.base import AnyPlan, Planned, PlannedLengths
from dpci_core.planner.promise import Promise, usable_records
from dpci_core.regression.design import LinearDesign
from dpci_core.report.cautions import REPORTABLE_CHANCE
from dpci_core.report.effect_table import SCALES, EffectRow, EffectTable, Scale
from dpci_core.report.words import called, counted_as, plainly
from dpci_core.schema import Schema, told_steps
from dpci_core.schema.categorical import BESIDE


def effect_name(schema: Schema, features: tuple[str, ...], name: str) -> tuple[str, str]:
    """Return an effect in a sentence and on a label, like "age" and "age, per 10 years"; of a level
    "city: b" and "city = b instead of a".
    """
    column = schema.column_of(name)
    change, per, unit = column.change(name, features)
    subject = column.subject(name)
    if not unit:
        return called(name), plainly(change.removesuffix(f" {BESIDE}"))
    of_it = f" of {subject}"
    step = per.removesuffix(of_it) if per.endswith(of_it) else column.per
    return plainly(subject), f"{plainly(subject)}, {step}"


def unsure(is_not_reportable: Flags, promised: Promise) -> Flags:
    """Return which effects may not be reportable, as declared or in another world, (d,).

    Args:
        is_not_reportable: as declared, (d + 1,), the constant last.
        promised: what holds in every world.
    """
    found: Flags = is_not_reportable[:-1] | (promised.chance < REPORTABLE_CHANCE)
    return found


def planned_effects(plan: AnyPlan, numbers: Planned) -> EffectTable:
    """Return the effects of a plan, the constant aside, with the lengths that it expects as
    declared and, where more worlds than one were checked, in the least favourable.
    """
    return effects_of(
        plan.schema,
        plan.names,
        plan.design,
        units=told_steps(plan.schema, plan.names),
        lengths=numbers.original,
        is_not_reportable=numbers.is_not_reportable,
        promised=numbers.promise,
    )


def effects_of(
    schema: Schema,
    names: tuple[str, ...],
    design: Design | LinearDesign,
    *,
    units: Sequence[float] | Array,
    lengths: PlannedLengths,
    is_not_reportable: Flags,
    promised: Promise,
) -> EffectTable:
    """Return the effects of a design, as `planned_effects` does of a plan.

    Args:
        schema: the declared columns.
        names: of the coefficients, (d + 1,), the constant last.
        design: that is planned.
        units: what a length is multiplied by for the step of its column, (d + 1,).
        lengths: as declared, (d + 1,).
        is_not_reportable: as declared, (d + 1,).
        promised: what holds in every world, of the effects in the units of `lengths`.
    """
    is_unsure = unsure(is_not_reportable, promised)
    rows, scale = [], scale_of(design.measures, schema)
    for j, name in enumerate(names[:-1]):
        short, label = effect_name(schema, names, name)
        half = float(units[j]) / 2.0
        rows.append(
            EffectRow(
                name=short,
                label=label,
                interval=None,
                half=half * float(lengths.ci_length[j]),
                without=half * float(lengths.nonprivate_length[j]),
                at_worst=half * float(promised.longest[j]) if not is_unsure[j] else math.inf,
                reason=scale.planned_reason if is_not_reportable[j] else "",
            )
        )
    longest = max(range(len(rows)), key=lambda j: (rows[j].at_worst < math.inf, rows[j].at_worst))
    has_worlds = len(promised.worlds) > 1
    worst = promised.longest_decided_by[longest] if has_worlds else ""
    if has_worlds and worst == promised.worlds[0]:
        counted = counted_as(None if schema.persons is None else schema.persons.rows)
        usable = usable_records(promised.fewest, schema.complete)
        worst = f"only {usable:,} {counted} can be used"
    return EffectTable(
        rows=tuple(rows),
        worst=worst,
        outcome=schema.outcome_words,
        level=design.confidence_level,
        scale=scale,
    )


def scale_of(measures: Measures, schema: Schema) -> Scale:
    """Return what the effects of a declaration are told in."""
    return SCALES[measures] if schema.outcome is None else Scale.of_number(schema.outcome.units)
