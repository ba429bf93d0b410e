"""How many records, or how much budget, a target needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NoReturn, TypeVar

from dpci_core.base.decimals import DOWN, EXACT, amount_at, place_up
from dpci_core.base.errors import Change, InfeasibleDesignError
from dpci_core.base.limits import BUDGET_PART
from dpci_core.design import Design
from dpci_core.intervals.forecast import HEADLINE_DELTA, MOST_ODDS, N_DRAWS
from dpci_core.planner.amounts import (
    LARGEST_TOTAL,
    MOST_RECORDS,
    SEARCH_DRAWS,
    delta_in_range,
    with_total,
)
from dpci_core.planner.targets import (
    Outcome,
    Target,
    check_target,
    meeting_probability,
    outcome,
    smallest_told_from_zero,
)
from dpci_core.planner.worlds import (
    ONLY_WORLD,
    AnyDesign,
    AnyForecast,
    AnyMoments,
    WorldMoments,
    Worlds,
    as_worlds,
    check_designed,
    foreseen,
    n_coefficients,
)
from dpci_core.privacy.budget import Amount
from dpci_core.regression.design import LinearDesign
from dpci_core.report import answers, words
from dpci_core.report.cautions import REPORTABLE_CHANCE

Fewest = Callable[[int], int]
"""Gives the number of records that a promise is for, where so many are planned for."""
NEIGHBOURS = (0.8, 1.25)
"""An answer comes with the lengths at these multiples of it."""

_HELPS = {
    False: "`dpci plan standard`, or `best_standard`, chooses c and the shape of rows so that most "
    "releases do.",
    True: "`dpci plan split`, or `LinearPlan.with_best_design`, chooses clips and steps so that "
    "most releases do.",
}
"""What makes a coefficient reportable, of a linear regression and of a penalised model."""
_FACTOR_4 = 542
"""Steps of the grid that multiply by about 4."""
_ROUGH = 16
"""Steps of the grid at which the search changes to all draws."""
_SCAN = {
    "mean": tuple(map(Decimal, ("1.03", "1.06", "1.1", "1.2", "1.4"))),
    "coefficient": tuple(Decimal("1.15") ** k for k in range(1, 16)),
}
"""Multiples of a crossing at which a noise-aware length is checked again, by what the target is
about. While half-widths fade from plain to noise-aware, the mean rose by at most 1.5 %, that of a
single coefficient by 17 %, and was back at up to 7.4 times the epsilon (`python -m
benchmarks.constants rises`)."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The target at a multiple of an answer.

    Args:
        factor: the multiple.
        amount: number of records, or total budget, there.
        length: expected length, infinite where the design cannot run.
        probability: of meeting the target.
    """

    factor: float
    amount: Decimal
    length: float
    probability: float


@dataclass(frozen=True, kw_only=True, slots=True)
class _Needed:
    """What both answers have.

    Args:
        design: as it was asked for; of a budget with the total that was found.
        target: as it was asked for.
        forecast: of the design, at the number of records that was found or asked for.
        length: expected length of what the target is about.
        probability: of meeting the target.
        around: the same at `NEIGHBOURS` times the answer.
        delta: at which a budget in rho or mu^2 is stated as (epsilon, delta).
        decided_by: the assumption of the world that needs most, whose numbers the others are;
            `probability` is the least over the worlds. Empty where planning rows are the only one.
        fewest: number of records that everything here is for; those of the design unless a release
            takes fewer.
        chance_to_report: least chance, over the worlds, that a release reports what the target
            names; 1 where it is about the mean.
        lost_if: the assumption where that is least.
    """

    design: AnyDesign
    target: Target
    forecast: AnyForecast
    length: float
    probability: float
    around: tuple[Neighbour, ...]
    delta: float = HEADLINE_DELTA
    decided_by: str = ""
    fewest: int
    chance_to_report: float = 1.0
    lost_if: str = ONLY_WORLD

    @property
    def epsilon_delta(self) -> tuple[float, float]:
        """The guarantee as (epsilon, delta), at the delta asked for."""
        return self.design.budget.guarantee(self.delta)

    @property
    def at_fewest(self) -> AnyDesign:
        """The design with the fewest records."""
        return replace(self.design, n_records=self.fewest)

    @property
    def amount(self) -> tuple[int, Decimal]:
        """Number of records and total."""
        return self.design.n_records, self.design.budget.total


Answer = TypeVar("Answer", bound=_Needed)


@dataclass(frozen=True, kw_only=True, slots=True)
class NeededRecords(_Needed):
    """The smallest number of records that meets a target.

    Args:
        design: as it was asked about, with that number: to three significant digits, rounded up.
        others: as for `_Needed`.
    """

    @property
    def n_records(self) -> int:
        """The number."""
        return self.design.n_records

    @property
    def reason(self) -> str:
        """The answer in a sentence."""
        return _in_words(self, f"{self.n_records:,} records are")


@dataclass(frozen=True, kw_only=True, slots=True)
class NeededBudget(_Needed):
    """The smallest total budget that meets a target: that of `design`, epsilon or rho to three
    significant digits, rounded up.
    """

    @property
    def total(self) -> Decimal:
        """Epsilon, or rho."""
        return Decimal(f"{self.design.budget.total.normalize(EXACT):f}")

    @property
    def reason(self) -> str:
        """The answer in a sentence."""
        epsilon, delta = self.epsilon_delta
        at_most = words.number_at_most(epsilon)
        means = f" (epsilon = {at_most} at delta = {delta:g})" if delta else ""
        name = self.design.budget.symbol
        return _in_words(self, f"A total {name} of {self.total}{means} is")


def _in_words(answer: NeededRecords | NeededBudget, amount: str) -> str:
    said = answers.needed(
        amount,
        answer.target.sentence,
        length=answer.length,
        probability=answer.probability if answer.target.is_power else None,
        around=[(a.factor, a.length, a.probability) for a in answer.around],
    )
    decided = answer.decided_by
    said += f" Most is needed if {decided}." if decided else f" It is so if {ONLY_WORLD}."
    if answer.fewest != answer.design.n_records:
        said += f" {words.for_fewest(answer.fewest)}"
    if answer.chance_to_report >= REPORTABLE_CHANCE:
        return said
    hardly = answers.hardly_reported(
        answer.chance_to_report,
        answer.lost_if,
        is_one=answer.target.limits is None,
        helps=_HELPS[isinstance(answer.design, LinearDesign)],
    )
    return f"{said} {hardly}"


def needed_records(
    moments: Worlds,
    *,
    design: AnyDesign,
    target: Target,
    delta: Amount = HEADLINE_DELTA,
    fewest: Fewest = int,
) -> NeededRecords:
    """Return the smallest number of records from which on the target is met in every world, by
    forecast.

    To three significant digits, rounded up, and checked by a forecast with all draws. Published
    lengths fall with n. Noise-aware ones hardly rise anywhere, by 2 % at most where the noise on a
    matrix dominates and they fade into the plain ones (`half_widths`). The answer is therefore the
    n after which the target stays met, searched for up to 4 times as far, not the first n at which
    it happens to be. Whether a release reports a coefficient is no part of the search, since a bias
    that stays forbids it the sooner the shorter intervals are: `chance_to_report` says it.

    Args:
        moments: fit of a table from the population, at the c of the design; or of all worlds that
            it may be like, as `Plan.worlds` gives them: then and with the plan's `fewest_of` it is
            the answer of the page and of `dpci plan records`, and often several times as many.
        design: loss, mechanism, budget, c, level and calibration; its n plays no part.
        target: precision, for every coefficient or one of them.
        delta: at which an answer in rho or mu^2 is stated as (epsilon, delta), in (0, 1); moves no
            answer.
        fewest: the number of records that have to be enough where so many are planned for
            (`Plan.fewest_of`); default all of them.

    Raises:
        OutOfReachError: even 10^12 records do not meet the target; with the nearest one they do.

    Privacy:
        None of its own; see the package docstring for what it may steer.
    """
    check_designed(design)
    stated_at = delta_in_range(delta)
    return _in_all(moments, target, lambda one: _records_in(one, design, target, stated_at, fewest))


def _records_in(
    moments: AnyMoments, design: AnyDesign, target: Target, stated_at: float, fewest: Fewest
) -> NeededRecords:
    """Return the number of records that one world needs."""

    def at(amount: Decimal, n_draws: int) -> Outcome:
        there = replace(design, n_records=fewest(math.ceil(amount)))
        return outcome(moments, design=there, target=target, n_draws=n_draws)

    search = _Search(
        at,
        start=Decimal(moments.n_records),
        low=Decimal(1),
        high=Decimal(MOST_RECORDS),
        design=design,
        target=target,
    )
    amount = search.run()
    if amount is None:
        _refuse_records(moments, design, target)
    n = math.ceil(amount)
    found = at(Decimal(n), N_DRAWS)
    return NeededRecords(
        design=replace(design, n_records=n),
        target=target,
        forecast=foreseen(moments, design=replace(design, n_records=fewest(n))),
        fewest=fewest(n),
        length=found.length,
        probability=found.probability,
        around=search.around(Decimal(n), whole=True),
        delta=stated_at,
    )


def needed_budget(
    moments: Worlds,
    *,
    design: AnyDesign,
    target: Target,
    delta: Amount = HEADLINE_DELTA,
    fewest: Fewest = int,
) -> NeededBudget:
    """Return the smallest total from which on the target is met in every world, split as the
    design's, by forecast.

    To three significant digits, rounded up, and checked by a forecast with all draws. For lengths
    that do not fall everywhere see `needed_records`: from this total on the target stays met.

    Args:
        moments: fit of the table that stands for the data, at the c of the design; or of all worlds
            that it may be like.
        design: its budget gives definition and shares; its total plays no part. With the n that is
            planned for.
        target: precision, for every coefficient or one of them.
        delta: at which an answer in rho or mu^2 is stated as (epsilon, delta), in (0, 1); moves no
            answer.
        fewest: as for `needed_records`.

    Raises:
        OutOfReachError: no total meets the target; with the nearest target and the n that would.
        InfeasibleDesignError: its odds interval stays too wide to be offered (`MOST_ODDS`).

    Privacy:
        None of its own; see the package docstring for what it may steer.
    """
    check_designed(design)
    stated_at = delta_in_range(delta)
    return _in_all(moments, target, lambda one: _budget_in(one, design, target, stated_at, fewest))


def _budget_in(
    moments: AnyMoments, design: AnyDesign, target: Target, stated_at: float, fewest: Fewest
) -> NeededBudget:
    """Return the total budget that one world needs."""
    there = replace(design, n_records=fewest(design.n_records))

    def at(total: Decimal, n_draws: int) -> Outcome:
        return outcome(moments, design=with_total(there, total), target=target, n_draws=n_draws)

    own = design.budget
    least = DOWN.divide(
        DOWN.multiply(Decimal(repr(BUDGET_PART[0])), own.total), min(own.parts)
    ) * Decimal("1.01")
    search = _Search(
        at,
        start=Decimal(1),
        low=least,
        high=max(LARGEST_TOTAL, least),
        design=design,
        target=target,
    )
    total = search.run()
    if total is None:
        _refuse_budget(moments, with_total(there, search.high), target, fewest)
    found = at(total, N_DRAWS)
    return NeededBudget(
        design=with_total(design, total),
        target=target,
        forecast=foreseen(moments, design=with_total(there, total)),
        fewest=there.n_records,
        length=found.length,
        probability=found.probability,
        around=search.around(total),
        delta=stated_at,
    )


def _in_all(given: Worlds, target: Target, solve: Callable[[AnyMoments], Answer]) -> Answer:
    """The largest answer over the worlds: that of the first, tried in all; where it is not enough,
    the next one is found, until it is.
    """
    worlds = as_worlds(given)
    check_target(target, p=n_coefficients(worlds[0].moments))
    if len(worlds) == 1:
        return _with_chance(solve(worlds[0].moments), worlds)
    world, left, best = worlds[0], list(worlds[1:]), None
    while True:
        found = replace(solve(world.moments), decided_by=world.assumption)
        if best is None or found.amount > best.amount:
            best = found
        made = [outcome(one.moments, design=best.at_fewest, target=target) for one in left]
        lacking = [place for place, one in enumerate(made) if not one.meets]
        if not lacking:
            break
        world = left.pop(min(lacking, key=lambda place: made[place].probability))
    chance = meeting_probability(worlds, design=best.at_fewest, target=target)
    return _with_chance(replace(best, probability=chance), worlds)


def _with_chance(answer: Answer, worlds: Sequence[WorldMoments]) -> Answer:
    """The answer with the chance that a release reports what its target names, in every world."""
    target = answer.target
    if target.coefficient is None and target.limits is None:
        return answer
    named = slice(len(target.limits or ())) if target.coefficient is None else [target.coefficient]
    chances = [
        float(foreseen(one.moments, design=answer.at_fewest).chance_to_report[named].min())
        for one in worlds
    ]
    least = min(range(len(chances)), key=chances.__getitem__)
    return replace(answer, chance_to_report=chances[least], lost_if=worlds[least].assumption)


class _Search:
    """The smallest amount on the grid of three significant digits from which on a target is met."""

    def __init__(
        self,
        at: Callable[[Decimal, int], Outcome],
        *,
        start: Decimal,
        low: Decimal,
        high: Decimal,
        design: AnyDesign,
        target: Target,
    ) -> None:
        self.at = at
        self.is_noise_aware = isinstance(design, Design) and design.switches.noise_aware
        is_mean = target.coefficient is None and target.limits is None
        self.scan = _SCAN["mean" if is_mean else "coefficient"]
        self.lowest, self.highest = place_up(low), place_up(high)
        self.start = min(max(place_up(start), self.lowest), self.highest)
        self.high = amount_at(self.highest)
        self.seen: dict[tuple[int, int], bool] = {}

    def meets(self, place: int, n_draws: int) -> bool:
        """Whether the target is met there; a design that cannot run does not meet it."""
        key = place, n_draws
        if key not in self.seen:
            try:
                self.seen[key] = self.at(amount_at(place), n_draws).meets
            except InfeasibleDesignError:
                self.seen[key] = False
        return self.seen[key]

    def run(self) -> Decimal | None:
        """The amount, None if the largest does not meet the target."""
        low, high = self._bracket(self.start, SEARCH_DRAWS, _FACTOR_4)
        low, high = self._halve(low, high, SEARCH_DRAWS, _ROUGH)
        if self.is_noise_aware:
            low, high = self._last(low, high)
        low, high = self._bracket(high, N_DRAWS, _ROUGH)
        if not self.meets(high, N_DRAWS):
            return None
        return amount_at(self._halve(low, high, N_DRAWS, 1)[1])

    def _bracket(self, place: int, n_draws: int, step: int) -> tuple[int, int]:
        """An amount that fails below one that meets the target, from a guess; the ends of the range
        stay inside.
        """
        low = high = place
        if self.meets(place, n_draws):
            while low > self.lowest and self.meets(low, n_draws):
                high, low, step = low, max(self.lowest, low - step), 2 * step
            return (low - 1, low) if self.meets(low, n_draws) else (low, high)
        while high < self.highest and not self.meets(high, n_draws):
            low, high, step = high, min(self.highest, high + step), 2 * step
        return low, high

    def _halve(self, low: int, high: int, n_draws: int, width: int) -> tuple[int, int]:
        while high - low > width:
            middle = (low + high) // 2
            low, high = (low, middle) if self.meets(middle, n_draws) else (middle, high)
        return low, high

    def _last(self, low: int, high: int) -> tuple[int, int]:
        """The last crossing, where the target is lost again above the one found."""
        with suppress(InfeasibleDesignError):
            if self.at(amount_at(high), N_DRAWS).is_settled:
                return low, high
        places = [min(place_up(amount_at(high) * factor), self.highest) for factor in self.scan]
        lost = [
            place
            for place in places
            if not (self.meets(place, SEARCH_DRAWS) or self.meets(place, N_DRAWS))
        ]
        if not lost:
            return low, high
        return self._halve(*self._bracket(lost[-1], SEARCH_DRAWS, 4 * _ROUGH), SEARCH_DRAWS, _ROUGH)

    def around(self, amount: Decimal, *, whole: bool = False) -> tuple[Neighbour, ...]:
        """What happens a little below and above an answer, inside the range."""
        found = []
        for factor in NEIGHBOURS:
            other = min(max(amount * Decimal(repr(factor)), amount_at(self.lowest)), self.high)
            other = Decimal(math.ceil(other)) if whole else other
            try:
                result = self.at(other, N_DRAWS)
                found.append(Neighbour(factor, other, result.length, result.probability))
            except InfeasibleDesignError:
                found.append(Neighbour(factor, other, math.inf, 0.0))
        return tuple(found)


class OutOfReachError(InfeasibleDesignError):
    """A target that no number of records, or no budget, meets.

    Args:
        target: as it was asked for.
        n_records: at which the rest is meant.
        is_records: whether records were searched for, so that `n_records` is the most.
        reached: the shortest length that is met there, or the power.
        is_floored: whether the floor under the gradient covariance helps to keep the length up.
        nearest: the nearest length, or true value, that is met there.
        needed: the n at which some budget meets the target, None where none is known.
    """

    def __init__(
        self,
        best: Outcome,
        n_records: int,
        changes: tuple[Change, ...],
        *,
        is_records: bool,
        is_floored: bool = False,
    ) -> None:
        self.target, self.is_power, self.n_records = best.target, best.target.is_power, n_records
        self.is_records, self.is_floored = is_records, is_floored
        self.reached = best.probability if self.is_power else best.within_reach
        self.nearest = float(changes[-1].value)
        self.needed = int(changes[0].value) if changes[0].what == "n_records" else None
        super().__init__(*words.out_of_reach(self, self.target.sentence, n="n_records="), changes)


def _refuse_records(moments: AnyMoments, design: AnyDesign, target: Target) -> NoReturn:
    """Say what 10^12 records reach; a design that cannot run there says itself what it needs."""
    there = replace(design, n_records=MOST_RECORDS)
    best = outcome(moments, design=there, target=target)
    if best.is_too_wide:
        raise _too_wide(MOST_RECORDS)
    nearest = _nearest(moments, there, target, best)
    is_floored = isinstance(design, Design) and design.switches.covariance_floor == "2c"
    raise OutOfReachError(best, MOST_RECORDS, (nearest,), is_records=True, is_floored=is_floored)


def _refuse_budget(
    moments: AnyMoments, design: AnyDesign, target: Target, fewest: Fewest
) -> NoReturn:
    best = outcome(moments, design=design, target=target)
    changes: tuple[Change, ...] = ()
    with suppress(InfeasibleDesignError):
        more = needed_records(moments, design=design, target=target, fewest=fewest).n_records
        changes = (Change("n_records", more),)
    if best.is_too_wide:
        raise _too_wide(design.n_records, changes)
    changes = (*changes, _nearest(moments, design, target, best))
    raise OutOfReachError(best, design.n_records, changes, is_records=False)


def _too_wide(n_records: int, changes: tuple[Change, ...] = ()) -> InfeasibleDesignError:
    """That the odds interval asked about is too wide to be offered, at every budget."""
    more = f"Plan for {changes[0].value:,} records." if changes else ""
    return InfeasibleDesignError(
        f"With {n_records:,} records its odds interval stays wider than a factor of {MOST_ODDS:g} "
        "for two spreads or a level, which is not offered.",
        more,
        changes,
    )


def _nearest(moments: AnyMoments, design: AnyDesign, target: Target, best: Outcome) -> Change:
    """The nearest target that this design meets at its n."""
    if target.is_power:
        value = smallest_told_from_zero(moments, design=design, target=target)
        away = math.copysign(float(amount_at(place_up(Decimal(repr(abs(value)))))), value)
        return Change("excludes_zero_at", away)
    return Change("length", float(amount_at(place_up(Decimal(repr(best.within_reach))))))
