"""Is a promised length kept as often as promised?

    python -m benchmarks.promises [--features 20] [--releases 200]

For sharp designs around the edge of what is valid: the length that `Outcome.within_reach` promises
with probability .9, planned with 20,000 rows of the simulated census, and the share of releases
from other rows that keep it; for the mean and for the coefficient that keeps it least often.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from dpci_core import (
    ZCDP,
    Design,
    Logistic,
    PureDP,
    Target,
    datasets,
    fit_moments,
    private_intervals,
)
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.planner.targets import outcome_of
from dpci_core.privacy.budget import Budget

PROMISED = 0.9
ROWS = 20_000


def budget(definition: str, epsilon: float) -> Budget:
    """Half of it for the model; of rho the one whose Gaussian noise is about as large."""
    if definition == "pure":
        half, quarter = str(epsilon / 2), str(epsilon / 4)
        return PureDP(model=half, hessian=quarter, covariance=quarter)
    half, quarter = str(epsilon**2 / 4), str(epsilon**2 / 8)
    return ZCDP(model=half, hessian=quarter, covariance=quarter)


def main() -> None:
    """Print a line a design."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.promises")
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--releases", type=int, default=200)
    options = parser.parse_args()
    table = datasets.load("census", encoding="schema", features=options.features, n_rows=400_000)
    rows = np.random.default_rng(0).choice(len(table.X), ROWS, replace=False)
    targets = ("penalised", "unpenalised")
    print(f"promised {PROMISED}; standard error {np.sqrt(0.09 / options.releases):.3f}")
    print("target       law   mechanism       c      n  eps   r3     mean  worst coefficient")
    kept: list[float] = []
    for target, law, mechanism, c, n, epsilon in product(
        targets, ("zcdp", "pure"), ("objective", "output"), (0.001, 0.01), (3_000, 12_000), (0.5, 2)
    ):
        fit = fit_moments(
            table.X[rows], table.y[rows], loss=Logistic(), regularization=c, target=target
        )
        design = Design(
            loss=Logistic(),
            mechanism=mechanism,
            budget=budget(law, epsilon),
            regularization=c,
            n_records=n,
            calibration="sharp",
            target=target,
        )
        drawn = drawn_intervals(fit, design=design)
        validity = forecast_of(drawn, fit).validity
        if validity.grade != "valid":
            continue
        lengths = []
        for k in range(options.releases):
            rng = np.random.default_rng([n, k])
            i = rng.integers(0, len(table.X), n)
            made = private_intervals(table.X[i], table.y[i], design=design, rng=rng)
            lengths.append(made.length)
        released = np.array(lengths)
        mean = outcome_of(drawn, Target(1.0, probability=PROMISED)).within_reach
        each = [
            outcome_of(drawn, Target(1.0, coefficient=j, probability=PROMISED)).within_reach
            for j in range(released.shape[1])
        ]
        kept.append(float(np.mean(released.mean(axis=1) <= mean)))
        print(
            f"{target:12} {law:5} {mechanism:9} {c:7} {n:6} {epsilon:4} {validity.r3:4.2f}    "
            f"{kept[-1]:.3f}  {np.mean(released <= each, axis=0).min():.3f}",
            flush=True,
        )
    few = PROMISED - 2.0 * np.sqrt(0.09 / options.releases)
    print(f"{sum(share < few for share in kept)} of {len(kept)} below {few:.3f} for the mean")


if __name__ == "__main__":
    main()
