"""A chart that follows the pointer: frames drawn in the browser while one of the page's own sliders
is dragged.

The forecast of every position of the slider is computed beforehand and sent along. While the thumb
is away from the value that the page stands on, a picture drawn from these frames covers the chart,
and whatever else still shows the old value fades (`waits`). Letting go is the slider's own
business: the page computes itself anew, and the picture goes away. So there is one slider, one
value, and nothing to send back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import streamlit as st

from ui.kit.palette import QUIET

_JS = Path(__file__).with_name("live.js").read_text(encoding="utf-8")
_HTML = '<div class="live" aria-hidden="true">\n</div>'
_CSS = """
.live { position: absolute; inset: 0; background: var(--st-background-color); color: var(--st-text-color);
        font-family: var(--st-font); font-size: 12px; overflow: hidden; }
svg { display: block; width: 100%; height: 100%; }
text { fill: currentColor; }
"""  # noqa: E501 - CSS
_PAGE_CSS = """<style>
[class*="st-key-live_box_"] { position: relative; }
[class*="st-key-live_over_"] { position: absolute !important; inset: 0; z-index: 5; visibility: hidden;
                               pointer-events: none; }
[data-dpci-live] [class*="st-key-waits_"] { opacity: 0.06; }
[data-dpci-live="SLIDER_slider"] .st-key-SLIDER_number { visibility: hidden; }
</style>"""  # noqa: E501 - CSS
"""The typed number beside a slider holds the same value and cannot follow: it hides meanwhile."""
NUMBERS_SENT = 60_000
"""About 420 kB. More than this and the frames stay at home: the chart then moves when the slider is
let go.
"""

_component = st.components.v2.component("dpci_live", html=_HTML, css=_CSS, js=_JS)

Bar = tuple[float, float, float, int]
"""y, low, high, number of the style."""
Dot = tuple[float, float, int]
"""x, y, number of the style."""


@dataclass(frozen=True)
class Stroke:
    """How a bar or a dot is drawn; width in pixels."""

    colour: str
    width: float
    opacity: float = 1.0


@dataclass(frozen=True)
class Frame:
    """The picture at one position of the slider, and the words above it."""

    words: str
    bars: tuple[Bar, ...] = ()
    dots: tuple[Dot, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Animation:
    """Frames for every position of a slider, and what does not move.

    lines: x of vertical reference lines.  span: ends of the x axis.
    """

    frames: tuple[Frame | None, ...]
    strokes: tuple[Stroke, ...]
    x_title: str
    span: tuple[float, float]
    rows: tuple[float, float]
    lines: tuple[float, ...] = ()

    @cached_property
    def data(self) -> dict[str, object]:
        """What the browser gets of the animation; made once, because it is kept while the
        slider moves.

        What is the same in every frame is sent once: bars and dots that stand still, and where the
        moving bars are.
        """
        shown = [frame for frame in self.frames if frame]
        still, places = _without_motion(shown)
        dots = shown[0].dots if shown and all(f.dots == shown[0].dots for f in shown) else ()
        return {
            "still": _short(still),
            "stillDots": _short(dots),
            "places": [[shown[0].bars[i][0], shown[0].bars[i][3]] for i in places],
            "frames": [
                f and _moving(f, places, is_fixed=bool(places or still), has_dots=not dots)
                for f in self.frames
            ],
            "strokes": [
                {"colour": s.colour, "width": s.width, "opacity": s.opacity} for s in self.strokes
            ],
            "xTitle": self.x_title,
            "span": list(self.span),
            "rows": list(self.rows),
            "lines": list(self.lines),
            "quiet": QUIET,
        }

    @cached_property
    def n_numbers(self) -> int:
        """How many numbers the browser gets."""
        return numbers_in(self.data)


def _without_motion(frames: Sequence[Frame]) -> tuple[tuple[Bar, ...], tuple[int, ...]]:
    """Bars that stand still in all frames, and the numbers of those that move; nothing where frames
    differ in rows.
    """
    rows = [[(bar[0], bar[3]) for bar in frame.bars] for frame in frames]
    if not rows or any(row != rows[0] for row in rows):
        return (), ()
    moves = [len({frame.bars[i] for frame in frames}) > 1 for i in range(len(rows[0]))]
    return (
        tuple(bar for bar, is_moving in zip(frames[0].bars, moves, strict=True) if not is_moving),
        tuple(i for i, is_moving in enumerate(moves) if is_moving),
    )


def _moving(
    frame: Frame, places: Sequence[int], *, is_fixed: bool, has_dots: bool
) -> dict[str, object]:
    """What one frame has of its own: the ends of bars whose rows are known, or whole bars."""
    ends = [float(f"{end:.5g}") for i in places for end in frame.bars[i][1:3]]
    return {
        "words": frame.words,
        "ends": ends,
        "bars": [] if is_fixed else _short(frame.bars),
        "dots": _short(frame.dots) if has_dots else [],
    }


def _short(items: Sequence[tuple[float, ...]]) -> list[list[float]]:
    """Five digits are more than a screen shows."""
    return [[float(f"{x:.5g}") for x in item] for item in items]


@dataclass(frozen=True)
class Playback:
    """An animation, the key of the slider that it follows, and the position of the slider that the
    page stands on.
    """

    animation: Animation
    slider: str
    here: int

    @property
    def data(self) -> dict[str, object]:
        """What the browser gets."""
        return self.animation.data | {"slider": self.slider, "here": self.here}


@contextmanager
def covering(key: str, playback: Playback | None) -> Iterator[None]:
    """Around a chart: cover it with the animation while the slider is away from where the page
    stands.
    """
    with st.container(key=f"live_box_{key}"):
        yield
        if playback is not None and playback.animation.n_numbers <= NUMBERS_SENT:
            st.html(_PAGE_CSS.replace("SLIDER", playback.slider.removesuffix("_slider")))
            _component(data=playback.data, key=f"live_over_{key}")


def numbers_in(data: object) -> int:
    """How many numbers are in what the browser gets; one takes about seven bytes on the way."""
    if isinstance(data, dict | list):
        return sum(map(numbers_in, data.values() if isinstance(data, dict) else data))
    return int(isinstance(data, int | float) and not isinstance(data, bool))


@contextmanager
def waits(name: str) -> Iterator[None]:
    """Around what still shows the old value while a slider is dragged: it fades."""
    with st.container(key=f"waits_{name}"):
        yield
