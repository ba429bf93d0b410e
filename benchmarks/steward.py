"""The path of a data steward in a browser: from the front page to a released record, counted.

A click on anything is one, and so is a typed field; a file that is chosen is one. The columns are
typed into one field, a line each: counted once as the field that it is, and once more with every
line as one.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from playwright.sync_api import Page

from tests.browser.driver import wait_idle

MOST_ACTIONS, MOST_SECONDS = 20, 180.0
N = 8_000
LINES = """age: 18 to 100 years, typical 60, spread 16, per 10
sex: F, M
smoker: no, yes
systolic_bp: 60 to 260 mmHg, typical 130, spread 18, per 10
diabetes: no, yes"""
_PATIENCE = 170_000


@dataclass
class Walk:
    """What was done so far.

    lines: beyond the first, of what was typed into one field.
    """

    page: Page
    began: float
    clicks: int = 0
    typed: int = 0
    lines: int = 0
    seconds: float = 0.0

    @property
    def actions(self) -> int:
        """Clicks and typed fields together."""
        return self.clicks + self.typed

    def click(self, selector: str, text: str = "") -> None:
        """Click on something, and wait until the page has answered."""
        found = self.page.locator(selector)
        (found.filter(has_text=text) if text else found).last.click(timeout=_PATIENCE)
        self.clicks += 1
        wait_idle(self.page, _PATIENCE)

    def type(self, selector: str, text: str) -> None:
        """Type into a field and leave it."""
        field = self.page.locator(selector).first
        field.fill(text, timeout=_PATIENCE)
        field.press("Tab")
        self.typed += 1
        self.lines += text.count("\n")
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
            "sex": np.where(rng.random(n) < 0.5, "F", "M"),
            "smoker": np.where(smoker, "yes", "no"),
            "systolic_bp": pressure,
            "diabetes": np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no"),
        }
    )
    return frame.to_csv(index=False).encode()


def walk(page: Page, address: str) -> Walk:
    """From the front page to a released record."""
    path = Walk(page, time.perf_counter())
    page.goto(address)
    path.click(".st-key-door_private button")
    path.type(".st-key-describe_n input", str(N))
    path.type(".st-key-describe_text textarea", LINES)
    path.click("button", "Add these columns")
    path.click(".st-key-describe_target_pick label", "diabetes")
    path.click(".st-key-describe_continue button")
    path.click(".st-key-goal label", "Detect")
    path.click(".st-key-goal_on label", "systolic_bp")
    path.type(".st-key-goal_zero_systolic_bp input", "1.2")
    path.click(".st-key-goal_continue button")
    path.click(".st-key-use_least button")
    path.type(".st-key-approve_person input", "Ada")
    path.click(".st-key-approve button")
    path.type(".st-key-budget_name input", "Clinic")
    path.type(".st-key-budget_amount input", "1")
    path.click("[class*=st-key-budget_meant] label")
    path.click(".st-key-budget_make button")
    page.locator(".st-key-release_file input[type=file]").set_input_files(
        {"name": "clinic.csv", "mimeType": "text/csv", "buffer": table()}, timeout=_PATIENCE
    )
    path.clicks += 1
    page.get_by_text("Only its header was read").wait_for(timeout=_PATIENCE)
    wait_idle(page, _PATIENCE)
    path.type(".st-key-release_typed input", "Clinic")
    if page.locator(".st-key-release_read").count():
        path.click(".st-key-release_read label")
    path.click(".st-key-release_now button")
    page.get_by_text("This plan was released").wait_for(timeout=_PATIENCE)
    path.seconds = time.perf_counter() - path.began
    return path
