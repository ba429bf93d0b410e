"""Which regularization c gives the shortest intervals, and what c does to what they are for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import InfeasibleDesignError, check_positive, short_repr
from dpci_core.base.rows import Meaning
from dpci_core.base.watch import counted
from dpci_core.design import ESTIMANDS, Design, check_design
from dpci_core.intervals.forecast import N_DRAWS, Forecast, forecast
from dpci_core.planner.amounts import SEARCH_DRAWS
from dpci_core.planner.remedies import moments_near
from dpci_core.planner.split import quick_split
from dpci_core.planner.worlds import cost_of, least_favourable
from dpci_core.report import answers
from dpci_core.solvers.moments import Moments, fit_moments

MomentsSource = Callable[[float], Moments]

GRID = tuple(float(f"{10.0**power:.3g}") for power in np.arange(-6.0, 0.26, 0.5))
"""Values of c that are tried first, two to a decade."""
_BETWEEN = (-1 / 3, -1 / 6, 1 / 6, 1 / 3)
"""Decades from an answer at which the grid is refined once."""
UNPENALISED = 1e-7
"""So little penalty counts as none: the coefficients there are what those at other c are compared
with.
"""
SHIFT_SHARE = 0.25
"""Shift of the target that may be tolerated, as a share of the half-width: coverage of the
unpenalised coefficient by an interval of level 95 % stays above 91 %."""
_FLAT = 0.05
"""An answer comes with the c around it at which lengths differ by at most so much."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegularizationCurve:
    """What every c that was tried does; m values of c, p coefficients.

    Args:
        regularization: c in ascending order, (m,).
        length: forecast mean length (m,), infinite where the design cannot run.
        shift: of what the intervals lie around, from the coefficients without penalty, (m, p).
        shift_in_half_widths: the same in half-widths, (m, p).
        shift_norm: Euclidean norm of `shift`, (m,).
        largest_shift: largest size of `shift_in_half_widths`, (m,).
        is_feasible: whether the design can run, (m,).
        grade: validity of the forecast, "infeasible" where there is none; m of them.
    """

    regularization: Array
    length: Array
    shift: Array
    shift_in_half_widths: Array
    shift_norm: Array
    largest_shift: Array
    is_feasible: Flags
    grade: tuple[str, ...]

    __repr__ = short_repr


@dataclass(frozen=True, kw_only=True, slots=True)
class RegularizationChoice:
    """One c with its design and forecast.

    Args:
        regularization: c.
        design: at that c.
        forecast: of the design.
        shift: of what the intervals lie around, from the coefficients without penalty, (p,).
        largest_shift: largest size of the shift in half-widths.
        near_best: the range of c tried around it where mean lengths differ by at most 5 %.
    """

    regularization: float
    design: Design
    forecast: Forecast
    shift: Array
    largest_shift: float
    near_best: tuple[float, float]

    @property
    def facts(self) -> answers.Choice:
        """What a sentence says of it."""
        return self.regularization, self.forecast.ci_length_mean, self.largest_shift, self.near_best


@dataclass(frozen=True, kw_only=True, slots=True)
class RegularizationAnswer:
    """The c of the shortest intervals, and of the shortest whose target moves little; None where no
    c tried does.

    Args:
        shortest: of all.
        low_bias: the shortest with a mean shift of at most `share`.
        curve: every c that was tried.
        share: half-widths.
        unpenalised: where `low_bias` is None or useless, the shortest with `Design.target`
            "unpenalised" within the same share, None where that cannot be had either.
        decided_by: the assumption of the world that decides, whose numbers these are. Empty where
            planning rows are the only one.
    """

    shortest: RegularizationChoice
    low_bias: RegularizationChoice | None
    curve: RegularizationCurve
    share: float
    unpenalised: RegularizationChoice | None = None
    decided_by: str = ""

    @property
    def is_at_end(self) -> bool:
        """Whether `shortest` is the largest c that was tried, so that length alone has no best
        c.
        """
        return self.shortest.regularization == float(self.curve.regularization[-1])

    @property
    def reason(self) -> str:
        """Both answers in words."""
        said = answers.best_regularization(
            self.shortest.facts,
            None if self.low_bias is None else self.low_bias.facts,
            None if self.unpenalised is None else self.unpenalised.facts,
            share=self.share,
            within=_FLAT,
            is_at_end=self.is_at_end,
        )
        return answers.decided(said, self.decided_by)


