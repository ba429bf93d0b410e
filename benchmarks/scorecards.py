"""Private scorecards: `python -m benchmarks.scorecards curves|coverage|times`.

curves: error against epsilon beside regression and the published methods; `--out
data/scorecards_run.csv` keeps it, as the file in the repository was made. coverage: of the interval
for the error of a drawn card. times: of listing and forecasting, and of HiGHS with its certificate.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np

from benchmarks import study
from benchmarks.files import append_rows
from dpci_core import datasets
from dpci_core.base.array import Array, Integers
from dpci_core.datasets import schema_of
from dpci_core.design import Design
from dpci_core.losses import Logistic
from dpci_core.privacy.budget import PureDP
from dpci_core.scorecards import (
    Card,
    CardSpending,
    Question,
    ScorecardClass,
    answers,
    cell_counts,
    choose_rule,
    draw_card,
    mistakes_of_all,
    scorecard_forecast,
)
from dpci_core.scorecards.program import solve_exactly
from dpci_core.scorecards.published import (
    IntegerBall,
    PublishedMethod,
    draw_noise,
    perturbed_choice,
)
from dpci_core.scorecards.questions import Bits
from dpci_core.tuning.learners import Learner, train
from dpci_core.tuning.released import for_coefficients_alone

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


BALL = IntegerBall(6, 2, 7)
"""For the published methods: as in [NRVW]'s experiment, whole vectors of d = 7, D^2 = 7."""
CARDS = ScorecardClass(6)
DELTA = 1e-5
"""Of OPDisc as printed."""
ALL_COLUMNS = ("adult", "bank")
"""Tables for which logistic regression is fitted on all columns too."""
_SEED = 20_191_009


@dataclass(frozen=True, kw_only=True)
class BalancedTable:
    """All positives of a public table and as many of the others; or so many of these rows.

    answers: (n, k).
    labels: (n,), 0 or 1.
    rows: (n, p) records of all columns, or None.
    """

    answers: Bits
    labels: Integers
    rows: Array | None

    @property
    def cells(self) -> Integers:
        """Counts (2^k, 2)."""
        return cell_counts(self.answers, self.labels)


