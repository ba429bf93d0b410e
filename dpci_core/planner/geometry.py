"""Ridge, leverage and split of noise that is shaped like the records, planned together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.rows import Meaning, WeightedRows
from dpci_core.design import Design, Geometry, check_design
from dpci_core.intervals.forecast import Forecast, forecast
from dpci_core.intervals.inflation import error_variance
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise
from dpci_core.mechanisms.metric import metric_noise
from dpci_core.planner.amounts import SEARCH_DRAWS
from dpci_core.planner.split import SplitAnswer, best_split, quick_split
from dpci_core.privacy.budget import Budget
from dpci_core.solvers.metric import metric_of
from dpci_core.solvers.moments import Moments, cut_away, fit_moments

RIDGES = (0.004, 0.008, 0.012, 0.016, 0.024, 0.032, 0.048, 0.064, 0.1)
METRIC_SHARES = (Decimal("0.01"), Decimal("0.02"), Decimal("0.04"), Decimal("0.08"))
"""Shares of the total that are tried for the second moment."""
_NOISE_BELOW = 2.0
"""The ridge is at least so many times the size of the noise on the second moment."""
_MATRIX_SHARES = (Decimal("0.03"), Decimal("0.08"))
"""Hessian and covariance, for a first look."""
_FINALISTS = 3
TOLERATED_BIAS = 0.05
"""In half-widths: what weights may move a coefficient of the planning rows."""
_TOLERATED_CUT = 0.2
"""The same for a clip, in the closed form: a forecast refuses a little more."""
_ROUND_UP = Context(prec=4, rounding=ROUND_CEILING)
_WIDER = 1.25
"""Factor on the largest leverage where they move it by more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GeometryAnswer:
    """Noise shaped like the records with the split that goes with it, or noise as it is where that
    is shorter.

    design: with geometry and split; without geometry where none is shorter.
    forecast: of that design.
    plain: the best split of the same total without a geometry; None where the mechanism needs one.
    plain_forecast: of that design.
    moments: of the planning rows, with the weights of the geometry.
    bias: what weights move each coefficient of the planning rows by, in half-widths, (p,).
    n_weighted: planning rows that count less.
    n_rows: planning rows.
    """

    design: Design
    forecast: Forecast
    plain: Design | None
    plain_forecast: Forecast | None
    moments: Moments
    bias: Array
    n_weighted: int
    n_rows: int

    @property
    def gain(self) -> float | None:
        """Share of the mean length that the geometry saves; None as for `plain`."""
        if self.plain_forecast is None:
            return None
        return 1.0 - self.forecast.ci_length_mean / self.plain_forecast.ci_length_mean


def best_geometry(
    X: npt.ArrayLike | WeightedRows,
    y: npt.ArrayLike,
    *,
    design: Design,
    meaning: Meaning | None = None,
) -> GeometryAnswer:
    """Return ridge, largest leverage and split of the shortest mean interval, by forecast.

    The largest leverage is what is usual among the planning rows (`moments.Spread`) in the worst
    metric that noise may make of theirs, and larger where weights would move a coefficient of the
    planning rows by more than `TOLERATED_BIAS` half-widths. Where no geometry is shorter, the
    answer has none.

    Args:
        X: planning rows (n, p), public or simulated, as `fit_moments` takes them.
        y: their labels (n,), -1 or +1.
        design: its loss, budget total, c, level, calibration, target and n count; a geometry and a
            split that it has do not.
        meaning: of the coefficients of the planning rows, as for `fit_moments`.

    Privacy:
        None: the planning rows must not be private. The answer is public then, and so is its
        geometry.

    Raises:
        ValueError: for a mechanism or loss that no geometry goes with, or an argument out of range.
        InfeasibleDesignError: the design cannot run at its total and c.
    """
    check_design(design)
    bare = without_geometry(design)
    moments = fit_moments(
        X,
        y,
        loss=design.loss,
        regularization=design.regularization,
        target=design.target,
        with_spread=True,
        meaning=meaning,
    )
    plain = None
    if unfit := mechanism_of(bare).unfit(bare):
        raise unfit
    if not mechanism_of(bare).needs_metric:
        plain = best_split(moments, design=bare)
    looks = sorted(_looks(moments, bare), key=lambda look: look[0])
    chosen = []
    for _, look in looks[:_FINALISTS]:
        with suppress(InfeasibleDesignError):
            chosen.append(quick_split(moments, design=look))
    if not chosen and plain is None:
        raise InfeasibleDesignError(*_NO_METRIC)

    def unshaped(plain: SplitAnswer) -> GeometryAnswer:
        return GeometryAnswer(
            design=plain.design,
            forecast=plain.forecast,
            plain=plain.design,
            plain_forecast=plain.forecast,
            moments=moments,
            bias=np.zeros(len(moments.theta_hat)),
            n_weighted=0,
            n_rows=moments.n_records,
        )

    if not chosen:
        assert plain is not None
        return unshaped(plain)
    best, _ = min(chosen, key=lambda found: found[1].ci_length_mean)

    def fit(geometry: Geometry) -> Moments:
        return _fit(X, y, bare, geometry, meaning)

    while True:
        best, weighted = with_room(moments, fit, design=best)
        split = best_split(weighted, design=best)
        bias = _bias(weighted, moments, split.forecast)
        if less := with_less_cut(split.design, split.forecast):
            best = less
        elif _can_be_wider(best, bias):
            best = _wider(best)
        else:
            break
    if plain is not None and split.forecast.ci_length_mean >= plain.forecast.ci_length_mean:
        return unshaped(plain)
    return GeometryAnswer(
        design=split.design,
        forecast=split.forecast,
        plain=None if plain is None else plain.design,
        plain_forecast=None if plain is None else plain.forecast,
        moments=weighted,
        bias=bias,
        n_weighted=weighted.n_weighted,
        n_rows=moments.n_records,
    )


