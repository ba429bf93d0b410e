"""What a kind of column is: how its cells become numbers, how its effects are told, and how its
twin is drawn.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Flags
from dpci_core.report.words import many, plainly

Scale = Literal["original", "bounds"] | float
"""Of features: "original" for the units of the table (a number as its transformation gives it, a
level as 0 or 1); "bounds" for the encoding by bounds; a number is the limit of the standard
encoding, whose units are spreads from the expected value, infinite where nothing is cut off.
"""
_DIGITS = 2
"""Of proposed typical values, spreads and shares, at least."""


@dataclass(frozen=True, slots=True)
class Column(ABC):
    """A column as declared: a frozen dataclass of public knowledge, never read from the table that
    is to be protected.

    A cell is read to one value, a float: the number in it, the place of its level; NaN where it has
    none. Values become features, (n, k). No caller asks which kind a column is: CONTRIBUTING.md
    says how another is added.

    Privacy:
        `reader`, `within`, `filled` and `encoded` are functions of one cell and the declaration,
        and refuse nothing. In the encoding by bounds the k features of a row have norm at most 1,
        whatever its cell holds: the noise is scaled for that.

    Args:
        name: of the column in the table.
    """

    name: str

    reads_numbers: ClassVar[bool] = False
    """Whether cells may be handed over as an array of the numbers in them."""
    absent: ClassVar[str] = "missing or not declared"
    """What is said of a cell without a value."""
    guessed: ClassVar[str] = ""
    """The field of `Guesses` that says how values of the column are spread."""

    # --- cells to features ------------------------------------------------------------------------

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """Names of the k encoded features."""

    @property
    @abstractmethod
    def reader(self) -> Callable[[object], float]:
        """The function that gives the value of a cell, NaN where there is none."""

    def parsed(self, series: pd.Series[Any], *, start: int) -> Array:
        """Return the values (n,) of some rows of a public table.

        Args:
            series: their cells.
            start: row of the first one.

        Raises:  DataRejectedError, naming row and column, for a cell that no such table should
                 have.
        """
        return read_each(series, self.reader, math.nan)

    def count_absent(self, n: int) -> str:
        """So many cells without a value, in words."""
        are = "is" if n == 1 else "are"
        return f"{many(n, 'value')} of {plainly(self.name)} that {are} {self.absent}"

    @property
    def fill_value(self) -> float:
        """The value that a cell without one counts as; NaN where its record counts for nothing."""
        return math.nan

    @property
    @abstractmethod
    def fill(self) -> str:
        """The value that an empty cell counts as, in words; empty where its record counts for
        nothing.
        """

    def filled(self, values: Array) -> Array:
        """Return the values (n,), those that are missing as declared for that, else NaN."""
        return np.where(np.isnan(values), self.fill_value, values)

    def within(self, values: Array) -> Array:
        """Return the values (n,) brought within what is declared."""
        return values

    @abstractmethod
    def fits(self, values: Array) -> Flags:
        """Return which values (n,) are as declared, or count as something that is."""

    def is_far(self, values: Array, limit: float) -> Flags:
        """Return which values (n,) within the bounds the standard encoding cuts off."""
        return np.zeros(len(values), dtype=np.bool_)

    @property
    def n_values(self) -> int:
        """How many values n there are; 0 for a column whose values have no end.

        More than 0 promises that the values are 0, 1, ..., n - 1, and that `encoded` takes each of
        them: features are then looked up in a table of its answers.
        """
        return 0

    @abstractmethod
    def affine(self, *, is_standard: bool) -> tuple[tuple[float, float], ...]:
        """Return, for each feature, what is subtracted and what is divided by afterwards, > 0.

        It undoes `encoded`: features in the units of the table are those encoded times the second
        plus the first, where nothing was cut off.
        """

    @abstractmethod
    def encoded(self, values: Array, scale: Scale) -> Array:
        """Return the features (n, k) of filled values (n,), before rows are scaled.

        A value may be NaN, where a cell is missing and nothing is declared for that. Its features
        may be anything, since its record counts for nothing, but it must not raise.
        """

    def cut(self, limit: float) -> float | None:
        """Return the limit, in spreads, at which the standard encoding cuts off values within the
        bounds; None where it cuts off none.
        """
        return None

    @property
    def takes_log(self) -> bool:
        """Whether the logarithm is taken."""
        return False

    # --- what is declared -------------------------------------------------------------------------

    @property
    def texts(self) -> tuple[str, ...]:
        """Declared texts that cells are compared with, in order."""
        return ()

    @property
    @abstractmethod
    def middling(self) -> float | str:
        """A cell in the middle of what is declared."""

    @abstractmethod
    def bare(self) -> Column:
        """The column without codes, and without what is declared for planning and encoding."""

    @property
    def has_usual(self) -> bool:
        """Whether what is usual in the column is declared."""
        return False

    @abstractmethod
    def with_usual(self, series: pd.Series[Any]) -> Column:
        """The column with what is usual in a public table, unless that is declared."""

    @abstractmethod
    def refused(self, cell: object) -> tuple[str, dict[str, object]] | None:
        """The code and the facts of an error about a cell that nothing is predicted for, or
        None.
        """

    # --- words ------------------------------------------------------------------------------------

    @property
    def step_size(self) -> float:
        """The declared step of an effect, on the scale of effects; else 1."""
        return 1.0

    @property
    def told_step(self) -> float:
        """The step that effects of a release are told for."""
        return self.step_size

    @property
    def per(self) -> str:
        """What an effect is per, as in "per 10 years"; empty for one against a reference."""
        return ""

    def subject(self, name: str) -> str:
        """What the effect of the feature `name` is an effect of."""
        return name

    @abstractmethod
    def contrast(self, name: str) -> str:
        """What the coefficient of the feature `name` compares."""

    @abstractmethod
    def change(self, name: str, features: Collection[str]) -> tuple[str, str, str]:
        """What changes by the told step of the feature `name`.

        Args:
            name: of the feature.
            features: all that have a coefficient.

        Returns:  words to stand before "all else equal", after "odds times 1.2", and after a number
                  per original unit.
        """

    # --- twins ------------------------------------------------------------------------------------

    @property
    def reach(self) -> float:
        """The largest difference that a feature can make, on the scale of effects."""
        return 1.0

    @abstractmethod
    def check_guess(self, guess: Any) -> None:
        """Raise ValueError for a guess that does not fit the declaration."""

    @abstractmethod
    def draw(self, uniform: Array, guess: Any) -> Array:
        """Return the values (n,) of a twin.

        Args:
            uniform: quantiles (n,), in [0, 1].
            guess: what the field `guessed` says of the column, or None.
        """

    def two_spreads(self, guess: Any) -> float:
        """The contrast that effects nobody guessed are meant for, on the scale of effects: two
        spreads, or a level against the first.
        """
        return 1.0

    def doubts(self, guess: Any) -> dict[str, Any]:
        """Return other guesses that what is declared and guessed allows, by the name of the world
        that they belong to: one of the table in `schema.worlds`, which refuses any other.
        """
        return {}

    def cells(self, values: Array) -> object:
        """The cells of a table that has these values (n,)."""
        return values


def read_each(series: pd.Series[Any], read: Callable[[object], float], absent: float) -> Array:
    """Return a function of every cell (n,), called once for equal cells; `absent` for an empty
    one.
    """
    distinct = pd.Categorical(series)
    table = np.array([*map(read, distinct.categories), absent], dtype=np.float64)
    found: Array = table[np.asarray(distinct.codes)]
    return found


def rounded(x: float) -> float:
    """A proposed number to two digits."""
    return float(f"{x:.{_DIGITS}g}")


def near(x: float, spread: float) -> float:
    """To two digits, or to as many as leave it within a quarter of the spread: 2013 is not 2000."""
    found = (float(f"{x:.{digits}g}") for digits in range(_DIGITS, 17))
    return next((value for value in found if abs(value - x) <= spread / 4.0), x)


def as_text(value: object) -> str:
    """A level as people write it: whole numbers without a decimal point, texts without spaces
    around them.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()
