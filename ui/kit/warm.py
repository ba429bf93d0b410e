"""Keep import-time objects out of the garbage collector, which Streamlit runs in full after every
script run.
"""

from __future__ import annotations

import gc
import sys

from threadpoolctl import threadpool_limits

_modules_seen = _libraries_seen = 0


def freeze_gc() -> None:
    """Freeze the heap once more whenever something new was imported; nearly free otherwise."""
    global _modules_seen
    if len(sys.modules) != _modules_seen:
        _modules_seen = len(sys.modules)
        gc.collect()
        gc.freeze()


def one_thread() -> None:
    """Let linear algebra run in the thread that asks for it: sessions are threads already, and
    would fight for cores.

    The matrices of a page are small. Twenty sessions with two threads each spend most of their time
    waiting.
    """
    global _libraries_seen
    if len(sys.modules) != _libraries_seen:
        _libraries_seen = len(sys.modules)
        threadpool_limits(limits=1, user_api="blas")
