"""The page for a data-protection board: everything a decision needs, nothing that runs, whatever
was typed.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from dpci_core import (
    ZCDP,
    DeclaredTable,
    Design,
    Guesses,
    HuberSVM,
    Logistic,
    Plan,
    PublicTable,
    PureDP,
    Target,
)
from dpci_core.mechanisms.objective import NOT_REVIEWED
from dpci_core.plan import as_yaml, read_plan, to_html
from dpci_core.plan.effects import planned_effects
from dpci_core.plan.goals import goal_words, goals, missed
from dpci_core.plan.summary import MOST_ROWS
from dpci_core.report.words import (
    MEAN_COUNTS_ALL,
    number,
    number_at_most,
    percent,
    risk,
    risk_approx,
    risk_pure,
)
from dpci_core.schema import CategoricalColumn, NumericColumn, Schema, StandardEncoding, told_steps
from tests.plan_examples import HOSTILE, PLANS, numbers_of
from ui.session import text

VOID = {"meta", "rect", "line", "br"}


class Page(HTMLParser):
    """Tags, attributes and texts; fails on a tag that is not closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", "".join(self.words))


def page_of(plan: Plan) -> Page:
    return Page(to_html(plan, numbers_of(plan)))


@pytest.mark.parametrize("name", PLANS)
def test_what_was_typed_is_text_and_nothing_runs_or_loads(name: str) -> None:
    source = to_html(PLANS[name], numbers_of(PLANS[name]))
    page = Page(source)
    assert not {"script", "b", "a", "img", "link", "iframe", "object"} & set(page.tags)
    assert not [
        key for key, _ in page.attributes if key.startswith("on") or key in ("src", "href", "style")
    ]
    assert re.sub(r"\s+", " ", HOSTILE) in page.text
    assert "url(" not in source
    has_chart = not numbers_of(PLANS[name]).is_not_reportable[:-1].all()
    assert re.findall(r"https?://[^\"]*", source) == ["http://www.w3.org/2000/svg"] * has_chart


def test_the_page_says_what_a_decision_needs() -> None:
    plan = PLANS["twin sharp"]
    found, page = numbers_of(plan), page_of(plan)
    for words in (
        plan.source.unit,
        "n = 50,000, is public",
        f"ρ = 0.11 in total. That means ε = {number_at_most(found.epsilon)} at δ = 0.0000001.",
        risk_approx(found.epsilon, found.delta),
        "Coefficients the coefficients themselves 0.06 54.5 %".replace(" ", ""),
        "6 coefficients of a logistic regression",
        "95 % confidence interval",
        NOT_REVIEWED,
        f"Mean length {number(found.ci_length_mean)} in encoded units: "
        f"{found.ci_length_mean / found.vi_length_mean:.2f} times",
        f"{found.as_if_records:,} of the 50,000 records",
        "with probability 0.9 or more",
        "c = 0.01, sharp calibration",
        "in 20 % to 30 %, correlation",
        "cannot be undone",
        plan.digest,
    ):
        squeezed = words.replace(" ", "") in page.text.replace(" ", "")
        assert squeezed, words
    assert page.tags.count("svg") == 1


def test_a_board_reads_plain_words_and_the_hash_and_the_rest_is_in_the_appendix() -> None:
    plan = PLANS["twin sharp"]
    body, appendix = page_of(plan).text.split("Appendix: ")
    for term in ("d = ", "calibration", "perturbation", "Guessed", "log odds", "Hessian"):
        assert term in appendix, term
        assert term not in body, term
    assert plan.digest in body  # a closed appendix is not printed


def test_the_table_and_the_picture_show_planned_factors_and_no_estimate() -> None:
    plan = PLANS["public pure"]
    found, source = numbers_of(plan), to_html(plan, numbers_of(plan))
    shown = planned_effects(plan, found)
    step = told_steps(plan.schema, plan.names)[0]
    halves = [
        step * lengths[0] / 2.0
        for lengths in (found.original.ci_length, found.original.nonprivate_length)
    ]
    told = shown.cells[0]
    for cell, half in zip(told[1:3], halves, strict=True):
        assert math.exp(half) <= float(cell) <= math.exp(half) + 0.0101, "no better than it is"
    assert float(told[3]) == pytest.approx(halves[0] / halves[1], abs=6e-3)
    assert all(f'<td class="number">{cell}</td>' in source for cell in told[1:])
    ticks = re.findall(
        r'<text x="([\d.]+)" y="[\d.]+" text-anchor="middle" font-size="11">([\d.]+)</text>', source
    )
    (x0, v0), (x1, v1) = ((float(x), math.log(float(v))) for x, v in (ticks[0], ticks[-1]))
    picture = source[source.index("<g>") : source.index("</g>")]
    lines = re.findall(r'<line x1="([\d.]+)" x2="([\d.]+)"', picture)
    a_pixel = (v1 - v0) / (x1 - x0)
    assert len(lines) == 2
    assert [(float(b) - float(a)) * a_pixel for a, b in lines] == pytest.approx(halves, abs=a_pixel)
    (start,) = {float(a) for a, _ in lines}
    assert v0 + (start - x0) * a_pixel == pytest.approx(0.0, abs=a_pixel)


