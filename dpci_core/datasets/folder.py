"""Parquet files as batches of records: their footers first, their rows as often as they are asked
for.

A folder is one table, the records of its files in the order of their names. Footers say names,
types and numbers of rows; nothing else of them is used, and no file is opened below its footer
before a batch is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
import pyarrow.parquet

from dpci_core.base.batch import CHUNK_ROWS, Batch, BatchError, Block
from dpci_core.base.batches import BATCH_ROWS, Engine, RecordBatches
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.packed import KEPT_BYTES, Kept, PackedRows, written_out
from dpci_core.base.rows import stacked
from dpci_core.datasets._unpack import MOST_MEMORY, unpacked_columns
from dpci_core.datasets._unpack_child import is_text, short
from dpci_core.datasets.row_cache import cached
from dpci_core.schema import RecordMapper, Schema
from dpci_core.schema.mapping import Cells, Coded

LONGEST_CELL = 131_072
"""So that no cell costs much: a longer text is missing in Parquet (bytes), and its record has
missing cells in CSV.
"""
_READ_ROWS = 2**16
"""Rows of a batch that are mapped at once."""
_SPARSE = 8
"""Rows for each whole number between the smallest and the largest, where codes are worth it."""


@dataclass(frozen=True, slots=True)
class PartFile:
    """One Parquet file as its footer states it.

    columns: names, stripped.
    kinds: of each column, "text", "number", "unusable", or "" where a column has no value.
    group_rows: rows of its row groups.
    stamp: size and time of the last change; a file with another one is another file.
    """

    path: Path
    columns: tuple[str, ...]
    kinds: tuple[str, ...]
    group_rows: tuple[int, ...]
    stamp: tuple[int, int]

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """Read the footer; OSError or ArrowException where that fails."""
        stamp = _stamp(path)
        metadata = pyarrow.parquet.read_metadata(path)
        fields = metadata.schema.to_arrow_schema()
        return cls(
            path=path,
            columns=tuple(str(name).strip() for name in fields.names),
            kinds=tuple(kind_of(kind) for kind in fields.types),
            group_rows=tuple(
                metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)
            ),
            stamp=stamp,
        )


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def kind_of(kind: Any) -> str:
    """What the values of an Arrow type are to a schema, "unusable" where a cell may fail.

    The type of a column without any value fits every kind: writers infer it, so that it depends on
    the records.
    """
    types = pyarrow.types
    value = kind.value_type if types.is_dictionary(kind) else kind
    if is_text(value):
        return "text"
    if types.is_null(value):
        return ""
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
    return "number" if any(test(value) for test in tests) else "unusable"


def read_folder(folder: Path) -> tuple[PartFile, ...]:
    """Return the Parquet files of a folder and its subfolders in the order of their names, by their
    footers.

    Raises:  DataRejectedError for a folder without any, with other files, with one file under two
             names, or with files whose columns differ.
    """
    from pyarrow import dataset  # not for those who never have a folder

    try:
        names = dataset.dataset(folder, format="parquet", exclude_invalid_files=False).files
    except (OSError, pyarrow.ArrowException):
        raise DataRejectedError("folder_of_other_files", folder=folder) from None
    if not names:
        raise DataRejectedError("folder_empty", folder=folder)
    files: list[PartFile] = []
    seen: set[tuple[int, int]] = set()
    for name in sorted(names):
        path = Path(name)
        try:
            files.append(PartFile.of(path))
            state = path.stat()
        except (OSError, pyarrow.ArrowException):
            raise DataRejectedError("folder_of_other_files", file=path.name) from None
        if (key := (state.st_dev, state.st_ino)) in seen:
            raise DataRejectedError("folder_file_twice", file=path.name)
        seen.add(key)
        if not _is_alike(files[0], files[-1]):
            raise DataRejectedError("folder_files_differ", file=path.name, other=files[0].path.name)
    return tuple(files)


def unusable_in(files: tuple[PartFile, ...]) -> frozenset[str]:
    """Columns of a folder whose values cannot be cells."""
    return frozenset(
        name
        for file in files
        for name, kind in zip(file.columns, file.kinds, strict=True)
        if kind == "unusable"
    )


def _is_alike(one: PartFile, other: PartFile) -> bool:
    kinds = zip(one.kinds, other.kinds, strict=False)
    return one.columns == other.columns and all(a == b or not a or not b for a, b in kinds)


@dataclass(frozen=True, slots=True, eq=False)
class ParquetBatch(Batch):
    """A run of row groups of one file; a reader maps every row by itself (`RecordMapper`).

    first_group, last_group: the run, the last not among them.
    kept: the mapped rows, in the memory of the process that read them.
    cache: a folder for them, of public tables alone.
    """

    file: PartFile
    first_group: int
    last_group: int
    schema: Schema
    features: tuple[str, ...]
    kept: Kept[PackedRows] = field(default_factory=Kept)
    cache: Path | None = None

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows that the footer states for these row groups."""
        return sum(self.file.group_rows[self.first_group : self.last_group])

    @property
    def dim(self) -> int:  # type: ignore[override]
        """The features, the constant, and an outcome that is a number."""
        return len(self.features) + 1 + (self.schema.outcome is not None)

    @property
    def is_weighted(self) -> bool:  # type: ignore[override]
        """Whether rows have weights: they do in the standard encoding."""
        return self.schema.standard is not None

    def chunks(self) -> Iterator[Block]:
        """The records, `CHUNK_ROWS` at a time however the file cuts them.

        Raises:  BatchError for a file that changed, vanished or cannot be read.
        """
        with unchanged(self.file):
            yield from written_out(self.kept.or_made(self._found))

    @property
    def writes_records(self) -> bool:
        """Whether mapped rows are written to disk: they are where the batch has a cache."""
        return self.cache is not None

    def _found(self) -> Iterator[PackedRows]:
        if self.cache is None:
            return self._packed()
        return cached(
            self.cache,
            place=(
                str(self.file.path.resolve()),
                self.first_group,
                self.last_group,
                self.schema,
                self.features,
            ),
            identity=(self.file.stamp, self.file.columns, self.file.kinds, self.file.group_rows),
            make=self._packed,
            mapped=RecordMapper(self.schema, self.features).mapped,
        )

    def _packed(self) -> Iterator[PackedRows]:
        mapper = RecordMapper(self.schema, self.features)
        yield from map(mapper.packed, self._cells(mapper))
        if _stamp(self.file.path) != self.file.stamp:
            raise BatchError("file_changed")

    def cells(self, mapper: RecordMapper) -> Iterator[dict[str, Cells]]:
        """The cells that a mapper needs, which nothing keeps; errors as of `chunks`."""
        with unchanged(self.file):
            yield from self._cells(mapper)

    def _cells(self, mapper: RecordMapper) -> Iterator[dict[str, Cells]]:
        return cell_blocks(
            self.file.path,
            self.file.columns,
            mapper.needed,
            numbers=mapper.numbers,
            groups=range(self.first_group, self.last_group),
            at_once=_READ_ROWS,
        )


