"""Documents name tests and files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_table_of_questions_names_tests_that_exist():
    text = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r"`(test_\w+)`", text))
    assert len(named) > 30
    assert [name for name in sorted(named) if f"def {name}(" not in sources] == []
    assert [row for row in range(1, 32) if f"\n| {row} | " not in text] == []
    for file in re.findall(r"`(tests/\w+\.py)`", text):
        assert (ROOT / file).is_file()


def test_links_between_documents_lead_somewhere():
    for document in (*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name} names {target}"
