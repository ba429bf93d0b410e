"""The front page as a first visit finds it: every effect can be told, and whatever is moved there
is something to draw.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dpci_core import datasets
from dpci_core.schema import CONSTANT
from tests.ui.test_pages import check, now, picture_of, start, visit
from ui.controls import currency, declare
from ui.evidence.coverage.job import Job
from ui.explore import finding, later
from ui.explore.intervals import _private, marks, styles_of
from ui.explore.rows import rows_of
from ui.session import compute
from ui.session.compute import DECLARED, PUBLIC, TableSource, declared_table, packed_table
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
        "Privacy makes intervals 1.3 to 1.9 times as long",
        False,
    ), "the average, 1.6, is true of no effect"
    times = (made.ci_length / made.nonprivate_length)[:-1]
    assert found.span == (times.min(), times.max())
    alike = replace(found, span=(1.52, 1.66))
    said, _ = finding.title([alike], START.level)
    assert said == f"Privacy makes intervals {found.cost:.2f} times as long on average"
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


def test_an_axis_stands_still_while_the_budget_moves():
    app = visit("explore")
    panels = picture_of(app)["panels"]
    for total in ("1.5", "2", "4", "0.8"):
        app.text_input(key="total_number").set_value(total).run()
        assert picture_of(app)["meta"]["total"] == float(total)
        assert picture_of(app)["panels"] == panels


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
    some = [replace(n, n=3) for n in finding.numbers(view_of(START))]
    assert finding.title(some, 0.95)[0].startswith("3 of 7 effects can be reported; their ")
    assert finding.title([], 0.95) == ("At these settings no effect can be reported", True)


@pytest.mark.parametrize("total", [0.063, 0.25, 2.0])
def test_a_frame_says_and_draws_what_letting_go_would(total):
    """Also where the page would choose another c, and where other effects can be reported."""
    view, there = view_of(START), view_of(currency.at_total(START, total))
    animation = later._animation(view, "odds", "any")
    at = [float(x) for x in currency.total_grid(START)].index(total)
    (rows,) = compute.interval_rows(there, "odds")
    assert total > 1.0 or there.settings.c > START.c
    frame, shown = animation["frames"][at], [k for k, n in enumerate(rows.names) if n != CONSTANT]
    ends = np.array(frame["ends"], dtype=float).reshape(-1, 2)
    for kind, counts in ((1, rows.counts), (3, ~rows.counts)):
        places = [k for k, (_, own) in enumerate(animation["places"]) if own == kind]
        drawn = [x for x in np.log(ends[places]) if np.isfinite(x).all()]
        assert len(drawn) == counts[shown].sum()
        lengths = np.diff(drawn, axis=1)[:, 0] if drawn else []
        expected = rows.ci_length[shown][counts[shown]]
        np.testing.assert_allclose(np.sort(lengths), np.sort(expected), rtol=0.1)
    assert len(frame.get("dots", [])) in (0, rows.counts[shown].sum())
    said, found = animation["words"][at]["title"], finding.numbers(there)
    if not found:
        assert said == finding.title([], 0.95)[0]
        assert set(frame["right"]) == {"-"}
        return
    assert said.split(" are ")[0].split(" intervals ")[0] in finding.effects_sentence(found)
    cost = float(animation["words"][at]["cells"]["cost 0"].removesuffix("×"))
    assert cost == pytest.approx(found[0].cost, rel=0.08)


def test_a_frame_of_the_animation_does_not_depend_on_where_the_page_stands():
    few = replace(
        START, c=0.0002, penalty="typed"
    )  # at these totals nothing or all can be reported
    here, there = (view_of(currency.at_total(few, total)) for total in (0.1, 2.0))
    assert [len(finding.numbers(view)) for view in (here, there)] == [0, 1]
    assert later.animation_version(here, "odds") == later.animation_version(there, "odds")
    one, other = (later._animation(view, "odds", "any") for view in (here, there))
    assert one == other
    chosen = [view_of(currency.at_total(START, total)) for total in (0.1, 2.0)]
    assert len({later.animation_version(view, "odds") for view in chosen}) == 2


def test_a_penalised_target_keeps_its_c_in_a_link():
    few = START.swept("n", 3_000)
    kept = replace(few, target="penalised").settled()
    assert kept.penalty == "typed"
    assert from_query(kept.to_query()) == (kept, ())


def test_terms_change_and_come_back():
    paper = START.in_paper_terms()
    assert paper.is_penalised
    assert (paper.encoding, paper.target, paper.c, paper.penalty) == (
        "schema",
        "penalised",
        Settings().c,
        "typed",
    )
    assert paper.mechanisms == Settings().mechanisms
    assert (paper.goal, paper.goal_length) == ("length", Settings().goal_length)
    assert paper.in_plain_terms() == START
    assert replace(paper, encoding="paper").in_paper_terms().encoding == "paper"
    study = replace(START, goal_length=0.811)
    assert study.in_paper_terms().goal_length == 0.811, "what somebody asks for is no term"
    assert study.in_paper_terms().in_plain_terms() == study


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


def test_the_first_seven_features_are_those_of_a_first_visit():
    there = from_query({"d": "7"})[0]
    assert there.names == ()
    assert there.features == START.features == START.names
    assert view_of(there).records.digest == view_of(START).records.digest
    more = replace(there, d=36).features
    assert more[:7] == START.names
    assert more[-1] == "fnlwgt"
    assert sorted(more) == sorted(datasets.feature_names("census"))
    assert replace(there, encoding="schema").features == 7  # the paper's order stays


def test_fewer_features_and_back_are_the_same_features():
    app = visit()
    shown = now(app).features
    for d in (6, 7):
        app.text_input(key="d_number").set_value(str(d)).run()
        assert now(app).features == shown[:d]
    for terms in ("paper", "plain"):
        app.segmented_control(key="terms").set_value(terms).run()
        assert now(app).features == shown


def test_one_design_that_is_left_of_several_is_named_in_its_colour():
    several = {"mechanisms": "objective~output", "calibrations": "sharp~published"}
    view = view_of(from_query(several | {"losses": "huber_svm", "smoothing": "smoothed_hinge"})[0])
    (left,), among = finding.numbers(view), view.settings.combinations
    said, _ = finding.title([left], view.settings.level, among)
    assert said.endswith("(output · sharp)")
    assert finding.effects_sentence([left], among).endswith("(output · sharp)")
    rows = compute.interval_rows(view, "scaled")
    styles = styles_of(rows)
    table = finding.numbers_table([left], styles, is_odds=False, among=among)
    assert table.rows[0][0].text == "output · sharp"
    private, *_ = _private(rows)
    assert private == ("bar", 1 + 2 * left.place, "output · sharp")
    assert styles[private[1]].colour == table.rows[0][0].style.colour


def test_one_number_is_told_where_two_are_written_alike():
    (one,) = finding.numbers(view_of(START))
    found = [replace(one, coverage=share, short=()) for share in (0.9506, 0.9514)]
    assert finding.coverage_title(found, 0.95)[0].startswith(
        "Intervals cover 95.1\N{NARROW NO-BREAK SPACE}% on average"
    )


def test_intervals_that_promise_too_much_are_named():
    (one,) = finding.numbers(view_of(START))
    few = replace(one, short=("age", "sex=Male", "race=Black"))
    said, is_loud = finding.title([few], START.level)
    assert said.endswith("; 3 of 7 promise too much: age, sex: Male and 1 more")
    assert is_loud
    assert "(age, sex: Male and 1 more)" in finding.coverage_title([few], START.level)[0]


def test_the_effects_that_cover_too_rarely_are_those_that_are_counted():
    view = view_of(START)
    made = view.outcomes[0].forecast
    names = view.records.feature_names
    coverage = np.full(len(names), START.level)
    coverage[[1, len(names) - 1]] = 0.9  # the last is the constant
    found = finding.numbers_of(
        replace(made, coverage=coverage),
        view.outcomes[0].combination,
        finding.counted_coefficients(view),
        view.settings,
        names,
    )
    assert (found.short, found.n_short) == ((names[1],), 1)


def test_an_average_of_some_effects_says_of_how_many():
    (one,) = finding.numbers(view_of(START))
    styles = styles_of(compute.interval_rows(view_of(START), "odds"))
    few = replace(one, n=5, cost=1.6)
    for found, said in ((few, "1.60× (5 of 7 effects)"), (replace(few, n=7), "1.60×")):
        table = finding.numbers_table([found], styles, is_odds=True)
        assert table.rows[0][1].text == said
        cells = finding.live_cells([np.ones(5)], [np.ones(5)], [found])
        assert cells["cost 0"] == said, "also while the slider moves"


def test_the_name_of_the_promise_stands_beside_its_meaning_at_every_budget():
    moving = later._animation(view_of(START), "odds", "any")["words"]
    promise = "Differential privacy: someone who knows all but one person's record and is 50 % sure"
    for said in (finding.odds(START), *[one["odds"] for one in moving if "odds" in one]):
        assert said.startswith(promise)


def test_the_address_holds_no_description_of_a_table_that_is_not_shown():
    mine = replace(declare.example(), unit="one patient")
    age = {"goal": "length", "goal_on": mine.schema.feature_names[0], "goal_length": "3.3"}
    app = start(dataset=DECLARED, declared=packed_table(mine), **age)
    assert "declared" in app.query_params
    app.selectbox(key="dataset").set_value("breast_cancer").run()
    check(app)
    assert not {"declared", "goal_on", "goal_length"} & set(app.query_params)
    app.selectbox(key="dataset").set_value(DECLARED).run()
    check(app)
    again = declared_table(now(app).declared)
    assert again.unit == mine.unit, "it is not described anew"
