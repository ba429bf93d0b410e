"""What private tuning costs against tuning on public data: `python -m benchmarks.tuning`.

On the simulated census, with the true price of both: Algorithm 4 tunes on parts of the table
itself; the other way takes the best candidate of another simulated table and trains it on every
record. The candidates differ in loss, mechanism and penalty. The last column is the default penalty
of the estimators, which looks at no table.
"""

from __future__ import annotations

import argparse

import numpy as np

from dpci_core import Design, HuberSVM, Logistic, PureDP, datasets
from dpci_core.estimators.defaults import default_regularization
from dpci_core.studies.accuracy.protocol import tuned_accuracy
from dpci_core.studies.accuracy.study import accuracy_experiment
from dpci_core.tuning import Candidate, Learner

SIZES = (3_000, 12_000, 60_000)
EPSILONS = ("0.1", "0.5", "2")
FEATURES = 10
TEST_ROWS = 10_000
LEARNERS = tuple(
    Learner(loss=loss, method=method, regularization=c)
    for loss in (Logistic(), HuberSVM(h=0.5))
    for method in ("objective_tight", "output")
    for c in (1e-5, 1e-4, 1e-3, 1e-2)
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuning", description=__doc__)
    parser.add_argument("--draws", type=int, default=40, help="runs behind a mean")
    n_draws = parser.parse_args().draws
    records = datasets.load("census", features=FEATURES, n_rows=2 * max(SIZES) + TEST_ROWS)
    order = np.random.default_rng(0).permutation(len(records.y))
    test, own, public = np.split(order, [TEST_ROWS, TEST_ROWS + max(SIZES)])
    tested = records.X[test], records.y[test]
    candidates = [Candidate(learner=learner) for learner in LEARNERS]
    print(
        f"Simulated census, d = {FEATURES}, {len(LEARNERS)} candidates, {n_draws} runs; mean test "
        "error ± its error."
    )
    print(
        "| n | epsilon | tuned privately | tuned on public data | cost of privacy in tuning | "
        "default penalty |"
    )
    print("|---|---|---|---|---|---|")
    for n in SIZES:
        table, other = (
            (records.X[own[:n]], records.y[own[:n]]),
            (records.X[public[:n]], records.y[public[:n]]),
        )
        for epsilon in EPSILONS:
            rng = np.random.default_rng(1)
            tuned = tuned_accuracy(
                *table, *tested, candidates=candidates, epsilon=epsilon, n_runs=n_draws, rng=rng
            )
            settings = {"epsilons": [epsilon], "n_fits": n_draws, "rng": rng}
            found = accuracy_experiment(*other, *tested, learners=LEARNERS, **settings)
            best = LEARNERS[int(np.argmin([row.error for row in found]))]
            parts = PureDP(model=epsilon, hessian=1, covariance=1)
            design = Design(loss=Logistic(), mechanism="objective", budget=parts, regularization=1)
            c = default_regularization(design, n_records=n, n_coefficients=FEATURES + 1)
            usual = Learner(loss=Logistic(), method="objective_tight", regularization=c)
            told, default = accuracy_experiment(*table, *tested, learners=[best, usual], **settings)
            cells = [f"{row.error:.4f} ± {row.error_se:.4f}" for row in (tuned, told, default)]
            print(
                f"| {n} | {epsilon} | {cells[0]} | {cells[1]} | {tuned.error - told.error:.4f} | "
                f"{cells[2]} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
