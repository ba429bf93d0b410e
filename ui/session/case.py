"""One design and one goal under the settings, with the moments to plan by. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpci_core import Moments, Target
from dpci_core.design import Design
from dpci_core.schema import CONSTANT, Column, Records
from ui.session.compute import TableSource, columns_of, fit_target, told_in
from ui.session.settings import Settings


class PrecisionError(ValueError):
    """A goal that cannot be computed with in the units of its coefficient; the message is for
    people.
    """


@dataclass(frozen=True)
class Case:
    """One design under these settings with the moments to plan by, and the goal in the scale of the
    moments.

    scale: what a scaled length is multiplied by to be in the units of the goal.
    columns: of the table, with the steps that effects are told for; none for a named set.
    """

    settings: Settings
    records: Records
    moments: Moments
    design: Design
    target: Target
    scale: float
    columns: tuple[Column, ...] = ()

    @property
    def n(self) -> int:
        """Records planned for."""
        return self.settings.n


def single(settings: Settings) -> Settings:
    """The settings with one combination: the budget's own definition and the first of everything
    else chosen.
    """
    first = settings.combinations[0]
    return replace(
        settings,
        encoding="schema",
        definitions=(settings.own_definition,),
        mechanisms=(first.mechanism,),
        losses=(first.loss,),
        calibrations=(first.calibration,),
        noise="even",
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
    moments = source.store.moments(records, design.loss, chosen.c, fitted)
    place = place_of(chosen, records)
    columns = columns_of(chosen, source)
    scale = unit_of(records, place, columns)
    target = make_target(chosen, place, scale)
    return Case(chosen, records, moments, design, target, scale, columns)


def place_of(settings: Settings, records: Records) -> int | None:
    """Which coefficient the goal is about; None for the mean, also where the named one is not in
    the table.
    """
    names = records.feature_names
    if settings.goal_on in names:
        return names.index(settings.goal_on)
    return None if settings.goal == "length" else 0


def unit_of(records: Records, place: int | None, columns: Sequence[Column]) -> float:
    """Units of the goal, for the step of its column, per scaled unit; the mean and the constant,
    which mixes all units, stay scaled.
    """
    L = told_in(records, columns)
    if place is None or L is None or records.feature_names[place] == CONSTANT:
        return 1.0
    return float(L[place, place])


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
        raise PrecisionError(
            f"The target cannot be {asked:g} here: in units of this coefficient's column that is "
            "too large, or too small, for any calculation."
        ) from None
