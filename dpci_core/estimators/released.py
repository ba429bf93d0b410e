"""One drawn model and its intervals: released quantities and public constants, no record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.decimals import DOWN, EXACT
from dpci_core.base.limits import confidence_level_in_range
from dpci_core.base.rows import Rows
from dpci_core.design import Design
from dpci_core.intervals.half_widths import HalfWidths, private_half_widths
from dpci_core.mechanisms.matrices import covariance_noise, release_moments
from dpci_core.mechanisms.mechanism import train_private
from dpci_core.privacy.budget import Budget
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.solvers.minimise import minimise


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedModel:
    """What one private fit drew: theta_priv (p,) and, if intervals were paid for, both noisy
    matrices (p, p).

    How the solver got there (steps, final gradient) depends on the records without noise, so it is
    not kept.
    """

    design: Design
    n_records: int
    theta_priv: Array
    noise: NoiseLaw
    hessian: Array | None
    covariance: Array | None

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
        )


def draw_model(A: Rows, *, design: Design, intervals: bool, source: NoiseSource) -> ReleasedModel:
    """Train on the rows y_i x_i and, for intervals, release both matrices.

    Args:
        A: rows y_i x_i, (n, p).
        design: loss, mechanism, budget and c.
        intervals: whether the matrices are released too.
        source: the operating system's entropy for a release, a generator for a simulation.

    Privacy: `design.budget.total` in its definition, or `design.budget.model` without intervals.
             From the operating system's entropy it is drawn as a release is: certified minimiser,
             its error hidden at a share of `budget.model` (docs/release.md); the design kept is the
             one that ran. A generator's promises nothing.
    Raises:  InfeasibleDesignError, from the operating system's entropy also where c is too small
             for the certificate.
    """
    if isinstance(source, SystemSource):
        from dpci_core.intervals.draw import (
            check_feasible,
            draw_coefficients,
        )  # which a simulation does without
        from dpci_core.mechanisms.shares import share_out

        # Before any draw: a refusal that depends on the noise drawn would cut off its law.
        check_feasible(design, n_records=len(A), dim=A.shape[1])
        shares = share_out(design)
        theta, noise = draw_coefficients(A, shares=shares, source=source)
        design = shares.running
    else:
        model = train_private(A, design=design, rng=source, solver=minimise)
        theta, noise = model.theta_priv, model.noise
    if not intervals:
        return ReleasedModel(design, len(A), theta, noise, None, None)
    moments = release_moments(A, theta, design=design, rng=source)
    return ReleasedModel(
        design, len(A), theta, noise, moments.hessian.noisy, moments.covariance.noisy
    )


def divide_budget(budget: Budget, n_parts: int) -> tuple[Budget, ...]:
    """Return budgets that add up to this one exactly, part by part; equal up to the 28th digit.

    >>> from dpci_core.privacy.budget import PureDP
    >>> [str(b.model)
    ...  for b in divide_budget(PureDP(model="0.6", hessian="0.3", covariance="0.3"), 3)]
    ['0.2', '0.2', '0.2']
    """
    divided = [_divide(part, n_parts) for part in budget.parts]
    return tuple(
        type(budget)(model=model, hessian=hessian, covariance=covariance)
        for model, hessian, covariance in zip(*divided, strict=True)
    )


def _divide(amount: Decimal, n_parts: int) -> list[Decimal]:
    """Equal amounts rounded down, the last with what rounding left."""
    share = DOWN.divide(amount, Decimal(n_parts))
    last = EXACT.subtract(amount, EXACT.multiply(share, Decimal(n_parts - 1)))
    return [share] * (n_parts - 1) + [last]
