"""What the Back button goes back to: the page before, or the screen of Learn or the step of Plan
before, with the settings as they are now.

All pages share one state, and the address follows it. Streamlit adds an entry to the browser's
history whenever the address changes, so that after ten moves of a slider Back would have to be
pressed ten times before anything happened. Here a change of settings takes the place of the entry
that is there. The script stands in the page itself: a component comes some time after the first
link that somebody can click.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers, MutableHeaders

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

_BEFORE = b"</head>"
_SCRIPT = b"<script>" + Path(__file__).with_suffix(".js").read_bytes() + b"</script>"


class Head:
    """Add the script to every HTML page, which is then no longer the file whose digest it had."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        start: Message = {}
        body = bytearray()

        async def send_with_script(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                start.update(message)
            elif start and message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    page = bytes(body).replace(_BEFORE, _SCRIPT + _BEFORE, 1)
                    await send(_of_length(start, len(page)))
                    await send({**message, "body": page})
            else:
                await send(message)

        is_read = scope["type"] == "http" and scope["method"] == "GET"
        if is_read and "text/html" in Headers(scope=scope).get("accept", ""):
            await self.app(_uncompressed(scope), receive, send_with_script)
        else:
            await self.app(scope, receive, send)


def _uncompressed(scope: Message) -> Message:
    """The same request by somebody who takes no compressed answer."""
    kept = [pair for pair in scope["headers"] if pair[0].lower() != b"accept-encoding"]
    return {**scope, "headers": kept}


def _is_page(start: Message) -> bool:
    kind = MutableHeaders(scope=start).get("content-type", "")
    return bool(start["status"] == 200) and kind.startswith("text/html")


def _of_length(start: Message, length: int) -> Message:
    """The beginning of an answer whose body was changed: nobody may ask later whether it still is
    the file.
    """
    headers = MutableHeaders(scope=start)
    for name in ("etag", "last-modified"):
        del headers[name]
    headers["content-length"] = str(length)
    return start
