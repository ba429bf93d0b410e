"""The Reproduce page through Streamlit's test runner."""

from __future__ import annotations

import re
import time

import pytest

from tests.studies.test_reproduce import needs_data
from tests.ui.test_pages import charts_of, check, start
from ui.reproduce import page as reproduce
from ui.reproduce.job import CellsJob
from ui.session import jobs


@pytest.mark.parametrize("name", ["table2", "table3", "table4"])
def test_tables_stand_beside_our_run(name):
    app = start("reproduce")
    app.selectbox(key="what").set_value(name).run()
    check(app)
    (chart,) = charts_of(app)
    assert sum("published" in t["name"] for t in chart["data"]) == 4
    assert sum(t.get("showlegend", True) for t in chart["data"]) == 4  # one entry for each pair
    (title,) = [h.value for h in app.header if h.value.startswith("Our coverage")]
    said = re.findall(r"(\d+\.\d) points (above|below)", title)
    mean, most = (float(size) * (1 if way == "above" else -1) for size, way in said)
    table = next(d.value for d in app.dataframe if "difference" in d.value.columns)
    gaps = 100 * table.difference
    largest = gaps[gaps.abs().idxmax()]
    assert (mean, most) == pytest.approx((gaps.mean(), largest), abs=0.051)
    (words,) = re.findall(r"(\d+) of \d+ beyond three standard errors, one by (\d+)", title)
    errors = table["in standard errors"].abs()
    assert words == (str((errors > 3).sum()), f"{errors.max():.0f}")
    assert any(f"{len(table)} of {len(table)} on file, k = 1,000" in c.value for c in app.caption)


@pytest.mark.parametrize("name", ["table5", "table6", "figure1f", "figure2h"])
def test_ipums_needs_the_users_extract(name):
    app = start("reproduce")
    app.selectbox(key="what").set_value(name).run()
    check(app)
    assert any("--ipums" in i.value for i in app.info)
    assert not [b for b in app.button if b.key == "start_cells"]


def test_without_the_set_the_page_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.delenv("DPCI_SHARED_DATA", raising=False)
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path))
    app = start("reproduce")
    app.selectbox(key="what").set_value("table3").run()
    check(app)
    assert any("data get adult" in i.value for i in app.info)


def finish(app):
    key = app.session_state["cells_job"]
    end = time.monotonic() + 90
    while jobs.QUEUE.find(key).is_active:
        assert time.monotonic() < end
        time.sleep(0.05)
    app.run()
    check(app)
    return jobs.QUEUE.find(key)


@needs_data
def test_a_row_is_computed_again():
    app = start("reproduce")
    app.selectbox(key="what").set_value("table3").run()
    app.number_input(key="cells_k").set_value(40).run()
    app.number_input(key="cells_m").set_value(40).run()
    app.button(key="start_cells").click().run()
    check(app)
    job = finish(app)
    assert job.state == "done"
    assert len(job.found) == 8
    assert any("8 of 8 cells" in s.value for s in app.success)
    (caption,) = [c.value for c in app.caption if c.value.startswith("Ours")]
    assert "72 of 80 on file, k = 1,000" in caption
    assert "8 of 80 computed here, k = 40 " in caption


def test_a_reload_finds_its_cells_again(monkeypatch):
    monkeypatch.setattr(CellsJob, "_execute", lambda self: self.stop.wait(30) and False)
    monkeypatch.setattr(reproduce, "_has_data", lambda _: True)
    app = start("reproduce")
    app.selectbox(key="what").set_value("table3").run()
    app.button(key="start_cells").click().run()
    check(app)
    key = app.session_state["cells_job"]
    assert app.query_params["cells_job"] in (key, [key])
    again = start("reproduce", cells_job=key)
    again.selectbox(key="what").set_value("table3").run()
    again.button(key="cancel_cells").click().run()
    check(again)
    assert jobs.QUEUE.find(key).stop.is_set()


@needs_data
def test_a_figure_is_drawn_from_its_cells():
    app = start("reproduce")
    app.selectbox(key="what").set_value("figure1b").run()
    assert not charts_of(app)
    app.multiselect(key="values_figure1b").set_value(["1", "2"]).run()
    app.number_input(key="cells_k").set_value(20).run()
    app.number_input(key="cells_m").set_value(20).run()
    app.button(key="start_cells").click().run()
    finish(app)
    (chart,) = charts_of(app)
    assert chart["layout"]["meta"]["figure"] == "figure1b"
    assert "first coefficient" in chart["layout"]["yaxis"]["title"]["text"]
