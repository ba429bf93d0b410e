"""Tables 1 and 2 and Figures 2 and 3 of Chaudhuri, Monteleoni and Sarwate [CMS], measured again:
test error of the private learners by cross-validation, beside what was printed.

    python -m benchmarks.error_rates table1 --seed 20261123 --out data/accuracy_run.csv
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks import study
from benchmarks.files import append_rows
from dpci_core.base.array import Array
from dpci_core.base.errors import check_choice, check_count, check_generator, check_range
from dpci_core.base.limits import REGULARIZATION
from dpci_core.base.places import DATA
from dpci_core.base.validation import check_unit_records
from dpci_core.datasets import load, load_cms
from dpci_core.losses import make_loss
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.tuning.accuracy import accuracy_curve
from dpci_core.tuning.learners import Learner, Method, learner_noise
from dpci_core.tuning.training import HeldOut, Point, Training

ERROR_RATES_FILE = DATA / "published_error_rates.csv"
"""Tables 1 and 2 of [CMS], one row a cell."""
RUN_FILE = DATA / "accuracy_run.csv"
"""The same cells, and Figures 2 and 3, measured by this script."""
PUBLISHED_EPSILON = "0.1"
PUBLISHED_WIDTH = 0.5
"""Epsilon of the tables, and h of their Huber SVM."""
FIGURE_EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2")
EXHIBITS = {"table1": "adult", "table2": "kdd99", "figure2": "adult", "figure3": "kdd99"}
"""What can be measured again, and our name of its set."""
PUBLISHED_ROWS = {"adult": 45_220, "kdd99": 70_000}
PUBLISHED_COLUMNS = {"adult": 105, "kdd99": 119}
MOST_ROWS = 70_000
"""Rows of KDD Cup 99 that are taken where none are asked for, as many as the paper took."""
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """Mean test error of one learner at one epsilon and n.

    error_se: Monte Carlo error of the mean, from the draws of noise and training rows; 0 where
        nothing is drawn.
    error_sd: spread of single fits.
    false_positive, false_negative: mistakes among negatives and among positives.
    regularization: c that was used; is_raised where Algorithm 2 raised it.
    epsilon: None without privacy.
    """

    loss: str
    method: Method
    epsilon: str | None
    n_records: int
    regularization: float
    is_raised: bool
    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    n_fits: int
    n_failed: int


def accuracy_experiment(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    X_test: npt.ArrayLike,
    y_test: npt.ArrayLike,
    *,
    learners: Sequence[Learner],
    epsilons: Sequence[Amount],
    n_fits: int,
    rng: np.random.Generator,
    n_records: Sequence[int] | None = None,
) -> list[Accuracy]:
    """Return the mean test error of every learner at every epsilon and number of training records,
    in that order.

    Args:
        X, y, X_test, y_test: as for `private_intervals`.
        learners: method, loss and c of each.
        epsilons: amounts, each for one whole training; a non-private learner appears once for each
            n.
        n_fits: draws of noise, and of rows where n is below the table's.
        rng: of the rows and the noise.
        n_records: sizes of training tables, drawn without replacement (default: the whole table).

    Raises:  ValueError naming the argument; DataRejectedError.

    >>> from dpci_core.losses import Logistic
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(-0.7, 0.7, (3000, 1)), np.full(3000, 0.7)]
    >>> y = np.where(rng.random(3000) < 0.5 + X[:, 0] / 2, 1, -1)
    >>> learners = [Learner(loss=Logistic(), method=m, regularization=0.01)
    ...             for m in ("non_private", "objective")]
    >>> rows = accuracy_experiment(X[:2000], y[:2000], X[2000:], y[2000:], learners=learners,
    ...                            epsilons=["0.1"], n_fits=50, rng=np.random.default_rng(1))
    >>> [(row.method, round(row.error, 3)) for row in rows]
    [('non_private', 0.327), ('objective', 0.336)]
    """
    check_generator(rng)
    check_count(n_fits=n_fits)
    features, labels = check_unit_records(X, y)
    split = HeldOut(labels[:, None] * features, *check_unit_records(X_test, y_test))
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    sizes = [len(labels)] if n_records is None else list(n_records)
    for size in sizes:
        check_count(n_records=size)
        check_range((1, len(labels)), n_records=size)
    asked = [
        (learner, amount, size)
        for size in sizes
        for learner in learners
        for amount in ([None] if learner.method == "non_private" else amounts)
    ]
    points = [Point(_of(Training.of_learner, *one), one[2]) for one in asked]
    found = accuracy_curve(split, points=points, n_fits=n_fits, rng=rng)
    rows = []
    for (learner, amount, size), measured in zip(asked, found, strict=True):
        law = _of(learner_noise, learner, amount, size)
        rows.append(
            Accuracy(
                loss=learner.loss.name,
                method=learner.method,
                epsilon=None if amount is None else str(amount),
                n_records=size,
                regularization=law.regularization,
                is_raised=law.is_raised,
                **asdict(measured),
            )
        )
    return rows


Made = TypeVar("Made")


def _of(
    make: Callable[..., Made], learner: Learner, amount: Decimal | None, n_records: int
) -> Made:
    """What a learner comes to at an exact epsilon, which kernels get as a float rounded to the
    private side.
    """
    return make(
        learner, epsilon=None if amount is None else to_float_down(amount), n_records=n_records
    )


def cross_validated(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    learners: Sequence[Learner],
    epsilons: Sequence[Amount],
    n_folds: int,
    n_fits: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[Accuracy]:
    """Return `accuracy_experiment` averaged over folds.

    error_se is the Monte Carlo error of the noise on these folds; error_sd the spread of single
    fits over both.

    Args:
        X, y, learners, epsilons: as for `accuracy_experiment`.
        n_folds: each the test table once.
        n_fits: draws of noise a fold.
        progress: called with (folds done, folds).

    Source:  CMS section 7.1, with n_folds = 10 and n_fits = 50.
    """
    check_generator(rng)
    check_count(n_folds=n_folds)
    features, labels = check_unit_records(X, y)
    if not 2 <= n_folds <= len(labels):
        raise ValueError(f"Expected 2 <= n_folds={n_folds} <= {len(labels)}.")
    folds = np.array_split(rng.permutation(len(labels)), n_folds)
    parts = []
    for k, test in enumerate(folds):
        train = np.concatenate([fold for other, fold in enumerate(folds) if other != k])
        parts.append(
            accuracy_experiment(
                features[train],
                labels[train],
                features[test],
                labels[test],
                learners=learners,
                epsilons=epsilons,
                n_fits=n_fits,
                rng=rng,
            )
        )
        if progress is not None:
            progress(k + 1, n_folds)
    return [_averaged(rows) for rows in zip(*parts, strict=True)]


def _averaged(rows: Sequence[Accuracy]) -> Accuracy:
    errors = np.array([row.error for row in rows])
    return replace(
        rows[0],
        error=float(errors.mean()),
        error_se=float(np.sqrt(np.sum([row.error_se**2 for row in rows]))) / len(rows),
        error_sd=float(np.sqrt(np.mean([row.error_sd**2 for row in rows]) + errors.var())),
        false_positive=float(np.mean([row.false_positive for row in rows])),
        false_negative=float(np.mean([row.false_negative for row in rows])),
        n_fits=sum(row.n_fits for row in rows),
        n_failed=sum(row.n_failed for row in rows),
    )


def measure_cells(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    cells: Sequence[RateCell],
    n_folds: int,
    n_fits: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[Accuracy]:
    """Return `cross_validated` for the cells of one table or figure, in their order."""
    learners = list(dict.fromkeys(cell.learner for cell in cells))
    epsilons = list(dict.fromkeys(cell.epsilon for cell in cells if cell.epsilon))
    found = cross_validated(
        X,
        y,
        learners=learners,
        epsilons=epsilons,
        n_folds=n_folds,
        n_fits=n_fits,
        rng=rng,
        progress=progress,
    )
    # By what was asked for, not by what was used: two penalties that Algorithm 2 raises are one and
    # the same then.
    asked = [
        (one, e) for one in learners for e in ([""] if one.method == "non_private" else epsilons)
    ]
    by_question = dict(zip(asked, found, strict=True))
    return [by_question[cell.learner, cell.epsilon] for cell in cells]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one table or figure, print it beside the paper, keep it if asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.error_rates", description=__doc__)
    parser.add_argument("part", choices=tuple(EXHIBITS), help="1 and 2 are Adult, the others KDD")
    parser.add_argument("--rows", type=int, help="of the set (default: all; of KDD 70,000)")
    parser.add_argument("--features", type=int, help="how many (default: all)")
    parser.add_argument("--encoding", choices=("cms", "paper", "schema"), default="cms")
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--draws", type=int, default=50, help="draws of noise a fold")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="CSV file that the results are added to")
    options = parser.parse_args(arguments)
    key, cells = EXHIBITS[options.part], cells_of(options.part)
    n_rows = MOST_ROWS if key == "kdd99" and options.rows is None else options.rows
    found = measure_cells(
        *records_as_published(key, options.encoding, n_rows, options.features),
        cells=cells,
        n_folds=options.folds,
        n_fits=options.draws,
        rng=np.random.default_rng(options.seed),
    )
    made = study.how_made(options.seed)
    rows = [_row(*pair, options.folds, made) for pair in zip(cells, found, strict=True)]
    if options.out is not None:
        append_rows(rows, options.out, MeasuredRate)
    for cell, row in zip(cells, rows, strict=True):
        printed = published_error(cell)
        beside = "" if printed is None else f", printed {printed:.4f}"
        print(f"{' '.join(astuple(cell)):<50}{row.error:.4f} ± {row.error_se:.4f}{beside}")


def records_as_published(
    key: str, encoding: str, n_rows: int | None, features: int | None
) -> tuple[Array, Array]:
    """The table of a published exhibit."""
    if encoding == "cms":
        return load_cms(key, n_rows=n_rows, features=features)
    records = load(key, encoding=encoding, features=features, n_rows=n_rows)
    return records.unweighted, records.y


def _row(cell: RateCell, found: Accuracy, folds: int, made: dict[str, Any]) -> MeasuredRate:
    """One row for the file, rounded far below its Monte Carlo error."""
    return MeasuredRate(
        **asdict(cell),
        regularization=found.regularization,
        n_records=found.n_records,
        error=round(found.error, 6),
        error_se=round(found.error_se, 7),
        error_sd=round(found.error_sd, 6),
        false_positive=round(found.false_positive, 6),
        false_negative=round(found.false_negative, 6),
        n_fits=found.n_fits,
        n_failed=found.n_failed,
        folds=folds,
        **made,
    )


if __name__ == "__main__":
    main()
