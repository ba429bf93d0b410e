"""One word for one thing, on all pages: the field's terms, and the words that they replace.

A test reads the words of every package listed here. No Streamlit.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """The word for a thing, and what is not said for it: parts of texts, in small letters.

    packages: of `ui`, that are held to it; empty for all.
    """

    word: str
    replaces: tuple[str, ...]
    packages: tuple[str, ...] = ()


_EVIDENCE = ("evidence", "learn")

TERMS = (
    Term("Evidence", ("page validate", "on validate", "page reproduce", "page accuracy")),
    Term("intercept", ("constant column", "and constant,"), ("evidence", "learn", "session")),
    Term("Hessian", ("for the curvature", "noise on the curvature", "curvature (hessian)")),
    Term("Target", ("what the intervals are for",)),
    Term("Mechanism", ("where the noise goes",)),
    Term("margin of error", ("half-widths of the",), ("plan", "session")),
    Term("clipped", ("moved to a bound", "moved to the nearest bound")),
    Term("your goal", ("your wish",)),
    Term("assumptions", ("other worlds", "worlds that"), ("plan", "release")),
    Term("replace-one neighbours", ("protected is one person",)),
    Term("shrunken", ("pulled", "the pull")),
    Term("What is protected", ("protected is one row",)),
    Term("tight sensitivity", ("exact reach of one person",)),
    Term("no eigenvalue floor", ("no false floor",)),
    Term("noise-aware standard errors", ("know their own noise",)),
    Term("Gaussian noise", ("bell-shaped noise",), _EVIDENCE),
    Term("Download", ("camera button", "saves a chart"), _EVIDENCE),
)
