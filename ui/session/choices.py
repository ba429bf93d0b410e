"""What the dashboard offers to choose from: of each choice its words, and what it is drawn with.

The one table of these names: other modules use a choice's attributes and never compare its name. No
Streamlit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpci_core.design import CalibrationName
from dpci_core.intervals.estimands import Penalised, Unpenalised
from dpci_core.losses import HuberSVM, Logistic, SmoothedHinge
from dpci_core.mechanisms.objective import Objective
from dpci_core.mechanisms.output import Output
from dpci_core.mechanisms.steps import Steps
from dpci_core.privacy.budget import GDP, ZCDP, Budget, PureDP
from ui.kit.palette import (
    BLUE,
    BROWN,
    GREEN,
    ORANGE,
    PINK,
    QUIET,
    RED,
    SLATE,
    VIOLET,
    Style,
)


@dataclass(frozen=True, kw_only=True)
class Option:
    """A choice, as it is called on its control."""

    label: str


@dataclass(frozen=True, kw_only=True)
class Part(Option):
    """A part of a combination: on charts, and where there is little room."""

    word: str
    short: str


@dataclass(frozen=True, kw_only=True)
class Smoothing(Option):
    """How the kink of the SVM is rounded: on the control of its width, and in a list."""

    width: str
    aside: str


@dataclass(frozen=True, kw_only=True)
class Target(Option):
    """What intervals are for: in the line of choices, and as what the penalty leads to."""

    word: str
    estimate: str


@dataclass(frozen=True, kw_only=True)
class Currency(Option):
    """How a budget is typed.

    definition: in which it is spent.
    limits: of the total that a control reaches.
    map_limits: of the totals on the map of Plan.
    is_promise: whether an epsilon at delta is typed, which buys an amount of the definition.
    """

    definition: type[Budget]
    limits: tuple[float, float]
    map_limits: tuple[float, float]
    is_promise: bool = False

    @property
    def letter(self) -> str:
        """The Greek letter of a total as it is typed."""
        return "ε" if self.is_promise else self.definition.letter


DEFINITIONS = {
    PureDP.definition: Part(label="Pure ε", word="Pure ε", short="Pure ε"),
    ZCDP.definition: Part(label="zCDP", word="zCDP", short="zCDP"),
}
COUNTED_AS = {GDP.definition: ZCDP.definition}
"""Under which definition of the controls another is shown: Gaussian noise read at delta."""
PROMISE = "approx"
"""The currency of an epsilon at a delta."""
CURRENCIES = {
    PureDP.definition: Currency(
        label="Pure ε", definition=PureDP, limits=(0.05, 10.0), map_limits=(0.05, 10.0)
    ),
    ZCDP.definition: Currency(
        label="zCDP ρ", definition=ZCDP, limits=(0.0005, 20.0), map_limits=(0.0005, 10.0)
    ),
    PROMISE: Currency(
        label="(ε, δ)",
        definition=ZCDP,
        limits=(0.05, 10.0),
        map_limits=(0.05, 10.0),
        is_promise=True,
    ),
}
MECHANISMS = {
    Objective.name: Part(label="Objective perturbation", word="objective", short="obj."),
    Output.name: Part(label="Output perturbation", word="output", short="out."),
}
IN_METRIC = {Steps.name: Part(label="Clipped Newton steps", word="newton", short="newt.")}
"""Offered where the noise is shaped by a released second moment only."""
EVERY_MECHANISM = MECHANISMS | IN_METRIC
LOSSES = {
    Logistic.name: Part(label="Logistic regression", word="logistic", short="logit"),
    HuberSVM.name: Part(label="SVM", word="SVM", short="SVM"),
}
SMOOTHINGS = {
    HuberSVM.name: Smoothing(label="Huber", width="Huber width h (SVM only)", aside=""),
    SmoothedHinge.name: Smoothing(
        label="Smoothed hinge",
        width="Width h of the smoothing (SVM only)",
        aside=", smoothed hinge",
    ),
}
CALIBRATIONS: dict[CalibrationName, Part] = {
    "sharp": Part(label="Sharp (this project)", word="sharp", short="sharp"),
    "published": Part(label="Published (the paper)", word="published", short="published"),
}
PENALISED, UNPENALISED = Penalised.name, Unpenalised.name
TARGETS = {
    PENALISED: Target(
        label="Coefficient with penalty (as in the paper)",
        word="Penalised target",
        estimate="shrunken coefficient",
    ),
    UNPENALISED: Target(
        label="Coefficient without penalty",
        word="Without penalty",
        estimate="coefficient without penalty",
    ),
}
# Mid-tones: at least 3 : 1 against both themes; the four of a loss stay apart under every colour
# blindness.
_COLOURS = {
    (PureDP.definition, Objective.name): {Logistic.name: BLUE, HuberSVM.name: SLATE},
    (PureDP.definition, Output.name): {Logistic.name: ORANGE, HuberSVM.name: BROWN},
    (ZCDP.definition, Objective.name): {Logistic.name: GREEN, HuberSVM.name: RED},
    (ZCDP.definition, Output.name): {Logistic.name: VIOLET, HuberSVM.name: PINK},
    (ZCDP.definition, Steps.name): {Logistic.name: BROWN},
    (ZCDP.definition, "clipped steps"): {"linear": GREEN},
}
_MARKERS = {
    (Objective.name, Logistic.name): "circle",
    (Objective.name, HuberSVM.name): "square",
    (Output.name, Logistic.name): "diamond",
    (Output.name, HuberSVM.name): "triangle-up",
    (Steps.name, Logistic.name): "triangle-up",
}
_FILLS = {ZCDP.definition: "-open"}


@dataclass(frozen=True)
class Combination:
    """A definition, a mechanism, a loss and how the intervals are calibrated."""

    definition: str
    mechanism: str
    loss: str
    calibration: CalibrationName = "sharp"

    @property
    def key(self) -> str:
        """The name of the combination in widget keys and column names."""
        return f"{self.definition}-{self.mechanism}-{self.loss}-{self.calibration}"

    @property
    def words(self) -> tuple[str, str, str]:
        """The words for definition, mechanism and loss; the name of one that is not offered."""
        chosen = (
            (DEFINITIONS, self.definition),
            (EVERY_MECHANISM, self.mechanism),
            (LOSSES, self.loss),
        )
        first, second, third = (
            offered[name].word if name in offered else name for offered, name in chosen
        )
        return first, second, third

    @property
    def plain(self) -> str:
        """The label without the calibration, where a page has only one."""
        return " · ".join(self.words)

    @property
    def label(self) -> str:
        """The label of the combination in legends."""
        return f"{self.plain} · {self.calibration}"

    @property
    def short(self) -> str:
        """The label of the combination in narrow places."""
        return shortened(self.label)

    @property
    def style(self) -> Style:
        """Colour by definition, mechanism and loss; marker by mechanism and loss, open for zCDP;
        grey and a cross where one of them has none of its own.
        """
        is_sharp = self.calibration == "sharp"
        return Style(
            _COLOURS.get((self.definition, self.mechanism), {}).get(self.loss, QUIET),
            _MARKERS.get((self.mechanism, self.loss), "x")
            + _FILLS.get(self.definition, "")
            + "-dot" * (not is_sharp),
            opacity=0.55 if is_sharp else 0.28,
            dash="solid" if is_sharp else "longdash",
        )


ALL_COMBINATIONS = tuple(
    Combination(definition, mechanism, loss, calibration)
    for calibration in CALIBRATIONS
    for definition in DEFINITIONS
    for mechanism in MECHANISMS
    for loss in LOSSES
)


LINEAR = Combination(ZCDP.definition, "clipped steps", "linear")
"""Of a regression of a number, which is offered beside none of them."""


def labels_of(offered: Mapping[Any, Option]) -> dict[Any, str]:
    """The choices of a control, each by its label."""
    return {name: choice.label for name, choice in offered.items()}


def shortened(label: str) -> str:
    """A label for narrow places."""
    for option in (*EVERY_MECHANISM.values(), *LOSSES.values()):
        label = label.replace(option.word, option.short)
    return label


def distinguishing_labels(
    combinations: Sequence[Combination], among: Sequence[Combination] = ()
) -> list[str]:
    """What tells combinations apart; "private" for a single one.

    among: all that were chosen, where these are what is left of them.

    >>> pure = Combination("pure", "objective", "logistic")
    >>> distinguishing_labels([pure, Combination("pure", "output", "logistic")])
    ['objective', 'output']
    """
    parts = [combination.label.split(" · ") for combination in combinations]
    every = parts + [combination.label.split(" · ") for combination in among]
    differ = [len(set(column)) > 1 for column in zip(*every, strict=True)]
    named = [[word for word, is_own in zip(row, differ, strict=True) if is_own] for row in parts]
    return [" · ".join(row) or "private" for row in named]
