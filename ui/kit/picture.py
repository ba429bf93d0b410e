"""One chart with its title, its numbers and its footer, drawn by the browser from numbers.

Plotly takes 4.7 MB before its first chart, and draws every chart anew. What Explore shows is bars,
lines and dots on one or several axes: `picture.js` draws them in place, moves them while a slider
is dragged, and saves them with title, footer and link as SVG or PNG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any

import streamlit as st

from ui.kit.palette import LOUD, QUIET
from ui.kit.ticks import Tick, logarithmic, straight

_HERE = Path(__file__)
_JS = _HERE.with_suffix(".js").read_text(encoding="utf-8")
_CSS = _HERE.with_suffix(".css").read_text(encoding="utf-8")
for _name, _colour in LOUD.items():
    _CSS = _CSS.replace(_name, _colour)
_component = st.components.v2.component(
    "dpci_picture", html='<div class="picture">\n</div>', css=_CSS, js=_JS, isolate_styles=False
)
_animation = st.components.v2.component(
    "dpci_animation",
    html="<span hidden></span>",
    js="""const animations = (window[Symbol.for("dpci animations")] ??= new Map())
export default ({ data }) => void animations.set(data.slider, data.animation)""",
)

Point = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Style:
    """How bars, lines and dots of one kind are drawn; widths in pixels.

    ends: half the height of the strokes at both ends of a bar.
    """

    colour: str = QUIET
    width: float = 2.0
    opacity: float = 1.0
    dash: str = ""
    marker: str = "circle"
    ends: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Panel:
    """An axis across, and the rows above it, from the lowest to the highest.

    zeros: where a line says that there is no effect.
    """

    low: float
    high: float
    rows: tuple[float, float] = (0.0, 1.0)
    is_log: bool = False
    zeros: tuple[float, ...] = ()
    title: str = ""

    @property
    def ticks(self) -> list[Tick]:
        """Return the ticks of the axis."""
        return (logarithmic if self.is_log else straight)(self.low, self.high)

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        start, end = self.rows
        return {
            "low": self.low,
            "high": self.high,
            "from": start,
            "to": end,
            "isLog": self.is_log,
            "ticks": self.ticks,
            "zeros": self.zeros,
            "title": self.title,
        }


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A cell of a small table.

    live: its name in the words of an animation.  style: what it is drawn like in the chart.
    """

    text: str
    is_bold: bool = False
    is_loud: bool = False
    live: str = ""
    style: Style | None = None

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        return {
            "text": self.text,
            "isBold": self.is_bold,
            "isLoud": self.is_loud,
            "live": self.live,
            "style": asdict(self.style) if self.style else None,
        }


@dataclass(frozen=True, kw_only=True)
class Table:
    """A small table beside a chart: what the columns are, and rows, the first cell of each its
    name.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Cell | str, ...], ...]
    caption: str = ""

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        rows = [[c if isinstance(c, str) else c.data for c in row] for row in self.rows]
        return {"head": self.head, "rows": rows, "caption": self.caption}


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A chart in numbers. Bars are (y, low, high, style), dots (x, y, style).

    title: the finding.  sub: what is drawn, in which unit.  alt: the chart in a sentence.
    labels: y, text, a note below it, and how far it is indented (-1: a heading).
    right: y and the text at the right end of a row.
    notes: x, y, text and style of words at the end of a line.
    key: kind ("bar", "dot"), style and word of what is drawn.
    uprights: x, word, and its anchor.  shades: from, to, word.
    hover: along which axis, and (place, lines of text) of each thing there.
    up: ends, title and whether logarithmic, of an axis upwards; None where there are rows.
    remarks: sentences below the tables.
    least: pixels below which rows would lie on each other.
    """

    title: str
    sub: str
    alt: str
    footer: str
    panels: tuple[Panel, ...]
    styles: tuple[Style, ...]
    meta: dict[str, object]
    is_loud: bool = False
    bars: Sequence[tuple[float, float, float, int]] = ()
    dots: Sequence[tuple[float, float, int]] = ()
    lines: Sequence[tuple[int, Sequence[Point | None]]] = ()
    areas: Sequence[tuple[int, Sequence[Point]]] = ()
    labels: Sequence[tuple[float, str, str, int]] = ()
    right: Sequence[tuple[float, str]] = ()
    right_title: str = ""
    notes: Sequence[tuple[float, float, str, int]] = ()
    key: Sequence[tuple[str, int, str]] = ()
    uprights: Sequence[tuple[float, str, str]] = ()
    shades: Sequence[tuple[float, float, str]] = ()
    hover: tuple[str, Sequence[tuple[float, Sequence[str]]]] | None = None
    up: tuple[float, float, str, bool] | None = None
    tables: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()
    least: int = 300

    def data(self, name: str) -> dict[str, Any]:
        """What the browser gets."""
        drawn: dict[str, Any] = {
            "name": name,
            "title": self.title,
            "sub": self.sub,
            "alt": self.alt,
            "footer": self.footer,
            "meta": self.meta,
            "isLoud": self.is_loud,
            "panels": [panel.data for panel in self.panels],
            "styles": [asdict(style) for style in self.styles],
            "bars": _short(self.bars),
            "dots": _short(self.dots),
            "lines": [{"style": s, "points": _short(points)} for s, points in self.lines],
            "areas": [{"style": s, "points": _short(points)} for s, points in self.areas],
            "labels": self.labels,
            "right": self.right,
            "rightTitle": self.right_title,
            "notes": self.notes,
            "key": self.key,
            "uprights": self.uprights,
            "shades": self.shades,
            "hover": self.hover and {"along": self.hover[0], "items": self.hover[1]},
            "y": self._up(),
            "tables": [table.data for table in self.tables],
            "remarks": self.remarks,
            "least": self.least,
            "tall": max(self.least, 420),
            "quiet": QUIET,
        }
        return drawn | {"version": sha256(dumps(drawn, default=float).encode()).hexdigest()[:16]}

    def _up(self) -> dict[str, object] | None:
        if self.up is None:
            return None
        low, high, title, is_log = self.up
        ticks = (logarithmic if is_log else straight)(low, high)
        return {"low": low, "high": high, "title": title, "isLog": is_log, "ticks": ticks}


def _short(items: Sequence[tuple[float, ...] | None]) -> list[list[float] | None]:
    """More digits than a screen shows: odds ratios of small units differ late."""
    return [None if item is None else [float(f"{x:.12g}") for x in item] for item in items]


def draw(name: str, picture: Picture, **live: object) -> None:
    """Put a picture on the page.

    live: slider, position of the page on it, and version of the animation that it follows.
    """
    with st.container(key=f"chart_{name}"):
        _component(data=picture.data(name) | live, key=f"picture_{name}")


def keep_animation(slider: str, animation: Mapping[str, object]) -> None:
    """Give the browser the words and bars of every position of a slider, for pictures that follow
    it.
    """
    _animation(key=f"animation_{slider}", data={"slider": slider, "animation": animation})
