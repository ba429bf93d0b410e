"""The search behind the best split: many splits on a surrogate, the best few by forecast.

**Surrogate.** The forecast itself with an eighth to a quarter of its draws of matrix noise. A
change of the amounts only rescales those draws, so surrogates of two splits differ by what the
splits do, hardly by chance. Eigenvectors are
shared (`SharedSpectra`): a step in the covariance or model share needs none of the Hessian. Against
the forecast, mean lengths are within about 2 % where the answer lies, and what is left is much the
same for neighbouring splits.

A closed form (the first two moments of H^-1 S H^-1 under the noise) costs less still, but it knows
no floors and no fading between noise-aware and plain half-widths, and the best split often lies at
such a place.

**Anchors.** The coverage of the worst coefficient is what few draws get wrong, by up to two points.
Every split that was forecast in full is an anchor: near it, lengths are scaled and coverages
shifted, coefficient by coefficient, by what the forecast says there. Then the surrogate is asked
again, until its favourite is an anchor already. A few full forecasts around the best one have the
last word; the quick search, for many designs at once, does without.

Where it fails: where noise dominates, or the coverage of one coefficient decides, narrow valleys
lie apart and the search may end in the second best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from dpci_core.base.array import Array
from dpci_core.base.decimals import EXACT
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.limits import BUDGET_PART
from dpci_core.design import Design
from dpci_core.intervals.estimands import released_hessian
from dpci_core.intervals.forecast import N_DRAWS, Forecast, drawn_intervals, forecast_of
from dpci_core.intervals.half_widths import N_REDRAWS
from dpci_core.intervals.spectra import SharedSpectra
from dpci_core.planner.worlds import lengthened
from dpci_core.privacy.budget import PARTS, Parts
from dpci_core.solvers.moments import Moments

Point = tuple[int, int]

COVERAGE_SLACK = 0.005
"""A split may cost any coefficient so much forecast coverage; below that it counts as worse."""
_PRICE = 10.0
"""How much longer, as a share of its length, a split counts for a coverage that is missing."""
_EQUAL = 1e-6
"""Scores that differ by a smaller share count as equal."""
_NEAR_BEST = 0.01
"""A split counts as equally good while its intervals are at most so much longer."""
_SHARE_DIGITS = Decimal("0.0001")
_SMALLEST_SHARE = 0.002
_LARGEST_SHARE = 0.9
_SMALLEST_PART = Decimal(repr(BUDGET_PART[0]))

_CENTRE = 0.06
_RATIO = (1.03, 1.015)
"""The lattice of matrix shares, Hessian and covariance: the centre times powers of these."""
_COARSE = (-116, -62, -24, 16, 48)
"""Shares of the Hessian where the search starts, 0.002 to 0.24."""
_COARSE_COVARIANCE = {False: (-144, -96, -48, 0, 48, 96), True: (-120, -24, 72)}
"""The same for the covariance, 0.007 to 0.25; the quick search looks at fewer, and descends all the
same.
"""
_BASINS = {False: 3, True: 2}
"""Descents from different shares of the Hessian: more of it can turn noise-aware half-widths on,
less may be best where they stay plain. Here as above and below the key says whether the search is
the quick one."""
_SMALLEST_SHARES = (-116, -230)
"""The smallest shares: the coefficients can need nearly everything."""
_STEPS = ((16, 24), (8, 12), (4, 6))
"""Steps of the descent on the lattice."""
_NEAR = ((8, 12), (4, 6))
"""The same after an anchor moved the surrogate."""
_FINE = ((8, 12), (4, 4), (2, 2), (1, 1))
"""The same for full forecasts."""
_APART = (8, 24)
"""Points at least so far apart may lie in different valleys."""
_WORTH = 1.02
"""A valley is finished if its score is at most so much above the best one's."""
_ANCHORS = 6
_POLISH = (12, 8)
"""Full forecasts at the end in each valley, at most; the quick search ends without."""
_MANY = 21
_DRAWS = {False: (16, 16), True: (8, 8)}
"""Draws of the surrogate, and draws behind a factor; the key says whether there are more than 20
features. The mean over many coefficients needs fewer."""


@dataclass(frozen=True, slots=True)
class _Anchor:
    """What a full forecast corrects in the surrogate near a split."""

    place: tuple[float, float]
    factor: float
    shift: Array


def length_score(length: float, worst_coverage: float, level: float) -> float:
    """Mean length, made longer by 1 % for every tenth of a point of coverage that a coefficient
    lacks.
    """
    return length * (1.0 + _PRICE * max(0.0, level - COVERAGE_SLACK - worst_coverage))


def length_of(found: Forecast, coefficient: int | None) -> float:
    """The length of one coefficient's interval, or the mean length."""
    return found.ci_length_mean if coefficient is None else float(found.ci_length[coefficient])


def score(found: Forecast | None, level: float, coefficient: int | None = None) -> float:
    """The score of a forecast: its length, longer by the coverage and the chances to report that
    are missing; infinite where there is none.
    """
    if found is None:
        return math.inf
    length, coverage = length_of(found, coefficient), float(found.coverage.min())
    return _counted(found, length_score(length, coverage, level), coefficient)


