"""The page Sharper intervals: what shorter intervals at the same budget are worth, as measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd
import streamlit as st

from dpci_core.base.errors import ConvergenceError
from dpci_core.base.places import HOME
from dpci_core.design import Calibration
from dpci_core.intervals.forecast import forecast
from dpci_core.losses import HuberSVM
from dpci_core.studies import compare
from dpci_core.studies.compare import LADDER_SET, SETS, Compared, Comparison, DataTable
from ui.controls import hints
from ui.controls.hints import link_problem
from ui.kit import linked
from ui.kit.exports import csv_bytes
from ui.kit.palette import Combination
from ui.session.compute import LRU, PUBLIC
from ui.session.text import number_at_most
from ui.session.words import in_words
from ui.sharp import chart, rivals, targets, words
from ui.sharp import rows as sharp_rows
from ui.sharp.rows import Groups
from ui.views.show import show

PROOF = HOME / "docs" / "gaussian-objective-perturbation.md"
SMOOTHING_TABLE = DataTable("census", 30_000, 10)
SMOOTHING_H = (1.0, 2.0, 3.0, 4.0, 5.0)
SMOOTHING_C = (0.001, 0.01, 0.1)
_SMOOTHING_DRAWS = 16
"""Draws of the matrix noise behind a point of that chart; both sides of a change are on the same
ones.
"""
_SHARED = LRU(1)
"""The forecast of that chart, for all sessions: it has no settings, and its table is simulated."""
_TABLE = linked.one_of("compared", tuple(SETS), default=LADDER_SET, widget="compared_table")
_SPLITS = {"sharp": "at the published split", "best_split": "at the best split"}
_SPLIT_WORDS = {"published": "As published", "best": "The best of each"}
_SPLIT = linked.one_of(
    "compared_split", _SPLIT_WORDS, default="published", widget="compared_split_of"
)


def page() -> None:
    """Draw the page."""
    rows = _rows()
    tables = sharp_rows.tables_on_file(rows)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.title("Sharper intervals")
    table = None
    if tables:
        with right:
            name = _choice(tables)
    st.markdown(words.INTRODUCTION)
    link_problem()
    if tables:
        table = tables[name]
        groups = sharp_rows.groups_of(rows, table)
        _comparison(name, table, groups)
        _improvements(rows)
        _targets(groups, table)
        left, right = st.columns(2)
        with left:
            hints.expander("How to read the first chart", words.HOW_TO_READ)
        with right:
            _provenance(name, table, groups, tables, rows)
    else:
        _nothing_on_file()
        _improvements(rows)
    left, right = st.columns(2)
    with left:
        _unpenalised()
    with right:
        _new_result(table, rows)
    left, right = st.columns(2)
    with left:
        rivals.block()
    with right:
        _proof()


def _rows() -> list[Compared]:
    """The results on file; a file that cannot be read counts as none, in words."""
    try:
        return list(compare.read_comparisons(compare.COMPARISON_FILE).values())
    except (ValueError, OSError) as problem:
        st.warning(
            "The results on file cannot be read, so the page goes without them: "
            f"{in_words(problem)}"
        )
        return []


def _nothing_on_file() -> None:
    st.info(
        f"No comparison is on file: `data/{compare.COMPARISON_FILE.name}` is missing or empty. "
        "`python -m dpci_core compare` measures every table that is on this machine, in hours; "
        "`python -m dpci_core compare --sets census-10` starts with the simulated census."
    )


def _choice(tables: dict[str, DataTable]) -> str:
    names = list(tables)
    name: str = st.selectbox(
        "Data",
        names,
        format_func=lambda key: sharp_rows.table_words(tables[key]),
        **_TABLE.bound(_TABLE.value if _TABLE.value in names else names[0]),
        label_visibility="collapsed",
    )
    return name


# --- published, sharp, best split -----------------------------------------------------------------


def _comparison(name: str, table: DataTable, groups: Groups) -> None:
    st.segmented_control(
        "Split of the budget, the same way for all",
        list(_SPLIT_WORDS),
        format_func=_SPLIT_WORDS.__getitem__,
        required=True,
        **_SPLIT.bound(),
    )
    sides = sharp_rows.sides_of(groups, _SPLIT.value)
    here = [row for found in sides.values() for row in found.values()]
    figure = chart.lengths_chart(
        sides,
        caption=f"{_assumptions(table)}; split: {_SPLIT_WORDS[_SPLIT.value].lower()}",
        meta={"table": name, "rows": len(here)},
        source=sharp_rows.source_of(table),
    )
    show(
        f"sharp_{name}",
        figure,
        sharp_rows.sentence(sides, _SPLIT.value),
        sharp_rows.results_table(groups),
        title=sharp_rows.finding(sides, _SPLIT.value),
    )


def _assumptions(table: DataTable) -> str:
    return (
        f"{sharp_rows.table_words(table)}, encoding “paper”, c = {compare.REGULARIZATION:g}, h = "
        f"1, total ε = 1 or ρ = 0.1875, {100 * compare.CONFIDENCE_LEVEL:g} % intervals of the "
        "penalised coefficient, by full simulation"
    )


def _provenance(
    name: str, table: DataTable, groups: Groups, tables: dict[str, DataTable], rows: list[Compared]
) -> None:
    here = [row for found in groups.values() for row in found.values()]

    def span(field: str) -> str:
        values = dict.fromkeys(getattr(row, field) for row in here)
        return ", ".join(f"{v:,}" if field in ("k", "m") else str(v) for v in values)

    k, m, seed = (max(getattr(row, field) for row in here) for field in ("k", "m", "seed"))
    again = (
        f" `python -m dpci_core compare --sets {name} -k {k} -m {m} --seed {seed}` measures all of "
        "it again, which takes from minutes to hours."
    )
    with st.expander("Where these numbers are from"):
        st.markdown(
            f"Measured with k = {span('k')} bootstrap replicates behind a coverage and m = "
            f"{span('m')} fits behind a variability length, seed {span('seed')}, {span('date')}, "
            f"{span('versions')}." + (again if name in SETS else "")
        )
        if left := [key for key in SETS if key not in tables]:
            st.markdown(
                "Not on file yet: "
                + "; ".join(sharp_rows.table_words(SETS[key]) for key in left)
                + f". `python -m dpci_core compare --sets {' '.join(left)}` measures them."
            )
        _download(
            f"dpci_published_or_sharp_{name}.csv",
            sharp_rows.everything(rows, table),
            f"sharp_all_{name}",
        )


def _download(file: str, table: pd.DataFrame, key: str) -> None:
    st.download_button(
        f"Download every row of this table on file ({len(table)})",
        csv_bytes(table),
        file_name=file,
        mime="text/csv",
        on_click="ignore",
        key=key,
    )


# --- targets --------------------------------------------------------------------------------------


def _targets(groups: Groups, table: DataTable) -> None:
    checks = {label: targets.all_checks(groups, label) for label in _SPLITS}
    there = {label: found for label, found in checks.items() if found}
    counts = targets.verdict({_SPLITS[label]: found for label, found in checks.items()})
    with st.expander(f"Held to its targets: {counts}"):
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
    st.download_button(
        "Download the verdicts",
        csv_bytes(every),
        file_name="dpci_targets.csv",
        mime="text/csv",
        on_click="ignore",
        key="targets_csv",
    )


# --- each improvement alone -----------------------------------------------------------------------


def _improvements(rows: Iterable[Compared]) -> None:
    table = SETS[LADDER_SET]
    groups = sharp_rows.groups_of(rows, table)
    heat = {
        part.name: found
        for part in words.IMPROVEMENTS
        if (found := sharp_rows.changes(groups, part.label))
    }
    if heat:
        figure = chart.heat_chart(
            heat,
            caption=f"{_assumptions(table)}; each alone, % of the published mean length",
            meta={"improvements": list(heat)},
            source=sharp_rows.source_of(table),
        )
        show(
            "improvements",
            figure,
            sharp_rows.heat_sentence(heat),
            sharp_rows.heat_table(heat),
            title=sharp_rows.heat_finding(heat),
        )
    else:
        st.info(
            "What each improvement buys is not on file: `python -m dpci_core compare --sets "
            f"{LADDER_SET}` makes it. The explanations stand without it."
        )
    parts = {part.label: part for part in words.IMPROVEMENTS}
    chosen = st.pills(
        "What one of them is, with its formula",
        list(parts),
        format_func=lambda label: parts[label].name,
        key="improvement",
    )
    if chosen:
        _explained(parts[chosen])


def _explained(part: words.Improvement) -> None:
    with st.container(border=True):
        st.markdown(part.consequence)
        st.markdown(part.mechanism)
        if part is words.CORNER:
            _smoothing()


def _smoothing() -> None:
    try:
        with st.spinner("Forecasting …", width="content"):
            curves = _SHARED.get("corner", smoothing_changes)
    except ConvergenceError as problem:
        st.info(f"The forecast for this chart could not be made: {in_words(problem)}")
        return
    shown = next(iter(curves))[0]
    lines = {c: [curves[shown, c, h] for h in SMOOTHING_H] for c in SMOOTHING_C}
    caption = (
        f"Forecast for {sharp_rows.table_words(SMOOTHING_TABLE)}, {shown.plain}, total ε = 1, "
        "published split, sharp against sharp without the corner; c is the penalty"
    )
    figure = chart.smoothing_chart(
        SMOOTHING_H, lines, caption=caption, meta={"improvement": "only corner"}, source="simulated"
    )
    table = pd.DataFrame(
        [
            {
                "combination": combination.plain,
                "c": c,
                "h": h,
                "change of mean length (%)": 100 * change,
            }
            for (combination, c, h), change in curves.items()
        ]
    )
    show("only_corner", figure, smoothing_sentence(curves), table)


Smoothing = dict[tuple[Combination, float, float], float]
"""Change of the forecast mean length, by combination, penalty c and Huber width h."""


def smoothing_changes() -> Smoothing:
    """What the Huber corner changes in the sharp forecast on the simulated census, everything else
    the same.
    """
    records = PUBLIC.records(
        ("census", "paper", SMOOTHING_TABLE.d, SMOOTHING_TABLE.n), SMOOTHING_TABLE.records
    )
    found = {}
    for privacy in compare.PUBLISHED_PARTS:
        for mechanism in compare.MECHANISMS:
            base = Comparison(
                "census",
                SMOOTHING_TABLE.n,
                SMOOTHING_TABLE.d,
                HuberSVM.name,
                privacy,
                mechanism,
                "sharp",
            )
            for c in SMOOTHING_C:
                for h in SMOOTHING_H:
                    design = replace(base.design(), loss=HuberSVM(h=h), regularization=c)
                    moments = PUBLIC.moments(records, design.loss, c)
                    plain, smoothed = (
                        forecast(
                            moments,
                            design=replace(design, calibration=switches),
                            n_draws=_SMOOTHING_DRAWS,
                        )
                        for switches in (
                            replace(Calibration.sharp(), huber_corner=False),
                            Calibration.sharp(),
                        )
                    )
                    change = smoothed.ci_length_mean / plain.ci_length_mean - 1.0
                    found[sharp_rows.combination_of(base), c, h] = change
    return found


def smoothing_sentence(curves: Smoothing) -> str:
    """The takeaway of that chart, over all combinations."""
    usual = min(change for (_, c, _), change in curves.items() if c == compare.REGULARIZATION)
    (combination, c, h), largest = min(curves.items(), key=lambda item: item[1])
    first = (
        "nothing at any h from 1 to 5"
        if abs(usual) < 5e-5
        else f"at most {number_at_most(-100 * usual)} % of the mean length for h from 1 to 5"
    )
    return (
        f"At the penalty of this page, c = {compare.REGULARIZATION:g}, the corner saves {first}. "
        f"The most it saves in this forecast is {-100 * largest:.1f} %, for {combination.plain} at "
        f"c = {c:g} and h = {h:g}."
    )


# --- the target, and the new result ---------------------------------------------------------------


def _unpenalised() -> None:
    with st.expander("For the coefficient without penalty"):
        st.markdown(words.UNPENALISED)
        st.markdown(words.UNPENALISED_MECHANISM)
        st.markdown(
            f"`{words.UNPENALISED_COMMAND}` prints coverage and length for both targets, where the "
            "truth is known: how often the penalised interval misses the unpenalised coefficient, "
            "how often the step is marked, and how often the unmarked intervals hold."
        )


def _new_result(table: DataTable | None, rows: Iterable[Compared]) -> None:
    with st.expander("Two new results, not peer-reviewed"):
        st.markdown(words.NEW_RESULT)
        if table is not None and (
            said := sharp_rows.without_new_result(sharp_rows.groups_of(rows, table))
        ):
            st.markdown(f"{sharp_rows.table_words(table)}. {said}")


def _proof() -> None:
    # Its formulas are most of the page's weight, so they are only made for who asks.
    proof = st.expander("The proof of the new result", key="sharp_proof", on_change="rerun")
    if proof.open:
        proof.markdown(words.for_streamlit(PROOF.read_text(encoding="utf-8")))