@dataclass(frozen=True, slots=True)
class _Tried:
    """One c; no forecast where the design cannot run, and the error that says so."""

    design: Design
    found: Forecast | None
    shift: Array
    error: InfeasibleDesignError | None

    @property
    def length(self) -> float:
        return math.inf if self.found is None else self.found.ci_length_mean

    @property
    def in_half_widths(self) -> Array:
        return (
            self.shift * math.nan if self.found is None else 2.0 * self.shift / self.found.ci_length
        )

    @property
    def largest_shift(self) -> float:
        return float(np.max(np.abs(self.in_half_widths)))

    @property
    def grade(self) -> str:
        return "infeasible" if self.found is None else self.found.validity.grade


def best_regularization(
    X: npt.ArrayLike | MomentsSource | Mapping[str, MomentsSource],
    y: npt.ArrayLike | None = None,
    *,
    design: Design,
    share: float = SHIFT_SHARE,
    split_each: bool = False,
) -> RegularizationAnswer:
    """Return the c of the shortest mean interval, and of the shortest whose target stays near the
    unpenalised one.

    A larger c needs less noise and pulls the coefficients towards zero, so intervals shrink around
    something else. The shift of the target is what the intervals lie around on average, less the
    coefficients at c = 1e-7, in half-widths: a bias in units of what the interval allows for. With
    `design.target == "unpenalised"` it is what the step back leaves. A forecast that is unusable is
    shown, but is no answer while another one is usable.

    Args:
        X: features (n, p) of norm at most 1, or a function from c to moments, or such functions of
            all worlds that the table may be like, by their assumptions: then the answer is best in
            the one where fewest coefficients can be reported, and intervals are longest.
        y: labels -1 or +1, (n,); None with such a function.
        design: its c plays no part, its n is planned for.
        share: largest shift of any coefficient of the second answer, in half-widths.
        split_each: give every c its own best split; else all have the design's.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: the design can run at no c; with the smallest at which it can.

    Privacy:
        None: records must be public or simulated, see the package docstring for what an answer may
        steer.
    """
    check_design(design)
    check_positive(share=share)
    if isinstance(X, Mapping):
        worlds = X

        def cost(answer: RegularizationAnswer, said: str) -> tuple[int, float]:
            chosen = answer.low_bias or answer.shortest
            return cost_of(forecast(worlds[said](chosen.regularization), design=chosen.design))

        def solve(said: str) -> RegularizationAnswer:
            of = worlds[said]
            return best_regularization(of, design=design, share=share, split_each=split_each)

        answer, decides = least_favourable(list(worlds), solve=solve, cost=cost)
        return answer if len(worlds) == 1 else replace(answer, decided_by=decides)
    search = _Search(moments_source(X, y, design), design, split_each)
    for c in counted("penalty", GRID):
        search.try_out(c)
    centres = {search.shortest(), search.shortest(share), search.smallest()}
    for c in sorted(c for c in centres if c is not None):
        for decades in _BETWEEN:
            search.try_out(float(f"{c * 10.0**decades:.3g}"))
    shortest, low_bias = search.shortest(), search.shortest(share)
    if shortest is None:
        last = search.tried[max(search.tried)].error
        assert last is not None
        raise last
    chosen = None if low_bias is None else search.choice(low_bias)
    is_sought = ESTIMANDS[design.target].is_shrunk and (
        chosen is None or chosen.forecast.usefulness.is_useless
    )
    return RegularizationAnswer(
        shortest=search.choice(shortest),
        low_bias=chosen,
        curve=search.curve(),
        share=share,
        unpenalised=search.way_out(share) if is_sought else None,
    )


def moments_source(
    X: Any, y: npt.ArrayLike | None, design: Design, meaning: Meaning | None = None
) -> MomentsSource:
    """Moments by c; a fit starts a Newton step away from the one at the nearest c."""
    if callable(X):
        if y is not None:
            raise ValueError("Expected no y with a function from c to moments.")
        return X  # type: ignore[no-any-return]
    if y is None:
        raise ValueError(
            "Expected labels y with the records X, or a function from c to moments alone."
        )
    labels, known = y, list[Moments]()

    def fit(c: float) -> Moments:
        start = None
        if known:
            nearest = min(known, key=lambda found: abs(math.log(found.regularization / c)))
            start = moments_near(nearest, c).theta_hat
        known.append(
            fit_moments(
                X,
                labels,
                loss=design.loss,
                regularization=c,
                start=start,
                target="unpenalised",
                geometry=design.geometry,
                meaning=meaning,
            )
        )
        return known[-1]

    return fit


