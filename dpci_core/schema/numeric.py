"""A column of numbers: bounds, a typical value and spread, a step for which effects are told."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import ArgumentError, DataRejectedError, check_range, expect
from dpci_core.report.words import many, plainly
from dpci_core.schema.column import Column, Scale, near, rounded
from dpci_core.schema.spelling import number_of

SPAN = (1e-30, 1e30)
"""Smallest and largest distance between the bounds of a number, so that slopes in its units can be
squared.
"""
LIMIT = (1.0, 1e6)
"""Least and greatest number of spreads from the typical value at which values may be cut off."""
MOST_UNITS = 40
"""Characters of the units of a column."""
DEFAULT_STEP = {"log": 2.0}
"""Effects of a logarithm are told for each doubling, where no step is declared."""
_ONE_BY_ONE = (2.0, 200.0)
"""A declared range within these is told per unit: a year of age, a point of a score."""
LOG_NORMAL_SD = math.sqrt(math.e * (math.e - 1.0))
"""Of exp(z) for a standard normal z."""
_OFF = 2.0
"""Factor by which declared spreads may be wrong."""
_FAR = 4.0
"""Bounds further away, in spreads, are those of a long tail."""
_LARGEST_LOG = 700.0
_LEAST_SPREAD = 1e-3
"""Of the distance between the bounds; a column that varies less keeps what its bounds say."""


@dataclass(frozen=True, slots=True)
class NumberGuess:
    """A guess at a number: normal around `centre` with standard deviation `spread`, within the
    declared bounds; of a column whose logarithm is taken, log-normal, and the spread is a factor.

    tail: the side with a long tail; then log-normal to that side of its median, `centre`, with the
        same spread.
    """

    centre: float
    spread: float
    tail: Literal["low", "high"] | None = None


@dataclass(frozen=True, slots=True)
class NumericColumn(Column):
    """A number, declared to lie in [low, high]; values outside are clipped.

    Args:
        name: as of `Column`.
        low: smallest value, in the column's units.
        high: largest value.
        missing: what a missing value, or one that is no number, counts as; None: its record has a
            missing cell, and counts for nothing.
        typical: a middling value, in the column's units.
        spread: about the standard deviation, in the column's units; of a logarithm the factor,
            greater than 1, between a middling and a large value.
        step: the difference for which effects are told, such as 10 for 10 years; of a logarithm a
            factor, by default 2.
        limit: values further than so many spreads from the typical one count as that far; None is
            the limit of the encoding. Only the standard encoding has limits.
        transform: "log" where effects are meant for ratios, as of amounts; low is positive then.
        units: what the number is measured in, such as "mmHg"; only words, no calculation uses them.

    Raises:
        ValueError: naming the argument, the rule and the value.

    >>> NumericColumn("age", 18, 98, typical=60, spread=15, step=10).standard_range(2.0)
    (30.0, 90.0)
    """

    reads_numbers: ClassVar[bool] = True
    absent: ClassVar[str] = "missing or no number"
    guessed: ClassVar[str] = "numbers"

    low: float
    high: float
    missing: float | None = None
    typical: float | None = None
    spread: float | None = None
    step: float | None = None
    limit: float | None = None
    transform: Literal["log"] | None = None
    units: str = ""

    def __post_init__(self) -> None:
        expect(
            len(self.units) <= MOST_UNITS and self.units.isprintable(),
            f"Expected units={self.units!r} of column {self.name!r} to be printable and at "
            f"most {MOST_UNITS} characters.",
        )
        expect(
            math.isfinite(self.high - self.low) and self.low < self.high,
            f"Expected finite low={self.low!r} < high={self.high!r} for column {self.name!r}.",
        )
        expect(
            SPAN[0] <= self.high - self.low <= SPAN[1],
            f"Expected low={self.low!r} and high={self.high!r} of column {self.name!r} to be "
            f"{SPAN[0]:g} to {SPAN[1]:g} apart.",
        )
        for name in ("missing", "typical"):
            value = getattr(self, name)
            inside = value is None or self.low <= value <= self.high
            self._expect(inside, name, value, "to lie within its bounds.")
        expect(
            self.transform in (None, "log"),
            f"Expected transform={self.transform!r} of column {self.name!r} to be None or 'log'.",
        )
        expect(
            not self.takes_log or self.low > 0.0,
            f"Expected low={self.low!r} > 0 for column {self.name!r}, whose logarithm is taken.",
        )
        apart = self.reach
        expect(
            apart >= SPAN[0],
            f"Expected low={self.low!r} and high={self.high!r} of column {self.name!r} to have "
            "different logarithms.",
        )
        expect(
            (self.typical is None) == (self.spread is None),
            f"Expected typical and spread of column {self.name!r} both or neither.",
        )
        least = 1.0 if self.takes_log else 0.0
        for name in ("spread", "step"):
            value = getattr(self, name)
            if value is None:
                continue
            finite = math.isfinite(value) and value > least
            self._expect(finite, name, value, f"to be finite and > {least:g}.")
            # An effect of a larger step may be no finite number, which only shows once it is drawn.
            self._expect(
                apart / 1e9 <= self.on_scale(value) <= apart * 10.0,
                name,
                value,
                "to be at most ten times, and not a vanishing part of, the distance between its "
                "bounds.",
            )
        if self.limit is not None:
            check_range(LIMIT, **{f"limit of column {self.name!r}": self.limit})

    def _expect(self, holds: bool, name: str, value: float | None, wanted: str) -> None:
        """Raise ArgumentError, which names the argument, unless it holds."""
        if not holds:
            said = f"Expected {name}={value!r} of column {self.name!r} {wanted}"
            raise ArgumentError(name, value, said)

    @property
    def fill(self) -> str:
        """What a missing value counts as, in words; empty where its record counts for nothing."""
        return "" if self.missing is None else f"{self.missing:.12g}"

    @property
    def middling(self) -> float:
        """The typical value, or the middle of the bounds where none is declared."""
        return (self.low + self.high) / 2.0 if self.typical is None else self.typical

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the encoded features: the column itself, or its logarithm."""
        return (f"log({self.name})" if self.takes_log else self.name,)

    def on_scale(self, value: float) -> float:
        """A value of the column, or a factor, as effects are meant: itself, or its natural
        logarithm.
        """
        return math.log(value) if self.takes_log else value

    @property
    def centre(self) -> float:
        """The typical value on that scale; undeclared, the middle of the bounds."""
        return sum(self._ends) / 2.0 if self.typical is None else self.on_scale(self.typical)

    @property
    def unit(self) -> float:
        """The spread on that scale; undeclared, the standard deviation of even values between the
        bounds.
        """
        if self.spread is not None:
            return self.on_scale(self.spread)
        return self.reach / math.sqrt(12.0)

    @property
    def step_size(self) -> float:
        """The step of an effect on that scale, 1 where none is declared."""
        step = DEFAULT_STEP.get(self.transform or "") if self.step is None else self.step
        if step is None:
            return 1.0
        return self.on_scale(step)

    def standard_range(self, limit: float) -> tuple[float, float]:
        """Values on that scale beyond which others count as these, in the standard encoding; the
        bounds for an infinite limit, whatever that of the column.
        """
        is_own = self.limit is not None and math.isfinite(limit)
        reach = (self.limit if is_own else limit) * self.unit  # type: ignore[operator]
        low, high = self._ends
        return max(low, self.centre - reach), min(high, self.centre + reach)

    @property
    def _ends(self) -> tuple[float, float]:
        """The bounds on the scale of effects."""
        return self.on_scale(self.low), self.on_scale(self.high)

    @property
    def takes_log(self) -> bool:
        """Whether the logarithm is taken."""
        return self.transform == "log"

    # --- cells to features ------------------------------------------------------------------------

    @property
    def reader(self) -> Callable[[object], float]:
        """The number in a cell."""
        return number_of

    def parsed(self, series: pd.Series[Any], *, start: int) -> Array:
        """The numbers of some rows; a text that is none is refused."""
        values = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
        is_text = np.isnan(values) & ~series.isna().to_numpy()
        if is_text.any():
            raise DataRejectedError(
                "cell_not_a_number", row=start + int(is_text.argmax()), column=self.name
            )
        return values

    def count_absent(self, n: int) -> str:
        """Return how many values are missing, in words; `parsed` refuses a text that is none."""
        return f"{many(n, 'missing value')} of {plainly(self.name)}"

    @property
    def fill_value(self) -> float:
        """What is declared for a missing cell."""
        return math.nan if self.missing is None else self.missing

    def within(self, values: Array) -> Array:
        """The numbers, clipped to the bounds."""
        return np.clip(values, self.low, self.high)

    def fits(self, values: Array) -> Flags:
        """Which numbers lie within the bounds."""
        return (values >= self.low) & (values <= self.high)

    def is_far(self, values: Array, limit: float) -> Flags:
        """Which of them lie beyond the limit."""
        values = self._on_scale(values)
        (low, high), (least, most) = self._ends, self.standard_range(limit)
        return ((values >= low) & (values < least)) | ((values > most) & (values <= high))

    def affine(self, *, is_standard: bool) -> tuple[tuple[float, float], ...]:
        """The typical value and the spread, or middle and half length of the bounds."""
        low, high = self._ends
        by_bounds = ((low + high) / 2.0, (high - low) / 2.0)
        return ((self.centre, self.unit) if is_standard else by_bounds,)

    def encoded(self, values: Array, scale: Scale) -> Array:
        """The number on the scale of its effects, cut off and scaled."""
        values = self._on_scale(values)[:, None]
        if scale == "original":
            return values
        if isinstance(scale, str):
            ((centre, unit),) = self.affine(is_standard=False)
            return np.clip((values - centre) / unit, -1.0, 1.0)
        low, high = self.standard_range(scale)
        return (np.clip(values, low, high) - self.centre) / self.unit

    def _on_scale(self, values: Array) -> Array:
        """Numbers on the scale of their effects.

        Before a logarithm is taken they are brought within the bounds: some have none.
        """
        if not self.takes_log:
            return values
        logs = np.log(np.clip(values, self.low, self.high))
        # The logarithm of an array may differ from that of a bound in the last bit.
        return np.clip(logs, *self._ends)

    def cut(self, limit: float) -> float | None:
        """The limit, where the bounds are wider than it."""
        limit = limit if self.limit is None else self.limit
        return limit if self.standard_range(limit) != self._ends else None

    # --- what is declared -------------------------------------------------------------------------

    def bare(self) -> NumericColumn:
        """The bounds alone."""
        return NumericColumn(self.name, self.low, self.high)

    @property
    def has_usual(self) -> bool:
        """Whether the typical value is declared."""
        return self.typical is not None

    def with_usual(self, series: pd.Series[Any]) -> NumericColumn:
        """Return the column with the median and standard deviation of these values, where they
        vary.
        """
        if self.typical is not None:
            return self
        values = np.asarray(pd.to_numeric(series, errors="coerce"), dtype=np.float64)
        values = self.within(values[~np.isnan(values)])
        scaled = np.log(values) if self.takes_log else values
        spread = float(np.std(scaled)) if len(scaled) else 0.0
        if spread <= self.reach * _LEAST_SPREAD:
            return self
        median = near(float(np.median(values)), float(np.std(values)))
        if self.takes_log:  # a factor near 1 has its digits behind the 1
            factor = rounded(math.exp(rounded(spread)))
            spread = factor if factor >= 2.0 else 1.0 + rounded(math.expm1(spread))
        else:
            spread = rounded(spread)
        return replace(self, typical=min(max(median, self.low), self.high), spread=spread)

    def refused(self, cell: object) -> tuple[str, dict[str, object]] | None:
        """No number, or one outside the bounds."""
        value = number_of(cell)
        if math.isnan(value):
            return "cell_to_predict_missing", {}
        if not self.low <= value <= self.high:
            return "cell_outside_bounds", {"low": self.low, "high": self.high}
        return None

    # --- words ------------------------------------------------------------------------------------

    @property
    def told_step(self) -> float:
        """The declared step on the scale of effects; else 1, or a power of ten of at most a tenth
        of the bounds.

        >>> [NumericColumn("x", 0, high).told_step for high in (1, 99, 100_000)]
        [0.1, 1.0, 10000.0]
        >>> NumericColumn("pressure", 80, 240, step=10).told_step
        10
        >>> round(NumericColumn("cost", 1, 10_000, transform="log").told_step, 3)
        0.693
        """
        width = self.high - self.low
        if self.step is not None or self.takes_log:
            return self.step_size
        if _ONE_BY_ONE[0] <= width <= _ONE_BY_ONE[1]:
            return 1.0
        return float(f"1e{math.floor(math.log10(width / 10.0) + 1e-9)}")

    @property
    def per(self) -> str:
        """The step, as in "per 10 mmHg", "per year" or "per doubling"."""
        if self.takes_log:
            is_doubling = self.step in (None, DEFAULT_STEP["log"])
            return "per doubling" if is_doubling else f"per factor {self.step:g}"
        if self.told_step == 1.0:
            return f"per {_one(self.units) if self.units else 'unit'}"
        return f"per {self.told_step:,.12g} {self.units}".rstrip()

    def subject(self, name: str) -> str:
        """The column, also where the feature is its logarithm."""
        return self.name

    def contrast(self, name: str) -> str:
        """The column and its step."""
        return f"{self.name}, {self.per}"

    def change(self, name: str, features: Collection[str]) -> tuple[str, str, str]:
        """So much more of it, or each time it is multiplied."""
        unit = f" per unit of {name}"
        if self.takes_log:
            factor = f"{math.exp(self.told_step):,.12g}"
            times = "doubled" if factor == "2" else f"multiplied by {factor}"
            change = f"each time {self.name} is {times}"
            return change, change, unit
        much = f"{self.told_step:,.12g} {self.units}".rstrip()
        if self.told_step == 1.0 and self.units:
            one = _one(self.units)
            return f"1 {one} more of {self.name}", f"per {one} of {self.name}", unit
        return f"{much} more of {self.name}", f"per {much} of {self.name}", unit

    # --- twins ------------------------------------------------------------------------------------

    @property
    def reach(self) -> float:
        """The distance between the bounds."""
        low, high = self._ends
        return high - low

    def check_guess(self, guess: NumberGuess) -> None:
        """The centre lies within the bounds, and the spread of a logarithm is a factor."""
        said = f"numbers[{self.name!r}]"
        check_range((self.low, self.high), **{f"{said}.centre": guess.centre})
        expect(
            not self.takes_log or guess.spread > 1.0,
            f"Expected {said}.spread={guess.spread!r} > 1: of a logarithm it is a factor.",
        )

    def draw(self, uniform: Array, guess: NumberGuess | None) -> Array:
        """Uniform between the bounds, or normal and cut off at them where something is usual."""
        low, high = self._ends
        if guess is None and self.typical is None:
            values = low + uniform * (high - low)
        else:
            centre, unit = self.centre, self.unit
            if guess is not None:
                centre, unit = self._law(guess)
                if guess.tail is not None:
                    return self._tailed(uniform, guess)
            ends = [float(ndtr((end - centre) / unit)) for end in (low, high)]
            values = centre + unit * ndtri(ends[0] + uniform * (ends[1] - ends[0]))
        values = np.clip(values, low, high)
        return np.exp(values) if self.takes_log else values

    def _tailed(self, uniform: Array, guess: NumberGuess) -> Array:
        """Log-normal to one side of the median, cut off at the bounds."""
        (low, high), (centre, unit) = self._ends, self._law(guess)
        side = -1.0 if guess.tail == "low" else 1.0
        off = sorted(side * (end - centre) / unit for end in (low, high))
        with np.errstate(divide="ignore"):
            cut = ndtr(np.log1p(np.maximum(np.array(off) * LOG_NORMAL_SD, -1.0)))
        away = np.expm1(ndtri(cut[0] + uniform * (cut[1] - cut[0]))) / LOG_NORMAL_SD
        values = np.clip(centre + side * unit * away, low, high)
        return np.asarray(np.exp(values) if self.takes_log else values)

    def _law(self, guess: NumberGuess | None) -> tuple[float, float]:
        """Centre and spread on the scale of effects, as guessed, declared, or between the
        bounds.
        """
        if guess is None:
            return self.centre, self.unit
        return self.on_scale(guess.centre), self.on_scale(guess.spread)

    def two_spreads(self, guess: NumberGuess | None) -> float:
        """Twice the spread, as guessed, declared, or between the bounds."""
        return 2.0 * self._law(guess)[1]

    def doubts(self, guess: NumberGuess | None) -> dict[str, NumberGuess]:
        """Spreads and centre off, and a long tail towards a bound that is far away; a logarithm has
        one already.
        """
        made = {
            "half spreads": self._off(guess, factor=1.0 / _OFF),
            "twice the spreads": self._off(guess, factor=_OFF),
            "off centre": self._off(guess, shift=1.0),
        }
        as_told = self._off(guess)
        far = (as_told.centre - self.low, self.high - as_told.centre)
        if not self.takes_log and max(far) > _FAR * as_told.spread:
            made["long tails"] = replace(as_told, tail="low" if far[0] > far[1] else "high")
        return made

    def _off(
        self, guess: NumberGuess | None, *, factor: float = 1.0, shift: float = 0.0
    ) -> NumberGuess:
        """The number with a spread so many times as large, its centre moved by so many spreads to
        the side that has more room.
        """
        (centre, unit), (low, high) = self._law(guess), self._ends
        side = 1.0 if high - centre >= centre - low else -1.0
        at, size = centre + side * shift * unit, factor * unit
        if self.takes_log:
            at = math.exp(min(max(at, low), high))
            size = max(math.exp(min(size, _LARGEST_LOG)), math.nextafter(1.0, 2.0))
        tail = None if guess is None else guess.tail
        return NumberGuess(min(max(at, self.low), self.high), size, tail)


_PLURAL = re.compile(r"(?<!\d )\b(?!\w*(?:[isx]|ch|sh)es\b)([a-z]{2,}[^su\W])s\b")


def _one(units: str) -> str:
    """One of some units: the first word with a simple plural is in the singular.

    >>> [_one(units) for units in ("years", "pack years", "inches", "mmHg", "lbs", "100 euros")]
    ['year', 'pack year', 'inches', 'mmHg', 'lbs', '100 euros']
    """
    return _PLURAL.sub(r"\1", units, count=1)
