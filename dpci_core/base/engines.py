"""Where batches are read besides here: in processes of this machine, or on Dask workers.

A worker is sent the batches once, as arrays or as the names of files, and a function with every
sum; it sends sums back. It raises nothing and so logs nothing: what went wrong is a value, without
anything that a record holds. A worker that is lost costs time: what it had is computed again.
"""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from dpci_core.base.batch import Batch, BatchError, MemoryBatch
from dpci_core.base.batches import (
    Combine,
    Engine,
    Measure,
    Place,
    View,
    added,
    measured,
    pairwise,
    places,
)
from dpci_core.base.errors import check_count

MOST_LOSSES = 5
"""Lost workers without a batch in between after which a sum is given up."""


class WorkersLostError(RuntimeError):
    """Workers were lost again and again, so a sum has no value."""


def try_engine(engine: Engine) -> None:
    """Sum over a batch of one public row, so that workers that cannot start show before it counts.

    Raises:  whatever keeps them from starting.
    """
    row = MemoryBatch(np.zeros((1, 1)))
    engine.total((row,), _n_rows, combine=added, views=(), on_batch=lambda: None)


def _n_rows(place: Place) -> int:
    return place.batch.n_rows


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why a batch gave no result: an error of ours, or the name of another."""

    reason: BatchError | str

    def raised(self) -> BatchError:
        if isinstance(self.reason, BatchError):
            return self.reason
        return BatchError("batch_broken_off", problem=self.reason)


def _quietly(measure: Measure, place: Place) -> Any:
    """What is measured, or why not; a scheduler would log an error with what it was called with."""
    try:
        return measured(measure, place)
    except BatchError as error:
        return _Failed(error.with_traceback(None))
    except Exception as error:
        return _Failed(type(error).__name__)


def _checked(found: Any) -> Any:
    if isinstance(found, _Failed):
        raise found.raised() from None
    return found


_held: list[Batch] = []
"""In a worker: the batches of its table."""


def _hold(batches: Sequence[Batch]) -> None:
    _held[:] = batches


def _measure_held(measure: Measure, index: int, first_row: int, views: tuple[View, ...]) -> Any:
    return _quietly(measure, Place(_held[index], index, first_row, views))


def _workers(batches: Sequence[Batch]) -> multiprocessing.context.BaseContext:
    """A process that has imported what reads these batches and no record, forked for every
    worker.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(sorted({type(batch).__module__ for batch in batches}))
    return context


