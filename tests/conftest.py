"""What all tests share. `--soak-log FILE` keeps what the long tests found, one entry a test."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--soak-log",
        type=Path,
        metavar="FILE",
        help="JSON file that keeps what every soak test found",
    )


def pytest_configure(config: pytest.Config) -> None:
    place = tempfile.mkdtemp(prefix="dpci-")  # no test touches the keys, or the ledger, of a user
    os.environ["DPCI_LEDGER_KEYS"] = f"{place}/keys"
    os.environ["DPCI_LEDGER"] = f"{place}/ledger.sqlite"
    config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))
    path = config.getoption("--soak-log")
    if path is not None and not hasattr(
        config, "workerinput"
    ):  # with several processes, in the first one only
        config.pluginmanager.register(SoakLog(path), "soak-log")


class SoakLog:
    """Writes the file after every test, so that a run that is stopped keeps what it had."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if (
            "soak" not in report.keywords
            or report.skipped
            or (report.when != "call" and report.passed)
        ):
            return
        entry: dict[str, Any] = {
            "outcome": report.outcome,
            "finished": datetime.now(UTC).isoformat(timespec="minutes"),
            "seconds": round(report.duration),
            **dict(report.user_properties),
        }
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        known[report.nodeid] = entry
        self.path.write_text(
            json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False) + "\n"
        )


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder in memory where there is one: a killed process needs no disk, and flushing takes
    most of the time.
    """
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    yield folder
    shutil.rmtree(folder)
