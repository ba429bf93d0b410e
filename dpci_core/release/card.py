"""A release of a card: one line of the ledger pays for the choice and for the count of its
mistakes, which are two sides of a maximum (docs/scorecards.md, section 3).
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import check_probability
from dpci_core.datasets.folder import check_header_has
from dpci_core.ledger import Charge, Cost, as_text, safe_cell
from dpci_core.plan import Plan, as_yaml
from dpci_core.plan.codec import PlanFieldError, at, plain
from dpci_core.plan.link import canonical
from dpci_core.privacy.budget import Amount, definition_named, to_decimal
from dpci_core.privacy.randomness import SystemSource
from dpci_core.release import once
from dpci_core.release.chosen import load_record
from dpci_core.release.content import entry_of, software
from dpci_core.release.once import Question as AskedOnce
from dpci_core.release.once import check_reachable
from dpci_core.release.record import NEIGHBOURS, Entry
from dpci_core.release.table import Header, TableError, read_cells
from dpci_core.report.html import render
from dpci_core.schema import RecordMapper, Schema
from dpci_core.scorecards import (
    Card,
    CardSpending,
    Question,
    ScorecardClass,
    answers,
    check_cells,
    check_questions,
    checked_cost,
    draw_card,
)
from dpci_core.scorecards.cards import MOST_POINTS
from dpci_core.scorecards.draw import DrawnCard
from dpci_core.scorecards.spending import parts_of
from dpci_core.tuning.choose import utility_bound

CARD_NAME = "scorecard.json"
"""The record in the folder of a result."""
VERSION = 2
"""Of the content of scorecard.json; 1 is read too, and has no declaration to apply it by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CardRecord(Entry):
    """What one release of a card publishes, and what it is about.

    amount: epsilon or rho of everything, by the definition.
    questions, points: one for each other; threshold: yes above it.
    weights, thresholds: of the class that was drawn from; n_rules: cards of it that differ.
    cost: of a false positive and a false negative, in whole units.
    noisy_mistakes: of the card on the n_holdout records that did not choose it, with noise.
    error_low, error_high: the interval for its error at confidence_level.
    schema: the declaration that the questions are about; None in a record of version 1.
    Mistakes without noise, and of other cards, are no part of it.
    """

    version: int
    kind: str
    definition: str
    amount: str
    neighbours: str
    n_records: int
    n_train: int
    n_holdout: int
    questions: tuple[Question, ...]
    points: tuple[int, ...]
    threshold: float
    weights: tuple[int, int]
    thresholds: tuple[float, float]
    n_rules: int
    cost: tuple[int, int]
    noisy_mistakes: int
    confidence_level: float
    error_low: float
    error_high: float
    assumptions: tuple[str, ...]
    software: dict[str, str]
    schema: Schema | None = None

    def __post_init__(self) -> None:
        if self.version not in (1, VERSION) or (self.schema is None) == (self.version == VERSION):
            raise PlanFieldError("version", "Expected 1, or 2 with the declaration as schema.")
        if self.kind != "scorecard":
            raise PlanFieldError("kind", f"Expected scorecard, got {self.kind!r}.")
        if len(self.questions) != len(self.points) or not self.points:
            raise PlanFieldError("points", "Expected one for each question.")
        if max(map(abs, self.points)) > MOST_POINTS:
            raise PlanFieldError("points", f"Expected them to be at most {MOST_POINTS} in size.")
        if self.threshold % 1.0 != 0.5:
            raise PlanFieldError("threshold", "Expected a half, such as -1.5.")
        if self.n_train + self.n_holdout != self.n_records or min(self.n_train, self.n_holdout) < 1:
            raise PlanFieldError("n_train", "Expected n_train and n_holdout to make n_records.")
        if self.schema is not None:
            with at("questions"):
                check_questions(self.questions, self.schema)
        if not 0.0 <= self.error_low <= self.error_high <= 1.0:
            raise PlanFieldError("error_low", "Expected an interval within 0 and 1.")
        with at("confidence_level"):
            check_probability(confidence_level=self.confidence_level)
        with at("amount"):
            to_decimal(self.amount, name="amount")
        definition_named(self.definition)

    @property
    def card(self) -> Card:
        """The rule."""
        return Card(self.points, self.threshold)

    @property
    def guarantee(self) -> str:
        """The definition with its amount."""
        kind = definition_named(self.definition)
        return f"{kind.letter} = {self.amount} ({kind.title})"

    @property
    def mapper(self) -> RecordMapper:
        """Of the columns that the questions are about.

        Raises:  ValueError for a record of version 1.
        """
        if self.schema is None:
            raise ValueError(f"Expected a {CARD_NAME} of version {VERSION}: 1 has no declaration.")
        return _mapper(self.schema, self.questions)

    def sums(self, frame: pd.DataFrame) -> Integers:
        """Return the sum of points (n,) of rows of a table with the columns of the questions.

        Args:
            frame: the rows, in original units.

        Raises:  DataRejectedError naming row and column: a column is absent or there twice, a cell
                 is empty, no number, or none of the declared levels. The release itself counts such
                 cells as declared; a card in use has somebody to ask.
        """
        names = self.mapper.needed[:-1]
        check_header_has(tuple(frame.columns), frozenset(), names)
        assert self.schema is not None
        cells = {name: frame[name].tolist() for name in names}
        check_cells(cells, self.questions, self.schema)
        bits = answers(cells, self.questions, self.schema)
        return np.asarray(bits.astype(np.int64) @ np.array(self.points, dtype=np.int64))

    def decision(self, frame: pd.DataFrame) -> Array:
        """Return the sum of points minus the threshold (n,); arguments and errors as for `sums`."""
        return np.asarray(self.sums(frame) - self.threshold)

    def predict(self, frame: pd.DataFrame) -> Integers:
        """Return +1 (the positive level) or -1 (n,); arguments and errors as for `sums`."""
        return np.where(self.decision(frame) > 0.0, 1, -1)

    def to_dict(self) -> dict[str, Any]:
        fields = {"version": self.version, "kind": self.kind} | asdict(self)
        if self.schema is None:
            return {name: value for name, value in fields.items() if name != "schema"}
        return fields | {"schema": plain(self.schema)}

    def table(self) -> str:
        """Return the card as CSV: a line for each question, and the threshold."""
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["question", "points for a yes"])
        for question, points in zip(self.questions, self.points, strict=True):
            writer.writerow([safe_cell(question.name), points])
        writer.writerow(["yes if the sum is above", self.threshold])
        return out.getvalue()


