"""The Reproduce page: published tables beside our own full run, and any cell again on this
machine.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import streamlit as st

from dpci_core.base.array import Array
from dpci_core.base.places import HOME
from dpci_core.studies.reproduce import (
    IPUMS,
    PANELS,
    SETS,
    Cell,
    Reproduced,
    cells_of,
    difference_in_errors,
    read_run,
)
from ui.controls.hints import link_problem
from ui.controls.job_panel import JobPanel
from ui.kit import linked
from ui.kit.palette import WORDS
from ui.reproduce.chart import DATASET_WORDS, combination_of, coverage_chart, told
from ui.reproduce.job import CellsJob
from ui.session import jobs, state
from ui.session.results import SweepCurve
from ui.session.text import number_at_most
from ui.views import sweep
from ui.views.show import show

COMMAND = (
    "python -m dpci_core reproduce table3 table4 table2 -k 1000 -m 1000 --seed 20261121 --out "
    "data/reproduction.csv"
)
NOTE = HOME / "docs" / "reproduction.md"
WAITING = "Waiting: {ahead} before this one."
_TITLES = {
    "table2": "Table 2: KDD Cup 99, n from 50,000 to 450,000",
    "table3": "Table 3: Adult, d from 1 to 10",
    "table4": "Table 4: Bank Marketing, ε₁ from 0.3 to 1",
    "table5": "Table 5: IPUMS-US, ε₂ from 0.1 to 1",
    "table6": "Table 6: IPUMS-BR, ε₃ from 0.1 to 1",
}
_NAMES = (*_TITLES, *(panel.name for panel in PANELS))
_SHOWN = linked.one_of("shown", _NAMES, default="table2", widget="what")
_SWEPT = {"2": "n", "3": "d", "4": "epsilon_1", "5": "epsilon_2", "6": "epsilon_3"}
_WORDS = {
    "n": "Records n",
    "d": "Features d",
    "epsilon_1": "ε₁",
    "epsilon_2": "ε₂",
    "epsilon_3": "ε₃",
}


def page() -> None:
    """Draw the page."""
    st.title("Replication")
    st.markdown(
        "Wang, Kifer and Lee published how often their private intervals contain the coefficient "
        "penalised at c (Tables 2-6, promised 95 %) and how long they are (Figures 1-4). Here are "
        "their numbers **beside ours**, and a button that computes any of them again."
    )
    link_problem()
    name = st.selectbox("Table or figure", _NAMES, format_func=_title, **_SHOWN.bound())
    cells = cells_of(name)
    if name.startswith("table"):
        _table(name, cells)
    else:
        _figure(name, cells)
    with st.expander("Why some numbers differ", expanded=False):
        st.markdown(NOTE.read_text(encoding="utf-8"))


def _title(name: str) -> str:
    if name in _TITLES:
        return _TITLES[name]
    panel = next(p for p in PANELS if p.name == name)
    number, letters = name[6], name[7:].rstrip("2")
    losses = " and ".join(WORDS[loss] for loss in panel.losses)
    return (
        f"Figure {number} {', '.join(letters)}: {DATASET_WORDS[panel.dataset]}, {losses}, "
        f"{_WORDS[panel.swept]} swept"
    )


def _table(name: str, cells: tuple[Cell, ...]) -> None:
    swept = _SWEPT[name.removeprefix("table")]
    is_ipums = cells[0].dataset in IPUMS
    recent = _recent()
    ours = read_run()
    found = {c.key: recent.get(c.key) or ours.get(c.key) for c in cells}
    if is_ipums:
        st.info(
            "Published values only: IPUMS terms do not allow a copy of the data here. With your "
            f"own extract, `python -m dpci_core reproduce {name} --ipums FILE.csv` computes the "
            "other column."
        )
    names = told(cells)
    combinations = list(names)
    shown = st.multiselect(
        "Shown in the chart",
        combinations,
        default=combinations[:4] if not is_ipums else combinations[:2],
        format_func=names.__getitem__,
        key=f"shown_{name}",
    )
    chosen = [c for c in cells if combination_of(c) in shown]
    if chosen:
        figure = coverage_chart(
            chosen, found, names=names, swept=swept, label=_WORDS[swept], meta={"table": name}
        )
        show(
            f"published_{name}",
            figure,
            _sentence(cells, found),
            comparison_table(cells, found, swept),
            title=_finding(cells, found),
        )
    if not is_ipums:
        _provenance([f for f in found.values() if f is not None])
        _recompute(name, cells, swept)


def comparison_table(
    cells: tuple[Cell, ...], found: dict[str, Reproduced | None], swept: str
) -> pd.DataFrame:
    """Published, ours, difference in points and in standard errors."""
    rows, names = [], told(cells)
    for cell in cells:
        mine = found[cell.key]
        row = {
            "combination": names[combination_of(cell)],
            _WORDS[swept]: getattr(cell, swept),
            "published": cell.coverage,
        }
        if mine is not None and cell.coverage is not None:
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


def _finding(cells: tuple[Cell, ...], found: dict[str, Reproduced | None]) -> str:
    """How far ours are from the published values."""
    pairs = [
        (c.coverage, f) for c in cells if (f := found[c.key]) is not None and c.coverage is not None
    ]
    if not pairs:
        return f"Published coverage lies between {_span(cells)}"
    gaps = np.array([f.coverage - p for p, f in pairs])
    errors = np.array([difference_in_errors(p, f) for p, f in pairs])
    mean, largest = 100 * gaps.mean(), 100 * gaps[np.abs(gaps).argmax()]
    return (
        f"Our coverage is on average {_points(mean)} the published; largest gap "
        f"{_points(largest)}, {_apart(errors)}"
    )


def _apart(errors: Array) -> str:
    """How many of the gaps are more than noise."""
    many = int((np.abs(errors) > 3).sum())
    if not many:
        return "none beyond three standard errors"
    return (
        f"{many} of {errors.size} beyond three standard errors, one by {np.abs(errors).max():.0f}"
    )


def _points(gap: float) -> str:
    return f"{abs(gap):.1f} points {'above' if gap > 0 else 'below'}"


def _sentence(cells: tuple[Cell, ...], found: dict[str, Reproduced | None]) -> str:
    pairs = [
        (c.coverage, f) for c in cells if (f := found[c.key]) is not None and c.coverage is not None
    ]
    if not pairs:
        return f"{len(cells)} published values, between {_span(cells)}; none recomputed here."
    gaps = np.array([f.coverage - p for p, f in pairs])
    errors = np.array([difference_in_errors(p, f) for p, f in pairs])
    return (
        f"{len(pairs)} of {len(cells)} published values recomputed: ours are on average "
        f"{100 * gaps.mean():+.2f} points away, at most "
        f"{number_at_most(100 * np.abs(gaps).max())}; {_apart(errors)} (the note below says why)."
    )


def _span(cells: tuple[Cell, ...]) -> str:
    values = [c.coverage for c in cells if c.coverage is not None]
    return f"{100 * min(values):.1f} and {100 * max(values):.1f} %"


def _provenance(found: list[Reproduced]) -> None:
    if not found:
        return
    stored = [f for f in found if f.cell not in _recent()]
    runs = Counter(
        f"{'on file' if f in stored else 'computed here'}, k = {f.k:,} bootstrap replicates, seed "
        f"{f.seed}, {f.date}, {f.versions}"
        for f in found
    )
    said = "; ".join(f"{count} of {len(found)} {run}" for run, count in runs.items())
    st.caption(f"Ours: {said}. The run on file was made by `{COMMAND}`.")


def _recent() -> dict[str, Reproduced]:
    job = _PANEL.job()
    return dict(job.found) if job is not None else {}


def _recompute(name: str, cells: tuple[Cell, ...], swept: str) -> None:
    st.header("Compute again")
    if _PANEL.is_gone:
        st.info(jobs.GONE.format(what="computation"))
    active = _PANEL.is_active
    if not _has_data(cells[0].dataset):
        key = SETS[cells[0].dataset]
        st.info(
            f"{DATASET_WORDS[cells[0].dataset]} is not on this machine. "
            f"Get it with `python -m dpci_core data get {key}`."
        )
        return
    left, middle, right = st.columns(3, vertical_alignment="bottom")
    values = list(dict.fromkeys(str(getattr(c, swept)) for c in cells))
    picked = left.multiselect(
        _WORDS[swept], values, default=values[:1], key=f"values_{name}", disabled=active
    )
    k = middle.number_input(
        "k, whole intervals", 20, jobs.LARGEST_K, 200, key="cells_k", disabled=active
    )
    m = right.number_input("m, fits", 20, jobs.LARGEST_M, 1_000, key="cells_m", disabled=active)
    names = told(cells)
    combinations = list(names)
    which = st.multiselect(
        "Combinations",
        combinations,
        default=combinations,
        format_func=names.__getitem__,
        key=f"which_{name}",
        disabled=active,
    )
    chosen = tuple(
        c for c in cells if str(getattr(c, swept)) in picked and combination_of(c) in which
    )
    st.button(
        f"Compute {len(chosen)} cells",
        type="primary",
        key="start_cells",
        on_click=_start,
        args=(name, chosen, int(k), int(m)),
        disabled=active or not chosen,
    )
    if problem := state.queue_problem():
        st.warning(problem)
    _PANEL.watch()


def _has_data(dataset: str) -> bool:
    from dpci_core.datasets import list_datasets

    return any(info.key == SETS.get(dataset) and info.available for info in list_datasets())


def _start(name: str, cells: tuple[Cell, ...], k: int, m: int) -> None:
    if not _PANEL.is_active:  # no double click
        state.submit(_PANEL.name, CellsJob(name=name, cells=cells, k=k, m=max(m, k), seed=1))


def _running(job: CellsJob) -> None:
    now, done = job.progress, len(job.found)
    share = (now.done / now.total) if now is not None else 0.0
    st.progress(
        share,
        text=f"{done} of {len(job.cells)} cells done; the present table is at {100 * share:.0f} %",
    )


def _ended(job: CellsJob) -> None:
    words = "Cancelled" if job.state == "cancelled" else "Done"
    st.success(
        f"{words}: {len(job.found)} of {len(job.cells)} cells, k = {job.k:,}; they stand in for "
        "the run on file."
    )


_PANEL = JobPanel(
    kind=CellsJob,
    name="cells_job",
    running=_running,
    ended=_ended,
    stop_key="cancel_cells",
    waiting=WAITING,
    where=jobs.where,
)


def _figure(name: str, cells: tuple[Cell, ...]) -> None:
    panel = next(p for p in PANELS if p.name == name)
    if panel.dataset in IPUMS:
        st.info(
            "This panel needs your own IPUMS extract: its terms do not allow a copy here. "
            f"`python -m dpci_core reproduce {name} --ipums FILE.csv` computes it."
        )
        return
    st.caption(
        "The plotted numbers were never published, so there is nothing to set beside ours; the "
        "shapes can be compared."
    )
    recent = {key: value for key, value in _recent().items() if key in {c.key for c in cells}}
    curves = _curves(cells, recent, panel.swept)
    if curves:
        y_label = (
            "Length for the first coefficient"
            if panel.swept == "d"
            else "Mean length, coefficients penalised at c"
        )
        caption = (
            f"{_title(name)}; k = {next(iter(recent.values())).k:,}, m = "
            f"{next(iter(recent.values())).m:,}"
        )
        figure = sweep.sweep_chart(
            curves,
            x_label=_WORDS[panel.swept],
            x_log=False,
            current=None,
            caption=caption,
            meta={"figure": name},
            y_label=y_label,
            source="public",
        )
        sentence = sweep.sweep_sentence(curves, x_label=_WORDS[panel.swept])
        show(
            f"figure_{name}",
            figure,
            sentence,
            sweep.sweep_table(curves, x_label=_WORDS[panel.swept]),
            title=f"Interval length over {_WORDS[panel.swept]}, computed again",
        )
    _recompute(name, cells, panel.swept)


def _curves(cells: tuple[Cell, ...], found: dict[str, Reproduced], swept: str) -> list[SweepCurve]:
    """Curves through the recomputed cells of each combination."""
    curves = []
    for combination in dict.fromkeys(map(combination_of, cells)):
        mine = [
            (c, found[c.key]) for c in cells if combination_of(c) == combination and c.key in found
        ]
        if mine:
            curves.append(
                SweepCurve(
                    combination=combination,
                    x=np.array([float(getattr(c, swept)) for c, _ in mine]),
                    ci_length=np.array([f.ci_length for _, f in mine]),
                    ci_sd=np.array([f.ci_length_sd for _, f in mine]),
                    vi_length=np.array([f.vi_length for _, f in mine]),
                    grades=("valid",) * len(mine),
                )
            )
    return curves
