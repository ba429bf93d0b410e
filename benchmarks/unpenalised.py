"""Coverage of the true coefficient with and without the Newton step to the unpenalised target, and
its price.

    python -m benchmarks.unpenalised [--runs 200]

First a logistic model with d = 2 and known coefficients, fresh data in every run; then bootstrap
replicates of the simulated census, where the truth is its own unpenalised minimiser. "marked" is
the share of intervals that say that the step falls short; "unmarked" is the coverage of the others.
"""

from __future__ import annotations

import argparse

import numpy as np

from dpci_core import Design, Logistic, PureDP, datasets, private_intervals
from dpci_core.base.rows import signed
from dpci_core.design import Estimand
from dpci_core.solvers.moments import unpenalised_minimiser

TRUTH = np.array([3.0, -2.0, 0.5])
"""Coefficients of x = (x_1, x_2, 1)/sqrt 3 with x_1, x_2 uniform on [-1, 1]."""
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)
EPSILONS = ("0.1", "0.5", "1", "3", "10")


def draw(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Records of the model."""
    X = np.c_[rng.uniform(-1.0, 1.0, (n, 2)), np.ones(n)] / np.sqrt(3.0)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-X @ TRUTH)), 1.0, -1.0)
    return X, y


def design_of(epsilon: str, c: float, target: Estimand) -> Design:
    """Sharp objective perturbation, half of the budget for the coefficients."""
    total = float(epsilon)
    budget = PureDP(model=total / 2, hessian=total / 4, covariance=total / 4)
    return Design(
        loss=Logistic(),
        mechanism="objective",
        budget=budget,
        regularization=c,
        calibration="sharp",
        target=target,
    )


def row(design: Design, samples: list[tuple[np.ndarray, np.ndarray]], truth: np.ndarray) -> str:
    """Coverage, marked share and length over samples."""
    rng = np.random.default_rng(1)
    inside, unidentified, length = [], [], []
    for X, y in samples:
        found = private_intervals(X, y, design=design, rng=rng)
        inside.append((found.low <= truth) & (truth <= found.high))
        unidentified.append(found.is_not_estimable)
        length.append(found.length.mean())
    hit, marked = np.array(inside), np.array(unidentified)
    unmarked = hit[~marked].mean() if (~marked).any() else np.nan
    return f"{hit.mean():6.3f} {marked.mean():6.2f} {unmarked:8.3f} {np.median(length):8.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    head = "  cover marked unmarked   length"
    print(
        f"Known truth, d = 2, {runs} runs, c ten times the smallest allowed and at least 1e-4, "
        f"truth {TRUTH.tolist()}"
    )
    print(f"{'n':>6} {'eps':>5} {'c':>8}  penalised{head:>34}  unpenalised{head:>32}")
    for n in SIZES:
        rng = np.random.default_rng(n)
        samples = [draw(n, rng) for _ in range(runs)]
        for epsilon in EPSILONS:
            c = smallest_c(n, epsilon)
            parts = [
                row(design_of(epsilon, c, target), samples, TRUTH)
                for target in ("penalised", "unpenalised")
            ]
            print(f"{n:6d} {epsilon:>5} {c:8.2g}  {parts[0]:>43}  {parts[1]:>43}", flush=True)
    census(runs)


def smallest_c(n: int, epsilon: str) -> float:
    """A small c that objective perturbation allows: ten times its limit t/(2n(e^epsilon_1 - 1)), at
    least 1e-4.
    """
    return max(1e-4, 10.0 * 0.25 / (2.0 * n * np.expm1(float(epsilon) / 2)))


def census(runs: int) -> None:
    """The same on bootstrap samples of the simulated census, two features."""
    records = datasets.load("census", encoding="schema", features=2, n_rows=30_000)
    truth = unpenalised_minimiser(signed(records.X, records.y), loss=Logistic())
    rng = np.random.default_rng(0)
    print(
        f"Simulated census, d = 2, {runs} runs, unpenalised coefficients "
        f"{np.round(truth, 2).tolist()}"
    )
    for n in (1_000, 10_000, 30_000):
        chosen = [rng.integers(len(records.y), size=n) for _ in range(runs)]
        samples = [(records.X[i], records.y[i]) for i in chosen]
        for epsilon in ("1", "10"):
            for c in (1e-4, 3e-4, 1e-3):
                try:
                    targets: tuple[Estimand, Estimand] = ("penalised", "unpenalised")
                    parts = [
                        row(design_of(epsilon, c, target), samples, truth) for target in targets
                    ]
                except ValueError:
                    continue
                print(f"{n:6d} {epsilon:>5} {c:8.2g}  {parts[0]:>43}  {parts[1]:>43}", flush=True)


if __name__ == "__main__":
    main()
