"""The calculator of the step Choose: of budget, records and precision two are given, and the third
is found.

Every number that it shows comes from `described`, whether it is an answer, a first look, or a
design that is kept to compare. No Streamlit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import count, islice
from typing import ClassVar, Generic, Literal, TypeVar, cast

import numpy as np

from dpci_core import WorldMoments, forecast, needed_budget, needed_records
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.watch import counted
from dpci_core.design import Design
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.plan.effects import effects_of
from dpci_core.plan.numbers import shrinkage_of
from dpci_core.plan.source import Encoder
from dpci_core.planner import Promise, Target, promise
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.standard import (
    USUAL_SPLIT,
    StandardSearch,
    Tried,
    enclosing,
    enclosing_regularization,
    shapes_of,
)
from dpci_core.planner.targets import (
    Outcome,
    as_if,
    outcome,
    outcome_of,
    smallest_told_from_zero,
)
from dpci_core.planner.worlds import SURELY, AnyForecast, foreseen
from dpci_core.privacy.budget import PureDP
from dpci_core.regression.design import LinearDesign
from dpci_core.report.cautions import REPORTABLE_CHANCE, Caution, cautions
from dpci_core.report.effect_table import EffectTable
from dpci_core.schema import Schema, StandardEncoding, told_steps
from ui.plan import numbers
from ui.session.budget import from_shares, split_of
from ui.session.case import AnyCase, Case, make_penalised
from ui.session.choices import UNPENALISED
from ui.session.compute import (
    DECLARED,
    LRU,
    TableSource,
    encoded,
    encoders_of,
    schema_of,
)
from ui.session.settings import LIMITS, Settings
from ui.session.worlds import worlds_of_case

CaseT = TypeVar("CaseT", bound=AnyCase)
Shares = tuple[Decimal, Decimal, Decimal]
Find = Literal["budget", "records", "precision"]

BALANCED = math.sqrt(2.0)
"""An interval so many times as long as without privacy: half of its variance is privacy noise."""
EQUAL_PARTS: Shares = (Decimal(1), Decimal(1), Decimal(1))
_STEP, _NEAR = 1.6, 1.01
"""An amount that is not enough grows by the first factor where nothing says how much is. An answer
is at most so many times the least amount as the second says, by what its own design needs or by an
amount that was not enough.
"""
SEARCHED = 1.02
"""The second for a method that is searched for at every amount."""
ROUGHLY = 1.05
"""The second for what an answer is compared with, and where a search for it begins."""
AT_FIRST = 2.0
"""The second for a first look: mostly of the first amount that is enough."""
_START = {"budget": 1.0, "records": 20_000.0}
"""Where the search for an amount begins, so that an answer rests on nothing that it replaces."""
_TINY = 1e-9
"""A value that no design tells from zero."""
_MOST_LOOKS = 16
"""Designs that are looked at for one answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Option:
    """A design to choose, with what it would give.

    settings: of the whole page, this design among them.
    design: what would be released.
    encoding: the standard encoding that was found for it; None where that is as it was set.
    typed: the total as it is typed.
    precision: the least goal of the kind asked for that is met, in the units of the settings: a
        length, or a value that is told from zero. Of the least favourable world, with the fewest
        records that a release takes.
    length: expected of what the goal is about, in its units.
    probability, as_described: of meeting the goal, in the least favourable world with the fewest
        records, and if the table is as described.
    reportable, of: how many effects can be reported, of how many.
    against: how many times as long as without privacy, on average.
    as_if: records that give intervals so long without privacy.
    is_lost: whether an effect that the goal is about cannot be reported.
    is_useless: whether its intervals are too long to be of use.
    cautions: what speaks against it, as on the page for the board.
    promise: what holds in every world, scaled; None until it is computed.
    effects: every effect, for the step of its column; None with `promise`, and of a named set.
    """

    settings: Settings
    design: Design | LinearDesign
    typed: float
    precision: float
    meets: bool
    length: float
    probability: float
    as_described: float
    reportable: int
    of: int
    against: float
    as_if: int
    is_lost: bool
    is_useless: bool
    cautions: tuple[Caution, ...]
    encoding: StandardEncoding | None = None
    promise: Promise | None = None
    effects: EffectTable | None = None

    @property
    def has_worlds(self) -> bool:
        """Whether it was looked at in more tables than one."""
        return self.promise is not None and len(self.promise.worlds) > 1

    @property
    def works(self) -> bool:
        """Whether it meets the goal with intervals that are of use, some of them in every world."""
        return self.meets and not self._is_of_no_use

    @property
    def misses_goal_alone(self) -> bool:
        """Whether it would work with another number of the goal."""
        return not (self.meets or self._is_of_no_use)

    @property
    def _is_of_no_use(self) -> bool:
        """Whether nothing that it tells serves the goal, whatever its number."""
        return self.is_lost or self.is_useless or self.reportable == 0


