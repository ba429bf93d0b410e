"""What the scripts of published figures share: cells of one table run as one experiment, each a row
of a CSV file that is appended to as rows come, so that a run can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from dpci_core.base.errors import check_count
from dpci_core.design import Design
from dpci_core.schema import Records
from dpci_core.simulation.result import DesignResult, ExperimentResult, versions
from dpci_core.simulation.run import run_experiment

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")

_READERS: dict[Any, type] = {"int": int, "float": float}
"""By the annotation of a field, which is text in a module with postponed annotations; any other is
read as text.
"""


def read_rows(kind: type[Row], path: Path) -> list[Row]:
    """Return the rows on file in their order; no file is no rows, an unfinished last line, left by
    a kill, is passed over.

    Args:
        kind: a frozen dataclass of one-line text, int and float, in a module with postponed
            annotations.
        path: the file.

    Raises:  ValueError naming the file if it has other columns or a line that is not a row.
    """
    if not path.exists():
        return []
    names = [f.name for f in fields(kind)]
    lines = csv.DictReader(io.StringIO(_whole_lines(path).decode("utf-8"), newline=""))
    if lines.fieldnames != names:
        raise ValueError(f"Expected {path.name} to have the columns {', '.join(names)}.")
    try:
        return [
            kind(**{f.name: _READERS.get(f.type, str)(line[f.name]) for f in fields(kind)})
            for line in lines
        ]
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{path.name}, line {lines.line_num}: {problem}") from None


def append_rows(rows: Iterable[Row], path: Path, kind: type[Row]) -> None:
    """Add rows to a file, which is made if need be, in the place of an unfinished last line.

    Raises:  ValueError as `read_rows` does, before anything is written.
    """
    is_new = not path.exists()
    read_rows(kind, path)
    if not is_new:
        os.truncate(path, len(_whole_lines(path)))
    with path.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, [f.name for f in fields(kind)], lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


def _whole_lines(path: Path) -> bytes:
    """The content up to its last line end: bytes, because a kill can fall inside a letter."""
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def how_made(seed: int) -> dict[str, Any]:
    """What every row says of its making: the seed of the run, today, and what it ran on."""
    return {
        "seed": seed,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": " ".join(f"{name} {number}" for name, number in versions().items()),
    }


def provenance(found: DesignResult, result: ExperimentResult, seed: int) -> dict[str, Any]:
    """The same with the fits that failed and the replicates."""
    counts = {"n_failed": found.n_failed, "k": result.n_covered, "m": result.n_done}
    return counts | how_made(seed)


class Table(Protocol):
    """What the cells of one table share."""

    records: Records

    def design(self, cell: Any) -> Design:
        """The design of a cell."""

    def row(self, cell: Any, found: DesignResult, result: ExperimentResult, seed: int) -> Any:
        """What is kept of it."""


def run_cells(
    cells: Iterable[Any],
    *,
    table_of: Callable[[Any], Hashable],
    open_table: Callable[[Any], Table],
    k: int,
    m: int,
    seed: int,
    n_jobs: int = 1,
) -> Iterator[tuple[Any, Any]]:
    """Yield each cell with its row; those of one table are on the same replicates.

    Args:
        cells: one design on one table each.
        table_of: names the table of a cell.
        open_table: reads it, given its first cell.
        k: bootstrap replicates behind a coverage.
        m: fits behind a variability length.
        seed: of every table, so that cells run later are on the replicates of those run before.
        n_jobs: workers, as joblib counts them.

    Raises:  FileNotFoundError saying how to get a set.
    """
    check_count(k=k, m=m)
    tables: dict[Hashable, list[Any]] = {}
    for cell in cells:
        tables.setdefault(table_of(cell), []).append(cell)
    for together in tables.values():
        table = open_table(together[0])
        result = run_experiment(
            table.records.X,
            table.records.y,
            designs=[table.design(cell) for cell in together],
            n_variability=m,
            n_coverage=k,
            rng=np.random.default_rng(seed),
            n_jobs=n_jobs,
        )
        for cell, found in zip(together, result.designs, strict=True):
            yield cell, table.row(cell, found, result, seed)


def add_options(parser: argparse.ArgumentParser, *, seed: int) -> None:
    """Add what every study is asked."""
    parser.add_argument("-k", type=int, default=1_000, help="replicates behind a coverage")
    parser.add_argument("-m", type=int, default=1_000, help="fits behind a length, k or more")
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--jobs", type=int, default=2, help="workers")
    parser.add_argument(
        "--out",
        type=Path,
        help="append to this CSV file and pass over the cells it has from the same k, m and seed",
    )


def carry_out(
    cells: Iterable[Any],
    on_file: Mapping[Any, Any],
    options: argparse.Namespace,
    *,
    kind: type[Any],
    key: Callable[[Any], Hashable],
    line: Callable[[Any, Any], str],
    **how: Any,
) -> int:
    """Measure the cells that the file does not answer, and print a line each as it comes; a row
    that was not measured now is called stored.

    on_file: rows by key.
    kind: of a row.
    how: as for `run_cells`.
    """
    cells, m = list(cells), max(options.m, options.k)
    asked = (options.k, m, options.seed)
    stored = {c: row for c, row in on_file.items() if (row.k, row.m, row.seed) == asked}
    for cell in cells:
        if key(cell) in stored:
            row = stored[key(cell)]
            print(f"{line(cell, row)}, stored {row.date}")
    left = [cell for cell in cells if key(cell) not in stored]
    print(f"{len(left)} of {len(cells)} cells to run; k = {options.k}, m = {m}.", flush=True)
    try:
        if options.out and left:  # one that cannot be written is found out before the work
            append_rows([], options.out, kind)
        run = run_cells(left, k=options.k, m=m, seed=options.seed, n_jobs=options.jobs, **how)
        for cell, row in run:
            if options.out:
                append_rows([row], options.out, kind)
            print(line(cell, row), flush=True)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0
