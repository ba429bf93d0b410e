"""Test error above interval length, on one axis: pure builders of figures, sentences and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from dpci_core.base.array import Array
from dpci_core.report.words import number
from dpci_core.tuning.training import Measured
from ui.evidence.errors.numbers import Line
from ui.kit.figure import Meta, Part, band, finish, log_axis
from ui.kit.palette import GRID, QUIET, Combination
from ui.session.results import SweepCurve
from ui.views.sweep import one_sd

BAND = 1.96
"""Standard errors on either side of a mean: 95 %."""


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """A line with what was measured along it; None where nothing can be trained."""

    line: Line
    found: tuple[Measured | None, ...]

    def column(self, field: str) -> Array:
        """One field along the line (m,), NaN where nothing can be trained."""
        return np.array([np.nan if one is None else getattr(one, field) for one in self.found])


@dataclass(frozen=True, eq=False)
class LengthCurve:
    """Interval lengths of a design along the same control, and those without privacy."""

    sweep: SweepCurve
    nonprivate: Array


def accuracy_chart(
    errors: Sequence[ErrorCurve],
    lengths: Sequence[LengthCurve],
    *,
    x_label: str,
    current: float,
    constant_error: float,
    rows_at_hand: float | None,
    caption: str,
    meta: Meta,
    source: str,
) -> go.Figure:
    """Mean test error with its 95 % band; below it, where designs are measured, the length of their
    intervals.
    """
    n_rows = 2 if lengths else 1
    fig = make_subplots(rows=n_rows, cols=1, shared_xaxes=True, vertical_spacing=0.07)
    for curve in errors:
        _error_traces(fig, curve)
    for length in lengths:
        _length_traces(fig, length)
    fig.add_hline(
        y=constant_error, line={"color": QUIET, "width": 1.5, "dash": "dash"}, row=1, col=1
    )
    _name_at_right(fig, "always guessing the commoner class", constant_error)
    end = max(max(curve.line.x) for curve in errors)
    if rows_at_hand is not None and rows_at_hand < end:
        fig.add_vrect(x0=rows_at_hand, x1=end, fillcolor=QUIET, opacity=0.12, line_width=0)
    fig.add_vline(x=current, line={"color": QUIET, "width": 1.5, "dash": "dot"})
    begin = min(min(curve.line.x) for curve in errors)
    fig.update_xaxes(log_axis(begin, end, room=0.02), gridcolor=GRID, automargin=True)
    fig.update_xaxes(title={"text": x_label, "standoff": 4}, row=n_rows, col=1)
    fig.update_yaxes(gridcolor=GRID, automargin=True)
    fig.update_yaxes(title={"text": "test error"}, tickformat=".0%", row=1, col=1)
    if lengths:
        up = {"title": {"text": "interval length"}} | _length_axis(lengths)
        fig.update_yaxes(up, row=2, col=1)
    height = 560 if lengths else 340
    return finish(
        fig, caption=caption, meta=meta, source=source, height=height, legend_rows=len(errors)
    )


def _length_axis(lengths: Sequence[LengthCurve]) -> Part:
    values = np.concatenate([np.r_[one.sweep.ci_length, one.nonprivate] for one in lengths])
    values = values[np.isfinite(values) & (values > 0)]
    return log_axis(values.min(), values.max(), room=0.08) if len(values) else {"type": "log"}


def _name_at_right(fig: go.Figure, words: str, y: float) -> None:
    fig.add_annotation(
        text=words,
        x=1,
        xref="x domain",
        xanchor="right",
        y=y,
        yref="y",
        yanchor="bottom",
        showarrow=False,
        font={"size": 11},
    )


def _error_traces(fig: go.Figure, curve: ErrorCurve) -> None:
    line, mean, error = curve.line, curve.column("error"), BAND * curve.column("error_se")
    style, group = line.style, line.name
    keep = np.isfinite(mean)
    x = np.array(line.x)
    if (error[keep] > 0).any():
        part = band(x[keep], (mean - error)[keep], (mean + error)[keep], colour=style.colour)
        _add_band(fig, part, group, row=1)
    fig.add_scatter(
        x=x.tolist(),
        y=[float(v) if k else None for v, k in zip(mean, keep, strict=True)],
        mode="lines+markers" if line.is_private else "lines",
        line={"color": style.colour, "width": 2.5 if line.is_private else 2, "dash": style.dash},
        marker={"symbol": style.marker, "size": 7},
        name=line.name,
        legendgroup=group,
        hovertext=[_hover(curve, k) for k in range(len(x))],
        hoverinfo="text",
        row=1,
        col=1,
    )


def _add_band(fig: go.Figure, part: Part, group: str, *, row: int) -> None:
    fig.add_scatter(**part, legendgroup=group, name=f"{group}: band", row=row, col=1)


def _hover(curve: ErrorCurve, k: int) -> str:
    found = curve.found[k]
    if found is None:
        return ""
    return (
        f"<b>{curve.line.name}</b><br>{percent(found.error)} ± {points(BAND * found.error_se)}<br>"
        f"single models ± {points(found.error_sd)} (sd)<br>of negatives "
        f"{percent(found.false_positive)}, of positives {percent(found.false_negative)}"
    )


def _length_traces(fig: go.Figure, length: LengthCurve) -> None:
    curve, style = length.sweep, length.sweep.combination.style
    keep = np.isfinite(curve.ci_length)
    x, group = curve.x, f"length {curve.combination.key}"
    if keep.any():
        _add_band(fig, one_sd(curve), group, row=2)
    for values, look in (
        (curve.ci_length, {"color": style.colour, "width": 2.5, "dash": style.dash}),
        (length.nonprivate, {"color": QUIET, "width": 1.5, "dash": "solid"}),
    ):
        fig.add_scatter(
            x=x.tolist(),
            y=[float(v) if np.isfinite(v) else None for v in values],
            mode="lines" if values is length.nonprivate else "lines+markers",
            line=look,
            marker={"symbol": style.marker, "size": 6},
            name="without privacy" if values is length.nonprivate else curve.combination.short,
            legendgroup=group,
            showlegend=False,
            hovertemplate="%{y:.3g}",
            row=2,
            col=1,
        )


def percent(share: float) -> str:
    """A share with one decimal; two below one percent."""
    return f"{100 * share:.{2 if share < 0.01 else 1}f} %"


def points(share: float) -> str:
    """A difference of shares."""
    return f"{100 * share:.{2 if abs(share) < 0.001 else 1}f} points"


def at(curve: ErrorCurve, x: float) -> Measured | None:
    """What was measured at one place of the grid."""
    return curve.found[curve.line.x.index(x)]


def accuracy_title(errors: Sequence[ErrorCurve], x: float, words: str) -> str:
    """The finding where the control stands: how often private models err, and non-private ones.

    words: where that is, to stand after "At".
    """
    here = [(curve.line, measured) for curve in errors if (measured := at(curve, x)) is not None]
    private = [one.error for line, one in here if line.is_private]
    plain = [one.error for line, one in here if not line.is_private]
    if not private or not plain:
        return f"At {words} nothing private can be trained"
    least, most = percent_of_errors(min(private)), percent_of_errors(max(private))
    told = least if least == most else f"{least} to {most}"
    return (
        f"At {words} private models err {told} % of the time, non-private ones "
        f"{percent_of_errors(min(plain))} %"
    )


def percent_of_errors(share: float) -> str:
    """A rate of errors, to a tenth of a point."""
    return f"{100 * share:.1f}"


def accuracy_sentence(errors: Sequence[ErrorCurve], *, x_label: str, constant_error: float) -> str:
    """The takeaway: from the least to the most on the axis."""
    parts = []
    for curve in errors:
        mean = curve.column("error")
        keep = np.flatnonzero(np.isfinite(mean))
        if not len(keep):
            parts.append(f"{curve.line.name}: nothing can be trained")
            continue
        a, b = keep[0], keep[-1]
        parts.append(
            f"{curve.line.name}: {percent(mean[a])} at {number(curve.line.x[a])}, "
            f"{percent(mean[b])} at {number(curve.line.x[b])}"
        )
    said = "; ".join(parts)
    return (
        f"Test error as “{x_label}” moves. {said[:1].upper()}{said[1:]}. Always guessing the "
        f"commoner class: {percent(constant_error)}."
    )


def accuracy_table(
    errors: Sequence[ErrorCurve], lengths: Mapping[Combination, LengthCurve], *, x_label: str
) -> pd.DataFrame:
    """The chart as numbers, one row a point."""
    frames = []
    for curve in errors:
        line = curve.line
        length = lengths.get(line.combination) if line.combination is not None else None
        nothing = np.full(len(line.x), np.nan)
        frames.append(
            pd.DataFrame(
                {
                    "learner": line.name,
                    x_label: line.x,
                    "test error": curve.column("error"),
                    "standard error": curve.column("error_se"),
                    "sd of single models": curve.column("error_sd"),
                    "false positives": curve.column("false_positive"),
                    "false negatives": curve.column("false_negative"),
                    "fits": [0 if one is None else one.n_fits for one in curve.found],
                    "failed fits": [0 if one is None else one.n_failed for one in curve.found],
                    "interval length": nothing if length is None else length.sweep.ci_length,
                    "its standard deviation": nothing if length is None else length.sweep.ci_sd,
                    "length without privacy": nothing if length is None else length.nonprivate,
                }
            )
        )
    return pd.concat(frames, ignore_index=True)
