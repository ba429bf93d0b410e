"""Walks through what no link opens: each pauses, with the name of what is on the screen, where
something new is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from urllib.parse import urlencode

from playwright.sync_api import Page

from tests.browser.driver import press, wait_chart, wait_idle, wait_meta
from tests.browser.test_explore import bring_file
from tests.browser.test_steward import fill, set_budget
from tests.ui.release.test_page import SCHEMA, TABLE, approved_link, csv_bytes
from ui.controls.declare import example
from ui.learn.path import SCREENS
from ui.session.compute import DECLARED, packed_table

Tour = Callable[[Page, str], Iterator[str]]
"""A page and the server's address in, the names of the stops out; the page waits at each."""


FITS = """(key) => {
  const none = { top: 0, bottom: 0, height: 0 }  // what is drawn anew this moment fits nowhere yet
  const box = (at) => document.querySelector(at)?.getBoundingClientRect() ?? none
  const steps = box('[data-testid=stLayoutWrapper]:has(> .st-key-learn_steps)')
  const parts = [
    '.st-key-learn_seen [data-testid=stAlert]',
    `.st-key-learn_${key}_slider input[type=range]`,
    `.st-key-chart_learn_${key} .finding`,
    `.st-key-chart_learn_${key} .canvas`,
    `.st-key-chart_learn_${key} .foot`,
    ...(innerWidth > 640 ? ['h1'] : []),
  ].map(box)
  return steps.bottom <= innerHeight && parts.every(
    (part) => part.height > 10 && part.top >= 60 && part.bottom <= steps.top + 1)
}"""
"""Whether answer, slider, finding and chart with its caption stand between the head of the page and
Next, on a wide page also the title.
"""
FITS_BUT_CAPTION = FITS.replace("    `.st-key-chart_learn_${key} .foot`,\n", "")
SMALL_PHONE = {"width": 390, "height": 667}


def learn(page: Page, address: str) -> Iterator[str]:
    """Every screen with its longest reply, which leaves all on a small phone at once."""
    wide = page.viewport_size
    page.set_viewport_size(SMALL_PHONE)
    page.goto(f"{address}/learn?screen={SCREENS[0].key}")
    for number, screen in enumerate(SCREENS):
        page.get_by_text(f"Screen {number + 1} of {len(SCREENS)}").wait_for()
        wait_idle(page)  # an answer given while the screen is still being drawn may be lost
        lengths = [
            len(choice.reply) + 11 * (not choice.is_right) for choice in screen.question.choices
        ]
        answers = page.locator(f".st-key-learn_{screen.key}_answer label:has(input)")
        answers.nth(lengths.index(max(lengths))).click()
        wait_chart(page, f"chart_learn_{screen.key}")
        page.wait_for_function(FITS, arg=screen.key)
        page.set_viewport_size(wide)
        wait_idle(page)
        yield screen.key
        if screen is not SCREENS[-1]:
            page.set_viewport_size(SMALL_PHONE)
            page.locator(".st-key-learn_next button").click()


def explore(page: Page, address: str) -> Iterator[str]:
    """Two settings side by side, then a file of one's own."""
    page.goto(f"{address}/explore")
    wait_chart(page, "chart_intervals")
    page.get_by_role("button", name="+ Compare").click()
    page.get_by_role("button", name="1 of 3 kept").wait_for()
    wait_idle(page)
    press(page, "total_slider")
    wait_meta(page, "chart_intervals", "total", 1.1)
    wait_idle(page)
    page.get_by_role("button", name="+ Compare").click()
    page.get_by_role("button", name="2 of 3 kept").click()
    page.locator(".st-key-pin_use_1").wait_for()
    wait_idle(page)
    yield "pins"
    page.locator(".st-key-outcome").get_by_text("A number").click()
    page.get_by_text("differences in mmHg").wait_for()
    wait_idle(page)
    yield "number"
    page.locator(".st-key-outcome").get_by_text("Yes or no").click()
    page.get_by_text("odds ratio, for").first.wait_for()
    wait_idle(page)
    bring_file(page)
    yield "upload"


def plan(page: Page, address: str) -> Iterator[str]:
    """The design by hand of a table that somebody describes."""
    link = {"dataset": DECLARED, "declared": packed_table(example()), "d": 5}
    page.goto(f"{address}/plan?{urlencode(link)}")
    wait_chart(page, "chart_plan_map")
    wait_idle(page)
    yield "described"


def steps(page: Page, address: str) -> Iterator[str]:
    """From a described table to a plan that somebody approves; links open the steps before."""
    link = {"dataset": DECLARED, "declared": packed_table(example()), "step": "describe"}
    page.goto(f"{address}/plan?{urlencode(link)}")
    page.locator(".st-key-describe_continue button").click(timeout=60_000)
    page.locator(".st-key-goal_continue").wait_for()
    wait_idle(page)
    page.locator(".st-key-goal_continue button").click()
    use = page.locator(".st-key-use_design button:not([disabled])")
    use.click(timeout=240_000)
    page.locator(".st-key-approve_person").wait_for()
    wait_idle(page)
    yield "approve"


def release(page: Page, address: str) -> Iterator[str]:
    """A private file, and its release: of a plan that no link of the other tests has."""
    page.goto(f"{address}/release?{urlencode(approved_link(c='0.02'))}")
    page.locator(".st-key-release_file input[type=file]").set_input_files(
        {"name": "clinic.csv", "mimeType": "text/csv", "buffer": csv_bytes()}
    )
    page.get_by_text("Only its header was read").wait_for()
    fill(page, "release_person", "Ada")
    fill(page, "release_typed", "Clinic")
    yield "file"
    page.locator(".st-key-release_now button").click()
    page.get_by_text("This plan was released").wait_for()
    page.frame_locator("iframe[title='The report']").locator("svg").wait_for()
    yield "released"


def approval(page: Page, address: str) -> Iterator[str]:
    """A data set whose releases need another person, up to the form that one opens."""
    table = replace(TABLE, schema=replace(SCHEMA, features=SCHEMA.features[:1]))
    link = approved_link(declared=packed_table(table), d="1")
    page.goto(f"{address}/release?{urlencode(link)}")
    page.locator(".st-key-budget_people").get_by_text("No, these are different people").click()
    page.locator(".st-key-budget_name").wait_for()
    fill(page, "budget_name", "Ward")
    fill(page, "release_person", "Ada")
    fill(page, "budget_amount", "3")
    page.locator(".st-key-budget_approval").get_by_text("Another person").click()
    wait_idle(page)
    yield "budget"
    set_budget(page)
    page.locator(".st-key-release_propose").wait_for()
    yield "propose"
    page.locator(".st-key-release_propose button").click()
    page.locator(".st-key-release_withdraw").wait_for()
    yield "proposed"
    page.get_by_text("To the page Ledger").click()
    fill(page, "ledger_person", "Bob")
    yield "waiting"
    page.get_by_role("button", name="Approve", exact=True).click()
    page.get_by_text("is approved by Bob").first.wait_for()
    page.go_back()
    page.locator(".st-key-release_file").wait_for()
    yield "approved"


TOURS: dict[str, Tour] = {
    "learn": learn,
    "explore": explore,
    "plan": plan,
    "steps": steps,
    "release": release,
    "approval": approval,
}
