"""The tab of prediction error: what it asks for, what it draws, its jobs, and the published rates
beside ours.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
from decimal import Decimal

import numpy as np
import pytest

from benchmarks import error_rates
from benchmarks.files import append_rows
from dpci_core import SmoothedHinge
from dpci_core.tuning.training import Measured
from tests.ui.test_pages import charts_of, check, now, start, upload
from ui.evidence.errors import numbers, published
from ui.evidence.errors import tab as accuracy
from ui.evidence.errors.job import AccuracyJob
from ui.session import compute, jobs
from ui.session.budget import from_shares
from ui.session.compute import LRU
from ui.session.settings import Settings, from_query
from ui.session.text import number

SMALL = {"d": "2", "n": "1500"}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Few rows and draws, an empty shared memory, and patience to the end."""
    monkeypatch.setattr(numbers, "PREVIEW_ROWS", 1_500)
    monkeypatch.setattr(numbers, "EFFORT", {"preview": 4, "thorough": 6})
    monkeypatch.setattr(numbers, "GRID_POINTS", 4)
    monkeypatch.setattr(accuracy, "EFFORT", numbers.EFFORT)
    monkeypatch.setattr(accuracy, "PATIENCE", 60.0)
    monkeypatch.setattr(accuracy, "_SHARED", LRU(60))


def open_page(**query: str):
    """The page behind a link."""
    return start("errors", **(SMALL | query))


def live_charts(app) -> dict[str, dict]:
    """The chart of the tab, by the control it runs along."""
    return {
        c["layout"]["meta"]["sweep"]: c for c in charts_of(app) if "sweep" in c["layout"]["meta"]
    }


def asks(settings: Settings, *, effort="preview", sweep="total"):
    return numbers.request(settings, Records(), effort=effort, sweep=sweep)


def names_of(chart) -> set[str]:
    return {t["name"] for t in chart["data"] if t.get("showlegend") is not False}


def cards(app) -> list[str]:
    return [m.value for m in app.metric if m.label == "Wrong for"]


# --- what is asked for ----------------------------------------------------------------------------


def settings_of(**changes) -> Settings:
    return dataclasses.replace(Settings(d=2, n=1_500), **changes)


class Records:
    digest = "x"


def test_a_design_spends_the_part_for_the_coefficients() -> None:
    settings = settings_of(
        split=from_shares(Decimal(2), (Decimal("0.25"), Decimal("0.5"), Decimal("0.25")))
    )
    asked = asks(settings)
    line = next(one for one in asked.lines if "output" in one.name)
    here = line.points[line.x.index(2.0)]
    assert here.n_records == 1_500
    assert here.training.noise.rate == pytest.approx(1_500 * 0.001 * 0.5, rel=1e-9)  # n c epsilon_1
    other = line.points[0]
    assert other.training.noise.rate == pytest.approx(1_500 * 0.001 * line.x[0] / 4, rel=1e-5)
    records = asks(settings, sweep="n")
    against_n = next(one for one in records.lines if "output" in one.name)
    assert [p.n_records for p in against_n.points] == list(against_n.x)


def test_what_does_not_train_differently_is_drawn_once() -> None:
    both = settings_of(calibrations=("sharp", "published"), definitions=("pure", "zcdp"))
    asked = asks(both)
    private = [line.name for line in asked.lines if line.is_private]
    assert (
        len(private) == 5
    )  # the calibration changes the noise vector of objective perturbation under zCDP only
    assert sum("zCDP · objective" in name for name in private) == 2


def test_a_request_knows_what_it_depends_on() -> None:
    key = asks(settings_of()).key
    same = settings_of(sweep="n", level=0.9, goal_length=2.0, look="c")
    assert asks(same).key == key
    for changed in (settings_of(c=0.01), settings_of(n=2_000), settings_of(losses=("huber_svm",))):
        assert asks(changed).key != key


