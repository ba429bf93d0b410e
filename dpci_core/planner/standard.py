"""Shape of the rows, regularization and split of a standard encoding, searched for together and in
several worlds at once.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from functools import cached_property
from itertools import count, product
from typing import NamedTuple

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.decimals import EXACT
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.limits import BUDGET_PART
from dpci_core.base.rows import parted
from dpci_core.base.watch import counted
from dpci_core.design import Design, check_design
from dpci_core.intervals.forecast import (
    N_DRAWS,
    REPORTABLE_BIAS,
    Forecast,
    drawn_intervals,
    forecast,
    forecast_of,
)
from dpci_core.losses import Loss
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise
from dpci_core.planner.amounts import LARGEST_TOTAL, MOST_RECORDS, with_total
from dpci_core.planner.search import length_score
from dpci_core.planner.shape import rounded, shortest_shape
from dpci_core.planner.targets import Target, check_target, nearness
from dpci_core.planner.worlds import SURELY, lengthened
from dpci_core.privacy.budget import PARTS
from dpci_core.schema import Records, StandardEncoding
from dpci_core.schema.declare import Triangle
from dpci_core.solvers.moments import Moments, fit_moments

Encode = Callable[[StandardEncoding], Records]
Fit = Callable[[Records, Loss, float, Moments | None], Moments]
"""Moments of planning rows at a regularization c, with what the target without penalty needs; and
those at another c, if there are, to begin with."""
Cost = tuple[float, float]

LIMIT = 6.0
"""In spreads, of columns without a limit of their own: what it moves is counted as bias, and rows
that are long count less anyway."""
_QUANTILES = (0.5, 0.75, 0.9, 0.97, 1.0)
"""Shares of the planning rows that are to count in full."""
_CLEAR_OF_SMALLEST, _USUAL_PENALTY, _USUAL_OUTPUT = {False: 12.0, True: 3.0}, 1e-4, 5e-4
"""c without a search (`enclosing_regularization`)."""
_ROWS = 20_000
"""Planning rows of a world in the search; the answer is forecast from all of them."""
_ELLIPSOID_ROWS, _ELLIPSOID_STEPS = 3_000, 80
_KEPT_ROWS, _KEPT_BYTES = 4, 2**26
"""Encodings whose rows are kept: those of a split's search, and more where they are small."""
PENALTIES = (1e-6, 1.0)
"""The range of c that is tried."""
_A_DECADE = 20
"""c are on a grid of so many a decade, so that fits are shared."""
USUAL_SPLIT = (Decimal("0.6"), Decimal("0.3"), Decimal("0.1"))
"""Near what searches find on the described tables."""
SPLITS = (
    USUAL_SPLIT,
    (Decimal("0.334"), Decimal("0.333"), Decimal("0.333")),
    (Decimal("0.5"), Decimal("0.25"), Decimal("0.25")),
    (Decimal("0.4"), Decimal("0.4"), Decimal("0.2")),
)
"""Where a search for a split begins: near what it finds, and with those that people set by hand."""
_ROUGH, _FINE = (6, 3), (3, 1)
"""Steps of a move: of c and of shares those of the grid."""
_FEW = 2
"""Encodings that are looked at with every split."""
_ROUND, _ABOVE = 4, 0.35
"""Round amounts to the power of ten, and how little below the next one takes: from more, where more
can be reported, the way is shorter."""
_SMALLEST_TOTAL = 100 * Decimal(repr(BUDGET_PART[0]))
_FEW_DRAWS = 32
"""Behind a forecast of a round amount."""
_REDRAWS = 16
"""Behind a noise-aware factor: a third of the usual ones move a length by .2 %."""
_BIASED = 0.25
"""A bias e times as large as can be reported counts as so much of an effect: where nothing is in
reach, less bias is on the way there, and shorter intervals are not.
"""
_NEVER: Cost = (math.inf, math.inf)
_OF_A_SPLIT = ("shape", "c")
_ALL = (*_OF_A_SPLIT, *PARTS[1:])
"""What is moved."""
_MOST_MOVES, _WORTH = 4, 0.998
"""Moves of one part in one direction, each to at most so many times the cost before."""
_MOST, _MOST_ROUNDS = 5, 4
"""Designs that are moved, and rounds of the finest steps that each may take: where few effects can
be reported, one split and one round lose some of them."""
_LEAST_SHARE, _SHARE = Decimal("0.2"), Decimal("0.001")
"""Of the coefficients in a split that is tried, and the steps of all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardAnswer:
    """The encoding and design of the shortest intervals without penalty that can be reported.

    encoding: shape and limit.
    design: with c and split, for the target "unpenalised".
    forecast: of that design in the first world, all planning rows used; in spreads.
    moments: of these planning rows under this encoding.
    names: of the features, then the constant.
    not_reportable: names that are not reportable with this design in one of the worlds.
    """

    encoding: StandardEncoding
    design: Design
    forecast: Forecast
    moments: Moments
    names: tuple[str, ...]
    not_reportable: tuple[str, ...]


def best_standard(
    encode: Encode,
    *,
    design: Design,
    worlds: Sequence[Encode] = (),
    target: Target | None = None,
    limit: float = LIMIT,
    shapes: Sequence[Triangle] | None = None,
) -> StandardAnswer:
    """Return shape, c and split for the shortest intervals of the coefficients without penalty,
    with as many of them in reach as can be in every world.

    A shape U is first that of the smallest ellipsoid {v : |U v| <= 1} around a share of the
    planning rows: of all centred ellipsoids that hold these rows it is the one in which noise of
    equal size in every direction of U v is least for the coefficients together (its volume is the
    product of the noise along its axes). Rows of the first world make such shapes, and those of all
    worlds. One more is the shape near the best of them with the shortest intervals by their law for
    many records (`shortest_shape`).

    From several splits, shape, c and the shares of the matrices are moved as long as that helps.
    First more effects have to be reported in every world, each with a chance of `SURELY`; then
    what the target is about has to be shorter in the world where it is longest, where coverage that
    is missing counts as length (`length_score`).

    Args:
        encode: the planning rows under an encoding: a public table or a twin, never a private one.
        design: its loss, mechanism, budget total, level, calibration and n count; c, split and
            target do not.
        worlds: the same for other tables that the declaration allows.
        target: what is to be near, in spreads; None for the geometric mean of the features'
            lengths.
        limit: in spreads, of columns without a limit of their own.
        shapes: what `shapes_of` gives for these tables and this limit, where it is known already:
            no design moves it.

    Privacy:
        None: the planning rows must be public or simulated. The answer is public then, and so are
        the weights of a release that uses it.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: no c lets the design run.
    """
    encodes = (encode, *worlds)
    search = StandardSearch(encodes, target=target, limit=limit, shapes=shapes)
    found = search.found(design)
    records = [encode(found.encoding) for encode in encodes]
    c = found.design.regularization
    moments = [_fit(of, design.loss, c, None) for of in records]
    made = [forecast(of, design=found.design) for of in moments]
    names = records[0].feature_names
    lost = np.any([one.is_not_reportable for one in made], axis=0)
    return StandardAnswer(
        encoding=found.encoding,
        design=found.design,
        forecast=made[0],
        moments=moments[0],
        names=names,
        not_reportable=tuple(name for name, is_out in zip(names, lost, strict=True) if is_out),
    )


class Start(NamedTuple):
    """Where a search begins."""

    encoding: StandardEncoding
    design: Design


class Tried(NamedTuple):
    """A design under an encoding, and what counts of it in some worlds, the less the better:
    effects that cannot be counted on, then how far the goal is.
    """

    cost: Cost
    encoding: StandardEncoding
    design: Design


class _Seen(NamedTuple):
    """A design in one world: the chance that each feature is reported, how large its bias is of
    what can be, and how far the target is, farther by the coverage that is missing.
    """

    chance: Array
    bias: Array
    reach: float


Starts = tuple[Start, ...]
Keep = Callable[[Hashable, Callable[[], Starts]], Starts]
"""What was found at round amounts, made if it is not known."""


class StandardSearch:
    """The search behind `best_standard`, for any design of one table.

    Round amounts of budget and records, a few to the power of ten, are searched from the beginning,
    and what is found at two of them is moved to the amounts of a design, as is what a quick look
    finds there: so designs of near amounts share nearly all of the work, and what is found for one
    of them does not depend on the others.

    What is moved is moved in the worlds that decide: the worst one for where it began, and
    whichever was the worst for what was found, until none is worse than these.

    Args:
        encodes: the planning rows of every world under an encoding.
        target, limit, shapes: as there.
        fit: how rows are fitted, where others keep the fits too.
        keep: where what was found at round amounts is kept, if not here.
    """

    def __init__(
        self,
        encodes: Sequence[Encode],
        *,
        target: Target | None = None,
        limit: float = LIMIT,
        shapes: Sequence[Triangle] | None = None,
        fit: Fit | None = None,
        keep: Keep | None = None,
    ) -> None:
        self.encodes, self.target, self.limit = tuple(encodes), target, limit
        self._shapes, self._fit, self._keep = shapes, fit or _fit, keep or self._here
        self._around: dict[Hashable, Starts] = {}
        self._known: dict[tuple[object, ...], Moments] = {}
        self._seen: dict[tuple[object, ...], _Seen | None] = {}
        self._rows = _rows_of(self.encodes)
        self._deciding: list[int] = []
        self._n_draws = N_DRAWS
        self._error: InfeasibleDesignError | None = None

    @cached_property
    def encodings(self) -> tuple[StandardEncoding, ...]:
        """Those that are tried, by their shapes: in the order of the share of the planning rows
        that count in full.
        """
        shapes = self._shapes
        if shapes is None:
            shapes = shapes_of(self.encodes, limit=self.limit)
        return tuple(StandardEncoding(limit=self.limit, shape=shape) for shape in shapes)

    def found(self, design: Design, *, is_split_free: bool = True) -> Tried:
        """Encoding, c and split for a design.

        is_split_free: whether the split is searched for, or is that of the design.

        Raises:  as `best_standard`.
        """
        free = self._asked(design, is_split_free=is_split_free)
        search = self._searched if is_split_free else self._starts
        parts = _ALL if is_split_free else _OF_A_SPLIT
        with closing(counted("design", count())) as number:
            quick = Start(*self._quickly(free, parts, number)[1:])

            def moved(around: Starts) -> Tried | None:
                self._begin(N_DRAWS)
                starts = [Start(of, one) for of, at in around for one in _carried(at, free)]
                if not is_split_free:
                    starts = _with_split(starts, free)
                return self._best(starts, quick, parts, number)

            def kept(at: Design) -> Starts:
                key = is_split_free, at  # a usual split may be set by hand, too
                return self._keep(key, lambda: search(at, number))

            near, less = (kept(_at_round_amounts(free, below=steps)) for steps in (0, 1))
            best = moved((*near, *less))
            if best is None:  # what cannot run there may run here
                best = moved(search(free, number))
        if best is None:
            raise self._refusal(_usual(free))
        return best

    def quick(self, design: Design, *, is_split_free: bool = True) -> Tried:
        """What can be found in about a second, often less good than what `found` does: the encoding
        that is the best with a usual c and split, and these, moved once. Arguments and errors as
        there.
        """
        free = self._asked(design, is_split_free=is_split_free)
        with closing(counted("design", count())) as number:
            best = self._quickly(free, _ALL if is_split_free else _OF_A_SPLIT, number)
        if best.cost == _NEVER:
            raise self._refusal(free)
        return best

    def _quickly(self, design: Design, parts: Sequence[str], number: Iterator[int]) -> Tried:
        """The encoding that is the best with a usual c, and these parts, moved by few draws."""
        self._begin(_FEW_DRAWS)
        usual = replace(design, regularization=_on_grid(enclosing_regularization(design)))
        tried = [self._tried(encoding, usual) for encoding in self.encodings[::2]]
        first = min(tried, key=lambda one: one.cost)
        return self._in_all(first, lambda now: self._descended(now, parts, _ROUGH, number))

    def _asked(self, design: Design, *, is_split_free: bool) -> Design:
        """A design that was checked, for the target without penalty; a free split is a usual one
        at first.
        """
        check_design(design)
        if self.target is not None:
            check_target(self.target, p=len(self._rows(self.encodings[0])[0].feature_names))
        free = replace(design, target="unpenalised")
        return _usual(free) if is_split_free else free

    def _begin(self, n_draws: int) -> None:
        """With so many draws behind a forecast, and fits of this search alone: for many columns
        they are large.
        """
        self._n_draws = n_draws
        self._known.clear()
        self._seen.clear()
        self._deciding.clear()

    def _here(self, key: Hashable, search: Callable[[], Starts]) -> Starts:
        if key not in self._around:
            self._around[key] = search()
        return self._around[key]

    def _refusal(self, design: Design) -> InfeasibleDesignError:
        """Why no c that is tried can run."""
        try:
            model_noise(replace(design, regularization=PENALTIES[1]))
        except InfeasibleDesignError as error:
            return error
        assert self._error is not None  # of the matrices
        return self._error

    def cost(
        self,
        encoding: StandardEncoding,
        design: Design,
        enough: Cost = _NEVER,
        *,
        worlds: Sequence[int] | None = None,
    ) -> Cost:
        """What counts of a design in some worlds, None for all: effects that are surely reported,
        then how far the target is, farther by what coverage and chances to report lack, and while
        there are no such effects by how far biases are beyond what can be reported. Most where it
        cannot run; where the first worlds cost enough already, what they cost.
        """
        chance = bias = np.ones(1)
        reach, cost = 0.0, _NEVER
        for place in range(len(self.encodes)) if worlds is None else worlds:
            seen = self._seen_in(place, encoding, design)
            if seen is None:
                return _NEVER
            chance, bias = np.minimum(chance, seen.chance), np.fmax(bias, seen.bias)
            reach = max(reach, seen.reach)
            n_sure = int(np.count_nonzero(chance >= SURELY))
            further = 0.0 if n_sure else _BIASED * float(np.log(bias).sum())
            cost = -n_sure, lengthened(reach, chance, further)
            if cost >= enough:
                break
        return cost

    def _seen_in(self, place: int, encoding: StandardEncoding, design: Design) -> _Seen | None:
        """A design in a world, looked at once; None where it cannot run."""
        key = encoding, design, place
        if key not in self._seen:
            self._seen[key] = self._looked(place, encoding, design)
        return self._seen[key]

    def _looked(self, place: int, encoding: StandardEncoding, design: Design) -> _Seen | None:
        try:
            moments = self._moments(encoding, place, design)
            drawn = drawn_intervals(
                moments, design=design, n_draws=self._n_draws, n_redraws=_REDRAWS
            )
        except InfeasibleDesignError as error:
            self._error = error
            return None
        made = forecast_of(drawn, moments)
        lengths, chance = made.ci_length[:-1], made.chance_to_report[:-1]
        bias = np.abs(made.bias[:-1]) / (REPORTABLE_BIAS * lengths / 2.0)
        covered = float(made.coverage[:-1].min(where=chance >= SURELY, initial=1.0))
        near = nearness(drawn, lengths if self.target is None else made.ci_length, self.target)
        return _Seen(chance, bias, length_score(near, covered, design.confidence_level))

    def _moments(self, encoding: StandardEncoding, place: int, design: Design) -> Moments:
        """The fit in a world, made once."""
        table, c = (encoding, place, design.loss), design.regularization
        if (*table, c) not in self._known:
            rows, near = self._rows(encoding)[place], self._known.get(table)
            self._known[table] = self._known[*table, c] = self._fit(rows, design.loss, c, near)
        return self._known[*table, c]

    def _tried(self, encoding: StandardEncoding, design: Design) -> Tried:
        """A design in the worlds that decide; the first one says which."""
        if not self._deciding:
            self._note_worst(encoding, design)
        return Tried(self.cost(encoding, design, worlds=self._deciding), encoding, design)

    def _note_worst(self, encoding: StandardEncoding, design: Design) -> None:
        """Have one more world decide: that which costs a design most."""
        self._deciding.append(
            max(
                (place for place in range(len(self.encodes)) if place not in self._deciding),
                key=lambda place: self.cost(encoding, design, worlds=[*self._deciding, place]),
            )
        )

    def _searched(self, design: Design, number: Iterator[int]) -> Starts:
        """Designs of an amount: the best from every split, the better first, then where they began;
        none where none can run.
        """
        starts = self._starts(design, number)
        splits = [one for s in SPLITS if (one := _split(design, *s))] or [design]
        tried = [self._begun(_with_split(starts, one))[0] for one in splits]
        tried = [self._descended(one, ("c",), _ROUGH, number) for one in tried]
        moved = [self._descended(one, _ALL, _FINE, number) for one in tried]
        moved.sort(key=lambda one: one.cost)
        return *(Start(one.encoding, one.design) for one in moved), *starts

    def _starts(self, design: Design, number: Iterator[int]) -> Starts:
        """Encodings and penalties that go with a usual split, the best first."""
        self._begin(_FEW_DRAWS)
        tried, c = [], _on_grid(enclosing_regularization(design))
        for encoding in self.encodings[::2]:
            first = self._tried(encoding, replace(design, regularization=c))
            tried.append(self._descended(first, ("c",), _ROUGH, number))
            c = tried[-1].design.regularization  # near to what the next takes
        tried.sort(key=lambda one: one.cost)
        best = self._moved(tried[0], _OF_A_SPLIT, number)
        found = [best, *tried[1:_FEW]]
        if (shape := self._shorter(best)) is not None:
            other = self._tried(replace(best.encoding, shape=shape), best.design)
            found.append(self._descended(other, ("c",), _ROUGH, number))
        return tuple(Start(one.encoding, one.design) for one in found)

    def _best(
        self, starts: Sequence[Start], quick: Start, parts: Sequence[str], number: Iterator[int]
    ) -> Tried | None:
        """The best of these, its parts moved until none helps; None where none can run.

        quick: what was found at once, at these very amounts, which is moved too: what was found at
            round ones can be far from what is best here.
        """
        begun = [*self._begun(starts), self._tried(*quick)]
        moved = [self._moved(one, parts, number) for one in begun]
        best = min(moved, key=lambda one: one.cost)
        return None if best.cost == _NEVER else best

    def _begun(self, starts: Sequence[Start]) -> list[Tried]:
        """Where moves begin, the best first: with the best under each encoding and, of several, one
        with another split.
        """
        tried = sorted((self._tried(*one) for one in starts), key=lambda one: one.cost)
        apart = {(one.encoding, one.design.budget): one for one in reversed(tried)}
        ranked = sorted(apart.values(), key=lambda one: one.cost)
        first = {one.encoding: one for one in reversed(ranked)}
        begun = sorted(first.values(), key=lambda one: one.cost)[: _MOST - 1]
        return begun + [one for one in ranked if one not in begun][: _MOST - len(begun)]

    def _shorter(self, best: Tried) -> Triangle | None:
        """The shape of the shortest intervals near its own."""
        shape, design = best.encoding.shape, best.design
        if best.cost == _NEVER or not isinstance(shape, tuple):
            return None
        rows = self._rows(best.encoding)
        seen = [(of, self._moments(best.encoding, k, design)) for k, of in enumerate(rows)]
        chance = [forecast(one, design=design).chance_to_report[:-1] for _, one in seen]
        is_out = np.min(chance, axis=0) < SURELY
        return shortest_shape(shape, seen, design=design, is_out=is_out)

    def _moved(self, best: Tried, parts: Sequence[str], number: Iterator[int]) -> Tried:
        """With the next shape, more or less of the penalty "c", or of the share of a matrix, until
        no step helps in every world; `number` goes through what is tried for one design.
        """

        def to_the_end(now: Tried) -> Tried:
            now = self._descended(now, ("c",), _ROUGH, number)
            for steps in (_FINE, *[_FINE[-1:]] * _MOST_ROUNDS):
                before, now = now, self._descended(now, parts, steps, number)
                if now is before:
                    break
            return now

        return self._in_all(best, to_the_end)

    def _in_all(self, best: Tried, move: Callable[[Tried], Tried]) -> Tried:
        """A design moved in the worlds that decide, until no other one is worse for what was found;
        the best of that in all worlds.
        """
        best = now = best._replace(cost=self.cost(*best[1:]))
        while True:
            now = move(now._replace(cost=self.cost(*now[1:], worlds=self._deciding)))
            cost = self.cost(*now[1:])
            best = min(best, now._replace(cost=cost), key=lambda one: one.cost)
            if cost <= now.cost:
                return best
            self._note_worst(*now[1:])

    def _descended(
        self, best: Tried, parts: Sequence[str], steps: Sequence[int], number: Iterator[int]
    ) -> Tried:
        """With other parts, one after the other, as long as that helps in worlds that decide."""
        for size, part in product(steps, parts):
            for step in (size, -size):
                before = best
                for _ in zip(range(_MOST_MOVES), number, strict=False):
                    changed = self._changed(best, part, step)
                    enough = best.cost[0], _WORTH * best.cost[1]
                    if changed is None:
                        break
                    cost = self.cost(*changed, enough, worlds=self._deciding)
                    if cost >= enough:
                        break
                    best = Tried(cost, *changed)
                if best is not before:
                    break
        return best

    def _changed(self, best: Tried, part: str, step: int) -> tuple[StandardEncoding, Design] | None:
        """The encoding and the design with another part; None where that cannot be."""
        encoding, design = best.encoding, best.design
        factor = 10.0 ** (step / _A_DECADE)
        if part == "c":
            c = _on_grid(factor * design.regularization)
            return encoding, replace(design, regularization=c)
        if part in PARTS:
            share = Decimal(factor) * getattr(design.budget, part) / design.budget.total
            other = _with_share(design, part, share)
            return None if other is None else (encoding, other)
        if encoding not in self.encodings:
            return None
        place = self.encodings.index(encoding) + (1 if step > 0 else -1)
        if not 0 <= place < len(self.encodings):
            return None
        return self.encodings[place], design


def shapes_of(encodes: Sequence[Encode], *, limit: float = LIMIT) -> tuple[Triangle, ...]:
    """Return the shapes that `best_standard` begins with, in the order of the share of rows that
    count in full, of each that of the first world's rows before that of all rows; arguments and
    privacy as there, `encodes` of all worlds.
    """
    found = [_planning_rows(encode, limit) for encode in encodes]
    pools = [found[0]] if len(found) == 1 else [found[0], np.concatenate(found)]
    return tuple(dict.fromkeys(ellipsoid(pool, share) for share in _QUANTILES for pool in pools))


def enclosing(encode: Encode, *, limit: float = LIMIT) -> StandardEncoding:
    """Return the standard encoding whose shape holds every planning row, found without a search.

    Its shape is the smallest ellipsoid around all of them, so that hardly a row of the same kind
    counts less: right for any number of records and budget, and a few per cent longer than what
    `best_standard` finds for one of them.

    Args:
        encode: the planning rows under an encoding: a public table or a twin, never a private one.
        limit: in spreads, of columns without a limit of their own.

    Privacy: none: the planning rows must be public or simulated.
    Raises:  ValueError for rows without weights.
    """
    return StandardEncoding(limit=limit, shape=ellipsoid(_planning_rows(encode, limit), 1.0))


def enclosing_regularization(design: Design) -> float:
    """Return a c for `enclosing` at a budget and n, found without a search.

    Just above the smallest c that objective perturbation can run with, the noise makes most of the
    intervals. Of a pure epsilon c costs about its inverse, of Gaussian noise the square of that:
    twelve and three times the smallest c leave nine tenths of the budget. 1e-4 moves hardly a
    coefficient, and less helps little. Output perturbation has no smallest c, and its noise falls
    with c: five times as much.

    Args:
        design: its loss, mechanism, definition, model budget and n count; c does not.

    Returns: c, rounded up to 1, 2 or 5 times a power of ten.
    """
    smallest = mechanism_of(design).smallest_regularization(design)
    if not smallest:
        return _USUAL_OUTPUT
    least = _CLEAR_OF_SMALLEST[design.budget.has_delta] * smallest
    if least <= _USUAL_PENALTY:
        return _USUAL_PENALTY
    power = 10.0 ** math.floor(math.log10(least))
    step = next(m for m in (1.0, 2.0, 5.0, 10.0) if m * power >= least * (1.0 - 1e-9))
    return float(f"{step * power:.3g}")


def _planning_rows(encode: Encode, limit: float) -> Array:
    """The rows in spreads, evenly spaced where they are many."""
    rows, weights = parted(encode(StandardEncoding(limit=limit)).X)
    if weights is None:
        raise ValueError("Expected encode to give rows with weights, as a standard encoding does.")
    return rows[:: -(-len(rows) // _ROWS)]


def ellipsoid(rows: Array, share: float) -> Triangle:
    """Return the shape U of the smallest centred ellipsoid {v : |U v| <= 1} around a share of the
    rows (n, p), by its rows from the diagonal on, to three digits; rows of zeros, which incomplete
    records are, are none of them.

    Longer rows, in the measure of the second moment, are first shortened to the length that the
    share has: left out, those of a rare level would leave no trace, and count for nothing. The
    smallest ellipsoid is the dual of the design whose information has the largest determinant
    (Kiefer and Wolfowitz 1960; Titterington 1975), found by its multiplicative algorithm.
    """
    rows = rows[rows.any(axis=1)]
    measure = np.linalg.inv(_information(rows, np.full(len(rows), 1.0 / len(rows))))
    size = np.einsum("ij,jk,ik->i", rows, measure, rows)
    pull = np.sqrt(np.minimum(1.0, np.quantile(size, share) / size))
    some = np.unique(pull[:, None] * rows, axis=0)
    far = np.einsum("ij,jk,ik->i", some, measure, some)
    some = some[np.argsort(-far, kind="stable")[:: max(1, len(some) // _ELLIPSOID_ROWS)]]
    weights = np.full(len(some), 1.0 / len(some))
    p = rows.shape[1]
    for _ in range(_ELLIPSOID_STEPS):
        inverse = np.linalg.inv(_information(some, weights))
        weights *= np.einsum("ij,jk,ik->i", some, inverse, some) / p
        weights /= weights.sum()
    information = _information(some, weights)
    reach = np.einsum("ij,jk,ik->i", some, np.linalg.inv(information), some).max()
    U = np.linalg.cholesky(np.linalg.inv(information * reach)).T
    return rounded(U)


def _information(rows: Array, weights: Array) -> Array:
    """The weighted second moment, with a little of every direction: one that no row has, as among
    all levels of a column and the constant, costs nothing.
    """
    M: Array = (rows * weights[:, None]).T @ rows
    return np.asarray(M + 1e-6 * np.trace(M) / len(M) * np.eye(len(M)))


def _rows_of(encodes: Sequence[Encode]) -> Callable[[StandardEncoding], tuple[Records, ...]]:
    """Evenly spaced planning rows of every world, few enough to search with; the last are kept."""
    known: OrderedDict[StandardEncoding, tuple[Records, ...]] = OrderedDict()

    def rows(encoding: StandardEncoding) -> tuple[Records, ...]:
        if encoding in known:
            known.move_to_end(encoding)
            return known[encoding]
        known[encoding] = made = tuple(_some(encode(encoding)) for encode in encodes)
        n_bytes = sum(parted(of.X)[0].nbytes for of in made)
        while len(known) > max(_KEPT_ROWS, _KEPT_BYTES // n_bytes):
            known.popitem(last=False)
        return made

    return rows


def _some(records: Records) -> Records:
    every = -(-len(records.y) // _ROWS)
    if every == 1:
        return records
    some = records.some(slice(None, None, every))
    return replace(some, digest=f"{records.digest}, one of {every}")  # their fits are others


def _fit(records: Records, loss: Loss, c: float, near: Moments | None) -> Moments:
    """Moments with what the target without penalty needs, after those at another c."""
    return fit_moments(
        records.X,
        records.y,
        loss=loss,
        regularization=c,
        start=None if near is None else near.theta_hat,
        target="unpenalised",
        meaning=records.meaning,
        known=None if near is None else near.unpenalised_fit,
    )


def _on_grid(c: float) -> float:
    """The nearest penalty of those that are tried."""
    low, high = PENALTIES
    near = 10.0 ** (round(_A_DECADE * math.log10(c)) / _A_DECADE)
    return min(max(float(f"{near:.3g}"), low), high)


def _split(design: Design, model: Decimal, hessian: Decimal, covariance: Decimal) -> Design | None:
    """The design with these shares of its total; None where of one nothing can be released."""
    budget = design.budget
    with localcontext(EXACT):
        h, s = budget.total * hessian, budget.total * covariance
        parts = {"model": budget.total - h - s, "hessian": h, "covariance": s}
        # zeros at the end would grow with every split of a split, up to what no amount may have
        parts = {name: part.normalize() for name, part in parts.items()}
    if min(parts.values()) < Decimal(repr(BUDGET_PART[0])):
        return None
    return replace(design, budget=replace(budget, metric=Decimal(0), **parts))


def _usual(design: Design) -> Design:
    """The design with a usual split."""
    return _split(design, *USUAL_SPLIT) or design


def _at_round_amounts(design: Design, *, below: int = 0) -> Design:
    """The design, without its c, at amounts that are searched from the beginning and near; the
    budget so many round ones below, where what decides may be nearer.
    """
    total, n = (
        10.0 ** ((math.ceil(_ROUND * math.log10(amount) - _ABOVE) - less) / _ROUND)
        for amount, less in ((design.budget.total, below), (design.n_records, 0))
    )
    there = replace(design, regularization=PENALTIES[1], n_records=min(round(n), MOST_RECORDS))
    total = min(max(Decimal(f"{total:.3g}"), _SMALLEST_TOTAL), LARGEST_TOTAL)
    return _with_shares_of(design, with_total(_usual(there), total))


def _carried(design: Design, to: Design) -> tuple[Design, ...]:
    """A design at the amounts of another, with the same split: with its own c, which biases as
    much, and with one that is as far from the smallest there.
    """
    there = _with_shares_of(design, replace(design, budget=to.budget, n_records=to.n_records))
    of, least = (mechanism_of(one).smallest_regularization(one) for one in (design, there))
    c = _on_grid(design.regularization * (least / of if of else 1.0))
    both = there, replace(there, regularization=c)
    return tuple(dict.fromkeys(both))


def _with_shares_of(design: Design, to: Design) -> Design:
    """Another design with the shares of this one in thousandths, where that can be."""
    budget = design.budget
    shares = [(getattr(budget, name) / budget.total).quantize(_SHARE) for name in PARTS[1:]]
    return _split(to, 1 - sum(shares), *shares) or to


def _with_split(starts: Sequence[Start], design: Design) -> list[Start]:
    """These with the budget of a design."""
    return [Start(of, replace(one, budget=design.budget)) for of, one in starts]


def _with_share(design: Design, part: str, share: Decimal) -> Design | None:
    """The design with another share of its total for one of the matrices; None where too little
    would be left for the coefficients.
    """
    budget = design.budget
    shares = {name: getattr(budget, name) / budget.total for name in PARTS} | {part: share}
    hessian, covariance = (shares[name].quantize(_SHARE) for name in PARTS[1:])
    model = 1 - hessian - covariance
    if model < _LEAST_SHARE or not (hessian and covariance):
        return None
    return _split(design, model, hessian, covariance)
