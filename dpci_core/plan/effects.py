"""The effects of a plan: how each is named, and how long its interval is planned to be."""

from __future__ import annotations

import math

from dpci_core.base.array import Flags
from dpci_core.design import Measures
from dpci_core.plan.base import AnyPlan, Planned
from dpci_core.report.cautions import REPORTABLE_CHANCE
from dpci_core.report.effect_table import SCALES, EffectRow, EffectTable, Scale
from dpci_core.report.words import called, plainly
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


def unsure(numbers: Planned) -> Flags:
    """Return which effects may not be reportable, as declared or in another world, (d,)."""
    found: Flags = numbers.is_not_reportable[:-1] | (numbers.promise.chance < REPORTABLE_CHANCE)
    return found


def planned_effects(plan: AnyPlan, numbers: Planned) -> EffectTable:
    """Return the effects of a plan, the constant aside, with the lengths that it expects as
    declared and, where more worlds than one were checked, in the least favourable.
    """
    schema, names, promised = plan.schema, plan.names, numbers.promise
    rows, scale, is_unsure = [], scale_of(plan.design.measures, schema), unsure(numbers)
    for j, (name, step) in enumerate(zip(names, told_steps(schema, names), strict=True)):
        if j == len(names) - 1:
            break
        short, label = effect_name(schema, names, name)
        rows.append(
            EffectRow(
                name=short,
                label=label,
                interval=None,
                half=step * float(numbers.original.ci_length[j]) / 2.0,
                without=step * float(numbers.original.nonprivate_length[j]) / 2.0,
                at_worst=step * float(promised.longest[j]) / 2.0 if not is_unsure[j] else math.inf,
                reason=scale.planned_reason if numbers.is_not_reportable[j] else "",
            )
        )
    longest = max(range(len(rows)), key=lambda j: (rows[j].at_worst < math.inf, rows[j].at_worst))
    has_worlds = len(promised.worlds) > 1
    worst = promised.longest_decided_by[longest] if has_worlds else ""
    if has_worlds and worst == promised.worlds[0]:
        worst = f"only {promised.fewest:,} {plan.counted} can be used"
    return EffectTable(
        rows=tuple(rows),
        worst=worst,
        outcome=schema.outcome_words,
        level=plan.design.confidence_level,
        scale=scale,
    )


def scale_of(measures: Measures, schema: Schema) -> Scale:
    """Return what the effects of a declaration are told in."""
    return SCALES[measures] if schema.outcome is None else Scale.of_number(schema.outcome.units)
