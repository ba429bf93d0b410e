"""The sums over rows behind J, H and S, of one batch.

In batches every array that linear algebra reads is laid out alike wherever a batch is read, so that
two workers find the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batch import Block
from dpci_core.base.batches import Place, Table
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.rows import (
    combined,
    plain,
    record_sums,
    stacked,
    times_weights,
    unit_rows,
)
from dpci_core.losses import Loss

_KEPT = 3
"""Points whose derivatives a table remembers: a line search and the step after it meet again."""


@dataclass(frozen=True, slots=True, eq=False)
class Derivatives:
    """Sums of w f(z), of w f'(z) a, (p,), and of w f''(z) a a', (p, p), at theta.

    order: the last that is wanted: 0, 1 without the first, or all three; the others are 0.
    """

    theta: Array
    loss: Loss
    order: Literal[0, 1, 2] = 2

    def __call__(self, place: Place) -> tuple[Array, Array, Array]:
        theta, p = place.laid_out(self.theta), len(self.theta)
        value, gradient, hessian = np.zeros(()), np.zeros(p), np.zeros((p, p))
        for block in place.chunks():
            rows = plain(block)
            z = place.laid_out(block @ theta)
            if self.order == 0:
                value = value + times_weights(self.loss.value(z), block).sum()
            elif self.order == 1:
                gradient = gradient + rows.T @ times_weights(self.loss.slope(z), block)
            else:
                at, slope, curvature = (times_weights(f, block) for f in self.loss.derivatives(z))
                value = value + at.sum()
                gradient = gradient + rows.T @ place.laid_out(slope)
                turned = np.multiply(rows, curvature[:, None], out=place.empty(rows.shape))
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
        theta, p = place.laid_out(self.theta), len(self.theta)
        whiten = None if self.whiten is None else place.laid_out(self.whiten)
        total = np.zeros((p, p))
        for block in place.chunks():
            rows = plain(block) if self.of != "moment" else place.laid_out(unit_rows(block))
            turned = rows if whiten is None else place.laid_out(rows @ whiten)
            factors = self._factors(block, place.laid_out(block @ theta))
            by_row = place.laid_out(turned * factors[:, None])
            if self.of == "covariance":
                gradients = record_sums(block, by_row)
                total += gradients.T @ gradients
            else:
                total += by_row.T @ turned
        return total

    def _factors(self, block: Block, z: Array) -> Array:
        if self.of == "moment":
            return np.ones(len(z))
        assert self.loss is not None
        if self.of == "hessian":
            return times_weights(self.loss.curvature(z), block)
        return times_weights(self.loss.slope(z), block)


@dataclass(frozen=True, slots=True, eq=False)
class CutGradients:
    """Sum (p,) of gradients w f'(z) W a over C, cut to length 1; a term is a function of its row
    alone, to its last bit.

    whiten: W (p, p), public.
    clip: C, public.
    """

    theta: Array
    loss: Loss
    whiten: Array
    clip: float

    def __call__(self, place: Place) -> Array:
        total = np.zeros(len(self.theta))
        for block in place.chunks():
            rows = plain(block)
            v = np.stack([combined(rows, factors) for factors in self.whiten], axis=1)
            slopes = times_weights(self.loss.slope(combined(rows, self.theta)), block)
            lengths = np.abs(slopes) * np.sqrt(combined(v * v, np.ones(v.shape[1])))
            factors = slopes * (NORM_MARGIN / np.maximum(lengths, self.clip))
            total += (v * factors[:, None]).sum(axis=0)
        return total


@dataclass(frozen=True, slots=True, eq=False)
class LeverageSums:
    """Sum (p, p) of h (g - mean)(g - mean)' over rows: g = w f'(z) a is the gradient of a row and
    h = w f''(z) a'H^-1 a its leverage. By the sums of h g g', h g and h, so that no gradient is
    written out.

    inverse: H^-1 (p, p).
    mean: (p,).
    """

    theta: Array
    loss: Loss
    inverse: Array
    mean: Array

    def __call__(self, place: Place) -> Array:
        theta, inverse = place.laid_out(self.theta), place.laid_out(self.inverse)
        p = len(self.theta)
        squares, sums, mass = np.zeros((p, p)), np.zeros(p), 0.0
        for block in place.chunks():
            rows = plain(block)
            z = place.laid_out(block @ theta)
            slope = times_weights(self.loss.slope(z), block)
            curvature = times_weights(self.loss.curvature(z), block)
            leverage = curvature * np.einsum("ij,ij->i", place.laid_out(rows @ inverse), rows)
            factors = place.laid_out(leverage * slope)
            squares += place.laid_out(rows * (factors * slope)[:, None]).T @ rows
            sums += rows.T @ factors
            mass += float(leverage.sum())
        cross = np.outer(sums, self.mean)
        return squares - cross - cross.T + mass * np.outer(self.mean, self.mean)


def derivatives(
    A: Table, theta: Array, loss: Loss, order: Literal[0, 1, 2]
) -> tuple[Array, Array, Array]:
    """Return the sums of `Derivatives` over a table; one pass. Of batches all are computed and
    kept, and none is read again for them.
    """
    if A.kept is None:
        value, gradient, hessian = A.total(Derivatives(theta, loss, order))
        return value, gradient, hessian
    key = (theta.tobytes(), loss)
    if key not in A.kept:
        while len(A.kept) >= _KEPT:
            del A.kept[next(iter(A.kept))]
        A.kept[key] = A.total(Derivatives(theta, loss))
    value, gradient, hessian = A.kept[key]
    return value, gradient, hessian


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


def rows_of(A: Table, step: int) -> Block:
    """Return every `step`-th row of a table, the first among them; one pass."""
    return stacked(A.total(EveryRow(step)))
