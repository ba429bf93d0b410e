"""The effects of a plan: how each is named, and how long its interval is planned to be."""

from __future__ import annotations

import math

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


def planned_effects(plan: AnyPlan, numbers: Planned) -> EffectTable:
    """Return the effects of a plan, the constant aside, with the lengths that it expects as
    declared and, where more worlds than one were checked, in the least favourable.
    """
    schema, names, promised = plan.schema, plan.names, numbers.promise
    rows, scale = [], scale_of(plan.design.measures, schema)
    for j, (name, step) in enumerate(zip(names, told_steps(schema, names), strict=True)):
        if j == len(names) - 1:
            break
        short, label = effect_name(schema, names, name)
        is_lost = bool(numbers.is_not_reportable[j])
        is_sure = not is_lost and promised.chance[j] >= REPORTABLE_CHANCE
        rows.append(
            EffectRow(
                name=short,
                label=label,
                interval=None,
                half=step * float(numbers.original.ci_length[j]) / 2.0,
                without=step * float(numbers.original.nonprivate_length[j]) / 2.0,
                at_worst=step * float(promised.longest[j]) / 2.0 if is_sure else math.inf,
                reason=scale.planned_reason if is_lost else "",
            )
        )
    longest = max(range(len(rows)), key=lambda j: (rows[j].at_worst < math.inf, rows[j].at_worst))
    worst = promised.longest_decided_by[longest] if len(promised.worlds) > 1 else ""
    if worst == promised.worlds[0]:
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
