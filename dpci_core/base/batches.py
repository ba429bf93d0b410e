"""A table as an ordered list of row batches that can be read again and again, and sums over it.

Everything a fit needs is a sum over rows. A batch adds its own rows, chunk after chunk; batches are
added pairwise, in a tree that their number alone decides. Where a batch ends is decided by the
data, so neither the number of workers nor their speed nor a worker that was lost changes a bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from dpci_core.base.array import Array
from dpci_core.base.batch import (
    CHUNK_ROWS,
    Batch,
    BatchError,
    Block,
    MemoryBatch,
    aligned,
    empty_aligned,
    laid_out,
)
from dpci_core.base.dask_blocks import dask_batches, is_dask
from dpci_core.base.errors import check_count
from dpci_core.base.rows import (
    Rows,
    WeightedRows,
    as_weighted,
    in_chunks,
    parted,
    signed,
    stacked,
    weights_of,
    with_weights,
)
from dpci_core.base.validation import check_records

BATCH_ROWS = 2**17
"""Rows of a batch, where whoever makes a table does not say."""
_WARM_BATCHES = 16
_WARM_SHARE = 4
"""Batches for each that a warm start looks into, which costs half of what reading it costs."""

View = Callable[[Any], Any]
"""A map of blocks of rows, each row for itself."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One batch of a table: what a function of a sum is called with.

    index: of the batch.
    first_row: of the batch in the table.
    views: maps of its blocks, in their order.
    """

    batch: Batch
    index: int
    first_row: int
    views: tuple[View, ...] = ()

    def chunks(self) -> Iterator[Block]:
        """The rows in order, in memory laid out alike everywhere."""
        n_found = 0
        for block in self.batch.chunks():
            n_found += len(block)
            yield reduce(lambda rows, view: view(rows), self.views, _laid_out(block))
        if n_found != self.batch.n_rows:
            raise BatchError("batch_of_another_size", wanted=self.batch.n_rows, found=n_found)

    def laid_out(self, values: Array) -> Array:
        """A copy of values that linear algebra reads, in memory where it is on every worker."""
        return aligned(values)

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An array for values to come, laid out so."""
        return empty_aligned(shape)


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPlace:
    """Rows in memory as one batch: no other worker has to find the same bits."""

    rows: Rows
    first_row: int = 0

    def chunks(self) -> Iterator[Block]:
        """The rows in order, `CHUNK_ROWS` at a time."""
        return in_chunks(self.rows, CHUNK_ROWS)

    def laid_out(self, values: Array) -> Array:
        """The values as they are."""
        return values

    def empty(self, shape: tuple[int, ...]) -> Array:
        """An array for values to come."""
        return np.empty(shape)


Measure = Callable[[Any], Any]
"""What is summed: a function of one `Place` that can be pickled."""
Combine = Callable[[Any, Any], Any]


class Engine(Protocol):
    """A place where the batches of a table are read: this process, other processes, a cluster."""

    def total(
        self,
        batches: Sequence[Batch],
        measure: Measure,
        *,
        combine: Combine,
        views: tuple[View, ...],
        on_batch: Callable[[], None],
    ) -> Any:
        """Return `pairwise` of what is measured of the batches, in their order."""


@dataclass(frozen=True, slots=True)
class OneProcess:
    """Batches are read one after the other, here."""

    def total(
        self,
        batches: Sequence[Batch],
        measure: Measure,
        *,
        combine: Combine,
        views: tuple[View, ...],
        on_batch: Callable[[], None],
    ) -> Any:
        """Return `pairwise` of what is measured of the batches, as `Engine.total`."""

        def found() -> Iterator[Any]:
            for place in places(batches, views):
                yield measured(measure, place)
                on_batch()

        return pairwise(found(), combine)


def places(batches: Sequence[Batch], views: tuple[View, ...]) -> Iterator[Place]:
    """The batches with where they stand."""
    first = 0
    for index, batch in enumerate(batches):
        yield Place(batch, index, first, views)
        first += batch.n_rows


