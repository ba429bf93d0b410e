"""Mapped batches of a public table in a folder of files, for the next run.

A file holds the rows of one batch by code, as memory does, between a mark and a digest of all of
it. It counts only if it says the same schema, features, Parquet file (size, time of change, row
groups) and format; anything else there is written anew. It has its name once it is whole, so that
readers, and two writers at once, meet whole files only.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batch import BatchError
from dpci_core.base.packed import PackedColumn, PackedRows

VERSION = 1
"""Of the files and of the mapping behind them; raise it where either changes."""
_MARK = b"dpci rows\n"
_DIGEST = 32
_ALIGNMENT = 64


def cached(
    folder: Path,
    *,
    place: tuple[object, ...],
    identity: tuple[object, ...],
    make: Callable[[], Iterator[PackedRows]],
    mapped: Callable[[Array], Array] | None,
) -> Iterator[PackedRows]:
    """Yield the parts of a batch from its file, or those that are made while it is written.

    Args:
        folder: of the files; made if it is not there.
        place: what decides the name of the file.
        identity: what besides must be the same as when it was written.
        make: maps the batch.
        mapped: as of its parts, which no file holds; what it does is part of the identity.

    Raises:  BatchError where the folder cannot be written.
    """
    path = folder / f"{_hash(place)[:32]}.rows"
    head = _MARK + bytes.fromhex(_hash((VERSION, place, identity)))
    found = _read(path, head, mapped)
    if found is not None:
        yield from found
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number, unfinished = tempfile.mkstemp(dir=folder, prefix=f".{path.stem}-", suffix=".part")
    except OSError:
        raise BatchError("cache_unwritable") from None
    try:
        with os.fdopen(number, "wb") as file:
            writer = _Writer(file)
            writer.write(head)
            for part in make():
                writer.part(part)
                yield part
            writer.write(writer.digest.digest())
        os.replace(unfinished, path)
    finally:
        with suppress(OSError):  # it has its name, or is of no use
            os.unlink(unfinished)


def _hash(values: tuple[object, ...]) -> str:
    return sha256(repr(values).encode()).hexdigest()


class _Writer:
    """Writes, and digests what was written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.digest, self.size = file, sha256(), 0

    def write(self, content: bytes) -> None:
        try:
            self.file.write(content)
        except OSError:
            raise BatchError("cache_unwritable") from None
        self.digest.update(content)
        self.size += len(content)

    def part(self, part: PackedRows) -> None:
        arrays: list[npt.NDArray[Any]] = [part.signs]
        columns = []
        for column in part.columns:
            arrays += [column.values, *([] if column.codes is None else [column.codes])]
            kind = None if column.codes is None else column.codes.dtype.str
            columns.append([column.places, column.values.shape[0], kind])
        about = [len(part), part.constant.hex(), part.dim, columns]
        text = json.dumps(about).encode()
        self.write(len(text).to_bytes(8, "little") + text)
        for array in arrays:
            self.write(bytes(-self.size % _ALIGNMENT))
            self.write(np.ascontiguousarray(array).tobytes())


def _read(
    path: Path, head: bytes, mapped: Callable[[Array], Array] | None
) -> list[PackedRows] | None:
    """The parts of a file that is whole and of this head; None for any other."""
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # none, or an empty one
        return None
    last = len(content) - _DIGEST
    if last < len(head) or content[: len(head)] != head:
        return None
    digest = sha256()
    with memoryview(content) as view, view[:last] as whole:
        digest.update(whole)
    if digest.digest() != content[last:]:
        return None
    try:
        return list(_parts(content, len(head), last, mapped))
    except (ValueError, TypeError, IndexError):
        return None


def _parts(
    content: mmap.mmap, at: int, last: int, mapped: Callable[[Array], Array] | None
) -> Iterator[PackedRows]:
    while at < last:
        size = int.from_bytes(content[at : at + 8], "little")
        n, constant, dim, columns = json.loads(content[at + 8 : at + 8 + size])
        at += 8 + size

        def array(kind: str, *shape: int) -> Any:
            nonlocal at
            at += -at % _ALIGNMENT
            count = math.prod(shape)
            found = np.frombuffer(content, kind, count, at).reshape(shape)
            at += found.nbytes
            return found

        signs = array("i1", n)
        made = []
        for places, n_values, kind in columns:
            values = array("f8", n_values, len(places))
            codes = None if kind is None else array(kind, n)
            made.append(PackedColumn(tuple(places), values, codes))
        yield PackedRows(tuple(made), signs, float.fromhex(constant), dim, mapped)
