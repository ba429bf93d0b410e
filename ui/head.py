"""What stands in the page itself, before Streamlit's own code has come.

A script keeps the browser's history. All pages share one state, and the address follows it;
Streamlit adds an entry whenever the address changes, so that after ten moves of a slider Back would
have to be pressed ten times before anything happened. Here a change of settings takes the place of
the entry that is there, and Back goes to the page before, or to the screen of Learn or the step of
Plan before. A component would come some time after the first link that somebody can click.

The style sheet of all pages is there from the first look on: among what a run draws it would come
late, and go for a moment whenever Streamlit draws anew; so would the ring around what has the
keyboard.

Whoever goes by keys finds a way past the navigation first: to the open tab of a page that begins
with tabs; else to its first slider, field or button above the foot, or to its heading.

On the front page a visitor reads what this is, and has the three doors, while the rest is on its
way; the same script takes that away when the page is there.
"""

from __future__ import annotations

from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.kit.style import sheet, themed

_SCRIPT = f"<script>{Path(__file__).with_suffix('.js').read_text(encoding='utf-8')}</script>"
_SKIP = """<style>
#skip { position: fixed; top: 0.5rem; left: 0.5rem; z-index: 1000000; padding: 0.5rem 1rem;
  font: 1rem/1.5 "Source Sans", sans-serif; border: 0; border-radius: 0.5rem;
  color: light-dark(LIGHT_TEXT, DARK_TEXT); background: light-dark(LIGHT_PAGE, DARK_PAGE) }
#skip:not(:focus) { transform: translateY(-5rem) }
</style>
<nav aria-label="Shortcut"><button id="skip" type="button">Skip to the controls</button></nav>
"""
_FIRST = """<style>
:root:not([data-dpci-first]) #first { display: none }
#first { position: fixed; inset: 0; z-index: 1; padding: 4.25rem 2rem;
  font: 1rem/1.5 "Source Sans", sans-serif;
  color-scheme: light dark; color: light-dark(LIGHT_TEXT, DARK_TEXT);
  background: light-dark(LIGHT_PAGE, DARK_PAGE) }
#first b { font-size: 1.375rem }
#first p { max-width: 44rem }
#first a { display: inline-block; margin: 0.25rem 0.75rem 0.25rem 0; padding: 0.375rem 0.875rem;
  border: 1px solid light-dark(LIGHT_LINE, DARK_LINE); border-radius: 0.5rem; color: inherit;
  text-decoration: none }
</style>
<div id="first">
<b>What privacy costs a confidence interval</b>
<p>Odds ratios from records of people, published under differential privacy, with noise that limits
what anybody can learn about one of them: how long do their intervals get, and what budget, how many
records, which split make them short enough?</p>
<a href="./plan?step=describe&amp;how=type">Plan a study</a>
<a href="./plan?step=describe&amp;how=type">Publish my table</a>
<a href="./learn">Understand</a>
</div>
"""


class Head:
    """Add script and first view to every HTML page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._parts = {
            b"</head>": _SCRIPT.encode(),
            b'<div id="root">': (sheet() + themed(_SKIP)).encode(),
            b"</body>": themed(_FIRST).encode(),
        }

    def _added(self, page: bytes) -> bytes:
        for end, part in self._parts.items():
            page = page.replace(end, part + end, 1)
        return page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}
        body = bytearray()

        async def send_with_script(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                start.update(message)
            elif start and message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    page = self._added(bytes(body))
                    await send(_of_length(start, len(page)))
                    await send({**message, "body": page})
            else:
                await send(message)

        is_read = scope["type"] == "http" and scope["method"] == "GET"
        if is_read and "text/html" in Headers(scope=scope).get("accept", ""):
            await self.app(_uncompressed(scope), receive, send_with_script)
        else:
            await self.app(scope, receive, send)


def _uncompressed(scope: Scope) -> Scope:
    """Return the request as from somebody who takes no compressed answer."""
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
