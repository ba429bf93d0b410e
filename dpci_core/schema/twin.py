"""A simulated twin: a table drawn from a declaration and guesses alone, to plan with where no
record may be read.

Each column is drawn by its guess; with a common correlation the columns share one Gaussian factor,
and named pairs go together beside it.
The target follows a logistic model with the guessed effects, whose intercept makes the mean chance
of the positive level the guessed rate. An outcome that is a number follows a linear model with
errors that leave it the typical value and spread declared or guessed: normal, or log-normal where a
tail is guessed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtr

from dpci_core.base.array import Array
from dpci_core.base.errors import (
    check_count,
    check_positive,
    check_probability,
    check_range,
    expect,
)
from dpci_core.base.roots import find_root
from dpci_core.schema.categorical import SHARES_SLACK, categories
from dpci_core.schema.column import Column
from dpci_core.schema.copula import Pair, checked_pairs, correlation_root
from dpci_core.schema.declare import Schema
from dpci_core.schema.encode import encode
from dpci_core.schema.numeric import LOG_NORMAL_SD, NumberGuess
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
_LEAST_LEFT = 0.1
"""Spreads of a number that its errors have at least, however much the guessed effects explain."""

_EVEN = 0.5
Rate = float | tuple[float, float]
"""A share, or the ends of the range that it lies in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guesses:
    """What a planner believes about a table nobody has looked at; everything has a value that says
    "no idea".

    Args:
        shares: for a column of levels, the share of each in their order, 1 together; default the
            declared shares, or equal ones.
        numbers: for a number, also the outcome, its `NumberGuess`; default the declared typical
            value and spread, or uniform between the bounds.
        effects: for an encoded feature, its log odds per original unit or against the reference, or
            how much more of an outcome that is a number; default 0.
        base_rate: mean share of the positive level, or the lowest and the highest it may be.
        n_rows: size of the twin.
        correlation: common to all pairs of columns, of the normal variables behind them.
        pairs: columns with a correlation of their own, in the place of the common one.

    Raises:  ValueError naming the field; what depends on the schema is checked by `check_against`.
    """

    base_rate: Rate = _EVEN
    n_rows: int = DEFAULT_ROWS
    correlation: float = 0.0
    numbers: Mapping[str, NumberGuess] = field(default_factory=dict)
    shares: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    effects: Mapping[str, float] = field(default_factory=dict)
    pairs: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_rate", _rate(self.base_rate))
        object.__setattr__(self, "pairs", checked_pairs(self.pairs))
        check_range(CORRELATION, correlation=self.correlation)
        check_count(n_rows=self.n_rows)
        check_range(ROWS, n_rows=self.n_rows)
        object.__setattr__(self, "correlation", float(self.correlation))
        object.__setattr__(self, "n_rows", int(self.n_rows))
        for name in ("shares", "numbers", "effects"):
            expect(
                isinstance(getattr(self, name), Mapping),
                f"Expected {name} to map names to guesses, got "
                f"{type(getattr(self, name)).__name__}.",
            )
        object.__setattr__(
            self, "shares", {name: _shares(given, name) for name, given in self.shares.items()}
        )
        object.__setattr__(
            self, "numbers", {name: _number(given, name) for name, given in self.numbers.items()}
        )
        effects = {name: _real(given, f"effects[{name!r}]") for name, given in self.effects.items()}
        object.__setattr__(self, "effects", effects)

    def of(self, column: Column) -> NumberGuess | tuple[float, ...] | None:
        """What is guessed of how the values of a column are spread."""
        return getattr(self, column.guessed).get(column.name) if column.guessed else None

    def about(self, guesses: Mapping[Column, Any]) -> Guesses:
        """Return the guesses with others of how the values of some columns are spread."""
        changed: dict[str, dict[str, Any]] = {}
        for column, guess in guesses.items():
            of_kind = changed.setdefault(column.guessed, dict(getattr(self, column.guessed)))
            of_kind[column.name] = guess
        return replace(self, **changed)  # type: ignore[arg-type]

    @property
    def rates(self) -> tuple[float, float]:
        """The lowest and the highest share of the positive level."""
        rate = self.base_rate
        return rate if isinstance(rate, tuple) else (rate, rate)

    @property
    def rate(self) -> float:
        """The share of the positive level to draw with: of a range its middle, in log odds."""
        low, high = self.rates
        return low if low == high else float(expit((logit(low) + logit(high)) / 2.0))

    def check_against(self, schema: Schema) -> None:
        """Raise ValueError naming the guess that does not fit the declaration."""
        expect(
            schema.outcome is None or self.base_rate == _EVEN,
            "Expected no base_rate: the outcome is a number.",
        )
        if self.pairs:
            correlation_root([one.name for one in schema.features], self.pairs, self.correlation)
        columns = {column.name: column for column in schema.guessed}
        for field_name, what in (("shares", "levels"), ("numbers", "numbers")):
            for name, guess in getattr(self, field_name).items():
                expect(
                    name in columns and columns[name].guessed == field_name,
                    f"Expected {field_name}[{name!r}] to name a column of {what}.",
                )
                columns[name].check_guess(guess)
        unit = log_odds_unit(schema)
        for name, effect in self.effects.items():
            expect(
                name in schema.feature_names,
                f"Expected effects[{name!r}] to name an encoded feature of the schema.",
            )
            span = schema.column_of(name).reach
            expect(
                abs(effect) * span <= LARGEST_EFFECT * unit,
                f"Expected effects[{name!r}]={effect!r} to move the log odds by at most "
                f"{LARGEST_EFFECT:g} over its range, {LARGEST_EFFECT * unit / span:.3g} here.",
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

    >>> from dpci_core.schema import CategoricalColumn, NumericColumn
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
    return twin_records(twin_table(schema, chosen), schema, features)


def twin_records(
    frame: pd.DataFrame, schema: Schema, features: int | tuple[str, ...] | None = None
) -> Records:
    """Return the records of the table behind a twin (`twin_table`), as `simulate_twin` does."""
    records = encode(frame, schema, features=features, source="simulated", title=TWIN_TITLE)
    return replace(records, meaning=replace(records.meaning, is_simulated=True))


def twin_table(schema: Schema, guesses: Guesses) -> pd.DataFrame:
    """Return the table behind a twin, in original units; columns as declared and the target last.

    Below the `n_rows` of the guesses stand as many without any cell as make their share the one
    that is expected (`Schema.complete`).
    """
    n = guesses.n_rows
    factor = None if guesses.correlation == 0.0 else _stream(_FACTOR).standard_normal(n)
    paired = _paired(schema, guesses) if guesses.pairs else {}
    table: dict[str, object] = {}
    predicted = np.zeros(n)
    for column in schema.features:
        uniform = paired.get(column.name)
        if uniform is None:
            uniform = _uniform(column.name, n, factor, guesses.correlation)
        values = column.draw(uniform, guesses.of(column))
        effects = [guesses.effects.get(name, 0.0) for name in column.feature_names]
        predicted += column.encoded(values, "original") @ np.array(effects)
        table[column.name] = column.cells(values)
    table[schema.target] = _outcomes(schema, guesses, predicted)
    n_incomplete = round(n * (1.0 / schema.complete - 1.0))
    frame = pd.DataFrame(table)
    return frame.reindex(range(n + n_incomplete)) if n_incomplete else frame


def _outcomes(schema: Schema, guesses: Guesses, predicted: Array) -> object:
    """The cells of the outcome (n,) of rows with these log odds, or means but for a constant."""
    stream, outcome = _stream(_TARGET), schema.outcome
    if outcome is None:
        log_odds = _intercept(predicted, guesses.rate) + predicted
        is_positive = stream.random(len(predicted)) < expit(log_odds)
        negative = schema.negative[0] if schema.negative else f"not {schema.positive}"
        return categories(is_positive, (negative, schema.positive))
    centre, spread, tail = astuple(
        guesses.numbers.get(outcome.name, NumberGuess(outcome.centre, outcome.unit))
    )
    means = predicted - predicted.mean() + centre
    left = max(spread**2 - float(predicted.var()), (_LEAST_LEFT * spread) ** 2)
    errors = stream.standard_normal(len(means))
    if tail is not None:
        errors = (np.exp(errors) - math.exp(0.5)) / LOG_NORMAL_SD
    return means + math.sqrt(left) * (-errors if tail == "low" else errors)


def log_odds_unit(schema: Schema) -> float:
    """Return what moves the outcome of a declaration as much as one unit of log odds, whose errors
    have the spread pi/sqrt 3, moves one with codes: 1 there, else in units of the number.
    """
    return 1.0 if schema.outcome is None else math.sqrt(3.0) / math.pi * schema.outcome.unit


def _uniform(name: str, n: int, factor: Array | None, correlation: float) -> Array:
    """Uniform draws of one column; with a factor, the copula whose normal variables correlate by
    `correlation`.
    """
    stream = _column_stream(name)
    if factor is None:
        return stream.random(n)
    own = stream.standard_normal(n)
    return np.asarray(ndtr(math.sqrt(correlation) * factor + math.sqrt(1.0 - correlation) * own))


def _paired(schema: Schema, guesses: Guesses) -> dict[str, Array]:
    """Uniform draws of every column by its name, where some go together in pairs."""
    names = [column.name for column in schema.features]
    root = correlation_root(names, guesses.pairs, guesses.correlation)
    own = np.stack([_column_stream(name).standard_normal(guesses.n_rows) for name in names])
    return dict(zip(names, np.asarray(ndtr(root @ own)), strict=True))


def _intercept(log_odds: Array, base_rate: float) -> float:
    """The intercept at which the mean chance over the rows is the base rate."""
    middle = float(logit(base_rate))
    low, high = middle - float(log_odds.max()), middle - float(log_odds.min())
    if low == high:
        return low
    return float(
        find_root(
            lambda a: float(expit(a + log_odds).mean()) - base_rate,
            low - 1e-9,
            high + 1e-9,
            xtol=1e-12,
        )
    )


def _column_stream(name: str) -> np.random.Generator:
    return _stream(_COLUMN, int.from_bytes(hashlib.sha256(name.encode()).digest()[:8]))


def _stream(*keys: int) -> np.random.Generator:
    return np.random.default_rng([_SEED, *keys])


def _check_texts(schema: Schema) -> None:
    """Levels are compared without the spaces around them, so one that has some would never be
    met.
    """
    for column in schema.features:
        for level in column.texts:
            expect(
                level == level.strip(),
                f"Expected level {level!r} of column {column.name!r} without spaces around it.",
            )
    for code in schema.codes:
        expect(
            code == code.strip(),
            f"Expected {code!r} of {schema.target!r} without spaces around it.",
        )


def _shares(given: object, name: str) -> tuple[float, ...]:
    if not isinstance(given, tuple | list):
        raise ValueError(
            f"Expected shares[{name!r}] to list a share for every level, got "
            f"{type(given).__name__}."
        )
    shares = tuple(_real(share, f"shares[{name!r}]") for share in given)
    expect(
        min(shares, default=-1.0) >= 0.0 and abs(math.fsum(shares) - 1.0) <= SHARES_SLACK,
        f"Expected shares[{name!r}] to be at least 0 and to add up to 1, got {list(shares)}.",
    )
    return shares


def _number(given: object, name: str) -> NumberGuess:
    if not isinstance(given, NumberGuess):
        raise ValueError(
            f"Expected numbers[{name!r}] to be a NumberGuess, got {type(given).__name__}."
        )
    check_positive(**{f"numbers[{name!r}].spread": given.spread})
    if given.tail not in (None, "low", "high"):
        raise ValueError(
            f"Expected numbers[{name!r}].tail={given.tail!r} to be None, 'low' or 'high'."
        )
    centre = _real(given.centre, f"numbers[{name!r}].centre")
    return NumberGuess(centre, float(given.spread), given.tail)


def _rate(given: object) -> Rate:
    """A share of the positive level, or the two ends of its range; ValueError unless it is one."""
    if not isinstance(given, tuple | list):
        check_probability(base_rate=given)
        check_range(BASE_RATE, base_rate=given)
        return float(given)  # type: ignore[arg-type]
    if len(given) != 2:
        raise ValueError(f"Expected base_rate to be a share, or a range of two, got {given!r}.")
    low, high = (_rate(end) for end in given)
    assert isinstance(low, float)
    assert isinstance(high, float)
    if not low < high:
        raise ValueError(f"Expected base_rate={given!r} to be a range from low to high.")
    return low, high


def _real(value: object, name: str) -> float:
    """A finite float, or ValueError."""
    check_range((-1e300, 1e300), **{name: value})
    return float(value)  # type: ignore[arg-type]
