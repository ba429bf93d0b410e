"""Error against epsilon for every way to choose privately: `python -m benchmarks.selection adult`.

Prints a table for each run, with its seconds; `--out data/selection_run.csv` keeps it, as the file
in the repository was made. `--seed 20261122` and the usual numbers of divisions are the defaults.
"""

from __future__ import annotations

import argparse
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dpci_core import Logistic, datasets
from dpci_core.base.array import Array
from dpci_core.simulation.result import versions
from dpci_core.studies.accuracy.histogram_curve import BINS, Mixture, histogram_curve
from dpci_core.studies.accuracy.selection_curve import (
    SelectionPoint,
    SelectionProtocol,
    selection_curve,
)
from dpci_core.studies.accuracy.selection_run import (
    PUBLISHED_PENALTIES,
    RUNS,
    SelectionRate,
    append_selection,
)
from dpci_core.tuning import Candidate, Learner

EPSILONS = ("0.03", "0.1", "0.3", "1", "3", "10", "30")
CENSUS_ROWS = 400_000
HISTOGRAM_ROWS = 20_000
DIVISIONS = {"adult": 20, "adult_scaled": 20, "adult_small": 20, "census": 3, "histogram": 200}


def table_of(run: str) -> tuple[Array, Array]:
    """The records of a run."""
    if run == "census":
        found = datasets.load("census", features=11, n_rows=CENSUS_ROWS)
        return found.unweighted, found.y
    found = datasets.load("adult", encoding="paper")
    if run != "adult_scaled":
        return found.unweighted, found.y
    # Standard deviations are read from the table: it is a public one.
    X = found.unweighted
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X / np.linalg.norm(X, axis=1)[:, None], found.y


def penalties_of(run: str) -> list[float]:
    """Lambda of the candidates."""
    if run == "adult_small":
        return [float(f"{x:.3g}") for x in np.logspace(-4, -1, 10)]
    if run == "census":
        return [float(f"{x:.3g}") for x in np.logspace(-2.5, -0.5, 10)]
    return list(PUBLISHED_PENALTIES)


def measured(
    run: str, divisions: int, seed: int
) -> tuple[list[SelectionPoint], list[float], int, int]:
    """Points of a run, its candidates, and the rows that train and score."""
    rng = np.random.default_rng(seed)
    if run == "histogram":
        points = histogram_curve(
            mixture=Mixture(), n_records=HISTOGRAM_ROWS, epsilons=EPSILONS, n_draws=divisions,
            rng=rng, progress=said,
        )  # fmt: skip
        return points, [float(b) for b in BINS], HISTOGRAM_ROWS * 4 // 5, HISTOGRAM_ROWS // 5
    X, y = table_of(run)
    penalties = penalties_of(run)
    candidates = [
        Candidate(
            learner=Learner(loss=Logistic(), method="objective_tight", regularization=Lambda / 2)
        )
        for Lambda in penalties
    ]
    protocol = SelectionProtocol(n_divisions=divisions)
    points = selection_curve(
        X, y, candidates=candidates, epsilons=EPSILONS, protocol=protocol, rng=rng, progress=said
    )
    rest = len(y) - round(protocol.test_share * len(y))
    n_validation = int(float(protocol.validation_share) * rest)
    return points, penalties, rest - n_validation, n_validation


def said(done: int, total: int) -> None:
    """Progress on the error output."""
    print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument("runs", nargs="*", choices=(*RUNS, []), default=[], help="default: all")
    parser.add_argument("--divisions", type=int, help="of the table (or draws of a histogram)")
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--out", type=Path, help="CSV file that the results are added to")
    options = parser.parse_args()
    _compile()
    for run in options.runs or RUNS:
        started, cpu = time.perf_counter(), time.process_time()
        divisions = options.divisions or DIVISIONS[run]
        points, candidates, n_train, n_validation = measured(run, divisions, options.seed)
        seconds, used = time.perf_counter() - started, time.process_time() - cpu
        print(f"\n{run}: {divisions} divisions, {seconds:.0f} s ({used:.0f} s of one core)")
        show(points, run)
        rows = [
            rate(point, run, candidates, n_train, n_validation, divisions, options.seed)
            for point in points
        ]
        if options.out is not None:
            append_selection(rows, options.out)


def _compile() -> None:
    """So that the seconds are those of the measurement."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 3))
    learners = [
        Learner(loss=Logistic(), method="objective_tight", regularization=c) for c in (0.1, 1.0)
    ]
    selection_curve(
        X,
        np.sign(X[:, 0]),
        candidates=[Candidate(learner=learner) for learner in learners],
        epsilons=["1"],
        protocol=SelectionProtocol(n_divisions=2),
        rng=np.random.default_rng(0),
    )


def show(points: list[SelectionPoint], run: str) -> None:
    """A table, methods down and epsilon across."""
    epsilons = list(dict.fromkeys(point.epsilon for point in points))
    print("| method | " + " | ".join(f"ε={e}" for e in epsilons) + " |")
    print("|---" * (len(epsilons) + 1) + "|")
    for method in dict.fromkeys(point.method for point in points):
        cells = [
            f"{point.error:.3f}±{point.error_se:.3f}"
            + ("" if point.auc is None else f" ({point.auc:.3f})")
            for point in points
            if point.method == method
        ]
        print(f"| {method} | " + " | ".join(cells) + " |")


def rate(
    point: SelectionPoint,
    run: str,
    candidates: list[float],
    n_train: int,
    n_validation: int,
    divisions: int,
    seed: int,
) -> SelectionRate:
    """A row of the file."""
    return SelectionRate(
        run=run,
        method=point.method,
        epsilon=point.epsilon,
        error=round(point.error, 6),
        error_se=round(point.error_se, 6),
        auc=round(point.auc or 0.0, 6),
        auc_se=round(point.auc_se or 0.0, 6),
        gap=round(point.gap or 0.0, 6),
        gap_se=round(point.gap_se or 0.0, 6),
        constant_error=round(point.constant_error or 0.0, 6),
        candidates=" ".join(f"{x:g}" for x in candidates),
        chosen=" ".join(f"{share:.4f}" for share in point.chosen),
        train=point.train,
        n_train=n_train,
        n_validation=n_validation,
        divisions=divisions,
        seed=seed,
        date=datetime.now(UTC).date().isoformat(),
        versions=" ".join(f"{name} {value}" for name, value in versions().items()),
    )


if __name__ == "__main__":
    main()
