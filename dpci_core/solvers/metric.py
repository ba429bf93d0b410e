"""The metric that shapes the noise of objective perturbation (own; docs/whitened.md).

With M the second moment of the records and Q = (M + ridge I)^(-1/2), everything a release draws is
drawn in the coordinates

    psi = C Q^-1 theta,    v = Q x / C,    v.psi = x.theta

where noise has the size it has without a metric: records count with weights that keep |v| <= 1, so
every sensitivity and every theorem stays. Only the penalty looks different there, c |theta|^2 =
psi'B psi / 2 with B = 2c (Q/C)^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.linalg import symmetrise
from dpci_core.base.rows import Rows, WeightedRows, plain, unit_rows
from dpci_core.design import Geometry
from dpci_core.solvers.objective import chunks

_MARGIN = 1.0 + 1e-8
"""Factor on a leverage: Q, its inverse and Qx are computed, with relative errors of some p 2^-53
(1 + 1/ridge), and the leverage must not be underestimated."""


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric (p, p), or a stack of them (..., p, p) in a simulation.

    second_moment: M as it was released or is public, (..., p, p).
    whiten: Q/C, from records to the coordinates of the noise.
    unwhiten: C Q^-1, from coefficients to them.
    """

    second_moment: Array
    whiten: Array
    unwhiten: Array

    @classmethod
    def of(cls, second_moment: Array, geometry: Geometry) -> Metric:
        """Return the metric of second moments (..., p, p), noisy ones too.

        Eigenvalues count as those of records of norm at most 1, between 0 and 1. C is the root of
        the largest leverage, or the largest eigenvalue of Q where no record can reach that.
        """
        values, vectors = np.linalg.eigh(second_moment)
        spread = np.clip(values, 0.0, 1.0) + geometry.ridge
        largest = np.minimum(geometry.leverage, 1.0 / spread[..., 0])
        scaled = np.sqrt(spread * largest[..., None])
        turned = np.swapaxes(vectors, -1, -2)
        return cls(
            second_moment=second_moment,
            whiten=symmetrise((vectors / scaled[..., None, :]) @ turned),
            unwhiten=symmetrise((vectors * scaled[..., None, :]) @ turned),
        )

    def penalty(self, regularization: float) -> Array:
        """B = 2c (Q/C)^2, the Hessian (..., p, p) of the penalty."""
        return symmetrise(2.0 * regularization * (self.whiten @ self.whiten))

    def weighted(self, A: Array | WeightedRows) -> WeightedRows:
        """The rows (n, p), of the largest leverage that counts in full at most.

        A weight depends on the metric and on that row alone.
        """
        weights = A.weights if isinstance(A, WeightedRows) else np.ones(len(A))
        rows = plain(A)
        found = np.empty(len(A))
        for start in range(0, len(A), _ROWS):
            chosen = slice(start, start + _ROWS)
            v = rows[chosen] @ self.whiten
            leverage = np.einsum("ij,ij->i", v, v) * _MARGIN
            found[chosen] = NORM_MARGIN / np.maximum(leverage, NORM_MARGIN)
        return WeightedRows(rows, np.minimum(weights, found))

    def matrix(self, in_theta: Array) -> Array:
        """A matrix (..., p, p) of the coefficients, in the coordinates of the noise."""
        return symmetrise(self.whiten @ in_theta @ self.whiten)

    def back(self, matrix: Array) -> Array:
        """The inverse of `matrix`."""
        return symmetrise(self.unwhiten @ matrix @ self.unwhiten)

    def vector(self, theta: Array) -> Array:
        """psi (..., p) of coefficients theta."""
        return np.asarray(np.einsum("...ij,...j->...i", self.unwhiten, theta))

    def coefficients(self, psi: Array) -> Array:
        """theta (..., p) of psi."""
        return np.asarray(np.einsum("...ij,...j->...i", self.whiten, psi))


_ROWS = 8192


def second_moment_of(A: Rows) -> Array:
    """Return X'X/n (p, p) of rows, those with weights counting as rows of norm at most 1."""
    found = np.zeros((A.shape[1], A.shape[1]))
    for block in chunks(A):
        rows = unit_rows(block)
        found += rows.T @ rows
    return found / len(A)


@lru_cache(maxsize=64)
def public_metric(geometry: Geometry, p: int) -> Metric:
    """Return the metric of a public second moment; ValueError unless it is (p, p)."""
    assert geometry.second_moment is not None
    matrix = np.array(geometry.second_moment)
    if len(matrix) != p:
        raise ValueError(f"Expected second_moment to have {p} rows, got {len(matrix)}.")
    return Metric.of(matrix, geometry)


def longest_stretch(geometry: Geometry) -> float:
    """Return the largest that |C Q^-1| can be, whatever is drawn."""
    return math.sqrt(geometry.leverage * (1.0 + geometry.ridge)) * _MARGIN
