"""What the section on choosing privately computes from public numbers, and its pictures. No
Streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpci_core.losses import Logistic
from dpci_core.privacy.budget import to_float_down
from dpci_core.studies.accuracy.histogram_curve import Mixture
from dpci_core.studies.accuracy.selection_run import SelectionRate
from dpci_core.tuning import SELECTION_METHODS, Learner, SelectionMethod, Spending, spend
from dpci_core.tuning.histograms import HistogramResult
from dpci_core.tuning.stability import regularization_for_reach
from ui.accuracy.chart import add_measured
from ui.kit.figure import Meta, finish
from ui.kit.palette import BLUE, GREEN, GRID, ORANGE, QUIET, SLATE, VIOLET
from ui.session.text import number, number_at_most

WORDS = {
    "control": "Control (not private)",
    "stability": "stability, sharp price",
    "stability_published": "stability, as published",
    "alpha_split": "budget split between candidates",
    "data_split": "rows split between candidates",
    "random_stopping": "random stopping",
    "random": "a candidate by lot",
    "default": "default penalty, not tuned",
}
_STYLES = {
    "control": (QUIET, "dash", "x"),
    "stability": (BLUE, "solid", "circle"),
    "stability_published": (BLUE, "dot", "circle-open"),
    "alpha_split": (ORANGE, "solid", "diamond"),
    "data_split": (ORANGE, "dot", "diamond-open"),
    "random_stopping": (GREEN, "solid", "square"),
    "random": (SLATE, "dot", "triangle-up"),
    "default": (VIOLET, "solid", "star"),
}
WANTED_REACH = 0.1
"""What the sentence says a smallest c would bring the choice to."""
NEARLY_BLIND = 0.25
"""Of the score: no two sensible candidates are so far apart."""
SPREAD = 100.0
"""Largest over smallest c of the candidates; only the smallest plays a part."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is set on the page: all public numbers."""

    epsilon: Decimal
    smallest: float
    n_candidates: int
    share: str
    n_records: int

    @property
    def learners(self) -> list[Learner]:
        """Candidates from the smallest c upward, spaced evenly in its logarithm."""
        steps = np.linspace(0.0, 1.0, self.n_candidates)
        return [
            Learner(
                loss=Logistic(),
                method="objective_tight",
                regularization=float(self.smallest * SPREAD**step),
            )
            for step in steps
        ]

    def spending(self, method: SelectionMethod) -> Spending:
        """What a method spends on what."""
        return spend(
            method,
            epsilon=self.epsilon,
            learners=self.learners,
            n_records=self.n_records,
            validation_share=self.share,
        )

    def spendings(self) -> list[Spending]:
        """Of every method that these rows are enough for."""
        found = []
        for method in SELECTION_METHODS:
            try:
                found.append(self.spending(method))
            except ValueError:  # fewer rows than candidates
                continue
        return found


def reach_sentence(question: Question) -> str:
    """How far the choice of the sharp method can be off, and which c would help."""
    spending = question.spending("stability")
    plan = spending.plan
    assert plan is not None
    reach = plan.reach(question.n_candidates)
    if reach <= WANTED_REACH:
        return (
            f"With 95 % the choice is off by at most {number_at_most(reach)} on a score between 0 "
            "and 1: it can tell the candidates apart."
        )
    is_die = plan.is_blind(question.n_candidates)
    off = "1, the whole score" if is_die else f"{number(reach)} on a score between 0 and 1"
    end = "it sees large differences only."
    if reach >= NEARLY_BLIND:
        end = "it is a die." if is_die else "it is little better than a die."
    c = regularization_for_reach(
        reach=WANTED_REACH,
        epsilon=question.epsilon,
        n_train=spending.n_train,
        n_validation=spending.n_validation,
        n_candidates=question.n_candidates,
    )
    helped = (
        "No penalty would change that with so few rows to choose with and this ε."
        if c is None
        else f"A smallest c of {c:.2g} would bring it to {WANTED_REACH:g}."
    )
    return f"With 95 % the choice is off by up to {off}: {end} {helped}"


