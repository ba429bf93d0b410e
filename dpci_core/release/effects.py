"""What each released coefficient says, in sentences and in the units of the declared columns.

Only declarations and released numbers enter: the step of a number is declared, or comes from its
declared bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpci_core.release.record import Coefficient, Interval, Release
from dpci_core.report.cautions import not_reportable
from dpci_core.report.words import number, odds_alike
from dpci_core.schema import CONSTANT

_LARGEST_LOG_ODDS = 10.0
"""Beyond it a factor on the odds is a number that nobody can read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What one coefficient does, as people say it.

    name: of the coefficient.
    change: what changes, to stand before "all else equal".
    per: the same after "odds times 1.2".
    unit: what `per_unit` is per, to stand after it; empty for a level.
    step: by which the coefficient is multiplied, on the scale of the column's effects.
    by: its interval for that change: of log-odds, or of the score of an SVM.
    per_unit: its interval in original units.
    odds: the factor on the odds, None for an SVM and where nobody can read it.
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


def effects(release: Release) -> tuple[Effect, ...]:
    """Return the effect of every coefficient but the constant."""
    return tuple(_effect(c, release) for c in release.coefficients[:-1])


def _effect(c: Coefficient, release: Release) -> Effect:
    column = release.schema.column_of(c.name)
    step = column.told_step
    change, per, unit = column.change(c.name, release.features)
    by = scaled_by(c.original, step)
    is_readable = max(abs(by.low), abs(by.high)) <= _LARGEST_LOG_ODDS
    has_odds = release.design.loss.is_log_odds and is_readable
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


def effect_lines(release: Release) -> tuple[str, ...]:
    """Return one short line for each coefficient that is estimable from the release, the constant
    aside, as in "odds times 1.22 per 10 of pressure, 95 % interval 1.08 to 1.37".
    """
    return tuple(
        f"{_measured(effect, release)} {effect.per}, {_interval(effect, release)}"
        for effect in effects(release)
        if not effect.is_not_estimable
    )


def told_odds(release: Release) -> Callable[[float], str]:
    """How factors on the odds are told, with the same decimals in all of a release."""
    told = (e.odds for e in effects(release) if e.odds is not None and not e.is_not_estimable)
    return odds_alike((one.low, one.high) for one in told)


def _measured(effect: Effect, release: Release) -> str:
    if effect.odds is not None:
        return f"odds times {told_odds(release)(effect.odds.estimate)}"
    kind = "log-odds" if release.design.loss.is_log_odds else "score"
    return f"{kind} {number(effect.by.estimate)} more"


def _interval(effect: Effect, release: Release) -> str:
    ends = effect.odds or effect.by
    told = number if effect.odds is None else told_odds(release)
    level = f"{100.0 * release.design.confidence_level:.10g} %"
    return f"{level} interval {told(ends.low)} to {told(ends.high)}"


def effect_sentences(release: Release) -> tuple[str, ...]:
    """Return one sentence for each coefficient, the intercept last.

    The factor on the odds and the log-odds of a logistic model; the score of an SVM. Where the
    coefficient is not estimable, the sentence says so and holds no number.
    """
    told = [
        not_reportable([effect.name]) if effect.is_not_estimable else _moves(effect, release)
        for effect in effects(release)
    ]
    return (
        *told,
        not_reportable([CONSTANT])
        if release.coefficients[-1].is_not_estimable
        else _start(release),
    )


def _moves(effect: Effect, release: Release) -> str:
    """What a change does, all else equal, and whether its direction is known."""
    by, unit = effect.by, effect.per_unit
    if by.low > 0.0:
        sure = f"It points towards {_outcome(release)}."
    elif by.high < 0.0:
        sure = f"It points away from {_outcome(release)}."
    else:
        sure = "The interval contains zero: the direction is not established."
    ends = f"between {number(unit.low)} and {number(unit.high)}"
    coefficient = f"{_measure(release, 'change')} by {number(unit.estimate)}{effect.unit}, {ends}"
    told = f"{effect.change}, all else equal: {_measured(effect, release)}, "
    return f"{told}{_interval(effect, release)}. {_capital(coefficient)}. {sure}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _start(release: Release) -> str:
    """The intercept: where all numbers are 0 and all levels those that have no coefficient."""
    at = release.coefficients[-1].original
    ends = f"between {number(at.low)} and {number(at.high)}"
    ones = " (1 where the logarithm is taken)" if release.schema.transformations.logarithms else ""
    return (
        f"Intercept: {_measure(release, 'are')} {number(at.estimate)}, {ends}, for a row whose "
        f"numbers are all 0{ones} and whose levels have no coefficient of their own; perhaps no "
        "such row exists."
    )


def _measure(release: Release, verb: str) -> str:
    """What the model adds up, with its verb in the right number."""
    if release.design.loss.is_log_odds:
        return f"the log-odds of {_outcome(release)} {verb}"
    return f"the score for {_outcome(release)} {'is' if verb == 'are' else f'{verb}s'}"


def _outcome(release: Release) -> str:
    return f"{release.schema.target} = {release.schema.positive}"


def reading_sentence(release: Release) -> str:
    """What the numbers are measured in."""
    outcome = _outcome(release)
    if release.design.loss.is_log_odds:
        return (
            f"Log-odds of 0 are a chance of one half that {outcome}; each more multiplies the odds "
            "by e, about 2.72. A coefficient compares rows; it does not say that one thing causes "
            "another."
        )
    return (
        f"The model says {outcome} where the score is above 0. Rows with a score beyond 1 or -1 "
        "lie clear of the boundary. A score is no chance, and its size has a meaning only beside "
        "other scores of this model. A coefficient describes rows beside each other; it is no "
        "claim of a cause."
    )
