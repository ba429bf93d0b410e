"""Records of a folder of Parquet files for a classifier: its columns of numbers scaled, and its
column of labels turned to signs, where a batch is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batch import CHUNK_ROWS, Batch, BatchError, Block
from dpci_core.base.batches import RecordBatches
from dpci_core.base.dask_blocks import as_array, dask_batches
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.packed import Kept
from dpci_core.base.rows import signed
from dpci_core.base.validation import check_rows
from dpci_core.datasets.folder import (
    PartFile,
    check_header_has,
    groups_of,
    opened,
    read_folder,
    rechunked,
    unchanged,
    unusable_in,
)
from dpci_core.estimators.scaling import Scaling, Standardisation


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
        check_header_has(columns, frozenset(), (label,))
        names = tuple(name for name in columns if name != label)
        if not names:
            raise DataRejectedError("no_feature_to_encode")
        check_header_has(columns, unusable_in(files), names)
        for file in files:
            for name, kind in zip(file.columns, file.kinds, strict=True):
                if name != label and kind == "text":
                    raise DataRejectedError("column_not_numbers", column=name)
        return cls(files, names, label)

    @property
    def n_records(self) -> int:
        """As the footers state it."""
        return sum(sum(file.group_rows) for file in self.files)

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.names)

    def batches(
        self, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int
    ) -> RecordBatches:
        """The rows y x of model k: +1 is its class, the second one where there are two."""
        positive = classes[1 if len(classes) == 2 else k]
        return RecordBatches.listed(
            [
                FeatureBatch(
                    file, first, last, self.names, self.label, scaling, classes.tolist(), positive
                )
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

        Raises:  DataRejectedError for features that are no numbers, or no table.
        """
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
        """As its chunks say."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """d."""
        return int(self.X.shape[1])

    def batches(
        self, scaling: Scaling | Standardisation, classes: npt.NDArray[Any], k: int
    ) -> RecordBatches:
        """As those of `FeatureTable`."""
        positive = classes[1 if len(classes) == 2 else k]
        return RecordBatches.listed(
            dask_batches(
                self.X,
                self.y,
                _Encoding(scaling, frozenset(classes.tolist()), positive),
                dim=self.n_features + 1,
                is_weighted=isinstance(scaling, Standardisation),
            )
        )


@dataclass(frozen=True, slots=True)
class _Encoding:
    """Rows y x of features and labels, where a chunk is read."""

    scaling: Scaling | Standardisation
    classes: frozenset[Any]
    positive: Any

    def __call__(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Block:
        if X.dtype.kind not in "iufb":
            raise DataRejectedError("not_real_numbers", name="X")
        cells = np.asarray(X, dtype=np.float64)
        is_bad = ~np.isfinite(cells).all(axis=1)
        if is_bad.any():
            raise DataRejectedError("row_not_finite", row=int(is_bad.argmax()), count=1)
        labels = y.tolist()
        unknown = [row for row, label in enumerate(labels) if label not in self.classes]
        if unknown:
            raise DataRejectedError("label_not_declared", row=unknown[0])
        return encoded(cells, labels, self.positive, self.scaling)


def encoded(
    X: Array, labels: list[Any], positive: Any, scaling: Scaling | Standardisation
) -> Block:
    """The rows y x of features and labels."""
    rows = scaling.encode(X)[:]
    y = np.array([1.0 if label == positive else -1.0 for label in labels])
    check_rows(rows, y)
    return signed(rows, y)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBatch(Batch):
    """A run of row groups of one file, as rows y x."""

    file: PartFile
    first_group: int
    last_group: int
    names: tuple[str, ...]
    label: str
    scaling: Scaling | Standardisation
    classes: list[Any]
    positive: Any
    kept: Kept[Block] = field(default_factory=Kept)

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        """As the footer states it."""
        return sum(self.file.group_rows[self.first_group : self.last_group])

    @property
    def dim(self) -> int:  # type: ignore[override]
        """The features and the constant."""
        return len(self.names) + 1

    @property
    def is_weighted(self) -> bool:  # type: ignore[override]
        """By typical values and spreads."""
        return isinstance(self.scaling, Standardisation)

    def chunks(self) -> Iterator[Block]:
        """The rows; BatchError also for a cell that is no finite number or an unknown label."""
        with unchanged(self.file):
            yield from self.kept.or_made(lambda: rechunked(map(self._rows, self._tables())))

    def _tables(self) -> Iterator[Any]:
        with opened(self.file) as found:
            originals = found.schema_arrow.names
            wanted = [originals[self.file.columns.index(n)] for n in (*self.names, self.label)]
            yield from found.iter_batches(
                batch_size=CHUNK_ROWS,
                columns=wanted,
                row_groups=list(range(self.first_group, self.last_group)),
                use_threads=False,
            )

    def _rows(self, block: Any) -> Block:
        by_name = {str(name).strip(): block.column(i) for i, name in enumerate(block.schema.names)}
        X = np.empty((len(block), len(self.names)))
        for j, name in enumerate(self.names):
            X[:, j] = np.asarray(by_name[name].to_numpy(zero_copy_only=False), dtype=np.float64)
        if not np.isfinite(X).all():
            raise BatchError("batch_not_finite", file=self.file.path.name)
        labels = by_name[self.label].to_pylist()
        if not set(labels) <= set(self.classes):
            raise BatchError("batch_label_not_declared", file=self.file.path.name)
        return encoded(X, labels, self.positive, self.scaling)
