"""Private tuning, measured: what it costs against tuning on public data, and Figures 4 and 5 of
Chaudhuri, Monteleoni and Sarwate [CMS].

    python -m benchmarks.tuning cost [--draws 20]
    python -m benchmarks.tuning figure4 --seed 20261121 --out data/tuning_run.csv

cost: on the simulated census, with the true price of both. Algorithm 4 tunes on parts of the table
itself; the other way takes the best candidate of another simulated table and trains it on every
record. The candidates differ in loss, mechanism and penalty. The last column is the default penalty
of the estimators, which looks at no table.

figure4, figure5: in one permutation of the table some rows test, as many others are what a
candidate is chosen with, and every candidate trains on rows of its own. In one run each candidate
is trained once on its n rows, and the exponential mechanism chooses among them (Algorithm 4).
Without privacy every candidate trains on the rows of all of them, and the one with the fewest
mistakes is taken. Their plotted values were never printed, so ours stand alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import study
from benchmarks.error_rates import (
    PUBLISHED_WIDTH,
    accuracy_experiment,
    penalty_value,
    records_as_published,
)
from benchmarks.files import append_rows
from dpci_core import Design, HuberSVM, Logistic, PureDP, datasets
from dpci_core.base.array import Array, Integers, Positions
from dpci_core.base.errors import (
    check_choice,
    check_count,
    check_generator,
)
from dpci_core.base.validation import check_unit_records
from dpci_core.estimators.defaults import default_regularization
from dpci_core.losses import Loss, make_loss
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.tuning import Candidate, tune_privately
from dpci_core.tuning.accuracy import Errors, errors_of, trained_models
from dpci_core.tuning.choose import chosen
from dpci_core.tuning.learners import Learner, Method
from dpci_core.tuning.training import Training, constant_error

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
class TunedRate:
    """One row of results: what `TunedPoint` holds of a point, and how it was made.

    chosen: how often each of the candidates `penalties` was, both in one order with blanks between.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningProtocol:
    """How a curve is measured.

    sizes: rows that train one candidate.
    n_held_out: rows a choice is made with, and as many that test it.
    n_permutations: of the table, at least 2, between which the Monte Carlo error is seen.
    n_runs: in each of them.
    """

    sizes: tuple[int, ...]
    n_held_out: int
    n_permutations: int
    n_runs: int

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("Expected sizes to hold at least one.")
        for size in self.sizes:
            check_count(size=size)
        check_count(
            n_held_out=self.n_held_out, n_runs=self.n_runs, n_permutations=self.n_permutations
        )
        if self.n_permutations < 2:
            raise ValueError(f"Expected n_permutations={self.n_permutations} >= 2.")


@dataclass(frozen=True, slots=True)
class Division:
    """Numbers of the rows that test, of those a choice is made with, and of those that train each
    candidate.
    """

    test: Positions
    validation: Positions
    train: tuple[Positions, ...]


