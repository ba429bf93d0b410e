"""The sums over rows behind J, H and S, of one batch: what `objective` adds up for a table in
batches.

Every array that linear algebra reads is laid out alike wherever a batch is read, so that two
workers find the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batch import Block, aligned, empty_aligned
from dpci_core.base.batches import Place, RecordBatches
from dpci_core.base.rows import PersonRows, plain, stacked, times_weights, unit_rows
from dpci_core.losses import Loss

_KEPT = 3
"""Points whose derivatives a table remembers: a line search and the step after it meet again."""


def _as_is(values: Array) -> Array:
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """Sums of w f(z), of w f'(z) a, (p,), and of w f''(z) a a', (p, p), at theta."""

    theta: Array
    loss: Loss

    def __call__(self, place: Place) -> tuple[Array, Array, Array]:
        theta, p = aligned(self.theta), len(self.theta)
        value, gradient, hessian = np.zeros(()), np.zeros(p), np.zeros((p, p))
        for block in place.chunks():
            rows = plain(block)
            z = np.matmul(rows, theta, out=empty_aligned((len(rows),)))
            at, slope, curvature = (times_weights(f, block) for f in self.loss.derivatives(z))
            value = value + at.sum()
            gradient = gradient + rows.T @ aligned(slope)
            turned = np.multiply(rows, curvature[:, None], out=empty_aligned(rows.shape))
            hessian += turned.T @ rows
        return np.asarray(value), gradient, hessian


@dataclass(frozen=True, slots=True, eq=False)
class Outer:
    """Sum (p, p) of w f''(z) a a' ("hessian"), of w^2 f'(z)^2 a a' or of the outer products of
    persons' sums of w f'(z) a ("covariance"), or of w a a' ("moment").

    whiten: W (p, p), for rows W a; None for a.
    """

    of: Literal["hessian", "covariance", "moment"]
    theta: Array
    loss: Loss | None = None
    whiten: Array | None = None

    def __call__(self, place: Place) -> Array:
        return self.over(place.chunks(), laid_out=aligned)

    def over(
        self, blocks: Iterable[Block], *, laid_out: Callable[[Array], Array] = _as_is
    ) -> Array:
        """The sum over blocks of rows, every array that linear algebra reads laid out so."""
        theta, p = laid_out(self.theta), len(self.theta)
        whiten = None if self.whiten is None else laid_out(self.whiten)
        total = np.zeros((p, p))
        for block in blocks:
            rows = plain(block) if self.of != "moment" else laid_out(unit_rows(block))
            turned = rows if whiten is None else laid_out(rows @ whiten)
            factors = self._factors(block, laid_out(rows @ theta))
            if isinstance(block, PersonRows) and self.of == "covariance":
                persons = laid_out(block.sums(turned * factors[:, None]))
                total += persons.T @ persons
            else:
                total += laid_out(turned * self._squared(factors)[:, None]).T @ turned
        return total

    def _factors(self, block: Block, z: Array) -> Array:
        if self.of == "moment":
            return np.ones(len(z))
        assert self.loss is not None
        if self.of == "hessian":
            return times_weights(self.loss.curvature(z), block)
        return times_weights(self.loss.slope(z), block)

    def _squared(self, factors: Array) -> Array:
        return factors**2 if self.of == "covariance" else factors


@dataclass(frozen=True, slots=True, eq=False)
class Pull:
    """Sum (p, p) of h (g - mean)(g - mean)' over rows: g = w f'(z) a is the gradient of a row and
    h = w f''(z) a'H^-1 a its leverage.

    inverse: H^-1 (p, p).
    mean: (p,).
    """

    theta: Array
    loss: Loss
    inverse: Array
    mean: Array

    def __call__(self, place: Place) -> Array:
        return self.over(place.chunks(), laid_out=aligned)

    def over(
        self, blocks: Iterable[Block], *, laid_out: Callable[[Array], Array] = _as_is
    ) -> Array:
        """As for `Outer`, by the sums of h g g', h g and h: no gradient is written out."""
        theta, inverse, p = laid_out(self.theta), laid_out(self.inverse), len(self.theta)
        squares, sums, mass = np.zeros((p, p)), np.zeros(p), 0.0
        for block in blocks:
            rows = plain(block)
            z = laid_out(rows @ theta)
            slope = times_weights(self.loss.slope(z), block)
            curvature = times_weights(self.loss.curvature(z), block)
            leverage = curvature * np.einsum("ij,ij->i", laid_out(rows @ inverse), rows)
            factors = laid_out(leverage * slope)
            squares += laid_out(rows * (factors * slope)[:, None]).T @ rows
            sums += rows.T @ factors
            mass += float(leverage.sum())
        cross = np.outer(sums, self.mean)
        return squares - cross - cross.T + mass * np.outer(self.mean, self.mean)


def derivatives(A: RecordBatches, theta: Array, loss: Loss) -> tuple[Array, Array, Array]:
    """Return the sums of `Derivatives` over a table; one pass, none where they are kept."""
    key = (theta.tobytes(), loss)
    if key not in A.kept:
        while len(A.kept) >= _KEPT:
            del A.kept[next(iter(A.kept))]
        A.kept[key] = A.total(Derivatives(theta, loss))
    found: tuple[Array, Array, Array] = A.kept[key]
    return found


@dataclass(frozen=True, slots=True)
class EveryRow:
    """The rows whose number in the table is a multiple of `step`; blocks of no row are left out."""

    step: int

    def __call__(self, place: Place) -> list[Block]:
        found, first = [], place.first_row
        for block in place.chunks():
            chosen = block[-first % self.step :: self.step]
            found += [stacked([chosen])] if len(chosen) else []  # a copy: a view holds its block
            first += len(block)
        return found


def rows_of(A: RecordBatches, step: int) -> Block:
    """Return every `step`-th row of a table, the first among them; one pass."""
    return stacked(A.total(EveryRow(step)))
