"""Measurements behind the limits by which forecasts are graded and half-widths fade, and behind
tables of the documents, one each.

    python -m benchmarks.constants NAME [--runs 100]

The docstring beside a limit, or the text above a table, names its measurement.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from dpci_core import (
    ZCDP,
    Design,
    HuberSVM,
    InfeasibleDesignError,
    Logistic,
    Loss,
    Moments,
    PureDP,
    Target,
    datasets,
    fit_moments,
    forecast,
    private_intervals,
)
from dpci_core.base.array import Array
from dpci_core.base.rows import signed
from dpci_core.intervals.forecast import drawn_intervals, forecast_of
from dpci_core.planner.amounts import with_total
from dpci_core.planner.targets import outcome_of
from dpci_core.solvers.moments import unpenalised_minimiser

MECHANISMS = ("objective", "output")
LOSSES = (Logistic(), HuberSVM(h=0.5), HuberSVM(h=0.1))
TABLES = ((2_000, 0.01), (30_000, 0.001), (30_000, 0.01), (300_000, 0.0001))
"""Records and c."""
SPLITS = (
    (0.5, 0.25, 0.25),
    (0.4, 0.5, 0.1),
    (0.5, 0.05, 0.45),
    (0.9, 0.02, 0.08),
    (0.82, 0.015, 0.165),
)
"""The last two give the Hessian next to nothing: its noise dominates, and half-widths fade from
noise-aware to plain.
"""
ROWS = 30_000
"""Of the simulated census."""
RISE = 0.001
"""A rise that is counted."""


@cache
def moments_of(loss: Loss, c: float) -> Moments:
    """The fit of the simulated census with ten features."""
    records = datasets.load("census", encoding="schema", features=10, n_rows=ROWS)
    return fit_moments(records.X, records.y, loss=loss, regularization=c)


def made(
    loss: Any, epsilon: float, c: float, n: int, mechanism: Any = "objective", **more: Any
) -> Design:
    """A sharp design of pure epsilon, half of it for the coefficients."""
    half, quarter = repr(epsilon / 2.0), repr(epsilon / 4.0)
    budget = PureDP(model=half, hessian=quarter, covariance=quarter)
    how = {"calibration": "sharp", "regularization": c, "mechanism": mechanism} | more
    return Design(loss=loss, budget=budget, n_records=n, **how)


def many(epsilon: float) -> Iterator[Design]:
    """Every combination at this epsilon, or at the rho that stands for it."""
    for loss, (n, c), mechanism, kind, split in itertools.product(
        LOSSES, TABLES, MECHANISMS, (PureDP, ZCDP), SPLITS
    ):
        model, hessian, covariance = map(repr, split)
        design = made(loss, 1.0, c, n, mechanism)
        design = replace(design, budget=kind(model=model, hessian=hessian, covariance=covariance))
        total = epsilon if kind is PureDP else 0.1875 * epsilon**2
        yield with_total(design, Decimal(f"{total:.6g}"))


def rises(runs: int) -> None:
    """By how much a larger budget, split as before, lengthens a sharp interval at most; of `runs`
    budgets from epsilon 0.05 to 20.
    """
    epsilons = np.geomspace(0.05, 20.0, runs)
    means, single, longest = [], [], 1.0
    for designs in zip(*(many(float(e)) for e in epsilons), strict=True):
        found = [(e, _lengths(one)) for e, one in zip(epsilons, designs, strict=True)]
        kept = [(e, row) for e, row in found if row is not None]
        at, lengths = np.array([e for e, _ in kept]), np.array([row for _, row in kept])
        rise = lengths / np.minimum.accumulate(lengths) - 1.0 if kept else np.zeros((1, 2))
        for i, j in np.argwhere(rise > RISE):
            begun = np.flatnonzero(lengths[:, j] <= lengths[i, j] * (1.0 - RISE))[0]
            longest = max(longest, float(at[i] / at[begun]))
        means.append(float(rise[:, 0].max()))
        single.append(float(rise[:, 1:].max()))
    print(
        f"{len(means)} designs, the mean of {sum(x > RISE for x in means)} rises, the most by "
        f"{max(means):.2%}; single coefficients in {sum(x > RISE for x in single)}, the most by "
        f"{max(single):.1%}; the longest rise is over at {longest:.1f} times its epsilon"
    )


def _lengths(design: Design) -> Array | None:
    try:
        found = forecast(moments_of(design.loss, design.regularization), design=design)
    except InfeasibleDesignError:
        return None
    return np.append(found.ci_length_mean, found.ci_length)


def cuts(runs: int) -> None:
    """Forecast length and coverage beside full simulations on Adult, with r1, r2 and r3."""
    records, rng = datasets.load("adult", encoding="paper", features=10), np.random.default_rng(0)
    for n, loss, epsilon, mechanism in itertools.product(
        (30_000, 5_000, 800), (Logistic(), HuberSVM(h=1.0)), (1.0, 10.0), MECHANISMS
    ):
        design = made(loss, epsilon, 0.001, n, mechanism, calibration="published")
        moments = fit_moments(records.X, records.y, loss=loss, regularization=0.001)
        expected = forecast(moments, design=design)
        lengths, hits = [], []
        for _ in range(runs):
            rows = rng.integers(0, len(records.X), n)
            found = private_intervals(records.X[rows], records.y[rows], design=design, rng=rng)
            lengths.append(found.length.mean())
            hits.append(np.abs(moments.theta_hat - found.estimate) <= found.length / 2.0)
        of, off = expected.validity, expected.ci_length_mean / np.mean(lengths) - 1.0
        print(
            f"n = {n:,}, {loss.name}, epsilon {epsilon:g}, {mechanism}: length off by {off:+.1%}, "
            f"coverage {np.mean(hits):.3f}, forecast {expected.coverage_mean:.3f}; r1 {of.r1:.2g}, "
            f"r2 {of.r2:.2g}, r3 {of.r3:.2g}, {of.grade}",
            flush=True,
        )


def sampling(runs: int) -> None:
    """Coverage of intervals without privacy noise, by r4."""
    rng, shares, coverage = np.random.default_rng(0), [], []
    for d, loss, c in itertools.product((5, 20), LOSSES, (1e-3, 1e-4, 1e-5)):
        y = np.where(rng.random(20_000) < 0.5, 1.0, -1.0)
        X = 0.3 * rng.standard_normal((len(y), d))
        X[:, :3] += 1.5 * y[:, None]
        X = np.c_[X / np.maximum(np.linalg.norm(X, axis=1), 1.0)[:, None], np.ones(len(y))]
        X /= np.linalg.norm(X, axis=1)[:, None] * (1.0 + 1e-9)
        moments = fit_moments(X, y, loss=loss, regularization=c)
        inverse = np.linalg.inv(moments.hessian)
        lost, seen = (
            np.einsum("ij,jk,ik->i", inverse, of, inverse)
            for of in (moments.leverage_correction, moments.covariance)
        )
        for n in (300, 1_000, 3_000):
            hits = []
            for _ in range(runs):
                rows = rng.integers(0, len(y), n)
                fit = fit_moments(X[rows], y[rows], loss=loss, regularization=c, with_drift=False)
                solved = np.linalg.inv(fit.hessian)
                se = np.sqrt(np.diag(solved @ fit.covariance @ solved) / n)
                hits.append(np.abs(fit.theta_hat - moments.theta_hat) <= 1.959964 * se)
            shares.extend(lost / seen / n)
            coverage.extend(np.mean(hits, axis=0))
    for low, high in itertools.pairwise((0.0, 0.03, 0.07, 0.1, 0.15, 0.25, 0.5, np.inf)):
        inside = np.array(coverage)[(low <= np.array(shares)) & (np.array(shares) < high)]
        if len(inside):
            print(f"r4 in [{low:g}, {high:g}): {len(inside)} intervals cover {inside.mean():.3f}")


def newton_step(runs: int) -> None:
    """Coverage of the coefficient without penalty, by intervals for the penalised and for the
    unpenalised one; bootstrap samples of the simulated census, two features.
    """
    records = datasets.load("census", encoding="schema", features=2, n_rows=30_000)
    truth = unpenalised_minimiser(signed(records.X, records.y), loss=Logistic())
    print("n, epsilon, c, target: coverage, share marked, coverage of the others, median length")
    for n, epsilon, c, target in itertools.product(
        (1_000, 10_000, 30_000), (1.0, 10.0), (1e-4, 3e-4, 1e-3), ("penalised", "unpenalised")
    ):
        rng, inside, marked, length = np.random.default_rng(n), [], [], []
        design = made(Logistic(), epsilon, c, n, target=target)
        try:
            for _ in range(runs):
                i = rng.integers(len(records.y), size=n)
                found = private_intervals(records.X[i], records.y[i], design=design, rng=rng)
                inside.append((found.low <= truth) & (truth <= found.high))
                marked.append(found.is_not_estimable)
                length.append(found.length.mean())
        except InfeasibleDesignError:
            continue
        hit, is_marked = np.array(inside), np.array(marked)
        others = hit[~is_marked].mean() if not is_marked.all() else np.nan
        print(
            f"{n:6,} {epsilon:4g} {c:7g} {target:11} {hit.mean():.3f} {is_marked.mean():.2f} "
            f"{others:.3f} {np.median(length):6.2f}",
            flush=True,
        )


def promises(runs: int) -> None:
    """How often a length is kept that `Outcome.within_reach` promises with probability .9, planned
    with 20,000 rows of the simulated census: by releases from other rows, of sharp designs around
    the edge of what is valid; for the mean, and for the coefficient that keeps it least often.
    """
    table = datasets.load("census", encoding="schema", features=20, n_rows=400_000)
    rows = np.random.default_rng(0).choice(len(table.X), 20_000, replace=False)
    error = np.sqrt(0.09 / runs)
    print(f"promised 0.9; standard error {error:.3f}")
    print("target       law   mechanism       c      n  eps   r3     mean  worst coefficient")
    kept: list[float] = []
    for target, law, mechanism, c, n, epsilon in itertools.product(
        ("penalised", "unpenalised"), (ZCDP, PureDP), MECHANISMS, (1e-3, 0.01), (3_000, 12_000),
        (0.5, 2.0),
    ):  # fmt: skip
        fit = fit_moments(
            table.X[rows], table.y[rows], loss=Logistic(), regularization=c, target=target
        )
        of_law = epsilon if law is PureDP else epsilon**2 / 2.0  # Gaussian noise about as large
        half, quarter = repr(of_law / 2.0), repr(of_law / 4.0)
        budget = law(model=half, hessian=quarter, covariance=quarter)
        design = replace(made(Logistic(), 1.0, c, n, mechanism, target=target), budget=budget)
        drawn = drawn_intervals(fit, design=design)
        validity = forecast_of(drawn, fit).validity
        if validity.grade != "valid":
            continue
        lengths = []
        for k in range(runs):
            rng = np.random.default_rng([n, k])
            i = rng.integers(0, len(table.X), n)
            found = private_intervals(table.X[i], table.y[i], design=design, rng=rng)
            lengths.append(found.length)
        mean, *each = (
            outcome_of(drawn, Target(1.0, coefficient=j, probability=0.9)).within_reach
            for j in (None, *range(len(lengths[0])))
        )
        kept.append(float(np.mean(np.mean(lengths, axis=1) <= mean)))
        of_one = np.mean(np.array(lengths) <= each, axis=0).min()
        print(
            f"{target:12} {design.definition:5} {mechanism:9} {c:7} {n:6} {epsilon:4g} "
            f"{validity.r3:4.2f}    {kept[-1]:.3f}  {of_one:.3f}",
            flush=True,
        )
    few = 0.9 - 2.0 * error
    print(f"{sum(share < few for share in kept)} of {len(kept)} below {few:.3f} for the mean")


MEASUREMENTS = {
    function.__name__.replace("_", "-"): function
    for function in (rises, cuts, sampling, newton_step, promises)
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=MEASUREMENTS)
    parser.add_argument("--runs", type=int, default=100, help="repetitions behind a number")
    options = parser.parse_args()
    MEASUREMENTS[options.name](options.runs)


if __name__ == "__main__":
    main()
