"""What cutting gradients at a length, in a metric, moves the coefficients of planning rows by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batches import Table
from dpci_core.base.rows import plain, times_weights
from dpci_core.losses import Loss
from dpci_core.solvers.batch_sums import rows_of

_RIDGES = np.array([0.001, 0.002, 0.004, 0.008, 0.012, 0.016, 0.024, 0.032, 0.048, 0.064, 0.1, 0.3])
"""Those among which a metric is planned, and around them."""
_LENGTHS = np.exp2(np.arange(-16, 81) / 16.0)
_ROWS = 50_000
"""Rows that are looked at, evenly spaced."""


@dataclass(frozen=True, slots=True)
class Cuts:
    """Moves (K, M, p) of the coefficients where gradients w f' Q a, Q = (M + ridge)^(-1/2), are cut
    at a length: H^-1 E[(1 - omega) w f' a], omega what is left of one; not private.

    ridges: (K,), lengths: (M,), at which they are tabulated.
    """

    ridges: Array
    lengths: Array
    moves: Array

    @classmethod
    def of(
        cls, A: Table, theta: Array, hessian: Array, second_moment: Array, *, loss: Loss
    ) -> Cuts:
        """Return the moves of the coefficients theta (p,) of a table."""
        rows = rows_of(A, -(-len(A) // _ROWS))
        slopes = times_weights(loss.slope(rows @ theta), rows)
        values, vectors = np.linalg.eigh(second_moment)
        scales = 1.0 / (np.maximum(values, 0.0) + _RIDGES[:, None])
        lengths = np.abs(slopes)[:, None] * np.sqrt((plain(rows) @ vectors) ** 2 @ scales.T)
        lost = np.empty((len(_RIDGES), len(_LENGTHS), len(theta)))
        gradients = slopes[:, None] * plain(rows)
        for k, of_one in enumerate(lengths.T):
            unit = gradients / np.maximum(of_one, np.finfo(np.float64).tiny)[:, None]
            of_whole, of_unit = (_of_longer(of_one, x) for x in (gradients, unit))
            lost[k] = (of_whole - _LENGTHS[:, None] * of_unit) / len(rows)
        return cls(_RIDGES, _LENGTHS, lost @ np.linalg.inv(hessian))

    def at(self, ridge: float, length: float) -> Array:
        """Return the move (p,) at a ridge and a length, by interpolation in their logarithms;
        0 at longer ones than are tabulated."""
        if length > self.lengths[-1]:
            return np.zeros(self.moves.shape[-1])
        over, under = np.log(self.ridges), np.log(self.lengths)
        by_length = np.array(
            [
                [np.interp(np.log(ridge), over, of_one) for of_one in at_length.T]
                for at_length in np.swapaxes(self.moves, 0, 1)
            ]
        )
        return np.array([np.interp(np.log(length), under, of_one) for of_one in by_length.T])


def _of_longer(lengths: Array, values: Array) -> Array:
    """Sums (M, p) of values (n, p) over the rows that are longer than each of `_LENGTHS`."""
    places, most = np.searchsorted(_LENGTHS, lengths), len(_LENGTHS) + 1
    binned = np.stack([np.bincount(places, x, minlength=most) for x in values.T], axis=1)
    return np.asarray(binned[:0:-1].cumsum(axis=0)[::-1])
