"""Small symmetric matrices, one or a stack of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class Floored(NamedTuple):
    """A matrix after `floor_eigenvalues`, and how much the repair changed."""

    matrix: Array
    n_lifted: npt.NDArray[np.int64]
    smallest_before: Array


def symmetrise(matrix: Array) -> Array:
    """(M + M')/2 over the last two axes."""
    return np.asarray(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))


def floor_eigenvalues(matrix: Array, floor: float) -> Floored:
    """Return symmetric matrices (..., p, p) with eigenvalues below `floor` raised to it [WKL Algorithm 2, 11-13]."""
    values, vectors = np.linalg.eigh(matrix)
    lifted = np.maximum(values, floor)
    repaired = (vectors * lifted[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return Floored(symmetrise(repaired), (values < floor).sum(axis=-1), values[..., 0])
