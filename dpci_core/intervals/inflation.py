"""From released quantities to intervals [WKL Algorithms 3 and 5]: post-processing, no record in
sight.

With G ~ N(0, S) and b a fresh copy of the model's noise, theta_0 - theta_priv is distributed like

    objective:  H^-1 (G + b / sqrt n) / sqrt n          output:  H^-1 G / sqrt n - b

so a coordinate is normal with variance A + B W: A from sampling (and Gaussian noise), B from
spherical Laplace noise with its random variance W ~ Gamma((p+1)/2, 1) (`noise`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpci_core.base.array import Array
from dpci_core.design import MechanismName
from dpci_core.mechanisms.mechanism import mechanism_named
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.privacy.noise import half_width
from dpci_core.report import words


class ErrorVariance(NamedTuple):
    """Variance of the error, in parts: sampling + gaussian + laplace * W, arrays of one shape."""

    sampling: Array
    gaussian: Array
    laplace: Array

    @property
    def normal(self) -> Array:
        """The part that does not depend on W."""
        return self.sampling + self.gaussian

    def privacy(self, dim: int) -> Array:
        """The part from noise on the coefficients, W at its mean, for noise in R^dim."""
        return self.gaussian + self.laplace * (dim + 1) / 2.0

    def total(self, dim: int) -> Array:
        """Sampling and privacy together."""
        return self.sampling + self.privacy(dim)

    def half_width(self, *, dim: int, confidence_level: float) -> Array:
        """Half-length of the central interval of this law."""
        return half_width(self.normal, self.laplace, dim=dim, confidence_level=confidence_level)


@dataclass(frozen=True, slots=True)
class Usefulness:
    """Whether intervals say anything about the coefficients, judged from released or public
    quantities.

    Useless means that the noise dominates and a typical coefficient cannot be told from zero.

    half_width: mean.
    coefficient: root-mean-square size of the estimates.
    privacy_share: part of the error variance that is privacy noise.
    """

    half_width: float
    coefficient: float
    privacy_share: float

    @property
    def is_useless(self) -> bool:
        """Noise makes up most of the variance, and the mean half-width exceeds the typical
        estimate.
        """
        return self.privacy_share > 0.5 and self.half_width > self.coefficient

    @property
    def sentence(self) -> str:
        """The verdict in words; empty unless useless."""
        if not self.is_useless:
            return ""
        return words.useless(self.half_width, self.coefficient, self.privacy_share)


def judge_usefulness(
    half_width: Array, squared_estimate: Array, law: ErrorVariance, *, dim: int
) -> Usefulness:
    """Return whether intervals say anything about the coefficients.

    Args:
        half_width: of the intervals, (p,).
        squared_estimate: squares of the estimates or their expectation, (p,).
        law: of the error.
        dim: p of the noise on the coefficients.
    """
    noise = float(np.mean(law.privacy(dim)))
    total = float(np.mean(law.sampling)) + noise
    return Usefulness(
        half_width=float(np.mean(half_width)),
        coefficient=float(np.sqrt(np.mean(squared_estimate))),
        privacy_share=noise / total if total > 0 else 0.0,
    )


def error_variance(
    H: Array,
    S: Array,
    contrasts: Array | None = None,
    *,
    mechanism: MechanismName,
    noise: NoiseLaw,
    n_records: int,
) -> ErrorVariance:
    """Return the law of (estimate - target), per coefficient or per linear combination of them.

    Args:
        H, S: Hessian, positive definite, and gradient covariance, (..., p, p).
        mechanism: where the noise is.
        noise: law of that on the coefficients.
        n_records: number of records, public (>= 1).
        contrasts: L (..., k, p) for the combinations L theta.

    Returns: arrays (..., p), or (..., k); a negative v'Sv counts as 0, be it of rounding or of
             noise on S.
    Source:  WKL Algorithm 3 (objective), Algorithm 5 (output; line 17 for zCDP).
    """
    L = np.eye(H.shape[-1]) if contrasts is None else contrasts
    lead = np.broadcast_shapes(H.shape[:-2], L.shape[:-2])
    stacked = [np.broadcast_to(x, lead + x.shape[-2:]) for x in (H, L)]
    rows = np.swapaxes(np.linalg.solve(stacked[0], np.swapaxes(stacked[1], -1, -2)), -1, -2)
    return variance_of_rows(rows, S, L, mechanism=mechanism, noise=noise, n_records=n_records)


def variance_of_rows(
    rows: Array,
    S: Array,
    contrasts: Array,
    *,
    mechanism: MechanismName,
    noise: NoiseLaw,
    n_records: int,
) -> ErrorVariance:
    """Return the same from the rows (..., k, p) of L H^-1, for callers that have them."""
    sampling = np.maximum(np.einsum("...ij,...ij->...i", rows @ S, rows), 0.0) / n_records
    size = np.broadcast_to(
        mechanism_named(mechanism).error_size(rows, contrasts, n_records), sampling.shape
    )
    added = np.zeros_like(sampling)
    if noise.added_var > 0.0:
        added = added + noise.added_var * np.einsum("...ij,...ij->...i", contrasts, contrasts)
    if noise.rate is not None:
        return ErrorVariance(sampling, added, size * (2.0 / noise.rate**2))
    return ErrorVariance(
        sampling, size * noise.variance(rows.shape[-1]) + added, np.zeros_like(sampling)
    )
