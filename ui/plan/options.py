"""The calculator of the step Choose: of budget, records and precision two are given, and the third
is found.

Every number that it shows comes from `described`, whether it is an answer, a first look, or a
design that is kept to compare. No Streamlit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain, count, islice, product
from typing import ClassVar, Generic, Literal, NamedTuple, TypeVar, cast

import numpy as np

from dpci_core import WorldMoments, forecast, needed_budget, needed_records
from dpci_core.base.array import Flags
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.watch import counted
from dpci_core.design import Design
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.plan.numbers import shrinkage_of
from dpci_core.plan.source import Encoder
from dpci_core.planner import Promise, Target, promise
from dpci_core.planner.needed import OutOfReachError
from dpci_core.planner.shape import shortest_shape
from dpci_core.planner.standard import (
    LIMIT,
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
from dpci_core.planner.worlds import AnyForecast, foreseen
from dpci_core.privacy.budget import PARTS, PureDP
from dpci_core.regression.design import LinearDesign
from dpci_core.report.cautions import REPORTABLE_CHANCE, Caution, cautions
from dpci_core.schema import Schema, StandardEncoding
from dpci_core.schema.declare import Triangle
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
    fit_target,
)
from ui.session.settings import LIMITS, Settings
from ui.session.worlds import moments_in, tables_of_case, worlds_of_case

CaseT = TypeVar("CaseT", bound=AnyCase)
Shares = tuple[Decimal, Decimal, Decimal]
Cost = tuple[float, float]
Find = Literal["budget", "records", "precision"]

BALANCED = math.sqrt(2.0)
"""An interval so many times as long as without privacy: half of its variance is privacy noise."""
_USUAL_SPLIT = (Decimal("0.60"), Decimal("0.30"), Decimal("0.10"))
"""Of the first look, which searches for none: near what searches find on the described tables."""
EQUAL_PARTS: Shares = (Decimal(1), Decimal(1), Decimal(1))
_STEP, _NEAR, _LITTLE = 1.6, 1.01, 1.005
"""An amount that is not enough grows by the first factor where nothing says how much is. An answer
is the least amount up to the second, or where what its own design needs is nearer than the third.
"""
_START = {"budget": 1.0, "records": 20_000.0}
"""Where the search for an amount begins, so that an answer rests on nothing that it replaces."""
_TINY = 1e-9
"""A value that no design tells from zero."""
_MOST_LOOKS = 16
"""Designs that are looked at for one answer."""
_SPLITS: tuple[Shares, ...] = (
    *(_USUAL_SPLIT, EQUAL_PARTS),
    *((Decimal(2), Decimal(1), Decimal(1)), (Decimal(2), Decimal(2), Decimal(1))),
)
"""Where a search for a split begins: near what it finds, and with those that people set by hand."""
_ROUGH, _FINE = (6, 3), (3, 1)
"""Steps of a move: of penalty and shares those of a grid of 20 a decade."""
_A_DECADE = 20
_FEW = 2
"""Encodings that are looked at with every split."""
_SURELY = 0.98
"""Chance to report from which on a search counts on an effect: more than `REPORTABLE_CHANCE`, since
it goes to the edge of what the draws of a forecast allow, and other draws allow less.
"""
_LOST = 1e4
"""Intervals so many times as long are as bad as one more effect that is never reported: a penalty
that shrinks all of them to nothing is not.
"""
_NEVER: Cost = (math.inf, math.inf)
_MOST_MOVES, _WORTH = 4, 0.998
"""Moves of one part in one direction, each to at most so many times the cost before."""
_LEAST_SHARE, _SHARE = Decimal("0.2"), Decimal("0.001")
"""Of the coefficients in a split that is tried, and the steps of all."""


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

    @property
    def has_worlds(self) -> bool:
        """Whether it was looked at in more tables than one."""
        return self.promise is not None and len(self.promise.worlds) > 1

    @property
    def works(self) -> bool:
        """Whether it meets the goal with intervals that are of use, some of them in every world."""
        return self.meets and not (self.is_lost or self.is_useless or self.reportable == 0)


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
    option = option_of(case, worlds, made, found, promised, said)
    return replace(option, is_useless=made.usefulness.is_useless)


def option_of(
    case: AnyCase,
    worlds: Sequence[WorldMoments],
    made: AnyForecast,
    found: Outcome,
    promised: Promise | None,
    said: tuple[Caution, ...],
) -> Option:
    """What a design of any model would give: by its forecast as declared and what that says of the
    goal and, where it is known, by what holds in every world.
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
        is_lost=_is_lost(case, np.append(lost, made.is_not_reportable[-1])),
        is_useless=False,
        cautions=said,
        promise=promised,
    )


