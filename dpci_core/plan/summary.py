"""A plan on one page, for people who decide about data protection: self-contained HTML that prints
on A4.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.plan.acceptance import STAYS_SPENT
from dpci_core.plan.base import AnyPlan, Planned
from dpci_core.plan.codec import decimal_text, plain
from dpci_core.plan.effects import planned_effects
from dpci_core.plan.goals import goals
from dpci_core.plan.linear import LinearNumbers, LinearPlan
from dpci_core.plan.numbers import PlanNumbers
from dpci_core.plan.plan import Plan
from dpci_core.plan.source import DeclaredTable, PublicTable
from dpci_core.regression.design import COVERS
from dpci_core.report.cautions import gravest, reach, sentences
from dpci_core.report.covered import covered, missing_cells, transformations
from dpci_core.report.effect_table import EffectTable
from dpci_core.report.html import render, table
from dpci_core.report.words import (
    OTHERS_ADD,
    PERSONS_PLANNED,
    as_typed,
    in_hundred,
    learned,
    listed,
    many,
    number,
    number_at_most,
    percent,
    person_rules,
    protected,
    short,
)
from dpci_core.schema import Guesses, Schema
from dpci_core.schema.twin import log_odds_unit
from dpci_core.schema.worlds import ODDS_RATIO, checked, untold

MOST_ROWS = 12
"""Coefficients in the picture; the page is one page."""
_MOST_NOTES = 300
_MOST_GUESSES = 6
_PART_WORDS = {
    "metric": ("Second moment", "what shapes the noise on everything else"),
    "model": ("Coefficients", "the coefficients themselves"),
    "hessian": ("Hessian", "the curvature of the loss, from which standard errors are computed"),
    "covariance": ("Gradient covariance", "the sampling part of the lengths"),
    "second moment": ("Second moment", "the metric of the steps, and part of the standard errors"),
    "steps": ("Steps", "the coefficients themselves, and where influences are cut"),
}


Lines = tuple[tuple[str, Decimal], ...]


@dataclass(frozen=True, slots=True)
class _Told:
    """What the page says of one kind of model, in sentences.

    lines: what each part of the budget pays for.
    released: what would be.  made: how.  lengths: about them.  encoded: in units of the encoding.
    design: what is fixed besides n.
    """

    lines: Lines
    released: str
    made: str
    lengths: list[str]
    encoded: str
    design: str


def to_html(plan: AnyPlan, numbers: Planned) -> str:
    """Return the summary of a plan and its `plan.numbers()`; everything typed is escaped, no
    script, nothing loaded.
    """
    grave, smaller = gravest(numbers.cautions(plan.design))
    whose, shown = plan.persons, planned_effects(plan, numbers)
    told = _TOLD[type(plan)](plan, numbers)
    caption = f"Effects on {short(shown.outcome)}, all else equal; on average over releases"
    return render(
        "summary.html",
        title=plan.title,
        learned=f"{learned(numbers.epsilon, numbers.delta)} {OTHERS_ADD}",
        saying=f"{reach(numbers.promise, plan.usable)} {shown.saying()}",
        effects=_first(shown).html(caption=caption),
        every=shown.html(caption="Every effect") if len(shown.rows) > MOST_ROWS else "",
        missing=missing_cells(plan.transformations),
        unit=plan.unit if whose is None else protected(plan.unit, whose.rows),
        persons="" if whose is None else person_rules(f"“{short(whose.column)}”", whose.rows),
        n=f"{plan.n_records:,}",
        guarantee=_guarantee(plan, numbers),
        split=_split(plan, told.lines),
        released=told.released,
        covers=numbers.covers(plan.design),
        status=plan.design.status,
        chart=shown.chart(title=caption, most=MOST_ROWS),
        lengths=told.lengths,
        encoded=told.encoded,
        assumptions=list(_assumptions(plan, numbers)),
        details=list(_details(plan, numbers, told)),
        warnings=sentences(grave),
        smaller=sentences(smaller),
        notes=short(plan.notes, _MOST_NOTES),
        rule=plan.publish_if,
        stays_spent=STAYS_SPENT,
        digest=plan.digest,
        approved=plan.approved,
    )


def _guarantee(plan: AnyPlan, numbers: Planned) -> str:
    total = decimal_text(plan.design.budget.total)
    budget = plan.design.budget
    title = budget.title[0].upper() + budget.title[1:]
    if not budget.has_delta:
        return f"{title} with {budget.letter} = {total} in total."
    return (
        f"{title} with {budget.letter} = {total} in total. "
        f"That means ε = {number_at_most(numbers.epsilon)} at δ = {decimal_text(plan.delta)}."
    )


def _split(plan: AnyPlan, lines: Lines) -> str:
    budget = plan.design.budget
    shares = in_hundred([amount for _, amount in lines])
    rows = [
        (_PART_WORDS[part][0], _PART_WORDS[part][1], decimal_text(amount), f"{share} %")
        for (part, amount), share in zip(lines, shares, strict=True)
    ]
    return table(
        ("Release", "What it is", budget.letter, "Share"),
        rows,
        caption="How the budget is split",
        numeric_from=2,
    )


def _released(plan: Plan) -> str:
    design = plan.design
    return (
        f"{len(plan.names)} coefficients of a {design.loss.title} for {short(plan.schema.target)} "
        f"= {short(plan.schema.positive)}, each with a {100 * design.confidence_level:g} % "
        "confidence interval."
    )


def _made(plan: Plan, numbers: PlanNumbers) -> str:
    mechanism = mechanism_of(plan.design)
    return (
        f"Made by {mechanism.title} ({mechanism.place}), for the "
        f"{covered(plan.design, numbers.shrinkage)}."
    )


def _first(shown: EffectTable) -> EffectTable:
    """As many rows as a page has room for."""
    return replace(shown, rows=shown.rows[:MOST_ROWS])


def _encoded(numbers: PlanNumbers) -> str:
    """The mean length in the units of the encoding, for who computes with it."""
    ratio = numbers.ci_length_mean / numbers.vi_length_mean
    return (
        f"Mean length {number(numbers.ci_length_mean)} in encoded units: {ratio:.2f} times the "
        f"variability of the private estimates ({number(numbers.vi_length_mean)}); without privacy "
        f"it would be {number(numbers.nonprivate_length_mean)}."
    )


def _lengths(plan: Plan, numbers: PlanNumbers) -> list[str]:
    """Sentences about the lengths."""
    found = [
        f"The price of privacy: intervals as long as from {numbers.as_if_records:,} of the "
        f"{plan.n_records:,} records without privacy.",
        f"By forecast an interval holds what it is for in {100 * numbers.coverage_mean:.1f} % of "
        f"releases on average, {100 * float(np.min(numbers.coverage)):.1f} % for the worst effect.",
    ]
    found += goals(plan, numbers)
    if (left := len(plan.names) - 1 - MOST_ROWS) > 0:
        more = "1 more is" if left == 1 else f"{left} more are"
        found.append(f"The first {MOST_ROWS} effects are shown; {more} in the appendix.")
    return found


def _penalised(plan: Plan, numbers: PlanNumbers) -> _Told:
    design = plan.design
    calibration = plain(design.switches)
    named = calibration if isinstance(calibration, str) else "the plan's own"
    return _Told(
        lines=design.budget.lines,
        released=_released(plan),
        made=_made(plan, numbers),
        lengths=_lengths(plan, numbers),
        encoded=_encoded(numbers),
        design=f", c = {design.regularization:g}, {named} calibration",
    )


def _linear(plan: LinearPlan, numbers: LinearNumbers) -> _Told:
    design, outcome = plan.design, plan.outcome
    share = percent(max(numbers.share_clipped, 0.0))
    units = f" {short(outcome.units)}" if outcome.units else ""
    return _Told(
        lines=plan.lines,
        released=f"{len(plan.names)} coefficients of a linear regression of {short(outcome.name)}, "
        f"each with a {100 * design.confidence_level:g} % confidence interval.",
        made=f"Made by {design.steps} Newton steps with Gaussian noise, for the {COVERS}.",
        lengths=[
            f"The influence of about {share} of the {plan.counted} is cut.",
            *goals(plan, numbers),
        ],
        encoded="",
        design=f", {design.steps} steps, clips {design.clip:g} and {design.row_clip:g}. "
        f"{short(outcome.name)} is cut at {outcome.low:,.10g} and {outcome.high:,.10g}{units}",
    )


_TOLD: dict[type, Callable[[Any, Any], _Told]] = {Plan: _penalised, LinearPlan: _linear}


def _assumptions(plan: AnyPlan, numbers: Planned) -> Iterable[str]:
    """What the numbers of the page rest on, in plain words."""
    if isinstance(plan.source, PublicTable):
        rows = "" if plan.source.n_rows is None else f", {plan.source.n_rows:,} rows"
        yield f"The private table behaves like the set “{plan.source.key}”{rows}."
    else:
        yield _behaves(plan.source.guesses, plan.schema)
        yield from _suggested(plan.schema)
        if names := untold(plan.schema, plan.source.guesses):
            yield (
                f"How often the values of {listed([short(name) for name in names])} occur was not "
                "said: as described, all equally often; at worst, some a third as often. Nothing "
                "is promised of rarer ones."
            )
        if len(numbers.promise.worlds) > 1:
            yield checked(plan.schema, plan.source.guesses)
    yield "Bounds and levels were declared without looking at the private data."
    if plan.persons is not None:
        yield PERSONS_PLANNED
    yield "Lengths are a forecast for large tables; the released ones will differ somewhat."


def _details(plan: AnyPlan, numbers: Planned, told: _Told) -> Iterable[str]:
    """The same in the terms of the method."""
    yield told.made
    yield f"d = {many(len(plan.names) - 1, 'feature')}, n = {plan.n_records:,}{told.design}."
    if isinstance(plan.source, DeclaredTable):
        yield _guessed(plan.source.guesses, plan.schema)
    yield from transformations(plan.transformations)[:-1]  # missing cells stand under the table
    yield from numbers.rests_on(plan.design)


def _suggested(schema: Schema) -> Iterable[str]:
    """Which typical values nobody confirmed."""
    for name in schema.suggested[:_MOST_GUESSES]:
        yield f"Suggested, not typed: typical value or spread of “{short(name)}”."
    if (more := len(schema.suggested) - _MOST_GUESSES) > 0:
        yield f"The same of {more} more columns."


def _behaves(guesses: Guesses, schema: Schema) -> str:
    """What the simulated table is like."""
    low, high = guesses.rates
    rate = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    outcome = f"{short(schema.outcome_words)} in {rate}"
    if (asked := schema.outcome) is not None:
        outcome = f"{short(asked.name)} about {asked.centre:g}, spread {asked.unit:g}"
    together = "".join(
        f", {correlation:g} between {short(one)} and {short(other)}"
        for one, other, correlation in guesses.pairs[:_MOST_GUESSES]
    )
    return (
        "The private table behaves like a simulated one: "
        f"{many(len(schema.features), 'declared column')}, {outcome}, correlation "
        f"{guesses.correlation:g} between columns{together}."
    )


def _guessed(guesses: Guesses, schema: Schema) -> str:
    """Which effects and distributions the simulated table has."""
    columns = schema.features
    n_columns = len(columns)
    usual = (
        f"an odds ratio of {ODDS_RATIO:g} for a level, or two spreads of a number, in turn up and "
        "down"
    )
    unit = "log odds"
    if (asked := schema.outcome) is not None:
        unit = asked.units or "units of the outcome"
        moved = as_typed(float(f"{math.log(ODDS_RATIO) * log_odds_unit(schema):.2g}"))
        usual = f"{moved} {unit} for a level, or two spreads of a number, in turn up and down"
    declared = {one.name for one in columns if one.has_usual}
    n_guessed = len(declared | set(guesses.numbers) | set(guesses.shares))
    effects = [
        f"{short(name)} {effect:g}"
        for name, effect in list(guesses.effects.items())[:_MOST_GUESSES]
    ]
    more = len(guesses.effects) - len(effects)
    listed = "; ".join(effects) + (f"; and {more} more" if more else "")
    if not effects:
        words = f"of every column {usual}"
    else:
        words = f"effects in {unit} per unit or level: {listed}"
        if set(schema.feature_names) > set(guesses.effects):
            words += f"; of the others {usual}"
    return (
        f"Guessed: {words}; the distribution of {n_guessed} of {many(n_columns, 'column')}, the "
        "others even."
    )
