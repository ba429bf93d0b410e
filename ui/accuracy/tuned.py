"""Test error against n under private tuning, on the page Accuracy: Figures 4 and 5 of [CMS], of
which we have ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import plotly.graph_objects as go
import streamlit as st
from plotly.subplots import make_subplots
from scipy.special import stdtrit

from dpci_core import datasets
from dpci_core.studies.accuracy.published_tuning import (
    DATASET,
    EPSILONS,
    PUBLISHED_SIZES,
    TunedCell,
    TunedRate,
    read_tuned,
)
from dpci_core.tuning.learners import METHODS, Method
from ui.accuracy.chart import percent
from ui.accuracy.numbers import METHOD_WORDS, learner_style
from ui.controls import hints
from ui.kit.figure import Meta, finish
from ui.kit.palette import GRID, QUIET
from ui.session.words import in_words
from ui.views.show import show

TITLES = {
    "figure4": "Figure 4: KDD Cup 99, private tuning, logistic regression, test error against n",
    "figure5": "Figure 5: KDD Cup 99, private tuning, Huber SVM, test error against n",
}
LEVEL = 0.95
"""Of the error bars."""
_METHODS: tuple[Method, ...] = METHODS[:3]

HOW = """
Five penalties are tried. Each trains on n rows of its own with the whole ε; other rows, on which nothing was trained,
choose one of the five models by the exponential mechanism, with the same ε (Algorithm 4): no row is used twice, so all
of it costs ε. Further rows say how often the chosen model is wrong. *Without privacy* every penalty trains on the rows
of all five, and the model with the fewest mistakes is taken.

The choice is made among models that have their noise already. It finds a good penalty, and it also finds the model
that was lucky: that is why it can beat the best single penalty trained on n rows (in the table).
"""  # noqa: E501 - Markdown

WHAT_DIFFERS = f"""
- **Nothing to compare with.** The plotted values were never printed: these curves stand alone.
- **Rows.** The paper trained each candidate on {PUBLISHED_SIZES[0]:,}-{PUBLISHED_SIZES[1]:,} rows of the full file, and
  on five times as many without privacy. The 10 % file has 494,021 rows, enough for 88,800 a candidate and 444,000
  without privacy; there the curves stop. The sizes below {PUBLISHED_SIZES[0]:,} are ours.
- **Penalties.** The five Λ are our choice: the five largest of Table 2, among which the private learners are at their
  best. Without privacy the same five are tried; smaller ones would bring the error down to about 0.13 % (Table 2).
- **Which is which.** That Figure 4 is logistic regression and Figure 5 the Huber SVM is our reading of the set-up; both
  together hold the same curves.
- **Encoding.** Theirs, without a constant, but the 10 % file has 118 columns; theirs had 119.
- The rows held out are as many as theirs; the runs are told below the chart.
"""  # noqa: E501 - Markdown


def section(part: str) -> None:
    """Draw the curves of a figure."""
    found, problem = _on_file()
    if problem:
        st.warning(problem)
    say_if_missing(DATASET)
    mine = {cell: row for cell, row in found.items() if cell.part == part}
    command = f"python -m dpci_core accuracy published {part}"
    if not mine:
        st.info(
            f"No results of ours are on file, and none were printed; `{command}` measures them."
        )
        return
    figure = tuned_chart(part, mine)
    show(
        f"accuracy_{part}",
        figure,
        tuned_sentence(mine),
        tuned_table(mine),
        title=tuned_title(mine),
    )
    one, sizes = next(iter(mine.values())), sorted({cell.n_train for cell in mine})
    st.caption(
        f"Ours: {one.permutations} permutations of the table with {one.runs} runs each (theirs 5 "
        f"with 50), {one.held_out:,} rows to choose with and as many to test, seed {one.seed}, "
        f"{one.date}, {one.versions}. `{command} --sizes {' '.join(map(str, sizes))} "
        f"--permutations {one.permutations} --draws {one.runs} --seed {one.seed}` makes it again."
    )
    hints.expander("How this is measured", HOW)
    hints.expander("What differs", WHAT_DIFFERS)


def say_if_missing(key: str) -> None:
    """How to get a set that is not on this machine."""
    info = next(one for one in datasets.list_datasets() if one.key == key)
    if not info.available:
        st.caption(
            f"{info.title} is not on this machine; with it, the run can be made again. Get it: "
            f"`{info.how_to_get}`."
        )


def _on_file() -> tuple[dict[TunedCell, TunedRate], str]:
    """Our results; a file that cannot be read counts as none, in words."""
    try:
        return read_tuned(), ""
    except (ValueError, OSError) as problem:
        return {}, f"Our results on file cannot be read: {in_words(problem)}"


def _curve(mine: Mapping[TunedCell, TunedRate], method: Method, epsilon: str) -> list[TunedRate]:
    """What was measured of a method at an epsilon, which plays no part without privacy, by n."""
    wanted = "" if method == "non_private" else epsilon
    return sorted(
        (row for cell, row in mine.items() if (cell.method, cell.epsilon) == (method, wanted)),
        key=lambda row: row.n_train,
    )


def tuned_chart(part: str, mine: Mapping[TunedCell, TunedRate]) -> go.Figure:
    """One panel an epsilon; error bars for the permutations."""
    fig = make_subplots(rows=len(EPSILONS), cols=1, shared_xaxes=True, vertical_spacing=0.06)
    for row, epsilon in enumerate(EPSILONS, start=1):
        for method in _METHODS:
            _trace(fig, _curve(mine, method, epsilon), method, row)
        _guessing(fig, _curve(mine, "non_private", epsilon), row)
        fig.update_yaxes(title={"text": f"test error, ε = {epsilon}"}, row=row, col=1)
    fig.update_xaxes(gridcolor=GRID, automargin=True, tickformat=",d", rangemode="tozero")
    fig.update_xaxes(
        title={"text": "n, rows that train one candidate", "standoff": 4}, row=len(EPSILONS), col=1
    )
    fig.update_yaxes(tickformat=".0%", gridcolor=GRID, automargin=True, rangemode="tozero")
    caption = (
        f"{TITLES[part]}; their encoding; ours alone, no values were printed; bars {LEVEL:.0%} "
        "for rows and noise; without privacy five times as many rows"
    )
    meta: Meta = {"part": part, "cells": len(mine)}
    return finish(fig, caption=caption, meta=meta, source="public", height=600, legend_rows=4)


def _trace(fig: go.Figure, rows: Sequence[TunedRate], method: Method, panel: int) -> None:
    style, name = learner_style(method), METHOD_WORDS[method]
    fig.add_scatter(
        x=[row.n_train for row in rows],
        y=[row.error for row in rows],
        error_y={"type": "data", "array": [half_width(row) for row in rows], "color": style.colour},
        mode="lines+markers",
        line={"color": style.colour, "width": 2.2, "dash": style.dash},
        marker={"symbol": style.marker, "size": 8},
        name=name,
        legendgroup=name,
        showlegend=panel == 1,
        row=panel,
        col=1,
    )


def _guessing(fig: go.Figure, rows: Sequence[TunedRate], panel: int) -> None:
    name = "always guessing the commoner class"
    fig.add_scatter(
        x=[row.n_train for row in rows],
        y=[row.constant_error for row in rows],
        mode="lines",
        line={"color": QUIET, "width": 1.5, "dash": "dash"},
        name=name,
        legendgroup=name,
        showlegend=panel == 1,
        row=panel,
        col=1,
    )


def half_width(row: TunedRate) -> float:
    """Of the error bar: Student's, as the standard error is that of a few permutations."""
    return float(stdtrit(row.permutations - 1, (1.0 + LEVEL) / 2.0)) * row.error_se


