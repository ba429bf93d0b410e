"""The command `python -m dpci_core evaluation`: what evaluators ask of a release, answered."""

from __future__ import annotations

import argparse

from dpci_core.cli.command import RELEASE, Command, flag, put
from dpci_core.release import load_release
from dpci_core.release.evaluation import evaluation, registry_entry


def run_evaluation(options: argparse.Namespace) -> int:
    """Print one of both."""
    made = load_release(options.release)
    return put((registry_entry if options.registry else evaluation)(made), None)


EVALUATION = Command(
    name="evaluation",
    help="a release evaluated as NIST SP 800-226 asks, or for a registry",
    flags=(
        RELEASE,
        flag("--registry", action="store_true", help="an entry for OpenDP's registry"),
    ),
    run=run_evaluation,
)
