"""A CSV file once as a folder of Parquet files, for what reads a table in batches."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

import pyarrow
import pyarrow.parquet

from dpci_core.base.batches import BATCH_ROWS
from dpci_core.base.errors import DataRejectedError
from dpci_core.release.table import (
    Header,
    TableError,
    TextEncoding,
    csv_blocks,
    read_header,
    with_point,
)

FILE_ROWS = 8 * BATCH_ROWS
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?\s*")


def convert_csv(
    file: Path,
    folder: Path,
    *,
    encoding: TextEncoding = "utf-8",
    decimal: Literal["point", "comma"] | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> int:
    """Write the records of a CSV file to a new folder of Parquet files, and return how many.

    Every cell is kept as the text it is, so that a schema reads the same records of both. The
    folder has its name once it is whole; memory holds a row group.

    Args:
        file: cut into records as a release cuts it.
        folder: a new one; the files are for their owner alone.
        encoding: of the file.
        decimal: what a comma in a number is in a file whose fields are not cut by commas: "comma"
            writes such numbers with a point, "point" leaves them as they are.
        progress: told the rows that are written, and about what share of the file they are.

    Raises:  DataRejectedError about the file; ValueError for a comma in a number that nobody
             explained; FileExistsError, OSError.
    """
    header = read_header(file, encoding=encoding)
    if header.kind != "csv":
        raise ValueError("Expected a CSV file; Parquet files are read as they are.")
    names = [name for name in header.columns if name]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise DataRejectedError("column_repeated", column=repeated[0], found=2)
    if folder.exists():
        raise FileExistsError(f"{folder} exists already. Name a new folder.")
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(mkdtemp(dir=folder.absolute().parent, prefix=f".{folder.name}-"))
    try:
        n_rows = _write(header, tuple(names), unfinished, decimal, progress)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return n_rows


def _write(
    header: Header,
    names: tuple[str, ...],
    folder: Path,
    decimal: Literal["point", "comma"] | None,
    progress: Callable[[int, float], None] | None,
) -> int:
    assert isinstance(header.file, Path)
    size, n_chars, n_rows, n_files = header.file.stat().st_size, 0, 0, 0
    schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
    writer: pyarrow.parquet.ParquetWriter | None = None
    try:
        for columns in _groups(header, names):
            if header.has_decimal_comma and decimal != "point":
                columns = [
                    _with_points(column, name, decimal, n_rows)
                    for name, column in zip(names, columns, strict=True)
                ]
            if writer is None:
                writer = pyarrow.parquet.ParquetWriter(
                    folder / f"part-{n_files:06d}.parquet", schema
                )
            table = pyarrow.table([pyarrow.array(c, pyarrow.string()) for c in columns], schema)
            writer.write_table(table, row_group_size=BATCH_ROWS)
            n_rows += len(table)
            n_chars += sum(len(cell) + 1 for column in columns for cell in column)
            if progress is not None:
                progress(n_rows, min(1.0, n_chars / size))
            if n_rows >= (n_files + 1) * FILE_ROWS:
                writer.close()
                writer, n_files = None, n_files + 1
    finally:
        if writer is not None:
            writer.close()
    if not n_rows:
        raise TableError("no_rows")
    return n_rows


def _groups(header: Header, names: tuple[str, ...]) -> Iterator[list[list[str]]]:
    """Columns of texts, the rows of a row group at a time."""
    held: list[list[str]] = [[] for _ in names]
    for block in csv_blocks(header, names):
        for column, name in zip(held, names, strict=True):
            column.extend(map(str, block[name]))
        if len(held[0]) >= BATCH_ROWS:
            yield held
            held = [[] for _ in names]
    if held[0]:
        yield held


def _with_points(
    column: list[str], name: str, decimal: Literal["comma"] | None, n_before: int
) -> list[str]:
    """Numbers with a decimal comma with a point, as the reader of CSV files takes them."""
    is_number = [_COMMA_NUMBER.fullmatch(cell) is not None for cell in column]
    if decimal is None and any(is_number):
        raise ValueError(
            f"Record {n_before + is_number.index(True) + 1:,} of column {name!r} has a comma in a "
            "number: say decimal='comma' or decimal='point'."
        )
    return [
        str(with_point(cell)) if found else cell
        for cell, found in zip(column, is_number, strict=True)
    ]
