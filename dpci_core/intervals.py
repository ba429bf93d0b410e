"""From released quantities to intervals [WKL Algorithms 3 and 5]: post-processing, no record in sight.

With G ~ N(0, S) and b a fresh copy of the model's noise, theta_0 - theta_priv is distributed like

    objective:  H^-1 (G + b / sqrt n) / sqrt n          output:  H^-1 G / sqrt n - b

so a coordinate is normal with variance A + B W: A from sampling (and Gaussian noise), B from spherical Laplace
noise with its random variance W ~ Gamma((p+1)/2, 1) (`noise`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpci_core.design import Mechanism
from dpci_core.noise import half_width
from dpci_core.perturbation import ModelNoise

Array = npt.NDArray[np.float64]


class ErrorVariance(NamedTuple):
    """Variance of the error, in parts: sampling + gaussian + laplace * W, arrays of one shape."""

    sampling: Array
    gaussian: Array
    laplace: Array

    @property
    def normal(self) -> Array:
        """The part that does not depend on W."""
        return self.sampling + self.gaussian

    def half_width(self, *, dim: int, confidence_level: float) -> Array:
        """Half-length of the central interval of this law."""
        return half_width(self.normal, self.laplace, dim=dim, confidence_level=confidence_level)


def error_variance(
    H: Array,
    S: Array,
    *,
    mechanism: Mechanism,
    noise: ModelNoise,
    n_records: int,
    contrasts: Array | None = None,
) -> ErrorVariance:
    """Return the law of (estimate - target), per coefficient or per linear combination of them.

    Args:    H, S: (..., p, p), H positive definite.  contrasts: L (k, p) for the combinations L theta.
    Returns: arrays (..., p), or (..., k); a negative v'Sv counts as 0, be it of rounding or of noise on S.
    Source:  WKL Algorithm 3 (objective), Algorithm 5 (output; line 17 for zCDP).
    """
    p = H.shape[-1]
    L = np.eye(p) if contrasts is None else contrasts
    rows = np.swapaxes(np.linalg.solve(H, np.broadcast_to(L.T, (*H.shape[:-1], len(L)))), -1, -2)
    sampling = np.maximum(np.einsum("...ij,...jk,...ik->...i", rows, S, rows, optimize=True), 0.0) / n_records
    if mechanism == "objective":
        size = np.einsum("...ij,...ij->...i", rows, rows) / n_records**2
    else:
        size = np.broadcast_to(np.einsum("ij,ij->i", L, L), sampling.shape)
    zero = np.zeros_like(sampling)
    if noise.rate is not None:
        return ErrorVariance(sampling, zero, size * (2.0 / noise.rate**2))
    return ErrorVariance(sampling, size * noise.variance(p), zero)
