"""A file of the user's own, CSV or Parquet, read only after it was declared public or synthetic.

Messages name lines, columns and rules, never what stands in a cell.
"""

from __future__ import annotations

import codecs
import csv
import io
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.parquet

from dpci_core.errors import DataRejectedError

MAX_UPLOAD_BYTES = 200 * 1024**2
"""Largest file that is read."""
MAX_UPLOAD_COLUMNS = 2_000
"""Most columns a table may have."""
MAX_UPLOAD_CELLS = 50_000_000
"""Most rows times columns: 400 MB as 64-bit numbers, whatever a compressed file expands to."""
MAX_UNPACKED_BYTES = 1024**3
"""Most bytes a Parquet file may expand to."""
DELIMITERS = (",", ";", "\t")
"""Separators that are recognised in CSV files; the first line decides."""
MISSING_MARK = "?"
"""Text that counts as missing, besides the usual NA, NaN, null and nothing."""
_PARQUET_MAGIC = b"PAR1"
_ALLOWED_CONTROL = frozenset(b"\t\n\r\f")
_SNIFF_BYTES = 65_536


def read_upload(data: bytes, filename: str) -> pd.DataFrame:
    """Return the table in an uploaded CSV or Parquet file, texts and numbers as they are.

    Args:    data: the file's bytes, at most 200 MB.  filename: used for its ending only.
    Raises:  DataRejectedError: a sentence that names the line or column and the rule, never a cell's value.
    """
    if len(data) == 0:
        raise DataRejectedError("The file is empty.")
    if len(data) > MAX_UPLOAD_BYTES:
        raise DataRejectedError(f"The file has {len(data) / 1024**2:.0f} MB, more than {MAX_UPLOAD_BYTES // 1024**2}.")
    is_parquet = data[:4] == _PARQUET_MAGIC
    if filename.lower().endswith((".parquet", ".pq")) and not is_parquet:
        raise DataRejectedError("The file is named Parquet but does not start like a Parquet file.")
    frame = _read_parquet(data) if is_parquet else _read_csv(data)
    if len(frame) == 0:
        raise DataRejectedError("The table has column names but no rows.")
    return frame


def _read_csv(data: bytes) -> pd.DataFrame:
    encoding = _encoding(data)
    delimiter = _delimiter(data, encoding)
    names = _scan(data, encoding, delimiter)
    try:
        return pd.read_csv(
            io.BytesIO(data),
            sep=delimiter,
            encoding=encoding,
            names=names,
            header=0,
            na_values=[MISSING_MARK],
            low_memory=False,
            index_col=False,
        )
    except (pd.errors.ParserError, ValueError, OverflowError):
        raise DataRejectedError("The file cannot be read as CSV: its quotation marks do not match up.") from None


