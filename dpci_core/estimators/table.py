"""Records of a folder of Parquet files for an estimator: its columns of numbers scaled, and its
column of labels turned to signs or put beside them as a number, where a batch is read.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batch import Batch, Block
from dpci_core.base.batches import Place, RecordBatches
from dpci_core.base.dask_blocks import as_array, dask_batches, is_dask
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.packed import Kept
from dpci_core.base.rows import WeightedRows, plain, signed
from dpci_core.base.validation import check_rows
from dpci_core.datasets.folder import (
    PartFile,
    cell_blocks,
    check_header_has,
    groups_of,
    read_folder,
    rechunked,
    unchanged,
    unusable_in,
)
from dpci_core.estimators.input import check_order, signs_of
from dpci_core.estimators.scaling import Scaling, Standardisation
from dpci_core.schema.mapping import Cells, Coded
from dpci_core.schema.numeric import NumericColumn
from dpci_core.schema.spelling import number_of


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """A folder whose columns are features, but for the one of the labels.

    names: of the features, in the order of the files.
    """

    files: tuple[PartFile, ...]
    names: tuple[str, ...]
    label: str

    @classmethod
    def at(cls, folder: Path, label: object) -> FeatureTable:
        """Read the footers.

        Raises:  DataRejectedError for a folder that is no table, without the column of labels, or
                 with a feature that holds no numbers.
        """
        files = read_folder(folder)
        columns = files[0].columns
        if not isinstance(label, str):
            raise ValueError("Expected y to be the name of the column of labels beside a folder.")
        names = tuple(name for name in columns if name != label)
        if not names:
            raise DataRejectedError("no_feature_to_encode")
        check_header_has(columns, unusable_in(files), (*names, label))
        for file in files:
            for name, kind in zip(file.columns, file.kinds, strict=True):
                if name != label and kind == "text":
                    raise DataRejectedError("column_not_numbers", column=name)
        return cls(files, names, label)

    @property
    def n_records(self) -> int:
        """The number of records that the footers of all files state."""
        return sum(sum(file.group_rows) for file in self.files)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.names)

    @property
    def told(self) -> dict[str, object]:
        """What describes the table in the ledger, as `settings.table_of`."""
        named: dict[str, object] = {"label": self.label, "features": self.names}
        return named | {"n_records": self.n_records, "n_features": self.n_features}

    def batches(
        self, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int
    ) -> RecordBatches:
        """The rows y x of model k: +1 is its class, the second one where there are two."""
        return self._read_by(_Encoding.of(scaling, classes, k))

    def outcomes(self, scaling: Standardisation, outcome: NumericColumn) -> RecordBatches:
        """The rows [t, x] with a number as outcome."""
        return self._read_by(OutcomeEncoding(scaling, outcome))

    def _read_by(self, encode: _Encoding | OutcomeEncoding) -> RecordBatches:
        return RecordBatches.listed(
            [
                FeatureBatch(file, first, last, self.names, self.label, encode)
                for file in self.files
                for first, last in groups_of(file)
            ]
        )


@dataclass(frozen=True, slots=True)
class DaskTable:
    """A Dask array or data frame of features, with labels of Dask or in memory.

    X, y: (n, d) and (n,).
    names: of the columns of a data frame.
    """

    X: Any
    y: Any
    names: tuple[str, ...] | None

    @classmethod
    def of(cls, X: Any, y: Any) -> DaskTable:
        """Count the partitions of a data frame, once.

        Raises:  DataRejectedError for features that are no numbers, or no table; ValueError as
                 `check_order`.
        """
        check_order(X)
        columns = getattr(X, "columns", None)
        array, labels = as_array(X), as_array(y)
        if array.ndim != 2:
            raise DataRejectedError("X_has_not_2_dimensions", found=array.ndim)
        if array.dtype.kind not in "iufb":
            raise DataRejectedError("not_real_numbers", name="X")
        if math.isnan(array.shape[0]):
            raise DataRejectedError("chunks_unknown", name="X")
        return cls(array, labels, None if columns is None else tuple(map(str, columns)))

    @property
    def n_records(self) -> int:
        """The number of records that the chunks state."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """d."""
        return int(self.X.shape[1])

    def batches(
        self, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int
    ) -> RecordBatches:
        """Return the batches of model k, as `FeatureTable.batches`."""
        return self._read_by(_Encoding.of(scaling, classes, k))

    def outcomes(self, scaling: Standardisation, outcome: NumericColumn) -> RecordBatches:
        """Return the batches with a number as outcome, as `FeatureTable.outcomes`."""
        return self._read_by(OutcomeEncoding(scaling, outcome))

    def _read_by(self, encode: _Encoding | OutcomeEncoding) -> RecordBatches:
        dim = self.n_features + encode.n_more
        is_weighted = isinstance(encode.scaling, Standardisation)
        return RecordBatches.listed(
            dask_batches(self.X, self.y, encode, dim=dim, is_weighted=is_weighted)
        )


class _Cells:
    """What makes rows of arrays makes them of columns."""

    __slots__ = ()

    @abstractmethod
    def rows(self, columns: Sequence[Array], labels: Cells) -> Block:
        """The rows of numbers, a column each, and labels."""

    def __call__(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Block:
        are_numbers = X.dtype.kind in "iufb"
        columns = [_by_value(x if are_numbers else x.tolist(), number_of) for x in _unmasked(X).T]
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
        return self.encoded(np.column_stack(columns), _by_value(labels, number_of))

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
class _Encoding(_Cells):
    """Rows y x of cells and labels, each row for itself and whatever it holds.

    A row with a cell that is masked or no finite number, or with a label that is not declared,
    becomes a row of zeros: it has norm 0 and so counts for nothing (docs/ledger.md).

    signs: y of every declared label.
    """

    scaling: Scaling | Standardisation
    signs: Mapping[Any, float]

    n_more: ClassVar[int] = 1
    """Columns beside the features."""

    @classmethod
    def of(cls, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int) -> _Encoding:
        """Return the encoding of model k: +1 is its class, the second one where there are two."""
        n_models = 1 if len(classes) == 2 else len(classes)
        y = signs_of(np.arange(len(classes)), k, n_models)
        return cls(scaling, dict(zip(classes.tolist(), y.tolist(), strict=True)))

    def rows(self, columns: Sequence[Array], labels: Cells) -> Block:
        """The rows y x of numbers, a column each, and labels."""
        X, y = np.column_stack(columns), _by_value(labels, self._sign)
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


def _by_value(cells: Cells, function: Callable[[object], float]) -> Array:
    """The function of every cell (n,), called once for each that differs where those are known."""
    if isinstance(cells, Coded):
        of_each: Array = _by_value([*cells.values, None], function)[cells.codes]
        return of_each
    if isinstance(cells, np.ndarray):
        return cells.astype(np.float64)
    return np.array([function(cell) for cell in cells], dtype=np.float64)


def check_every_row_counts(table: RecordBatches) -> None:
    """Read a table once and refuse rows of zeros, which `_Encoding` makes of rows that break a
    rule; before anything is booked.

    Raises:  DataRejectedError without a row or a number: the ledger is to know nothing of records,
             and a message no more than that.
    """
    if table.total(_n_zero_rows):
        raise DataRejectedError("rows_do_not_count")


def _n_zero_rows(place: Place) -> int:
    """Rows without the constant, which every other row ends with."""
    return sum(int(np.count_nonzero(plain(block)[:, -1] == 0.0)) for block in place.chunks())


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBatch(Batch):
    """A run of row groups of one file, as rows y x."""

    file: PartFile
    first_group: int
    last_group: int
    names: tuple[str, ...]
    label: str
    encode: _Encoding | OutcomeEncoding
    kept: Kept[Block] = field(default_factory=Kept)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows that the footer states for these row groups."""
        return sum(self.file.group_rows[self.first_group : self.last_group])

    @property
    def dim(self) -> int:  # type: ignore[override]
        """The features, the constant, and an outcome that is a number."""
        return len(self.names) + self.encode.n_more

    @property
    def is_weighted(self) -> bool:  # type: ignore[override]
        """By typical values and spreads."""
        return isinstance(self.encode.scaling, Standardisation)

    def chunks(self) -> Iterator[Block]:
        """The rows; BatchError for a file that changed or cannot be read."""
        with unchanged(self.file):
            yield from self.kept.or_made(lambda: rechunked(self._found()))

    def _found(self) -> Iterator[Block]:
        columns = cell_blocks(
            self.file.path,
            self.file.columns,
            (*self.names, self.label),
            numbers=frozenset(self.names),
            groups=range(self.first_group, self.last_group),
        )
        for cells in columns:
            features = [_by_value(cells[name], number_of) for name in self.names]
            yield self.encode.rows(features, cells[self.label])


def table_given(X: Any, y: Any) -> FeatureTable | DaskTable | None:
    """The table of a folder or of Dask, its labels or outcome by name or beside it; None for
    records in memory.
    """
    if isinstance(X, str | Path):
        return FeatureTable.at(Path(X), y)
    return DaskTable.of(X, y) if is_dask(X) else None


def take_columns(estimator: Any, table: FeatureTable | DaskTable) -> tuple[int, int]:
    """Set what scikit-learn keeps of the columns of a fit; return the numbers of records and of
    features.
    """
    estimator.n_features_in_ = table.n_features
    estimator.__dict__.pop("feature_names_in_", None)  # of an earlier fit
    if table.names is not None:
        estimator.feature_names_in_ = np.array(table.names, dtype=object)
    return table.n_records, table.n_features