def _is_lost(case: AnyCase, lost: Flags) -> bool:
    """Whether an effect that the goal is about is lost; a mean is about none."""
    if case.target.limits is not None:
        return bool(lost[:-1].any())
    place = case.target.coefficient
    return place is not None and bool(lost[place])


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
    """

    case: CaseT
    source: TableSource
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
                if amount <= max(lowest, _LITTLE * needed):
                    break
            else:
                low = max(low, amount)
            if low >= highest or high <= _NEAR * low:
                break
            is_near = option is not None and not (option.meets or option.is_lost)
            if is_near and needed <= low:
                needed = low * _LITTLE
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
    """Designs that take no search, in the first world alone: what can be told at once."""

    @cached_property
    def enclosing(self) -> StandardEncoding:
        """The encoding in which all planning rows count in full."""
        return enclosing(self.encoders[0])

    def at(self, typed: float, n: int) -> Case:
        """The case with a usual split and penalty."""
        now = self.asked(typed, n)
        if self.is_split_free:
            now = replace(now, split=from_shares(now.split.total, _USUAL_SPLIT))
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
    """

    memo: LRU = field(default_factory=lambda: LRU(_MOST_LOOKS))
    order: list[int] = field(default_factory=list, init=False)
    """Places of the worlds, those first that lately ruled out a design."""

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
        place, promised = self.case.target.coefficient, option.promise
        if not option.works or promised is None:
            return False
        chance = promised.chance if place is None else promised.chance[place]
        is_mean = place is None and self.case.target.limits is None
        return is_mean or bool(np.min(chance) >= _SURELY)

    def method_of(self, case: Case) -> object:
        """Nothing: encoding, penalty and split are others at other amounts."""
        return None

    def _found(self, typed: float, n: int) -> _Found:
        """Encoding, penalty and split there."""
        now = self.asked(typed, n)

        def search() -> _Found:
            with closing(counted("design", count())) as number:
                near = self._near(typed, n, number)
                if not self.is_split_free:
                    best = self._for_split(now, near, number)
                else:
                    total = now.split.total
                    splits = [replace(now, split=from_shares(total, one)) for one in _SPLITS]
                    found = [self._for_split(one, near, number) for one in splits]
                    parts = ("shape", "c", *PARTS[1:])
                    moved = [self._moved(one, parts, _FINE, number) for one in found]
                    best = min(moved, key=lambda one: one.cost)
            return _Found(best.encoding, best.case.design)

        return self.memo.get(self._key("searched", now, self.is_split_free), search)

    def _key(self, name: str, now: Settings, is_split_free: bool) -> tuple[object, ...]:
        """What a search rests on."""
        bare = basis(now, "precision")
        if is_split_free:
            bare = replace(bare, split=from_shares(now.split.total))
        return name, bare, is_split_free, id(self.source.upload)

    @cached_property
    def encodings(self) -> tuple[StandardEncoding, ...]:
        """Those that are tried, by their shapes: in the order of the share of the planning rows
        that count in full.
        """
        table = basis(self.case.settings, "precision").declared, id(self.source.upload)
        key = "shapes", *table, self.case.names
        shapes = self.memo.get(key, lambda: shapes_of(self.encoders))
        half = len(shapes) // (1 if len(self.encoders) == 1 else 2)
        both = zip(shapes[:half], shapes[half:] or shapes[:half], strict=True)
        return tuple(StandardEncoding(limit=LIMIT, shape=s) for s in dict.fromkeys(chain(*both)))

    def _near(self, typed: float, n: int, number: Iterator[int]) -> tuple[_Method, ...]:
        """Encodings and penalties that go with a usual split, the best first: every split begins
        with them.
        """
        now = self.asked(typed, n)
        now = replace(now, split=from_shares(now.split.total, _USUAL_SPLIT))

        def search() -> tuple[_Method, ...]:
            tried = []
            c = _on_grid(enclosing_regularization(now.design(now.combinations[0])))
            for encoding in self.encodings[::2]:
                case = self.made(now, encoding, c)
                one = self._moved(_Tried(self._cost(case), case, encoding), ("c",), _ROUGH, number)
                tried.append(one)
                c = one.case.settings.c  # near to what the next takes
            tried.sort(key=lambda one: one.cost)
            best = self._moved(tried[0], ("shape", "c"), _FINE, number)
            found = [best, *tried[1:_FEW]]
            if (shape := self._shorter(best)) is not None:
                found.append(best._replace(encoding=replace(best.encoding, shape=shape)))
            return tuple(_Method(one.encoding, one.case.settings.c) for one in found)

        return self.memo.get(self._key("near", now, True), search)

    def _for_split(self, now: Settings, near: Sequence[_Method], number: Iterator[int]) -> _Tried:
        """The best encoding and penalty for a split."""
        tried = []
        for encoding, c in near:
            case = self.made(now, encoding, c)
            tried.append(_Tried(self._cost(case), case, encoding))
        best = min(tried, key=lambda one: one.cost)
        best = self._moved(best, ("c",), _ROUGH, number)
        return self._moved(best, ("shape", "c"), _FINE, number)

    def _shorter(self, best: _Tried) -> Triangle | None:
        """The shape of the shortest intervals near its own."""
        case, shape = best.case, best.encoding.shape
        if best.cost == _NEVER or not isinstance(shape, tuple):
            return None
        rows = tables_of_case(case, self.source).values()
        seen = [(of, moments_in(case, self.source, of)) for of in rows]
        is_out = np.zeros(len(case.names) - 1, dtype=np.bool_)
        return shortest_shape(shape, seen, design=case.at_fewest, is_out=is_out)

    def _moved(
        self, best: _Tried, parts: Sequence[str], steps: Sequence[int], number: Iterator[int]
    ) -> _Tried:
        """With the next shape, more or less of the penalty "c", or of the share of a matrix, as
        long as that helps; `number` goes through what is tried for one amount.
        """
        for size, part in product(steps, parts):
            for step in (size, -size):
                before = best
                for _ in zip(range(_MOST_MOVES), number, strict=False):
                    changed = self._changed(best, part, step)
                    enough = best.cost[0], _WORTH * best.cost[1]
                    if changed is None or (cost := self._cost(changed[0], enough)) >= enough:
                        break
                    best = _Tried(cost, *changed)
                if best is not before:
                    break
        return best

    def _changed(self, best: _Tried, part: str, step: int) -> tuple[Case, StandardEncoding] | None:
        """The case with another part, and its encoding; None where that cannot be."""
        case, encoding = best.case, best.encoding
        factor = 10.0 ** (step / _A_DECADE)
        if part == "c":
            c = _on_grid(factor * case.settings.c)
            design = replace(case.design, regularization=c)
            records, fitted = case.records, fit_target(case.records, design)
            moments = self.source.store.moments(records, design.loss, c, fitted)
            now = replace(case.settings, c=c)
            return replace(case, settings=now, design=design, moments=moments), encoding
        if part in PARTS:
            budget = case.design.budget
            share = Decimal(factor) * getattr(budget, part) / budget.total
            other = _with_share(case, part, share)
            return None if other is None else (other, encoding)
        if encoding not in self.encodings:
            return None
        place = self.encodings.index(encoding) + (1 if step > 0 else -1)
        if not 0 <= place < len(self.encodings):
            return None
        encoding = self.encodings[place]
        return self.made(case.settings, encoding, case.settings.c), encoding

    def _cost(self, case: Case, enough: Cost = _NEVER) -> Cost:
        """What counts of a case: effects that are surely promised, then how near the goal is,
        farther by what chances to report lack. Most where it cannot run; where the first worlds
        cost enough already, what they cost.
        """
        chance, reach, cost = np.ones(len(case.names) - 1), 0.0, _NEVER
        tables = list(tables_of_case(case, self.source).values())
        self.order = self.order or list(range(len(tables)))
        for turn, place in enumerate(self.order):
            try:
                moments = moments_in(case, self.source, tables[place])
                drawn = drawn_intervals(moments, design=case.at_fewest)
            except InfeasibleDesignError:
                return _NEVER
            made = forecast_of(drawn, moments)
            if case.target.is_power:  # what is told from zero is so long an interval away
                near = float(made.ci_length[case.target.coefficient])
            else:
                near = outcome_of(drawn, case.target).within_reach
            chance = np.minimum(chance, made.chance_to_report[:-1])
            reach = max(reach, near)
            lack = float(np.maximum(_SURELY - chance, 0.0).sum())
            cost = -int(np.count_nonzero(chance >= _SURELY)), reach * _LOST**lack
            if cost >= enough:
                self.order.insert(0, self.order.pop(turn))
                break
        return cost


