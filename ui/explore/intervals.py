"""The picture of the intervals, and its frames for every position of the budget's slider."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.report.words import number
from ui.explore.finding import ratio
from ui.explore.rows import Rows, rows_of
from ui.explore.sentences import NOT_REPORTABLE, shrunk
from ui.kit.palette import KEPT, QUIET
from ui.kit.picture import Bar, Dot, Panel, Picture, Style
from ui.session.choices import distinguishing_labels
from ui.session.results import IntervalRows

SpanOf = Callable[[tuple[object, ...], float, float], tuple[float, float]]
_FARTHEST = 50.0
"""Of a log odds; an odds ratio beyond has no place on any chart."""
VARIABILITY = "variability (spread of the private estimates)"
"""The yardstick of private intervals: no valid one is shorter on average."""
LETTERS = "ABC"
"""Of settings that are kept to compare with."""


@dataclass(frozen=True, eq=False)
class PinnedIntervals:
    """Intervals of a setting that was kept, for each coefficient of the chart and combination: NaN
    where it has none.
    """

    letter: str
    rows: tuple[IntervalRows | None, ...]


@dataclass(frozen=True, kw_only=True)
class ChartText:
    """What stands around a chart, and is no interval."""

    title: str
    sub: str
    alt: str
    footer: str
    meta: dict[str, object]
    is_loud: bool = False


def interval_picture(
    rows: Sequence[IntervalRows],
    pinned: Sequence[PinnedIntervals],
    around: ChartText,
    *,
    units: str,
    span_of: SpanOf,
    is_cost_beside: bool = False,
) -> Picture:
    """Per coefficient the private interval, the variability interval within it and the one without
    privacy below, the ratio of the first two at the right, of odds ratios or where it is asked for
    that of the first and the last; kept settings as thin lines above.

    span_of: the ends of an axis, by what is on it and how far that reaches.
    """
    is_odds, many = units == "odds", len(rows)
    is_plain = is_odds or is_cost_beside
    placed = rows_of(rows, _notes(rows), is_scaled=units == "scaled")
    bars, dots = marks(
        rows, [r.ci_length for r in rows], [r.vi_length for r in rows], placed, is_odds
    )
    own = 1 + 2 * many
    thin = [
        (float(y), *ends, own + 1 + k)
        for k, one in enumerate(pinned)
        for y, ends in _pinned_bars(one, rows, placed, k, is_odds)
    ]
    panels = tuple(
        _panel(
            rows,
            where,
            members,
            units,
            span_of,
            n_axes=len(placed.panels),
            is_last=at == len(placed.panels) - 1,
        )
        for at, (where, members) in enumerate(placed.panels)
    )
    return Picture(
        **vars(around),
        panels=panels,
        styles=(*styles_of(rows), *[_PINNED for _ in pinned]),
        bars=[*thin, *bars],
        dots=dots,
        labels=placed.labels,
        right=ratios(
            rows,
            [r.ci_length for r in rows],
            # of effects as people mean them what a reader of them knows
            [r.nonprivate_length if is_plain else r.vi_length for r in rows],
            placed,
            [r.counts for r in rows],
        ),
        right_title="÷ without privacy" if is_plain else "÷ variability",
        key=[
            *_private(rows),
            ("bar", 2 + 2 * next(iter(_told(rows)), 0), VARIABILITY),
            ("bar", 0, "without privacy"),
            *([] if all(r.counts.all() for r in rows) else [("bar", own, NOT_REPORTABLE)]),
            *[("bar", own + 1 + k, one.letter) for k, one in enumerate(pinned)],
        ],
        hover=("y", _hover(rows, placed)),
        least=int(placed.height * (8.2 if many > 1 else 12)) + 34 * len(panels) + 34,
    )


def _private(rows: Sequence[IntervalRows]) -> list[tuple[str, int, str]]:
    """The private intervals in the key; of more than two the table beside the chart tells, unless
    one of them alone has any.
    """
    labels = distinguishing_labels([row.combination for row in rows])
    told = _told(rows)
    if len(told) == 1 < len(rows):
        return [("bar", 1 + 2 * told[0], labels[told[0]])]
    if len(rows) > 2:
        return [("bar", 1, "private")]
    return [("bar", 1 + 2 * k, label) for k, label in enumerate(labels)]


def _told(rows: Sequence[IntervalRows]) -> list[int]:
    """Places of the combinations that can report an effect."""
    return [place for place, row in enumerate(rows) if row.counts.any()]


_PINNED = Style(colour=KEPT, width=1.6, ends=3.5)


def styles_of(rows: Sequence[IntervalRows]) -> tuple[Style, ...]:
    """Without privacy; then private and variability of each combination; then what cannot be
    reported.
    """
    made = [Style(colour=QUIET, width=2.5, ends=3.0)]
    wide, narrow = (11.0, 5.0) if len(rows) < 3 else (7.0, 3.0)
    for item in rows:
        own = item.combination.style
        pale = Style(colour=own.colour, marker=own.marker, width=wide, opacity=own.opacity)
        made += [replace(pale, ends=wide / 2), replace(pale, width=narrow, opacity=1.0)]
    return (*made, Style(colour=QUIET, width=wide, opacity=0.22))


def marks(
    rows: Sequence[IntervalRows],
    private: Sequence[Array],
    spread: Sequence[Array],
    placed: Rows,
    is_odds: bool,
    reported: Sequence[Flags] | None = None,
    plain: Sequence[Array] | None = None,
) -> tuple[list[Bar], list[Dot]]:
    """Bars and dots at these lengths; of what cannot be reported a pale bar, without a place for
    the effect.

    reported, plain: what can be reported of each combination, and its lengths without privacy, if
    not as the rows say.
    """
    bars: list[Bar] = []
    dots: list[Dot] = []
    for place, item in enumerate(rows):
        y = placed.places + (len(rows) - 1) / 2 - place
        low, high = ends(item.estimate, private[place], is_odds)
        counts = item.counts if reported is None else reported[place]
        lost = np.flatnonzero(~counts & np.isfinite(y))
        bars += [(float(y[j]), float(low[j]), float(high[j]), 1 + 2 * len(rows)) for j in lost]
        keep = np.flatnonzero(counts & np.isfinite(y))
        own = 1 + 2 * place
        for lengths, stroke, below in (
            (private[place], own, 0.0),
            (spread[place], own + 1, 0.0),
            (item.nonprivate_length if plain is None else plain[place], 0, 0.42),
        ):
            low, high = ends(item.estimate, lengths, is_odds)
            bars += [(float(y[j] - below), float(low[j]), float(high[j]), stroke) for j in keep]
        centre, _ = ends(item.estimate, np.zeros(len(y)), is_odds)
        dots += [(float(centre[j]), float(y[j]), own + 1) for j in keep]
    return bars, dots


def ends(estimate: Array, length: Array, is_odds: bool) -> tuple[Array, Array]:
    """Return lower and upper ends of intervals as they are drawn, exponentiated for odds ratios."""
    low, high = estimate - length / 2, estimate + length / 2
    if not is_odds:
        return low, high
    low, high = (np.exp(np.clip(x, -_FARTHEST, _FARTHEST)) for x in (low, high))
    return low, high


def _panel(
    rows: Sequence[IntervalRows],
    where: tuple[float, float],
    members: tuple[int, ...],
    units: str,
    span_of: SpanOf,
    *,
    n_axes: int,
    is_last: bool,
) -> Panel:
    """The axis of some coefficients: wide enough for lengths to change on it."""
    on = list(members)
    low = min(float((r.estimate - r.ci_length / 2)[on].min()) for r in rows)
    high = max(float((r.estimate + r.ci_length / 2)[on].max()) for r in rows)
    low, high = span_of((units, *(rows[0].names[j] for j in on)), low, high)
    is_odds = units == "odds"
    if is_odds:
        low, high = (float(np.exp(np.clip(x, -_FARTHEST, _FARTHEST))) for x in (low, high))
    return Panel(
        low=low,
        high=high,
        rows=where,
        is_log=is_odds,
        zeros=(1.0 if is_odds else 0.0,),
        title=_axis(units, n_axes) if is_last else "",
    )


AXES = {
    "scaled": "coefficient, columns on one scale",
    "original": "coefficient, for the step beside each name",
    "odds": "odds ratio, for the step beside each name",
}


def _axis(units: str, n_axes: int) -> str:
    return AXES[units] + (" (an axis for each size)" if n_axes > 1 else "")


def _notes(rows: Sequence[IntervalRows]) -> list[str]:
    """What the penalty leaves of each coefficient, or that it cannot be reported."""
    item, found = rows[0], []
    for j in range(len(item.names)):
        if not any(row.counts[j] for row in rows):
            found.append(NOT_REPORTABLE)
        elif item.left is None or not np.isfinite(item.left[j]):
            found.append("")
        else:
            found.append(shrunk(float(item.left[j])))
    return found


def ratios(
    rows: Sequence[IntervalRows],
    private: Sequence[Array],
    others: Sequence[Array],
    placed: Rows,
    reported: Sequence[Flags],
) -> list[tuple[float, str]]:
    """Private length of each row against another."""
    return [
        (float(y), f"{ratio(times):.2f}×" if is_reached else "-")
        for place, item in enumerate(rows)
        for y, times, is_reached in zip(
            placed.places + (len(rows) - 1) / 2 - place,
            private[place] / others[place],
            reported[place],
            strict=True,
        )
        if np.isfinite(y)
    ]


def _pinned_bars(
    one: PinnedIntervals, rows: Sequence[IntervalRows], placed: Rows, k: int, is_odds: bool
) -> list[tuple[float, tuple[float, float]]]:
    """Thin lines above the bars that they are compared with."""
    found = []
    for place, item in enumerate(one.rows):
        if item is None:
            continue
        y = placed.places + (len(rows) - 1) / 2 - place + 0.36 + 0.12 * k
        where = {name: float(at) for name, at in zip(rows[0].names, y, strict=True)}
        low, high = ends(item.estimate, item.ci_length, is_odds)
        for name, a, b, is_reached in zip(item.names, low, high, item.counts, strict=True):
            if is_reached and np.isfinite(where.get(name, np.nan)):
                found.append((where[name], (float(a), float(b))))
    return found


def _hover(rows: Sequence[IntervalRows], placed: Rows) -> list[tuple[float, list[str]]]:
    """The lengths of each coefficient in words."""
    items = []
    for j, name in enumerate(rows[0].names):
        if not np.isfinite(placed.places[j]):
            continue
        lines = [name]
        for item in rows:
            way = f"{item.combination.short}: " if len(rows) > 1 else ""
            if not item.counts[j]:
                lines.append(f"{way}not reportable with such a release")
                continue
            ci, vi, plain = (
                float(x[j]) for x in (item.ci_length, item.vi_length, item.nonprivate_length)
            )
            lines.append(
                f"{way}private {number(ci)}, variability {number(vi)} ({ratio(ci / vi):.2f}×), "
                f"without privacy {number(plain)}"
            )
        items.append((float(placed.places[j]), lines))
    return items
