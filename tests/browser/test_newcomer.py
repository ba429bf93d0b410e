"""First contact: three questions from the start page, few clicks, and the screen says what the core
says. Nothing is typed: the settings are those that the dashboard starts with.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from playwright.sync_api import Page

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
)
from dpci_core.planner import promise
from dpci_core.planner.standard import enclosing
from dpci_core.schema import Records, StandardEncoding, told_steps
from tests.browser.driver import wait_idle

pytestmark = pytest.mark.browser
MOST_CLICKS = 3
_PATIENCE = 120_000
"""Milliseconds until a newcomer gives up."""
Numbers = tuple[float, ...]
N, FACTOR = 30_000, 1.3
"""Records, and the factor within which every odds ratio is asked for, that the dashboard starts
with.
"""


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
    page.goto(address)
    for name in question.clicks:
        wait_idle(page)  # nobody clicks what is still being drawn
        button, link = (page.get_by_role(role, name=name) for role in ("button", "link"))
        radio = page.get_by_role("radio", name=name)
        button.or_(link).or_(radio).first.click(timeout=_PATIENCE)
    shown = question.read(page)
    return Found(shown=shown, expected=question.expected(), clicks=len(question.clicks))


# --- what stands on the screen --------------------------------------------------------------------


_READ = """([title, pattern]) => {
    const app = document.querySelector('[data-testid=stApp]'), main = document.querySelector('[data-testid=stMain]');
    const isIdle = app.dataset.testScriptState === 'notRunning';
    const isThere = isIdle && main.querySelector('h1')?.innerText.trim() === title;
    return isThere && new RegExp(pattern).test(main.innerText) ? main.innerText : null;
}"""
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


_EXPLORE = "What privacy costs a confidence interval"
_CHOOSE = "Budget, records, precision"
_DOOR, _STEP = "Plan a study", "3 Choose"


def _costs(page: Page) -> Numbers:
    return _numbers(page, _EXPLORE, r"private\t([\d.]+)×\t")


def _split(page: Page) -> Numbers:
    """Whether the split that stands is said to be the best."""
    said = page.wait_for_function(
        _READ, arg=[_EXPLORE, "No split is better on average|Use the best split"], timeout=_PATIENCE
    ).json_value()
    return (float("No split is better on average." in said),)


def _records(page: Page) -> Numbers:
    """Whether the number of records on the screen is enough, and whether 2 % less would be."""
    (n,) = _numbers(page, _CHOOSE, r"Records\s+([\d,]+)\s")
    return float(_is_enough(round(n))), float(_is_enough(round(0.98 * n)))


# --- what the core says ---------------------------------------------------------------------------


_FEATURES = (
    *("age", "education_num", "hours_per_week", "capital_loss"),
    *("sex=Male", "workclass=Self-emp-not-inc", "race=Black"),
)


@cache
def _planning_rows() -> Records:
    """In the encoding that encloses every row, which takes a search."""
    return _records_in(enclosing(_records_in))


def _records_in(standard: StandardEncoding) -> Records:
    return datasets.load("census", encoding="standard", features=_FEATURES, standard=standard)


@cache
def _moments() -> Moments:
    records = _planning_rows()
    return fit_moments(
        records.X,
        records.y,
        loss=Logistic(),
        regularization=0.0001,
        target="unpenalised",
        meaning=records.meaning,
    )


def _design() -> Design:
    return Design(
        loss=Logistic(),
        mechanism="objective",
        budget=PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        regularization=0.0001,
        n_records=N,
        calibration="sharp",
        target="unpenalised",
    )


def _expected_costs() -> Numbers:
    made = forecast(_moments(), design=_design())
    return (float(np.exp(np.log(made.ci_length / made.nonprivate_length)[:-1].mean())),)


def _is_best_split() -> Numbers:
    """Whether no split from the one that stands to the shortest one is clearly shorter and covers
    what is asked of every effect: the shortest does not.
    """
    moments, design = _moments(), _design()
    stands, best = design.budget, best_split(moments, design=design).design.budget
    lengths = []
    for towards in np.linspace(0.0, 1.0, 9):
        parts = [
            float(a) + towards * (float(b) - float(a))
            for a, b in zip(stands.parts, best.parts, strict=True)
        ]
        names = ("model", "hessian", "covariance")
        budget = PureDP(**dict(zip(names, map(str, parts), strict=True)))
        made = forecast(moments, design=replace(design, budget=budget))
        if made.coverage[:-1].min() >= 0.94:
            lengths.append(made.ci_length[:-1].mean())
    assert 0 < len(lengths) < 9
    return (float(min(lengths) > 0.95 * lengths[0]),)


def _is_enough(n: int) -> bool:
    """Whether every effect can be reported, and lies within the factor."""
    moments, records = _moments(), _planning_rows()
    assert records.to_original is not None
    steps = told_steps(datasets.schema_of("census"), records.feature_names)[:-1]
    units = np.array(steps) * np.diag(records.to_original)[:-1]
    target = Target(limits=tuple(2.0 * np.log(FACTOR) / units), probability=0.5)
    found = promise(moments, design=replace(_design(), n_records=n), target=target)
    assert found.probability is not None
    return bool(found.chance[:-1].min() >= 0.95) and found.probability >= 0.5


QUESTIONS = (
    Question(
        words="What does privacy cost my intervals at ε = 1?",
        clicks=(),
        read=_costs,
        expected=_expected_costs,
    ),
    Question(
        words="Which split should I use?",
        clicks=(),
        read=_split,
        expected=_is_best_split,
    ),
    Question(
        words="How many records do I need?",
        clicks=(_DOOR, _STEP, "Records"),
        read=_records,
        expected=lambda: (1.0, 0.0),
    ),
)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda q: q.words)
def test_a_newcomer_finds_the_answer_of_the_core_in_a_few_clicks(open_page, server, question):
    found = ask(open_page("/"), server, question)
    assert found.clicks <= MOST_CLICKS
    assert found.is_right, found


def test_a_wrong_answer_on_the_screen_would_be_noticed():
    right = Found(shown=(0.337, 12_345.0), expected=(0.33742, 12_345.0), clicks=1)
    assert right.is_right
    for shown in ((0.341, 12_345.0), (0.337, 12_346.0), (0.337,), ()):
        assert not replace(right, shown=shown).is_right
