"""What a plan is for: a length, lengths of all effects, or a coefficient told from zero."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtr

from dpci_core.base.array import Array
from dpci_core.base.errors import check_positive, check_probability
from dpci_core.base.roots import find_root
from dpci_core.intervals.forecast import LARGEST_WIDTH, N_DRAWS, DrawnIntervals
from dpci_core.planner.worlds import (
    AnyDesign,
    AnyForecast,
    AnyMoments,
    Worlds,
    as_worlds,
    drawn,
    foreseen,
    n_coefficients,
)
from dpci_core.regression.forecast import LinearForecast, chance_above
from dpci_core.report import words

_EVEN_ODDS = 0.5
"""From this probability on, the mean over the noise must meet a length as well as the share of
draws.
"""
_LARGEST_VALUE = 1e9
_OF_MEAN, _OF_ONE = 0.6, 3.0
"""Over sqrt(n): relative standard deviation of a released length, the mean's and that of one
coefficient, from sampling. A length is the root of a variance estimated from n records, so it is
sqrt((kurtosis - 1) / n) / 2 for influences of that kurtosis; 3 stands for 37, that of a level with
a share of 3 %. `python -m benchmarks.constants promises` prints what is kept.
"""
_OF_DRIFT = 0.1
"""The same from noise on the coefficients, by how far it moves the Hessian (r3): what is not to
first order in it (`DrawnIntervals.drift`)."""


@dataclass(frozen=True, slots=True)
class Target:
    """A precision target: a length, or a true value that an interval tells from zero.

    Args:
        length: upper limit of the mean length over all coefficients, also those that cannot be
            reported, or of that of `coefficient`.
        coefficient: its place, from 0; the constant is last.
        excludes_zero_at: true value of `coefficient` at which its interval excludes zero.
        probability: least chance. For a length, the share of draws of the matrix noise in which it
            is met; from 0.5 on the mean over the noise has to meet it as well, so 0.5 asks for both
            mean and median. For `excludes_zero_at`, the power: the chance that the private estimate
            lies farther from zero than its half-width, in either direction, under the law of the
            forecast.
        limits: upper limits of the lengths of the first coefficients, met only all at once. What
            counts as length of such a target is the largest length in units of its limit.

    Raises:
        ValueError: naming the argument.

    >>> Target(0.1, coefficient=2).sentence
    'the interval of coefficient 2 is at most 0.1 long'
    >>> Target(coefficient=0, excludes_zero_at=0.5, probability=0.8).sentence
    'the interval of coefficient 0 excludes zero with probability 0.8 or more if the true value is 0.5'
    """  # noqa: E501 - an answer of a doctest

    length: float | None = None
    coefficient: int | None = None
    excludes_zero_at: float | None = None
    probability: float = _EVEN_ODDS
    limits: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_probability(probability=self.probability)
        if sum(x is not None for x in (self.length, self.excludes_zero_at, self.limits)) != 1:
            raise ValueError(
                f"Expected exactly one of length={self.length!r}, "
                f"excludes_zero_at={self.excludes_zero_at!r} and limits={self.limits!r}."
            )
        if self.limits is not None:
            _check_limits(self.limits, self.coefficient)
        if self.length is not None:
            check_positive(length=self.length)
        if self.coefficient is not None:
            _check_place(self.coefficient)
        if self.excludes_zero_at is not None:
            if self.coefficient is None:
                raise ValueError(
                    "Expected coefficient to say which interval excludes_zero_at is about, got "
                    "None."
                )
            _check_value(self.excludes_zero_at)

    @property
    def is_power(self) -> bool:
        """Whether it is about zero, not about a length."""
        return self.excludes_zero_at is not None

    @property
    def is_mean(self) -> bool:
        """Whether it is about the mean length."""
        return self.length is not None and self.coefficient is None

    @property
    def most(self) -> float | None:
        """The length that is asked for, 1 of all limits together; None where power is asked for."""
        return self.length if self.limits is None else 1.0

    def about(self, found: Array) -> Array:
        """Return, of what was found for each coefficient (p,), that of those which the target is
        about; of none where it is the mean.
        """
        if self.limits is not None:
            return found[: len(self.limits)]
        return found[:0] if self.coefficient is None else found[[self.coefficient]]

    @property
    def what(self) -> str:
        """Which interval."""
        if self.limits is not None:
            return f"the longest of {len(self.limits)} intervals, over its limit,"
        return (
            "the mean interval"
            if self.coefficient is None
            else f"the interval of coefficient {self.coefficient}"
        )

    @property
    def sentence(self) -> str:
        """The target in words."""
        return self.told_of(self.what)

    def told_of(self, what: str, unit: float = 1.0) -> str:
        """Return the target in words for an interval that is named by `what`; `unit` of its units
        are one unit of the scaled coefficient.
        """
        asked = self.excludes_zero_at if self.most is None else self.most
        assert asked is not None
        return words.precision_target(
            what,
            asked,
            is_power=self.is_power,
            probability=self.probability,
            usual=_EVEN_ODDS,
            unit=unit,
        )


def _check_limits(limits: object, coefficient: object) -> None:
    if coefficient is not None:
        raise ValueError(f"Expected no coefficient beside limits, got {coefficient!r}.")
    if not isinstance(limits, tuple) or not limits:
        raise ValueError(f"Expected limits={limits!r} to be a tuple of lengths.")
    for limit in limits:
        check_positive(limits=limit)


def _check_place(coefficient: object) -> None:
    is_whole = isinstance(coefficient, int | np.integer) and not isinstance(coefficient, bool)
    if not is_whole or coefficient < 0:  # type: ignore[operator]
        raise ValueError(
            f"Expected coefficient={coefficient!r} to be a whole number >= 0: its place, no name."
        )


def _check_value(value: Any) -> None:
    is_number = isinstance(value, float | int | np.floating | np.integer) and not isinstance(
        value, bool
    )
    if not is_number or value == 0 or not abs(value) <= _LARGEST_VALUE:
        raise ValueError(
            f"Expected excludes_zero_at={value!r} to be a number other than 0, at most 1e9 in size."
        )


def check_target(target: object, *, p: int) -> None:
    """Raise ValueError unless this is a target for p coefficients."""
    if not isinstance(target, Target):
        raise ValueError(f"Expected a Target, got {type(target).__name__}.")
    if target.coefficient is not None and target.coefficient >= p:
        raise ValueError(
            f"Expected coefficient={target.coefficient} < {p}, the number of coefficients."
        )
    if target.limits is not None and len(target.limits) > p:
        raise ValueError(f"Expected at most {p} limits, got {len(target.limits)}.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How far a design meets a target.

    Args:
        target: as it was asked for.
        length: expected length of what the target is about.
        draws: the same for each draw of the matrix noise, (K,) in antithetic pairs k and k + K/2.
        spread: relative standard deviation of a released length around that of its draw.
        power: the chance to exclude zero, 0 where the target is a length.
        is_settled: whether what the target is about is noise-aware in every draw, so that more
            records or budget change no formula.
        is_too_wide: whether no odds interval is offered that is so wide (`MOST_ODDS`): that of the
            coefficient, one of those with limits, or the middle one where the target is the mean.
        is_told: whether noise leaves what the target is about reportable, where a draw says so.
        is_paired: whether draws are those pairs; else they are few and independent, and their
            logarithms are taken as normal: the largest of 16 is no length that hardly any exceeds.
    """

    target: Target
    length: float
    draws: Array
    spread: float
    power: float
    is_settled: bool
    is_too_wide: bool
    is_told: bool = True
    is_paired: bool = True

    @property
    def probability(self) -> float:
        """The chance that the target is met: the power, or that of a length, rounded down; 0 of
        what is not told, or too wide to be offered.
        """
        if self.is_too_wide or not self.is_told:
            return 0.0
        length = self.target.most
        return self.power if length is None else self._chance(length)

    def _chance(self, length: float) -> float:
        """Return the probability that a released length is at most this one, less a standard error
        of the draws.
        """
        if not self.is_paired:
            return float(chance_above(-np.log(self.draws), -math.log(length), self.spread))
        below = ndtr((length / self.draws - 1.0) / self.spread)
        pairs = below.reshape(2, -1).mean(axis=0)
        error = pairs.std() / math.sqrt(max(len(pairs) - 1, 1))
        return max(0.0, float(pairs.mean() - error))

    @property
    def meets(self) -> bool:
        """Whether the target is met often enough."""
        target = self.target
        if target.most is None or target.probability < _EVEN_ODDS:
            return self.probability >= target.probability
        return self.probability >= target.probability and self.length <= target.most

    @property
    def within_reach(self) -> float:
        """The shortest length that this outcome would meet."""
        wide = 1.0 + 10.0 * self.spread
        if not self.is_paired:
            wide = (self.draws.max() / self.draws.min() * wide) ** 4
        at = float(
            find_root(
                lambda length: self._chance(length) - self.target.probability,
                self.draws.min() / wide,
                self.draws.max() * wide,
            )
        )
        return at if self.target.probability < _EVEN_ODDS else max(at, self.length)


