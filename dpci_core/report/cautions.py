"""What has to be known before a design is released, in the same words on pages, in commands and in
reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.design import Design
from dpci_core.report.words import called, percent

COVERAGE_SLACK = 0.01
"""Forecast coverage may fall so far below the level without a warning: no forecast is surer."""
LEAST_LEFT = 0.8
"""Share of the coefficients without penalty that a penalty may leave without a warning."""
_MOST_NAMES = 6


class _Useful(Protocol):
    @property
    def is_useless(self) -> bool: ...
    @property
    def sentence(self) -> str: ...


class _Valid(Protocol):
    @property
    def reasons(self) -> tuple[str, ...]: ...


class Foreseen(Protocol):
    """What a forecast says of a design; `intervals.forecast.Forecast` and `plan.PlanNumbers` do."""

    @property
    def coverage(self) -> Array: ...
    @property
    def is_out_of_reach(self) -> Flags: ...
    @property
    def usefulness(self) -> _Useful: ...
    @property
    def validity(self) -> _Valid: ...


def cautions(
    found: Foreseen, *, design: Design, names: Sequence[str], shrinkage: float | None = None
) -> tuple[str, ...]:
    """Return what speaks against a release of a design, a sentence each; none where nothing does.

    Useless intervals, an invalid forecast, coefficients out of reach, coverage that falls short,
    and a penalised target far from the coefficients without penalty, in this order.

    Args:
        found: the forecast.
        design: it is for.
        names: of the coefficients, (p,).
        shrinkage: as for `report.covered.covered`.
    """
    said = [found.usefulness.sentence] if found.usefulness.is_useless else []
    said += found.validity.reasons
    lost = [name for name, is_lost in zip(names, found.is_out_of_reach, strict=True) if is_lost]
    if lost:
        said.append(silent(lost))
    is_short = found.coverage < design.confidence_level - COVERAGE_SLACK
    short = int(np.sum(is_short & ~found.is_out_of_reach))
    if short:
        said.append(
            f"For {short} of {len(names)} coefficients the forecast coverage is more than "
            f"{100 * COVERAGE_SLACK:g} point below the level, at worst "
            f"{100 * float(np.min(found.coverage[~found.is_out_of_reach])):.1f} %: these intervals "
            "would promise too much."
        )
    if design.target == "penalised" and shrinkage is not None and shrinkage < LEAST_LEFT:
        said.append(
            f"The intervals are for the coefficient penalised at c = {design.regularization:g}, "
            f"shrunk to about {percent(max(shrinkage, 0.0))} of what the effects are without "
            "penalty. For the effects themselves choose the target without penalty, or a smaller c."
        )
    return tuple(said)


def silent(names: Sequence[str]) -> str:
    """That nothing can be said about these coefficients.

    >>> silent(["age", "income"])
    'This release cannot speak about age, income.'
    """
    more = len(names) - _MOST_NAMES
    listed = ", ".join(map(called, names[:_MOST_NAMES])) + (f" and {more} more" if more > 0 else "")
    return f"This release cannot speak about {listed}."