def budget_table(spendings: Sequence[Spending]) -> pd.DataFrame:
    """One row a method."""
    return pd.DataFrame(
        [
            {
                "method": WORDS[one.method],
                "ε of one training": float(one.train),
                "rows behind a model": one.n_train,
                "rows behind a score": one.n_validation or None,
                "trainings": one.runs,
                "noise on a score": one.scale,
                "off by at most (95 %)": one.reach(),
            }
            for one in spendings
        ]
    )


def budget_chart(question: Question, spendings: Sequence[Spending]) -> go.Figure:
    """Bars: the epsilon left for training, every method at the same total."""
    fig = go.Figure()
    fig.add_bar(
        y=[_in_two_lines(one) for one in spendings],
        x=[float(one.train) for one in spendings],
        orientation="h",
        marker={"color": [_STYLES[one.method][0] for one in spendings]},
        text=[f"{float(one.train):.3g}" for one in spendings],
        textposition="outside",
        showlegend=False,
    )
    total = to_float_down(question.epsilon)
    fig.update_xaxes(title="ε of one training", range=[0, total * 1.25], gridcolor=GRID)
    fig.update_yaxes(autorange="reversed", automargin=True)
    caption = (
        f"total ε {question.epsilon}, {question.n_candidates} candidates, "
        f"n {question.n_records:,}, "
        f"{float(question.share):.0%} of the rows score, smallest c {question.smallest:g}; "
        "computed from public numbers"
    )
    meta: Meta = {"choosing": "budget", "epsilon": str(question.epsilon)}
    return finish(fig, caption=caption, meta=meta, source="simulated", height=340, legend_rows=0)


def _in_two_lines(one: Spending) -> str:
    """The name of a method beside its bar, short enough for a narrow screen."""
    words = WORDS[one.method].replace(" between", "<br>between").replace(", ", ",<br>")
    return words + f", {one.n_train:,}" * (one.method == "data_split")


def budget_title(spendings: Sequence[Spending]) -> str:
    """The finding: what leaves most for one training."""
    best = max(spendings, key=lambda one: one.train)
    rows = f" on {best.n_train:,} rows" * (best.method == "data_split")
    return (
        f"Most is left for one training by {WORDS[best.method]}: ε = {float(best.train):.3g}{rows}"
    )


def budget_sentence(spendings: Sequence[Spending]) -> str:
    """What the bars say, from the most to the least."""
    order = sorted(spendings, key=lambda one: one.train, reverse=True)
    parts = [
        f"{WORDS[one.method]} {float(one.train):.3g}"
        + (f" (on {one.n_train:,} rows)" if one.method == "data_split" else "")
        for one in order
    ]
    return f"Left for one training, at equal privacy: {', '.join(parts)}."


# --- what was measured ----------------------------------------------------------------------------

RUN_TITLES = {
    "adult": "Adult, encoding “paper”, the published penalties",
    "adult_scaled": "Adult, columns scaled by their spreads, the published penalties",
    "adult_small": "Adult, encoding “paper”, smaller penalties",
    "census": "Simulated census, 400,000 rows",
    "histogram": "A histogram: how many bins?",
}


def run_chart(title: str, rows: Sequence[SelectionRate], measure: str, source: str) -> go.Figure:
    """Error or AUC against epsilon with 95 % bands; Control dashed."""
    fig = go.Figure()
    for method in WORDS:
        mine = sorted((row for row in rows if row.method == method), key=lambda r: float(r.epsilon))
        if not mine:
            continue
        x = np.array([float(row.epsilon) for row in mine])
        value, se = _values(mine, measure)
        add_measured(fig, x, value, se, key=method, name=WORDS[method], style=_STYLES[method])
    is_histogram = all(row.auc == 0.0 for row in rows)
    words = "AUC" if measure == "auc" else "prediction error"
    epsilons = list(dict.fromkeys(row.epsilon for row in rows))
    fig.update_xaxes(
        title="total ε",
        type="log",
        gridcolor=GRID,
        tickvals=[float(one) for one in epsilons],
        ticktext=epsilons,
    )
    fig.update_yaxes(
        title="integrated squared error" if is_histogram else words,
        gridcolor=GRID,
        automargin=True,
        type="log" if is_histogram else "linear",
    )
    if is_histogram:
        steps = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
        fig.update_yaxes(tickvals=steps, ticktext=[f"{step:g}" for step in steps])
    one = rows[0]
    caption = (
        f"{title}; {one.n_train:,} rows train, {one.n_validation:,} choose, {one.divisions} "
        "divisions; bands 95 %"
    )
    meta: Meta = {"choosing": one.run, "measure": measure}
    return finish(fig, caption=caption, meta=meta, source=source, height=460, legend_rows=4)


