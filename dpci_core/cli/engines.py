"""Where a command reads the batches of a table: `--engine`."""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from joblib import parallel_config

from dpci_core.base.batches import Engine, OneProcess
from dpci_core.base.engines import Dask, Processes, dask_workers

PROGRESS_SECONDS = 20.0
"""Between two lines of progress."""
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
    kind, _, rest = name.partition(":")
    if name == HERE:
        yield OneProcess()
    elif kind == "processes" and _is_count(rest):
        with Processes(int(rest)) as processes:
            yield processes
    elif kind == "dask" and _is_count(rest):
        with _extra(), dask_workers(int(rest)) as dask:
            yield dask
    elif elsewhere and kind in ("tcp", "tls") and rest.startswith("//"):
        with _extra():
            from distributed import Client

            with Client(name) as client:
                yield Dask(client)
    else:
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
        if error.name not in ("dask", "distributed", "cryptography"):
            raise
        raise ValueError("Dask is not installed; get it with `pip install 'dpci[dask]'`.") from None


def say(line: str) -> None:
    """Progress goes to the error output, so that the output is the result alone."""
    print(line, file=sys.stderr, flush=True)


def batch_lines(what: str) -> Callable[[int, int], None]:
    """Say now and then how far the passes over a table are."""
    last = -math.inf

    def told(n_read: int, of_pass: int) -> None:
        nonlocal last
        if time.monotonic() - last >= PROGRESS_SECONDS:
            last = time.monotonic()
            done, left = divmod(n_read - 1, of_pass)
            say(f"{what}: pass {done + 1}, batch {left + 1:,} of {of_pass:,}")

    return told
