"""The tab of the attack: two tables that differ in one record, the best guess of somebody who knows
both, and how often it is right beside what epsilon allows.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpci_core import datasets
from dpci_core.base.array import Array
from dpci_core.design import Design
from dpci_core.losses import HuberSVM
from dpci_core.privacy.budget import PureDP
from dpci_core.report.words import at_most
from dpci_core.schema import encode
from dpci_core.simulation.attack import Attack, play_attack
from ui.kit import linked
from ui.kit.bound import among
from ui.kit.figure import Meta, finish
from ui.kit.palette import GRID, QUIET
from ui.session.choices import MECHANISMS, Combination
from ui.views.show import show

EPSILONS = {"0.25": "0.25", "0.5": "0.5", "1": "1", "2": "2", "4": "4"}
PAIRS = {
    "worst": "Four records, chosen to give most away",
    "people": "200 people of the simulated census, one replaced",
}
"""The pairs of tables: one in which a record does all it can, and one as in life."""
_EPSILON = linked.one_of("attacked", EPSILONS, default="1", widget="attack_epsilon")
_PAIR = linked.one_of("tables", PAIRS, default="worst", widget="attack_tables")
_LARGEST_ROUND = 9_999
_ROUND = linked.whole_number("round", _LARGEST_ROUND, default=1, widget="attack_round")
N_GAMES = 1_000
_FIRST = 20
"""The line begins where the share of right guesses has settled a little."""
_WIDTH = 0.25
_PEOPLE = 200
_PENALTIES = {"worst": 4.0, "people": 0.05}
"""Large enough for noise in the objective at the smallest budget."""
_CLEAR = 3.0
"""Standard errors above the bound from which it is called broken."""
_WORST = np.array([[1.0], [1.0], [-1.0], [1.0]])

HOW = """
Two tables differ in **one record**. A coin chooses one, and its coefficients are published with the whole budget. The
attacker knows **both tables** and how the noise is drawn, and names the table that makes the coefficients more likely: no
other guess is right more often. ε limits how often that can be.
"""  # noqa: E501 - Markdown


def section() -> None:
    """Draw the tab."""
    left, right = st.columns([2, 5], gap="large")
    with left:
        st.markdown(HOW)
        st.segmented_control("Privacy budget ε", **among(EPSILONS), **_EPSILON.bound())
        st.selectbox("The two tables", **among(PAIRS), **_PAIR.bound())
        st.button("Play again", key="attack_again", on_click=_again)
    found = attacks(_PAIR.value, _EPSILON.value, int(_ROUND.value))
    with right:
        show(
            "attack",
            chart(found, tables=_PAIR.value, epsilon=_EPSILON.value, number=_ROUND.value),
            sentence(found, _EPSILON.value),
            table(found),
            title=title(found),
        )


def _again() -> None:
    _ROUND.take((int(_ROUND.value) + 1) % (_LARGEST_ROUND + 1))


@lru_cache(maxsize=64)
def attacks(tables: str, epsilon: str, number: int) -> dict[str, Attack]:
    """One round of games for each mechanism; the number of the round chooses its draws."""
    one, other = pair(tables)
    return {
        name: play_attack(
            one,
            other,
            design=Design(
                loss=HuberSVM(h=_WIDTH),
                mechanism=name,
                budget=PureDP(model=epsilon, hessian=epsilon, covariance=epsilon),
                regularization=_PENALTIES[tables],
                n_records=len(one),
                calibration="sharp",
            ),
            n_games=N_GAMES,
            rng=np.random.default_rng([number, place]),
        )
        for place, name in enumerate(MECHANISMS)
    }


def pair(tables: str) -> tuple[Array, Array]:
    """Two tables of rows y x (n, p) that differ in the last record."""
    if tables == "worst":
        return _WORST, np.vstack([_WORST[:-1], -_WORST[-1:]])
    people = encode(
        datasets.simulate_census(_PEOPLE + 1),
        datasets.schema_of("census"),
        features=3,
        source="simulated",
        title="census",
    )
    rows = people.y[:, None] * people.unweighted
    return rows[:-1], np.vstack([rows[:-2], rows[-1:]])


def chart(found: dict[str, Attack], *, tables: str, epsilon: str, number: str) -> go.Figure:
    """Share of right guesses after so many games, with two standard errors at the end."""
    fig = go.Figure()
    games = np.arange(1, N_GAMES + 1)
    bound = next(iter(found.values())).bound
    for name, one in found.items():
        style = Combination(PureDP.definition, name, HuberSVM.name).style
        share = (np.cumsum(one.is_right) / games)[_FIRST - 1 :]
        fig.add_scatter(
            x=games[_FIRST - 1 :].tolist(),
            y=share.round(4).tolist(),
            mode="lines",
            line={"color": style.colour, "width": 2.2},
            name=MECHANISMS[name].label,
        )
        fig.add_scatter(
            x=[N_GAMES],
            y=[one.share],
            mode="markers",
            marker={"color": style.colour, "symbol": style.marker, "size": 9},
            error_y={
                "type": "data",
                "array": [2.0 * one.standard_error],
                "color": style.colour,
            },
            showlegend=False,
        )
    for level, words in ((bound, f"at most, ε = {epsilon}"), (0.5, "a coin")):
        fig.add_hline(
            y=level,
            line={"color": QUIET, "width": 2, "dash": "dash"},
            annotation_text=f"{words}: {at_most(level)}",
            annotation_position="top left",
        )
    fig.update_xaxes(title={"text": "games played", "standoff": 4}, gridcolor=GRID)
    fig.update_yaxes(
        title={"text": "guesses that were right"},
        tickformat=".0%",
        range=[0.4, max(bound, *(one.share for one in found.values())) + 0.1],
        gridcolor=GRID,
        automargin=True,
    )
    caption = (
        f"{PAIRS[tables]}; SVM, h = {_WIDTH:g}, the budget spent on the coefficients; "
        f"{N_GAMES:,} games each, round {number}; bars: 2 standard errors"
    )
    meta: Meta = {"tables": tables, "epsilon": epsilon}
    return finish(fig, caption=caption, meta=meta, source="simulated", height=340, legend_rows=1)


def _broken(found: dict[str, Attack]) -> list[str]:
    return [
        name for name, one in found.items() if one.share > one.bound + _CLEAR * one.standard_error
    ]


def title(found: dict[str, Attack]) -> str:
    """The finding."""
    if broken := _broken(found):
        words = " and ".join(MECHANISMS[name].word for name in broken)
        return f"The attacker is right more often than ε allows: {words} perturbation is broken"
    best = max(found.values(), key=lambda one: one.share)
    luck = "" if best.share <= best.bound else ", and luck did the rest"
    return (
        f"The best guess is right in {100 * best.share:.0f} ± {200 * best.standard_error:.0f} % of "
        f"games; ε allows {at_most(best.bound)}{luck}"
    )


def sentence(found: dict[str, Attack], epsilon: str) -> str:
    """How often each was told apart, and how often that may be."""
    bound = next(iter(found.values())).bound
    told = ", ".join(
        f"{100 * one.share:.1f} % ({MECHANISMS[name].word} perturbation)"
        for name, one in found.items()
    )
    return (
        f"At ε = {epsilon} nobody can be right in more than {at_most(bound)} of the games but by "
        f"luck; the best guess was right in {told}. A coin is "
        "right in 50 %."
    )


def table(found: dict[str, Attack]) -> pd.DataFrame:
    """One row a mechanism."""
    return pd.DataFrame(
        {
            "mechanism": [MECHANISMS[name].label for name in found],
            "games": N_GAMES,
            "right": [one.share for one in found.values()],
            "standard error": [one.standard_error for one in found.values()],
            "at most": [one.bound for one in found.values()],
        }
    )