def measured(measure: Measure, place: Place) -> Any:
    """What a function finds of a batch, linear algebra in one thread: its order would depend on
    their number. Arithmetic neither warns nor raises: it would tell of rows.
    """
    with _libraries().limit(limits=1, user_api="blas"), np.errstate(all="ignore"):
        return measure(place)


@lru_cache(maxsize=1)
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def added(a: Any, b: Any) -> Any:
    """The sum of two arrays, or of two tuples of arrays entry by entry."""
    return tuple(x + y for x, y in zip(a, b, strict=True)) if isinstance(a, tuple) else a + b


def pairwise(parts: Iterable[Any], combine: Combine) -> Any:
    """Combine neighbours, then neighbours of those, until one is left; at most log2 K + 1 are held.

    >>> pairwise("abcdefg", lambda a, b: f"({a}{b})")
    '(((ab)(cd))((ef)g))'
    """
    heap: list[tuple[int, Any]] = []
    for part in parts:
        level = 0
        while heap and heap[-1][0] == level:
            part = combine(heap.pop()[1], part)
            level += 1
        heap.append((level, part))
    total = heap.pop()[1]
    while heap:
        total = combine(heap.pop()[1], total)
    return total


def _laid_out(block: Block) -> Block:
    rows, weights = parted(block)
    return with_weights(laid_out(rows), None if weights is None else laid_out(weights))


class Table(ABC):
    """The rows y_i x_i of a table (n, p) that training sees: in memory, or in batches that may be
    read elsewhere.

    has_weights: whether the rows have weights.
    """

    __slots__ = ()
    has_weights: bool

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """n and p."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def memory(self) -> Rows | None:
        """The rows themselves where they are in memory."""
        return None

    @property
    def kept(self) -> dict[Any, Any] | None:
        """The store of sums that cost a pass over batches; None for a table in memory."""
        return None

    @abstractmethod
    def total(self, measure: Measure, combine: Combine = added) -> Any:
        """Return the sum over batches of what a function finds of each `Place`."""

    @abstractmethod
    def through(self, view: View, *, has_weights: bool) -> Table:
        """Return the same table, with every block of rows mapped by the view."""

    @abstractmethod
    def some(self) -> Block:
        """A few thousand rows here and there, where a fit starts; in memory all."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoryTable(Table):
    """Rows (n, p) in memory, which are one block."""

    rows: Rows

    @property
    def shape(self) -> tuple[int, int]:
        """n and p."""
        return len(self.rows), self.rows.shape[1]

    @property
    def has_weights(self) -> bool:  # type: ignore[override]
        """Whether the rows have weights."""
        return weights_of(self.rows) is not None

    @property
    def memory(self) -> Rows:
        """The rows themselves."""
        return self.rows

    def total(self, measure: Measure, combine: Combine = added) -> Any:
        """What a function finds of the rows."""
        return measure(MemoryPlace(self.rows))

    def through(self, view: View, *, has_weights: bool) -> MemoryTable:
        """The mapped rows; a product is written out."""
        weighted = as_weighted(self.rows)
        return MemoryTable(view(np.asarray(self.rows) if weighted is None else weighted))

    def some(self) -> Block:
        """All of the rows."""
        return self.rows[:]


def as_table(rows: Rows | Table) -> Table:
    """A table as it is, or rows in memory as one."""
    return rows if isinstance(rows, Table) else MemoryTable(rows)


