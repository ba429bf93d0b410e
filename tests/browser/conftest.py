"""One server for all browser tests; a fresh page, watched for noise, for each."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.driver import BROWSER_ARGS, Noise, find_browser, running_server


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_browser()
    if path is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must run the browser tests, and no browser was found.")
        pytest.skip("no Chromium found: set DPCI_BROWSER, put chromium on PATH, or run 'playwright install chromium'")
    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with running_server() as address:
        yield address


OpenPage = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, server: str) -> Iterator[OpenPage]:
    """Open a path in a browser context of its own: `open_page("/explore", width=390, theme="dark")`."""
    opened = []

    def open_(path: str = "/", *, width: int = 1280, height: int = 900, theme: str = "light", at: str = server) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, accept_downloads=True
        )
        page = context.new_page()
        opened.append((context, Noise(page, at)))
        page.goto(at + path)
        return page

    yield open_
    for context, noise in opened:
        context.close()
        noise.check()