def rechunked(blocks: Iterator[Block]) -> Iterator[Block]:
    """Blocks of rows, cut anew to `CHUNK_ROWS` rows each but for the last."""
    held: list[Block] = []
    n_held = 0
    for block in blocks:
        held.append(block)
        n_held += len(block)
        while n_held >= CHUNK_ROWS:
            rows = held[0] if len(held) == 1 else stacked(held)
            yield rows[:CHUNK_ROWS]
            held, n_held = [rows[CHUNK_ROWS:]], n_held - CHUNK_ROWS
    if n_held:
        yield stacked(held)


@contextmanager
def unchanged(file: PartFile) -> Iterator[Path]:
    """The path of a file that is still the one whose footer was read.

    Raises:  BatchError out of the block for a file that changed, vanished or cannot be read.
    """
    try:
        if _stamp(file.path) != file.stamp:
            raise BatchError("file_changed")
        yield file.path
    except (OSError, pyarrow.ArrowException):
        raise BatchError("batch_unreadable", file=file.path.name) from None


def cell_blocks(
    file: Path,
    columns: tuple[str, ...],
    needed: tuple[str, ...],
    *,
    groups: range,
    numbers: frozenset[str] = frozenset(),
    at_once: int = CHUNK_ROWS,
) -> Iterator[dict[str, Cells]]:
    """Yield the cells of some row groups of a Parquet file by column, some thousand rows at a time.

    Texts are read as a dictionary of those that differ, so that a long one that many rows share is
    held once.

    Args:
        file: its path.
        columns: the names it had before, stripped.
        needed: those that are read.
        groups: of its rows.
        numbers: of the columns, those that only their numbers matter of.
        at_once: rows at a time, at most.

    Raises:  BatchError for other names than before, or a column that needs too much memory;
             OSError, ArrowException.
    """
    with pyarrow.parquet.ParquetFile(file) as found:
        fields, metadata = found.schema_arrow, found.metadata
    if tuple(str(name).strip() for name in fields.names) != columns:
        raise BatchError("file_changed")
    originals = [fields.names[columns.index(name)] for name in needed]
    texts = [name for name in originals if is_text(fields.field(name).type)]
    _check_unpacked(metadata, groups, frozenset(originals))
    with pyarrow.parquet.ParquetFile(file, metadata=metadata, read_dictionary=texts) as found:
        parts = found.iter_batches(
            batch_size=at_once,
            columns=originals,
            row_groups=list(groups),
            use_threads=False,
        )
        for part in parts:
            yield {
                name: _cells_of(part.column(part.schema.get_field_index(original)), name in numbers)
                for name, original in zip(needed, originals, strict=True)
            }


def _check_unpacked(metadata: Any, groups: range, names: frozenset[str]) -> None:
    """Refuse a column that says itself that it needs more memory than one may: a page is unpacked
    whole.
    """
    for group in map(metadata.row_group, groups):
        for place in range(group.num_columns):
            column = group.column(place)
            if column.path_in_schema in names and column.total_uncompressed_size > MOST_MEMORY:
                raise BatchError("unpacking_too_large")


