"""What is drawn, written out in one line: what another person approves, and what is hashed.

docs/operations.md, "Fits and other draws".
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

import numpy as np

_NO_SETTING = ("ledger", "random_state")
"""Who pays, and where noise comes from."""
MOST_READ = 10_000
"""Characters of one setting that the ledger keeps in full."""


def settings_of(estimator: Any) -> dict[str, object]:
    """The declared settings of an estimator; who pays and where noise comes from are none."""
    params = estimator.get_params(deep=False)
    return {name: value for name, value in params.items() if name not in _NO_SETTING}


def table_of(X: object, y: object, shape: tuple[int, ...]) -> dict[str, object]:
    """What is declared of a table in memory or of Dask: the names of its columns where it has
    some, n and d.
    """
    return {
        "label": y.name if hasattr(y, "to_frame") and hasattr(y, "name") else None,
        "features": tuple(X.columns) if hasattr(X, "iloc") and hasattr(X, "columns") else None,
        "n_records": shape[0],
        "n_features": shape[1],
    }


def written(value: object) -> str:
    """Settings as one line of text, two that differ in a value or its type as two.

    Raises:  ValueError for a value of a type whose text would not tell it from another one: nobody
             could approve it.

    >>> written({"classes": (0, True), "h": 0.5, "label": "0.5"})
    "{'classes': (0, True), 'h': 0.5, 'label': '0.5'}"
    """
    if value is None or type(value) in (bool, int, float, str, Decimal):
        return repr(value)
    if isinstance(value, np.generic):
        return f"{value.dtype.str}({written(value.item())})"
    if type(value) is tuple:
        return f"({_listed(value)}{',' * (len(value) == 1)})"
    if type(value) is list:
        return f"[{_listed(value)}]"
    if isinstance(value, Mapping):
        pairs = sorted((written(key), written(one)) for key, one in value.items())
        return f"{{{', '.join(f'{key}: {one}' for key, one in pairs)}}}"
    kind = _kind(type(value))
    if type(value) is np.ndarray:
        return f"{kind}({written(value.tolist())}, {value.dtype.str!r})"
    if hasattr(value, "iloc"):
        return f"{kind}({_of_frame(value)})"
    if hasattr(value, "get_params"):
        return f"{kind}({_given(settings_of(value))})"
    if is_dataclass(value) and not isinstance(value, type):
        return f"{kind}({_given({f.name: getattr(value, f.name) for f in fields(value)})})"
    raise ValueError(
        f"Expected settings that can be written down, so that others can read what they approve: "
        f"{kind} cannot."
    )


def written_call(name: str, settings: Mapping[str, object]) -> str:
    """Return the settings as a call of `name`, in their order, as the ledger shows them."""
    given = (f"{key}={_readable(value)}" for key, value in settings.items())
    return f"{name}({', '.join(given)})"


def _given(settings: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={written(value)}" for name, value in settings.items())


def _readable(value: object) -> str:
    """A setting as `written`, or the hash of a text that is too long for anybody to read."""
    text = written(value)
    if len(text) <= MOST_READ:
        return text
    return f"sha256 {hashlib.sha256(text.encode()).hexdigest()} of {len(text)} characters"


def _listed(values: tuple[object, ...] | list[object]) -> str:
    return ", ".join(map(written, values))


def _of_frame(value: Any) -> str:
    """A table or series with names, types and names of rows, which say what a value is of."""
    if hasattr(value, "columns"):
        parts = [(name, value.iloc[:, j]) for j, name in enumerate(value.columns)]
    else:
        parts = [(value.name, value)]
    columns = [(name, str(one.dtype), one.tolist()) for name, one in parts]
    return f"{written(columns)}, {written(value.index.tolist())}"


def _kind(kind: type) -> str:
    """The name of a type; one of another program with its module."""
    is_own = kind.__module__.partition(".")[0] == "dpci_core"
    return kind.__qualname__ if is_own else f"{kind.__module__}.{kind.__qualname__}"
