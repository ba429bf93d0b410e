"""What somebody needs from the intervals, in words: odds ratios for the step of a column where the
model has odds.
"""

from __future__ import annotations

import math
from dataclasses import replace

from dpci_core.base.errors import expect
from dpci_core.report.words import as_typed
from dpci_core.schema import CONSTANT
from ui.session import text
from ui.session.case import Case, place_of
from ui.session.settings import LIMITS, Settings

_LARGEST_LOG_ODDS = 10.0
LARGEST_FACTOR = 1e4
"""Of a control; what is wider is told as log odds."""


def has_odds(case: Case) -> bool:
    """Whether the goal is about a factor on odds: not of the mean, of the intercept, of an SVM."""
    if case.settings.goal == "all":
        return case.records.to_original is not None and case.design.loss.is_log_odds
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
    if settings.goal == "all":
        surely = "" if settings.goal_chance == 0.5 else chance_words(settings)
        return precision_words(case, settings.goal_length) + surely
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


def precision_words(case: Case, value: float) -> str:
    """A goal of the kind asked for, with another number; in the units of the settings."""
    settings, shown = case.settings, as_number(case, value)
    number_words = text.number(value) if shown is None else text.as_typed(shown)
    if settings.goal == "all":
        if shown is None or not has_odds(case):
            return f"every interval at most {number_words} long ({_unit_of_all(case)})"
        return f"every odds ratio to within a factor of {number_words}"
    return goal_words(
        replace(case, settings=replace(settings, goal_length=value, goal_value=value))
    )


def _unit_of_all(case: Case) -> str:
    return "log odds" if has_odds(case) else "scaled coefficients"


def as_number(case: Case, value: float) -> float | None:
    """A number of the goal as it is typed: an odds ratio, or the factor of an interval, where there
    are odds; None for one that no control holds.
    """
    if not has_odds(case):
        return value
    try:
        found = float(f"{math.exp(value if case.settings.goal == 'zero' else value / 2.0):.9g}")
    except OverflowError:
        return None
    return found if found <= LARGEST_FACTOR else None


def found_words(case: Case, value: float) -> str:
    """A number of the goal that was found, rounded up: no promise is better than what was found."""
    shown = as_number(case, value)
    if shown is None:
        return f"more than {LARGEST_FACTOR:,.0f}"
    return text.number_at_most(shown, 4) if shown > 0 else text.number(shown, 4)


def from_number(case: Case, typed: float | None) -> dict[str, float]:
    """The setting that a typed number is.

    Raises:  ValueError in words.
    """
    odds, goal = has_odds(case), case.settings.goal
    name = "goal_value" if goal == "zero" else "goal_length"
    if typed is None:
        what = "the odds ratio" if odds and goal == "zero" else "the factor"
        raise ValueError(f"Type {what if odds else 'the number'}.")
    if odds:
        expect(
            goal != "zero" or 0 < typed != 1,
            "The odds ratio has to be above 0 and another than 1.",
        )
        expect(goal == "zero" or typed > 1, "The factor has to be above 1.")
        value = math.log(typed) * (1.0 if goal == "zero" else 2.0)
    else:
        value = float(typed)
        if value == 0 or (goal != "zero" and value < 0):
            rule = "another number than 0" if goal == "zero" else "a length above 0"
            raise ValueError(f"Give {rule}.")
    low, high = LIMITS[name]
    expect(low <= value <= high, "Give a number up to a thousand million.")
    return {name: float(f"{value:.12g}")}


def label(case: Case) -> str:
    """What the number of a goal is, over its control."""
    settings, odds = case.settings, has_odds(case)
    place = place_of(settings, case.records)
    if settings.goal == "all":
        return "Every odds ratio to within ×/÷" if odds else "Every interval at most (scaled)"
    if place is None:
        return "Mean interval at most (scaled)"
    effect = effect_words(case, case.records.feature_names[place])
    if settings.goal == "zero":
        return f"{'Odds ratio' if odds else 'Effect'} to detect, of {effect}"
    return f"Odds ratio of {effect}, to within ×/÷" if odds else f"Interval of {effect}, at most"
