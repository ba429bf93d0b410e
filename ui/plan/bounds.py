"""What a bad bound costs: one column of a described table under bounds that are too narrow or too
wide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpci_core import DeclaredTable, fit_moments, forecast
from dpci_core.base.errors import ConvergenceError
from dpci_core.report.words import plainly
from dpci_core.schema import encode, worlds_of
from dpci_core.schema.twin import twin_table
from ui.kit.figure import finish, literal
from ui.kit.palette import BLUE, GRID, ORANGE, QUIET
from ui.session import state
from ui.session.case import Case
from ui.session.compute import declared_table, designed
from ui.session.forms import FORMS
from ui.session.text import number
from ui.views.show import show

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Widths of the bounds tried, as multiples of the declared one, around the same middle."""


@dataclass(frozen=True)
class Outcome:
    """One width: bounds, share of values outside, estimate and length of the interval in the
    column's own units.
    """

    factor: float
    low: float
    high: float
    outside: float
    estimate: float
    length: float

    @property
    def against_estimate(self) -> float:
        """Length against the size of what the interval is around."""
        return self.length / abs(self.estimate) if self.estimate else math.inf


def outcomes(case: Case, table: DeclaredTable, name: str) -> list[Outcome]:
    """The column's expected interval under each width; the same made-up rows, encoded anew. Only
    rows that can run.
    """
    rows = twin_table(table.schema, worlds_of(table.schema, table.guesses)[0].guesses)
    column = next(c for c in table.schema.features if c.name == name)
    widened = FORMS[type(column)].widened
    assert widened is not None
    found = []
    for factor in FACTORS:
        try:  # bounds near the ends of what can be declared have no wider, or no narrower ones
            tried = widened(column, factor)
            features = tuple(tried if c is column else c for c in table.schema.features)
            schema = replace(table.schema, features=features, standard=None, notes=())
            names = case.records.feature_names[:-1]
            records = encode(
                rows, schema, features=names, source="simulated", title=case.records.title
            )
            moments = fit_moments(
                records.X,
                records.y,
                loss=case.design.loss,
                regularization=case.design.regularization,
                with_spread=case.settings.is_shaped,
            )
            design = designed(case.settings, case.settings.combinations[0], moments)
            made = forecast(moments, design=design, contrasts=records.to_original)
        except (ValueError, ConvergenceError):
            continue
        place = records.feature_names.index(name)
        values = rows[name].dropna().to_numpy()
        outside = float(np.mean(~tried.fits(values)))
        found.append(
            Outcome(
                factor,
                tried.low,
                tried.high,
                outside,
                float(made.estimate[place]),
                float(made.ci_length[place]),
            )
        )
    return found


def panel(case: Case) -> None:
    """The demonstration, on request: it fits a table for every width."""
    table = declared_table(case.settings.declared)
    numbers = [c.name for c in table.schema.features if FORMS[type(c)].widened]
    names = [n for n in case.records.feature_names[:-1] if n in numbers]
    if not names or not st.toggle(
        "Show what a bad bound costs, on the made-up rows", key="bounds_demo"
    ):
        return
    name = st.selectbox("Column", names, key="bounds_column") or names[0]
    found = state.memo().get(
        (
            "bounds",
            case.settings.declared,
            name,
            repr(case.design),
            case.n,
            case.records.feature_names,
        ),
        lambda: outcomes(case, table, name),
    )
    if not found:
        st.info(
            "With this design none of the widths can run: give more budget, records or a larger c."
        )
        return
    sentence = sentence_of(found, name)
    figure = chart(found, name, case)
    show("bounds", figure, sentence, as_table(found), is_plain=True)


def chart(found: list[Outcome], name: str, case: Case) -> go.Figure:
    """The column's interval for each width, in its own units."""
    fig = go.Figure()
    for is_narrow, colour, word in (
        (False, BLUE, "nothing outside"),
        (True, ORANGE, "values outside, moved"),
    ):
        chosen = [o for o in found if (o.outside > 0.0) == is_narrow]
        if not chosen:
            continue
        fig.add_scatter(
            x=[o.factor for o in chosen],
            y=[o.estimate for o in chosen],
            error_y={
                "array": [o.length / 2.0 for o in chosen],
                "thickness": 5,
                "width": 0,
                "color": colour,
            },
            mode="markers",
            marker={"size": 10, "color": colour, "symbol": "diamond" if is_narrow else "circle"},
            name=word,
        )
    fig.add_hline(y=0, line={"color": QUIET, "width": 1, "dash": "dot"})
    guess = declared_table(case.settings.declared).guesses.effects.get(name)
    if guess:
        fig.add_hline(
            y=guess,
            line={"color": QUIET, "width": 1.5, "dash": "dash"},
            annotation_text="your guess",
        )
    ticks = [o.factor for o in found]
    fig.update_xaxes(
        type="log",
        tickvals=ticks,
        ticktext=[f"{f:g} ×" for f in ticks],
        title={"text": "width of the bounds"},
    )
    fig.update_yaxes(
        title={"text": f"log odds per unit of {literal(name)}"}, gridcolor=GRID, automargin=True
    )
    caption = (
        f"{case.records.title}, d = {len(case.records.feature_names) - 1}, n = {case.n:,}, "
        "everything else as set"
    )
    return finish(
        fig,
        caption=caption,
        meta={"bounds": name},
        source=case.records.source,
        height=300,
        legend_rows=1,
    )


def sentence_of(found: list[Outcome], name: str) -> str:
    """The takeaway."""
    declared = next((o for o in found if o.factor == 1.0), found[0])
    widest, narrowest = found[-1], found[0]
    words = (
        f"With bounds {widest.factor:g} times as wide the interval of “{plainly(name)}” is around "
        f"{number(widest.estimate, 2)} instead of {number(declared.estimate, 2)}, and against that "
        f"it is {number(widest.against_estimate / declared.against_estimate, 2)} times as long"
    )
    if narrowest.outside > 0.0:
        words += (
            f". With bounds {narrowest.factor:g} times as wide {100 * narrowest.outside:.0f} % of "
            "the values are clipped, and the interval lies around "
            f"{number(narrowest.estimate, 2)}"
        )
    return (
        f"{words}. Neither is a reason to look at the table: choose bounds that hold for anybody."
    )


def as_table(found: list[Outcome]) -> pd.DataFrame:
    """Every width as numbers."""
    return pd.DataFrame(
        [
            {
                "width": o.factor,
                "lowest": o.low,
                "highest": o.high,
                "outside (%)": 100.0 * o.outside,
                "estimate": o.estimate,
                "length": o.length,
            }
            for o in found
        ]
    )
