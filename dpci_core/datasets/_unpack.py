"""Parquet files, unpacked in a process of their own.

A small file can ask for any amount of memory: page headers are believed before they are checked,
and nothing in the footer need be true. So a child with a memory limit unpacks, and what it sends is
counted as it comes. A file that crashes the reader takes nobody's session with it. The bytes travel
through pipes, never through the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow
import pyarrow.compute

from dpci_core.base.batch import BatchError
from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets._unpack_child import (
    OTHER_COLUMNS,
    OUT_OF_MEMORY,
    ROWS,
    UNPACKED,
    is_text,
)
from dpci_core.datasets.upload_rules import MAX_TEXT_LENGTH, check_names, check_size, tidy_name

MOST_MEMORY = 1024 * 1024**2
"""Bytes the child may take beside the file itself: a table of the allowed size passes through it in
pieces.
"""
MOST_SECONDS = 120.0
"""A file that takes longer to unpack is given up; the largest that is allowed takes a few
seconds.
"""
_CHILD = Path(__file__).with_name("_unpack_child.py")


def read_parquet(data: bytes) -> pd.DataFrame:
    """Return the table in a Parquet file, or raise DataRejectedError without cell values."""
    with _unpacking({}, data) as child, _in_time(child):
        try:
            frame = _received(child.stdout)
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
            if isinstance(error, DataRejectedError):
                raise
            raise DataRejectedError(_why(child), seconds=MOST_SECONDS) from None
        if _reason(child, MOST_SECONDS) is not None:
            raise DataRejectedError(_why(child), seconds=MOST_SECONDS)
    return frame


def unpacked_columns(
    file: Path | memoryview | bytes,
    columns: tuple[str, ...],
    needed: tuple[str, ...],
    *,
    rows: int,
    longest: int,
) -> Iterator[Any]:
    """Yield some columns of a Parquet file as record batches, texts as bytes.

    Args:
        file: path, or its bytes.
        columns: the names it has, stripped.
        needed: those that are sent.
        rows: of a batch, at most.
        longest: bytes of a text; a longer one is missing.

    Raises:  BatchError without cell values; a file may take `MOST_SECONDS` for each batch.
    """
    asked = {"columns": columns, "needed": needed, "rows": rows, "longest": longest}
    if isinstance(file, Path):
        asked, file = {**asked, "path": os.path.abspath(file)}, b""
    with _unpacking(asked, file) as child:
        try:
            yield from _batches_of(child)
        except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError):
            raise BatchError(_why(child), seconds=MOST_SECONDS) from None
        if _reason(child, MOST_SECONDS) is not None:
            raise BatchError(_why(child), seconds=MOST_SECONDS)


def _batches_of(child: subprocess.Popen[bytes]) -> Iterator[Any]:
    """What a child sends, each batch in time."""
    reader = None
    while True:
        with _in_time(child):
            # a table without rows is sent as nothing at all
            if reader is None and not child.stdout.peek(1):  # type: ignore[union-attr]
                return
            reader = reader or pyarrow.ipc.open_stream(child.stdout)
            batch = next(reader, None)
        if batch is None:
            return
        yield batch


@contextmanager
def _in_time(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Kill the child if this takes too long."""
    timer = threading.Timer(MOST_SECONDS, child.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def _unpacking(asked: dict[str, object], data: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A child that has been given the file; killed at the end whatever happened."""
    memory = {
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "MALLOC_ARENA_MAX": "2",
        "OMP_NUM_THREADS": "1",
    }
    child = subprocess.Popen(
        [sys.executable, "-P", str(_CHILD), str(MOST_MEMORY)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **memory},
    )
    try:
        assert child.stdin is not None
        # It may give up early: its output or its exit code says why.
        with contextlib.suppress(BrokenPipeError), _in_time(child):
            child.stdin.write(json.dumps(asked).encode() + b"\n")
            child.stdin.write(data)
            child.stdin.close()
        yield child
    finally:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


def _received(pipe: Any) -> pd.DataFrame:
    """The table as the child sends it: names, kinds and stated size before anything, the true size
    on the way.
    """
    reader = pyarrow.ipc.open_stream(pipe)
    schema = reader.schema
    check_names([tidy_name(name) for name in schema.names])
    for position, kind in enumerate(schema.types, start=1):
        if not _is_plain(kind):
            raise DataRejectedError("type_not_plain", position=position)
    width, stated = len(schema.names), schema.metadata
    check_size(int(stated[ROWS]), width, int(stated[UNPACKED]))
    batches, n_bytes, n_rows = [], 0, 0
    for batch in reader:
        batches.append(batch)
        n_bytes, n_rows = n_bytes + batch.nbytes, n_rows + batch.num_rows
        check_size(n_rows, width, n_bytes)
    table = pyarrow.Table.from_batches(batches, schema=batches[0].schema if batches else schema)
    del batches
    _check_texts(table)
    table = _without_clock_times(table)
    # Dates as numbers: one Python object for each would take ten times the room. Columns are let go
    # one by one.
    options = {
        "ignore_metadata": True,
        "date_as_object": False,
        "split_blocks": True,
        "self_destruct": True,
    }
    frame: pd.DataFrame = table.to_pandas(**options)
    del table
    return frame.rename(columns=tidy_name)


def _check_texts(table: Any) -> None:
    """Raise DataRejectedError if a text is longer than a CSV file may have."""
    for position, column in enumerate(table.columns, start=1):
        for chunk in column.chunks:
            texts = chunk.dictionary if pyarrow.types.is_dictionary(chunk.type) else chunk
            if not is_text(texts.type):
                continue
            longest = pyarrow.compute.max(pyarrow.compute.utf8_length(texts)).as_py()
            if longest is not None and longest > MAX_TEXT_LENGTH:
                raise DataRejectedError("text_too_long", position=position, limit=MAX_TEXT_LENGTH)


def _without_clock_times(table: Any) -> Any:
    """Times of day as spans since midnight, for the same reason."""
    for position, field in enumerate(table.schema):
        if pyarrow.types.is_time(field.type):
            whole = pyarrow.int32() if pyarrow.types.is_time32(field.type) else pyarrow.int64()
            span = pyarrow.duration(field.type.unit)
            column = table.column(position).cast(whole).cast(pyarrow.int64()).cast(span)
            table = table.set_column(position, field.name, column)
    return table


def _reason(child: subprocess.Popen[bytes], patience: float = 2.0) -> str | None:
    """Why the child stopped before the end, as far as its exit code tells; None if it did not.

    patience: seconds for it to leave. One whose table arrived whole may take long on a machine that
    has much to do, and its release is paid for by then.
    """
    try:
        code = child.wait(timeout=patience)
    except subprocess.TimeoutExpired:
        return "parquet_damaged"  # what it sent could not be read
    known: dict[int, str | None] = {
        0: None,
        -9: "unpacking_too_slow",
        OUT_OF_MEMORY: "unpacking_too_large",
        OTHER_COLUMNS: "file_changed",
    }
    return known.get(code, "parquet_damaged")


def _why(child: subprocess.Popen[bytes]) -> str:
    """Return why a transfer failed: the child's own reason if it has one, else that what it sent
    could not be read.
    """
    return _reason(child) or "parquet_damaged"


def _is_plain(kind: Any) -> bool:
    """Whether a column's type becomes numbers, texts, dates or yes/no in a table."""
    types = pyarrow.types
    value = kind.value_type if types.is_dictionary(kind) else kind
    if is_text(value):
        return True
    if types.is_interval(value):
        return False
    return any(
        test(value)
        for test in (types.is_integer, types.is_floating, types.is_boolean, types.is_temporal)
    )
