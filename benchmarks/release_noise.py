"""What exact noise costs: coverage, length and time of `draw_release` on one table, many times.

`python -m benchmarks.release_noise` prints one line a design. It needs nothing of the noise's code,
so that it also runs on an earlier checkout.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np

from dpci_core import ZCDP, Design, Logistic, PureDP, fit_moments, forecast
from dpci_core.release import draw_release

BUDGETS = {
    "pure": PureDP(model="0.5", hessian="0.25", covariance="0.25"),
    "zcdp": ZCDP(model="0.0625", hessian="0.03125", covariance="0.03125"),
}


def population(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Records of norm below 1, the constant last, with an effect of the first two columns."""
    Z = rng.uniform(-1, 1, (n, d))
    X = np.c_[Z / math.sqrt(2 * d), np.full(n, math.sqrt(0.5))] * (1 - 1e-12)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-Z[:, 0] + 0.5 * Z[:, 1])), 1.0, -1.0)
    return X, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=400)
    parser.add_argument("--records", type=int, default=8000)
    parser.add_argument("--features", type=int, default=10)
    options = parser.parse_args()
    n, d, c = options.records, options.features, 0.001
    X, y = population(200_000, d, np.random.default_rng(1))
    print(
        f"{n:,} records, d = {d}, c = {c}, total epsilon 1 or rho 0.125, {options.rounds} releases "
        "each"
    )
    print("design                       coverage        length (se)        forecast    median ms")
    for kind, budget in BUDGETS.items():
        for mechanism in ("objective", "output"):
            for calibration in ("published", "sharp"):
                design = Design(
                    loss=Logistic(),
                    mechanism=mechanism,
                    budget=budget,
                    regularization=c,
                    calibration=calibration,
                )
                moments = fit_moments(X, y, loss=design.loss, regularization=c)
                expected = forecast(moments, design=design, n_records=n).ci_length_mean
                rng, hits, lengths, seconds = np.random.default_rng(2), [], [], []
                for _ in range(options.rounds):
                    rows = rng.integers(len(X), size=n)
                    A, labels = X[rows], y[rows]
                    begun = time.process_time()
                    drawn = draw_release(A, labels, design=design)
                    seconds.append(time.process_time() - begun)
                    inside = (drawn.low <= moments.theta_hat) & (moments.theta_hat <= drawn.high)
                    hits.append(inside.mean())
                    lengths.append((drawn.high - drawn.low).mean())
                root = math.sqrt(options.rounds)
                name = f"{kind} {mechanism} {calibration}"
                print(
                    f"{name:<27}{np.mean(hits):.4f} ({np.std(hits) / root:.4f})  "
                    f"{np.mean(lengths):8.4f} ({np.std(lengths) / root:.4f})  {expected:10.4f}"
                    f"  {1000 * np.median(seconds):10.1f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