def test_an_infeasible_point_is_a_gap() -> None:
    asked = asks(settings_of(c=1e-6))
    line = next(one for one in asked.lines if "objective" in one.name)
    assert line.points[0] is None
    assert line.points[-1] is not None


def test_a_part_of_the_rows_is_drawn_at_random() -> None:
    X, y = (
        np.c_[np.arange(5_000) / 10_000, np.full(5_000, 0.5)],
        np.where(np.arange(5_000) < 2_500, 1.0, -1.0),
    )
    asked = asks(settings_of())
    held_out = asked.held_out(X, y)
    assert (len(held_out.A), len(held_out.y_test)) == (1_200, 300)
    assert 0.4 < np.mean(held_out.y_test > 0) < 0.6  # the first rows alone are of one class
    whole = asks(settings_of(), effort="thorough").held_out(X, y)
    assert len(whole.A) == 4_000


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize("tab", ["total", "n"])
def test_both_prices_are_on_one_screen(tab):
    app = open_page(errors=tab)
    charts = live_charts(app)
    assert set(charts) == {tab}  # and nothing is measured for the other
    for chart in charts.values():
        titles = {chart["layout"][axis]["title"]["text"] for axis in ("yaxis", "yaxis2")}
        assert titles == {"test error", "interval length"}
        assert names_of(chart) == {
            "without privacy, logistic",
            "objective",
            "output",
        }
    assert len(cards(app)) == 2
    assert sum("Mean interval length" in m.value for m in app.markdown) == 2
    for element in app.get("plotly_chart"):
        assert len(element.proto.alt) > 40
    titles = [h.value for h in app.header]
    at = {"total": "ε = 1", "n": "n = 1,500"}[tab]
    assert any(re.match(rf"At {at} private models err [\d.]+", t) for t in titles)
    frames = [d.value for d in app.dataframe if "interval length" in d.value.columns]
    assert len(frames) == 1
    private = frames[0][frames[0].learner.str.contains("output")]
    assert private["test error"].iloc[0] > private["test error"].iloc[-1]
    assert private["interval length"].iloc[0] > private["interval length"].iloc[-1]


def test_the_lengths_are_those_of_explore():
    app = open_page()
    told = [m.value for m in app.markdown if m.value.startswith("Mean interval length")]
    view = compute.compute(from_query(SMALL)[0], compute.TableSource(compute.PUBLIC))
    shown = [number(o.forecast.ci_length_mean) for o in view.outcomes if o.forecast]
    assert [words.split("**")[1] for words in told] == shown


def test_a_move_measures_anew_and_the_same_settings_are_remembered():
    app = open_page()
    before, first = live_charts(app), jobs.QUICK.find(app.session_state["accuracy_quick"])
    app.number_input(key="total_number").set_value(2.0).run()
    check(app)
    assert live_charts(app)["total"] != before["total"]
    made = jobs.QUICK.find(app.session_state["accuracy_quick"])
    assert made.request.key != first.request.key
    app.number_input(key="total_number").set_value(1.0).run()
    check(app)
    assert [c["data"] for c in live_charts(app).values()] == [c["data"] for c in before.values()]
    assert jobs.QUICK.find(app.session_state["accuracy_quick"]) is made  # answered from memory


def test_two_sessions_of_a_public_table_share_an_answer():
    first = open_page()
    other = open_page()
    assert live_charts(other) == live_charts(first)
    assert "accuracy_quick" not in other.session_state


def test_an_uploaded_table_stays_in_its_session():
    app = start("errors")
    upload(app)
    app.selectbox(key="upload_target").set_value("rich").run()
    app.selectbox(key="upload_positive_rich").set_value("yes").run()
    check(app)
    assert set(live_charts(app)) == {"total"}
    assert not any(key[1][0] == digest_of(app) for key in accuracy._SHARED._values)
    job = jobs.QUICK.find(app.session_state["accuracy_quick"])
    assert job.is_private_to_session
    assert job.X is None


