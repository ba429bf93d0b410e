"""Fits of tables in batches: time a row and pass, memory and passes, by rows and by engine.

`python -m benchmarks.scale --rows 100000 1000000` simulates a census of the largest size into a
temporary folder, which is removed, and fits its first so many rows in a process of its own each
time. Reading alone is the columns of the fit as plain Arrow values; in memory is the fit of the
encoded rows, where 2,000,000 or fewer fit.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FEATURES = 10
C = 1e-4
MOST_IN_MEMORY = 2_000_000
ENGINES = ("reading", "memory", "here", "processes:2", "dask:2")
COLUMNS = (
    f"{'rows':>12} {'way':<12} {'passes':>6} {'s':>8} {'us/row/pass':>12} {'MB here':>8} "
    f"{'MB workers':>10}"
)


def measure(folder: Path, engine: str) -> dict[str, float]:
    """One way over all files of a folder."""
    from dpci_core import Logistic
    from dpci_core.cli.engines import engine_named
    from dpci_core.datasets import schema_of
    from dpci_core.datasets.folder import folder_batches, read_folder
    from dpci_core.schema import RecordMapper
    from dpci_core.solvers.minimise import minimise

    schema, files = schema_of("census"), read_folder(folder)
    given = {"loss": Logistic(), "regularization": C}
    if engine == "reading":
        return read(files, RecordMapper(schema, FEATURES).needed)
    if engine == "memory":
        from dpci_core.base.rows import stacked

        table = folder_batches(files, schema, features=FEATURES)
        parts = [stacked(list(batch.chunks())) for batch in table.batches]
        A = stacked(parts)
        started = time.perf_counter()
        fit = minimise(A, method="newton", **given)  # type: ignore[arg-type]
        return made(started, len(A), fit.n_iterations + 1)
    with engine_named(engine, elsewhere=False) as workers:
        table = folder_batches(files, schema, features=FEATURES, engine=workers)
        if engine != "here":  # workers start and import before the clock does
            minimise(folder_batches(files[:1], schema, features=FEATURES, engine=workers), **given)  # type: ignore[arg-type]
        started = time.perf_counter()
        minimise(table, **given)  # type: ignore[arg-type]
        found = made(started, len(table), table.n_read[0] / len(table.batches))
    found["MB workers"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return found


def read(files: object, columns: tuple[str, ...]) -> dict[str, float]:
    """The columns, and nothing done with them."""
    import pyarrow.parquet

    started, rows = time.perf_counter(), 0
    for file in files:  # type: ignore[attr-defined]
        parts = pyarrow.parquet.ParquetFile(file.path)
        for block in parts.iter_batches(batch_size=65_536, columns=columns, use_threads=False):
            rows += len(block)
    return made(started, rows, 1.0)


def made(started: float, rows: int, passes: float) -> dict[str, float]:
    """What is printed."""
    seconds = time.perf_counter() - started
    return {
        "rows": rows,
        "passes": passes,
        "s": seconds,
        "us": 1e6 * seconds / rows / passes,
        "MB here": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "MB workers": 0.0,
    }


def main() -> None:
    """Print a line for each size and engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 2_000_000])
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=ENGINES)
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "ENGINE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(Path(options.one[0]), options.one[1])))
        return
    from dpci_core.datasets.census_files import write_census

    with tempfile.TemporaryDirectory() as place:
        print(COLUMNS)
        for rows in options.rows:
            folder = Path(place) / f"{rows}"
            write_census(folder, rows)
            for engine in options.engines:
                if engine == "memory" and rows > MOST_IN_MEMORY:
                    continue
                command = [sys.executable, "-m", "benchmarks.scale", "--one", str(folder), engine]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                found = json.loads(out)
                print(
                    f"{rows:>12,} {engine:<12} {found['passes']:>6.1f} {found['s']:>8.1f} "
                    f"{found['us']:>12.3f} {found['MB here']:>8.0f} {found['MB workers']:>10.0f}",
                    flush=True,
                )
            for file in folder.iterdir():
                file.unlink()


if __name__ == "__main__":
    main()
