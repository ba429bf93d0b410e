"""From features in the user's units to records and back: the encodings of `schema` for numbers, by
bounds or, with rows that have weights, by typical value and spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils import assert_all_finite

from dpci_core.base.array import Array
from dpci_core.base.errors import check_positive, check_range, shown_short
from dpci_core.base.limits import NORM_MARGIN
from dpci_core.base.rows import EncodedRows, WeightedRows
from dpci_core.schema.declare import Shape, check_shape, map_of
from dpci_core.schema.encode import mapped_by
from dpci_core.schema.numeric import LIMIT, SPAN

_SMALLEST_NORM_BOUND = 1e-6
"""Squares of much smaller numbers are lost to underflow, and with them the bound."""
_BLOCK_NUMBERS = 2**15
"""Cells handled at a time, which stay in the cache from one look at them to the next."""
_RADIUS = 1.25
"""Default radius over sqrt(p), the length of a row that is one spread from typical everywhere."""
_SMALLEST_SPREAD = 1e-12
"""Of the typical value; doubles leave little between two values of a smaller spread."""
_MOST_NAMED = 5
"""Names that a refusal lists."""
_HOW_BOUNDS = (
    "Write all lows and all highs, like ([0, 0], [100, 10]), or a pair for each name, like "
    "{'age': (0, 100), 'dose': (0, 10)}."
)


@dataclass(frozen=True, slots=True)
class Scaling:
    """A public map of features: each column to [-1, 1] by its bounds, z, then (z / (B sqrt 2), 1 /
    sqrt 2).

    Values outside the bounds are clipped. Inside the bounds the map is affine, so a linear score
    has exact coefficients in the user's units (`to_original`).

    low, high: (d,), declared.
    norm_bound: B; a longer z is shortened to it.

    >>> scaling = Scaling.of((0.0, [10.0, 2.0]), n_features=2)
    >>> records = scaling.encode(np.array([[5.0, 2.0], [99.0, 1.0]]))
    >>> np.round(records[:], 3).tolist()
    [[0.0, 0.5, 0.707], [0.5, 0.0, 0.707]]
    """

    low: Array
    high: Array
    norm_bound: float

    @classmethod
    def of(
        cls,
        bounds: object,
        *,
        n_features: int,
        norm_bound: object = None,
        names: Sequence[str] | None = None,
    ) -> Scaling:
        """Return the scaling of declared bounds (low, high), each a number or one for each feature.

        Args:
            names: of the features, for bounds that are given by name.
            norm_bound: B, a declared bound on the norm of the features once they are in [-1, 1];
                None takes sqrt(d), which always holds. A smaller one helps where it is known, as
                for one-hot columns declared with bounds (-1, 1), of which only one in a group is 1.

        Raises:  ValueError naming the first feature whose bounds are not low < high.
        """
        low, high = _pair(bounds, n_features, names)
        largest = math.sqrt(n_features)
        if norm_bound is None:
            return cls(low, high, largest)
        check_positive(norm_bound=norm_bound)
        bound = float(norm_bound)  # type: ignore[arg-type]
        if bound < _SMALLEST_NORM_BOUND:
            raise ValueError(f"Expected norm_bound={norm_bound!r} >= {_SMALLEST_NORM_BOUND:g}.")
        return cls(low, high, min(bound, largest))

    def encode(self, X: Array) -> EncodedRows:
        """Return records (n, d+1) with norms at most 1, the constant last; X is kept where nothing
        in it has to change.

        Raises:  ValueError for numbers that are not finite, without their values.
        """
        # Of a table with gaps between its cells every product would make a copy.
        with np.errstate(all="ignore"):  # a cell far outside its bounds is clipped without a word
            features = X if X.flags.forc and self._leaves(X) else self._mapped(X)
        return EncodedRows(features, scale=self._shrink, constant=NORM_MARGIN / math.sqrt(2.0))

    def _leaves(self, X: Array) -> bool:
        """Whether every cell is in [-1, 1] already, as declared, and no row too long; false for a
        NaN.
        """
        if not (np.all(self.low == -1.0) and np.all(self.high == 1.0)):
            return False
        ones = np.ones(X.shape[1])
        for x in _blocks(X):
            squares = x * x
            if not squares.max() <= 1.0:
                return False
            if self._may_shorten and (squares @ ones).max() > self.norm_bound**2:
                return False
        return True

    def _mapped(self, X: Array) -> Array:
        """z (n, d): cells in [-1, 1], rows no longer than the bound."""
        assert_all_finite(X, input_name="X")
        found = np.empty(X.shape)
        centre, factor = (self.low + self.high) / 2.0, 2.0 / (self.high - self.low)
        for x, z in zip(_blocks(X), _blocks(found), strict=True):
            np.subtract(x, centre, out=z)
            z *= factor
            np.clip(z, -1.0, 1.0, out=z)
            if self._may_shorten:
                z *= np.minimum(1.0, self.norm_bound / np.maximum(_norms(z), self.norm_bound))[
                    :, None
                ]
        return found

    @property
    def _may_shorten(self) -> bool:
        return self.norm_bound < math.sqrt(len(self.low))

    @property
    def to_original(self) -> Array:
        """L (d+1, d+1): L @ theta are slopes for one unit of each feature, and the intercept, last.

        x'.theta = sum_j theta_j (2 x_j - low_j - high_j) / (high_j - low_j) / (B sqrt 2) + theta_d
        / sqrt 2; collect the terms in x_j and the constants. An interval for a row of L theta is
        that of a contrast of theta: the intercept's takes the covariances with the slopes into
        account, which interval arithmetic could not.
        """
        slopes = self._shrink * 2.0 / (self.high - self.low)
        L = np.diag(np.append(slopes, NORM_MARGIN / math.sqrt(2.0)))
        L[-1, :-1] = -slopes * (self.low + self.high) / 2.0
        return L

    @property
    def basis(self) -> Array:
        """The identity: theta are the coefficients of the scaled features."""
        return np.eye(len(self.low) + 1)

    @property
    def _shrink(self) -> float:
        return NORM_MARGIN / (self.norm_bound * math.sqrt(2.0))


@dataclass(frozen=True, slots=True)
class Standardisation:
    """A public map of features: v = ((x - typical) / spread, 1), its numbers cut at their limits,
    to rows U v with weights min(1, 1 / |U v|^2) (`schema.StandardEncoding`).

    typical, spread: (d,), declared, in the units of the columns.
    low, high: (d,), where numbers are cut, in spreads from the typical value.
    shape: U by its rows from the diagonal on, or R for U = I/R.

    >>> scaling = Standardisation.of([40, 2], [10, 1], n_features=2, shape=2.0, limit=4)
    >>> rows = scaling.encode(np.array([[50.0, 2.0], [999.0, 1.0]]))
    >>> rows.rows.tolist(), np.round(rows.weights, 3).tolist()
    ([[0.5, 0.0, 0.5], [2.0, -0.5, 0.5]], [1.0, 0.222])
    """

    typical: Array
    spread: Array
    low: Array
    high: Array
    shape: Shape

    @classmethod
    def of(
        cls,
        typical: object,
        spread: object,
        *,
        n_features: int,
        limit: object,
        shape: Shape | None = None,
        bounds: object = None,
        names: Sequence[str] | None = None,
    ) -> Standardisation:
        """Return the map of declared typical values and spreads, each a number or one for each
        feature.

        Args:
            limit: spreads from the typical value at which numbers are cut.
            shape: as for `StandardEncoding`; None takes R = 1.25 sqrt(d + 1).
            bounds: (low, high), at which numbers are cut as well, or None.
            names: of the features, for numbers that are given by name.

        Raises:  ValueError naming the argument and the first feature that breaks a rule.
        """
        if typical is None or spread is None:
            raise ValueError("Expected feature_typical and feature_spread, both.")
        centre = one_each(typical, n_features, "feature_typical", names)
        unit = one_each(spread, n_features, "feature_spread", names)
        least = np.maximum(SPAN[0], _SMALLEST_SPREAD * np.abs(centre))
        if (bad := ~((unit >= least) & (unit <= SPAN[1]))).any():
            j = int(bad.argmax())
            raise ValueError(
                f"Expected {least[j]:g} <= feature_spread={float(unit[j])!r} <= {SPAN[1]:g} of "
                f"{_feature(j, names)}."
            )
        if shape is None:
            shape = _RADIUS * math.sqrt(n_features + 1.0)
        check_shape(shape)
        map_of(shape, n_features + 1)  # or raise
        check_range(LIMIT, column_limit=limit)
        reach = np.full(n_features, float(limit))  # type: ignore[arg-type]
        if bounds is None:
            return cls(centre, unit, -reach, reach, shape)
        low, high = ((side - centre) / unit for side in _pair(bounds, n_features, names))
        if (bad := ~((low <= 0.0) & (high >= 0.0))).any():
            j = int(bad.argmax())
            raise ValueError(
                f"Expected feature_typical={float(centre[j])!r} of {_feature(j, names)} to lie "
                "within its feature_bounds."
            )
        return cls(centre, unit, np.maximum(low, -reach), np.minimum(high, reach), shape)

    def encode(self, X: Array) -> WeightedRows:
        """Return rows (n, d+1), the constant last, with weights that make up for their length.

        Raises:  ValueError for numbers that are not finite, without their values.
        """
        assert_all_finite(X, input_name="X")
        rows = np.empty((len(X), X.shape[1] + 1))
        with np.errstate(over="ignore"):  # a cell far outside its limits is cut without a word
            for x, z in zip(_blocks(X), _blocks(rows[:, :-1]), strict=True):
                np.subtract(x, self.typical, out=z)
                z /= self.spread
                np.clip(z, self.low, self.high, out=z)
        rows[:, -1] = 1.0
        return WeightedRows.of(mapped_by(rows, self.shape))

    @property
    def basis(self) -> Array:
        """B (d+1, d+1): B theta are coefficients per spread."""
        return map_of(self.shape, len(self.spread) + 1).T

    @property
    def radius(self) -> float:
        """R of the ball that is as large as {v : |U v| <= 1}."""
        if not isinstance(self.shape, tuple):
            return self.shape
        return float(np.exp(-np.log(np.diag(self.basis)).mean()))

    @property
    def to_original(self) -> Array:
        """L (d+1, d+1), as for `Scaling`."""
        L = np.diag(np.append(1.0 / self.spread, 1.0))
        L[-1, :-1] = -self.typical / self.spread
        return np.asarray(L @ self.basis)


def _blocks(X: Array) -> Iterator[Array]:
    """Some rows at a time."""
    n_rows = max(1, _BLOCK_NUMBERS // X.shape[1])
    for start in range(0, len(X), n_rows):
        yield X[start : start + n_rows]


def _pair(
    bounds: object, n_features: int, names: Sequence[str] | None = None
) -> tuple[Array, Array]:
    """Bounds (low, high), each (d,)."""
    if (by_name := _in_order(bounds, "feature_bounds", n_features, names)) is not None:
        pairs = [tuple(pair) for pair in by_name if isinstance(pair, tuple | list)]
        if [len(pair) for pair in pairs] != [2] * len(by_name):
            raise ValueError(
                "Expected feature_bounds by name to hold a pair (low, high) for each feature."
            )
        bounds = [low for low, _ in pairs], [high for _, high in pairs]
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ValueError(f"Expected feature_bounds to be a pair (low, high). {_HOW_BOUNDS}")
    low, high = (
        one_each(side, n_features, f"{name} in feature_bounds", names)
        for side, name in zip(bounds, ("low", "high"), strict=True)
    )
    with np.errstate(over="ignore"):
        span = high - low
    bad = ~((span >= SPAN[0]) & (span <= SPAN[1]))
    if bad.any():
        j = int(bad.argmax())
        raise ValueError(
            f"Expected low={float(low[j])!r} < high={float(high[j])!r} in feature_bounds of "
            f"{_feature(j, names)}, {SPAN[0]:g} to {SPAN[1]:g} apart. {_HOW_BOUNDS}"
        )
    return low, high


def _feature(j: int, names: Sequence[str] | None) -> str:
    """What a refusal calls a feature."""
    return f"feature {j}" if names is None else f"feature {j} ({shown_short(names[j])})"


def _norms(z: Array) -> Array:
    """Euclidean norm of every row."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", z, z)))


