"""A private histogram on declared bounds, the number of its bins chosen privately if there are
several.

Noisy counts of T are divided by the public n, so that everything is pure epsilon-DP;
docs/proofs/selection.md#histograms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import check_count
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.schema.numeric import SPAN
from dpci_core.tuning.selection import (
    WIDER,
    SelectionMethod,
    Spending,
    check_method,
    choose_model,
    divided,
    share_out_selection,
)
from dpci_core.tuning.stability import ScoreBounds, histogram_score_bounds

MOST_BINS = 100_000
"""More are refused; each has noise of its own."""
COUNT_SENSITIVITY = 2
"""L1, of counts when a record is replaced: one bin loses it, another gains it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HistogramResult:
    """A released histogram, everything a function of noisy counts and public numbers.

    low, high: of the range, declared.
    counts: noisy counts of the rows in T, cut to [0, n], (bins,).
    epsilon: of everything, exact.
    spending: on counts and choice.
    is_simulation: whether the noise came from a generator.
    """

    low: float
    high: float
    counts: Integers
    epsilon: Decimal
    spending: Spending
    is_simulation: bool

    @property
    def n_bins(self) -> int:
        """How many bins were chosen."""
        return len(self.counts)

    @property
    def edges(self) -> Array:
        """The edges of the bins (bins + 1,), in the units of the values."""
        return np.linspace(self.low, self.high, self.n_bins + 1)

    @property
    def shares(self) -> Array:
        """The shares of the bins (bins,), which add up to 1; equal where every noisy count is 0."""
        total = int(self.counts.sum())
        if total == 0:
            return np.full(self.n_bins, 1.0 / self.n_bins)
        return np.asarray(self.counts / total)

    @property
    def density(self) -> Array:
        """Per unit of the column, (bins,)."""
        return self.shares * (self.n_bins / (self.high - self.low))


def bin_numbers(x: Array, *, low: float, high: float, bins: int) -> Integers:
    """Return the bin of every value (n,); values outside the bounds count as the nearer bound."""
    with np.errstate(over="ignore", invalid="ignore"):
        place = np.floor((np.clip(x, low, high) - low) / (high - low) * bins)
    return np.asarray(np.clip(place, 0, bins - 1).astype(np.int64))


def spend_histogram(
    method: SelectionMethod,
    *,
    epsilon: Amount,
    candidates: Sequence[int],
    n_records: int,
    validation_share: Amount = "0.1",
) -> Spending:
    """Return what a method spends on counts and choice, from public numbers alone.

    A single candidate needs no choice: every row is counted with the whole epsilon.

    Args:
        method: as for `spend`.
        epsilon: of everything (> 0).
        candidates: numbers of bins, all different.
        n_records: n, public.
        validation_share: of the rows that score.

    Raises:  ValueError naming the argument.
    """
    check_method(method)
    total = to_decimal(epsilon, name="epsilon")
    listed = checked_bins(candidates)
    check_count(n_records=n_records)
    if len(listed) == 1:
        return Spending(
            method=method,
            train=total,
            n_train=n_records,
            n_validation=0,
            scale=None,
            noise="exponential",
            runs=1,
            plan=None,
        )
    n_train, n_validation = divided(n_records, validation_share)
    found = histogram_score_bounds(
        n_train=n_train, n_validation=n_validation, narrowest=1.0 / max(listed)
    )
    # The score is rounded once, relatively by 2^-53. Noise may lift every count to n, so that |p|^2
    # is the number of bins, and the score (2 + bins) bins.
    off = max(listed) ** 2 * 2.0**-51
    bounds = ScoreBounds(found.training + off, found.validation + off)
    return share_out_selection(
        method,
        epsilon=total,
        n_candidates=len(listed),
        n_train=n_train,
        n_validation=n_validation,
        bounds=lambda _: bounds,
        moves=bounds.validation,
        split_noise="exponential",
    )


def checked_bins(candidates: Sequence[int]) -> tuple[int, ...]:
    """Return numbers of bins, at least one, all different.

    Raises:  ValueError naming what breaks a rule.
    """
    listed = tuple(candidates) if isinstance(candidates, list | tuple | range) else ()
    if not listed:
        raise ValueError("Expected candidates to hold at least one number of bins.")
    for i, bins in enumerate(listed):
        check_count(bins=bins)
        if bins > MOST_BINS:
            raise ValueError(f"Expected bins={bins} <= {MOST_BINS}.")
        if bins in listed[:i]:
            raise ValueError(f"Expected candidates to differ: {bins} bins are there twice.")
    if len(listed) > 1 and max(listed) < 2:
        raise ValueError("Expected a candidate of at least 2 bins.")
    return tuple(int(bins) for bins in listed)


