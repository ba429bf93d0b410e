"""Our runs of private scorecards beside regression and the published methods: tables, questions,
and the file.

[NRVW] print no numbers, so ours stand alone. Reading compiles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from dpci_core.base.errors import check_choice, check_count, check_positive, check_range
from dpci_core.base.places import DATA
from dpci_core.scorecards import Card, Question
from dpci_core.studies._runs import append_rows, read_rows

RUN_FILE = DATA / "scorecards_run.csv"
"""Made by `python -m benchmarks.scorecards curves`."""
RUN_SIZES: dict[str, tuple[str, int | None]] = {
    "adult": ("adult", None),
    "adult_2000": ("adult", 2_000),
    "adult_500": ("adult", 500),
    "bank": ("bank", None),
    "bank_2000": ("bank", 2_000),
    "kdd99": ("kdd99", None),
    "kdd99_2000": ("kdd99", 2_000),
    "breast_cancer": ("breast_cancer", None),
}
"""Table and rows of a run; None is all positives with as many of the others."""
RUN_METHODS = (
    "scorecard",
    "logistic",
    "logistic_all",
    "one_hot",
    "opdisc",
    "rspm",
    "opdisc_published",
    "best_card",
    "best_logistic",
)
"""The last two without privacy; "opdisc_published" is not private as published."""
EXACT = ("scorecard", "best_card", "best_logistic")
"""Methods without a Monte Carlo error."""
QUESTIONS = {
    "adult": (
        Question("marital_status", one_of=("Married-civ-spouse", "Married-AF-spouse")),
        Question("education_num", at_least=13),
        Question("age", at_least=40),
        Question("hours_per_week", at_least=45),
        Question("capital_gain", at_least=5_001),
        Question("capital_loss", at_least=1),
    ),
    "bank": (
        Question("duration", at_least=300),
        Question("poutcome", one_of=("success",)),
        Question("contact", one_of=("unknown",)),
        Question("housing", one_of=("yes",)),
        Question("loan", one_of=("yes",)),
        Question("age", at_least=60),
    ),
    "kdd99": (
        Question("logged_in", at_least=1),
        Question("count", at_least=100),
        Question("serror_rate", at_least=0.5),
        Question("src_bytes", at_least=1),
        Question("dst_host_srv_count", at_least=100),
        Question("protocol_type", one_of=("icmp",)),
    ),
    "breast_cancer": (
        Question("worst radius", at_least=17),
        Question("worst texture", at_least=25),
        Question("worst concave points", at_least=0.15),
        Question("worst area", at_least=900),
        Question("mean concavity", at_least=0.1),
        Question("worst smoothness", at_least=0.14),
    ),
}
"""Six a table, with round cut points; Adult's are those one would ask first."""


@dataclass(frozen=True, slots=True)
class ScorecardRate:
    """One point of a run, and how it was made.

    epsilon: total; empty without privacy.
    error: share of mistakes on the rows of the run, as [NRVW] measure it.
    error_se, error_sd: its Monte Carlo error and the spread of single draws; 0 where exact.
    within: chance that a drawn card errs for at most one of a hundred records more than the best.
    card: points with blanks between and the threshold, of one seeded draw; empty for no card.
    Raises:  ValueError for values that no run gives.
    """

    run: str
    method: str
    epsilon: str
    error: float
    error_se: float
    error_sd: float
    within: float
    card: str
    n_records: int
    draws: int
    seed: int
    date: str
    versions: str

    def __post_init__(self) -> None:
        check_choice(self.run, tuple(RUN_SIZES), name="run")
        check_choice(self.method, RUN_METHODS, name="method")
        if self.epsilon:
            check_positive(epsilon=float(self.epsilon))
        check_range((0.0, 1.0), error=self.error, error_se=self.error_se, error_sd=self.error_sd)
        check_range((0.0, 1.0), within=self.within)
        check_count(n_records=self.n_records, draws=self.draws)
        if self.card and len(self.card.split()) != len(self.questions) + 1:
            raise ValueError(f"Expected card={self.card!r} to hold points and a threshold.")

    @property
    def questions(self) -> tuple[Question, ...]:
        """Of the table."""
        return QUESTIONS[RUN_SIZES[self.run][0]]

    @property
    def drawn(self) -> Card | None:
        """The card of the seeded draw."""
        if not self.card:
            return None
        *points, threshold = self.card.split()
        return Card(tuple(int(one) for one in points), float(threshold))


def read_scorecards(path: Path = RUN_FILE) -> list[ScorecardRate]:
    """Return the rows on file; of several of the same point the last one."""
    found = {(row.run, row.method, row.epsilon): row for row in read_rows(ScorecardRate, path)}
    return list(found.values())


def append_scorecards(rows: Iterable[ScorecardRate], path: Path) -> None:
    """Add rows to a file of results, after cutting off an unfinished last line."""
    append_rows(rows, path, ScorecardRate)


def epsilon_for(rows: Iterable[ScorecardRate], error: float) -> float | None:
    """Return the epsilon at which a curve reaches an error, by straight lines in its logarithm;
    None where it does not.

    Args:
        rows: of one method and run.
        error: asked for.
    """
    curve = sorted((float(row.epsilon), row.error) for row in rows if row.epsilon)
    if curve and curve[0][1] <= error:
        return curve[0][0]
    for (low, above), (high, below) in pairwise(curve):
        if above > error >= below:
            return float(low * (high / low) ** ((above - error) / (above - below)))
    return None
