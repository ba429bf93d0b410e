"""Yes/no questions to the declared columns of a table; what a card gives points for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from dpci_core.schema import CategoricalColumn, NumericColumn, Schema
from dpci_core.schema.mapping import Cells
from dpci_core.schema.spelling import level_of, number_of, spellings

Bits = npt.NDArray[np.uint8]
"""Answers, 1 for yes."""


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a number is at least a cut point, or a level one of several.

    Args:
        column: as declared.
        at_least: the cut point, chosen without looking at the table.
        one_of: the levels that count as yes.

    Raises:  ValueError unless exactly one of the two is given.

    >>> Question("age", at_least=40).name, Question("sex", one_of=("Male",)).name
    ('age >= 40', 'sex: Male')
    """

    column: str
    at_least: float | None = None
    one_of: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        cut: object = self.at_least  # of any type, whatever is declared
        asked: object = self.one_of
        if (self.at_least is None) == (self.one_of is None):
            raise ValueError(
                f"Expected at_least or one_of for the question about {self.column!r}, one of them."
            )
        if cut is not None and not (isinstance(cut, Real) and np.isfinite(float(cut))):
            raise ValueError(
                f"Expected a finite at_least for the question about {self.column!r}, got "
                f"{self.at_least!r}."
            )
        if isinstance(asked, list):
            asked = tuple(asked)
            object.__setattr__(self, "one_of", asked)
        if asked is not None and not (
            isinstance(asked, tuple)  # a text would be asked for its letters
            and asked
            and len(set(asked)) == len(asked)
        ):
            raise ValueError(
                f"Expected one_of of the question about {self.column!r} to hold levels, each once."
            )

    @property
    def name(self) -> str:
        """Of the points for a yes."""
        if self.one_of is not None:
            return f"{self.column}: {', '.join(self.one_of)}"
        cut = repr(float(self.at_least or 0.0))  # every digit: this is the rule that people apply
        return f"{self.column} >= {cut.removesuffix('.0')}"


def check_questions(questions: Sequence[Question], schema: Schema) -> None:
    """Raise ValueError unless every question is different, about a declared column, and can be
    answered with yes and with no.
    """
    if len(set(questions)) < max(1, len(questions)):
        raise ValueError("Expected at least one question, and each once.")
    for question in questions:
        column = _column(question, schema)
        if isinstance(column, NumericColumn):
            if question.at_least is None or not column.low < question.at_least <= column.high:
                raise ValueError(
                    f"Expected at_least of the question about {column.name!r} above {column.low:g} "
                    f"and at most {column.high:g}, as declared."
                )
        elif question.one_of is None or not set(question.one_of) < set(column.levels):
            raise ValueError(
                f"Expected one_of of the question about {column.name!r} to be some of its declared "
                f"levels, not all: {', '.join(column.levels)}."
            )


def answers(cells: Mapping[str, Cells], questions: Sequence[Question], schema: Schema) -> Bits:
    """Return the answers (n, k), each a fixed function of one cell and the declaration.

    Nothing is refused: a missing or undeclared value counts as declared for that; where nothing is
    declared, the answer is no.

    Args:
        cells: by column, as long as each other.
        questions: (k,), checked.
        schema: the declaration.
    """
    return np.stack([_answers(cells[q.column], q, schema) for q in questions], axis=1)


def _answers(cells: Cells, question: Question, schema: Schema) -> Bits:
    column = _column(question, schema)
    known: dict[tuple[type, str], bool] = {}
    found = np.empty(len(cells), dtype=np.uint8)
    for i, cell in enumerate(cells):
        key = (type(cell), str(cell))  # called once for equal cells of one type
        if key not in known:
            known[key] = _is_yes(cell, question, column)
        found[i] = known[key]
    return found


def _is_yes(cell: object, question: Question, column: NumericColumn | CategoricalColumn) -> bool:
    if isinstance(column, NumericColumn):
        assert question.at_least is not None
        value = number_of(cell)
        if np.isnan(value):
            value = np.nan if column.missing is None else column.missing
        return bool(value >= question.at_least)
    assert question.one_of is not None
    place = level_of(cell, spellings(column.levels))
    return (column.other if place < 0 else column.levels[place]) in question.one_of


def _column(question: Question, schema: Schema) -> NumericColumn | CategoricalColumn:
    for column in schema.features:
        if column.name == question.column:
            return column
    raise ValueError(f"Expected a declared column, got {question.column!r}.")
