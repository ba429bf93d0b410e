"""The section "Choosing privately": quick from public numbers, its sentence at the reach, its
charts with words and tables, its job, and what it does with no file.
"""

from __future__ import annotations

import time
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpci_core.studies.accuracy.selection_run import read_selection
from dpci_core.tuning import SELECTION_METHODS
from tests.ui.test_pages import charts_of, check, start, upload
from ui.accuracy import choosing, choosing_job
from ui.accuracy import choosing_numbers as chosen
from ui.accuracy.choosing_numbers import Question
from ui.session import jobs
from ui.session.compute import LRU

QUESTION = Question(
    epsilon=Decimal(1), smallest=0.0005, n_candidates=10, share="0.1", n_records=27_146
)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(choosing_job, "EPSILONS", ("1",))
    monkeypatch.setattr(choosing_job, "DIVISIONS", 2)
    monkeypatch.setattr(choosing_job, "MOST_ROWS", 1_500)
    monkeypatch.setattr(choosing, "_SHARED", LRU(5))


def open_page(**query: str):
    return start("accuracy", **({"d": "2", "n": "1500", "errors": "choosing"} | query))


def pictures(app) -> dict[str, dict]:
    return {
        c["layout"]["meta"]["choosing"]: c
        for c in charts_of(app)
        if "choosing" in c["layout"].get("meta", {})
    }


def test_the_sentence_changes_side_at_the_reach() -> None:
    blind = chosen.reach_sentence(replace(QUESTION, smallest=5e-5))
    assert "the whole score: it is a die. A smallest c of 0.0022" in blind
    between = chosen.reach_sentence(QUESTION)
    assert "up to 0.434 on a score between 0 and 1: it is little better than a die." in between
    some = chosen.reach_sentence(replace(QUESTION, smallest=0.001))
    assert "large differences only. A smallest c of 0.0022 would bring it to 0.1." in some
    assert "tell the candidates apart" in chosen.reach_sentence(replace(QUESTION, smallest=0.00223))
    few = replace(QUESTION, n_records=200, epsilon=Decimal("0.1"))
    assert "No penalty would change that" in chosen.reach_sentence(few)


def test_bars_are_what_is_spent() -> None:
    spendings = QUESTION.spendings()
    assert [one.method for one in spendings] == list(SELECTION_METHODS)
    (bars,) = chosen.budget_chart(QUESTION, spendings).data
    assert list(bars.x) == pytest.approx([0.5, 0.5, 0.1, 1.0, 0.3425, 1.0], abs=1e-4)
    table = chosen.budget_table(spendings)
    assert len(table) == len(bars.y) == len(SELECTION_METHODS)
    assert bars.y[3] == "rows split<br>between candidates, 2,443"
    assert len(set(chosen.WORDS.values())) == 8
    fewer = replace(QUESTION, n_records=100, n_candidates=20, share="0.3").spendings()
    assert [one.method for one in fewer] == list(SELECTION_METHODS)


def test_the_section_shows_everything_with_words_and_tables() -> None:
    app = open_page()
    check(app)
    found = pictures(app)
    assert set(found) == {"budget", "adult", "density"}
    names = {trace.get("name") for trace in found["adult"]["data"]}
    assert set(chosen.WORDS.values()) <= names
    control = next(t for t in found["adult"]["data"] if t.get("name") == "Control (not private)")
    assert control["line"]["dash"] == "dash"
    words = " ".join(one.value for one in app.markdown)
    assert "rule from public numbers" in words
    assert "Choosing bins pays" in words
    titles = [one.value for one in app.header]
    assert any(title.startswith("Most is left for one training by ") for title in titles)
    assert any(title.startswith("The best private way at ε = 1: ") for title in titles)
    assert not any("Control" in title for title in titles)


def test_controls_move_the_forecast() -> None:
    app = open_page(choose_c="1e-05")
    assert "it is a die" in " ".join(one.value for one in app.markdown)
    app = open_page(choose_c="0.05", choose_total="10", n="60000", choose_k="2")
    assert "tell the candidates apart" in " ".join(one.value for one in app.markdown)
    app = open_page(choose_run="histogram", choose_measure="auc")
    check(app)
    assert "integrated squared error" in str(pictures(app)["histogram"]["layout"])
    check(open_page(choose_run="nonsense", choose_c="-1"))


def test_no_file_is_no_crash(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(choosing, "read_selection", lambda: read_selection(tmp_path / "no.csv"))
    app = open_page()
    check(app)
    assert "python -m benchmarks.selection adult" in " ".join(one.value for one in app.info)


def test_what_was_found_is_what_the_file_says() -> None:
    rows = read_selection()

    def of(run: str, method: str, epsilon: str) -> float:
        (row,) = [r for r in rows if (r.run, r.method, r.epsilon) == (run, method, epsilon)]
        return row.error

    for run in ("adult", "adult_small", "adult_scaled", "census"):
        for epsilon in ("1", "3", "10"):
            private = [of(run, m, epsilon) for m in ("control", *SELECTION_METHODS)]
            assert of(run, "default", epsilon) <= min(private), (run, epsilon)
    for epsilon in ("0.3", "1", "3", "10"):
        others = [of("histogram", m, epsilon) for m in SELECTION_METHODS[1:]]
        assert of("histogram", "stability", epsilon) <= min(others), epsilon
    one = rows[0]
    assert np.isclose(sum(one.shares), 1.0, atol=1e-3)


def test_the_job_measures_every_method() -> None:
    rng = np.random.default_rng(0)
    X = np.c_[rng.uniform(-0.7, 0.7, 1_500), np.full(1_500, 0.7)]
    y = np.where(rng.random(1_500) < 0.5 + 0.6 * X[:, 0], 1.0, -1.0)
    job = choosing_job.ChoosingJob(
        X=X, y=y, question=replace(QUESTION, n_candidates=2), title="here", asked=("a",)
    )
    job.run()
    assert job.state == "done"
    assert job.X is None
    assert {row.method for row in job.rows} == set(chosen.WORDS)
    stopped = choosing_job.ChoosingJob(X=X, y=y, question=QUESTION, title="here", asked=("a",))
    stopped.stop.set()
    stopped.run()
    assert stopped.state == "cancelled"


def test_the_button_measures_on_the_table_at_hand() -> None:
    app = open_page(choose_k="2")
    app.button(key="measure_choosing").click().run()
    check(app)
    end = time.monotonic() + 90
    while any(job.is_active for job in jobs.QUEUE._jobs.values()) and time.monotonic() < end:
        time.sleep(0.05)
    check(app.run())
    titles = [str(c["layout"]) for c in charts_of(app)]
    assert any("The table at hand" in title for title in titles)


def test_nothing_is_measured_on_an_uploaded_table() -> None:
    app = open_page()
    upload(app)
    check(app)
    assert not [one for one in app.button if one.key == "measure_choosing"]
