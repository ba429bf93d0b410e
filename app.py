"""Entry point of the dashboard: `streamlit run app.py`.

A thin ASGI wrapper around `ui/shell.py` that adds security headers, closes what strangers
need not see and keeps uploads off the disk.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.formparsers import MultiPartParser
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

UPLOAD_LIMIT = 200 * 2**20
"""Bytes; the same limit as server.maxUploadSize."""

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src "
        "'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src "
        "'self' ws: wss:; worker-src 'self' blob:; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


CLOSED = ("/_stcore/metrics/", "/_stcore/agent/")
"""Parts of Streamlit that tell strangers about the process or would let a program drive it."""
SPOOL_LIMIT = UPLOAD_LIMIT + 2 * 2**20
"""Bytes; Streamlit cuts a body off at the limit and one megabyte for its framing."""


class Closed:
    """Answer 404 for `CLOSED`, under any base path."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_closed = scope["type"] == "http" and any(part in f"{scope['path']}/" for part in CLOSED)
        await (PlainTextResponse("Not Found", 404) if is_closed else self.app)(scope, receive, send)


class SecurityHeaders:
    """Add `HEADERS` to every HTTP answer; websockets pass untouched."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Scope) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await self.app(scope, receive, send if scope["type"] != "http" else send_with_headers)


@asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """Keep an upload in memory up to the limit: the web server would spool parts over 1 MB to a
    temporary file.
    """
    MultiPartParser.spool_max_size = SPOOL_LIMIT
    yield


app = st.App(
    Path(__file__).parent / "ui" / "shell.py",
    middleware=[Middleware(SecurityHeaders), Middleware(Closed)],
    lifespan=lifespan,
)

if __name__ == "__main__":
    app.run()
