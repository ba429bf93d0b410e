"""Where the forecast can be believed: compare it with full simulations and print one row per
design.

Bootstrap replicates of the whole private interval on the simulated census (or Adult, with --data
adult), from the paper's settings to hopeless ones; the cuts in `dpci_core.intervals.forecast` were
read off this table.
"""

from __future__ import annotations

import argparse

import numpy as np

from dpci_core import (
    ZCDP,
    Design,
    HuberSVM,
    Logistic,
    PureDP,
    datasets,
    fit_moments,
    forecast,
    private_intervals,
)

C = 0.001
SHARES = (0.5, 0.25, 0.25)


def budgets(factor: float) -> list[PureDP | ZCDP]:
    """The paper's two budgets times a factor."""
    model, hessian, covariance = (round(factor * s, 6) for s in SHARES)
    pure = PureDP(model=model, hessian=hessian, covariance=covariance)
    model, hessian, covariance = (round(factor * s * s / 2, 6) for s in SHARES)
    return [pure, ZCDP(model=model, hessian=hessian, covariance=covariance)]


def compare(
    X: np.ndarray, y: np.ndarray, design: Design, n: int, replicates: int, rng: np.random.Generator
) -> str:
    """One row: simulated and forecast length and coverage, and the three ratios of noise."""
    moments = fit_moments(X, y, loss=design.loss, regularization=C)
    made = forecast(moments, design=design, n_records=n)
    lengths, hits = [], []
    for _ in range(replicates):
        rows = rng.integers(0, len(X), n)
        result = private_intervals(X[rows], y[rows], design=design, rng=rng)
        lengths.append(result.length.mean())
        hits.append(((result.low <= moments.theta_hat) & (moments.theta_hat <= result.high)).mean())
    length, error = float(np.mean(lengths)), float(np.std(lengths) / np.sqrt(replicates))
    v = made.validity
    return (
        f"| {n:,} | {design.loss.name} | {design.definition} {float(design.budget.total):g} | "
        f"{design.mechanism} | {length:.3g} | {100 * (made.ci_length_mean / length - 1):+.1f} % ± "
        f"{100 * error / length:.1f} | {np.mean(hits):.3f} | {made.coverage_mean:.3f} | {v.r1:.2g} "
        f"| {v.r2:.2g} | {v.r3:.2g} | {v.grade} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.validity", description=__doc__)
    parser.add_argument("--data", default="census", choices=["census", "adult"])
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--replicates", type=int, default=60)
    args = parser.parse_args()
    records = datasets.load(args.data, encoding="paper", features=args.features)
    rng = np.random.default_rng(0)
    print(
        "| n | loss | budget | mechanism | length | forecast off by | coverage | forecast | r1 | "
        "r2 | r3 | grade |"
    )
    print("|" + "---|" * 12)
    for n in (30_000, 5_000, 800):
        for loss in (Logistic(), HuberSVM(h=1.0)):
            for budget in (*budgets(1.0), *budgets(10.0)):
                for mechanism in ("objective", "output"):
                    design = Design(loss=loss, mechanism=mechanism, budget=budget, regularization=C)
                    print(
                        compare(records.X, records.y, design, n, args.replicates, rng), flush=True
                    )


if __name__ == "__main__":
    main()