def described(case: Case, source: TableSource | None = None) -> Option:
    """The design of a case with what it would give: as declared or, with where its table comes
    from, in every world.
    """
    drawn = drawn_intervals(case.moments, design=case.design)
    found = outcome_of(drawn, case.target)
    made = forecast_of(drawn, case.moments)
    if not case.settings.is_penalised:  # as the page for the board: reportable in any units
        L = case.records.to_original
        original = forecast(case.moments, design=case.design, contrasts=L)
        made = replace(made, is_not_reportable=made.is_not_reportable | original.is_not_reportable)
    worlds = (WorldMoments("", case.moments),) if source is None else worlds_of_case(case, source)
    promised = None if source is None else promise_of(case, worlds)
    said = cautions(
        made,
        design=case.design,
        names=case.names,
        shrinkage=shrinkage_of(case.moments),
        promised=promised,
    )
    schema = None if source is None else schema_of(case.settings, source)
    option = option_of(case, worlds, made, found, promised, said, schema)
    return replace(option, is_useless=made.usefulness.is_useless)


def option_of(
    case: AnyCase,
    worlds: Sequence[WorldMoments],
    made: AnyForecast,
    found: Outcome,
    promised: Promise | None,
    said: tuple[Caution, ...],
    schema: Schema | None,
) -> Option:
    """What a design of any model would give: by its forecast as declared and what that says of the
    goal and, where it is known, by what holds in every world.

    schema: of a table of one's own; None of a named set.
    """
    chance = made.chance_to_report[:-1] if promised is None else promised.chance
    lost = made.is_not_reportable[:-1] | (chance < REPORTABLE_CHANCE)
    probability = found.probability if promised is None else promised.probability or 0.0
    if promised is not None and promised.within_reach is not None:
        precision = promised.within_reach * case.scale
    else:
        precision = max((_nearest_goal(case, one) for one in worlds), key=abs)
    asked = (case.target.excludes_zero_at or case.target.most or 0.0) * case.scale
    return Option(
        settings=case.settings,
        design=case.design,
        typed=float(f"{case.settings.typed_total:.12g}"),
        precision=precision,
        meets=probability > 0.0 and abs(precision) <= abs(asked) * (1.0 + 1e-9),
        length=found.length * case.scale,
        probability=probability,
        as_described=found.probability,
        reportable=int(np.count_nonzero(~lost)),
        of=len(lost),
        against=made.ci_length_mean / made.nonprivate_length_mean,
        as_if=as_if(made),
        is_lost=bool(case.target.about(np.append(lost, made.is_not_reportable[-1])).any()),
        is_useless=False,
        cautions=said,
        promise=promised,
        effects=_effects(case, schema, made, promised),
    )


