"""What a screen of Learn is made of: words, one control, one question, and pure functions of the
control's value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ui.kit.picture import Picture
from ui.learn.numbers import Numbers


@dataclass(frozen=True, kw_only=True)
class Control:
    """The one control of a screen: its positions, where it starts, and what its two ends mean."""

    label: str
    values: tuple[float, ...]
    start: float
    show: Callable[[float], str]
    low_end: str
    high_end: str

    def __post_init__(self) -> None:
        if self.values[0] <= 0:
            raise ValueError(f"Expected values of “{self.label}” > 0.")
        if self.start not in self.values or list(self.values) != sorted(set(self.values)):
            raise ValueError(
                f"Expected start={self.start!r} among the rising values of “{self.label}”."
            )

    def towards(self, typed: float, now: float) -> float:
        """The position nearest to a typed number, by ratio; at least one step away, or a small
        change would be lost.
        """
        nearest = min(self.values, key=lambda value: abs(math.log(value / typed)))
        if nearest != now or typed == now:
            return nearest
        beyond = [value for value in self.values if (value > now) == (typed > now) and value != now]
        return min(beyond, key=lambda value: abs(value - now), default=now)

    def read(self, text: str) -> float | None:
        """The position that a link names; None if there is no such position."""
        return next((value for value in self.values if f"{value:g}" == text), None)


@dataclass(frozen=True)
class Choice:
    """One answer, and what the reader is told who gives it."""

    text: str
    reply: str
    is_right: bool = False


@dataclass(frozen=True, kw_only=True)
class ReleaseTask:
    """Asked before the picture is seen; exactly one choice is right."""

    ask: str
    choices: tuple[Choice, ...]

    def __post_init__(self) -> None:
        if sum(choice.is_right for choice in self.choices) != 1:
            raise ValueError(f"Expected one right choice for “{self.ask}”.")


@dataclass(frozen=True, kw_only=True)
class Screen:
    """One idea. `compute` asks the core, `figure` draws its table, `sentence` says what is seen,
    all at one value.

    name: in a few words, for links.  address: in a link; the key where that is a word.
    assumptions: what stands under the picture, after the source.  height: in pixels.
    """

    key: str
    name: str
    title: str
    text: str
    control: Control
    question: ReleaseTask
    compute: Callable[[float], Numbers]
    figure: Callable[[Numbers], Picture]
    sentence: Callable[[Numbers], str]
    assumptions: str
    mechanism: str
    source: str = "simulated"
    height: int = 340
    address: str = ""
