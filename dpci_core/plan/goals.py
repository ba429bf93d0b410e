"""The goal of a plan in words: what it asks, how likely a release meets it, whether one did."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from dpci_core.design import Design
from dpci_core.plan.base import AnyPlan, Planned
from dpci_core.plan.effects import unsure
from dpci_core.planner import Target
from dpci_core.regression.design import LinearDesign
from dpci_core.report.cautions import Caution
from dpci_core.report.effect_table import LARGEST_LOG_ODDS
from dpci_core.report.words import (
    MEAN_COUNTS_ALL,
    as_typed,
    called,
    foreseen_chance,
    number_at_most,
    percent,
    short,
)
from dpci_core.schema import Schema, to_original, told_steps


class Asking(Protocol):
    """What a goal is about: a plan, or a release of one."""

    @property
    def schema(self) -> Schema: ...
    @property
    def features(self) -> int | tuple[str, ...] | None: ...
    @property
    def design(self) -> Design | LinearDesign: ...
    @property
    def names(self) -> tuple[str, ...]: ...


def goals(plan: AnyPlan, numbers: Planned) -> list[str]:
    """Return the goal, if there is one, with the chance of it in the least favourable world."""
    if plan.goal is None:
        return []
    said = f"Goal: {goal_of(plan, plan.goal)}. {_chance(plan.goal, numbers)}"
    if plan.goal.limits is not None and numbers.promise.within_reach is not None:
        half = _half_of_all(plan, plan.goal.limits) * numbers.promise.within_reach
        often = f", in {percent(plan.goal.probability)} of releases"
        said += f" All of them at once{often}: within {_told_of_all(plan, half, _rounded_up)}."
    return [said]


def missed(plan: AnyPlan, numbers: Planned) -> tuple[Caution, ...]:
    """Return that the goal is missed, which a release asks consent for; empty where it is not."""
    if plan.goal is None or not _missed(plan.goal, numbers):
        return ()
    return (Caution("stops", *goals(plan, numbers)),)


def _missed(goal: Target, numbers: Planned) -> str:
    """That a goal is missed, since it is met too rarely or what it is about may not be reportable;
    a mean is about no effect.
    """
    declared = numbers.is_not_reportable
    is_lost = np.append(unsure(declared, numbers.promise), declared[-1])
    if goal.about(is_lost).any():
        return " The goal is missed: not all that it is about can be reported."
    is_rare = (numbers.promise.probability or 0.0) < goal.probability
    return " The goal is missed." if is_rare else ""


def _chance(goal: Target, numbers: Planned) -> str:
    promised, why = numbers.promise, _missed(goal, numbers)
    chance, where = foreseen_chance(promised.probability or 0.0, goal.probability), ""
    if len(promised.worlds) > 1:
        where = f" at the least, decided by this: {promised.probability_decided_by}"
    if goal.is_power:
        return f"The chance of it is {chance} by this forecast{where}.{why}"
    if goal.is_mean and numbers.is_not_reportable.any():
        why += f" {MEAN_COUNTS_ALL}"
    return f"By forecast {chance} of releases are that precise{where}.{why}"


def goal_of(asked: Asking, goal: Target) -> str:
    """Return a goal in the units of its column, as an odds ratio where the model has odds."""
    place = goal.coefficient
    measures = asked.design.measures
    if goal.limits is not None and measures != "score":
        return _all_goal(asked, goal, goal.limits)
    if place is None or place >= len(asked.names) - 1:
        return goal_words(goal, asked.names)
    name = asked.names[place]
    column = asked.schema.column_of(name)
    unit = column.step_size * float(to_original(asked.schema, asked.features)[place, place])
    size = (goal.excludes_zero_at if goal.length is None else goal.length / 2.0) or 0.0
    if measures != "odds" or abs(size * unit) > LARGEST_LOG_ODDS:
        return goal.told_of(f"the interval of {short(called(name))}", unit)
    factor = math.exp(size * unit)
    told = f"{column.per} of {short(column.subject(name))}".lstrip()
    if goal.is_power:
        chance = f"with probability {goal.probability:g} or more"
        return f"an odds ratio of {as_typed(factor)} {told} is told from 1 {chance}"
    surely = "" if goal.probability == 0.5 else f" with probability {goal.probability:g} or more"
    return f"the odds ratio {told} is known to within a factor of {as_typed(factor)}{surely}"


def _all_goal(asked: Asking, goal: Target, limits: tuple[float, ...]) -> str:
    """A goal about all effects: the widest factor, or difference, that it allows."""
    surely = "" if goal.probability == 0.5 else f" with probability {goal.probability:g} or more"
    what = "odds ratio" if asked.schema.outcome is None else "effect"
    told = _told_of_all(asked, float(f"{_half_of_all(asked, limits):.9g}"), as_typed)
    return f"every {what} is known to within {told}{surely}"


def _half_of_all(asked: Asking, limits: tuple[float, ...]) -> float:
    """Half the widest interval that limits of all effects allow, for the step of its column."""
    units = (
        np.array(told_steps(asked.schema, asked.names))
        * to_original(asked.schema, asked.features).diagonal()
    )
    return float(max(units[: len(limits)] * limits)) / 2.0


def _told_of_all(asked: Asking, half: float, tell: Callable[[float], str]) -> str:
    """How well effects are known."""
    if (outcome := asked.schema.outcome) is not None:
        return f"± {tell(half)} {short(outcome.units)}".rstrip()
    return f"a factor of {tell(float(f'{math.exp(min(half, LARGEST_LOG_ODDS)):.9g}'))}"


def _rounded_up(x: float) -> str:
    """As on the page where a design is chosen: no promise is better than what was found."""
    return number_at_most(x, 4)


def goal_words(goal: Target, names: tuple[str, ...]) -> str:
    """The goal in words, with the name of its coefficient."""
    if goal.coefficient is None:
        return goal.sentence
    return goal.told_of(f"the interval of {short(called(names[goal.coefficient]))}")
