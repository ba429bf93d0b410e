"""A release of what is chosen privately: a histogram of a declared column, or one of several
penalties with its model.

One line of the ledger pays for training and choice, which are two sides of a maximum
(docs/selection.md). It is booked before the rows are divided.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from dpci_core.base.rows import WeightedRows
from dpci_core.base.validation import check_rows
from dpci_core.ledger import Charge, Cost, as_text
from dpci_core.mechanisms.mechanism import mechanism_of
from dpci_core.plan import Plan, as_yaml
from dpci_core.plan.link import canonical
from dpci_core.privacy.budget import Amount, to_decimal
from dpci_core.privacy.randomness import SystemSource
from dpci_core.release import once
from dpci_core.release.chosen import CHOICE_NAME, ChoiceRecord, load_choice, report_of
from dpci_core.release.content import entry_of, software
from dpci_core.release.once import Question, check_reachable
from dpci_core.release.record import NEIGHBOURS
from dpci_core.release.table import Header, TableError, read_cells, read_records
from dpci_core.report.covered import transformations
from dpci_core.schema import NumericColumn, RecordMapper
from dpci_core.schema.spelling import number_of
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.histograms import checked_bins, select_histogram, spend_histogram
from dpci_core.tuning.learners import Learner, Method, learner_noise
from dpci_core.tuning.released import certified, spending_of_release
from dpci_core.tuning.selection import Ramp, Spending, distinct_candidates, select_by


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """What was drawn: the numbers of a record that depend on records, all released."""

    n_records: int
    spending: Spending
    chosen: float
    edges: tuple[float, ...] = ()
    counts: tuple[int, ...] = ()
    coefficients: tuple[float, ...] = ()
    regularization: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Choice(Question[ChoiceRecord]):
    """What is chosen privately; the plan's own budget plays no part.

    epsilon: of everything (> 0), exact.
    candidates: numbers of bins, or penalties c.
    validation_share: of the rows, that score.
    """

    record_name = CHOICE_NAME
    epsilon: Decimal
    candidates: tuple[float, ...]
    validation_share: Decimal

    @property
    @abstractmethod
    def kind(self) -> str:
        """ "histogram" or "model"."""

    @property
    @abstractmethod
    def column(self) -> str:
        """Of a histogram; empty for a model."""

    @property
    def title(self) -> str:
        """For the ledger."""
        about = f"histogram of {self.column}" if self.column else "a penalty chosen privately"
        return f"{self.plan.title}: {about}"

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was decided, the order of the candidates too."""
        decided = {
            "plan": self.plan.digest,
            "kind": self.kind,
            "column": self.column,
            "epsilon": as_text(self.epsilon),
            "candidates": [repr(one) for one in self.candidates],
            "validation_share": as_text(self.validation_share),
            "method": "stability",
        }
        return hashlib.sha256(canonical(decided).encode()).hexdigest()

    @property
    def cost(self) -> Cost:
        """One line: what training and choice cost does not add up."""
        line = "histogram" if self.column else "model and choice"
        return Cost(definition="pure", amount=self.epsilon, lines=[(line, self.epsilon)])

    @abstractmethod
    def spending(self, n_records: int) -> Spending:
        """What is spent on what at an n; every refusal that public numbers decide."""

    @abstractmethod
    def draw(self, header: Header, begin: Callable[[], None]) -> Drawing:
        """Read, divide, train, choose; the records exist in here only."""

    def price(self) -> Cost:
        check_reachable(self.plan.schema)
        self.spending(self.plan.n_records)
        return self.cost

    def check_size(self, n_records: int) -> None:
        self.spending(n_records)

    def answer(
        self, header: Header, charge: Charge, begin: Callable[[], None]
    ) -> tuple[ChoiceRecord, dict[str, str]]:
        made = _record(self, self.draw(header, begin), charge)
        once.reached("drawn")
        return made, {
            CHOICE_NAME: made.to_json(),
            f"{self.kind}.csv": made.table(),
            "report.md": report_of(made),
            "plan.yaml": as_yaml(self.plan),
        }

    @classmethod
    def load(cls, folder: Path) -> ChoiceRecord:
        return load_choice(folder)


