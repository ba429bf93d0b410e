"""What exact accounting gains: budget, and lengths of intervals by output perturbation.

    python -m benchmarks.exact_accounting

Each cell is a promise (epsilon, delta), spent through zCDP and as Gaussian differential privacy,
each with nearly its own best split. Lengths are forecasts of the mean 95 % interval on the
simulated census, calibration "sharp".
"""

from __future__ import annotations

from decimal import Decimal

from dpci_core import Design, Logistic, datasets, fit_moments
from dpci_core.planner.split import quick_split
from dpci_core.privacy.budget import GDP, ZCDP, Budget

PROMISES = (("0.5", "1e-6"), ("1", "1e-6"), ("1", "1e-9"), ("4", "1e-6"))
SIZES = ((10, 30_000), (20, 30_000), (10, 5_000))
REGULARIZATION = 0.001


def budget(kind: type[Budget], epsilon: str, delta: str) -> Budget:
    """The largest that keeps the promise, in the shares that the search starts from."""
    total = kind.total_within(Decimal(epsilon), float(delta))
    assert total is not None
    part = total / 10
    return kind(model=total - 2 * part, hessian=part, covariance=part)


def main() -> None:
    """Print a row a cell."""
    print("| d | n | epsilon | delta | rho by zCDP | exact rho | more | length | exact | shorter |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for d, n in SIZES:
        records = datasets.load("census", n_rows=n, features=d)
        moments = fit_moments(records.X, records.y, loss=Logistic(), regularization=REGULARIZATION)
        for epsilon, delta in PROMISES:
            rhos, lengths = [], []
            for kind in (ZCDP, GDP):
                own = budget(kind, epsilon, delta)
                design = Design(
                    loss=Logistic(),
                    mechanism="output",
                    budget=own,
                    regularization=REGULARIZATION,
                    calibration="sharp",
                )
                rhos.append(float(own.as_rho(own.total)))
                lengths.append(quick_split(moments, design=design)[1].ci_length_mean)
            more, shorter = rhos[1] / rhos[0] - 1.0, 1.0 - lengths[1] / lengths[0]
            print(
                f"| {d} | {n:,} | {epsilon} | {delta} | {rhos[0]:.5f} | {rhos[1]:.5f} | "
                f"{more:.1%} | {lengths[0]:.4g} | {lengths[1]:.4g} | {shorter:.1%} |"
            )


if __name__ == "__main__":
    main()
