"""A simulated twin: a table drawn from a declaration and guesses alone, to plan with where no
record may be read.

Each column is drawn by its guess; with a common correlation the columns share one Gaussian factor.
The target follows a logistic model with the guessed effects, whose intercept makes the mean chance
of the positive level the guessed rate.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import brentq
from scipy.special import expit, logit, ndtr, ndtri

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, check_positive, check_probability, check_range
from dpci_core.schema.declare import SHARES_SLACK, CategoricalColumn, NumericColumn, Schema
from dpci_core.schema.encode import encode
from dpci_core.schema.records import Records

DEFAULT_ROWS = 20_000
ROWS = (100, 200_000)
"""Rows of a twin: enough for moments, few enough for memory. The n of a plan is another number and
has no such end.
"""
TWIN_TITLE = "Simulated twin"
LARGEST_EFFECT = 100.0
"""In log odds, over the whole range of a number, or of a level."""
BASE_RATE = (1e-6, 1.0 - 1e-6)
CORRELATION = (0.0, 0.99)
_SEED = 20_261_121
"""Same guesses, same table. Every column has a stream of its own, so that one more column moves no
other.
"""
_FACTOR, _TARGET, _COLUMN = range(3)


@dataclass(frozen=True, slots=True)
class NumberGuess:
    """A guess at a number: normal around `centre` with standard deviation `spread`, within the
    declared bounds; of a column whose logarithm is taken, log-normal, and the spread is a factor.
    """

    centre: float
    spread: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Guesses:
    """What a planner believes about a table nobody has looked at; everything has a value that says
    "no idea".

    Args:
        shares: for a column of levels, the share of each in their order, 1 together; default the
            declared shares, or equal ones.
        numbers: for a number, its `NumberGuess`; default the declared typical value and spread, or
            uniform between the bounds.
        effects: for an encoded feature, its log odds per original unit or against the reference;
            default 0.
        base_rate: mean share of the positive level.
        n_rows: size of the twin.
        correlation: common to all pairs of columns, of the normal variables behind them.

    Raises:  ValueError naming the field; what depends on the schema is checked by `check_against`.
    """

    base_rate: float = 0.5
    n_rows: int = DEFAULT_ROWS
    correlation: float = 0.0
    numbers: Mapping[str, NumberGuess] = field(default_factory=dict)
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    effects: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_probability(base_rate=self.base_rate)
        check_range(BASE_RATE, base_rate=self.base_rate)
        check_range(CORRELATION, correlation=self.correlation)
        check_count(n_rows=self.n_rows)
        check_range(ROWS, n_rows=self.n_rows)
        for name in ("base_rate", "correlation"):
            object.__setattr__(self, name, float(getattr(self, name)))
        object.__setattr__(self, "n_rows", int(self.n_rows))
        for name in ("shares", "numbers", "effects"):
            if not isinstance(getattr(self, name), Mapping):
                raise ValueError(
                    f"Expected {name} to map names to guesses, got "
                    f"{type(getattr(self, name)).__name__}."
                )
        object.__setattr__(
            self, "shares", {name: _shares(given, name) for name, given in self.shares.items()}
        )
        object.__setattr__(
            self, "numbers", {name: _number(given, name) for name, given in self.numbers.items()}
        )
        effects = {name: _real(given, f"effects[{name!r}]") for name, given in self.effects.items()}
        object.__setattr__(self, "effects", effects)

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError naming the guess that does not fit the declaration."""
        columns = {column.name: column for column in schema.features}
        for name, shares in self.shares.items():
            column = columns.get(name)
            if not isinstance(column, CategoricalColumn):
                raise ValueError(f"Expected shares[{name!r}] to name a column of levels.")
            if len(shares) != len(column.levels):
                raise ValueError(
                    f"Expected shares[{name!r}] to hold {len(column.levels)} shares, got "
                    f"{len(shares)}."
                )
        for name, guess in self.numbers.items():
            column = columns.get(name)
            if not isinstance(column, NumericColumn):
                raise ValueError(f"Expected numbers[{name!r}] to name a column of numbers.")
            check_range((column.low, column.high), **{f"numbers[{name!r}].centre": guess.centre})
            if column.transform == "log" and not guess.spread > 1.0:
                raise ValueError(
                    f"Expected numbers[{name!r}].spread={guess.spread!r} > 1: of a logarithm it is "
                    "a factor."
                )
        for name, effect in self.effects.items():
            if name not in schema.feature_names:
                raise ValueError(
                    f"Expected effects[{name!r}] to name an encoded feature of the schema."
                )
            column = next(c for c in schema.features if name in c.feature_names)
            span = 1.0
            if isinstance(column, NumericColumn):
                span = column.on_scale(column.high) - column.on_scale(column.low)
            if not abs(effect) * span <= LARGEST_EFFECT:
                raise ValueError(
                    f"Expected effects[{name!r}]={effect!r} to move the log odds by at most "
                    f"{LARGEST_EFFECT:g} over its range, {LARGEST_EFFECT / span:.3g} here."
                )


