"""Shape of the rows, regularization and split of a standard encoding, planned together and for
several worlds at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.decimals import EXACT
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.limits import BUDGET_PART
from dpci_core.base.rows import parted
from dpci_core.base.watch import counted
from dpci_core.design import Design, check_design
from dpci_core.intervals.estimands import released_hessian
from dpci_core.intervals.forecast import (
    LARGEST_WIDTH,
    MOST_ODDS,
    N_DRAWS,
    Forecast,
    drawn_intervals,
    forecast,
    forecast_of,
)
from dpci_core.intervals.spectra import SharedSpectra
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise
from dpci_core.planner.search import COVERAGE_SLACK
from dpci_core.planner.shape import rounded, shortest_shape
from dpci_core.schema import Records, StandardEncoding
from dpci_core.schema.declare import Triangle
from dpci_core.solvers.moments import Moments, fit_moments

Encode = Callable[[StandardEncoding], Records]

LIMIT = 6.0
"""In spreads, of columns without a limit of their own: what it moves is counted as bias, and rows
that are long count less anyway."""
_QUANTILES = (0.5, 0.75, 0.9, 0.97, 1.0)
"""Shares of the planning rows that are to count in full."""
_FIRST = 2.0
_FACTOR = 2.0
_SMALLEST = 1e-6
_LARGEST = 0.3
"""c that are tried: from so many times the smallest that a release can run with, by this factor, up
to the last, and while something is in reach."""
_CLEAR_OF_SMALLEST, _USUAL_PENALTY, _USUAL_OUTPUT = {False: 12.0, True: 3.0}, 1e-4, 5e-4
"""c without a search (`enclosing_regularization`)."""
_ROWS = 20_000
"""Planning rows of a world in the search; the answer is forecast from all of them."""
_ELLIPSOID_ROWS, _ELLIPSOID_STEPS = 3_000, 80
_DRAWS = 16
_TOLERATED = 0.2
"""Bias in half-widths beyond which the search counts a coefficient as not reportable: a little less
than `REPORTABLE_BIAS`, since the table of a release is not the planning rows."""
_LACKING = 0.025
"""Coverage below the level beyond which it does so too, for the same reason."""
_WIDE = 0.95
"""Share of the largest width of an odds interval (`MOST_ODDS`) beyond which it does so too."""
_UNREACHED = MOST_ODDS
"""An odds interval wider than this factor says nothing: one more coefficient in reach, in the worst
of the worlds, is worth intervals longer by as much."""
_SHORTFALL = 10.0
"""How much longer an interval counts for each unit of coverage that it lacks: 1 % for 0.001."""
_FINALISTS = 3
"""Ellipsoids that are planned in full, each with its best c, half and twice as much."""
_SMALLER = (1.0 / 4.0, 1.0 / 16.0)
"""Times the best c of a shape: tried while fewer are reportable in the worlds together than in the
first one, which chose c. Otherwise reach can fall as n grows."""
_HESSIAN = ("0.06", "0.1", "0.16", "0.24", "0.34", "0.46", "0.6")
_COVARIANCE = ("0.03", "0.06", "0.12", "0.2")
"""Shares of the total that are tried for the matrices."""
_FIRST_SPLIT = ("0.25", "0.25")
"""The same of the first look at every shape, whatever split was asked about: an answer would hang
on what was planned before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One shape, c and split with what a release would give.

    encoding: with shape and limit.
    design: with c and split.
    out: places of features not reportable in one or more of the worlds that were looked at: not
        promised.
    n_wide: how many of them only because their intervals are too wide, which a larger c mends.
    length: geometric mean of the features' expected lengths over these worlds, in spreads.
    """

    encoding: StandardEncoding
    design: Design
    out: tuple[int, ...]
    n_wide: int
    length: float

    @property
    def n_out(self) -> int:
        """How many features are not reportable."""
        return len(self.out)

    @property
    def score(self) -> float:
        """What counts, small where intervals are short and much is in reach."""
        return math.log(self.length) + math.log(_UNREACHED) * self.n_out


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardAnswer:
    """The encoding and design of the shortest intervals without penalty whose bias is tolerable.

    encoding: shape and limit.
    design: with c and split, for the target "unpenalised".
    forecast: of that design in the first world, all planning rows used; in spreads.
    moments: of these planning rows under this encoding.
    names: of the features, then the constant.
    not_reportable: names that are not reportable with this design in one of the worlds.
    tried: every first look at a shape and c, then each design that was better than those before
    it, with all its draws.
    """

    encoding: StandardEncoding
    design: Design
    forecast: Forecast
    moments: Moments
    names: tuple[str, ...]
    not_reportable: tuple[str, ...]
    tried: tuple[Tried, ...]


def best_standard(
    encode: Encode,
    *,
    design: Design,
    worlds: Sequence[Encode] = (),
    limit: float = LIMIT,
    shapes: Sequence[Triangle] | None = None,
) -> StandardAnswer:
    """Return shape, c and split for the shortest intervals of the coefficients without penalty,
    with as many of them in reach as can be in every world.

    A shape U is first that of the smallest ellipsoid {v : |U v| <= 1} around a share of the
    planning rows: of all centred ellipsoids that hold these rows it is the one in which noise of
    equal size in every direction of U v is least for the coefficients together (its volume is the
    product of the noise along its axes). Rows of the first world make such shapes, and those of all
    worlds. From the best of them the search goes on to the shape near it with the shortest
    intervals by their law for many records (`shortest_shape`), and takes it where the forecasts in
    all worlds say that it is better.

    A coefficient is not reportable (`Forecast.is_not_reportable`), here already from a bias, by
    penalty, weights, limit and curvature, of `_TOLERATED` half-widths, `_LACKING` coverage, and
    `_WIDE` of the largest width.

    Args:
        encode: the planning rows under an encoding: a public table or a twin, never a private one.
        design: its loss, mechanism, budget total, level, calibration and n count; c, split and
            target do not.
        worlds: the same for other tables that the declaration allows.
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
    check_design(design)
    encodes = (encode, *worlds)
    free = replace(design, target="unpenalised")
    if min(map(Decimal, _FIRST_SPLIT)) * design.budget.total >= Decimal(repr(BUDGET_PART[0])):
        free = _split(free, *_FIRST_SPLIT)  # of less nothing can be released
    search = _Search(encodes, free, limit)
    search.look(shapes_of(encodes, limit=limit) if shapes is None else shapes)
    return search.answer()