class _Search:
    """The values of c tried so far."""

    def __init__(
        self,
        source: MomentsSource,
        design: Design,
        split_each: bool,
        n_draws: int = N_DRAWS,
    ) -> None:
        self.source, self.design = source, design
        self.split_each, self.n_draws = split_each, n_draws
        self.tried: dict[float, _Tried] = {}
        self.fits: dict[float, Moments] = {}
        self.unpenalised = self.fit(UNPENALISED).theta_hat

    def fit(self, c: float) -> Moments:
        """Moments at c, fitted once."""
        if c not in self.fits:
            self.fits[c] = self.source(c)
        return self.fits[c]

    def try_out(self, c: float) -> None:
        if c in self.tried:
            return
        moments, design = self.fit(c), replace(self.design, regularization=c)
        found, error = None, None
        try:
            if self.split_each:
                design, found = quick_split(moments, design=design)
            else:
                found = forecast(moments, design=design, n_draws=self.n_draws)
        except InfeasibleDesignError as caught:
            error = caught
        self.tried[c] = _Tried(design, found, self._shift(moments, design, found), error)

    def _shift(self, moments: Moments, design: Design, found: Forecast | None) -> Array:
        """Return how far the intervals' target is from the coefficients without penalty (p,)."""
        is_shrunk = ESTIMANDS[design.target].is_shrunk
        if found is not None and moments.unpenalised_fit and not is_shrunk:
            return found.bias
        around = moments.theta_hat if found is None else found.estimate
        return around - self.unpenalised

    def shortest(self, share: float = math.inf) -> float | None:
        """The c of the shortest mean length within this shift; of an unusable forecast only if
        nothing else can run.
        """
        rows = [(c, t) for c, t in self.tried.items() if t.found is not None]
        usable = [(c, t) for c, t in rows if t.grade != "unusable"] or rows
        near = [(c, t) for c, t in usable if t.largest_shift <= share]
        return min(near, key=lambda row: row[1].length)[0] if near else None

    def smallest(self) -> float | None:
        """The smallest c at which the design can run."""
        return min((c for c, t in self.tried.items() if t.found is not None), default=None)

    def way_out(self, share: float) -> RegularizationChoice | None:
        """The shortest within the share for the unpenalised target, among the c tried so far."""
        other = replace(self.design, target="unpenalised")
        few = _Search(self.fit, other, False, SEARCH_DRAWS)
        for c, at in self.tried.items():
            if at.found is not None:
                few.try_out(c)
        while (best := few.shortest(share)) is not None:
            near_best = few.choice(best).near_best
            sure = _Search(self.fit, other, self.split_each)
            sure.try_out(best)
            if sure.shortest(share) is not None:
                return replace(sure.choice(best), near_best=near_best)
            del few.tried[best]
        return None

    def choice(self, c: float) -> RegularizationChoice:
        at = self.tried[c]
        assert at.found is not None
        ordered = sorted(self.tried)
        low = high = ordered.index(c)

        def is_near(place: int) -> bool:
            return (
                0 <= place < len(ordered)
                and abs(self.tried[ordered[place]].length / at.length - 1.0) <= _FLAT
            )

        while is_near(low - 1):
            low -= 1
        while is_near(high + 1):
            high += 1
        return RegularizationChoice(
            regularization=c,
            design=at.design,
            forecast=at.found,
            shift=at.shift,
            largest_shift=at.largest_shift,
            near_best=(ordered[low], ordered[high]),
        )

    def curve(self) -> RegularizationCurve:
        ordered = sorted(self.tried)
        rows = [self.tried[c] for c in ordered]
        return RegularizationCurve(
            regularization=np.array(ordered),
            length=np.array([row.length for row in rows]),
            shift=np.array([row.shift for row in rows]),
            shift_in_half_widths=np.array([row.in_half_widths for row in rows]),
            shift_norm=np.array([float(np.linalg.norm(row.shift)) for row in rows]),
            largest_shift=np.array([row.largest_shift for row in rows]),
            is_feasible=np.array([row.found is not None for row in rows]),
            grade=tuple(row.grade for row in rows),
        )
