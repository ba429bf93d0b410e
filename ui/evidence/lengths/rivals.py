"""The strongest rival beside this project's intervals: one table, for who asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from dpci_core.base.places import DATA
from ui.evidence.files import SCRIPT, rows_on_file
from ui.evidence.lengths.rows import CALIBRATION_WORDS, data_words
from ui.kit.exports import download

TITLE = "Beside the strongest rival: noisy Newton and noisy gradient descent"
RIVALS_FILE = DATA / "rivals.csv"
COMMAND = "python -m benchmarks.rivals --write"
METHOD_WORDS = {
    **{name: CALIBRATION_WORDS[name] for name in ("published", "sharp", "best_split", "shaped")},
    "steps": "clipped Newton steps (this project)",
    "newton_coded": "noisy Newton, as coded",
    "newton_tuned": "noisy Newton, tuned",
    "gradient_coded": "noisy gradient descent, as coded",
    "gradient_tuned": "noisy gradient descent, tuned",
}
ENOUGH = 0.94
"""A mean coverage below it is no length to compare with."""
INTRODUCTION = (
    "Avella-Medina, Bradshaw and Loh give intervals for a private logistic regression by another "
    "road: few or many noisy steps towards the minimiser. *As coded* follows their R code; *tuned* "
    "has every advantage that this project knows, also settings searched on the table itself, "
    "which no real release could do. Same table, same coefficient, same total ρ, same replicates. "
    "Every entry is the mean length of 95 % intervals and, behind it, their mean coverage."
)

Cell = tuple[str, str]
"""A table of data by the name that the scripts take, and the total rho as a decimal."""


@dataclass(frozen=True)
class Measured:
    """One method on one table at one total; coverage and length are means over coefficients."""

    table: str
    rho: str
    method: str
    coverage: float
    ci_length: float

    @property
    def cell(self) -> Cell:
        """The table and the rho at which it was measured."""
        return self.table, self.rho


Found = dict[tuple[Cell, str], Measured]


def block() -> None:
    """Draw the block, closed; what is in it is made when it is opened."""
    section = st.expander(TITLE, key="rivals", on_change="rerun")
    if not section.open:
        return
    with section:
        found = {(row.cell, row.method): row for row in rows_on_file(Measured, RIVALS_FILE)}
        if not found:
            st.info(SCRIPT.format(command=COMMAND, does="measures this; nothing is on file"))
            return
        said = sentence(found)
        st.markdown(INTRODUCTION)
        st.markdown(f"**{said}**")
        st.dataframe(matrix(found), hide_index=True, alt=said, key="rivals_table", width="stretch")
        st.caption(
            "How the rivals work: `docs/evidence.md`; what one record can change in them, and the "
            "proof: `benchmarks/rivals.py`. "
            + SCRIPT.format(command=COMMAND, does="measures what is missing")
        )
        download(
            "Download every row", RIVALS_FILE.read_bytes(), file="dpci_rivals.csv", key="rivals_csv"
        )


def cells_of(found: Found) -> list[Cell]:
    """Return the pairs of table and rho that were measured, in the order of the file."""
    return list(dict.fromkeys(cell for cell, _ in found))


def cell_words(cell: Cell) -> str:
    """A table of data and a total."""
    return f"{data_words(cell[0].partition('-')[0])}, ρ = {cell[1]}"


def matrix(found: Found) -> pd.DataFrame:
    """Methods in rows, tables and totals in columns."""
    cells, there = cells_of(found), {m for _, m in found}
    methods = [m for m in METHOD_WORDS if m in there] + sorted(there - METHOD_WORDS.keys())
    return pd.DataFrame(
        [
            {"Method": METHOD_WORDS.get(method, method)}
            | {cell_words(cell): _entry(found.get((cell, method))) for cell in cells}
            for method in methods
        ]
    )


def _entry(row: Measured | None) -> str:
    return f"{row.ci_length:.3f} · {100 * row.coverage:.1f} %" if row else ""


def sentence(found: Found) -> str:
    """What the table says: this project's best against each rival, over the cells that have
    both.
    """
    said = (_sentence(found, ours, name) for ours, name in _BEST)
    return " ".join(filter(None, said))


_BEST = (
    ("best_split", "sharp at its best split"),
    ("shaped", "noise shaped like the data"),
)


def _sentence(found: Found, ours: str, name_of_ours: str) -> str:
    parts = []
    for rival, name in (
        ("newton_coded", "noisy Newton as coded"),
        ("newton_tuned", "noisy Newton tuned"),
    ):
        pairs = [
            (found[cell, rival], found[cell, ours])
            for cell in cells_of(found)
            if (cell, rival) in found and (cell, ours) in found
        ]
        if pairs:
            parts.append(f"{name} {_against(pairs)}")
    return f"Against {name_of_ours}, {'; '.join(parts)}." if parts else ""


def _against(pairs: Iterable[tuple[Measured, Measured]]) -> str:
    """How long the first of each pair is against the second, in words, with what covers too
    seldom.
    """
    several = list(pairs)
    changes = sorted(rival.ci_length / ours.ci_length - 1.0 for rival, ours in several)
    low, high = changes[0], changes[-1]
    missed = sum(rival.coverage < ENOUGH for rival, _ in several)
    if low > 0.0:
        words = f"is {_span(low, high)} % longer"
    elif high < 0.0:
        words = f"is {_span(-high, -low)} % shorter"
    else:
        words = f"is between {-100 * low:.0f} % shorter and {100 * high:.0f} % longer"
    return words + (f", and covers too seldom in {missed} of {len(several)}" if missed else "")


def _span(low: float, high: float) -> str:
    """Two shares in per cent, one number where they round to the same."""
    return " to ".join(dict.fromkeys(f"{100 * share:.0f}" for share in (low, high)))
