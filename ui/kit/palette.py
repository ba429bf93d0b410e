"""Colours that survive colour blindness and both themes, with a second channel, the marker, for
each.
"""

from __future__ import annotations

from dataclasses import dataclass

SCANNED = {"dark": "#000000", "light": "#FFFFFF"}
"""Of QR codes, in both themes: scanners want dark on light."""


@dataclass(frozen=True)
class Style:
    """How a combination is drawn: published fainter and dashed, with a dot in its marker."""

    colour: str
    marker: str
    opacity: float
    dash: str


BLUE, ORANGE, GREEN = "#1F77B8", "#D76C00", "#1CA55D"
"""First of what is drawn, also for what is no combination: two or three things on one chart."""
SLATE, VIOLET = "#8084A1", "#A63BE8"
"""Two more of these, where there are four or five."""
BROWN, RED, PINK = "#925D48", "#CD1538", "#F935E9"
QUIET = "#8A8F98"
"""Lines that only give orientation, and what is not private."""
KEPT = "#4A5160"
"""Settings that are kept to compare with: 7 : 1 on both pages, and another grey than QUIET."""
_TO_WHITE = 0.52
"""How far a colour goes to white on a dark page, so that the pale half of it reaches 3 : 1 too."""


def themed(colour: str) -> str:
    """A colour as CSS that follows the theme; what only gives orientation stays quiet in both.

    >>> themed("#1F77B8")
    'light-dark(#1F77B8, #93bedd)'
    """
    if colour == QUIET:
        return colour
    parts = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    light = "".join(f"{round(x + _TO_WHITE * (255 - x)):02x}" for x in parts)
    return f"light-dark({colour}, #{light})"


GRID = "rgba(138,143,152,0.25)"
CLEAR = "rgba(0,0,0,0)"
LOUD = {"LIGHT_LOUD": "#A3340A", "DARK_LOUD": "#FFB38A"}
"""Words that a reader must not miss, on a light and a dark page: 4.5 : 1 at least."""
HEAT = (
    (0.0, "rgba(31,119,184,0.55)"),
    (0.5, "rgba(31,119,184,0)"),
    (0.5, "rgba(215,108,0,0)"),
    (1.0, "rgba(215,108,0,0.55)"),
)
"""From shorter over nothing to longer; pale enough for words on it in both themes."""
PAPER = "white"
"""Around a filled marker on its own bar."""
THEME_COLOURS = {
    "LIGHT_PAGE": ("theme.light.backgroundColor", "#ffffff"),
    "DARK_PAGE": ("theme.dark.backgroundColor", "#0e1117"),
    "LIGHT_TEXT": ("theme.light.textColor", "#31333f"),
    "DARK_TEXT": ("theme.dark.textColor", "#fafafa"),
    "LIGHT_LINE": ("theme.light.borderColor", "#d5dce3"),
    "DARK_LINE": ("theme.dark.borderColor", "#33404d"),
    "LIGHT_LINK": ("theme.light.linkColor", "#0068c9"),
    "DARK_LINK": ("theme.dark.linkColor", "#3d9df3"),
}
"""Colours of the theme, and what Streamlit takes where a theme of somebody's own leaves them
out.
"""
SOURCE_MARKS = {
    "formula": ("∿ A formula, no data", "#8A8F98"),
    "simulated": ("◇ Simulated data", "#5B6BC0"),
    "public": ("● Public data", "#2E7D5B"),
    "declared public": ("▲ Your file, declared public", "#B0651D"),
    "declared synthetic": ("△ Your file, declared synthetic", "#A0529B"),
}
"""Badge and colour of each kind of source: they look different on every chart."""
