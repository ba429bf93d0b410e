"""Records in, private estimate with confidence intervals out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import RecordBatches, as_table, table_of
from dpci_core.base.errors import check_generator, short_repr
from dpci_core.base.linalg import floor_eigenvalues
from dpci_core.base.persons import check_persons, person_rows
from dpci_core.base.rows import WeightedRows
from dpci_core.design import Design, check_design
from dpci_core.intervals.inflation import Usefulness, judge_usefulness
from dpci_core.intervals.private_fit import private_fit
from dpci_core.mechanisms.mechanism import model_noise
from dpci_core.solvers.moments import Moments

RESULTS_VERSION = 1
"""Raised whenever a number changes for the same input and generator."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalResult:
    """A simulated private release: estimates and intervals, not for publication.

    Arrays are (p,), one entry a coefficient with the constant last, in units of the coefficient.

    Args:
        estimate: the middle of the intervals: `theta_priv`, or its Newton step if the target is
            unpenalised.
        low: lower ends of the intervals.
        high: upper ends of the intervals.
        theta_priv: the released coefficients.
        is_not_estimable: coefficients whose step to the unpenalised target removes only a part of
            their penalty bias.
        sampling_se: the part of the standard error that sampling causes.
        privacy_se: the part of the standard error that the noise on the coefficients causes.
        confidence_level: like 0.95.
        design: the design that was run, its n that of the rows.
        hessian: the private Hessian behind the intervals, (p, p).
        covariance: the private gradient covariance behind the intervals, (p, p).
        noise_factor: what the noise-aware correction multiplied a half-width by; 1 without it.
        is_noise_aware: which half-widths have a noise-aware part.
        n_lifted_hessian: how many eigenvalues of the noisy Hessian the published floor raises.
        n_lifted_covariance: the same for the gradient covariance.
        smallest_hessian_eigenvalue: of the noisy Hessian, before any repair.
        usefulness: whether the intervals can say anything.
        basis, constant: as they were given: intervals are for B theta.
        results_version: raised when a number changes for the same input and generator.
    """

    estimate: Array
    low: Array
    high: Array
    theta_priv: Array
    is_not_estimable: Flags
    sampling_se: Array
    privacy_se: Array
    confidence_level: float
    design: Design
    hessian: Array
    covariance: Array
    noise_factor: Array
    is_noise_aware: Flags
    n_lifted_hessian: int
    n_lifted_covariance: int
    smallest_hessian_eigenvalue: float
    usefulness: Usefulness
    basis: Array | None = None
    constant: float | None = None
    results_version: int = RESULTS_VERSION

    __repr__ = short_repr

    @property
    def n_records(self) -> int:
        """n, public."""
        return self.design.n_records

    @property
    def length(self) -> Array:
        """Length of each interval, (p,)."""
        return self.high - self.low

    def released_moments(self) -> Moments:
        """The release as moments, for a forecast that costs no budget: post-processing."""
        return Moments(
            self.theta_priv,
            self.hessian,
            floor_eigenvalues(self.covariance, 0.0).matrix,
            self.n_records,
            self.design.loss,
            self.design.regularization,
            basis=self.basis,
            constant=self.constant,
        )

    def to_record(self) -> dict[str, object]:
        """One tidy row of plain values: the design, the diagnostics and the arrays as lists."""
        return {
            "loss": self.design.loss.name,
            "mechanism": self.design.mechanism,
            "definition": self.design.definition,
            "budget_total": str(self.design.budget.total),
            "regularization": self.design.regularization,
            "calibration": asdict(self.design.switches),
            "confidence_level": self.confidence_level,
            "n_records": self.n_records,
            "target": self.design.target,
            "estimate": self.estimate.tolist(),
            "theta_priv": self.theta_priv.tolist(),
            "is_not_estimable": self.is_not_estimable.tolist(),
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "sampling_se": self.sampling_se.tolist(),
            "privacy_se": self.privacy_se.tolist(),
            "noise_factor": self.noise_factor.tolist(),
            "is_noise_aware": self.is_noise_aware.tolist(),
            "status": self.design.status,
            "warning": self.usefulness.sentence,
            "n_lifted_hessian": self.n_lifted_hessian,
            "n_lifted_covariance": self.n_lifted_covariance,
            "smallest_hessian_eigenvalue": self.smallest_hessian_eigenvalue,
            "results_version": self.results_version,
        }


