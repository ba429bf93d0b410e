"""The private file: its header before the release, its rows during it.

`read_header` opens nothing below the header, `counted` keeps nothing of it but the number of
records or persons. `read_records` refuses nothing below it: whatever a row holds, it becomes one
record (docs/proofs/release.md#records).
"""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
import pyarrow
import pyarrow.parquet

from dpci_core.base.array import Array
from dpci_core.base.batch import BatchError
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.persons import Numbers, PersonNumbers
from dpci_core.base.rows import WeightedRows, stacked
from dpci_core.datasets.folder import (
    LONGEST_CELL,
    PartFile,
    check_header_has,
    kind_of,
    limited_cell_blocks,
    read_folder,
    unusable_in,
)
from dpci_core.datasets.upload import DELIMITERS, FORMATS
from dpci_core.schema.declare import Persons
from dpci_core.schema.mapping import Cells, MappingNote, RecordMapper

TextEncoding = Literal["utf-8", "latin-1"]

LONGEST_HEADER = 2**20
"""Bytes of a CSV header that are read at most."""
BLOCK_ROWS = 8192
"""Rows mapped at a time: memory holds the matrix of records and little else."""
LONGEST_RECORD = 2**20
"""Characters of a record in a CSV file; a longer one is a record of missing cells, and is never
held.
"""
REPLACED = "\N{REPLACEMENT CHARACTER}"
"""Stands for bytes that are no text in the encoding."""
_PARQUET_MAGIC = b"PAR1"
_MARKS = "".join(DELIMITERS).encode()
_PART = 65_536
"""Characters that are read of a line at once."""
_START, _WITHIN, _QUOTED, _MARK = range(4)
"""Before a cell, in one without quotation marks, in one with them, right after a mark within it."""


class TableError(BatchError):
    """A file that holds no table any more; it is about the file as a whole."""


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file that is in memory only, as a browser sent it; its content is in no message."""

    name: str
    content: bytes = field(repr=False)


TableFile = Path | MemoryFile


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What is known of a file before its rows are read: the column names, stripped, and how the
    rows will be read.

    first_line: of a CSV file, with its end; the rows follow.
    parts: the files of a folder, whose records are one table.
    n_records: rows; what Parquet files state, 0 for a CSV file that ends with its header, else None
    until `counted`. Reading another number of rows is a TableError.
    n_persons: in them, None until `counted`, or where the column could not be read.
    encoding: of a CSV file; bytes that do not fit are replaced.
    unusable: columns of a Parquet file whose type holds neither numbers nor texts nor yes/no.
    """

    file: TableFile
    kind: Literal["csv", "parquet", "folder"]
    columns: tuple[str, ...]
    encoding: TextEncoding = "utf-8"
    delimiter: str = ","
    first_line: bytes = b""
    unusable: frozenset[str] = frozenset()
    n_records: int | None = None
    n_persons: int | None = None
    parts: tuple[PartFile, ...] = ()

    @property
    def has_decimal_comma(self) -> bool:
        """Whether a comma in a number is its decimal point, as where fields are separated by
        something else.
        """
        return self.kind == "csv" and self.delimiter != ","

    def check_has(self, needed: tuple[str, ...]) -> None:
        """Raise DataRejectedError unless every needed column is there once."""
        check_header_has(self.columns, self.unusable, needed)


def read_header(file: TableFile | str, *, encoding: TextEncoding = "utf-8") -> Header:
    """Return the column names of a CSV or Parquet file.

    Of a CSV file, bytes are read one by one up to the end of the first line. Of a Parquet file, the
    piece at its end that holds the names is read, and nothing but names, types and the number of
    rows is kept.
    Raises:  DataRejectedError about the file or its header.
    """
    source = Path(file) if isinstance(file, str) else file
    if encoding not in ("utf-8", "latin-1"):
        raise ValueError(f"Expected encoding={encoding!r} to be 'utf-8' or 'latin-1'.")
    if isinstance(source, Path) and source.is_dir():
        return _folder_header(source)
    try:
        with _opened(source, buffering=0) as raw:
            first = (
                raw.read(len(_PARQUET_MAGIC))
                if source.name.lower().endswith((".parquet", ".pq"))
                else b""
            )
            if first == _PARQUET_MAGIC:
                return _parquet_header(source)
            if first:
                raise DataRejectedError("not_parquet")
            line = _first_line(raw)
            _check_format(line)
            if line.endswith(b"\r") and _size(source) == len(line) + 1 and raw.read(1) == b"\n":
                # the file ends here: this byte belongs to the line end, or is all the rows there
                # are
                line += b"\n"
        return _csv_header(source, line, encoding)
    except FileNotFoundError:
        raise DataRejectedError("no_such_file", path=source) from None
    except (OSError, pyarrow.ArrowException):
        raise DataRejectedError("header_unreadable") from None


