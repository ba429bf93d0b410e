"""How like Adult the simulated census is, in the numbers that decide what private intervals look
like.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpci_core.datasets import load
from dpci_core.design import Design
from dpci_core.intervals.forecast import forecast
from dpci_core.losses import Logistic
from dpci_core.privacy.budget import PureDP
from dpci_core.schema import Encoding
from dpci_core.solvers.moments import fit_moments

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
        "regenerate": "python -m dpci_core data check-census --write",
        "census": census,
        "adult": adult,
        "largest_ratio": float(f"{max(max(r, 1 / r) for r in ratios):.5g}"),
        "allowed_ratio": MAX_RATIO,
    }
