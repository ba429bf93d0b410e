"""Charts of the page Sharper intervals. Pure builders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from dpci_core.studies.compare import Compared
from ui.kit.figure import Meta, finish
from ui.kit.palette import BLUE, GREEN, GRID, ORANGE, QUIET, Combination
from ui.sharp.rows import CALIBRATION_WORDS, SHOWN, Change, Groups, signed_percent

_LOOK = {
    "published": ("square-open", QUIET),
    "sharp": ("circle", BLUE),
    "best_split": ("diamond", ORANGE),
}
"""Mark and colour of a calibration."""
_ROW, _GAP = 17, 13
"""Pixels of a calibration's line, and of the room between combinations."""
_LOG_FROM = 8.0
"""Lengths that differ by more than this factor go on a logarithmic axis."""
_LARGE_ENOUGH = 2.0
"""Percent: the chart of the Huber corner spans at least this much, so that a trifle looks like
one.
"""


def lengths_chart(groups: Groups, *, caption: str, meta: Meta, source: str) -> go.Figure:
    """Per combination three lines: from the tick, the variability interval, to the mark, the
    private interval.
    """
    fig = go.Figure()
    labels = [label for label in SHOWN if any(label in rows for rows in groups.values())]
    step = len(labels) + _GAP / _ROW
    base = {c: step * (len(groups) - 1 - i) for i, c in enumerate(groups)}
    lengths: list[float] = []
    for place, label in enumerate(labels):
        drawn = [
            (base[c] + (len(labels) - 1) / 2 - place, c, row)
            for c, rows in groups.items()
            if (row := rows.get(label)) is not None and row.ci_length > 0
        ]
        _calibration(fig, label, drawn)
        lengths += [x for _, _, row in drawn for x in (row.ci_length, row.vi_length) if x > 0]
    is_log = bool(lengths) and max(lengths) > _LOG_FROM * min(lengths)
    _length_axis(fig, lengths, is_log)
    fig.update_yaxes(
        tickvals=list(base.values()),
        ticktext=[_two_lines(c) for c in groups],
        range=[-step / 2, max(base.values(), default=0.0) + step / 2],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    height = int(_ROW * step * len(groups)) + 10
    words = f"{caption}. Number at the right: length in variability intervals"
    return finish(
        fig, caption=words, meta=meta, source=source, height=height, legend_rows=3, right=58
    )


def _calibration(
    fig: go.Figure, label: str, drawn: Sequence[tuple[float, Combination, Compared]]
) -> None:
    """Ticks, connecting lines, marks and ratios of one calibration."""
    symbol, colour = _LOOK[label]
    pairs = [(y, row) for y, _, row in drawn if row.vi_length > 0]
    fig.add_scatter(
        x=[x for _, row in pairs for x in (row.vi_length, row.ci_length, None)],
        y=[v for y, _ in pairs for v in (y, y, None)],
        mode="lines",
        line={"color": colour, "width": 2},
        showlegend=False,
        hoverinfo="skip",
        name=f"{CALIBRATION_WORDS[label]}: gap",
    )
    fig.add_scatter(
        x=[row.vi_length for _, row in pairs],
        y=[y for y, _ in pairs],
        mode="markers",
        marker={"symbol": "line-ns", "size": 13, "line": {"color": colour, "width": 3}},
        name="variability interval",
        showlegend=label == "published",
        legendrank=2000,
        hoverinfo="skip",
    )
    fig.add_scatter(
        x=[row.ci_length for _, _, row in drawn],
        y=[y for y, _, _ in drawn],
        mode="markers",
        marker={
            "symbol": symbol,
            "size": 10,
            "color": colour,
            "line": {"color": colour, "width": 2},
        },
        name=CALIBRATION_WORDS[label],
        hovertext=[_hover(c, row) for _, c, row in drawn],
        hoverinfo="text",
    )
    for y, row in pairs:
        fig.add_annotation(
            text=f"{row.ratio:.2f}×",
            x=1,
            xref="paper",
            y=y,
            xanchor="left",
            xshift=6,
            yanchor="middle",
            showarrow=False,
            font={"size": 11},
        )


def _hover(combination: Combination, row: Compared) -> str:
    return (
        f"<b>{combination.plain}</b><br>{CALIBRATION_WORDS[row.calibration]}"
        f"<br>length {row.ci_length:.4g} ± {row.ci_length_se:.2g}"
        f"<br>variability {row.vi_length:.4g} ± {row.vi_length_se:.2g}, ratio {row.ratio:.3f}"
        f"<br>coverage {100 * row.coverage:.1f} ± {100 * row.coverage_se:.1f} %"
        f"<br>smallest coefficient {100 * row.coverage_smallest:.1f} %, prevalent "
        f"{100 * row.coverage_prevalent:.1f} %<br>shares {row.shares}"
    )


def _two_lines(combination: Combination) -> str:
    first, second, third = combination.plain.split(" · ")
    return f"{first} · {second}<br>{third}"


def _length_axis(fig: go.Figure, lengths: Sequence[float], is_log: bool) -> None:
    title = {
        "text": "mean length over coefficients" + (", log scale" if is_log else ""),
        "standoff": 4,
    }
    fig.update_xaxes(title=title, showgrid=True, gridcolor=GRID, zeroline=False, automargin=True)
    if is_log:
        low, high = math.log10(min(lengths)), math.log10(max(lengths))
        room = 0.04 * (high - low)
        ticks = [
            digit * 10.0**power
            for power in range(math.floor(low), math.ceil(high))
            for digit in (1, 2, 5)
        ]
        fig.update_xaxes(
            type="log",
            range=[low - room, high + room],
            tickvals=ticks,
            ticktext=[f"{tick:g}" for tick in ticks],
        )
    elif lengths:
        fig.update_xaxes(range=[0, 1.04 * max(lengths)])


def change_chart(
    found: Sequence[Change], *, span: tuple[float, float], caption: str, meta: Meta, source: str
) -> go.Figure:
    """One improvement alone: a stem from nothing to the relative change for each combination, over
    a shared span.
    """
    fig = go.Figure()
    y = list(range(len(found)))[::-1]
    fig.add_scatter(
        x=[x for c in found for x in (0.0, c.value, None)],
        y=[v for at in y for v in (at, at, None)],
        mode="lines",
        line={"color": QUIET, "width": 2},
        hoverinfo="skip",
        showlegend=False,
        name="stem",
    )
    fig.add_scatter(
        x=[c.value for c in found],
        y=y,
        mode="markers+text",
        text=[signed_percent(c.value) for c in found],
        textposition="middle left",
        textfont={"size": 11},
        cliponaxis=False,
        marker={
            "color": [c.combination.style.colour for c in found],
            "symbol": [c.combination.style.marker for c in found],
            "size": 9,
        },
        hovertext=[
            f"<b>{c.combination.plain}</b><br>{signed_percent(c.value)} ± {100 * c.se:.1f} points"
            for c in found
        ],
        hoverinfo="text",
        showlegend=False,
        name="change of mean length",
    )
    fig.add_vline(x=0, line={"color": QUIET, "width": 1.5})
    low, high = span
    room = 0.24 * (high - low)
    fig.update_xaxes(
        title={"text": "change of mean length", "standoff": 4},
        range=[low - room, high + 0.25 * room],
        tickformat=".0%",
        nticks=5,
        showgrid=True,
        gridcolor=GRID,
        zeroline=False,
        automargin=True,
    )
    fig.update_yaxes(
        tickvals=y,
        ticktext=[c.combination.plain_short for c in found],
        range=[-0.7, len(found) - 0.3],
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    return finish(
        fig, caption=caption, meta=meta, source=source, height=22 * len(found) + 20, legend_rows=0
    )


def span_of(parts: Sequence[Sequence[Change]]) -> tuple[float, float]:
    """From the largest saving to the largest loss, or nothing, over all the improvements drawn
    beside each other.
    """
    values = [c.value for part in parts for c in part if math.isfinite(c.value)]
    return min([-0.01, *values]), max([0.0, *values])


_DASHES = ("solid", "dash", "dot")
_SMOOTHING_MARKS = (("circle", BLUE), ("square", ORANGE), ("diamond", GREEN))


def smoothing_chart(
    h: Sequence[float],
    changes: Mapping[float, Sequence[float]],
    *,
    caption: str,
    meta: Meta,
    source: str,
) -> go.Figure:
    """Relative change of the forecast mean length by the Huber corner along h, a line for each
    penalty c.
    """
    fig = go.Figure()
    for (c, values), dash, (symbol, colour) in zip(
        changes.items(), _DASHES, _SMOOTHING_MARKS, strict=False
    ):
        fig.add_scatter(
            x=list(h),
            y=list(values),
            mode="lines+markers",
            line={"color": colour, "width": 2, "dash": dash},
            marker={"symbol": symbol, "size": 9, "color": colour},
            name=f"c = {c:g}",
            hovertemplate="h = %{x:g}: %{y:.2%}<extra></extra>",
        )
    lowest = min([0.0, *(float(np.min(values)) for values in changes.values())])
    fig.update_xaxes(
        title={"text": "Huber width h", "standoff": 4},
        gridcolor=GRID,
        zeroline=False,
        automargin=True,
    )
    fig.update_yaxes(
        title={"text": "change of mean length"},
        range=[min(-_LARGE_ENOUGH / 100, 1.2 * lowest), _LARGE_ENOUGH / 400],
        tickformat=".1%",
        gridcolor=GRID,
        zeroline=True,
        zerolinecolor=QUIET,
        automargin=True,
    )
    return finish(fig, caption=caption, meta=meta, source=source, height=196, legend_rows=1)
