"""The web application around the pages: headers on every answer, uploads kept off the disk, one
limit everywhere.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import tomllib
from pathlib import Path

import pytest
import streamlit as st
from starlette.formparsers import MultiPartParser
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse, Response

import app as wrapper
from ui import gate
from ui.head import Head
from ui.kit.style import sheet
from ui.session.quota import UPLOAD, Quota

CONFIG = tomllib.loads((Path(wrapper.__file__).parent / ".streamlit" / "config.toml").read_text())


def answer(kind: str) -> dict[str, str]:
    """Headers that a request of this kind gets back."""
    seen = []

    async def inner(scope, receive, send):
        await send({"type": "http.response.start", "headers": [(b"x-own", b"1")]})

    async def send(message):
        seen.append(message)

    asyncio.run(gate.SecurityHeaders(inner)({"type": kind}, None, send))
    return {name.decode(): value.decode() for name, value in seen[0]["headers"]}


def test_every_answer_carries_the_headers():
    assert answer("http") == {"x-own": "1", **gate.HEADERS}


def test_websockets_pass_untouched():
    assert answer("websocket") == {"x-own": "1"}


def through_head(response: Response) -> tuple[dict[str, str], bytes]:
    """Headers and body of an answer that has passed `Head`."""
    seen = []

    async def send(message):
        seen.append(message)

    asked = {
        "type": "http",
        "method": "GET",
        "headers": [(b"accept", b"text/html,*/*"), (b"accept-encoding", b"gzip")],
        "asgi": {"spec_version": "2.4"},
    }
    # as in Streamlit, which compresses what Head changes
    asyncio.run(Head(GZipMiddleware(response, minimum_size=1))(asked, None, send))
    headers = {name.decode(): value.decode() for name, value in seen[0]["headers"]}
    return headers, b"".join(message.get("body", b"") for message in seen)


def test_script_and_first_view_stand_in_the_page_itself(tmp_path):
    index = Path(st.__file__).parent / "static" / "index.html"
    headers, page = through_head(FileResponse(index))
    head, _, body = page.partition(b"</head>")
    assert head.endswith(b"</script>")
    assert b"pushState" in head
    assert sheet().encode() in body.partition(b'<div id="root">')[0]  # after the head, it wins
    first, _, rest = body.partition(b"</body>")
    assert b'id="first"' in first
    assert b"_PAGE" not in first  # the colours of the theme stand there
    assert rest in index.read_bytes()
    assert headers["content-length"] == str(len(page))
    assert not {"etag", "last-modified"} & set(headers)  # it is not that file any more


@pytest.mark.parametrize(
    "response",
    [
        Response("<head></head>", media_type="text/plain"),
        Response("<head></head>", status_code=503, media_type="text/html"),
    ],
)
def test_what_is_no_page_passes_head_as_it_is(response):
    assert through_head(response)[1] == b"<head></head>"


def test_nothing_from_elsewhere_may_run_and_nobody_may_frame_the_page():
    policy = gate.HEADERS["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy


def test_an_upload_within_the_limit_never_reaches_a_temporary_file(monkeypatch):
    monkeypatch.setattr(MultiPartParser, "spool_max_size", 1)

    async def started() -> int:
        async with wrapper.lifespan(None):
            return MultiPartParser.spool_max_size

    assert asyncio.run(started()) >= UPLOAD + 2**20  # a body may be longer than its file


def test_the_limits_agree():
    assert CONFIG["server"]["maxUploadSize"] * 2**20 == UPLOAD
    most = CONFIG["server"]["maxMessageSize"] * 10**6  # of a message that is still arriving
    assert most > gate.LARGEST_MESSAGE
    assert most * Quota().visitors <= 1.6e9


@pytest.mark.parametrize(
    ("section", "name", "value"),
    [
        ("server", "address", "127.0.0.1"),
        ("browser", "gatherUsageStats", False),
        ("client", "showErrorDetails", "type"),
    ],
)
def test_the_server_keeps_to_itself(section, name, value):
    assert CONFIG[section][name] == value


@pytest.mark.parametrize("name", ["enableXsrfProtection", "enableCORS"])
def test_protection_against_other_sites_stays_on(name):
    assert CONFIG["server"].get(name, True) is True
    assert st.get_option(f"server.{name}") is True


def test_the_toolbar_is_the_viewers():
    assert CONFIG["client"]["toolbarMode"] == "viewer"


@pytest.mark.parametrize(
    ("path", "is_closed"),
    [
        ("/_stcore/metrics", True),
        ("/_stcore/metrics/", True),
        ("/base/path/_stcore/metrics", True),
        ("/_stcore/agent/interact", True),
        ("/_stcore/agent", True),
        ("/_stcore/health", False),
        ("/_stcore/upload_file/a/b", False),
        ("/explore", False),
    ],
)
def test_what_strangers_need_not_see_is_closed(path, is_closed):
    reached, seen = [], []

    async def inner(scope, receive, send):
        reached.append(scope["path"])

    async def send(message):
        seen.append(message)

    asyncio.run(gate.Closed(inner)({"type": "http", "path": path, "method": "GET"}, None, send))
    assert bool(reached) is not is_closed
    assert [m["status"] for m in seen if "status" in m] == ([404] if is_closed else [])


INDEX = Path(st.__file__).parent / "static" / "index.html"
BUNDLE = max(
    (INDEX.parent / "static" / "js").glob("index.*.js"), key=lambda file: file.stat().st_size
)


def asked(
    app: gate.App, path: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer."""
    sent: list[gate.Scope] = []

    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.replace("_", "-").encode(), v.encode()) for name, v in headers.items()],
    }
    asyncio.run(app(scope, receive, send))
    start, *rest = sent
    told = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], told, b"".join(message.get("body", b"") for message in rest)


