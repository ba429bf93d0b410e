"""What is computed for a picture, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from dpci_core.base.array import Array
from ui.kit.palette import Combination


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Chart 1 for one combination: estimate and three lengths per coefficient, arrays (k,)."""

    combination: Combination
    names: tuple[str, ...]
    estimate: Array
    ci_length: Array
    vi_length: Array
    nonprivate_length: Array


@dataclass(frozen=True, eq=False)
class SweepCurve:
    """Chart 2 for one combination, arrays (m,); NaN where a point is not feasible."""

    combination: Combination
    x: Array
    ci_length: Array
    ci_sd: Array
    vi_length: Array
    grades: tuple[str, ...]
    extrapolated_from: float | None = None
