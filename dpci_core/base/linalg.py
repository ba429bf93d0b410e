"""Small symmetric matrices, one or a stack of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpci_core.base.array import Array, Integers


class Floored(NamedTuple):
    """A matrix after `floor_eigenvalues`, and how much the repair changed."""

    matrix: Array
    n_lifted: Integers
    smallest_before: Array


_RESOLVED = 2.0**-44
"""A smaller share of the largest eigenvalue is lost when the matrix is put together again, and with
it the sign.
"""


def symmetrise(matrix: Array) -> Array:
    """(M + M')/2 over the last two axes."""
    return np.asarray(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))


def lift(values: Array, floor: float) -> Array:
    """Return eigenvalues (..., p) raised to `floor` or, if it is positive, to what survives the
    largest one's rounding.

    The second acts only where noise exceeds the floor 1e13 times: the matrix would not be positive
    definite there.
    """
    if floor <= 0.0:
        return np.maximum(values, floor)
    resolved = _RESOLVED * values.max(axis=-1, keepdims=True)
    return np.asarray(np.maximum(values, np.maximum(floor, resolved)))


def floor_eigenvalues(matrix: Array, floor: float) -> Floored:
    """Return symmetric matrices (..., p, p) with eigenvalues below `floor` raised to it [WKL
    Algorithm 2, 11-13].
    """
    values, vectors = np.linalg.eigh(matrix)
    lifted = lift(values, floor)
    repaired = (vectors * lifted[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return Floored(symmetrise(repaired), (values < floor).sum(axis=-1), values[..., 0])
