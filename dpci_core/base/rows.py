"""The rows y_i x_i that training sees, as a product that is taken when it is asked for and not
written out before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.limits import NORM_MARGIN


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRows:
    """Rows y_i (scale z_i, constant), a matrix (n, d+1) of which only z is kept.

    features: z (n, d), never written to: it may be the caller's own table.  signs: y (n,) in {-1,
    +1}, or None for +1. Products with it cost what those with z cost, in the precision of z; a
    slice is the rows themselves, rounded once.

    >>> rows = EncodedRows(
    ...     np.array([[2.0], [4.0]]), scale=0.1, constant=0.5, signs=np.array([1.0, -1.0])
    ... )
    >>> rows[:].tolist()
    [[0.2, 0.5], [-0.4, -0.5]]
    >>> (rows @ np.array([1.0, 1.0])).tolist(), (np.array([1.0, 1.0]) @ rows).round(3).tolist()
    ([0.7, -0.9], [-0.2, 0.0])
    """

    features: Array
    scale: float
    constant: float
    signs: Array | None = None

    __array_ufunc__ = None  # tells NumPy that `array @ rows` is for `__rmatmul__`

    @property
    def shape(self) -> tuple[int, int]:
        """n and d+1."""
        return len(self.features), self.features.shape[1] + 1

    def __len__(self) -> int:
        return len(self.features)

    def signed(self, signs: Array) -> Self:
        """Return the same records with these signs (n,), each -1 or +1."""
        return type(self)(self.features, self.scale, self.constant, signs)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the features."""
        return self.features.dtype

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Self:
        """Return the same rows in another precision."""
        signs = None if self.signs is None else self.signs.astype(dtype, copy=copy)
        return type(self)(self.features.astype(dtype, copy=copy), self.scale, self.constant, signs)

    def __matmul__(self, theta: Array) -> Array:
        """Margins of one theta (d+1,), or of several in columns (d+1, k) where there are no
        signs.
        """
        margins: Array = self.features @ (self.scale * theta[:-1])
        margins += self.constant * theta[-1]
        if self.signs is not None:
            margins *= self.signs
        return margins

    def __rmatmul__(self, weights: Array) -> Array:
        """Sum of the rows with these weights (n,)."""
        signed = weights if self.signs is None else weights * self.signs
        return np.append(self.scale * (signed @ self.features), self.constant * signed.sum())

    def __getitem__(self, rows: slice) -> Array:
        """Some of the rows, written out."""
        features = self.features[rows]
        found = np.empty((len(features), features.shape[1] + 1), dtype=self.dtype)
        np.multiply(features, self.scale, out=found[:, :-1])
        found[:, -1] = self.constant
        if self.signs is not None:
            found *= self.signs[rows, None]
        return found

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        """All of the rows, written out."""
        return np.asarray(self[:], dtype=dtype)


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What the coefficients theta of planning rows say about the columns of their table.

    basis: B (p, p), so that B @ theta are the coefficients of the named features where the encoding
        mixes columns; None where theta itself is.
    in_full: the rows x (n, p) with no value cut off at a limit, None where none is.
    is_simulated: whether the rows were drawn from a declaration, so that what weights move of them
        is sampling error unless it is large.
    constant: the last entry of every row of a complete record; None where nothing is declared.
    told: (p,), the difference that an odds ratio of each coefficient B theta is judged by
        (`schema.encode.told_of`), 0 for the constant; None where nothing is declared.
    """

    basis: Array | None = None
    in_full: Array | None = None
    is_simulated: bool = False
    constant: float | None = None
    told: Array | None = None

    def rows_in_full(self, y: npt.ArrayLike | None) -> Array | None:
        """The rows y x in full, None where none is cut off.

        Raises:  ValueError without labels y (n,), as for batches.
        """
        if self.in_full is None:
            return None
        if y is None:
            raise ValueError("Expected no rows in full beside batches, which hold their labels.")
        return plain(signed(self.in_full, np.asarray(y, dtype=np.float64)))


def combined(columns: Array, factors: Array) -> Array:
    """Sum (n,) of columns (n, k) times a factor each, in their order, one rounding an operation: a
    function of each row alone to its last bit, wherever it stands.
    """
    found = columns[:, 0] * factors[0]
    for j in range(1, len(factors)):
        found += columns[:, j] * factors[j]
    return np.asarray(found)


def beside(t: Array, X: Rows) -> WeightedRows:
    """Return rows [t, x] (n, 1 + p) of numbers t (n,) and rows x (n, p), with their weights.

    Raises:  ValueError for rows without weights.
    """
    weighted = as_weighted(X)
    if weighted is None:
        raise ValueError("Expected rows with weights.")
    return WeightedRows(np.column_stack([t, weighted.rows]), weighted.weights)


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """Rows of any length whose losses have weights that make up for it.

    rows: x, or y x, (n, p).
    weights: w (n,), 0 < w <= 1 and w |x|^2 <= 1 (`validation.check_records`).

    A record's loss is w f(x.theta). Its gradient has norm w |f'| |x| <= 1 and its curvature w f''
    |x|^2 <= f'', as those of a row of norm 1 have, which is all that the sensitivities ask for
    (docs/proofs/map.md). Nothing takes the rows without their weights: as an array they refuse.

    >>> rows = WeightedRows(np.array([[2.0, 0.0], [0.0, 0.5]]), np.array([0.25, 1.0]))
    >>> (rows @ np.array([1.0, 1.0])).tolist(), (np.array([1.0, 1.0]) @ rows).tolist()
    ([2.0, 0.5], [0.5, 0.5])
    """

    rows: Array
    weights: Array

    __array_ufunc__ = None  # tells NumPy that `array @ rows` is for `__rmatmul__`

    @classmethod
    def of(cls, rows: Array) -> Self:
        """Rows (n, p) with the weights min(1, 1/|x|^2), a little less against rounding."""
        squares = np.einsum("ij,ij->i", rows, rows)
        return cls(rows, NORM_MARGIN / np.maximum(squares, NORM_MARGIN))

    @property
    def shape(self) -> tuple[int, int]:
        """n and p."""
        return self.rows.shape[0], self.rows.shape[1]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of rows and weights."""
        return self.rows.dtype

    @property
    def size(self) -> int:
        """Numbers in the rows."""
        return self.rows.size

    @property
    def most(self) -> int:
        """Rows of the record that has most."""
        return 1

    @property
    def shares(self) -> Array:
        """Part of its record that each row is, (m,), 1 together at most."""
        return np.ones(len(self.rows))

    def sums(self, of_rows: Array) -> Array:
        """Sums (n, p) over the rows of each record of what the rows have."""
        return of_rows

    @property
    def nbytes(self) -> int:
        """The bytes that rows and weights take together."""
        return self.rows.nbytes + self.weights.nbytes

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Self:
        """Return the same rows in another precision."""
        rows, weights = (part.astype(dtype, copy=copy) for part in (self.rows, self.weights))
        return type(self)(rows, weights)

    def __matmul__(self, theta: Array) -> Array:
        """Margins of one theta (p,), or of several in columns (p, k)."""
        return self.rows @ theta

    def __rmatmul__(self, values: Array) -> Array:
        """Sum of the rows with these values (n,) times their weights."""
        return (values * self.weights) @ self.rows

    def __getitem__(self, chosen: slice | npt.NDArray[Any]) -> Self:
        """Some of the rows, with their weights."""
        return type(self)(self.rows[chosen], self.weights[chosen])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        raise TypeError("Rows with weights are no array: their weights would be lost.")


