"""What `DPLogit` of dp-econometrics 0.1.0 prints on Adult, d = 10, at (1, 1e-6): its noise against
the noise that this epsilon asks for, and the length of its intervals.

    python -m benchmarks.dp_econometrics

The first figures are from its formulas as read in its repository (models/logit.py), with no part of
it running; the last are its own, if the package can be imported. docs/comparison.md quotes them.

Its fit minimises mean loss + (l/2) |b|^2 + z.b/n over b, z ~ N(0, s^2 I) with
s = 2 B sqrt(k) / (n l) sqrt(2 log(1.25/delta)) / epsilon, k columns within [-B, B]. The first
factor bounds what a record changes in the minimiser; but z is added to the sum of gradients, which
a record changes by up to twice the largest norm.

How private that is can be told from below. At a released b, z is minus the gradient of everything
else. Turning one person's label around moves that gradient sum by x exactly, at every b, and leaves
the Hessian as it is. So the two tables' releases differ as N(0, s^2 I) differs from its shift by x:
the guarantee is that of a Gaussian mechanism at |x|/s, no better.
"""

from __future__ import annotations

import importlib.util
import math
import warnings

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import norm

from benchmarks.compare import REGULARIZATION, SETS
from dpci_core.base.array import Array
from dpci_core.base.rows import signed
from dpci_core.losses import Logistic
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.risk import PenalisedRisk

EPSILON, DELTA, LARGEST_ENTRY = 1.0, 1e-6, 1.0
ROWS_OF_A_RUN = 2_000
"""Its fit makes a matrix of n by n numbers, 7 GB for all of Adult."""
RUNS = 20


def noise_sd(*, n: int, k: int, penalty: float) -> float:
    """Return s, the standard deviation of its z."""
    sensitivity = 2.0 * LARGEST_ENTRY * math.sqrt(k) / (n * penalty)
    return sensitivity * math.sqrt(2.0 * math.log(1.25 / DELTA)) / EPSILON


def factor_missing(*, n: int, k: int, penalty: float) -> float:
    """Return by what s would have to be multiplied for its own formula at a sensitivity of 2."""
    asked = 2.0 * math.sqrt(2.0 * math.log(1.25 / DELTA)) / EPSILON
    return asked / noise_sd(n=n, k=k, penalty=penalty)


def smallest_epsilon(distance: float) -> float:
    """Return the epsilon at `DELTA` of a Gaussian mechanism whose answers are so many standard
    deviations apart [Balle and Wang 2018, Theorem 8].
    """

    def excess(epsilon: float) -> float:
        half, ratio = distance / 2.0, epsilon / distance
        return float(ndtr(half - ratio) - math.exp(epsilon) * ndtr(-half - ratio)) - DELTA

    return float(brentq(excess, 1e-9, distance**2 + 20.0 * distance))


def standard_errors(H: Array, sd: float, n: int) -> Array:
    """Return its standard errors: the inverse of the mean Hessian is not divided by n."""
    inverse = np.linalg.inv(H)
    return np.asarray(np.sqrt(np.diag(inverse) + (sd / n) ** 2 * np.diag(inverse @ inverse)))


def run_it(X: Array, y: Array, penalty: float) -> list[str]:
    """What the package itself says, or how to get it."""
    if importlib.util.find_spec("dp_econometrics") is None:
        return [
            "The package is not installed here, so it was not run; it is at "
            "github.com/MaxGhenis/dp-econometrics."
        ]
    from dp_econometrics.models.logit import DPLogit  # type: ignore[import-not-found, unused-ignore]

    few, answers = X[:ROWS_OF_A_RUN], (y[:ROWS_OF_A_RUN] > 0).astype(float)
    lengths = []
    for seed in range(RUNS):
        np.random.seed(seed)  # noqa: NPY002, its only source of noise
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = DPLogit(EPSILON, DELTA, (-LARGEST_ENTRY, LARGEST_ENTRY), penalty).fit(
                answers, few, add_constant=False
            )
        lengths.append(np.diff(fit.conf_int(), axis=1).mean())
    return [
        f"Run on {len(few):,} rows, {RUNS} times: mean length {np.mean(lengths):.1f}, at "
        f"epsilon {fit.epsilon_used:g} as it prints."
    ]


def main() -> None:
    records = SETS["adult-10"].records()
    X, y = np.asarray(records.X), np.asarray(records.y)
    n, k = X.shape
    penalty = 2.0 * REGULARIZATION
    rows, loss = signed(X, y), Logistic()
    theta = minimise(PenalisedRisk(rows, loss=loss, regularization=REGULARIZATION)).theta
    H, S = PenalisedRisk(rows, loss=loss, regularization=REGULARIZATION).moments(theta)
    z = float(norm.ppf(0.975))
    inverse = np.linalg.inv(H)
    sampling = 2.0 * z * np.sqrt(np.diag(inverse @ S @ inverse) / n)
    sd = noise_sd(n=n, k=k, penalty=penalty)
    longest = float(np.linalg.norm(X, axis=1).max())
    print(f"Adult, n = {n:,}, {k} columns, longest record {longest:.3f}, penalty {penalty:g}")
    print(f"its noise has deviation {sd:.3f}")
    factor = factor_missing(n=n, k=k, penalty=penalty)
    print(f"its own formula at a sensitivity of 2 asks for {factor:.1f} times as much")
    epsilon = smallest_epsilon(longest / sd)
    print(f"a label turned around is told at epsilon {epsilon:.1f}; it prints {EPSILON:g}")
    told = 2.0 * z * standard_errors(H, sd, n)
    print(f"its mean length, from its formula at the fit without noise: {told.mean():.1f}")
    print(f"mean length without privacy: {sampling.mean():.2f}")
    print("\n".join(run_it(X, y, penalty)))


if __name__ == "__main__":
    main()
