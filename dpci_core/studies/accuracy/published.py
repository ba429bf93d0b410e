"""What [CMS] printed on accuracy, what was measured beside it, and the cells of both; reading
compiles nothing.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dpci_core.base.errors import check_choice
from dpci_core.base.limits import REGULARIZATION
from dpci_core.base.places import DATA
from dpci_core.losses import make_loss
from dpci_core.studies._runs import append_rows, read_rows
from dpci_core.tuning.learners import Learner, Method

ERROR_RATES_FILE = DATA / "published_error_rates.csv"
"""Tables 1 and 2 of [CMS], one row a cell."""
RUN_FILE = DATA / "accuracy_run.csv"
"""The same cells, and Figures 2 and 3, measured by `python -m dpci_core accuracy published`."""
PUBLISHED_EPSILON = "0.1"
PUBLISHED_WIDTH = 0.5
"""Epsilon of the tables, and h of their Huber SVM."""
FIGURE_EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2")
EXHIBITS = {"table1": "adult", "table2": "kdd99", "figure2": "adult", "figure3": "kdd99"}
"""What can be measured again, and our name of its set."""
PUBLISHED_ROWS = {"adult": 45_220, "kdd99": 70_000}
PUBLISHED_COLUMNS = {"adult": 105, "kdd99": 119}
_TABLE_OF = {"table1": 1, "table2": 2, "figure2": 1, "figure3": 2}


@dataclass(frozen=True, slots=True)
class PublishedRate:
    """One cell of Table 1 (Adult) or 2 (KDD Cup 99): the test error at epsilon 0.1 and a Lambda.

    Here c = Lambda/2, and the method is one of `learners.METHODS`.
    """

    table: int
    dataset: str
    loss: str
    method: Method
    penalty: str
    error: float

    @property
    def regularization(self) -> float:
        """c of the printed Lambda, a power of ten such as 1e-3.5."""
        return penalty_value(self.penalty) / 2.0


def penalty_value(penalty: str) -> float:
    """Lambda as printed, a power of ten.

    >>> round(penalty_value("1e-3.5"), 8)
    0.00031623
    """
    return float(10.0 ** float(penalty.removeprefix("1e")))


@lru_cache(maxsize=1)
def published_rates() -> tuple[PublishedRate, ...]:
    """Return the 96 printed error rates.

    >>> len(published_rates()), published_rates()[0].error
    (96, 0.154)
    """
    with ERROR_RATES_FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(
            PublishedRate(
                int(row["table"]),
                row["dataset"],
                row["loss"],
                _method(row["method"]),
                row["penalty"],
                float(row["error"]),
            )
            for row in csv.DictReader(lines)
        )


def _method(name: str) -> Method:
    known: dict[str, Method] = {
        "non_private": "non_private",
        "output": "output",
        "objective": "objective",
    }
    return known[name]


@dataclass(frozen=True, slots=True)
class RateCell:
    """One error rate to measure: a learner at a printed Lambda and an epsilon, "" without
    privacy.
    """

    part: str
    loss: str
    method: Method
    penalty: str
    epsilon: str

    @property
    def learner(self) -> Learner:
        """The learner; the smallest Lambda, 1e-10, stands at the smallest c allowed here."""
        loss = make_loss(self.loss, PUBLISHED_WIDTH)
        c = max(penalty_value(self.penalty) / 2.0, REGULARIZATION[0])
        return Learner(loss=loss, method=self.method, regularization=c)


def cells_of(part: str) -> tuple[RateCell, ...]:
    """The cells of a table, or of a figure: each method at the Lambda that was best in the table of
    its set.

    Source:  CMS section 7.2; the epsilons of the figures are ours.

    >>> len(cells_of("table1")), [cell.penalty for cell in cells_of("figure2")[:2]]
    (48, ['1e-7.0', '1e-2.0'])
    """
    check_choice(part, tuple(EXHIBITS), name="part")
    rates = [rate for rate in published_rates() if rate.table == _TABLE_OF[part]]
    if part.startswith("table"):
        return tuple(
            RateCell(part, r.loss, r.method, r.penalty, _epsilon_of(r.method)) for r in rates
        )
    cells = []
    for loss, method in dict.fromkeys((rate.loss, rate.method) for rate in rates):
        best = min(
            (r for r in rates if (r.loss, r.method) == (loss, method)), key=lambda r: r.error
        )
        epsilons = ("",) if method == "non_private" else FIGURE_EPSILONS
        cells += [RateCell(part, loss, method, best.penalty, epsilon) for epsilon in epsilons]
    return tuple(cells)


def _epsilon_of(method: Method) -> str:
    return "" if method == "non_private" else PUBLISHED_EPSILON


def published_error(cell: RateCell) -> float | None:
    """What was printed for a cell; None where nothing was."""
    if cell.epsilon != _epsilon_of(cell.method):
        return None
    table = _TABLE_OF[cell.part]
    wanted = (table, cell.loss, cell.method, cell.penalty)
    return next(
        (r.error for r in published_rates() if (r.table, r.loss, r.method, r.penalty) == wanted),
        None,
    )


@dataclass(frozen=True, slots=True)
class MeasuredRate:
    """One row of results: the cell, what `Accuracy` holds of it, and how it was made.

    n_records: trained on, in each of so many folds.
    regularization: c that was used.
    """

    part: str
    loss: str
    method: str
    penalty: str
    epsilon: str
    regularization: float
    n_records: int
    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    n_fits: int
    n_failed: int
    folds: int
    seed: int
    date: str
    versions: str

    @property
    def cell(self) -> RateCell:
        """What was measured."""
        return RateCell(self.part, self.loss, _method(self.method), self.penalty, self.epsilon)


def read_rates(path: Path = RUN_FILE) -> dict[RateCell, MeasuredRate]:
    """Results on file, by cell; the last row of a cell counts."""
    return {row.cell: row for row in read_rows(MeasuredRate, path)}


def append_rates(rows: Iterable[MeasuredRate], path: Path) -> None:
    """Add rows to a file of results, after cutting off an unfinished last line."""
    append_rows(rows, path, MeasuredRate)
