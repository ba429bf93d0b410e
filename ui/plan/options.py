"""The budgets on offer at the step Choose: the least that works, a balanced one, one's own total.

Each is a whole design with what it would give. For a described table its encoding, penalty and
split are searched for at that very budget, unless they are set by hand. No Streamlit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from typing import cast

import numpy as np

from dpci_core import Forecast, best_split, forecast, needed_budget
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.plan.numbers import shrinkage_of
from dpci_core.plan.source import Encoder
from dpci_core.planner import Promise, Target, promise
from dpci_core.planner.amounts import with_total
from dpci_core.planner.needed import NeededBudget
from dpci_core.planner.standard import best_standard
from dpci_core.planner.targets import as_if, outcome_of
from dpci_core.privacy.budget import Budget
from dpci_core.report.cautions import REPORTABLE_CHANCE, Caution, cautions
from dpci_core.schema import Records, Schema, StandardEncoding, encode
from ui.plan import numbers
from ui.session.budget import from_shares, split_of
from ui.session.case import Case, make_case
from ui.session.choices import UNPENALISED
from ui.session.compute import DECLARED, TableSource, declared_table, packed_table
from ui.session.settings import Settings
from ui.session.worlds import worlds_of_case

BALANCED = math.sqrt(2.0)
"""An interval so many times as long as without privacy: half of its variance is privacy noise."""
_ROUNDS = 2
"""Searches for the least budget: what is best at a total is not quite best at the total found."""
_STEP, _STEPS, _NEAR = Decimal("1.6"), 8, Decimal("1.1")
"""The least budget grows by this factor, at most so often, until its intervals are of use in every
world; then it is found up to the last."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """A design to choose, with what it would give.

    settings: of the whole page, this design among them.
    encoding: the standard encoding that was found for it; None where that is as it was set.
    total: epsilon or rho.
    typed: the same as it is typed.
    length: of what the goal is about, in its units.
    probability: of meeting the goal.
    against: how many times as long as without privacy.
    as_if: records that give intervals so long without privacy.
    is_not_reportable: whether the coefficient of the goal is not.
    is_useless: whether its intervals are too long to be of use.
    cautions: what speaks against it, as on the page for the board.
    nearby: of the least budget, factor, length and probability at 0.8 and 1.25 times it.
    promise: what holds in every world, scaled; None until it is computed. Then probability and
    verdict are those of the least favourable world.
    range: shortest and longest expected length over the worlds, of the goal's coefficient.
    """

    settings: Settings
    total: Decimal
    typed: float
    length: float
    probability: float
    meets: bool
    against: float
    as_if: int
    is_not_reportable: bool
    is_useless: bool
    cautions: tuple[Caution, ...]
    nearby: tuple[tuple[float, float, float], ...] = ()
    encoding: StandardEncoding | None = None
    promise: Promise | None = None
    range: tuple[float, float] | None = None

    @property
    def works(self) -> bool:
        """Whether it meets the goal with intervals that are of use, some of them in every world."""
        is_silent = self.promise is not None and self.promise.reportable == 0
        return self.meets and not (self.is_not_reportable or self.is_useless or is_silent)


def described(case: Case, source: TableSource | None = None) -> Option:
    """The design of a case with what it would give: as declared or, with where its table comes
    from, in every world.
    """
    drawn = drawn_intervals(case.moments, design=case.design)
    found = outcome_of(drawn, case.target)
    made = forecast_of(drawn, case.moments)
    if not case.settings.is_penalised:  # as the page for the board: not reportable in any units
        L = case.records.to_original
        original = forecast(case.moments, design=case.design, contrasts=L)
        made = replace(made, is_not_reportable=made.is_not_reportable | original.is_not_reportable)
    promised, place = None if source is None else _promise(case, source), case.target.coefficient
    is_lost, probability, both = is_not_reportable(made, case.target), found.probability, None
    if promised is not None:
        assert promised.probability is not None
        probability = promised.probability
        if place is not None and place < len(promised.chance):
            is_lost = is_lost or bool(promised.chance[place] < REPORTABLE_CHANCE)
            both = promised.shortest[place] * case.scale, promised.longest[place] * case.scale
    return Option(
        settings=case.settings,
        total=case.design.budget.total,
        typed=numbers.typed_total(
            case.settings, type(case.design.budget), case.design.budget.total
        ),
        length=found.length * case.scale,
        probability=probability,
        meets=found.meets and probability >= case.target.probability,
        against=found.length / without_privacy(made, case.target),
        as_if=as_if(made),
        is_not_reportable=is_lost,
        is_useless=made.usefulness.is_useless,
        cautions=cautions(
            made,
            design=case.design,
            names=case.records.feature_names,
            shrinkage=shrinkage_of(case.moments),
            promised=promised,
        ),
        promise=promised,
        range=both,
    )


def _promise(case: Case, source: TableSource) -> Promise:
    """What holds in every world of the effects; the constant is nobody's goal."""
    return promise(
        worlds_of_case(case, source),
        design=case.design,
        contrasts=np.eye(len(case.moments.theta_hat))[:-1],
        target=case.target,
        fewest=case.fewest,
    )


