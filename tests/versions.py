"""Try the oldest and the newest dependencies that requirements.txt allows: `make versions`.

Each gets an environment of its own from the package index, and runs a fast part of the tests on the
checkout.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import subprocess
import sys
import venv
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / "data" / "tested_versions.csv"
TESTS = (
    "dpci_core",  # the doctests: golden values of every room
    "tests/test_against_oracle.py",
    "tests/solvers/test_replicates.py",
    "tests/datasets/test_upload.py",
    "tests/privacy/test_exact.py",
    "tests/report/test_html.py",
    "tests/cli/test_ledger.py",
    "tests/test_losses.py",
    "tests/privacy/test_noise.py",
    "tests/plan/test_script.py",
    "tests/privacy/test_budget.py",
    "tests/schema/test_schema.py",
    "tests/ui/evidence/replication/test_tab.py",
    "tests/ui/views/test_charts.py",
)
"""Every dependency at work, in a few minutes."""


def requirements(file: Path) -> list[Requirement]:
    """The requirements of a file, without those it takes from others."""
    lines = (
        line.partition(" #")[0].strip() for line in file.read_text(encoding="utf-8").splitlines()
    )
    return [Requirement(line) for line in lines if line and not line.startswith(("#", "-"))]


def lowest(requirement: Requirement) -> str:
    """The pin of the oldest version allowed.

    >>> lowest(Requirement("numpy>=2.2,<3"))
    'numpy==2.2'
    """
    (bound,) = [part.version for part in requirement.specifier if part.operator == ">="]
    return f"{requirement.name}=={bound}"


def make_environment(folder: Path, pins: list[str], tools: list[str]) -> str:
    """Make an environment with these dependencies and the test tools; return its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if sys.platform == "win32" else "bin") / "python")
    install = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--upgrade",
    ]
    subprocess.run([*install, *pins, *tools], check=True)
    return python


def installed(python: str) -> dict[str, str]:
    """Name and version of everything in an environment."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {canonicalize_name(row["name"]): row["version"] for row in json.loads(listed)}


def table(found: dict[str, dict[str, str]]) -> str:
    """The versions of the direct dependencies, a column for each environment."""
    names = [canonicalize_name(wanted.name) for wanted in requirements(ROOT / "requirements.txt")]
    rows = [
        f"| {name} | {' | '.join(versions[name] for versions in found.values())} |"
        for name in names
    ]
    return "\n".join([f"| package | {' | '.join(found)} |", "|---" * (len(found) + 1) + "|", *rows])


def record(found: dict[str, dict[str, str]]) -> str:
    """The same as a file: Python first, then a line for each direct dependency."""
    python = platform.python_version()
    lines = [f"package,{','.join(found)}", f"Python,{','.join([python] * len(found))}"]
    for wanted in requirements(ROOT / "requirements.txt"):
        name = canonicalize_name(wanted.name)
        lines.append(",".join([name, *(versions[name] for versions in found.values())]))
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run both in turn and return 0 if every test passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--folder", type=Path, default=ROOT / "build" / "versions", help="for the two environments"
    )
    parser.add_argument(
        "--write", action="store_true", help=f"record the versions in data/{RECORD.name}"
    )
    options = parser.parse_args()
    wanted = requirements(ROOT / "requirements.txt")
    tools = [str(tool) for tool in requirements(ROOT / "requirements-dev.txt")]
    found: dict[str, dict[str, str]] = {}
    failed = []
    for name, pins in (
        ("oldest", [lowest(w) for w in wanted]),
        ("newest", [str(w) for w in wanted]),
    ):
        python = make_environment(options.folder / name, pins, tools)
        found[name] = installed(python)
        print(f"\n{name} allowed versions:\n{table({name: found[name]})}", flush=True)
        if subprocess.run(
            [python, "-m", "pytest", "-p", "no:cacheprovider", *TESTS], cwd=ROOT, check=False
        ).returncode:
            failed.append(name)
    outcome = f"Failed: {', '.join(failed)}." if failed else "Passed."
    print(f"\nPython {platform.python_version()}\n{table(found)}\n{outcome}")
    if options.write and not failed:
        RECORD.write_text(record(found), encoding="utf-8")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
