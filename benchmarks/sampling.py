"""Where intervals without any privacy noise cover less than they say, and what r4 says there.

A table stands for the population; samples of n of its rows are fitted, and the sandwich interval
of each is checked against the fit of the whole table. The limits of r4 in
`dpci_core.intervals.forecast` were read off the last lines.
"""

from __future__ import annotations

import argparse
from itertools import pairwise

import numpy as np

from dpci_core import HuberSVM, Logistic, Loss, Moments, fit_moments
from dpci_core.base.array import Array
from dpci_core.intervals.forecast import _CUTS

ROWS = 20_000
MARKED = _CUTS["r4"][0]
BINS = (0.0, 0.03, 0.07, 0.1, 0.15, 0.25, 0.5, np.inf)


def table(kind: str, d: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of norm at most 1 with a constant: two clouds apart, or one with a noisy boundary."""
    if kind == "apart":
        y = np.where(rng.random(ROWS) < 0.5, 1.0, -1.0)
        X = 0.3 * rng.standard_normal((ROWS, d))
        X[:, :3] += 1.5 * y[:, None]
    else:
        X = rng.standard_normal((ROWS, d))
        y = np.where(X[:, 0] + rng.standard_normal(ROWS) > 0.0, 1.0, -1.0)
    X /= np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None]
    X = np.c_[X, np.ones(ROWS)]
    return X / (np.linalg.norm(X, axis=1)[:, None] * (1.0 + 1e-9)), y


def pulled_share(moments: Moments, n: int) -> Array:
    """r4 of each coefficient (p,) without privacy noise."""
    assert moments.leverage_correction is not None
    inverse = np.linalg.inv(moments.hessian)
    lost, seen = (
        np.einsum("ij,jk,ik->i", inverse, of, inverse)
        for of in (moments.leverage_correction, moments.covariance)
    )
    return np.asarray(lost / seen / n)


def covered(
    X: Array, y: Array, moments: Moments, n: int, repeats: int, rng: np.random.Generator
) -> Array:
    """Coverage (p,) of the sandwich intervals of samples of n rows."""
    loss, c, hits = moments.loss, moments.regularization, []
    for _ in range(repeats):
        rows = rng.integers(0, len(y), n)
        found = fit_moments(X[rows], y[rows], loss=loss, regularization=c, with_drift=False)
        inverse = np.linalg.inv(found.hessian)
        se = np.sqrt(np.diag(inverse @ found.covariance @ inverse) / n)
        hits.append(np.abs(found.theta_hat - moments.theta_hat) <= 1.959964 * se)
    return np.asarray(np.mean(hits, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sampling", description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    losses: tuple[Loss, ...] = (HuberSVM(h=1.0), HuberSVM(h=0.1), Logistic())
    shares, coverage = [], []
    print(
        "| table | d | loss | c | n | worst coverage | intercept | largest r4 | intercept "
        "| marked |"
    )
    print("|" + "---|" * 10)
    for kind, d in (("apart", 5), ("apart", 20), ("noisy", 20)):
        X, y = table(kind, d, rng)
        for loss in losses:
            for c in (1e-3, 1e-4, 1e-5):
                moments = fit_moments(X, y, loss=loss, regularization=c)
                for n in (300, 1_000, 3_000):
                    share = pulled_share(moments, n)
                    found = covered(X, y, moments, n, args.repeats, rng)
                    h = f" h={loss.parameters['h']:g}" if loss.parameters else ""
                    print(
                        f"| {kind} | {d} | {loss.name}{h} | {c:g} | {n:,} | {found.min():.3f} | "
                        f"{found[-1]:.3f} | {share.max():.3f} | {share[-1]:.3f} | "
                        f"{(share >= MARKED).sum()} of {len(share)} |",
                        flush=True,
                    )
                    shares.extend(share)
                    coverage.extend(found)
    share, hit = np.array(shares), np.array(coverage)
    for low, high in pairwise(BINS):
        inside = hit[(low <= share) & (share < high)]
        if len(inside):
            print(f"r4 in [{low:g}, {high:g}): {len(inside)} intervals cover {inside.mean():.3f}")


if __name__ == "__main__":
    main()
