"""Half-widths of the intervals of a linear regression, of released numbers only.

The error of phi after T steps is linear in what was drawn
(docs/proofs/gaussian.md#estimate-and-interval):

    A s + sum_j D^(T-1-j) e_j - D^T phi,    A = I + D + ... + D^(T-1),    D = I - K

with s the error of the mean gradient by sampling, e_j the noise of step j and K the true second
moment of the rows that are not cut, in the metric. K is not known: the released second moment less
its noise, averaged over fixed draws of that noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from dpci_core.base.array import Array, Flags
from dpci_core.base.limits import confidence_level_in_range
from dpci_core.base.linalg import floor_eigenvalues, symmetrise
from dpci_core.mechanisms.matrices import fixed_draws
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.noise import gradient_sd, matrix_sd

_DRAWS = 128
_SEED = 20261124
_LARGEST_LOSS = 0.5
_LEAST_DEGREES = 5.0
"""Degrees of freedom of a released variance below which an interval says too little."""
_TINY = np.finfo(np.float64).tiny
_LEFT_COUNTS = 4.0
"""Times that what the steps leave counts: where noise raised an eigenvalue of the second moment by
a quarter, three steps are said to leave a quarter of what they do
(docs/proofs/gaussian.md#estimate-and-interval)."""
_LARGEST_LEFT = 0.5
"""Share of the variance that this may be."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearWidths:
    """Half-widths (k,) of contrasts, and what they are made of.

    sampling, privacy: variances (k,) of the estimate; privacy counts all noise and what the steps
        leave.
    covariance: of the estimates together, (k, k).
    degrees: of freedom of Student's law (k,), which the noise on the released covariance leaves.
    margins: how many times as far as it has to be each (2, k) is from being not estimable: by the
        noise on the covariance, and by what the steps leave of the variance.
    """

    half_width: Array
    sampling: Array
    privacy: Array
    covariance: Array
    degrees: Array
    margins: Array

    @property
    def is_not_estimable(self) -> Flags:
        """Contrasts that are not estimable."""
        return np.asarray(~(self.margins >= 1.0).all(axis=0))


def linear_half_widths(
    rows: Array,
    *,
    design: LinearDesign,
    phi: Array,
    second_moment: Array,
    whiten: Array,
    covariance: Array,
    clips: tuple[float, ...],
    share_clipped: float,
    confidence_level: float | None = None,
) -> LinearWidths:
    """Return the half-widths of rows (k, p) times phi; the other arguments as of `LinearFit`."""
    level = design.confidence_level if confidence_level is None else confidence_level
    level = confidence_level_in_range(level)
    p, n, amounts = len(phi), design.n_records, design.amounts()
    D = np.eye(p) - _curvatures(second_moment, whiten, share_clipped, design)
    powers = [np.broadcast_to(np.eye(p), D.shape)]
    for _ in clips:
        powers.append(powers[-1] @ D)
    through = np.sum(powers[:-1], axis=0)
    S = clips[-1] ** 2 * floor_eigenvalues(covariance, 0.0).matrix
    by_sampling = _of(rows, through @ S @ through) / n
    by_noise = _LEFT_COUNTS * _of(rows, powers[-1] @ np.outer(phi, phi) @ powers[-1])
    left = np.maximum(by_noise.diagonal(), _TINY)
    for step, clip in enumerate(clips):
        power = powers[len(clips) - 1 - step]
        by_noise = by_noise + (clip * gradient_sd(design, step)) ** 2 * _of(rows, power @ power)
    sampling, privacy = by_sampling.diagonal(), by_noise.diagonal()
    total = sampling + privacy
    sd = clips[-1] ** 2 * matrix_sd(design, amounts.covariance) / n
    spread = sd * _of(rows, through @ through).diagonal()
    degrees = np.maximum(2.0 * (total / spread) ** 2, 2.0)
    quantile = stdtrit(degrees, 0.5 + level / 2.0)
    return LinearWidths(
        half_width=quantile * np.sqrt(total),
        sampling=sampling,
        privacy=privacy,
        covariance=symmetrise(by_sampling + by_noise),
        degrees=degrees,
        margins=np.stack([degrees / _LEAST_DEGREES, _LARGEST_LEFT * total / left]),
    )


def _curvatures(
    second_moment: Array, whiten: Array, share_clipped: float, design: LinearDesign
) -> Array:
    """K (m, p, p): draws of the second moment of rows that are not cut, in its metric.

    A row with a long gradient tends to be long itself: the rows that are cut take 1 + 2/p of their
    share of the second moment with them, as normal rows nearly do.
    """
    p = len(whiten)
    noise = matrix_sd(design, design.amounts().moment) * fixed_draws(
        p, n_draws=_DRAWS, law="gaussian", symmetric=True, seed=_SEED
    )
    lost = min(max(share_clipped, 0.0) * (1.0 + 2.0 / p), _LARGEST_LOSS)
    return np.asarray((1.0 - lost) * (whiten @ (second_moment - noise) @ whiten.T))


def _of(rows: Array, matrices: Array) -> Array:
    """Mean over matrices (m, p, p) of L M L' (k, k), L the rows (k, p)."""
    return np.asarray(rows @ matrices.mean(axis=0) @ rows.T)
