"""Plan, Release and Ledger in a real browser: answers, one release under a double click, and what
other tabs know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page

from dpci_core.ledger import Cap, Cost, Ledger
from tests.browser.driver import running_server, wait_chart, wait_idle
from tests.ui.release.test_page import approved_link, csv_bytes

pytestmark = pytest.mark.browser
PLAN = "/plan?d=4&calibrations=published"
MOST_ACTIONS = 20
"""Clicks and typed fields from the front page to a record with a rehearsal before it; a file that is
chosen is one.
"""
N = 8_000
LINE = (
    "age years 18 to 100, typical 60, spread 16, per 10, ward: a 50 %, b 30 %, c 20 %, "
    "sex: F 50 %, M 50 %, smoker: no 80 %, yes 20 %, "
    "systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10, diabetes: no 72 %, yes 28 %"
)
"""A header line whose columns were described in place."""
_PATIENCE = 240_000


@dataclass
class Walk:
    """What was done so far."""

    page: Page
    actions: int = 0

    def click(self, selector: str, text: str = "") -> None:
        """Click on something, and wait until the page has answered."""
        found = self.page.locator(selector)
        (found.filter(has_text=text) if text else found).last.click(timeout=_PATIENCE)
        self.actions += 1
        wait_idle(self.page, _PATIENCE)

    def type(self, selector: str, text: str) -> None:
        """Type into a field and leave it."""
        field = self.page.locator(selector).first
        field.fill(text, timeout=_PATIENCE)
        field.press("Tab")
        self.actions += 1
        wait_idle(self.page, _PATIENCE)


def table(n: int = N) -> bytes:
    """A made-up private table that fits the lines, as CSV."""
    rng = np.random.default_rng(7)
    age = rng.normal(60, 16, n).clip(18, 100).round()
    pressure = rng.normal(130, 18, n).clip(60, 260).round()
    smoker = rng.random(n) < 0.2
    odds = -1.0 + 0.02 * (age - 60) + 0.02 * (pressure - 130) + 0.4 * smoker
    frame = pd.DataFrame(
        {
            "age": age,
            "ward": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "sex": np.where(rng.random(n) < 0.5, "F", "M"),
            "smoker": np.where(smoker, "yes", "no"),
            "systolic_bp": pressure,
            "diabetes": np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no"),
        }
    )
    return frame.to_csv(index=False).encode()


def walk(page: Page, address: str) -> Walk:
    """From the front page to a released record."""
    path = Walk(page)
    page.goto(address)
    path.click(".st-key-door_private button")
    path.type(".st-key-describe_n input", str(N))
    path.type(".st-key-describe_text textarea", LINE)
    path.click(".st-key-describe_target_pick label", "diabetes")
    path.click(".st-key-describe_continue button")
    path.type(".st-key-goal_all_ input", "1.5")
    path.click(".st-key-goal_continue button")
    page.locator(".st-key-use_design button:not([disabled])").wait_for(timeout=_PATIENCE)
    path.click(".st-key-use_design button")
    path.type(".st-key-approve_person input", "Ada")
    if page.locator(".st-key-approve_read").count():
        path.click(".st-key-approve_read label")
    path.click(".st-key-approve button")
    path.click(".st-key-release_rehearse_now button:visible")
    page.frame_locator("iframe[title='The rehearsal']").locator("table").first.wait_for(
        timeout=_PATIENCE
    )
    path.click(".st-key-budget_people label", "different people")
    page.locator(".st-key-release_file input[type=file]").set_input_files(
        {"name": "clinic.csv", "mimeType": "text/csv", "buffer": table()}, timeout=_PATIENCE
    )
    path.actions += 1
    page.get_by_text("Only its header was read").wait_for(timeout=_PATIENCE)
    wait_idle(page, _PATIENCE)
    path.type(".st-key-budget_name input", "Clinic")
    path.type(".st-key-release_person input", "Ada")
    path.type(".st-key-budget_amount input", "4")
    path.click("[class*=st-key-budget_make] button", "Set ε = 4")
    path.type(".st-key-release_typed input", "Clinic")
    if page.locator(".st-key-release_read").count():
        path.click(".st-key-release_read label")
    path.click(".st-key-release_now button")
    page.get_by_text("This plan was released").wait_for(timeout=_PATIENCE)
    return path


@pytest.fixture
def desk(tmp_path) -> Iterator[tuple[str, Path]]:
    """A server with a ledger, a folder of releases and a temporary directory of its own."""
    (tmp_path / "tmp").mkdir()
    where = {
        "DPCI_LEDGER": str(tmp_path / "ledger.sqlite"),
        "DPCI_RELEASES": str(tmp_path / "releases"),
    }
    with running_server(**where, TMPDIR=str(tmp_path / "tmp")) as address:
        yield address, tmp_path


def fill(page, key: str, text: str) -> None:
    field = page.locator(f".st-key-{key} input").first
    field.fill(text)
    field.press("Tab")
    wait_idle(page)


def bring_file(page) -> None:
    """Bring a private file whose header fits."""
    page.locator(".st-key-release_file input[type=file]").set_input_files(
        {"name": "clinic.csv", "mimeType": "text/csv", "buffer": csv_bytes()}
    )
    page.get_by_text("Only its header was read").wait_for()
    wait_idle(page)


def set_budget(page) -> None:
    """Give the data set its budget by the button that names the typed amount."""
    button = page.get_by_role("button", name="for good: nobody can raise it")
    button.click()
    button.wait_for(state="detached")


def main_text(page) -> str:
    return page.locator("[data-testid=stMain]").inner_text()


def scrolls_sideways(page) -> bool:
    """Whether it still does after a while: what has just been drawn may find its width late."""
    for _ in range(10):
        if not page.evaluate(
            "() => { const m = document.querySelector('[data-testid=stMain]'); "
            "return m.scrollWidth > m.clientWidth + 1 }"
        ):
            return False
        page.wait_for_timeout(500)
    return True


def test_an_answer_becomes_the_setting_and_survives_a_reload(open_page):
    page = open_page(PLAN)
    wait_chart(page, "chart_plan_map")
    page.locator(".st-key-use_design button").click()
    page.get_by_role("heading", name="Approve the plan").wait_for()
    wait_idle(page)
    page.locator(".st-key-step_choose button").click()
    page.locator(".st-key-find").get_by_text("Precision").click()
    page.wait_for_function(
        "() => (document.querySelector('.st-key-total_number input')?.value ?? '1') !== '1'"
    )
    wait_idle(page)
    shown = page.locator(".st-key-total_number input").input_value()
    assert float(shown) != 1.0
    page.reload()
    page.wait_for_function(
        "v => document.querySelector('.st-key-total_number input')?.value === v",
        arg=shown,
    )
    page.get_by_text("coefficients can be reported").first.wait_for()


def test_a_header_is_read_in_the_browser_and_nothing_below_it_leaves_it(open_page):
    page = open_page("/plan")
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda f: sent.append(str(f))))
    page.reload()
    page.get_by_text("Number of records (public)").first.wait_for()
    wait_idle(page)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.locator(".st-key-describe_header input[type=file]").set_input_files(
        {"name": "p.csv", "mimeType": "text/csv", "buffer": b"age,sex,ill\n41,Xanthippe-4711,yes\n"}
    )
    page.locator(".st-key-describe_target_pick").get_by_text("ill").wait_for()
    wait_idle(page)
    assert any("age,sex,ill" in frame for frame in sent)
    assert not any("Xanthippe" in frame for frame in sent)
    assert not any("upload" in url for url in requests)


def test_the_door_for_a_private_table_and_the_whole_path_to_a_record(desk, open_page):
    address, place = desk
    other = {"schema_hash": "0" * 64, "unit": "one patient", "person": "Bob"}
    Ledger(place / "ledger.sqlite").create_dataset("Other", cap=Cap.pure(3), **other)
    done = walk(open_page("/", at=address), address)
    assert done.actions <= MOST_ACTIONS
    (charge,) = Ledger(place / "ledger.sqlite", read_only=True).history()
    assert charge.state == "done"
    assert "This plan was released" in main_text(done.page)
    assert done.page.locator("[data-testid=stException]").count() == 0
    done.page.set_viewport_size({"width": 390, "height": 844})
    wait_idle(done.page)
    assert not scrolls_sideways(done.page)


def test_one_release_whatever_is_clicked_its_ledger_and_its_report(
    desk, open_page, browser, subtests
):
    address, place = desk
    with subtests.test("one release, whatever is clicked"):
        check_one_release(address, place, open_page)
    with subtests.test("the ledger page tells and verifies it"):
        check_ledger(open_page("/ledger", at=address, width=390, theme="dark"))
    with subtests.test("the report stands alone"):
        check_report(place, browser)


def check_one_release(address, place, open_page):
    link = "/release?" + urlencode(approved_link())
    page = open_page(link, at=address)
    page.get_by_role("button", name="Set this budget").wait_for()
    bring_file(page)
    fill(page, "budget_name", "Clinic")
    fill(page, "release_person", "Ada")
    fill(page, "budget_amount", "3")
    set_budget(page)
    page.get_by_text("Only its header was read").wait_for()  # the same file, brought once
    second = open_page(link, at=address)
    bring_file(second)
    for tab in (page, second):
        fill(tab, "release_person", "Ada")
        fill(tab, "release_typed", "Clinic")
    page.locator(".st-key-release_now button").dblclick()
    page.get_by_text("This plan was released").wait_for()
    page.wait_for_function(  # not the end of the report, where the button had been
        "() => [...document.querySelectorAll('h2')].some(e => e.innerText === '3 · The release'"
        " && e.getBoundingClientRect().top >= 50 && e.getBoundingClientRect().top < 300)"
    )
    second.locator(".st-key-release_now button").click()
    second.get_by_text("This plan was released").wait_for()
    page.reload()
    page.get_by_text("This plan was released").wait_for()
    (charge,) = Ledger(place / "ledger.sqlite", read_only=True).history()
    assert charge.state == "done"
    assert len(list((place / "releases").iterdir())) == 1
    assert [p for p in (place / "tmp").rglob("*") if p.is_file()] == []
    for tab in (page, second):
        assert tab.locator("[data-testid=stException]").count() == 0


def check_ledger(page):
    page.get_by_text("1 charge: 1 released.").wait_for()
    page.get_by_role("button", name="Check every entry").click()
    page.get_by_text("All entries (4) are as they were written").wait_for()
    assert not scrolls_sideways(page)
    assert "Clinic" in main_text(page)


def check_report(place, browser):
    (report,) = (place / "releases").rglob("report.html")
    page = browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    page.locator("details summary").first.click()
    assert "Clinic" in page.inner_text("body")
    assert page.locator("svg").count() >= 1
    assert requests == [report.as_uri()]
    page.close()


@pytest.mark.parametrize("pause", [250, 600])
def test_a_slow_double_click_answers_one_row(desk, open_page, pause):
    """The row that comes next must not move under the pointer."""
    address, place = desk
    ledger = Ledger(place / "ledger.sqlite")
    what = {"schema_hash": "0" * 64, "person": "Ada"}
    ledger.create_dataset(
        "Clinic", cap=Cap.pure(3), unit="one patient", needs_approval=True, **what
    )
    for number in range(4):
        ledger.propose(
            "Clinic",
            cost=Cost(definition="pure", amount="0.5"),
            purpose="A plan",
            plan_hash="0" * 64,
            request_id=f"r{number}",
            **what,
        )
    page = open_page("/ledger", at=address)
    fill(page, "ledger_person", "Bob")
    for number in (2, 3):
        button = page.locator(f".st-key-ledger_withdraw_{number} button")
        button.scroll_into_view_if_needed()
        box = button.bounding_box()
        place_of = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.click(*place_of)
        page.wait_for_timeout(pause)
        page.mouse.click(*place_of)
        page.get_by_text(f"Entry {number} was withdrawn by Bob").wait_for()
        wait_idle(page)
    states = [one.state for one in ledger.proposals()]
    assert states == ["withdrawn", "withdrawn", "proposed", "proposed"]
