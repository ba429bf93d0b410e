"""What somebody needs from the intervals, in words: odds ratios for the step of a column where the
model has odds, units of an outcome that is a number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, ROUND_UP, Context
from statistics import NormalDist

from dpci_core.base.errors import expect
from dpci_core.intervals.forecast import LARGEST_WIDTH, TOLD_LEVEL
from dpci_core.report.words import as_typed, called, plainly
from dpci_core.schema import CONSTANT
from ui.session import text
from ui.session.case import AnyCase, place_of
from ui.session.settings import LIMITS, Settings

_LARGEST_LOG_ODDS = 10.0
LARGEST_FACTOR = 1e4
"""Of a control; what is wider is told as log odds."""
_ONE_SCALE = "columns on one scale"
_MOST_STEPS = 6
"""Of columns that are told with a goal."""


@dataclass(frozen=True, slots=True)
class Told:
    """How the number of a goal is typed and told; this one as it is computed with, a length in log
    odds or scores, or of scaled coefficients.

    unit: of lengths.
    """

    unit: str
    what = "the number"
    """That is typed."""
    all_words = "every interval at most {} long ({unit})"
    all_label = "Every interval at most (one scale)"
    one_words = "interval of {effect} at most {} long"
    one_label = "Interval of {effect}, at most"
    asks = asks_all = "Longest acceptable interval ({unit})"
    note = "The whole length, from the lower to the upper end. An estimate ± 0.1 is 0.2 long."
    example = ""
    is_factor = False

    def shown(self, length: float) -> float | None:
        """A length as it is typed; None for one that no control holds."""
        return length

    def length(self, typed: float) -> float:
        """The length that a typed number is.

        Raises:  ValueError in words.
        """
        expect(typed > 0, "Give a length above 0.")
        return typed

    def is_told(self, length: float) -> bool:
        """Whether people can read a length so."""
        return True


class _Within(Told):
    """A difference of a number to within so many of its units."""

    __slots__ = ()
    all_words = "every effect to within ± {} {unit}"
    all_label = "Every effect to within ± ({unit})"
    one_words = "know the effect of {effect} to within ± {} {unit}"
    one_label = "Effect of {effect}, to within ± ({unit})"
    asks = asks_all = "To within ± ({unit})"
    note = (
        "An effect of 4 to within ± 1.5 reads 2.5 to 5.5. Of a number it is that of the step of "
        "its column."
    )

    def shown(self, length: float) -> float | None:
        return length / 2.0

    def length(self, typed: float) -> float:
        return 2.0 * Told.length(self, typed)


class _Odds(Told):
    """An odds ratio to within a factor."""

    __slots__ = ()
    what = "the factor"
    all_words = "every odds ratio to within a factor of {}"
    all_label = "Every odds ratio to within ×/÷"
    one_words = "know the odds ratio of {effect} to within a factor of {}"
    one_label = "Odds ratio of {effect}, to within ×/÷"
    asks = "Know it to within a factor of"
    asks_all = "Know every odds ratio to within a factor of"
    note = "An odds ratio of 1.2 to within a factor of 1.5 reads 0.8 to 1.8."
    example = "1.5"
    is_factor = True

    def shown(self, length: float) -> float | None:
        return _factor(length / 2.0)

    def length(self, typed: float) -> float:
        expect(typed > 1, "The factor has to be above 1.")
        return 2.0 * math.log(typed)

    def is_told(self, length: float) -> bool:
        return length <= 2 * _LARGEST_LOG_ODDS


def _factor(log_odds: float) -> float | None:
    try:
        found = float(f"{math.exp(log_odds):.9g}")
    except OverflowError:
        return None
    return found if found <= LARGEST_FACTOR else None


_TOLD: dict[str, type[Told]] = {"odds": _Odds, "outcome": _Within, "score": Told}


def told(case: AnyCase) -> Told:
    """How the goal of a case is told: by what its effects are, but for the mean, the intercept, and
    columns without a way back to their units.
    """
    kind, place = _TOLD[case.design.measures], place_of(case.settings, case.records)
    is_effect = place is not None and case.names[place] != CONSTANT
    is_of_all = case.settings.goal == "all" and kind is not Told
    if case.records.to_original is None or not (is_effect or is_of_all):
        kind = Told
    unit = case.effect
    if kind is Told:
        unit = _ONE_SCALE if case.settings.goal == "all" else unit_words(case)
    return kind(unit)


def most_factor(case: AnyCase) -> float:
    """The largest factor to within which an odds ratio can be asked for, rounded down: what reaches
    further is never reported (`MOST_ODDS`). That is fixed at level 95 %, and carried to the level
    of the case by the normal law.
    """
    level = case.design.confidence_level
    own, usual = (NormalDist().inv_cdf((1.0 + at) / 2.0) for at in (level, TOLD_LEVEL))
    return math.floor(100.0 * math.exp(LARGEST_WIDTH / 2.0 * own / usual)) / 100.0


def has_odds(case: AnyCase) -> bool:
    """Whether the goal is about a factor on odds: not of the mean, of the intercept, of an SVM."""
    return told(case).is_factor


def effect_words(case: AnyCase, name: str) -> str:
    """The effect of a coefficient with what it is told for."""
    if name == CONSTANT:
        return "intercept (columns on one scale)"
    column = next((c for c in case.columns if name in c.feature_names), None)
    if column is not None:
        return plainly(column.contrast(name))
    return called(name) if "=" in name else f"{plainly(name)}, per unit"


def unit_words(case: AnyCase) -> str:
    """Units of the asked length or value."""
    place = place_of(case.settings, case.records)
    if place is None or case.records.to_original is None or case.names[place] == CONSTANT:
        return _ONE_SCALE
    name = case.names[place]
    column = next((c for c in case.columns if name in c.feature_names), None)
    if column is not None and column.per:
        return f"{case.effect} {column.per} of “{plainly(column.subject(name))}”"
    if "=" in name:
        return f"{case.effect}, “{called(name)}” against its reference"
    return f"{case.effect} per unit of “{plainly(name)}”"


def goal_words(case: AnyCase) -> str:
    """The goal as a sentence without its full stop."""
    settings, place = case.settings, place_of(case.settings, case.records)
    surely = "" if settings.goal_chance == 0.5 else chance_words(settings)
    if settings.goal == "all":
        return precision_words(case, settings.goal_length) + surely
    if place is None:
        length = as_typed(settings.goal_length)
        return f"mean interval at most {length} long ({_ONE_SCALE}){surely}"
    effect = effect_words(case, case.names[place])
    if settings.goal == "zero":
        value = settings.goal_value
        detected = (
            f"an odds ratio of {as_typed(math.exp(value))}"
            if has_odds(case) and abs(value) <= _LARGEST_LOG_ODDS
            else f"an effect of {as_typed(value)} ({unit_words(case)})"
        )
        return f"detect {detected} of {effect}{chance_words(settings)}"
    how = told(case)
    if not how.is_told(settings.goal_length):
        how = Told(how.unit)
    shown = how.shown(settings.goal_length)
    assert shown is not None
    return how.one_words.format(as_typed(shown), effect=effect, unit=how.unit) + surely


def steps_words(case: AnyCase) -> str:
    """What effects of a goal about every effect are per, the first and how many more; empty for
    another goal.
    """
    if case.settings.goal != "all" or type(told(case)) is Told:
        return ""
    columns = (one for one in case.columns if {*one.feature_names} & {*case.names})
    said = [f"{plainly(one.name)}: {one.per}" for one in columns if one.per]
    more = [f"{len(said) - _MOST_STEPS} more"] if len(said) > _MOST_STEPS else []
    return "; ".join(said[:_MOST_STEPS] + more)


def chance_words(settings: Settings) -> str:
    """How surely."""
    return f" with {100 * settings.goal_chance:g} % chance"


def precision_words(case: AnyCase, value: float) -> str:
    """A goal of the kind asked for, with another number; in the units of the settings."""
    settings = case.settings
    if settings.goal == "all":
        how = told(case)
        shown = how.shown(value)
        if shown is None:
            return Told.all_words.format(text.number(value), unit="log odds")
        return how.all_words.format(text.as_typed(shown), unit=how.unit)
    return goal_words(
        replace(case, settings=replace(settings, goal_length=value, goal_value=value))
    )


def asked(case: AnyCase) -> float:
    """The number of the goal, in the units of the settings."""
    return case.settings.goal_value if case.target.is_power else case.settings.goal_length


def as_number(case: AnyCase, value: float) -> float | None:
    """A number of the goal as it is typed: an odds ratio, or the factor of an interval, where there
    are odds; None for one that no control holds.
    """
    if case.settings.goal != "zero":
        return told(case).shown(value)
    return _factor(value) if has_odds(case) else value


def found_words(case: AnyCase, value: float, digits: int = 4) -> str:
    """A number of the goal that was found: no promise is better than that."""
    shown = as_number(case, value)
    if shown is None:
        return f"more than {LARGEST_FACTOR:,.0f}"
    return text.number(_rounded(case, shown, digits), digits)


def _rounded(case: AnyCase, shown: float, digits: int = 4) -> float:
    """A number of the goal to so many digits, to the side that is easier to meet: away from none,
    and an odds ratio to detect away from 1.
    """
    is_below_one = case.settings.goal == "zero" and has_odds(case) and shown < 1.0
    side = Context(prec=digits, rounding=ROUND_DOWN if is_below_one else ROUND_UP)
    return float(side.create_decimal(repr(shown)))


def nearest_goal(case: AnyCase, precision: float) -> float | None:
    """The number, as it is typed, of the nearest goal that a precision meets; None where it is no
    looser than the goal of the case, or cannot be asked for.
    """
    if abs(precision) <= abs(asked(case)):
        return None
    for wanted in (precision, precision * _MORE):
        if (shown := as_number(case, wanted)) is None:
            return None
        typed = _rounded(case, shown)
        try:
            (found,) = from_number(case, typed).values()
        except ValueError:
            return None
        if abs(precision) <= abs(found) * (1.0 + 1e-9):  # as a design meets its goal
            return typed
    return None


_MORE = 1.000001
"""Times a precision whose number has four digits but for what was rounded on the way to it."""


def from_number(case: AnyCase, typed: float | None) -> dict[str, float]:
    """The setting that a typed number is.

    Raises:  ValueError in words.
    """
    how, is_zero = told(case), case.settings.goal == "zero"
    name = "goal_value" if is_zero else "goal_length"
    if typed is None:
        raise ValueError(f"Type {'the odds ratio' if is_zero and how.is_factor else how.what}.")
    if not is_zero:
        value = how.length(float(typed))
        if how.is_factor and typed > (most := most_factor(case)):
            raise ValueError(
                f"Type a factor up to {most:g}: wider odds intervals are not reported."
            )
    elif how.is_factor:
        expect(0 < typed != 1, "The odds ratio has to be above 0 and another than 1.")
        expect(
            1.0 / LARGEST_FACTOR <= typed <= LARGEST_FACTOR,
            f"Type an odds ratio from {1.0 / LARGEST_FACTOR:g} to {LARGEST_FACTOR:,.0f}.",
        )
        value = math.log(typed)
    else:
        expect(typed != 0, "Give another number than 0.")
        value = float(typed)
    low, high = LIMITS[name]
    expect(low <= value <= high, "Give a number up to a thousand million.")
    return {name: float(f"{value:.12g}")}


def label(case: AnyCase) -> str:
    """What the number of a goal is, over its control."""
    how, place = told(case), place_of(case.settings, case.records)
    if case.settings.goal == "all":
        return how.all_label.format(unit=how.unit)
    if place is None:
        return "Mean interval at most (one scale)"
    effect = effect_words(case, case.names[place])
    if case.settings.goal == "zero":
        return f"{'Odds ratio' if how.is_factor else 'Effect'} to detect, of {effect}"
    return how.one_label.format(effect=effect, unit=how.unit)