def _effects(
    case: AnyCase, schema: Schema | None, made: AnyForecast, promised: Promise | None
) -> EffectTable | None:
    """Every effect, as the page for the board has them; None where that is not known."""
    L = case.records.to_original
    if promised is None or schema is None or L is None:
        return None
    return effects_of(
        schema,
        case.names,
        case.design,
        units=told_steps(schema, case.names) * np.abs(L.diagonal()),
        lengths=made,
        is_not_reportable=made.is_not_reportable,
        promised=promised,
    )


def promise_of(case: AnyCase, worlds: Sequence[WorldMoments]) -> Promise:
    """What holds in every world of the effects; the constant is nobody's goal."""
    return promise(
        worlds,
        design=case.design,
        contrasts=np.eye(len(case.names))[:-1],
        target=case.target,
        fewest=case.fewest,
    )


def _nearest_goal(case: AnyCase, world: WorldMoments) -> float:
    """The least goal that is met in a world with the fewest records, in the units of settings."""
    fewer = replace(case.design, n_records=case.fewest)
    if case.target.is_power:
        asked = case.target.excludes_zero_at
        assert asked is not None
        near = replace(case.target, excludes_zero_at=math.copysign(_TINY, asked))
        told = smallest_told_from_zero(world.moments, design=fewer, target=near)
        return told * case.scale
    found = outcome(world.moments, design=fewer, target=case.target)
    return found.within_reach * case.scale


# --- designs by total and number of records -------------------------------------------------------


@dataclass
class Amounts(ABC, Generic[CaseT]):
    """A design for every total, as it is typed, and n; and the least of one that is enough.

    case: of the settings.
    source: of their table.
    near: an answer is at most so many times the least amount.
    """

    case: CaseT
    source: TableSource
    near: float = field(default=_NEAR, kw_only=True)
    known: dict[object, float] = field(default_factory=dict, init=False)
    """What methods need, by name of the amount."""
    is_fixed: ClassVar[bool] = True
    """Whether the method is the same at every amount, so that what it cannot reach is final."""

    @abstractmethod
    def at(self, typed: float, n: int) -> CaseT:
        """The case with the design there.

        Raises:  InfeasibleDesignError where none can run.
        """

    @abstractmethod
    def described(self, case: CaseT) -> Option:
        """What a design gives."""

    def worlds(self, case: CaseT) -> tuple[WorldMoments, ...]:
        """The worlds in which it has to be enough."""
        return worlds_of_case(case, self.source)

    def deciding(self, case: CaseT) -> Sequence[WorldMoments]:
        """Those by which the next amount to look at is found."""
        return self.worlds(case)

    def answer(self, find: Find, start: float | None = None) -> Option:
        """The design that two of the three quantities ask for, with the third.

        start: where to begin.

        Raises:  InfeasibleDesignError, an OutOfReachError where no amount is enough.
        """
        typed, n = self.case.settings.typed_total, self.case.n
        if find == "precision":
            return self.described(self.at(typed, n))
        start = _START[find] if start is None else start
        if find == "budget":
            name = self.case.settings.currency
            return self._least(lambda x: self.at(x, n), self._total_for, name, start)
        return self._least(lambda x: self.at(typed, round(x)), self._records_for, "n", start)

    def balanced(self) -> float:
        """The total, as it is typed, at which privacy adds as much variance as sampling, as
        declared.

        Raises:  InfeasibleDesignError.
        """
        case = self.case
        made = foreseen(case.moments, design=case.design)
        wanted = Target(BALANCED * made.nonprivate_length_mean)
        found = needed_budget(case.moments, design=case.design, target=wanted)
        return numbers.typed_total(case.settings, type(found.design.budget), found.total)

    def is_enough(self, option: Option) -> bool:
        """Whether a design may be the answer."""
        return option.works

    @abstractmethod
    def method_of(self, case: CaseT) -> object:
        """What of its design moves the amount that it needs, beside that amount; None where that is
        too much to compare.
        """

    def _needed(self, here: CaseT, needed_by: Callable[[CaseT], float]) -> float:
        """What the design of a case needs, found once for each method."""
        method = self.method_of(here)
        if method is None:
            return needed_by(here)
        key = (needed_by.__name__, method)
        if key not in self.known:
            self.known[key] = needed_by(here)
        return self.known[key]

    def _total_for(self, here: CaseT) -> float:
        found = needed_budget(
            self.deciding(here), design=here.design, target=here.target, fewest=here.fewest_of
        )
        return numbers.typed_total(here.settings, type(found.design.budget), found.total)

    def _records_for(self, here: CaseT) -> float:
        found = needed_records(
            self.deciding(here), design=here.design, target=here.target, fewest=here.fewest_of
        )
        return float(found.n_records)

    def _least(
        self,
        at: Callable[[float], CaseT],
        needed_by: Callable[[CaseT], float],
        name: str,
        start: float,
    ) -> Option:
        """The least amount whose own design works; where none does, the last that was tried.

        Raises:  as `answer`.
        """
        lowest, highest = LIMITS[name]
        amount, low, high = start, 0.0, math.inf
        best: Option | None = None
        last: Option | None = None
        for _ in counted("try", islice(count(), _MOST_LOOKS)):  # how many shows at the end
            needed, option = math.inf, None
            try:
                here = at(amount)
                option = last = self.described(here)
                needed = self._needed(here, needed_by)
            except InfeasibleDesignError as error:
                if self.is_fixed and isinstance(error, OutOfReachError):
                    raise
                refusal = error
            if option is not None and self.is_enough(option):
                best, high = (option, amount) if amount < high else (best, high)
                if amount <= max(lowest, self.near * needed):
                    break
            else:
                low = max(low, amount)
            if low >= highest or high <= self.near * low:
                break
            is_near = option is not None and not (option.meets or option.is_lost)
            if is_near and needed <= low:
                needed = low * math.sqrt(self.near)
            amount = _next(needed, low, high)
            amount = _up(min(max(amount, lowest), highest), is_whole=name == "n")
            if not low < amount < high:  # between them lies no amount that is shown
                break
        if best is None and last is None:
            raise refusal
        return cast(Option, best or last)