def one_each(
    given: object, n_features: int, name: str, names: Sequence[str] | None = None
) -> Array:
    """Return one finite number for each feature, (d,).

    Args:
        given: a number for all of them, d numbers in the order of the features, or a dictionary or
            a pandas Series of numbers by name.
        name: of the argument, for errors.
        names: of the features, None where they have none.

    Raises:  ValueError for anything else, and for names that are not those of the features.
    """
    by_name = _in_order(given, name, n_features, names)
    try:
        values = np.asarray(given if by_name is None else by_name, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if np.isfinite(values).all() and values.shape in {(), (n_features,)}:
        return np.array(np.broadcast_to(values, n_features))
    found = f", got {len(values)}" if values.ndim == 1 and len(values) != n_features else ""
    raise ValueError(
        f"Expected {name} to be a finite number, or {n_features} of them, one for each column of X "
        f"in their order{found}. A dictionary gives them by name."
    )


def _in_order(
    given: object, name: str, n_features: int, names: Sequence[str] | None
) -> list[object] | None:
    """What is given by name, in the order of the features; None where it has no names."""
    pairs = _by_name(given)
    if pairs is None:
        return None
    if names is None:
        raise ValueError(
            f"{name} is given by name, and the columns of X have none: pass X as a data frame "
            f"whose columns have names, or {n_features} numbers in the order of the columns."
        )
    found = dict(pairs)
    missing = [one for one in names if one not in found]
    unknown = [one for one, _ in pairs if one not in names]
    if missing or unknown or len(found) < len(pairs):
        wrong = [f"no {shown_short(one)} in it" for one in missing]
        wrong += [f"no {shown_short(one)} in X" for one in unknown]
        told = ", ".join(wrong[:_MOST_NAMED] or ["a name twice"])
        raise ValueError(f"Expected {name} to name each column of X once: {told}.")
    return [found[one] for one in names]


def _by_name(given: object) -> list[tuple[object, object]] | None:
    """The names and values of a dictionary or a Series; None for what is numbered from 0."""
    if isinstance(given, Mapping):
        return list(given.items())
    if not (hasattr(given, "iloc") and hasattr(given, "items")):
        return None
    pairs = list(given.items())
    return None if [one for one, _ in pairs] == list(range(len(pairs))) else pairs
