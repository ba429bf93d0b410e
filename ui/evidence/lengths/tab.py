"""The tab of lengths: what shorter intervals at the same budget are worth, as measured."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import streamlit as st

from dpci_core.datasets import list_datasets
from ui.controls import hints
from ui.evidence.files import SCRIPT, rows_on_file
from ui.evidence.lengths import chart, rivals, targets, words
from ui.evidence.lengths import rows as data
from ui.evidence.lengths.rows import Compared, DataTable, Groups
from ui.kit import linked
from ui.kit.bound import among
from ui.kit.exports import download_csv
from ui.session import state
from ui.session.evidence import TAB
from ui.views.show import show

COMMAND = "python -m benchmarks.compare"
USUAL = "adult-10"
"""The table that is shown first, and the one on which each improvement was measured alone."""
_TABLE = linked.text("compared", 40, widget="compared_table")
_SPLITS = {"sharp": "at the published split", "best_split": "at the best split"}
_SPLIT_WORDS = {"published": "As published", "best": "The best of each"}
_SPLIT = linked.one_of(
    "compared_split", _SPLIT_WORDS, default="published", widget="compared_split_of"
)


def section() -> None:
    """Draw the tab."""
    hints.link_problem()
    st.markdown(words.INTRODUCTION)
    rows = rows_on_file(Compared, data.COMPARISON_FILE)
    tables = data.tables_on_file(rows)
    if tables:
        _measured(rows, tables)
    else:
        st.info(
            f"No comparison is on file: `data/{data.COMPARISON_FILE.name}` is missing or empty. "
            + SCRIPT.format(command=f"{COMMAND} census-10", does="measures the simulated census")
        )
    _explanations()
    left, right = st.columns(2)
    with left:
        hints.expander("For the coefficient without penalty", words.UNPENALISED)
        hints.expander("For an outcome that is a number", words.NUMBER)
        rivals.block()
    with right, st.expander("Two new results, not peer-reviewed"):
        st.markdown(words.NEW_RESULT)
        st.page_link("../pages/about.py", label="**Both proofs are on About →**")


def _measured(rows: list[Compared], tables: dict[str, DataTable]) -> None:
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    usual = USUAL if USUAL in tables else next(iter(tables))
    chosen = _TABLE.value if _TABLE.value in tables else usual
    name: str = left.selectbox(
        "Data", **among({key: t.words for key, t in tables.items()}), **_TABLE.bound(chosen)
    )
    right.segmented_control(
        "Split of the budget, the same way for all",
        **among(_SPLIT_WORDS),
        required=True,
        **_SPLIT.bound(),
    )
    table = tables[name]
    groups = data.groups_of(rows, table)
    _comparison(name, table, groups)
    if USUAL in tables:
        _improvements(data.groups_of(rows, tables[USUAL]), tables[USUAL])
    _targets(groups, table)
    left, right = st.columns(2)
    with left:
        hints.expander("How to read the first chart", words.HOW_TO_READ)
    with right:
        _provenance(name, table, [row for row in rows if row.table == table])


def _to_simulate(table: DataTable) -> None:
    """The settings behind a measured table, where they are simulated."""
    paper = state.paper_settings(table.dataset, table.n)
    both = ("published", "sharp")
    state.put(replace(paper, d=table.d, definitions=("pure",), calibrations=both))
    TAB.take("coverage")


# --- published and sharp --------------------------------------------------------------------------


def _comparison(name: str, table: DataTable, groups: Groups) -> None:
    split = _SPLIT.value
    sides = data.sides_of(groups, split)
    figure = chart.lengths_chart(
        sides,
        caption=f"{_assumptions(table)}; split: {_SPLIT_WORDS[split].lower()}",
        meta={"table": name, "split": split},
        source=data.source_of(table),
    )
    show(
        f"sharp_{name}",
        figure,
        data.sentence(sides, split),
        data.results_table(groups),
        title=data.finding(sides, split),
    )


def _assumptions(table: DataTable) -> str:
    return (
        f"{table.words}, encoding “paper”, c = 0.001, h = 1, total ε = 1 or ρ = 0.1875, 95 % "
        "intervals of the penalised coefficient, by full simulation"
    )


def _provenance(name: str, table: DataTable, here: list[Compared]) -> None:
    def span(field: str) -> str:
        values = dict.fromkeys(getattr(row, field) for row in here)
        return ", ".join(f"{v:,}" if field in ("k", "m") else str(v) for v in values)

    k, m, seed = (max(getattr(row, field) for row in here) for field in ("k", "m", "seed"))
    with st.expander("Where these numbers are from"):
        st.markdown(
            f"Stored results, measured with k = {span('k')} bootstrap replicates behind a coverage "
            f"and m = {span('m')} fits behind a variability length, seed {span('seed')}, "
            f"{span('date')}, {span('versions')}. "
            + SCRIPT.format(
                command=f"{COMMAND} {name} -k {k} -m {m} --seed {seed}",
                does="measures all of it again, in minutes or, of large tables, hours",
            )
        )
        if table.dataset in {info.key for info in list_datasets() if info.available}:
            st.button(
                "Simulate two of them again, on Coverage",
                key="lengths_again",
                on_click=_to_simulate,
                args=(table,),
                help="Logistic regression, noise in the objective, pure ε = 1 split 50/25/25: "
                "published and sharp, side by side. The command measures all rows.",
            )
        every = data.everything(here, table)
        download_csv(
            f"Download every row of this table on file ({len(every)})",
            every,
            name=f"published_or_sharp_{name}",
        )


# --- targets --------------------------------------------------------------------------------------


def _targets(groups: Groups, table: DataTable) -> None:
    checks = {label: targets.all_checks(groups, label) for label in _SPLITS}
    there = {label: found for label, found in checks.items() if found}
    counts = targets.verdict({_SPLITS[label]: found for label, found in checks.items()})
    with st.expander(f"Targets: {counts}"):
        st.markdown(
            "Sharp intervals should cover about as often as promised, neither less nor, which "
            "would be waste, much more, for each coefficient as well as on average; and they "
            "should be about as short as can be."
        )
        if there:
            _verdicts(there, table, counts)


def _verdicts(there: dict[str, list[targets.Check]], table: DataTable, counts: str) -> None:
    label = st.segmented_control(
        "Sharp intervals",
        list(there),
        format_func=_SPLITS.__getitem__,
        default=next(iter(there)),
        key="target_split",
    ) or next(iter(there))
    st.dataframe(
        targets.checks_matrix(there[label]),
        hide_index=True,
        alt=counts,
        key=f"targets_{label}",
        width="stretch",
    )
    st.caption(
        "✓ reached, ✗ not reached; after ± the Monte Carlo standard error; close: the limit is "
        f"within two of them. {targets.prevalent_words()} The smallest of {table.d + 1} measured "
        "coverages tends to lie below the smallest true one, because each has an error of its own."
    )
    missed = targets.missed_words(there[label])
    if missed:
        st.markdown(f"Not reached {_SPLITS[label]}:\n" + "\n".join(f"- {said}" for said in missed))
    else:
        st.markdown(f"Every target is reached {_SPLITS[label]}.")
    every = pd.concat([targets.checks_table(found) for found in there.values()])
    download_csv("Download the verdicts", every, name="targets")


# --- each improvement alone -----------------------------------------------------------------------


def _improvements(groups: Groups, table: DataTable) -> None:
    heat = {
        part.name: found
        for part in words.IMPROVEMENTS
        if (found := data.changes(groups, part.label))
    }
    if not heat:
        return
    figure = chart.heat_chart(
        heat,
        caption=f"{_assumptions(table)}; each alone, % of the published mean length",
        meta={"improvements": list(heat)},
        source=data.source_of(table),
    )
    show(
        "improvements",
        figure,
        data.heat_sentence(heat),
        data.heat_table(heat),
        title=data.heat_finding(heat),
    )


def _explanations() -> None:
    parts = {part.label: part for part in words.IMPROVEMENTS}
    chosen = st.pills(
        "Explain an improvement, with its formula",
        list(parts),
        format_func=lambda label: parts[label].name,
        key="improvement",
    )
    if chosen:
        with st.container(border=True):
            st.markdown(parts[chosen].consequence)
            st.markdown(parts[chosen].mechanism)
