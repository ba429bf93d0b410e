"""Where noise comes from: the operating system for a release, a seeded generator for a simulation.

`SystemSource` and NumPy's generators have no method in common that draws noise: a simulation
refuses the one (`errors.check_generator`), a release accepts nothing else (`check_system_source`).
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from multiprocessing import current_process
from typing import Any, final

import numpy as np

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import check_count, check_positive
from dpci_core.base.extras import named_extras
from dpci_core.privacy.exact import RealNoise

_STEPS_UP = 23
"""Attempts to raise a standard deviation until its cost is what was booked; the last adds 1e-9 of
it.
"""
GRID_BITS = 20
"""A matrix's grid is finer than its noise by about 2^20, so that rounding to it does not show."""


class NoiseError(RuntimeError):
    """Noise that would not protect what it was drawn for; nothing was released."""


def grid_under(scale: float) -> int:
    """Return k of the grid of multiples of 2^k for noise of a public scale: 2^k <= scale / 2^20.

    >>> grid_under(1.0), grid_under(0.99)
    (-20, -21)
    """
    check_positive(scale=scale)
    return math.frexp(scale)[1] - 1 - GRID_BITS


def to_grid(values: Array, exponent: int) -> Array:
    """Return the multiples of 2^exponent nearest to values; between two the even one, and no -0."""
    grid = math.ldexp(1.0, exponent)
    return np.asarray(np.round(values / grid) * grid + 0.0)


def load_noise() -> None:
    """Import what noise comes from, before anything is booked: while a script of Streamlit's ends
    elsewhere an import can fail, and after the draw began that would cost the charge.

    Raises:  ExtraNeededError without OpenDP; RuntimeError in a worker that is starting, which runs
             the whole script of its parent again, and with it what was drawn there.
    """
    if getattr(current_process(), "_inheriting", False):
        raise RuntimeError(
            "A worker process that starts runs this script again, and would draw, and pay, a "
            "second time. Put what the script does below `if __name__ == '__main__':`."
        )
    with named_extras():
        import opendp.prelude  # noqa: F401 - 1.5 seconds that only a private draw needs


