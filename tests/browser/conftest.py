"""One server and one browser for all browser tests of a process; a fresh page, watched for noise,
for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, expect, sync_playwright

from tests.browser.driver import BROWSER_ARGS, PATIENCE, Noise, find_browser
from tests.browser.screenshots import desk_server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must run the browser tests, and no browser was found.")
        pytest.skip(
            "no Chromium found: set DPCI_BROWSER, put chromium on PATH, or run 'playwright install "
            "chromium'"
        )
    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    """A dashboard with a ledger of its own that has one data set."""
    with desk_server(tmp_path_factory.mktemp("desk")) as address:
        yield address


SIZE = {"width": 1280, "height": 900}


def visitor(browser: Browser) -> BrowserContext:
    context = browser.new_context(viewport=SIZE)
    context.set_default_timeout(PATIENCE)
    return context


@pytest.fixture(scope="session")
def regular(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor who comes again and again: reading Streamlit's scripts anew takes a third of the
    time of a visit.
    """
    context = visitor(browser)
    expect.set_options(timeout=PATIENCE)
    yield context
    context.close()


def forget(context: BrowserContext) -> None:
    """Streamlit keeps in the browser whether a page's sidebar was open: the next test has not opened
    it.
    """
    for page in context.pages:
        if page.url.startswith("http"):
            page.evaluate("() => localStorage.clear()")


OpenPage = Callable[..., Page]
_STATE = """() => {
  const app = document.querySelector('[data-testid=stApp]')
  const main = document.querySelector('[data-testid=stMain]')
  return [location.href, JSON.stringify({ ...app?.dataset }), main?.innerText.slice(0, 1500)].join('\\n')
}"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """What the pages of a test that failed show: a race is seldom seen twice."""
    report = yield
    if report.failed and call.when == "call" and "regular" in getattr(item, "funcargs", {}):
        for page in item.funcargs["regular"].pages:
            with suppress(Error):
                report.sections.append(("page", page.evaluate(_STATE)))
    return report


@pytest.fixture
def open_page(browser: Browser, regular: BrowserContext, server: str) -> Iterator[OpenPage]:
    """Open a path, `open_page("/explore", width=390, theme="dark")`, for the regular visitor.

    Every further page of a test is for a visitor of its own: of one visitor's pages only the one in
    front is drawn.
    """
    opened: list[tuple[Page, Noise]] = []

    def open_(
        path: str = "/",
        *,
        width: int = 1280,
        height: int = 900,
        theme: str = "light",
        at: str = server,
    ) -> Page:
        context = visitor(browser) if opened else regular
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        opened.append((page, Noise(page, at)))
        page.goto(at + path)
        return page

    yield open_
    for page, _ in opened[1:]:
        page.context.close()
    forget(regular)
    for page in regular.pages:  # also those that a page has opened
        page.close()
    for _, noise in opened:
        noise.check()