def _counted(found: Forecast, length: float, coefficient: int | None) -> float:
    """A length, longer by the chances to report that are missing."""
    chance = found.chance_to_report
    return lengthened(length, chance if coefficient is None else chance[[coefficient]])


class SplitForecasts:
    """Forecasts of the splits of a design in one world, in full and by the surrogate.

    coefficient: whose interval is to be short; None for the mean.
    """

    def __init__(
        self,
        moments: Moments,
        design: Design,
        coefficient: int | None = None,
        spectra: SharedSpectra | None = None,
    ) -> None:
        self.moments, self.design, self.coefficient = moments, design, coefficient
        self._full: dict[Parts, Forecast | None] = {}
        self._few: dict[Parts, Forecast | None] = {}
        self._anchors: list[_Anchor] = []
        self._spectra = spectra or SharedSpectra(released_hessian(moments, design))
        self._draws = _DRAWS[len(moments.hessian) > _MANY]

    def confirm(self, parts: Parts) -> Forecast | None:
        """Forecast a split in full and make it an anchor; None if the design cannot run with
        it.
        """
        if parts not in self._full:
            full = self._full[parts] = self._made(parts, (N_DRAWS, N_REDRAWS))
            few = None if full is None else self._draw(parts)
            if full is not None and few is not None:
                lengths = [length_of(made, self.coefficient) for made in (full, few)]
                anchor = _Anchor(
                    _place(parts), lengths[0] / lengths[1], full.coverage - few.coverage
                )
                self._anchors.append(anchor)
        return self._full[parts]

    def score_of(self, parts: Parts) -> float:
        """By forecast where there is one, else by the surrogate as the nearest anchor corrects
        it.
        """
        level = self.design.confidence_level
        if parts in self._full:
            return score(self._full[parts], level, self.coefficient)
        few = self._draw(parts)
        if few is None:
            return math.inf
        length, coverage = length_of(few, self.coefficient), few.coverage
        if self._anchors:
            place = _place(parts)
            anchor = min(self._anchors, key=lambda anchor: math.dist(anchor.place, place))
            length, coverage = length * anchor.factor, coverage + anchor.shift
        return _counted(few, length_score(length, float(coverage.min()), level), self.coefficient)

    def _draw(self, parts: Parts) -> Forecast | None:
        """The surrogate; None where the design cannot run."""
        if parts not in self._few:
            self._few[parts] = self._made(parts, self._draws)
        return self._few[parts]

    def _made(self, parts: Parts, draws: tuple[int, int]) -> Forecast | None:
        with suppress(InfeasibleDesignError):
            drawn = drawn_intervals(
                self.moments,
                design=with_parts(self.design, parts),
                n_draws=draws[0],
                n_redraws=draws[1],
                spectra=self._spectra,
            )
            return forecast_of(drawn, self.moments)
        return None


def with_parts(design: Design, parts: Parts) -> Design:
    """Return the design with this split."""
    if parts == design.budget.parts:
        return design
    model, hessian, covariance = parts
    budget = replace(design.budget, model=model, hessian=hessian, covariance=covariance)
    return replace(design, budget=budget)


