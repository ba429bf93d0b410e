"""The published tables: what a cell means, files that can be taken up again, panels, the reader for
IPUMS.
"""

from __future__ import annotations

import collections
import dataclasses
import os
from pathlib import Path

import numpy as np
import pytest

from benchmarks import study
from benchmarks.reproduce import (
    RUN_FILE,
    Reproduced,
    cells_of,
    difference_in_errors,
    how,
    load_ipums,
    main,
    published_cells,
    read_run,
    records_of,
)
from dpci_core import ZCDP, HuberSVM, PureDP

needs_data = pytest.mark.skipif(
    not os.environ.get("DPCI_SHARED_DATA"), reason="DPCI_SHARED_DATA is not set"
)


def test_all_published_cells_are_there_once():
    cells = published_cells()
    assert len(cells) == len({c.key for c in cells}) == 376
    assert collections.Counter(c.table for c in cells) == {
        "2": 72,
        "3": 80,
        "4": 64,
        "5": 80,
        "6": 80,
    }
    assert all(0.9 < c.coverage <= 1 for c in cells)


def test_a_cell_is_the_design_it_names():
    cell = next(
        c
        for c in cells_of("table4")
        if c.key == "4/banking/zcdp/output/huber_svm/45211/10/0.3/0.25/0.25"
    )
    design = cell.design()
    assert design.budget == ZCDP(model="0.045", hessian="0.03125", covariance="0.03125")
    assert (design.loss, design.mechanism) == (HuberSVM(h=1.0), "output")
    assert (design.regularization, design.confidence_level) == (0.001, 0.95)
    pure = dataclasses.replace(cell, privacy="pure").design()
    assert pure.budget == PureDP(model="0.3", hessian="0.25", covariance="0.25")


def run_cells(cells, *, ipums=None, **settings):
    return study.run_cells(cells, **settings, **how(ipums))


def row(cell: str = "a", **changes) -> Reproduced:
    values = {
        f.name: 1.5 if f.type == "float" else 3 if f.type == "int" else "x"
        for f in dataclasses.fields(Reproduced)
    }
    return Reproduced(**{**values, "cell": cell, **changes})


def test_the_error_of_a_difference_counts_both_sides():
    found = row(coverage=0.96, coverage_se=0.002, k=1000)
    assert difference_in_errors(0.95, found) == pytest.approx(0.01 / (0.002 * np.sqrt(2)))
    many = row(coverage=0.96, coverage_se=0.001, k=4000)
    assert difference_in_errors(0.95, many) == pytest.approx(0.01 / np.hypot(0.001, 0.002))


def test_the_committed_run_is_complete_and_close():
    found = read_run()
    cells = [c for c in published_cells() if c.table in "234"]
    assert {c.key for c in cells} == set(found)
    for cell in cells:
        mine = found[cell.key]
        assert mine.k == 1000
        assert mine.n_failed == 0
        assert abs(mine.coverage - cell.coverage) < 0.03
    assert RUN_FILE.read_text().endswith("\n")


@needs_data
@pytest.mark.parametrize(
    ("name", "field", "value"), [("table3", "d", 2), ("table4", "epsilon_1", "0.6")]
)
def test_a_cell_computed_again_agrees_with_the_committed_run(name, field, value):
    cells = [c for c in cells_of(name) if getattr(c, field) == value]
    on_file = read_run()
    for cell, found in run_cells(cells, k=150, m=150, seed=9, n_jobs=1):
        mine = on_file[cell.key]
        assert abs(found.coverage - mine.coverage) <= 4 * np.hypot(
            found.coverage_se, mine.coverage_se
        )
        assert abs(found.ci_length - mine.ci_length) <= 5 * np.hypot(
            found.ci_length_se, mine.ci_length_se
        )


@needs_data
def test_the_command_takes_up_where_it_stopped(tmp_path: Path, capsys):
    file = tmp_path / "run.csv"
    arguments = [
        "table3",
        "--where",
        "d=1",
        "-k",
        "20",
        "-m",
        "20",
        "--out",
        str(file),
        "--jobs",
        "1",
    ]
    assert main([*arguments, "--where", "loss=logistic"]) == 0
    assert "4 of 4 cells to run" in capsys.readouterr().out
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "4 of 8 cells to run" in out
    assert out.count("stored") == 4
    assert out.count("published") == 8
    assert len(read_run(file)) == 8


def test_ipums_tables_say_what_is_missing(capsys):
    assert main(["table5"]) == 1
    assert "your own extract" in capsys.readouterr().err
    with pytest.raises(ValueError, match="name='table9'"):
        main(["table9"])


def extract(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    file = tmp_path / "extract.csv"
    rows = [f"{a},{s},{e},{i}" for a, s, e, i in rng.integers(1, 60, (500, 4))]
    file.write_text("AGE,SEX,EDUC,INCOME\n" + "\n".join([*rows, ",1,2,3"]) + "\n")
    return file


def test_an_ipums_extract_becomes_records(tmp_path: Path):
    records = load_ipums(extract(tmp_path), n_features=2, n_rows=300)
    assert records.X.shape == (300, 3)
    assert records.encoding == "paper"
    assert records.feature_names[:2] == ("AGE", "SEX")
    assert 0.3 < (records.y > 0).mean() < 0.7
    again = load_ipums(extract(tmp_path), n_features=2, n_rows=300)
    assert again.digest == records.digest
    other = tmp_path / "other.csv"
    other.write_text(extract(tmp_path).read_text().replace("INCOME", "WAGE"))
    with pytest.raises(ValueError, match="'INCOME'"):
        load_ipums(other, n_features=2, n_rows=300)


def test_ipums_cells_run_on_the_users_extract(tmp_path: Path):
    cell = dataclasses.replace(cells_of("table5")[0], d=2, n=400)
    assert records_of(cell, extract(tmp_path)).X.shape == (400, 3)
    ((_, found),) = run_cells([cell], k=20, m=20, seed=1, ipums=extract(tmp_path))
    assert 0.5 < found.coverage <= 1
