"""The block beside the strongest rival: closed at first, then a table and a sentence of the rows on
file.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from benchmarks.rivals import CELLS, METHODS, Measured
from benchmarks.study import append_rows
from ui.evidence.lengths import rivals

ROW = Measured(
    table="adult-10",
    rho="0.1875",
    method="best_split",
    settings="",
    coverage=0.951,
    coverage_se=0.003,
    coverage_smallest=0.93,
    ci_length=0.2,
    ci_length_se=0.001,
    n_failed=0,
    k=500,
    seed=1,
    date="2026-11-22",
    versions="python 3.11",
)


def found(*measured: Measured) -> rivals.Found:
    return {(row.cell, row.method): row for row in measured}


def of(method: str, length: float, coverage: float = 0.95, cell: int = 0) -> Measured:
    table, rho = CELLS[cell]
    return replace(ROW, table=table, rho=rho, method=method, ci_length=length, coverage=coverage)


def draw() -> None:
    from ui.evidence.lengths import rivals

    rivals.block()


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ((0.3, 0.24), "is 20 to 50 % longer"),
        ((0.16, 0.19), "is 5 to 20 % shorter"),
        ((0.18, 0.21), "is between 10 % shorter and 5 % longer"),
    ],
)
def test_the_sentence_goes_both_ways(lengths, words):
    measured = [ROW, of("best_split", 0.2, cell=1)]
    measured += [of("newton_tuned", length, cell=i) for i, length in enumerate(lengths)]
    assert rivals.sentence(found(*measured)) == (
        f"Against sharp at its best split, noisy Newton tuned {words}."
    )


def test_a_length_that_covers_too_seldom_is_said_with_it():
    short = of("newton_coded", 0.1, coverage=0.9)
    assert rivals.sentence(found(ROW, short)).endswith("and covers too seldom in 1 of 1.")
    assert rivals.sentence(found(short)) == ""


def test_the_table_has_a_place_for_a_further_method_and_for_what_is_missing():
    table = rivals.matrix(
        found(of("whichever", 0.15), ROW, of("newton_tuned", 0.21, 0.947, cell=1))
    )
    assert list(table.columns) == ["Method", "Adult, ρ = 0.1875", "Adult, ρ = 0.5"]
    assert list(table["Method"]) == ["sharp, best split", "noisy Newton, tuned", "whichever"]
    assert list(table["Adult, ρ = 0.1875"]) == ["0.200 · 95.1 %", "", "0.150 · 95.0 %"]
    assert set(rivals.METHOD_WORDS) == set(METHODS)


def test_the_block_is_closed_and_then_a_table(monkeypatch, tmp_path):
    path = tmp_path / "rivals.csv"
    append_rows([ROW, of("newton_tuned", 0.18)], path, Measured)
    monkeypatch.setattr(rivals, "RIVALS_FILE", path)
    page = AppTest.from_function(draw).run()
    assert [e.label for e in page.expander] == [rivals.TITLE]
    assert not page.dataframe
    page.session_state["rivals"] = True
    page.run()
    assert not page.exception
    assert len(page.dataframe[0].value) == 2
    assert any("noisy Newton tuned is 10 % shorter." in m.value for m in page.markdown)
    path.write_text("no such file of results\n", encoding="utf-8")
    page.run()
    assert "cannot be read" in page.warning[0].value
    monkeypatch.setattr(rivals, "RIVALS_FILE", tmp_path / "none.csv")
    page.run()
    assert "benchmarks.rivals --write" in page.info[0].value
