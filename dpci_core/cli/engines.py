"""Where a command reads the batches of a table, and how far it is: `--engine` and progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpci_core.base.batch import Batch
from dpci_core.base.batches import Combine, Engine, Measure, View
from dpci_core.base.engine_names import HERE, WAYS
from dpci_core.cli.command import Flag, flag

PROGRESS_SECONDS = 20.0
"""Between two lines of progress."""
_LINE_SECONDS = 0.1
_CLEARED = "\r\033[K"
"""To the start of a terminal's line, and nothing on it."""


def engine_flag(*, elsewhere: bool) -> Flag:
    """Where batches are read; only what is no release may name a Dask scheduler elsewhere."""
    address = ", or the address of a Dask scheduler (tcp://...)" if elsewhere else ""
    return flag(
        "--engine",
        default=HERE,
        help=f"where batches are read: {WAYS}{address} (default: {HERE}); no number depends on it",
    )


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
        """Return `pairwise` of what is measured of the batches, as `batches.Engine.total`."""
        n_read = 0

        def counted() -> None:
            nonlocal n_read
            on_batch()
            n_read += 1
            if len(batches) > 1:
                words = f" of a pass, batch {n_read:,} of {len(batches):,}"
                self.told(min(1.0, n_read / len(batches)), words)

        return self.engine.total(batches, measure, combine=combine, views=views, on_batch=counted)