class _Search:
    """Everything tried for one design; the best of it, and the rows and fits under its shape."""

    def __init__(self, encodes: Sequence[Encode], design: Design, limit: float) -> None:
        self.encodes, self.design, self.limit = encodes, design, limit
        self.tried: list[Tried] = []
        self.error: InfeasibleDesignError | None = None
        self.chosen: Tried | None = None
        self.seen: Sequence[tuple[Records, Moments]] = ()

    def look(self, shapes: Sequence[Triangle]) -> None:
        """Every shape with every c, in the first world."""
        for shape in counted("scaling", shapes):
            encoding = StandardEncoding(limit=self.limit, shape=shape)
            records, moments = _some(self.encodes[0](encoding)), None
            for c in self.penalties():
                moments = self.fit(records, c, moments)
                tried = self.judged(encoding, replace(self.design, regularization=c), [moments])
                if tried is not None:
                    self.tried.append(tried)
                    if tried.n_out - tried.n_wide == len(records.feature_names) - 1:
                        break

    def penalties(self) -> Iterator[float]:
        """c in ascending order."""
        c = max(
            _FIRST * mechanism_of(self.design).smallest_regularization(self.design),
            _SMALLEST,
        )
        while c <= _LARGEST:
            yield float(f"{c:.3g}")
            c *= _FACTOR

    def refusal(self) -> InfeasibleDesignError:
        """Why no c in the range can run: what half the largest of them lacks."""
        if self.error is not None:
            return self.error
        try:
            model_noise(replace(self.design, regularization=_LARGEST / _FIRST))
        except InfeasibleDesignError as error:
            return error
        raise AssertionError("A c that can run was not tried.")

    def fit(
        self, records: Records, c: float, near: Moments | None = None, *, with_drift: bool = False
    ) -> Moments:
        """Moments with what the target without penalty needs, after those at another c."""
        return fit_moments(
            records.X,
            records.y,
            loss=self.design.loss,
            regularization=c,
            start=None if near is None else near.theta_hat,
            target="unpenalised",
            with_drift=with_drift,
            meaning=records.meaning,
            known=None if near is None else near.unpenalised_fit,
        )

    def judged(
        self,
        encoding: StandardEncoding,
        design: Design,
        moments: Sequence[Moments],
        *,
        most_out: float = math.inf,
        n_draws: int = _DRAWS,
        shared: Sequence[SharedSpectra] | None = None,
    ) -> Tried | None:
        """What a design gives in these worlds; None where it cannot run, or has more out of
        reach. `shared` spectra of their Hessians are those of designs with the same share for it.
        """
        n_features = len(moments[0].theta_hat) - 1
        is_lost, is_wide = np.zeros((2, n_features), dtype=np.bool_)
        lengths = []
        for k, world in enumerate(moments):
            spectra = None if shared is None else shared[k]
            try:
                drawn = drawn_intervals(world, design=design, n_draws=n_draws, spectra=spectra)
            except InfeasibleDesignError as error:
                self.error = error
                return None
            made = forecast_of(drawn, world)
            is_lost, is_wide = is_lost | _is_lost(made), is_wide | _is_wide(made)
            if (is_lost | is_wide).sum() > most_out:
                return None
            lengths.append(_counted(made, design.confidence_level))
        length = math.exp(float(np.mean(lengths)))
        out = tuple(np.flatnonzero(is_lost | is_wide).tolist())
        n_wide = len(out) - int(is_lost.sum())
        return Tried(encoding=encoding, design=design, out=out, n_wide=n_wide, length=length)

    def answer(self) -> StandardAnswer:
        """The best of the best ellipsoids, and of a shape made from it, each with c around its own
        and every split.
        """
        if not self.tried:
            raise self.refusal()
        best: dict[StandardEncoding, Tried] = {}
        for one in sorted(self.tried, key=lambda tried: tried.score):
            best.setdefault(one.encoding, one)
        for one in counted("best scaling", list(best.values())[:_FINALISTS]):
            self.plan(one)
        if self.chosen is None:  # what runs leaves nothing for the matrices
            raise self.refusal()
        return self.whole(self.shortened(self.chosen))

    def plan(
        self,
        one: Tried,
        hessians: Sequence[str] = _HESSIAN,
        covariances: Sequence[str] = _COVARIANCE,
    ) -> None:
        """Choose c and split of a shape, where they are better than what was chosen before."""
        records = [_some(encode(one.encoding)) for encode in self.encodes]
        near: list[Moments | None] = [None] * len(records)
        for factor in (1.0, 1.0 / _FACTOR, _FACTOR, *_SMALLER):
            chosen = self.chosen
            if factor in _SMALLER and chosen is not None and chosen.n_out <= one.n_out:
                break
            c = float(f"{one.design.regularization * factor:.3g}")
            bare = replace(self.design, regularization=c)
            fitted = [self.fit(of, c, old) for of, old in zip(records, near, strict=True)]
            near, moments = list(fitted), self.worst_first(bare, fitted)
            for hessian in hessians:
                shared = [SharedSpectra(released_hessian(of, bare)) for of in moments]
                for design in (_split(bare, hessian, s) for s in covariances):
                    chosen = self.better(one.encoding, design, moments, shared, chosen)
            if chosen is not self.chosen:
                self.chosen, self.seen = chosen, tuple(zip(records, fitted, strict=True))

    def shortened(self, found: Tried) -> Tried:
        """The best design with the shape of the shortest intervals near the one found, with splits
        around its own, where that is better; else what was found.
        """
        assert isinstance(found.encoding.shape, tuple)
        is_out = np.isin(np.arange(len(found.encoding.shape) - 1), found.out)
        shape = shortest_shape(found.encoding.shape, self.seen, design=found.design, is_out=is_out)
        if shape is None:
            return found
        before, budget, self.chosen = len(self.tried), found.design.budget, None
        self.plan(
            replace(found, encoding=replace(found.encoding, shape=shape)),
            _around(_HESSIAN, budget.hessian / budget.total),
            _around(_COVARIANCE, budget.covariance / budget.total),
        )
        better = [one for one in self.tried[before:] if one.score < found.score]
        self.tried[before:] = better
        return better[-1] if better else found

    def better(
        self,
        encoding: StandardEncoding,
        design: Design,
        moments: Sequence[Moments],
        shared: Sequence[SharedSpectra],
        best: Tried | None,
    ) -> Tried | None:
        """A design that is better than the best so far with few draws and with all; else that."""
        most_out, tried = math.inf if best is None else best.n_out, None
        for n_draws in (_DRAWS, N_DRAWS):  # few may miss what one in twenty marks
            tried = self.judged(
                encoding, design, moments, most_out=most_out, n_draws=n_draws, shared=shared
            )
            if tried is None or (best and tried.score >= best.score):
                return best
        assert tried is not None
        self.tried.append(tried)
        return tried

    def worst_first(self, design: Design, moments: Sequence[Moments]) -> list[Moments]:
        """The worlds, those first in which fewest are reportable: they rule out a split soonest."""
        found = [self.judged(StandardEncoding(), design, [one]) for one in moments]
        lost = [0 if tried is None else tried.n_out for tried in found]
        return [moments[k] for k in np.argsort(-np.array(lost), kind="stable")]

    def whole(self, chosen: Tried) -> StandardAnswer:
        """The answer with every planning row."""
        records = [encode(chosen.encoding) for encode in self.encodes]
        c = chosen.design.regularization
        moments = [self.fit(of, c, with_drift=True) for of in records]
        made = [forecast(of, design=chosen.design) for of in moments]
        names = records[0].feature_names
        lost = np.any([one.is_not_reportable for one in made], axis=0)
        return StandardAnswer(
            encoding=chosen.encoding,
            design=chosen.design,
            forecast=made[0],
            moments=moments[0],
            names=names,
            not_reportable=tuple(name for name, is_out in zip(names, lost, strict=True) if is_out),
            tried=tuple(self.tried),
        )


