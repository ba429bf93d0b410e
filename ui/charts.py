"""Pure figure builders: numbers in, Plotly figures, sentences and tables out. No Streamlit, no maths of the method."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from ui.palette import ALL_COMBINATIONS, CLEAR, GRID, PAPER, QUIET, SOURCE_MARKS, Combination

__all__ = ["ALL_COMBINATIONS", "Combination", "IntervalRows", "SweepCurve"]

Array = npt.NDArray[np.float64]
Meta = dict[str, object]
CoverageRow = tuple[Combination, tuple[str, ...], Array]

_CAPTION_WIDTH = 56
"""Letters in a line under a chart: what a narrow screen shows."""


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Chart 1 for one combination: estimate and three lengths per coefficient, arrays (k,)."""

    combination: Combination
    names: tuple[str, ...]
    estimate: Array
    ci_length: Array
    vi_length: Array
    nonprivate_length: Array


@dataclass(frozen=True, eq=False)
class SweepCurve:
    """Chart 2 for one combination, arrays (m,); NaN where a point is not feasible."""

    combination: Combination
    x: Array
    ci_length: Array
    ci_sd: Array
    vi_length: Array
    grades: tuple[str, ...]
    extrapolated_from: float | None = None


def plot_config(name: str, picture: str = "svg") -> dict[str, object]:
    """Modebar whose camera button saves the chart as "svg" or "png", in the browser."""
    return {
        "displaylogo": False,
        "responsive": True,
        "scrollZoom": False,
        "toImageButtonOptions": {"format": picture, "scale": 2 if picture == "png" else 1, "filename": f"dpci_{name}"},
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
    }


def dress(fig: go.Figure, *, meta: Meta, height: int, top: int, bottom: int) -> go.Figure:
    """Transparent, its legend on top; `height` is that of the plot between the margins."""
    return fig.update_layout(
        meta=meta,
        height=height + bottom + top,
        margin={"l": 8, "r": 8, "t": top, "b": bottom},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "yref": "paper", "font": {"size": 12}},
        hoverlabel={"namelength": -1},
        barmode="overlay",
    )


def finish(
    fig: go.Figure,
    *,
    caption: str,
    meta: Meta,
    source: str,
    height: int,
    legend_rows: int,
    notes: Sequence[dict[str, object]] = (),
) -> go.Figure:
    """Common dress: badge of the source, assumptions under the plot, legend on top, room for all of it.

    notes: annotations of the chart's own. They are set together, because adding one to a figure copies all others.
    """
    badge, colour = SOURCE_MARKS[source]
    lines = [literal(line) for line in textwrap.wrap(caption, _CAPTION_WIDTH)]
    dress(fig, meta=meta, height=height, top=24 + 20 * legend_rows, bottom=84 + 15 * len(lines))
    below: dict[str, object] = {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "top",
        "showarrow": False,
    }
    words = {"text": "<br>".join(lines), "yshift": -74, "align": "left", "font": {"size": 10}, "opacity": 0.85}
    mark = {"text": f"<b>{badge}</b>", "yshift": -46, "font": {"size": 11}, "bordercolor": colour}
    frame = {"borderwidth": 2, "borderpad": 3}
    fig.layout.annotations = [*fig.layout.annotations, *notes, below | words, below | mark | frame]
    return fig


# --- chart 1: intervals ------------------------------------------------------------------------------------------


def _span(rows: IntervalRows, length: Array, odds: bool) -> tuple[Array, Array]:
    low, high = rows.estimate - length / 2, rows.estimate + length / 2
    return (np.exp(np.clip(low, -50, 50)), np.exp(np.clip(high, -50, 50))) if odds else (low, high)


