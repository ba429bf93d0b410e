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


SOME_MISS, NONE_REPORTED = "some miss", "none reported"
"""Of a point of a curve: some effect could not be reported there, or the intervals cover less than
they promise; or no effect could be.
"""


@dataclass(frozen=True, eq=False)
class SweepCurve:
    """Lengths along one control for one combination, arrays (m,); NaN where a point is not
    feasible or nothing could be reported.

    grades: "valid"; "rough" or "unusable", of the forecast; `SOME_MISS` or `NONE_REPORTED`.
    """

    combination: Combination
    x: Array
    ci_length: Array
    ci_sd: Array
    vi_length: Array
    grades: tuple[str, ...]
    extrapolated_from: float | None = None
    nonprivate_length: Array | None = None

    @property
    def is_firm(self) -> Flags:
        """Which points (m,) a length can be taken from: the forecast holds, and the intervals keep
        their promise.
        """
        is_valid = np.array([grade == "valid" for grade in self.grades])
        return np.asarray(is_valid & np.isfinite(self.ci_length))
