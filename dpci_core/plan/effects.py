"""The effects of a plan: how each is named, and how long its interval is planned to be."""

from __future__ import annotations

from dpci_core.plan.numbers import PlanNumbers
from dpci_core.plan.plan import Plan
from dpci_core.report.effect_table import PLANNED_REASON, EffectRow, EffectTable
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


def planned_effects(plan: Plan, numbers: PlanNumbers) -> EffectTable:
    """Return the effects of a plan, the constant aside, with the lengths that it expects."""
    schema, names = plan.schema, plan.names
    rows = []
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
                reason=PLANNED_REASON if numbers.is_not_reportable[j] else "",
            )
        )
    return EffectTable(
        rows=tuple(rows),
        outcome=f"{schema.target} = {schema.positive}",
        level=plan.design.confidence_level,
        is_odds=plan.design.loss.is_log_odds,
    )
