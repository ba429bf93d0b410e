"""Records that come in batches for an estimator, of Dask here and of a folder of Parquet files in
`folder_table`: columns of numbers scaled, and labels turned to signs or put beside them as a
number, where a batch is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpci_core.base.batches import RecordBatches
from dpci_core.base.dask_blocks import as_array, dask_batches, is_dask
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.extras import named_extras
from dpci_core.estimators.encoding import BatchTable, LabelEncoding, OutcomeEncoding
from dpci_core.estimators.input import check_order
from dpci_core.estimators.scaling import Standardisation
from dpci_core.estimators.settings import table_of

if TYPE_CHECKING:
    from dpci_core.estimators.folder_table import FeatureTable


@dataclass(frozen=True, slots=True)
class DaskTable(BatchTable):
    """A Dask array or data frame of features, with labels of Dask or in memory.

    X, y: (n, d) and (n,).
    names: of the columns of a data frame.
    told: what describes the table in the ledger, as `settings.table_of`.
    """

    X: Any
    y: Any
    names: tuple[str, ...] | None
    told: dict[str, object]

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
        names = None if columns is None else tuple(map(str, columns))
        return cls(array, labels, names, table_of(X, y, array.shape))

    @property
    def n_records(self) -> int:
        """The number of records that the chunks state."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """d."""
        return int(self.X.shape[1])

    def read_by(self, encode: LabelEncoding | OutcomeEncoding) -> RecordBatches:
        """Return the batches of the partitions."""
        dim = self.n_features + encode.n_more
        is_weighted = isinstance(encode.scaling, Standardisation)
        return RecordBatches.listed(
            dask_batches(self.X, self.y, encode, dim=dim, is_weighted=is_weighted)
        )


def table_given(X: Any, y: Any) -> FeatureTable | DaskTable | None:
    """The table of a folder or of Dask, its labels or outcome by name or beside it; None for
    records in memory.
    """
    if isinstance(X, str | Path):
        with named_extras():
            from dpci_core.estimators.folder_table import FeatureTable
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
