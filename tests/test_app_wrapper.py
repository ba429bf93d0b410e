"""The web application around the pages: headers on every answer, uploads kept off the disk, one
limit everywhere.
"""

from __future__ import annotations

import asyncio
import tomllib
from pathlib import Path

import pytest
import streamlit as st
from starlette.formparsers import MultiPartParser

import app as wrapper
from ui import gate
from ui.session.quota import UPLOAD

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
