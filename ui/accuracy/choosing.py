"""The section "Choosing privately" of the page Prediction error: what a private choice costs, how
far it reaches, and what was measured.
"""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import streamlit as st

from dpci_core.base.rows import WeightedRows
from dpci_core.studies.accuracy.histogram_curve import BINS, Mixture
from dpci_core.studies.accuracy.selection_run import SelectionRate, read_selection
from dpci_core.tuning.histograms import select_histogram
from ui.accuracy import choosing_numbers as numbers
from ui.accuracy.choosing_job import DIVISIONS, MOST_ROWS, SEED, ChoosingJob
from ui.accuracy.choosing_numbers import RUN_TITLES, Question
from ui.controls import hints
from ui.controls.job_panel import JobPanel
from ui.kit import linked
from ui.kit.bound import among
from ui.session import compute, state
from ui.session.compute import LRU
from ui.session.words import in_words
from ui.views.show import show

_SHARED = LRU(20)
_EPSILON_OPTIONS = ("0.1", "0.3", "1", "3", "10")
_SMALLEST_OPTIONS = ("1e-05", "0.0001", "0.0005", "0.002", "0.01", "0.05")
_COUNT_OPTIONS = ("2", "5", "10", "20")
_SHARE_OPTIONS = ("0.05", "0.1", "0.2", "0.3")
_EPSILON = linked.one_of(
    "choose_total", _EPSILON_OPTIONS, default="1", widget="choose_total_widget"
)
_SMALLEST = linked.one_of(
    "choose_c",
    _SMALLEST_OPTIONS,
    default="0.0005",
    widget="choose_c_widget",
)
_COUNT = linked.one_of("choose_k", _COUNT_OPTIONS, default="10", widget="choose_k_widget")
_SHARE = linked.one_of("choose_share", _SHARE_OPTIONS, default="0.1", widget="choose_share_widget")
_RUN = linked.one_of("choose_run", tuple(RUN_TITLES), default="adult", widget="choose_run_widget")
_MEASURE = linked.one_of(
    "choose_measure", ("error", "auc"), default="error", widget="choose_measure_widget"
)
_MEASURES = {"error": "Prediction error", "auc": "AUC"}
HISTOGRAM_ROWS = 20_000

LEAD = """
Several models are trained, each with noise of its own; rows that trained none of them score the models; noise on the
scores decides. At equal privacy every way to do so leaves another part of the budget for training.
"""  # noqa: E501 - Markdown

FOUND = """
**What was found here.** The default penalty, a rule from public numbers, beats every private way to tune a penalty on
the tables below wherever ε is large enough to learn from, Control included: good penalties are smaller than a stable
choice can have. **Choosing bins pays**: there the sharp price leaves stability-based validation the smallest error of
all private ways but at the smallest ε.
"""  # noqa: E501 - Markdown

HOW = """
*Stability-based validation* (Chaudhuri and Vinterbo 2013): all candidates train on the same rows T, other rows V score
them, exponential noise on the scores decides. A record lies in T or in V, so it pays for one of the two: the sharp
price counts the larger, the published one their sum. How far one training record moves a score, 1/(2nc) at the
smallest c, sets the noise: one candidate with a tiny c spoils the choice for all.

*Splits* give each candidate its part of ε, or of the rows. *Random stopping* (Liu and Talwar 2019) trains a random
candidate a random number of times and takes the best. *A candidate by lot* chooses nothing. *Control* looks at the
scores without noise and is not private; it is here to compare with. All stand at equal total ε. The choice is summed
out exactly; bands are for rows and noise. The proofs are in `docs/selection.md`.
"""  # noqa: E501 - Markdown

DIFFERS = """
- **Nothing to compare with.** The paper prints no numbers; its figures show the index chosen and the AUC.
- **Magic**, one of its two data sets, is not among the sets here and was not run.
- **Penalties** 0.001 to 1 in ten steps, and the ramp loss as score, are what we take the paper to have used.
- Our Adult is the complete training part; all methods share rows and noise in a division.
"""  # noqa: E501 - Markdown


def section(view: compute.View | None) -> None:
    """Draw the section; view: the table at hand, to measure on, or None."""
    st.markdown(LEAD)
    question = _question()
    spendings = question.spendings()
    show(
        "choosing_budget",
        numbers.budget_chart(question, spendings),
        numbers.budget_sentence(spendings),
        numbers.budget_table(spendings),
        title=numbers.budget_title(spendings),
    )
    st.markdown(f"**{numbers.reach_sentence(question)}**")
    hints.expander("How the ways differ", HOW)
    _on_file(view, question)
    _histogram(question)


