"""One design and one goal under the settings, with the moments to plan by. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np

from dpci_core import InfeasibleDesignError, Moments, Target, forecast
from dpci_core.design import Design, Geometry
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.plan import LinearPlan
from dpci_core.plan.base import N_TOLERANCE
from dpci_core.planner import shaped, with_room
from dpci_core.planner.amounts import SEARCH_DRAWS, with_total
from dpci_core.planner.promise import fewest_records, usable_records
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.forecast import PlanningRows
from dpci_core.schema import CONSTANT, Column, Records
from ui.session.choices import PROMISE
from ui.session.compute import (
    DECLARED,
    PUBLIC,
    Store,
    TableSource,
    columns_of,
    contrast_matrix,
    declared_table,
    designed,
    fit_target,
)
from ui.session.settings import Settings, in_currency
from ui.session.shape import shape_of


class RemediedError(ValueError):
    """Settings that allow no case, with a way out; the message is for people.

    way: what is said on the button.  remedied: the settings without the problem.
    """

    def __init__(self, message: str, way: str, remedied: Settings) -> None:
        super().__init__(message)
        self.way, self.remedied = way, remedied


@dataclass(frozen=True, kw_only=True)
class AnyCase:
    """One design under these settings, and the goal in its scale.

    records: of the planning rows.  moments: what the planner takes of them.
    scale: what a length of the target is multiplied by to be in the units of the goal.
    columns: of the table, with the steps that effects are told for; none for a named set.
    """

    settings: Settings
    records: Records
    design: Design | LinearDesign
    moments: Any
    target: Target
    scale: float
    columns: tuple[Column, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, the constant last."""
        return self.records.feature_names

    @property
    def effect(self) -> str:
        """What a coefficient is, before "per unit"."""
        return self.settings.loss(self.settings.losses[0]).effect

    @property
    def n(self) -> int:
        """Records planned for."""
        return self.design.n_records

    @property
    def fewest(self) -> int:
        """Records that a promise is for: a release of a table of one's own counts on so many
        without a question. Of a named table nothing is released: all of them.
        """
        return self.fewest_of(self.n)

    def fewest_of(self, n_records: int) -> int:
        """The same where another number of records is planned for."""
        if self.settings.dataset not in (DECLARED, "upload"):
            return n_records
        return fewest_records(n_records - int(N_TOLERANCE * n_records), self._complete)

    def usable_of(self, n_records: int) -> int:
        """How many of these are complete in a table as it is declared."""
        return usable_records(n_records, self._complete)

    @property
    def _complete(self) -> float:
        is_declared = self.settings.dataset == DECLARED
        return declared_table(self.settings.declared).schema.complete if is_declared else 1.0


@dataclass(frozen=True, kw_only=True)
class NumberCase(AnyCase):
    """That of a regression of a number, in a described table; its scaled coefficients are units of
    the outcome for a spread of the column.

    plan: of the settings, its goal and words aside.
    moments: the planning rows as the planner takes them.
    """

    plan: LinearPlan
    design: LinearDesign
    moments: PlanningRows

    @property
    def effect(self) -> str:
        """What a coefficient is, before "per unit"."""
        return self.plan.outcome.units or f"units of {self.plan.outcome.name}"

    def of(self, settings: Settings) -> NumberCase:
        """The case with the design of other settings, for the same table and goal."""
        design = settings.linear_design
        plan = replace(self.plan, design=design)
        return replace(self, settings=settings, design=design, plan=plan)