def _legend(combination: Combination, many: int, word: str) -> str:
    """ "private interval" alone where there is only one combination, with its name in front otherwise."""
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
    rows: Sequence[IntervalRows], *, caption: str, meta: Meta, source: str, odds: bool = False
) -> go.Figure:
    """Per coefficient: private, variability and non-private interval aligned on one axis, the ratio printed."""
    fig = go.Figure()
    k, many = len(rows[0].names), len(rows)
    base = np.arange(k, dtype=np.float64)[::-1] * (many + 0.8)
    ratios: list[dict[str, object]] = []
    for place, item in enumerate(rows):
        y = base + (many - 1) / 2 - place
        style = item.combination.style
        parts = (
            ("private", item.ci_length, style.colour, 11, style.opacity),
            ("variability", item.vi_length, style.colour, 5, 1.0),
            ("non-private", item.nonprivate_length, QUIET, 2, 1.0),
        )
        for word, length, colour, width, opacity in parts:
            low, high = _span(item, length, odds)
            # The non-private line runs just below the bars: on them it could not be seen.
            xs, ys = _segments(low, high, y - 0.4 if word == "non-private" else y)
            fig.add_scatter(
                x=xs,
                y=ys,
                mode="lines",
                line={"color": colour, "width": width},
                opacity=opacity,
                name=_legend(item.combination, many, word),
                legendgroup=item.combination.key if word != "non-private" else "non-private",
                showlegend=word != "non-private" or place == 0,
                hoverinfo="skip",
            )
        _ends(fig, item, y, odds)
        ratios += _estimates(fig, item, y, odds)
    if not odds:
        fig.add_vline(x=0, line={"color": QUIET, "width": 1, "dash": "dot"})
    else:
        fig.add_vline(x=1, line={"color": QUIET, "width": 1, "dash": "dot"})
        fig.update_xaxes(type="log")
    fig.update_yaxes(
        tickvals=base.tolist(),
        ticktext=[short_name(n) for n in rows[0].names],
        range=[-(many + 0.8) / 2, float(base[0]) + (many + 0.8) / 2],
        automargin=True,
        showgrid=False,
        zeroline=False,
    )
    title = "odds ratio per unit" if odds else "coefficient"
    fig.update_xaxes(title={"text": title, "standoff": 4}, gridcolor=GRID, zeroline=False, automargin=True)
    height = max(220, int(k * (16 * many + 13)))
    fig = finish(fig, caption=caption, meta=meta, source=source, height=height, legend_rows=many + 1, notes=ratios)
    return fig.update_layout(margin_r=58)


def _ends(fig: go.Figure, item: IntervalRows, y: Array, odds: bool) -> None:
    """Both ends of the private intervals at full strength: the bar itself is too pale to be found by everybody."""
    low, high = _span(item, item.ci_length, odds)
    style = item.combination.style
    fig.add_scatter(
        x=[*low.tolist(), *high.tolist()],
        y=[*y.tolist(), *y.tolist()],
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 11, "color": style.colour, "line": {"width": 1.5}},
        name=f"{item.combination.label}: ends",
        legendgroup=item.combination.key,
        showlegend=False,
        hoverinfo="skip",
    )


def _estimates(fig: go.Figure, item: IntervalRows, y: Array, odds: bool) -> list[dict[str, object]]:
    """Draw the estimates as markers with hover text for all three lengths; give the ratios for the right end."""
    style = item.combination.style
    ratio = item.ci_length / item.vi_length
    hover = [
        f"<b>{literal(n)}</b><br>{item.combination.label}<br>private length {c:.3g}<br>variability length {v:.3g}"
        f"<br>non-private length {p:.3g}<br>ratio {r:.2f}×"
        for n, c, v, p, r in zip(item.names, item.ci_length, item.vi_length, item.nonprivate_length, ratio, strict=True)
    ]
    centre = np.exp(np.clip(item.estimate, -50, 50)) if odds else item.estimate
    fig.add_scatter(
        x=centre.tolist(),
        y=y.tolist(),
        mode="markers",
        marker={"color": style.colour, "symbol": style.marker, "size": 9, "line": _outline(style.marker)},
        name=item.combination.label,
        legendgroup=item.combination.key,
        showlegend=False,
        hovertext=hover,
        hoverinfo="text",
    )
    beside: dict[str, object] = {
        "x": 1,
        "xref": "paper",
        "xanchor": "left",
        "xshift": 6,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 11},
    }
    return [beside | {"text": f"{r:.2f}×", "y": float(at)} for at, r in zip(y, ratio, strict=True)]


def _outline(marker: str) -> dict[str, object]:
    """White around a filled marker; an open one is drawn by its own line."""
    return {"width": 2} if "-open" in marker else {"color": PAPER, "width": 1}


def literal(name: str) -> str:
    """A typed text as a figure shows it letter by letter: Plotly reads tags and entities in any text."""
    return html.escape(name, quote=False)  # of the entities for quotes it knows none, and would show them


def short_name(name: str, width: int = 22) -> str:
    """The beginning of a name, for the ends of an axis."""
    return literal(name if len(name) <= width else name[: width - 1] + "…")


