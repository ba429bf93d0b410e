"""The front page as a first visit finds it: every effect can be told, and whatever is moved there
is something to draw.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core.schema import CONSTANT
from ui.controls import currency
from ui.evidence.coverage.job import Job
from ui.explore import finding, later
from ui.explore.intervals import marks, styles_of
from ui.explore.rows import rows_of
from ui.session import compute
from ui.session.compute import PUBLIC, TableSource
from ui.session.settings import START, Settings, from_query

SOURCE = TableSource(PUBLIC)


def view_of(settings: Settings) -> compute.View:
    return compute.compute(settings, SOURCE)


def test_every_effect_of_a_first_visit_can_be_told():
    view = view_of(START)
    (outcome,) = view.outcomes
    made = outcome.forecast
    assert not made.is_not_reportable.any()
    assert np.all(np.abs(made.coverage[:-1] - START.level) < 0.015)
    (found,) = finding.numbers(view)
    assert (found.n, found.n_all) == (7, 7), "the constant is no effect"
    assert 1.2 < found.cost < 1.8
    said, is_loud = finding.title([found], START.level)
    assert (said, is_loud) == (
        f"Privacy makes the mean interval {found.cost:.2f} times as long",
        False,
    )
    (rows,) = compute.interval_rows(view, "odds")
    assert rows.names[0] == "age per 10 years"
    assert np.exp(rows.estimate[0]) == pytest.approx(1.41, abs=0.01)


TOTALS = [float(x) for x in currency.total_grid(START)][::9]


@pytest.mark.parametrize("n", [100, 3_000, 30_000, 1_000_000])
def test_at_every_budget_and_number_of_records_there_is_something_to_draw(n):
    reported = []
    for total in (*TOTALS, 10.0):
        view = view_of(currency.at_total(replace(START, n=n), total))
        (rows,) = compute.interval_rows(view, "odds")
        assert np.isfinite(rows.ci_length).all()
        assert np.isfinite(rows.vi_length).all()
        reported.append(int(rows.counts.sum()))
    assert reported[0] == 0 or n == 1_000_000
    assert (max(reported) == 8) == (n >= 3_000)


@pytest.mark.parametrize(
    "moved", [("d", 1), ("d", 12), ("d", 36), ("c", 1e-5), ("c", 0.01), ("c", 1.0)]
)
def test_so_there_is_with_other_features_and_penalties(moved):
    (rows,) = compute.interval_rows(view_of(START.swept(*moved)), "odds")
    assert np.isfinite(rows.ci_length).all()


def test_what_cannot_be_reported_is_drawn_as_such():
    view = view_of(currency.at_total(START, 0.2))
    (rows,) = compute.interval_rows(view, "odds")
    lost = int((~rows.counts[:-1]).sum())
    assert lost > 0
    placed = rows_of([rows], [""] * len(rows.names), is_scaled=False)
    bars, dots = marks([rows], [rows.ci_length], [rows.vi_length], placed, True)
    pale = len(styles_of([rows])) - 1
    assert sum(bar[3] == pale for bar in bars) == lost
    assert len(dots) == 7 - lost
    assert sum(bar[3] == 1 for bar in bars) == 7 - lost
    some = [finding.Numbers(**{**vars(n), "n": 3}) for n in finding.numbers(view_of(START))]
    assert finding.title(some, 0.95)[0].startswith("3 of 7 effects can be reported; their ")
    assert finding.title([], 0.95) == ("At these settings no effect can be reported", True)


def test_the_animation_follows_the_penalty():
    """Where the page would choose another c, a frame has its lengths, as letting go would draw."""
    view = view_of(START)
    animation = later._animation(view, "odds", "any")
    grid = [float(x) for x in currency.total_grid(START)]
    at = grid.index(0.25)
    there = view_of(currency.at_total(START, 0.25))
    assert there.settings.c > 2.0 * START.c
    (rows,) = compute.interval_rows(there, "odds")
    ends = np.log(np.reshape(animation["frames"][at]["ends"], (-1, 2)))
    places = [i for i, (_, kind) in enumerate(animation["places"]) if kind == 1]
    lengths = np.diff(ends[places], axis=1)[:, 0]
    shown = [j for j, name in enumerate(view.records.feature_names) if name != CONSTANT]
    np.testing.assert_allclose(lengths, rows.ci_length[shown], rtol=0.1)


def test_terms_change_and_come_back():
    paper = START.in_paper_terms()
    assert paper.is_in_paper_terms
    assert (paper.encoding, paper.target, paper.c, paper.penalty) == (
        "schema",
        "penalised",
        Settings().c,
        "typed",
    )
    assert paper.mechanisms == Settings().mechanisms
    assert paper.in_plain_terms() == START
    assert replace(paper, encoding="paper").in_paper_terms().encoding == "paper"


def test_a_chosen_penalty_follows_until_one_is_typed():
    few = START.swept("n", 1_000)
    assert few.c > START.c
    typed = few.swept("c", 0.01)
    assert (typed.c, typed.penalty) == (0.01, "typed")
    assert typed.swept("n", 30_000).c == 0.01
    assert replace(typed, penalty="chosen").swept("n", 30_000).c == START.c


@pytest.mark.parametrize(
    "settings",
    [START, Settings(), replace(START, dataset="breast_cancer", names=(), d=3, n=569).settled()],
)
def test_links_say_what_differs_from_a_first_visit(settings):
    query = settings.to_query()
    assert from_query(query) == (settings, ())
    assert (query == {}) == (settings == START)


def test_a_link_with_another_table_takes_its_own_features():
    found, bad = from_query({"dataset": "bank"})
    assert (found.names, bad) == ((), ())


def test_a_simulation_of_a_first_visit_is_about_the_same_effects():
    view = view_of(START)
    (outcome,) = view.outcomes
    job = Job(
        settings=START,
        assumptions="",
        digest=view.records.digest,
        combinations=(outcome.combination,),
        designs=(outcome.forecast.design,),
        n_records=START.n,
        m=200,
        k=200,
        seed=1,
        X=view.records.X,
        y=view.records.y,
        meaning=view.records.meaning,
    )
    job.run()
    (found,) = job.result.designs
    assert job.state == "done"
    np.testing.assert_allclose(found.ci_length, outcome.forecast.ci_length, rtol=0.03)
    se = np.sqrt(0.94 * 0.06 / 200)
    assert np.abs(found.coverage - outcome.forecast.coverage).max() < 4.0 * se


def test_a_penalty_typed_into_a_link_stays_and_a_chosen_one_is_not_written():
    typed, bad = from_query({"c": "0.01"})
    assert (typed.c, typed.penalty, bad) == (0.01, "typed", ())
    few = START.swept("n", 1_000)
    assert few.to_query() == {"n": "1000"}
    assert from_query(few.to_query()) == (few, ())
