"""What all figures share: layout, badge of the source, assumptions under the plot. No Streamlit.

A `Figure` is written as the nested dictionaries that the browser gets. Plotly's objects check and
copy every field as it is set, and again at each change, which took most of the time of a page;
tests check these figures whole.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from functools import cache
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

from dpci_core.base.array import Array
from ui.kit.palette import CLEAR, QUIET, SOURCE_MARKS

Meta = dict[str, object]
Part = dict[str, Any]
"""A trace, an axis, a shape or an annotation, by Plotly's names."""
Figure = dict[str, Any]
"""Traces under "data", everything else under "layout"."""

_CAPTION_WIDTH = 40
"""Letters in a line under a chart: what a narrow screen shows."""
_BELOW: Part = {
    "xref": "paper",
    "yref": "paper",
    "x": 0,
    "y": 0,
    "xanchor": "left",
    "yanchor": "top",
    "showarrow": False,
}


def plot_config(name: str, picture: str = "svg") -> dict[str, object]:
    """Modebar whose camera button saves the chart as "svg" or "png", in the browser."""
    return {
        "displaylogo": False,
        "responsive": True,
        "scrollZoom": False,
        "toImageButtonOptions": {
            "format": picture,
            "scale": 2 if picture == "png" else 1,
            "filename": f"dpci_{name}",
        },
        "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
    }


def literal(name: str) -> str:
    """A typed text as a figure shows it letter by letter: Plotly reads tags and entities in any
    text.
    """
    return html.escape(
        name, quote=False
    )  # of the entities for quotes it knows none, and would show them


def short_name(name: str, width: int = 22) -> str:
    """The beginning of a name, for the ends of an axis."""
    return literal(name if len(name) <= width else name[: width - 1] + "…")


def upright(x: float, *, width: float, dash: str) -> Part:
    """A vertical line over the whole height."""
    line = {"color": QUIET, "width": width, "dash": dash}
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "y0": 0,
        "y1": 1,
        "xref": "x",
        "yref": "y domain",
        "line": line,
    }


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


def wrapped(caption: str) -> list[str]:
    """Lines of a caption; a value stays with its name.

    >>> wrapped("Simulated census, encoding “schema”, d = 10, n = 8,000")
    ['Simulated census, encoding “schema”,', 'd = 10, n = 8,000']
    """
    held = caption.replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in textwrap.wrap(held, _CAPTION_WIDTH)]


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
    """Common layout, badge of the source, assumptions under the plot, and room for all of it.

    notes: annotations of the chart's own.
    """
    badge, colour = SOURCE_MARKS[source]
    lines = [literal(line) for line in wrapped(caption)]
    words = {
        "text": "<br>".join(lines),
        "yshift": -74,
        "align": "left",
        "font": {"size": 10},
        "opacity": 0.85,
    }
    mark = {"text": f"<b>{badge}</b>", "yshift": -46, "font": {"size": 11}, "bordercolor": colour}
    frame = {"borderwidth": 2, "borderpad": 3}
    layout = common_layout(
        meta=meta,
        height=height,
        top=24 + 20 * legend_rows,
        bottom=84 + 15 * len(lines),
        right=right,
    )
    return layout | {"annotations": [*notes, _BELOW | words, _BELOW | mark | frame]}


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
