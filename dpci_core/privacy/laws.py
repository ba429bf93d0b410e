"""The two laws of noise that intervals can be made for: spherical Laplace and Gaussian.

A privacy definition chooses a law and says what its amounts mean there (`budget.Budget`); nothing
else needs to know which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.privacy.noise import sample_gaussian, sample_spherical_laplace
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.privacy.sensitivity import gaussian_sd, laplace_rate

Law = Literal["laplace", "gaussian"]
LAWS: tuple[Law, ...] = ("laplace", "gaussian")
"""Spherical Laplace noise, a normal vector of random variance (`noise`), and Gaussian noise."""


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """The public law of a noise vector; exactly one of the first two is set.

    rate: of spherical Laplace noise in R^p.
    sd: of Gaussian noise per coordinate.
    added_var: variance of a coordinate of what a release adds to the minimiser besides, to hide the
        solver's error.
    """

    rate: float | None = None
    sd: float | None = None
    added_var: float = 0.0

    def variance(self, dim: int) -> float:
        """Variance of one coordinate."""
        if self.rate is not None:
            return (dim + 1) / self.rate**2
        assert self.sd is not None
        return self.sd**2

    @property
    def law(self) -> Law:
        """The name of the law, "laplace" or "gaussian"."""
        return "laplace" if self.rate is not None else "gaussian"

    @property
    def scale(self) -> float:
        """The scale of the noise: 1/rate (Laplace) or the standard deviation (Gaussian)."""
        if self.rate is not None:
            return 1.0 / self.rate
        assert self.sd is not None
        return self.sd

    def sample(self, dim: int, rng: NoiseSource) -> Array:
        """One draw, shape (dim,); of a release the doubles nearest to an exact one."""
        if isinstance(rng, SystemSource):
            if self.rate is not None:
                return rng.spherical_laplace(dim, rate=self.rate)
            return rng.gaussian(dim, sd=self.scale)
        if self.rate is not None:
            return sample_spherical_laplace(dim, rate=self.rate, rng=rng)
        return sample_gaussian(dim, sd=self.scale, rng=rng)

    def add_to(
        self, values: Array, rng: NoiseSource, *, sensitivity: float, amount: float, exponent: int
    ) -> Array:
        """Return values (dim,) plus one draw.

        Noise of a release is exact, its scale is checked against both numbers, and the sum is
        rounded to multiples of 2^exponent.

        Args:
            sensitivity: L2, of the values.
            amount: epsilon of spherical Laplace, rho of Gaussian noise.

        Privacy: amount-DP or amount-zCDP if the scale is right.
        """
        if not isinstance(rng, SystemSource):
            return values + self.sample(len(values), rng)
        if self.rate is not None:
            return rng.add_spherical_laplace(
                values, rate=self.rate, sensitivity=sensitivity, epsilon=amount, exponent=exponent
            )
        assert self.sd is not None
        return rng.add_gaussian(
            values, sd=self.sd, sensitivity=sensitivity, rho=amount, exponent=exponent
        )


def noise_law(law: Law, *, sensitivity: float, amount: float, divided_by: float = 1.0) -> NoiseLaw:
    """Return the noise that values of the L2 sensitivity sensitivity / divided_by need.

    Args:
        law: "laplace" or "gaussian".
        sensitivity, divided_by: > 0; a quotient loses a bit to rounding.
        amount: epsilon of spherical Laplace, rho of Gaussian noise.
    """
    if law == "laplace":
        rate = laplace_rate(sensitivity=sensitivity, epsilon=amount, divided_by=divided_by)
        return NoiseLaw(rate=rate)
    return NoiseLaw(sd=gaussian_sd(sensitivity=sensitivity, rho=amount, divided_by=divided_by))


def unit_vector(law: Law, dim: int, rng: np.random.Generator) -> Array:
    """Return one draw (dim,) of rate 1 or standard deviation 1; a simulation's."""
    if law == "laplace":
        return sample_spherical_laplace(dim, rate=1.0, rng=rng)
    return sample_gaussian(dim, sd=1.0, rng=rng)