def limited_cell_blocks(
    file: Path | bytes,
    columns: tuple[str, ...],
    needed: tuple[str, ...],
    *,
    numbers: frozenset[str] = frozenset(),
) -> Iterator[dict[str, Cells]]:
    """Yield the same of a whole file, which a child process with limits unpacks (`_unpack`).

    Raises:  BatchError.
    """
    for part in unpacked_columns(file, columns, needed, rows=CHUNK_ROWS, longest=LONGEST_CELL):
        yield {name: _cells_of(part.column(name), name in numbers) for name in needed}


def _cells_of(column: Any, is_number: bool) -> Cells:
    """Cells of a column: numbers as they are, the rest by what differs; no value makes it fail."""
    types = pyarrow.types
    if types.is_dictionary(column.type):
        return Coded(_plain(column.dictionary), _codes(column.indices))
    if is_number and types.is_integer(column.type):
        return _whole_numbers(column)
    if is_number and types.is_floating(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    if types.is_floating(column.type) or types.is_null(column.type):
        return _plain(column)  # as levels 0.0 and -0.0 are two, which a dictionary may not tell
    coded = column.dictionary_encode()
    return Coded(_plain(coded.dictionary), _codes(coded.indices))


def _whole_numbers(column: Any) -> Cells:
    """By code where they are close together."""
    ends = pyarrow.compute.min_max(column).as_py()
    low, high = ends["min"], ends["max"]
    is_close = low is not None and high - low <= len(column) / _SPARSE
    if not is_close or max(abs(low), abs(high)) > 2**53:  # beyond what a double tells apart
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    values = np.arange(float(low), float(high) + 1.0)
    found = np.asarray(pyarrow.compute.fill_null(column, low))
    if found.dtype.kind == "i":  # the difference may be too much for its own type
        found = found.astype(np.int64)
    codes = (found - low).astype(np.int16 if len(values) < 2**15 else np.int64)
    if column.null_count:
        codes[np.asarray(column.is_null())] = -1
    return Coded(values, codes)


def _codes(indices: Any) -> npt.NDArray[np.signedinteger[Any]]:
    if indices.null_count:
        indices = pyarrow.compute.fill_null(indices.cast(pyarrow.int64()), -1)
    return np.asarray(indices)


def _plain(column: Any) -> list[object]:
    """Plain values; a text that is not UTF-8 gets replacement signs instead of an error, a long one
    is missing.
    """
    if pyarrow.types.is_binary(column.type) or pyarrow.types.is_large_binary(column.type):
        return [
            None if cell is None else cell.decode("utf-8", errors="replace")
            for cell in column.to_pylist()
        ]
    if not is_text(column.type):
        return list(column.to_pylist())
    return _plain(short(column, LONGEST_CELL))


def folder_batches(
    files: tuple[PartFile, ...],
    schema: Schema,
    *,
    features: int | tuple[str, ...] | None = None,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
    most_kept: int = KEPT_BYTES,
    cache: Path | None = None,
) -> RecordBatches:
    """Return the records of Parquet files as batches: runs of whole row groups of up to
    `BATCH_ROWS` rows, or one larger group.

    Args:
        files: `read_folder`.
        schema: what the columns are declared as.
        features: as for `schema.encode`.
        engine: where the batches are read.
        progress: as for `RecordBatches`.
        most_kept: bytes of mapped records that a process keeps in memory for the next pass; no
            number depends on it.
        cache: a folder for mapped records, so that the next run need not map them: of a public or
            simulated table alone. A release refuses it.

    Raises:  BatchError for files without a row; DataRejectedError for a column that is missing or
             holds no plain values.
    """
    mapper = RecordMapper(schema, features)
    check_header_has(files[0].columns, unusable_in(files), mapper.needed)
    batches = [
        ParquetBatch(file, first, last, schema, mapper.names, Kept(most_kept), cache)
        for file in files
        for first, last in groups_of(file)
    ]
    return RecordBatches.listed(batches, engine=engine, progress=progress)


def groups_of(file: PartFile) -> Iterator[tuple[int, int]]:
    """Runs of row groups that are one batch: up to `BATCH_ROWS` rows, or one larger group."""
    first, rows = 0, 0
    for group, size in enumerate(file.group_rows):
        if rows and rows + size > BATCH_ROWS:
            yield first, group
            first, rows = group, 0
        rows += size
    if rows:
        yield first, len(file.group_rows)


def check_header_has(
    columns: tuple[str, ...], unusable: frozenset[str], needed: tuple[str, ...]
) -> None:
    """Raise DataRejectedError unless a header has every needed column once, of a usable type."""
    if absent := [name for name in needed if name not in columns]:
        *others, last = map(repr, absent)
        names = f"columns {', '.join(others)} and {last}" if others else f"column {last}"
        raise DataRejectedError("columns_not_in_header", names=names)
    for name in needed:
        if (found := columns.count(name)) > 1:
            raise DataRejectedError("column_repeated", column=name, found=found)
        if name in unusable:
            raise DataRejectedError("column_not_plain", column=name)
