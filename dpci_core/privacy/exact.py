"""Noise as exact real numbers: known to as many bits as a question about them needs.

A number drawn in floating point has only some of the laws' values, and a sum *true value + such a
number* tells which true values could have led to it. Here a uniform number is an endless row of the
operating system's bits, of which the first ones are drawn and more when they are needed, and every
function of it is an interval that holds the true value (ball arithmetic, Arb). A question like
"which multiple of the grid is nearest?" is answered when the interval leaves one answer only; until
then more bits are drawn. So the answer is that of the exact real number, whatever the precision.
docs/proofs/release.md#noise has the argument.
"""

from __future__ import annotations

import math
import secrets
import threading
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import arb, ctx, fmpq

from dpci_core.base.array import Array

Law = Literal["laplace", "gaussian"]

_FIRST_BITS = 128
_MORE_BITS = 64
_GUARD_BITS = 64
"""Working precision beyond the bits drawn, so that the bits and not the arithmetic are the
limit.
"""
PRECISION = threading.RLock()
"""Arb's working precision is one for the process: whoever sets it holds this until it is what it
was.
"""
_DOUBLE_BITS = 60
"""Relative accuracy from which a double taken from an interval is within 2^-51 of the real
number.
"""


class Uniforms:
    """Numbers uniform on (0, 1), (size,), of which the first `bits` binary digits are drawn so
    far.
    """

    def __init__(self, size: int) -> None:
        self._words = [0] * size
        self.bits = 0
        self.draw(_FIRST_BITS)

    def draw(self, bits: int = _MORE_BITS) -> None:
        """Draw more binary digits of every number, from the operating system."""
        width = bits // 8
        drawn = secrets.token_bytes(width * len(self._words))
        for i, word in enumerate(self._words):
            self._words[i] = word << bits | int.from_bytes(drawn[i * width : (i + 1) * width])
        self.bits += bits

    def balls(self) -> list[Any]:
        """One interval a number, from the digits drawn to the next number of so many digits."""
        radius = arb((1, -self.bits - 1))
        return [arb(arb((2 * word + 1, -self.bits - 1)), radius) for word in self._words]


class RealNoise:
    """One draw of noise in R^dim, spherical Laplace or Gaussian, held as exact real numbers.

    Args:
        dim: number of coordinates (>= 1).
        law: "laplace" has density proportional to exp(-rate |z|): |z| is Gamma(dim, 1/rate), a sum
            of dim exponentials, and the direction that of a normal vector [WKL Algorithm 1, line
            5]. "gaussian" has independent coordinates N(0, 1/rate^2).
        rate: an exact number (> 0).

    Normals come in pairs by Box and Muller's formula, exponentials as -log of a uniform number.
    """

    def __init__(self, dim: int, *, law: Law, rate: Fraction) -> None:
        self._dim, self._law = dim, law
        self._rate = rate
        self._pairs = (dim + 1) // 2
        self._uniforms = Uniforms(2 * self._pairs + (dim if law == "laplace" else 0))

    def rounded(self, values: Array, *, exponent: int) -> Array:
        """Return the multiples of 2^exponent nearest to values (dim,) plus this noise.

        The values are exact: doubles are. Every multiple is found from the real number, so its law
        is the mass of the continuous law on the numbers that are nearest to it.
        """
        found: list[int | None] = [None] * self._dim
        while True:
            with PRECISION, ctx.workprec(self._uniforms.bits + _GUARD_BITS):
                to_grid, half = arb((1, -exponent)), arb((1, -1))
                for i, noise in enumerate(self._balls()):
                    if found[i] is None:
                        multiple = (
                            ((arb(float(values[i])) + noise) * to_grid + half).floor().unique_fmpz()
                        )
                        found[i] = None if multiple is None else int(multiple)
            if not any(multiple is None for multiple in found):
                # Exact below 2^53; beyond, the nearest double to the multiple.
                return np.array(
                    [math.ldexp(multiple, exponent) for multiple in found if multiple is not None]
                )
            self._uniforms.draw()

    def doubles(self) -> Array:
        """Return doubles (dim,) within 2^-51 of the noise, relative to each of its coordinates."""
        while True:
            with PRECISION, ctx.workprec(self._uniforms.bits + _GUARD_BITS):
                balls = self._balls()
                if all(
                    ball.is_finite() and ball.rel_accuracy_bits() >= _DOUBLE_BITS for ball in balls
                ):
                    return np.array([float(ball.mid()) for ball in balls])
            self._uniforms.draw()

    def _balls(self) -> list[Any]:
        """An interval for every coordinate, at the working precision of the caller."""
        uniforms = self._uniforms.balls()
        normals = _normals(uniforms[: 2 * self._pairs])[: self._dim]
        factor = 1 / arb(_exact(self._rate))
        if self._law == "laplace":
            product = arb(1)
            for uniform in uniforms[2 * self._pairs :]:
                product = product * uniform
            factor = factor * -product.log() / sum((z * z for z in normals), arb(0)).sqrt()
        return [factor * z for z in normals]


def _normals(uniforms: list[Any]) -> list[Any]:
    """Independent standard normals, two for two uniform numbers."""
    found = []
    for first, second in zip(uniforms[::2], uniforms[1::2], strict=True):
        radius = (-2 * first.log()).sqrt()
        sine, cosine = (2 * second).sin_cos_pi()
        found += [radius * cosine, radius * sine]
    return found


def _exact(number: Fraction) -> Any:
    return fmpq(number.numerator, number.denominator)