@dataclass
class Designs(Amounts[Case]):
    """The method of a penalised model as it is set by hand."""

    def at(self, typed: float, n: int) -> Case:
        """The case with the design there: its shares kept, its noise shaped anew.

        Raises:  InfeasibleDesignError where none can run.
        """
        if (typed, n) == (self.case.settings.typed_total, self.case.n):
            return self.case
        now = replace(self.case.settings.swept("total", typed), n=n).settled()
        if now.is_shaped or now.c != self.case.settings.c:
            return make_penalised(now, self.source)
        return replace(self.case, settings=now, design=now.design(now.combinations[0]))

    def described(self, case: Case) -> Option:
        """What a design gives in every world."""
        return described(case, self.source)

    def method_of(self, case: Case) -> object:
        """The penalty; where noise is shaped anew, nothing."""
        return None if case.settings.is_shaped else case.settings.c


def _next(needed: float, low: float, high: float) -> float:
    """The amount to look at, above one that is too little and below one that is enough; `needed` by
    the design that was looked at last.
    """
    if low < needed < high:
        return needed
    if high < math.inf:
        return math.sqrt(max(low, high / 10.0) * high)
    return low * (_STEP if needed < math.inf else _STEP**2)


def _up(amount: float, *, is_whole: bool) -> float:
    """Three digits, rounded up; a whole number in full below a thousand."""
    shown = float(f"{amount:.3g}")
    if shown < amount * (1.0 - 1e-9):
        shown = float(f"{amount * 1.005:.3g}")
    return float(math.ceil(shown)) if is_whole else shown