@dataclass(frozen=True, kw_only=True)
class HistogramChoice(Choice):
    """A histogram of a declared number, the number of its bins chosen privately if there are
    several candidates.

    of: the column.
    """

    of: str

    @classmethod
    def make(
        cls,
        plan: Plan,
        column: str,
        *,
        epsilon: Amount,
        bins: tuple[int, ...],
        validation_share: Amount = "0.1",
    ) -> HistogramChoice:
        """Return the question after its checks.

        Raises:  ValueError naming what breaks a rule.
        """
        numbers = [one.name for one in plan.schema.features if isinstance(one, NumericColumn)]
        if column not in numbers:
            raise ValueError(
                f"Expected a number that the plan declares, got {column!r}; it declares "
                f"{', '.join(numbers) or 'none'}."
            )
        listed = checked_bins(bins)
        return cls(
            plan=plan,
            epsilon=to_decimal(epsilon, name="epsilon"),
            candidates=tuple(float(one) for one in listed),
            validation_share=to_decimal(validation_share, name="validation_share"),
            of=column,
        )

    @property
    def kind(self) -> str:
        return "histogram"

    @property
    def column(self) -> str:
        return self.of

    @property
    def needed(self) -> tuple[str, ...]:
        return (self.of,)

    @property
    def bins(self) -> tuple[int, ...]:
        """The candidates."""
        return tuple(int(one) for one in self.candidates)

    @property
    def declared(self) -> NumericColumn:
        """The column as it is declared."""
        found = next(one for one in self.plan.schema.features if one.name == self.of)
        assert isinstance(found, NumericColumn)
        return found

    def spending(self, n_records: int) -> Spending:
        return spend_histogram(
            "stability",
            epsilon=self.epsilon,
            candidates=self.bins,
            n_records=n_records,
            validation_share=self.validation_share,
        )

    def draw(self, header: Header, begin: Callable[[], None]) -> Drawing:
        column = self.declared
        mapper = RecordMapper(self.plan.schema, column.feature_names)
        cells = read_cells(header, mapper)[column.name]
        once.reached("read")
        if not cells:
            raise TableError("no_rows")
        values = np.array([number_of(cell) for cell in cells])
        x = np.where(np.isnan(values), column.middling, np.clip(values, column.low, column.high))
        begin()
        found = select_histogram(
            x,
            bounds=(column.low, column.high),
            candidates=self.bins,
            epsilon=self.epsilon,
            validation_share=self.validation_share,
            source=SystemSource(),
        )
        return Drawing(
            n_records=len(x),
            spending=found.spending,
            chosen=float(found.n_bins),
            edges=tuple(found.edges.tolist()),
            counts=tuple(int(count) for count in found.counts),
        )


