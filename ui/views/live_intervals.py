"""The interval chart at every total of the budget's slider, for the picture that follows the
pointer.

Lengths are forecast at up to a dozen totals and interpolated between them; letting go forecasts the
chosen one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpci_core import forecast
from dpci_core.base.array import Array
from dpci_core.base.errors import ConvergenceError
from ui.controls import currency
from ui.controls.paired import positions
from ui.kit import live
from ui.kit.palette import QUIET
from ui.session import compute, state
from ui.session.results import IntervalRows
from ui.session.settings import Settings
from ui.session.text import covers, number, symbol
from ui.views.intervals import axis_title

KNOTS, FEWEST_KNOTS, USUAL_INTERVALS = 13, 4, 46
"""Totals that are forecast, about; the slider's grid is four to twelve times as fine. More of them
bring nothing: what the picture is off by, up to a tenth at the smallest budgets, comes from the few
draws of matrix noise. With more than the usual number of intervals there are fewer, down to the
fewest, so that a hundred features take about a second, once for all totals; in the middle of the
slider that moves the picture by one or two per cent."""
MOST_INTERVALS = 240
"""Of all combinations together: two of them with every feature of the largest table. Beyond, the
chart moves when the slider is let go."""
_ROOM = 0.6
"""Free space on each side of what the chart shows now, in units of its width."""


@dataclass(frozen=True, eq=False)
class Lengths:
    """Private and variability lengths of one combination at every knot, (m, k); NaN where there is
    no forecast.
    """

    private: Array
    variability: Array


def total_animation(
    view: compute.View, units: str, rows: Sequence[IntervalRows]
) -> live.Animation | None:
    """The interval chart of a view along the slider of its total budget."""
    settings, told = view.settings, view.came_out
    many = sum(len(item.names) for item in rows)
    if many > MOST_INTERVALS:
        return None
    grid = currency.total_grid(settings)
    knots = np.array(sorted({*grid[:: -(-len(grid) // knots_for(many))], grid[-1]}))
    value, options = positions(settings.typed_total, grid)
    asked = free_of_total(settings)
    key = (
        "animation",
        view.records.digest,
        repr(asked),
        units,
        tuple(item.combination.key for item in rows),
    )
    is_odds = units == "odds"

    def make() -> live.Film:
        found = state.curves().get(
            key, lambda: [lengths_at(view, item, asked, knots, units) for item in rows]
        )
        return total_film(rows, found, knots, np.array(options), settings=told, is_odds=is_odds)

    film = state.films().get(
        (*key, told.noise, len(options), value if len(options) > len(grid) else None), make
    )
    return live.Animation(film, "total_slider", options.index(value), span(rows, is_odds=is_odds))


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
    contrasts = view.contrasts(units)
    draws = compute.SWEEP_DRAWS[len(item.names) > 21]
    nothing = np.full(len(item.names), np.nan)
    pairs = []
    for total in knots:
        try:
            there = currency.at_total(asked, float(f"{total:.6g}"))
            design = compute.designed(there, item.combination, outcome.moments)
            made = forecast(
                outcome.moments,
                design=design,
                n_records=asked.n,
                contrasts=contrasts,
                n_draws=draws,
            )
        except (ValueError, ConvergenceError):  # no such total with these locks, or no such design
            pairs.append((nothing, nothing))
            continue
        drawn = made.validity.grade != "unusable"
        pairs.append((made.ci_length, made.vi_length) if drawn else (nothing, nothing))
    return Lengths(*(np.array(column) for column in zip(*pairs, strict=True)))


def between(knots: Array, values: Array, at: Array) -> Array:
    """Values (m, k) at other places, linear in the logarithms; NaN beside a NaN."""
    x, y = np.log(knots), np.log(values)
    columns = [np.interp(np.log(at), x, column) for column in y.T]
    return np.asarray(np.exp(np.column_stack(columns)))


def total_film(
    rows: Sequence[IntervalRows],
    found: Sequence[Lengths],
    knots: Array,
    options: Array,
    *,
    settings: Settings,
    is_odds: bool,
) -> live.Film:
    """A frame for every position of the slider, laid out as the chart is."""
    k, many = len(rows[0].names), len(rows)
    base = np.arange(k, dtype=np.float64)[::-1] * (many + 0.8)
    private = [between(knots, item.private, options) for item in found]
    spread = [between(knots, item.variability, options) for item in found]
    name = symbol(settings)
    frames = [
        _frame(
            rows,
            [p[i] for p in private],
            [v[i] for v in spread],
            base,
            f"{name} = {number(float(x))}",
            is_odds,
        )
        for i, x in enumerate(options)
    ]
    strokes = [live.Stroke(QUIET, 2.0)]
    for item in rows:
        style = item.combination.style
        strokes += [live.Stroke(style.colour, 11.0, style.opacity), live.Stroke(style.colour, 5.0)]
    return live.Film(
        frames=tuple(frames),
        strokes=tuple(strokes),
        x_title=axis_title(covers(settings), is_odds=is_odds),
        span=span(rows, is_odds=is_odds),
        rows=(-(many + 0.8) / 2, float(base[0]) + (many + 0.8) / 2),
        labels=tuple((float(y), name) for y, name in zip(base, rows[0].names, strict=True)),
        lines=(1.0 if is_odds else 0.0,),
        is_log=is_odds,
    )


def _frame(
    rows: Sequence[IntervalRows],
    private: Sequence[Array],
    spread: Sequence[Array],
    base: Array,
    total: str,
    is_odds: bool,
) -> live.Frame | None:
    if not all(np.isfinite(lengths).all() for lengths in (*private, *spread)):
        return None
    bars: list[live.Bar] = []
    dots: list[live.Dot] = []
    for place, item in enumerate(rows):
        y = base + (len(rows) - 1) / 2 - place
        own = 1 + 2 * place
        for lengths, stroke, below in (
            (private[place], own, 0.0),
            (spread[place], own + 1, 0.0),
            (item.nonprivate_length, 0, 0.4),
        ):
            low, high = _ends(item.estimate, lengths, is_odds)
            bars += [
                (float(a), float(b), float(c), stroke)
                for a, b, c in zip(y - below, low, high, strict=True)
            ]
        centre, _ = _ends(item.estimate, np.zeros(len(y)), is_odds)
        dots += [(float(x), float(a), own + 1) for x, a in zip(centre, y, strict=True)]
    means = " and ".join(number(float(lengths.mean())) for lengths in private)
    return live.Frame(f"{total}: mean length {means}", tuple(bars), tuple(dots))


def _ends(estimate: Array, length: Array, is_odds: bool) -> tuple[Array, Array]:
    low, high = estimate - length / 2, estimate + length / 2
    return (
        (np.exp(np.clip(low, -50, 50)), np.exp(np.clip(high, -50, 50))) if is_odds else (low, high)
    )


def span(rows: Sequence[IntervalRows], *, is_odds: bool) -> tuple[float, float]:
    """The ends of the axis: what the chart shows now, with room for longer intervals."""
    low = min(float((item.estimate - item.ci_length / 2).min()) for item in rows)
    high = max(float((item.estimate + item.ci_length / 2).max()) for item in rows)
    room = _ROOM * (high - low)
    low, high = min(low - room, 0.0), max(high + room, 0.0)
    return (
        (float(np.exp(max(low, -50.0))), float(np.exp(min(high, 50.0)))) if is_odds else (low, high)
    )
