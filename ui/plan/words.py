"""The wording of the page Plan that depends on a value."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from dpci_core import Forecast, RankedDesign, RegularizationAnswer, Target
from dpci_core.intervals.forecast import TOLERATED_BIAS
from dpci_core.planner import Neighbour, RegularizationChoice
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.standard import StandardAnswer
from dpci_core.privacy.budget import to_float_down
from dpci_core.report.words import LARGE_EPSILON, out_of_reach
from dpci_core.schema import CONSTANT, NumericColumn, Records, StandardEncoding
from ui.kit.palette import Combination
from ui.plan.charts import Mark
from ui.session.case import Case, place_of
from ui.session.compute import per
from ui.session.settings import Settings
from ui.session.text import number, percent, plain, risk_approx, risk_pure, symbol
from ui.session.words import in_words

GOALS = {
    "length": "Be short: an interval of at most a given length",
    "zero": "Tell an effect from nothing: an interval that excludes zero",
}
GOAL_HELP = {
    "length": "The whole length, from the lower to the upper end. An estimate ± 0.1 is 0.2 long.",
    "zero": "If the true coefficient is this number, the interval should leave out zero, so that "
    "the effect shows. It is the power of a test, with the privacy noise in it.",
}
USUAL_CHANCE = {"length": 0.5, "zero": 0.8}
CHANCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def chance_words(goal: str, chance: float) -> str:
    """A chance on its slider."""
    if goal == "length" and chance == 0.5:
        return "on average"
    return f"{100 * chance:g} %"


def goal_unit(case: Case) -> str:
    """Units of the asked length or value."""
    settings, records = case.settings, case.records
    place = place_of(settings, records)
    what = settings.loss(settings.losses[0]).effect
    if place is None or records.to_original is None or records.feature_names[place] == CONSTANT:
        return "scaled coefficient"
    name = records.feature_names[place]
    column = next((c for c in case.columns if name in c.feature_names), None)
    if isinstance(column, NumericColumn):
        return f"{what} {per(column)} of “{column.name}”"
    return (
        f"{what}, “{name}” against its reference" if "=" in name else f"{what} per unit of “{name}”"
    )


def encoding_words(now: StandardEncoding) -> str:
    """The encoding in use."""
    return (
        f"Columns are scaled by what is **typical**; rows longer than **R = {now.radius:g}** "
        f"spreads count less, values beyond {now.limit:g} spreads as that far."
    )


def chosen_words(found: StandardAnswer) -> str:
    """What was chosen, and why."""
    now, budget = found.encoding, found.design.budget
    return (
        f"Chosen: **R = {now.radius:g}** spreads, limit {now.limit:g}, **c = "
        f"{found.design.regularization:g}**, split **{share_words(budget.parts, budget.total)}**. "
        f"Of {len(found.tried)} tried, these give the shortest intervals for the coefficients "
        f"without penalty whose bias stays within {TOLERATED_BIAS:g} half-widths."
    )


def is_out_of_reach(found: Forecast, target: Target) -> bool:
    """Whether a target is about a coefficient that such a release cannot speak about."""
    place = target.coefficient
    return place is not None and bool(found.is_out_of_reach[place])


def of_no_use(found: Forecast, target: Target) -> str:
    """Why a design is of no use for a target, whatever it promises; empty where it is of use."""
    if is_out_of_reach(found, target):
        return "**Out of reach**: such a release cannot speak about this coefficient."
    if found.usefulness.is_useless:
        return "**Too long to be of use**: the reasons are below."
    return ""


def total_words(settings: Settings) -> str:
    """The typed total."""
    value = (
        float(settings.epsilon)
        if settings.currency == "approx"
        else to_float_down(settings.split.total)
    )
    return f"{symbol(settings)} = {number(value)}" + (
        f", δ = {settings.delta}" if settings.currency == "approx" else ""
    )


def no_answer(why: Exception, records: Records, scale: float = 1.0) -> str:
    """Why there is no answer, with the name of the coefficient, in the units of the target."""
    if not isinstance(why, OutOfReachError):
        return in_words(why)
    place = why.target.coefficient
    what = (
        why.target.what
        if place is None
        else f"the interval of “{plain(records.feature_names[place])}”"
    )
    return " ".join(out_of_reach(why, why.target.told_of(what, scale), unit=scale))


def target_words(case: Case) -> str:
    """The precision target, as it stands on charts and exports."""
    settings, records = case.settings, case.records
    place = place_of(settings, records)
    which = (
        "the mean interval" if place is None else f"the interval of {records.feature_names[place]}"
    )
    unit = goal_unit(case)
    if settings.goal == "zero":
        return (
            f"target: {which} excludes zero with a chance of {100 * settings.goal_chance:g} % if "
            f"the true value is {number(settings.goal_value)} ({unit})"
        )
    return f"target: {which} at most {number(settings.goal_length)} long ({unit}), " + (
        "on average"
        if settings.goal_chance == 0.5
        else f"with a chance of {100 * settings.goal_chance:g} %"
    )


def got_sentence(settings: Settings, meets: bool, probability: float) -> str:
    """Whether the settings fulfil the precision target."""
    verdict = "**This meets your target**" if meets else "**This is not enough for your target**"
    if settings.goal == "zero":
        return f"{verdict}: you asked for {100 * settings.goal_chance:g} %."
    return (
        f"{verdict}: in {percent(probability)} of releases the interval is at most "
        f"{number(settings.goal_length)} long."
    )


def risk_of(settings: Settings, total: float) -> str:
    """What a total means for one person, with epsilon(delta) where it is not a pure one."""
    if not settings.kind.has_delta:
        sentence, epsilon = risk_pure(total), total
    else:
        delta = float(settings.delta)
        epsilon = settings.kind.epsilon_of(total, delta)
        sentence = f"ε = {number(epsilon)} at δ = {settings.delta}. {risk_approx(epsilon, delta)}"
    return sentence + (
        " **Large budget:** weak protection for one person." if epsilon > LARGE_EPSILON else ""
    )


def around_words(around: Sequence[Neighbour], target: Target, scale: float, what: str) -> str:
    """How an answer's neighbourhood looks."""
    parts = []
    for item in around:
        times = f"{item.factor:g} times that"
        if item.length == float("inf"):
            parts.append(f"with {times} the design cannot run")
        elif target.is_power:
            parts.append(f"with {times} the chance is {percent(item.probability)}")
        else:
            parts.append(f"with {times} the length is {number(item.length * scale)}")
    return f"Nearby {what}: " + "; ".join(parts) + "."


