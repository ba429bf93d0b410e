"""Colours that survive colour blindness and both themes, with a second channel, the marker, for
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Definition = str
Mechanism = str
LossName = Literal["logistic", "huber_svm"]
CalibrationName = Literal["sharp", "published"]

WORDS = {
    "pure": "Pure ε",
    "zcdp": "zCDP",
    "objective": "objective",
    "output": "output",
    "logistic": "logistic",
    "huber_svm": "SVM",
}
"""Names on charts."""


SCANNED = {"dark": "#000000", "light": "#FFFFFF"}
"""Of QR codes, in both themes: scanners want dark on light."""


@dataclass(frozen=True)
class Style:
    """How a combination is drawn: published fainter and dashed, with a dot in its marker."""

    colour: str
    marker: str
    opacity: float
    dash: str


@dataclass(frozen=True)
class Combination:
    """A definition, a mechanism, a loss and how the intervals are calibrated."""

    definition: Definition
    mechanism: Mechanism
    loss: LossName
    calibration: CalibrationName = "sharp"

    @property
    def key(self) -> str:
        """For keys and columns."""
        return f"{self.definition}-{self.mechanism}-{self.loss}-{self.calibration}"

    @property
    def words(self) -> tuple[str, str, str]:
        """Of definition, mechanism and loss."""
        return (
            WORDS.get(self.definition, self.definition),
            WORDS.get(self.mechanism, self.mechanism),
            WORDS.get(self.loss, self.loss),
        )

    @property
    def plain(self) -> str:
        """Without the calibration, where a page has only one."""
        return " · ".join(self.words)

    @property
    def label(self) -> str:
        """For legends."""
        return f"{self.plain} · {self.calibration}"

    @property
    def short(self) -> str:
        """For narrow places."""
        return shortened(self.label)

    @property
    def style(self) -> Style:
        """Colour by definition, mechanism and loss; marker by mechanism and loss, open for zCDP;
        grey and a cross where one of them has none of its own.
        """
        is_sharp = self.calibration == "sharp"
        colours = _COLOURS.get((self.definition, self.mechanism), ())
        return Style(
            dict(zip(_LOSSES, colours, strict=False)).get(self.loss, QUIET),
            _MARKERS.get((self.mechanism, self.loss), "x")
            + _FILLS.get(self.definition, "")
            + "-dot" * (not is_sharp),
            opacity=0.45 if is_sharp else 0.22,
            dash="solid" if is_sharp else "longdash",
        )


def shortened(label: str) -> str:
    """A label for narrow places."""
    return label.replace("objective", "obj.").replace("output", "out.").replace("logistic", "logit")


def ways(combinations: Sequence[Combination]) -> list[str]:
    """What tells combinations apart; "private" for a single one.

    >>> ways([Combination("pure", "objective", "logistic"), Combination("pure", "output", "logistic")])
    ['objective', 'output']
    """  # noqa: E501 - one line of a shell
    parts = [combination.label.split(" · ") for combination in combinations]
    differ = [len(set(column)) > 1 for column in zip(*parts, strict=True)]
    named = [[word for word, is_own in zip(row, differ, strict=True) if is_own] for row in parts]
    return [" · ".join(row) or "private" for row in named]


_LOSSES: tuple[LossName, ...] = ("logistic", "huber_svm")
# Mid-tones: at least 3 : 1 against both themes; the four of a loss stay apart under every colour
# blindness.
_COLOURS = {
    ("pure", "objective"): ("#1F77B8", "#8084A1"),
    ("pure", "output"): ("#D76C00", "#925D48"),
    ("zcdp", "objective"): ("#1CA55D", "#CD1538"),
    ("zcdp", "output"): ("#A63BE8", "#F935E9"),
}
BLUE, ORANGE, GREEN = (
    _COLOURS[key][0] for key in (("pure", "objective"), ("pure", "output"), ("zcdp", "objective"))
)
"""For what is no combination: two or three things on one chart."""
SLATE, VIOLET = "#8084A1", "#A63BE8"
"""Two more of these, where there are four or five."""
QUIET = "#8A8F98"
"""Lines that only give orientation, and what is not private."""
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
    "LIGHT_LINE": ("theme.light.borderColor", "#d5dce3"),
    "DARK_LINE": ("theme.dark.borderColor", "#33404d"),
    "LIGHT_LINK": ("theme.light.linkColor", "#0068c9"),
    "DARK_LINK": ("theme.dark.linkColor", "#3d9df3"),
}
"""Colours of the theme, and what Streamlit takes where a theme of somebody's own leaves them
out.
"""
_FILLS = {"pure": "", "zcdp": "-open"}
_MARKERS = {
    ("objective", "logistic"): "circle",
    ("objective", "huber_svm"): "square",
    ("output", "logistic"): "diamond",
    ("output", "huber_svm"): "triangle-up",
}

ALL_COMBINATIONS: tuple[Combination, ...] = tuple(
    Combination(definition, mechanism, loss, calibration)
    for calibration in ("sharp", "published")
    for definition, mechanism in _COLOURS
    for loss in _LOSSES
)

SOURCE_MARKS = {
    "formula": ("∿ A formula, no data", "#8A8F98"),
    "simulated": ("◇ Simulated data", "#5B6BC0"),
    "public": ("● Public data", "#2E7D5B"),
    "declared public": ("▲ Your file, declared public", "#B0651D"),
    "declared synthetic": ("△ Your file, declared synthetic", "#A0529B"),
}
"""Badge and colour of each kind of source: they look different on every chart."""
