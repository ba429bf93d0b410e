"""Where the rows of coefficients stand: levels under their variable, and effects of one size on one
axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array
from dpci_core.report.words import called, plainly
from dpci_core.schema import CONSTANT
from ui.session.results import IntervalRows

_APART = 10.0
"""An interval that reaches so many times less far than the longest of its axis gets another one."""
_MOST_PANELS = 6
_HEADING, _BETWEEN = 1.2, 0.8
"""Heights of a heading and between two rows, in bars."""
Label = tuple[float, str, str, int]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows from the top down.

    places: y of each coefficient, NaN of one that is left out, (k,).
    panels: for each axis the lowest and highest y and the coefficients on it.
    labels: y, words, a note, and how far they are indented (-1: a heading).
    """

    places: Array
    panels: tuple[tuple[tuple[float, float], tuple[int, ...]], ...]
    labels: tuple[Label, ...]

    @property
    def height(self) -> float:
        """The height of all panels, in rows."""
        return sum(high - low for (low, high), _ in self.panels)


def rows_of(rows: Sequence[IntervalRows], notes: Sequence[str], *, is_scaled: bool) -> Rows:
    """All coefficients on one axis; in other units than scaled ones on an axis for each size,
    without the intercept, which mixes all units.

    notes: what stands under each name, (k,).
    """
    names = rows[0].names
    many = len(rows)
    shown = [j for j, name in enumerate(names) if is_scaled or name != CONSTANT]
    groups = [shown] if is_scaled else _by_size(rows, shown)
    places, panels, labels = np.full(len(names), np.nan), [], []
    y = 0.0
    for group in groups:
        top = y
        variables = [variable_of(names[j]) for j in group]
        for at, j in enumerate(group):
            name = variables[at]
            has_levels = name is not None and variables.count(name) > 1
            if has_levels and name not in variables[:at]:
                y -= _HEADING
                labels.append((y + _HEADING / 2 - 0.25, plainly(name or ""), "", -1))
            height = many + _BETWEEN
            places[j] = y - height / 2
            labels.append((places[j], _called(names[j], has_levels), notes[j], int(has_levels)))
            y -= height
        panels.append(((y, top), tuple(group)))
    return Rows(places, tuple(panels), tuple(labels))


def variable_of(name: str) -> str | None:
    """The variable of a level, "marital_status" of "marital_status=Married"; None of a number."""
    variable, is_level, _ = name.partition("=")
    return variable if is_level else None


def _called(name: str, is_below_variable: bool) -> str:
    return plainly(name.partition("=")[2]) if is_below_variable else called(name)


def _by_size(rows: Sequence[IntervalRows], shown: Sequence[int]) -> list[list[int]]:
    """Coefficients whose intervals reach about as far from zero, the furthest first."""
    reach = np.max([np.abs(item.estimate) + item.ci_length / 2 for item in rows], axis=0)
    groups: list[list[int]] = []
    for j in sorted(shown, key=lambda j: -reach[j]):
        if groups and (len(groups) == _MOST_PANELS or reach[j] * _APART > reach[groups[-1][0]]):
            groups[-1].append(j)
        else:
            groups.append([j])
    return [sorted(group) for group in groups]
