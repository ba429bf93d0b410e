"""The wording of the page Plan that depends on a value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dpci_core.planner.needed import OutOfReachError
from dpci_core.privacy.budget import Budget, to_float_down
from dpci_core.report.cautions import REPORTABLE_CHANCE, reach
from dpci_core.report.words import (
    LARGE_EPSILON,
    MEAN_COUNTS_ALL,
    foreseen_chance,
    in_hundred,
    out_of_reach,
    percent,
    plainly,
)
from ui.plan.charts import Mark
from ui.plan.options import Find, Option, Ways
from ui.session.case import PlannedCase
from ui.session.choices import MECHANISMS
from ui.session.compute import DECLARED
from ui.session.settings import LIMITS, Settings
from ui.session.text import (
    as_typed,
    called,
    is_as_long,
    lowered,
    method,
    number,
    number_at_most,
    plain,
    risk_approx_short,
    risk_pure_short,
    times_as_long,
)
from ui.session.words import in_words
from ui.views.goals import as_number, found_words, goal_words, label, precision_words
from ui.views.goals import asked as goal_asked

GOAL_HELP = "The whole length, from the lower to the upper end. An estimate ± 0.1 is 0.2 long."
CHANCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def chance_words(goal: str, chance: float) -> str:
    """A chance on its slider."""
    if goal != "zero" and chance == 0.5:
        return "on average"
    return f"{100 * chance:g} %"


def no_answer(why: Exception, case: PlannedCase) -> str:
    """Why there is no answer, with the name of the coefficient, in the units of the target."""
    if not isinstance(why, OutOfReachError):
        return in_words(why)
    place, scale = why.target.coefficient, case.scale
    is_unknown = not why.is_records and why.needed is None
    unknown = " No number of records is known that would make it possible." if is_unknown else ""
    if why.target.limits is not None:
        nearest = precision_words(case, why.nearest * scale)
        at = f"{'Even ' if why.is_records else 'With '}{why.n_records:,} records"
        known = "" if why.needed is None else f" {why.needed:,} records would make it possible."
        return plain(
            f"{'No number of records' if why.is_records else 'No budget'} is enough for "
            f"{goal_words(case)}.{known or unknown} {at} give {nearest} at the best."
        )
    what = (
        why.target.what
        if place is None
        else f"the interval of “{plain(called(case.names[place]))}”"
    )
    return " ".join(out_of_reach(why, why.target.told_of(what, scale), unit=scale)) + unknown


def risk_of(budget: Budget, delta: str) -> str:
    """What a budget means for one person, with epsilon(delta) where it is not a pure one."""
    total = to_float_down(budget.total)
    epsilon = budget.epsilon_of(total, float(delta))
    if not budget.has_delta:
        sentence = risk_pure_short(epsilon)
    else:
        short = risk_approx_short(epsilon, float(delta))
        sentence = f"ε = {number_at_most(epsilon)} at δ = {delta}. {short}"
    return sentence + (
        " **Large budget:** weak protection for one person." if epsilon > LARGE_EPSILON else ""
    )


def falls_short(option: Option | None, find: Find) -> bool:
    """Whether an amount was asked for, and the one that was found is not enough."""
    return option is not None and find != "precision" and not option.works


_ALIKE = 0.01
"""Relative difference of two amounts that count as one: a search ends a little off the last one."""


def found_sentence(case: PlannedCase, option: Option | None, find: Find) -> str:
    """Say that an amount was found which the settings do not have; empty where they have it."""
    if option is None or not option.works or find == "precision":
        return ""
    now = case.settings
    if find == "records":
        if math.isclose(option.settings.n, now.n, rel_tol=_ALIKE):
            return ""
        return f"For this goal {option.settings.n:,} were found, and this plan is for {now.n:,}."
    if math.isclose(option.typed, now.typed_total, rel_tol=_ALIKE):
        return ""
    return (
        f"For this goal a budget of {now.typed.letter} = {number(option.typed, 4)} was found, and "
        f"this plan has {as_typed(now.typed_total)}."
    )


def first_sentence(case: PlannedCase, option: Option, find: Find, *, is_active: bool) -> str:
    """What a first look leaves open; is_active: the search is at work on it."""
    is_of_all = option.promise is not None or case.settings.dataset != DECLARED
    if falls_short(option, find):
        amount = "budget" if find == "budget" else "number of records"
        said, searched = f"A first look finds no {amount} that is enough.", "A better design"
    elif option.promise is not None and not option.reportable:
        said = "A first look finds nothing that can be reported in the least favourable case."
        searched = "A better design"
    else:
        said, searched = "A first look.", "The best design"
    if falls_short(option, find) or is_of_all:
        return f"{said} {searched} {'is being searched for' if is_active else 'was not found'}."
    looked = "are being" if is_active else "were not all"
    worse = "be less exact" if find == "precision" else "ask for more"
    return f"Less favourable tables {looked} looked at: they can {worse}, or rule it out."


def reach_sentence(case: PlannedCase, option: Option, find: Find, *, is_least: bool = True) -> str:
    """Whether the goal is met, how many coefficients can be reported all the same, and what
    decides.
    """
    found = option.promise
    assert found is not None
    chance, best = (
        foreseen_chance(one, case.target.probability)
        for one in (option.probability, option.as_described)
    )
    hardest = ""
    if chance != best and (decides := found.probability_decided_by) != found.worlds[0]:
        hardest = f", fewest if {plain(plainly(decides))}"
        if option.meets or option.probability >= case.target.probability:
            hardest += f"; {best} if the table is as described"
        else:  # beside “missed”, 99 % alone would read as a promise
            asked = percent(case.target.probability)
            hardest += f": {asked} have to, in every case that was checked"
            hardest += f". If the table is as described, {best} do"
    level = f"{100.0 * case.design.confidence_level:g} % intervals"
    least = "Perhaps no" if option.probability < _RARE else f"At least {chance} of"
    met = "" if option.is_lost else f" {least} releases meet the goal with {level}{hardest}."
    spare = _spare(case, option, find) if is_least else ""
    reached = reach(found, case.usable_of(found.fewest))
    said = f"**{_verdict(case, option, find)}**{met}{spare} {reached}"
    if case.target.is_mean and option.reportable < option.of:
        said += f" {MEAN_COUNTS_ALL}"
    return f"{said} {_ELSEWHERE[find]}" if falls_short(option, find) else said


_RARE = 1e-4
"""Of releases: a chance that is told as "under 0.01 %", which is no "at least"."""
_SPARE = 0.95
"""Of the goal: an answer that is shorter has more than its goal needs."""


def _spare(case: PlannedCase, option: Option, find: Find) -> str:
    """Say where intervals of the least amount are shorter than the goal asks."""
    if find == "precision" or not option.works:
        return ""
    if abs(option.precision) >= _SPARE * abs(goal_asked(case)):
        return ""
    name, amount = case.settings.currency, option.typed
    if find == "records":
        name, amount = "n", float(option.settings.n)
    if amount <= LIMITS[name][0]:
        return " This is the least that can be asked for on this page."
    return (
        " Its intervals are shorter than the goal asks, but with less the goal was missed, or not "
        "every effect could be reported or used."
    )


_ELSEWHERE: dict[Find, str] = {
    "budget": "“Records” above finds how many records would do instead.",
    "records": "“Budget” above finds which budget would do instead.",
}


def _verdict(case: PlannedCase, option: Option, find: Find) -> str:
    """Whether a design meets the goal, with the amount that was found, and by how much it misses
    it.
    """
    amount = {
        "budget": f" with {case.settings.typed.letter} = {number(option.typed, 4)}",
        "records": f" with {option.settings.n:,} records",
        "precision": "",
    }[find]
    if option.works:
        settings = case.settings
        is_mean = chance_words(settings.goal, settings.goal_chance) == "on average"
        return f"Your goal is met{' on average' if is_mean else ''}{amount}."
    if option.meets and option.is_useless:
        return f"Intervals are too long to be of use{amount}."
    asked = goal_asked(case)
    if option.is_lost or option.reportable == 0 or abs(option.precision) <= abs(asked):
        return f"Your goal is missed{amount}: not all that it is about can be reported."
    typed = as_number(case, asked)
    instead = "" if typed is None else f", not {as_typed(typed)}"
    nearest = found_words(case, option.precision)
    return f"Your goal is missed{amount}. {plain(label(case))}: {nearest}{instead}."


def against_sentence(option: Option) -> str:
    """What privacy costs, in lengths and in records: of all coefficients, as in a plan's file.
    Nothing where no effect can be reported, whose intervals are worth nothing at any length.
    """
    if option.reportable == 0:
        return ""
    here = "If the table is as described, intervals" if option.has_worlds else "Intervals"
    told = f"{here} are {times_as_long(option.against)} as without privacy"
    if is_as_long(option.against):
        return f"{told}."
    return (
        f"{told}, on average with the intercept: as from {option.as_if:,} records without privacy."
    )


def law_sentence(case: PlannedCase, option: Option) -> str:
    """That a budget typed as (epsilon, delta) is spent as a pure epsilon; empty where it is not."""
    if option.settings.currency == case.settings.currency:
        return ""
    return (
        "Spent as a pure ε, which makes the intervals shorter and keeps (ε, δ) for every δ. A "
        "ledger has to count it in ε: one in ρ charges ε²/2, and one in μ² does not take it."
    )


def ways_sentence(found: Ways, find: Find, *, is_first: bool) -> str:
    """What another mechanism than the best would cost, by the answers of both; by a first look at
    both only that it costs more: how much more can be far from that.
    """
    by, said = ", by a first look" if is_first else "", []
    (_, best), *others = found.found
    for name, option in others:
        word = MECHANISMS[name].word.capitalize()
        if option is None or best is None:
            said.append(f"{word} perturbation cannot run here.")
            continue
        if find != "precision" and not (option.works and best.works):
            if option.works or best.works:
                does = "meets" if option.works else "does not meet"
                said.append(f"{word} perturbation {does} the goal{by}.")
            continue
        if option.reportable < best.reportable:
            few = f"{option.reportable} of {option.of} can be reported"
            said.append(f"{word} perturbation: {few}{by}.")
            continue
        times, what, more = {
            "budget": (option.typed / best.typed, "times the budget", "more budget"),
            "records": (
                option.settings.n / best.settings.n,
                "times as many records",
                "more records",
            ),
            "precision": (
                abs(option.precision / best.precision),
                "times as long intervals",
                "longer intervals",
            ),
        }[find]
        if is_first and times <= 1.0:  # at an end of what is searched both may ask for the same
            said.append(f"{word} perturbation does as well{by}.")
        elif is_first:
            does = "gives" if find == "precision" else "needs"
            said.append(f"{word} perturbation {does} {more}{by}.")
        else:
            said.append(f"{word} perturbation: {number(times, 2)} {what}.")
    return " ".join(said)


def split_words(settings: Settings) -> str:
    """The shares of a split."""
    model, *matrices = in_hundred(settings.split.parts)
    return (
        f"{model} % for the effects, {matrices[0]} % and {matrices[1]} % for their standard errors."
    )


FOUND = "The best that a search found; an interval that covers too little counts as longer."


def equal_sentence(case: PlannedCase, option: Option, best: Option, find: Find) -> str:
    """What equal parts of the budget would ask for, or give, beside the best that was found; empty
    where they are not enough, or are the best.
    """
    if option is best or falls_short(option, find):
        return ""
    if find == "budget":
        letter = option.settings.typed.letter
        return f"Equal parts would need about {letter} = {number(option.typed, 3)}."
    if find == "records":
        return f"Equal parts would need about {option.settings.n:,} records."
    fewer = (
        f", and {option.reportable} of {option.of} could be reported"
        if option.reportable < option.of
        else ""
    )
    return f"Equal parts would give {found_words(case, option.precision)}{fewer}."


def about_words(case: PlannedCase, option: Option | None) -> str:
    """What the number of a goal is about; where not all can be reported, of how many it is."""
    said = plain(label(case))
    if option is None or not (option.is_lost and option.reportable) or case.settings.goal != "all":
        return said
    return f"Of the {option.reportable} of {option.of} that can be reported, {lowered(said)}"


def told_precision(case: PlannedCase, option: Option, digits: int = 4) -> str:
    """The precision of a design; empty where nothing that the goal is about can be reported."""
    is_untold = option.is_lost and case.settings.goal != "all"  # the one effect that it is about
    if is_untold or not option.reportable:
        return ""
    return found_words(case, option.precision, digits)


def beside_sentence(case: PlannedCase, option: Option, other: Option) -> str:
    """That two designs are one as yet, or their precisions of different effects; else empty."""
    if case.settings.goal == "all" and _reported(option) != _reported(other):
        return "The two precisions are of different effects."
    if option.settings == other.settings:
        return "Both are the same so far: change something above, and “This design” follows."
    return ""


def _reported(option: Option) -> tuple[int, list[bool]]:
    """How many effects can be reported, and which are promised."""
    chances = () if option.promise is None else option.promise.chance
    return option.reportable, [chance >= REPORTABLE_CHANCE for chance in chances]


def design_lines(case: PlannedCase, option: Option) -> str:
    """A design on a card."""
    now, risk = option.settings, risk_of(option.design.budget, option.settings.delta)
    chance = chance_words(case.settings.goal, case.settings.goal_chance)
    surely = f", in {chance} of releases" if "%" in chance else f", {chance}"
    where = ", in the least favourable case" if option.has_worlds else ""
    lines = (
        f"{now.typed.letter} = **{number(option.typed, 4)}**. {risk}",
        f"**{now.n:,}** records",
        f"{about_words(case, option)}: **{told_precision(case, option) or '–'}**{surely}{where}",
        f"**{option.reportable} of {option.of}** coefficient{'' if option.of == 1 else 's'} "
        "can be reported" + ("" if option.works else "; the goal is missed"),
        method(option.design),
        f"Split: {split_words(now)}",
    )
    return "\n".join(f"- {line}" for line in lines)


def map_sentence(case: PlannedCase, marks: Sequence[Mark]) -> str:
    """The takeaway of the map: the goal, the settings, and the answers that are known."""
    words, letter = f"goal: {goal_words(case)}", case.settings.typed.letter
    here, *answers = marks
    parts = [f"Your settings: {letter} = {as_typed(here.x)}, n = {here.y:,.0f}"]
    parts += [f"{one.word} {letter} = {number(one.x)} at n = {one.y:,.0f}" for one in answers]
    return f"{words[0].upper()}{words[1:]}. {'; '.join(parts)}."