def _opened(file: TableFile, *, buffering: int = -1) -> IO[bytes]:
    """The bytes from the start; with buffering=0 nothing is read ahead of what is asked for."""
    return (
        io.BytesIO(file.content)
        if isinstance(file, MemoryFile)
        else file.open("rb", buffering=buffering)
    )


def _for_arrow(file: TableFile) -> Any:
    return pyarrow.BufferReader(file.content) if isinstance(file, MemoryFile) else file


def _parquet_header(file: TableFile) -> Header:
    metadata = pyarrow.parquet.read_metadata(_for_arrow(file))
    schema = metadata.schema.to_arrow_schema()
    names = tuple(str(name).strip() for name in schema.names)
    kinds = zip(names, schema.types, strict=True)
    unusable = (name for name, kind in kinds if kind_of(kind) == "unusable")
    n_records = max(0, metadata.num_rows)
    return Header(
        file=file, kind="parquet", columns=names, unusable=frozenset(unusable), n_records=n_records
    )


def _folder_header(folder: Path) -> Header:
    parts = read_folder(folder)
    return Header(
        file=folder,
        kind="folder",
        columns=parts[0].columns,
        unusable=unusable_in(parts),
        n_records=sum(sum(part.group_rows) for part in parts),
        parts=parts,
    )


def _first_line(raw: IO[bytes]) -> bytes:
    """Bytes up to and with the first line end outside quotation marks.

    A mark opens at the start of a name only, as for the reader of the rows: one within a name (5"
    pipe) would carry on below the header.
    """
    line, is_quoted, may_open = bytearray(), False, True
    while len(line) <= LONGEST_HEADER:
        byte = raw.read(1)
        if not byte:
            break
        line += byte
        if byte in b"\r\n" and not is_quoted:
            return bytes(line)
        if byte == b'"':
            is_quoted, may_open = (
                may_open and not is_quoted,
                is_quoted,
            )  # two marks within marks stand for one
        elif not is_quoted:
            is_start = len(line) == len(codecs.BOM_UTF8) and line == codecs.BOM_UTF8
            may_open = is_start or byte in _MARKS
    _check_format(line)  # a spreadsheet may have no line end
    raise DataRejectedError("no_rows_below_names")


def _check_format(line: bytes | bytearray) -> None:
    """Refuse by its name what begins like a file that people take for a table."""
    for mark, kind in FORMATS.items():
        if line.lower().startswith(mark.lower()):
            raise DataRejectedError("another_format", kind=kind)


def _csv_header(file: TableFile, line: bytes, encoding: TextEncoding) -> Header:
    text = line.removeprefix(codecs.BOM_UTF8)
    if b"\0" in text:
        raise DataRejectedError("not_csv")
    try:
        written = text.decode(encoding)
    except UnicodeDecodeError:
        raise DataRejectedError("header_not_utf_8") from None
    rows = {mark: _fields(written, mark) for mark in DELIMITERS}
    delimiter = max(DELIMITERS, key=lambda mark: len(rows[mark]))
    names = tuple(name.strip() for name in rows[delimiter])
    if not any(names):
        raise DataRejectedError("header_without_names")
    if any(
        delimiter in name and ("\n" in name or "\r" in name) for name in names
    ):  # most likely cells of a row
        raise DataRejectedError("header_quotation_mark_open")
    return Header(
        file=file,
        kind="csv",
        columns=names,
        encoding=encoding,
        delimiter=delimiter,
        first_line=line,
        n_records=0 if _size(file) == len(line) else None,
    )


