"""The command `python -m dpci_core verify`: whether a release is the one that was signed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from dpci_core.cli.refuse import refuse
from dpci_core.ledger import PublicKey
from dpci_core.release import check_signature
from dpci_core.report.refusals import said


def add_verify(subparsers: Any) -> None:
    """Add the command to the parsers of the command line."""
    parser = subparsers.add_parser(
        "verify",
        help="whether every file of a release is the one that was signed, without ledger or secret",
    )
    parser.add_argument("release", type=Path, help="the folder of a release, or a file in it")
    add_public_key(parser, "the release itself names")
    parser.add_argument("--json", action="store_true", help="print JSON for machines")
    parser.set_defaults(run=run_verify)


def add_public_key(parser: argparse.ArgumentParser, default: str) -> None:
    """Add `--public-key` to a command that checks signatures."""
    parser.add_argument(
        "--public-key",
        metavar="KEY",
        help=f"64 digits, or a file that holds them (default: the key that {default})",
    )


def pinned(options: argparse.Namespace) -> PublicKey | None:
    """The public key of a file or of its digits, None where none was given."""
    if options.public_key is None:
        return None
    path = Path(options.public_key)
    return PublicKey.of(path.read_text("utf-8") if path.is_file() else options.public_key)


def run_verify(options: argparse.Namespace) -> int:
    """Print what was found; exit code 1 if anything is wrong, or not signed."""
    try:
        folder = options.release if options.release.is_dir() else options.release.parent
        found = check_signature(folder, public_key=pinned(options))
    except (ValueError, OSError) as error:
        return refuse(error)
    problems = list(map(said, found.problems))
    by = "" if found.checked_with is None else said(found.checked_with)
    if options.json:
        about = {"is_good": found.is_good, "problems": problems, "checked_with": by}
        print(json.dumps(about | {"files": found.n_files}, indent=1))
    else:
        print("\n".join(filter(None, [*problems, by, said(found.verdict)])))
    return int(not found.is_good)