def interval_sentence(rows: Sequence[IntervalRows]) -> str:
    """The takeaway of chart 1."""
    parts = [
        f"{item.combination.label}: the private intervals are on average {item.ci_length.mean():.3g} long, "
        f"{item.ci_length.mean() / item.vi_length.mean():.2f} times the spread of the private estimates and "
        f"{item.ci_length.mean() / item.nonprivate_length.mean():.1f} times as long as without privacy"
        for item in rows
    ]
    clear = [
        f"{int((np.abs(item.estimate) > item.ci_length / 2).sum())} of {len(item.names)} exclude zero" for item in rows
    ]
    return "; ".join(f"{a} ({b})" for a, b in zip(parts, clear, strict=True)) + "."


def interval_table(rows: Sequence[IntervalRows]) -> pd.DataFrame:
    """Chart 1 as numbers."""
    frames = [
        pd.DataFrame(
            {
                "combination": item.combination.label,
                "coefficient": list(item.names),
                "estimate": item.estimate,
                "private low": item.estimate - item.ci_length / 2,
                "private high": item.estimate + item.ci_length / 2,
                "private length": item.ci_length,
                "variability length": item.vi_length,
                "non-private length": item.nonprivate_length,
                "private / variability": item.ci_length / item.vi_length,
            }
        )
        for item in rows
    ]
    return pd.concat(frames, ignore_index=True)


# --- chart 2: sweeps ---------------------------------------------------------------------------------------------


def sweep_chart(
    curves: Sequence[SweepCurve],
    *,
    x_label: str,
    x_log: bool,
    current: float | None,
    caption: str,
    meta: Meta,
    y_label: str,
    source: str,
) -> go.Figure:
    """Interval length (solid, band of one standard deviation) and variability length (dashed) along a control."""
    fig = go.Figure()
    for curve in curves:
        _sweep_traces(fig, curve)
    start = next((c.extrapolated_from for c in curves if c.extrapolated_from is not None), None)
    end = float(max(c.x.max() for c in curves))
    if start is not None and start < end:
        _shade(fig, start, end)
    if current is not None:
        fig.add_vline(x=current, line={"color": QUIET, "width": 1.5, "dash": "dot"})
        at = float(np.log10(current)) if x_log else current
        fig.add_annotation(text="you are here", x=at, y=1, yref="paper", xanchor="left", showarrow=False, xshift=3)
    fig.update_xaxes(
        title={"text": x_label, "standoff": 4}, type="log" if x_log else "linear", gridcolor=GRID, automargin=True
    )
    fig.update_yaxes(title={"text": y_label}, type="log", gridcolor=GRID, automargin=True)
    if x_log:
        fig.update_xaxes(dtick=1 if np.log10(end / float(curves[0].x.min())) > 2 else "D1")
    return finish(fig, caption=caption, meta=meta, source=source, height=360, legend_rows=len(curves))


def _sweep_traces(fig: go.Figure, curve: SweepCurve) -> None:
    style, name = curve.combination.style, curve.combination.short
    group = {"legendgroup": curve.combination.key}
    x = curve.x.tolist()
    finite = np.isfinite(curve.ci_length)
    upper = (curve.ci_length + curve.ci_sd)[finite].tolist()
    lower = np.maximum(curve.ci_length - curve.ci_sd, 0.2 * curve.ci_length)[finite].tolist()
    inside = curve.x[finite].tolist()
    fig.add_scatter(
        x=inside + inside[::-1],
        y=upper + lower[::-1],
        fill="toself",
        fillcolor=style.colour,
        opacity=0.18,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        name=f"{name}: one sd",
        **group,
    )
    firm = np.array([g == "valid" for g in curve.grades])
    for word, keep, dash in (("interval", firm, style.dash), ("interval, rough forecast", ~firm, "dot")):
        y = np.where(_with_neighbours(keep) & finite, curve.ci_length, np.nan)
        if np.isfinite(y).any():
            fig.add_scatter(
                x=x,
                y=_gaps(y),
                mode="lines+markers",
                line={"color": style.colour, "width": 2.5, "dash": dash},
                marker={"symbol": style.marker, "size": 6},
                opacity=0.6 if dash == "dot" else 1.0,
                name=f"{name}: {word}",
                **group,
            )
    fig.add_scatter(
        x=x,
        y=_gaps(curve.vi_length),
        mode="lines",
        line={"color": style.colour, "width": 1.8, "dash": "dash"},
        name=f"{name}: variability",
        **group,
    )