def tuned_title(mine: Mapping[TunedCell, TunedRate]) -> str:
    """The finding at most rows: the best private error, and that without privacy."""
    most = max(row.n_train for row in mine.values())
    last = [row for row in mine.values() if row.n_train == most]
    private = [row.error for row in last if row.epsilon]
    plain = [row.error for row in last if not row.epsilon]
    words = f"Tuned privately with {most:,} rows a candidate, the best is wrong for "
    words += percent(min(private)) if private else "nobody knows how many"
    return words + (f"; without privacy {percent(min(plain))}" if plain else "")


def tuned_sentence(mine: Mapping[TunedCell, TunedRate]) -> str:
    """From the fewest to the most rows, for each epsilon."""
    parts = []
    for epsilon in EPSILONS:
        words = [
            f"{METHOD_WORDS[method]} {_from_to(rows)}"
            for method in _METHODS[1:]
            if (rows := _curve(mine, method, epsilon))
        ]
        if words:
            parts.append(f"at ε = {epsilon} {' and '.join(words)}")
    plain = _curve(mine, "non_private", "")
    if plain:
        parts.append(
            f"without privacy {_from_to(plain)}; guessing is wrong for "
            f"{percent(plain[-1].constant_error)}"
        )
    sizes = sorted(row.n_train for row in mine.values())
    return f"Wrong with {sizes[0]:,} and with {sizes[-1]:,} rows a candidate: {'; '.join(parts)}."


def _from_to(rows: Sequence[TunedRate]) -> str:
    return f"{percent(rows[0].error)} and {percent(rows[-1].error)}"


def tuned_table(mine: Mapping[TunedCell, TunedRate]) -> pd.DataFrame:
    """The numbers, one row a point."""
    rows = []
    for method in _METHODS:
        for epsilon in ("",) if method == "non_private" else EPSILONS:
            rows += [_table_row(one, method) for one in _curve(mine, method, epsilon)]
    return pd.DataFrame(rows)


def _table_row(one: TunedRate, method: Method) -> dict[str, object]:
    penalties = one.penalties.split()
    return {
        "learner": METHOD_WORDS[method],
        "ε": one.epsilon or "–",
        "n of a candidate": one.n_train,
        "rows of a model": one.n_train * (1 if one.epsilon else len(penalties)),
        "test error": one.error,
        "standard error": one.error_se,
        "sd of single runs": one.error_sd,
        "false positives": one.false_positive,
        "false negatives": one.false_negative,
        "best single Λ": one.best_error,
        "chosen (Λ: times)": ", ".join(
            f"{penalty}: {times}"
            for penalty, times in zip(penalties, one.times_chosen, strict=True)
            if times
        ),
        "choices": one.n_choices,
    }
