"""First contact: clicks and seconds from the start page to three answers, read off the screen and
held to the core.

Plays somebody who sees the dashboard for the first time, starts it as `make run` does, and asks how
long intervals are at epsilon = 1, which split to use and how many records are needed. Nothing is
typed: the settings are those that the dashboard starts with.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, sync_playwright

from benchmarks import steward
from dpci_core import (
    Design,
    Logistic,
    Moments,
    PureDP,
    Target,
    best_split,
    datasets,
    fit_moments,
    forecast,
    needed_records,
)
from tests.browser.driver import BROWSER_ARGS, find_browser, running_server, wait_idle

MOST_CLICKS = 3
_PATIENCE = 120_000
"""Milliseconds until a newcomer gives up."""
Numbers = tuple[float, ...]
N, TARGET = 30_000, 0.5
"""Records and longest mean length that the dashboard starts with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What somebody wants to know, the way there from the start page, and the answer by the core
    alone.

    clicks: names of the buttons on the way.  read: takes the answer off the screen, once it is
    there.
    """

    words: str
    clicks: tuple[str, ...]
    read: Callable[[Page], Numbers]
    expected: Callable[[], Numbers]


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """The answer on the screen, the answer of the core, and the way to it."""

    shown: Numbers
    expected: Numbers
    clicks: int
    seconds: float

    @property
    def is_right(self) -> bool:
        """Whether the screen says what the core says, to the digits it shows (three, and whole
        numbers exactly).
        """
        return len(self.shown) == len(self.expected) and all(
            a == b if b == round(b) else abs(a / b - 1.0) <= 0.005
            for a, b in zip(self.shown, self.expected, strict=True)
        )


def ask(page: Page, address: str, question: Question) -> Found:
    """Open the start page, click to the answer and read it."""
    started = time.perf_counter()
    page.goto(address)
    for name in question.clicks:
        wait_idle(page)  # nobody clicks what is still being drawn
        button, link = (page.get_by_role(role, name=name) for role in ("button", "link"))
        radio = page.get_by_role("radio", name=name)
        button.or_(link).or_(radio).first.click(timeout=_PATIENCE)
    shown = question.read(page)
    took = time.perf_counter() - started
    return Found(
        shown=shown, expected=question.expected(), clicks=len(question.clicks), seconds=took
    )


# --- what stands on the screen --------------------------------------------------------------------


_READ = """([title, pattern]) => {
    const app = document.querySelector('[data-testid=stApp]'), main = document.querySelector('[data-testid=stMain]');
    const isIdle = app.dataset.testScriptState === 'notRunning';
    const isThere = isIdle && main.querySelector('h1')?.innerText.trim() === title;
    return isThere && new RegExp(pattern).test(main.innerText) ? main.innerText : null;
}"""  # noqa: E501 - JavaScript
"""The text of a page, in the moment when it is complete and holds what is looked for: a page that
is left for another may show the same words."""


def _numbers(page: Page, title: str, pattern: str) -> Numbers:
    """The numbers in the groups of every match on the page with this title, once it is complete."""
    text = page.wait_for_function(_READ, arg=[title, pattern], timeout=_PATIENCE).json_value()
    found = re.findall(pattern, text)
    return tuple(
        float(x.replace(",", ""))
        for match in found
        for x in (match if isinstance(match, tuple) else (match,))
    )


_EXPLORE = "Explore how long private confidence intervals become"
_CHOOSE = "Choose a budget"
_DOOR = "How many records, which split?"


def _lengths(page: Page) -> Numbers:
    return _numbers(page, _EXPLORE, r"(?:objective|output)\t([\d.,]+)\t")


def _shares(page: Page) -> Numbers:
    return _numbers(page, _CHOOSE, r"The best split: ([\d.]+) % / ([\d.]+) % / ([\d.]+) %")


def _records(page: Page) -> Numbers:
    return _numbers(page, _CHOOSE, r"Records needed\s+([\d,]+)")


# --- what the core says ---------------------------------------------------------------------------


def _moments() -> Moments:
    records = datasets.load("census", encoding="schema", features=10)
    return fit_moments(records.X, records.y, loss=Logistic(), regularization=0.001)


def _design(mechanism: str = "objective") -> Design:
    return Design(
        loss=Logistic(),
        mechanism=mechanism,  # type: ignore[arg-type]
        budget=PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        regularization=0.001,
        calibration="sharp",
    )


def _expected_lengths() -> Numbers:
    moments = _moments()
    return tuple(
        forecast(moments, design=_design(way), n_records=N).ci_length_mean
        for way in ("objective", "output")
    )


def _expected_shares() -> Numbers:
    return tuple(
        100.0 * share for share in best_split(_moments(), design=_design(), n_records=N).shares
    )


def _expected_records() -> Numbers:
    return (float(needed_records(_moments(), design=_design(), target=Target(TARGET)).n_records),)


QUESTIONS = (
    Question(
        words="How long will my intervals be at ε = 1?",
        clicks=(),
        read=_lengths,
        expected=_expected_lengths,
    ),
    Question(
        words="Which split should I use?",
        clicks=(_DOOR, "Split of the budget"),
        read=_shares,
        expected=_expected_shares,
    ),
    Question(
        words="How many records do I need?",
        clicks=(_DOOR,),
        read=_records,
        expected=_expected_records,
    ),
)


def main() -> None:
    """Print one table; exit with 1 if an answer is wrong or too far away."""
    path = find_browser()
    if path is None:
        sys.exit("No Chromium found: set DPCI_BROWSER, or put chromium on PATH.")
    begun = time.perf_counter()
    with running_server() as address, sync_playwright() as play:
        print(f"The server is up after {time.perf_counter() - begun:.1f} s.\n")
        print(
            "| question | clicks | seconds | on the screen | as the core says "
            "|\n|---|---|---|---|---|"
        )
        browser = play.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        is_good = True
        for question in QUESTIONS:
            page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            found = ask(page, address, question)
            is_good &= found.is_right and found.clicks <= MOST_CLICKS
            shown, expected = (
                " / ".join(f"{x:,.4g}" if x < 1e3 else f"{x:,.0f}" for x in row)
                for row in (found.shown, found.expected)
            )
            verdict = "yes: " if found.is_right else "NO: "
            print(
                f"| {question.words} | {found.clicks} | {found.seconds:.1f} | {shown} | "
                f"{verdict}{expected} |",
                flush=True,
            )
        with tempfile.TemporaryDirectory() as place:
            where = {
                "DPCI_LEDGER": f"{place}/ledger.sqlite",
                "DPCI_LEDGER_KEYS": f"{place}/keys",
                "DPCI_RELEASES": f"{place}/releases",
            }
            with running_server(**where) as desk:
                page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
                done = steward.walk(page, desk)
        browser.close()
    print(
        f"\nFrom nothing to a released record: {done.clicks} clicks and {done.typed} typed fields, "
        f"{done.actions} together (at most {steward.MOST_ACTIONS}), "
        f"{done.actions + done.lines} with each line of columns as one; {done.seconds:.0f} s "
        f"(at most {steward.MOST_SECONDS:.0f})."
    )
    is_good &= done.actions <= steward.MOST_ACTIONS and done.seconds <= steward.MOST_SECONDS
    sys.exit(not is_good)


if __name__ == "__main__":
    main()
