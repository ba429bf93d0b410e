"""Which releases this server is carrying out: until one is booked no ledger knows of it, and
whoever loads the page anew would be shown an earlier release as what came of it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LOCK = threading.Lock()
_REQUESTS: list[str] = []


@contextmanager
def noted(request_id: str) -> Iterator[None]:
    """Have every session know that this request is carried out."""
    with _LOCK:
        _REQUESTS.append(request_id)
    try:
        yield
    finally:
        with _LOCK:
            _REQUESTS.remove(request_id)


def requests() -> tuple[str, ...]:
    """Return those that are carried out now. Asked before the ledger is read: what has ended by
    then is in the ledger, if it ever will be.
    """
    with _LOCK:
        return tuple(_REQUESTS)
