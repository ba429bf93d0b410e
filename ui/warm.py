"""Keep import-time objects out of the garbage collector, which Streamlit runs in full after every script run."""

from __future__ import annotations

import gc
import sys

_modules_seen = 0


def freeze_gc() -> None:
    """Freeze the heap once more whenever something new was imported; nearly free otherwise."""
    global _modules_seen
    if len(sys.modules) != _modules_seen:
        _modules_seen = len(sys.modules)
        gc.collect()
        gc.freeze()