@dataclass(frozen=True, kw_only=True)
class ModelChoice(Choice):
    """The model of a plan's loss and mechanism at one of several penalties, chosen by
    stability-based validation; no intervals.
    """

    @classmethod
    def make(
        cls,
        plan: Plan,
        *,
        epsilon: Amount,
        penalties: tuple[float, ...],
        validation_share: Amount = "0.1",
    ) -> ModelChoice:
        """Return the question after its checks.

        Raises:  ValueError naming what breaks a rule.
        """
        if plan.schema.standard is not None:
            raise ValueError(
                "Expected a plan whose columns are scaled by their bounds: the bounds of the "
                "scores are for rows of weight 1."
            )
        if plan.design.geometry is not None:
            raise ValueError(
                "Expected a plan without a geometry: the bounds of the scores are for noise of "
                "equal size in every direction."
            )
        made = cls(
            plan=plan,
            epsilon=to_decimal(epsilon, name="epsilon"),
            candidates=tuple(float(c) for c in penalties),
            validation_share=to_decimal(validation_share, name="validation_share"),
        )
        distinct_candidates(made.listed)
        return made

    @property
    def kind(self) -> str:
        return "model"

    @property
    def column(self) -> str:
        return ""

    @property
    def needed(self) -> tuple[str, ...]:
        return RecordMapper(self.plan.schema, self.plan.features).needed

    @property
    def listed(self) -> tuple[Candidate, ...]:
        """The candidates as learners."""
        design = self.plan.design
        perturbs_objective = mechanism_of(design).perturbs_objective
        method: Method = "objective_tight" if perturbs_objective else "output"
        return tuple(
            Candidate(learner=Learner(loss=design.loss, method=method, regularization=c))
            for c in self.candidates
        )

    def spending(self, n_records: int) -> Spending:
        return spending_of_release(
            "stability",
            candidates=self.listed,
            epsilon=self.epsilon,
            n_records=n_records,
            n_features=len(self.plan.names),
            validation_share=self.validation_share,
        )

    def draw(self, header: Header, begin: Callable[[], None]) -> Drawing:
        X, y, _ = read_records(header, RecordMapper(self.plan.schema, self.plan.features))
        assert not isinstance(X, WeightedRows)  # `make` saw to it
        once.reached("read")
        check_rows(X, y)
        source, spending = SystemSource(), self.spending(len(y))
        begin()
        result = select_by(
            X,
            y,
            candidates=self.listed,
            total=self.epsilon,
            spending=spending,
            score=Ramp(),
            source=source,
            trainer=lambda A, learner, share: certified(A, learner, share, source),
        )
        run = learner_noise(
            result.chosen.learner, epsilon=float(spending.train), n_records=spending.n_train
        )
        return Drawing(
            n_records=len(y),
            spending=spending,
            chosen=self.candidates[result.index],
            coefficients=tuple(result.theta.tolist()),
            regularization=run.regularization,
        )


def _record(choice: Choice, drawn: Drawing, charge: Charge) -> ChoiceRecord:
    plan, spending = choice.plan, drawn.spending
    return ChoiceRecord(
        **entry_of(charge, plan, title=choice.title),
        version=1,
        kind=choice.kind,
        definition="pure",
        epsilon=as_text(choice.epsilon),
        neighbours=NEIGHBOURS,
        train=as_text(spending.train),
        n_records=drawn.n_records,
        n_train=spending.n_train,
        n_validation=spending.n_validation,
        candidates=choice.candidates,
        chosen=drawn.chosen,
        column=choice.column,
        edges=drawn.edges,
        counts=drawn.counts,
        names=plan.names if drawn.coefficients else (),
        coefficients=drawn.coefficients,
        regularization=drawn.regularization,
        assumptions=_assumptions(choice),
        software=dict(software()),
    )


def _assumptions(choice: Choice) -> tuple[str, ...]:
    """What the guarantee rests on, in sentences."""
    found = [
        f"Whom a record stands for, as declared: {choice.plan.unit}.",
        "What is declared of the columns, the candidates and every setting were chosen without "
        "looking at the records.",
        *transformations(choice.plan.transformations),
        "All noise is drawn from the operating system's entropy and exact; the program, the OpenDP "
        "and Arb libraries do what they say.",
    ]
    if not choice.column:
        found.append(
            "Every fit reaches its fixed tolerance on every table: proved in exact arithmetic, "
            "tested beyond it."
        )
        if mechanism_of(choice.plan.design).perturbs_objective:
            found.append(
                "A noise vector too long for a certified fit ends a release without a result: a "
                f"delta of at most {len(choice.candidates)} times 2^-200."
            )
    found.append(
        "Nobody who should not know the records could watch the machine, or how long it took."
    )
    return tuple(found)
