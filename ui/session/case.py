"""One design and one goal under the settings, with the moments to plan by. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core import InfeasibleDesignError, Moments, Target, forecast
from dpci_core.design import Design, Geometry
from dpci_core.plan.base import N_TOLERANCE
from dpci_core.planner import shaped, with_room
from dpci_core.planner.amounts import SEARCH_DRAWS, with_total
from dpci_core.planner.promise import fewest_records
from dpci_core.schema import CONSTANT, Column, Records
from ui.session.compute import (
    DECLARED,
    Store,
    TableSource,
    columns_of,
    contrast_matrix,
    declared_table,
    designed,
    fit_target,
)
from ui.session.settings import Settings
from ui.session.shape import shape_of


class PrecisionError(ValueError):
    """A goal that cannot be computed with in the units of its coefficient; the message is for
    people.
    """


@dataclass(frozen=True)
class Case:
    """One design under these settings with the moments to plan by, and the goal in the scale of the
    moments.

    moments: of rows with the weights of the design's geometry, where it has one.
    plain: of rows that count in full, with what noise is shaped by where that is asked for.
    is_opened: whether the geometry is that of a plan that was opened.
    scale: what a length of the target is multiplied by to be in the units of the goal.
    columns: of the table, with the steps that effects are told for; none for a named set.
    """

    settings: Settings
    records: Records
    moments: Moments
    design: Design
    target: Target
    scale: float
    plain: Moments
    columns: tuple[Column, ...] = ()
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
        complete = 1.0
        if self.settings.dataset == DECLARED:
            complete = declared_table(self.settings.declared).schema.complete
        elif self.settings.dataset != "upload":
            return n_records
        return fewest_records(n_records - int(N_TOLERANCE * n_records), complete)

    @property
    def at_fewest(self) -> Design:
        """The design with the fewest records, for which everything is solved."""
        return replace(self.design, n_records=self.fewest)


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


def make_case(settings: Settings, source: TableSource) -> Case:
    """Fit the table of these settings and say the goal in its terms.

    Raises:  what loading and fitting raise; PrecisionError; ValueError where the settings allow no
             design.
    """
    chosen = single(settings)
    records = source.load(chosen, features=chosen.names or chosen.d)
    design = chosen.design(chosen.combinations[0])
    fitted = fit_target(records, design)
    plain = moments = source.store.moments(
        records, design.loss, chosen.c, fitted, with_spread=chosen.is_shaped
    )
    is_opened = False
    if chosen.is_shaped:
        design, moments, is_opened = _shape(chosen, records, plain, source.store)
    place = place_of(chosen, records)
    columns = columns_of(chosen, source)
    if chosen.goal == "all":
        scale, target = chosen.goal_length, target_of_all(chosen, records, columns)
    else:
        scale = unit_of(records, place, columns)
        target = make_target(chosen, place, scale)
    return Case(
        chosen, records, moments, design, target, scale, plain, columns, is_opened=is_opened
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
            if design != first and length(moments, design) >= length(plain, bare):
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


def target_of_all(settings: Settings, records: Records, columns: Sequence[Column]) -> Target:
    """The goal about all effects: every interval is at most as long as asked, as log odds for the
    step of its column, or scaled where there are no odds.
    """
    k = len(records.feature_names) - 1
    units, L = np.ones(k), contrast_matrix(records, columns)
    if L is not None and settings.loss(settings.losses[0]).is_log_odds:
        units = np.abs(L.diagonal()[:k])
    try:
        limits = tuple(float(x) for x in settings.goal_length / units)
        return Target(limits=limits, probability=settings.goal_chance)
    except ValueError:
        raise PrecisionError(_CANNOT.format(settings.goal_length)) from None


_CANNOT = (
    "The target cannot be {:g} here: in units of this coefficient's column that is too large, or "
    "too small, for any calculation."
)


def make_target(settings: Settings, place: int | None, scale: float) -> Target:
    """The goal of the settings, scaled.

    Raises:  PrecisionError.
    """
    try:
        if settings.goal == "length":
            return Target(settings.goal_length / scale, place, probability=settings.goal_chance)
        value = settings.goal_value / scale
        return Target(coefficient=place, excludes_zero_at=value, probability=settings.goal_chance)
    except ValueError:
        asked = settings.goal_length if settings.goal == "length" else settings.goal_value
        raise PrecisionError(_CANNOT.format(asked)) from None