def without_privacy(made: Forecast, target: Target) -> float:
    """Length without privacy of what a goal is about, scaled."""
    place = target.coefficient
    return made.nonprivate_length_mean if place is None else float(made.nonprivate_length[place])


def is_not_reportable(made: Forecast, target: Target) -> bool:
    """Whether a goal is about a coefficient that is not reportable."""
    place = target.coefficient
    return place is not None and bool(made.is_not_reportable[place])


def least_of(known: Mapping[str, numbers.Answer]) -> Option | None:
    """The least budget of the page that works: a search finds one near the least, and where a
    balanced or a typed one works with less, it is that one; None while none is known.
    """
    found = [one for one, _ in known.values() if isinstance(one, Option)]
    working = [one for one in found if one.works]
    searched = known.get("least", (None, None))[0]
    return min(working, key=lambda one: one.total, default=cast("Option | None", searched))


# --- with the method as it is set -----------------------------------------------------------------


def least(case: Case, source: TableSource) -> Option:
    """The least budget that meets the goal with intervals of use, the method as it is set."""
    here = case
    for _ in range(_ROUNDS):
        found = needed_budget(
            worlds_of_case(here, source),
            design=replace(here.design, n_records=here.fewest),
            target=here.target,
        )
        if case.design == case.bare:
            break
        here = _at(case, found.total, source)  # its noise is shaped for another total
    return _of_use(case, found, source)


def _of_use(case: Case, found: NeededBudget, source: TableSource) -> Option:
    kind = type(case.design.budget)
    low = numbers.own_total(case.settings, kind, case.settings.typed.limits[0])
    total, nearby = max(found.total, _rounded(Decimal(repr(low)))), _nearby(found, case.scale)

    def at(total: Decimal) -> Option:
        return described(_at(case, total, source), source)

    option = least = at(total)
    for _ in range(_STEPS):
        if option.works:
            break
        least, nearby = option, ()
        option = at(_rounded(option.total * _STEP))
    while option.total > _NEAR * least.total:
        middle = at(_rounded((option.total * least.total).sqrt()))
        option, least = (middle, least) if middle.works else (option, middle)
    return replace(option, nearby=nearby)


def _nearby(found: NeededBudget, scale: float) -> tuple[tuple[float, float, float], ...]:
    return tuple((x.factor, x.length * scale, x.probability) for x in found.around)


def balanced(case: Case, source: TableSource) -> Option:
    """The budget at which privacy adds as much variance as sampling, the method as it is set."""
    made = forecast(case.moments, design=case.design)
    wanted = Target(BALANCED * without_privacy(made, case.target), case.target.coefficient)
    found = needed_budget(case.moments, design=case.design, target=wanted)
    return described(_at(case, found.total, source), source)


def _rounded(total: Decimal) -> Decimal:
    return Decimal(f"{total:.3g}")


def _at(case: Case, total: Decimal, source: TableSource) -> Case:
    """The case at another total, its shares kept, its noise shaped anew."""
    design = with_total(case.bare, total)
    now = numbers.with_budget(case.settings, design.budget)
    if now.is_shaped:
        return make_case(now, source)
    return replace(case, settings=now, design=design)


# --- with the method searched for -----------------------------------------------------------------


