"""The simulated census as a folder of Parquet files, of any size and in little memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet

from dpci_core.base.errors import check_count, expect
from dpci_core.base.limits import MOST_RECORDS
from dpci_core.datasets._census import BLOCK_ROWS, SEED, census_part

GROUP_ROWS = 10 * BLOCK_ROWS
"""Rows of a row group, and so of a batch."""
FILE_ROWS = 10 * GROUP_ROWS


def write_census(
    folder: Path,
    n_rows: int,
    *,
    seed: int = SEED,
    progress: Callable[[int], None] | None = None,
) -> None:
    """Write the first n_rows people of the census with this seed (`simulate_census`).

    The same people whatever n_rows is; a file has its name once it is whole.

    Args:
        folder: a new folder.
        n_rows: how many people.
        seed: of the people.
        progress: told the rows that are written.

    Raises:  ValueError for numbers out of range, FileExistsError, OSError.
    """
    check_count(n_rows=n_rows)
    expect(n_rows <= MOST_RECORDS, f"Expected n_rows={n_rows!r} <= {MOST_RECORDS}.")
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, n_rows, FILE_ROWS)):
        last = min(first + FILE_ROWS, n_rows)
        part = folder / f".part-{number:06d}.unfinished"
        writer: pyarrow.parquet.ParquetWriter | None = None
        for start in range(first, last, GROUP_ROWS):
            frame = census_part(start, min(start + GROUP_ROWS, last), seed=seed)
            table = pyarrow.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pyarrow.parquet.ParquetWriter(part, table.schema)
            writer.write_table(table, row_group_size=GROUP_ROWS)
            if progress is not None:
                progress(start + len(frame))
        assert writer is not None
        writer.close()
        part.rename(folder / f"part-{number:06d}.parquet")
