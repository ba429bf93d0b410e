"""The examples of the guides run as they stand, each page as one program of its own."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
GUIDES = [
    ROOT / "docs" / f"{name}.md"
    for name in runpy.run_path(str(ROOT / "docs" / "site.py"))["GUIDES"]
]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def summary_is_the_one_explained(printed: str) -> bool:
    text = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
    return "class yes" in printed and printed.startswith(text.split("```text\n")[1].split("```")[0])


def sharp_is_shorter_than_published(printed: str) -> bool:
    lengths = dict(line.split() for line in printed.splitlines())
    return 0.0 < float(lengths["sharp"]) < float(lengths["published"])


def what_is_added_runs_as_what_is_there(printed: str) -> bool:
    lengths = dict(re.findall(r"^(output|cautious) ([\d.]+)$", printed, re.M))
    told = ("least-squares coefficient of the declared", "2021.49", "(100, 2)")  # a date as a year
    return float(lengths["output"]) < float(lengths["cautious"]) and all(t in printed for t in told)


PRINTS: dict[str, Callable[[str], bool]] = {
    "quickstart": summary_is_the_one_explained,
    "planning": lambda printed: "valid" in printed,
    "library": what_is_added_runs_as_what_is_there,
    "methods": sharp_is_shorter_than_published,
    "scale": lambda printed: "5000" in printed,
}
"""What is known of the output of a page."""


@pytest.mark.parametrize("name", [page.stem for page in GUIDES])
def test_the_examples_of_a_guide_run(name: str, tmp_path: Path) -> None:
    program = "\n".join(BLOCK.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")))
    places = {key: str(tmp_path / key) for key in ("DPCI_LEDGER", "DPCI_LEDGER_KEYS", "HOME")}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=tmp_path,
        env=os.environ | places | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert name not in PRINTS or PRINTS[name](done.stdout), done.stdout


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_opens_with_an_example_and_holds_no_proof(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert "```python" in "\n".join(text.splitlines()[:20])
    assert "∎" not in text
    assert "*Proof.*" not in text
