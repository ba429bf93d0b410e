"""Figures 4 and 5 on the page Accuracy: curves, sentence, table, and what is said where results are
missing.
"""

from __future__ import annotations

import dataclasses

import pytest
from scipy import stats

from dpci_core.studies.accuracy import published_tuning
from dpci_core.studies.accuracy.published_tuning import EPSILONS, EXHIBITS, append_tuned, read_tuned
from tests.studies.test_tuned_curve import ROW
from tests.ui.accuracy.test_page import names_of, open_page, small  # noqa: F401  (small: a fixture)
from tests.ui.test_pages import charts_of, check
from ui.accuracy import tuned as accuracy_tuned
from ui.accuracy.tuned import half_width, tuned_sentence, tuned_table

SIZES = (20_000, 88_800)
ERRORS = {
    ("output", "0.01"): 0.3,
    ("output", "0.05"): 0.2,
    ("objective", "0.01"): 0.15,
    ("objective", "0.05"): 0.1,
}


def made_up(part: str) -> list[published_tuning.TunedRate]:
    """Errors that halve from the smaller size to the larger; 1 % without privacy."""
    rows = []
    for k, n in enumerate(SIZES):
        for (method, epsilon), error in ERRORS.items():
            change = {"method": method, "epsilon": epsilon, "error": error / (1 + k)}
            rows.append(dataclasses.replace(ROW, part=part, n_train=n, **change))
        plain = {
            "method": "non_private",
            "epsilon": "",
            "error": 0.01,
            "error_se": 0.001,
            "chosen": "4 1",
        }
        rows.append(dataclasses.replace(ROW, part=part, n_train=n, **plain))
    return rows[::-1]  # a file may have them in any order


@pytest.fixture
def file(monkeypatch, tmp_path):
    """A file of results that the page reads in place of ours."""
    path = tmp_path / "run.csv"
    monkeypatch.setattr(accuracy_tuned, "read_tuned", lambda: read_tuned(path))
    return path


def chart_of(app, part: str) -> dict:
    return next(c for c in charts_of(app) if c["layout"]["meta"].get("part") == part)


@pytest.mark.parametrize("part", EXHIBITS)
def test_a_figure_stands_among_the_others(part, file):
    append_tuned(made_up(part), file)
    app = open_page(published=part)
    check(app)
    chart = chart_of(app, part)
    assert names_of(chart) == {
        "without privacy",
        "Algorithm 1 (output)",
        "Algorithm 2 (objective)",
        "always guessing the commoner class",
    }
    assert chart["layout"]["meta"]["cells"] == 10
    panels = {
        e: chart["layout"][axis]["title"]["text"]
        for e, axis in zip(EPSILONS, ("yaxis", "yaxis2"), strict=True)
    }
    assert panels == {e: f"test error, ε = {e}" for e in EPSILONS}
    for epsilon, axis in zip(EPSILONS, ("y", "y2"), strict=True):
        traces = {t["name"]: t for t in chart["data"] if t["yaxis"] == axis}
        output = traces["Algorithm 1 (output)"]
        assert output["x"] == list(SIZES)
        assert output["y"] == [ERRORS["output", epsilon], ERRORS["output", epsilon] / 2]
        assert output["error_y"]["array"] == pytest.approx([stats.t(4).ppf(0.975) * 0.002] * 2)
        assert traces["without privacy"]["y"] == [0.01, 0.01]
        assert traces["always guessing the commoner class"]["y"] == [0.2, 0.2]
    frame = next(d.value for d in app.dataframe if "n of a candidate" in d.value.columns)
    assert len(frame) == 10
    plain = frame[frame.learner == "without privacy"]
    assert plain["rows of a model"].tolist() == [40_000, 177_600]  # of both candidates
    assert plain["chosen (Λ: times)"].tolist() == ["1e-3.5: 4, 1e-3.0: 1"] * 2
    captions = " ".join(c.value for c in app.caption)
    assert "5 permutations of the table with 50 runs each" in captions
    assert f"published {part} --sizes 20000 88800 --permutations 5 --draws 50 --seed 1" in captions
    assert any("Which is which" in m.value for m in app.markdown)


def test_the_sentence_has_both_ends_of_every_curve():
    mine = {row.cell: row for row in made_up("figure4")}
    assert tuned_sentence(mine) == (
        "Wrong with 20,000 and with 88,800 rows a candidate: at ε = 0.01 Algorithm 1 (output) 30.0 "
        "% and 15.0 % and Algorithm 2 (objective) 15.0 % and 7.5 %; at ε = 0.05 Algorithm 1 "
        "(output) 20.0 % and 10.0 % and Algorithm 2 (objective) 10.0 % and 5.0 %; without privacy "
        "1.0 % and 1.0 %; guessing is wrong for 20.0 %."
    )
    some = {cell: row for cell, row in mine.items() if cell.epsilon == "0.05"}
    assert "ε = 0.01" not in tuned_sentence(some)
    assert "without privacy" not in tuned_sentence(some)
    assert len(tuned_table(some)) == 4


def test_error_bars_of_few_permutations_are_wide():
    few, many = (dataclasses.replace(ROW, permutations=k, chosen=f"{50 * k} 0") for k in (2, 400))
    assert half_width(few) == pytest.approx(12.7062 * ROW.error_se, rel=1e-4)
    assert half_width(many) == pytest.approx(1.966 * ROW.error_se, rel=1e-3)


@pytest.mark.parametrize("content", [None, "nonsense\n1,2\n"])
def test_without_a_usable_file_the_page_says_how_to_measure(content, file):
    if content:
        file.write_text(content)
    app = open_page(published="figure5")
    check(app)
    assert not any(c["layout"]["meta"].get("part") for c in charts_of(app))
    assert any("accuracy published figure5" in i.value for i in app.info)
    assert any("cannot be read" in w.value for w in app.warning) == bool(content)


def test_the_other_figure_has_results_of_its_own(file):
    append_tuned(made_up("figure4"), file)
    app = open_page(published="figure5")
    assert any("none were printed" in i.value for i in app.info)
    app.selectbox(key="published_choice").set_value("figure4").run()
    check(app)
    assert chart_of(app, "figure4")["layout"]["meta"]["cells"] == 10
    assert app.query_params["published"] in ("figure4", ["figure4"])


def test_without_the_set_the_page_says_how_to_get_it(file, monkeypatch, tmp_path):
    append_tuned(made_up("figure4"), file)
    monkeypatch.delenv("DPCI_SHARED_DATA", raising=False)
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path))
    app = open_page(published="figure4")
    assert any("data get kdd99" in c.value for c in app.caption)
