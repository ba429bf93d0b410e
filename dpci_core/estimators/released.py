"""One drawn model and its intervals: released quantities and public constants, no record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.limits import confidence_level_in_range
from dpci_core.base.metric import Metric
from dpci_core.base.rows import EncodedRows
from dpci_core.design import Design
from dpci_core.intervals.half_widths import HalfWidths, private_half_widths
from dpci_core.mechanisms.matrices import covariance_noise, release_moments
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.mechanisms.metric import release_metric
from dpci_core.privacy.budget import Budget
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.solvers.metric import weighted_table
from dpci_core.solvers.minimise import minimise


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedModel:
    """What one private fit drew: theta_priv (p,) and, if intervals were paid for, both noisy
    matrices (p, p), in the metric where the design has a geometry.

    How the solver got there (steps, final gradient) depends on the records without noise, so it is
    not kept.
    """

    design: Design
    n_records: int
    theta_priv: Array
    noise: NoiseLaw
    hessian: Array | None
    covariance: Array | None
    metric: Metric | None = None

    @property
    def numbers(self) -> tuple[Array, ...]:
        """Everything that was drawn, in the order of coefficients, matrices and metric."""
        drawn = None if self.metric is None else self.metric.second_moment
        found = (self.theta_priv, self.hessian, self.covariance, drawn)
        return tuple(part for part in found if part is not None)

    def half_widths(self, contrasts: Array, confidence_level: float) -> HalfWidths:
        """Return the intervals of the combinations contrasts @ theta at a level, as half-widths;
        post-processing.
        """
        if self.hessian is None or self.covariance is None:
            raise ValueError(
                "Expected intervals=True: this fit spent its whole budget on the coefficients."
            )
        design = replace(self.design, confidence_level=confidence_level_in_range(confidence_level))
        radius = float(np.linalg.norm(self.theta_priv))
        return private_half_widths(
            self.hessian,
            self.covariance,
            design=design,
            noise=self.noise,
            n_records=self.n_records,
            covariance_noise=covariance_noise(design, self.n_records, radius),
            theta_priv=self.theta_priv,
            contrasts=contrasts,
            metric=self.metric,
        )


def draw_model(A: Table, *, design: Design, intervals: bool, source: NoiseSource) -> ReleasedModel:
    """Train on the rows y_i x_i and, for intervals, release both matrices.

    Args:
        A: rows y_i x_i, (n, p).
        design: loss, mechanism, budget and c.
        intervals: whether the matrices are released too.
        source: the operating system's entropy for a release, a generator for a simulation.

    Privacy: `design.budget.total` in its definition; without intervals the parts of the matrices
             are not spent.
             From the operating system's entropy it is drawn as a release is: certified minimiser,
             its error hidden at a share of `budget.model` (docs/release.md); the design kept is the
             one that ran. A generator's promises nothing.
    Raises:  InfeasibleDesignError.  From the operating system's entropy the caller has asked
             `check_feasible`: a refusal that depends on the noise drawn would cut off its law.
    """
    if isinstance(source, SystemSource):
        from dpci_core.intervals.draw import draw_coefficients  # a simulation does without
        from dpci_core.mechanisms.shares import share_out

        shares = share_out(design)
        A, metric = _in_metric(A, shares.running, source)
        theta, noise = draw_coefficients(A, shares=shares, source=source, metric=metric)
        design = shares.running
    else:
        A, metric = _in_metric(A, design, source)
        model = train_private(A, design=design, rng=source, solver=minimise, metric=metric)
        theta, noise = model.theta_priv, model.noise
    if not intervals:
        return ReleasedModel(design, len(A), theta, noise, None, None, metric)
    whiten = None if metric is None else metric.whiten
    moments = release_moments(A, theta, design=design, rng=source, whiten=whiten)
    H, S = moments.hessian.noisy, moments.covariance.noisy
    return ReleasedModel(design, len(A), theta, noise, H, S, metric)


def _in_metric(A: Table, design: Design, source: NoiseSource) -> tuple[Table, Metric | None]:
    """The rows with the weights of the metric of the design, which is drawn first."""
    metric = release_metric(A, design=design, rng=source)
    if metric is None:
        return A, None
    rows = np.asarray(A, dtype=np.float64) if isinstance(A, EncodedRows) else A
    return weighted_table(rows, metric), metric


def divide_budget(budget: Budget, n_parts: int) -> tuple[Budget, ...]:
    """Return budgets that add up to this one exactly, part by part; equal up to the 28th digit.

    >>> from dpci_core.privacy.budget import PureDP
    >>> [str(b.model)
    ...  for b in divide_budget(PureDP(model="0.6", hessian="0.3", covariance="0.3"), 3)]
    ['0.2', '0.2', '0.2']
    """
    names = [name for name, _ in budget.lines]
    divided = [_divide(part, n_parts) for _, part in budget.lines]
    return tuple(
        type(budget)(**dict(zip(names, parts, strict=True))) for parts in zip(*divided, strict=True)
    )


def _divide(amount: Decimal, n_parts: int) -> list[Decimal]:
    """Equal amounts rounded down, the last with what rounding left."""
    share = DOWN.divide(amount, Decimal(n_parts))
    last = EXACT.subtract(amount, EXACT.multiply(share, Decimal(n_parts - 1)))
    return [share] * (n_parts - 1) + [last]
