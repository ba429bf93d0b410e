"""The coordinates in which noise is drawn that is shaped like the records (own;
docs/proofs/map.md#metric).

With M the second moment of the records and Q = (M + ridge I)^(-1/2), everything a release draws is
drawn in the coordinates

    psi = C Q^-1 theta,    v = Q x / C,    v.psi = x.theta

where noise has the size it has without a metric: records count with weights that keep |v| <= 1, so
every sensitivity and every theorem stays. Only the penalty looks different there, c |theta|^2 =
psi'B psi / 2 with B = 2c (Q/C)^2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.linalg import symmetrise


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric (p, p), or a stack of them (..., p, p) in a simulation.

    second_moment: M as it was released, (..., p, p).
    whiten: Q/C, from records to the coordinates of the noise.
    unwhiten: C Q^-1, from coefficients to them.
    """

    second_moment: Array
    whiten: Array
    unwhiten: Array

    @classmethod
    def of(cls, second_moment: Array, *, ridge: float, leverage: float) -> Metric:
        """Return the metric of second moments (..., p, p), noisy ones too.

        Eigenvalues count as those of records of norm at most 1, between 0 and 1. C^2 is the largest
        leverage, or the square of the largest eigenvalue of Q where no record can reach that.
        """
        values, vectors = np.linalg.eigh(second_moment)
        spread = np.clip(values, 0.0, 1.0) + ridge
        largest = np.minimum(leverage, 1.0 / spread[..., 0])
        scaled = np.sqrt(spread * largest[..., None])
        turned = np.swapaxes(vectors, -1, -2)
        return cls(
            second_moment=second_moment,
            whiten=symmetrise((vectors / scaled[..., None, :]) @ turned),
            unwhiten=symmetrise((vectors * scaled[..., None, :]) @ turned),
        )

    def __getitem__(self, chosen: Any) -> Metric:
        """Some of a stack."""
        return Metric(self.second_moment[chosen], self.whiten[chosen], self.unwhiten[chosen])

    def stacked(self) -> Metric:
        """Return the metric as a stack, with one leading axis (K, p, p)."""
        shape = (-1, *self.whiten.shape[-2:])
        parts = (self.second_moment, self.whiten, self.unwhiten)
        return Metric(*(part.reshape(shape) for part in parts))

    def penalty(self, regularization: float) -> Array:
        """B = 2c (Q/C)^2, the Hessian (..., p, p) of the penalty."""
        return symmetrise(2.0 * regularization * (self.whiten @ self.whiten))

    def matrix(self, in_theta: Array) -> Array:
        """A matrix (..., p, p) of the coefficients, in the coordinates of the noise."""
        return symmetrise(self.whiten @ in_theta @ self.whiten)

    def back(self, matrix: Array) -> Array:
        """The inverse of `matrix`."""
        return symmetrise(self.unwhiten @ matrix @ self.unwhiten)

    def vector(self, psi: Array) -> Array:
        """C Q^-1 of a vector (..., p): coefficients become psi, and noise becomes that of the
        objective.
        """
        return np.asarray(np.einsum("...ij,...j->...i", self.unwhiten, psi))