@dataclass(frozen=True, slots=True, eq=False)
class PersonRows(WeightedRows):
    """Rows of persons, those of one person together, whose shares are in the weights.

    first: where each person's rows begin (N,), so the length and the first number of the shape are
    those of persons, as a slice is one of persons.

    A person's loss is the sum of w f(x.theta) over the own rows, their shares 1 together: its
    gradient is no longer, and its curvature no larger, than those of one row
    (docs/proofs/release.md#persons).

    >>> rows = PersonRows.of(np.eye(3), np.array([7, 5, 7]), most=2)
    >>> len(rows), rows.rows.tolist(), rows.weights.round(9).tolist()
    (2, [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [1.0, 0.5, 0.5])
    """

    first: npt.NDArray[np.int64]

    @classmethod
    def of(cls, A: Array | WeightedRows, persons: npt.NDArray[np.int64], *, most: int) -> Self:  # type: ignore[override]
        """Return the rows that count: the first `most` of each person that are not zeros, in the
        order of the table; one row of zeros where a person has no other.

        Args:
            A: rows y_i x_i, (m, p).
            persons: a number for each row, (m,); a row of a number below 0 is left out.
            most: k.

        Privacy: which rows of a person are kept, and with which shares, depends on these alone.
        """
        # a missing cell (docs/proofs/release.md#records)
        is_zero = np.asarray(~plain(A).any(axis=1))
        order = np.lexsort((is_zero, persons))
        order = order[np.searchsorted(persons[order], 0) :]
        _, first, counts = np.unique(persons[order], return_index=True, return_counts=True)
        kept = np.clip(np.add.reduceat(~is_zero[order], first, dtype=np.int64), 1, most)
        place = np.arange(len(order)) - np.repeat(first, counts)
        order = order[place < np.repeat(kept, counts)]
        rows, weights = parted(A)
        before = np.ones(len(order)) if weights is None else weights[order]
        found = cls(rows[order], before, np.cumsum(kept) - kept)
        return replace(found, weights=before * found.shares)

    @property
    def _counts(self) -> npt.NDArray[np.int64]:
        """Rows of each person (N,)."""
        return np.diff(self.first, append=len(self.rows))

    @property
    def shares(self) -> Array:
        """1/k (m,) of a person with k rows, a little less against rounding."""
        counts = self._counts
        return np.repeat(np.where(counts > 1, NORM_MARGIN / counts, 1.0), counts)

    @property
    def shape(self) -> tuple[int, int]:
        """N and p."""
        return len(self.first), self.rows.shape[1]

    def __len__(self) -> int:
        return len(self.first)

    @property
    def most(self) -> int:
        """Rows of the person who has most."""
        return int(self._counts.max(initial=1))

    def __matmul__(self, theta: Array) -> Array:
        """Margins of one theta (p,), or of several in columns (p, k). How many rows a person has
        moves the rows of others within a block, but no bit of their margins.
        """
        if theta.ndim == 1:
            return combined(self.rows, theta)
        return np.column_stack([combined(self.rows, one) for one in theta.T])

    def sums(self, of_rows: Array) -> Array:
        """Sums (N, p) over each person of what the rows have, (m, p)."""
        return np.asarray(np.add.reduceat(of_rows, self.first, axis=0))

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Self:
        """Return the same rows in another precision."""
        rows, weights = (part.astype(dtype, copy=copy) for part in (self.rows, self.weights))
        return type(self)(rows, weights, self.first)

    def __getitem__(self, chosen: slice | npt.NDArray[Any]) -> Self:
        """Some of the persons, with all of their rows."""
        counts = self._counts[chosen]
        starts = np.cumsum(counts) - counts
        rows = np.arange(counts.sum()) + np.repeat(self.first[chosen] - starts, counts)
        return type(self)(self.rows[rows], self.weights[rows], starts)


