"""The wording of the page Plan that depends on a value."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from dpci_core import RankedDesign, RegularizationAnswer
from dpci_core.planner import RegularizationChoice
from dpci_core.planner.needed import OutOfReachError
from dpci_core.report.cautions import reach
from dpci_core.report.words import LARGE_EPSILON, out_of_reach
from dpci_core.schema import Records
from ui.plan.charts import Mark
from ui.plan.options import Option
from ui.session.case import Case
from ui.session.choices import COUNTED_AS, Combination
from ui.session.settings import Settings
from ui.session.text import (
    as_typed,
    called,
    number,
    number_at_most,
    percent,
    plain,
    risk_approx_short,
    risk_pure_short,
)
from ui.session.words import in_words
from ui.views.goals import goal_words

GOAL_HELP = "The whole length, from the lower to the upper end. An estimate ± 0.1 is 0.2 long."
USUAL_CHANCE = {"length": 0.5, "zero": 0.8}
CHANCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def chance_words(goal: str, chance: float) -> str:
    """A chance on its slider."""
    if goal != "zero" and chance == 0.5:
        return "on average"
    return f"{100 * chance:g} %"


def no_answer(why: Exception, records: Records, scale: float = 1.0) -> str:
    """Why there is no answer, with the name of the coefficient, in the units of the target."""
    if not isinstance(why, OutOfReachError):
        return in_words(why)
    place = why.target.coefficient
    what = (
        why.target.what
        if place is None
        else f"the interval of “{plain(called(records.feature_names[place]))}”"
    )
    return " ".join(out_of_reach(why, why.target.told_of(what, scale), unit=scale))


def risk_of(settings: Settings, total: float) -> str:
    """What a total means for one person, with epsilon(delta) where it is not a pure one."""
    if not settings.kind.has_delta:
        sentence, epsilon = risk_pure_short(total), total
    else:
        delta = float(settings.delta)
        epsilon = settings.kind.epsilon_of(total, delta)
        sentence = (
            f"ε = {number_at_most(epsilon)} at δ = {settings.delta}. "
            f"{risk_approx_short(epsilon, delta)}"
        )
    return sentence + (
        " **Large budget:** weak protection for one person." if epsilon > LARGE_EPSILON else ""
    )


def verdict(case: Case, option: Option) -> str:
    """Whether a design meets the goal, with the chance of it."""
    settings = case.settings
    if option.is_useless:
        return "**Too long to be of use**: the reasons are below."
    said = "**Meets your goal**" if option.meets else "**Does not meet your goal**"
    chance = percent(option.probability)
    if settings.goal == "zero":
        return (
            f"{said}: {chance} chance to detect it; you asked for {100 * settings.goal_chance:g} %."
        )
    if option.meets and settings.goal_chance == USUAL_CHANCE["length"]:
        return f"**Meets your goal on average**: {chance} of releases are this short."
    return f"{said}: so short in {chance} of releases."


def effects_sentence(option: Option) -> str:
    """How many coefficients can be reported, and what decides."""
    found = option.promise
    if found is None:
        return "What holds in every world that is checked: being computed …"
    said = f"**{reach(found)}**"
    if len(found.worlds) > 1:
        said += f" The chance of your goal is least if {plain(found.probability_decided_by)}."
    return said


NOT_REPORTABLE = "This coefficient is **not reportable** with such a release."


def nearby_words(case: Case, option: Option) -> str:
    """What a little less and a little more than the least budget would give."""
    parts = []
    for factor, length, probability in option.nearby:
        change = f"{abs(100 * (factor - 1)):.0f} % {'less' if factor < 1 else 'more'} budget"
        if length == float("inf"):
            parts.append(f"{change}: cannot run")
        elif case.target.is_power:
            parts.append(f"{change}: {percent(probability)} chance")
        else:
            parts.append(f"{change}: {number(length)} long")
    return f"{'; '.join(parts)}."


def map_sentence(case: Case, marks: Sequence[Mark]) -> str:
    """The takeaway of the map."""
    settings, words = case.settings, f"goal: {goal_words(case)}"
    here, *answers = marks
    parts = [
        f"{mark.word} {settings.typed.letter} = {number(mark.x)} at n = {mark.y:,.0f}"
        for mark in answers
    ] or ["neither more budget nor more records within range is enough"]
    letter = settings.typed.letter
    return (
        f"{words[0].upper()}{words[1:]}. Your settings: {letter} = {as_typed(here.x)}, "
        f"n = {here.y:,.0f}; " + ("; ".join(parts) + ".")
    )


def way(row: RankedDesign) -> Combination:
    """A row of the ranking as a combination."""
    calibration = "published" if row.calibration == "published" else "sharp"
    definition = COUNTED_AS.get(row.definition, row.definition)
    return Combination(definition, row.mechanism, row.loss, calibration)  # type: ignore[arg-type]


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


def _fraction(share: float) -> str:
    return "a quarter" if share == 0.25 else f"{100 * share:.0f} %"


def c_words(name: str, choice: RegularizationChoice, found: RegularizationAnswer) -> str:
    """One answer about c."""
    share = found.share
    if name == "shortest" and choice.regularization == found.curve.regularization[-1]:
        return (
            "**By length alone there is no best c:** the larger, the shorter, up to the largest "
            f"that was tried, c = {choice.regularization:g}. There the intervals are "
            f"{number(choice.forecast.ci_length_mean)} long on average, with a bias of "
            f"**{number(choice.largest_shift, 2)} margins of error**: short, and about something "
            "else."
        )
    title = {
        "shortest": "The shortest intervals",
        "low_bias": "Largest penalty whose bias stays below "
        f"{_fraction(share)} of the margin of error",
    }[name]
    low, high = choice.near_best
    return (
        f"**{title}: c = {choice.regularization:g}.** Mean length "
        f"{number(choice.forecast.ci_length_mean)}; the bias is "
        f"**{number(choice.largest_shift, 2)} margins of error**. "
        f"Between c = {low:g} and {high:g} lengths are within 5 %."
    )