def shaped(moments: Moments, *, design: Design) -> Design | None:
    """Return the design with the geometry of the shortest intervals by a closed form, at once: what
    is left beside the metric is split as the design splits its total. None where none is shorter.

    Args:
        moments: of planning rows that count in full, with their `spread`.
        design: as for `best_geometry`; its split counts.

    Raises:
        ValueError: for a mechanism or loss that no geometry goes with.
    """
    bare = without_geometry(design)
    looks = list(_looks(moments, bare, split=bare.budget))
    if not looks:
        return None
    length, found = min(looks, key=lambda look: look[0])
    if mechanism_of(bare).needs_metric or length < _length(moments, bare):
        return found
    return None


def with_less_cut(design: Design, found: Forecast) -> Design | None:
    """Return the design with the next larger clip where, by its forecast, cut gradients move a
    coefficient of the planning rows by more than a quarter of a half-width; None where they do not.
    """
    if design.clip == 1.0 or not found.is_not_reportable.any():
        return None
    clips = mechanism_of(design).clips
    return replace(design, clip=min(clip for clip in clips if clip > design.clip))


def in_metric(moments: Moments, *, design: Design) -> Design:
    """Return `shaped` of a design that runs in a metric only.

    Raises:  InfeasibleDesignError where no metric will do.
    """
    if unfit := mechanism_of(design).unfit(design):
        raise unfit
    if moments.spread is None or moments.cuts is None:
        raise InfeasibleDesignError(
            "A metric and a clip are planned from the spread of planning rows, which these "
            "moments have not.",
            "Take fit_moments(..., with_spread=True).",
        )
    found = shaped(moments, design=design)
    if found is None:
        raise InfeasibleDesignError(*_NO_METRIC)
    return found


_NO_METRIC = (
    "In no metric that was tried are Newton steps steady enough and their clip without bias on "
    "the planning rows.",
    "Use more records or a larger budget, or mechanism='objective'.",
)


def with_room(
    moments: Moments,
    fit: Callable[[Geometry], Moments],
    *,
    design: Design,
) -> tuple[Design, Moments]:
    """Return the design with a leverage at which weights move no coefficient of the planning rows
    by more than `TOLERATED_BIAS` half-widths, and the moments with its weights.

    Args:
        moments: of planning rows that count in full.
        fit: from a geometry to the moments of the same rows with its weights.
        design: with a geometry.

    Raises:
        InfeasibleDesignError: the design cannot run.
    """
    while True:
        assert design.geometry is not None
        weighted = fit(design.geometry)
        if weighted.n_weighted == 0:
            return design, weighted
        made = forecast(weighted, design=design, n_draws=SEARCH_DRAWS)
        if not _can_be_wider(design, _bias(weighted, moments, made)):
            return design, weighted
        design = _wider(design)


def with_metric_share(design: Design, geometry: Geometry, share: Decimal) -> Design:
    """Return the design with a geometry and a share of the total for its second moment; what is
    left is split as the design splits its total.
    """
    bare = without_geometry(design)
    return _with_shares(bare, share, geometry, bare.budget)


def without_geometry(design: Design) -> Design:
    """Return the design with noise of equal size in every direction, its metric's part given to the
    coefficients.
    """
    budget = design.budget
    if budget.metric:
        model = EXACT.add(budget.model, budget.metric)
        budget = replace(budget, model=model, metric=Decimal(0))
    return replace(design, budget=budget, geometry=None, clip=1.0)


