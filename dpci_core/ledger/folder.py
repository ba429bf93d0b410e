"""The folder of a ledger or of its keys: new names that survive a power cut, and one process at a
time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpci_core.ledger.problems import LedgerBusyError

_PAUSE_SECONDS = 0.01


def sync_folder(folder: Path) -> None:
    """Make a new file's name survive a power cut, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def alone_in(folder: Path, *, path: Path, busy_seconds: float) -> Iterator[None]:
    """One thread of one process at a time, where the system can.

    Args:
        folder: that is locked.
        path: of the file that it is for, in a refusal.
        busy_seconds: patience with others.

    Raises:
        LedgerBusyError: if they take longer.
    """
    try:
        import fcntl
    except ImportError:  # not on Windows
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        deadline = time.monotonic() + busy_seconds
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise LedgerBusyError("busy", path=path) from None
                time.sleep(_PAUSE_SECONDS)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing does not, while a fork has it too
    finally:
        os.close(descriptor)
