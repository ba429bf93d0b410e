"""What `fit` and `predict` accept: scikit-learn's checks, after own ones where its messages would
show a value; and what a fit that is refused leaves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dpci_core.base.array import Array, Positions
from dpci_core.base.errors import DataRejectedError


@contextmanager
def unchanged_if_refused(estimator: Any) -> Iterator[None]:
    """A fit that is refused leaves the estimator as the one before left it."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def check_none_of(unsupported: Collection[str]) -> None:
    """Raise ValueError for what `fit` is given besides X and y, such as weights or persons."""
    if unsupported:
        raise ValueError(
            f"{', '.join(sorted(unsupported))} is not supported: the noise is measured for one "
            "record of each person, and for an influence of one of each record."
        )


def check_features(estimator: Any, X: Any, *, reset: bool, may_be_infinite: bool = False) -> Array:
    """Return X as float64 (n, d), its names and number of columns checked or, on `reset`, kept on
    the estimator.

    Args:
        may_be_infinite: leaves it to the caller to refuse what is not finite.
    """
    if X is None:
        raise ValueError("Expected X: this estimator requires features, got None.")
    kinds = {"sparse"} if issparse(X) else _kinds(X)
    if "sparse" in kinds:
        raise TypeError(
            "Sparse input is not supported: scaling by bounds fills every cell. Pass a dense array."
        )
    if (ndim := _ndim(X)) != 2:  # scikit-learn's message would show the array
        raise ValueError(
            f"Expected 2D array, got {ndim}D array instead: X has a row for each record and a "
            "column for each feature. Reshape your data, with X.reshape(1, -1) if it is one record "
            "or X.reshape(-1, 1) if it is one feature."
        )
    check_order(X)
    if np.ma.is_masked(X):
        raise ValueError("Expected X without masked values: fill them, or leave their rows out.")
    if "c" in kinds:
        raise ValueError("Complex data not supported: features are real numbers.")
    if kinds & set("OSUMmVT"):
        _check_numbers(X)
    check_finite = not may_be_infinite
    if may_be_infinite and type(X) is np.ndarray and X.dtype == np.float64 and X.size:
        return np.asarray(
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        )  # nothing to convert
    return np.asarray(
        validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=check_finite)
    )


def check_order(X: Any) -> None:
    """Refuse a data frame whose columns are whole numbers other than 0, 1, ... in this order: what
    is given for each feature, and every later X, would be taken by the place of a column and not by
    its number.

    Raises:  ValueError.
    """
    numbers = list(getattr(X, "columns", ()))
    are_numbers = all(isinstance(one, int | np.integer) for one in numbers)
    if are_numbers and numbers != list(range(len(numbers))):
        raise ValueError(
            "Expected the columns of X, which are numbers, to be 0, 1 and so on in this order: "
            "columns without names are told apart by their places. Name them by texts, or pass "
            "X.to_numpy()."
        )


def names_of(estimator: object) -> list[str] | None:
    """The names of the columns that were checked last; None if they had none."""
    found = getattr(estimator, "feature_names_in_", None)
    return None if found is None else [str(name) for name in found]


def _ndim(x: Any) -> int:
    return int(x.ndim if hasattr(x, "ndim") else np.asarray(x).ndim)


def _kinds(X: Any) -> set[str]:
    """Kinds of the columns, as letters; "T" for a type that NumPy does not have, "sparse" for
    pandas' sparse one.
    """
    is_frame = hasattr(X, "dtypes") and hasattr(X, "columns")
    dtypes = list(X.dtypes) if is_frame else [getattr(X, "dtype", None)]
    if dtypes == [None]:
        dtypes = [np.asarray(X).dtype]
    return {_kind(dtype) for dtype in dtypes}


def _kind(dtype: Any) -> str:
    if isinstance(dtype, np.dtype):
        return dtype.kind
    return "sparse" if str(dtype).startswith("Sparse") else "T"


