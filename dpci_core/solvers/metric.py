"""Records in a metric: their second moment, and the weights that keep their leverage in bounds."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.batch import CHUNK_ROWS
from dpci_core.base.batches import Table, as_table
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.metric import Metric
from dpci_core.base.rows import Rows, WeightedRows, parted
from dpci_core.design import Geometry
from dpci_core.solvers.batch_sums import Outer

_MARGIN = 1.0 + 1e-8
"""Factor on a leverage, which must not be underestimated: W, its inverse and Wx are computed, and
the leverage in the exact inverse of W^-1 differs by at most about 12 p^2 2^-53 sqrt(1 + 1/ridge) of
itself (docs/proofs/map.md#metric, Rounding)."""


def second_moment_of(A: Rows | Table) -> Array:
    """Return X'X/n (p, p) of rows, those with weights counting as rows of norm at most 1."""
    table = as_table(A)
    return np.asarray(table.total(Outer("moment", np.zeros(A.shape[1]))) / len(A))


def metric_of(geometry: Geometry, second_moment: Array) -> Metric:
    """Return the metric of a geometry at second moments (..., p, p) that are released."""
    return Metric.of(second_moment, ridge=geometry.ridge, leverage=geometry.leverage)


def weighted(A: Rows, metric: Metric) -> WeightedRows:
    """Return the rows (n, p) with weights that keep them within the largest leverage.

    A weight depends on the metric and on that row alone, and is no larger than one the row has.
    """
    rows, before = parted(A)
    found = np.empty(len(A))
    for start in range(0, len(A), CHUNK_ROWS):
        chosen = slice(start, start + CHUNK_ROWS)
        v = rows[chosen] @ metric.whiten
        leverage = np.einsum("ij,ij->i", v, v) * _MARGIN
        found[chosen] = NORM_MARGIN / np.maximum(leverage, NORM_MARGIN)
    return WeightedRows(rows, found if before is None else np.minimum(before, found))


def weighted_table(A: Rows | Table, metric: Metric) -> Table:
    """Return the table with `weighted` rows; that in batches weights them when they are read."""
    return as_table(A).through(partial(weighted, metric=metric), has_weights=True)


def most_coefficients(geometry: Geometry) -> int:
    """Return the p from which on rounding may exceed `_MARGIN`, at most 2,632; 13 for 12 leaves the
    square of a row its own error.
    """
    stretch = math.sqrt(1.0 + 1.0 / geometry.ridge)
    return math.floor(math.sqrt((_MARGIN - 1.0) * 2.0**53 / (13.0 * stretch)))


def longest_stretch(geometry: Geometry) -> float:
    """Return the largest that |C Q^-1| can be, whatever is drawn."""
    return math.sqrt(geometry.leverage * (1.0 + geometry.ridge)) * _MARGIN
