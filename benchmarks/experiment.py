"""The experiment engine against a loop over scikit-learn: `python -m benchmarks.experiment`.

Every row is a ratio within this run, one thread against one thread, bootstrap weights included on
both sides and all fits stopped at a gradient norm of 1e-8. Then the whole experiment at the paper's
settings, with one and two workers.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.linear_model import LogisticRegression

from dpci_core import ZCDP, Design, HuberSVM, Logistic, PureDP, datasets
from dpci_core.simulation.run import run_experiment
from dpci_core.solvers.replicates import Table, draw_counts, fit_replicates

C, BATCH = 0.001, 64


def census(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    records = datasets.load("census", encoding="schema", features=d, n_rows=n)
    return records.X, records.y


def timed(task: Callable[[], object]) -> float:
    start = time.perf_counter()
    task()
    return time.perf_counter() - start


class Replicates:
    """Batches of bootstrap fits, each from fresh counts."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.n = len(X)
        self.table = Table.of(y[:, None] * X, loss=Logistic(), regularization=C)
        self.counts = np.empty((BATCH, self.n), dtype=np.float32)
        self.seed = 0

    def run(self) -> None:
        for row in self.counts:
            self.seed += 1
            draw_counts(
                row, self.n, np.random.SFC64(np.random.SeedSequence(1, spawn_key=(self.seed,)))
            )
        assert fit_replicates(self.table, self.counts, n_records=self.n).converged.all()


def against_scikit(n: int, d: int, rounds: int) -> None:
    X, y = census(n, d)
    ours = Replicates(X, y)
    rng = np.random.default_rng(0)

    def scikit(solver: str) -> None:
        weights = np.bincount(rng.integers(0, n, n), minlength=n)
        model = LogisticRegression(
            C=1 / (2 * n * C), tol=1e-8, solver=solver, fit_intercept=False, max_iter=1000
        )
        model.fit(X, y, sample_weight=weights)

    ours.run()
    times: dict[str, list[float]] = {"ours": [], "newton-cholesky": [], "lbfgs": []}
    for _ in range(rounds):  # interleaved, so that a slow spell of the machine hits all of them
        times["ours"].append(timed(ours.run) / BATCH)
        for solver in ("newton-cholesky", "lbfgs"):
            times[solver].append(timed(lambda s=solver: scikit(s)))
    for name, values in times.items():
        ratios = statistics.median(b / a for a, b in zip(times["ours"], values, strict=True))
        print(f"| {name} | {1000 * statistics.median(values):.2f} ms | {ratios:.1f} times ours |")


def whole(dataset: str, n: int | None, m: int, k: int, n_jobs: int) -> None:
    records = datasets.load(dataset, encoding="paper", features=10, n_rows=n)
    budgets = (
        PureDP(model="0.5", hessian="0.25", covariance="0.25"),
        ZCDP(model="0.125", hessian="0.03125", covariance="0.03125"),
    )
    n_rows = len(records.y)
    designs = [
        Design(
            loss=loss,
            mechanism=mechanism,
            budget=budget,
            regularization=C,
            n_records=n_rows,
            calibration="published",
        )
        for loss in (Logistic(), HuberSVM(h=1.0))
        for mechanism in ("objective", "output")
        for budget in budgets
    ]
    result = run_experiment(
        records.X,
        records.y,
        designs=designs,
        n_variability=m,
        n_coverage=k,
        rng=np.random.default_rng(0),
        n_jobs=n_jobs,
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    failed = sum(d.n_failed for d in result.designs)
    print(f"| {dataset}, n = {result.n_records:,} | {m:,} | {k:,} | {n_jobs} | "
          f"{result.seconds:.1f} s | {memory:,.0f} MB | {failed} |")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.experiment", description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print("| one bootstrap fit, n = 30,000, d = 10 | median | ratio |\n|---|---|---|")
    against_scikit(30_000, 10, options.rounds)
    available = {info.key for info in datasets.list_datasets() if info.available}
    dataset = "adult" if "adult" in available else "census"
    print(
        "\n| all eight combinations, d = 10 | m | k | workers | time | peak memory so far | failed "
        "fits |"
    )
    print("|---|---|---|---|---|---|---|")
    for n_jobs in (1, 2):
        whole(dataset, None, 10_000, 1_000, n_jobs)


if __name__ == "__main__":
    main()
