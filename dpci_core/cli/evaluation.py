"""The command `python -m dpci_core evaluation`: what evaluators ask of a release, answered."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from dpci_core.cli.refuse import refuse
from dpci_core.release import load_release
from dpci_core.release.evaluation import evaluation, registry_entry


def add_evaluation(subparsers: Any) -> None:
    """Add the command to the parsers of the command line."""
    asks = subparsers.add_parser(
        "evaluation", help="a release evaluated as NIST SP 800-226 asks, or for a registry"
    )
    asks.add_argument("release", type=Path, help="release.json, or the folder that holds it")
    asks.add_argument("--registry", action="store_true", help="an entry for OpenDP's registry")
    asks.set_defaults(run=run_evaluation)


def run_evaluation(options: argparse.Namespace) -> int:
    """Print one of both; exit code 1 after a sentence on the error output."""
    try:
        made = load_release(options.release)
    except (ValueError, OSError) as error:
        return refuse(error)
    print((registry_entry if options.registry else evaluation)(made), end="")
    return 0
