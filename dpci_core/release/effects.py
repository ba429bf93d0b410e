"""What each released coefficient says, in sentences and in the units of the declared columns.

Only declarations and released numbers enter: the step of a number is declared, or comes from its
declared bounds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from dpci_core.design import Design, Measures
from dpci_core.plan.effects import effect_name, scale_of
from dpci_core.plan.goals import goal_of
from dpci_core.planner import Target
from dpci_core.regression.design import LinearDesign
from dpci_core.release.record import AnyRelease, Coefficient, Interval
from dpci_core.report.cautions import not_reportable
from dpci_core.report.effect_table import (
    LARGEST_LOG_ODDS,
    EffectRow,
    EffectTable,
    tell_alike,
)
from dpci_core.report.words import MEAN_COUNTS_ALL, number, odds_alike
from dpci_core.schema import CONSTANT, Schema


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What one coefficient does, as people say it.

    name: of the coefficient.
    change: what changes, to stand before "all else equal".
    per: the same after "odds times 1.2".
    unit: what `per_unit` is per, to stand after it; empty for a level.
    step: by which the coefficient is multiplied, on the scale of the column's effects.
    by: its interval for that change: of log-odds, of the score of an SVM, or of a number.
    per_unit: its interval in original units.
    odds: the factor on the odds; None where there is none, and where nobody can read it.
    is_not_estimable: whether the release cannot estimate it.
    """

    name: str
    change: str
    per: str
    unit: str
    step: float
    by: Interval
    per_unit: Interval
    odds: Interval | None
    is_not_estimable: bool


class Estimated(Protocol):
    """What has effects: a release, or one that was rehearsed."""

    @property
    def schema(self) -> Schema: ...
    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def design(self) -> Design | LinearDesign: ...
    @property
    def coefficients(self) -> tuple[Coefficient, ...]: ...
    @property
    def not_reportable(self) -> tuple[str, ...]: ...


def effects(release: Estimated) -> tuple[Effect, ...]:
    """Return the effect of every coefficient but the constant."""
    return tuple(_effect(c, release) for c in release.coefficients[:-1])


def _effect(c: Coefficient, release: Estimated) -> Effect:
    column = release.schema.column_of(c.name)
    step = column.told_step
    change, per, unit = column.change(c.name, release.features)
    by = scaled_by(c.original, step)
    is_readable = max(abs(by.low), abs(by.high)) <= LARGEST_LOG_ODDS
    has_odds = release.design.measures == "odds" and is_readable
    return Effect(
        name=c.name,
        change=change,
        per=per,
        unit=unit,
        step=step,
        by=by,
        per_unit=c.original,
        odds=_exp(by) if has_odds else None,
        is_not_estimable=c.is_not_estimable,
    )


def scaled_by(interval: Interval, step: float) -> Interval:
    """The interval of so many times the coefficient."""
    return Interval(
        estimate=interval.estimate * step, low=interval.low * step, high=interval.high * step
    )


def _exp(interval: Interval) -> Interval:
    low, middle, high = map(math.exp, (interval.low, interval.estimate, interval.high))
    return Interval(estimate=middle, low=low, high=high)


def effect_table(release: Estimated) -> EffectTable:
    """Return the effects of a release as the table of a paper has them.

    What privacy added to a length is not told: where it is much, the part of sampling by the
    released matrices may be a third of what it is, or twice as much.
    """
    schema, design = release.schema, release.design
    rows = []
    for effect, c in zip(effects(release), release.coefficients, strict=False):
        name, label = effect_name(schema, release.features, c.name)
        by = effect.by
        rows.append(
            EffectRow(
                name=name,
                label=label,
                interval=(by.estimate, by.low, by.high),
                half=by.length / 2.0,
                without=0.0,
                reason=why_not(c, release),
            )
        )
    return EffectTable(
        rows=tuple(rows),
        outcome=schema.outcome_words,
        level=design.confidence_level,
        scale=scale_of(design.measures, schema),
    )


def acceptance(release: AnyRelease) -> str:
    """Whether a release meets the rule of its plan, in words; empty without one."""
    rule = release.publish_if
    return "" if rule is None else rule.verdict(effect_table(release))


