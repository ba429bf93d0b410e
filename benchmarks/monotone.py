"""By how much more budget lengthens a sharp interval, where it does at all.

    python -m benchmarks.monotone [--features 10] [--points 40] [--best-split]

Forecast lengths of many designs on the simulated census, budgets from epsilon 0.05 to 20 (for zCDP
a total of 0.1875 epsilon^2), among them splits that give the Hessian next to nothing: there its
noise dominates, and half-widths fade from noise-aware to plain (`dpci_core.intervals.half_widths`).
Published lengths fall always. With --best-split every total is divided anew, as the planner does.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from benchmarks.planner import Tables
from dpci_core import (
    ZCDP,
    Design,
    Forecast,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    Moments,
    PureDP,
    best_split,
    forecast,
)
from dpci_core.planner.amounts import with_total

LOSSES = (Logistic(), HuberSVM(h=0.5), HuberSVM(h=0.1))
TABLES = ((2_000, 0.01), (30_000, 0.001), (30_000, 0.01), (300_000, 0.0001))
"""Records and c."""
SPLITS = (
    ("0.5", "0.25", "0.25"),
    ("0.4", "0.5", "0.1"),
    ("0.5", "0.05", "0.45"),
    ("0.9", "0.02", "0.08"),
    ("0.82", "0.015", "0.165"),
)
COUNTS = 0.001
"""A rise that is counted."""


@dataclass(frozen=True, slots=True)
class Rise:
    """Where a design's lengths exceed those of a smaller budget: share of the mean's largest rise,
    with its epsilon, share of a coefficient's, and by what factor epsilon grows until no length
    exceeds an earlier one any more."""

    mean: float
    epsilon: float
    coefficient: float
    span: float


def main() -> None:
    """Print every design whose mean rises, and how many do."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--points", type=int, default=40, help="budgets for each design")
    parser.add_argument("--best-split", action="store_true", help="divide every total anew")
    options = parser.parse_args()
    tables = Tables(options.features)
    rises = []
    splits, forecast_of = (SPLITS[:1], at_best_split) if options.best_split else (SPLITS, forecast)
    for design, n in designs(splits):
        rise = largest_rise(tables, design, n, options.points, forecast_of)
        rises.append(rise)
        if rise.mean > COUNTS:
            shares = " ".join(
                f"{float(part / design.budget.total):.3g}" for part in design.budget.parts
            )
            print(
                f"{design.loss!r} n={n} c={design.regularization:g} {design.definition} "
                f"{design.mechanism} {shares}: {rise.mean:.2%} longer at epsilon "
                f"{rise.epsilon:.2g} than at a smaller one",
                flush=True,
            )
    means, single = [rise.mean for rise in rises], [rise.coefficient for rise in rises]
    longest = max(rise.span for rise in rises)
    print(
        f"{len(rises)} designs, {sum(x > COUNTS for x in means)} of them rise, the most by "
        f"{max(means):.2%}"
    )
    print(
        f"Single coefficients rise in {sum(x > COUNTS for x in single)} designs, the most by "
        f"{max(single):.1%}; the longest rise is over at {longest:.1f} times the epsilon where it "
        "began"
    )


def at_best_split(moments: Moments, *, design: Design, n_records: int) -> Forecast:
    """The forecast of the best split of the design's total."""
    return best_split(moments, design=design, n_records=n_records).forecast


def designs(splits: tuple[tuple[str, ...], ...]) -> Iterator[tuple[Design, int]]:
    """Every combination, at a total of 1."""
    for loss, (n, c), mechanism, kind, split in itertools.product(
        LOSSES, TABLES, ("objective", "output"), (PureDP, ZCDP), splits
    ):
        model, hessian, covariance = split
        budget = kind(model=model, hessian=hessian, covariance=covariance)
        yield (
            Design(
                loss=loss, mechanism=mechanism, budget=budget, regularization=c, calibration="sharp"
            ),
            n,
        )


def largest_rise(
    tables: Tables,
    design: Design,
    n: int,
    points: int,
    forecast_of: Callable[..., Forecast] = forecast,
) -> Rise:
    """How far lengths exceed those of smaller budgets."""
    moments = tables.moments(design.loss, design.regularization)
    epsilons = np.geomspace(0.05, 20.0, points)
    lengths = np.array(
        [lengths_at(moments, at_epsilon(design, float(e)), n, forecast_of) for e in epsilons]
    )
    runs = np.isfinite(lengths[:, 0])
    epsilons, lengths = epsilons[runs], lengths[runs]
    if not len(lengths):
        return Rise(0.0, 0.0, 0.0, 1.0)
    rise = lengths / np.minimum.accumulate(lengths) - 1.0
    span = 1.0
    for j, i in itertools.product(range(lengths.shape[1]), range(len(epsilons))):
        if rise[i, j] > COUNTS:
            begun = np.flatnonzero(lengths[:, j] <= lengths[i, j] * (1.0 - COUNTS))[0]
            span = max(span, float(epsilons[i] / epsilons[begun]))
    worst = int(rise[:, 0].argmax())
    return Rise(float(rise[worst, 0]), float(epsilons[worst]), float(rise[:, 1:].max()), span)


def at_epsilon(design: Design, epsilon: float) -> Design:
    """The same split of this epsilon, or of the rho that stands for it."""
    total = epsilon if design.definition == "pure" else 0.1875 * epsilon**2
    return with_total(design, Decimal(f"{total:.6g}"))


def lengths_at(
    moments: Moments, design: Design, n: int, forecast_of: Callable[..., Forecast]
) -> np.ndarray:
    """Forecast mean length and that of every coefficient; infinite where the design cannot run."""
    try:
        found = forecast_of(moments, design=design, n_records=n)
    except InfeasibleDesignError:
        return np.full(len(moments.hessian) + 1, np.inf)
    return np.append(found.ci_length_mean, found.ci_length)


if __name__ == "__main__":
    main()
