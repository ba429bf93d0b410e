"""The penalised empirical risk J as one object: its derivatives, its certificate, and the two
moments that intervals are made of.

    J(theta) = (1/n) sum_i w_i f(a_i.theta) + c |theta|^2 + b.theta / n,     a_i = y_i x_i

Mean over records, no 1/2 in the penalty (so J is 2c-strongly convex), the constant column penalised
too; the weights w_i are 1 but for `base.rows.WeightedRows`. Of `base.rows.PersonRows` the sum goes
over rows, n is the number of persons, and a gradient in S is that of a person.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batch import CHUNK_ROWS
from dpci_core.base.batches import Table, as_table
from dpci_core.losses import Loss
from dpci_core.solvers.batch_sums import Outer, derivatives

TOLERANCE = 1e-10
"""Bound on the gradient norm at which a fit counts as exact."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A minimiser theta (p,) with what certifies it: |theta - exact| <= gradient_norm / (2c)."""

    theta: Array
    gradient_norm: float
    n_iterations: int


@dataclass(frozen=True, slots=True, eq=False)
class PenalisedRisk:
    """J of one table: what a solver minimises.

    Args:
        rows: y_i x_i, (n, p).
        loss: f, a function of the margin a_i.theta.
        regularization: c >= 0, in c |theta|^2 of the mean objective, without a 1/2.
        noise_vector: b (p,) of objective perturbation, in the linear term b.theta / n; None for
            none.

    >>> from dpci_core.losses import Logistic
    >>> risk = PenalisedRisk(np.array([[0.6, 0.8]]), loss=Logistic(), regularization=0.1)
    >>> risk.gradient(np.zeros(2)).tolist()
    [-0.3, -0.4]
    """

    rows: Table
    loss: Loss
    regularization: float
    noise_vector: Array | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", as_table(self.rows))

    def value(self, theta: Array) -> float:
        """Return J(theta)."""
        total = float(derivatives(self.rows, theta, self.loss, 0)[0])
        linear = 0.0 if self.noise_vector is None else float(self.noise_vector @ theta)
        penalty = self.regularization * float(theta @ theta)
        return (total + linear) / len(self.rows) + penalty

    def gradient(self, theta: Array) -> Array:
        """Return the gradient (p,) of J at theta, summed as in `derivatives`: the one that
        certifies.
        """
        slopes = derivatives(self.rows, theta, self.loss, 1)[1]
        gradient = self._linear(len(theta)) + slopes
        return np.asarray(gradient / len(self.rows) + 2.0 * self.regularization * theta)

    def derivatives(self, theta: Array) -> tuple[Array, Array]:
        """Return gradient (p,) and Hessian (p, p) of J at theta [WKL eq. 5], in one pass."""
        n, p = len(self.rows), len(theta)
        _, slopes, hessian = derivatives(self.rows, theta, self.loss, 2)
        gradient = self._linear(p) + slopes
        two_c = 2.0 * self.regularization
        return gradient / n + two_c * theta, hessian / n + two_c * np.eye(p)

    def _linear(self, p: int) -> Array:
        """The gradient of the linear term, times n."""
        return np.zeros(p) if self.noise_vector is None else self.noise_vector.astype(np.float64)

    def certified(self, theta: Array, tolerance: float) -> Fit | None:
        """Return theta (p,) as it is, if its gradient is within the tolerance, summed as
        `rounding_of_sums` says; None otherwise.
        """
        norm = float(np.linalg.norm(self.gradient(theta)))
        return Fit(theta, norm, 0) if norm <= tolerance else None

    def moments(self, theta: Array) -> tuple[Array, Array]:
        """Return H(theta) and S(theta), each (p, p)."""
        return self.hessian(theta), self.covariance(theta)

    def hessian(self, theta: Array, whiten: Array | None = None) -> Array:
        """Return H(theta), (p, p): WKL eq. 5.

        Args:
            theta: (p,).
            whiten: W (p, p), for W H W, summed from the rows W a; None for H.
        """
        self._check_weights()
        if whiten is None:
            total = derivatives(self.rows, theta, self.loss, 2)[2]
        else:
            total = self.rows.total(Outer("hessian", theta, self.loss, whiten))
        unit = np.eye(len(theta)) if whiten is None else whiten @ whiten
        return np.asarray(total / len(self.rows) + 2.0 * self.regularization * unit)

    def covariance(self, theta: Array, whiten: Array | None = None) -> Array:
        """Return S(theta), (p, p): WKL eq. 6; arguments as for `hessian`.

        S = (1/n) sum w_i^2 f'(z_i)^2 a_i a_i' - 4 c^2 theta theta' is the gradient covariance at a
        minimiser; elsewhere it may be indefinite. Of persons it is (1/N) sum g_i g_i' - 4 c^2 theta
        theta' with g_i the sum of w f' a over a person's rows.
        """
        self._check_weights()
        total = self.rows.total(Outer("covariance", theta, self.loss, whiten))
        pull = theta if whiten is None else whiten @ theta
        penalty = (2.0 * self.regularization) ** 2 * np.outer(pull, pull)
        return np.asarray(total / len(self.rows) - penalty)

    def _check_weights(self) -> None:
        if self.rows.has_weights and not self.loss.allows_weights:
            raise ValueError(f"Expected rows without weights for the loss {self.loss.name!r}.")


def rounding_of_sums(n_records: int) -> float:
    """Return the largest relative error of a mean over n records, against the mean of the absolute
    values.

    A sum of m numbers in any order errs by at most about m 2^-53 of the sum of their sizes; here
    rows are added within a chunk, then chunks, then a few more operations. Twice that.

    It holds for a table in batches however they are cut: batches add at most log2 n + 2 operations
    behind a term, and twice what is counted here leaves room for as many again
    (docs/proofs/release.md#batches). So it depends on n alone.
    """
    return (min(n_records, CHUNK_ROWS) + n_records / CHUNK_ROWS + 16.0) * 2.0**-52
