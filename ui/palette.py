"""Colours that survive colour blindness and both themes, with a second channel (dash, marker) for each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Definition = Literal["pure", "zcdp"]
Mechanism = Literal["objective", "output"]
LossName = Literal["logistic", "huber_svm"]

_WORDS = {
    "pure": "Pure ε",
    "zcdp": "zCDP",
    "objective": "objective",
    "output": "output",
    "logistic": "logistic",
    "huber_svm": "SVM",
}


@dataclass(frozen=True)
class Style:
    """How a combination is drawn."""

    colour: str
    dash: str
    marker: str


@dataclass(frozen=True)
class Combination:
    """A definition, a mechanism and a loss."""

    definition: Definition
    mechanism: Mechanism
    loss: LossName

    @property
    def key(self) -> str:
        """For keys and columns."""
        return f"{self.definition}-{self.mechanism}-{self.loss}"

    @property
    def label(self) -> str:
        """For legends."""
        return " · ".join(_WORDS[w] for w in (self.definition, self.mechanism, self.loss))

    @property
    def short(self) -> str:
        """For narrow places."""
        return self.label.replace("objective", "obj.").replace("output", "out.").replace("logistic", "log.")

    @property
    def style(self) -> Style:
        """Colour by definition and mechanism, marker and dash by mechanism and loss."""
        return STYLES[self]


# Mid-tones of the Okabe-Ito family: at least 3 : 1 against white and against the dark page.
_COLOURS = {
    ("pure", "objective"): ("#1F77B8", "#6E5BC4"),
    ("pure", "output"): ("#C2571A", "#B5479A"),
    ("zcdp", "objective"): ("#0C8A66", "#4C8C2B"),
    ("zcdp", "output"): ("#B07A00", "#7A7F87"),
}
_MARKERS = {
    ("objective", "logistic"): ("solid", "circle"),
    ("objective", "huber_svm"): ("solid", "square"),
    ("output", "logistic"): ("solid", "diamond"),
    ("output", "huber_svm"): ("solid", "triangle-up"),
}

ALL_COMBINATIONS: tuple[Combination, ...] = tuple(
    Combination(definition, mechanism, loss)
    for definition in ("pure", "zcdp")
    for mechanism in ("objective", "output")
    for loss in ("logistic", "huber_svm")
)
STYLES: dict[Combination, Style] = {
    c: Style(
        _COLOURS[c.definition, c.mechanism][c.loss == "huber_svm"],
        *_MARKERS[c.mechanism, c.loss],
    )
    for c in ALL_COMBINATIONS
}

SOURCE_MARKS = {
    "simulated": ("◇ Simulated data", "#5B6BC0"),
    "public": ("● Public data", "#2E7D5B"),
    "declared public": ("▲ Your file, declared public", "#B0651D"),
    "declared synthetic": ("△ Your file, declared synthetic", "#A0529B"),
}
"""Badge and colour of each kind of source: they look different on every chart."""