def _looks(
    moments: Moments, bare: Design, *, split: Budget | None = None
) -> Iterator[tuple[float, Design]]:
    """Designs with a geometry that can run, with the closed form of their mean length without noise
    on the matrices; the best metric share for each ridge. The rest is split like `split`, or with
    little for the matrices.
    """
    assert moments.spread is not None
    p = len(moments.theta_hat)
    for ridge in RIDGES:
        tried = []
        for share in METRIC_SHARES:
            geometry = Geometry(ridge=ridge, leverage=1.0)
            look = _with_shares(bare, share, geometry, split)
            size = metric_noise(look).diagonal_sd(p) * (2.0 * p) ** 0.5
            if _NOISE_BELOW * size > ridge:
                continue
            leverage = _round_up(moments.spread.leverage(ridge - size))
            if ridge * leverage >= 1.0:
                continue
            look = replace(look, geometry=replace(geometry, leverage=leverage))
            for clip in mechanism_of(look).clips:
                with suppress(InfeasibleDesignError):
                    cut = replace(look, clip=clip)
                    tried.append((_length(moments, cut), cut))
        if tried:
            yield min(tried, key=lambda found: found[0])


def _round_up(leverage: float) -> float:
    """To what stands in a plan: four digits, and the same wherever the rows are fitted."""
    return float(_ROUND_UP.plus(Decimal(leverage)))


def _with_shares(bare: Design, share: Decimal, geometry: Geometry, split: Budget | None) -> Design:
    """The total with this share for the second moment."""
    total = bare.budget.total
    matrices: tuple[Decimal, ...] = _MATRIX_SHARES
    if split is not None:
        rest = EXACT.subtract(Decimal(1), share)
        parts = (split.hessian, split.covariance)
        matrices = tuple(DOWN.multiply(rest, DOWN.divide(part, total)) for part in parts)
    metric, hessian, covariance = (DOWN.multiply(total, part) for part in (share, *matrices))
    taken = EXACT.add(EXACT.add(metric, hessian), covariance)
    budget = replace(
        bare.budget,
        model=EXACT.subtract(total, taken),
        hessian=hessian,
        covariance=covariance,
        metric=metric,
    )
    return replace(bare, budget=budget, geometry=geometry)


def _length(moments: Moments, design: Design) -> float:
    """Mean standard deviation of the private estimates.

    Raises:  InfeasibleDesignError, also where a clip moves a coefficient too far.
    """
    parts: tuple[Array, ...] = (moments.hessian, moments.covariance)
    if design.geometry is not None:
        assert moments.spread is not None
        metric = metric_of(design.geometry, moments.spread.second_moment)
        parts = (*map(metric.matrix, parts), metric.whiten)
    noise, p = model_noise(design), len(moments.theta_hat)
    refused = mechanism_of(design).too_noisy(design, parts[0])
    if refused is not None:
        raise refused
    law = error_variance(
        *parts, mechanism=design.mechanism, noise=noise, n_records=design.n_records
    )
    if design.clip < 1.0:
        assert design.geometry is not None
        half = law.half_width(dim=p, confidence_level=design.confidence_level)
        moved = np.abs(cut_away(moments, design.geometry, design.clip)) / half
        if moved.max() > _TOLERATED_CUT:
            raise InfeasibleDesignError(*_NO_METRIC)
    return float(np.sqrt(law.total(p)).mean())


def _fit(
    X: npt.ArrayLike | WeightedRows,
    y: npt.ArrayLike,
    design: Design,
    geometry: Geometry,
    meaning: Meaning | None,
) -> Moments:
    """Moments of the planning rows with the weights of this geometry."""
    return fit_moments(
        X,
        y,
        loss=design.loss,
        regularization=design.regularization,
        target=design.target,
        geometry=geometry,
        meaning=meaning,
    )


def _bias(weighted: Moments, plain: Moments, made: Forecast) -> Array:
    """What weights move each coefficient of the planning rows by, in half-widths, (p,)."""
    gap: Array = weighted.theta_hat - plain.theta_hat
    if plain.basis is not None:
        gap = plain.basis @ gap
    return np.asarray(2.0 * np.abs(gap) / made.ci_length)


def _can_be_wider(design: Design, bias: Array) -> bool:
    """Whether a larger leverage is needed, and not yet that of every record."""
    assert design.geometry is not None
    is_less = design.geometry.leverage < 1.0 / design.geometry.ridge
    return bool(is_less and bias.max() > TOLERATED_BIAS)


def _wider(design: Design) -> Design:
    """The design with more rows that count in full."""
    assert design.geometry is not None
    wider = min(1.0 / design.geometry.ridge, _round_up(_WIDER * design.geometry.leverage))
    return replace(design, geometry=replace(design.geometry, leverage=wider))
