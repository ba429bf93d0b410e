"""What a visitor sees before Streamlit has come, and that it goes when the page is there."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driver import wait_chart

pytestmark = pytest.mark.browser
CODE = re.compile(r"/static/js/index\.")


@pytest.fixture
def held(open_page):
    """A page and what its own code waits for."""
    page, routes = open_page("/about"), []
    page.locator("h1").wait_for()
    page.route(CODE, lambda route: routes.append(route))
    yield page, routes
    for route in routes:
        route.continue_()


def test_the_first_view_is_there_at_once_and_goes(held):
    page, routes = held
    page.goto(page.url.replace("/about", "/"), wait_until="commit")
    first = page.locator("#first")
    expect(first).to_be_visible()
    expect(first).to_contain_text("under differential privacy, with noise that limits")
    doors = [link.get_attribute("href") for link in first.get_by_role("link").all()]
    assert doors == [*["./plan?step=describe&how=type"] * 2, "./learn"]
    for route in routes:
        route.continue_()
    routes.clear()
    wait_chart(page)
    expect(first).to_be_hidden()


def test_it_covers_no_other_page_and_no_message(held):
    page, _ = held
    page.goto(page.url, wait_until="commit")
    expect(page.locator("#first")).to_be_hidden()
    page.goto(page.url.replace("/about", "/explore"), wait_until="commit")
    expect(page.locator("#first")).to_be_visible()
    page.evaluate(
        """() => document.getElementById('root').innerHTML =
            '<div data-testid=stMainBlockContainer><div data-testid=stAlert>No login</div></div>'"""
    )
    expect(page.locator("#first")).to_be_hidden()


def test_a_door_leads_where_the_button_does(held):
    page, routes = held
    page.goto(page.url.replace("/about", "/"), wait_until="commit")
    page.unroute(CODE)
    page.locator("#first").get_by_text("Publish my table").click()
    page.locator("h1").get_by_text("Describe").wait_for()
    routes.clear()