def outcome(
    moments: AnyMoments, *, design: AnyDesign, target: Target, n_draws: int = N_DRAWS
) -> Outcome:
    """Return what the forecast of a design says about a target.

    Args:
        moments: fit of the table that stands for the data, at the c of the design.
        design: that is asked about, with its n.
        target: what is wanted of it.
        n_draws: of the matrix noise, even.
    """
    return outcome_of(drawn(moments, design=design, n_draws=n_draws), target)


def outcome_of(drawn: DrawnIntervals | LinearForecast, target: Target) -> Outcome:
    """Return what intervals that are already drawn say about a target."""
    found = _outcome_of(drawn, target)
    if not isinstance(drawn, LinearForecast):
        return found
    j, k = target.coefficient, len(target.limits or drawn.chance_to_report)
    about = drawn.is_not_reportable[:k] if j is None else drawn.is_not_reportable[j]
    return replace(found, is_told=not np.any(about), is_paired=False)


def nearness(
    drawn: DrawnIntervals | LinearForecast, lengths: Array, target: Target | None
) -> float:
    """Return the length that is to be short for a target: what it is about, of expected lengths
    (p,); without one their geometric mean.
    """
    if target is None:
        return float(np.exp(np.log(lengths).mean()))
    if target.is_power:  # what is told from zero is so long an interval away
        return float(lengths[target.coefficient])
    return outcome_of(drawn, target).within_reach


