"""The tab of lengths: with full, partial and no results; targets, sentences and charts by
themselves.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare
from benchmarks.compare import ALONE, cells_of
from benchmarks.compare import SETS as TABLES
from benchmarks.study import append_rows
from tests.ui.test_pages import charts_of, check, start
from ui.evidence.files import rows_on_file
from ui.evidence.lengths import chart as sharp_chart
from ui.evidence.lengths import rows as sharp_rows
from ui.evidence.lengths import targets as sharp_targets
from ui.evidence.lengths import words as sharp_text
from ui.evidence.lengths.rows import Compared, DataTable
from ui.session.choices import Combination

ROOT = Path(__file__).parents[4]
LENGTH = {
    "published": 1.0,
    "sharp": 0.8,
    "sharp_reviewed": 0.88,
    "best_split": 0.6,
    "best_split_reviewed": 0.7,
    "only split": 0.75,
}
RATIO = {"published": 1.3, "best_split": 1.2, "best_split_reviewed": 1.2}
SETS = {name: DataTable(table.dataset, table.n, table.d) for name, table in TABLES.items()}
PURE = Combination("pure", "objective", "logistic")


def row_of(cell: compare.Comparison, **changes) -> Compared:
    """A made-up result that reaches every target unless it is published or at the best split."""
    length, ratio = LENGTH.get(cell.calibration, 0.95), RATIO.get(cell.calibration, 1.02)
    numbers = {
        "shares": "0.5000 0.2500 0.2500",
        "coverage": 0.98 if cell.calibration == "published" else 0.952,
        "coverage_se": 0.002,
        "coverage_prevalent": 0.945,
        "coverage_smallest": 0.94,
        "ci_length": length,
        "ci_length_se": 0.001,
        "vi_length": length / ratio,
        "vi_length_se": 0.0001,
        "ratio": ratio,
        "forecast_length": length,
        "forecast_coverage": 0.95,
        "n_failed": 0,
        "k": 1_000,
        "m": 1_000,
        "seed": 20_261_121,
        "date": "2026-11-21",
        "versions": "python 3.11",
    }
    return Compared(**(dataclasses.asdict(cell) | numbers | changes))


def rows_of(*names: str) -> list[Compared]:
    return [row_of(cell) for name in names for cell in cells_of(name)]


def one(label: str = "sharp", **changes) -> Compared:
    """Pure objective logistic on Adult."""
    cell = next(c for c in cells_of("adult-10") if c.calibration == label)
    return row_of(cell, **changes)


@pytest.fixture
def on_file(tmp_path, monkeypatch):
    """Put rows on file for the page."""

    def put(rows: list[Compared]) -> None:
        path = tmp_path / "published_or_sharp.csv"
        append_rows(rows, path, Compared)
        monkeypatch.setattr(sharp_rows, "COMPARISON_FILE", path)

    return put


def names_of(app) -> dict[str, dict]:
    """Charts by what they show."""
    names = {"improvements": "heat", "table": "lengths"}
    return {
        next(name for key, name in names.items() if key in chart["layout"]["meta"]): chart
        for chart in charts_of(app)
    }


def numbers_of(chart) -> list[float]:
    """Every coordinate but the gaps between segments."""
    return [
        float(v)
        for trace in chart["data"]
        for axis in ("x", "y")
        for v in trace[axis]
        if v is not None
    ]


# --- the page -------------------------------------------------------------------------------------


def test_full_results_are_drawn_with_words_targets_and_provenance(on_file):
    on_file(rows_of("census-10", "adult-10"))
    app = start("lengths")
    charts = names_of(app)
    assert set(charts) == {"lengths", "heat"}
    assert charts["heat"]["layout"]["meta"]["improvements"] == [
        part.name for part in sharp_text.IMPROVEMENTS
    ]
    assert [title.value for title in app.header] == [
        # published 1, sharp .8 in six of eight, .88 in two without the theorem
        "At the published split, sharp intervals are 18\u202f% shorter, 20\u202f% with a theorem "
        "not yet peer-reviewed",
        "Alone, “The best split” shortens most: by up to 25\u202f% of the mean length",
    ]
    assert charts["lengths"]["layout"]["meta"]["table"] == "adult-10"
    for element in app.get("plotly_chart"):
        assert len(element.proto.alt) > 40
    texts = " ".join(m.value for m in app.markdown)
    assert "on average 18 % shorter" in app.get("plotly_chart")[0].proto.alt
    verdicts = "40 of 40 reached at the published split; 32 of 40 reached at the best split."
    assert f"Targets: {verdicts}" in {box.label for box in app.expander}
    assert "Every target is reached at the published split." in texts
    assert "`python -m benchmarks.compare adult-10 -k 1000 -m 1000 --seed 20261121`" in texts
    assert "Stored results, measured with k = 1,000" in texts


def test_another_table_is_chosen_and_the_best_split_lists_its_misses(on_file):
    on_file(rows_of("census-10", "adult-10"))
    app = start("lengths")
    app.selectbox(key="compared_table").set_value("census-10").run()
    check(app)
    assert names_of(app)["lengths"]["layout"]["meta"]["table"] == "census-10"
    assert any(
        "◇ Simulated data" in a["text"] for a in names_of(app)["lengths"]["layout"]["annotations"]
    )
    app.segmented_control(key="target_split").set_value("best_split").run()
    check(app)
    (missed,) = [
        m.value for m in app.markdown if m.value.startswith("Not reached at the best split")
    ]
    assert "1.05 × variability" in missed
    assert "shrank even more" in missed


def test_a_stored_table_is_simulated_again_on_coverage(on_file):
    on_file(rows_of("census-10", "adult-10"))
    app = start("lengths")
    app.selectbox(key="compared_table").set_value("census-10").run()
    app.button(key="lengths_again").click().run()
    check(app)
    assert app.button(key="start").label == "Start the simulation"
    found, table = app.session_state["settings"], SETS["census-10"]
    assert (found.dataset, found.d, found.n) == (table.dataset, table.d, table.n)
    assert (found.encoding, found.c, found.calibrations) == ("paper", 0.001, ("published", "sharp"))
    labels = [one.label for one in found.combinations]
    assert len(labels) == 2, labels


def test_lengths_of_a_linear_regression_are_those_of_the_document():
    text = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    stated = text[text.index("compares\nit with BinAgg") :].split("Who reports")[0]
    lengths = set(re.findall(r"\.\d{3,4}", stated))
    assert len(lengths) == 11
    assert set(re.findall(r"\.\d{3,4}", sharp_text.NUMBER)) == lengths


def test_partial_results_show_what_there_is(on_file):
    rows = [
        r for r in rows_of("census-10") if r.privacy == "pure" and r.calibration != "best_split"
    ]
    on_file(rows)
    app = start("lengths")
    assert set(names_of(app)) == {"lengths"}
    labels = {box.label for box in app.expander}
    assert "Targets: 20 of 20 reached at the published split." in labels


def test_the_split_is_chosen_for_all_alike(on_file):
    on_file(rows_of("adult-10"))
    app = start("lengths")
    app.button_group(key="compared_split_of").set_value("best").run()
    check(app)
    assert app.header[0].value.startswith("Each at its own best split, sharp intervals are 17")
    names = {trace["name"] for trace in names_of(app)["lengths"]["data"]}
    assert "sharp, new theorem" in names
    assert app.query_params["compared_split"] in ("best", ["best"])


def test_published_rows_alone_are_no_comparison(on_file):
    on_file([r for r in rows_of("census-10") if r.calibration == "published"])
    app = start("lengths")
    assert "lengths" in names_of(app)
    assert "not both on file" in app.header[0].value
    labels = {box.label for box in app.expander}
    assert "Targets: No sharp row of this table is on file." in labels


def test_no_results_are_said_in_words(tmp_path, monkeypatch, on_file):
    monkeypatch.setattr(sharp_rows, "COMPARISON_FILE", tmp_path / "nowhere.csv")
    app = start("lengths")
    assert set(names_of(app)) == set()
    assert any("missing or empty" in i.value for i in app.info)
    assert any("python -m benchmarks.compare census-10" in i.value for i in app.info)
    on_file([])
    app.run()
    check(app)
    assert any("missing or empty" in i.value for i in app.info)
    texts = " ".join(m.value for m in app.markdown)
    assert "Two results on this page are new and **not peer-reviewed**" in texts
    assert "docs/proofs/map.md#metric" in texts
    assert "python -m benchmarks.constants newton-step" in texts


def test_a_broken_file_is_a_sentence(tmp_path, monkeypatch):
    path = tmp_path / "broken.csv"
    path.write_text("a,b\n1,2\n")
    monkeypatch.setattr(sharp_rows, "COMPARISON_FILE", path)
    app = start("lengths")
    assert any("cannot be read" in w.value for w in app.warning)


# --- targets --------------------------------------------------------------------------------------


def reached(row: Compared, published: Compared | None = None) -> dict[str, bool]:
    return {c.target: c.is_reached for c in sharp_targets.check_targets(row, published)}


@pytest.mark.parametrize(
    ("target", "good", "bad"),
    [
        ("coverage", {"coverage": 0.945}, {"coverage": 0.9449}),
        ("coverage", {"coverage": 0.965}, {"coverage": 0.9651}),
        ("prevalent", {"coverage_prevalent": 0.93}, {"coverage_prevalent": 0.929}),
        ("smallest", {"coverage_smallest": 0.91}, {"coverage_smallest": 0.909}),
        ("length", {"ratio": 1.05}, {"ratio": 1.0501}),
        ("length", {"ratio": 1.12, "d": 33}, {"ratio": 1.1201, "d": 33}),
        ("length", {"ratio": 1.05, "d": 32}, {"ratio": 1.06, "d": 32}),
        ("shorter", {"ci_length": 1.0}, {"ci_length": 1.001}),
    ],
)
def test_each_target_has_its_edge(target, good, bad):
    published = one("published")
    assert all(reached(one(), published).values())
    assert reached(one(**good), published)[target]
    found = reached(one(**bad), published)
    assert not found.pop(target)
    assert all(found.values())


def test_without_a_published_row_nothing_is_called_shorter():
    assert "shorter" not in reached(one())


def test_a_missing_ratio_reaches_nothing_and_is_said_so():
    row = one(ratio=math.nan, vi_length=0.0)
    assert not reached(row)["length"]
    (words,) = sharp_targets.missed_words(list(sharp_targets.check_targets(row, None)))
    assert "not measured" in words


def test_a_call_is_close_within_two_standard_errors():
    def close(**changes) -> bool:
        return sharp_targets.check_targets(one(**changes), None)[0].is_close

    assert close(coverage=0.9487, coverage_se=0.002)
    assert close(coverage=0.9413, coverage_se=0.002)
    assert close(coverage=0.9613, coverage_se=0.002)
    assert not close(coverage=0.9493, coverage_se=0.002)
    assert not close(coverage=0.9407, coverage_se=0.002)


def test_monte_carlo_errors_are_those_of_shares_and_quotients():
    found = {c.target: c for c in sharp_targets.check_targets(one(), one("published"))}
    assert found["prevalent"].se == pytest.approx(math.sqrt(0.945 * 0.055 / 1_000))
    assert found["length"].se == pytest.approx(
        1.02 * math.hypot(0.001 / 0.8, 0.0001 / (0.8 / 1.02))
    )
    assert found["shorter"].value == pytest.approx(0.8)
    assert found["shorter"].se == pytest.approx(0.8 * math.hypot(0.001 / 0.8, 0.001 / 1.0))


def test_misses_are_listed_with_number_and_reason():
    def words(**changes) -> str:
        return " ".join(
            sharp_targets.missed_words(
                list(sharp_targets.check_targets(one(**changes), one("published")))
            )
        )

    pure = words(ratio=1.08)
    assert "Pure ε · objective · logistic (1.080 ± 0.001)" in pure
    assert "noise on the Hessian" in pure
    assert "37 × 37" in words(ratio=1.2, d=36, mechanism="output")
    assert "more replicates" in words(privacy="zcdp", coverage=0.9445)
    assert "not been established" in words(privacy="zcdp", coverage=0.93)
    assert words() == ""


def test_the_matrix_of_targets_says_it_without_colour():
    published = one("published")
    checks = list(sharp_targets.check_targets(one(ratio=1.08, coverage=0.946), published))
    (row,) = sharp_targets.checks_matrix(checks).to_dict("records")
    assert row["length at most 1.05 × variability"] == "✗ 1.080 ± 0.001"
    assert row["mean coverage 94.5 to 96.5 %"] == "✓ 94.6 ± 0.2 %, close"
    assert row["never longer than published"] == "✓ −20.0 % ± 0.1"
    table = sharp_targets.checks_table(checks)
    assert list(table["reached"]) == ["yes", "yes", "yes", "no", "yes"]


# --- words and numbers ----------------------------------------------------------------------------


def test_the_takeaway_compares_like_with_like_and_what_is_reviewed_first():
    groups = sharp_rows.groups_of(rows_of("adult-10"), SETS["adult-10"])
    words = sharp_rows.sentence(sharp_rows.sides_of(groups, "published"), "published")
    assert "At the published split" in words
    assert "on average 18 % shorter than published ones from reviewed results alone" in words
    assert "(from 12 to 20 % over 8 combinations)" in words
    assert "20 % shorter with the new theorem, which is not peer-reviewed and acts on 2" in words
    assert "1.02 times as long as the variability interval, the published ones 1.30 times" in words
    assert "between 95.2 and 95.2 %, of the published between 98.0 and 98.0 %" in words
    assert "Monte Carlo error at most 0.2 points" in words
    best = sharp_rows.sides_of(groups, "best")
    # .75 published; .6 in six of eight, .7 in two without the theorem
    assert sharp_rows.finding(best, "best") == (
        "Each at its own best split, sharp intervals are 17\u202f% shorter, "
        "20\u202f% with a theorem not yet peer-reviewed"
    )


def test_a_comparison_without_the_theorem_says_nothing_of_it():
    pure = {PURE: {label: one(label) for label in ("published", "sharp")}}
    sides = sharp_rows.sides_of(pure, "published")
    assert set(sides[PURE]) == {"published", "reviewed"}
    assert "theorem" not in sharp_rows.finding(sides, "published")
    assert "theorem" not in sharp_rows.sentence(sides, "published")
    assert "not both on file" in sharp_rows.finding(sharp_rows.sides_of(pure, "best"), "best")


def test_the_headline_on_file_is_what_the_rows_of_adult_say():
    groups = sharp_rows.groups_of(
        rows_on_file(Compared, sharp_rows.COMPARISON_FILE), SETS["adult-10"]
    )
    reviewed = [
        found.get("sharp_reviewed", found["sharp"]).ci_length / found["published"].ci_length
        for found in groups.values()
    ]
    sides = sharp_rows.sides_of(groups, "published")
    assert [c.value + 1 for c in sharp_rows.changes(sides, "reviewed")] == pytest.approx(reviewed)
    assert np.mean(reviewed) == pytest.approx(1 - 0.135, abs=5e-4)
    assert "are 14\u202f% shorter, 27\u202f% with a" in sharp_rows.finding(sides, "published")


def test_the_table_has_every_number():
    groups = sharp_rows.groups_of(rows_of("adult-10"), SETS["adult-10"])
    table = sharp_rows.results_table(groups)
    assert len(table) == 8 * 4 + 2 * 2 + 4  # four of each, twice two reviewed, four shaped
    assert set(table["calibration"]) == set(sharp_rows.CALIBRATION_WORDS.values())
    assert len(sharp_rows.everything(rows_of("adult-10", "bank-10"), SETS["adult-10"])) == len(
        cells_of("adult-10")
    )


def test_changes_are_against_published_of_the_same_design():
    groups = sharp_rows.groups_of(rows_of("adult-10"), SETS["adult-10"])
    found = sharp_rows.changes(groups, "only split")
    assert len(found) == 8
    assert all(c.value == pytest.approx(-0.25) for c in found)
    assert sharp_rows.change_sentence("The best split", found) == (
        "“The best split” changes every mean length by −25.0 %"
    )
    mixed = [dataclasses.replace(found[0], value=0.01), *found[1:]]
    assert "by −25.0 % (Pure ε · objective · SVM) to +1.0 % (Pure ε · objective · logistic)" in (
        sharp_rows.change_sentence("The best split", mixed)
    )
    assert sharp_rows.changes({PURE: {"only split": one("only split")}}, "only split") == []


@pytest.mark.parametrize(
    ("value", "words"), [(-0.1234, "−12.3 %"), (0.02, "+2.0 %"), (-1e-5, "0 %"), (0.0, "0 %")]
)
def test_changes_in_words(value, words):
    assert sharp_rows.signed_percent(value) == words


def test_tables_have_the_names_that_the_script_takes():
    rows = [
        row for name in ("adult-10", "kdd99-10-50000", "kdd99-10-450000") for row in rows_of(name)
    ]
    assert sharp_rows.tables_on_file(rows) == {
        name: SETS[name] for name in ("adult-10", "kdd99-10-50000", "kdd99-10-450000")
    }
    assert set(
        sharp_rows.tables_on_file(rows_on_file(Compared, sharp_rows.COMPARISON_FILE))
    ) == set(SETS)


# --- charts ---------------------------------------------------------------------------------------


def built(figure) -> dict:
    return json.loads(figure.to_json())


def finite(chart: dict) -> bool:
    values = numbers_of(chart)
    return bool(values) and bool(np.isfinite(values).all())


def test_the_lengths_are_marks_ticks_and_ratios():
    groups = sharp_rows.groups_of(rows_of("adult-10"), SETS["adult-10"])
    sides = sharp_rows.sides_of(groups, "published")
    chart = built(sharp_chart.lengths_chart(sides, caption="c", meta={}, source="public"))
    assert finite(chart)
    marks = {
        t["name"]: t
        for t in chart["data"]
        if t["mode"] == "markers" and t["name"] != "variability interval"
    }
    assert set(marks) == set(sharp_rows.SIDES.values())
    assert len({t["marker"]["symbol"] for t in marks.values()}) == 3
    assert sorted(marks["sharp, reviewed only"]["x"]) == [0.8] * 6 + [0.88] * 2
    assert marks["sharp, new theorem"]["x"] == [0.8] * 2
    assert "coverage 95.2 ± 0.2 %" in marks["sharp, new theorem"]["hovertext"][0]
    notes = [a["text"] for a in chart["layout"]["annotations"]]
    assert notes.count("1.30× · 98.0 %") == 8
    assert notes.count("1.02× · 95.2 %") == 10
    assert chart["layout"]["xaxis"].get("type") != "log"


def test_lengths_far_apart_go_on_a_log_scale_and_missing_ones_are_left_out():
    long = one("published", ci_length=30.0, vi_length=25.0)
    none = one("best_split", ci_length=0.5, vi_length=0.0, ratio=math.nan)
    groups = {PURE: {"published": long, "reviewed": one(), "new": none}}
    chart = built(sharp_chart.lengths_chart(groups, caption="c", meta={}, source="public"))
    assert finite(chart)
    assert chart["layout"]["xaxis"]["type"] == "log"
    assert "log scale" in chart["layout"]["xaxis"]["title"]["text"]
    assert chart["layout"]["xaxis"]["ticktext"] == ["0.5", "1", "2", "5", "10", "20"]
    assert sum("× · " in a["text"] for a in chart["layout"]["annotations"]) == 2
    assert sum(a["text"] == "– · 95.2 %" for a in chart["layout"]["annotations"]) == 1


def test_improvements_are_a_table_with_a_row_each():
    groups = sharp_rows.groups_of(rows_of("adult-10"), SETS["adult-10"])
    heat = {label: sharp_rows.changes(groups, label) for label in ALONE}
    heat["a further one"] = heat["only split"][:7]  # not measured for one combination
    made = sharp_chart.heat_chart(heat, caption="c", meta={}, source="public")
    (trace,) = built(made)["data"]
    text = made.data[0].text
    assert list(text[list(ALONE).index("only split")]) == ["−25"] * 8
    assert list(text[-1]) == ["−25"] * 7 + ["-"]
    assert len(trace["y"]) == len(set(trace["y"])) == len(ALONE) + 1
    assert len(trace["x"]) == 8
    assert -trace["zmin"] == trace["zmax"] == pytest.approx(25)
    assert len(sharp_rows.heat_table(heat)) == 8 * len(ALONE) - 4 + 7  # shaped: the objective only


@pytest.mark.parametrize(
    ("percent", "words"), [(-5.13, "−5"), (2.0, "+2"), (-0.04, "0"), (math.nan, "-")]
)
def test_a_cell_has_a_proper_minus_and_no_sign_at_nothing(percent, words):
    assert sharp_chart.whole(percent) == words


def test_every_improvement_is_explained_on_a_click(on_file):
    on_file(rows_of("adult-10"))
    app = start("lengths")
    for part in sharp_text.IMPROVEMENTS:
        app.button_group(key="improvement").set_value(part.label).run()
        check(app)
        said = [m.value for m in app.markdown]
        assert part.consequence in said
        assert part.mechanism in said