@dataclass(frozen=True, kw_only=True)
class Case(AnyCase):
    """That of a penalised model, with the moments to plan by.

    moments: of rows with the weights of the design's geometry, where it has one.
    plain: of rows that count in full, with what noise is shaped by where that is asked for.
    is_opened: whether the geometry is that of a plan that was opened.
    """

    design: Design
    moments: Moments
    plain: Moments
    is_opened: bool = False

    def at(self, total: Decimal, n_records: int) -> tuple[Design, Moments]:
        """The design at another total and number of records, its noise shaped anew where it is
        planned here, and the moments to forecast it from.
        """
        if not self.settings.is_shaped or self.is_opened:
            return replace(with_total(self.design, total), n_records=n_records), self.moments
        bare = replace(with_total(self.bare, total), n_records=n_records)
        found = shaped(self.plain, design=bare)
        return found or bare, self.plain

    @property
    def bare(self) -> Design:
        """The design with noise of equal size in every direction, split as the settings say."""
        if self.design.geometry is None:
            return self.design
        return self.settings.design(self.settings.combinations[0])

    @property
    def at_fewest(self) -> Design:
        """The design with the fewest records, for which everything is solved."""
        return replace(self.design, n_records=self.fewest)


PlannedCase = Case | NumberCase


def single(settings: Settings) -> Settings:
    """The settings with one combination: the budget's own definition and the first of everything
    else chosen.
    """
    first = settings.combinations[0]
    return replace(
        settings,
        encoding="standard" if settings.encoding == "standard" else "schema",
        definitions=(settings.own_definition,),
        mechanisms=(first.mechanism,),
        losses=(first.loss,),
        calibrations=(first.calibration,),
    )


def make_case(settings: Settings, source: TableSource) -> PlannedCase:
    """Take the table of these settings and say the goal in its terms.

    Raises:  what loading and fitting raise; RemediedError; ValueError where the settings allow no
             design.
    """
    return make_penalised(settings, source) if settings.outcome is None else _make_number(settings)


def plan_of_number(settings: Settings) -> tuple[LinearPlan, Records]:
    """The plan of a regression of a number, its goal and words aside, and its planning rows.

    Raises:  RemediedError for a pure epsilon; ValueError where the settings allow no design.
    """
    if settings.kind.law != "gaussian":
        in_promise = in_currency(settings, PROMISE)
        raise RemediedError(_NOT_PURE, "Type the budget as (ε, δ)", in_promise)
    table = declared_table(settings.declared)
    features = settings.features
    records = PUBLIC.records(
        (DECLARED, settings.declared, features), lambda: table.records(features)
    )
    plan = LinearPlan(
        title=DECLARED,
        source=table,
        features=features,
        design=settings.linear_design,
        delta=Decimal(settings.delta),
    )
    return plan, records


def _make_number(settings: Settings) -> NumberCase:
    plan, records = plan_of_number(settings)
    return _aimed(
        NumberCase,
        settings=settings,
        records=records,
        design=plan.design,
        columns=plan.schema.features,
        plan=plan,
        moments=plan.moments_of(records),
    )


_NOT_PURE = (
    "A regression of a number releases several vectors and matrices. Under a pure ε each of them "
    "would need noise that grows with its dimension. Allow a small δ: then the noise is Gaussian, "
    "and (ε, δ) or zCDP counts it exactly."
)
_USUAL_GOAL = "Take the usual goal"
_CaseT = TypeVar("_CaseT", bound=AnyCase)


def _aimed(kind: type[_CaseT], **known: Any) -> _CaseT:
    """The case of these settings with their goal."""
    settings, records, columns = known["settings"], known["records"], known["columns"]
    place = place_of(settings, records)
    if settings.goal == "all":
        scale = settings.goal_length
        target = target_of_all(
            settings, records, columns, are_told=known["design"].measures != "score"
        )
    else:
        scale = unit_of(records, place, columns)
        target = make_target(settings, place, scale)
    return kind(**known, target=target, scale=scale)


def make_penalised(settings: Settings, source: TableSource) -> Case:
    """That of a table whose outcome has codes; raises as `make_case`."""
    chosen = single(settings)
    records = source.load(chosen, features=chosen.features)
    design = chosen.design(chosen.combinations[0])
    fitted = fit_target(records, design)
    plain = moments = source.store.moments(
        records, design.loss, chosen.c, fitted, with_spread=chosen.is_shaped
    )
    is_opened = False
    if chosen.is_shaped:
        design, moments, is_opened = _shape(chosen, records, plain, source.store)
    return _aimed(
        Case,
        settings=chosen,
        records=records,
        design=design,
        columns=columns_of(chosen, source),
        moments=moments,
        plain=plain,
        is_opened=is_opened,
    )