def _outcome_of(drawn: DrawnIntervals | LinearForecast, target: Target) -> Outcome:
    if target.limits is not None:
        return _of_all(drawn, target, np.array(target.limits))
    lengths, j = drawn.lengths, target.coefficient
    power = (
        0.0
        if target.excludes_zero_at is None
        else float(drawn.power(target.excludes_zero_at)[:, j].mean())
    )
    settled = bool(np.all(drawn.weight == 1.0 if j is None else drawn.weight[:, j] == 1.0))
    draws = lengths.mean(axis=1) if j is None else lengths[:, j]
    sampling = (_OF_MEAN if j is None else _OF_ONE) / math.sqrt(drawn.design.n_records)
    spread = math.hypot(sampling, _of_drift(drawn, j))
    # the constant is the odds of nobody: no mean is judged by it
    widths = drawn.odds_width[slice(-1) if j is None else slice(j, j + 1)]
    is_too_wide = len(widths) > 0 and float(np.median(widths)) > LARGEST_WIDTH
    return Outcome(target, float(draws.mean()), draws, spread, power, settled, is_too_wide)


def _of_all(drawn: DrawnIntervals | LinearForecast, target: Target, limits: Array) -> Outcome:
    """Return how far lengths stay below their limits: in each draw the one that is nearest to its
    own, or farthest beyond. Of the spreads of single lengths the largest.
    """
    k = len(limits)
    draws = (drawn.lengths[:, :k] / limits).max(axis=1)
    sampling = _OF_ONE / math.sqrt(drawn.design.n_records)
    spread = max(math.hypot(sampling, _of_drift(drawn, j)) for j in range(k))
    settled = bool(np.all(drawn.weight[:, :k] == 1.0))
    is_too_wide = bool((drawn.odds_width[:k] > LARGEST_WIDTH).any())
    return Outcome(target, float(draws.mean()), draws, spread, 0.0, settled, is_too_wide)


