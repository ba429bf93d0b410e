"""What `make soak` keeps of the long tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SoakLog


def report(
    name: str, *, marks: tuple[str, ...] = ("soak",), outcome: str = "passed", when: str = "call"
) -> Any:
    return pytest.TestReport(
        nodeid=name,
        location=("t.py", 1, name),
        keywords=dict.fromkeys(marks, 1),
        outcome=outcome,  # type: ignore[arg-type]
        longrepr=None,
        when=when,  # type: ignore[arg-type]
        duration=2.4,
        user_properties=[("found", {"kills": 3})],
    )


def test_one_entry_for_each_long_test_and_the_newest_counts(tmp_path: Path) -> None:
    log = SoakLog(tmp_path / "soak.json")
    log.pytest_runtest_logreport(report("b", outcome="failed"))
    log.pytest_runtest_logreport(report("a"))
    log.pytest_runtest_logreport(report("b"))
    found = json.loads((tmp_path / "soak.json").read_text())
    assert list(found) == ["a", "b"]
    assert found["b"].pop("finished")
    assert found["b"] == {"outcome": "passed", "seconds": 2, "found": {"kills": 3}}


def test_other_tests_and_other_steps_leave_no_entry(tmp_path: Path) -> None:
    log = SoakLog(tmp_path / "soak.json")
    log.pytest_runtest_logreport(report("a", marks=()))
    log.pytest_runtest_logreport(report("b", outcome="skipped"))
    log.pytest_runtest_logreport(report("c", when="teardown"))
    assert not (tmp_path / "soak.json").exists()
    log.pytest_runtest_logreport(report("d", when="setup", outcome="failed"))
    assert json.loads((tmp_path / "soak.json").read_text())["d"]["outcome"] == "failed"
