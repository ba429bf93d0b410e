"""How long the intervals of a linear regression will be, from planning rows. Nothing is
drawn: noise for the planned number of records comes from constants.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
from scipy.special import ndtr, ndtri

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import Table, as_table
from dpci_core.base.errors import check_count, short_repr
from dpci_core.base.rows import as_weighted
from dpci_core.base.watch import step
from dpci_core.privacy.budget import PARTS
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import LinearFit, run_steps
from dpci_core.regression.sums import Clipped, Moves, Whitened, plain_sums
from dpci_core.report.cautions import REPORTABLE_CHANCE

_SEED = 35
_LARGEST_BIAS = 0.25
"""Half-widths that clips and weights may move a coefficient by."""
_SURE = 2.0
"""Standard errors by which a bias of planning rows has to exceed that to be certain: more records
than planning rows lose no effect by the error of these."""
_OF_SEARCHES = 1_000
"""Number of the first draw that only searches see."""
_LEAST_SPREAD = 1e-3
"""Of the logarithm of a margin from release to release."""
_LARGEST_SPREAD = 0.5
"""Of the length from release to release, over its mean: beyond it no length can be promised."""
_MORE_STEPS = 100
_CLOSE = 1e-5
"""Mean gradient, in clips, at which there are enough of them."""
_UNLIMITED = Decimal("1e9")
"""A part of a budget whose noise is nothing."""
_MOST_ROWS = 5_000
"""Planning rows in memory that take the steps of one draw; bias is looked for in all."""
_KEPT = 2
"""Designs whose fits planning rows remember."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanningRows:
    """Rows to plan a linear regression from, public or simulated.

    table: rows [t, x], (m, 1 + p).
    basis: B (p, p): B theta are the coefficients of the named features, in units of the outcome.
    """

    table: Table
    basis: Array
    _known: dict[LinearDesign, list[LinearFit]] = field(default_factory=dict, init=False)
    """Fits of the designs that were forecast last, since much is asked of each."""

    @property
    def n_records(self) -> int:
        """m."""
        return len(self.table)

    def forecast(
        self,
        *,
        design: LinearDesign,
        contrasts: Array,
        n_draws: int,
        has_bias: bool = True,
        has_plain: bool = True,
    ) -> LinearForecast:
        """Return `forecast_linear` of these rows; fits that are known are not made again.

        has_plain: whether lengths without noise are wanted, else they are NaN.
        """
        fits = self._known.pop(design, [])
        fits = fits[:n_draws] + fits_of(self.table, design, range(len(fits), n_draws))
        for old in list(self._known)[: 1 - _KEPT]:
            self._known.pop(old, None)  # another thread may have been here
        self._known[design] = fits
        return _forecast(
            self.table, fits, contrasts, has_bias=has_bias, has_plain=has_bias and has_plain
        )

    def tried(self, *, design: LinearDesign, n_draws: int) -> LinearForecast:
        """Return what a search judges a design by: draws that no `forecast` takes. Those of the
        design that is found are short by chance too, and a promise must not rest on that.
        """
        fits = fits_of(self.table, design, range(_OF_SEARCHES, _OF_SEARCHES + n_draws))
        return _forecast(self.table, fits, self.basis, has_bias=True, has_plain=False)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LinearForecast:
    """What a design will give for each contrast, arrays (k,); of K draws of the noise.

    half_width: of the intervals, (K, k).
    sd: standard deviation of the estimate, of sampling and all noise, as it is told on average.
    nonprivate_length: of intervals without any noise, with the same clips; like `estimate` NaN
        where no bias was looked for, as in searches.
    estimate: plain least squares of the planning rows.
    bias: how far clips and weights move a contrast from plain least squares, of the planning rows.
    bias_se: its standard error, from the planning rows being a sample.
    chance_to_report: share of releases that report a contrast, less a standard error of the draws;
        0 where its length differs from release to release by more than half of it, or its bias is
        above a quarter of a half-width by more than two standard errors.
    share_clipped: of gradients that the last clip cuts.
    """

    design: LinearDesign
    half_width: Array
    sd: Array
    nonprivate_length: Array
    estimate: Array
    bias: Array
    bias_se: Array
    chance_to_report: Array
    share_clipped: float

    __repr__ = short_repr

    drift: ClassVar[None] = None
    r3: ClassVar[float] = 0.0

    @property
    def n_records(self) -> int:
        """n of the design."""
        return self.design.n_records

    @property
    def lengths(self) -> Array:
        """Of the intervals, draw by draw, (K, k)."""
        return 2.0 * self.half_width

    @property
    def length(self) -> Array:
        """Of the intervals, on average."""
        return np.asarray(self.lengths.mean(axis=0))

    ci_length = length

    @property
    def vi_length(self) -> Array:
        """Of the variability interval, the spread of the private estimates: intervals are longer by
        what noise on the gradient covariance leaves unknown of it.
        """
        return _length(self.sd, self.design)

    @property
    def ci_length_mean(self) -> float:
        """The mean length over the contrasts."""
        return float(self.length.mean())

    @property
    def nonprivate_length_mean(self) -> float:
        """The mean of `nonprivate_length` over the contrasts."""
        return float(self.nonprivate_length.mean())

    @property
    def odds_width(self) -> Array:
        """Zeros (k,): a contrast of numbers has no odds that could be too wide (`MOST_ODDS`)."""
        return np.zeros_like(self.chance_to_report)

    @property
    def is_not_reportable(self) -> Flags:
        """Contrasts that fewer than 95 % of releases report."""
        return np.asarray(self.chance_to_report < REPORTABLE_CHANCE)

    @property
    def is_biased(self) -> Flags:
        """Contrasts whose bias may be above a quarter of a half-width."""
        most = _bias_at_most(self.bias, self.bias_se)
        return np.asarray(most > _LARGEST_BIAS * self.half_width.mean(axis=0))

    @property
    def weight(self) -> Array:
        """1: every half-width counts all noise, (K, k)."""
        return np.ones_like(self.half_width)

    @property
    def coverage(self) -> Array:
        """Chance of an interval to hold plain least squares, which its bias leaves at least."""
        return np.asarray(self._within(_bias_at_most(self.bias, self.bias_se)).mean(axis=0))

    def power(self, value: float) -> Array:
        """Chance of each interval to exclude 0 where the coefficient is `value`, (K, k)."""
        return 1.0 - self._within(value)

    def _within(self, shift: Array | float) -> Array:
        """Chance (K, k) of errors, moved by so much, to stay within the half-widths: those of a
        draw with large noise are large as well, so each is taken to have its level without a move.
        """
        at = float(ndtri(0.5 + self.design.confidence_level / 2.0))
        far = at * shift / self.half_width
        return np.asarray(ndtr(at - far) - ndtr(-at - far))


