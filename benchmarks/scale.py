"""Fits of tables in batches: time a row and pass, memory and passes, by rows and by engine.

`python -m benchmarks.scale --rows 100000 1000000` simulates a census of each size into a temporary
folder, which is removed, and fits it in a process of its own each time. Times a row and pass are of
the processor, of this process and its workers together, because others use the machine too; seconds
are those of the clock. Reading is the columns of the fit as Arrow values and nothing else; memory
is the fit of the encoded rows, up to 2,000,000.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow.parquet

from dpci_core.datasets.census_files import write_census
from dpci_core.datasets.folder import PartFile
from dpci_core.solvers.batch_sums import Derivatives
from dpci_core.solvers.newton import Newton
from dpci_core.solvers.risk import PenalisedRisk

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
    from dpci_core.base.engine_names import engine_named
    from dpci_core.base.rows import stacked
    from dpci_core.datasets import schema_of
    from dpci_core.datasets.folder import folder_batches, read_folder
    from dpci_core.schema import RecordMapper
    from dpci_core.solvers.minimise import minimise

    schema, files = schema_of("census"), read_folder(folder)
    table = folder_batches(files, schema, features=FEATURES)
    if engine == "reading":
        watch = Watch()
        return watch.found(read(files, RecordMapper(schema, FEATURES).needed), 1.0)
    if engine == "memory":
        A = stacked([block for batch in table.batches for block in batch.chunks()])
        watch = Watch()
        fit = minimise(PenalisedRisk(A, Logistic(), C), Newton())
        return watch.found(len(A), fit.n_iterations + 1.0)
    with engine_named(engine, elsewhere=False) as workers:
        table = replace(table, engine=workers)
        first = replace(table, batches=table.batches[:2])
        first.total(Derivatives(np.zeros(FEATURES + 1), Logistic()))  # imports, before the clock
        table = replace(table, n_read=[0])
        watch = Watch()
        minimise(PenalisedRisk(table, Logistic(), C))
        return watch.found(len(table), table.n_read[0] / len(table.batches))


class Watch:
    """Processor time and memory of this process and its workers."""

    def __init__(self) -> None:
        self.started, self.used = time.perf_counter(), self._used()

    @staticmethod
    def _family() -> list[psutil.Process]:
        own = psutil.Process()
        return [own, *own.children(recursive=True)]

    def _used(self) -> float:
        return sum(sum(one.cpu_times()[:2]) for one in self._family())

    def found(self, rows: int, passes: float) -> dict[str, float]:
        """What is printed."""
        return {
            "passes": passes,
            "s": time.perf_counter() - self.started,
            "us": 1e6 * (self._used() - self.used) / rows / passes,
            "MB here": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "MB workers": max(
                [one.memory_info().rss / 2**20 for one in self._family()[1:]], default=0.0
            ),
        }


def read(files: Sequence[PartFile], columns: tuple[str, ...]) -> int:
    """The columns, and nothing done with them; how many rows there are."""
    rows = 0
    for file in files:
        with pyarrow.parquet.ParquetFile(file.path) as parts:
            for block in parts.iter_batches(65_536, columns=list(columns), use_threads=False):
                rows += len(block)
    return rows


def main() -> None:
    """Print a line for each size and engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000, 2_000_000])
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "ENGINE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(Path(options.one[0]), options.one[1])))
        return
    with tempfile.TemporaryDirectory() as place:
        print(COLUMNS)
        for rows in options.rows:
            folder = Path(place) / f"{rows}"
            write_census(folder, rows)
            for engine in ENGINES:
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