def digest_of(app) -> str:
    return jobs.QUICK.find(app.session_state["accuracy_quick"]).request.key[0]


def test_slow_work_does_not_block_and_can_be_cancelled(monkeypatch):
    monkeypatch.setattr(accuracy, "PATIENCE", 0.05)
    monkeypatch.setattr(AccuracyJob, "_execute", lambda self: self.stop.wait(30) and False)
    app = open_page()
    assert not live_charts(app)
    job = jobs.QUICK.find(app.session_state["accuracy_quick"])
    assert job.is_active
    app.button(key="cancel_quick").click().run()
    end = time.monotonic() + 20
    while job.is_active:
        assert time.monotonic() < end
        time.sleep(0.01)
    app.run()
    check(app)
    assert any("was cancelled" in i.value for i in app.info)
    assert jobs.QUICK.find(app.session_state["accuracy_quick"]) is job  # not begun again by itself


def test_a_picture_that_is_no_longer_wanted_is_given_up(monkeypatch):
    monkeypatch.setattr(accuracy, "PATIENCE", 0.05)
    monkeypatch.setattr(AccuracyJob, "_execute", lambda self: self.stop.wait(30) and False)
    app = open_page()
    first = jobs.QUICK.find(app.session_state["accuracy_quick"])
    app.number_input(key="c_number").set_value(0.01).run()
    second = jobs.QUICK.find(app.session_state["accuracy_quick"])
    assert second is not first
    assert first.stop.is_set()
    jobs.QUICK.cancel(second)


def test_a_thorough_measurement_replaces_the_preview_and_its_link_finds_it():
    app = open_page()
    app.button(key="measure_accuracy").click().run()
    check(app)
    key = app.session_state["accuracy_job"]
    end = time.monotonic() + 60
    while jobs.QUEUE.find(key).is_active:
        assert time.monotonic() < end
        time.sleep(0.02)
    app.run()
    check(app)
    assert jobs.QUEUE.find(key).state == "done"
    assert {c["layout"]["meta"]["fits"] for c in live_charts(app).values()} == {6}
    assert (
        live_charts(app)["total"]["layout"]["meta"]["train"] == 24_000
    )  # of 30,000 rows, all of the table
    assert not [b for b in app.button if b.key == "measure_accuracy"]
    assert app.query_params["accuracy_job"] in (key, [key])


def test_a_failure_is_said_in_words(monkeypatch):
    def fail(self):
        raise ValueError("Raise the regularization.")

    monkeypatch.setattr(AccuracyJob, "_execute", fail)
    app = open_page()
    assert any("Raise the regularization" in w.value for w in app.warning)


def test_explanations_can_be_switched_off():
    for tab, label in (("total", "How this is measured"), ("published", "What differs")):
        assert label in {e.label for e in open_page(errors=tab).expander}
        assert label not in {e.label for e in open_page(errors=tab, help="off").expander}


def test_published_rates_measure_nothing():
    app = open_page(errors="published")
    assert app.segmented_control(key="errors_view").value == "published"
    assert not live_charts(app)
    assert "accuracy_quick" not in app.session_state


def test_an_answer_is_drawn_as_it_was_measured():
    app = open_page()
    trace = next(t for t in live_charts(app)["total"]["data"] if t["name"] == "output")
    job = jobs.QUICK.find(app.session_state["accuracy_quick"])
    line = next(x for x in job.request.lines if x.name == trace["name"])
    found = [job.answer.found[point] for point in line.points]
    assert all(isinstance(one, Measured) for one in found)
    assert trace["y"] == [one.error for one in found]
    assert now(app).n == 1_500


