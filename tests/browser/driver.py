"""A server on a free port and a headless browser, and how to read what the page shows."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BROWSER_ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
APP = "[data-testid=stApp]"


def free_port() -> int:
    """Return a TCP port that is free at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_browser() -> str | None:
    """Path of a Chromium: DPCI_BROWSER, then PATH, then the one Playwright may have installed."""
    named = os.environ.get("DPCI_BROWSER")
    if named:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if path := shutil.which(name):
            return path
    with sync_playwright() as play:
        own = play.chromium.executable_path
    return own if Path(own).exists() else None


@dataclass
class Server:
    """A running dashboard; `output` is complete once it has stopped."""

    address: str
    process: subprocess.Popen[bytes]
    output: str = ""


@contextmanager
def running_server(**env: str) -> Iterator[str]:
    """Start the dashboard on a free port, give its address, stop it afterwards."""
    with server_process(**env) as server:
        yield server.address


def from_checkout(port: int) -> list[str]:
    """What `make run` runs."""
    return [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]


@contextmanager
def server_process(
    command: Callable[[int], list[str]] = from_checkout, folder: Path = ROOT, **env: str
) -> Iterator[Server]:
    """Like `running_server`, with the process; another command for the port, and from another
    folder, on request.
    """
    port = free_port()
    environment = {**os.environ, **env}
    with subprocess.Popen(
        command(port), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        server = Server(f"http://127.0.0.1:{port}", process)
        try:
            _wait(port, process)
            yield server
        finally:
            process.terminate()
            server.output = process.stdout.read().decode() if process.stdout else ""
    assert "Traceback" not in server.output, server.output[-3000:]


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError("The server stopped before it was up.")
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/_stcore/health", timeout=2
            ) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The server was not up within 90 seconds.")


PATIENCE = 90_000
"""Milliseconds that everything is waited for: machines are slow at times, and no test is about how
slow.
"""


def wait_idle(page: Page, timeout: int = PATIENCE) -> None:
    """Wait until the script has run."""
    page.wait_for_timeout(200)
    state = "[data-test-connection-state=CONNECTED][data-test-script-state=notRunning]"
    page.locator(APP + state).wait_for(state="attached", timeout=timeout)


NAVIGATION = ("Explore", "Plan", "Release", "Ledger", "Learn", "Evidence", "About")
"""The pages, in their order."""


def go(page: Page, name: str) -> None:
    """Another page, through the navigation."""
    page.get_by_test_id("stTopNavLink").get_by_text(name, exact=True).click()


def wait_chart(
    page: Page, key: str = "chart_intervals", *, patience: float = PATIENCE / 1000.0
) -> None:
    """Wait until a chart is drawn, at most so many seconds."""
    drawn = f".st-key-{key} :is(.js-plotly-plot .scatterlayer, .picture svg)"
    page.wait_for_selector(drawn, timeout=1000.0 * patience)
    wait_idle(page)


def press(page: Page, key: str, keys: str = "ArrowRight") -> None:
    """Press a key on a slider."""
    slider = page.locator(f".st-key-{key} input[type=range]").first
    slider.focus()
    slider.press(keys)


def wait_frames(page: Page, key: str) -> None:
    """Wait for the frames that a picture shows while this slider moves; they come once the page
    rests.
    """
    page.wait_for_function("k => window[Symbol.for('dpci animations')]?.has(k)", arg=key)


def type_number(page: Page, key: str, value: str) -> None:
    """Type a number and confirm it."""
    field = page.locator(f".st-key-{key} input")
    field.fill(value)
    field.press("Enter")


def chart(page: Page, key: str) -> dict[str, Any]:
    """The data and layout of a chart as the browser holds them."""
    result: dict[str, Any] = page.evaluate(
        """k => {const own = document.querySelector(`.st-key-${k} .picture`)?.drawing;
                 if (own) return own;
                 const g = document.querySelector(`.st-key-${k} .js-plotly-plot`);
                 return {data: g.data.map(t => ({name: t.name, x: Array.from(t.x || []), y: Array.from(t.y || [])})),
                         meta: g.layout.meta}}""",
        key,
    )
    return result


def wait_meta(page: Page, key: str, name: str, value: float) -> None:
    """Wait until a chart shows this value of a setting."""
    page.wait_for_function(
        """([k, n, v]) => {const g = document.querySelector(`.st-key-${k} .js-plotly-plot`);
                           const own = document.querySelector(`.st-key-${k} .picture`)?.drawing;
                           const shown = (own ?? g?.layout)?.meta?.[n];
                           return Math.abs(shown - v) <= 1e-9 * Math.abs(v)}""",
        arg=[key, name, value],
    )


class Noise:
    """What a page complains about or asks strangers for; harmless probes of Streamlit are left
    out.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.messages: list[str] = []
        self.strangers: list[str] = []
        page.on("console", lambda m: self.messages.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: self.messages.append(str(e)))
        page.on("request", lambda r: self._request(r.url, address))

    def _request(self, url: str, address: str) -> None:
        if not url.startswith((address, address.replace("http", "ws"), "data:", "blob:")):
            self.strangers.append(url)

    def check(self) -> None:
        """Raise if anything was heard: on a deep link Streamlit probes two addresses that
        answer 404.
        """
        assert not self.strangers, self.strangers
        serious = [m for m in self.messages if "404" not in m]
        assert not serious, serious
        assert len(self.messages) <= 4, self.messages