def _size(file: TableFile) -> int:
    """Bytes; that there are none below the header says that n is 0, and nothing else."""
    return len(file.content) if isinstance(file, MemoryFile) else file.stat().st_size


def _fields(line: str, delimiter: str) -> list[str]:
    """The fields of one line; none where it cannot be cut by this delimiter.

    Strictly: a quotation mark that is closed by one of a row below would else make a name of
    private cells.
    """
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []


def counted(header: Header, persons: Persons | None = None) -> Header:
    """Return the header of a file with the number of its records, or also of its persons, and
    nothing else about them.

    A CSV file is cut into records for it, as by the release, and no cell is looked at but those of
    the column of persons, of which the names that differ are counted; n is public. What unpacking
    Parquet takes depends on cells, so where that fails the number stays unknown.
    Raises:  DataRejectedError if the file cannot be read or has changed.
    """
    try:
        if persons is not None:
            return _persons_counted(header, persons.column)
        if header.n_records is not None:
            return header
        return replace(header, n_records=sum(1 for _ in _csv_rows(header)))
    except OSError:
        raise DataRejectedError("header_unreadable") from None


def _persons_counted(header: Header, column: str) -> Header:
    numbers, n_rows = PersonNumbers(), 0
    try:
        for cells in cell_blocks_of(header, (column,), frozenset()):
            n_rows += len(numbers.of(cells[column]))
    except BatchError:
        if header.kind == "csv":
            raise
        return header
    return replace(header, n_records=n_rows, n_persons=len(numbers))


def read_records(
    header: Header, mapper: RecordMapper
) -> tuple[Array | WeightedRows, Array, MappingNote]:
    """Return X (n, p), y (n,) of every row below the header, and the private note of what was
    mapped.

    Raises:  TableError if the file has no rows or another header than before; OSError.
    """
    X, y, _ = _read(header, mapper, None)
    return X, y, mapper.note


def read_persons(
    header: Header, mapper: RecordMapper, persons: Persons
) -> tuple[Array | WeightedRows, Array, Numbers, MappingNote]:
    """Return the same, with the number of each row's person (n,) before the note.

    Raises:  TableError also for another number of persons than `counted`.
    """
    X, y, numbers = _read(header, mapper, persons.column)
    if header.n_persons != int(numbers.max(initial=-1)) + 1:
        raise TableError("file_changed")
    return X, y, numbers, mapper.note


def _read(
    header: Header, mapper: RecordMapper, whose: str | None
) -> tuple[Array | WeightedRows, Array, Numbers]:
    """Rows, labels, and numbers of persons if there is a column of them, else none."""
    persons, parts = PersonNumbers(), []
    needed = mapper.needed if whose is None else (*mapper.needed, whose)
    for cells in _blocks(header, needed, mapper.numbers):
        parts.append((*mapper.records_of(cells), persons.of(() if whose is None else cells[whose])))
    if not parts:
        raise TableError("no_rows")
    X, signs, numbers = zip(*parts, strict=True)
    return stacked(X), np.concatenate(signs), np.concatenate(numbers)


def read_cells(header: Header, mapper: RecordMapper) -> dict[str, list[object]]:
    """Return the cells of the features as the release reads them, for rows that the model is
    applied to.
    """
    columns = mapper.needed[:-1]
    cells: dict[str, list[object]] = {name: [] for name in columns}
    for block in _blocks(header, columns, mapper.numbers):
        for name in columns:
            cells[name].extend(block[name])
    return cells


def _blocks(
    header: Header, needed: tuple[str, ...], numbers: frozenset[str]
) -> Iterator[Mapping[str, Cells]]:
    """Cells by column, some thousand rows at a time; TableError at the end if there were more or
    fewer than the header knows of.
    """
    found = 0
    for block in cell_blocks_of(header, needed, numbers):
        found += len(next(iter(block.values()), []))
        yield block
    if header.n_records not in (None, found):
        raise TableError("file_changed")


