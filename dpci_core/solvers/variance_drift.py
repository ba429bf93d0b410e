"""How the variance of a coefficient changes when theta does (own).

The variance v'Sv / n + s^2 v'v with v = K^-1 l follows theta by way of S and of K. Its first
derivatives are third moments of the rows, of which each coefficient needs (p,) numbers a part: sums
as cheap as a Hessian, whatever n, budget and split are asked about later.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Place, Table
from dpci_core.base.rows import plain, times_weights
from dpci_core.losses import Loss

_STEP = 0.02
"""In margins, to either side: the difference that stands for the derivative of the curvature."""


@dataclass(frozen=True, slots=True)
class VarianceDrift:
    """Derivatives by theta, a row a coefficient of B theta and a column an entry of theta, (p, p).

    With v = K^-1 B' a row's vector and D the derivative of K along a direction:

    sampling: v' D K^-1 S v.
    noise: v' D K^-1 v.
    slopes: v' (derivative of S) v, but for the part of the penalty.
    step: v' D K^-1 theta.
    """

    sampling: Array
    noise: Array
    slopes: Array
    step: Array

    @classmethod
    def of(
        cls, A: Table, theta: Array, K: Array, S: Array, *, loss: Loss, basis: Array
    ) -> VarianceDrift:
        """Of the rows of a table; one pass.

        Args:
            A: rows y_i x_i, (n, p).
            theta: where the derivatives are taken, (p,).
            K: curvature (p, p) in the variance, with the penalty or without.
            S: gradient covariance (p, p).
            loss: f.
            basis: B (p, p).
        """
        inverse = np.asarray(np.linalg.pinv(K, rcond=1e-10, hermitian=True))
        v = basis @ inverse
        others = np.stack([v @ S @ inverse, v @ inverse])
        found = A.total(_Sums(theta, loss, v, others, inverse @ theta)) / len(A)
        return cls(*found)


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """The four sums over rows, (4, p, p).

    v, others: the vectors (p, p) and (2, p, p) between which the derivative of K stands.
    way: K^-1 theta (p,).
    """

    theta: Array
    loss: Loss
    v: Array
    others: Array
    way: Array

    def __call__(self, place: Place) -> Array:
        theta, p = place.laid_out(self.theta), len(self.theta)
        turned = place.laid_out(np.concatenate([self.v, *self.others, self.way[None]]).T)
        found = np.zeros((4, p, p))
        for block in place.chunks():
            rows = plain(block)
            z = place.laid_out(rows @ theta)
            along = place.laid_out(rows @ turned)
            at_v, way = along[:, :p], along[:, -1:]
            bend = self.loss.curvature(z + _STEP) - self.loss.curvature(z - _STEP)
            bent = times_weights(bend / (2.0 * _STEP), block)[:, None] * at_v
            slope = times_weights(self.loss.slope(z), block)
            curvature = times_weights(self.loss.curvature(z), block)
            terms = (
                bent * along[:, p : 2 * p],
                bent * along[:, 2 * p : 3 * p],
                2.0 * (slope * curvature)[:, None] * at_v**2,
                bent * way,
            )
            for total, term in zip(found, terms, strict=True):
                total += place.laid_out(term).T @ rows
        return found
