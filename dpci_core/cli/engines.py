"""Where a command reads the batches of a table: `--engine`."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from joblib import parallel_config

from dpci_core.base.batch import Batch
from dpci_core.base.batches import Combine, Engine, Measure, OneProcess, View
from dpci_core.base.engines import Dask, Processes, dask_workers

PROGRESS_SECONDS = 20.0
"""Between two lines of progress."""
_LINE_SECONDS = 0.1
_CLEARED = "\r\033[K"
"""To the start of a terminal's line, and nothing on it."""
HERE = "here"
_WAYS = "here, processes:N or dask:N"


def add_engine(parser: argparse.ArgumentParser, *, elsewhere: bool) -> None:
    """Add the flag; only what is no release may name a Dask scheduler elsewhere."""
    address = ", or the address of a Dask scheduler (tcp://...)" if elsewhere else ""
    parser.add_argument(
        "--engine",
        default=HERE,
        help=f"where batches are read: {_WAYS}{address} (default: {HERE}); no number depends on it",
    )


@contextmanager
def engine_named(name: str, *, elsewhere: bool) -> Iterator[Engine]:
    """The engine of a flag, for as long as the block runs.

    Raises:  ValueError for a name that is none, ModuleNotFoundError without the extra.
    """
    kind, count = engine_parts(name, elsewhere=elsewhere)
    if kind == HERE:
        yield OneProcess()
    elif kind == "processes":
        with Processes(count) as processes:
            yield processes
    elif kind == "dask":
        with _extra(), dask_workers(count) as dask:
            yield dask
    else:
        with _extra():
            from distributed import Client

            with Client(name) as client:
                yield Dask(client)


def engine_parts(name: str, *, elsewhere: bool) -> tuple[str, int]:
    """The kind of an engine ("here", "processes", "dask", "address") and its number of workers, 0
    where it has none.

    Raises:  ValueError for a name that is none.
    """
    kind, _, rest = name.partition(":")
    if name == HERE:
        return HERE, 0
    if kind in ("processes", "dask") and _is_count(rest):
        return kind, int(rest)
    if elsewhere and kind in ("tcp", "tls") and rest.startswith("//"):
        return "address", 0
    address = ", or the address of a Dask scheduler" if elsewhere else ""
    raise ValueError(f"Expected engine={name!r} to be {_WAYS}{address}.")


@contextmanager
def workers_named(name: str, jobs: int) -> Iterator[int]:
    """The number of workers that batches of replicates are shared out to, by joblib, for as long
    as the block runs: threads here, or those of an engine.

    Raises:  as for `engine_named`.
    """
    if name == HERE:
        yield jobs
        return
    with engine_named(name, elsewhere=True) as engine:
        if isinstance(engine, Processes):
            with parallel_config(backend="loky"):
                yield engine.n_workers
        elif isinstance(engine, Dask):
            with parallel_config(backend="dask", client=engine.client):
                yield -1


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 1 <= int(text) <= 1_000


@contextmanager
def _extra() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name not in ("dask", "distributed"):
            raise
        raise ValueError("Dask is not installed; get it with `pip install 'dpci[dask]'`.") from None


def say(line: str) -> None:
    """Progress goes to the error output, so that the output is the result alone."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def progress_line(what: str, *, in_logs: bool = True) -> Iterator[Callable[[float, str], None]]:
    """A function that is told a share of what is done and a few words, for as long as the block
    runs: one line on a terminal, written over and gone at the end; elsewhere a line now and then,
    or none.
    """
    is_terminal = sys.stderr.isatty()
    last = -math.inf

    def told(share: float, words: str) -> None:
        nonlocal last
        wait = _LINE_SECONDS if is_terminal else PROGRESS_SECONDS
        if not (is_terminal or in_logs) or (share < 1.0 and time.monotonic() - last < wait):
            return
        last = time.monotonic()
        line = f"{what}: {math.floor(100.0 * share):3d} %{words}"
        if is_terminal:
            print(f"{_CLEARED}{line}", end="", file=sys.stderr, flush=True)
        else:
            say(line)

    try:
        yield told
    finally:
        if is_terminal and last > -math.inf:
            print(_CLEARED, end="", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True)
class Watched:
    """An engine that tells how much of a pass over a table is read."""

    engine: Engine
    told: Callable[[float, str], None]

    def total(
        self,
        batches: Sequence[Batch],
        measure: Measure,
        *,
        combine: Combine,
        views: tuple[View, ...],
        on_batch: Callable[[], None],
    ) -> Any:
        """As for `batches.Engine`."""
        n_read = 0

        def counted() -> None:
            nonlocal n_read
            on_batch()
            n_read += 1
            if len(batches) > 1:
                words = f" of a pass, batch {n_read:,} of {len(batches):,}"
                self.told(min(1.0, n_read / len(batches)), words)

        return self.engine.total(batches, measure, combine=combine, views=views, on_batch=counted)
