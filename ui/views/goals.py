"""What somebody needs from the intervals, in words: odds ratios for the step of a column where the
model has odds.
"""

from __future__ import annotations

import math

from dpci_core.report.words import as_typed
from dpci_core.schema import CONSTANT
from ui.session.case import Case, place_of
from ui.session.compute import DECLARED
from ui.session.settings import PRECISION, Settings
from ui.session.text import number

_LARGEST_LOG_ODDS = 10.0


def is_set(settings: Settings) -> bool:
    """Whether somebody said what the intervals are for; of a described table nobody did at
    first."""
    return settings.dataset != DECLARED or settings != settings.usual(*PRECISION)


def has_odds(case: Case) -> bool:
    """Whether the goal is about a factor on odds: not of the mean, of the intercept, of an SVM."""
    place = place_of(case.settings, case.records)
    return (
        place is not None
        and case.records.to_original is not None
        and case.records.feature_names[place] != CONSTANT
        and case.design.loss.is_log_odds
    )


def effect_words(case: Case, name: str) -> str:
    """The effect of a coefficient with what it is told for."""
    if name == CONSTANT:
        return "intercept, scaled"
    column = next((c for c in case.columns if name in c.feature_names), None)
    if column is not None:
        return column.contrast(name)
    return name if "=" in name else f"{name}, per unit"


def unit_words(case: Case) -> str:
    """Units of the asked length or value."""
    settings, records = case.settings, case.records
    place = place_of(settings, records)
    what = settings.loss(settings.losses[0]).effect
    if place is None or records.to_original is None or records.feature_names[place] == CONSTANT:
        return "scaled coefficient"
    name = records.feature_names[place]
    column = next((c for c in case.columns if name in c.feature_names), None)
    if column is not None and column.per:
        return f"{what} {column.per} of “{column.subject(name)}”"
    return (
        f"{what}, “{name}” against its reference" if "=" in name else f"{what} per unit of “{name}”"
    )


def goal_words(case: Case) -> str:
    """The goal as a sentence without its full stop."""
    settings, place = case.settings, place_of(case.settings, case.records)
    if place is None:
        return (
            f"mean interval at most {as_typed(settings.goal_length)} long (scaled "
            "coefficients)" + ("" if settings.goal_chance == 0.5 else chance_words(settings))
        )
    effect = effect_words(case, case.records.feature_names[place])
    if settings.goal == "zero":
        value = settings.goal_value
        told = (
            f"an odds ratio of {as_typed(math.exp(value))}"
            if has_odds(case) and abs(value) <= _LARGEST_LOG_ODDS
            else f"an effect of {as_typed(value)} ({unit_words(case)})"
        )
        return f"detect {told} of {effect}{chance_words(settings)}"
    if has_odds(case) and settings.goal_length <= 2 * _LARGEST_LOG_ODDS:
        factor = as_typed(math.exp(settings.goal_length / 2.0))
        told = f"know the odds ratio of {effect} to within a factor of {factor}"
    else:
        told = f"interval of {effect} at most {as_typed(settings.goal_length)} long"
    return told + ("" if settings.goal_chance == 0.5 else chance_words(settings))


def chance_words(settings: Settings) -> str:
    """How surely."""
    return f" with {100 * settings.goal_chance:g} % chance"


def interval_words(case: Case, length: float) -> str:
    """An expected interval of the goal's coefficient, or the mean length; `length` in the units of
    the goal.
    """
    half = length / 2.0
    if not has_odds(case) or half > _LARGEST_LOG_ODDS:
        place = place_of(case.settings, case.records)
        what = "Mean interval" if place is None else "Interval"
        return f"{what} {number(length)} long ({unit_words(case)})"
    factor = math.exp(half)
    if case.settings.goal != "zero" or abs(case.settings.goal_value) > _LARGEST_LOG_ODDS:
        return f"Odds ratio to within a factor of {number(factor)}"
    asked = math.exp(case.settings.goal_value)
    return (
        f"An odds ratio of {as_typed(asked)} would read {number(asked / factor)} to "
        f"{number(asked * factor)}"
    )