@dataclass(frozen=True)
class Search:
    """Looks for encoding, penalty and split of one table at a budget, for the goal of a case.

    found: cases by their totals, so that no search is made twice.
    """

    case: Case
    source: TableSource
    schema: Schema
    found: dict[Decimal, tuple[Case, StandardEncoding]] = field(default_factory=dict)

    def own(self) -> Option:
        """At the total of the settings."""
        here, encoding = self.at(self.case.design.budget.total)
        return replace(described(here, self._source(encoding)), encoding=encoding)

    def least(self) -> Option:
        """At the least total that meets the goal with intervals of use."""
        best = None
        total = self.case.design.budget.total
        for _ in range(_ROUNDS):
            here, encoding = self.at(total)
            answer = needed_budget(
                worlds_of_case(here, self._source(encoding)),
                design=replace(here.design, n_records=here.fewest),
                target=here.target,
            )
            option = replace(_of_use(here, answer, self._source(encoding)), encoding=encoding)
            if best is None or (option.works, -option.total) > (best.works, -best.total):
                best = option
            total = option.total
        assert best is not None
        return best

    def balanced(self) -> Option:
        """At the total at which privacy adds as much variance as sampling."""
        here, encoding = self.at(self.case.design.budget.total)
        here, encoding = self.at(balanced(here, self._source(encoding)).total)
        return replace(balanced(here, self._source(encoding)), encoding=encoding)

    def at(self, total: Decimal) -> tuple[Case, StandardEncoding]:
        """The case with the best design at a total, its split for the coefficient of the goal, and
        its encoding.
        """
        if total not in self.found:
            answer = best_standard(
                self.encoders[0],
                design=replace(with_total(self.case.bare, total), n_records=self.case.fewest),
                worlds=self.encoders[1:],
            )
            here = self._with(answer.encoding, answer.design.regularization, answer.design.budget)
            source = self._source(answer.encoding)
            self.found[total] = _split_for_goal(here, source), answer.encoding
        return self.found[total]

    @cached_property
    def encoders(self) -> tuple[Encoder, ...]:
        """The planning rows of every world."""
        names = self.case.records.feature_names[:-1]
        if (kept := self.source.upload) is None:
            return declared_table(self.case.settings.declared).encoders(names)

        def encoded(encoding: StandardEncoding) -> Records:
            schema = replace(self.schema, standard=encoding)
            return encode(kept.frame, schema, features=names, source=kept.source, title=kept.title)

        return (encoded,)

    def _with(self, encoding: StandardEncoding, c: float, budget: Budget) -> Case:
        schema = replace(self.schema, standard=encoding)
        now = replace(numbers.with_budget(self.case.settings, budget), c=c, penalty="typed")
        now = replace(now, target=UNPENALISED)
        if self.source.upload is None:
            table = replace(declared_table(now.declared), schema=schema)
            now = replace(now, declared=packed_table(table))
        return make_case(now, self._source(encoding))

    def _source(self, encoding: StandardEncoding) -> TableSource:
        """Return the source of the table in this encoding."""
        if (kept := self.source.upload) is None:
            return self.source
        schema = replace(self.schema, standard=encoding)
        return replace(self.source, upload=replace(kept, schema=schema))


def _split_for_goal(case: Case, source: TableSource) -> Case:
    """The case with the split that serves the coefficient of its goal, or that goes with the shape
    of its noise.
    """
    place = case.target.coefficient
    if case.design.geometry is None:  # split for all worlds already
        return case
    try:
        best = best_split(case.moments, design=case.design, coefficient=place)
    except InfeasibleDesignError:
        return case
    split = split_of(best.design.budget, case.settings.split.with_locks())
    now = replace(case.settings, split=split)
    return (
        make_case(now, source) if now.is_shaped else replace(case, settings=now, design=best.design)
    )


def schema_of(settings: Settings, source: TableSource) -> Schema | None:
    """What is declared of a table that may have the standard encoding."""
    if settings.dataset == DECLARED:
        return declared_table(settings.declared).schema
    kept = source.upload
    return kept.schema if settings.dataset == "upload" and kept else None


def finders(case: Case, source: TableSource, *, is_chosen: bool) -> dict[str, Callable[[], Option]]:
    """How each option is found, by its name."""
    schema = schema_of(case.settings, source)
    if is_chosen and schema is not None:
        search = Search(case, source, schema)
        return {"own": search.own, "least": search.least, "balanced": search.balanced}
    return {
        "own": partial(described, case, source),
        "least": partial(least, case, source),
        "balanced": partial(balanced, case, source),
    }


def basis(settings: Settings, name: str) -> Settings:
    """What a searched option rests on: not what it chooses itself, nor how the page shows it."""
    now = settings.usual("c", "penalty", "target", "look", "units", "sweep")
    if now.dataset == DECLARED:
        table = declared_table(now.declared)
        bare = replace(table, schema=replace(table.schema, standard=None))
        now = replace(now, declared=packed_table(bare))
    if name == "own":
        return replace(now, split=from_shares(now.split.total))
    return replace(now, split=from_shares(Decimal(1)), epsilon="1")


def adopted(now: Settings, option: Option) -> Settings:
    """The settings with the design of an option."""
    found = option.settings
    return replace(
        now,
        c=found.c,
        penalty="typed",
        split=found.split,
        epsilon=found.epsilon,
        target=found.target,
        declared=found.declared,
        encoding=found.encoding,
    )
