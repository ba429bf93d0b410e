"""How fast Explore is in a browser: from a key press on each slider to the changed chart, and the
first visit, beside an empty Streamlit page.

    python -m benchmarks.page_speed [--presses 15] [--visits 3]

The floor is the same two measurements on a page with one slider and one line of text, in the same
browser and the same minute: what Streamlit itself takes, of which 0.2 s are the wait of its sliders
for a further press. On a busy machine seconds on the clock say little, so that the processor
seconds of server and page stand beside them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlencode

import numpy as np
import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.driver import BROWSER_ARGS, Server, find_browser, server_process, wait_idle
from ui.session.settings import Settings

_SIZE = {"width": 1280, "height": 900}
_REST = 700
"""Milliseconds between presses: as people look, and longer than the page waits for quiet."""
_FIRST = 4.0
"""Seconds within which the first chart of a first visit stands."""
_SHORT = ("d_slider", "h_slider")
"""Sliders with an end too near for one key pressed again and again."""
_DRAWN = ".picture[data-drawn]"
EIGHT = "definitions=pure~zcdp&losses=logistic~huber_svm"


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Settings, the sliders to press, and the goals in seconds: median and 95th percentile."""

    words: str
    query: str
    sliders: tuple[str, ...]
    median: float
    late: float


PAPER = urlencode(Settings().to_query())
CASES = (
    Case(
        words="a first visit: seven odds ratios",
        query="",
        sliders=("total", "split", "n", "d", "c"),
        median=0.3,
        late=0.5,
    ),
    Case(
        words="d = 10, two combinations in the paper's terms",
        query=PAPER,
        sliders=("total", "split", "n", "d", "c"),
        median=0.3,
        late=0.5,
    ),
    Case(
        words="d = 10, two combinations of the SVM",
        query=f"{PAPER}&losses=huber_svm",
        sliders=("h",),
        median=0.3,
        late=0.5,
    ),
    Case(
        words="d = 26, eight combinations",
        query=f"{PAPER}&d=26&{EIGHT}",
        sliders=("total", "split", "n", "d", "c", "h"),
        median=1.0,
        late=np.inf,
    ),
)
_FLOOR = Case(words="empty page", query="", sliders=("only",), median=np.inf, late=np.inf)

_WATCH = """key => {
    const input = document.querySelector(`.st-key-${key} input[type=range]`);
    const version = () => document.querySelector('.picture')?.dataset.drawn;
    input.focus();
    const before = version();
    window.taken = new Promise(done => input.addEventListener('keydown', () => {
        const began = performance.now();
        const look = () => version() && version() !== before
            ? done((performance.now() - began) / 1000) : requestAnimationFrame(look);
        requestAnimationFrame(look);
    }, {capture: true, once: true}));
}"""
"""Time from a key press to the first frame with another chart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pressed:
    """Seconds from a key press to the changed chart, and what the server's processor and the
    page's main thread did for it until both were idle.
    """

    seconds: float
    server: float
    page: float


class Meter:
    """Presses keys on a page and reads clocks: the page's own, and those of two processors."""

    def __init__(self, page: Page, server: psutil.Process) -> None:
        self.page, self._server = page, server
        self._client = page.context.new_cdp_session(page)
        self._client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def press(self, slider: str, key: str) -> Pressed:
        """One key press on a slider, and a rest."""
        self.page.evaluate(_WATCH, slider)
        before = self._work()
        self.page.keyboard.press(key)
        seconds = float(self.page.evaluate("window.taken"))
        wait_idle(self.page)
        self.page.wait_for_timeout(_REST)
        server, page = (b - a for a, b in zip(before, self._work(), strict=True))
        return Pressed(seconds=seconds, server=server, page=page)

    def presses(self, slider: str, times: int) -> list[Pressed]:
        """Of many presses, always to settings nobody asked for before."""
        taken = []
        for i in range(times + 1):
            key = "ArrowLeft" if slider == "n_slider" else "ArrowRight"  # where no end is near
            if slider in _SHORT:  # stays about where it is; the records are others each time
                self.press("n_slider", "ArrowLeft")
                key = ("ArrowRight", "ArrowLeft")[i % 2]
            taken.append(self.press(slider, key))
        return taken[1:]  # the first press loads what later ones have

    def _work(self) -> tuple[float, float]:
        metrics = {
            m["name"]: m["value"] for m in self._client.send("Performance.getMetrics")["metrics"]
        }
        return float(sum(self._server.cpu_times()[:2])), float(metrics["TaskDuration"])