def shapes_of(encodes: Sequence[Encode], *, limit: float = LIMIT) -> tuple[Triangle, ...]:
    """Return every shape that `best_standard` tries, of the first world's rows before those of all
    rows; arguments and privacy as there, `encodes` of all worlds.
    """
    found = [_planning_rows(encode, limit) for encode in encodes]
    pools = [found[0]] if len(found) == 1 else [found[0], np.concatenate(found)]
    return tuple(dict.fromkeys(ellipsoid(pool, share) for pool in pools for share in _QUANTILES))


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


def _split(design: Design, hessian: str, covariance: str) -> Design:
    """The design with these shares of its total for the matrices."""
    budget = design.budget
    with localcontext(EXACT):
        h, s = budget.total * Decimal(hessian), budget.total * Decimal(covariance)
        parts = {"model": budget.total - h - s, "hessian": h, "covariance": s}
        return replace(design, budget=replace(budget, metric=Decimal(0), **parts))


def _around(shares: Sequence[str], share: Decimal) -> Sequence[str]:
    """The nearest of these shares, with those beside it."""
    place = min(range(len(shares)), key=lambda k: abs(Decimal(shares[k]) - share))
    return shares[max(place - 1, 0) : place + 2]


def _is_lost(made: Forecast) -> Flags:
    """Which features are not reportable for another reason than their width."""
    is_biased = np.abs(made.bias) > _TOLERATED * made.ci_length / 2.0
    is_lacking = made.coverage < made.design.confidence_level - _LACKING
    is_never = made.is_not_reportable & ~made.is_too_wide
    return np.asarray((is_never | is_biased | is_lacking)[:-1])


def _is_wide(made: Forecast) -> Flags:
    """Which features have intervals that are too wide."""
    return np.asarray((made.odds_width > _WIDE * LARGEST_WIDTH)[:-1])


def _counted(made: Forecast, level: float) -> float:
    """Mean logarithm of the features' lengths, longer where they lack coverage."""
    lacking = np.maximum(level - COVERAGE_SLACK - made.coverage[:-1], 0.0)
    return float(np.mean(np.log(made.ci_length[:-1] * (1.0 + _SHORTFALL * lacking))))


def _some(records: Records) -> Records:
    """Evenly spaced planning rows, few enough to search with."""
    return records.some(slice(None, None, -(-len(records.y) // _ROWS)))
