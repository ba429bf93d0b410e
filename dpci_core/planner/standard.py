"""Row radius, limit, regularization and split of a standard encoding, planned together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.rows import WeightedRows
from dpci_core.design import Design, check_design
from dpci_core.intervals.forecast import Forecast, forecast
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise
from dpci_core.planner.search import COVERAGE_SLACK
from dpci_core.planner.split import quick_split
from dpci_core.schema import Records, StandardEncoding
from dpci_core.solvers.moments import Moments, fit_moments

Encode = Callable[[StandardEncoding], Records]

LIMITS = (6.0, 4.0, 3.0)
"""Limits of columns that are tried, in spreads; a smaller one has to be worth it (`_WORTH`)."""
_QUANTILES = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Radii that are tried: these quantiles of the lengths of the planning rows."""
_FIRST = 2.0
_FACTOR = 2.0
_SMALLEST = 1e-6
_LARGEST = 0.3
"""c that are tried: from so many times the smallest that a release can run with, by this factor,
while c R^2, which acts on coefficients per spread, stays below the last and something is in
reach."""
_ROWS = 20_000
"""Planning rows of the search; the answer is forecast from all of them."""
_DRAWS = 16
_TOLERATED = 0.2
"""Bias in half-widths beyond which the search counts a coefficient as out of reach: a little less
than `TOLERATED_BIAS`, since the table of a release is not the planning rows."""
_UNREACHED = 3.0
"""What a coefficient out of reach counts for: an interval so many times as long as its shortest."""
_SHORTFALL = 10.0
"""How much longer an interval counts for each unit of coverage that it lacks: 1 % for 0.001."""
_WORTH = 0.05
"""Share of the mean length that a smaller limit has to save, as it moves what effects mean."""
_LARGE_RADIUS = 1e3
_FINALISTS = 3
"""Encodings that are planned in full, with their best split."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One radius, limit, c and split with what a release would give, per spread of each column.

    encoding: with radius and limit.
    design: with c and split.
    length: (d,) expected lengths of the features' intervals.
    coverage: (d,) of the coefficients without penalty, by forecast.
    is_not_reportable: (d,) whether a release could not speak about it.
    """

    encoding: StandardEncoding
    design: Design
    length: Array
    coverage: Array
    is_not_reportable: Flags


@dataclass(frozen=True, kw_only=True, slots=True)
class StandardAnswer:
    """The encoding and design of the shortest intervals without penalty whose bias is tolerable.

    encoding: row radius and limit.
    design: with c and split, for the target "unpenalised".
    forecast: of that design, all planning rows used; encoded units.
    moments: of the planning rows under this encoding.
    names: of the features, then the constant.
    out_of_reach: names that a release of this design cannot speak about.
    tried: everything that was looked at, in the order of the search.
    """

    encoding: StandardEncoding
    design: Design
    forecast: Forecast
    moments: Moments
    names: tuple[str, ...]
    out_of_reach: tuple[str, ...]
    tried: tuple[Tried, ...]


def best_standard(
    encode: Encode,
    *,
    design: Design,
    n_records: int,
    limits: Sequence[float] = LIMITS,
) -> StandardAnswer:
    """Return row radius, limit, c and split for the shortest intervals of the coefficients without
    penalty.

    The score of a design is the mean logarithm of the features' expected lengths per spread. A
    coefficient is not reportable (`Forecast.is_not_reportable`), here already from a bias, by
    penalty, weights and curvature, of `_TOLERATED` half-widths, and then counts as `_UNREACHED`
    times its shortest interval: a table is not planned around one column that nothing reaches.

    Args:
        encode: the planning rows under an encoding: a public table or a twin, never a private one.
        design: its loss, mechanism, budget total, level and calibration count; c, split and target
            do not.
        n_records: n, of the release.
        limits: that are tried, in spreads, the preferred one first.

    Privacy:
        None: the planning rows must be public or simulated. The answer is public then, and so are
        the weights of a release that uses it.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: no c lets the design run.
    """
    check_design(design)
    if not isinstance(limits, Sequence) or not limits:
        raise ValueError(f"Expected limits={limits!r} to hold at least one number.")
    search = _Search(encode, replace(design, target="unpenalised"), n_records, limits)
    for limit in limits:
        search.look_at(limit)
    return search.answer()