def _with_neighbours(keep: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """A point and the one after it, so that pieces of a line meet."""
    return np.asarray(keep | np.r_[False, keep[:-1]])


def _gaps(values: Array) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


def _shade(fig: go.Figure, start: float, end: float) -> None:
    fig.add_vrect(
        x0=start,
        x1=end,
        fillcolor=QUIET,
        opacity=0.12,
        line_width=0,
        annotation_text="extrapolated",
        annotation_position="bottom right",
        annotation_font_size=11,
    )


def sweep_sentence(curves: Sequence[SweepCurve], *, x_label: str, current: float | None) -> str:
    """The takeaway of chart 2."""
    parts = []
    for curve in curves:
        finite = np.flatnonzero(np.isfinite(curve.ci_length))
        if not len(finite):
            parts.append(f"{curve.combination.label}: no feasible point")
            continue
        a, b = finite[0], finite[-1]
        best = finite[np.argmin(curve.ci_length[finite])]
        parts.append(
            f"{curve.combination.label}: from {curve.ci_length[a]:.3g} at {curve.x[a]:.4g} to {curve.ci_length[b]:.3g} "
            f"at {curve.x[b]:.4g}, shortest at {curve.x[best]:.4g} ({curve.ci_length[best]:.3g})"
        )
    here = f" The present setting is {current:.4g}." if current is not None else ""
    return f"Interval length as “{x_label}” moves. " + "; ".join(parts) + "." + here


def sweep_table(curves: Sequence[SweepCurve], *, x_label: str) -> pd.DataFrame:
    """Chart 2 as numbers."""
    frames = [
        pd.DataFrame(
            {
                "combination": c.combination.label,
                x_label: c.x,
                "interval length": c.ci_length,
                "standard deviation": c.ci_sd,
                "variability length": c.vi_length,
                "forecast": list(c.grades),
            }
        )
        for c in curves
    ]
    return pd.concat(frames, ignore_index=True)


# --- chart 3: coverage -------------------------------------------------------------------------------------------


def coverage_chart(rows: Sequence[CoverageRow], *, level: float, caption: str, meta: Meta, source: str) -> go.Figure:
    """Forecast coverage per coefficient against the nominal level."""
    fig = go.Figure()
    names = rows[0][1]
    base = np.arange(len(names), dtype=np.float64)[::-1]
    for place, (combination, _, coverage) in enumerate(rows):
        style = combination.style
        y = base + 0.12 * ((len(rows) - 1) / 2 - place)
        fig.add_scatter(
            x=coverage.tolist(),
            y=y.tolist(),
            mode="markers",
            marker={"color": style.colour, "symbol": style.marker, "size": 9},
            name=combination.short,
            hovertext=[
                f"<b>{literal(n)}</b><br>{combination.label}<br>{100 * v:.1f} %"
                for n, v in zip(names, coverage, strict=True)
            ],
            hoverinfo="text",
        )
    low = min(level - 0.05, *(float(c.min()) - 0.005 for _, _, c in rows))
    fig.add_vline(
        x=level,
        line={"color": QUIET, "width": 2, "dash": "dash"},
        annotation_text=f"promised {100 * level:g} %",
        annotation_position="top left",
    )
    fig.update_xaxes(
        title={"text": "share of intervals that contain the coefficient (forecast)", "standoff": 4},
        range=[low, 1.003],
        tickformat=".0%",
        gridcolor=GRID,
        automargin=True,
    )
    fig.update_yaxes(
        tickvals=base.tolist(), ticktext=[short_name(n) for n in names], gridcolor=GRID, zeroline=False, automargin=True
    )
    height = max(200, 20 * len(names))
    return finish(fig, caption=caption, meta=meta, source=source, height=height, legend_rows=(len(rows) + 1) // 2)


def coverage_sentence(rows: Sequence[CoverageRow], *, level: float) -> str:
    """The takeaway of chart 3."""
    parts = []
    for combination, names, coverage in rows:
        worst = int(np.argmin(coverage))
        parts.append(
            f"{combination.label}: on average {100 * coverage.mean():.1f} %, lowest {100 * coverage[worst]:.1f} % "
            f"({names[worst]})"
        )
    return f"Expected coverage against the promised {100 * level:g} %. " + "; ".join(parts) + "."


def coverage_table(rows: Sequence[CoverageRow]) -> pd.DataFrame:
    """Chart 3 as numbers."""
    frames = [
        pd.DataFrame({"combination": c.label, "coefficient": list(names), "forecast coverage": coverage})
        for c, names, coverage in rows
    ]
    return pd.concat(frames, ignore_index=True)
