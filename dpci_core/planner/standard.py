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
from dpci_core.planner.split import quick_split
from dpci_core.schema import Records, StandardEncoding
from dpci_core.solvers.moments import Moments, fit_moments

Encode = Callable[[StandardEncoding], Records]

LIMITS = (4.0, 3.0)
"""Limits of columns that are tried, in spreads; a smaller one has to be worth it (`_WORTH`)."""
_QUANTILES = (0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
"""Radii that are tried: these quantiles of the lengths of the planning rows."""
_FIRST = 1.05
_FACTOR = 2.0
_SMALLEST = 1e-6
_LARGEST = 0.3
"""c that are tried: from a little above the smallest that a release can run with, by this factor,
while c R^2, which acts on coefficients per spread, stays below this."""
_ROWS = 6_000
"""Planning rows of the search; the answer is forecast from all of them."""
_DRAWS = 16
_UNREACHED = 3.0
"""What a coefficient out of reach counts for: an interval so many times as long as its shortest."""
_WORTH = 0.05
"""Share of the mean length that a smaller limit has to save, as it moves what effects mean."""
_LARGE_RADIUS = 1e3


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """One radius, limit and c with what a release would give, per spread of each column.

    encoding: with radius and limit.
    regularization: c.
    length: (d,) expected lengths of the features' intervals, infinite where nothing can run.
    is_out_of_reach: (d,) of `Forecast`.
    """

    encoding: StandardEncoding
    regularization: float
    length: Array
    is_out_of_reach: Flags


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
    coefficient is out of reach (`Forecast.is_out_of_reach`) where its bias, from penalty, weights
    and curvature, exceeds a quarter of the half-width, and then counts as `_UNREACHED` times its
    shortest interval: a table is not planned around one column that nothing reaches.

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
    wanted = replace(design, target="unpenalised")
    search = _Search(encode, wanted, n_records, limits)
    for limit in limits:
        search.look_at(limit)
    return search.answer(search.best())


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
            records = _some(self.encode(encoding))
            start = None
            for c in self.penalties(radius):
                made, start = self.tried_at(records, encoding, c, start)
                self.tried.append(made)

    def penalties(self, radius: float) -> Iterator[float]:
        """c in ascending order."""
        c = _FIRST * _smallest(self.design, self.n)
        while c * radius**2 <= _LARGEST:
            yield float(f"{c:.3g}")
            c *= _FACTOR

    def tried_at(
        self, records: Records, encoding: StandardEncoding, c: float, start: Array | None
    ) -> tuple[Tried, Array]:
        """What a release would give; the fit, for the next one to start from."""
        moments = self.fit(records, c, start, with_drift=False)
        design = replace(self.design, regularization=c)
        d = len(moments.theta_hat) - 1
        length, reach = np.full(d, math.inf), np.ones(d, dtype=np.bool_)
        try:
            made = forecast(moments, design=design, n_records=self.n, n_draws=_DRAWS)
        except InfeasibleDesignError as error:
            self.error = error
        else:
            length, reach = made.ci_length[:-1] / encoding.radius, made.is_out_of_reach[:-1]
        tried = Tried(encoding=encoding, regularization=c, length=length, is_out_of_reach=reach)
        return tried, moments.theta_hat

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

    def best(self) -> Tried:
        """The design of the lowest score."""
        able = [one for one in self.tried if np.isfinite(one.length).all()]
        if not able:
            raise self.error or self.refusal()
        return min(able, key=self.score)

    def refusal(self) -> InfeasibleDesignError:
        """Why no c in the range can run: what the largest of them lacks."""
        c = _LARGEST / (_FIRST * self.smallest_radius) ** 2
        try:
            model_noise(replace(self.design, regularization=c), self.n)
        except InfeasibleDesignError as error:
            return error
        raise AssertionError("A c that can run was not tried.")

    def score(self, one: Tried) -> float:
        """What counts, small where intervals are short."""
        counted = np.where(one.is_out_of_reach, _UNREACHED * self.shortest, one.length)
        return float(np.mean(np.log(counted))) + _WORTH * self.order[one.encoding.limit]

    @cached_property
    def shortest(self) -> Array:
        """The shortest interval of each feature that is in reach somewhere; else the shortest."""
        every = np.array([one.length for one in self.tried])
        reached = [np.where(one.is_out_of_reach, np.inf, one.length) for one in self.tried]
        best = np.min(reached, axis=0)
        return np.asarray(np.where(np.isfinite(best), best, every.min(axis=0)))

    def answer(self, chosen: Tried) -> StandardAnswer:
        """The c around the chosen one with its best split, from all planning rows."""
        records = self.encode(chosen.encoding)
        found: list[tuple[float, Moments, Design, Forecast]] = []
        for factor in (1.0, 1.0 / _FACTOR, _FACTOR):
            c = float(f"{chosen.regularization * factor:.3g}")
            moments = self.fit(records, c)
            try:
                design, made = quick_split(
                    moments, design=replace(self.design, regularization=c), n_records=self.n
                )
            except InfeasibleDesignError:
                continue
            length = made.ci_length[:-1] / chosen.encoding.radius
            split = replace(chosen, length=length, is_out_of_reach=made.is_out_of_reach[:-1])
            found.append((self.score(split), moments, design, made))
        _, moments, design, made = min(found, key=lambda one: one[0])
        names = records.feature_names
        return StandardAnswer(
            encoding=chosen.encoding,
            design=design,
            forecast=made,
            moments=moments,
            names=names,
            out_of_reach=tuple(
                name for name, is_out in zip(names, made.is_out_of_reach, strict=True) if is_out
            ),
            tried=tuple(self.tried),
        )


def _some(records: Records) -> Records:
    """Evenly spaced planning rows, few enough to search with."""
    every = -(-len(records.y) // _ROWS)
    return replace(records, X=records.X[::every], y=records.y[::every])


def _smallest(design: Design, n: int) -> float:
    """The smallest c that the mechanism can run with, and that is worth a look."""
    return max(mechanism_of(design).smallest_regularization(design, n), _SMALLEST)