Rows = Array | EncodedRows | WeightedRows
"""What a solver trains on: the rows themselves, or a product that stands for them."""


def parted(A: Rows) -> tuple[Array, Array | None]:
    """The rows (n, p) written out, and their weights (n,), None where they have none."""
    weighted = as_weighted(A)
    return (np.asarray(A), None) if weighted is None else (weighted.rows, weighted.weights)


def as_weighted(A: object) -> WeightedRows | None:
    """The rows with what arrays cannot have, weights and several of one record; None for others."""
    return A if isinstance(A, WeightedRows) else None


def weights_of(A: object) -> Array | None:
    """The weights (n,) of rows, None where they have none or whatever this is has none."""
    weighted = as_weighted(A)
    return None if weighted is None else weighted.weights


def with_weights(rows: Array, weights: Array | None) -> Array | WeightedRows:
    """The inverse of `parted`."""
    return rows if weights is None else WeightedRows(rows, weights)


def signed(X: Array | WeightedRows, y: Array) -> Array | WeightedRows:
    """The rows y_i x_i."""
    rows, weights = parted(X)
    return with_weights(y[:, None] * rows, weights)


def stacked(parts: Sequence[Array | WeightedRows]) -> Array | WeightedRows:
    """Blocks of rows of one encoding, one below the other."""
    rows, weights = zip(*map(parted, parts), strict=True)
    found = [w for w in weights if w is not None]
    if 0 < len(found) < len(parts):
        raise ValueError("Expected all blocks of rows with weights, or none.")
    return with_weights(np.concatenate(rows), np.concatenate(found) if found else None)


def plain(A: Array | WeightedRows) -> Array:
    """The rows without their weights, for margins and for products that `times_weights` goes
    into.
    """
    return parted(A)[0]


def times_weights(values: Array, A: Rows) -> Array:
    """Values (n,) times the weights of the rows, where they have some."""
    weights = weights_of(A)
    return values if weights is None else values * weights


def unit_rows(A: Array | WeightedRows) -> Array:
    """The rows times the root of their weight, of norm at most 1."""
    rows, weights = parted(A)
    return rows if weights is None else rows * np.sqrt(weights)[:, None]


def record_sums(A: Rows, of_rows: Array) -> Array:
    """Sums (n, p) over the rows of each record of what the rows have: only a person has several."""
    weighted = as_weighted(A)
    return of_rows if weighted is None else weighted.sums(of_rows)


def in_chunks(A: Rows, size: int) -> Iterator[Array | WeightedRows]:
    """The rows, at most `size` at a time; no person's rows are parted."""
    weighted = as_weighted(A)
    step = size if weighted is None else max(1, size // weighted.most)
    for start in range(0, len(A), step):
        yield A[start : start + step]
