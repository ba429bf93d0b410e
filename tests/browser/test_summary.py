"""The summary of a plan prints on one A4 page."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser

from dpci_core import ZCDP, Design, HuberSVM, Plan, PublicTable, Target
from dpci_core.plan import to_html
from tests.plan.test_script import PLANS

pytestmark = pytest.mark.browser


LONG = Plan(
    title="A long title that says what is studied and by whom " * 3,
    source=PublicTable(key="census", n_rows=1_000),
    design=Design(
        loss=HuberSVM(h=1.0),
        mechanism="objective",
        budget=ZCDP(model="0.00002", hessian="0.00001", covariance="0.00001"),
        regularization=0.1,
        calibration="sharp",
        n_records=2_000,
    ),
    delta="1e-6",
    goal=Target(coefficient=9, excludes_zero_at=0.5, probability=0.8),
    notes="Notes that go on and on, as notes do. " * 100,
)
"""As much as can stand there: many coefficients, long words, warnings, a status."""
ALL = PLANS | {"long": LONG}


@pytest.mark.parametrize("name", ALL)
def test_a_summary_prints_on_one_page(browser: Browser, name: str) -> None:
    page = browser.new_page()
    noise: list[str] = []
    page.on("console", lambda message: noise.append(message.text))
    page.set_content(to_html(ALL[name], ALL[name].numbers()))
    printed = page.pdf(prefer_css_page_size=True)
    page.close()
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 1
    assert noise == []


def test_on_a_phone_no_word_of_the_split_is_broken(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 356, "height": 800})
    plan = PLANS["twin unpenalised"]
    page.set_content(to_html(plan, plan.numbers()))
    lines = """() => [...document.querySelectorAll('table tr > :first-child')].map(cell => {
      const words = document.createRange()
      words.selectNodeContents(cell)
      return [cell.textContent.split(' ').length, words.getClientRects().length] })"""
    rows = page.evaluate(lines)
    is_sideways = page.evaluate("document.documentElement.scrollWidth > 356")
    page.close()
    assert rows
    assert all(found <= words for words, found in rows)
    assert not is_sideways
