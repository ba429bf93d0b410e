"""The notebooks run from top to bottom, and say what their cells show."""

from __future__ import annotations

import ast
import io
import tempfile
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], str]:
    """Execute the code cells as one program, files in a folder of the test; give its names and what
    it printed.
    """
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    notebook = nbformat.read(ROOT / "docs" / "notebooks" / f"{name}.ipynb", as_version=4)
    space: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()) as printed:
        for k, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"{name}, cell {k}", "exec"), space)
    return space, printed.getvalue()


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "first_private_intervals",
        "from_scikit_learn_to_a_release",
        "planning_a_study",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_clean_and_uses_public_names(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert notebook.cells[0].source.startswith("# ")
    assert max(len(line) for cell in code for line in cell.source.splitlines()) <= 120
    for cell in code:
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpci_core"):
                others = {alias.name for alias in node.names} - set(
                    import_module(str(node.module)).__all__
                )
                assert [name for name in others if find_spec(f"{node.module}.{name}") is None] == []


def test_first_private_intervals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space, printed = run("first_private_intervals", tmp_path, monkeypatch)
    assert "epsilon in all: 1" in printed
    result, made, found = space["result"], space["made"], space["found"]
    assert np.all(result.low < result.high)
    assert made.ci_length_mean > made.vi_length_mean > made.nonprivate_length_mean
    assert abs(found.coverage_mean - 0.95) < 0.02 + 3 * found.coverage_se


def test_planning_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space, printed = run("planning_a_study", tmp_path, monkeypatch)
    plan, numbers = space["plan"], space["numbers"]
    assert 0 < numbers.as_if_records < plan.n_records
    assert space["records_needed"].probability >= plan.goal.probability
    assert space["budget_needed"].length <= 0.5
    assert space["split"].reason in printed
    assert "title: Smoking and lung function" in printed


def test_from_scikit_learn_to_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    space, printed = run("from_scikit_learn_to_a_release", tmp_path, monkeypatch)
    assert "SIMULATION" in printed
    made, ledger = space["made"], space["ledger"]
    assert [c.name for c in made.coefficients] == ["age", "dose", "constant"]
    assert all(c.original.low < c.original.high for c in made.coefficients)
    assert ledger.remaining("Clinic") == 1
    assert [charge.state for charge in ledger.history()] == ["done"]
    assert not (space["folder"] / "second").exists()
    assert "seals hold: True" in printed
    assert space["again"].to_dict() == made.to_dict()
