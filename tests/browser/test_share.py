"""A link is copied, also where the browser has no clipboard for the page; else it is selected."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import wait_idle

pytestmark = pytest.mark.browser
NO_CLIPBOARD = "delete Clipboard.prototype.writeText"
NO_COPY = f"{NO_CLIPBOARD}; document.execCommand = () => false"
PLACES = ("/learn?screen=promise", "/plan?step=choose&find=precision")


def shared(page: Page) -> str:
    """Open what is shared, and press Copy; the link."""
    page.locator("h1").first.wait_for()
    wait_idle(page)
    page.get_by_role("button", name="Share").click()
    link = page.locator(".st-key-share_link code")
    link.wait_for()
    page.get_by_role("button", name="Copy", exact=True).click()
    return link.inner_text()


@pytest.mark.parametrize(("place", "script"), [(PLACES[0], ""), (PLACES[1], NO_CLIPBOARD)])
def test_a_link_is_in_the_clipboard_after_a_click(open_page, place, script):
    page = open_page(place)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate(f"() => {{ {script} }}")
    link = shared(page)
    expect(page.locator(".st-key-share_link").get_by_role("status")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == link
    assert link.startswith(page.url.partition("?")[0])


def test_where_nothing_can_be_copied_the_link_is_selected_and_that_is_said(open_page):
    page = open_page(PLACES[0])
    page.evaluate(f"() => {{ {NO_COPY} }}")
    link = shared(page)
    told = page.locator(".st-key-share_link").get_by_role("status")
    expect(told).to_have_text("Selected: press Ctrl+C or ⌘C.")
    assert page.evaluate("String(getSelection())") == link
