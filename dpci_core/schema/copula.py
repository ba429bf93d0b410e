"""Columns that go together: the normal variables behind the columns of a twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpci_core.base.array import Array
from dpci_core.base.errors import check_range

Pair = tuple[str, str, float]
"""Two columns and the correlation of the normal variables behind them."""
PAIRED = (-0.99, 0.99)
_LEAST = 1e-6
"""Smallest eigenvalue of correlations that are told from impossible ones."""


def checked_pairs(given: object) -> tuple[Pair, ...]:
    """Return pairs of columns as tuples; raises ValueError naming the one that breaks a rule."""
    if not isinstance(given, tuple | list):
        raise ValueError(f"Expected pairs to list pairs of columns, got {type(given).__name__}.")
    found: dict[frozenset[str], Pair] = {}
    for place, pair in enumerate(given):
        where = f"pairs[{place}]"
        if not isinstance(pair, tuple | list) or len(pair) != 3:
            raise ValueError(f"Expected {where} to be two columns and a correlation, got {pair!r}.")
        one, other, correlation = pair
        check_range(PAIRED, **{f"correlation of {where}": correlation})
        columns = frozenset((str(one), str(other)))
        if len(columns) < 2 or columns in found:
            raise ValueError(f"Expected {where} to name two columns that no other pair names.")
        found[columns] = (str(one), str(other), float(correlation))
    return tuple(found.values())


def correlation_root(names: Sequence[str], pairs: Sequence[Pair], common: float) -> Array:
    """Return the lower factor L (k, k) of the correlations R = L L' of k columns: `common`, but for
    the named pairs.

    Raises:  ValueError for a column that is not there, or correlations that cannot be together.
    """
    R = np.full((len(names), len(names)), common)
    np.fill_diagonal(R, 1.0)
    place = {name: j for j, name in enumerate(names)}
    for one, other, correlation in pairs:
        for name in (one, other):
            if name not in place:
                raise ValueError(f"Expected pairs to name columns of the table, got {name!r}.")
        R[place[one], place[other]] = R[place[other], place[one]] = correlation
    if float(np.linalg.eigvalsh(R)[0]) < _LEAST:
        raise ValueError(
            "Expected pairs that can be together: columns that both go with a third one closely go "
            "with each other too."
        )
    return np.asarray(np.linalg.cholesky(R))