def simulate_twin(
    schema: Schema, *, guesses: Guesses | None = None, features: int | tuple[str, ...] | None = None
) -> Records:
    """Return the twin of a declared table under the `schema` encoding, source "simulated"; it opens
    no file.

    Every declared column is drawn and moves the target, whichever `features` are then encoded.

    Args:
        schema: the declaration.
        guesses: what the columns are like; default uniform.
        features: as for `encode`.

    Raises:  ValueError naming the guess or the level.

    >>> schema = Schema(
    ...     (NumericColumn("age", 18, 98), CategoricalColumn("sex", ("f", "m"))), "ill", "yes"
    ... )
    >>> twin = simulate_twin(schema, guesses=Guesses(effects={"age": 0.05}, base_rate=0.2))
    >>> twin.X.shape, twin.source, round(float((twin.y > 0).mean()), 3)
    ((20000, 3), 'simulated', 0.199)
    """
    chosen = Guesses() if guesses is None else guesses
    _check_texts(schema)
    chosen.check_against(schema)
    frame = twin_table(schema, chosen)
    return encode(frame, schema, features=features, source="simulated", title=TWIN_TITLE)


def twin_table(schema: Schema, guesses: Guesses) -> pd.DataFrame:
    """Return the table behind a twin, in original units; columns as declared and the target last.

    Below the `n_rows` of the guesses stand as many without any cell as make their share the one
    that is expected (`Schema.complete`).
    """
    n = guesses.n_rows
    factor = None if guesses.correlation == 0.0 else _stream(_FACTOR).standard_normal(n)
    table: dict[str, object] = {}
    log_odds = np.zeros(n)
    for column in schema.features:
        uniform = _uniform(column.name, n, factor, guesses.correlation)
        if isinstance(column, NumericColumn):
            values = _within(uniform, column, guesses.numbers.get(column.name))
            log_odds += guesses.effects.get(column.feature_names[0], 0.0) * values
            table[column.name] = np.exp(values) if column.transform == "log" else values
            continue
        shares = guesses.shares.get(column.name, column.expected_shares)
        ends = np.cumsum(shares) / math.fsum(shares)
        codes = np.searchsorted(ends[:-1], uniform, side="right")
        steps = [guesses.effects.get(name, 0.0) for name in column.feature_names]
        log_odds += np.array([0.0] * int(column.has_reference) + steps)[codes]
        table[column.name] = _categories(codes, column.levels)
    is_positive = _stream(_TARGET).random(n) < expit(
        _intercept(log_odds, guesses.base_rate) + log_odds
    )
    negative = schema.negative[0] if schema.negative else f"not {schema.positive}"
    table[schema.target] = _categories(is_positive, (negative, schema.positive))
    n_incomplete = round(n * (1.0 / schema.complete - 1.0))
    frame = pd.DataFrame(table)
    return frame.reindex(range(n + n_incomplete)) if n_incomplete else frame