def test_lengths_as_described_and_at_most_are_told_apart() -> None:
    """Approve promised what is true of the first table alone, beside how many hold in all."""
    plan = PLANS["twin sharp"]
    found = plan.numbers()
    promised = replace(found.promise, chance=np.array([1.0, 0.9, 1.0, 1.0, 1.0]))
    longest = promised.longest.copy()
    longest[[1, 2]] = 40.0, 3.0
    decided = tuple(f"world {j}" for j in range(5))
    promised = replace(promised, longest=longest, longest_decided_by=decided)
    shown = planned_effects(plan, replace(found, promise=promised))
    step = told_steps(plan.schema, plan.names)[2]
    most = math.exp(3.0 * step / 2.0)
    said = shown.saying()
    assert said.startswith("If the table is as described, each odds ratio to within a factor of ")
    end = said.split(" If world 2, ")[1]
    assert end.startswith("the longest to within a factor of ")
    assert end.endswith(", of those that can be reported there.")
    assert float(end.split("factor of ")[1].split(",")[0]) == pytest.approx(most, abs=1e-3)
    assert shown.heads[1:] == (
        "Odds ratio known to within × or ÷, as described",
        "Without privacy",
        "Least favourable case",
    )
    assert shown.cells[1][3] == "may not be reportable"
    assert float(shown.cells[2][3]) == pytest.approx(most, abs=1e-3)
    page = to_html(plan, replace(found, promise=promised))
    lines = re.findall(r'<line x1="[\d.]+" x2="[\d.]+"', page[page.index("<g>") :])
    assert len(lines) == 3 * len(shown.rows) - 1  # none where it may not be reportable


def test_a_goal_is_missed_where_an_effect_that_it_is_about_may_not_be_reportable() -> None:
    """Choose called it missed, and the page for the board said 100 %."""
    plan = PLANS["twin sharp"]
    numbers = numbers_of(plan)
    chance = np.array([1.0, 0.9, 1.0, 1.0, 1.0])
    promised = replace(numbers.promise, chance=chance, probability=1.0, within_reach=1.0)
    found = replace(numbers, promise=promised)
    told, lost = (
        replace(found, is_not_reportable=np.arange(len(found.is_not_reportable)) < n)
        for n in (0, 1)
    )
    why = "The goal is missed: not all that it is about can be reported."
    for goal, is_missed in (
        (Target(limits=(1.0,) * 5), True),
        (Target(1.0, coefficient=1), True),
        (Target(1.0, coefficient=0), False),
        (Target(1.0, coefficient=5), False),
        (Target(1.0), False),
    ):
        asked = replace(plan, goal=goal)
        assert (why in goals(asked, found)[0]) == is_missed
        assert "100 %" not in goals(asked, found)[0]
        assert (MEAN_COUNTS_ALL in goals(asked, lost)[0]) == asked.goal.is_mean
        assert MEAN_COUNTS_ALL not in goals(asked, told)[0]
        assert [one.gravity for one in missed(asked, found)] == ["stops"] * is_missed
    rare = replace(found, promise=replace(promised, probability=0.4))
    (said,) = missed(replace(plan, goal=Target(1.0)), rare)
    assert said.sentence.endswith("The goal is missed.")


def test_shares_that_nobody_said_are_an_assumption() -> None:
    """They decide most budgets, and the page named typical values alone."""
    plan = PLANS["twin standard"]
    source = plan.source
    assert isinstance(source, DeclaredTable)
    sex = CategoricalColumn("sex", ("f", "m"))
    schema = replace(source.schema, features=(*source.schema.features, sex))
    found = replace(plan, source=replace(source, schema=schema), features=None)
    said = "How often the values of sex occur was not said: as described, all equally often;"
    assert said in page_of(found).text
    told = replace(schema, features=(*source.schema.features, replace(sex, shares=(0.4, 0.6))))
    other = replace(found, source=replace(source, schema=told))
    assert "How often the values" not in page_of(other).text
    assert "untold values are rare" in page_of(found).text
    assert "untold values are rare" not in page_of(other).text
    assert "Not doubted, as typed: how often values occur" in page_of(other).text


def test_a_pure_plan_has_its_own_risk_and_no_status() -> None:
    page = page_of(PLANS["public pure"])
    assert "ε = 1 in total." in page.text
    assert "a delta of at most 2^-200" in page.text  # as in the report, in its appendix
    assert risk_pure(1.0, source="by this release") in page.text
    assert "for this ε" not in page.text  # it stands before anybody was told of one
    assert NOT_REVIEWED not in page.text
    assert "δ = 0.0000001" not in page.text


