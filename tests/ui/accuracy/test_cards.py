"""The section "Private scorecards": its chart, its sentences from the numbers on file, the card as
a table of points, and the cube.
"""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dpci_core.scorecards import ScorecardClass
from dpci_core.scorecards.published import NOT_PRIVATE
from dpci_core.studies.accuracy import scorecard_run
from dpci_core.studies.accuracy.scorecard_run import (
    QUESTIONS,
    RUN_METHODS,
    RUN_SIZES,
    append_scorecards,
    epsilon_for,
    read_scorecards,
)
from tests.ui.test_pages import charts_of, check, start
from ui.accuracy import cards
from ui.accuracy import cards_numbers as shown

ROWS = read_scorecards()


def of(run: str) -> list:
    return [row for row in ROWS if row.run == run]


def picture(app, key: str) -> dict:
    return next(c for c in charts_of(app) if key in c["layout"].get("meta", {}))


def words(app) -> str:
    return " ".join(m.value for m in (*app.markdown, *app.caption, *app.info, *app.warning))


def test_every_run_is_on_file_and_cards_are_rules() -> None:
    assert {row.run for row in ROWS} == set(RUN_SIZES)
    assert ScorecardClass(6).n_rules == shown.N_RULES
    for run in RUN_SIZES:
        methods = {row.method for row in of(run)}
        assert set(RUN_METHODS) - methods <= {"logistic_all"}
        best = next(row.error for row in of(run) if row.method == "best_card")
        for row in of(run):
            if row.method == "scorecard":
                assert row.error >= best - 1e-6
                assert len(row.drawn.points) == len(QUESTIONS[RUN_SIZES[run][0]])


def test_the_card_needs_less_than_the_published_methods_everywhere() -> None:
    for run in RUN_SIZES:
        rows = of(run)
        for epsilon in ("0.03", "0.1", "0.3", "1"):
            at = {row.method: row for row in rows if row.epsilon == epsilon}
            for other in ("opdisc", "rspm", "one_hot"):
                assert at["scorecard"].error <= at[other].error + 2 * at[other].error_se


def test_the_needed_epsilon_is_read_off_the_curve() -> None:
    curve = [row for row in of("adult") if row.method == "opdisc"]
    for row in curve[1:]:
        assert epsilon_for(curve, row.error) == pytest.approx(float(row.epsilon))
    middle = epsilon_for(curve, (curve[1].error + curve[2].error) / 2)
    assert middle == pytest.approx(math.sqrt(0.03 * 0.1), rel=0.01)
    assert epsilon_for(curve, 0.01) is None
    assert epsilon_for(curve, 0.6) == 0.01
    said = shown.needs_sentence(of("adult"))
    assert "choosing a card 0.0" in said
    assert all("not private as published" in shown.WORDS[method] for method in NOT_PRIVATE)
    assert (
        said.index("card") < said.index("regression") < said.index("OPDisc 0.") < said.index("RSPM")
    )
    assert "logistic regression on the same questions more than 3" in shown.needs_sentence(
        of("kdd99")
    )
    for run in RUN_SIZES:
        assert "choosing a card" in shown.needs_sentence(of(run))


def test_where_regression_errs_less_it_is_said() -> None:
    assert shown.other_way_sentence(of("adult")).startswith(
        "From ε = 1 on, logistic regression, all columns, errs less: 20.5 %"
    )
    assert shown.other_way_sentence(of("kdd99")).startswith("No regression here")


def test_the_section_shows_chart_card_and_plan() -> None:
    app = start("accuracy", errors="cards")
    check(app)
    drawn = picture(app, "cards")
    assert drawn["layout"]["meta"]["n"] == 15_016
    names = {trace.get("name") for trace in drawn["data"]} - {None}
    assert names == {shown.WORDS[m] for m in ("scorecard", "logistic", "logistic_all", "opdisc",
                                              "rspm", "best_card")}  # fmt: skip
    said = words(app)
    assert "within one point of the best card needs n ≥ 28,032 records" in said
    assert "never a release" in said
    card = app.table[0].value
    assert list(card.index[:-1]) == [
        question.name.replace(">=", "≥") for question in QUESTIONS["adult"]
    ]
    assert card.index[-1].startswith("Answer yes")
    app.segmented_control(key="cards_size").set_value("2000").run()
    check(app)
    assert picture(app, "cards")["layout"]["meta"]["n"] == 2_000
    app.selectbox(key="cards_table_choice").set_value("breast_cancer").run()  # has no such size
    check(app)
    assert picture(app, "cards")["layout"]["meta"]["n"] == 424
    app.select_slider(key="cards_epsilon").set_value("1").run()
    check(app)
    assert "needs n ≥ 2,804 records" in words(app)


def test_the_cube_breaks_the_claim_where_it_is_large() -> None:
    app = start("accuracy", cube="85")
    check(app)
    assert picture(app, "cube")["layout"]["meta"]["cube"] == 85
    assert "the true δ is at least 0.00157" in shown.cube_sentence(85)
    assert "finds no breach" in shown.cube_sentence(20)
    table = shown.cube_table().set_index("d")
    assert table.loc[100, "true δ, at least"] == pytest.approx(0.0526, abs=5e-5)


def test_without_a_file_the_page_says_how_to_make_it(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cards, "read_scorecards", lambda: read_scorecards(tmp_path / "none.csv"))
    app = start("accuracy", errors="cards")
    check(app)
    assert "python -m benchmarks.scorecards curves adult" in words(app)


def test_the_file_is_written_as_it_is_read(tmp_path: Path) -> None:
    again = tmp_path / "run.csv"
    append_scorecards(ROWS[:5], again)
    append_scorecards(ROWS[:1], again)
    assert read_scorecards(again) == ROWS[:5]
    assert scorecard_run.RUN_FILE.is_file()
    for bad in ({"error": 2.0}, {"method": "prsma"}, {"run": "x"}, {"card": "1 2"}):
        with pytest.raises(ValueError, match="Expected"):
            type(ROWS[0])(**{f: getattr(ROWS[0], f) for f in ROWS[0].__slots__} | bad)
