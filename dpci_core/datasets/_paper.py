"""The `paper` encoding of Wang, Kifer and Lee: scales read off the data, so for named public sets
only.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.schema import (
    Provenance,
    Records,
    Schema,
    design_matrix,
    leave_out,
    make_records,
    target_signs,
)


def encode_paper(
    frame: pd.DataFrame,
    schema: Schema,
    *,
    features: int | tuple[str, ...] | None = None,
    source: Provenance,
    title: str,
) -> Records:
    """Return records as the paper prepares them: column maximum, row norm, constant column, row
    norm again.

    Args:
        features: the first so many encoded features, or their names, chosen before encoding: the
            row norms, and with them every value, depend on which features are there.

    Privacy: none. Column maxima come from the data; bounds in the schema are not used.
    Source:  Wang, Kifer, Lee, section 7 (preprocessing).
    """
    names = schema.select(features)
    X, is_complete, notes = design_matrix(frame, schema.columns_of(names), names, scale="original")
    largest = np.maximum(X.max(axis=0), -X.min(axis=0))
    X /= np.where(largest > 0.0, largest, 1.0)
    X /= np.maximum(_row_norms(X), 1.0)[:, None]
    X[:, -1] = is_complete
    X *= (NORM_MARGIN / np.maximum(_row_norms(X), 1.0))[:, None]
    y = target_signs(frame, schema)
    leave_out(X, y)
    return make_records(
        X,
        y,
        names=names,
        encoding="paper",
        source=source,
        title=title,
        to_original=None,
        notes=notes,
    )


def _row_norms(X: Array) -> Array:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", X, X)))