def map_sentence(case: Case, marks: Sequence[Mark]) -> str:
    """The takeaway of the map."""
    settings, words = case.settings, target_words(case)
    here, *answers = marks
    parts = [
        f"{mark.word} {symbol(settings)} = {number(mark.x)} at n = {mark.y:,.0f}"
        for mark in answers
    ] or ["out of reach along both axes from your settings"]
    return (
        f"{words[0].upper()}{words[1:]}. Your settings: {symbol(settings)} = {number(here.x)}, n = "
        f"{here.y:,.0f}; " + ("; ".join(parts) + ".")
    )


def way(row: RankedDesign) -> Combination:
    """A row of the ranking as a combination."""
    calibration = "published" if row.calibration == "published" else "sharp"
    return Combination(row.definition, row.mechanism, row.loss, calibration)  # type: ignore[arg-type]


def ranking_sentence(rows: Sequence[RankedDesign]) -> str:
    """The takeaway of the ranking."""
    able = [row for row in rows if row.design is not None]
    if not able:
        return "None of them can run with these settings."
    first, last = able[0], able[-1]
    sentence = (
        f"The shortest: {way(first).label}, {number(first.length)} on average, as if you had "
        f"{first.as_if_records:,} of your records without privacy."
    )
    if last is first:
        return sentence
    times = number(last.length / first.length, 3)
    return f"{sentence} The longest that can run, {way(last).label}, is {times} times as long."


def share_words(parts: Sequence[Decimal], total: Decimal) -> str:
    """Three shares."""
    return " / ".join(f"{100 * float(part / total):.3g} %" for part in parts)


def c_words(name: str, choice: RegularizationChoice, found: RegularizationAnswer) -> str:
    """One answer about c."""
    share = found.share
    if name == "shortest" and choice.regularization == found.curve.regularization[-1]:
        return (
            "**By length alone there is no best c:** the larger, the shorter, up to the largest "
            f"that was tried, c = {choice.regularization:g}. There the intervals are "
            f"{number(choice.forecast.ci_length_mean)} long on average, and what they are for lies "
            f"**{number(choice.largest_shift, 2)} half-widths** from the coefficients without "
            "penalty: short, and about something else."
        )
    title = {
        "shortest": "The shortest intervals",
        "faithful": f"The shortest within {share:g} half-widths",
    }[name]
    low, high = choice.near_best
    return (
        f"**{title}: c = {choice.regularization:g}.** Mean length "
        f"{number(choice.forecast.ci_length_mean)}; what the intervals are for lies "
        f"**{number(choice.largest_shift, 2)} half-widths** from the coefficients without penalty. "
        f"Between c = {low:g} and {high:g} lengths are within 5 %."
    )