def usual_lengths(
    drawn: DrawnIntervals | LinearForecast, places: list[int], *, share: float
) -> tuple[float, float]:
    """Return between which lengths, on average over the coefficients at these places, the middle
    `share` of releases are; of the same noise and sampling as a length that is asked for. What is
    around a draw is log-normal here, so that no length is below 0 however large its spread.
    """
    draws = drawn.lengths[:, places].mean(axis=1)
    sampling = (_OF_ONE if len(places) == 1 else _OF_MEAN) / math.sqrt(drawn.design.n_records)
    spread = math.hypot(sampling, _of_drift(drawn, places))
    logs, far = np.log(draws), 10.0 * spread

    def at(chance: float) -> float:
        def lacking(log_length: float) -> float:
            return float(ndtr((log_length - logs) / spread).mean()) - chance

        return math.exp(find_root(lacking, logs.min() - far, logs.max() + far))

    return at((1.0 - share) / 2.0), at((1.0 + share) / 2.0)


def _of_drift(drawn: DrawnIntervals | LinearForecast, coefficient: int | list[int] | None) -> float:
    """Relative standard deviation of a length, or of the mean of some or of all, because the
    matrices are taken at coefficients with an error.
    """
    further = _OF_DRIFT * drawn.r3
    if drawn.drift is None:
        return further
    size, drift = drawn.half_width.mean(axis=0), drawn.drift
    if isinstance(coefficient, list):
        size, drift = size[coefficient], drift[coefficient]
        coefficient = None
    moved = size @ drift / size.sum() if coefficient is None else drift[coefficient]
    return math.hypot(further, float(np.linalg.norm(moved)))


def smallest_told_from_zero(moments: AnyMoments, *, design: AnyDesign, target: Target) -> float:
    """Return the true value nearest to zero, of the sign asked for, that the design tells from zero
    often enough; arguments as for `outcome`, the target one of power.
    """
    assert target.excludes_zero_at is not None
    found = drawn(moments, design=design)
    sign = math.copysign(1.0, target.excludes_zero_at)

    def lacking(log_size: float) -> float:
        power = float(found.power(sign * math.exp(log_size))[:, target.coefficient].mean())
        return target.probability - power

    low = math.log(abs(target.excludes_zero_at))
    return (
        sign * math.exp(find_root(lacking, low, math.log(_LARGEST_VALUE), xtol=1e-6)) * (1.0 + 1e-5)
    )


def meeting_probability(moments: Worlds, *, design: AnyDesign, target: Target) -> float:
    """Return the chance that a release of this design meets the target, in the world where it is
    least; `target.probability` plays no part.

    For a length, the chance over the noise on the matrices (the forecast's draws), the sampling of
    the records and the noise on the coefficients (`_OF_MEAN`, `_OF_ONE`, `_OF_DRIFT`), less one
    standard error of the draws; for `excludes_zero_at`, the power.

    Args:
        moments: fit of the table that stands for the data, at the c of the design; or of all worlds
            that it may be like.
        design: loss, mechanism, budget, c, level and calibration, and the n planned for.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: the design cannot run at this n.

    Privacy:
        None of its own; see the package docstring for what it may steer.
    """
    worlds = as_worlds(moments)
    check_target(target, p=n_coefficients(worlds[0].moments))
    return min(outcome(one.moments, design=design, target=target).probability for one in worlds)


def as_if_records(moments: AnyMoments, *, design: AnyDesign) -> int:
    """Return the price of privacy as m: without privacy, m of your n records give intervals as long
    on average.

    Rounded down, at most n. The mean length without noise goes with 1/sqrt(m), so m has a closed
    form.

    Args:
        moments: fit of the table that stands for the data, at the c of the design.
        design: loss, mechanism, budget, c, level and calibration, and the n planned for.

    Raises:
        ValueError: naming the argument.
        InfeasibleDesignError: the design cannot run at this n.

    Privacy:
        None of its own; see the package docstring for what it may steer.
    """
    return as_if(foreseen(moments, design=design))


def as_if(found: AnyForecast) -> int:
    """Return how many records without privacy would give intervals as long as a forecast's."""
    share = (found.nonprivate_length_mean / found.ci_length_mean) ** 2
    return min(found.n_records, math.floor(found.n_records * share))
