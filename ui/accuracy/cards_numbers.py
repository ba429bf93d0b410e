"""What the section on scorecards shows of runs on file and of public numbers, and its pictures. No
Streamlit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from dpci_core.scorecards import records_for
from dpci_core.scorecards.published import hypercube_delta
from dpci_core.studies.accuracy.scorecard_run import EXACT, ScorecardRate, epsilon_for
from ui.accuracy.chart import BAND, add_measured, percent
from ui.kit.figure import Meta, finish
from ui.kit.palette import BLUE, GREEN, GRID, ORANGE, QUIET, SLATE, VIOLET
from ui.session.text import number

N_RULES = 61_088
"""Cards of six questions that differ, points -2 to 2 and thresholds -5.5 to 5.5; a test holds
`ScorecardClass(6)` to it.
"""
TABLES = {
    "adult": "Adult",
    "bank": "Bank Marketing",
    "kdd99": "KDD Cup 1999",
    "breast_cancer": "Breast cancer",
}
SIZES = {"all": "All", "2000": "2,000", "500": "500"}
WORDS = {
    "scorecard": "a card, drawn from all",
    "logistic": "logistic regression, same questions",
    "logistic_all": "logistic regression, all columns",
    "one_hot": "one-hot noise",
    "opdisc": "OPDisc, pure",
    "rspm": "RSPM",
    "opdisc_published": "OPDisc as printed (not private as published)",
    "best_card": "the best card, not private",
    "best_logistic": "logistic regression, not private",
}
_DRAWN = {
    "scorecard": (BLUE, "solid", "circle"),
    "logistic": (ORANGE, "solid", "diamond"),
    "logistic_all": (VIOLET, "dot", "star"),
    "opdisc": (GREEN, "solid", "square"),
    "rspm": (SLATE, "dot", "triangle-up"),
}
"""Pure definitions only: one with a delta would not be at the same budget."""
CLAIMED = (1.0, 1e-5)
MOST_DIMENSIONS = 400


def run_of(table: str, size: str) -> str:
    """The name of a run."""
    return table if size == "all" else f"{table}_{size}"


def _curve(rows: Sequence[ScorecardRate], method: str) -> list[ScorecardRate]:
    mine = [row for row in rows if row.method == method and row.epsilon]
    return sorted(mine, key=lambda row: float(row.epsilon))


def _level(rows: Sequence[ScorecardRate], method: str) -> float:
    return next(row.error for row in rows if row.method == method)


def cards_chart(rows: Sequence[ScorecardRate], title: str) -> go.Figure:
    """Error against epsilon: the card exactly, the others with 95 % bands; not private dashed."""
    fig = go.Figure()
    for method, style in _DRAWN.items():
        mine = _curve(rows, method)
        if not mine:
            continue
        add_measured(
            fig,
            np.array([float(row.epsilon) for row in mine]),
            np.array([row.error for row in mine]),
            None if method in EXACT else np.array([row.error_se for row in mine]),
            key=method,
            name=WORDS[method],
            style=style,
            width=3 if method == "scorecard" else 2,
        )
    ends = [float(row.epsilon) for row in _curve(rows, "scorecard")]
    fig.add_scatter(
        x=[ends[0], ends[-1]],
        y=[_level(rows, "best_card")] * 2,
        name=WORDS["best_card"],
        mode="lines",
        line={"color": QUIET, "dash": "dash", "width": 2},
    )
    ticks = [row.epsilon for row in _curve(rows, "scorecard")]
    fig.update_xaxes(
        title="total ε",
        type="log",
        gridcolor=GRID,
        tickvals=list(map(float, ticks)),
        ticktext=ticks,
    )
    fig.update_yaxes(title="share of mistakes", gridcolor=GRID, automargin=True, rangemode="tozero")
    one, other = _curve(rows, "logistic")[0], _curve(rows, "opdisc")[0]
    caption = (
        f"{title}; {one.n_records:,} records, half of them positive; six yes/no questions; the "
        f"card's line is exact, bands 95 % for {one.draws} fits and {other.draws} draws; the whole "
        "ε for the rule, mistakes on the same records"
    )
    meta: Meta = {"cards": one.run, "n": one.n_records}
    return finish(fig, caption=caption, meta=meta, source="public", height=460, legend_rows=4)


def needs_sentence(rows: Sequence[ScorecardRate]) -> str:
    """Which epsilon each way needs for one and the same error."""
    # Where every class has a rule that is so good: OPDisc and RSPM have a smaller one.
    ends = [min(row.error for row in _curve(rows, m)) for m in ("scorecard", "opdisc", "rspm")]
    asked = (max(ends) + max(_curve(rows, "scorecard")[0].error, max(ends))) / 2.0
    parts = []
    for method, words in (
        ("scorecard", "choosing a card"),
        ("logistic", "logistic regression on the same questions"),
        ("opdisc", "OPDisc"),
        ("rspm", "RSPM"),
    ):
        curve = _curve(rows, method)
        found = epsilon_for(curve, asked)
        if found is None:
            parts.append(f"{words} more than {curve[-1].epsilon}")
        else:
            at_most = "at most " if found == float(curve[0].epsilon) else ""
            parts.append(f"{words} {at_most}{found:.2g}")
    return f"Needed ε to be wrong for {percent(asked)}: {', '.join(parts)}."


def other_way_sentence(rows: Sequence[ScorecardRate]) -> str:
    """From where on a regression errs less than the card, where it does."""
    card = {row.epsilon: row.error for row in _curve(rows, "scorecard")}
    for method in ("logistic_all", "logistic"):
        for row in _curve(rows, method):
            if row.error + BAND * row.error_se < card[row.epsilon]:
                return (
                    f"From ε = {row.epsilon} on, {WORDS[method]}, errs less: "
                    f"{percent(row.error)} against {percent(card[row.epsilon])}."
                )
    return "No regression here errs less than the card at any ε of the chart."


def cards_table(rows: Sequence[ScorecardRate]) -> pd.DataFrame:
    """One row a point."""
    return pd.DataFrame(
        [
            {
                "method": WORDS[row.method],
                "ε": float(row.epsilon) if row.epsilon else None,
                "share of mistakes": row.error,
                "standard error": None if row.method in EXACT else row.error_se,
                "spread of single draws": None if row.method in EXACT else row.error_sd,
                "within one point of the best": row.within if row.within else None,
            }
            for row in rows
        ]
    )


def card_table(row: ScorecardRate) -> pd.DataFrame:
    """The card of a seeded draw: points a question, and the threshold."""
    card = row.drawn
    assert card is not None
    lines = [
        {
            "question": question.name.replace(">=", "≥"),
            "points for a yes": f"{points:+d}" if points else "0",
        }
        for question, points in zip(row.questions, card.points, strict=True)
    ]
    says = {"question": "Answer yes if the sum is above", "points for a yes": f"{card.threshold:g}"}
    return pd.DataFrame([*lines, says])


def card_sentence(row: ScorecardRate) -> str:
    """How sure the draw of a card is."""
    near = "more than 99 %" if row.within > 0.99 else f"{100 * row.within:.0f} %"
    return (
        f"Drawn from {N_RULES:,} cards at ε = {row.epsilon} by permute-and-flip, simulated with a "
        "seed. Another draw could give other points; cards are wrong for "
        f"{percent(row.error)} on average, and with {near} chance for at most one of a "
        "hundred records more than the best card is."
    )


def planner_sentence(epsilon: str) -> str:
    """Records for a card within one point of the best, from public numbers."""
    needed = records_for(0.01, n_rules=N_RULES, epsilon=epsilon)
    return (
        f"At ε = {epsilon}, within one point of the best card needs n ≥ {needed:,} records that "
        "choose, whatever the data are, with 95 %."
    )


# --- the hypercube --------------------------------------------------------------------------------


def cube_delta(d: int, *, share: float = 1.0) -> float:
    """The least true delta at the claimed epsilon."""
    epsilon, delta = CLAIMED
    return hypercube_delta(d, epsilon=epsilon, delta=delta, noise_share=share)


def cube_chart(d: int) -> go.Figure:
    """True delta against the dimension, and the claimed one."""
    x = np.unique(np.round(np.geomspace(5, MOST_DIMENSIONS, 60)).astype(int))
    fig = go.Figure()
    for share, name, colour, dash in (
        (1.0, "true δ, noise as printed", ORANGE, "solid"),
        (0.5, "true δ, half the noise, as in the authors' code", VIOLET, "dot"),
    ):
        fig.add_scatter(
            x=x,
            y=[cube_delta(int(one), share=share) for one in x],
            name=name,
            mode="lines",
            line={"color": colour, "dash": dash, "width": 2.5},
        )
    fig.add_scatter(
        x=[x[0], x[-1]],
        y=[CLAIMED[1]] * 2,
        name="claimed δ = 0.00001",
        mode="lines",
        line={"color": QUIET, "dash": "dash", "width": 2},
    )
    fig.add_scatter(
        x=[d], y=[cube_delta(d)], name=f"d = {d}", mode="markers",
        marker={"color": ORANGE, "size": 11},
    )  # fmt: skip
    fig.update_xaxes(title="dimensions d", gridcolor=GRID)
    fig.update_yaxes(title="δ at ε = 1, at least", gridcolor=GRID, range=[-0.02, 1.0])
    meta: Meta = {"cube": d}
    caption = "closed form, no simulation: all corners of a cube, one record, a loss of 0 or 1"
    return finish(fig, caption=caption, meta=meta, source="simulated", height=360, legend_rows=3)


def cube_sentence(d: int) -> str:
    """Claimed and true delta."""
    true, half = cube_delta(d), cube_delta(d, share=0.5)
    if true == 0.0:
        said = f"this example finds no breach at d = {d} with the printed noise"
    else:
        said = (
            f"at d = {d} the true δ is at least {number(true)}, {true / CLAIMED[1]:,.0f} times that"
        )
    return f"Claimed: ε = 1 with δ = 0.00001; {said}; with half the noise {number(half)}."


def cube_table() -> pd.DataFrame:
    """Some dimensions."""
    return pd.DataFrame(
        [
            {
                "d": d,
                "claimed δ": CLAIMED[1],
                "true δ, at least": cube_delta(d),
                "half the noise": cube_delta(d, share=0.5),
            }
            for d in (5, 10, 21, 30, 50, 85, 100, 200, 400)
        ]
    )
