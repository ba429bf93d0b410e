"""Figures 4 and 5 of [CMS], test error against n under private tuning: what is measured of them,
and its file.

Their plotted values were never printed, so ours stand alone.  Reading compiles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.errors import check_choice, check_count, check_positive, check_range
from dpci_core.base.places import DATA
from dpci_core.losses import Loss, make_loss
from dpci_core.studies._runs import append_rows, read_rows
from dpci_core.studies.accuracy.published import PUBLISHED_WIDTH, penalty_value
from dpci_core.tuning.learners import METHODS

RUN_FILE = DATA / "tuning_run.csv"
"""Our run, by `python -m dpci_core accuracy published figure4` and `figure5`."""
EXHIBITS = {"figure4": "logistic", "figure5": "huber_svm"}
"""The loss of each."""
DATASET = "kdd99"
EPSILONS = ("0.01", "0.05")
PENALTIES = ("1e-3.5", "1e-3.0", "1e-2.5", "1e-2.0", "1e-1.5")
"""Lambda of the five candidates: the five largest of their Table 2, where the private learners are
at their best.
"""
SIZES = (20_000, 40_000, 60_000, 74_000, 88_800)
"""Rows that train one candidate; five times the last and twice `HELD_OUT` are what the 10 % file
has.
"""
HELD_OUT = 25_000
PERMUTATIONS = 5
PUBLISHED_SIZES = (60_000, 120_000)
"""The least and the most that [CMS] trained one candidate on."""


def loss_of(part: str) -> Loss:
    """The loss of a figure."""
    check_choice(part, tuple(EXHIBITS), name="part")
    return make_loss(EXHIBITS[part], PUBLISHED_WIDTH)


def regularizations() -> list[float]:
    """c = Lambda/2 of the candidates."""
    return [penalty_value(penalty) / 2.0 for penalty in PENALTIES]


@dataclass(frozen=True, slots=True)
class TunedCell:
    """One point of a figure: a method at an epsilon, "" without privacy, with so many rows behind a
    candidate.
    """

    part: str
    method: str
    epsilon: str
    n_train: int


@dataclass(frozen=True, slots=True)
class TunedRate:
    """One row of results: what `TunedPoint` holds of a point, and how it was made.

    chosen: how often each of the candidates `penalties` was, both in one order with blanks between.
    Raises:  ValueError for values that no run gives.
    """

    part: str
    method: str
    epsilon: str
    n_train: int
    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    best_error: float
    constant_error: float
    penalties: str
    chosen: str
    n_failed: int
    held_out: int
    permutations: int
    runs: int
    seed: int
    date: str
    versions: str

    def __post_init__(self) -> None:
        check_choice(self.part, tuple(EXHIBITS), name="part")
        check_choice(self.method, METHODS, name="method")
        if (self.method == "non_private") != (self.epsilon == ""):
            raise ValueError(
                f"Expected epsilon={self.epsilon!r} with a private method and only there."
            )
        if self.epsilon:
            check_positive(epsilon=float(self.epsilon))
        check_count(
            n_train=self.n_train,
            held_out=self.held_out,
            permutations=self.permutations,
            runs=self.runs,
        )
        check_range(
            (0.0, 1.0),
            error=self.error,
            best_error=self.best_error,
            constant_error=self.constant_error,
        )
        check_range(
            (0.0, 1.0), false_positive=self.false_positive, false_negative=self.false_negative
        )
        check_range((0.0, 1.0), error_se=self.error_se, error_sd=self.error_sd)
        if (
            len(self.times_chosen) != len(self.penalties.split())
            or sum(self.times_chosen) != self.n_choices
        ):
            raise ValueError(
                f"Expected chosen={self.chosen!r} to share out {self.n_choices} choices."
            )
        check_range((0, self.n_choices * len(self.times_chosen)), n_failed=self.n_failed)

    @property
    def cell(self) -> TunedCell:
        """What was measured."""
        return TunedCell(self.part, self.method, self.epsilon, self.n_train)

    @property
    def n_choices(self) -> int:
        """Runs behind the mean; without privacy nothing is drawn, so each permutation is one."""
        return self.permutations * (self.runs if self.epsilon else 1)

    @property
    def times_chosen(self) -> list[int]:
        """How often each candidate was chosen."""
        return [int(times) for times in self.chosen.split()]


def read_tuned(path: Path = RUN_FILE) -> dict[TunedCell, TunedRate]:
    """Results on file, by cell; the last row of a cell counts."""
    return {row.cell: row for row in read_rows(TunedRate, path)}


def append_tuned(rows: Iterable[TunedRate], path: Path) -> None:
    """Add rows to a file of results, after cutting off an unfinished last line."""
    append_rows(rows, path, TunedRate)
