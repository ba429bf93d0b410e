"""Pure figure builders: numbers in, figures, sentences and tables out. No Streamlit, no maths of
the method.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.report.words import called, number, percent
from ui.kit.figure import Figure, Meta, Part, finished_layout, literal, short_name, upright
from ui.kit.palette import GRID, PAPER, QUIET, Combination
from ui.session.results import IntervalRows

CoverageRow = tuple[Combination, tuple[str, ...], Array]


# --- chart 1: intervals ---------------------------------------------------------------------------


def _span(rows: IntervalRows, length: Array, odds: bool) -> tuple[Array, Array]:
    low, high = rows.estimate - length / 2, rows.estimate + length / 2
    return (np.exp(np.clip(low, -50, 50)), np.exp(np.clip(high, -50, 50))) if odds else (low, high)


def _legend(combination: Combination, many: int, word: str) -> str:
    """ "private interval" alone where there is only one combination, with its name in front
    otherwise.
    """
    if word == "non-private" or many == 1:
        return f"{word} interval"
    return f"{combination.label if many == 2 else combination.short}: {word}"


def _segments(low: Array, high: Array, y: Array) -> tuple[list[float | None], list[float | None]]:
    """Line segments with gaps between them, as one trace."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for a, b, at in zip(low, high, y, strict=True):
        xs += [float(a), float(b), None]
        ys += [float(at), float(at), None]
    return xs, ys


def interval_chart(
    rows: Sequence[IntervalRows],
    *,
    caption: str,
    meta: Meta,
    source: str,
    odds: bool = False,
    covers: str = "coefficient",
) -> Figure:
    """Per coefficient: private, variability and non-private interval aligned on one axis, the ratio
    printed; grey where it is out of reach.

    covers: what the intervals are for.
    """
    k, many = len(rows[0].names), len(rows)
    base = np.arange(k, dtype=np.float64)[::-1] * (many + 0.8)
    traces: list[Part] = []
    ratios: list[Part] = []
    for place, item in enumerate(rows):
        y = base + (many - 1) / 2 - place
        traces += [
            *_bars(item, y, many, odds, is_first=place == 0),
            _ends(item, y, odds),
            _estimates(item, y, odds),
        ]
        ratios += _ratios(item, y)
    across = {
        "title": {"text": axis_title(covers, is_odds=odds), "standoff": 4},
        "gridcolor": GRID,
    }
    height = max(220, int(k * (16 * many + 13)))
    layout = finished_layout(
        caption=caption,
        meta=meta,
        source=source,
        height=height,
        legend_rows=many + 1,
        notes=ratios,
        right=58,
    )
    layout["xaxis"] = (
        across | {"zeroline": False, "automargin": True} | ({"type": "log"} if odds else {})
    )
    layout["yaxis"] = {
        "tickvals": base.tolist(),
        "ticktext": [_row_label(rows, j) for j in range(k)],
        "range": [-(many + 0.8) / 2, float(base[0]) + (many + 0.8) / 2],
        "automargin": True,
        "showgrid": False,
        "zeroline": False,
    }
    layout["shapes"] = [upright(1 if odds else 0, width=1, dash="dot")]
    return {"data": traces, "layout": layout}


def axis_title(covers: str, *, is_odds: bool) -> str:
    """Of the coefficients."""
    return f"odds ratio, {covers}" if is_odds else covers


def _row_label(rows: Sequence[IntervalRows], j: int) -> str:
    """The name of a coefficient, and below it what the penalty leaves, or that it is out of
    reach.
    """
    name, item = short_name(called(rows[0].names[j])), rows[0]
    if not any(row.counts[j] for row in rows):
        note = OUT_OF_REACH
    elif item.left is None or not np.isfinite(item.left[j]):
        return name
    else:
        note = shrunk(float(item.left[j]))
    return f'{name}<br><span style="font-size:10px">{note}</span>'


OUT_OF_REACH = "out of reach"


def shrunk(share: float) -> str:
    """What a penalty leaves of a coefficient."""
    if share < 0.0:
        return "shrunk past zero"
    return f"shrunk to {percent(share)}" if share <= 1.0 else f"grown to {percent(share)}"