def checked_bounds(bounds: object) -> tuple[float, float]:
    """Return declared bounds (low, high) as finite floats.

    Raises:  ValueError.
    """
    pair = bounds if isinstance(bounds, tuple | list) and len(bounds) == 2 else (np.nan, np.nan)
    try:
        low, high = (float(side) for side in pair)
    except (TypeError, ValueError, OverflowError):
        low = high = np.nan
    if not SPAN[0] <= high - low <= SPAN[1]:
        raise ValueError(
            f"Expected bounds={bounds!r} to be (low, high) with low < high, {SPAN[0]:g} to "
            f"{SPAN[1]:g} apart, declared beforehand."
        )
    return low, high


def select_histogram(
    x: npt.NDArray[np.float64],
    *,
    bounds: tuple[float, float],
    candidates: Sequence[int],
    epsilon: Amount,
    method: SelectionMethod = "stability",
    validation_share: Amount = "0.1",
    source: NoiseSource,
) -> HistogramResult:
    """Return a histogram with the number of bins that a method chooses.

    Args:
        x: (n,), finite; outside the bounds a value counts as the nearer one.
        bounds: (low, high) of the column, declared.
        candidates, epsilon, method, validation_share: as for `spend_histogram`.
        source: a generator, for a simulation, or the operating system's entropy: discrete Laplace
            noise and choice are exact then (OpenDP).

    Privacy: epsilon-DP, replace-one neighbours, n public.
    Raises:  ValueError naming the argument.
    Source:  docs/proofs/selection.md#histograms; Chaudhuri and Vinterbo 2013, Algorithm 5.
             Differs: counts are divided by n and not by their noisy total, which spares a delta.
    """
    low, high = checked_bounds(bounds)
    listed, total = checked_bins(candidates), to_decimal(epsilon, name="epsilon")
    if x.ndim != 1 or len(x) == 0 or not np.isfinite(x).all():
        raise ValueError("Expected x to hold finite numbers, one a record, at least one.")
    spending = spend_histogram(
        method,
        epsilon=total,
        candidates=listed,
        n_records=len(x),
        validation_share=validation_share,
    )

    def counted(i: int, rows: Integers) -> Integers:
        bins = bin_numbers(x[rows], low=low, high=high, bins=listed[i])
        return np.bincount(bins, minlength=listed[i]).astype(np.int64)

    def trained(i: int, rows: Integers) -> Integers:
        return noisy_counts(counted(i, rows), epsilon=spending.train, source=source)

    def scored(i: int, counts: Integers, rows: Integers) -> float:
        return histogram_score(counts, counted(i, rows), n_train=spending.n_train)

    _, counts = choose_model(
        spending,
        n_records=len(x),
        n_candidates=len(listed),
        source=source,
        trained=trained,
        scored=scored,
    )
    return HistogramResult(
        low=low,
        high=high,
        counts=counts,
        epsilon=total,
        spending=spending,
        is_simulation=not isinstance(source, SystemSource),
    )


def noisy_counts(counts: Integers, *, epsilon: Decimal, source: NoiseSource) -> Integers:
    """Return counts with discrete Laplace noise of scale 2 / epsilon, cut to [0, n].

    Privacy: epsilon-DP: replacing a record moves two counts by 1.
    """
    n = int(counts.sum())
    scale = COUNT_SENSITIVITY / to_float_down(epsilon) * WIDER
    if isinstance(source, SystemSource):
        noisy = source.add_discrete_laplace(
            counts, scale=scale, sensitivity=COUNT_SENSITIVITY, epsilon=epsilon
        )
    else:
        chance = -np.expm1(-1.0 / scale)
        up, down = source.geometric(chance, (2, len(counts)))
        noisy = counts + up - down
    return np.clip(noisy, 0, n)


def histogram_score(counts: Integers, held_out: Integers, *, n_train: int) -> float:
    """Return (2 v.p - |p|^2) / h for p = counts / n_train and the shares v of the held-out rows:
    minus the integrated squared error on a range of length 1, up to a constant; the nearest double.
    """
    m = int(held_out.sum())
    cross = sum(int(a) * int(b) for a, b in zip(counts, held_out, strict=True) if a and b)
    squared = sum(int(a) ** 2 for a in counts)
    return len(counts) * (2 * n_train * cross - m * squared) / (m * n_train**2)
