"""Budgets that others chose and published, beside one's own: facts with sources, and why they do
not transfer.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache

import streamlit as st

from dpci_core.base.places import DATA
from ui.session.settings import Settings
from ui.session.text import number

FILE = DATA / "deployments.csv"
CAVEAT = (
    "None of these is advice. They protect other things: often one day of one person, or noise "
    "added on the person's own device before anything is collected. Yours protects one whole "
    "record in one release. The same ε over a day adds up over a year."
)


@dataclass(frozen=True)
class Deployment:
    """One published use: who, what, its epsilon (and delta, "" for none), as stated, what is
    protected, and where.
    """

    who: str
    what: str
    epsilon: float
    delta: str
    stated: str
    unit: str
    where: str
    source: str
    url: str


@lru_cache(maxsize=1)
def deployments() -> tuple[Deployment, ...]:
    """The list on file, the strictest first."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [_read(row) for row in csv.DictReader(file)]
    return tuple(sorted(rows, key=lambda row: row.epsilon))


def _read(row: dict[str, str]) -> Deployment:
    rest = {name: value for name, value in row.items() if name != "epsilon"}
    return Deployment(epsilon=float(row["epsilon"]), **rest)


def lines(settings: Settings) -> list[str]:
    """The list as Markdown, with the settings' own budget in its place."""
    mine = settings.own_epsilon
    at = f", δ = {settings.delta}" if settings.kind.has_delta else ""
    own = (
        f"- ▶ **ε = {number(mine)}{at}** · this page now. Protects one person's record in one "
        "release."
    )
    entries = [(row.epsilon, _line(row)) for row in deployments()] + [(mine, own)]
    return [words for _, words in sorted(entries, key=lambda entry: entry[0])]


def _line(row: Deployment) -> str:
    noise = "on the device" if row.where == "on the device" else "to the result"
    return (
        f"- **{row.stated}** · {row.who}: {row.what}. Protects {row.unit}; noise is added {noise}. "
        f"[{row.source}]({row.url})"
    )


def panel(settings: Settings) -> None:
    """Behind a click, beside the budget."""
    with st.expander("How others chose"):
        st.markdown("\n".join(lines(settings)))
        st.caption(CAVEAT)