def forecast_linear(
    A: Table,
    *,
    design: LinearDesign,
    contrasts: Array | None = None,
    n_draws: int = 64,
    has_bias: bool = True,
) -> LinearForecast:
    """Forecast the intervals of a design from planning rows, which are public or simulated.

    Args:
        A: rows [t, x], (m, 1 + p), as for `linear_fit`; m need not be n. Of many in memory
            parts take the steps in turn.
        design: whose n counts.
        contrasts: L (k, p); None for the coefficients themselves.
        n_draws: of the noise, from constants: the same rows and design have the same forecast.
        has_bias: whether to look for it, else it is 0.

    Privacy: the rows are taken for public.
    """
    check_count(n_draws=n_draws)
    L = np.eye(A.shape[1] - 1) if contrasts is None else contrasts
    fits = fits_of(A, design, range(n_draws))
    return _forecast(A, fits, L, has_bias=has_bias, has_plain=has_bias)


def fits_of(A: Table, design: LinearDesign, numbers: Iterable[int]) -> list[LinearFit]:
    """The fits with these draws of the noise."""
    some, numbers = _parts(A), list(numbers)
    step(len(numbers))
    return [
        run_steps(some[k % len(some)], design=design, source=np.random.default_rng([_SEED, k]))
        for k in numbers
    ]


def _parts(A: Table) -> list[Table]:
    """Parts of the rows that take the steps in turn: together they are all rows."""
    n_parts = 1 if A.memory is None else math.ceil(len(A) / _MOST_ROWS)
    return [_by_column(A, part, n_parts) for part in range(n_parts)]


def _by_column(A: Table, first: int = 0, every: int = 1) -> Table:
    """Rows in memory, one of so many, laid out as sums read them."""
    if A.memory is None:
        return A
    rows = as_weighted(A.memory[first::every])
    assert rows is not None
    return as_table(replace(rows, rows=np.asfortranarray(rows.rows)))


