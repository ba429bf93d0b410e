"""The command line: `app`, `data`, `reproduce`, `compare`, `moments`, `plan`, `ledger`, `release`,
`predict`, `verify`, `after` and `accuracy` after `dpci` or `python -m dpci_core`."""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpci_core.base.engine_names import workers_named
from dpci_core.base.errors import check_count
from dpci_core.base.places import DATA
from dpci_core.cli.accuracy import add_accuracy
from dpci_core.cli.after import add_after
from dpci_core.cli.app import add_app
from dpci_core.cli.engines import PROGRESS_SECONDS, add_engine, say
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
from dpci_core.studies import census_check

if TYPE_CHECKING:
    from dpci_core.simulation.result import Progress
    from dpci_core.studies.compare import Compared, Comparison, DataTable

CHECK_FILE = DATA / "census_check.json"
"""The committed numbers of census and Adult side by side."""


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
    rooms = parser.add_subparsers(required=True, metavar="COMMAND")
    add_app(rooms)
    data = rooms.add_parser("data", help="the data sets").add_subparsers(
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
    check = data.add_parser("check-census", help="compare the simulated census with Adult")
    check.add_argument(
        "--write", action="store_true", help=f"replace the committed {CHECK_FILE.name}"
    )
    check.set_defaults(run=_check_census)
    add_simulate(data)
    add_convert(data)
    again = rooms.add_parser("reproduce", help="recompute published tables and figures")
    again.add_argument("names", nargs="+", help="table2 ... table6, or a panel such as figure1b")
    again.add_argument("-k", type=int, default=1_000, help="bootstrap replicates behind a coverage")
    again.add_argument(
        "-m", type=int, default=1_000, help="fits behind a variability length (at least k are made)"
    )
    again.add_argument("--seed", type=int, default=1)
    again.add_argument("--jobs", type=int, default=2, help="workers")
    again.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help="like n=50000 or loss=logistic",
    )
    again.add_argument("--ipums", type=Path, help="your own IPUMS extract, for tables 5 and 6")
    again.add_argument(
        "--out", type=Path, help="append to this CSV file and pass over the cells it has"
    )
    again.set_defaults(run=_reproduce)
    compare = rooms.add_parser(
        "compare", help="published against sharp calibration on every table, cell by cell"
    )
    compare.add_argument("--sets", nargs="+", metavar="SET", help="like adult-10 (default: all)")
    compare.add_argument(
        "-k", "--k", type=int, default=1_000, help="bootstrap replicates behind a coverage"
    )
    compare.add_argument(
        "-m", "--m", type=int, default=1_000, help="fits behind a variability length, k or more"
    )
    compare.add_argument("--seed", type=int, default=20_261_121)
    compare.add_argument("--jobs", type=int, default=2, help="workers")
    compare.add_argument(
        "--output",
        type=Path,
        help="append to this CSV file and pass over the cells it has from the same k, m and seed",
    )
    add_engine(compare, elsewhere=True)
    compare.add_argument("--json", action="store_true", help="print JSON for machines")
    compare.set_defaults(run=_compare)
    add_moments(rooms)
    add_plan(rooms)
    add_ledger(rooms)
    add_release(rooms)
    add_verify(rooms)
    add_after(rooms)
    add_evaluation(rooms)
    add_accuracy(rooms)
    return parser


def _reproduce(options: argparse.Namespace) -> int:
    """Print each cell beside its published value, its difference and its error as it is done."""
    from dpci_core.studies import reproduce  # compiles kernels, which the other commands do without

    try:
        cells = [cell for name in options.names for cell in reproduce.cells_of(name)]
        for condition in options.where:
            field, _, value = condition.partition("=")
            cells = [cell for cell in cells if str(getattr(cell, field)) == value]
        done = reproduce.read_run(options.out) if options.out else {}
        left = [cell for cell in cells if cell.key not in done]
        print(f"{len(left)} of {len(cells)} cells to run; k = {options.k}, m = {options.m}.")
        run = reproduce.run_cells(
            left,
            k=options.k,
            m=max(options.m, options.k),
            seed=options.seed,
            n_jobs=options.jobs,
            ipums=options.ipums,
        )
        for cell, found in run:
            if options.out:
                reproduce.append_run([found], options.out)
            print(_cell_line(cell.key, cell.coverage, found), flush=True)
    except (ValueError, AttributeError, FileNotFoundError) as error:
        return refuse(error)
    except KeyboardInterrupt:
        print("Stopped; the same command goes on from here.", file=sys.stderr)
        return 1
    return 0


def _cell_line(key: str, published: float | None, found: Any) -> str:
    from dpci_core.studies.reproduce import difference_in_errors

    line = (
        f"{key:<75} coverage {found.coverage:.4f} +- {found.coverage_se:.4f}, length "
        f"{found.ci_length:.4f}"
    )
    if published is None:
        return f"{line}, variability {found.vi_length:.4f}"
    gap = (
        f"{found.coverage - published:+.4f} ({difference_in_errors(published, found):+.1f} errors)"
    )
    return f"{line}, published {published:.4f}, difference {gap}"


