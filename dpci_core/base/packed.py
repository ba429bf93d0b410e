"""Encoded rows by the values that differ, and what a process keeps of them for the next pass.

A column of X is a function of one cell, so a column of few values is a table of them and a code
for each row: a byte or two instead of a double for every feature. Writing the rows out takes the
numbers from the tables, so no bit depends on whether they were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from threading import RLock
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batch import CHUNK_ROWS, Block, empty_aligned
from dpci_core.base.rows import WeightedRows, weights_of, with_weights
from dpci_core.base.validation import check_rows

KEPT_BYTES = 2**29
"""Of mapped batches that a process keeps, where nobody says: with the program, less than 1 GB."""

Codes = npt.NDArray[np.unsignedinteger[Any]]


def smallest_codes(codes: npt.NDArray[Any], n_values: int) -> Codes:
    """Return codes 0 .. n_values - 1 in as few bytes as hold them."""
    return codes.astype(np.min_scalar_type(max(0, n_values - 1)))


@dataclass(frozen=True, slots=True, eq=False)
class PackedColumn:
    """What one column of a table gives to X.

    places: its columns of X.
    values: their numbers, (v, k), for a cell of each value.
    codes: which value each row has, (n,), None where `values` has a row for each.
    """

    places: tuple[int, ...]
    values: Array
    codes: Codes | None = None

    def write(self, rows: slice, out: Array) -> None:
        """Write some rows to their columns of X."""
        values = self.values[rows] if self.codes is None else self.values
        for k, place in enumerate(self.places):
            if self.codes is None:
                out[:, place] = values[:, k]
            else:
                out[:, place] = values[:, k].take(self.codes[rows])


@dataclass(frozen=True, slots=True, eq=False)
class PackedRows:
    """Rows y_i x_i of some records, (n, p).

    columns: the features.
    signs: y (n,), as whole numbers; 0 for a row of zeros, whose record has a missing cell.
    constant: the last column of X.
    dim: p.
    mapped: writes rows (n, p) in other coordinates in their place, where they get the weights of
        their length (`WeightedRows.of`); None for rows as they are, of norm at most 1.
    outcomes: numbers t (n,) that stand before the rows x, for rows [t, x]; None for rows y x.
    """

    columns: tuple[PackedColumn, ...]
    signs: npt.NDArray[np.int8]
    constant: float
    dim: int
    mapped: Callable[[Array], Array] | None
    outcomes: Array | None = None

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def nbytes(self) -> int:
        """The bytes that all arrays take together."""
        held = (a for c in self.columns for a in (c.values, c.codes) if a is not None)
        t = 0 if self.outcomes is None else self.outcomes.nbytes
        return self.signs.nbytes + t + sum(array.nbytes for array in held)

    def write(self, rows: slice, X: Array, y: Array) -> None:
        """Write x and y of some rows; a row of zeros has y = +1."""
        for column in self.columns:
            column.write(rows, X)
        X[:, -1] = self.constant
        if self.mapped is not None:
            self.mapped(X)
        y[:] = self.signs[rows]
        is_left_out = y == 0.0
        if is_left_out.any():
            X[is_left_out], y[is_left_out] = 0.0, 1.0


def written_out(parts: Iterable[PackedRows]) -> Iterator[Block]:
    """Yield the rows of parts one below the other, checked, `CHUNK_ROWS` at a time."""
    pieces: list[tuple[PackedRows, slice]] = []
    missing = CHUNK_ROWS
    for part in parts:
        first = 0
        while first < len(part):
            last = min(first + missing, len(part))
            pieces.append((part, slice(first, last)))
            missing -= last - first
            first = last
            if not missing:
                yield _rows(pieces, CHUNK_ROWS)
                pieces, missing = [], CHUNK_ROWS
    if pieces:
        yield _rows(pieces, CHUNK_ROWS - missing)


def _rows(pieces: list[tuple[PackedRows, slice]], n: int) -> Block:
    first, part = 0, pieces[0][0]
    has_outcomes = part.outcomes is not None
    block, y = empty_aligned((n, part.dim + has_outcomes)), np.empty(n)
    X = block[:, int(has_outcomes) :]
    for part, rows in pieces:
        last = first + rows.stop - rows.start
        part.write(rows, X[first:last], y[first:last])
        if part.outcomes is not None:
            t = part.outcomes[rows]
            block[first:last, 0] = np.where(part.signs[rows] == 0, 0.0, t)
        first = last
    found = X if part.mapped is None else WeightedRows.of(X)
    check_rows(found, y)
    X *= y[:, None]
    return with_weights(block, weights_of(found))


class HasSize(Protocol):
    """Rows that know what they take."""

    @property
    def nbytes(self) -> int:
        """Bytes."""


P = TypeVar("P", bound=HasSize)


class _Held(Generic[P]):
    """Parts that count towards what this process keeps, for as long as they are here."""

    in_use = 0
    lock = RLock()  # parts may be given back while others are counted

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.nbytes = most_bytes, 0
        self.parts: list[P] | None = []

    def add(self, part: P) -> None:
        """Hold a part, or nothing at all once there is no room for it."""
        if self.parts is None:
            return
        with _Held.lock:
            fits = _Held.in_use + part.nbytes <= self.most_bytes
            _Held.in_use += part.nbytes if fits else 0
        if fits:
            self.nbytes += part.nbytes
            self.parts.append(part)
        else:
            self.parts = None
            self.give_back()

    def give_back(self) -> None:
        """Make room for others."""
        with _Held.lock:
            _Held.in_use -= self.nbytes
        self.nbytes = 0

    def __del__(self) -> None:
        self.give_back()


class Kept(Generic[P]):
    """What a batch keeps of itself in the memory of the process that read it; it travels empty.

    most_bytes: that all batches of a process keep together.
    """

    __slots__ = ("_held", "most_bytes")

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self._held: _Held[P] | None = None

    def __reduce__(self) -> tuple[type[Kept[P]], tuple[int]]:
        return type(self), (self.most_bytes,)

    def forget(self) -> None:
        """Keep nothing."""
        self._held = None

    def or_made(self, make: Callable[[], Iterator[P]]) -> Iterator[P]:
        """Yield the parts that were kept, else those that are made, keeping them if they fit."""
        if self._held is not None:
            yield from self._held.parts or ()
            return
        held: _Held[P] = _Held(self.most_bytes)
        for part in make():
            held.add(part)
            yield part
        if held.parts is not None:
            self._held = held
