"""Interval length against the penalty, behind the default penalty of estimators whose columns have
typical values: `python -m benchmarks.effects`.

Simulated logistic regressions, columns as far from typical as declared, the radius an estimator
takes by itself. A cell is c R^2, the forecast length in standard deviations of a column, and the
forecast coverage of the coefficient without penalty; * where a release cannot speak about one.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from scipy.special import expit

from dpci_core import Design, Logistic, PureDP, fit_moments, forecast
from dpci_core.base.errors import InfeasibleDesignError
from dpci_core.base.rows import WeightedRows
from dpci_core.estimators.defaults import effects_regularization
from dpci_core.estimators.scaling import Standardisation

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Penalties, in units of the default."""
SLOPES = (0.5, -0.3, 0.2, 0.7, 0.0)
"""Log odds for one spread, over and over."""


def records(d: int, n_rows: int) -> tuple[WeightedRows, np.ndarray, float]:
    """Encoded rows, labels and the radius."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n_rows, d))
    y = np.where(rng.random(n_rows) < expit(X @ np.resize(SLOPES, d) - 1.0), 1.0, -1.0)
    scaling = Standardisation.of(0.0, 1.0, n_features=d, limit=4.0)
    return scaling.encode(X), y, scaling.radius


def cell(X: WeightedRows, y: np.ndarray, design: Design, n: int, radius: float) -> str:
    """What a penalty does."""
    c = design.regularization
    moments = fit_moments(X, y, loss=design.loss, regularization=c, target="unpenalised")
    try:
        made = forecast(moments, design=design, n_records=n)
    except InfeasibleDesignError:
        return f"{c * radius**2:.2g}: cannot run"
    mark = "*" if made.is_not_reportable.any() else ""
    length = made.ci_length_mean / radius
    return f"{c * radius**2:.2g}: {length:.3g}, {made.coverage_mean:.3f}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.effects", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000, help="simulated rows")
    n_rows = parser.parse_args().rows
    headers = " | ".join(f"{factor:g} times" for factor in FACTORS)
    print(f"| d | n | epsilon | mechanism | {headers} |")
    print("|" + "---|" * (4 + len(FACTORS)))
    for d in (2, 5, 15):
        X, y, radius = records(d, n_rows)
        for n in (3_000, 30_000):
            for epsilon in (0.3, 1.0, 4.0):
                for mechanism in ("objective", "output"):
                    half, quarter = repr(epsilon / 2.0), repr(epsilon / 4.0)
                    design = Design(
                        loss=Logistic(),
                        mechanism=mechanism,
                        budget=PureDP(model=half, hessian=quarter, covariance=quarter),
                        regularization=1.0,
                        calibration="sharp",
                        target="unpenalised",
                    )
                    c = effects_regularization(
                        design, n_records=n, n_coefficients=d + 1, row_radius=radius
                    )
                    cells = " | ".join(
                        cell(X, y, replace(design, regularization=factor * c), n, radius)
                        for factor in FACTORS
                    )
                    print(f"| {d} | {n} | {epsilon:g} | {mechanism} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