def _compare(options: argparse.Namespace) -> int:
    """Measure every cell that was asked for, but for those on the file to go on with; print all."""
    from dpci_core.studies import compare  # a second of imports that the other commands do without

    path, m = options.output, max(options.m, options.k)
    try:
        cells = {
            name: compare.cells_of(name) for name in dict.fromkeys(options.sets or compare.SETS)
        }
        asked = (options.k, m, options.seed)
        on_file = compare.read_comparisons(path) if path else {}
        done = {c: row for c, row in on_file.items() if (row.k, row.m, row.seed) == asked}
        stored = set(done)
        left = {name: [c for c in of_set if c not in done] for name, of_set in cells.items()}
        missing = compare.missing_sets(name for name in cells if left[name])
        for name, how_to_get in missing.items():
            print(
                f"{name} is left out: its data are not on this machine; get them with "
                f"`{how_to_get}`.",
                file=sys.stderr,
            )
        run = [cell for name in cells if name not in missing for cell in left[name]]
        say(
            f"{len(run)} of {sum(map(len, cells.values()))} cells to run; k = {options.k}, m = {m}."
        )
        check_count(k=options.k, m=m, seed=options.seed + 1)
        if options.jobs == 0:
            raise ValueError("Expected jobs=0 to be a whole number other than 0.")
        if path and run:  # a file that cannot be written is found out before the work
            compare.append_comparisons([], path)
        with workers_named(options.engine, options.jobs) as n_jobs:
            for found in compare.run_comparisons(
                run,
                k=options.k,
                m=m,
                seed=options.seed,
                n_jobs=n_jobs,
                progress=_progress_lines(),
            ):
                if path:
                    compare.append_comparisons([found], path)
                done[found.cell] = found
    except (ValueError, OSError) as error:
        return refuse(error)
    except KeyboardInterrupt:
        more = "the same command goes on from here" if path else "nothing was kept"
        print(f"Stopped; {more}.", file=sys.stderr)
        return 1
    rows = [done[cell] for of_set in cells.values() for cell in of_set if cell in done]
    print(
        json.dumps([_plain_row(row) for row in rows], indent=1)
        if options.json
        else _compared_table(rows, stored)
    )
    return int(bool(missing))


def _progress_lines() -> Callable[[DataTable, Progress], None]:
    """Say how far a table is, now and then and at its end."""
    last = -math.inf

    def told(table: DataTable, state: Progress) -> None:
        nonlocal last
        if state.done < state.total and time.monotonic() - last < PROGRESS_SECONDS:
            return
        last = time.monotonic()
        say(
            f"{table.dataset}, n = {table.n:,}, d = {table.d}: {state.done:,} of {state.total:,} "
            f"replicates of {len(state.se)} cells, about {math.ceil(state.seconds_left / 60)} min "
            "left"
        )

    return told


def _plain_row(row: Compared) -> dict[str, Any]:
    """JSON has no NaN."""
    return {
        k: None if isinstance(v, float) and not math.isfinite(v) else v
        for k, v in asdict(row).items()
    }


def _compared_table(rows: Iterable[Compared], stored: Set[Comparison]) -> str:
    """One block a design, its published length as the measure of the others; a row that was not
    measured now is called stored.
    """
    lines: list[str] = []
    design: tuple[object, ...] = ()
    published: float | None = None
    for row in rows:
        if design != (design := (row.table, row.privacy, row.mechanism, row.loss)):
            published = row.ci_length if row.calibration == "published" else None
            title = (
                f"{row.dataset}, n = {row.n:,}, d = {row.d}: {row.privacy}, {row.mechanism}, "
                f"{row.loss}"
            )
            lines += ["", f"{title:<58}{_COMPARED_HEADER}"]
        against = f"{row.ci_length / published:>11.3f}" if published else f"{'-':>11}"
        lines.append(
            f"  {row.calibration:<38}{row.shares:>20}{row.coverage:>9.4f}{row.coverage_se:>8.4f}"
            f"{row.coverage_prevalent:>11.3f}{row.coverage_smallest:>10.3f}{row.ci_length:>10.4f}{row.vi_length:>13.4f}"
            f"{row.ratio:>8.3f}{row.forecast_length:>10.4f}{against}"
            + (f"  stored, {row.date}" if row.cell in stored else "")
        )
    return "\n".join(lines[1:])


_COMPARED_HEADER = (
    f"{'coverage':>10}{'error':>8}{'prevalent':>11}{'smallest':>10}{'length':>10}{'variability':>13}{'ratio':>8}"
    f"{'forecast':>10}{'/published':>11}"
)


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


def _check_census(options: argparse.Namespace) -> int:
    """Print the comparison; exit code 1 if a ratio is above the allowed one or Adult is missing."""
    if not is_available("adult"):
        print(
            "Adult is needed for this; get it with `python -m dpci_core data get adult`.",
            file=sys.stderr,
        )
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
