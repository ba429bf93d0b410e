"""How far forecasts from few draws are from those of the default.

    python -m benchmarks.draws [--features 10] [--few 16]

The designs of `benchmarks.monotone` at five budgets, by how much the noise on the Hessian weighs
against its smallest eigenvalue (`Validity.r1`). Draws are fixed, so that the difference is the same
along a curve and not a flicker.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np

from benchmarks.monotone import SPLITS, at_epsilon, designs
from benchmarks.planner import Tables
from dpci_core import InfeasibleDesignError, forecast

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
BANDS = (0.0, 1.0, 3.0, 6.0, 12.0, 24.0, np.inf)


def main() -> None:
    """Print the quantiles of the difference in mean length, band by band."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--few", type=int, default=16, help="draws")
    options = parser.parse_args()
    tables = Tables(options.features)
    ratios, differences = [], []
    for design, n in designs(SPLITS):
        moments = tables.moments(design.loss, design.regularization)
        for epsilon in EPSILONS:
            at = at_epsilon(design, epsilon)
            try:
                few = forecast(moments, design=at, n_records=n, n_draws=options.few)
                full = forecast(moments, design=at, n_records=n)
            except InfeasibleDesignError:
                continue
            ratios.append(full.validity.r1)
            differences.append(few.ci_length_mean / full.ci_length_mean - 1.0)
    r1, off = np.array(ratios), np.array(differences)
    print(
        "| r1 | designs | smallest | 5 % | median | 95 % | largest |\n|---|---|---|---|---|---|---|"
    )
    for low, high in itertools.pairwise(BANDS):
        here = off[(r1 >= low) & (r1 < high)]
        if len(here):
            cells = " | ".join(f"{x:+.1%}" for x in np.quantile(here, (0.0, 0.05, 0.5, 0.95, 1.0)))
            print(f"| {low:g}-{high:g} | {len(here)} | {cells} |")


if __name__ == "__main__":
    main()