def private_intervals(
    X: npt.ArrayLike | WeightedRows | RecordBatches,
    y: npt.ArrayLike | None = None,
    *,
    design: Design,
    rng: np.random.Generator,
    persons: Iterable[object] | None = None,
    basis: Array | None = None,
    constant: float | None = None,
) -> IntervalResult:
    """Train privately, release both matrices privately, and return the intervals.

    Args:
        X: (n, p) float64, row norms at most 1, constant column last and included in the norm; or
            batches, which hold y too.
        y: (n,) in {-1, +1}; one class only is valid; None with batches.
        design: what is simulated, at which budget; its n becomes that of the rows.
        rng: a seeded generator: the result is a simulation, not a release.
        persons: whose row each is, (n,), for a design in which a person may have several: the first
            `design.rows_per_person` of each count, with a weight of 1 together, and a row without a
            name does not. Intervals are then for the minimiser over persons, and `n_records` is
            their number.
        basis: B (p, p) of the records (`Records.meaning`): intervals are for B theta; None for
            theta itself.
        constant: the last entry of every row, of `Records.meaning` too: where it is known,
            intervals of coefficients without penalty allow for a curvature that falls further
            (`Correction.lift`).

    Privacy: `design.budget.total` in its own definition, replace-one neighbours, n public, of one
             record, or with persons of all rows of one, whose number is public then; for noise
             that cannot be predicted; a NumPy generator is not that, so nothing drawn here may be
             published.
    Raises:  DataRejectedError, InfeasibleDesignError (both ValueError), ConvergenceError.
    Source:  WKL Algorithms 1-5.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import ZCDP
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(-0.7, 0.7, (2000, 1)), np.full(2000, 0.7)]
    >>> y = np.where(rng.random(2000) < 0.5 + X[:, 0] / 2, 1, -1)
    >>> budget = ZCDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.01,
    ...                 n_records=len(y))
    >>> np.round(private_intervals(X, y, design=design, rng=rng).length, 2).tolist()
    [0.33, 0.29]
    """
    check_design(design)
    check_generator(rng)
    A = table_of(X, y)
    check_persons(A, persons, rows_per_person=design.rows_per_person)
    if persons is not None:
        assert A.memory is not None
        A = as_table(person_rows(A.memory[:], persons, rows_per_person=design.rows_per_person))
    p = A.shape[1]
    design = replace(design, n_records=len(A))
    model_noise(design)  # refuses an infeasible design before any work
    fit = private_fit(A, design=design, source=rng)
    assert fit.moments is not None
    hessian, covariance = fit.moments.hessian, fit.moments.covariance
    widths = fit.half_widths(basis, constant=constant)
    q, law, estimate = widths.half_width, widths.law, widths.estimate(fit.theta_priv)
    return IntervalResult(
        estimate=estimate,
        low=estimate - q,
        high=estimate + q,
        theta_priv=fit.theta_priv,
        is_not_estimable=widths.is_not_estimable,
        sampling_se=np.sqrt(law.sampling),
        privacy_se=np.sqrt(law.privacy(p)),
        confidence_level=design.confidence_level,
        design=design,
        hessian=widths.hessian,
        covariance=widths.covariance,
        noise_factor=widths.factor,
        is_noise_aware=widths.is_noise_aware,
        n_lifted_hessian=hessian.n_lifted,
        n_lifted_covariance=covariance.n_lifted,
        smallest_hessian_eigenvalue=hessian.smallest_before,
        usefulness=judge_usefulness(q, estimate**2, law, dim=p),
        basis=basis,
        constant=constant,
    )
