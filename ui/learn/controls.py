"""The controls that several screens of Learn share."""

from __future__ import annotations

from collections.abc import Sequence

from ui.controls.paired import FINE
from ui.learn.model import Control

EPSILONS = (*sorted(float(f"{m}e{e}") for m in FINE for e in (-1, 0)), 10.0)
"""Fine enough for a picture that follows the pointer smoothly."""


def budget(start: float = 1.0, lowest: float = 0.1) -> Control:
    """A total budget, with its ends named as everywhere."""
    return Control(
        label="Total budget ε",
        values=tuple(value for value in EPSILONS if value >= lowest),
        start=start,
        show=lambda value: f"ε = {value:g}",
        low_end="more private",
        high_end="more accurate",
    )


def records(
    values: Sequence[float],
    start: float,
    low_end: str = "small table",
    high_end: str = "large table",
) -> Control:
    """A number of records."""
    return Control(
        label="Records n",
        values=tuple(float(n) for n in values),
        start=start,
        show=lambda value: f"n = {value:,.0f}",
        low_end=low_end,
        high_end=high_end,
    )


def penalty(values: Sequence[float], start: float, low_end: str, high_end: str) -> Control:
    """A penalty."""
    return Control(
        label="Penalty c",
        values=tuple(values),
        start=start,
        show=lambda value: f"c = {value:g}",
        low_end=low_end,
        high_end=high_end,
    )
