"""What records must look like before anything is computed from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpci_core.errors import DataRejectedError

Array = npt.NDArray[np.float64]


def check_records(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array]:
    """Return X (n, p) and y (n,) as float64, or raise naming the first row that breaks a rule.

    Rules: two-dimensional X with n >= 1 and p >= 1, y of the same n, finite numbers, y in {-1, +1}, row norms at
    most 1. One class only is valid: the algorithms see y * x.
    Raises:  DataRejectedError (a ValueError) with the row; the message holds no value of a record.
    """
    features, labels = _numbers(X, name="X"), _numbers(y, name="y")
    if features.ndim != 2:
        raise DataRejectedError(f"Expected X to have 2 dimensions (n, p), got {features.ndim}.")
    if labels.shape != features.shape[:1]:
        raise DataRejectedError(f"Expected y of shape {features.shape[:1]} like X, got {labels.shape}.")
    if features.shape[0] == 0 or features.shape[1] == 0:
        raise DataRejectedError(f"Expected at least one record and one column, got X of shape {features.shape}.")
    _reject_first(np.asarray(~np.isfinite(features).all(axis=1)), "Expected X to be finite (no NaN, no infinity)")
    _reject_first(np.asarray(np.abs(labels) != 1.0), "Expected every label in y to be -1 or +1")
    norms = np.sqrt(np.einsum("ij,ij->i", features, features))
    _reject_first(np.asarray(norms > 1.0), "Expected every row of X to have Euclidean norm at most 1")
    return features, labels


def _numbers(values: npt.ArrayLike, *, name: str) -> Array:
    """The values as float64, if they are real numbers: no text, no masked entries, no truth values for labels."""
    if np.ma.isMaskedArray(values):
        raise DataRejectedError(f"Expected {name} to be a plain array: masked entries would count as records.")
    try:
        given = np.asarray(values)
        if given.dtype.kind in ("iuf" if name == "y" else "iufb"):
            return given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataRejectedError(f"Expected {name} to hold real numbers only.") from None


def _reject_first(is_bad: npt.NDArray[np.bool_], rule: str) -> None:
    if is_bad.any():
        row = int(is_bad.argmax())
        raise DataRejectedError(f"{rule}; row {row} is the first of {int(is_bad.sum())} that break it.", row=row)
