"""The command line: `python -m dpci_core data list|get|check-census` and `reproduce NAME`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpci_core.datasets import census_check, list_datasets
from dpci_core.datasets.download import DownloadError, download
from dpci_core.datasets.files import is_available
from dpci_core.datasets.public import PUBLIC_SETS

CHECK_FILE = Path(__file__).resolve().parents[1] / "data" / "census_check.json"
"""The committed numbers of census and Adult side by side."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or 1 after a sentence on the error output."""
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m dpci_core", description="Confidence intervals under privacy.")
    rooms = parser.add_subparsers(required=True, metavar="COMMAND")
    data = rooms.add_parser("data", help="the data sets").add_subparsers(required=True, metavar="ACTION")
    listing = data.add_parser("list", help="list the known data sets")
    listing.add_argument("--json", action="store_true", help="print JSON for machines")
    listing.set_defaults(run=_list)
    get = data.add_parser("get", help="download a public data set into the cache folder")
    get.add_argument("key", choices=sorted(PUBLIC_SETS))
    get.add_argument("--again", action="store_true", help="download even if the set is already there")
    get.set_defaults(run=_get)
    check = data.add_parser("check-census", help="compare the simulated census with Adult")
    check.add_argument("--write", action="store_true", help=f"replace the committed {CHECK_FILE.name}")
    check.set_defaults(run=_check_census)
    again = rooms.add_parser("reproduce", help="recompute published tables and figures")
    again.add_argument("names", nargs="+", help="table2 ... table6, or a panel such as figure1b")
    again.add_argument("-k", type=int, default=1_000, help="bootstrap replicates behind a coverage")
    again.add_argument("-m", type=int, default=1_000, help="fits behind a variability length (at least k are made)")
    again.add_argument("--seed", type=int, default=1)
    again.add_argument("--jobs", type=int, default=2, help="workers")
    again.add_argument(
        "--where", action="append", default=[], metavar="FIELD=VALUE", help="like n=50000 or loss=logistic"
    )
    again.add_argument("--ipums", type=Path, help="your own IPUMS extract, for tables 5 and 6")
    again.add_argument("--out", type=Path, help="append to this CSV file and pass over the cells it has")
    again.set_defaults(run=_reproduce)
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    """Print each cell beside its published value, its difference and its error as it is done."""
    from dpci_core import reproduce  # compiles kernels, which the other commands do without

    try:
        cells = [cell for name in options.names for cell in reproduce.cells_of(name)]
        for condition in options.where:
            field, _, value = condition.partition("=")
            cells = [cell for cell in cells if str(getattr(cell, field)) == value]
        done = reproduce.read_run(options.out) if options.out else {}
        left = [cell for cell in cells if cell.key not in done]
        print(f"{len(left)} of {len(cells)} cells to run; k = {options.k}, m = {options.m}.")
        run = reproduce.run_cells(
            left, k=options.k, m=max(options.m, options.k), seed=options.seed, n_jobs=options.jobs, ipums=options.ipums
        )
        for cell, found in run:
            if options.out:
                reproduce.append_run([found], options.out)
            print(_cell_line(cell.key, cell.coverage, found), flush=True)
    except (ValueError, AttributeError, FileNotFoundError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 1
    return 0


def _cell_line(key: str, published: float | None, found: Any) -> str:
    from dpci_core.reproduce import difference_in_errors

    line = f"{key:<75} coverage {found.coverage:.4f} +- {found.coverage_se:.4f}, length {found.ci_length:.4f}"
    if published is None:
        return f"{line}, variability {found.vi_length:.4f}"
    gap = f"{found.coverage - published:+.4f} ({difference_in_errors(published, found):+.1f} errors)"
    return f"{line}, published {published:.4f}, difference {gap}"


def _list(options: argparse.Namespace) -> int:
    infos = list_datasets()
    if options.json:
        fields = ("key", "title", "source", "n_rows", "max_rows", "max_features", "available", "how_to_get")
        print(json.dumps([{name: getattr(info, name) for name in fields} for info in infos], indent=1))
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
        download(options.key, say=lambda line: print(line, flush=True))
    except DownloadError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _check_census(options: argparse.Namespace) -> int:
    """Print the comparison; exit code 1 if a ratio is above the allowed one or Adult is missing."""
    if not is_available("adult"):
        print("Adult is needed for this; get it with `python -m dpci_core data get adult`.", file=sys.stderr)
        return 1
    result = census_check.compare(census_check.measure("census"), census_check.measure("adult"))
    text = json.dumps(result, indent=1) + "\n"
    if options.write:
        CHECK_FILE.write_text(text, encoding="utf-8")
    print(_table(result))
    return int(result["largest_ratio"] > result["allowed_ratio"])


def _table(result: dict[str, Any]) -> str:
    lines = [f"{'':<14}{'':<26}{'census':>10}{'Adult':>10}{'ratio':>8}"]
    for case, numbers in result["census"].items():
        for name, value in numbers.items():
            other = result["adult"][case][name]
            lines.append(f"{case:<14}{name:<26}{value:>10.5g}{other:>10.5g}{value / other:>8.3f}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