@dataclass
class Described(Designs):
    """Designs of a table whose method is not set by hand.

    mechanism: of every design.
    is_split_free: whether the split is found too.
    """

    schema: Schema
    mechanism: str
    is_split_free: bool = True
    is_fixed: ClassVar[bool] = False

    @cached_property
    def encoders(self) -> tuple[Encoder, ...]:
        """The planning rows of every world."""
        names = self.case.records.feature_names[:-1]
        return encoders_of(self.case.settings, self.source, names)

    def asked(self, typed: float, n: int) -> Settings:
        """The settings there, whose method is not found yet."""
        now = self.case.settings.swept("total", typed)
        return replace(now, n=n, mechanisms=(self.mechanism,), target=UNPENALISED, shape="planning")

    def made(self, now: Settings, encoding: StandardEncoding, c: float) -> Case:
        """The case of settings with this encoding and penalty."""
        now, source = replace(now, c=c, penalty="typed"), self.source
        if (kept := source.upload) is None:
            now = replace(now, declared=encoded(now.declared, encoding))
        else:
            schema = replace(self.schema, standard=encoding)
            source = replace(source, upload=replace(kept, schema=schema))
        return make_penalised(now, source)


@dataclass
class FirstLook(Described):
    """Designs that take no search, in the first world alone: by them mechanisms are compared, and a
    search begins at what they need.
    """

    @cached_property
    def enclosing(self) -> StandardEncoding:
        """The encoding in which all planning rows count in full."""
        return enclosing(self.encoders[0])

    def at(self, typed: float, n: int) -> Case:
        """The case with a usual split and penalty."""
        now = self.asked(typed, n)
        if self.is_split_free:
            now = replace(now, split=from_shares(now.split.total, USUAL_SPLIT))
        c = enclosing_regularization(now.design(now.combinations[0]))
        return self.made(now, self.enclosing, min(c, LIMITS["c"][1]))

    def described(self, case: Case) -> Option:
        """What a design gives as declared."""
        return replace(described(case), encoding=self.enclosing)

    def worlds(self, case: Case) -> tuple[WorldMoments, ...]:
        """The first."""
        return (WorldMoments("", case.moments),)


@dataclass
class Searched(Described):
    """Designs whose encoding, penalty and split are moved, at every amount, to where most effects
    can be reported and the goal is nearest, in every world.

    memo: where what was found is kept.
    is_quick: whether they are moved once, from what is usual: a quick look in every world.
    """

    memo: LRU = field(default_factory=lambda: LRU(_MOST_LOOKS))
    is_quick: bool = False

    def at(self, typed: float, n: int) -> Case:
        """The case with the design there."""
        found, now = self._found(typed, n), self.asked(typed, n)
        now = _split_as(found.design, now) if self.is_split_free else now
        return self.made(now, found.encoding, found.design.regularization)

    def described(self, case: Case) -> Option:
        """What a design gives in every world."""
        encoding = self._found(case.settings.typed_total, case.n).encoding
        return replace(described(case, self.source), encoding=encoding)

    def is_enough(self, option: Option) -> bool:
        """Whether it works, and what the goal is about is surely reported."""
        if not option.works or option.promise is None:
            return False
        chance = np.append(option.promise.chance, 1.0)  # no search counts on the constant
        return bool((self.case.target.about(chance) >= SURELY).all())

    def method_of(self, case: Case) -> object:
        """Nothing: encoding, penalty and split are others at other amounts."""
        return None

    @cached_property
    def search(self) -> StandardSearch:
        """The search for one amount, whose fits are those of the page."""
        store, table = self.source.store, basis(self.case.settings, "precision").declared
        key = "shapes", table, id(self.source.upload), self.case.names
        bare = self.asked(1.0, 1)
        around = self._key("around", bare, is_split_free=True)  # of every split and amount
        return StandardSearch(
            self.encoders,
            target=self.case.target,
            shapes=self.memo.get(key, lambda: shapes_of(self.encoders)),
            fit=lambda records, loss, c, _: store.moments(records, loss, c, UNPENALISED),
            keep=lambda key, search: self.memo.get((*around, key), search),
        )

    def _found(self, typed: float, n: int) -> Tried:
        """Encoding, penalty and split there."""
        now = self.asked(typed, n)
        search = self.search.quick if self.is_quick else self.search.found

        def find() -> Tried:
            design = now.design(now.combinations[0])
            design = replace(design, n_records=self.case.fewest_of(n))
            return search(design, is_split_free=self.is_split_free)

        key = self._key("searched", now, is_split_free=self.is_split_free)
        return self.memo.get((self.is_quick, *key), find)

    def _key(self, name: str, now: Settings, *, is_split_free: bool) -> tuple[object, ...]:
        """What a search rests on."""
        bare = basis(now, "precision")
        if is_split_free:
            bare = replace(bare, split=from_shares(bare.split.total))
        return name, bare, is_split_free, id(self.source.upload)


