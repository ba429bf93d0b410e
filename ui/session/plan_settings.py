"""Settings as a plan, and a plan as settings. No Streamlit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

from dpci_core import Calibration, DeclaredTable, Plan, PublicTable
from dpci_core.base.errors import expect
from dpci_core.design import CalibrationName
from dpci_core.losses import HuberSVM
from dpci_core.plan import AnyPlan, LinearPlan
from dpci_core.plan.base import N_TOLERANCE
from dpci_core.planner import Target
from dpci_core.privacy.budget import Budget, epsilon_to_zcdp, to_float_down, zcdp_to_epsilon
from dpci_core.schema import to_original, told_steps
from ui.session.budget import split_of
from ui.session.case import NumberCase, PlannedCase
from ui.session.choices import (
    COUNTED_AS,
    CURRENCIES,
    DEFINITIONS,
    EVERY_MECHANISM,
    LOSSES,
    PROMISE,
    SMOOTHINGS,
    UNPENALISED,
)
from ui.session.compute import DECLARED, declared_table, packed_table, standard_of
from ui.session.forms import FORMS
from ui.session.settings import LIMITS, Settings
from ui.session.shape import ShapeSource, packed_shape


def plan_of(case: PlannedCase, title: str, notes: str = "") -> Plan | LinearPlan:
    """The settings as a plan.

    Raises:  ValueError in words where they rest on an uploaded table, which a plan cannot carry, or
             the title is bad.
    """
    now = case.settings
    expect(
        now.dataset != "upload",
        "A plan holds no data, so it cannot start from your file. Choose a public set or "
        "describe your table.",
    )
    if isinstance(case, NumberCase):
        return replace(case.plan, title=title, notes=notes, goal=case.target)
    features = now.features
    source = (
        declared_table(now.declared)
        if now.dataset == DECLARED
        else PublicTable(
            key=now.dataset,
            standard=standard_of(now, features),
        )
    )
    return Plan(
        title=title,
        source=source,
        features=features,
        design=case.design,
        goal=case.target,
        delta=Decimal(now.delta),
        notes=notes,
    )


def settings_of(plan: AnyPlan) -> Settings:
    """A plan as settings of this page.

    Raises:  ValueError naming what the page has no control for.
    """
    source = plan.source
    for column in source.schema.features if isinstance(source, DeclaredTable) else ():
        expect(
            type(column) in FORMS, f"This dashboard has no control for the column {column.name!r}."
        )
    expect(
        plan.n_tolerance == N_TOLERANCE,
        f"This dashboard has no control for n_tolerance, which the plan sets to {plan.n_tolerance} "
        f"instead of {N_TOLERANCE}. The command line takes it as it is.",
    )
    design = plan.design
    definition = COUNTED_AS.get(design.definition, design.definition)
    expect(
        definition in DEFINITIONS,
        f"This dashboard has no control for the privacy definition {design.definition!r}.",
    )
    now = replace(
        Settings(),
        dataset=source.key if isinstance(source, PublicTable) else DECLARED,
        declared=packed_table(source) if isinstance(source, DeclaredTable) else "",
        names=plan.features if isinstance(plan.features, tuple) else (),
        d=plan.features if isinstance(plan.features, int) else len(plan.names) - 1,
        definitions=(definition,),
        currency=definition,
        delta=_shortest(plan.delta),
        split=split_of(design.budget) if definition == design.definition else Settings().split,
        n=plan.n_records,
        level=design.confidence_level,
    )
    now = _KINDS[type(plan)](plan, now)
    is_counted = definition == design.definition
    now = _as_typed(now) if is_counted else _as_promised(now, design.budget)
    _check_limits(now)
    return now if plan.goal is None else replace(now, **_goal_settings(plan, plan.goal))


def _of_number(plan: LinearPlan, now: Settings) -> Settings:
    """With what a regression of a number has of its own."""
    design = plan.design
    made = replace(now, steps=design.steps, clip=design.clip, row_clip=design.row_clip)
    return replace(made, target=UNPENALISED).with_usual_goal()


def _of_codes(plan: Plan, now: Settings) -> Settings:
    """With what a penalised model has of its own."""
    design, source = plan.design, plan.source
    if isinstance(source, PublicTable) and source.n_rows is not None:
        raise ValueError(
            f"This page computes on all rows of {source.key}; the plan asks for {source.n_rows:,} "
            "of them."
        )
    is_standard = isinstance(source, PublicTable) and source.is_standard
    shape: ShapeSource = "planning" if design.geometry is None else "released"
    if is_standard:
        assert isinstance(source, PublicTable)
        shape = _map_source(source, plan.features or plan.names[:-1], shape)
    offered = (
        ("mechanism", design.mechanism, EVERY_MECHANISM),
        ("loss", design.loss.name, (*LOSSES, *SMOOTHINGS)),
    )
    for what, name, choices in offered:
        expect(name in choices, f"This dashboard has no control for the {what} {name!r}.")
    calibration, results = _calibration(design.switches)
    expect(
        design.geometry is None or results != "reviewed",
        "This plan shapes its noise like the data and otherwise takes peer-reviewed results "
        "only, for which the page has no control. Release and the command line take it as it "
        "is.",
    )
    is_rounded = design.loss.name in SMOOTHINGS
    there = replace(now, encoding="standard" if is_standard else "schema")
    is_by_number = isinstance(plan.features, int) and there.has_own_order
    return replace(
        now,
        names=plan.names[:-1] if is_by_number else now.names,
        encoding="standard" if is_standard else "schema",
        mechanisms=(design.mechanism,),
        losses=(HuberSVM.name if is_rounded else design.loss.name,),
        smoothing=design.loss.name if is_rounded else now.smoothing,
        calibrations=(calibration,),
        results=results,
        target=design.target,
        shape=shape,
        opened=packed_shape(plan),
        c=design.regularization,
        h=getattr(design.loss, "h", now.h),
    )


_KINDS: dict[type, Callable[[Any, Settings], Settings]] = {Plan: _of_codes, LinearPlan: _of_number}


def _map_source(
    table: PublicTable, features: int | tuple[str, ...], usual: ShapeSource
) -> ShapeSource:
    """What the map of a public set in the standard encoding was made of; ValueError where this page
    makes another.
    """
    sources: tuple[ShapeSource, ...] = (usual, "declared")
    for shape in sources:
        now = Settings(dataset=table.key, encoding="standard", shape=shape)
        if table.standard == standard_of(now, features):
            return shape
    raise ValueError(
        "This page has no control for another standard encoding of a public set than the ones by "
        "one radius and by all of its rows. Describe your table, or bring the set as a file."
    )


_SAME = 1e-10
"""Relative difference of two solved rho that count as one."""
_SAME_PROMISE = 1e-10
"""The same of what a mu^2 means."""


def _as_typed(now: Settings) -> Settings:
    """A rho that a round epsilon buys at this delta, as that (epsilon, delta): most likely it was
    typed so. Not where that promise would buy more than the plan says.
    """
    in_objective = now.outcome is None and now.perturbs_objective
    if now.kind is not CURRENCIES[PROMISE].definition or not in_objective:
        return now
    total, delta = float(now.split.total), float(now.delta)
    epsilon, (low, high) = zcdp_to_epsilon(total, delta), CURRENCIES[PROMISE].limits
    for digits in range(1, 7):
        shown = float(f"{epsilon:.{digits}g}")
        if low <= shown <= high and math.isclose(
            float(epsilon_to_zcdp(shown, delta)), total, rel_tol=_SAME
        ):
            return replace(now, currency=PROMISE, epsilon=f"{shown:.12g}")
    return now


def _as_promised(now: Settings, budget: Budget) -> Settings:
    """A budget in mu^2 as the (epsilon, delta) that it keeps, the shortest that buys it."""
    means = budget.epsilon_of(to_float_down(budget.total), float(now.delta))
    for digits in range(1, 13):
        epsilon = float(f"{means:.{digits}g}")
        if math.isclose(epsilon, means, rel_tol=_SAME_PROMISE):
            break
    bought = replace(now, currency=PROMISE).with_epsilon(epsilon)
    return replace(bought, split=split_of(budget, bought.split.with_locks()))


def _shortest(amount: Decimal) -> str:
    """A decimal as the page writes it: 1e-6, not 0.000001."""
    short = f"{amount.normalize():e}".replace("e-0", "e-").replace("e+0", "e+")
    return short if Decimal(short) == amount else str(amount)


def _calibration(switches: Calibration) -> tuple[CalibrationName, str]:
    known: dict[Calibration, tuple[CalibrationName, str]] = {
        Calibration.published(): ("published", "all"),
        Calibration.sharp(): ("sharp", "all"),
        Calibration(gaussian_objective=False): ("sharp", "reviewed"),
    }
    expect(
        switches in known,
        "This plan sets single switches of the calibration, for which the page has no control.",
    )
    return known[switches]


def _check_limits(now: Settings) -> None:
    """Raise ValueError naming the first control that does not reach a value."""
    values = {"n": now.n, "c": now.c, "h": now.h, "level": now.level, now.currency: now.typed_total}
    names = {now.currency: f"the total {now.typed.letter}", "level": "the confidence level"}
    for name, value in values.items():
        low, high = LIMITS[name]
        expect(
            low <= value <= high,
            f"The control for {names.get(name, name)} goes from {low:g} to {high:,.12g}, not "
            f"to {value:,.12g}.",
        )


def _goal_settings(plan: AnyPlan, goal: Target) -> dict[str, Any]:
    """The goal of a plan, which is in encoded units, in those of the page."""
    names, schema = plan.names, plan.schema
    scale, place = 1.0, goal.coefficient
    if place is not None and place < len(names) - 1:
        scale = float(to_original(schema, plan.features)[place, place])
        if isinstance(plan.source, DeclaredTable):
            scale *= schema.column_of(names[place]).step_size
    found: dict[str, Any] = {
        "goal_on": "" if place is None else names[place],
        "goal_chance": goal.probability,
    }
    if goal.limits is not None:
        unit = 1.0
        if plan.design.measures != "score":
            unit = told_steps(schema, names)[0] * to_original(schema, plan.features)[0, 0]
        return found | {"goal": "all", "goal_length": float(f"{goal.limits[0] * unit:.12g}")}
    if goal.length is not None:
        return found | {"goal": "length", "goal_length": goal.length * scale}
    assert goal.excludes_zero_at is not None
    return found | {"goal": "zero", "goal_value": goal.excludes_zero_at * scale}
