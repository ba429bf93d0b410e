"""The tab of replication: the published tables beside our own run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from dpci_core.base.errors import check_choice
from dpci_core.base.places import DATA, HOME
from ui.controls.hints import link_problem
from ui.evidence.files import SCRIPT, rows_on_file
from ui.evidence.replication import chart
from ui.evidence.replication.chart import Cell, Reproduced
from ui.kit import linked
from ui.kit.bound import among
from ui.session.choices import Combination, distinguishing_labels
from ui.session.text import number_at_most
from ui.views.show import show

PUBLISHED_FILE = DATA / "published_coverage.csv"
RUN_FILE = DATA / "reproduction.csv"
COMMAND = "python -m benchmarks.reproduce"
NOTE = HOME / "docs" / "evidence.md"
PUBLISHED_K = 1_000
"""Bootstrap replicates behind a published coverage."""
_CHANCE = 3.0
"""Standard errors by which two simulations of the same coverage may be apart."""
TITLES = {
    "2": "Table 2: KDD Cup 99, n from 50,000 to 450,000",
    "3": "Table 3: Adult, d from 1 to 10",
    "4": "Table 4: Bank Marketing, ε₁ from 0.3 to 1",
    "5": "Table 5: IPUMS-US, ε₂ from 0.1 to 1",
    "6": "Table 6: IPUMS-BR, ε₃ from 0.1 to 1",
}
_TABLE = linked.one_of("table", TITLES, default="2", widget="published_table")
SWEPT = {"2": "n", "3": "d", "4": "epsilon_1", "5": "epsilon_2", "6": "epsilon_3"}
_WORDS = {
    "n": "Records n",
    "d": "Features d",
    "epsilon_1": "ε₁",
    "epsilon_2": "ε₂",
    "epsilon_3": "ε₃",
}


def section() -> None:
    """Draw the tab."""
    link_problem()
    st.markdown(
        "Wang, Kifer and Lee published how often their private 95 % intervals contain the "
        "coefficient penalised at c (Tables 2-6). Here are their numbers **beside ours**."
    )
    left, right = st.columns([2, 3])
    left.selectbox("Table", **among(TITLES), **_TABLE.bound())
    name = _TABLE.value
    cells = [cell for cell in rows_on_file(Cell, PUBLISHED_FILE) if cell.table == name]
    ours = {row.cell: row for row in rows_on_file(Reproduced, RUN_FILE)}
    found = {cell.key: ours[cell.key] for cell in cells if cell.key in ours}
    if cells:
        with right:
            shown = _shown(name, cells, found)
        if shown:
            _table(name, cells, found, shown)
    _provenance(name, cells, list(found.values()))
    with st.expander("Why some numbers differ"):
        st.markdown(_note())


def _note() -> str:
    """What the document of the evidence says of the published tables."""
    text = NOTE.read_text(encoding="utf-8")
    return text.partition("\n## The published tables again\n")[2].partition("\n## ")[0].strip()


def _shown(name: str, cells: list[Cell], found: dict[str, Reproduced]) -> list[Combination]:
    """Which combinations the chart shows."""
    names = _names(cells)
    return st.multiselect(
        "Shown in the chart",
        names,
        default=list(names)[: 4 if found else 2],
        format_func=names.__getitem__,
        key=f"shown_{name}",
    )


def _names(cells: list[Cell]) -> dict[Combination, str]:
    combinations = list(dict.fromkeys(cell.combination for cell in cells))
    return dict(zip(combinations, distinguishing_labels(combinations), strict=True))


def _table(
    name: str, cells: list[Cell], found: dict[str, Reproduced], shown: list[Combination]
) -> None:
    swept = SWEPT[name]
    figure = chart.coverage_chart(
        [cell for cell in cells if cell.combination in shown],
        found,
        names=_names(cells),
        swept=swept,
        label=_WORDS[swept],
        meta={"table": name},
    )
    table = comparison_table(cells, found, swept)
    show(f"published_{name}", figure, sentence(table), table, title=finding(table))


def difference_in_errors(published: float, found: Reproduced) -> float:
    """(found - published) in standard errors of the difference; the published value has ours, at
    its own k.
    """
    own = max(found.coverage_se, 1e-4)
    theirs = own * np.sqrt(found.k / PUBLISHED_K)
    return float((found.coverage - published) / np.hypot(own, theirs))


def comparison_table(cells: list[Cell], found: dict[str, Reproduced], swept: str) -> pd.DataFrame:
    """Published, ours, difference in points and in standard errors."""
    check_choice(swept, tuple(_WORDS), name="swept")
    names = _names(cells)
    rows = []
    for cell in cells:
        row: dict[str, object] = {
            "combination": names[cell.combination],
            _WORDS[swept]: getattr(cell, swept),
            "published": cell.coverage,
        }
        if (mine := found.get(cell.key)) is not None:
            row |= {
                "ours": mine.coverage,
                "s.e.": mine.coverage_se,
                "difference": mine.coverage - cell.coverage,
                "in standard errors": difference_in_errors(cell.coverage, mine),
                "interval length": mine.ci_length,
                "k": mine.k,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def finding(table: pd.DataFrame) -> str:
    """How many of the published values ours agree with, how far the others are, and why."""
    if "difference" not in table:
        return f"Published coverage lies between {_span(table)}"
    gaps = 100 * np.abs(table.difference.dropna().to_numpy())
    near = int((np.abs(table["in standard errors"].dropna().to_numpy()) <= _CHANCE).sum())
    if near == gaps.size:
        return f"All {near} published coverages agree with ours within three standard errors"
    return (
        f"{near} of {gaps.size} published coverages agree with ours within three standard errors, "
        f"all within {number_at_most(gaps.max(), 2)} points: the paper leaves open how columns are "
        "coded"
    )


def sentence(table: pd.DataFrame) -> str:
    """The takeaway."""
    if "difference" not in table:
        return f"{len(table)} published values, between {_span(table)}; none recomputed here."
    gap = 100 * table.difference.mean()
    return (
        f"{finding(table)}. On average ours is {abs(gap):.2f} points "
        f"{'above' if gap > 0 else 'below'}."
    )


def _span(table: pd.DataFrame) -> str:
    return f"{100 * table.published.min():.1f} and {100 * table.published.max():.1f} %"


def _provenance(name: str, cells: list[Cell], found: list[Reproduced]) -> None:
    if not found:
        st.info(
            "Published values only: IPUMS terms do not allow a copy of the data here. "
            + SCRIPT.format(
                command=f"{COMMAND} table{name} --ipums FILE.csv",
                does="computes the other column from your own extract",
            )
        )
        return
    one, some = found[0], f"--where {SWEPT[name]}={getattr(cells[0], SWEPT[name])}"
    st.caption(
        f"Ours: stored results, k = {one.k:,} bootstrap replicates, seed {one.seed}, {one.date}, "
        f"{one.versions}. "
        + SCRIPT.format(
            command=f"{COMMAND} table{name} -k {one.k} -m {one.m} --seed {one.seed}",
            does=f"computes them again; `{some}` takes some of the cells",
        )
    )
