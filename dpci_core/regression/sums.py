"""The sums over records behind the clipped steps; each term has norm at most 1.

A block has the outcome t first, then the row x with the constant last, and weights w with
w |x|^2 <= 1. What a record adds is a function of that record alone to its last bit, wherever it
stands in a block: products with public numbers go column by column
(docs/proofs/gaussian.md#floating-point-and-grid). What a person adds is made of the means over the
own rows (docs/proofs/gaussian.md#persons).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.rows import WeightedRows, combined, unit_rows

LADDER = np.exp2(np.arange(-24, 13) / 2.0)
"""Lengths that a look tells apart, in units of root p: of rows in a metric, or of gradients with
residuals in spreads of the outcome.
"""


def _squares(z: Array) -> Array:
    return combined(z * z, np.ones(z.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class Whitened:
    """The view of blocks [t, x] as [t, z], z = Q x.

    whiten: Q (p, p), a lower triangle, public.
    is_new: whether weights are min(1, 1/|z|^2) from here on, a little less against rounding, or
        stay what they are.
    """

    whiten: Array
    is_new: bool

    def __call__(self, block: WeightedRows) -> WeightedRows:
        rows = np.empty_like(block.rows)
        rows[:, 0] = block.rows[:, 0]
        for j, factors in enumerate(self.whiten):
            rows[:, 1 + j] = combined(block.rows[:, 1 : j + 2], factors[: j + 1])
        if not self.is_new:
            return replace(block, rows=rows)
        weights = NORM_MARGIN / np.maximum(_squares(rows[:, 1:]), NORM_MARGIN)
        return replace(block, rows=rows, weights=weights * block.shares)


def moment(place: Any) -> Array:
    """Sum (p, p) of w x x' over the rows of a batch."""
    total: Array | float = 0.0
    for block in place.chunks():
        rows = place.laid_out(unit_rows(block)[:, 1:])
        total = total + rows.T @ rows
    return np.asarray(total)


def _gradients(block: WeightedRows, at: Array) -> tuple[Array, Array]:
    """The gradients (n, p) at phi (p,) of records, sums of w r z over their rows, and their lengths
    (n,).
    """
    z = block.rows[:, 1:]
    factors = block.weights * (combined(z, at) - block.rows[:, 0])
    gradients = block.sums(z * factors[:, None])
    return gradients, np.sqrt(_squares(gradients))


@dataclass(frozen=True, slots=True, eq=False)
class Lengths:
    """Numbers of records (k + 1,) by a length, between the edges (k,).

    at: phi (p,), public, for the lengths of gradients there; None for those of rows, of which each
        counts for its share of a record.
    """

    edges: Array
    at: Array | None = None

    def __call__(self, place: Any) -> Array:
        counts = np.zeros(len(self.edges) + 1)
        for block in place.chunks():
            if self.at is None:
                lengths, shares = np.sqrt(_squares(block.rows[:, 1:])), block.shares
            else:
                lengths, shares = _gradients(block, self.at)[1], None
            places = np.searchsorted(self.edges, lengths)
            counts += np.bincount(places, shares, minlength=len(counts))
        return counts


@dataclass(frozen=True, slots=True, eq=False)
class Clipped:
    """Sums of gradients over C, cut to length 1, (p,), and of their outer products, (p, p); and how
    many were cut.

    at: phi (p,), public.
    clip: C, public.
    """

    at: Array
    clip: float

    def __call__(self, place: Any) -> tuple[Array, Array, Array]:
        p = len(self.at)
        first, second, n_cut = np.zeros(p), np.zeros((p, p)), np.zeros(1)
        for block in place.chunks():
            gradients, lengths = _gradients(block, self.at)
            factors = NORM_MARGIN / np.maximum(lengths, self.clip)
            terms = place.laid_out(gradients * factors[:, None])
            first += terms.sum(axis=0)
            second += terms.T @ terms
            n_cut += np.count_nonzero(lengths > self.clip)
        return first, second, n_cut


def plain_sums(place: Any) -> tuple[Array, Array]:
    """Sums of z z' (p, p) and z t (p,) without weights, of planning rows."""
    whole = np.sum(
        [(block.rows * block.shares[:, None]).T @ block.rows for block in place.chunks()], axis=0
    )
    return whole[1:, 1:], whole[1:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """Sum (p, p) of d d', of planning rows: d is what a row adds to the distance between the
    clipped coefficient phi and the plain one.

    at, clip: phi (p,) and C.
    plain: of plain least squares, (p,).
    inverse: of the second moment without weights, (p, p).
    """

    at: Array
    clip: float
    plain: Array
    inverse: Array

    def __call__(self, place: Any) -> Array:
        total = np.zeros((len(self.at),) * 2)
        for block in place.chunks():
            gradients, lengths = _gradients(block, self.at)
            clipped = gradients * (self.clip / np.maximum(lengths, self.clip))[:, None]
            z = block.rows[:, 1:]
            residuals = block.shares * (combined(z, self.plain) - block.rows[:, 0])
            d = clipped - block.sums((z @ self.inverse) * residuals[:, None])
            total += d.T @ d
        return total