def _categories(codes: npt.NDArray[Any], levels: tuple[str, ...]) -> object:
    return pd.Categorical.from_codes(
        codes.astype(np.int32), dtype=pd.CategoricalDtype(list(levels))
    )


def _uniform(name: str, n: int, factor: Array | None, correlation: float) -> Array:
    """Uniform draws of one column; with a factor, the copula whose normal variables correlate by
    `correlation`.
    """
    stream = _stream(_COLUMN, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]))
    if factor is None:
        return stream.random(n)
    own = stream.standard_normal(n)
    return np.asarray(ndtr(math.sqrt(correlation) * factor + math.sqrt(1.0 - correlation) * own))


def _within(uniform: Array, column: NumericColumn, guess: NumberGuess | None) -> Array:
    """The quantiles of a number's distribution on the scale of its effects: uniform between the
    bounds, or a normal cut off at them.
    """
    low, high = column.on_scale(column.low), column.on_scale(column.high)
    if guess is None and column.typical is None:
        return np.clip(low + uniform * (high - low), low, high)
    centre, unit = column.centre, column.unit
    if guess is not None:
        centre = column.on_scale(guess.centre)
        unit = math.log(guess.spread) if column.transform == "log" else guess.spread
    ends = [float(ndtr((end - centre) / unit)) for end in (low, high)]
    values: Array = centre + unit * ndtri(ends[0] + uniform * (ends[1] - ends[0]))
    return np.clip(values, low, high)


def _intercept(log_odds: Array, base_rate: float) -> float:
    """The intercept at which the mean chance over the rows is the base rate."""
    middle = float(logit(base_rate))
    low, high = middle - float(log_odds.max()), middle - float(log_odds.min())
    if low == high:
        return low
    return float(
        brentq(
            lambda a: float(expit(a + log_odds).mean()) - base_rate,
            low - 1e-9,
            high + 1e-9,
            xtol=1e-12,
        )
    )


def _stream(*keys: int) -> np.random.Generator:
    return np.random.default_rng([_SEED, *keys])


def _check_texts(schema: Schema) -> None:
    """Levels are compared without the spaces around them, so one that has some would never be
    met.
    """
    for column in schema.features:
        for level in column.levels if isinstance(column, CategoricalColumn) else ():
            if level != level.strip():
                raise ValueError(
                    f"Expected level {level!r} of column {column.name!r} without spaces around it."
                )
    for code in schema.codes:
        if code != code.strip():
            raise ValueError(f"Expected {code!r} of {schema.target!r} without spaces around it.")


def _shares(given: object, name: str) -> tuple[float, ...]:
    if not isinstance(given, tuple | list):
        raise ValueError(
            f"Expected shares[{name!r}] to list a share for every level, got "
            f"{type(given).__name__}."
        )
    shares = tuple(_real(share, f"shares[{name!r}]") for share in given)
    if min(shares, default=-1.0) < 0.0 or not abs(math.fsum(shares) - 1.0) <= SHARES_SLACK:
        raise ValueError(
            f"Expected shares[{name!r}] to be at least 0 and to add up to 1, got {list(shares)}."
        )
    return shares


def _number(given: object, name: str) -> NumberGuess:
    if not isinstance(given, NumberGuess):
        raise ValueError(
            f"Expected numbers[{name!r}] to be a NumberGuess, got {type(given).__name__}."
        )
    check_positive(**{f"numbers[{name!r}].spread": given.spread})
    return NumberGuess(_real(given.centre, f"numbers[{name!r}].centre"), float(given.spread))


def _real(value: object, name: str) -> float:
    """A finite float, or ValueError."""
    check_range((-1e300, 1e300), **{name: value})
    return float(value)  # type: ignore[arg-type]