def test_a_weak_or_useless_plan_says_so() -> None:
    weak = replace(
        PLANS["public pure"],
        design=replace(
            PLANS["public pure"].design, budget=PureDP(model=9, hessian=1, covariance=1)
        ),
    )
    assert "weak protection" in page_of(weak).text
    assert "weak protection" not in page_of(PLANS["public pure"]).text
    tiny = ZCDP(model="0.00002", hessian="0.00001", covariance="0.00001")
    design = Design(
        loss=HuberSVM(h=1.0),
        mechanism="output",
        budget=tiny,
        regularization=0.01,
        n_records=500,
        calibration="published",
    )
    useless = Plan(
        title="Few",
        source=PublicTable(key="census", n_rows=500),
        design=design,
        delta="1e-6",
    )
    found = numbers_of(useless)
    assert found.usefulness.is_useless
    assert found.usefulness.sentence in page_of(useless).text
    short = replace(
        design, mechanism="objective", regularization=0.1, calibration="sharp", n_records=2_000
    )
    missing = replace(useless, design=short)
    assert numbers_of(missing).coverage.min() < 0.945
    assert "promise too much" in page_of(missing).text
    assert "promise too much" not in page_of(PLANS["public pure"]).text
    assert "a Huber SVM with h = 1" in page_of(useless).text


def test_many_coefficients_and_long_notes_still_make_one_page() -> None:
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=0.01,
        n_records=10**6,
        calibration="published",
    )
    source = PublicTable(key="census", n_rows=500)
    plan = Plan(
        title="t" * 200,
        source=source,
        design=design,
        delta="1e-6",
        notes="w " * 5_000,
    )
    page = page_of(plan)
    assert f"The first {MOST_ROWS} effects are shown; 24 more are in the appendix" in page.text
    assert page.tags.count("g") == MOST_ROWS
    body, appendix = page.text.split("Appendix: ")
    assert len(body.partition("Summary of a planned release")[2]) < 4_500
    assert appendix.count("instead of") > body.count("instead of")
    assert "…" in page.text


def test_a_goal_is_told_with_the_name_of_its_coefficient() -> None:
    assert goal_words(Target(0.1), ("age", "constant")) == "the mean interval is at most 0.1 long"
    assert (
        goal_words(Target(0.1, coefficient=0), ("age", "constant"))
        == "the interval of age is at most 0.1 long"
    )


def test_pages_and_summaries_speak_alike() -> None:
    assert text.risk_pure(1.0).replace("**", "") == risk_pure(1.0)
    assert text.risk_approx(1.0, 1e-6).replace("**", "") == risk_approx(1.0, 1e-6)
    assert "at most 73.2 % sure" in risk(1.0, 0.0)
    assert "may become certain by" in risk(39.0, 0.0)
    assert "at most 99.9909 % sure" in risk(9.3, 0.0)  # which is not certain
    assert "2.8 (1 would be" in risk(1.0, 1e-6)
    assert percent(0.9999999) == "99.99 %"
    assert number(float("inf")) == "-"


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        (
            {"excludes_zero_at": 0.2, "probability": 0.8},
            "an odds ratio of 1.221 per 10 mmHg of pressure is told from 1 with probability 0.8",
        ),
        ({"length": 0.4}, "the odds ratio per 10 mmHg of pressure is known to within a factor of"),
        ({"limits": 0.4}, "every odds ratio is known to within a factor of 1.221"),
    ],
)
def test_the_goal_stands_in_the_units_it_was_typed_in(goal, said):
    column = NumericColumn("pressure", 60, 260, typical=130.0, spread=20.0, step=10.0, units="mmHg")
    schema = Schema((column,), "ill", "yes", standard=StandardEncoding(shape=2.0))
    table = DeclaredTable(schema=schema, guesses=Guesses(n_rows=1_000))
    per_step = 10.0 / 20.0
    encoded = {name: x if name == "probability" else x / per_step for name, x in goal.items()}
    about = {"coefficient": 0} | encoded
    if "limits" in goal:
        about = {"limits": (encoded["limits"],)}
    plan = Plan(
        title="Goal",
        source=table,
        design=Design(
            loss=Logistic(),
            mechanism="objective",
            budget=PureDP(model="0.6", hessian="0.2", covariance="0.2"),
            regularization=0.01,
            target="unpenalised",
            n_records=10_000,
            calibration="published",
        ),
        goal=Target(**about),
        delta="1e-6",
    )
    numbers = numbers_of(plan)
    assert said in to_html(plan, numbers)
    assert read_plan(as_yaml(plan)) == plan
    near = replace(numbers, promise=replace(numbers.promise, within_reach=1.5))
    is_said = (
        "All of them at once, in 50 % of releases: within a factor of 1.35." in goals(plan, near)[0]
    )
    assert is_said == ("limits" in goal)