def against_goal(release: AnyRelease) -> str:
    """Whether the intervals of a release are as short as its plan asked, in words; empty without a
    goal, and for one of power, which no single release can show.
    """
    asked = release.goal
    if asked is None or asked.target.is_power:
        return ""
    goal = replace(asked.target, probability=0.5)  # of this one release no chance is told
    named = f"The goal of the plan, that {goal_of(release, goal)},"
    is_any_lost = any(c.is_not_estimable for c in release.coefficients)
    counted = f" {MEAN_COUNTS_ALL}" if goal.is_mean and is_any_lost else ""
    if not _meets(release.coefficients, goal):
        return f"{named} is missed by this release.{counted}"
    luck = "" if asked.is_promised else ", though the plan could not promise it for every table"
    return f"{named} is met by this release{luck}.{counted}"


def _meets(coefficients: tuple[Coefficient, ...], goal: Target) -> bool:
    """Whether released lengths are as short as was asked, and reported where single ones are
    meant.
    """
    if goal.limits is not None:
        found = zip(coefficients, goal.limits, strict=False)
        return all(not c.is_not_estimable and c.scaled.length <= most for c, most in found)
    assert goal.length is not None
    if goal.coefficient is not None:
        one = coefficients[goal.coefficient]
        return not one.is_not_estimable and one.scaled.length <= goal.length
    return sum(c.scaled.length for c in coefficients) / len(coefficients) <= goal.length


def why_not(c: Coefficient, release: Estimated) -> str:
    """Why a coefficient is not reportable; empty where it is."""
    if not c.is_not_estimable:
        return ""
    scale = scale_of(release.design.measures, release.schema)
    return scale.planned_reason if c.name in release.not_reportable else scale.drawn_reason


def effect_lines(release: AnyRelease) -> tuple[str, ...]:
    """Return one short line for each coefficient that is estimable from the release, the constant
    aside, as in "odds times 1.22 per 10 of pressure, 95 % interval 1.08 to 1.37".
    """
    words = _words_of(release)
    return tuple(
        f"{words.measured(effect)} {effect.per}, {words.interval(effect)}"
        for effect in effects(release)
        if not effect.is_not_estimable
    )


def told_odds(release: AnyRelease) -> Callable[[float], str]:
    """How factors on the odds are told, with the same decimals in all of a release."""
    told = (e.odds for e in effects(release) if e.odds is not None and not e.is_not_estimable)
    return odds_alike((one.low, one.high) for one in told)


def effect_sentences(release: AnyRelease) -> tuple[str, ...]:
    """Return one sentence for each coefficient, the intercept last.

    The factor on the odds and the log-odds of a logistic model; the score of an SVM; the difference
    of a number. Where the coefficient is not estimable, the sentence says so and holds no number.
    """
    words = _words_of(release)
    told = [
        not_reportable([effect.name]) if effect.is_not_estimable else _moves(effect, words)
        for effect in effects(release)
    ]
    return (
        *told,
        not_reportable([CONSTANT])
        if release.coefficients[-1].is_not_estimable
        else _start(release, words),
    )


def _moves(effect: Effect, words: _Words) -> str:
    """What a change does, all else equal, and whether its direction is known."""
    by, unit = effect.by, effect.per_unit
    sure = words.direction(by)
    ends = f"between {number(unit.low)} and {number(unit.high)}"
    coefficient = f"{words.sum('change')} by {number(unit.estimate)}{effect.unit}, {ends}"
    told = f"{effect.change}, all else equal: {words.measured(effect)}, "
    return f"{told}{words.interval(effect)}. {_capital(coefficient)}. {sure}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _start(release: AnyRelease, words: _Words) -> str:
    """The intercept: where all numbers are 0 and all levels those that have no coefficient."""
    at = release.coefficients[-1].original
    ends = f"between {number(at.low)} and {number(at.high)}"
    ones = " (1 where the logarithm is taken)" if release.schema.transformations.logarithms else ""
    return (
        f"Intercept: {words.sum('are')} {number(at.estimate)}, {ends}, for a row whose "
        f"numbers are all 0{ones} and whose levels have no coefficient of their own; perhaps no "
        "such row exists."
    )


def reading_sentence(release: AnyRelease) -> str:
    """What the numbers are measured in."""
    return _words_of(release).reading


def _words_of(release: AnyRelease) -> _Words:
    return _WORDS[release.design.measures](release)


