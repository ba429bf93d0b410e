"""Back and forward: the page before, with the settings as they are, and an address that says the
same.
"""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import TimeoutError

from tests.browser.driver import (
    APP,
    chart,
    go,
    press,
    type_number,
    wait_chart,
    wait_idle,
    wait_meta,
)
from ui.session.settings import from_query

pytestmark = pytest.mark.browser
PLAN = "Budget, records, precision"
"""The heading of the page Plan for whoever comes with settings; where the precision is what is found,
the budget has a slider there.
"""


EXPLORE = "What privacy costs"


def total_in_link(page) -> float:
    query = {k: v[0] for k, v in parse_qs(urlsplit(page.url).query).items()}
    settings, ignored = from_query(query)
    assert ignored == ()
    return float(settings.split.total)


def expect(page, title, total):
    """Wait for a page with this heading whose control, address and chart all show this total."""
    heading = re.compile(rf"^{title}\b")
    page.locator("h1").filter(has_text=heading).wait_for()
    control = "document.querySelector('.st-key-total_number input')?.value"
    try:
        page.wait_for_function(f"t => Number({control}) === t", arg=total)
    except TimeoutError:
        raise AssertionError(f"{page.evaluate(control)} at {page.url}, not {total}") from None
    wait_idle(page)
    assert total_in_link(page) == total
    assert page.locator("[data-testid=stException]").count() == 0


def length(page):
    return page.evaluate("() => window.history.length")


def test_back_and_forward_go_between_pages_and_keep_the_settings(open_page):
    page = open_page("/evidence?evidence=lengths&find=precision")
    page.locator("h1").wait_for()
    wait_idle(page)
    begun = length(page)
    go(page, "Explore")
    wait_chart(page)
    for value in ("2", "3", "4"):
        type_number(page, "total_number", value)
        wait_meta(page, "chart_intervals", "total", float(value))
    assert length(page) == begun + 1
    go(page, "Plan")
    expect(page, PLAN, 4.0)
    type_number(page, "total_number", "5")
    expect(page, PLAN, 5.0)
    assert length(page) == begun + 2
    page.go_back()
    expect(page, EXPLORE, 5.0)
    wait_meta(page, "chart_intervals", "total", 5.0)
    type_number(page, "total_number", "6")
    wait_meta(page, "chart_intervals", "total", 6.0)
    page.go_back()
    page.locator("h1").get_by_text("Evidence").wait_for()
    wait_idle(page)
    assert total_in_link(page) == 6.0
    page.go_forward()
    expect(page, EXPLORE, 6.0)
    page.go_forward()
    expect(page, PLAN, 6.0)
    assert length(page) == begun + 2


def test_a_move_before_any_component_has_come_is_no_entry(open_page):
    """What keeps the history is there from the beginning, however slow the rest arrives."""
    page = open_page("/about")
    page.locator("h1").wait_for()
    held = []

    def hold(route):
        held.append(route)

    page.route(re.compile(r"/static/js/.*BidiComponent"), hold)
    page.goto(page.url.replace("/about", "/plan?n=5000&find=precision"))
    page.locator("h1").get_by_text(PLAN).wait_for()
    begun = length(page)
    for value, share in (("2", "1"), ("3", "1.5")):
        type_number(page, "total_number", value)
        page.wait_for_url(f"**split={share}~*")
    assert length(page) == begun
    assert held
    for route in held:
        route.continue_()


def test_back_while_the_page_is_still_computing_ends_on_the_page_before(open_page):
    page = open_page("/explore?find=precision")
    wait_chart(page, "chart_intervals")
    type_number(page, "total_number", "2")
    wait_meta(page, "chart_intervals", "total", 2.0)
    wait_idle(page)
    go(page, "Plan")
    expect(page, PLAN, 2.0)
    type_number(page, "total_number", "2.5")
    page.wait_for_function(  # a Back before the server answers is lost in Streamlit itself
        "app => document.querySelector(app).dataset.testScriptState === 'running'"
        " || location.search.includes('2.5')",
        arg=APP,
    )
    page.go_back()
    expect(page, EXPLORE, 2.5)
    wait_meta(page, "chart_intervals", "total", 2.5)


def test_back_on_learn_goes_through_its_screens_only(open_page):
    page = open_page("/explore?n=5000")
    wait_chart(page)
    go(page, "Learn")
    page.get_by_text("Screen 1 of 15").wait_for()
    page.wait_for_url("**screen=*")
    entries = length(page)
    page.get_by_role("button", name="Show it without answering").click()
    wait_chart(page, "chart_learn_promise")
    press(page, "learn_promise_slider", "Home")
    page.wait_for_url("**value=0.5*")
    assert length(page) == entries
    page.get_by_role("button", name="Next").click()
    page.get_by_text("Screen 2 of 15").wait_for()
    wait_idle(page)
    assert length(page) == entries + 1
    page.go_back()
    page.get_by_text("Screen 1 of 15").wait_for()
    wait_chart(page, "chart_learn_promise")
    assert chart(page, "chart_learn_promise")["meta"]["value"] == 0.5
    page.go_back()
    wait_chart(page)
    assert chart(page, "chart_intervals")["meta"]["n"] == 5000
    assert "n=5000" in page.url
    assert "screen" not in page.url


def test_back_on_plan_goes_one_step(open_page):
    page = open_page("/explore?n=5000&find=precision")
    wait_chart(page)
    go(page, "Plan")
    expect(page, PLAN, 1.0)
    page.locator(".st-key-step_approve button").click()
    page.get_by_role("heading", name="Approve the plan").wait_for()
    wait_idle(page)
    page.go_back()
    expect(page, PLAN, 1.0)
    page.go_forward()
    page.get_by_role("heading", name="Approve the plan").wait_for()
    wait_idle(page)
    page.go_back()
    expect(page, PLAN, 1.0)
    page.go_back()
    expect(page, EXPLORE, 1.0)