@pytest.mark.parametrize("base", ["", "/dpci"])
def test_a_bundle_is_sent_compressed_to_whoever_takes_that(base):
    app, address = gate.Compressed(FileResponse(BUNDLE)), f"{base}/static/js/{BUNDLE.name}"
    _, told, body = asked(app, address, accept_encoding="gzip, br")
    assert told["content-encoding"] == "gzip"
    assert told["vary"] == "Accept-Encoding"
    assert int(told["content-length"]) == len(body) < 0.4 * BUNDLE.stat().st_size
    assert gzip.decompress(body) == BUNDLE.read_bytes()


def test_a_bundle_is_sent_as_it_is_to_whoever_does_not_or_wants_a_part():
    app, address = gate.Compressed(FileResponse(BUNDLE)), f"/static/js/{BUNDLE.name}"
    _, told, body = asked(app, address, accept_encoding="identity")
    assert "content-encoding" not in told
    assert body == BUNDLE.read_bytes()
    status, _, body = asked(app, address, accept_encoding="gzip", range="bytes=0-9")
    assert (status, body) == (206, BUNDLE.read_bytes()[:10])


def test_a_question_about_a_bundle_does_not_empty_it_for_everybody():
    """The answer to HEAD has the same etag and no body."""
    app, address = gate.Compressed(FileResponse(BUNDLE)), f"/static/js/{BUNDLE.name}"
    _, told, body = asked(app, address, "HEAD", accept_encoding="gzip")
    assert (int(told["content-length"]), body) == (BUNDLE.stat().st_size, b"")
    assert gzip.decompress(asked(app, address, accept_encoding="gzip")[2]) == BUNDLE.read_bytes()


def test_a_bundle_is_compressed_once_and_nothing_else_is_kept(monkeypatch):
    """Not under another name of the same file either: whoever guesses names fills no memory."""
    sizes = []
    monkeypatch.setattr(gzip, "compress", lambda plain, _: sizes.append(len(plain)) or b"packed")
    app = gate.Compressed(FileResponse(BUNDLE))
    for name in (BUNDLE.name, BUNDLE.name, "guessed.js"):
        assert asked(app, f"/static/js/{name}", accept_encoding="gzip")[2] == b"packed"
    assert sizes == [BUNDLE.stat().st_size]
    assert len(app.packed) == 1
    app.app = Response(b"own" * 9999)
    for path in ("/media/own.csv", "/static/js/no-etag.js"):
        assert asked(app, path, accept_encoding="gzip")[2] == b"own" * 9999
    assert len(app.packed) == 1


def test_every_bundle_of_a_first_visit_lies_where_it_is_compressed():
    named = re.findall(r"(?:src|href)=\"\./([^\"]+\.(?:js|css))\"", INDEX.read_text())
    assert len(named) > 5
    assert all(any(part in f"/{name}" for part in gate.BUNDLES) for name in named)
