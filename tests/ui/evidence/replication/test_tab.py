"""The tab of replication through Streamlit's test runner."""

from __future__ import annotations

import re
from dataclasses import fields

import pandas as pd
import pytest

from benchmarks import reproduce
from tests.ui.test_pages import charts_of, check, start
from ui.evidence.files import rows_on_file
from ui.evidence.replication import tab
from ui.evidence.replication.chart import Cell, Reproduced


@pytest.mark.parametrize("name", ["2", "3", "4"])
def test_tables_stand_beside_our_run(name):
    app = start("replication", table=name)
    (chart,) = charts_of(app)
    assert sum("published" in t["name"] for t in chart["data"]) == 4
    assert sum(t.get("showlegend", True) for t in chart["data"]) == 4  # one entry for each pair
    (title,) = [h.value for h in app.header if "agree with ours" in h.value]
    table = next(d.value for d in app.dataframe if "difference" in d.value.columns)
    near, total, most = re.findall(r"^(\d+) of (\d+) .* all within (\S+) points: the paper", title)[
        0
    ]
    assert (int(near), int(total)) == ((table["in standard errors"].abs() <= 3).sum(), len(table))
    largest = 100 * table.difference.abs().max()
    assert largest <= float(most) <= largest + 0.1
    (caption,) = [c.value for c in app.caption if c.value.startswith("Ours")]
    assert "stored results, k = 1,000" in caption
    assert (
        f"`python -m benchmarks.reproduce table{name} -k 1000 -m 1000 --seed 20261121`" in caption
    )
    ((field, value),) = re.findall(r"`--where (\w+)=(\S+)` takes some of the cells", caption)
    taken = [str(getattr(cell, field)) == value for cell in reproduce.cells_of(f"table{name}")]
    assert any(taken)
    assert not all(taken)


def test_where_all_agree_nothing_is_left_to_explain():
    table = pd.DataFrame({"difference": [0.001, -0.002], "in standard errors": [1.0, -2.0]})
    assert tab.finding(table) == (
        "All 2 published coverages agree with ours within three standard errors"
    )


@pytest.mark.parametrize("name", ["5", "6"])
def test_ipums_needs_the_users_extract(name):
    app = start("replication")
    app.selectbox(key="published_table").set_value(name).run()
    check(app)
    assert any(f"benchmarks.reproduce table{name} --ipums" in i.value for i in app.info)
    assert any(h.value.startswith("Published coverage lies between") for h in app.header)


def test_a_difference_and_its_errors_are_those_of_the_script():
    cells, ours = rows_on_file(Cell, tab.PUBLISHED_FILE), rows_on_file(Reproduced, tab.RUN_FILE)
    assert [cell.key for cell in cells] == [cell.key for cell in reproduce.published_cells()]
    known = {cell.key: cell for cell in cells}
    for one, row in zip(ours, reproduce.read_run().values(), strict=True):
        assert all(getattr(one, f.name) == getattr(row, f.name) for f in fields(Reproduced))
        published = known[one.cell].coverage
        assert tab.difference_in_errors(published, one) == reproduce.difference_in_errors(
            published, row
        )


def test_a_file_that_cannot_be_read_is_said_in_words(monkeypatch, tmp_path):
    broken = tmp_path / "run.csv"
    broken.write_text("cell\n1\n")
    monkeypatch.setattr(tab, "RUN_FILE", broken)
    app = start("replication")
    assert any("cannot be read" in w.value for w in app.warning)
    assert any(h.value.startswith("Published coverage lies between") for h in app.header)
