"""Every mechanism at the same (epsilon, delta), each at nearly its own best split: `python -m
benchmarks.mechanisms`.

Prints the table of docs/mechanisms.md: the mean forecast length on the simulated census, from
moments alone, so the numbers are the same on every run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from dpci_core import Calibration, HuberSVM, Logistic, Loss, datasets, fit_moments, rank_mechanisms
from dpci_core.report.words import number

LOSSES: dict[str, Loss] = {"logistic": Logistic(), "huber_svm": HuberSVM(h=0.5)}
FEATURES = (2, 10, 36)
RECORDS = (10_000, 100_000, 1_000_000)
EPSILON = "1"
DELTA = "1e-6"
REGULARIZATION = 0.001
REVIEWED = Calibration(gaussian_objective=False)
"""Sharp, but for the theorem that is not peer-reviewed."""
WAYS = (
    ("pure", "objective", "sharp"),
    ("pure", "output", "sharp"),
    ("zcdp", "objective", "sharp"),
    ("zcdp", "objective", "custom"),
    ("zcdp", "output", "sharp"),
)
HEADERS = (
    "d",
    "n",
    "pure, objective",
    "pure, output",
    "zCDP, objective, new",
    "zCDP, objective",
    "zCDP, output",
    "no privacy",
)


def rows(loss: Loss, features: int) -> Iterator[str]:
    """The rows of one loss and one d; the shortest length of each row in bold."""
    records = datasets.load("census", encoding="schema", features=features)
    moments = fit_moments(records.X, records.y, loss=loss, regularization=REGULARIZATION)
    for n in RECORDS:
        ranked = rank_mechanisms(
            moments,
            epsilon=EPSILON,
            delta=DELTA,
            regularization=REGULARIZATION,
            n_records=n,
            calibrations=("sharp", REVIEWED),
        )
        lengths = {(row.definition, row.mechanism, row.calibration): row.length for row in ranked}
        best = min(lengths[way] for way in WAYS)
        cells = [
            f"**{number(lengths[w])}**" if lengths[w] == best else number(lengths[w]) for w in WAYS
        ]
        without = next(row.forecast.nonprivate_length_mean for row in ranked if row.forecast)
        yield f"| {features} | {n:,} | {' | '.join(cells)} | {number(without)} |"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mechanisms", description=__doc__)
    parser.add_argument("--loss", choices=LOSSES, default="logistic")
    parser.add_argument("--features", type=int, nargs="+", default=FEATURES)
    options = parser.parse_args()
    print(f"| {' | '.join(HEADERS)} |\n{'|---' * len(HEADERS)}|")
    for features in options.features:
        for row in rows(LOSSES[options.loss], features):
            print(row, flush=True)


if __name__ == "__main__":
    main()
