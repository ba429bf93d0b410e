"""A live server that is told to end in the middle of a release, and started again."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from dpci_core.ledger import Charge, Ledger
from tests.browser.driver import Server, server_process, wait_idle
from tests.browser.test_steward import fill, set_budget
from tests.ui.release.test_page import approved_link, csv_bytes, rows

pytestmark = pytest.mark.soak
N = 300_000
"""Records: so many are read for seconds."""
TRIES = 3


def charge_of(place: Path) -> Charge | None:
    """The one charge of a desk, None while there is none."""
    found = Ledger(place / "ledger.sqlite", read_only=True).history()
    assert len(found) <= 1
    return found[0] if found else None


def ask(page: Page, table: Path) -> None:
    """Everything up to the one button, and the button."""
    page.get_by_role("heading", name="3 ·").first.wait_for()
    page.locator(".st-key-release_file input[type=file]").set_input_files(str(table))
    page.get_by_text("Only its header was read").wait_for()
    wait_idle(page)
    if page.locator(".st-key-release_read").count():
        page.locator(".st-key-release_read label").click()
        wait_idle(page)
    fill(page, "release_typed", "Clinic")
    page.locator(".st-key-release_now button").click()


@contextmanager
def release_page(place: Path, browser: Browser) -> Iterator[tuple[Server, Page]]:
    """The page Release of a live server with a ledger of its own."""
    where = {
        "DPCI_LEDGER": str(place / "ledger.sqlite"),
        "DPCI_RELEASES": str(place / "releases"),
    }
    with server_process(**where) as server, browser.new_page() as page:
        page.goto(f"{server.address}/release?{urlencode(approved_link(n=str(N)))}")
        yield server, page


def stopped(moment: str, place: Path, table: Path, browser: Browser) -> None:
    """A release on a live server, which is told to end as soon as the ledger says so."""
    with release_page(place, browser) as (server, page):
        page.get_by_role("button", name="Set this budget").wait_for()
        for key, text in (
            ("budget_name", "Clinic"),
            ("release_person", "Ada"),
            ("budget_amount", "3"),
        ):
            fill(page, key, text)
        set_budget(page)
        page.locator(".st-key-release_typed").wait_for()
        wait_idle(page)
        ask(page, table)
        deadline = time.monotonic() + 120
        while (charge := charge_of(place)) is None or (
            moment == "drawing" and charge.draw != "begun"
        ):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=120)


def asked_again(place: Path, table: Path, browser: Browser) -> str:
    """What a new server makes of it: "went on", "released" or "lost"."""
    before = charge_of(place)
    assert before is not None
    with release_page(place, browser) as (_, page):
        if before.may_go_on:
            page.get_by_text("The price is paid").wait_for()
            page.get_by_role("button", name="Go on with this release").wait_for()
            ask(page, table)
            page.get_by_text("This plan was released").wait_for(timeout=120_000)
            found = "went on"
        else:
            page.get_by_role("heading", name="3 · The release").wait_for()
            wait_idle(page)
            assert page.locator(".st-key-release_now").count() == 0
            is_there = page.get_by_text("This plan was released").count() == 1
            found = "released" if is_there else "lost"
        assert page.locator("[data-testid=stException]").count() == 0
    return found


@pytest.mark.parametrize("moment", ["reading", "drawing"])
def test_a_server_told_to_end_in_mid_release(
    moment: str, tmp_path: Path, browser: Browser, record_property
) -> None:
    """Before the draw the release goes on, after it nobody draws again, and one price is paid."""
    table = tmp_path / "clinic.csv"
    frame = rows()
    whole = np.resize(np.arange(len(frame)), N)
    table.write_bytes(csv_bytes(frame.iloc[whole]))
    outcomes: list[str] = []
    for attempt in range(TRIES):
        place = tmp_path / str(attempt)
        place.mkdir()
        stopped(moment, place, table, browser)
        left = charge_of(place)
        assert left is not None
        state = "may go on" if left.may_go_on else left.state
        after = asked_again(place, table, browser)
        ledger = Ledger(place / "ledger.sqlite", read_only=True)
        draws = [entry for entry in ledger.entries() if entry.kind == "drawing"]
        assert len(draws) == 1
        assert str(ledger.remaining("Clinic")) == "2"
        outcomes.append(f"{state}, {after}")
    record_property("outcomes", {one: outcomes.count(one) for one in sorted(set(outcomes))})
    expected = {"may go on, went on"} if moment == "reading" else {"done, released"}
    assert set(outcomes) <= expected