@dataclass(frozen=True, kw_only=True)
class CardChoice(AskedOnce[CardRecord]):
    """A card for yes/no questions to the private table of a plan, which declares columns, unit and
    n; its own budget and features play no part.

    questions: about declared columns.
    spending: of everything, exact.
    cards: the class that is drawn from.
    holdout: share of the rows that count the card's mistakes.
    cost: of a false positive and a false negative, in whole units.
    confidence_level: of the interval for the error.
    """

    record_name = CARD_NAME
    questions: tuple[Question, ...]
    spending: CardSpending
    cards: ScorecardClass
    holdout: str
    cost: tuple[int, int]
    confidence_level: float

    @classmethod
    def make(
        cls,
        plan: Plan,
        questions: tuple[Question, ...],
        *,
        epsilon: Amount | None = None,
        rho: Amount | None = None,
        weights: tuple[int, int] = (-2, 2),
        thresholds: tuple[float, float] = (-5.5, 5.5),
        holdout: Amount = "0.3",
        cost: tuple[Amount, Amount] = ("1", "1"),
    ) -> CardChoice:
        """Return the question after its checks; no file is opened.

        Raises:  ValueError naming what breaks a rule, TooManyCardsError.
        """
        check_questions(questions, plan.schema)
        return cls(
            plan=plan,
            questions=tuple(questions),
            spending=CardSpending.of(epsilon=epsilon, rho=rho),
            cards=ScorecardClass(len(questions), weights, thresholds),
            holdout=as_text(to_decimal(holdout, name="holdout")),
            cost=checked_cost(cost),
            confidence_level=plan.design.confidence_level,
        )

    @property
    def title(self) -> str:
        return f"{self.plan.title}: a card of {len(self.questions)} questions"

    @property
    def parts(self) -> tuple[int, int]:
        """How many rows choose and how many count, at the planned n."""
        return parts_of(self.plan.n_records, self.holdout)

    @property
    def excess_share(self) -> float:
        """Share of the rows that choose by which the drawn card errs more than the best one: not
        exceeded with 95 %, whatever the data are (`scorecards.excess_bound`). Where costs differ,
        in units of the larger one.
        """
        bound = utility_bound(
            n_candidates=self.cards.n_rules, epsilon=self.spending.pure_epsilon, delta=0.05
        )
        return min(1.0, bound / self.parts[0])

    @property
    def digest(self) -> str:
        decided = {
            "plan": self.plan.digest,
            "kind": "scorecard",
            "questions": [
                [
                    q.column,
                    repr(None if q.at_least is None else float(q.at_least)),
                    list(q.one_of or ()),
                ]
                for q in self.questions
            ],
            "definition": self.spending.definition,
            "amount": as_text(self.spending.amount),
            "weights": list(self.cards.weights),
            "thresholds": [repr(end) for end in self.cards.thresholds],
            "holdout": self.holdout,
            "cost": list(self.cost),
        }
        return hashlib.sha256(canonical(decided).encode()).hexdigest()

    @property
    def needed(self) -> tuple[str, ...]:
        return _mapper(self.plan.schema, self.questions).needed

    def price(self) -> Cost:
        check_reachable(self.plan.schema)
        self.check_size(self.plan.n_records)
        amount = self.spending.amount
        return Cost(
            definition=self.spending.definition, amount=amount, lines=[("card and count", amount)]
        )

    def check_size(self, n_records: int) -> None:
        parts_of(n_records, self.holdout)

    def answer(
        self, header: Header, charge: Charge, begin: Callable[[], None]
    ) -> tuple[CardRecord, dict[str, str]]:
        drawn = self.draw(header, begin)
        made = _record(self, drawn, charge)
        once.reached("drawn")
        return made, {
            CARD_NAME: made.to_json(),
            "card.csv": made.table(),
            "card.html": card_html(made),
            "plan.yaml": as_yaml(self.plan),
        }

    def draw(self, header: Header, begin: Callable[[], None]) -> DrawnCard:
        """Read, divide, choose, count; the records exist in here only."""
        mapper = _mapper(self.plan.schema, self.questions)
        cells = read_cells(header, mapper, with_target=True)
        once.reached("read")
        y = mapper.signs_of(cells[self.plan.schema.target])
        if len(y) == 0:
            raise TableError("no_rows")
        begin()
        return draw_card(
            answers(cells, self.questions, self.plan.schema),
            (y > 0).astype(np.int64),
            cards=self.cards,
            spending=self.spending,
            source=SystemSource(),
            holdout=self.holdout,
            cost=self.cost,
        )

    @classmethod
    def load(cls, folder: Path) -> CardRecord:
        return load_card(folder)


