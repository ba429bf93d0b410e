"""Where noise comes from: the operating system for a release, a seeded NumPy generator for a simulation.

`SystemSource` has the two methods of a generator that the samplers of `noise` use, and is none: a simulation refuses it
(`errors.check_generator`), a release accepts nothing else (`check_system_source`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dpci_core.errors import check_count, check_positive

Array = npt.NDArray[np.float64]

_STEPS_UP = 23
"""Attempts to raise a standard deviation until its cost is what was booked; the last adds 1e-9 of it."""


class NoiseError(RuntimeError):
    """Noise that would not protect what it was drawn for; nothing was released."""


@final
class SystemSource:
    """Draws from the operating system's entropy, without state and without a seed."""

    __slots__ = ()

    def uniform(self, size: int) -> Array:
        """Return odd multiples of 2^-53, (size,): strictly between 0 and 1, and as often below 1/2 as above."""
        bits = np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64) >> np.uint64(12)
        return (2.0 * bits.astype(np.float64) + 1.0) * 2.0**-53

    def standard_normal(self, size: int | tuple[int, ...]) -> Array:
        """Return standard normals by inversion."""
        return np.asarray(ndtri(self.uniform(int(np.prod(size)))).reshape(size))

    def gamma(self, shape: int, scale: float, size: int | tuple[int, ...]) -> Array:
        """Return Gamma(shape, scale) variables of whole-number shape, each a sum of so many exponentials."""
        check_count(shape=shape)
        terms = -np.log(self.uniform(int(np.prod(size)) * shape))
        return np.asarray(scale * terms.reshape(-1, shape).sum(axis=1).reshape(size))

    def add_gaussian(self, values: Array, *, sd: float, sensitivity: float, rho: float) -> Array:
        """Return values (k,) plus N(0, sd^2 I), sampled exactly by OpenDP; sd is raised by rounding errors if need be.

        Privacy: rho-zCDP for values of this L2 sensitivity; OpenDP's own privacy map has to agree.
        Raises:  NoiseError if its map exceeds rho, or if anything but k finite numbers goes in or comes out. OpenDP
                 itself takes NaN, infinity and longer vectors for valid.
        """
        check_positive(sd=sd, sensitivity=sensitivity, rho=rho)
        if values.ndim != 1 or values.dtype != np.float64 or len(values) == 0 or not np.isfinite(values).all():
            raise NoiseError("Expected a vector of finite numbers to add noise to.")
        measurement = _gaussian_of(len(values), sd=sd, sensitivity=sensitivity, rho=rho)
        noisy = np.asarray(measurement(values.tolist()), dtype=np.float64)
        if noisy.shape != values.shape or not np.isfinite(noisy).all():
            raise NoiseError("Expected as many finite numbers back as went in.")
        return noisy


def _gaussian_of(size: int, *, sd: float, sensitivity: float, rho: float) -> Callable[[list[float]], list[float]]:
    """OpenDP's Gaussian mechanism, its standard deviation raised until its map is at most rho."""
    import opendp.prelude as dp  # 1.5 seconds that only a release under zCDP needs

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), dp.l2_distance(T=float)
    scale = sd
    for step in range(_STEPS_UP):
        measurement: Any = dp.m.make_gaussian(*space, scale=scale)
        if measurement.map(sensitivity) <= rho:
            return measurement  # type: ignore[no-any-return]
        scale = sd * (1.0 + math.ldexp(1.0, step - 52))
    raise NoiseError("The standard deviation is too small for what was booked.")


Source = np.random.Generator | SystemSource
"""What the samplers draw from."""


def check_system_source(source: object) -> None:
    """Raise ValueError unless this is the operating system's entropy."""
    if not isinstance(source, SystemSource):
        raise ValueError(f"Expected a release to draw from the system source, got {type(source).__name__}.")
