"""The strongest rival beside this project's intervals: one table, for who asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import pandas as pd
import streamlit as st

from dpci_core.studies.compare import SETS
from dpci_core.studies.rivals import rows
from dpci_core.studies.rivals.rows import CELLS, METHODS, Cell, Measured
from ui.kit.exports import csv_bytes
from ui.session.words import in_words
from ui.sharp.rows import CALIBRATION_WORDS, data_words

TITLE = "Beside the strongest rival: noisy Newton and noisy gradient descent"
METHOD_WORDS = {
    **{name: CALIBRATION_WORDS[name] for name in rows.OURS},
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

Found = dict[tuple[Cell, str], Measured]


def block() -> None:
    """Draw the block, closed; what is in it is made when it is opened."""
    section = st.expander(TITLE, key="sharp_rivals", on_change="rerun")
    if not section.open:
        return
    with section:
        try:
            found = rows.read_measured(rows.RIVALS_FILE)
        except (ValueError, OSError) as problem:
            st.warning(f"The results on file cannot be read: {in_words(problem)}")
            return
        if not found:
            st.info("No comparison is on file: `python -m benchmarks.rivals --write` makes it.")
            return
        said = sentence(found)
        st.markdown(INTRODUCTION)
        st.markdown(f"**{said}**")
        st.dataframe(matrix(found), hide_index=True, alt=said, key="rivals_table", width="stretch")
        st.caption(
            "How the rivals work, what one record can change in them, and the proof: "
            "`docs/rivals.md`. `python -m benchmarks.rivals` prints the smallest coverages too."
        )
        st.download_button(
            "Download every row",
            csv_bytes(pd.DataFrame([asdict(row) for row in found.values()])),
            file_name="dpci_rivals.csv",
            mime="text/csv",
            on_click="ignore",
            key="rivals_csv",
        )


def cells_of(found: Found) -> list[Cell]:
    """Where something was measured, in the order of the command, others last."""
    there = dict.fromkeys(cell for cell, _ in found)
    return [cell for cell in CELLS if cell in there] + [c for c in there if c not in CELLS]


def cell_words(cell: Cell) -> str:
    """A table of data and a total."""
    data = SETS.get(cell[0])
    return f"{data_words(data.dataset) if data else cell[0]}, ρ = {cell[1]}"


def matrix(found: Found) -> pd.DataFrame:
    """Methods in rows, tables and totals in columns."""
    cells = cells_of(found)
    order = {method: place for place, method in enumerate(METHODS)}
    methods = sorted({m for _, m in found}, key=lambda m: (order.get(m, len(order)), m))
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
