"""Test error against the penalty, behind the default penalty of the estimators: `python -m
benchmarks.penalties`.

On the simulated census, so that the rule is chosen on no real table.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from benchmarks.error_rates import accuracy_experiment
from dpci_core import datasets
from dpci_core.losses import LOSSES, make_loss
from dpci_core.tuning import Learner

FACTORS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Penalties in units of s = sqrt(p + 1) / (n epsilon)."""
TABLES = ((36, 30_000), (10, 30_000), (10, 3_000))
"""Features and rows; a fifth of the rows is for testing."""
EPSILONS = ("0.05", "0.2", "1", "5")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.penalties", description=__doc__)
    parser.add_argument("--draws", type=int, default=24, help="fits behind a mean")
    parser.add_argument("--loss", choices=tuple(LOSSES), default="logistic")
    options = parser.parse_args()
    loss = make_loss(options.loss, 0.5)
    headers = " | ".join(f"c = {factor:g} s" for factor in FACTORS)
    print(f"| d | n | epsilon | s | method | {headers} |")
    print("|" + "---|" * (5 + len(FACTORS)))
    for d, n_rows in TABLES:
        records = datasets.load("census", features=d, n_rows=n_rows)
        order = np.random.default_rng(0).permutation(n_rows)
        train, test = np.split(order, [4 * n_rows // 5])
        tables = records.X[train], records.y[train], records.X[test], records.y[test]
        for epsilon in EPSILONS:
            s = math.sqrt(d + 2.0) / (len(train) * float(epsilon))
            for method in ("objective_tight", "output"):
                learners = [
                    Learner(loss=loss, method=method, regularization=factor * s)
                    for factor in FACTORS
                ]
                found = accuracy_experiment(
                    *tables,
                    learners=learners,
                    epsilons=[epsilon],
                    n_fits=options.draws,
                    rng=np.random.default_rng(1),
                )
                cells = " | ".join(f"{row.error:.4f}" + "*" * row.is_raised for row in found)
                print(
                    f"| {d} | {len(train)} | {epsilon} | {s:.2g} | {method} | {cells} |", flush=True
                )
    print("* The penalty was too small for this budget, so Algorithm 2 raised it.")


if __name__ == "__main__":
    main()
