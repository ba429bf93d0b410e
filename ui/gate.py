"""What every request passes before Streamlit sees it: headers, hosts, quotas, compression. ASGI
only.

Streamlit takes an upload from any session, also before a login, as many pages as there are
descriptors, and a page of any port of this machine: too much for a process that holds a private
table.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import gzip
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

import pyarrow
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.kit.streamlit_internals import BackMsg, runtime
from ui.session.quota import (
    KEPT_SECONDS,
    UPLOADERS,
    Quota,
    Uploaders,
    host_name,
    visitor_address,
)

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
BUNDLES = ("/static/js/", "/static/css/")
"""Streamlit's own files, which it sends as they are: a third of that is enough."""
_UPLOAD = "/_stcore/upload_file/"
_HEALTH = "/_stcore/health"
_FRAMING = 2**20
"""Bytes of a body around its file."""
_RECORD = 2**13
"""Bytes around an uploaded file that is held, its name too: empty files are not for nothing."""
_OF_A_PAGE, _OF_AN_ADDRESS = 20.0, 50.0
"""Messages of one page, and of all pages of one address, in a second; a long one counts as several.
A class behind one address drags sliders at five a second each.
"""
_MESSAGE = 10_000
"""Bytes for which it counts once more."""
_AHEAD = 1.0
"""Seconds whose messages may come at once."""
LARGEST_MESSAGE = 1_000_000
"""Bytes of one message; files come another way. What waits of one page may have as many, and one
message more. The server's own limit (`server.maxMessageSize`) is above it, since it also bounds
pictures.
"""
_MOST_WAITING = 200
"""Messages of one page that wait: 40 seconds of a slider that is dragged and never answered."""
_TOO_BIG, _TOO_MUCH, _TEXT = 1009, 1008, 1003
"""Why a page is closed, in the codes of websockets."""
_NAMES = 50
"""Files that a page announces at once: the answer has 600 bytes for each."""
_NEVER_SENT = ("load_git_info", "clear_cache", "set_run_on_save")
"""By no page of ours: the first starts programs, the second is for all sessions."""
_FULL = "This dashboard is full: {n} pages are open. Try again in a few minutes."


class Closed:
    """Answer 404 for `CLOSED`, under any base path."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_closed = scope["type"] == "http" and any(part in f"{scope['path']}/" for part in CLOSED)
        await (PlainTextResponse("Not Found", 404) if is_closed else self.app)(scope, receive, send)


class SecurityHeaders:
    """Add `HEADERS` to every HTTP answer; websockets pass untouched."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Scope) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        await self.app(scope, receive, send if scope["type"] != "http" else send_with_headers)