def _check_numbers(X: Any) -> None:
    """Raise without a value where texts or objects are no numbers; scikit-learn's message would
    quote one.
    """
    is_frame = hasattr(X, "iloc") and hasattr(X, "columns")
    for j in range(X.shape[1]) if is_frame else [None]:
        cells = X if j is None else X.iloc[:, j]
        try:
            np.asarray(cells, dtype=object).astype(np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            # The type of exception is scikit-learn's, its text is not shown.
            kind = TypeError if isinstance(problem, TypeError) else ValueError
            where = "X" if j is None else f"column {X.columns[j]!r} of X"
            raise kind(
                f"Expected numbers in {where}, without gaps: a feature argument must be a number, "
                "or the string of a number. Write texts as columns of 0 and 1 by levels that are "
                "declared, OneHotEncoder(categories=[...]), and fill gaps by a rule that looks at "
                "one row at a time."
            ) from None


def check_outcome(y: Any, *, n_records: int) -> Array:
    """Return an outcome that is a number as float64 (n,); errors as `check_labels`."""
    _check_kind(y)
    if _kinds(y) & set("OSUMmVT"):
        try:
            y = np.asarray(y, dtype=object).astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            raise ValueError("Expected y to hold a number for each record.") from None
    values = column_or_1d(
        check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True
    )
    _check_length(values, n_records)
    return np.asarray(values)


def _check_kind(y: Any) -> None:
    if y is None:
        raise ValueError(
            "Expected y: this estimator requires y to be passed, but the target y is None."
        )
    if _ndim(y) == 0:  # scikit-learn's message would show it
        raise ValueError(
            "Expected y to hold one value for each record, got a single one: a bad input shape."
        )
    if np.ma.is_masked(y):
        raise ValueError("Expected y without masked values.")
    if "c" in _kinds(y):
        raise ValueError("Complex data not supported: y holds labels or real numbers.")


def _check_length(y: npt.NDArray[Any], n_records: int) -> None:
    if len(y) != n_records:
        raise ValueError(
            f"Expected y to have {n_records} values like X, got {len(y)}: inconsistent lengths."
        )


def check_labels(y: Any, declared: Any, *, n_records: int) -> tuple[npt.NDArray[Any], Positions]:
    """Return the classes, sorted, and the place among them of every label.

    Args:
        declared: the classes, or None to take those that occur.

    Raises:  DataRejectedError for a label that is not declared, without its row; ValueError for
             fewer than two classes.
    """
    if _is_plain(y, n_records) and declared is not None:
        classes = declared_classes(declared)
        codes = _codes(y, classes)
        if (codes >= 0).all():
            return classes, codes
    _check_kind(y)
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
    if declared is None:
        _check_occurring(labels)
    _check_length(labels, n_records)
    if declared is None:
        classes, codes = np.unique(labels, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                "Expected at least two classes in y, got one class; declare classes= if that is "
                "right."
            )
        return classes, codes
    classes = declared_classes(declared)
    codes = _codes(labels, classes)
    if (codes < 0).any():
        raise DataRejectedError("label_not_declared", classes=classes.tolist())
    return classes, codes


def _check_occurring(labels: npt.NDArray[Any]) -> None:
    try:
        check_classification_targets(labels)
    except TypeError:  # of a comparison
        raise ValueError("Expected the labels in y to be of one kind, texts or numbers.") from None
    except ValueError as problem:  # of a kind of labels, without one
        raise ValueError(f"{problem} If y holds labels, declare them as classes=.") from None


def declared_classes(declared: Any) -> npt.NDArray[Any]:
    """Return the declared classes, sorted; ValueError for fewer than two, or none."""
    if declared is None:
        raise ValueError(
            "Expected classes, declared: labels of a table in batches are not collected."
        )
    try:
        classes = np.unique(np.asarray(declared))
    except TypeError:
        raise ValueError("Expected classes to be of one kind, texts or numbers.") from None
    if np.ndim(declared) != 1 or len(classes) != len(declared) or len(classes) < 2:
        raise ValueError("Expected classes to hold at least two labels, all different.")
    return classes


def _is_plain(y: Any, n_records: int) -> bool:
    """Whether the labels are a plain array of real numbers."""
    return type(y) is np.ndarray and y.shape == (n_records,) and y.dtype.kind in "biuf"


def _codes(labels: npt.NDArray[Any], classes: npt.NDArray[Any]) -> Positions:
    """The place of every label among the sorted classes, -1 for one that is not there."""
    if labels.dtype.kind in "biuf" and classes.dtype.kind in "biuf":
        if len(classes) == 2:
            first, second = labels == classes[0], labels == classes[1]
            return np.asarray(second.astype(np.intp) - ~(first | second))
        codes = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
        return np.where(classes[codes] == labels, codes, -1)
    place = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def signs_of(codes: Positions, k: int, n_models: int) -> Array:
    """y (n,) of model k: +1 for its class, the second one where there are two, -1 elsewhere."""
    return np.where(codes == (1 if n_models == 1 else k), 1.0, -1.0)
