"""The commands on tables in batches: `data simulate` and `moments`."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from dpci_core.base.engine_names import engine_named
from dpci_core.cli.command import ENCODING, Command, check_new, flag
from dpci_core.cli.engines import Watched, engine_flag, progress_line, say
from dpci_core.plan import Plan, as_json, read_plan
from dpci_core.plan.moments_file import moments_record, write_moments
from dpci_core.schema import meaning_of
from dpci_core.solvers.moments import fit_moments


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"Expected {text!r} to be a whole number.") from None


def run_simulate(options: argparse.Namespace) -> int:
    """Write the files, one after the other; what is there already of a broken-off run stays."""
    from dpci_core.datasets.census_files import write_census

    started = time.monotonic()
    try:
        seed = {} if options.seed is None else {"seed": options.seed}
        with progress_line("simulate") as told:

            def written(done: int) -> None:
                left = (time.monotonic() - started) * (options.rows - done) / done
                words = f", {done:,} of {options.rows:,} rows, about {left / 60:.1f} min left"
                told(done / options.rows, words)

            write_census(options.folder, options.rows, progress=written, **seed)
    except KeyboardInterrupt:
        say("Stopped; the folder has the files that were finished.")
        return 1
    print(f"Written to {options.folder}.")
    return 0


def run_convert(options: argparse.Namespace) -> int:
    """Write the folder, or nothing."""
    from dpci_core.release.convert import convert_csv

    try:
        with progress_line("convert") as told:
            n_rows = convert_csv(
                options.file,
                options.folder,
                encoding=options.encoding,
                decimal=options.decimal,
                progress=lambda done, share: told(share, f", {done:,} records"),
            )
    except KeyboardInterrupt:
        say("Stopped; nothing was kept.")
        return 1
    print(
        f"{n_rows:,} records written to {options.folder}, every cell as it is: as private as the "
        "file."
    )
    return 0


def check_folder(file: Path) -> None:
    """Raise ValueError for a single file where only a folder is read in batches, and for none."""
    if not file.exists():
        raise ValueError(f"There is no {file}.")
    if file.is_file():
        raise ValueError(
            f"Expected a folder of Parquet files; `dpci data convert {file} --folder FOLDER` makes "
            "one of a CSV file."
        )


def run_moments(options: argparse.Namespace) -> int:
    """Print or write the moments as JSON."""
    from dpci_core.datasets.folder import folder_batches, read_folder

    if not options.public:
        raise ValueError(
            "Expected --public: moments describe the table, so everybody must be allowed to "
            "see it. Nothing was read."
        )
    check_folder(options.file)
    check_new(options.output)
    plan = read_plan(options.plan).expected(Plan)
    files = read_folder(options.file)
    with (
        engine_named(options.engine, elsewhere=True) as engine,
        progress_line("moments") as told,
    ):
        table = folder_batches(
            files,
            plan.schema,
            features=plan.features,
            engine=Watched(engine, told),
            cache=options.cache,
        )
        moments = fit_moments(
            table,
            loss=plan.design.loss,
            regularization=plan.design.regularization,
            target="unpenalised",
            geometry=plan.design.geometry,
            with_spread=plan.design.geometry is None,
            meaning=meaning_of(plan.schema, plan.features),
        )
    record = json.loads(as_json(plan))
    if options.output is None:
        print(json.dumps(moments_record(moments, names=plan.names, plan=record), indent=1))
    else:
        write_moments(moments, options.output, names=plan.names, plan=record)
        say(f"{moments.n_records:,} records; written to {options.output}.")
    return 0


SIMULATE = Command(
    name="simulate",
    help="write a simulated table of any size as a folder of Parquet files",
    flags=(
        flag("key", choices=["census"]),
        flag("--rows", type=_whole, required=True, help="like 100_000_000"),
        flag("--folder", type=Path, required=True, help="a new folder"),
        flag("--seed", type=_whole, help="of the people (default: the usual ones)"),
    ),
    run=run_simulate,
)
CONVERT = Command(
    name="convert",
    help="write a CSV file once as a folder of Parquet files, cells as they are",
    flags=(
        flag("file", type=Path),
        flag("--folder", type=Path, required=True, help="a new folder"),
        ENCODING,
        flag(
            "--decimal",
            choices=("point", "comma"),
            help="what a comma in a number is, where commas do not cut the fields",
        ),
    ),
    run=run_convert,
)
MOMENTS = Command(
    name="moments",
    help="the moments of a public or simulated table, for forecasts without it",
    flags=(
        flag("plan", type=Path, help="whose schema, features, loss and c are meant"),
        flag("--file", type=Path, required=True, help="a folder of Parquet files"),
        flag(
            "--public",
            action="store_true",
            help="say that everybody may see the table: moments are not private",
        ),
        flag(
            "--cache",
            type=Path,
            help="a folder for mapped records, so that the next run is quicker",
        ),
        flag("--output", type=Path, help="a new file of moments (default: print)"),
        engine_flag(elsewhere=True),
    ),
    run=run_moments,
)
