"""The command `python -m dpci_core verify`: whether a release is the one that was signed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from dpci_core.cli.command import JSON, Command, flag, pinned, public_key
from dpci_core.release import check_signature
from dpci_core.report.refusals import said


def run_verify(options: argparse.Namespace) -> int:
    """Print what was found; exit code 1 if anything is wrong, or not signed."""
    if not options.release.exists():
        raise ValueError(f"There is nothing at {options.release}.")
    folder = options.release if options.release.is_dir() else options.release.parent
    found = check_signature(folder, public_key=pinned(options))
    problems = list(map(said, found.problems))
    by = "" if found.checked_with is None else said(found.checked_with)
    if options.json:
        about = {"is_good": found.is_good, "problems": problems, "checked_with": by}
        print(json.dumps(about | {"files": found.n_files}, indent=1))
    else:
        print("\n".join(filter(None, [*problems, by, said(found.verdict)])))
    return int(not found.is_good)


VERIFY = Command(
    name="verify",
    help="whether every file of a release is the one that was signed, without ledger or secret",
    flags=(
        flag("release", type=Path, help="the folder of a release, or a file in it"),
        public_key("the release itself names"),
        JSON,
    ),
    run=run_verify,
)
