"""The web application around the pages: headers on every answer, uploads kept off the disk, one limit everywhere."""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest
from starlette.formparsers import MultiPartParser

import app as wrapper

CONFIG = tomllib.loads((Path(wrapper.__file__).parent / ".streamlit" / "config.toml").read_text())


def answer(kind: str) -> dict[str, str]:
    """Headers that a request of this kind gets back."""
    seen = []

    async def inner(scope, receive, send):
        await send({"type": "http.response.start", "headers": [(b"x-own", b"1")]})

    async def send(message):
        seen.append(message)

    asyncio.run(wrapper.SecurityHeaders(inner)({"type": kind}, None, send))
    return {name.decode(): value.decode() for name, value in seen[0]["headers"]}


def test_every_answer_carries_the_headers():
    assert answer("http") == {"x-own": "1", **wrapper.HEADERS}


def test_websockets_pass_untouched():
    assert answer("websocket") == {"x-own": "1"}


def test_nothing_from_elsewhere_may_run_and_nobody_may_frame_the_page():
    policy = wrapper.HEADERS["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "http" not in policy


def test_an_upload_within_the_limit_never_reaches_a_temporary_file(monkeypatch):
    monkeypatch.setattr(MultiPartParser, "spool_max_size", 1)

    async def started() -> int:
        async with wrapper.lifespan(None):
            return MultiPartParser.spool_max_size

    assert asyncio.run(started()) == wrapper.UPLOAD_LIMIT


def test_the_limits_agree():
    assert CONFIG["server"]["maxUploadSize"] * 2**20 == wrapper.UPLOAD_LIMIT


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
