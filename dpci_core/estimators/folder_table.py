"""Records of a folder of Parquet files for an estimator: its columns of numbers scaled, and its
column of labels turned to signs or put beside them as a number, where a batch is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dpci_core.base.batch import Batch, Block
from dpci_core.base.batches import RecordBatches
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.packed import Kept
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
from dpci_core.estimators.encoding import BatchTable, LabelEncoding, OutcomeEncoding, by_value
from dpci_core.estimators.scaling import Standardisation
from dpci_core.schema.spelling import number_of


@dataclass(frozen=True, slots=True)
class FeatureTable(BatchTable):
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

    def read_by(self, encode: LabelEncoding | OutcomeEncoding) -> RecordBatches:
        """Return the batches of the row groups."""
        return RecordBatches.listed(
            [
                FeatureBatch(file, first, last, self.names, self.label, encode)
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
    encode: LabelEncoding | OutcomeEncoding
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
            features = [by_value(cells[name], number_of) for name in self.names]
            yield self.encode.rows(features, cells[self.label])
