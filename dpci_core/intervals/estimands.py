"""What intervals are for: one class a target, which a design names.

A further target is a subclass of `Estimand` and its line in the registry at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.metric import Metric
from dpci_core.design import ESTIMANDS, Design
from dpci_core.intervals._newton_step import (
    Correction,
    correction,
    no_correction,
    unpenalised_error,
)
from dpci_core.intervals.inflation import ErrorVariance, error_variance
from dpci_core.intervals.spectra import Spectrum
from dpci_core.losses import Loss
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.solvers.moments import Moments
from dpci_core.solvers.one_step import has_one_step_point
from dpci_core.solvers.variance_drift import VarianceDrift

_FULL_WEIGHT_SE = 2.5
"""Standard errors of the planning rows that what weights move must exceed to count in full."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the intervals are for: contrasts (k, p) of the penalised coefficients, the value they
    should have, the variance that the noise on H adds to an estimate of them, and `target_se`
    (k,), the standard error of planning rows in what weights and limits move: it counts as bias.
    """

    contrasts: Array
    value: Array
    extra: Array | float
    target_se: Array | float


class Estimand(ABC):
    """What the intervals of a design are for, and the way there from the private coefficients.

    What is not overridden is that of the coefficient at the design's own penalty.
    """

    name: ClassVar[str]
    """In designs, files and links."""
    reached: ClassVar[str]
    """What a report says of it, to stand after "for the coefficient"."""
    is_shrunk: ClassVar[bool]
    """Whether what the penalty does to a coefficient is a part of what the intervals are for."""
    takes_step: ClassVar[bool]
    """Whether the estimate is another than the private coefficients, made with the matrices."""
    needs_unpenalised_fit: ClassVar[bool] = False
    """Whether planning rows are fitted without a penalty too."""

    @abstractmethod
    def covers(self, c: float) -> str:
        """Return what stands in titles after "for the", at the penalty c."""

    @abstractmethod
    def in_table(self, penalised: Array, unpenalised: Callable[[], Array]) -> Array:
        """Return what the intervals are for (p,) where a table is the population.

        Args:
            penalised: its coefficients at the penalty of the design, (p,).
            unpenalised: returns those without a penalty, all rows in full, (p,).
        """

    @abstractmethod
    def correction(
        self,
        spectrum: Spectrum,
        theta: Array,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
        constant: float | None = None,
    ) -> Correction:
        """Return the contrasts of the private coefficients that estimate it, with what they cost.

        Args:
            spectrum: of the released Hessians, (K, p, p).
            theta: private coefficients (K, p).
            design: of the release.
            hessian_sd: standard deviation of a diagonal entry of the noise on the Hessian.
            contrasts: L (k, p) that are asked for.
            metric: of the design's geometry, in which the Hessians are.
            constant: the last entry of every row (`Meaning.constant`), None if it is not known.

        Privacy: post-processing of what was released.
        """

    @abstractmethod
    def goal(
        self,
        moments: Moments,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
    ) -> Goal:
        """Return the goal of a forecast; arguments as for `correction`, planning rows for theta."""

    def has_one_step_point(self, loss: Loss) -> bool:
        """Whether the Hessian is released at the one-step point (`solvers.one_step`)."""
        return False

    def error(
        self,
        moments: Moments,
        steps: Array,
        *,
        design: Design,
        noise: NoiseLaw,
        contrasts: Array,
        metric: Metric | None,
    ) -> ErrorVariance:
        """Return the law of the error of these steps (..., k, p) of the private coefficients."""
        H, S = released_hessian(moments, design), moments.covariance
        if metric is not None:
            H, S, steps = metric.matrix(H), metric.matrix(S), steps @ metric.whiten
        return error_variance(
            H, S, steps, mechanism=design.mechanism, noise=noise, n_records=design.n_records
        )

    def variance(self, moments: Moments) -> tuple[Array, VarianceDrift | None]:
        """Return the curvature (p, p) in the variance, and its derivatives where they are known."""
        return moments.hessian, moments.variance_drift


class Penalised(Estimand):
    """The coefficient at the penalty of the design, which every published interval covers."""

    name = "penalised"
    reached = (
        ": what the penalty leaves in the whole population, not the coefficient without penalty"
    )
    is_shrunk = True
    takes_step = False

    def covers(self, c: float) -> str:
        return f"coefficient penalised at c = {c:g}"

    def in_table(self, penalised: Array, unpenalised: Callable[[], Array]) -> Array:
        return penalised

    def correction(
        self,
        spectrum: Spectrum,
        theta: Array,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
        constant: float | None = None,
    ) -> Correction:
        return no_correction(contrasts, len(theta))

    def goal(
        self,
        moments: Moments,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
    ) -> Goal:
        return Goal(contrasts, contrasts @ moments.theta_hat, 0.0, 0.0)


class Unpenalised(Estimand):
    """The coefficient without penalty, by one Newton step from the release (`_newton_step`)."""

    name = "unpenalised"
    reached = ", reached by one step from the released one"
    is_shrunk = False
    takes_step = True
    needs_unpenalised_fit = True

    def covers(self, c: float) -> str:
        return "coefficient without penalty"

    def in_table(self, penalised: Array, unpenalised: Callable[[], Array]) -> Array:
        return unpenalised()

    def has_one_step_point(self, loss: Loss) -> bool:
        return loss.is_log_odds

    def correction(
        self,
        spectrum: Spectrum,
        theta: Array,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
        constant: float | None = None,
    ) -> Correction:
        if metric is not None:
            spectrum = spectrum.plus(-metric.penalty(design.regularization))
        return _step(spectrum, theta, design, hessian_sd, contrasts, metric, constant)

    def goal(
        self,
        moments: Moments,
        *,
        design: Design,
        hessian_sd: float,
        contrasts: Array,
        metric: Metric | None,
    ) -> Goal:
        """The full Newton step, however flat a direction is."""
        H, theta, c = released_hessian(moments, design), moments.theta_hat, design.regularization
        L, found = contrasts, moments.unpenalised_fit
        step = step_at(H, theta, design, hessian_sd, L, metric)
        target_se: Array | float = 0.0
        if found is not None:
            full = _unpenalised_target(moments, design.n_records)
            if not moments.is_simulated:
                target_se = np.abs(L if moments.basis is None else L @ np.linalg.inv(moments.basis))
                target_se = target_se @ found.unweighted_se
        else:
            values, vectors = np.linalg.eigh(H)
            steep = np.maximum(values - 2.0 * c, np.finfo(np.float64).eps)
            full = theta + 2.0 * c * (vectors / steep) @ (vectors.T @ theta)
        return Goal(step.contrasts, L @ full, step.extra, target_se)

    def error(
        self,
        moments: Moments,
        steps: Array,
        *,
        design: Design,
        noise: NoiseLaw,
        contrasts: Array,
        metric: Metric | None,
    ) -> ErrorVariance:
        H, unwhiten = released_hessian(moments, design), None
        if moments.unpenalised_fit is None:
            known, theta = moments.constant, moments.theta_hat
            step = step_at(H, theta, design, 0.0, contrasts, metric, known)
            found = super().error(
                moments, steps, design=design, noise=noise, contrasts=contrasts, metric=metric
            )
            return ErrorVariance(*(float(step.lift) ** 2 * part for part in found))
        if metric is not None:
            H, unwhiten = metric.matrix(H), metric.unwhiten
        return unpenalised_error(
            moments, H, contrasts, steps, design=design, noise=noise, unwhiten=unwhiten
        )

    def variance(self, moments: Moments) -> tuple[Array, VarianceDrift | None]:
        penalty = 2.0 * moments.regularization * np.eye(len(moments.theta_hat))
        return moments.hessian - penalty, moments.unpenalised_variance_drift


def released_hessian(moments: Moments, design: Design) -> Array:
    """Return the Hessian (p, p) that a release of this design has, but for its noise."""
    if has_one_step_point(design) and moments.unpenalised_fit is not None:
        return moments.unpenalised_fit.one_step_point
    return moments.hessian


def step_at(
    H: Array,
    theta: Array,
    design: Design,
    hessian_sd: float,
    L: Array,
    metric: Metric | None,
    constant: float | None = None,
) -> Correction:
    """Return the step to the coefficients without penalty that a release with this Hessian (p, p)
    takes.
    """
    of = H
    if metric is not None:
        of = metric.matrix(H - 2.0 * design.regularization * np.eye(len(H)))
    return _step(Spectrum.of(of), theta, design, hessian_sd, L, metric, constant)


def _step(
    spectrum: Spectrum,
    theta: Array,
    design: Design,
    hessian_sd: float,
    contrasts: Array,
    metric: Metric | None,
    constant: float | None,
) -> Correction:
    """`correction` of a spectrum that is, in a metric, without the penalty's part."""
    return correction(
        spectrum.values,
        spectrum.vectors,
        theta,
        loss=design.loss,
        regularization=design.regularization,
        hessian_sd=hessian_sd,
        contrasts=contrasts,
        whiten=None if metric is None else metric.whiten,
        constant=constant,
    )


def _unpenalised_target(moments: Moments, n_records: int) -> Array:
    """What intervals are for, (p,).

    Of simulated rows, what weights and limits move counts as far as it is more than sampling error
    of the rows: where their model is right both fits are the same. Its square is taken off that of
    the gap, once where there are as many rows as records, up to `_FULL_WEIGHT_SE` times the
    standard error where there are few.
    """
    found = moments.unpenalised_fit
    assert found is not None
    if not moments.is_simulated:
        return found.unweighted
    basis = np.eye(len(found.theta)) if moments.basis is None else moments.basis
    gap, share = basis @ (found.unweighted - found.theta), min(1.0, moments.n_records / n_records)
    noise = (1.0 + (_FULL_WEIGHT_SE - 1.0) * (1.0 - share)) * found.unweighted_se
    left = np.sqrt(np.maximum(gap**2 - noise**2, 0.0))
    return np.asarray(found.theta + np.linalg.solve(basis, np.sign(gap) * left))


def estimand_of(design: Design) -> Estimand:
    """Return what the intervals of a design are for."""
    found = ESTIMANDS[design.target]
    assert isinstance(found, Estimand)
    return found


ESTIMANDS.update({estimand.name: estimand for estimand in (Penalised(), Unpenalised())})