def _split_as(found: Design, now: Settings) -> Settings:
    """The settings with the shares of a design."""
    shares = split_of(found.budget, now.split.with_locks())
    return replace(now, split=shares.with_total(now.split.total))


# --- what is asked, and what comes of it ----------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Ways:
    """A first look at every mechanism, the better first, with what each gives; None where it cannot
    run.
    """

    found: tuple[tuple[str, Option | None], ...]

    @property
    def best(self) -> str:
        """The mechanism to choose."""
        return self.found[0][0]

    @property
    def in_question(self) -> tuple[str, ...]:
        """The mechanisms of which a search may find the better: the best at first sight, and one
        that asks for less, or has shorter intervals, of fewer effects.
        """
        first = self.found[0][1]
        if first is None:
            return (self.best,)
        return tuple(
            name
            for name, option in self.found
            if option is not None and (name == self.best or self._is_less(option, first))
        )

    @staticmethod
    def _is_less(one: Option, other: Option) -> bool:
        return (one.typed, one.settings.n, abs(one.precision)) < (
            other.typed,
            other.settings.n,
            abs(other.precision),
        )


def laws(now: Settings) -> tuple[Settings, ...]:
    """The ways to spend a budget: as it is typed; of an epsilon at delta also all of it as a pure
    epsilon, since what is epsilon-DP is (epsilon, delta)-DP for every delta.
    """
    if not now.typed.is_promise:
        return (now,)
    pure = PureDP.definition
    split = now.split.with_locks().with_total(Decimal(now.epsilon))
    return now, replace(now, currency=pure, definitions=(pure,), split=split)


def ranked(find: Find, looked: Mapping[str, numbers.Answer]) -> Ways:
    """Order mechanisms, or laws, by their first looks: those that work, then more effects, then the
    better answer.
    """

    def cost(option: Option | None) -> tuple[float, ...]:
        if option is None:
            return (math.inf,)
        amounts = {"budget": option.typed, "records": float(option.settings.n)}
        fails = find != "precision" and not option.works
        return float(fails), -option.reportable, amounts.get(find, abs(option.precision))

    found = [(name, cast("Option | None", option)) for name, (option, _) in looked.items()]
    return Ways(found=tuple(sorted(found, key=lambda one: cost(one[1]))))


def basis(settings: Settings, find: Find) -> Settings:
    """What a searched answer rests on: not what it finds, nor how the page shows it."""
    now = settings.usual("c", "penalty", "target", "units", "sweep")
    if now.dataset == DECLARED:
        now = replace(now, declared=encoded(now.declared, None))
    if find == "records":
        return now.usual("n")
    return now.swept("total", 1.0) if find == "budget" else now


def adopted(now: Settings, option: Option) -> Settings:
    """The settings with the design of an option."""
    found = option.settings
    return replace(
        now,
        n=found.n,
        c=found.c,
        penalty=found.penalty,
        split=found.split,
        epsilon=found.epsilon,
        currency=found.currency,
        definitions=found.definitions,
        mechanisms=found.mechanisms,
        steps=found.steps,
        clip=found.clip,
        row_clip=found.row_clip,
        target=found.target,
        declared=found.declared,
        encoding=found.encoding,
        shape=found.shape,
    )
