"""The minimiser of a release, which has to arrive whatever the records are: docs/release.md,
section 2.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpci_core.base.batch import BatchError
from dpci_core.base.batches import Table
from dpci_core.base.errors import ConvergenceError
from dpci_core.losses import Loss
from dpci_core.solvers.newton import solve
from dpci_core.solvers.objective import TOLERANCE, Fit, certified, gradient_at, rounding_of_sums

Array = npt.NDArray[np.float64]


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
    (`docs/release.md`).

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


def solve_surely(
    A: Table,
    *,
    loss: Loss,
    regularization: float,
    noise_vector: Array | None = None,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Fit:
    """Return the minimiser of J as `solve` does, and where that gives up by gradient descent, which
    always arrives.

    In exact arithmetic this never raises, whatever the records: an abort would tell something about
    them. It is for the release; 500 passes of Newton's method have been enough on every table
    tried.

    Args:
        A, loss, regularization, noise_vector, tolerance: as for `minimise`.
        start: first guess, (p,). One that is within the tolerance already is the answer, its
            gradient summed as `rounding_of_sums` says; one that is not finite counts as none.

    Raises:  ConvergenceError if rounding keeps even descent from the tolerance.
    Source:  docs/release.md, section 2.
    """
    if start is not None and not np.isfinite(start).all():
        start = None
    if start is not None:
        fit = certified(
            A,
            start,
            loss=loss,
            regularization=regularization,
            noise_vector=noise_vector,
            tolerance=tolerance,
        )
        if fit is not None:
            return fit
    try:
        return solve(
            A,
            loss=loss,
            regularization=regularization,
            noise_vector=noise_vector,
            start=start,
            tolerance=tolerance,
        )
    except BatchError:
        raise
    except (RuntimeError, ValueError):  # also of the root finder and the factorisation
        pass
    return _descend(
        A, loss=loss, regularization=regularization, noise_vector=noise_vector, tolerance=tolerance
    )


def _descend(
    A: Table, *, loss: Loss, regularization: float, noise_vector: Array | None, tolerance: float
) -> Fit:
    """Gradient descent from 0 with the step 1/(t + 2c), for as many passes as its rate of
    convergence asks for.
    """
    steepest = loss.max_curvature + 2.0 * regularization
    first_norm = 1.0 + (0.0 if noise_vector is None else float(np.linalg.norm(noise_vector))) / len(
        A
    )
    condition = steepest / (2.0 * regularization)
    theta = np.zeros(A.shape[1])
    for k in range(
        descent_passes(condition=condition, first_norm=first_norm, tolerance=tolerance) + 1
    ):
        gradient = gradient_at(
            A, theta, loss=loss, regularization=regularization, noise_vector=noise_vector
        )
        norm = float(np.linalg.norm(gradient))
        if norm <= tolerance:
            return Fit(theta, norm, norm / math.sqrt(2.0 * regularization), k)
        theta = theta - gradient / steepest
    raise ConvergenceError("rounding")
