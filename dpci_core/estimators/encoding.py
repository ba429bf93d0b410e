"""Rows of numbers out of cells for an estimator, each row for itself and whatever it holds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batch import Block
from dpci_core.base.batches import Place, RecordBatches
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.rows import WeightedRows, plain, signed
from dpci_core.base.validation import check_rows
from dpci_core.estimators.input import signs_of
from dpci_core.estimators.scaling import Scaling, Standardisation
from dpci_core.schema.mapping import Cells, Coded
from dpci_core.schema.numeric import NumericColumn
from dpci_core.schema.spelling import number_of


class _Cells:
    """What makes rows of arrays makes them of columns."""

    __slots__ = ()

    @abstractmethod
    def rows(self, columns: Sequence[Array], labels: Cells) -> Block:
        """The rows of numbers, a column each, and labels."""

    def __call__(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Block:
        are_numbers = X.dtype.kind in "iufb"
        columns = [by_value(x if are_numbers else x.tolist(), number_of) for x in _unmasked(X).T]
        return self.rows(columns, _unmasked(y).tolist())


@dataclass(frozen=True, slots=True)
class OutcomeEncoding(_Cells):
    """Rows [t, x] of cells and numbers t, the outcome in its spreads, each row for itself; one with
    a cell or an outcome that is no finite number becomes a row of zeros.
    """

    scaling: Standardisation
    outcome: NumericColumn

    n_more: ClassVar[int] = 2
    """Columns beside the features."""

    def rows(self, columns: Sequence[Array], labels: Cells) -> Block:
        """The rows [t, x] of numbers, a column each, and outcomes."""
        return self.encoded(np.column_stack(columns), by_value(labels, number_of))

    def encoded(self, X: Array, y: Array) -> WeightedRows:
        """The rows [t, x] (n, d + 2), the constant last, of numbers (n, d) and outcomes (n,)."""
        counts = np.isfinite(X).all(axis=1) & np.isfinite(y)
        found = self.scaling.encode(np.where(counts[:, None], X, 0.0))
        check_rows(found, np.ones(len(y)))
        t = self.outcome.encoded(np.where(counts, y, self.outcome.low), math.inf)
        return WeightedRows(
            np.where(counts[:, None], np.hstack([t, found.rows]), 0.0), found.weights
        )


@dataclass(frozen=True, slots=True)
class LabelEncoding(_Cells):
    """Rows y x of cells and labels, each row for itself and whatever it holds.

    A row with a cell that is masked or no finite number, or with a label that is not declared,
    becomes a row of zeros: it has norm 0 and so counts for nothing (docs/operations.md).

    signs: y of every declared label.
    """

    scaling: Scaling | Standardisation
    signs: Mapping[Any, float]

    n_more: ClassVar[int] = 1
    """Columns beside the features."""

    @classmethod
    def of(
        cls, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int
    ) -> LabelEncoding:
        """Return the encoding of model k: +1 is its class, the second one where there are two."""
        n_models = 1 if len(classes) == 2 else len(classes)
        y = signs_of(np.arange(len(classes)), k, n_models)
        return cls(scaling, dict(zip(classes.tolist(), y.tolist(), strict=True)))

    def rows(self, columns: Sequence[Array], labels: Cells) -> Block:
        """The rows y x of numbers, a column each, and labels."""
        X, y = np.column_stack(columns), by_value(labels, self._sign)
        y[~np.isfinite(X).all(axis=1)] = 0.0
        X[y == 0.0] = 0.0
        rows = self.scaling.encode(X)[:]
        check_rows(rows, np.where(y == 0.0, 1.0, y))
        return signed(rows, y)

    def _sign(self, label: object) -> float:
        try:
            return self.signs.get(label, 0.0)
        except Exception:  # of a label that cannot be looked up, so it is none of the declared
            return 0.0


def _unmasked(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Cells whose masked ones are no number and no label."""
    if not np.ma.is_masked(cells):
        return cells
    return np.ma.filled(cells.astype(object), np.nan)


def by_value(cells: Cells, function: Callable[[object], float]) -> Array:
    """The function of every cell (n,), called once for each that differs where those are known."""
    if isinstance(cells, Coded):
        of_each: Array = by_value([*cells.values, None], function)[cells.codes]
        return of_each
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    return np.array([function(cell) for cell in cells], dtype=np.float64)


class BatchTable(ABC):
    """A table that is encoded where its batches are read."""

    __slots__ = ()

    @abstractmethod
    def read_by(self, encode: LabelEncoding | OutcomeEncoding) -> RecordBatches:
        """Return the batches of rows that an encoding makes."""

    def batches(
        self, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int
    ) -> RecordBatches:
        """The rows y x of model k: +1 is its class, the second one where there are two."""
        return self.read_by(LabelEncoding.of(scaling, classes, k))

    def outcomes(self, scaling: Standardisation, outcome: NumericColumn) -> RecordBatches:
        """The rows [t, x] with a number as outcome."""
        return self.read_by(OutcomeEncoding(scaling, outcome))


def check_every_row_counts(table: RecordBatches) -> None:
    """Read a table once and refuse rows of zeros, which `LabelEncoding` makes of rows that break a
    rule; before anything is booked.

    Raises:  DataRejectedError without a row or a number: the ledger is to know nothing of records,
             and a message no more than that.
    """
    if table.total(_n_zero_rows):
        raise DataRejectedError("rows_do_not_count")


def _n_zero_rows(place: Place) -> int:
    """Rows without the constant, which every other row ends with."""
    return sum(int(np.count_nonzero(plain(block)[:, -1] == 0.0)) for block in place.chunks())
