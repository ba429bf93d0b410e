"""One entry to the solvers of the penalised risk; each is an object of a file of its own.

| solver | file | for |
|---|---|---|
| `QUICK` | here: `QuasiNewton`, then `Newton` where its steps stall | everything not listed below |
| `CHECKED` | the same, a little beyond the tolerance, summed anew | `moments.fit_moments` |
| `Newton` | `newton` | fits with hardly any penalty |
| `Guaranteed` | `guaranteed`: both, then gradient descent | releases |

All of them return the same minimiser up to their tolerance, with the gradient of all rows in double
precision as the certificate. Many bootstrap replicates of one table at once are fitted by
`replicates`. A table in batches is fitted by `Newton`, whose passes are few, from the fit of some
of its rows; by `Guaranteed` from 0, and by descent where that gives up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import as_table
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.quasi_newton import QuasiNewton
from dpci_core.solvers.risk import TOLERANCE, Fit, PenalisedRisk

_BEYOND = 0.01
"""Share of the tolerance that `CHECKED` steps aim at, for a pass or two more; where rounding is in
the way, the tolerance counts."""


class Solver(Protocol):
    """What minimises a penalised risk, exact to its tolerance on the gradient norm."""

    def minimise(self, risk: PenalisedRisk, start: Array | None = None) -> Fit:
        """Return the minimiser, or raise ConvergenceError; never a looser answer."""
        ...


@dataclass(frozen=True, slots=True)
class Quick:
    """Quasi-Newton steps, then Newton's where they stall.

    Args:
        tolerance: bound on the gradient norm of the mean objective, > 0.
        beyond: share of the tolerance that the quick steps aim at.
    """

    tolerance: float = TOLERANCE
    beyond: float = 1.0

    def minimise(self, risk: PenalisedRisk, start: Array | None = None) -> Fit:
        """As for `Solver`; a start (p,) that is within the tolerance already is the answer."""
        newton = Newton(self.tolerance)
        if risk.rows.memory is None:
            return newton.minimise(risk, _near(risk) if start is None else start)
        if start is not None and (fit := self._certified(risk, start)):
            return fit
        near = QuasiNewton(self.beyond * self.tolerance).minimise(risk, start)
        if self.beyond < 1.0:  # summed anew
            fit = self._certified(risk, near.theta)
        else:
            fit = near if near.gradient_norm <= self.tolerance else None
        return fit or newton.minimise(risk, near.theta)

    @np.errstate(over="ignore", invalid="ignore")  # a point that is not finite is not certified
    def _certified(self, risk: PenalisedRisk, theta: Array) -> Fit | None:
        return risk.certified(theta, self.tolerance)


QUICK = Quick()
CHECKED = Quick(beyond=_BEYOND)
"""Goes a little beyond the tolerance, and sums the gradient anew."""


def minimise(risk: PenalisedRisk, solver: Solver = QUICK, start: Array | None = None) -> Fit:
    """Return the minimiser of J, exact to |grad J| <= the tolerance of the solver.

    The distance from the exact minimiser is at most gradient_norm / (2c), because J is 2c-strongly
    convex.

    Args:
        risk: J: rows of norm at most 1, loss, c > 0 and, for objective perturbation, its noise
            vector.
        solver: which algorithm; see the table above.
        start: first guess, (p,); the answer does not depend on it beyond the tolerance.

    Returns:
        The minimiser with its gradient norm; n_iterations counts steps or passes over the records.

    Raises:
        ValueError: for a regularization or tolerance out of range.
        ConvergenceError: with a remedy if the tolerance is out of reach; never a looser answer.

    Privacy:
        None by itself. A release takes `Guaranteed` and hides the error that is left
        (docs/proofs/release.md#coefficients).
    """
    return solver.minimise(risk, start)


def _near(risk: PenalisedRisk) -> Array:
    """The minimiser of some of the rows, with as much of the noise for each as all rows have."""
    rows, b = risk.rows.some(), risk.noise_vector
    share = None if b is None else b * (len(rows) / len(risk.rows))
    part = PenalisedRisk(as_table(rows), risk.loss, risk.regularization, share)
    return QuasiNewton().minimise(part).theta
