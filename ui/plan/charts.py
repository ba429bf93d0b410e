"""Pure figure builders of the page Plan: the iso-length map."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from scipy.interpolate import RegularGridInterpolator
from scipy.special import ndtr, ndtri

from dpci_core.base.array import Array
from ui.kit.figure import Meta, finish
from ui.kit.palette import BLUE, GRID, ORANGE, PAPER, QUIET
from ui.plan.numbers import IsoMap

_TARGET, _HERE = ORANGE, BLUE
_FINER = 8
"""Points drawn for one that is computed, interpolated where values are nearly straight: logarithms
of lengths, normal quantiles of chances."""
_CHANCE_ENDS = (1e-12, 1.0 - 1e-12)
_NEAR = 30.0
"""Lengths so many times longer or shorter than the precision target get no line."""
CHANCES = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True)
class Mark:
    """A point of a chart: a word for it, where, and how it is drawn."""

    word: str
    x: float
    y: float
    symbol: str = "circle"
    colour: str = _HERE


def here(total: float, n: float) -> Mark:
    """The present settings."""
    return Mark("your settings", total, n)


def needed_budget(total: float, n: float) -> Mark:
    """The budget from which on the precision target is met, at the present n."""
    return Mark("needed budget", total, n, "star", _TARGET)


def needed_records(total: float, n: float) -> Mark:
    """The records from which on it is met, at the present budget."""
    return Mark("needed records", total, n, "star-diamond", _TARGET)


def iso_chart(
    found: IsoMap,
    *,
    target: float,
    goal: str,
    is_chance: bool,
    marks: list[Mark],
    x_label: str,
    caption: str,
    meta: Meta,
    source: str,
) -> go.Figure:
    """Lines of equal length (or chance) over budget and records; the target is the thick one.

    goal: the target in words.
    """
    fig = go.Figure()
    x, y, z = _finer(found, is_chance=is_chance)
    for level in _levels(z, target, is_chance=is_chance):
        _line(fig, x, y, z, level, colour=QUIET, width=1.2, dash="solid")
    _line(fig, x, y, z, target, colour=_TARGET, width=4, dash="solid")
    what = "chance" if is_chance else "length"
    for name, width, colour in (
        (f"your goal: {goal}", 4.0, _TARGET),
        (f"other {what}s", 1.2, QUIET),
    ):
        fig.add_scatter(
            x=[None], y=[None], mode="lines", line={"width": width, "color": colour}, name=name
        )
    for mark in marks:
        fig.add_scatter(
            x=[mark.x],
            y=[mark.y],
            mode="markers",
            marker={
                "symbol": mark.symbol,
                "size": 13,
                "color": mark.colour,
                "line": {"color": PAPER, "width": 1.5},
            },
            name=mark.word,
            hovertemplate=f"{mark.word}<br>budget %{{x:.3g}}<br>n %{{y:,.0f}}<extra></extra>",
        )
    ends = [
        [math.log10(float(a[0])), math.log10(float(a[-1]))] for a in (found.totals, found.records)
    ]
    axis = {"type": "log", "gridcolor": GRID, "automargin": True}
    fig.update_xaxes(
        title={"text": x_label, "standoff": 4},
        range=ends[0],
        tickvals=_ticks(ends[0]),
        tickformat="~g",
        **axis,
    )
    fig.update_yaxes(
        title={"text": "records n"},
        range=ends[1],
        tickvals=_ticks(ends[1]),
        tickformat=",~r",
        **axis,
    )
    return finish(fig, caption=caption, meta=meta, source=source, height=380, legend_rows=2)


def _ticks(ends: list[float]) -> list[float]:
    """1, 2 and 5 times the powers of ten inside, or 1 and 3 where that is too many."""
    steps = (1, 2, 5) if ends[1] - ends[0] < 2.5 else (1, 3)
    low, high = 10 ** ends[0] * 0.999, 10 ** ends[1] * 1.001
    powers = range(math.floor(ends[0]), math.ceil(ends[1]) + 1)
    return [float(f"{m}e{e}") for e in powers for m in steps if low <= float(f"{m}e{e}") <= high]


def _finer(found: IsoMap, *, is_chance: bool) -> tuple[Array, Array, Array]:
    """The map on a finer grid."""
    values = ndtri(np.clip(found.values, *_CHANCE_ENDS)) if is_chance else np.log(found.values)
    axes = (np.log(found.records), np.log(found.totals))
    fine = [np.linspace(a[0], a[-1], _FINER * (len(a) - 1) + 1) for a in axes]
    grid = np.stack(np.meshgrid(*fine, indexing="ij"), axis=-1)
    z = RegularGridInterpolator(axes, values)(grid)
    return np.exp(fine[1]), np.exp(fine[0]), ndtr(z) if is_chance else np.exp(z)


def _levels(z: Array, target: float, *, is_chance: bool) -> list[float]:
    """Round values inside the map other than the target, at most a dozen, lengths within 30 times
    of it.
    """
    inside = z[np.isfinite(z)]
    if not len(inside):
        return []
    low, high = float(inside.min()), float(inside.max())
    if is_chance:
        return [v for v in CHANCES if low < v < high and v != target]
    low, high = max(low, target / _NEAR), min(high, target * _NEAR)
    levels: list[float] = []
    for steps in ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
        powers = (
            range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            if low < high
            else range(0)
        )
        levels = [v for e in powers for m in steps if low < (v := float(f"{m}e{e}")) < high]
        if len(levels) <= 12:
            break
    return [v for v in levels if abs(math.log(v / target)) > 0.15]


def _line(
    fig: go.Figure,
    x: Array,
    y: Array,
    z: Array,
    level: float,
    *,
    colour: str,
    width: float,
    dash: str,
) -> None:
    fig.add_contour(
        x=x,
        y=y,
        z=z.astype(
            np.float32
        ),  # an array is taken as it is; lists are checked number by number, which takes longer
        contours={
            "start": level,
            "end": level,
            "size": 1,
            "coloring": "none",
            "showlabels": True,
            "labelfont": {"size": 12, "color": colour},
            "labelformat": ".3~g",
        },
        line={"color": colour, "width": width, "dash": dash, "smoothing": 0.6},
        showscale=False,
        showlegend=False,
        connectgaps=False,
        hoverinfo="skip",
    )


def iso_table(found: IsoMap, *, x_label: str, is_chance: bool) -> pd.DataFrame:
    """The map as numbers, a row for each number of records."""
    name = "chance" if is_chance else "length"
    columns = {
        f"{name} at {x_label} {total:.3g}": found.values[:, j]
        for j, total in enumerate(found.totals)
    }
    return pd.DataFrame({"records n": np.round(found.records).astype(int), **columns})
