"""Dask arrays as batches: a chunk of rows is a batch, computed where it is read. Dask is imported
only for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from dpci_core.base.batch import Batch, BatchError, Block, MemoryBatch
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.packed import Kept

Encode = Callable[[npt.NDArray[Any], npt.NDArray[Any]], Block]
"""Rows y x of cells and labels; can be pickled, and raises DataRejectedError."""


def is_dask(values: object) -> bool:
    """Whether something is a collection of Dask, such as an array or a data frame."""
    return hasattr(values, "__dask_graph__")


@dataclass(frozen=True, slots=True, eq=False)
class DaskBatch(Batch):
    """One chunk of rows.

    X, y: of that chunk alone, (n, d) and (n,), as Dask arrays.
    encode: what makes rows of them.
    first_row: of the chunk in the table.
    """

    X: Any
    y: Any
    encode: Encode
    first_row: int
    dim: int
    is_weighted: bool = False
    kept: Kept[Block] = field(default_factory=Kept)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows that the chunk states."""
        return int(self.X.shape[0])

    def chunks(self) -> Iterator[Block]:
        """The rows; BatchError for what is no row, or cannot be computed."""
        for rows in self.kept.or_made(self._computed):
            yield from MemoryBatch(rows).chunks()

    def _computed(self) -> Iterator[Block]:
        try:
            X, y = (a.compute(scheduler="synchronous") for a in (self.X, self.y))
            X, y = (made if np.ma.is_masked(made) else np.asarray(made) for made in (X, y))
        except Exception as error:  # of the user's own graph; its message may quote a cell
            raise BatchError("batch_broken_off", problem=type(error).__name__) from None
        if (X.shape, y.shape) != (self.X.shape, self.y.shape):
            raise BatchError("batch_of_another_size", wanted=self.n_rows, found=len(X))
        try:
            yield self.encode(X, y)
        except DataRejectedError as error:
            facts = dict(error.facts)
            if error.row is not None:
                facts["row"] = error.row + self.first_row
            raise BatchError(error.code, **facts) from None  # type: ignore[arg-type]


def dask_batches(
    X: Any, y: Any, encode: Encode, *, dim: int | None = None, is_weighted: bool = False
) -> tuple[DaskBatch, ...]:
    """Return a batch for every chunk of rows; several chunks of columns are joined.

    Args:
        X: a Dask array (n, d), or a Dask data frame, whose partitions are counted.
        y: labels (n,), of Dask or in memory; cut like X.
        encode: makes rows of cells and labels.
        dim: p, the columns of X where it is None.
        is_weighted: whether the rows have weights.

    Raises:  DataRejectedError for shapes that do not fit, and chunks of unknown sizes.
    """
    X, y = as_array(X), as_array(y)
    if X.ndim != 2:
        raise DataRejectedError("X_has_not_2_dimensions", found=X.ndim)
    for name, values in (("X", X), ("y", y)):
        if any(math.isnan(size) for size in values.shape):
            raise DataRejectedError("chunks_unknown", name=name)
    if y.shape != X.shape[:1]:
        raise DataRejectedError("y_has_another_shape", wanted=X.shape[:1], found=y.shape)
    if 0 in X.shape:
        raise DataRejectedError("no_record_or_no_column", found=X.shape)
    import dask
    from dask import array

    X = X.rechunk({1: X.shape[1]})
    y = y.rechunk((X.chunks[0],)) if is_dask(y) else array.from_array(y, (X.chunks[0],))
    found, first = [], 0
    for k, size in enumerate(X.chunks[0]):
        if size:
            # Without what other chunks are made of, which would travel with it.
            part, signs = dask.optimize(X.blocks[k], y.blocks[k])
            width = X.shape[1] if dim is None else dim
            found.append(DaskBatch(part, signs, encode, first, width, is_weighted))
        first += size
    return tuple(found)


def as_array(values: Any) -> Any:
    """A data frame or series of Dask as an array, whose partitions are counted; else an array."""
    if hasattr(values, "to_dask_array"):
        return values.to_dask_array(lengths=True)
    return values if is_dask(values) else np.asarray(values)
