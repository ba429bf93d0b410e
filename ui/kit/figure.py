"""What all figures share: layout, axes, source and assumptions below. No Streamlit.

A `Figure` is written as the nested dictionaries that the browser gets. Plotly's objects check and
copy every field as it is set, and again at each change, which took most of the time of a page;
tests check these figures whole.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from dpci_core.base.array import Array
from ui.kit.palette import CLEAR, SOURCE_MARKS
from ui.kit.ticks import logarithmic

Meta = dict[str, object]
Part = dict[str, Any]
"""A trace, an axis, a shape or an annotation, by Plotly's names."""
Figure = dict[str, Any]
"""Traces under "data", everything else under "layout"."""

_FOOTER = "footer"
"""Name of the annotation that holds what stands below the picture, and is not drawn in it."""
_BELOW = 52
"""Pixels for the numbers and the title of the axis below."""


def plot_config() -> dict[str, object]:
    """No buttons over the picture: they would lie on its legend."""
    return {"displayModeBar": False, "responsive": True, "scrollZoom": False}


def footer(figure: Figure) -> str:
    """What stands below a finished figure: where its data are from, and every assumed value."""
    notes = figure["layout"].get("annotations", ())
    found = (html.unescape(note["text"]) for note in notes if note.get("name") == _FOOTER)
    return next(found, "")


def log_axis(low: float, high: float, *, room: float = 0.0) -> Part:
    """A logarithmic axis whose numbers are written out, between two of its values.

    room: what is left free at both ends, as a share of the axis.

    >>> log_axis(0.18, 11)["ticktext"]
    ['0.2', '0.5', '1', '2', '5', '10']
    """
    begin, end = math.log10(low), math.log10(high)
    more = room * (end - begin)
    ticks = logarithmic(10 ** (begin - more), 10 ** (end + more))
    return {
        "type": "log",
        "range": [begin - more, end + more],
        "tickvals": [value for value, _ in ticks],
        "ticktext": [words for _, words in ticks],
    }


def literal(name: str) -> str:
    """A typed text as a figure shows it letter by letter: Plotly reads tags and entities in any
    text.
    """
    return html.escape(
        name, quote=False
    )  # of the entities for quotes it knows none, and would show them


def short_name(name: str, width: int = 22) -> str:
    """A name that fits beside an axis, cut in the middle: names differ at their ends.

    >>> short_name("systolic_blood_pressure_at_rest")
    'systolic_bl…re_at_rest'
    """
    if len(name) > width:
        name = f"{name[: width // 2]}…{name[width // 2 + 1 - width :]}"
    return literal(name)


def band(x: Array, low: Array, high: Array, *, colour: str) -> Part:
    """The area between two lines (k,), out along the upper one and back along the lower."""
    return {
        "x": [*x.tolist(), *x[::-1].tolist()],
        "y": [*high.tolist(), *low[::-1].tolist()],
        "fill": "toself",
        "fillcolor": colour,
        "opacity": 0.18,
        "line": {"width": 0},
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
    }


def common_layout(*, meta: Meta, height: int, top: int, bottom: int, right: int = 8) -> Part:
    """Transparent, its legend on top; `height` is that of the plot between the margins."""
    return {
        "meta": meta,
        "height": height + bottom + top,
        "margin": {"l": 8, "r": right, "t": top, "b": bottom},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "legend": {
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "x": 0,
            "yref": "paper",
            "font": {"size": 12},
        },
        "hoverlabel": {"namelength": -1},
        "barmode": "overlay",
        "dragmode": False,
    }


def finished_layout(
    *,
    caption: str,
    meta: Meta,
    source: str,
    height: int,
    legend_rows: int,
    notes: Sequence[Part] = (),
    right: int = 8,
) -> Part:
    """Common layout, and what will stand below the picture: the source and the assumptions.

    notes: annotations of the chart's own.
    """
    badge, _ = SOURCE_MARKS[source]
    below = {"name": _FOOTER, "text": literal(f"{badge} · {caption}"), "visible": False}
    layout = common_layout(
        meta=meta, height=height, top=24 + 20 * min(legend_rows, 2), bottom=_BELOW, right=right
    )
    return layout | {"annotations": [*notes, below]}


def finish(
    fig: go.Figure,
    *,
    caption: str,
    meta: Meta,
    source: str,
    height: int,
    legend_rows: int,
    right: int = 8,
) -> go.Figure:
    """The finished layout for a figure of Plotly's objects, whose own annotations stay."""
    layout = finished_layout(
        caption=caption,
        meta=meta,
        source=source,
        height=height,
        legend_rows=legend_rows,
        notes=[note.to_plotly_json() for note in fig.layout.annotations],
        right=right,
    )
    return fig.update_layout(layout)


class Written(go.Figure):  # type: ignore[misc]  # Plotly's classes are not typed
    """A figure for Streamlit as it was written: a dictionary would be checked field by field on
    every page.
    """

    def __init__(self, figure: Figure) -> None:
        super().__init__()
        layout = {"template": _template()} | figure["layout"]
        self._written: Figure = figure | {"layout": layout}

    def to_dict(self) -> Figure:
        """What the browser gets."""
        return self._written


@cache
def _template() -> Part:
    """What Streamlit's themes are drawn over."""
    made: Part = pio.templates[pio.templates.default].to_plotly_json()
    return made


def in_colour(figure: Figure, colour: str) -> Figure:
    """The figure with all its words in one colour."""
    layout, font = dict(figure["layout"]), {"color": colour}
    for name, part in figure["layout"].items():
        if name.startswith(("xaxis", "yaxis")):
            title = part.get("title", {})
            layout[name] = part | {
                "tickfont": part.get("tickfont", {}) | font,
                "title": title | {"font": title.get("font", {}) | font},
            }
    layout["legend"] = layout["legend"] | {"font": layout["legend"].get("font", {}) | font}
    layout["annotations"] = [
        a | {"font": a.get("font", {}) | font} for a in layout.get("annotations", ())
    ]
    return figure | {"layout": layout | {"font": layout.get("font", {}) | font}}
