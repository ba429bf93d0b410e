"""Charts of lengths and improvements. Pure builders."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import plotly.graph_objects as go

from ui.evidence.lengths.rows import SIDES, Compared, Groups, Heat
from ui.kit.figure import Meta, finish, log_axis
from ui.kit.palette import BLUE, GRID, HEAT, ORANGE, QUIET
from ui.session.choices import Combination, shortened

_LOOK = {
    "published": ("square-open", QUIET),
    "reviewed": ("circle", BLUE),
    "new": ("diamond", ORANGE),
}
"""Mark and colour of each of `SIDES`."""
_ROW, _GAP = 13, 6
"""Pixels of one line, and of the room between combinations."""
_LOG_FROM = 8.0
"""Lengths that differ by more than this factor go on a logarithmic axis."""


def lengths_chart(groups: Groups, *, caption: str, meta: Meta, source: str) -> go.Figure:
    """Per combination a line for each of `SIDES`: from the tick, the variability interval, to the
    mark, the private interval; beside it their quotient and the measured coverage.
    """
    fig = go.Figure()
    labels = [label for label in SIDES if any(label in rows for rows in groups.values())]
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
    fig.add_annotation(
        text="÷ variability<br>coverage",
        align="left",
        x=1,
        xref="paper",
        xanchor="left",
        xshift=2,
        y=1,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"size": 11},
    )
    height = int(_ROW * step * len(groups)) + 10
    return finish(
        fig, caption=caption, meta=meta, source=source, height=height, legend_rows=2, right=104
    )


def _calibration(
    fig: go.Figure, label: str, drawn: Sequence[tuple[float, Combination, Compared]]
) -> None:
    """Ticks, connecting lines, marks, ratios and coverages of one side."""
    symbol, colour = _LOOK[label]
    pairs = [(y, row) for y, _, row in drawn if row.vi_length > 0]
    fig.add_scatter(
        x=[x for _, row in pairs for x in (row.vi_length, row.ci_length, None)],
        y=[v for y, _ in pairs for v in (y, y, None)],
        mode="lines",
        line={"color": colour, "width": 2},
        showlegend=False,
        hoverinfo="skip",
        name=f"{SIDES[label]}: gap",
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
        name=SIDES[label],
        hovertext=[_hover(c, SIDES[label], row) for _, c, row in drawn],
        hoverinfo="text",
    )
    for y, _, row in drawn:
        ratio = f"{row.ratio:.2f}×" if row.vi_length > 0 else "–"
        fig.add_annotation(
            text=f"{ratio} · {100 * row.coverage:.1f} %",
            x=1,
            xref="paper",
            y=y,
            xanchor="left",
            xshift=6,
            yanchor="middle",
            showarrow=False,
            font={"size": 11},
        )


def _hover(combination: Combination, side: str, row: Compared) -> str:
    return (
        f"<b>{combination.plain}</b><br>{side}"
        f"<br>length {row.ci_length:.4g} ± {row.ci_length_se:.2g}"
        f"<br>variability {row.vi_length:.4g} ± {row.vi_length_se:.2g}, ratio {row.ratio:.3f}"
        f"<br>coverage {100 * row.coverage:.1f} ± {100 * row.coverage_se:.1f} %"
        f"<br>smallest coefficient {100 * row.coverage_smallest:.1f} %, prevalent "
        f"{100 * row.coverage_prevalent:.1f} %<br>shares {row.shares}"
    )


def _two_lines(combination: Combination) -> str:
    definition, mechanism, loss = combination.words
    return f"{definition} · {mechanism}<br>{loss}"


def _length_axis(fig: go.Figure, lengths: Sequence[float], is_log: bool) -> None:
    title = {
        "text": "mean length over coefficients" + (", log scale" if is_log else ""),
        "standoff": 4,
    }
    fig.update_xaxes(title=title, showgrid=True, gridcolor=GRID, zeroline=False, automargin=True)
    if is_log:
        fig.update_xaxes(log_axis(min(lengths), max(lengths), room=0.04))
    elif lengths:
        fig.update_xaxes(range=[0, 1.04 * max(lengths)])


def heat_chart(heat: Heat, *, caption: str, meta: Meta, source: str) -> go.Figure:
    """A row for each improvement, a column for each combination: the change of the mean length."""
    combinations = list(dict.fromkeys(c.combination for found in heat.values() for c in found))
    values = {name: {c.combination: 100 * c.value for c in found} for name, found in heat.items()}
    z = [[row.get(c, math.nan) for c in combinations] for row in values.values()]
    most = max(1.0, *(abs(v) for row in z for v in row if math.isfinite(v)))
    fig = go.Figure()
    fig.add_heatmap(
        z=[[v if math.isfinite(v) else None for v in row] for row in z],
        x=[shortened(c.plain).replace(" · ", "<br>") for c in combinations],
        y=[_broken(name) for name in heat],
        text=[[whole(v) for v in row] for row in z],
        texttemplate="%{text}",
        textfont={"size": 12},
        hovertemplate="%{y}<br>%{x}: %{z:+.1f} %<extra></extra>",
        colorscale=HEAT,
        zmin=-most,
        zmax=most,
        showscale=False,
        xgap=2,
        ygap=2,
    )
    fig.update_xaxes(side="top", automargin=True, showgrid=False, tickangle=0, tickfont_size=11)
    fig.update_yaxes(autorange="reversed", automargin=True, showgrid=False, tickfont_size=11)
    height = 28 * len(heat)
    made = finish(fig, caption=caption, meta=meta, source=source, height=height, legend_rows=1)
    return made.update_layout(height=height + 52, margin_b=8)  # its axis is above


def whole(percent: float) -> str:
    """A change in percent for a cell, with a proper minus; what rounds to nothing has no sign."""
    if not math.isfinite(percent):
        return "-"
    words = f"{percent:+.0f}".replace("-", "−")
    return "0" if words in ("+0", "−0") else words


def _broken(name: str) -> str:
    """Words of a heading on two lines at most."""
    return "<br>".join(textwrap.wrap(name, 20))
