"""One batch of rows: what `batches` adds up, and how its numbers lie in memory."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.rows import WeightedRows, in_chunks, weights_of

CHUNK_ROWS = 8192
"""Rows handled at a time, so that a pass over a large table needs no table-sized temporary."""
_ALIGNMENT = 64
"""Bytes; what linear algebra adds first may depend on where an array lies in memory."""

Block = Array | WeightedRows


class BatchError(DataRejectedError):
    """A batch that cannot be read any more as it was declared; no message holds a value of it."""


class Batch(ABC):
    """Rows y_i x_i of one encoding, readable again and again. What it holds may travel to workers.

    n_rows: declared; a reader that finds another number raises `BatchError`.
    dim: p.
    is_weighted: whether the rows have weights (`rows.WeightedRows`).
    writes_records: whether a reader writes rows to a file, which no release may.
    """

    n_rows: int
    dim: int
    is_weighted: bool

    @property
    def writes_records(self) -> bool:
        """False but for a batch with a cache."""
        return False

    @abstractmethod
    def chunks(self) -> Iterator[Block]:
        """The rows in order, at most `CHUNK_ROWS` at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryBatch(Batch):
    """Rows (n, p) that are in memory."""

    rows: Block

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """n."""
        return len(self.rows)

    @property
    def dim(self) -> int:  # type: ignore[override]
        """p."""
        return int(self.rows.shape[1])

    @property
    def is_weighted(self) -> bool:  # type: ignore[override]
        """Whether the rows have weights."""
        return weights_of(self.rows) is not None

    def chunks(self) -> Iterator[Block]:
        """The rows, `CHUNK_ROWS` at a time."""
        return in_chunks(self.rows, CHUNK_ROWS)


def aligned(values: npt.ArrayLike) -> Array:
    """A copy whose memory starts where that of every other such copy does, up to 64 bytes."""
    given = np.asarray(values, dtype=np.float64)
    found = empty_aligned(given.shape)
    found[...] = given
    return found


def empty_aligned(shape: tuple[int, ...]) -> Array:
    """An array for values to come, in memory as `aligned`."""
    size = math.prod(shape)
    held = np.empty(size + _ALIGNMENT // 8)
    first = -held.ctypes.data % _ALIGNMENT // 8
    return held[first : first + size].reshape(shape)


def laid_out(values: Array) -> Array:
    """The values themselves where they lie as they should; nobody writes to a block."""
    is_there = values.flags.c_contiguous and values.ctypes.data % _ALIGNMENT == 0
    return values if is_there else aligned(values)
