"""Intervals and summaries of a fitted estimator, as arrays, as a table and as plain text."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Flags

WIDTH = 88
"""Characters in a line of a summary."""
FLAG = "*"
"""Beside a coefficient that is not estimable."""
_COLUMNS = ("coef", "std err", "sampling", "privacy", "low", "high")


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

    def to_frame(self) -> pd.DataFrame:
        """One row for each model and coefficient."""
        index = pd.MultiIndex.from_product(
            [list(self.models), list(self.names)], names=[self.kind, "coefficient"]
        )
        total = np.hypot(self.sampling_se, self.privacy_se)
        columns = (self.estimate, total, self.sampling_se, self.privacy_se, self.low, self.high)
        table = {name: values.ravel() for name, values in zip(_COLUMNS, columns, strict=True)}
        return pd.DataFrame(table, index=index)


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