def divide(
    n_rows: int, *, n_candidates: int, size: int, n_held_out: int, rng: np.random.Generator
) -> Division:
    """Return disjoint parts of a table, in random order: two of n_held_out rows and one of `size`
    for each candidate.

    Raises:  ValueError if the table has too few rows.
    """
    most = (n_rows - 2 * n_held_out) // n_candidates
    if size > most:
        raise ValueError(
            f"Expected size={size} <= {most}: {n_rows} rows, {n_candidates} candidates."
        )
    test, validation, rest = np.split(rng.permutation(n_rows), [n_held_out, 2 * n_held_out])
    return Division(
        test, validation, tuple(rest[i * size : (i + 1) * size] for i in range(n_candidates))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedPoint:
    """Mean test error of what was chosen, over permutations and runs.

    epsilon: of training and choice together; None without privacy.
    n_train: rows behind one candidate; without privacy all candidates have the rows of all.
    error_se: from the spread of the permutations' means.
    error_sd: spread of single runs.
    best_error: of the candidate that is best on average, had one known it.
    chosen: how often each candidate was.
    constant_error: of always naming the commoner class.
    """

    method: Method
    epsilon: str | None
    n_train: int
    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    best_error: float
    constant_error: float
    chosen: tuple[int, ...]
    n_failed: int


def tuned_curve(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    loss: Loss,
    regularizations: Sequence[float],
    epsilons: Sequence[Amount],
    protocol: TuningProtocol,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[TunedPoint]:
    """Return the points for each size: without privacy, then Algorithms 1 and 2 at each epsilon.

    Args:
        X, y: as for `private_intervals`.
        loss: of all learners.
        regularizations: c of each candidate.
        epsilons: of training and choice together.
        protocol: sizes, held-out rows and repetitions.
        rng: equal rows and equal unit noise behind all points of a permutation, so that differences
            are surer than each by itself.
        progress: called with (permutations done, permutations).

    Raises:  ValueError naming the argument; DataRejectedError.
    Source:  CMS section 7.3.
    """
    check_generator(rng)
    features, labels = check_unit_records(X, y)
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    private: list[tuple[Method, Decimal | None]] = list(product(("output", "objective"), amounts))
    asked = [(size, *how) for size in protocol.sizes for how in [("non_private", None), *private]]
    found: list[list[_Runs]] = [[] for _ in asked]
    for done in range(protocol.n_permutations):
        table = _Permuted.of(features, labels, len(regularizations), protocol, rng)
        for runs, (size, method, amount) in zip(found, asked, strict=True):
            learners = [
                Learner(loss=loss, method=method, regularization=c) for c in regularizations
            ]
            runs.append(_tuned(table, learners, size, amount))
        if progress is not None:
            progress(done + 1, protocol.n_permutations)
    return [_averaged(runs, *one) for runs, one in zip(found, asked, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Permuted:
    """A permutation of the table, and the random numbers of its runs.

    train: rows y x (size, p) of each candidate.
    seeds: of each candidate's noise.
    uniform: (runs,), of the choices.
    """

    train: list[Array]
    validation: tuple[Array, Array]
    test: tuple[Array, Array]
    seeds: list[int]
    uniform: Array

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        n_candidates: int,
        protocol: TuningProtocol,
        rng: np.random.Generator,
    ) -> _Permuted:
        size, n_held_out = max(protocol.sizes), protocol.n_held_out
        parts = divide(len(y), n_candidates=n_candidates, size=size, n_held_out=n_held_out, rng=rng)
        return cls(
            train=[y[part, None] * X[part] for part in parts.train],
            validation=(X[parts.validation], y[parts.validation]),
            test=(X[parts.test], y[parts.test]),
            seeds=[int(seed) for seed in rng.integers(2**63, size=n_candidates)],
            uniform=rng.random(protocol.n_runs),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """What the runs of one permutation chose, (B,), its errors on the test rows, and each
    candidate's, (m,).
    """

    index: Positions
    error: Array
    false_positive: Array
    false_negative: Array
    candidates: Array
    constant_error: float
    n_failed: int


def _tuned(
    table: _Permuted, learners: Sequence[Learner], size: int, amount: Decimal | None
) -> _Runs:
    """All runs of one permutation at one size; a single one without privacy, where nothing is
    drawn.
    """
    epsilon = None if amount is None else to_float_down(amount)
    n_runs = 1 if epsilon is None else len(table.uniform)
    parts = [part[:size] for part in table.train]
    together = np.concatenate(parts) if epsilon is None else None
    mistakes, tested = np.empty((n_runs, len(learners)), dtype=np.int64), []
    for i, learner in enumerate(learners):
        A = parts[i] if together is None else together
        training = Training.of_learner(learner, epsilon=epsilon, n_records=len(A))
        theta = np.concatenate(list(trained_models(A, training, n_runs, table.seeds[i], len(A))))
        wrong = errors_of(theta, *table.validation).error
        mistakes[:, i] = np.rint(wrong * len(table.validation[1]))
        tested.append(errors_of(theta, *table.test))
    return _chosen(tested, _choice(mistakes, epsilon, table.uniform), table.test[1])


def _choice(mistakes: Integers, epsilon: float | None, uniform: Array) -> Positions:
    """The candidate that each run chooses (B,): by the exponential mechanism, or without privacy
    the best.
    """
    if epsilon is None:
        return np.asarray(np.argmin(mistakes, axis=1))
    return chosen(mistakes, epsilon=epsilon, uniform=uniform)


def _chosen(tested: Sequence[Errors], index: Positions, y_test: Array) -> _Runs:
    """The errors of the chosen candidates, picked out of those of all."""
    runs = np.arange(len(index))
    return _Runs(
        index=index,
        error=np.array([one.error for one in tested])[index, runs],
        false_positive=np.array([one.false_positive for one in tested])[index, runs],
        false_negative=np.array([one.false_negative for one in tested])[index, runs],
        candidates=np.array([one.error.mean() for one in tested]),
        constant_error=constant_error(y_test),
        n_failed=sum(one.n_failed for one in tested),
    )


def _averaged(
    permutations: Sequence[_Runs], size: int, method: Method, amount: Decimal | None
) -> TunedPoint:
    errors = np.array([runs.error for runs in permutations])
    candidates = np.array([runs.candidates for runs in permutations])
    index = np.concatenate([runs.index for runs in permutations])
    return TunedPoint(
        method=method,
        epsilon=None if amount is None else str(amount),
        n_train=size,
        error=float(errors.mean()),
        error_se=float(errors.mean(axis=1).std(ddof=1) / np.sqrt(len(errors))),
        error_sd=float(errors.std(ddof=1)),
        false_positive=float(np.mean([runs.false_positive for runs in permutations])),
        false_negative=float(np.mean([runs.false_negative for runs in permutations])),
        best_error=float(candidates.mean(axis=0).min()),
        constant_error=float(np.mean([runs.constant_error for runs in permutations])),
        chosen=tuple(np.bincount(index, minlength=candidates.shape[1]).tolist()),
        n_failed=sum(runs.n_failed for runs in permutations),
    )


COST_SIZES = (3_000, 12_000, 60_000)
COST_EPSILONS = ("0.1", "0.5", "2")
FEATURES = 10
TEST_ROWS = 10_000
LEARNERS = tuple(
    Learner(loss=loss, method=method, regularization=c)
    for loss in (Logistic(), HuberSVM(h=0.5))
    for method in ("objective_tight", "output")
    for c in (1e-5, 1e-4, 1e-3, 1e-2)
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedAccuracy:
    """Test error of private tuning, and how often each candidate was chosen.

    sentence: the utility bound and the price of one run.
    """

    n_records: int
    n_train: int
    error: float
    error_se: float
    chosen: tuple[int, ...]
    n_runs: int
    sentence: str


def tuned_accuracy(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    X_test: npt.ArrayLike,
    y_test: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount,
    n_runs: int,
    rng: np.random.Generator,
) -> TunedAccuracy:
    """Run Algorithm 4 so many times, with a partition and noise of its own each, and test what it
    chose.

    Source:  CMS section 7.3.  Differs: parts are equal, as Algorithm 4 says; their figures held out
             25,000 rows, which is `tuned_curve`.
    """
    check_count(n_runs=n_runs)
    test, labels = check_unit_records(X_test, y_test)
    errors, chosen = [], np.zeros(len(candidates), dtype=np.int64)
    for _ in range(n_runs):
        result = tune_privately(X, y, candidates=candidates, epsilon=epsilon, rng=rng)
        errors.append(float(np.mean(result.predict(test) != labels)))
        chosen[result.index] += 1
    sd = float(np.std(errors, ddof=1)) if n_runs > 1 else 0.0
    return TunedAccuracy(
        n_records=len(np.asarray(y)),
        n_train=result.n_train,
        error=float(np.mean(errors)),
        error_se=sd / float(np.sqrt(n_runs)),
        chosen=tuple(chosen.tolist()),
        n_runs=n_runs,
        sentence=result.sentence(),
    )


def cost(n_draws: int) -> None:
    """What private tuning costs against tuning on another, public table, printed as a table."""
    records = datasets.load("census", features=FEATURES, n_rows=2 * max(COST_SIZES) + TEST_ROWS)
    order = np.random.default_rng(0).permutation(len(records.y))
    test, own, public = np.split(order, [TEST_ROWS, TEST_ROWS + max(COST_SIZES)])
    tested = records.X[test], records.y[test]
    candidates = [Candidate(learner=learner) for learner in LEARNERS]
    print(
        f"Simulated census, d = {FEATURES}, {len(LEARNERS)} candidates, {n_draws} runs; mean test "
        "error ± its error."
    )
    print(
        "| n | epsilon | tuned privately | tuned on public data | cost of privacy in tuning | "
        "default penalty |"
    )
    print("|---|---|---|---|---|---|")
    for n in COST_SIZES:
        table, other = (
            (records.X[own[:n]], records.y[own[:n]]),
            (records.X[public[:n]], records.y[public[:n]]),
        )
        for epsilon in COST_EPSILONS:
            rng = np.random.default_rng(1)
            tuned = tuned_accuracy(
                *table, *tested, candidates=candidates, epsilon=epsilon, n_runs=n_draws, rng=rng
            )
            settings = {"epsilons": [epsilon], "n_fits": n_draws, "rng": rng}
            found = accuracy_experiment(*other, *tested, learners=LEARNERS, **settings)
            best = LEARNERS[int(np.argmin([row.error for row in found]))]
            parts = PureDP(model=epsilon, hessian=1, covariance=1)
            design = Design(loss=Logistic(), mechanism="objective", budget=parts, regularization=1)
            c = default_regularization(design, n_records=n, n_coefficients=FEATURES + 1)
            usual = Learner(loss=Logistic(), method="objective_tight", regularization=c)
            told, default = accuracy_experiment(*table, *tested, learners=[best, usual], **settings)
            cells = [f"{row.error:.4f} ± {row.error_se:.4f}" for row in (tuned, told, default)]
            print(
                f"| {n} | {epsilon} | {cells[0]} | {cells[1]} | {tuned.error - told.error:.4f} | "
                f"{cells[2]} |",
                flush=True,
            )


def figure(options: argparse.Namespace) -> None:
    """Measure a figure, print it, keep it if asked."""
    protocol = TuningProtocol(
        sizes=tuple(options.sizes),
        n_held_out=options.held_out,
        n_permutations=options.permutations,
        n_runs=options.draws,
    )
    found = tuned_curve(
        *records_as_published(DATASET, options.encoding, options.rows, options.features),
        loss=loss_of(options.what),
        regularizations=regularizations(),
        epsilons=EPSILONS,
        protocol=protocol,
        rng=np.random.default_rng(options.seed),
    )
    rows = [_row(point, protocol, options.what, study.how_made(options.seed)) for point in found]
    if options.out is not None:
        append_rows(rows, options.out, TunedRate)
    for row in rows:
        print(
            f"{row.method:<12}{row.epsilon:<6}{row.n_train:>7} {row.error:.4f} ± {row.error_se:.4f}"
        )


def _row(point: TunedPoint, protocol: TuningProtocol, part: str, made: dict[str, Any]) -> TunedRate:
    """One row for the file, rounded far below its Monte Carlo error."""
    measured: dict[str, Any] = {
        k: round(v, 6) if isinstance(v, float) else v for k, v in asdict(point).items()
    }
    measured |= {"epsilon": point.epsilon or "", "chosen": " ".join(map(str, point.chosen))}
    return TunedRate(
        **measured,
        part=part,
        penalties=" ".join(PENALTIES),
        held_out=protocol.n_held_out,
        permutations=protocol.n_permutations,
        runs=protocol.n_runs,
        **made,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one of the figures, or the cost of private tuning."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("what", choices=("cost", *EXHIBITS))
    parser.add_argument("--draws", type=int, help="runs behind a mean (40; a figure: 50)")
    parser.add_argument("--rows", type=int, help="of the set (default: all)")
    parser.add_argument("--features", type=int, help="how many (default: all)")
    parser.add_argument("--encoding", choices=("cms", "paper", "schema"), default="cms")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="rows of a candidate")
    parser.add_argument("--held-out", type=int, default=HELD_OUT, help="to choose with and to test")
    parser.add_argument("--permutations", type=int, default=PERMUTATIONS, help="of the table")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="CSV file that the results are added to")
    options = parser.parse_args(arguments)
    if options.what == "cost":
        cost(options.draws or 40)
    else:
        options.draws = options.draws or 50
        figure(options)


if __name__ == "__main__":
    main()