def _bars(item: IntervalRows, y: Array, many: int, odds: bool, *, is_first: bool) -> list[Part]:
    """The three intervals of every coefficient, one trace for each kind."""
    style = item.combination.style
    parts = (
        ("private", item.ci_length, style.colour, 11, style.opacity),
        ("variability", item.vi_length, style.colour, 5, 1.0),
        ("non-private", item.nonprivate_length, QUIET, 2, 1.0),
    )
    traces: list[Part] = []
    for word, length, colour, width, opacity in parts:
        low, high = _span(item, length, odds)
        # The non-private line runs just below the bars: on them it could not be seen.
        at = y - 0.4 if word == "non-private" else y
        for counts, shade in ((item.counts, colour), (~item.counts, GRID)):
            if not counts.any():
                continue
            xs, ys = _segments(low[counts], high[counts], at[counts])
            traces.append(
                {
                    "type": "scatter",
                    "x": xs,
                    "y": ys,
                    "mode": "lines",
                    "line": {"color": shade, "width": width},
                    "opacity": opacity,
                    "name": _legend(item.combination, many, word),
                    "legendgroup": item.combination.key if word != "non-private" else "non-private",
                    "showlegend": (word != "non-private" or is_first)
                    and (shade == colour or not item.counts.any()),
                    "hoverinfo": "skip",
                }
            )
    return traces


def _ends(item: IntervalRows, y: Array, odds: bool) -> Part:
    """Both ends of the private intervals at full strength: the bar itself is too pale to be found
    by everybody.
    """
    low, high = _span(item, item.ci_length, odds)
    return {
        "type": "scatter",
        "x": [*low.tolist(), *high.tolist()],
        "y": [*y.tolist(), *y.tolist()],
        "mode": "markers",
        "marker": {
            "symbol": "line-ns-open",
            "size": 11,
            "color": _shades(item, 2),
            "line": {"width": 1.5},
        },
        "name": f"{item.combination.label}: ends",
        "legendgroup": item.combination.key,
        "showlegend": False,
        "hoverinfo": "skip",
    }


def _estimates(item: IntervalRows, y: Array, odds: bool) -> Part:
    """The estimates as markers, with hover text for all three lengths."""
    style = item.combination.style
    ratio = item.ci_length / item.vi_length
    lengths = zip(
        item.ci_length, item.vi_length, item.nonprivate_length, ratio, item.counts, strict=True
    )
    hover = [
        f"<b>{literal(called(n))}</b><br>{item.combination.label}<br>"
        + (
            f"private length {number(c)}<br>variability length {number(v)}"
            f"<br>non-private length {number(p)}<br>ratio {r:.2f}×"
            if is_reached
            else "out of reach: such a release<br>cannot speak about it"
        )
        for n, (c, v, p, r, is_reached) in zip(item.names, lengths, strict=True)
    ]
    centre = np.exp(np.clip(item.estimate, -50, 50)) if odds else item.estimate
    return {
        "type": "scatter",
        "x": centre.tolist(),
        "y": y.tolist(),
        "mode": "markers",
        "marker": {
            "color": _shades(item),
            "symbol": style.marker,
            "size": 9,
            "line": _outline(style.marker),
        },
        "name": item.combination.label,
        "legendgroup": item.combination.key,
        "showlegend": False,
        "hovertext": hover,
        "hoverinfo": "text",
    }


def _ratios(item: IntervalRows, y: Array) -> list[Part]:
    """Private to variability length, at the right end of each row."""
    beside: Part = {
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 6,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 11},
    }
    ratio = item.ci_length / item.vi_length
    return [
        beside | {"text": f"{r:.2f}×" if is_reached else "–", "y": float(at)}
        for at, r, is_reached in zip(y, ratio, item.counts, strict=True)
    ]


def _shades(item: IntervalRows, times: int = 1) -> str | list[str]:
    """Colour of the marks, so many for each coefficient; grey where one is out of reach."""
    colour = item.combination.style.colour
    return colour if item.counts.all() else [colour if c else QUIET for c in item.counts] * times


def _outline(marker: str) -> dict[str, object]:
    """White around a filled marker; an open one is drawn by its own line."""
    return {"width": 2} if "-open" in marker else {"color": PAPER, "width": 1}


def interval_sentence(rows: Sequence[IntervalRows]) -> str:
    """The takeaway of chart 1."""
    return "; ".join(map(_said, rows)) + "."


