"""A reload loses nothing, and the focus stays with whoever types."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.driver import wait_idle

pytestmark = pytest.mark.browser


def test_a_card_is_filled_in_by_keys_alone_and_its_field_keeps_the_focus(open_page):
    """Also while the page answers, and while the line of the card says more and more."""
    page = open_page("/plan")
    page.locator(".st-key-describe_text textarea").fill(", ".join(f"x{k}" for k in range(30)))
    page.get_by_role("button", name="Add these columns").click()
    page.locator(".st-key-card_29").wait_for()
    wait_idle(page)
    assert page.locator("[aria-expanded=true]", has_text="x0").count() == 1
    page.locator(".st-key-card_0_lowest input").focus()
    for typed in ("18", "100", "years", "10", "60", "16"):
        page.keyboard.type(typed)
        page.keyboard.press("Tab")
    line = page.locator(".st-key-card_0_line button")
    line.get_by_text("number, 18 to 100 years, effects per 10, typical 60, spread 16").wait_for()
    wait_idle(page)
    page.locator(".st-key-card_0_next button").focus()
    page.keyboard.press("Enter")
    page.locator(".st-key-card_1_lowest").wait_for()
    wait_idle(page)
    assert page.locator("[aria-expanded=true]").all_inner_texts()[0].count("x1") == 1
    assert page.evaluate("() => document.activeElement.matches('.st-key-card_1')")
    assert page.locator("[class*=_lowest]").count() == 1  # the others are not on the page
    page.reload()
    line.get_by_text("number, 18 to 100 years, effects per 10, typical 60, spread 16").wait_for()


def test_a_comma_in_a_card_is_refused_as_it_was_typed_and_stays_after_a_reload(open_page):
    """A browser leaves the comma out of a field of numbers: 0,5 was a bound of 5."""
    page = open_page("/plan")
    page.locator(".st-key-describe_text textarea").fill("dose: 0 to 10\nill: no, yes")
    page.get_by_role("button", name="Add these columns").click()
    page.locator(".st-key-card_0_line button").click()
    field = page.get_by_label("Lowest possible")
    field.click()
    field.press("Control+a")
    page.keyboard.type("0,5")
    field.press("Enter")
    said = page.locator(".st-key-card_0").get_by_text("Type a number with a decimal point")
    said.wait_for()
    wait_idle(page)
    assert field.input_value() == "0,5"
    page.reload()
    said.wait_for()
    expect(field).to_have_value("0,5")
    field.fill("0.5")
    field.press("Enter")
    page.locator(".st-key-card_0_line").get_by_text("number, 0.5 to 10").wait_for()


def test_a_problem_comes_into_view_and_into_focus_at_its_button(open_page):
    page = open_page("/plan", height=600)
    page.locator(".st-key-describe_continue button").click()
    told = page.locator(".st-key-told_here")
    told.get_by_text("Before you can go on").wait_for()
    wait_idle(page)
    assert told.evaluate("e => document.activeElement === e")
    box = told.bounding_box()
    assert 0 < box["y"] < box["y"] + box["height"] < 600