@final
class SystemSource:
    """Draws from the operating system's entropy; what it adds is exact and lands on a public
    grid.

    Raises:  ExtraNeededError without OpenDP, whichever noise is to come.
    """

    __slots__ = ()

    def __init__(self) -> None:
        load_noise()  # here, where nothing is booked yet

    def permutation(self, size: int) -> Integers:
        """Return an order of 0, ..., size - 1, drawn without a look at data."""
        bits = np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64)
        return np.argsort(bits, kind="stable")

    def below(self, size: int) -> int:
        """Return one of 0, ..., size - 1, each with the same chance."""
        check_count(size=size)
        return secrets.randbelow(size)

    def spherical_laplace(self, dim: int, *, rate: float) -> Array:
        """Return spherical Laplace noise (dim,) as doubles within 2^-51 of an exact draw.

        For the noise vector of an objective, which nobody sees: what the doubles miss of it counts
        as an error of the solver (`guaranteed.gradient_rounding`). To add noise to values,
        `add_spherical_laplace`.
        """
        check_count(dim=dim)
        check_positive(rate=rate)
        return RealNoise(dim, law="laplace", rate=Fraction(rate)).doubles()

    def gaussian(self, dim: int, *, sd: float) -> Array:
        """Return N(0, sd^2 I) noise (dim,) for an objective, as `spherical_laplace` does."""
        check_count(dim=dim)
        check_positive(sd=sd)
        return RealNoise(dim, law="gaussian", rate=1 / Fraction(sd)).doubles()

    def add_spherical_laplace(
        self, values: Array, *, rate: float, sensitivity: float, epsilon: float, exponent: int
    ) -> Array:
        """Return multiples of 2^exponent: values (k,) plus exact spherical Laplace noise, to the
        nearest.

        Args:
            values: finite; a float is taken for the number it is.
            rate: of the noise, 1 / scale.
            sensitivity: L2, of the values as they are in floating point.
            epsilon: what was booked.
            exponent: of the grid; a public number.

        Privacy: epsilon-DP. The noise has density proportional to exp(-rate |z|) and is added
                 before anything is rounded, so rounding is post-processing: no delta.
        Raises:  NoiseError unless rate * sensitivity <= epsilon, exactly, and the values are
                 finite.
        """
        check_positive(rate=rate, sensitivity=sensitivity, epsilon=epsilon)
        _check_vector(values)
        if Fraction(rate) * Fraction(sensitivity) > Fraction(epsilon):
            raise NoiseError("The rate of the noise is too large for what was booked.")
        return RealNoise(len(values), law="laplace", rate=Fraction(rate)).rounded(
            values, exponent=exponent
        )

    def add_gaussian(
        self, values: Array, *, sd: float, sensitivity: float, rho: float, exponent: int
    ) -> Array:
        """Return multiples of 2^exponent: values (k,) plus N(0, sd^2 I), sampled exactly by OpenDP.

        The standard deviation is raised by rounding errors if need be; arguments as for
        `add_spherical_laplace`.

        Privacy: rho-zCDP for values of this L2 sensitivity; OpenDP's own privacy map has to agree.
            Rounding to the grid comes after the noise.
        Raises:  NoiseError if its map exceeds rho, or if anything but k finite numbers goes in or
                 comes
            out. OpenDP itself takes NaN, infinity and longer vectors for valid.
        """
        check_positive(sd=sd, sensitivity=sensitivity, rho=rho)
        _check_vector(values)
        measurement = _gaussian_of(len(values), sd=sd, sensitivity=sensitivity, rho=rho)
        noisy = np.asarray(measurement(values.tolist()), dtype=np.float64)
        if noisy.shape != values.shape or not np.isfinite(noisy).all():
            raise NoiseError("Expected as many finite numbers back as went in.")
        return to_grid(noisy, exponent)

    def add_real_gaussian(
        self, values: Array, *, sd: float, sensitivity: float, mu_squared: float, exponent: int
    ) -> Array:
        """Return multiples of 2^exponent: values (k,) plus exact N(0, sd^2 I), to the nearest.

        Arguments as for `add_spherical_laplace`, and its noise: real numbers, where `add_gaussian`
        has those of a fine lattice.

        Privacy: sqrt(mu_squared)-GDP: the Gaussian mechanism, and rounding is post-processing.
        Raises:  NoiseError unless sensitivity^2 <= mu_squared sd^2, exactly, and the values are
                 finite.
        """
        check_positive(sd=sd, sensitivity=sensitivity, mu_squared=mu_squared)
        _check_vector(values)
        if Fraction(sensitivity) ** 2 > Fraction(mu_squared) * Fraction(sd) ** 2:
            raise NoiseError("The standard deviation is too small for what was booked.")
        return RealNoise(len(values), law="gaussian", rate=1 / Fraction(sd)).rounded(
            values, exponent=exponent
        )

    def noisy_max(self, scores: Sequence[float], *, scale: float, is_gumbel: bool = False) -> int:
        """Return the place of the largest score after exact noise, drawn by OpenDP.

        Args:
            scores: at least one, finite; a float is taken for the number it is.
            scale: of the noise on each; the mean of exponential noise.
            is_gumbel: Gumbel noise instead, which makes it the exponential mechanism.

        Privacy: as `choice.choose`, which is the way here.
        Raises:  NoiseError for no score or one that is not finite.
        """
        check_positive(scale=scale)
        _check_vector(np.asarray(scores, dtype=np.float64))
        return _noisy_max_of(float(scale), is_gumbel)([float(score) for score in scores])

    def add_discrete_laplace(
        self, counts: Integers, *, scale: float, sensitivity: int, epsilon: Decimal
    ) -> Integers:
        """Return counts (k,) plus independent discrete Laplace noise, P(z) ~ exp(-|z| / scale),
        drawn by OpenDP.

        Args:
            sensitivity: L1, of the counts.
            epsilon: what was booked.

        Privacy: epsilon-DP.
        Raises:  NoiseError unless sensitivity / scale <= epsilon, exactly, and OpenDP's own map
                 agrees up to rounding.
        """
        check_positive(scale=scale)
        check_count(sensitivity=sensitivity)
        if Fraction(sensitivity) > Fraction(scale) * Fraction(epsilon):
            raise NoiseError("The noise is too small for what was booked.")
        given = np.asarray(counts)
        if given.ndim != 1 or len(given) == 0 or given.dtype.kind != "i":
            raise NoiseError("Expected a vector of whole numbers to add noise to.")
        measurement = _discrete_laplace_of(float(scale))
        if measurement.map(sensitivity) > float(epsilon) * (1.0 + 1e-9):
            raise NoiseError("OpenDP counts more for this noise than was booked.")
        noisy = np.asarray(measurement(given.tolist()), dtype=np.int64)
        if noisy.shape != given.shape:
            raise NoiseError("Expected as many counts back as went in.")
        return noisy


def _check_vector(values: Array) -> None:
    if (
        values.ndim != 1
        or values.dtype != np.float64
        or len(values) == 0
        or not np.isfinite(values).all()
    ):
        raise NoiseError("Expected a vector of finite numbers to add noise to.")


def _gaussian_of(
    size: int, *, sd: float, sensitivity: float, rho: float
) -> Callable[[list[float]], list[float]]:
    """OpenDP's Gaussian mechanism, its standard deviation raised until its map is at most rho."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=size), dp.l2_distance(T=float)
    scale = sd
    for step in range(_STEPS_UP):
        measurement: Any = dp.m.make_gaussian(*space, scale=scale)
        if measurement.map(sensitivity) <= rho:
            return measurement  # type: ignore[no-any-return]
        scale = sd * (1.0 + math.ldexp(1.0, step - 52))
    raise NoiseError("The standard deviation is too small for what was booked.")


@lru_cache(64)
def _noisy_max_of(scale: float, is_gumbel: bool) -> Callable[[list[float]], int]:
    """OpenDP's report-noisy-max; its noise goes by the measure of its guarantee."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measure = dp.zero_concentrated_divergence() if is_gumbel else dp.max_divergence()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    return dp.m.make_noisy_max(*space, measure, scale=scale)


@lru_cache(64)
def _discrete_laplace_of(scale: float) -> Any:
    """OpenDP's discrete Laplace mechanism on a vector of whole numbers."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


NoiseSource = np.random.Generator | SystemSource
"""Where a mechanism draws from."""


def check_system_source(source: object) -> None:
    """Raise ValueError unless this is the operating system's entropy."""
    if not isinstance(source, SystemSource):
        raise ValueError(
            f"Expected a release to draw from the system source, got {type(source).__name__}."
        )