def _encoding(data: bytes) -> str:
    """UTF-8 (with or without its mark), otherwise Latin-1; a file that is no text is refused."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataRejectedError("The file is UTF-16 text; save it as CSV in UTF-8.")
    head = data[:_SNIFF_BYTES]
    if b"\0" in data or any(byte < 32 and byte not in _ALLOWED_CONTROL for byte in set(head)):
        raise DataRejectedError("The file is neither text nor Parquet; save the table as CSV or Parquet.")
    try:
        codecs.lookup("utf-8").decode(data)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8-sig"


def _rows(data: bytes, encoding: str, delimiter: str) -> Any:
    text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")
    return csv.reader(text, delimiter=delimiter)


def _delimiter(data: bytes, encoding: str) -> str:
    """The separator that cuts the first line into most fields; a comma where none does."""
    counts = {mark: len(_first_row(_rows(data, encoding, mark))) for mark in DELIMITERS}
    return max(DELIMITERS, key=lambda mark: counts[mark])


def _first_row(reader: Any) -> list[str]:
    try:
        return next((row for row in reader if row), [])
    except csv.Error:
        raise DataRejectedError("The first line of the file cannot be read as column names.") from None


def _scan(data: bytes, encoding: str, delimiter: str) -> list[str]:
    """Return the column names after checking that every line has as many fields as there are names."""
    reader = _rows(data, encoding, delimiter)
    names = [name.strip() for name in _first_row(reader)]
    _check_names(names)
    width, n_rows = len(names), 0
    most_rows = MAX_UPLOAD_CELLS // width
    try:
        for row in reader:
            if len(row) != width and row:
                raise DataRejectedError(
                    f"Line {reader.line_num} has {len(row)} fields where the first line names {width} columns.",
                    row=reader.line_num,
                )
            n_rows += 1
            if n_rows > most_rows:
                raise DataRejectedError(f"The table has more than {MAX_UPLOAD_CELLS:,} cells.")
    except csv.Error:
        raise DataRejectedError(
            f"Line {reader.line_num} cannot be read as CSV: check its quotation marks.", row=reader.line_num
        ) from None
    return names


def _check_names(names: list[str]) -> None:
    """Column names: present, not all numbers, at most 2,000, each once."""
    if not names:
        raise DataRejectedError("The file has no line with column names.")
    if len(names) > MAX_UPLOAD_COLUMNS:
        raise DataRejectedError(f"The table has {len(names):,} columns, more than {MAX_UPLOAD_COLUMNS:,}.")
    if "" in names:
        raise DataRejectedError(f"Column {names.index('') + 1} has no name.")
    if all(_is_number(name) for name in names):
        raise DataRejectedError("The first line holds numbers only; it must hold the column names.")
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if name in first:
            raise DataRejectedError(f"Columns {first[name]} and {position} have the same name; each name once.")
        first[name] = position


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _read_parquet(data: bytes) -> pd.DataFrame:
    try:
        return _parquet_frame(data)
    except (pyarrow.ArrowException, OSError, ValueError, MemoryError) as error:
        if isinstance(error, DataRejectedError):
            raise
        raise DataRejectedError("The file starts like Parquet but cannot be read as Parquet.") from None


def _parquet_frame(data: bytes) -> pd.DataFrame:
    """The table, its declared size checked before and its real size while it is unpacked."""
    source = pyarrow.BufferReader(data)
    metadata = pyarrow.parquet.read_metadata(source)
    schema = metadata.schema.to_arrow_schema()
    _check_names([str(name).strip() for name in schema.names])
    for position, kind in enumerate(schema.types, start=1):
        if not _is_plain(kind):
            raise DataRejectedError(
                f"Column {position} holds values that are not plain; only numbers, texts, dates and yes/no can be used."
            )
    unpacked = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    _check_size(metadata.num_rows * len(schema.names), unpacked)
    texts = [field.name for field in schema if _is_text(field.type)]
    # Texts stay dictionary encoded: one long text repeated in millions of rows would otherwise be copied as often.
    file = pyarrow.parquet.ParquetFile(source, read_dictionary=texts)
    batches, n_bytes, n_rows = [], 0, 0
    for batch in file.iter_batches():
        batches.append(batch)
        n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + batch.num_rows
        _check_size(n_rows * len(schema.names), n_bytes)
    table = pyarrow.Table.from_batches(batches, schema=batches[0].schema if batches else schema)
    frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
    return frame.rename(columns=lambda name: str(name).strip())


def _is_text(kind: Any) -> bool:
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def _is_plain(kind: Any) -> bool:
    """Whether a column's type becomes numbers, texts, dates or yes/no in a table."""
    value = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    types = pyarrow.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_temporal)
    return _is_text(value) or any(test(value) for test in tests)


def _check_size(n_cells: int, n_bytes: int) -> None:
    if n_cells > MAX_UPLOAD_CELLS:
        raise DataRejectedError(f"The table has more than {MAX_UPLOAD_CELLS:,} cells.")
    if n_bytes > MAX_UNPACKED_BYTES:
        raise DataRejectedError(f"The file unpacks to more than {MAX_UNPACKED_BYTES // 1024**2:,} MB.")