def _mapper(schema: Schema, questions: tuple[Question, ...]) -> RecordMapper:
    """Of the columns that questions are about."""
    asked = {question.column for question in questions}
    columns = [column for column in schema.features if column.name in asked]
    return RecordMapper(schema, tuple(name for column in columns for name in column.feature_names))


def load_card(path: str | Path) -> CardRecord:
    """Return the record of a scorecard.json, or of the folder that holds one.

    Raises:  ValueError that begins with the path of the field; OSError where nothing can be opened.
    """
    return load_record(CardRecord, CARD_NAME, path)


def card_html(made: CardRecord) -> str:
    """Return the page of a card: to cut out, with its error and what it rests on."""
    lines = [(q.name, points) for q, points in zip(made.questions, made.points, strict=True)]
    return render(
        "card.html",
        made=made,
        lines=lines,
        low=f"{made.error_low:.1%}",
        high=f"{made.error_high:.1%}",
        level=f"{made.confidence_level:.10g}",
    )


def _record(asked: CardChoice, drawn: DrawnCard, charge: Charge) -> CardRecord:
    low, high = drawn.interval(asked.confidence_level)
    return CardRecord(
        **entry_of(charge, asked.plan, title=asked.title),
        version=VERSION,
        kind="scorecard",
        definition=asked.spending.definition,
        amount=as_text(asked.spending.amount),
        neighbours=NEIGHBOURS,
        n_records=drawn.n_train + drawn.n_holdout,
        n_train=drawn.n_train,
        n_holdout=drawn.n_holdout,
        questions=asked.questions,
        points=drawn.card.points,
        threshold=drawn.card.threshold,
        weights=asked.cards.weights,
        thresholds=asked.cards.thresholds,
        n_rules=drawn.n_rules,
        cost=asked.cost,
        noisy_mistakes=drawn.noisy_mistakes,
        confidence_level=asked.confidence_level,
        error_low=low,
        error_high=high,
        assumptions=_assumptions(asked),
        software=dict(software()),
        schema=asked.plan.schema,
    )


def _assumptions(asked: CardChoice) -> tuple[str, ...]:
    """What the guarantee and the interval rest on, in sentences."""
    return (
        f"Whom a record stands for, as declared: {asked.plan.unit}.",
        "What is declared of the columns, the questions with their cut points and every setting "
        "were chosen without looking at the records.",
        "All noise is drawn from the operating system's entropy and exact; the program and the "
        "OpenDP library do what they say.",
        "For the interval: the records are drawn independently from the people the card is for.",
        "Nobody who should not know the records could watch the machine, or how long it took.",
    )