class _Tried(NamedTuple):
    """A case, what counts of it, the less the better, and its encoding."""

    cost: Cost
    case: Case
    encoding: StandardEncoding


class _Method(NamedTuple):
    """Where a search begins for a split."""

    encoding: StandardEncoding
    c: float


class _Found(NamedTuple):
    """What a search gave."""

    encoding: StandardEncoding
    design: Design


def _on_grid(c: float) -> float:
    """The nearest penalty of those that are tried, so that fits are shared."""
    low, high = LIMITS["c"]
    near = 10.0 ** (round(_A_DECADE * math.log10(c)) / _A_DECADE)
    return min(max(float(f"{near:.3g}"), low), high)


def _split_as(found: Design, now: Settings) -> Settings:
    """The settings with the shares of a design."""
    shares = split_of(found.budget, now.split.with_locks())
    return replace(now, split=shares.with_total(now.split.total))


def _with_share(case: Case, part: str, share: Decimal) -> Case | None:
    """The case with another share of the total for one of the matrices; None where the coefficients
    would have too little.
    """
    budget = case.design.budget
    amounts = {name: getattr(budget, name) / budget.total for name in PARTS} | {part: share}
    amounts["model"] = 1 - amounts["hessian"] - amounts["covariance"]
    if amounts["model"] < _LEAST_SHARE:
        return None
    shares = tuple(amounts[name].quantize(_SHARE) for name in PARTS)
    split = from_shares(case.settings.split.total, shares)
    now = replace(case.settings, split=split)
    return replace(case, settings=now, design=now.design(now.combinations[0]))


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
    now = settings.usual("c", "penalty", "target", "look", "units", "sweep")
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
