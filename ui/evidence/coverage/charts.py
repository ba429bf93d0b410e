"""Charts that set a simulation beside the forecast: full marks with error bars against open ones.
Pure builders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpci_core.base.array import Array
from dpci_core.report.words import called, number
from ui.kit.figure import Figure, Meta, finish, short_name
from ui.kit.palette import GRID, QUIET
from ui.session.choices import Combination, distinguishing_labels


@dataclass(frozen=True, eq=False)
class Comparison:
    """One combination, forecast and simulated; arrays (p,), errors are Monte Carlo standard
    errors.
    """

    combination: Combination
    names: tuple[str, ...]
    forecast_coverage: Array
    coverage: Array
    coverage_se: Array
    forecast_ci: Array
    ci: Array
    ci_sd: Array
    forecast_vi: Array
    vi: Array
    vi_se: Array
    coverage_mean_se: float
    n_failed: int


def coverage_comparison(
    rows: Sequence[Comparison], *, level: float, caption: str, meta: Meta, source: str
) -> go.Figure:
    """Coverage per coefficient: simulated with two standard errors, forecast as a tick."""
    fig = go.Figure()
    names = rows[0].names
    step = len(rows) + 0.8
    base = np.arange(len(names), dtype=np.float64)[::-1] * step
    for place, (row, way) in enumerate(zip(rows, _ways(rows), strict=True)):
        style, y = row.combination.style, base + (len(rows) - 1) / 2 - place
        fig.add_scatter(
            x=row.coverage.tolist(),
            y=y.tolist(),
            mode="markers",
            marker={"color": style.colour, "symbol": style.marker, "size": 9},
            error_x={
                "type": "data",
                "array": (2 * row.coverage_se).tolist(),
                "color": style.colour,
                "thickness": 1.5,
            },
            name=f"{way}: simulated ± 2 s.e.",
            legendgroup=row.combination.key,
        )
        fig.add_scatter(
            x=row.forecast_coverage.tolist(),
            y=y.tolist(),
            mode="markers",
            marker={
                "color": style.colour,
                "symbol": "line-ns-open",
                "size": 14,
                "line": {"width": 2},
            },
            name=f"{way}: forecast",
            legendgroup=row.combination.key,
        )
    fig.add_vline(
        x=level,
        line={"color": QUIET, "width": 2, "dash": "dash"},
        annotation_text=f"promised {100 * level:g} %",
    )
    low = min(
        level - 0.05,
        *(
            float(np.nanmin(np.r_[r.coverage - 2 * r.coverage_se, r.forecast_coverage]))
            for r in rows
        ),
    )
    fig.update_xaxes(
        title={"text": "coverage (simulated)", "standoff": 4},
        range=[low - 0.005, 1.01],
        tickformat=".0%",
        gridcolor=GRID,
        zeroline=False,
        automargin=True,
    )
    fig.update_yaxes(
        tickvals=base.tolist(),
        ticktext=[short_name(called(n)) for n in names],
        range=[-step / 2, base[0] + step / 2 + 1.0],  # the promise is named above the marks
        showgrid=False,
        zeroline=False,
        automargin=True,
    )
    height = max(220, int(len(names) * (14 * len(rows) + 13)) + 14)
    return finish(
        fig, caption=caption, meta=meta, source=source, height=height, legend_rows=len(rows) + 1
    )


def add_points(figure: Figure, rows: Sequence[Comparison], *, x: float, first_only: bool) -> Figure:
    """The curves of a sweep under simulated lengths: intervals ± one standard deviation,
    variability intervals.
    """
    traces = list(figure["data"])
    for row in rows:
        style = row.combination.style
        shown = slice(0, 1) if first_only else slice(None)
        ci, sd, vi, se = (float(v[shown].mean()) for v in (row.ci, row.ci_sd, row.vi, row.vi_se))
        points = (
            ("simulated interval ± 1 sd", ci, sd, style.marker),
            ("simulated variability ± 2 s.e.", vi, 2 * se, "x"),
        )
        traces += [
            {
                "type": "scatter",
                "x": [x],
                "y": [y],
                "mode": "markers",
                "marker": {
                    "color": style.colour,
                    "symbol": marker,
                    "size": 10,
                    "line": {"color": QUIET, "width": 1.5},
                },
                "error_y": {
                    "type": "data",
                    "array": [bar],
                    "color": style.colour,
                    "thickness": 2,
                    "width": 9,
                },
                "name": f"{row.combination.short}: {word}",
                "legendgroup": row.combination.key,
            }
            for word, y, bar, marker in points
        ]
    layout, more = figure["layout"], 20 * len(rows)  # for the rows of the legend
    margin = layout["margin"] | {"t": layout["margin"]["t"] + more}
    return {
        "data": traces,
        "layout": layout | {"height": layout["height"] + more, "margin": margin},
    }


CLEAR = 3.0
"""Standard errors from which a simulation differs from a forecast, or from the level."""


def comparison_title(rows: Sequence[Comparison], *, level: float) -> str:
    """The finding: what share of the simulated intervals covered, and whether the forecast had
    said so.
    """
    covered = [100.0 * row.coverage.mean() for row in rows]
    few = [
        row
        for row, share in zip(rows, covered, strict=True)
        if share / 100.0 < level - CLEAR * row.coverage_mean_se
    ]
    off = [
        row
        for row in rows
        if abs(row.coverage.mean() - row.forecast_coverage.mean()) > CLEAR * row.coverage_mean_se
    ]
    low, high = f"{min(covered):.1f}", f"{max(covered):.1f}"
    told = f"{low} %" if low == high else f"{low} to {high} %"
    said = f"Simulated {100 * level:g} % intervals cover {told} on average over coefficients"
    if few:
        return f"{said}: too little for {_named(few, rows)}"
    return f"{said}, other than forecast for {_named(off, rows)}" if off else f"{said}, as forecast"


def _named(some: Sequence[Comparison], rows: Sequence[Comparison]) -> str:
    if len(some) == len(rows):
        return "every combination" if len(rows) > 1 else "this design"
    named = zip(rows, _ways(rows), strict=True)
    return ", ".join(way for row, way in named if any(row is one for one in some))


def _ways(rows: Sequence[Comparison]) -> list[str]:
    """What tells these combinations apart."""
    return distinguishing_labels([row.combination for row in rows])


def lengths_title(rows: Sequence[Comparison]) -> str:
    """The finding: how far simulated mean lengths lie from the forecast."""
    gaps = [abs(row.ci.mean() / row.forecast_ci.mean() - 1.0) for row in rows]
    return f"Simulated intervals are within {100 * max(gaps):.1f} % of the length forecast"


def comparison_sentence(rows: Sequence[Comparison], *, level: float, k: int, m: int) -> str:
    """The takeaway."""
    parts = []
    for row in rows:
        errors = (row.coverage.mean() - row.forecast_coverage.mean()) / row.coverage_mean_se
        parts.append(
            f"{row.combination.label}: coverage {100 * row.coverage.mean():.1f} ± "
            f"{100 * row.coverage_mean_se:.1f} % simulated, "
            f"{100 * row.forecast_coverage.mean():.1f} % forecast ({errors:+.1f} standard errors); "
            f"mean length {number(row.ci.mean())} simulated, {number(row.forecast_ci.mean())} "
            "forecast"
            + (f"; {row.n_failed} fits failed and count as misses" if row.n_failed else "")
        )
    return (
        f"Promised {100 * level:g} %; {k:,} whole intervals, {m:,} fits. " + ". ".join(parts) + "."
    )


def comparison_table(rows: Sequence[Comparison]) -> pd.DataFrame:
    """The numbers."""
    frames = [
        pd.DataFrame(
            {
                "combination": r.combination.label,
                "coefficient": [called(name) for name in r.names],
                "coverage simulated": r.coverage,
                "standard error": r.coverage_se,
                "coverage forecast": r.forecast_coverage,
                "length simulated": r.ci,
                "length forecast": r.forecast_ci,
                "variability simulated": r.vi,
                "variability forecast": r.forecast_vi,
            }
        )
        for r in rows
    ]
    return pd.concat(frames, ignore_index=True)