def _shape(
    settings: Settings, records: Records, plain: Moments, store: Store
) -> tuple[Design, Moments, bool]:
    """The design with its geometry, that of a plan that was opened or the one planned here; with
    the moments of rows that have its weights, and whether it was opened.
    """
    combination = settings.combinations[0]
    bare = settings.design(combination)
    fitted = fit_target(records, bare)

    def fit(geometry: Geometry) -> Moments:
        return store.moments(records, bare.loss, settings.c, fitted, geometry=geometry)

    opened = shape_of(settings.opened) if settings.opened else None
    if opened is not None and opened.goes_with(
        settings.dataset, records.feature_names, definition=settings.own_definition
    ):
        design = opened.on(bare)
        assert design.geometry is not None
        return design, fit(design.geometry), True

    def length(moments: Moments, design: Design) -> float:
        made = forecast(moments, design=design, n_draws=SEARCH_DRAWS)
        return made.ci_length_mean

    def make() -> tuple[Design, Moments]:
        try:
            first = designed(settings, combination, plain)
            if first.geometry is None:
                return bare, plain
            design, moments = with_room(plain, fit, design=first)
            is_free = not mechanism_of(bare).needs_metric
            if is_free and design != first and length(moments, design) >= length(plain, bare):
                return bare, plain
        except InfeasibleDesignError:  # told where the design itself is asked for
            return bare, plain
        return design, moments

    key = (records.digest, repr(bare), fitted)
    return (*store.shapes.get(key, make), False)


def place_of(settings: Settings, records: Records) -> int | None:
    """Which coefficient the goal is about; None for all of them or the mean, also where the named
    one is not in the table.
    """
    names = records.feature_names
    if settings.goal_on in names and settings.goal != "all":
        return names.index(settings.goal_on)
    return 0 if settings.goal == "zero" else None


def unit_of(records: Records, place: int | None, columns: Sequence[Column]) -> float:
    """Units of the goal, for the step of its column, per scaled unit; the mean and the constant,
    which mixes all units, stay scaled.
    """
    L = contrast_matrix(records, columns)
    if place is None or L is None or records.feature_names[place] == CONSTANT:
        return 1.0
    return float(L[place, place])


def target_of_all(
    settings: Settings, records: Records, columns: Sequence[Column], *, are_told: bool
) -> Target:
    """The goal about all effects: every interval is at most as long as asked.

    are_told: for the step of its column; else scaled.
    """
    k = len(records.feature_names) - 1
    units, L = np.ones(k), contrast_matrix(records, columns)
    if L is not None and are_told:
        units = np.abs(L.diagonal()[:k])
    try:
        limits = tuple(float(x) for x in settings.goal_length / units)
        return Target(limits=limits, probability=settings.goal_chance)
    except ValueError:
        raise _too_far(settings, settings.goal_length) from None


_CANNOT = (
    "The target cannot be {:g} here: in units of this coefficient's column that is too large, or "
    "too small, for any calculation."
)


def _too_far(settings: Settings, asked: float) -> RemediedError:
    return RemediedError(_CANNOT.format(asked), _USUAL_GOAL, settings.with_usual_goal())


def make_target(settings: Settings, place: int | None, scale: float) -> Target:
    """The goal of the settings, scaled.

    Raises:  RemediedError.
    """
    try:
        if settings.goal == "length":
            return Target(settings.goal_length / scale, place, probability=settings.goal_chance)
        value = settings.goal_value / scale
        return Target(coefficient=place, excludes_zero_at=value, probability=settings.goal_chance)
    except ValueError:
        asked = settings.goal_length if settings.goal == "length" else settings.goal_value
        raise _too_far(settings, asked) from None
