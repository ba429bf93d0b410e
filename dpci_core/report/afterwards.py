"""What a release answers afterwards, in sentences: on the page, in reports and in commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from dpci_core.report.words import number, percent

NOISE_HIDES = 0.5
"""Share of an error variance above which privacy noise is called the reason of a large p-value."""
SMALLEST_P = 1e-6
"""A smaller p-value is told as below this: no law is known so far out."""


class AtOnce(Protocol):
    """All intervals of a release at once; `release.Together` is the whole of it."""

    @property
    def level(self) -> float: ...
    @property
    def released(self) -> float: ...
    @property
    def holds(self) -> float: ...
    @property
    def multiplier(self) -> float: ...
    @property
    def intervals(self) -> Mapping[str, object]: ...


def hold_together(found: AtOnce) -> str:
    """How often all intervals hold at once, and what would make them; empty for one.

    >>> from types import SimpleNamespace as Found
    >>> hold_together(Found(
    ...     level=0.95, released=0.95, holds=0.815, multiplier=1.271, intervals={"a": 0, "b": 0}))
    'Each interval holds in 95 %, both in about 82 %; 1.27 times as long, both hold in 95 %.'
    """
    each, asked = (f"{100.0 * level:.10g} %" for level in (found.released, found.level))
    n = len(found.intervals)
    if n == 1:
        return ""
    every, all_of = ("both", "both") if n == 2 else (f"all {n} together", "all")
    return (
        f"Each interval holds in {each}, {every} in about {percent(found.holds)}; "
        f"{number(found.multiplier)} times as long, {all_of} hold in {asked}."
    )


def p_value(p: float, privacy_share: float, level: float = 0.95) -> str:
    """A p-value, with what a large one does not say where privacy noise hides effects.

    >>> p_value(0.0312, 0.2)
    'p = 0.0312.'
    """
    told = f"p below {SMALLEST_P:.6f}." if p < SMALLEST_P else f"p = {number(p)}."
    if p < 1.0 - level or privacy_share <= NOISE_HIDES:
        return told
    return (
        f"{told} Privacy noise is {percent(privacy_share)} of the error variance: this says more "
        "about the noise than about the effect."
    )


CHARGED = (
    "All of this is computed from what was released: nothing is charged, however much is asked."
)
AFTER_LOOKING = (
    "If a combination is chosen after looking at the release, use the interval that holds for all "
    "combinations at once (Scheffé)."
)
POINTWISE = "An interval for this row alone, of the model's chance; not of what will happen."
NOT_EXACT = (
    "The noise on the matrices nearly dominates here: everything below is at least as long as the "
    "released intervals, and may be longer than needed."
)
