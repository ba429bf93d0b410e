"""Exported code is run, and must print the plan's numbers to the last digit, whatever somebody
typed into the plan.
"""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
import pytest

from dpci_core.plan import notebook_text, to_notebook, to_script
from tests.plan_examples import HOSTILE, PLANS, numbers_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", PLANS)
def test_script_and_notebook_give_the_numbers_to_the_last_digit(name: str) -> None:
    plan = PLANS[name]
    expected = numbers_of(plan).to_record()
    script = to_script(plan)
    space: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()) as printed:
        exec(compile(script, "plan.py", "exec"), space)
    assert space["numbers"] == expected
    assert plan.title in printed.getvalue()
    assert (space["title"], space["notes"]) == (plan.title, plan.notes)
    assert space["design"] == plan.design
    notebook = nbformat.reads(notebook_text(plan), as_version=4)
    nbformat.validate(notebook)
    cells: dict[str, Any] = {}
    with redirect_stdout(io.StringIO()) as again:
        for cell in notebook.cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, "cell", "exec"), cells)
    assert cells["numbers"] == expected
    assert again.getvalue() == printed.getvalue()


def test_the_script_runs_on_its_own_and_prints_json(tmp_path: Path) -> None:
    plan = PLANS["twin sharp"]
    path = tmp_path / "plan.py"
    path.write_text(to_script(plan), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(path), "--json"],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"} | threads(),
    )
    told, expected = (
        dict(leaves(one)) for one in (json.loads(done.stdout), numbers_of(plan).to_record())
    )
    assert told.keys() == expected.keys()
    for at, value in expected.items():
        near = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
        assert told[at] == near, at


def leaves(value: object, at: str = "") -> Iterator[tuple[str, object]]:
    """The values of a nested record by their place."""
    if isinstance(value, dict | list):
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, f"{at}/{key}")
    else:
        yield at, value


def threads() -> dict[str, str]:
    """What this process was told about linear algebra: threads and kernels decide the last digits
    of a sum.
    """
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("OMP_", "OPENBLAS_", "MKL_"))
    }


@pytest.mark.parametrize("name", PLANS)
def test_typed_words_are_only_in_literals(name: str) -> None:
    script = to_script(PLANS[name])
    tree = ast.parse(script)
    literals = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert HOSTILE in literals
    comments = [line for line in script.splitlines() if line.lstrip().startswith("#")]
    assert not any("7 * 7" in line for line in comments)
    words = "".join(
        cell["source"]
        for cell in to_notebook(PLANS[name])["cells"]
        if cell["cell_type"] == "markdown"
    )
    assert "7 * 7" not in words


def test_a_script_is_something_to_learn_from() -> None:
    script = to_script(PLANS["twin sharp"])
    modules = {
        node.module for node in ast.walk(ast.parse(script)) if isinstance(node, ast.ImportFrom)
    }
    assert modules == {"dpci_core"}
    assert "read_plan" not in script
    for piece in (
        "NumericColumn('age', low=18.0, high=98.0)",
        "budget=ZCDP(model='0.06'",
        "mechanism='objective'",
    ):
        assert piece in script
