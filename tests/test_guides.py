"""The examples of the guides run as they stand, each page as one program of its own."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDES = [
    ROOT / "docs" / f"{name}.md"
    for name in runpy.run_path(str(ROOT / "docs" / "site.py"))["GUIDES"]
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PRINTS = {
    "quickstart": "class yes",
    "planning": "valid",
    "library": "least-squares coefficient of the declared",
    "scale": "5000",
}
"""What is in the output, of pages whose examples print something that is known."""


def run(name: str, folder: Path) -> str:
    """Run all examples of a page in a folder of the test; give what they print."""
    program = "\n".join(BLOCK.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")))
    places = {key: str(folder / key) for key in ("DPCI_LEDGER", "DPCI_LEDGER_KEYS", "HOME")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=folder,
        env=os.environ | places | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", [page.stem for page in GUIDES])
def test_the_examples_of_a_guide_run(name: str, tmp_path: Path) -> None:
    assert PRINTS.get(name, "") in run(name, tmp_path)


def test_the_summary_that_is_explained_is_the_one_that_is_printed(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    shown = text.split("```text\n")[1].split("```")[0]
    assert run("quickstart", tmp_path).startswith(shown)


def test_sharp_is_shorter_than_published(tmp_path: Path) -> None:
    lengths = dict(line.split() for line in run("methods", tmp_path).splitlines())
    assert 0.0 < float(lengths["sharp"]) < float(lengths["published"])


def test_what_is_added_runs_as_what_is_there(tmp_path: Path) -> None:
    printed = run("library", tmp_path)
    lengths = dict(re.findall(r"^(output|cautious) ([\d.]+)$", printed, re.M))
    assert float(lengths["output"]) < float(lengths["cautious"])
    assert "2021.49" in printed  # a date as a year
    assert "(100, 2)" in printed


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_opens_with_an_example_and_holds_no_proof(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "```python" in "\n".join(text.splitlines()[:20])
    assert "∎" not in text
    assert "*Proof.*" not in text
