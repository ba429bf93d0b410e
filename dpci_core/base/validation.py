"""What records must look like before anything is computed from them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.limits import CONTRAST, NORM_MARGIN
from dpci_core.base.rows import WeightedRows, as_weighted, parted, plain, weights_of

_ROUNDING = 1e-9
"""A row whose norm exceeds 1 by no more, as X / norm does in floating-point numbers, is scaled to
norm 1: a map of that record alone, before anything else sees it."""


def check_records(
    X: npt.ArrayLike | WeightedRows, y: npt.ArrayLike
) -> tuple[Array | WeightedRows, Array]:
    """Return X (n, p) and y (n,) as float64, or raise naming the first row that breaks a rule.

    Rules: two-dimensional X with n >= 1 and p >= 1, y of the same n, finite numbers, y in {-1, +1},
    row norms at most 1, where what rounding adds is taken off again; of rows with weights w, 0 < w
    <= 1 and w |x|^2 <= 1. One class only is valid: the algorithms see y * x.
    Raises:  DataRejectedError (a ValueError) with the row; the message holds no value of a record.
    """
    weighted = as_weighted(X)
    features = _numbers(X if weighted is None else weighted.rows, name="X")
    labels = _numbers(y, name="y")
    if features.ndim != 2:
        raise DataRejectedError("X_has_not_2_dimensions", found=features.ndim)
    if labels.shape != features.shape[:1]:
        raise DataRejectedError(
            "y_has_another_shape", wanted=features.shape[:1], found=labels.shape
        )
    if features.shape[0] == 0 or features.shape[1] == 0:
        raise DataRejectedError("no_record_or_no_column", found=features.shape)
    _reject_first(np.asarray(~np.isfinite(features).all(axis=1)), "row_not_finite")
    _reject_first(np.asarray(np.abs(labels) != 1.0), "label_not_a_sign")
    squares = np.einsum("ij,ij->i", features, features)
    if weighted is not None:
        weights = _numbers(weighted.weights, name="the weights of X")
        if weights.shape != labels.shape:
            raise DataRejectedError(
                "weights_have_another_shape", wanted=labels.shape, found=weights.shape
            )
        is_bad = ~((weights > 0.0) & (weights <= 1.0) & (weights * squares <= 1.0))
        _reject_first(np.asarray(is_bad), "row_outweighs_1")
        return WeightedRows(features, weights), labels
    _reject_first(np.asarray(squares > (1.0 + _ROUNDING) ** 2), "row_norm_above_1")
    is_long = squares > 1.0
    if is_long.any():
        features = features.copy()
        features[is_long] *= (NORM_MARGIN / np.sqrt(squares[is_long]))[:, None]
    return features, labels


class UnfitRecordsError(ValueError):
    """Records that the encoding cannot have made: a mistake in this program, caught before the
    fit.
    """


def check_rows(X: Array | WeightedRows, y: Array) -> None:
    """Raise UnfitRecordsError for encoded records (n, p) with labels (n,) that break a rule.

    The last look at what the sensitivities rest on; says nothing about the records it found.
    """
    rows, given = parted(X)
    weights = np.ones(len(rows)) if given is None else given
    shapes_fit = (
        rows.ndim == 2
        and rows.size > 0
        and y.shape == rows.shape[:1] == weights.shape
        and rows.dtype == y.dtype == weights.dtype == np.float64
    )
    if not (
        shapes_fit
        and (weights * np.einsum("ij,ij->i", rows, rows) <= 1.0).all()
        and ((weights > 0.0) & (weights <= 1.0)).all()
        and (np.abs(y) == 1.0).all()
    ):
        raise UnfitRecordsError(
            "The encoded records break a rule that the encoding is there to keep."
        )


def check_unit_records(X: npt.ArrayLike | WeightedRows, y: npt.ArrayLike) -> tuple[Array, Array]:
    """Return the same for callers whose rows cannot have weights."""
    if weights_of(X) is not None:
        raise DataRejectedError("X_has_weights")
    features, labels = check_records(X, y)
    return plain(features), labels


def check_vector(values: npt.ArrayLike, *, n: int, largest: float, name: str) -> Array:
    """Return n numbers of size at most `largest` as float64 (n,), or raise ValueError."""
    vector = _real_array(values)
    if vector is None or vector.shape != (n,) or not (np.abs(vector) <= largest).all():
        raise ValueError(f"Expected {name} to hold {n} finite numbers of size at most {largest:g}.")
    return vector


def check_contrasts(contrasts: npt.ArrayLike, *, p: int) -> Array:
    """Return contrasts as float64 (k, p), k >= 1, or raise ValueError; no row is 0 or so extreme
    that its square is.
    """
    matrix = _real_array(contrasts)
    if matrix is None:
        raise ValueError("Expected contrasts to hold real numbers only.")
    if matrix.ndim != 2 or matrix.shape[1] != p or len(matrix) == 0:
        raise ValueError(f"Expected contrasts of shape (k, {p}) with k >= 1, got {matrix.shape}.")
    low, high = CONTRAST
    sizes = np.abs(matrix).max(axis=1)
    bad = ~((sizes >= low) & (sizes <= high))  # also where it is NaN
    if bad.any():
        row = int(bad.argmax())
        raise ValueError(
            f"Expected {low:g} <= largest entry of row {row} of contrasts, {sizes[row]:g}, <= "
            f"{high:g}."
        )
    return matrix


def _real_array(values: npt.ArrayLike) -> Array | None:
    """The values as a float64 array, None if they are anything but real numbers."""
    try:
        given = np.asarray(values)
    except (TypeError, ValueError):
        return None
    if np.ma.isMaskedArray(values) or given.dtype.kind not in "iuf":
        return None
    return given.astype(np.float64, copy=False)


def _numbers(values: npt.ArrayLike, *, name: str) -> Array:
    """The values as float64, if they are real numbers: no text, no masked entries, no truth values
    for labels.
    """
    if np.ma.isMaskedArray(values):
        raise DataRejectedError("masked_array", name=name)
    try:
        given = np.asarray(values)
        if given.dtype.kind in ("iuf" if name == "y" else "iufb"):
            return given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataRejectedError("not_real_numbers", name=name) from None


def _reject_first(is_bad: Flags, code: str) -> None:
    if is_bad.any():
        row = int(is_bad.argmax())
        raise DataRejectedError(code, row=row, count=int(is_bad.sum()))
