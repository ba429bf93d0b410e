"""Our runs of choosing privately: what is measured, and its file.

[CV13] print no numbers, so ours stand alone.  Reading compiles nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.errors import check_choice, check_count, check_positive, check_range
from dpci_core.base.places import DATA
from dpci_core.studies._runs import append_rows, read_rows

RUN_FILE = DATA / "selection_run.csv"
"""Made by `python -m benchmarks.selection`."""
RUNS = ("adult", "adult_scaled", "adult_small", "census", "histogram")
"""Adult in the encoding "paper"; its columns scaled by their standard deviations to rows of norm 1,
no constant; "paper" with smaller penalties; the simulated census; a histogram of draws from a
known density.
"""
RUN_METHODS = (
    "control",
    "stability",
    "stability_published",
    "alpha_split",
    "data_split",
    "random_stopping",
    "random",
    "default",
)
PUBLISHED_PENALTIES = tuple(0.001 if i == 0 else round(0.001 + i * 0.111, 3) for i in range(10))
"""Lambda of the ten candidates, from memory of [CV13]'s text: 0.001 to 1 in equal steps."""


@dataclass(frozen=True, slots=True)
class SelectionRate:
    """One point of a run, and how it was made.

    error, error_se: prediction error, or integrated squared error, with its Monte Carlo error.
    auc, auc_se: area under the ROC curve; 0 for a histogram.
    gap, gap_se: in error to Control on the same rows.
    candidates, chosen: penalties Lambda or numbers of bins, and the chance of each; with blanks
        between.
    train: epsilon of one training.
    Raises:  ValueError for values that no run gives.
    """

    run: str
    method: str
    epsilon: str
    error: float
    error_se: float
    auc: float
    auc_se: float
    gap: float
    gap_se: float
    constant_error: float
    candidates: str
    chosen: str
    train: str
    n_train: int
    n_validation: int
    divisions: int
    seed: int
    date: str
    versions: str

    def __post_init__(self) -> None:
        check_choice(self.run, RUNS, name="run")
        check_choice(self.method, RUN_METHODS, name="method")
        check_positive(epsilon=float(self.epsilon), train=float(self.train))
        check_count(n_train=self.n_train, n_validation=self.n_validation, divisions=self.divisions)
        check_range((0.0, 1e3), error=self.error, error_se=self.error_se)
        check_range((0.0, 1.0), auc=self.auc, constant_error=self.constant_error)
        if self.method != "default" and len(self.shares) != len(self.candidates.split()):
            raise ValueError(f"Expected chosen={self.chosen!r} to hold one share a candidate.")

    @property
    def shares(self) -> list[float]:
        """How often each candidate was chosen."""
        return [float(share) for share in self.chosen.split()]


def read_selection(path: Path = RUN_FILE) -> list[SelectionRate]:
    """Return the rows on file; of several of the same point the last one."""
    found = {(row.run, row.method, row.epsilon): row for row in read_rows(SelectionRate, path)}
    return list(found.values())


def append_selection(rows: Iterable[SelectionRate], path: Path) -> None:
    """Add rows to a file of results, after cutting off an unfinished last line."""
    append_rows(rows, path, SelectionRate)
