"""Records of a folder of Parquet files for a classifier: its columns of numbers scaled, and its
column of labels turned to signs, where a batch is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.batches import CHUNK_ROWS, Batch, BatchError, Block, RecordBatches
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.rows import WeightedRows, signed
from dpci_core.base.validation import check_rows
from dpci_core.datasets.folder import (
    PartFile,
    check_header_has,
    groups_of,
    opened,
    read_folder,
    rechunked,
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
        return rechunked(self._rows(block) for block in self._tables())

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
        y = self._signs(by_name[self.label])
        encoded = self.scaling.encode(X)
        rows: Block = encoded if isinstance(encoded, WeightedRows) else encoded[:]
        check_rows(rows, y)
        return signed(rows, y)

    def _signs(self, column: Any) -> Array:
        values = column.to_pylist()
        if not set(values) <= set(self.classes):
            raise BatchError("batch_label_not_declared", file=self.file.path.name)
        return np.array([1.0 if value == self.positive else -1.0 for value in values])
