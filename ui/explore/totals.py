"""Lengths at every total of the budget's slider, for the picture that follows the pointer: forecast
at up to a dozen totals and interpolated between them. Letting go forecasts the chosen one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dpci_core import Forecast, forecast
from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import ConvergenceError
from dpci_core.planner.worlds import AnyForecast
from ui.controls import currency
from ui.session import compute
from ui.session.results import IntervalRows
from ui.session.settings import Settings

KNOTS, FEWEST_KNOTS, USUAL_INTERVALS = 13, 4, 46
"""Totals that are forecast, about; the slider's grid is four to twelve times as fine. More of them
bring nothing: what the picture is off by, up to a tenth at the smallest budgets, comes from the few
draws of matrix noise. With more than the usual number of intervals there are fewer, down to the
fewest, so that a hundred features take about a second, once for all totals; in the middle of the
slider that moves the picture by one or two per cent."""
MOST_INTERVALS = 240
"""Of all combinations together: two of them with every feature of the largest table. Beyond, the
chart moves when the slider is let go."""


@dataclass(frozen=True, eq=False)
class Lengths:
    """Lengths of one combination at every knot, private, of the variability interval and without
    privacy, (m, k), NaN where there is no forecast; and what can be reported there.
    """

    private: Array
    variability: Array
    plain: Array
    is_reported: Flags


def knots_for(n_intervals: int) -> int:
    """About how many totals are forecast for so many intervals."""
    return max(FEWEST_KNOTS, min(KNOTS, round(KNOTS * USUAL_INTERVALS / n_intervals)))


def free_of_total(settings: Settings) -> Settings:
    """What the lengths over all totals depend on: without locks not the total."""
    return settings if any(settings.split.locked) else compute.free_of(settings, "total")


def lengths_at(
    view: compute.View, item: IntervalRows, asked: Settings, knots: Array, units: str
) -> Lengths:
    """Forecast one combination at every knot."""
    outcome = next(o for o in view.outcomes if o.combination == item.combination)
    assert outcome.moments is not None  # rows are made of outcomes that have a forecast
    first = outcome.moments
    contrasts = view.contrasts(units)
    draws = compute.SWEEP_DRAWS[len(item.names) > 21]

    def made_at(there: Settings) -> Forecast:
        moments = first if there.c == first.regularization else view.moments_at(outcome, there.c)
        design = compute.designed(there, item.combination, moments)
        return forecast(moments, design=design, contrasts=contrasts, n_draws=draws)

    return lengths_of(asked, knots, len(item.names), made_at)


def lengths_of(
    asked: Settings, knots: Array, size: int, made_at: Callable[[Settings], AnyForecast]
) -> Lengths:
    """The lengths (m, size) of forecasts under the settings at every knot."""
    nothing = np.full(size, np.nan)
    pairs = []
    for total in knots:
        try:
            made = made_at(currency.at_total(asked, float(f"{total:.6g}")))
        except (ValueError, ConvergenceError):  # no such total with these locks, or no such design
            pairs.append((nothing, nothing, nothing, nothing > 0.0))
            continue
        is_drawn = not isinstance(made, Forecast) or made.validity.grade != "unusable"
        lengths = (made.ci_length, made.vi_length, made.nonprivate_length)
        pairs.append((*(lengths if is_drawn else [nothing] * 3), ~made.is_not_reportable))
    return Lengths(*(np.array(column) for column in zip(*pairs, strict=True)))


def nearest(knots: Array, flags: Flags, at: Array) -> Flags:
    """Flags (m, k) at other places: those of the nearest knot."""
    gaps = np.abs(np.log(at)[:, None] - np.log(knots))
    return np.asarray(flags[gaps.argmin(axis=1)])


def between(knots: Array, values: Array, at: Array) -> Array:
    """Values (m, k) at other places, linear in the logarithms; NaN beside a NaN."""
    x, y = np.log(knots), np.log(values)
    columns = [np.interp(np.log(at), x, column) for column in y.T]
    return np.asarray(np.exp(np.column_stack(columns)))
