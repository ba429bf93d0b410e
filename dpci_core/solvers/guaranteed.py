"""The minimiser of a release, which has to arrive whatever the records are:
docs/proofs/release.md#coefficients.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batch import BatchError
from dpci_core.base.errors import ConvergenceError
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.quasi_newton import QuasiNewton
from dpci_core.solvers.risk import (
    TOLERANCE,
    Fit,
    PenalisedRisk,
    rounding_of_sums,
)


def gradient_rounding(
    *, n_records: int, dim: int, condition: float, noise_norm: float, rows_per_person: int = 1
) -> float:
    """Return the largest error of a computed gradient at any point where its norm is below 1, from
    public numbers.

    At such a point 2c|theta| <= 2 + |b|/n, as slopes are at most 1. The sum, the noise vector and
    the penalty err by `rounding_of_sums`; the margins by (p + 2) 2^-53 |theta|, and curvature times
    that enters the slopes. The doubles of b are within 2^-51 |b| of the real vector that was drawn
    (`exact.RealNoise`), whose objective is meant.

    Args:
        n_records: number of records, public (>= 1).
        dim: p.
        condition: kappa = (t + 2c)/(2c).
        noise_norm: |b|, drawn without looking at the records.
        rows_per_person: most rows that a record stands for.
    """
    reach = 2.0 + noise_norm / n_records
    return reach * (
        2.0 * rounding_of_sums(n_records * rows_per_person)
        + condition * (dim + 2.0) * 2.0**-53
        + 2.0**-51
    )


def descent_passes(*, condition: float, first_norm: float, tolerance: float) -> int:
    """Return K, after which gradient descent has reached the tolerance in exact arithmetic
    (`docs/proofs/release.md`).

    Args:
        condition: kappa = (t + 2c)/(2c).
        first_norm: of the gradient at the start.
        tolerance: bound on its norm, > 0.
    """
    return max(
        1,
        math.ceil(
            condition * (math.log(condition) + 2.0 * math.log(max(1.0, first_norm / tolerance)))
        ),
    )


@dataclass(frozen=True, slots=True)
class Guaranteed:
    """The solver of a release: quick steps, then Newton's method, and where both give up gradient
    descent, which always arrives.

    In exact arithmetic it never raises, whatever the records: an abort would tell something about
    them. 500 passes of Newton's method have been enough on every table tried.

    Args:
        tolerance: bound on the gradient norm of the mean objective, > 0.

    Source:  docs/proofs/release.md#coefficients.
    """

    tolerance: float = TOLERANCE

    def minimise(self, risk: PenalisedRisk, start: Array | None = None) -> Fit:
        """Return the minimiser of J, exact to |grad J| <= tolerance.

        Args:
            risk: J, with c > 0.
            start: first guess, (p,), for rows in memory; batches start from 0.

        Raises:  ConvergenceError if rounding keeps even descent from the tolerance.
        """
        if risk.rows.memory is None:
            return self.continued(risk, None)
        with np.errstate(over="ignore", invalid="ignore"):  # a start that is not finite is none
            if start is not None and (fit := risk.certified(start, self.tolerance)):
                return fit
        return self.continued(risk, QuasiNewton(self.tolerance).minimise(risk, start).theta)

    def continued(self, risk: PenalisedRisk, near: Array | None) -> Fit:
        """Return the minimiser from a point (p,) that is within the tolerance already, or from
        there; one that is not finite counts as none.
        """
        if near is not None and not np.isfinite(near).all():
            near = None
        if near is not None and (fit := risk.certified(near, self.tolerance)):
            return fit
        try:
            return Newton(self.tolerance).minimise(risk, near)
        except BatchError:
            raise
        except (RuntimeError, ValueError):  # also of the root finder and the factorisation
            return _descend(risk, self.tolerance)


def _descend(risk: PenalisedRisk, tolerance: float) -> Fit:
    """Gradient descent from 0 with the step 1/(t + 2c), for as many passes as its rate of
    convergence asks for.
    """
    n, p = risk.rows.shape
    two_c = 2.0 * risk.regularization
    steepest = risk.loss.max_curvature + two_c
    noise = 0.0 if risk.noise_vector is None else float(np.linalg.norm(risk.noise_vector))
    passes = descent_passes(
        condition=steepest / two_c, first_norm=1.0 + noise / n, tolerance=tolerance
    )
    theta = np.zeros(p)
    for k in range(passes + 1):
        gradient = risk.gradient(theta)
        norm = float(np.linalg.norm(gradient))
        if norm <= tolerance:
            return Fit(theta, norm, k)
        theta = theta - gradient / steepest
    raise ConvergenceError("rounding")
