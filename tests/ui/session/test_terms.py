"""One vocabulary: no page says in another word what has a term."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ui.session.terms import TERMS, Term

UI = Path(__file__).resolve().parents[3] / "ui"


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
        if file.name != "terms.py"
        for text in texts(file.read_text(encoding="utf-8"))
        for other in term.replaces
        if other in text
    ]


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.word)
def test_no_page_says_it_otherwise(term):
    assert said_otherwise(term) == []


def test_the_words_of_a_page_are_read_and_its_docstrings_are_not():
    assert texts('"""No False Floor"""\nx = f"No False Floor {1}"') == ["no false floor "]
    assert all((UI / name).is_dir() for term in TERMS for name in term.packages)