def test_the_smoothed_hinge_can_be_chosen_and_is_measured():
    app = open_page(losses="huber_svm", h="1.0")
    before = cards(app)
    app.segmented_control(key="corner").set_value("smoothed_hinge").run()
    check(app)
    assert now(app).corner == "smoothed_hinge"
    job = jobs.QUICK.find(app.session_state["accuracy_quick"])
    assert {point.training.loss for point in job.request.points} == {SmoothedHinge(h=1.0)}
    assert len(cards(app)) == len(before)
    words = json.dumps(live_charts(app)["total"]["layout"], ensure_ascii=False).replace("<br>", " ")
    assert "smoothed hinge" in words
    assert (
        open_page(losses="huber_svm", corner="smoothed_hinge").session_state["settings"].corner
        == "smoothed_hinge"
    )


# --- published ------------------------------------------------------------------------------------


def measured(part: str, shift: float = 0.01) -> list[error_rates.MeasuredRate]:
    """Made-up results so far from the printed ones."""
    rows = []
    for cell in error_rates.cells_of(part):
        printed = error_rates.published_error(cell)
        rows.append(
            error_rates.MeasuredRate(
                **dataclasses.asdict(cell),
                regularization=cell.learner.regularization,
                n_records=900,
                error=0.2 if printed is None else printed + shift,
                error_se=0.001,
                error_sd=0.01,
                false_positive=0.1,
                false_negative=0.3,
                n_fits=10 if cell.method == "non_private" else 500,
                n_failed=0,
                folds=10,
                seed=1,
                date="2026-11-21",
                versions="python 3.11",
            )
        )
    return rows


@pytest.mark.parametrize("part", list(published.TITLES))
def test_printed_and_ours_stand_side_by_side(part, monkeypatch, tmp_path):
    file = tmp_path / "run.csv"
    append_rows(measured(part), file, error_rates.MeasuredRate)
    monkeypatch.setattr(published, "RUN_FILE", file)
    app = open_page(errors="published", published=part)
    chart = next(c for c in charts_of(app) if c["layout"]["meta"].get("part") == part)
    assert names_of(chart) == {
        f"{words}: {who}"
        for words in ("without privacy", "Algorithm 1 (output)", "Algorithm 2 (objective)")
        for who in ("printed", "ours")
    }
    cells = error_rates.cells_of(part)
    n_printed = sum(error_rates.published_error(cell) is not None for cell in cells)
    title = f"0 of {n_printed} printed error rates agree with ours within 0.5 points"
    assert title in [h.value for h in app.header]
    words = app.get("plotly_chart")[0].proto.alt
    assert words.startswith(
        f"{n_printed} printed values are measured here: 0 agree within 0.5 points"
    )
    assert "the median distance is 1.0 points, the largest 1.0 points" in words
    (caption,) = [c.value for c in app.caption if c.value.startswith("Ours")]
    assert "50 draws of noise a fold, seed 1" in caption
    assert f"`python -m benchmarks.error_rates {part} --draws 50 --seed 1`" in caption
    frame = next(d.value for d in app.dataframe if "printed" in d.value.columns)
    assert len(frame) == len(cells)
    assert frame.difference.dropna().to_numpy() == pytest.approx(0.01)
    assert frame.printed.dropna().tolist() == [
        error for cell in cells if (error := error_rates.published_error(cell)) is not None
    ]


@pytest.mark.parametrize("content", [None, "nonsense\n1,2\n"])
def test_without_a_usable_file_the_printed_values_stand_alone(content, monkeypatch, tmp_path):
    file = tmp_path / "run.csv"
    if content:
        file.write_text(content)
    monkeypatch.setattr(published, "RUN_FILE", file)
    app = open_page(errors="published")
    assert "No printed error rate is measured here" in [h.value for h in app.header]
    assert any("cannot be read" in w.value for w in app.warning) == bool(content)
    assert any("benchmarks.error_rates table1" in i.value for i in app.info)


def test_the_sentence_under_a_chart_starts_with_a_capital_and_writes_numbers_out():
    app = open_page(errors="n")
    said = [element.proto.alt for element in app.get("plotly_chart")]
    under = next(words for words in said if words.startswith("Test error as “Records"))
    assert "e+0" not in under
    assert under.split("moves. ")[1][0].isupper()