def _forecast(
    A: Table, fits: list[LinearFit], L: Array, *, has_bias: bool, has_plain: bool
) -> LinearForecast:
    """The forecast of fits; arguments as for `forecast_linear`."""
    design = fits[0].design
    widths = [fit.half_widths(L) for fit in fits]
    halves = np.array([w.half_width for w in widths])
    half, spread = halves.mean(axis=0), halves.std(axis=0)
    clip = float(np.median([fit.clips[-1] for fit in fits]))
    estimate = plain = np.full(len(L), np.nan)
    bias = bias_se = np.zeros(len(L))
    if has_bias:
        estimate, bias, bias_se = _bias(_by_column(A), fits[0], clip, L)
    if has_plain:
        unlimited = type(design.budget)(**dict.fromkeys(PARTS, _UNLIMITED))
        quiet = fits_of(A, replace(design, budget=unlimited), range(len(_parts(A))))
        lengths = [_length(np.sqrt(fit.half_widths(L).sampling), design) for fit in quiet]
        plain = np.mean(lengths, axis=0)
    is_never = (spread > _LARGEST_SPREAD * half) | (
        np.abs(bias) > _LARGEST_BIAS * half + _SURE * bias_se
    )
    chance = _chance(np.log([w.margins for w in widths]))
    return LinearForecast(
        design=design,
        half_width=halves,
        sd=np.mean([np.sqrt(w.sampling + w.privacy) for w in widths], axis=0),
        nonprivate_length=plain,
        estimate=estimate,
        bias=bias,
        bias_se=bias_se,
        chance_to_report=np.where(is_never, 0.0, chance),
        share_clipped=float(np.mean([fit.share_clipped for fit in fits])),
    )


def _bias_at_most(bias: Array, bias_se: Array) -> Array:
    """The size of a bias (k,) with a standard error more: other rows of the same world have another
    one, and a search takes the clips whose bias its planning rows happen to show as small.
    """
    return np.asarray(np.abs(bias) + bias_se)


def _length(sd: Array, design: LinearDesign) -> Array:
    """The length of normal intervals."""
    return np.asarray(2.0 * float(ndtri(0.5 + design.confidence_level / 2.0)) * sd)


def _chance(margins: Array) -> Array:
    """The chance (k,) that no mark is set, of log margins (K, 2, k) taken as normal, less a
    standard error of their mean and spread.
    """
    lost = 1.0 - chance_above(margins, 0.0, _LEAST_SPREAD)
    return np.asarray(np.maximum(1.0 - lost.sum(axis=0), 0.0))


def chance_above(logs: Array, least: float, spread: float) -> Array:
    """The chance that a normal quantity is at least so much, of independent draws (K, ...) of it,
    less a standard error of what they say of its mean and spread together; `spread` what they do
    not show, or the least that counts.
    """
    size = np.hypot(logs.std(axis=0, ddof=min(1, len(logs) - 1)), spread)
    far = (logs.mean(axis=0) - least) / size
    return np.asarray(ndtr(far - np.sqrt((1.0 + far**2 / 2.0) / len(logs))))


def _bias(A: Table, fit: LinearFit, clip: float, contrasts: Array) -> tuple[Array, Array, Array]:
    """Contrasts of plain least squares, those of the clipped coefficient less them, and the
    standard error of the difference, in the metric of a fit.
    """
    rough = np.asarray(np.linalg.solve(fit.whiten, fit.metric), dtype=np.float64)
    rows = A.through(Whitened(rough, is_new=True), has_weights=True)
    rows = rows.through(Whitened(fit.whiten, is_new=False), has_weights=True)
    phi, n = fit.phi, len(rows)
    for _ in range(_MORE_STEPS):
        move = rows.total(Clipped(phi, clip))[0] / n
        phi = phi - clip * move
        if np.linalg.norm(move) < _CLOSE:
            break
    moments, products = rows.total(plain_sums)
    inverse = np.linalg.pinv(moments / n, hermitian=True)
    plain = inverse @ products / n
    moves = rows.total(Moves(phi, clip, plain, inverse)) / n
    L = contrasts @ fit.metric.T
    return L @ plain, L @ (phi - plain), np.sqrt(np.einsum("ki,ij,kj->k", L, moves, L) / n)
