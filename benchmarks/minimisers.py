"""Print what one fit costs by each method of `minimise`, cold and from the minimiser of another
penalty.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.minimisers

Processor time, the least of several calls that take turns, so that what else the machine does
counts little. The last two columns are `fit_moments` with its own method and with Newton's, which
it took before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from unittest.mock import patch

import numpy as np
from threadpoolctl import threadpool_limits

from dpci_core import HuberSVM, Logistic, Loss, datasets, fit_moments
from dpci_core.base.rows import signed
from dpci_core.solvers.minimise import minimise

C = 0.001
N_RECORDS, REPEATS = 30_000, 9
METHODS = ("quick", "checked", "certain", "newton")


def least(tasks: Sequence[Callable[[], object]]) -> list[float]:
    """Least processor time of each task in milliseconds, after one call to warm up."""
    best = [np.inf] * len(tasks)
    for turn in range(REPEATS + 1):
        for k, task in enumerate(tasks):
            before = time.process_time_ns()
            task()
            if turn:
                best[k] = min(best[k], (time.process_time_ns() - before) / 1e6)
    return best


def row(d: int, loss: Loss, *, is_warm: bool) -> str:
    """One line of the table."""
    records = datasets.load("census", encoding="schema", features=d, n_rows=N_RECORDS)
    A = signed(records.X, records.y)
    start = minimise(A, loss=loss, regularization=1.3 * C).theta if is_warm else None
    tasks = [
        partial(minimise, A, loss=loss, regularization=C, start=start, method=method)
        for method in METHODS
    ]
    whole = partial(fit_moments, records.X, records.y, loss=loss, regularization=C, start=start)

    def as_before() -> object:
        with patch("dpci_core.solvers.moments.minimise", newton):
            return whole()

    *alone, now, before = least([*tasks, whole, as_before])
    cells = [f"{took:.1f}" for took in (*alone, now, before)]
    return (
        f"| {d + 1} | {loss.name} | {'warm' if is_warm else 'cold'} | {' | '.join(cells)} | "
        f"{before / now:.1f} |"
    )


def newton(A: np.ndarray, **settings: object) -> object:
    """`minimise` by Newton's method, whatever is asked for."""
    return minimise(A, **{**settings, "method": "newton"})


def main() -> None:
    headers = ("p", "loss", "start", *METHODS, "fit_moments", "as before", "ratio")
    print(f"| {' | '.join(headers)} |\n|{'---|' * len(headers)}")
    for d in (10, 36):
        for loss in (Logistic(), HuberSVM(h=0.5)):
            for is_warm in (False, True):
                print(row(d, loss, is_warm=is_warm), flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
