"""One entry to the minimisers of the penalised risk; each method is a file of its own.

| method | file | for |
|---|---|---|
| `"quick"` | `quasi_newton`, then `newton` where its steps stall | everything that is not listed below |
| `"checked"` | the same, a little beyond the tolerance, and the gradient summed anew | `moments.fit_moments` |
| `"newton"` | `newton` | seeded simulations, whose digits stay as they were |
| `"certain"` | `quasi_newton`, `newton`, then gradient descent: `certain.solve_surely` | releases |

All of them return the same minimiser up to their tolerance, with the gradient of all rows in double
precision as the certificate. Many bootstrap replicates of one table at once are fitted by
`replicates`. A table in batches is fitted by `newton`, whose passes are few, from the fit of some of
its rows; by "certain" from 0, and by descent where that gives up.
"""  # noqa: E501 - rows of a table

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from dpci_core.base.batches import RecordBatches, Table
from dpci_core.base.errors import check_choice
from dpci_core.losses import Loss
from dpci_core.solvers.certain import solve_surely
from dpci_core.solvers.newton import solve
from dpci_core.solvers.objective import TOLERANCE, Fit, certified
from dpci_core.solvers.quasi_newton import approach

Array = npt.NDArray[np.float64]
Method = Literal["quick", "checked", "newton", "certain"]
METHODS: tuple[Method, ...] = ("quick", "checked", "newton", "certain")
_BEYOND = 0.01
"""Share of the tolerance that checked steps aim at, for a pass or two more; where rounding is in
the way, the tolerance counts."""


def minimise(
    A: Table,
    *,
    loss: Loss,
    regularization: float,
    noise_vector: Array | None = None,
    start: Array | None = None,
    tolerance: float = TOLERANCE,
    method: Method = "quick",
) -> Fit:
    """Return the minimiser of J (`objective`), exact to |grad J| <= tolerance.

    The distance from the exact minimiser is at most gradient_norm / (2c), because J is 2c-strongly
    convex.

    Args:
        A: rows y_i x_i with norm at most 1, (n, p).
        loss: f, a function of the margin a_i.theta.
        regularization: c > 0 in c |theta|^2, without a 1/2.
        noise_vector: b of objective perturbation, (p,); it enters J as b.theta / n.
        start: first guess, (p,); the answer does not depend on it beyond the tolerance.
        tolerance: bound on the gradient norm of the mean objective, > 0.
        method: which algorithm; see the table above.

    Returns:
        The minimiser with its gradient norm; n_iterations counts steps or passes over the records.

    Raises:
        ValueError: for a method, regularization or tolerance out of range.
        ConvergenceError: with a remedy if the tolerance is out of reach; never a looser answer.

    Privacy:
        None by itself. A release takes "certain" and hides the error that is left (docs/release.md,
        section 2).
    """
    check_choice(method, METHODS, name="method")
    if isinstance(A, RecordBatches):
        solver, first = (solve_surely, None) if method == "certain" else (solve, start)
        if first is None and method != "certain":
            first = _near(A, loss, regularization, noise_vector)
        return solver(
            A,
            loss=loss,
            regularization=regularization,
            noise_vector=noise_vector,
            start=first,
            tolerance=tolerance,
        )
    if method == "newton":
        return solve(
            A,
            loss=loss,
            regularization=regularization,
            noise_vector=noise_vector,
            start=start,
            tolerance=tolerance,
        )
    if start is not None and (
        fit := _certified(A, start, loss, regularization, noise_vector, tolerance)
    ):
        return fit
    aim = _BEYOND * tolerance if method == "checked" else tolerance
    near = approach(
        A,
        loss=loss,
        regularization=regularization,
        noise_vector=noise_vector,
        start=start,
        tolerance=aim,
    )
    if method == "certain":
        return solve_surely(
            A,
            loss=loss,
            regularization=regularization,
            noise_vector=noise_vector,
            start=near.theta,
            tolerance=tolerance,
        )
    if method == "quick" and near.gradient_norm <= tolerance:
        return near
    if method == "checked" and (
        fit := _certified(A, near.theta, loss, regularization, noise_vector, tolerance)
    ):
        return fit
    return solve(
        A,
        loss=loss,
        regularization=regularization,
        noise_vector=noise_vector,
        start=near.theta,
        tolerance=tolerance,
    )


def _near(A: RecordBatches, loss: Loss, regularization: float, noise_vector: Array | None) -> Array:
    """The minimiser of some of the rows, with as much of the noise for each as all rows have."""
    rows = A.some()
    share = None if noise_vector is None else noise_vector * (len(rows) / len(A))
    return approach(rows, loss=loss, regularization=regularization, noise_vector=share).theta


@np.errstate(over="ignore", invalid="ignore")  # a point that is not finite is not certified
def _certified(
    A: Table,
    theta: Array,
    loss: Loss,
    regularization: float,
    noise_vector: Array | None,
    tolerance: float,
) -> Fit | None:
    return certified(
        A,
        theta,
        loss=loss,
        regularization=regularization,
        noise_vector=noise_vector,
        tolerance=tolerance,
    )
