"""The picture and the tables of ARCHITECTURE.md are those of the imports and of the layers test."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from docs import architecture
from tests.test_layers import LAYERS, UI_LAYERS

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_the_picture_is_the_one_that_the_command_makes() -> None:
    words = "run `python -m docs.architecture`: an import is new or gone"
    assert architecture.PICTURE.read_text(encoding="utf-8") == architecture.picture(), words
    assert f"]({architecture.PICTURE.relative_to(ROOT)})" in TEXT


def test_the_tables_are_the_floors() -> None:
    rows = [
        re.findall(r"`(\w+)`", line.split("|")[2])
        for line in TEXT.splitlines()
        if re.match(r"\| \d+ \|", line)
    ]
    assert rows == [list(layer) for layer in (*LAYERS, *UI_LAYERS)]


def test_files_that_are_named_exist() -> None:
    for document in ("ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for name in re.findall(
            r"`((?:dpci_core|ui|tests|docs|benchmarks|pages|data)/[\w/]+\.\w+)`", text
        ):
            assert (ROOT / name).is_file(), f"{document} names {name}"
        for module in re.findall(r"`python -m ([\w.]+)", text):
            assert any(
                (ROOT / f"{module.replace('.', '/')}{end}").exists()
                for end in (".py", "/__main__.py")
            ), module


@pytest.mark.parametrize("top", ["dpci_core", "ui"])
def test_every_import_is_drawn_or_implied_and_points_down(top: str) -> None:
    graph = architecture.packages(top)
    row, drawn = architecture.heights(graph), architecture.needed_arrows(graph)

    def reachable(package: str) -> set[str]:
        return set(drawn[package]).union(*(reachable(below) for below in drawn[package]))

    for package, reached in graph.items():
        assert reached <= reachable(package)
        assert all(row[below] < row[package] for below in reached)
        assert row[package] == 0 or any(row[below] == row[package] - 1 for below in drawn[package])


def test_a_small_graph_by_hand() -> None:
    graph = {
        name: frozenset(reached)
        for name, reached in {"a": "", "b": "a", "c": "ab", "d": "a"}.items()
    }
    assert architecture.heights(graph) == {"a": 0, "b": 1, "c": 2, "d": 1}
    assert {
        package: set(reached) for package, reached in architecture.needed_arrows(graph).items()
    } == {
        "a": set(),
        "b": {"a"},
        "c": {"b"},
        "d": {"a"},
    }
    layout = architecture.laid_out(graph)
    assert [len(row) for row in layout.rows] == [1, 2, 1]
    for row in layout.rows:
        for left, right in pairwise(row):
            package = (
                architecture.width_of(left) + architecture.width_of(right)
            ) / 2 + architecture.GAP
            assert layout.x[right] - layout.x[left] >= package - 1e-9