def _question() -> Question:
    first, second, third, fourth = st.columns(4)
    with first:
        st.selectbox("Total ε of the choice", **among(_plain(_EPSILON_OPTIONS)), **_EPSILON.bound())
    with second:
        st.selectbox("Smallest c", **among(_plain(_SMALLEST_OPTIONS)), **_SMALLEST.bound())
    with third:
        st.selectbox("Candidates", **among(_plain(_COUNT_OPTIONS)), **_COUNT.bound())
    with fourth:
        words = {share: f"{float(share):.0%}" for share in _SHARE_OPTIONS}
        st.selectbox("Rows held out to choose", **among(words), **_SHARE.bound())
    return Question(
        epsilon=Decimal(_EPSILON.value),
        smallest=float(_SMALLEST.value),
        n_candidates=int(_COUNT.value),
        share=_SHARE.value,
        n_records=max(100, state.settings().n),
    )


def _plain(options: tuple[str, ...]) -> dict[str, str]:
    return {option: option for option in options}


# --- what was measured ----------------------------------------------------------------------------


def _on_file(view: compute.View | None, question: Question) -> None:
    st.subheader("What was measured")
    st.markdown(FOUND)
    rows, problem = _read()
    if problem:
        st.warning(problem)
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    with left:
        run: str = st.selectbox("Run", **among(RUN_TITLES), **_RUN.bound())
    mine = [row for row in rows if row.run == run]
    with right:
        is_histogram = run == "histogram"
        measure: str = st.segmented_control("Measured by", **among(_MEASURES), **_MEASURE.bound())
    command = f"python -m benchmarks.selection {run}"
    if not mine:
        st.info(f"No results of this run are on file; `{command}` measures them.")
    else:
        _run_picture(RUN_TITLES[run], mine, "error" if is_histogram else measure or "error", run)
        one = mine[0]
        st.caption(
            f"Seed {one.seed}, {one.date}, {one.versions}. `{command} --divisions {one.divisions} "
            f"--seed {one.seed}` makes it again."
        )
    hints.expander("What differs from the paper", DIFFERS)
    if view is not None:
        _here(view, question, measure or "error")


def _run_picture(title: str, rows: list[SelectionRate], measure: str, key: str) -> None:
    source = "simulated" if key in ("census", "histogram") else "public"
    show(
        f"choosing_{key}",
        numbers.run_chart(title, rows, measure, source),
        numbers.run_sentence(rows, measure, "1"),
        numbers.run_table(rows),
        title=numbers.run_title(rows, measure, "1"),
    )


def _read() -> tuple[list[SelectionRate], str]:
    """Our results; a file that cannot be read counts as none, in words."""
    try:
        return read_selection(), ""
    except (ValueError, OSError) as problem:
        return [], f"Our results on file cannot be read: {in_words(problem)}"


def _running(job: ChoosingJob) -> None:
    st.progress(job.done / DIVISIONS, text=f"Measuring: {job.done} of {DIVISIONS} divisions")


_PANEL = JobPanel(
    kind=ChoosingJob,
    name="choosing_job",
    running=_running,
    failed=st.warning,
    stop_key="cancel_choosing",
    poll=1.0,
)


def _here(view: compute.View, question: Question, measure: str) -> None:
    """The same on the table at hand, if it is nobody's."""
    if view.settings.dataset == "upload" or isinstance(view.records.X, WeightedRows):
        return
    asked = (view.records.digest, repr(question))
    job = _PANEL.job()
    if job is not None and job.state == "done":
        _SHARED.put(job.asked, (job.title, job.rows))
    known: object = _SHARED.peek(asked)
    if isinstance(known, tuple):
        title, rows = known
        show(
            "choosing_here",
            numbers.run_chart(title, rows, measure, view.records.source),
            numbers.run_sentence(rows, measure, "1"),
            numbers.run_table(rows),
            title=numbers.run_title(rows, measure, "1"),
        )
        return
    st.button(
        f"Measure on the table at hand ({DIVISIONS} divisions)",
        key="measure_choosing",
        on_click=_start,
        args=(view, question, asked),
        disabled=_PANEL.is_active,
        help=f"On {MOST_ROWS:,} of its rows at most.",
    )
    _PANEL.watch()


def _start(view: compute.View, question: Question, asked: tuple[str, str]) -> None:
    if _PANEL.is_active:  # no double click
        return
    records = view.records.complete()
    job = ChoosingJob(
        X=records.unweighted,
        y=records.y,
        question=question,
        title="The table at hand",
        asked=asked,
    )
    state.submit(_PANEL.name, job)


# --- a histogram ----------------------------------------------------------------------------------


def _histogram(question: Question) -> None:
    st.subheader("Choosing bins")
    st.markdown(
        "The same choice among numbers of bins, on a simulated column whose density is known. "
        "Bins can be told apart: the wider they are, the less one record moves a score."
    )
    mixture = Mixture()
    rng = np.random.default_rng(SEED)
    found = select_histogram(
        mixture.draw(HISTOGRAM_ROWS, rng),
        bounds=(0.0, 1.0),
        candidates=BINS,
        epsilon=question.epsilon,
        validation_share=question.share,
        source=rng,
    )
    x = np.linspace(0.0, 1.0, 301)
    show(
        "choosing_density",
        numbers.density_chart(found, x, mixture.density(x)),
        numbers.density_sentence(found),
        numbers.density_table(found, mixture),
        title=numbers.density_sentence(found),
    )
