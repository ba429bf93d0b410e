"""How good and how fast the planner's search for a split is, against an exhaustive search.

    python -m benchmarks.planner [--features 10 36] [--part main hard] [--every 1]

Both searches run one after the other, design by design: processor time of each, and the ratio of
the scores (mean length, longer where coverage is missing). Set the threads of the linear algebra to
one (OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1) to compare with the numbers in `docs/planner.md`.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import TypeVar

import numpy as np

from dpci_core import (
    ZCDP,
    Design,
    Forecast,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    Loss,
    Moments,
    PureDP,
    best_split,
    datasets,
    fit_moments,
    forecast,
)

T = TypeVar("T")
ROWS = 30_000
LOSSES: tuple[Loss, ...] = (Logistic(), HuberSVM(h=0.5))
CASES = {
    "main": (
        (30_000, 0.001, 1.0),
        (300_000, 0.001, 1.0),
        (30_000, 0.01, 1.0),
        (10_000, 0.001, 4.0),
    ),
    "hard": (
        (2_000, 0.01, 1.0),
        (1_000, 0.1, 0.3),
        (30_000, 0.001, 0.05),
        (5_000, 0.001, 0.5),
        (10**7, 1e-4, 0.1),
        (30_000, 0.001, 20.0),
    ),
}
"""Records, c, and epsilon; a zCDP total is 0.1875 epsilon^2."""
GRID = (0.01, 0.025, 0.06, 0.12, 0.2, 0.3)
"""First grid of the shares of the two matrices; the coefficients get the rest."""
STEPS = (1.6, 1.25, 1.1, 1.04)
"""Factors by which a share is moved."""
SMALLEST, LARGEST = 0.002, 0.9


@cache
def moments_of(loss: Loss, c: float, d: int = 10) -> Moments:
    """The fit of the simulated census with d features (36 is all)."""
    features = None if d >= 36 else d
    records = datasets.load("census", encoding="schema", features=features, n_rows=ROWS)
    return fit_moments(records.X, records.y, loss=loss, regularization=c)


def designs(part: str) -> Iterator[Design]:
    """Every combination of a part at the published split."""
    for (n, c, epsilon), loss, mechanism, kind, calibration in itertools.product(
        CASES[part], LOSSES, ("objective", "output"), (PureDP, ZCDP), ("published", "sharp")
    ):
        e = Decimal(repr(epsilon))
        parts = [e / 2, e / 4, e / 4]
        parts = parts if kind is PureDP else [x**2 / 2 for x in parts]
        budget = kind(model=parts[0], hessian=parts[1], covariance=parts[2])
        how = {"loss": loss, "mechanism": mechanism, "calibration": calibration}
        yield Design(budget=budget, regularization=c, n_records=n, **how)  # type: ignore[arg-type]


class PatternSearch:
    """A grid of splits, then the best of eight neighbours with ever smaller steps; each split a
    full forecast of its own.
    """

    def __init__(self, moments: Moments, design: Design) -> None:
        self.moments, self.design = moments, design
        self.found: dict[tuple[Decimal, Decimal], float] = {}

    def run(self) -> float:
        """The best penalised length, the design's own split included; infinite if none can run."""
        budget = self.design.budget
        own = self._forecast(budget.hessian / budget.total, budget.covariance / budget.total)
        h, s = min(itertools.product(GRID, GRID), key=self.score)
        for factor in STEPS:
            moved = True
            while moved:
                by = (1 / factor, 1.0, factor)
                best = min(((h * a, s * b) for a in by for b in by), key=self.score)
                moved = self.score(best) < self.score((h, s)) * (1 - 1e-5)
                h, s = best if moved else (h, s)
        return min(own, *self.found.values())

    def score(self, shares: tuple[float, float]) -> float:
        """Penalised length at these matrix shares, infinite outside the simplex and where the
        design cannot run.
        """
        h, s = (
            Decimal(repr(max(SMALLEST, min(x, LARGEST)))).quantize(Decimal("0.0001"))
            for x in shares
        )
        if h + s >= 1:
            return math.inf
        if (h, s) not in self.found:
            self.found[h, s] = self._forecast(h, s)
        return self.found[h, s]

    def penalised_length(self, found: Forecast) -> float:
        """Mean length, 1 % longer for every tenth of a point a coefficient lacks to the level less
        half a point.
        """
        missing = self.design.confidence_level - 0.005 - float(found.coverage.min())
        return found.ci_length_mean * (1.0 + 10.0 * max(0.0, missing))

    def _forecast(self, hessian: Decimal, covariance: Decimal) -> float:
        total = self.design.budget.total
        h, s = hessian * total, covariance * total
        budget = type(self.design.budget)(model=total - h - s, hessian=h, covariance=s)
        design = replace(self.design, budget=budget)
        try:
            found = forecast(self.moments, design=design)
        except InfeasibleDesignError:
            return math.inf
        return self.penalised_length(found)


def timed(ask: Callable[[], T]) -> tuple[T, float]:
    """What was asked for, and its processor time."""
    start = time.process_time()
    answer = ask()
    return answer, max(time.process_time() - start, 1e-9)


def main() -> None:
    """Print a line a design, and the summary that the document quotes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=int, nargs="+", default=[10, 36])
    parser.add_argument("--part", choices=CASES, nargs="+", default=list(CASES))
    parser.add_argument("--every", type=int, default=1, help="only one design in so many")
    options = parser.parse_args()
    for d, part in itertools.product(options.features, options.part):
        rows = []
        for design in itertools.islice(designs(part), 0, None, options.every):
            moments = moments_of(design.loss, design.regularization, d)
            search = PatternSearch(moments, design)
            old, took = timed(search.run)
            if old == math.inf:
                continue
            new, seconds = timed(lambda m=moments, x=design: best_split(m, design=x))
            rows.append((search.penalised_length(new.forecast) / old, seconds, took))
            print(design, *(f"{x:.4f}" for x in rows[-1]), flush=True)
        ratios, seconds, took = np.array(rows).T
        print(
            f"d = {d}, {part}: {len(rows)} designs, score against the exhaustive search mean "
            f"{ratios.mean():.4f}, worst {ratios.max():.4f}, best {ratios.min():.4f}, "
            f"{np.mean(ratios > 1.005):.1%} more than 0.5 % longer; seconds median "
            f"{np.median(seconds):.2f}, largest {seconds.max():.2f}, exhaustive median "
            f"{np.median(took):.2f}, largest {took.max():.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
