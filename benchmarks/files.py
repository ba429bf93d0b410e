"""Files of results that long runs append to: CSV, one frozen dataclass a row, safe against being
stopped anywhere.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

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
    """Return the rows on file in their order; no file is no rows, an unfinished last line is passed
    over.

    Args:
        kind: a frozen dataclass of one-line text, int and float, in a module with postponed
            annotations.

    Raises:  ValueError naming the file if it has other columns, or the line that is not a row.
    """
    whole = _whole_lines(path)
    if not whole:
        return []
    lines = csv.DictReader(io.StringIO(whole.decode("utf-8"), newline=""))
    _check_header(kind, lines.fieldnames, path)
    rows = []
    for line in lines:
        try:
            if None in line:
                raise ValueError("Expected no further values.")
            rows.append(
                kind(
                    **{f.name: _READERS.get(f.type, str)(_cell(line, f.name)) for f in fields(kind)}
                )
            )
        except ValueError as problem:
            raise ValueError(f"{path.name}, line {lines.line_num}: {problem}") from None
    return rows


def append_rows(rows: Iterable[Row], path: Path, kind: type[Row]) -> None:
    """Add rows to a file, which is made if need be, after cutting off an unfinished last line; on
    disk on return.

    Raises:  ValueError naming the file if it has other columns, or no line that is a header.
    """
    whole = _whole_lines(path)
    begun = path.read_bytes() if path.exists() and not whole else b""
    if not ",".join(f.name for f in fields(kind)).encode().startswith(begun):
        raise ValueError(f"Expected {path.name} to be a file of results or empty.")
    if whole:
        first = whole.decode("utf-8").splitlines()[0]
        _check_header(kind, next(csv.reader([first])), path)
    if path.exists() and path.stat().st_size > len(whole):
        os.truncate(path, len(whole))
    with path.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.DictWriter(lines, [f.name for f in fields(kind)], lineterminator="\n")
        if not whole:
            writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
        lines.flush()
        os.fsync(lines.fileno())


def _whole_lines(path: Path) -> bytes:
    """The content up to its last line end: bytes, because a kill can fall inside a letter."""
    if not path.exists():
        return b""
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]


def _check_header(kind: type[Row], header: Iterable[str] | None, path: Path) -> None:
    expected = [f.name for f in fields(kind)]
    if list(header or ()) != expected:
        raise ValueError(f"Expected {path.name} to have the columns {', '.join(expected)}.")


def _cell(line: dict[str, Any], name: str) -> str:
    text = line[name]
    if text is None:
        raise ValueError(f"Expected a value for {name}.")
    return str(text)
