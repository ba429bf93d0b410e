"""What is computed for a picture, before anything is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array, Flags
from ui.session.choices import Combination


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Chart 1 for one combination: estimate and three lengths per coefficient, arrays (k,).

    left: share of the coefficients without penalty that the estimates are, where it is known and
    they are not those themselves.
    is_not_reportable: of `Forecast`.
    """

    combination: Combination
    names: tuple[str, ...]
    estimate: Array
    ci_length: Array
    vi_length: Array
    nonprivate_length: Array
    left: Array | None = None
    is_not_reportable: Flags | None = None

    @property
    def counts(self) -> Flags:
        """The coefficients whose intervals count, (k,)."""
        if self.is_not_reportable is None:
            return np.ones(len(self.names), dtype=np.bool_)
        return ~self.is_not_reportable


@dataclass(frozen=True, eq=False)
class SweepCurve:
    """Lengths along one control for one combination, arrays (m,); NaN where a point is not
    feasible.
    """

    combination: Combination
    x: Array
    ci_length: Array
    ci_sd: Array
    vi_length: Array
    grades: tuple[str, ...]
    extrapolated_from: float | None = None
    nonprivate_length: Array | None = None
