"""The pictures of coverage, and of lengths along one control."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpci_core.base.array import Array
from dpci_core.report.cautions import COVERAGE_SLACK
from dpci_core.report.words import number
from ui.explore.intervals import LETTERS, VARIABILITY, ChartText
from ui.explore.rows import rows_of
from ui.kit.palette import QUIET
from ui.kit.picture import Axis, Panel, Picture, Point, Style
from ui.kit.ticks import written
from ui.session.choices import distinguishing_labels
from ui.session.results import NONE_REPORTED, IntervalRows, SweepCurve
from ui.views.sweep import with_neighbours

_ROOM = 1.1
"""Free space above and below lines, as a factor of a length."""
_STEPS = (1.0, 2.0, 5.0, 10.0)


def coverage_picture(
    rows: Sequence[IntervalRows], coverage: Sequence[Array], level: float, around: ChartText
) -> Picture:
    """Forecast coverage of every coefficient beside the level, (k,) for each combination."""
    placed = rows_of(rows, [""] * len(rows[0].names), is_scaled=True)
    said = distinguishing_labels([item.combination for item in rows])
    dots, styles = [], []
    for place, (item, shares) in enumerate(zip(rows, coverage, strict=True)):
        style = item.combination.style
        styles.append(Style(colour=style.colour, marker=style.marker))
        y = placed.places + 0.35 * ((len(rows) - 1) / 2 - place)
        dots += [(float(x), float(at), place) for x, at in zip(shares, y, strict=True)]
    lowest = min(float(shares.min()) for shares in coverage)
    low = 100 * min(2 * level - 1.0, lowest - 0.01)
    (panel,) = placed.panels
    return Picture(
        **vars(around),
        panels=(Panel(low=max(low, 0.0), high=100.0, rows=panel[0], title="coverage in per cent"),),
        styles=tuple(styles),
        dots=[(100 * x, y, kind) for x, y, kind in dots],
        labels=placed.labels,
        uprights=[(100 * level, f"promised {100 * level:g} %", "end")],
        key=[("dot", k, way) for k, way in enumerate(said)] if len(rows) < 5 else [],
        hover=(
            "y",
            [
                (
                    float(placed.places[j]),
                    [
                        name,
                        *(
                            f"{way}: {100 * c[j]:.1f} %"
                            for way, c in zip(said, coverage, strict=True)
                        ),
                    ],
                )
                for j, name in enumerate(rows[0].names)
            ],
        ),
        least=int(placed.height * 17 / (len(rows) + 0.8)) + 80,
    )


def curve_picture(
    curves: Sequence[SweepCurve],
    kept: Sequence[tuple[float, float]],
    around: ChartText,
    *,
    names: Sequence[str],
    x_label: str,
    y_label: str,
    is_log: bool,
    here: float,
) -> Picture:
    """Lengths of private intervals (solid; dotted where they are not to be relied on), variability
    intervals (dashed) and intervals without privacy (grey) as one control moves.

    kept: place and length of settings that are kept to compare with.
    names: of the combinations, to stand at the ends of their lines.
    """
    begin, end = float(curves[0].x.min()), float(max(c.x.max() for c in curves))
    styles: list[Style] = [Style(colour=QUIET, width=2.0)]
    lines: list[tuple[int, list[Point | None]]] = []
    areas, notes = [], []
    for curve, name in zip(curves, names, strict=True):
        style = curve.combination.style
        own = len(styles)
        styles += [
            Style(colour=style.colour, width=2.5, dash="" if style.dash == "solid" else "9 4"),
            Style(colour=style.colour, width=2.5, dash="2 4", opacity=0.8),
            Style(colour=style.colour, width=1.6, dash="5 4"),
        ]
        firm = curve.is_firm
        areas += [(own, band) for band in [_band(curve)] if band]
        lines += [
            (own, _points(curve.x, np.where(with_neighbours(firm), curve.ci_length, np.nan))),
            (own + 1, _points(curve.x, np.where(with_neighbours(~firm), curve.ci_length, np.nan))),
            (own + 2, _points(curve.x, curve.vi_length)),
        ]
        if len(at := np.flatnonzero(np.isfinite(curve.ci_length))):
            notes.append((float(curve.x[at[-1]]), float(curve.ci_length[at[-1]]), name, own))
    plain = curves[0].nonprivate_length
    if plain is not None and np.isfinite(plain).any():
        lines.append((0, _points(curves[0].x, plain)))
        last = np.flatnonzero(np.isfinite(plain))[-1]
        notes.append((float(curves[0].x[last]), float(plain[last]), "without privacy", 0))
    start = next((c.extrapolated_from for c in curves if c.extrapolated_from is not None), None)
    one = styles[1].colour if len(curves) == 1 else QUIET
    styles += [
        Style(colour=one, width=2.5),
        Style(colour=one, width=1.6, dash="5 4"),
        Style(colour=one, width=2.5, dash="2 4", opacity=0.8),
    ]
    kind = len(styles) - 3
    is_any_dotted = any((np.isfinite(c.ci_length) & ~c.is_firm).any() for c in curves)
    dotted = [("bar", kind + 2, "doubtful")] if is_any_dotted else []
    return Picture(
        **vars(around),
        remarks=_doubts(curves, is_any_dotted=is_any_dotted),
        panels=(
            Panel(low=begin, high=end, is_log=is_log, title=x_label, up=_upwards(lines, y_label)),
        ),
        styles=tuple(styles),
        lines=lines,
        areas=areas,
        dots=[(x, y, kind) for x, y in kept],
        notes=[
            *notes,
            *[(x, y, LETTERS[k], kind) for k, (x, y) in enumerate(kept)],
        ],
        key=[("bar", kind, "private"), *dotted, ("bar", kind + 1, VARIABILITY)],
        uprights=[(here, "now", "")] if begin <= here <= end else [],
        shades=[] if start is None or start >= end else [(start, end, "beyond the rows at hand")],
        hover=("x", _hover(curves, names)),
        least=360,
    )


def _doubts(curves: Sequence[SweepCurve], *, is_any_dotted: bool) -> tuple[str, ...]:
    """What dots mean, why a line may be below its yardstick, and why there may be none."""
    dotted = (
        "Dotted: the forecast is rough, or some intervals miss too often or cannot be reported."
    )
    below = (
        "Not dotted, yet below the variability: those intervals cover less than promised, by "
        f"{100 * COVERAGE_SLACK:g} point at most on average."
    )
    is_any_below = any((c.is_firm & (c.ci_length < c.vi_length)).any() for c in curves)
    is_lost = any(NONE_REPORTED in curve.grades for curve in curves)
    return (
        (dotted,) * is_any_dotted
        + (below,) * is_any_below
        + ("No line: nothing can be reported there.",) * is_lost
    )


def _points(x: Array, y: Array) -> list[Point | None]:
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return [(a, b) if np.isfinite(b) else None for a, b in pairs]


def _band(curve: SweepCurve) -> list[Point]:
    """One standard deviation of the length on both sides, never down to where a logarithm ends."""
    keep = np.isfinite(curve.ci_length)
    length, sd, x = curve.ci_length[keep], curve.ci_sd[keep], curve.x[keep]
    low, high = np.maximum(length - sd, 0.2 * length), length + sd
    around = [*zip(x, high, strict=True), *zip(x[::-1], low[::-1], strict=True)]
    return [(float(a), float(b)) for a, b in around]


def _upwards(lines: Sequence[tuple[int, Sequence[Point | None]]], title: str) -> Axis:
    """An axis with round ends, so that it stands still under small changes."""
    values = [point[1] for _, points in lines for point in points if point and point[1] > 0]
    if not values:
        return Axis(low=0.1, high=1.0, is_log=True, title=title)
    low, high = min(values) / _ROOM, max(values) * _ROOM
    low, high = _round(low, up=False), _round(high, up=True)
    return Axis(low=low, high=high, is_log=True, title=title)


def _round(value: float, *, up: bool) -> float:
    """The next of 1, 2, 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    steps = [m * power for m in _STEPS]
    return float(
        min(s for s in steps if s >= value * (1 - 1e-9))
        if up
        else max(s for s in steps if s <= value * (1 + 1e-9))
    )


def _hover(curves: Sequence[SweepCurve], names: Sequence[str]) -> list[tuple[float, list[str]]]:
    items = []
    for i, x in enumerate(curves[0].x):
        lines = [written(float(f"{x:.4g}"))]
        for curve, name in zip(curves, names, strict=True):
            if np.isfinite(curve.ci_length[i]):
                lines.append(
                    f"{name}: {number(curve.ci_length[i])} ± {number(curve.ci_sd[i], 2)}, "
                    f"variability {number(curve.vi_length[i])}"
                )
            else:
                is_lost = curve.grades[i] == NONE_REPORTED
                what = "no effect can be reported" if is_lost else "not possible"
                lines.append(f"{name}: {what} here")
        items.append((float(x), lines))
    return items
