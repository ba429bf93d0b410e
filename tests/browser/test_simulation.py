"""A simulation in a real browser: start, watch, cancel, start again, change page, reload; two people at
once.
"""

from __future__ import annotations

import json
import re
from urllib.parse import urlencode

import pytest

from tests.browser.driver import chart, go, wait_chart, wait_idle
from tests.ui.test_pages import PAPER_TERMS

pytestmark = pytest.mark.browser

START, CANCEL = "Start the simulation", "Cancel"


def open_simulation(open_page, query="d=4&n=3000"):
    page = open_page(f"/evidence?{urlencode(PAPER_TERMS)}&{query}")
    page.get_by_role("button", name=START).wait_for()
    wait_idle(page)
    return page


def start(page, effort=None):
    if effort:
        page.get_by_text(effort, exact=True).click()
        wait_idle(page)
    page.get_by_role("button", name=START).click()


def done_so_far(page):
    words = page.locator("[data-testid=stProgress]").inner_text(timeout=120_000)
    found = re.search(r"([\d,]+) of [\d,]+ replicates", words)
    return int(found.group(1).replace(",", "")) if found else 0


LONG = "d=30&n=200000&losses=logistic~huber_svm"
"""Settings whose simulation takes long enough to be watched."""


def test_start_watch_cancel_start_again(open_page):
    page = open_simulation(open_page, LONG)
    start(page, "As in the paper")
    page.get_by_text("coverage so far").first.wait_for(timeout=120_000)
    first = done_so_far(page)
    page.wait_for_function(
        """n => {const t = document.querySelector('[data-testid=stProgress]').innerText.replace(/,/g, '');
                 const m = t.match(/(\\d+) of/); return m && Number(m[1]) > n}""",
        arg=first,
        timeout=120_000,
    )
    assert page.get_by_role("button", name=START).is_disabled()
    page.get_by_role("button", name=CANCEL, exact=True).click()
    page.get_by_text("Cancelled after").wait_for()
    wait_chart(page, "chart_simulation")
    kept = chart(page, "chart_simulation")["meta"]["k"]
    assert 0 < kept <= 1000
    start(page, "Quick")
    page.get_by_role("button", name=CANCEL, exact=True).wait_for()
    page.get_by_role("button", name=CANCEL, exact=True).click()
    page.get_by_text("Cancelled after").wait_for()


def test_it_runs_on_while_the_page_is_left_and_a_reload_finds_it(open_page):
    page = open_simulation(open_page)
    start(page)
    go(page, "Explore")
    wait_chart(page)
    go(page, "Evidence")
    wait_chart(page, "chart_simulation")
    meta = chart(page, "chart_simulation")["meta"]
    assert meta["k"] == 200
    wait_idle(page)
    assert "job=" in page.url
    page.reload()
    wait_chart(page, "chart_simulation")
    assert chart(page, "chart_simulation")["meta"] == meta
    assert (
        len([t for t in chart(page, "chart_simulated_sweep")["data"] if "simulated" in t["name"]])
        == 4
    )


def test_two_people_wait_for_each_other(open_page):
    mine, other = open_simulation(open_page, LONG), open_simulation(open_page)
    start(mine, "As in the paper")
    mine.get_by_role("button", name=CANCEL, exact=True).wait_for()
    start(other)
    other.get_by_text("Waiting: 1 before this one").wait_for()
    mine.get_by_role("button", name=CANCEL, exact=True).click()
    wait_chart(other, "chart_simulation")
    assert chart(other, "chart_simulation")["meta"]["k"] == 200


def test_a_result_downloads_and_opens_in_another_session(open_page, tmp_path):
    page = open_simulation(open_page)
    start(page)
    wait_chart(page, "chart_simulation")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as JSON").click()
    file = tmp_path / "result.json"
    waiting.value.save_as(file)
    assert json.loads(file.read_text())["result"]["versions"]["numba"]
    fresh = open_simulation(open_page, "n=9999")
    fresh.get_by_text("Open a result you downloaded").click()
    fresh.locator("input[type=file]").set_input_files(str(file))
    fresh.get_by_role("button", name="Show it").click()
    wait_chart(fresh, "chart_simulation")
    assert chart(fresh, "chart_simulation")["data"] == chart(page, "chart_simulation")["data"]


def test_the_chart_of_the_attack_stands_beside_its_words(open_page):
    page = open_page("/evidence?evidence=attack", width=1280, height=720)
    wait_chart(page, "chart_attack")
    chart = page.locator(".st-key-chart_attack").bounding_box()
    assert chart["y"] + chart["height"] <= 720