class Processes:
    """Batches are read in so many processes of this machine, which end with `close` or `with`.

    A batch goes to the same process in every pass, which may have kept what it mapped.

    They are new interpreters that import the main module: a script needs `if __name__ ==
    "__main__"`. Batches in memory are sent through a pipe, once; nothing is written to a file.
    """

    def __init__(self, n_workers: int) -> None:
        check_count(n_workers=n_workers)
        self.n_workers = n_workers
        self._pools: list[ProcessPoolExecutor] = []
        self._batches: Sequence[Batch] = ()

    def total(
        self,
        batches: Sequence[Batch],
        measure: Measure,
        *,
        combine: Combine,
        views: tuple[View, ...],
        on_batch: Callable[[], None],
    ) -> Any:
        """Return `pairwise` of what is measured of the batches, as `batches.Engine.total`."""

        def found() -> Iterator[Any]:
            left = list(places(batches, views))
            n_lost = 0
            while left:
                running = self._started(batches, measure, left)
                try:
                    while running:
                        yield _checked(running[0].result())
                        del running[0], left[0]
                        n_lost = 0
                        on_batch()
                except BrokenProcessPool:
                    self.close()
                    n_lost += 1
                    if n_lost > MOST_LOSSES:
                        raise WorkersLostError("Workers were lost again and again.") from None
                finally:
                    for other in running:
                        other.cancel()

        return pairwise(found(), combine)

    def _started(
        self, batches: Sequence[Batch], measure: Measure, left: Sequence[Place]
    ) -> list[Future[Any]]:
        """Results to come, in order; a pool that breaks meanwhile shows with the first of them."""
        if not self._pools or self._batches is not batches:
            self.close()
            context = _workers(batches)
            self._pools = [
                ProcessPoolExecutor(1, mp_context=context, initializer=_hold, initargs=(batches,))
                for _ in range(min(self.n_workers, len(batches)))
            ]
            self._batches = batches
        running: list[Future[Any]] = []
        try:
            for at in left:
                pool = self._pools[at.index % len(self._pools)]
                running.append(
                    pool.submit(_measure_held, measure, at.index, at.first_row, at.views)
                )
        except BrokenProcessPool as broken:
            failed: Future[Any] = Future()
            failed.set_exception(broken)
            running.append(failed)
        return running

    def close(self) -> None:
        """End the processes."""
        for pool in self._pools:
            pool.shutdown(cancel_futures=True)
        self._pools, self._batches = [], ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Dask:
    """Batches are futures of a Dask client, and sums are trees of tasks.

    client: a `distributed.Client`; the scheduler and the workers see the sums, and batches that are
    in memory here. `dask_workers` makes one on this machine.
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self._batches: Sequence[Batch] = ()
        self._scattered: list[Any] = []

    def total(
        self,
        batches: Sequence[Batch],
        measure: Measure,
        *,
        combine: Combine,
        views: tuple[View, ...],
        on_batch: Callable[[], None],
    ) -> Any:
        """Return `pairwise` of what is measured of the batches, as `batches.Engine.total`."""
        from concurrent.futures import CancelledError

        from distributed import KilledWorker, as_completed

        for _ in range(MOST_LOSSES):
            try:
                parts = self._parts(batches)
                leaves = [
                    self.client.submit(
                        _measure_part, measure, part, at.index, at.first_row, views, pure=False
                    )
                    for part, at in zip(parts, places(batches, views), strict=True)
                ]
                total = pairwise(
                    leaves,
                    lambda a, b: self.client.submit(_combined, combine, a, b, pure=False),
                )
                for _ in as_completed(leaves):
                    on_batch()
                return _checked(total.result())
            except (CancelledError, KilledWorker):  # a worker took with it what was scattered
                self._batches, self._scattered = (), []
        raise WorkersLostError("Workers were lost again and again.")

    def _parts(self, batches: Sequence[Batch]) -> list[Any]:
        """Every batch as a future, scattered once for all sums."""
        if self._batches is not batches:
            self._scattered = self.client.scatter(list(batches), hash=False)
            self._batches = batches
        return self._scattered


def _measure_part(
    measure: Measure, part: Batch, index: int, first_row: int, views: tuple[View, ...]
) -> Any:
    return _quietly(measure, Place(part, index, first_row, views))


def _combined(combine: Combine, a: Any, b: Any) -> Any:
    return next((x for x in (a, b) if isinstance(x, _Failed)), None) or combine(a, b)


@contextmanager
def dask_workers(n_workers: int) -> Iterator[Dask]:
    """Dask workers on this machine alone, for as long as the block runs.

    Connections are on 127.0.0.1 and encrypted with keys that only these processes have, so that
    nobody else on the machine can join; there is no page. Memory has no limit and so nothing spills
    to disk: a worker writes no file but what marks its empty folder.
    """
    import dask
    from distributed import Client, LocalCluster, Security

    check_count(n_workers=n_workers)
    settings: dict[str, object] = {
        f"distributed.worker.memory.{name}": False
        for name in ("target", "spill", "pause", "terminate")
    }
    settings |= {f"distributed.{who}.http.routes": [] for who in ("scheduler", "worker")}
    with (
        TemporaryDirectory() as folder,
        dask.config.set(settings),
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            security=Security.temporary(),
            memory_limit=0,
            local_directory=folder,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield Dask(client)
