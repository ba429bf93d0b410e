"""Lengths along one control: which one, its curves, and their figure, sentence and table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dpci_core.base.array import Array, Flags
from dpci_core.privacy.budget import PARTS
from dpci_core.report.words import number
from ui.kit.figure import Figure, Meta, Part, band, finished_layout, log_axis
from ui.kit.palette import GRID, QUIET
from ui.session import compute, state, text
from ui.session.results import SweepCurve
from ui.session.settings import SWEEPS, Settings


def length_label(settings: Settings, name: str) -> str:
    """What the lengths along a control are of."""
    if name == "d":
        return "Length for the first coefficient"
    covers = (
        "coefficients penalised at c, which shrinks them" if name == "c" else text.covers(settings)
    )
    if not settings.is_penalised:
        covers = "coefficients without penalty"
    return f"Mean length, {covers.replace('coefficient ', 'coefficients ')}"


def sweep_chart(
    curves: Sequence[SweepCurve],
    *,
    x_label: str,
    x_log: bool,
    caption: str,
    meta: Meta,
    y_label: str,
    source: str,
) -> Figure:
    """Interval length (solid, band of one standard deviation) and variability length (dashed) along
    a control.
    """
    shapes: list[Part] = []
    notes: list[Part] = []
    start = next((c.extrapolated_from for c in curves if c.extrapolated_from is not None), None)
    begin, end = float(curves[0].x.min()), float(max(c.x.max() for c in curves))
    if start is not None and start < end:
        shapes.append(_shade(start, end))
        notes.append(_EXTRAPOLATED | {"x": end})
    layout = finished_layout(
        caption=caption, meta=meta, source=source, height=360, legend_rows=len(curves), notes=notes
    )
    across: Part = {
        "title": {"text": x_label, "standoff": 4},
        "gridcolor": GRID,
        "automargin": True,
    }
    layout["xaxis"] = across | (log_axis(begin, end, room=0.02) if x_log else {"type": "linear"})
    up: Part = {"title": {"text": y_label}, "gridcolor": GRID, "automargin": True}
    layout["yaxis"] = up | _length_axis(curves)
    layout["shapes"] = shapes
    return {"data": [trace for curve in curves for trace in _sweep_traces(curve)], "layout": layout}


def _length_axis(curves: Sequence[SweepCurve]) -> Part:
    """A logarithmic axis for all lengths, bands of one standard deviation included."""
    ends = [np.r_[c.ci_length, c.vi_length, one_sd(c)["y"]] for c in curves]
    lengths = np.concatenate(ends)
    lengths = lengths[np.isfinite(lengths) & (lengths > 0)]
    return log_axis(lengths.min(), lengths.max(), room=0.05) if len(lengths) else {"type": "log"}


def one_sd(curve: SweepCurve) -> Part:
    """The band of one standard deviation of the length, never down to where a logarithm ends."""
    keep, length, sd = np.isfinite(curve.ci_length), curve.ci_length, curve.ci_sd
    low, high = np.maximum(length - sd, 0.2 * length), length + sd
    return band(curve.x[keep], low[keep], high[keep], colour=curve.combination.style.colour)


def _sweep_traces(curve: SweepCurve) -> list[Part]:
    style, name = curve.combination.style, curve.combination.short
    common: Part = {"type": "scatter", "legendgroup": curve.combination.key}
    x = curve.x.tolist()
    finite = np.isfinite(curve.ci_length)
    traces = [common | one_sd(curve) | {"name": f"{name}: one sd"}]
    firm = curve.is_firm
    for word, keep, dash in (
        ("interval", firm, style.dash),
        ("interval, doubtful", ~firm, "dot"),
    ):
        y = np.where(with_neighbours(keep) & finite, curve.ci_length, np.nan)
        if np.isfinite(y).any():
            line = {
                "x": x,
                "y": _gaps(y),
                "mode": "lines+markers",
                "line": {"color": style.colour, "width": 2.5, "dash": dash},
                "marker": {"symbol": style.marker, "size": 6},
                "opacity": 0.6 if dash == "dot" else 1.0,
                "name": f"{name}: {word}",
            }
            traces.append(common | line)
    spread = {
        "x": x,
        "y": _gaps(curve.vi_length),
        "mode": "lines",
        "line": {"color": style.colour, "width": 1.8, "dash": "dash"},
        "name": f"{name}: variability",
    }
    return [*traces, common | spread]


def with_neighbours(keep: Flags) -> Flags:
    """A point and the one after it, so that pieces of a line meet."""
    return np.asarray(keep | np.r_[False, keep[:-1]])


def _gaps(values: Array) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in values]


_EXTRAPOLATED: Part = {
    "text": "extrapolated",
    "font": {"size": 11},
    "showarrow": False,
    "xref": "x",
    "xanchor": "right",
    "y": 0,
    "yref": "y domain",
    "yanchor": "bottom",
}


def _shade(start: float, end: float) -> Part:
    """A grey field from start to end, over the whole height."""
    where = {"x0": start, "x1": end, "y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return {"type": "rect", "fillcolor": QUIET, "opacity": 0.12, "line": {"width": 0}} | where


def sweep_sentence(curves: Sequence[SweepCurve], *, x_label: str) -> str:
    """The takeaway of chart 2."""
    parts = []
    for curve in curves:
        finite = np.flatnonzero(np.isfinite(curve.ci_length))
        if not len(finite):
            parts.append(f"{curve.combination.label}: no interval at any point")
            continue
        a, b = finite[0], finite[-1]
        best = finite[np.argmin(curve.ci_length[finite])]
        parts.append(
            f"{curve.combination.label}: from {number(curve.ci_length[a])} at "
            f"{number(curve.x[a], 4)} to {number(curve.ci_length[b])} at {number(curve.x[b], 4)}, "
            f"shortest at {number(curve.x[best], 4)} ({number(curve.ci_length[best])})"
        )
    return f"Interval length as “{x_label}” moves. " + "; ".join(parts) + "."


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


SWEEP_NAMES = {
    "total": "Total budget",
    "model": "Share for the coefficients (%)",
    "hessian": "Share for the Hessian (%)",
    "covariance": "Share for the gradient covariance (%)",
    "n": "Records n",
    "d": "Features d",
    "c": "Penalty c",
    "h": "Huber width h",
}


def sweep_control() -> str:
    """Which control is swept."""
    options = [s for s in SWEEPS if s != "h" or state.settings().has_width]
    name = state.settings().sweep if state.settings().sweep in options else "total"
    st.selectbox(
        "How length depends on",
        options,
        format_func=SWEEP_NAMES.__getitem__,
        **state.bound("sweep", name),
    )
    return name


def sweep_curves(view: compute.View, name: str, max_features: int) -> list[SweepCurve]:
    """Forecast curves, remembered."""
    asked = compute.free_of(view.settings, name)
    return state.curves().get(
        ("sweep", view.records.digest, name, repr(asked), max_features),
        lambda: compute.sweep(asked, state.source(), name, max_features),
    )


def current_value(settings: Settings, name: str) -> float:
    """Return the present value of a swept control."""
    if name == "total":
        return settings.typed_total
    if name in PARTS:
        return settings.split.share(PARTS.index(name))
    if name == "d":
        return float(len(settings.names) or settings.d)
    return float(getattr(settings, name))
