"""Noisy Hessians as eigenvalues and eigenvectors: read as published or with their repulsion undone,
and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

import numpy as np

from dpci_core.base.array import Array, Positions
from dpci_core.base.linalg import lift, symmetrise
from dpci_core.mechanisms.matrices import MatrixNoise


@dataclass(frozen=True, slots=True)
class Spectrum:
    """Hessians as eigenvalues (..., p) and eigenvectors."""

    values: Array
    vectors: Array

    @classmethod
    def of(cls, matrices: Array) -> Spectrum:
        """Return the spectra of symmetric matrices (..., p, p)."""
        return cls(*np.linalg.eigh(matrices))

    def floored(self, law: MatrixNoise) -> Spectrum:
        """Return spectra with eigenvalues of a noisy Hessian raised to the floor, as published."""
        return Spectrum(lift(self.values, law.floor), self.vectors)

    def shrunken(self, law: MatrixNoise) -> Spectrum:
        """Eigenvalues of a noisy Hessian moved back before the floor."""
        values = shrink_eigenvalues(self.values, law.diagonal_sd(self.values.shape[-1]))
        return Spectrum(lift(values, law.floor), self.vectors)

    def plus(self, penalty: Array | None) -> Spectrum:
        """Return the spectra of the matrices plus a public penalty (..., p, p), None for no
        penalty.
        """
        return self if penalty is None else Spectrum.of(self.matrix + penalty)

    @property
    def matrix(self) -> Array:
        """(..., p, p)."""
        return symmetrise(
            (self.vectors * self.values[..., None, :]) @ np.swapaxes(self.vectors, -1, -2)
        )

    def rows(self, contrasts: Array) -> Array:
        """L H^-1, (..., k, p)."""
        turned = contrasts @ self.vectors
        return np.asarray((turned / self.values[..., None, :]) @ np.swapaxes(self.vectors, -1, -2))

    def take(self, chosen: Positions) -> Spectrum:
        """Return the spectra of the chosen matrices of a stack."""
        return Spectrum(self.values[chosen], self.vectors[chosen])


@dataclass(frozen=True, slots=True)
class SharedSpectra:
    """Spectra of noisy Hessians, kept while many designs are tried on the same draws of noise
    around one Hessian.

    Nearly all the time of a stack goes into its eigenvectors, and they do not depend on the noise
    of the coefficients or of S: splits with the same amount for the Hessian share them. The numbers
    are those without sharing.
    """

    hessian: Array
    _kept: dict[Hashable, Spectrum] = field(default_factory=dict)

    def recall(self, key: Hashable, make: Callable[[], Spectrum]) -> Spectrum:
        """What was made for this key, made now if it is new."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]


def shrink_eigenvalues(values: Array, sd: float) -> Array:
    """Return eigenvalues (..., p) corrected for symmetric noise of diagonal standard deviation
    `sd`.

    x_i = l_i - sd^2 sum_j (l_i - l_j) / ((l_i - l_j)^2 + p sd^2/2): the rotationally invariant
    estimator of Bun, Allez, Bouchaud and Potters (2016) for Gaussian symmetric noise, its resolvent
    taken at the noise level.
    """
    gap = values[..., :, None] - values[..., None, :]
    p = values.shape[-1]
    pull = gap / np.maximum(gap * gap + p * sd * sd / 2.0, np.finfo(np.float64).tiny)
    return np.asarray(values - sd * sd * pull.sum(axis=-1))