def visit(browser: Browser, address: str) -> float:
    """Seconds until the first chart of a first visit, with nothing kept by the browser."""
    with _blank(browser) as page:
        started = time.perf_counter()
        page.goto(address, wait_until="commit")
        page.wait_for_selector(_DRAWN, timeout=120_000)
        return time.perf_counter() - started


@contextmanager
def _blank(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=_SIZE)  # type: ignore[arg-type]
    try:
        yield context.new_page()
    finally:
        context.close()


def measured(
    browser: Browser, server: Server, case: Case, times: int
) -> Iterator[tuple[str, list[Pressed]]]:
    """The presses on every slider of a case."""
    for name in case.sliders:
        with _blank(browser) as page:
            page.goto(f"{server.address}/?{case.query}")
            page.wait_for_selector(_DRAWN, timeout=120_000)
            wait_idle(page)
            page.wait_for_timeout(2000)
            meter = Meter(page, psutil.Process(server.process.pid))
            yield name, meter.presses(f"{name}_slider", times)


def _row(*cells: object) -> None:
    print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def _visits(browser: Browser, servers: dict[str, Server], times: int) -> bool:
    _row("first visit", "first chart")
    _row(*["---"] * 2)
    is_good = True
    for words, server in servers.items():
        visit(browser, server.address)  # warms the server
        median = float(np.median([visit(browser, server.address) for _ in range(times)]))
        is_good &= words == _FLOOR.words or median <= _FIRST
        _row(words, f"{median:.2f} s")
    return is_good


def _presses(browser: Browser, servers: dict[str, Server], times: int) -> bool:
    _row(
        "key press to chart",
        "slider",
        "median",
        "95 %",
        "× floor",
        "server",
        "page",
        "goal",
        "load",
    )
    _row(*["---"] * 9)
    floor, is_good = 0.0, True
    for case in (_FLOOR, *CASES):
        server = servers.get(case.words, servers["Explore"])
        for slider, taken in measured(browser, server, case, times):
            median, late = (float(np.quantile([p.seconds for p in taken], q)) for q in (0.5, 0.95))
            floor = floor or median
            is_met = median <= case.median and late <= case.late
            is_good &= is_met
            bars = [f"{x:g} s" for x in (case.median, case.late) if np.isfinite(x)]
            goal = f"{', '.join(bars)}: {'met' if is_met else 'missed'}"
            _row(
                case.words,
                slider,
                f"{median:.3f} s",
                f"{late:.3f} s",
                f"{median / floor:.1f}",
                f"{np.median([p.server for p in taken]):.2f} s",
                f"{np.median([p.page for p in taken]):.2f} s",
                "" if case is _FLOOR else goal,
                f"{os.getloadavg()[0]:.1f}",
            )
    return is_good


_EMPTY = """
import streamlit as st
value = st.select_slider("One control", list(range(1, 101)), value=50, key="only_slider")
st.html(f'<p class="picture" data-drawn="{value}">{value}</p>')
"""


def _empty(folder: Path, port: int) -> list[str]:
    """Serves a page with one slider, and the text that it changes."""
    script = folder / "empty.py"
    script.write_text(_EMPTY, encoding="utf-8")
    return [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]


def main() -> None:
    """Print two tables; exit with 1 where a goal is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--presses", type=int, default=15, help="on every slider")
    parser.add_argument("--visits", type=int, default=3, help="the median is printed")
    options = parser.parse_args()
    path = find_browser()
    if path is None:
        sys.exit("No Chromium found: set DPCI_BROWSER, or put chromium on PATH.")
    with (
        TemporaryDirectory() as folder,
        server_process() as full,
        server_process(partial(_empty, Path(folder))) as empty,
        sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        servers = {"Explore": full, _FLOOR.words: empty}
        is_good = _visits(browser, servers, options.visits)
        print()
        is_good &= _presses(browser, servers, options.presses)
        browser.close()
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
