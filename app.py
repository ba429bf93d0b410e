"""Entry point of the dashboard: `streamlit run app.py`.

A thin ASGI wrapper around `ui/shell.py` that adds security headers, closes what strangers
need not see, compresses what the browser loads and keeps uploads off the disk.
"""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
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
BUNDLES = ("/static/js/", "/static/css/")
"""Streamlit's own files, which it sends as they are: a third of that is enough."""


class Compressed:
    """Send `BUNDLES` compressed to whoever takes that, each compressed once while the process
    lives.
    """

    def __init__(self, app: App) -> None:
        self.app = app
        self.packed: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_bundle = scope["type"] == "http" and any(part in scope["path"] for part in BUNDLES)
        if not is_bundle or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            await self.app(scope, receive, send)
            return
        start: Scope = {}
        plain = bytearray()

        async def send_packed(message: Scope) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == 200 and "etag" in MutableHeaders(scope=message):
                    start.update(message)
                    return
            elif start:
                plain.extend(message.get("body", b""))
                if not message.get("more_body"):
                    packed = await self._packed(MutableHeaders(scope=start)["etag"], bytes(plain))
                    await send(_with_packed_headers(start, len(packed)))
                    await send({"type": "http.response.body", "body": packed})
                return
            await send(message)

        await self.app(scope, receive, send_packed)

    async def _packed(self, etag: str, plain: bytes) -> bytes:
        if etag not in self.packed:
            self.packed[etag] = await asyncio.to_thread(gzip.compress, plain, 6)
        return self.packed[etag]


def _with_packed_headers(start: Scope, length: int) -> Scope:
    """The beginning of an answer whose body is compressed now."""
    headers = MutableHeaders(scope=start)
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(length)
    headers["etag"] = f"W/{headers['etag']}"
    headers.add_vary_header("Accept-Encoding")
    return start


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
    middleware=[Middleware(SecurityHeaders), Middleware(Closed), Middleware(Compressed)],
    lifespan=lifespan,
)

if __name__ == "__main__":
    app.run()