def _values(rows: Sequence[SelectionRate], measure: str) -> tuple[np.ndarray, np.ndarray]:
    value = np.array([row.auc if measure == "auc" else row.error for row in rows])
    se = np.array([row.auc_se if measure == "auc" else row.error_se for row in rows])
    return value, se


def run_title(rows: Sequence[SelectionRate], measure: str, epsilon: str) -> str:
    """The finding at one epsilon: the best private way."""
    here = [row for row in rows if row.epsilon == epsilon and row.method != "control"]
    here = here or list(rows)
    value, _ = _values(here, measure)
    best = int(np.argmax(value) if measure == "auc" else np.argmin(value))
    name = "AUC" if measure == "auc" else "error"
    way = WORDS[here[best].method]
    return f"The best private way at ε = {here[best].epsilon}: {way}, {name} {value[best]:.3f}"


def run_sentence(rows: Sequence[SelectionRate], measure: str, epsilon: str) -> str:
    """Every method at one epsilon, the best first."""
    here = [row for row in rows if row.epsilon == epsilon] or list(rows)
    value, _ = _values(here, measure)
    order = np.argsort(-value if measure == "auc" else value)
    parts = [f"{WORDS[here[i].method]} {value[i]:.3f}" for i in order]
    name = "AUC" if measure == "auc" else "Error"
    return f"{name} at ε = {here[0].epsilon}, the best first: {', '.join(parts)}."


def run_table(rows: Sequence[SelectionRate]) -> pd.DataFrame:
    """One row a point, with how often each candidate was chosen."""
    return pd.DataFrame(
        [
            {
                "method": WORDS[row.method],
                "ε": float(row.epsilon),
                "error": row.error,
                "standard error": row.error_se,
                "AUC": row.auc or None,
                "above Control": row.gap,
                "standard error of that": row.gap_se,
                "ε of one training": float(row.train),
                "chosen (candidate: share)": ", ".join(
                    f"{name}: {share:.0%}"
                    for name, share in zip(row.candidates.split(), row.shares, strict=False)
                ),
            }
            for row in rows
        ]
    )


# --- a histogram ----------------------------------------------------------------------------------


def density_chart(found: HistogramResult, x: np.ndarray, truth: np.ndarray) -> go.Figure:
    """The released histogram beside the density that was drawn from."""
    edges = found.edges
    fig = go.Figure()
    fig.add_bar(
        x=(edges[:-1] + edges[1:]) / 2,
        y=found.density,
        width=np.diff(edges),
        name=f"private histogram, {found.n_bins} bins",
        marker={"color": BLUE, "line": {"width": 0}},
        opacity=0.6,
    )
    fig.add_scatter(x=x, y=truth, name="true density", line={"color": ORANGE, "width": 2.5})
    fig.update_xaxes(title="value of the simulated column", gridcolor=GRID)
    fig.update_yaxes(title="density", gridcolor=GRID, automargin=True)
    caption = (
        f"total ε {found.epsilon}; {found.spending.n_train:,} rows counted, "
        f"{found.spending.n_validation:,} choose the bins; one draw of the noise, simulated"
    )
    meta: Meta = {"choosing": "density", "bins": found.n_bins}
    return finish(fig, caption=caption, meta=meta, source="simulated", height=360, legend_rows=1)


def density_sentence(found: HistogramResult) -> str:
    """What was chosen."""
    return (
        f"With ε = {found.epsilon} for everything this draw chose {found.n_bins} bins; "
        f"{float(found.spending.train):.3g} of it was left for the counts"
    )


def density_table(found: HistogramResult, mixture: Mixture) -> pd.DataFrame:
    """One row a bin."""
    edges = found.edges
    return pd.DataFrame(
        {
            "from": edges[:-1],
            "to": edges[1:],
            "private share": found.shares,
            "true share": mixture.shares(found.n_bins),
        }
    )
