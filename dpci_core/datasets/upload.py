"""A file of the user's own, CSV or Parquet, read only after it was declared public or synthetic.

Messages name lines, columns and rules, never what stands in a cell.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from dpci_core.base.errors import DataRejectedError
from dpci_core.base.extras import named_extras
from dpci_core.datasets import upload_rules as rules

DELIMITERS = (",", ";", "\t")
"""Separators that are recognised in CSV files; the first line decides."""
MISSING_MARK = "?"
"""Text that counts as missing, besides the usual NA, NaN, null and nothing."""
MAX_LINE_LENGTH = 4_000_000
"""Most characters of a record: 2,000 columns of 2,000 characters. A longer one could hold millions
of fields.
"""
FORMATS = {
    b"PK\x03\x04": "a spreadsheet or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet",
    b"%PDF": "a PDF document",
    b"\x1f\x8b": "a compressed file",
    b"<!doctype": "a web page",
    b"<html": "a web page",
    b"<?xml": "an XML document",
    b"{\\rtf": "a formatted text",
    b"ARROW1": "an Arrow file",
}
"""How files begin that people take for tables, in lower case where they are text."""
_PARQUET_MAGIC = b"PAR1"
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1f]")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_NOT_WINDOWS = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_COMMA_NUMBER = re.compile(r"\s*[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?\s*")
_CHUNK = 2**20


def read_upload(data: bytes, filename: str) -> pd.DataFrame:
    """Return the table in an uploaded CSV or Parquet file, texts and numbers as they are.

    Args:
        data: the file's bytes, at most 200 MB.
        filename: used for its ending only.

    Raises:  DataRejectedError: a sentence that names the line or column and the rule, never a
             cell's value.
    """
    if len(data) == 0:
        raise DataRejectedError("file_empty")
    most = rules.MAX_UPLOAD_BYTES
    if len(data) > most:
        raise DataRejectedError("file_too_large", found=len(data) / 1024**2, limit=most // 1024**2)
    is_parquet = data[:4] == _PARQUET_MAGIC
    if filename.lower().endswith((".parquet", ".pq")) and not is_parquet:
        raise DataRejectedError("not_parquet")
    frame = _read_parquet(data) if is_parquet else _read_csv(data)
    if len(frame) == 0:
        raise DataRejectedError("no_rows")
    return frame


def _read_parquet(data: bytes) -> pd.DataFrame:
    with named_extras():
        from dpci_core.datasets._unpack import read_parquet
    return read_parquet(data)


def _read_csv(data: bytes) -> pd.DataFrame:
    encoding = _encoding(data)
    delimiter = _delimiter(data, encoding)
    names, last = _scan(data, encoding, delimiter)
    try:
        frame = pd.read_csv(
            io.BytesIO(data),
            sep=delimiter,
            encoding=encoding,
            names=names,
            header=0,
            na_values=[MISSING_MARK],
            low_memory=False,
            index_col=False,
        )
    except (
        pd.errors.ParserError,
        ValueError,
        OverflowError,
    ):  # what the scan lets pass: a quotation mark left open
        raise DataRejectedError("quotation_marks_open", row=last) from None
    return frame if delimiter == "," else frame.apply(_with_points)


def _with_points(column: pd.Series[Any]) -> pd.Series[Any]:
    """Numbers, where all of a column's texts are numbers with a decimal comma or without."""
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
        return column
    texts = column.dropna()
    if not texts.map(
        lambda text: isinstance(text, str) and _COMMA_NUMBER.fullmatch(text) is not None
    ).all():
        return column
    return pd.to_numeric(column.str.replace(",", ".", regex=False))


def _encoding(data: bytes) -> str:
    """UTF-8 (with or without its mark), otherwise Windows-1252; a file that is no text is
    refused.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataRejectedError("text_is_utf_16")
    start = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    for mark, kind in FORMATS.items():
        if start.startswith(mark.lower()):
            raise DataRejectedError("another_format", kind=kind)
    if found := _CONTROL.search(data):
        line = _line_of(data, found.start())
        raise DataRejectedError("control_character", row=line)
    wrong = _first_not_utf8(data)
    if wrong is None:
        return "utf-8-sig"
    if _NOT_ASCII.search(data, 0, wrong):  # what came before was UTF-8 beyond doubt
        line = _line_of(data, wrong)
        raise DataRejectedError("no_longer_utf_8", row=line)
    if found := _NOT_WINDOWS.search(data):
        line = _line_of(data, found.start())
        raise DataRejectedError("unknown_encoding", row=line)
    return "cp1252"


def _first_not_utf8(data: bytes) -> int | None:
    """Where the file stops being UTF-8; decoded in pieces, as a whole it would take up to four
    times its size.
    """
    position = 0
    while position < len(data):
        piece = data[position : position + _CHUNK]
        try:
            _, used = codecs.utf_8_decode(piece, "strict", position + _CHUNK >= len(data))
        except UnicodeDecodeError as error:
            return position + error.start
        position += used
    return None


def _line_of(data: bytes, position: int) -> int:
    """The line, counted from 1, in which a byte stands."""
    pairs = data.count(b"\r\n", 0, position)
    return 1 + data.count(b"\n", 0, position) + data.count(b"\r", 0, position) - pairs


class _Records:
    """The records of a CSV text; one that is too long is refused before its fields are in memory.

    `start` and `line` are the first and the last line of the record that was read last.
    """

    def __init__(self, data: bytes, encoding: str, delimiter: str) -> None:
        self._text = io.TextIOWrapper(io.BytesIO(data), encoding=encoding, newline="")
        self._length = 0
        self.line = 0
        self.start = 1
        self._reader = csv.reader(self._lines(), delimiter=delimiter)

    def __iter__(self) -> Iterator[list[str]]:
        start = 1
        for row in self._reader:
            self.start, start, self._length = start, self.line + 1, 0
            yield row

    def _lines(self) -> Iterator[str]:
        while line := self._text.readline(MAX_LINE_LENGTH + 1):
            self.line += 1
            self._length += len(line)
            if self._length > MAX_LINE_LENGTH:
                raise DataRejectedError("record_too_long", row=self.line, limit=MAX_LINE_LENGTH)
            yield line


def _delimiter(data: bytes, encoding: str) -> str:
    """The separator that cuts the first line into most fields; a comma where none does."""
    counts = {mark: len(_first_row(_Records(data, encoding, mark))) for mark in DELIMITERS}
    return max(DELIMITERS, key=lambda mark: counts[mark])


def _first_row(records: Any) -> list[str]:
    try:
        return next((row for row in records if row), [])
    except csv.Error:
        raise DataRejectedError("first_line_unreadable") from None


def _scan(data: bytes, encoding: str, delimiter: str) -> tuple[list[str], int]:
    """Return the names, and where the last record begins, after checking that every line has as
    many fields.
    """
    records = _Records(data, encoding, delimiter)
    rows = iter(records)
    names = [rules.tidy_name(name) for name in _first_row(rows)]
    rules.check_names(names)
    width, n_rows = len(names), 0
    try:
        for row in rows:
            if len(row) != width and row:
                raise DataRejectedError(
                    "another_number_of_fields", row=records.line, found=len(row), wanted=width
                )
            n_rows += 1
            rules.check_size(n_rows, width)
    except csv.Error:
        raise DataRejectedError(
            "line_unreadable", row=records.line, limit=rules.MAX_TEXT_LENGTH
        ) from None
    return names, records.start
