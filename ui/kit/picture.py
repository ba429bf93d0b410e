"""One chart with its title, its numbers and its footer, drawn by the browser from numbers.

What Explore and Learn show is bars, lines and dots on one or several axes: `picture.js` draws them,
follows a slider while it is dragged, and saves them with title, footer and link as SVG or PNG. Why
not with Plotly is in ARCHITECTURE.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from json import dumps
from pathlib import Path
from typing import Any

import streamlit as st

from ui.kit.download import FILES
from ui.kit.palette import LOUD, QUIET, themed
from ui.kit.ticks import Tick, logarithmic, straight

_HERE = Path(__file__)
_JS = FILES + _HERE.with_suffix(".js").read_text(encoding="utf-8")
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

_FRAME_DIGITS = 5
"""More than a screen shows of what moves, where an axis begins near zero."""
Point = tuple[float, float]
Bar = tuple[float, float, float, int]
"""y, low, high, number of the style."""
Dot = tuple[float, float, int]
"""x, y, number of the style."""


@dataclass(frozen=True, kw_only=True)
class Style:
    """How bars, lines and dots of one kind are drawn; widths in pixels.

    ends: half the height of the strokes at both ends of a bar.  size: half the width of a marker.
    """

    colour: str = QUIET
    width: float = 2.0
    opacity: float = 1.0
    dash: str = ""
    marker: str = "circle"
    size: float = 4.5
    ends: float = 0.0

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        return asdict(self) | {"colour": themed(self.colour)}


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Both ends, a title, and ticks where round numbers are not meant."""

    low: float
    high: float
    is_log: bool = False
    title: str = ""
    ticks: Sequence[Tick] | None = None

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        usual = logarithmic if self.is_log else straight
        return {
            "low": self.low,
            "high": self.high,
            "isLog": self.is_log,
            "title": self.title,
            "ticks": usual(self.low, self.high) if self.ticks is None else self.ticks,
        }


@dataclass(frozen=True, kw_only=True)
class Panel(Axis):
    """An axis across, and above it rows, from the lowest to the highest, or an axis upwards.

    zeros: where a line says that there is no effect.
    """

    rows: tuple[float, float] = (0.0, 1.0)
    zeros: tuple[float, ...] = ()
    up: Axis | None = None

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        start, end = (self.up.low, self.up.high) if self.up else self.rows
        more = {"from": start, "to": end, "zeros": self.zeros, "up": self.up and self.up.data}
        return super().data | more


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
            "style": self.style and self.style.data,
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

    title: the finding.  is_heading: whether it is short enough for one.
    sub: what is drawn, in which unit.  alt: the chart in a sentence.
    labels: y, text, a note below it, and how far it is indented (-1: a heading).
    right: y and the text at the right end of a row.
    notes: x, y, text and style of words at the end of a line.
    key: kind ("bar", "dot"), style and word of what is drawn.
    uprights: x, word, and its anchor.  shades: from, to, word.
    hover: along which axis, and (place, lines of text) of each thing there.
    is_square: whether a unit is as long across as upwards.
    remarks: sentences below the tables.
    least: pixels below which rows would lie on each other.
    """

    panels: tuple[Panel, ...]
    styles: tuple[Style, ...]
    title: str = ""
    sub: str = ""
    alt: str = ""
    footer: str = ""
    meta: Mapping[str, object] = field(default_factory=dict)
    is_heading: bool = True
    is_square: bool = False
    is_loud: bool = False
    bars: Sequence[Bar] = ()
    dots: Sequence[Dot] = ()
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
    tables: tuple[Table, ...] = ()
    remarks: tuple[str, ...] = ()
    least: int = 300

    def data(self, name: str, digits: int = 12) -> dict[str, Any]:
        """What the browser gets; odds ratios of small units differ in late digits."""

        def short(items: Sequence[tuple[float, ...] | None]) -> list[list[float] | None]:
            return [i if i is None else [float(f"{x:.{digits}g}") for x in i] for i in items]

        drawn: dict[str, Any] = {
            "name": name,
            "title": self.title,
            "sub": self.sub,
            "alt": self.alt,
            "footer": self.footer,
            "meta": self.meta,
            "isLoud": self.is_loud,
            "isHeading": self.is_heading,
            "isSquare": self.is_square,
            "panels": [panel.data for panel in self.panels],
            "styles": [style.data for style in self.styles],
            "bars": short(self.bars),
            "dots": short(self.dots),
            "lines": [{"style": s, "points": short(points)} for s, points in self.lines],
            "areas": [{"style": s, "points": short(points)} for s, points in self.areas],
            "labels": self.labels,
            "right": self.right,
            "rightTitle": self.right_title,
            "notes": self.notes,
            "key": self.key,
            "uprights": self.uprights,
            "shades": self.shades,
            "hover": self.hover and {"along": self.hover[0], "items": self.hover[1]},
            "tables": [table.data for table in self.tables],
            "remarks": self.remarks,
            "least": self.least,
            "tall": max(self.least, 350),
            "quiet": QUIET,
        }
        return drawn | {"version": sha256(dumps(drawn, default=float).encode()).hexdigest()[:16]}


def draw(name: str, picture: Picture, **live: object) -> None:
    """Put a picture on the page.

    live: slider, position of the page on it, and version of the animation that it follows.
    """
    with st.container(key=f"chart_{name}"):
        _component(data=picture.data(name) | live, key=f"picture_{name}")


def keep_animation(slider: str, animation: Mapping[str, object]) -> None:
    """Give the browser the words and the drawing of every position of a slider, for pictures that
    follow it.
    """
    _animation(key=f"animation_{slider}", data={"slider": slider, "animation": animation})


def whole_frames(version: str, pictures: Sequence[Picture]) -> dict[str, object]:
    """An animation of a picture for every position of a slider: of each what is not the same in
    all of them.
    """
    drawn = [picture.data("", frame_digits(picture)) for picture in pictures]
    words = [{key: one.pop(key) for key in ("title", "footer")} for one in drawn]
    differing = {key for one in drawn for key in one if one[key] != drawn[0][key]}
    frames = [{key: one[key] for key in sorted(differing - {"meta", "version"})} for one in drawn]
    return {"version": version, "frames": frames, "words": words}


def frame_digits(picture: Picture) -> int:
    """Digits of a picture that moves: more where an axis shows a small part of a large number."""
    axes = [axis for panel in picture.panels for axis in (panel, panel.up) if axis]
    shares = (max(abs(a.low), abs(a.high)) / (a.high - a.low) for a in axes if not a.is_log)
    return _FRAME_DIGITS + math.ceil(math.log10(max([1.0, *shares])))
