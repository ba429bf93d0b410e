"""The numbers of a plan: what its forecast says, in encoded and in original units, and what its
budget means.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.design import Design, guarantee_at
from dpci_core.intervals.forecast import Forecast, Validity, forecast
from dpci_core.intervals.inflation import Usefulness
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.planner import Promise
from dpci_core.planner.targets import as_if
from dpci_core.report.cautions import Caution, cautions
from dpci_core.report.covered import covered, weighted_rows
from dpci_core.solvers.moments import Moments

_FIELDS = ("estimate", "ci_length", "ci_length_sd", "vi_length", "nonprivate_length", "bias")
"""Of a forecast, in a record."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PlanNumbers:
    """What a plan promises, by forecast; the means are over coefficients, in encoded units. All but
    `promise` is about the first world, in which everything is as declared.

    scaled, original: forecasts in encoded units, and per original unit of each column.  epsilon,
    delta: the guarantee at the plan's delta (`guarantee_at`).  promise: what holds in every
    world, of the effects in original units, (d,), the chance of the goal among it.
    is_not_reportable: (p,), coefficients that are not reportable, in encoded or original
    units (`Forecast.is_not_reportable`).  shrinkage: share of a coefficient without penalty that c
    leaves (`shrinkage_of`), None where the moments do not know.  n_weighted, n_rows: planning rows
    that count less in the metric of the design, and all of them.
    """

    names: tuple[str, ...]
    n_records: int
    scaled: Forecast
    original: Forecast
    coverage: Array
    is_not_reportable: Flags
    ci_length_mean: float
    vi_length_mean: float
    nonprivate_length_mean: float
    coverage_mean: float
    epsilon: float
    delta: float
    as_if_records: int
    shrinkage: float | None
    validity: Validity
    usefulness: Usefulness
    n_weighted: int
    n_rows: int
    promise: Promise

    @property
    def not_reportable(self) -> tuple[str, ...]:
        """Names of the coefficients that are not reportable."""
        flags = zip(self.names, self.is_not_reportable, strict=True)
        return tuple(name for name, is_lost in flags if is_lost)

    def cautions(self, design: Design) -> tuple[Caution, ...]:
        """Return what speaks against a release of the design that they are of, gravest first."""
        return cautions(
            self,
            design=design,
            names=self.names,
            shrinkage=self.shrinkage,
            promised=self.promise,
        )

    def covers(self, design: Design) -> str:
        """Return what the intervals are for, to stand after "for the"."""
        return covered(design, self.shrinkage)

    def rests_on(self, design: Design) -> tuple[str, ...]:
        """Return what a release rests on that is not the same for every model, in sentences."""
        found = weighted_rows(design, self.n_weighted, self.n_rows)
        if mechanism_of(design).perturbs_objective:
            found += (
                "A noise vector too long for a certified fit ends a release without a result: a "
                "delta of at most 2^-200.",
            )
        if not mechanism_of(design).has_minimiser:
            return found
        return (
            *found,
            "The fit reaches its fixed tolerance on every table: proved in exact arithmetic, "
            "tested beyond it.",
        )

    def to_record(self) -> dict[str, Any]:
        """Return the numbers as plain values for JSON; the exported script prints the same."""
        return {
            "n_records": self.n_records,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "ci_length_mean": self.ci_length_mean,
            "vi_length_mean": self.vi_length_mean,
            "nonprivate_length_mean": self.nonprivate_length_mean,
            "coverage_mean": self.coverage_mean,
            "as_if_records": self.as_if_records,
            "validity": self.validity.grade,
            "is_useless": self.usefulness.is_useless,
            "not_reportable": list(self.not_reportable),
            "promise": self.promise.to_record(self.names[:-1]),
            "coefficients": [
                {
                    "name": name,
                    "coverage": float(self.coverage[j]),
                    "scaled": {field: float(getattr(self.scaled, field)[j]) for field in _FIELDS},
                    "original": {
                        field: float(getattr(self.original, field)[j]) for field in _FIELDS
                    },
                }
                for j, name in enumerate(self.names)
            ],
        }


def plan_numbers(
    moments: Moments,
    *,
    design: Design,
    to_original: Array,
    names: tuple[str, ...],
    delta: Decimal,
    promised: Promise,
) -> PlanNumbers:
    """Return the numbers of a design, from moments alone.

    Args:
        moments: fit of the table of the first world, at the c of the design.
        design: that is planned, with its n.
        to_original: L (p, p) from encoded to original coefficients.
        names: of the coefficients, (p,).
        delta: at which a budget in rho or mu^2 is stated as (epsilon, delta).
        promised: what holds in every world.

    Raises:  InfeasibleDesignError if the design cannot run at this n.
    """
    made = forecast(moments, design=design)
    original = forecast(moments, design=design, contrasts=to_original)
    epsilon, at = guarantee_at(design, delta)
    return PlanNumbers(
        names=names,
        n_records=design.n_records,
        scaled=_finite(made),
        original=_finite(original),
        coverage=made.coverage,
        is_not_reportable=made.is_not_reportable | original.is_not_reportable,
        ci_length_mean=made.ci_length_mean,
        vi_length_mean=made.vi_length_mean,
        nonprivate_length_mean=made.nonprivate_length_mean,
        coverage_mean=made.coverage_mean,
        epsilon=epsilon,
        delta=at,
        as_if_records=as_if(made),
        shrinkage=shrinkage_of(moments),
        validity=made.validity,
        usefulness=made.usefulness,
        n_weighted=moments.n_weighted,
        n_rows=moments.n_records,
        promise=promised,
    )


def shrinkage_of(moments: Moments) -> float | None:
    """Return the share of the slope without penalty that the penalised one is: the median over
    slopes, which no unit changes and no single large effect decides.

    Args:
        moments: fitted for the target "unpenalised"; None where they do not know, or where there
            are no coefficients without penalty.
    """
    if moments.unpenalised_fit is None:
        return None
    left, full = moments.theta_hat, moments.unpenalised_fit.unweighted
    if moments.basis is not None:
        left, full = moments.basis @ left, moments.basis @ full
    left, full = left[:-1], full[:-1]
    is_there = full != 0.0
    return float(np.median(left[is_there] / full[is_there])) if is_there.any() else None


def _finite(found: Forecast) -> Forecast:
    assert all(np.isfinite(getattr(found, name)).all() for name in _FIELDS)
    return found
