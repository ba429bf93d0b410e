"""The encoding of Chaudhuri, Monteleoni and Sarwate: every level a column, scales read off the
data, no constant; so for named public sets only.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.base.limits import NORM_MARGIN


def encode_cms(
    frame: pd.DataFrame, *, target: str, positive: str, features: int | None = None
) -> tuple[Array, Array]:
    """Return X (n, p), rows of norm at most 1 without a constant, and y (n,) in {-1, +1}.

    Numbers come first, in the order of the table, then one column for each level that occurs.

    Args:
        frame: complete rows.
        target: its column of labels.
        positive: the label of +1.
        features: the first so many columns, chosen before rows are scaled.

    Privacy: none. Levels and column maxima come from the data.
    Source:  CMS section 7.1 (preprocessing).
    """
    shown = frame.drop(columns=target)
    numbers = [name for name in shown.columns if pd.api.types.is_numeric_dtype(shown[name])]
    blocks = [shown[numbers].to_numpy(dtype=np.float64)]
    for name in shown.columns.difference(numbers, sort=False):
        levels, codes = np.unique(shown[name].astype(str).to_numpy(), return_inverse=True)
        blocks.append(np.eye(len(levels))[codes])
    X = np.hstack(blocks)[:, :features]
    largest = np.abs(X).max(axis=0)
    X /= np.where(largest > 0.0, largest, 1.0)
    X *= (NORM_MARGIN / np.maximum(np.linalg.norm(X, axis=1), 1.0))[:, None]
    return X, np.where(frame[target].astype(str) == positive, 1.0, -1.0)
