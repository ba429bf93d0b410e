"""Yes/no questions to the declared columns of a table; what a card gives points for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real

import numpy as np
import numpy.typing as npt

from dpci_core.base.errors import expect
from dpci_core.schema import Column, Schema
from dpci_core.schema.mapping import Cells, by_distinct

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
        expect(
            (self.at_least is None) != (self.one_of is None),
            f"Expected at_least or one_of for the question about {self.column!r}, one of them.",
        )
        expect(
            cut is None or (isinstance(cut, Real) and np.isfinite(float(cut))),
            f"Expected a finite at_least for the question about {self.column!r}, got "
            f"{self.at_least!r}.",
        )
        if isinstance(asked, list):
            asked = tuple(asked)
            object.__setattr__(self, "one_of", asked)
        expect(
            asked is None
            or (
                isinstance(asked, tuple)  # a text would be asked for its letters
                and len(set(asked)) == len(asked) > 0
            ),
            f"Expected one_of of the question about {self.column!r} to hold levels, each once.",
        )

    @property
    def name(self) -> str:
        """The name of the feature that is 1 where the answer is yes."""
        if self.one_of is not None:
            return f"{self.column}: {', '.join(self.one_of)}"
        cut = repr(float(self.at_least or 0.0))  # every digit: this is the rule that people apply
        return f"{self.column} >= {cut.removesuffix('.0')}"


def check_questions(questions: Sequence[Question], schema: Schema) -> None:
    """Raise ValueError unless every question is different, about a declared column, and can be
    answered with yes and with no.
    """
    expect(
        len(set(questions)) >= max(1, len(questions)),
        "Expected at least one question, and each once.",
    )
    for question in questions:
        _rule(_column(question, schema), question)


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
    values = column.filled(by_distinct(cells, column.reader))
    return np.fromiter(map(_rule(column, question), values), np.uint8, len(values))


def _rule(column: Column, question: Question) -> Callable[[float], bool]:
    return column.rule(question.at_least, question.one_of)


def _column(question: Question, schema: Schema) -> Column:
    for column in schema.features:
        if column.name == question.column:
            return column
    raise ValueError(f"Expected a declared column, got {question.column!r}.")