def _said(item: IntervalRows) -> str:
    """One combination; coefficients out of reach are named and counted nowhere."""
    counts, label = item.counts, item.combination.label
    lost = [
        called(name) for name, is_reached in zip(item.names, counts, strict=True) if not is_reached
    ]
    named = f"; out of reach: {', '.join(lost)}" if lost else ""
    if not counts.any():
        return f"{label}: every coefficient is out of reach"
    ci, vi, plain = (
        float(lengths[counts].mean())
        for lengths in (item.ci_length, item.vi_length, item.nonprivate_length)
    )
    clear = int((np.abs(item.estimate) > item.ci_length / 2)[counts].sum())
    return (
        f"{label}: the private intervals are on average {number(ci)} long, {ci / vi:.2f} times the "
        f"spread of the private estimates and {ci / plain:.1f} times as long as without privacy "
        f"({clear} of {int(counts.sum())} exclude zero){named}"
    )


def interval_table(rows: Sequence[IntervalRows]) -> pd.DataFrame:
    """Chart 1 as numbers."""
    frames = [
        pd.DataFrame(
            {
                "combination": item.combination.label,
                "coefficient": [called(name) for name in item.names],
                "estimate": item.estimate,
                "private low": item.estimate - item.ci_length / 2,
                "private high": item.estimate + item.ci_length / 2,
                "private length": item.ci_length,
                "variability length": item.vi_length,
                "non-private length": item.nonprivate_length,
                "private / variability": item.ci_length / item.vi_length,
            }
            | ({} if item.left is None else {"share without penalty": item.left})
            | ({} if item.counts.all() else {OUT_OF_REACH: ~item.counts})
        )
        for item in rows
    ]
    return pd.concat(frames, ignore_index=True)


# --- chart 3: coverage ----------------------------------------------------------------------------


def coverage_chart(
    rows: Sequence[CoverageRow], *, level: float, caption: str, meta: Meta, source: str
) -> Figure:
    """Forecast coverage per coefficient against the nominal level."""
    names = rows[0][1]
    base = np.arange(len(names), dtype=np.float64)[::-1]
    traces: list[Part] = []
    for place, (combination, _, coverage) in enumerate(rows):
        style = combination.style
        hover = [
            f"<b>{literal(called(n))}</b><br>{combination.label}<br>{100 * v:.1f} %"
            for n, v in zip(names, coverage, strict=True)
        ]
        traces.append(
            {
                "type": "scatter",
                "x": coverage.tolist(),
                "y": (base + 0.12 * ((len(rows) - 1) / 2 - place)).tolist(),
                "mode": "markers",
                "marker": {"color": style.colour, "symbol": style.marker, "size": 9},
                "name": combination.short,
                "hovertext": hover,
                "hoverinfo": "text",
            }
        )
    layout = finished_layout(
        caption=caption,
        meta=meta,
        source=source,
        height=max(200, 20 * len(names)),
        legend_rows=(len(rows) + 1) // 2,
        notes=[_PROMISE | {"text": f"promised {100 * level:g} %", "x": level}],
    )
    layout["xaxis"] = {
        "title": {"text": "coverage (forecast)", "standoff": 4},
        "range": [min(level - 0.05, *(float(c.min()) - 0.005 for _, _, c in rows)), 1.003],
        "tickformat": ".0%",
        "gridcolor": GRID,
        "automargin": True,
    }
    layout["yaxis"] = {
        "tickvals": base.tolist(),
        "ticktext": [short_name(n) for n in names],
        "gridcolor": GRID,
        "zeroline": False,
        "automargin": True,
    }
    layout["shapes"] = [upright(level, width=2, dash="dash")]
    return {"data": traces, "layout": layout}


_PROMISE: Part = {
    "showarrow": False,
    "xref": "x",
    "xanchor": "right",
    "y": 1,
    "yref": "y domain",
    "yanchor": "top",
}


def coverage_sentence(rows: Sequence[CoverageRow], *, level: float) -> str:
    """The takeaway of chart 3."""
    parts = []
    for combination, names, coverage in rows:
        worst = int(np.argmin(coverage))
        parts.append(
            f"{combination.label}: on average {100 * coverage.mean():.1f} %, lowest "
            f"{100 * coverage[worst]:.1f} % ({names[worst]})"
        )
    return f"Expected coverage against the promised {100 * level:g} %. " + "; ".join(parts) + "."


def coverage_table(rows: Sequence[CoverageRow]) -> pd.DataFrame:
    """Chart 3 as numbers."""
    frames = [
        pd.DataFrame(
            {"combination": c.label, "coefficient": list(names), "forecast coverage": coverage}
        )
        for c, names, coverage in rows
    ]
    return pd.concat(frames, ignore_index=True)
