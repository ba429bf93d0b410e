"""What any uploaded table must keep to, whatever its format: size, and column names that can be
shown safely.
"""

from __future__ import annotations

import unicodedata

from dpci_core.base.errors import DataRejectedError
from dpci_core.base.text import line_problem

MAX_UPLOAD_BYTES = 200 * 1024**2
"""Largest file that is read."""
MAX_UPLOAD_COLUMNS = 2_000
"""Most columns a table may have."""
MAX_UPLOAD_CELLS = 50_000_000
"""Most rows times columns: 400 MB as 64-bit numbers, whatever a compressed file expands to."""
MAX_UPLOAD_ROWS = 5_000_000
"""Most rows; a fit takes six numbers a row beside the table and its records."""
MAX_RECORD_CELLS = 40_000_000
"""Most rows times coefficients: a column of 50 levels becomes 49 columns of numbers, and a fit
takes them twice.
"""
MAX_UNPACKED_BYTES = 384 * 1024**2
"""Most bytes a Parquet file may expand to; as many different texts take three times as much on
their way to a table.
"""
MAX_NAME_LENGTH = 500
"""Most characters of a column name; whole questions of a survey are shorter."""
MAX_TEXT_LENGTH = 131_072
"""Most characters of a cell: where Python's CSV reader stops."""


def tidy_name(name: object) -> str:
    """A column name with single spaces, also for the line breaks that spreadsheets put into
    headings.

    >>> tidy_name(" body\\n weight ")
    'body weight'
    """
    return " ".join(str(name).split())


def check_names(names: list[str]) -> None:
    """Raise DataRejectedError unless the tidy names are present, visible, not all numbers, few
    enough, each once.
    """
    if not names:
        raise DataRejectedError("no_column_names")
    if len(names) > MAX_UPLOAD_COLUMNS:
        raise DataRejectedError("too_many_columns", found=len(names), limit=MAX_UPLOAD_COLUMNS)
    if "" in names:
        raise DataRejectedError("column_without_name", position=names.index("") + 1)
    if all(_is_number(name) for name in names):
        raise DataRejectedError("names_are_numbers")
    first: dict[str, int] = {}
    for position, name in enumerate(names, start=1):
        if len(name) > MAX_NAME_LENGTH:
            raise DataRejectedError("name_too_long", position=position, limit=MAX_NAME_LENGTH)
        if line_problem(name, most=MAX_NAME_LENGTH):
            raise DataRejectedError("name_unreadable", position=position)
        looks = unicodedata.normalize("NFC", name)
        if looks in first:
            raise DataRejectedError("name_repeated", first=first[looks], position=position)
        first[looks] = position


def check_size(n_rows: int, n_columns: int, n_bytes: int = 0) -> None:
    """Raise DataRejectedError if a table has too many rows or cells or its file unpacks to too many
    bytes.
    """
    if n_rows > MAX_UPLOAD_ROWS:
        raise DataRejectedError("too_many_rows", limit=MAX_UPLOAD_ROWS)
    if n_rows * n_columns > MAX_UPLOAD_CELLS:
        raise DataRejectedError("too_many_cells", limit=MAX_UPLOAD_CELLS)
    if n_bytes > MAX_UNPACKED_BYTES:
        raise DataRejectedError("unpacked_too_large", limit=MAX_UNPACKED_BYTES // 1024**2)


def most_features(n_rows: int) -> int:
    """Return how many encoded features a table of so many rows may have; the constant takes one
    more number a row.

    >>> most_features(5_000_000), most_features(100_000)
    (7, 399)
    """
    return MAX_RECORD_CELLS // max(1, n_rows) - 1


def check_records(n_rows: int, n_features: int) -> None:
    """Raise DataRejectedError if the records of a table with so many encoded features would take
    too much memory.
    """
    most = most_features(n_rows)
    if n_features > most:
        raise DataRejectedError("too_many_features", limit=most, n_rows=n_rows, found=n_features)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
