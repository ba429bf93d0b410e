"""Private scorecards: `python -m benchmarks.scorecards curves|coverage|times`.

curves: error against epsilon beside regression and the published methods; `--out
data/scorecards_run.csv` keeps it, as the file in the repository was made. coverage: of the interval
for the error of a drawn card. times: of listing and forecasting, and of HiGHS with its certificate.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpci_core.scorecards import (
    Card,
    CardSpending,
    ScorecardClass,
    cell_counts,
    draw_card,
    mistakes_of_all,
    scorecard_forecast,
)
from dpci_core.scorecards.program import solve_exactly
from dpci_core.scorecards.published import IntegerBall, draw_noise
from dpci_core.simulation.result import versions
from dpci_core.studies.accuracy.scorecard_curve import CARDS, balanced_table, scorecard_points
from dpci_core.studies.accuracy.scorecard_run import RUN_SIZES, ScorecardRate, append_scorecards

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
            append_scorecards(
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
                        seed=seed,
                        date=datetime.now(UTC).date().isoformat(),
                        versions=" ".join(f"{name} {value}" for name, value in versions().items()),
                    )
                    for p in points
                ],
                out,
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