def balanced_table(run: str) -> BalancedTable:
    """Return the table of a run; balancing by label reads the data, so for public tables only."""
    key, size = RUN_SIZES[run]
    schema, questions = schema_of(key), QUESTIONS[key]
    needed = (*dict.fromkeys(q.column for q in questions), schema.target)
    frame = datasets._read(key, needed, None)
    labels = (frame[schema.target].astype(str) == schema.positive).to_numpy().astype(np.int64)
    rng = np.random.default_rng(_SEED)
    few = int(min(labels.sum(), len(labels) - labels.sum()))
    kept = np.concatenate(
        [rng.permutation(np.flatnonzero(labels == side))[:few] for side in (0, 1)]
    )
    kept = rng.permutation(kept)[:size]
    part = frame.iloc[kept]
    X = answers({c: part[c].tolist() for c in needed[:-1]}, questions, schema)
    rows = datasets.load(key, encoding="schema").unweighted[kept] if key in ALL_COLUMNS else None
    return BalancedTable(answers=X, labels=labels[kept], rows=rows)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One method at one epsilon; fields as of `ScorecardRate`."""

    method: str
    epsilon: str
    error: float
    error_se: float = 0.0
    error_sd: float = 0.0
    within: float = 0.0
    card: str = ""
    draws: int = 1


def scorecard_points(
    table: BalancedTable,
    *,
    epsilons: tuple[str, ...],
    n_draws: int,
    n_fits: int,
    rng: np.random.Generator,
) -> Iterator[Point]:
    """Yield every method at every epsilon.

    Args:
        table: rows.
        epsilons: totals.
        n_draws: of the published methods.
        n_fits: of logistic regression.
        rng: of all noise; the scorecard needs none but for the card that is shown.
    """
    n, cells = len(table.labels), table.cells
    mistakes, of_vectors = mistakes_of_all(cells, CARDS), BALL.mistakes(cells)
    bits = 2.0 * table.answers - 1.0
    few = np.column_stack([bits / np.sqrt(2.0 * bits.shape[1]), np.full(n, np.sqrt(0.5))])
    rows = {"logistic": few} | ({} if table.rows is None else {"logistic_all": table.rows})
    sides = np.where(table.labels == 1, 1.0, -1.0)
    yield Point(method="best_card", epsilon="", error=float(mistakes.min()) / n)
    plain = Learner(loss=Logistic(), method="non_private", regularization=1e-6)
    theta = train(sides[:, None] * few, learner=plain, epsilon=None, rng=rng)
    yield Point(method="best_logistic", epsilon="", error=_error(few, sides, theta))
    for epsilon in epsilons:
        spending = CardSpending.of(epsilon=epsilon)
        found = scorecard_forecast(mistakes, n_records=n, epsilon=epsilon)
        card = CARDS.rule(choose_rule(mistakes, spending=spending, source=rng))
        yield Point(
            method="scorecard",
            epsilon=epsilon,
            error=found.expected_error,
            within=found.within_one_point,
            card=" ".join(map(str, (*card.points, card.threshold))),
        )
        yield from _published(of_vectors / n, of_vectors, epsilon, n_draws, rng)
        for method, X in rows.items():
            yield _logistic(method, X, sides, epsilon, n_fits, rng)


def _published(
    shares: Array, mistakes: Integers, epsilon: str, n_draws: int, rng: np.random.Generator
) -> Iterator[Point]:
    methods: tuple[PublishedMethod, ...] = ("one_hot", "opdisc", "rspm", "opdisc_published")
    for method in methods:
        chosen = perturbed_choice(
            mistakes,
            BALL,
            method=method,
            epsilon=float(epsilon),
            delta=DELTA if method == "opdisc_published" else None,
            n_draws=n_draws,
            rng=rng,
        )
        yield _averaged(method, epsilon, shares[chosen], best=float(shares.min()))


def _logistic(
    method: str, X: Array, sides: Array, epsilon: str, n_fits: int, rng: np.random.Generator
) -> Point:
    """Objective perturbation with the whole budget and the default penalty."""
    from dpci_core.estimators.defaults import default_regularization

    design = Design(
        loss=Logistic(),
        mechanism="objective",
        budget=for_coefficients_alone(PureDP, Decimal(epsilon)),
        regularization=1.0,
    )
    c = default_regularization(design, n_records=len(X), n_coefficients=X.shape[1])
    learner = Learner(loss=Logistic(), method="objective_tight", regularization=c)
    A = sides[:, None] * X
    errors = [
        _error(X, sides, train(A, learner=learner, epsilon=float(epsilon), rng=rng))
        for _ in range(n_fits)
    ]
    return _averaged(method, epsilon, np.array(errors), best=0.0)


def _averaged(method: str, epsilon: str, errors: Array, *, best: float) -> Point:
    sd = float(errors.std(ddof=1)) if len(errors) > 1 else 0.0
    return Point(
        method=method,
        epsilon=epsilon,
        error=float(errors.mean()),
        error_se=sd / float(np.sqrt(len(errors))),
        error_sd=sd,
        within=float((errors <= best + 0.01).mean()) if best else 0.0,
        draws=len(errors),
    )


def _error(X: Array, sides: Array, theta: Array) -> float:
    return float(np.mean(sides * (X @ theta) <= 0.0))


EPSILONS = ("0.01", "0.03", "0.1", "0.3", "1", "3")
FITS = {"kdd99": 5}
"""Logistic regressions an epsilon, where there are many rows."""
COVERAGE = ((500, "1"), (2_000, "0.1"), (2_000, "1"), (10_000, "0.1"))
SHOWN_SECONDS = 20.0


def curves(runs: list[str], draws: int, fits: int, seed: int, out: Path | None) -> None:
    """Every run, a row a method and epsilon."""
    for run in runs:
        started = time.process_time()
        table = balanced_table(run)
        made = scorecard_points(
            table,
            epsilons=EPSILONS,
            n_draws=draws,
            n_fits=FITS.get(run, fits),
            rng=np.random.default_rng(seed),
        )
        points = []
        for point in made:
            points.append(point)
            print(f"\r{run}: {point.method} {point.epsilon}     ", end="", file=sys.stderr)
        print(f"\n{run}: n = {len(table.labels):,}, {time.process_time() - started:.0f} s CPU")
        for method in dict.fromkeys(point.method for point in points):
            mine = [point for point in points if point.method == method]
            print(f"  {method:17}", *(f"{p.error:.4f}±{p.error_se:.4f}" for p in mine))
        if out is not None:
            append_rows(
                [
                    ScorecardRate(
                        run=run,
                        method=p.method,
                        epsilon=p.epsilon,
                        error=round(p.error, 6),
                        error_se=round(p.error_se, 6),
                        error_sd=round(p.error_sd, 6),
                        within=round(p.within, 6),
                        card=p.card,
                        n_records=len(table.labels),
                        draws=p.draws,
                        **study.how_made(seed),
                    )
                    for p in points
                ],
                out,
                ScorecardRate,
            )


def coverage(repeats: int, seed: int) -> None:
    """Of 95 % intervals, balanced Adult being the population."""
    table = balanced_table("adult")
    everybody = len(table.labels)
    known: dict[Card, float] = {}
    print("| n, ε | coverage | mean length | true error |")
    print("|---|---|---|---|")
    for n, epsilon in COVERAGE:
        rng = np.random.default_rng(seed)
        inside, lengths, errors = [], [], []
        for _ in range(repeats):
            rows = rng.integers(0, everybody, n)
            drawn = draw_card(
                table.answers[rows],
                table.labels[rows],
                cards=CARDS,
                spending=CardSpending.of(epsilon=epsilon),
                source=rng,
            )
            if drawn.card not in known:
                says = drawn.card.says_yes(table.answers)
                known[drawn.card] = float((says != (table.labels == 1)).mean())
            error, (low, high) = known[drawn.card], drawn.interval(0.95)
            inside.append(low <= error <= high)
            lengths.append(high - low)
            errors.append(error)
        share = float(np.mean(inside))
        se = np.sqrt(share * (1 - share) / repeats)
        print(
            f"| {n:,}, {epsilon} | {share:.3f} ± {se:.3f} | {np.mean(lengths):.3f} | "
            f"{np.mean(errors):.4f} |",
            flush=True,
        )


def times(seed: int) -> None:
    """Seconds of one core; walls for HiGHS, which stops by the wall."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (15_682, 12))
    y = (X[:, 0] + X[:, 1] + rng.random(len(X)) > 1.5).astype(np.int64)
    wide = ScorecardClass(12, (-1, 1), (-2.5, 1.5))
    cells = cell_counts(X, y)
    started = time.process_time()
    n_rules = wide.n_rules
    print(f"which of {wide.n_points:,} cards differ ({n_rules:,}): "
          f"{time.process_time() - started:.2f} s, once a class")  # fmt: skip
    started = time.process_time()
    mistakes_of_all(cells, wide)
    print(f"mistakes of {n_rules:,} rules x {int((cells.sum(axis=1) > 0).sum()):,} cells: "
          f"{time.process_time() - started:.2f} s")  # fmt: skip
    mistakes = mistakes_of_all(cell_counts(X[:, :6], y), CARDS)
    started = time.process_time()
    for epsilon in np.logspace(-2.5, 1, 20):
        scorecard_forecast(mistakes, n_records=len(y), epsilon=float(epsilon))
    print(f"forecast of 20 budgets, {CARDS.n_rules:,} rules: "
          f"{time.process_time() - started:.2f} s")  # fmt: skip
    for k, largest, norm in ((4, 1, None), (6, 2, 7), (8, 1, None), (10, 1, None)):
        ball, small = IntegerBall(k, largest, norm), cell_counts(X[:500, :k], y[:500])
        started = time.perf_counter()
        least = int(ball.mistakes(small).min())
        listed = time.perf_counter() - started
        for method in (None, "opdisc"):
            noise = None
            if method == "opdisc":
                noise = draw_noise(ball, "opdisc", epsilon=1.0, n_draws=1, rng=rng)[0]
            started = time.perf_counter()
            found = solve_exactly(
                small, ball, method="opdisc" if noise is not None else None, noise=noise,
                time_limit=SHOWN_SECONDS,
            )  # fmt: skip
            seconds = time.perf_counter() - started
            said = (
                f"certified in {seconds:.2f} s"
                if found.is_certified
                else f"not solved in {SHOWN_SECONDS:g} s: gap {found.gap:.0%}, counted as a failure"
            )
            print(f"{k} questions, {method or 'no noise'}: HiGHS {said}; "
                  f"listing {listed:.3f} s, best {least}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scorecards", description=__doc__)
    parser.add_argument("what", choices=("curves", "coverage", "times"))
    parser.add_argument(
        "runs", nargs="*", choices=(*RUN_SIZES, []), default=[], help="default: all"
    )
    parser.add_argument("--draws", type=int, default=400, help="of the published methods")
    parser.add_argument("--fits", type=int, default=40, help="of logistic regression")
    parser.add_argument("--repeats", type=int, default=1_000, help="of coverage")
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--out", type=Path, help="CSV file that the results are added to")
    options = parser.parse_args()
    if options.what == "curves":
        curves(options.runs or list(RUN_SIZES), options.draws, options.fits, options.seed,
               options.out)  # fmt: skip
    elif options.what == "coverage":
        coverage(options.repeats, options.seed)
    else:
        times(options.seed)


if __name__ == "__main__":
    main()
