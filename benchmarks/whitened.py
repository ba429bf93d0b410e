"""Noise shaped like the records against the best split without: length, coverage, bias.

    python -m benchmarks.whitened [--replicates 500] [--only adult-10 bank-10 ...] [--kind pure ...]

Each row plans ridge, largest leverage and split from the whole table, or, of the kind "marginals",
from one whose columns were permuted independently, and then repeats both releases on the same
bootstrap replicates. Coverage is of the penalised coefficient with every row in full; bias is what
weights move it by on the table, in half-widths. Public sets are read from where `data get` puts
them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from dpci_core import ZCDP, Design, HuberSVM, Logistic, PureDP
from dpci_core.datasets import load
from dpci_core.planner import best_geometry
from dpci_core.planner.geometry import SecondMoment
from dpci_core.schema import Records
from dpci_core.simulation.run import run_experiment
from dpci_core.solvers.moments import fit_moments

TABLES = {
    "adult-10": ("adult", "paper", 10, ("0.1875", "0.5", "0.02436")),
    "bank-10": ("bank", "paper", 10, ("0.1875", "0.02436")),
    "census-10": ("census", "schema", 10, ("0.1875", "0.02436")),
    "adult-36": ("adult", "paper", 36, ("0.1875", "0.02436")),
    "kdd-10": ("kdd99", "paper", 10, ("0.1875",)),
}
KINDS = ("zcdp", "marginals", "pure", "svm")
C = 0.001
MOST_ROWS = 60_000
"""Of KDD, which has 494,021."""


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    kind: str
    total: Decimal
    records: Records
    design: Design
    second_moment: SecondMoment


def cases(only: list[str], kinds: list[str]) -> Iterator[Case]:
    """Every case that was asked for."""
    for name, (key, encoding, d, totals) in TABLES.items():
        if only and name not in only:
            continue
        n_rows = MOST_ROWS if key == "kdd99" else None
        records = load(key, encoding=encoding, features=d, n_rows=n_rows)  # type: ignore[arg-type]
        for kind in kinds:
            is_pure = kind == "pure"
            for total in map(Decimal, ("1",) if is_pure else totals):
                definition = PureDP if is_pure else ZCDP
                half, quarter = total / 2, total / 4
                budget = definition(model=half, hessian=quarter, covariance=quarter)
                loss = HuberSVM(h=0.5) if kind == "svm" else Logistic()
                design = Design(
                    loss=loss,
                    mechanism="objective",
                    budget=budget,
                    regularization=C,
                    calibration="sharp",
                )
                yield Case(
                    name, kind, total, records, design, "planning" if is_pure else "released"
                )


def run(case: Case, replicates: int) -> str:
    """Plan and repeat one case; its row."""
    X, y = np.asarray(case.records.X), case.records.y
    rows, labels = X, y
    if case.kind == "marginals":
        rng = np.random.default_rng(1)
        rows = np.column_stack([rng.permutation(column) for column in X.T])
        rows *= np.minimum(1.0, 1.0 / np.linalg.norm(rows, axis=1))[:, None]
    found = best_geometry(rows, labels, design=case.design, second_moment=case.second_moment)
    geometry, budget = found.design.geometry, found.design.budget
    plain = best_geometry(X, y, design=case.design) if case.kind == "marginals" else found
    head = f"{case.name:10} {case.kind:9} {case.total:8}"
    if geometry is None:
        return f"{head} no geometry is shorter ({found.plain_forecast.ci_length_mean:.4f})"
    fitted = fit_moments(
        X, y, loss=case.design.loss, regularization=C, geometry=geometry, with_drift=False
    )
    unweighted = fit_moments(X, y, loss=case.design.loss, regularization=C, with_drift=False)
    result = run_experiment(
        X,
        y,
        designs=[replace(plain.plain), found.design],
        n_variability=replicates,
        n_coverage=replicates,
        rng=np.random.default_rng(5),
    )
    before, after = result.designs
    gap = np.abs(fitted.theta_hat - unweighted.theta_hat)
    bias = float(np.max(2.0 * gap / after.ci_length))
    shares = "/".join(
        f"{100 * float(part / budget.total):.3g}" for part in (budget.metric, *budget.parts)
    )
    return (
        f"{head} {before.ci_length_mean:.4f} {before.coverage_mean:.4f} "
        f"{before.coverage.min():.3f} | {after.ci_length_mean:.4f} {after.coverage_mean:.4f} "
        f"{after.coverage.min():.3f} | {found.forecast.ci_length_mean:.4f} "
        f"{found.forecast.validity.grade} | ridge {geometry.ridge:g} leverage "
        f"{geometry.leverage:.1f} split {shares} bias {bias:.3f} weighted {fitted.n_weighted}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=500)
    parser.add_argument("--only", nargs="*", default=[], choices=list(TABLES))
    parser.add_argument("--kind", nargs="*", default=["zcdp"], choices=KINDS)
    options = parser.parse_args()
    print(
        "table      kind      total    | best split: length coverage smallest | shaped: the same | "
        "its forecast | plan"
    )
    for case in cases(options.only, options.kind):
        print(run(case, options.replicates), flush=True)


if __name__ == "__main__":
    main()