@dataclass(frozen=True, slots=True)
class _Words(ABC):
    """How the effects of a release are worded."""

    release: AnyRelease

    @property
    def outcome(self) -> str:
        """What effects are on."""
        return self.release.schema.outcome_words

    @abstractmethod
    def measured(self, effect: Effect) -> str:
        """The estimate, to stand before what it is per."""

    @abstractmethod
    def ends(self, effect: Effect) -> str:
        """The ends of its interval."""

    def interval(self, effect: Effect) -> str:
        """Its interval with the level."""
        return f"{100.0 * self.release.design.confidence_level:.10g} % interval {self.ends(effect)}"

    @abstractmethod
    def sum(self, verb: str) -> str:
        """What the model adds up, with its verb in the right number."""

    def direction(self, by: Interval) -> str:
        """Whether the direction is known."""
        if by.low > 0.0:
            return f"It points towards {self.outcome}."
        if by.high < 0.0:
            return f"It points away from {self.outcome}."
        return "The interval contains zero: the direction is not established."

    @property
    @abstractmethod
    def reading(self) -> str:
        """What the numbers are measured in."""


class _OfScores(_Words):
    """Of an SVM."""

    def measured(self, effect: Effect) -> str:
        return f"score {number(effect.by.estimate)} more"

    def ends(self, effect: Effect) -> str:
        return f"{number(effect.by.low)} to {number(effect.by.high)}"

    def sum(self, verb: str) -> str:
        return f"the score for {self.outcome} {'is' if verb == 'are' else f'{verb}s'}"

    @property
    def reading(self) -> str:
        return (
            f"The model says {self.outcome} where the score is above 0. Rows with a score beyond 1 "
            "or -1 lie clear of the boundary. A score is no chance, and its size has a meaning "
            "only beside other scores of this model. A coefficient describes rows beside each "
            "other; it is no claim of a cause."
        )


class _OfOdds(_OfScores):
    """Of a logistic model; log-odds where nobody could read a factor."""

    def measured(self, effect: Effect) -> str:
        if effect.odds is None:
            return f"log-odds {number(effect.by.estimate)} more"
        return f"odds times {told_odds(self.release)(effect.odds.estimate)}"

    def ends(self, effect: Effect) -> str:
        if effect.odds is None:
            return _OfScores.ends(self, effect)
        told = told_odds(self.release)
        return f"{told(effect.odds.low)} to {told(effect.odds.high)}"

    def sum(self, verb: str) -> str:
        return f"the log-odds of {self.outcome} {verb}"

    @property
    def reading(self) -> str:
        return (
            f"An odds ratio of 1.2 makes the odds of {self.outcome}, its chance against the "
            "opposite, 1.2 times as high; 1 leaves them as they are. It compares records that are "
            "alike in everything else; it does not say that one thing causes another."
        )


class _OfNumbers(_Words):
    """Of a linear regression, in units of the outcome: "4.1 mmHg more"."""

    @property
    def units(self) -> str:
        """Of the outcome, before which a number stands."""
        outcome = self.release.schema.outcome
        return "" if outcome is None or not outcome.units else f" {outcome.units}"

    def measured(self, effect: Effect) -> str:
        x, tell = effect.by.estimate, tell_alike(effect.by.length)
        return f"{tell(abs(x))}{self.units} {'less' if x < 0.0 else 'more'}"

    def ends(self, effect: Effect) -> str:
        """Away from 0 as the estimate is, so that "less" need not be said again."""
        by, tell = effect.by, tell_alike(effect.by.length)
        if by.low <= 0.0 <= by.high:
            return f"{tell(-by.low)} less to {tell(by.high)} more"
        low, high = sorted((abs(by.low), abs(by.high)))
        return f"{tell(low)} to {tell(high)}"

    def sum(self, verb: str) -> str:
        return f"{self.outcome} {'is' if verb == 'are' else f'{verb}s'}"

    def direction(self, by: Interval) -> str:
        if by.low <= 0.0 <= by.high:
            return _Words.direction(self, by)
        return f"It goes with {'higher' if by.low > 0.0 else 'lower'} {self.outcome}."

    @property
    def reading(self) -> str:
        return (
            f"A coefficient says by how many{self.units or ' units'} the mean of {self.outcome} "
            "differs between rows that differ in this column alone. It compares rows; it does not "
            "say that one thing causes another."
        )


_WORDS: dict[Measures, type[_Words]] = {
    "odds": _OfOdds,
    "score": _OfScores,
    "outcome": _OfNumbers,
}
