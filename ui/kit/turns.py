"""One page is drawn at a time, in the order they were asked for; the others wait for their turn.

The interpreter runs one thread at a time anyway. Twenty pages at once would each get a twentieth of
it, and all would be ready as late as the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock, Semaphore, Timer, local

LONGEST = 1.0
"""Seconds a turn lasts at most. A page that takes longer goes on beside the next: slow pages do not
block others.
"""
_FREE = Semaphore(1)  # its waiters are woken in their order, which a lock does not promise
_MINE = local()


def give_way() -> None:
    """End this page's turn: what is left of it takes long, and is waited for by nobody."""
    _MINE.end()


@contextmanager
def turn() -> Iterator[None]:
    """Wait for a turn, and let the next one go when the page is drawn or the turn is over."""
    ended = Lock()

    def end() -> None:
        if ended.acquire(blocking=False):
            _FREE.release()

    _MINE.end = end
    _FREE.acquire()
    clock = Timer(LONGEST, end)
    clock.daemon = True
    try:
        clock.start()
        yield
    finally:
        clock.cancel()
        end()
