"""What a page computes while it is drawn: for a session that is there, and large tables one at a
time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import RLock

import streamlit as st

from dpci_core import StoppedError, watched
from ui.kit.streamlit_internals import get_script_run_ctx, runtime

LARGE = 100
"""Features: a forecast of 250 takes half a minute and a gigabyte, cubed and squared in them."""
WAITING = "Another large table is computed first; yours is next."
_ALONE = RLock()
_PATIENCE = 2.0
"""Seconds after which a page that waits looks whether somebody still wants it."""


@contextmanager
def served(n_features: int) -> Iterator[None]:
    """Compute, about so many features, until the session leaves; a large table when no other one
    is computed.
    """
    is_large = n_features >= LARGE
    if is_large:
        _wait()
    try:
        with watched(should_stop=has_left):
            yield
    except StoppedError:
        st.stop()
    finally:
        if is_large:
            _ALONE.release()


def _wait() -> None:
    if _ALONE.acquire(blocking=False):
        return
    place = st.empty()
    while not _ALONE.acquire(timeout=_PATIENCE):
        place.caption(WAITING)  # where the server ends a page that was left or asked for again
    place.empty()


def has_left() -> bool:
    """Whether nobody is there any more to see this page."""
    return not presence()()


def presence() -> Callable[[], bool]:
    """Whether the page of this session is still open, to be asked from any thread."""
    running = get_script_run_ctx(suppress_warning=True)
    if running is None or not runtime.exists():
        return lambda: True
    return partial(runtime.get_instance().is_active_session, running.session_id)