@dataclass(frozen=True, slots=True, eq=False)
class RecordBatches(Table):
    """The rows y_i x_i of a table (n, p) as an ordered list of batches, and where they are read.

    Functions that take rows take this too, and then hold a batch in memory instead of the table.

    batches: in their order, at least one.
    engine: where they are read; no number depends on it.
    views: maps of every block of rows, for weights that a metric gives.
    has_weights: whether the rows have weights after the views.
    progress: told the batches that were read so far, of all passes, and how many a pass has.

    >>> table = RecordBatches.of(np.full((5, 2), 0.5), np.ones(5), batch_rows=2)
    >>> len(table), table.shape, [batch.n_rows for batch in table.batches]
    (5, (5, 2), [2, 2, 1])
    """

    batches: tuple[Batch, ...]
    engine: Engine = field(default_factory=OneProcess)
    views: tuple[View, ...] = ()
    has_weights: bool = False
    progress: Callable[[int, int], None] | None = None
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)
    n_read: list[int] = field(default_factory=lambda: [0], repr=False)

    @classmethod
    def of(
        cls,
        X: npt.ArrayLike | WeightedRows,
        y: npt.ArrayLike,
        *,
        batch_rows: int = BATCH_ROWS,
        engine: Engine | None = None,
    ) -> RecordBatches:
        """Return the batches of a table that is in memory, or in chunks of Dask.

        Args:
            X: records (n, p), row norms at most 1, the constant last; of a Dask array or data frame
                each chunk of rows is a batch, whose rows are checked when it is read.
            y: labels (n,), -1 or +1.
            batch_rows: rows of a batch in memory; numbers depend on it in their last digits.
            engine: where the batches are read.

        Raises:  DataRejectedError.
        """
        check_count(batch_rows=batch_rows)
        if is_dask(X):
            return cls.listed(dask_batches(X, y, checked_rows), engine=engine)
        A = signed(*check_records(X, y))
        parts = range(0, len(A), batch_rows)
        return cls.listed(
            tuple(MemoryBatch(A[start : start + batch_rows]) for start in parts), engine=engine
        )

    @classmethod
    def listed(
        cls,
        batches: Sequence[Batch],
        *,
        engine: Engine | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> RecordBatches:
        """Return the table of these batches, all of one encoding."""
        if not batches:
            raise BatchError("no_rows")
        return cls(
            tuple(batches),
            OneProcess() if engine is None else engine,
            has_weights=batches[0].is_weighted,
            progress=progress,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """n and p."""
        return sum(batch.n_rows for batch in self.batches), self.batches[0].dim

    def total(self, measure: Measure, combine: Combine = added) -> Any:
        """Return the sum over batches of what a function finds of each, in the pairwise order.

        Args:
            measure: a function of `Place` that can be pickled.
            combine: adds two results.

        Raises:  BatchError for a batch that cannot be read as it was declared.
        """
        return self.engine.total(
            self.batches, measure, combine=combine, views=self.views, on_batch=self._count
        )

    def _count(self) -> None:
        self.n_read[0] += 1
        if self.progress is not None:
            self.progress(self.n_read[0], len(self.batches))

    def through(self, view: View, *, has_weights: bool) -> RecordBatches:
        """Return the same batches, with every block of rows mapped by the view, which can be
        pickled.
        """
        return replace(self, views=(*self.views, view), has_weights=has_weights, kept={})

    def in_memory(self) -> Table:
        """The rows themselves where they are one small batch, whose numbers are those of a table in
        memory; else this.
        """
        if len(self.batches) > 1 or len(self) > BATCH_ROWS:
            return self
        place = Place(self.batches[0], 0, 0, self.views)
        return MemoryTable(stacked([_laid_out(block) for block in place.chunks()]))

    def some(self) -> Block:
        """A few thousand rows here and there, read here: where a fit of public data starts."""
        step = max(-(-len(self.batches) // _WARM_BATCHES), min(len(self.batches), _WARM_SHARE))
        return stacked([next(p.chunks()) for p in list(places(self.batches, self.views))[::step]])


def checked_rows(X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Block:
    """The rows y x of records that keep the rules (`check_records`)."""
    return signed(*check_records(X, y))


def table_of(X: npt.ArrayLike | WeightedRows | RecordBatches, y: npt.ArrayLike | None) -> Table:
    """Return the rows y_i x_i of records and labels, or the batches that stand for both.

    Raises:  DataRejectedError for records that break a rule, ValueError for labels beside batches,
             or none beside records.
    """
    if isinstance(X, RecordBatches):
        if y is not None:
            raise ValueError("Expected y=None beside RecordBatches, which hold the labels.")
        return X.in_memory()
    if y is None:
        raise ValueError("Expected y, the labels of X.")
    if is_dask(X):
        return RecordBatches.of(X, y).in_memory()
    return MemoryTable(checked_rows(X, y))  # type: ignore[arg-type]