class SplitSearch:
    """Splits of one total, scored by surrogate and by forecast in the worst of some worlds; `held`
    parts stay as they are.
    """

    def __init__(
        self,
        worlds: Sequence[SplitForecasts],
        design: Design,
        held: dict[str, Decimal],
        is_quick: bool = False,
    ) -> None:
        self.worlds, self.design, self.held, self.is_quick = worlds, design, held, is_quick
        self.found: set[Parts] = set()
        self._tried: set[Parts] = set()
        self._points: set[Point] = set()
        with localcontext(EXACT):
            self.total = design.budget.total - design.budget.metric
            self.left = self.total - sum(held.values())

    def run(self) -> None:
        """A coarse grid on the surrogate and a descent; then anchors, until the favourite is
        one.
        """
        for start in self._starts():
            self._confirm_at(self._descend(start, _STEPS))
        for _ in range(_ANCHORS):
            if not self._confirm_at(self._descend(self._best(self._points), _NEAR)):
                break
        if self.found and not self.is_quick:
            for start, left in zip(self._valleys(), _POLISH, strict=False):
                self._polish(start, left)
            self._confirm_at(self._best(self._points))

    def _valleys(self) -> list[Point]:
        """Points forecast in full, the best first, each apart from the better ones and nearly as
        good as the best.
        """
        known = [point for point in self._points if self.parts(*_shares_at(point)) in self.found]
        apart: list[Point] = []
        for point in sorted(known, key=lambda point: (self._score_at(point), -point[1])):
            if apart and self._score_at(point) > self._score_at(apart[0]) * _WORTH:
                break
            if all(
                abs(point[0] - i) >= _APART[0] or abs(point[1] - j) >= _APART[1] for i, j in apart
            ):
                apart.append(point)
        return apart

    def _starts(self) -> list[Point]:
        """The best of the coarse grid for each share of the Hessian, where it is the best around;
        two at most.
        """
        best = [self._best((i, j) for j in _COARSE_COVARIANCE[self.is_quick]) for i in _COARSE]
        scores = [math.inf, *(self._score_at(point) for point in best), math.inf]
        basins = [
            (scores[k + 1], point)
            for k, point in enumerate(best)
            if scores[k + 1] <= min(scores[k], scores[k + 2])
        ]
        reached = sorted(basin for basin in basins if math.isfinite(basin[0]))
        return [point for _, point in reached[: _BASINS[self.is_quick]]] or [_SMALLEST_SHARES]

    def _confirm_at(self, point: Point) -> bool:
        """Forecast a point of the lattice in full; False if that is done or cannot be."""
        parts = self.parts(*_shares_at(point))
        return parts is not None and parts not in self.found and self.confirm(parts)

    def parts(self, hessian: float, covariance: float) -> Parts | None:
        """Exact amounts for matrix shares of what the locks leave; None outside the
        simplex.
        """
        held = self.held
        with localcontext(EXACT):
            total = self.total
            h = held.get("hessian", self.left * _rounded(hessian))
            s = held.get("covariance", self.left * _rounded(covariance))
            if "model" in held:
                rest = total - held["model"]
                h, s = (rest - s, s) if "covariance" in held else (h, rest - h)
            parts = total - h - s, h, s
        return parts if min(parts) >= _SMALLEST_PART else None

    def confirm(self, parts: Parts) -> bool:
        """Forecast a split in full in every world; False if the design cannot run with it."""
        self._tried.add(parts)
        if all(world.confirm(parts) is not None for world in self.worlds):
            self.found.add(parts)
            return True
        return False

    def score_of(self, parts: Parts) -> float:
        """The score in the worst world."""
        self._tried.add(parts)
        return max(world.score_of(parts) for world in self.worlds)

    def best(self) -> Parts | None:
        """The best split that was forecast; ties go to the larger covariance share."""
        if not self.found:
            return None
        limit = min(map(self.score_of, self.found)) * (1.0 + _EQUAL)
        return max(
            (parts for parts in self.found if self.score_of(parts) <= limit),
            key=lambda parts: parts[2],
        )

    def near_best(self) -> dict[str, tuple[float, float]]:
        """Ranges of the shares of splits that are nearly as good."""
        scores = {parts: self.score_of(parts) for parts in self._tried}
        limit = min(map(self.score_of, self.found)) * (1.0 + _NEAR_BEST)
        good = [parts for parts, value in scores.items() if value <= limit]
        shares = [[float(part / self.design.budget.total) for part in parts] for parts in good]
        return {
            name: (min(s[i] for s in shares), max(s[i] for s in shares))
            for i, name in enumerate(PARTS)
        }

    @property
    def n_tried(self) -> int:
        """Splits that were scored."""
        return len(self._tried)

    def _score_at(self, point: Point) -> float:
        self._points.add(point)
        parts = self.parts(*_shares_at(point))
        return math.inf if parts is None else self.score_of(parts)

    def _best(self, points: Iterable[Point]) -> Point:
        """The best of these points, of equal ones that with the larger covariance share."""
        scores = {point: self._score_at(point) for point in sorted(points)}
        limit = min(scores.values()) * (1.0 + _EQUAL)
        return max(
            (point for point, value in scores.items() if value <= limit), key=lambda point: point[1]
        )

    def _descend(self, here: Point, steps: Sequence[Point]) -> Point:
        """To the best of four neighbours, and on from there, with ever smaller steps."""
        for i, j in steps:
            while True:
                near = self._best(_moved(here, ((i, 0), (-i, 0), (0, j), (0, -j))))
                if not self._is_better(near, here):
                    break
                here = near
        return here

    def _is_better(self, point: Point, other: Point) -> bool:
        return self._score_at(point) < self._score_at(other) * (1.0 - _EQUAL)

    def _polish(self, here: Point, left: int) -> None:
        """Full forecasts around a point, the diagonals as well: along the edge where the coverage
        of a coefficient starts to count, no step along one axis helps."""
        for i, j in _FINE:
            moved = True
            while moved:
                for point in _moved(
                    here, ((0, -j), (0, j), (i, 0), (-i, 0), (i, -j), (-i, j), (i, j), (-i, -j))
                ):
                    left -= self._confirm_at(point)
                    moved = self._is_better(point, here)
                    if moved or left <= 0:
                        break
                here = point if moved else here
                if left <= 0:
                    return


def _moved(point: Point, moves: Iterable[Point]) -> list[Point]:
    return [(point[0] + x, point[1] + y) for x, y in moves]


def _shares_at(point: Point) -> tuple[float, float]:
    return _CENTRE * _RATIO[0] ** point[0], _CENTRE * _RATIO[1] ** point[1]


def _place(parts: Parts) -> tuple[float, float]:
    """Return the position of a split: the logarithms of its two matrix amounts."""
    return math.log(parts[1]), math.log(parts[2])


def _rounded(share: float) -> Decimal:
    """A share to four places, at least the smallest one worth trying."""
    return Decimal(repr(max(_SMALLEST_SHARE, min(share, _LARGEST_SHARE)))).quantize(_SHARE_DIGITS)