class _Search:
    """Everything tried for one design."""

    def __init__(self, encode: Encode, design: Design, n: int, limits: Sequence[float]) -> None:
        self.encode, self.design, self.n = encode, design, n
        self.order = {limit: place for place, limit in enumerate(limits)}
        self.tried: list[Tried] = []
        self.error: InfeasibleDesignError | None = None
        self.smallest_radius = math.inf

    def look_at(self, limit: float) -> None:
        """Every radius at this limit, each with every c."""
        rows = self.encode(StandardEncoding(radius=_LARGE_RADIUS, limit=limit)).X
        if not isinstance(rows, WeightedRows):
            raise ValueError(
                "Expected encode to give rows with weights, as a standard encoding does, got "
                f"{type(rows).__name__}."
            )
        lengths = _LARGE_RADIUS * np.linalg.norm(rows.rows, axis=1)
        found = np.quantile(lengths, _QUANTILES)
        radii = sorted({float(f"{max(r, 1.0):.2g}") for r in found})
        self.smallest_radius = min(self.smallest_radius, radii[0])
        for radius in radii:
            encoding = StandardEncoding(radius=radius, limit=limit)
            records, start = _some(self.encode(encoding)), None
            for c in self.penalties(radius):
                moments = self.fit(records, c, start, with_drift=False)
                start = moments.theta_hat
                design = replace(self.design, regularization=c)
                try:
                    made = forecast(moments, design=design, n_records=self.n, n_draws=_DRAWS)
                except InfeasibleDesignError as error:
                    self.error = error
                    continue
                self.tried.append(_tried(encoding, made))
                if self.tried[-1].is_not_reportable.all():
                    break

    def penalties(self, radius: float) -> Iterator[float]:
        """c in ascending order."""
        c = max(
            _FIRST * mechanism_of(self.design).smallest_regularization(self.design, self.n),
            _SMALLEST,
        )
        while c * radius**2 <= _LARGEST:
            yield float(f"{c:.3g}")
            c *= _FACTOR

    def refusal(self) -> InfeasibleDesignError:
        """Why no c in the range can run: what half the largest of them lacks."""
        if self.error is not None:
            return self.error
        c = _LARGEST / (_FIRST * self.smallest_radius**2)
        try:
            model_noise(replace(self.design, regularization=c), self.n)
        except InfeasibleDesignError as error:
            return error
        raise AssertionError("A c that can run was not tried.")

    def fit(
        self, records: Records, c: float, start: Array | None = None, *, with_drift: bool = True
    ) -> Moments:
        """Moments with what the target without penalty needs."""
        return fit_moments(
            records.X,
            records.y,
            loss=self.design.loss,
            regularization=c,
            start=start,
            target="unpenalised",
            with_drift=with_drift,
        )

    def score(self, one: Tried) -> float:
        """What counts, small where intervals are short and hold what they promise."""
        lacking = np.maximum(self.design.confidence_level - COVERAGE_SLACK - one.coverage, 0.0)
        length = one.length * (1.0 + _SHORTFALL * lacking)
        counted = np.where(one.is_not_reportable, _UNREACHED * self.shortest, length)
        return float(np.mean(np.log(counted))) + _WORTH * self.order[one.encoding.limit]

    @cached_property
    def shortest(self) -> Array:
        """The shortest interval of each feature that is in reach somewhere; else the shortest."""
        every = np.array([one.length for one in self.tried])
        reached = [np.where(one.is_not_reportable, np.inf, one.length) for one in self.tried]
        best = np.min(reached, axis=0)
        return np.asarray(np.where(np.isfinite(best), best, every.min(axis=0)))

    def answer(self) -> StandardAnswer:
        """The best of the best encodings, each with its best split and the c around its own, from
        all planning rows.
        """
        if not self.tried:
            raise self.refusal()
        best: dict[StandardEncoding, Tried] = {}
        for one in sorted(self.tried, key=self.score):
            best.setdefault(one.encoding, one)
        found: list[tuple[float, Tried, Records, Moments, Forecast]] = []
        for one in list(best.values())[:_FINALISTS]:
            records = self.encode(one.encoding)
            for factor in (1.0 / _FACTOR, 1.0):
                c = float(f"{one.design.regularization * factor:.3g}")
                moments = self.fit(records, c)
                try:
                    _, made = quick_split(
                        moments, design=replace(self.design, regularization=c), n_records=self.n
                    )
                except InfeasibleDesignError as error:
                    self.error = error
                    continue
                whole = _tried(one.encoding, made)
                found.append((self.score(whole), whole, records, moments, made))
        if not found:  # what runs leaves nothing for the matrices
            raise self.refusal()
        _, whole, records, moments, made = min(found, key=lambda one: one[0])
        names = records.feature_names
        return StandardAnswer(
            encoding=whole.encoding,
            design=made.design,
            forecast=made,
            moments=moments,
            names=names,
            out_of_reach=tuple(
                name for name, is_out in zip(names, made.is_not_reportable, strict=True) if is_out
            ),
            tried=(*self.tried, *(one[1] for one in found)),
        )


def _tried(encoding: StandardEncoding, made: Forecast) -> Tried:
    """What a forecast says, per spread."""
    half = made.ci_length[:-1] / 2.0
    is_biased = np.abs(made.bias[:-1]) > _TOLERATED * half
    return Tried(
        encoding=encoding,
        design=made.design,
        length=made.ci_length[:-1] / encoding.radius,
        coverage=made.coverage[:-1],
        is_not_reportable=made.is_not_reportable[:-1] | is_biased,
    )


def _some(records: Records) -> Records:
    """Evenly spaced planning rows, few enough to search with."""
    every = -(-len(records.y) // _ROWS)
    return replace(records, X=records.X[::every], y=records.y[::every])
