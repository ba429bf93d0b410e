"""The command line: `app`, `data`, `moments`, `plan`, `ledger`, `release`, `predict`, `verify`,
`after` and `evaluation` after `dpci` or `python -m dpci_core`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from dpci_core.cli.after import add_after
from dpci_core.cli.app import add_app
from dpci_core.cli.evaluation import add_evaluation
from dpci_core.cli.ledger import add_ledger
from dpci_core.cli.plan import add_plan
from dpci_core.cli.refuse import refuse
from dpci_core.cli.release import add_release
from dpci_core.cli.tables import add_convert, add_moments, add_simulate
from dpci_core.cli.verify import add_verify
from dpci_core.datasets import list_datasets
from dpci_core.datasets.download import DownloadError, download
from dpci_core.datasets.files import is_available
from dpci_core.datasets.public import PUBLIC_SETS
from dpci_core.report.refusals import said


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or 1 after a sentence on the error output."""
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _name() -> str:
    """How the command was called, for its help."""
    return "dpci" if Path(sys.argv[0]).stem == "dpci" else "python -m dpci_core"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=_name(), description="Confidence intervals under privacy."
    )
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    add_app(subparsers)
    data = subparsers.add_parser("data", help="the data sets").add_subparsers(
        required=True, metavar="ACTION"
    )
    listing = data.add_parser("list", help="list the known data sets")
    listing.add_argument("--json", action="store_true", help="print JSON for machines")
    listing.set_defaults(run=_list)
    get = data.add_parser("get", help="download a public data set into the cache folder")
    get.add_argument("key", choices=sorted(PUBLIC_SETS))
    get.add_argument(
        "--again", action="store_true", help="download even if the set is already there"
    )
    get.set_defaults(run=_get)
    add_simulate(data)
    add_convert(data)
    add_moments(subparsers)
    add_plan(subparsers)
    add_ledger(subparsers)
    add_release(subparsers)
    add_verify(subparsers)
    add_after(subparsers)
    add_evaluation(subparsers)
    return parser


def _list(options: argparse.Namespace) -> int:
    infos = list_datasets()
    if options.json:
        fields = (
            "key",
            "title",
            "source",
            "n_rows",
            "max_rows",
            "max_features",
            "available",
            "how_to_get",
        )
        print(
            json.dumps([{name: getattr(info, name) for name in fields} for info in infos], indent=1)
        )
        return 0
    for info in infos:
        state = "here" if info.available else info.how_to_get
        print(f"{info.key:<14}{info.n_rows:>9,} rows{info.max_features:>5} features  {state}")
    return 0


def _get(options: argparse.Namespace) -> int:
    title = PUBLIC_SETS[options.key].title
    if is_available(options.key) and not options.again:
        print(f"{title} is already on this machine; --again downloads it once more.")
        return 0
    try:
        download(options.key, say=lambda step: print(said(step), flush=True))
    except DownloadError as error:
        return refuse(error)
    return 0
