"""From the penalised to the unpenalised coefficient, by one Newton step on released quantities
(own).

At the penalised minimiser theta_0 the gradient of the unpenalised objective is -2c theta_0, and its
Hessian is K = H - 2cI. One Newton step from there is linear in theta_0:

    theta_0 + 2c K^-1 theta_0  =  T theta_0,    T = K^-1 H

so the corrected estimate is T theta_priv, the interval is that of the contrasts T, and the noise on
H moves T: for H + N the estimate moves by -2c K^-1 N K^-1 theta_0, whose variance is added.
Post-processing; no budget.

Where a direction of K is flatter than `floor_of`, the step would multiply noise instead of removing
bias. There K is raised to that floor, and the step goes only part of the way. A long step ends
short as well, because the curvature changes on the way. Coefficients that one of the two concerns
are marked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.losses import Loss

_MARKED = 0.05
"""A coefficient is marked when more than this share of its squared length lies in unidentified
directions.
"""
_TOLERATED = 0.25
"""A coefficient is marked when the bias that a step leaves (`Loss.newton_remainder`) may exceed
this share of its half-width; `python -m benchmarks.unpenalised` prints the coverage of marked and
unmarked intervals."""
_SMALLEST_CURVATURE = 2.0
"""K is raised to this many times the noise on it, and to 2c, where the step would double what it
corrects.
"""


@dataclass(frozen=True, slots=True)
class Correction:
    """The step for a stack of released Hessians.

    contrasts: L T, (..., k, p).
    extra: variance from the noise on H, (..., k).
    in_unidentified: coefficients in unidentified directions, (..., k).
    remainder: about the bias that is left, (..., k).
    """

    contrasts: Array
    extra: Array
    in_unidentified: Flags
    remainder: Array

    def marked(self, half_width: Array) -> Flags:
        """Where the step removes the bias of the penalty only in part."""
        return self.in_unidentified | (self.remainder > _TOLERATED * half_width)


def no_correction(contrasts: Array, size: int) -> Correction:
    """Return the contrasts themselves, for a stack of this size."""
    stacked = np.broadcast_to(contrasts, (size, *contrasts.shape))
    nothing = np.zeros(stacked.shape[:2])
    return Correction(stacked, nothing, nothing.astype(np.bool_), nothing)


def floor_of(regularization: float, hessian_sd: float, p: int) -> float:
    """Return the smallest curvature of K along which the step is taken in full."""
    return max(2.0 * regularization, _SMALLEST_CURVATURE * hessian_sd * float(np.sqrt(p / 2.0)))


def correction(
    values: Array,
    vectors: Array,
    theta: Array,
    *,
    loss: Loss,
    regularization: float,
    hessian_sd: float,
    contrasts: Array,
) -> Correction:
    """Return the step to the unpenalised coefficients, with what it costs.

    Args:
        values: eigenvalues of H, (..., p).
        vectors: its eigenvectors, (..., p, p).
        theta: released, where H is, (..., p).
        loss: f.
        regularization: c > 0, in c |theta|^2 of the mean objective.
        hessian_sd: standard deviation of a diagonal entry of the noise on H.
        contrasts: L (k, p), for L T.

    Privacy: post-processing; released quantities and public constants are all it sees.
    """
    two_c, p = 2.0 * regularization, values.shape[-1]
    floor = floor_of(regularization, hessian_sd, p)
    curvature = values - two_c
    steep = np.maximum(curvature, floor)
    turned = np.swapaxes(vectors, -1, -2)
    inverse = (vectors / steep[..., None, :]) @ turned
    rows = contrasts @ inverse
    moved = np.einsum("...ij,...j->...i", inverse, theta)
    length = np.einsum("...ij,...ij->...i", rows, rows)
    along = np.einsum("...ij,...j->...i", rows, moved)
    size = np.einsum("...i,...i->...", moved, moved)[..., None]
    extra = two_c**2 * (hessian_sd**2 / 2.0) * (length * size + along**2)
    share = (contrasts @ vectors) ** 2 / np.einsum("ij,ij->i", contrasts, contrasts)[:, None]
    in_unidentified = np.einsum("...ij,...j->...i", share, (curvature < floor).astype(np.float64))
    step = two_c * np.abs(np.einsum("...ij,...j->...i", rows, theta))
    remainder = loss.newton_remainder * two_c * np.sqrt(size) * step
    return Correction(contrasts + two_c * rows, extra, in_unidentified > _MARKED, remainder)
