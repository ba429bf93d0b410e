"""By how much more budget or records lengthens a sharp interval, where it does at all.

    python -m benchmarks.monotone [--features 10] [--points 40]

Forecast mean lengths of many designs on the simulated census, budgets from epsilon 0.05 to 20 (for zCDP a total of
0.1875 epsilon^2), among them splits that give the Hessian next to nothing: there its noise dominates, and half-widths
fade from noise-aware to plain (`dpci_core.half_widths`). Published lengths fall always.
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import numpy as np

from benchmarks.planner import Tables
from dpci_core import ZCDP, Design, HuberSVM, InfeasibleDesignError, Logistic, Moments, PureDP, forecast

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


def main() -> None:
    """Print every design that rises, and how many do."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--points", type=int, default=40, help="budgets for each design")
    options = parser.parse_args()
    tables = Tables(options.features)
    rises = []
    for design, n in designs():
        epsilon, rise = largest_rise(tables, design, n, options.points)
        rises.append(rise)
        if rise > COUNTS:
            shares = " ".join(f"{float(part / design.budget.total):.3g}" for part in design.budget.parts)
            print(
                f"{design.loss!r} n={n} c={design.regularization:g} {design.definition} {design.mechanism} {shares}: "
                f"{rise:.2%} longer at epsilon {epsilon:.2g} than at a smaller one",
                flush=True,
            )
    print(f"{len(rises)} designs, {sum(rise > COUNTS for rise in rises)} of them rise, the most by {max(rises):.2%}")


def designs() -> Iterator[tuple[Design, int]]:
    """Every combination, at a total of 1."""
    for loss, (n, c), mechanism, kind, split in itertools.product(
        LOSSES, TABLES, ("objective", "output"), (PureDP, ZCDP), SPLITS
    ):
        model, hessian, covariance = split
        budget = kind(model=model, hessian=hessian, covariance=covariance)
        yield Design(loss=loss, mechanism=mechanism, budget=budget, regularization=c, calibration="sharp"), n


def largest_rise(tables: Tables, design: Design, n: int, points: int) -> tuple[float, float]:
    """Epsilon and share by which the length exceeds that of a smaller budget at most."""
    moments = tables.moments(design.loss, design.regularization)
    worst, shortest = (0.0, 0.0), math.inf
    for epsilon in np.geomspace(0.05, 20.0, points):
        total = epsilon if design.definition == "pure" else 0.1875 * epsilon**2
        length = length_at(moments, design, n, Decimal(f"{total:.6g}"))
        if length > shortest * (1.0 + worst[1]):
            worst = float(epsilon), length / shortest - 1.0
        shortest = min(shortest, length)
    return worst


def length_at(moments: Moments, design: Design, n: int, total: Decimal) -> float:
    """Forecast mean length with this total, infinite where the design cannot run."""
    parts = [part * total for part in design.budget.parts]
    budget = type(design.budget)(model=parts[0], hessian=parts[1], covariance=parts[2])
    try:
        return forecast(moments, design=replace(design, budget=budget), n_records=n).ci_length_mean
    except InfeasibleDesignError:
        return math.inf


if __name__ == "__main__":
    main()
