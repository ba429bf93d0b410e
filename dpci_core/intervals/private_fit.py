"""One private fit: the metric, the coefficients and both matrices, in the order in which they are
drawn.

Simulations, estimators and releases run it alike; where the noise comes from is the only
difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table, as_table
from dpci_core.base.limits import confidence_level_in_range
from dpci_core.base.metric import Metric
from dpci_core.base.rows import Rows
from dpci_core.design import Design
from dpci_core.intervals.certified import draw_coefficients
from dpci_core.intervals.half_widths import HalfWidths, private_half_widths
from dpci_core.mechanisms.matrices import PrivateMoments, covariance_noise, release_moments
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.mechanisms.metric import release_metric
from dpci_core.mechanisms.shares import share_out
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.solvers.metric import weighted_table


@dataclass(frozen=True, slots=True, eq=False)
class PrivateFit:
    """What one private fit drew: released quantities and public constants, no record.

    How the solver got there (steps, final gradient) depends on the records without noise, so it is
    not kept.

    Args:
        design: the design that ran, with the n of the rows; of a release, what is left after its
            solver's error is hidden.
        theta_priv: released coefficients, (p,), the constant last.
        noise: the public law of the noise on them.
        moments: both released matrices, each (p, p), in the metric where the design has a geometry;
            None where only the coefficients were paid for.
        metric: the metric of the design's geometry, or None.
    """

    design: Design
    theta_priv: Array
    noise: NoiseLaw
    moments: PrivateMoments | None = None
    metric: Metric | None = None

    @property
    def numbers(self) -> tuple[Array, ...]:
        """Everything that was drawn, in the order of coefficients, matrices and metric."""
        moments, second = self.moments, self.second_moment
        matrices = () if moments is None else (moments.hessian.noisy, moments.covariance.noisy)
        return (self.theta_priv, *matrices, *(() if second is None else (second,)))

    @property
    def second_moment(self) -> Array | None:
        """The second moment (p, p) of the rows as it was drawn; None if none was."""
        return None if self.metric is None else self.metric.second_moment

    def half_widths(
        self,
        contrasts: Array | None = None,
        confidence_level: float | None = None,
        constant: float | None = None,
    ) -> HalfWidths:
        """Return the half-widths of the intervals of contrasts @ theta; post-processing.

        Args:
            contrasts: L (k, p); None for the coefficients themselves.
            confidence_level: like 0.95; None for that of the design.
            constant: as for `private_half_widths`.

        Raises:  ValueError for a fit without matrices, and for a level out of range.
        """
        if self.moments is None:
            raise ValueError(
                "Expected intervals=True: this fit spent its whole budget on the coefficients."
            )
        design = self.design
        if confidence_level is not None:
            design = replace(design, confidence_level=confidence_level_in_range(confidence_level))
        radius = float(np.linalg.norm(self.theta_priv))
        return private_half_widths(
            self.moments.hessian.noisy,
            self.moments.covariance.noisy,
            design=design,
            noise=self.noise,
            covariance_noise=covariance_noise(design, radius),
            theta_priv=self.theta_priv,
            contrasts=contrasts,
            metric=self.metric,
            constant=constant,
        )


def private_fit(
    A: Rows | Table, *, design: Design, source: NoiseSource, intervals: bool = True
) -> PrivateFit:
    """Train on the rows and, for intervals, release both matrices.

    Args:
        A: rows y_i x_i, (n, p), of records or of persons, n that of the design.
        design: loss, mechanism, budget, c and n.
        source: the operating system's entropy for a release, a generator for a simulation.
        intervals: whether the matrices are released too.

    Privacy: `design.budget.total` in its definition, replace-one neighbours, n public; without
             intervals the parts of the matrices are not spent. From the operating system's entropy
             the minimiser is certified, and its error is hidden at a share of `budget.model`
             (docs/proofs/release.md). From a generator nothing is promised.
    Raises:  ValueError for another number of rows than the design says; InfeasibleDesignError. For
             the operating system's entropy the caller has asked `check_feasible` before: a refusal
             that depends on the noise drawn would cut its law.
    Source:  WKL Algorithms 1-5.
    """
    is_release = isinstance(source, SystemSource)
    shares = share_out(design) if is_release else None
    running = design if shares is None else shares.design_after_solver_share
    table = as_table(A)
    metric = release_metric(table, design=running, rng=source)
    rows = table if metric is None else weighted_table(table, metric)
    if isinstance(source, SystemSource):
        assert shares is not None
        theta, noise = draw_coefficients(rows, shares=shares, source=source, metric=metric)
    else:
        model = train_private(rows, design=running, rng=source, metric=metric)
        theta, noise = model.theta_priv, model.noise
    moments = None
    if intervals:
        whiten = None if metric is None else metric.whiten
        moments = release_moments(rows, theta, design=running, rng=source, whiten=whiten)
    return PrivateFit(running, theta, noise, moments, metric)
