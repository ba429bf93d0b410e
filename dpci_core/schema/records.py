"""Encoded records: what every encoding ends in and every fit starts from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import short_repr
from dpci_core.base.rows import Meaning, WeightedRows, parted, plain
from dpci_core.schema.declare import CONSTANT

Encoding = Literal["paper", "schema", "standard"]
Provenance = Literal["simulated", "public", "declared public", "declared synthetic"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Records:
    """Encoded records, read-only.

    X: (n, p), the constant last; row norms at most 1, or `WeightedRows` in the standard encoding.
    y: (n,) in {-1, +1}; a record with a missing cell is a row of zeros with y = +1.
    to_original: L (p, p), so that L times the coefficients are those in original units, the
    intercept last, exactly; None where the encoding has no such map (`paper` rescales every row by
    its own norm).
    meaning: what coefficients of these rows say about the columns.
    """

    X: Array | WeightedRows
    y: Array
    feature_names: tuple[str, ...]
    encoding: Encoding
    source: Provenance
    title: str
    digest: str
    to_original: Array | None
    meaning: Meaning = field(default_factory=Meaning)
    notes: tuple[str, ...] = ()

    __repr__ = short_repr

    def complete(self) -> Records:
        """Return the records without the rows of zeros, which are of neither class."""
        is_complete = plain(self.X)[:, -1] != 0.0
        if is_complete.all():
            return self
        digest = f"{self.digest}, complete"
        return replace(self.some(is_complete), digest=digest)

    def some(self, rows: Flags | slice) -> Records:
        """Return some of the records, under the digest of all."""
        in_full = self.meaning.in_full
        meaning = replace(self.meaning, in_full=None if in_full is None else in_full[rows])
        return replace(self, X=self.X[rows], y=self.y[rows], meaning=meaning)

    @property
    def unweighted(self) -> Array:
        """X for callers that have no use for weights; ValueError in the standard encoding."""
        rows, weights = parted(self.X)
        if weights is not None:
            raise ValueError("Expected records without weights: the standard encoding has them.")
        return rows


def make_records(
    X: Array | WeightedRows,
    y: Array,
    *,
    names: tuple[str, ...],
    encoding: Encoding,
    source: Provenance,
    title: str,
    to_original: Array | None,
    meaning: Meaning | None = None,
    notes: tuple[str, ...] = (),
) -> Records:
    """Return Records of finished arrays with their digest (SHA-256 of X, y, the rows in full and
    names); the arrays become read-only.

    Args:
        X: encoded rows (n, p), the constant last.
        y: labels (n,), -1 or +1.
        names: of the columns of X.
        encoding: which made X.
        source: whether public, simulated or declared so.
        title: of the table, on pages.
        to_original: L (p, p) from encoded to original coefficients, None where there is none.
        meaning: of their coefficients; None where theta itself is meant and no value was cut off.
        notes: what was mapped on the way, a sentence each.
    """
    feature_names = (*names, CONSTANT)
    state = hashlib.sha256("\n".join((*feature_names, str(X.shape))).encode())
    in_full = None if meaning is None else meaning.in_full
    for array in (part for part in (*parted(X), y, in_full) if part is not None):
        state.update(np.ascontiguousarray(array).data)
        array.flags.writeable = False
    return Records(
        X=X,
        y=y,
        feature_names=feature_names,
        encoding=encoding,
        source=source,
        title=title,
        digest=state.hexdigest(),
        to_original=to_original,
        meaning=meaning or Meaning(),
        notes=notes,
    )