class Compressed:
    """Send `BUNDLES` compressed to whoever takes that, each compressed once while the process
    lives.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.packed: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_fetched = (
            scope["type"] == "http" and scope["method"] == "GET"
        )  # HEAD has no body to keep
        is_bundle = is_fetched and any(part in scope["path"] for part in BUNDLES)
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


class Pace:
    """How fast messages are taken: Streamlit answers each at once, in the one thread that serves
    everybody.
    """

    def __init__(self, each_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.each_second, self.clock = each_second, clock
        self._free = clock() - _AHEAD
        """When all that was taken is paid for."""

    @property
    def is_ahead(self) -> bool:
        """Whether more was taken than is paid for."""
        return self._free > self.clock()

    def wait(self, size: int) -> float:
        """Seconds until a message of so many bytes may be taken."""
        now = self.clock()
        self._free = max(self._free, now - _AHEAD) + (1.0 + size / _MESSAGE) / self.each_second
        return max(0.0, self._free - now)


class Messages:
    """What one page sends: taken from the server at once, so that who leaves or sends too much is
    noticed at once, and passed on when its turn comes.
    """

    def __init__(self, paces: Sequence[Pace], receive: Receive, send: Send) -> None:
        self._paces, self._receive, self._send = paces, receive, send
        self._waiting: deque[Scope] = deque()
        self._came, self._ended = asyncio.Event(), asyncio.Event()
        self._end: Scope = {"type": "websocket.disconnect", "code": _TOO_MUCH}

    async def collect(self) -> None:
        """Take what comes until the page leaves or is closed; of what came with the message that
        closes it, nothing is kept.
        """
        code = 0
        while (message := await self._receive())["type"] != "websocket.disconnect":
            code = code or self._against(message)
            if not code:
                self._waiting.append(message)
                self._came.set()
            elif not self._ended.is_set():
                self._close({"type": "websocket.disconnect", "code": code})
                self._waiting.clear()
                with suppress(OSError):  # it has left already
                    await self._send({"type": "websocket.close", "code": code})
        self._close(message)

    def _close(self, end: Scope) -> None:
        self._end = end
        self._ended.set()
        self._came.set()

    def _against(self, message: Scope) -> int:
        """The code that a page is closed with for a message; 0 where it may wait for its turn."""
        if message.get("text") is not None:  # pages send bytes alone: the rest counts these
            return _TEXT
        if len(message.get("bytes") or b"") > LARGEST_MESSAGE:
            return _TOO_BIG
        held = sum(len(other.get("bytes") or b"") for other in self._waiting)
        return _TOO_MUCH * (len(self._waiting) >= _MOST_WAITING or held > LARGEST_MESSAGE)

    async def next(self) -> Scope:
        """The next message whose turn comes before the page leaves; without those that no page of
        ours sends.
        """
        while True:
            while not self._waiting:
                if self._ended.is_set():
                    return self._end
                self._came.clear()
                await self._came.wait()
            message = self._waiting.popleft()
            content = message.get("bytes")
            if content is None:
                return message
            if await self._ends_within(max(pace.wait(len(content)) for pace in self._paces)):
                self._waiting.clear()
                return self._end
            try:
                asked = BackMsg.FromString(content)
            except DecodeError:
                return message  # which Streamlit refuses
            kind = asked.WhichOneof("type")
            if kind == "file_urls_request" and len(asked.file_urls_request.file_names) > _NAMES:
                await self._send({"type": "websocket.close", "code": _TOO_MUCH})
                return {"type": "websocket.disconnect", "code": _TOO_MUCH}
            if kind not in _NEVER_SENT:
                return message

    async def _ends_within(self, seconds: float) -> bool:
        """Whether the page leaves while a message waits; one whose turn it is does not ask."""
        if seconds <= 0.0:
            return False
        try:
            await asyncio.wait_for(self._ended.wait(), seconds)
        except TimeoutError:
            return False
        return True


class Quotas:
    """Refuse foreign hosts and origins, visitors above the quota, and uploads above it or from a
    session that is not past the login; take messages no faster than one address may send them.

    Args:
        quota: what the process takes.
        uploaders: sessions that may upload.
        held: bytes of the files each session has uploaded.
    """

    def __init__(
        self,
        app: ASGIApp,
        quota: Quota | None = None,
        uploaders: Uploaders = UPLOADERS,
        held: Callable[[], dict[str, int]] | None = None,
    ) -> None:
        self.app = app
        self.quota = Quota.from_environment() if quota is None else quota
        self.uploaders = uploaders
        self.held = held or bytes_held
        self._open: Counter[str] = Counter()
        self._paces: dict[str, Pace] = {}
        self._arriving: Counter[str] = Counter()
        self._came: dict[str, str] = {}
        """Address of each session that has uploaded."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        is_health = path.endswith(_HEALTH)
        if not is_health and (why := self._foreign(headers)):
            await self._refuse(400, why, scope, receive, send)
        elif scope["type"] == "websocket":
            await self._visit(_address(scope, headers), scope, receive, send)
        elif self._open.total() >= self.quota.visitors and (
            is_health or "text/html" in headers.get("accept", "")
        ):
            full = _FULL.format(n=self._open.total())
            await self._refuse(503, full, scope, receive, send)
        elif _UPLOAD in path and scope["method"] == "PUT":
            session = path.partition(_UPLOAD)[2].partition("/")[0]
            # in pieces a body is as long as it likes, whatever length is said
            is_said = "transfer-encoding" not in headers
            length = headers.get("content-length", "") if is_said else ""
            await self._upload(session, length, _address(scope, headers), scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _foreign(self, headers: Headers) -> str:
        """Why a request is not for this dashboard; empty if it is."""
        host = headers.get("host", "")
        if self.quota.hosts is not None and host_name(host) not in self.quota.hosts:
            return "This dashboard does not answer to that name: see DPCI_HOSTS."
        origin = headers.get("origin")
        if origin is not None and _site(origin) not in _spellings(host):
            return "This page belongs to another site."
        return ""

    async def _visit(self, address: str, scope: Scope, receive: Receive, send: Send) -> None:
        if self._open.total() >= self.quota.visitors or (
            address and self._open[address] >= self.quota.visitors_each
        ):
            await self._refuse(503, _FULL.format(n=self._open.total()), scope, receive, send)
            return
        self._open[address] += 1
        paces = [Pace(_OF_A_PAGE)]
        if address:
            paces.append(self._paces.setdefault(address, Pace(_OF_AN_ADDRESS)))
        messages = Messages(paces, receive, send)
        collecting = asyncio.create_task(messages.collect())
        try:
            await self.app(scope, messages.next, send)
        finally:
            collecting.cancel()
            self._open[address] -= 1
            self._open += Counter()  # forgets addresses without a page
            # who leaves and comes again is no other
            self._paces = {a: p for a, p in self._paces.items() if self._open[a] or p.is_ahead}
            end_sessions(self.uploaders)  # notes who has left
            asyncio.get_running_loop().call_later(KEPT_SECONDS + 1.0, end_sessions, self.uploaders)

    async def _upload(
        self, session: str, length: str, address: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if session not in self.uploaders:
            await self._refuse(404, "Not Found", scope, receive, send)
            return
        if not (length.isascii() and length.isdigit() and len(length) <= 12):
            await self._refuse(411, "Say how long the file is.", scope, receive, send)
            return
        size, held, quota = int(length), self.held(), self.quota
        self._came = {s: a for s, a in self._came.items() if s in {*held, *self._arriving}}
        self._came[session] = address
        of_address = size - _FRAMING
        for other, came in self._came.items():
            if came == address:
                of_address += held.get(other, 0) + self._arriving[other]
        of_session = held.get(session, 0) + self._arriving[session] + size - _FRAMING
        of_all = sum(held.values()) + self._arriving.total() + size - _FRAMING
        if size > quota.upload + _FRAMING:
            why = f"A file may have at most {quota.upload // 2**20} MB here."
        elif of_session > quota.upload_session:
            why = "You have uploaded as much as one page may hold. Remove a file first."
        elif address and of_address > max(quota.upload, quota.upload_all // 2):
            why = "Your address has uploaded as much as one may. Remove a file first."
        elif of_all > quota.upload_all:
            why = "This dashboard holds as many uploaded bytes as it may. Try again later."
        else:
            self._arriving[session] += size
            self.uploaders.bring(session)
            try:
                await self.app(scope, receive, send)
            finally:
                self._arriving[session] -= size
                self._arriving += Counter()
            return
        await self._refuse(413, why, scope, receive, send)

    async def _refuse(
        self, status: int, why: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1013, "reason": why})
        else:
            await PlainTextResponse(why, status)(scope, receive, send)


def bytes_held() -> dict[str, int]:
    """Bytes of the uploaded files of each session."""
    if not runtime.exists():
        return {}
    storage = getattr(runtime.get_instance().uploaded_file_mgr, "file_storage", {})
    return {
        session: sum(len(file.data) + _RECORD for file in list(files.values()))
        for session, files in list(storage.items())
    }


def end_sessions(uploaders: Uploaders) -> None:
    """End the sessions whose pages have left for good, and let go of the tables they brought.

    A session and what it refers to are a ring, and those of its objects that were there when the
    heap was frozen (`ui/kit/warm.py`) are looked at by no collection.
    """
    if not runtime.exists():
        return
    server = runtime.get_instance()
    over = uploaders.ended(server.is_active_session)
    for session in over:
        server.close_session(session)
    if uploaders.brought_by(over):
        gc.unfreeze()
        gc.collect()
        gc.freeze()
        give_back()


def give_back() -> None:
    """Hand free memory back to the system, which wipes it before anybody gets it: otherwise the
    bytes of a file stay in this process until something else is written over them.
    """
    pyarrow.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # of the C library of Linux only
        ctypes.CDLL(None).malloc_trim(0)


def _site(origin: str) -> str:
    """Name and port of an origin, empty where there is none."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _spellings(host: str) -> set[str]:
    """What an origin calls a host: a usual port is left out."""
    whole = host.lower()
    return {whole} | {whole.removesuffix(port) for port in (":80", ":443")}


def _address(scope: Scope, headers: Headers) -> str:
    client = (scope.get("client") or ("", 0))[0]
    return visitor_address(str(client), headers.get("x-forwarded-for", ""))
