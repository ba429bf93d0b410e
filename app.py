"""Entry point of the dashboard: `streamlit run app.py`.

A thin ASGI wrapper around `ui/shell.py`: what passes is in `ui/gate.py`, and uploads stay off the
disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware

from dpci_core.release import wait_for_draws
from ui.gate import Closed, Compressed, Quotas, SecurityHeaders
from ui.head import Head
from ui.session.quota import UPLOAD

SPOOL_LIMIT = UPLOAD + 2 * 2**20
"""Bytes; Streamlit cuts a body off at the limit and one megabyte for its framing."""

PATIENCE_SECONDS = 60.0
"""That a server which was told to end leaves a release which draws; one that reads goes on
later.
"""


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Keep an upload in memory up to the limit: the web server would spool parts over 1 MB to a
    temporary file. At the end, wait for releases that draw.
    """
    MultiPartParser.spool_max_size = SPOOL_LIMIT
    yield
    await asyncio.to_thread(wait_for_draws, PATIENCE_SECONDS)


app = st.App(
    Path(__file__).parent / "ui" / "shell.py",
    middleware=[Middleware(one) for one in (SecurityHeaders, Closed, Quotas, Compressed, Head)],
    lifespan=lifespan,
)

if __name__ == "__main__":
    app.run()
