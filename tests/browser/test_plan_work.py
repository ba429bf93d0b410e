"""Slow answers of Plan in a real browser: stopped, computed after all, and those of the last of
many quick moves.
"""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from dpci_core import needed_budget
from tests.browser.driver import press, wait_chart, wait_idle
from tests.ui.test_pages import PAPER_TERMS
from ui.session.case import make_case
from ui.session.compute import PUBLIC, TableSource
from ui.session.settings import Settings

pytestmark = pytest.mark.browser


def shown_budget(page) -> str:
    """The budget on its card, once it is there and the page is at rest."""
    wait_idle(page)
    return page.locator("[data-testid=stMain] h2").first.inner_text()


CONTROLS = """() => [document.querySelector('.st-key-n_slider input[type=range]').ariaValueText.replaceAll(',', ''),
                   document.querySelector('.st-key-n_number input').value]"""
"""The number of records on its slider and in its field."""


def settled_n(page) -> int:
    """The number of records, once moves are no longer on their way: the page rests between two of
    them.
    """
    seen: list[str] = []
    for _ in range(60):
        wait_idle(page)
        now = page.evaluate(CONTROLS)
        if now == seen and len(set(now)) == 1:
            return int(now[0])
        seen = now
        page.wait_for_timeout(2_000)
    raise AssertionError(f"Still moving at n = {seen}.")


def is_answered(page, n: int, answer: str) -> bool:
    """Wait for this budget on its card; False if a move that was still on its way has changed n."""
    found = page.wait_for_function(
        """([n, answer]) => {
             if (document.querySelector('.st-key-n_number input').value !== n) return 'moved'
             return document.querySelector('[data-testid=stMain] h2')?.innerText.trim() === answer && 'answered' }""",
        arg=[str(n), answer],
    )
    return found.json_value() == "answered"


def test_the_map_is_stopped_and_computed_after_all(open_page):
    page = open_page(f"/plan?{urlencode(PAPER_TERMS | {'target': 'unpenalised'})}&d=36&level=0.9")
    page.get_by_text(re.compile("Computing the map")).wait_for()
    assert shown_budget(page)  # the answer stays, and does not wait for the map
    page.get_by_role("button", name="Stop", exact=True).click()
    page.get_by_text("The computation was stopped").wait_for()
    wait_idle(page)
    assert page.locator(".st-key-chart_plan_map").count() == 0
    page.get_by_role("button", name="Compute after all").click()
    wait_chart(page, "chart_plan_map")
    assert page.get_by_role("button", name="Stop", exact=True).count() == 0


def test_after_many_quick_moves_the_answer_is_that_of_the_last(open_page):
    page = open_page(f"/plan?{urlencode(PAPER_TERMS)}&d=20")
    wait_chart(page, "chart_plan_map")
    before = shown_budget(page)
    page.locator(".st-key-n_slider").wait_for()
    for _ in range(6):
        press(page, "n_slider")
    for _ in range(6):
        n = settled_n(page)
        case = make_case(Settings(d=20, n=n), TableSource(PUBLIC))
        answer = needed_budget(
            case.moments, design=replace(case.design, n_records=n), target=case.target
        )
        if is_answered(page, n, f"{float(answer.total):.4g}"):
            break
    assert n > 30_000
    assert shown_budget(page) == f"{float(answer.total):.4g}" != before
    page.get_by_text(f"{n:,} records").first.wait_for()


BROKEN = """() => [...document.querySelectorAll('[class*=st-key-compact_] strong')].flatMap((name) => {
  const text = name.firstChild
  return [...text.data.matchAll(/\\S+/g)].filter((word) => {
    const range = document.createRange()
    range.setStart(text, word.index)
    range.setEnd(text, word.index + word[0].length)
    return range.getClientRects().length > 1
  }).map(([word]) => word)
})"""
"""Words in the names of the cards that go on in the next line."""


def test_the_names_on_the_cards_break_between_words_alone(open_page):
    page = open_page("/plan?step=choose", width=900)
    page.locator(".st-key-compact_precision").wait_for()
    wait_idle(page)
    for width in (1280, 900, 700, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(f"() => !({BROKEN})().length")
