"""One vocabulary, the field's: no page says in another word what has a term."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

UI = Path(__file__).resolve().parents[3] / "ui"


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


@cache
def texts_of(file: Path) -> list[str]:
    return texts(file.read_text(encoding="utf-8"))


def texts(source: str) -> list[str]:
    """Every text of a module that is no docstring, in small letters."""
    tree = ast.parse(source)
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [n.value.lower() for n in found if isinstance(n.value, str) and id(n) not in bare]


def said_otherwise(term: Term) -> list[str]:
    folders = [UI / name for name in term.packages] or [UI]
    return [
        f"{file.relative_to(UI)}: {other}"
        for folder in folders
        for file in sorted(folder.rglob("*.py"))
        for text in texts_of(file)
        for other in term.replaces
        if other in text
    ]


def test_no_page_says_it_otherwise():
    assert {term.word: found for term in TERMS if (found := said_otherwise(term))} == {}


def test_the_words_of_a_page_are_read_and_its_docstrings_are_not():
    assert texts('"""No False Floor"""\nx = f"No False Floor {1}"') == ["no false floor "]
    assert all((UI / name).is_dir() for term in TERMS for name in term.packages)
