"""Where batches are read, by name: what `dpci --engine` and a deployment's `DPCI_ENGINE` say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from joblib import parallel_config

from dpci_core.base.batches import Engine, OneProcess
from dpci_core.base.engines import Dask, Processes, dask_workers
from dpci_core.base.extras import named_extras

HERE = "here"
WAYS = "here, processes:N or dask:N"


@contextmanager
def engine_named(name: str, *, elsewhere: bool) -> Iterator[Engine]:
    """The engine of a name, for as long as the block runs.

    Raises:  ValueError for a name that is none, ExtraNeededError without the extra `dask`.
    """
    kind, count = engine_parts(name, elsewhere=elsewhere)
    if kind == HERE:
        yield OneProcess()
    elif kind == "processes":
        with Processes(count) as processes:
            yield processes
    elif kind == "dask":
        with named_extras(), dask_workers(count) as dask:
            yield dask
    else:
        with named_extras():
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
    raise ValueError(f"Expected engine={name!r} to be {WAYS}{address}.")


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
