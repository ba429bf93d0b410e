"""How like Adult the simulated census is, in the numbers that decide what private intervals look
like: `python -m benchmarks.census_check`, with `--write` into `data/census_check.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpci_core.base.places import DATA
from dpci_core.datasets import load
from dpci_core.design import Design
from dpci_core.intervals.forecast import forecast
from dpci_core.losses import Logistic
from dpci_core.privacy.budget import PureDP
from dpci_core.schema import Encoding
from dpci_core.solvers.moments import fit_moments

CHECK_FILE = DATA / "census_check.json"
"""The committed numbers."""
N_ROWS = 30_162
"""Adult's complete rows; the census is generated to the same size."""
MAX_RATIO = 1.5
"""The factor within which census and Adult must agree, either way."""
CASES: tuple[tuple[Encoding, int], ...] = (
    ("schema", 10),
    ("schema", 36),
    ("paper", 10),
    ("paper", 36),
)
NUMBERS = ("smallest_eigenvalue", "mean_variability_length", "r1")


def check_design() -> Design:
    """Pure DP, objective perturbation, logistic loss, total epsilon 1 in the published split, c =
    0.001.
    """
    budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    return Design(loss=Logistic(), mechanism="objective", budget=budget, regularization=0.001)


def measure(key: str) -> dict[str, dict[str, float]]:
    """Return the three numbers for every encoding and d of one set."""
    design = check_design()
    result = {}
    for encoding, d in CASES:
        records = load(key, encoding=encoding, features=d, n_rows=N_ROWS)
        moments = fit_moments(
            records.X, records.y, loss=design.loss, regularization=design.regularization
        )
        answer = forecast(moments, design=design)
        values = (
            float(np.linalg.eigvalsh(moments.hessian)[0]),
            answer.vi_length_mean,
            answer.validity.r1,
        )
        result[f"{encoding} d={d}"] = {
            name: float(f"{v:.5g}") for name, v in zip(NUMBERS, values, strict=True)
        }
    return result


def compare(
    census: dict[str, dict[str, float]], adult: dict[str, dict[str, float]]
) -> dict[str, Any]:
    """Return both sets' numbers, the largest ratio either way, and what was measured."""
    ratios = [census[case][name] / adult[case][name] for case in census for name in NUMBERS]
    return {
        "what": "n = 30162, logistic, pure DP, objective perturbation, epsilon 0.5 + 0.25 + 0.25, "
        "c = 0.001",
        "regenerate": "python -m benchmarks.census_check --write",
        "census": census,
        "adult": adult,
        "largest_ratio": float(f"{max(max(r, 1 / r) for r in ratios):.5g}"),
        "allowed_ratio": MAX_RATIO,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison; exit code 1 if a ratio is above the allowed one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.census_check", description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"replace {CHECK_FILE.name}")
    options = parser.parse_args(arguments)
    result = compare(measure("census"), measure("adult"))
    if options.write:
        CHECK_FILE.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{'':<40}{'census':>10}{'Adult':>10}{'ratio':>8}")
    for case, numbers in result["census"].items():
        for name, value in numbers.items():
            other = result["adult"][case][name]
            print(f"{case:<14}{name:<26}{value:>10.5g}{other:>10.5g}{value / other:>8.3f}")
    return int(result["largest_ratio"] > result["allowed_ratio"])


if __name__ == "__main__":
    sys.exit(main())
