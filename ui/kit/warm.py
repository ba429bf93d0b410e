"""What has to be done again whenever something new was imported."""

from __future__ import annotations

import gc
import sys
import threading

from threadpoolctl import threadpool_limits

_modules_seen = 0


def settle() -> None:
    """Keep import-time objects out of the garbage collector, which Streamlit runs in full after
    every script run, and linear algebra in the thread that asks for it; nearly free otherwise.

    Sessions are threads already, and would fight for cores: the matrices of a page are small, and
    twenty sessions with two threads each spend most of their time waiting.
    """
    global _modules_seen
    if len(sys.modules) != _modules_seen:
        _modules_seen = len(sys.modules)
        gc.collect()
        gc.freeze()
        # threadpoolctl keeps the thread that asks last: one of a session would keep its files
        asks = threading.Thread(target=threadpool_limits, args=(1, "blas"))
        asks.start()
        asks.join()