def cell_blocks_of(
    header: Header, needed: tuple[str, ...], numbers: frozenset[str]
) -> Iterator[Mapping[str, Cells]]:
    """Yield cells by column, some thousand rows at a time, whatever n the header knows of."""
    if header.kind == "csv":
        commas = numbers if header.has_decimal_comma else frozenset()
        for block in csv_blocks(header, needed):
            yield {
                name: [with_point(cell) for cell in cells] if name in commas else cells
                for name, cells in block.items()
            }
        return
    whole = header.file.content if isinstance(header.file, MemoryFile) else header.file
    parts: list[Path | bytes] = [part.path for part in header.parts]
    for part in parts or [whole]:
        yield from limited_cell_blocks(part, header.columns, needed, numbers=numbers)


def with_point(cell: object) -> object:
    """A number's text with a point for its decimal comma; with both, or two commas, it stays no
    number.
    """
    return (
        cell.replace(",", ".")
        if isinstance(cell, str) and cell.count(",") == 1 and "." not in cell
        else cell
    )


def csv_blocks(header: Header, needed: tuple[str, ...]) -> Iterator[dict[str, list[object]]]:
    """Cells by column; rows that are too short are filled with empty cells."""
    places = [header.columns.index(name) for name in needed]
    rows = _csv_rows(header)
    while block := list(islice(rows, BLOCK_ROWS)):
        yield {
            name: [row[place] if place < len(row) else "" for row in block]
            for name, place in zip(needed, places, strict=True)
        }


def _csv_rows(header: Header) -> Iterator[list[str]]:
    """The cells of every record below the header."""
    with _opened(header.file) as raw:
        if raw.read(len(header.first_line)) != header.first_line:
            raise TableError("file_changed")
        text = io.TextIOWrapper(raw, encoding=header.encoding, errors="replace", newline="")
        yield from _rows(_records(text, header.delimiter), header.delimiter)


def _records(text: io.TextIOWrapper, delimiter: str) -> Iterator[str | None]:
    """The text of one record after the other, with its line ends; None for one that is too long to
    hold.

    A record ends at the first line end outside quotation marks. That is decided here and not by the
    reader of its cells, which starts afresh after a cell that it gives up on: the lines left of it
    would become records.
    """
    parts: list[str] = []
    size, state = 0, _START
    while part := text.readline(_PART):
        size, state = size + len(part), _after(part, state, delimiter)
        if size <= LONGEST_RECORD:
            parts.append(part)
        else:
            parts.clear()
        if part[-1] in "\r\n" and state != _QUOTED:
            yield "".join(parts) or None
            size, state = 0, _START
            parts.clear()
    if size:
        yield "".join(parts) or None


def _after(part: str, state: int, delimiter: str) -> int:
    """Where the reader stands after this part of a record: a mark opens at the start of a cell
    only, as in `csv`.
    """
    at = 0
    while at < len(part):
        if state == _QUOTED:
            end = part.find('"', at)
            if end < 0:
                return _QUOTED
            at, state = end + 1, _MARK
        elif state in (_START, _MARK) and part[at] == '"':
            at, state = at + 1, _QUOTED
        else:
            opening = part.find(f'{delimiter}"', at)
            if opening < 0:
                return _START if part[-1] == delimiter else _WITHIN
            at, state = opening + 2, _QUOTED
    return state


def _rows(records: Iterator[str | None], delimiter: str) -> Iterator[list[str]]:
    """The cells of records that are not blank; one that cannot be split is a record of missing
    cells.
    """
    # A limit of the whole process: never below what is promised here.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    for record in records:
        if record is None:
            yield [""]
            continue
        try:
            row = (
                next(csv.reader([record], delimiter=delimiter), [])
                if '"' in record
                else _split(record, delimiter)
            )
        except csv.Error:
            row = [""]
        if len(record) > LONGEST_CELL and any(len(cell) > LONGEST_CELL for cell in row):
            row = [""]
        if row:
            yield row


def _split(record: str, delimiter: str) -> list[str]:
    """The cells of a record without quotation marks; none of a blank line."""
    line = record.rstrip("\r\n")
    return line.split(delimiter) if line else []
