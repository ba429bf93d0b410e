"""Intervals and summaries of a fitted estimator, as arrays, as a table and as plain text."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import TypeVar

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import expect, short_repr, shown_short

Table = TypeVar("Table", "pd.Series[float]", pd.DataFrame)

WIDTH = 88
"""Characters in a line of a summary."""
FLAG = "*"
"""Beside a coefficient that is not estimable."""
_COLUMNS = ("estimate", "std err", "sampling", "privacy", "low", "high")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CoefficientIntervals:
    """Intervals of every coefficient of every model, arrays (n_models, d+1), the intercept last.

    models: the class each model tells from the rest; one entry for two classes, and the outcome
        where it is a number.
    is_not_estimable: where the step to the unpenalised coefficient falls short (`_newton_step`).
    covers: what the intervals are for (`report.covered`).
    kind: what the models are of, "class" or "outcome".
    Joint intervals hold all together at `confidence_level`.
    """

    names: tuple[str, ...]
    models: tuple[object, ...]
    estimate: Array
    low: Array
    high: Array
    sampling_se: Array
    privacy_se: Array
    is_not_estimable: Flags
    confidence_level: float
    units: str
    joint: bool
    covers: str
    kind: str = "class"

    __repr__ = short_repr

    def to_frame(self) -> pd.DataFrame:
        """One row for each model and coefficient."""
        index = pd.MultiIndex.from_product(
            [list(self.models), list(self.names)], names=[self.kind, "coefficient"]
        )
        total = np.hypot(self.sampling_se, self.privacy_se)
        columns = (self.estimate, total, self.sampling_se, self.privacy_se, self.low, self.high)
        table = {name: values.ravel() for name, values in zip(_COLUMNS, columns, strict=True)}
        return pd.DataFrame(table, index=index)


class StatsmodelsNames:
    """What a fit is asked for by the names of statsmodels; all of it is `confidence_intervals`."""

    @abstractmethod
    def confidence_intervals(self, level: float | None = None) -> CoefficientIntervals:
        """Return intervals for every coefficient."""

    @property
    def params(self) -> pd.Series[float]:
        """The centre of each interval, the intercept last, with the names of the columns; for more
        than two classes each class in turn.

        Without penalty these are not `coef_`: predictions are made by the coefficients that were
        released, which a penalty shrinks.
        """
        return self._column("estimate")

    @property
    def bse(self) -> pd.Series[float]:
        """The standard error of each of `params`, of sampling and of privacy together.

        `conf_int` is not `params` +- 1.96 `bse`: the noise for privacy need not be normal, and the
        interval allows for that on the matrices behind `bse` too.
        """
        return self._column("std err")

    def conf_int(self, alpha: float | None = None) -> pd.DataFrame:
        """Return the ends of the intervals at level 1 - alpha, in columns 0 and 1.

        Args:
            alpha: in (0, 1); None for the level that was given to the estimator.

        Privacy: none spent, however often.
        Raises:  ValueError for another alpha.
        """
        expect(
            alpha is None or 0 < alpha < 1,
            f"Expected 0 < alpha={shown_short(alpha)} < 1, which is 1 - the level: a fraction "
            "below 1, such as 0.1 for intervals at 0.9.",
        )
        found = self.confidence_intervals(None if alpha is None else 1.0 - alpha)
        frame = found.to_frame()[["low", "high"]]
        return self._named(frame.set_axis([0, 1], axis=1))

    def _column(self, name: str) -> pd.Series[float]:
        found: pd.Series[float] = self._named(self.confidence_intervals().to_frame()[name])
        return found.rename(None)

    @staticmethod
    def _named(table: Table) -> Table:
        """One model needs no name."""
        if len(table.index.levels[0]) == 1:  # type: ignore[attr-defined]
            table = table.droplevel(0)
        return table.rename_axis([None] * table.index.nlevels)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Summary:
    """A fit on one page: `print(summary)` for people, `to_frame()` for programs."""

    title: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    intervals: CoefficientIntervals

    def to_frame(self) -> pd.DataFrame:
        """The table of coefficients."""
        return self.intervals.to_frame()

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        rule = "=" * WIDTH
        pairs = [f"{name + ':':<17}{value:<26}" for name, value in self.facts]
        left = (len(pairs) + 1) // 2
        rows = [*zip(pairs[:left], [*pairs[left:], ""][:left], strict=True)]
        lines = [
            self.title.center(WIDTH).rstrip(),
            rule,
            *((a + " " + b).rstrip() for a, b in rows),
            rule,
        ]
        return "\n".join(
            [
                *lines,
                *self._table(),
                rule,
                *(line for note in self.notes for line in wrap(note, WIDTH)),
            ]
        )

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        facts = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in self.facts)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        table = self.to_frame().to_html(float_format="{:.4g}".format)
        return f"<h3>{escape(self.title)}</h3><table>{facts}</table>{table}{notes}"

    def _table(self) -> list[str]:
        found = self.intervals
        half = (1.0 - found.confidence_level) / 2.0
        headers = (*_COLUMNS[:4], f"[{half:.4g}", f"{1.0 - half:.4g}]")
        lines = []
        tables = np.split(self.to_frame().to_numpy(), len(found.models))
        for model, of_class, flagged in zip(
            found.models, tables, found.is_not_estimable, strict=True
        ):
            name = f"{found.kind} {model}"[:21]
            lines += [f"{name:<22}" + "".join(f"{header:>11}" for header in headers), "-" * WIDTH]
            for coefficient, row, flag in zip(found.names, of_class, flagged, strict=True):
                label = coefficient[:20] + FLAG if flag else coefficient[:21]
                lines.append(f"{label:<22}" + "".join(f"{value:>11.4g}" for value in row))
        return lines
