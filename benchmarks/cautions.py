"""How many random designs are cautioned against, how gravely, and whether the grave cautions are
right.

Designs are drawn at random from what the pages offer, on the simulated census. `--check K` releases
K of the small designs many times over and counts: useless verdicts that a release repeats, and
coverage of what is said to promise too much.
"""

from __future__ import annotations

import argparse
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from dpci_core import (
    GDP,
    ZCDP,
    Design,
    Forecast,
    InfeasibleDesignError,
    Moments,
    PureDP,
    datasets,
    fit_moments,
    forecast,
    private_intervals,
)
from dpci_core.losses import make_loss
from dpci_core.plan.numbers import shrinkage_of
from dpci_core.report.cautions import COVERAGE_SLACK, Caution, cautions
from dpci_core.schema import Records

PLANNING_ROWS = 30_000
SMALL = (20_000, 10)
"""Rows and features up to which a design is released for a check."""


@lru_cache
def records_of(d: int) -> Records:
    """The simulated census with d features."""
    return datasets.load("census", features=d, n_rows=PLANNING_ROWS)


@cache
def moments_of(d: int, loss: str, c: float) -> Moments:
    """Of the census with d features."""
    records, f = records_of(d), make_loss(loss, None if loss == "logistic" else 1.0)
    return fit_moments(records.X, records.y, loss=f, regularization=c, target="unpenalised")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A random design with its forecast and what is said against it."""

    design: Design
    n: int
    d: int
    moments: Moments
    found: Forecast
    said: tuple[Caution, ...]

    @property
    def gravity(self) -> str:
        return self.said[0].gravity if self.said else "none"


def draw(rng: np.random.Generator) -> Drawn | None:
    """One random design; None where it cannot run."""
    d = int(rng.choice([3, 5, 10, 20]))
    loss = str(rng.choice(["logistic", "huber_svm"]))
    mechanism = str(rng.choice(["objective", "output"]))
    kind = (PureDP, ZCDP, GDP)[int(rng.integers(3 if mechanism == "output" else 2))]
    epsilon = float(10.0 ** rng.uniform(-1.0, 1.0))
    total = {PureDP: epsilon, ZCDP: epsilon**2 / 20.0, GDP: epsilon**2 / 10.0}[kind]
    parts = np.round(total * rng.dirichlet([4.0, 2.0, 2.0]), 9)
    n = int(10.0 ** rng.uniform(3.0, 6.0))
    c = float(10.0 ** rng.choice([-4.0, -3.5, -3.0, -2.5, -2.0]))
    design = Design(
        loss=make_loss(loss, None if loss == "logistic" else 1.0),
        mechanism=mechanism,  # type: ignore[arg-type]
        budget=kind(model=parts[0], hessian=parts[1], covariance=parts[2]),
        regularization=c,
        target=str(rng.choice(["penalised", "unpenalised"])),  # type: ignore[arg-type]
    )
    moments = moments_of(d, loss, c)
    try:
        found = forecast(moments, design=design, n_records=n)
    except InfeasibleDesignError:
        return None
    names = records_of(d).feature_names
    said = cautions(found, design=design, names=names, shrinkage=shrinkage_of(moments))
    return Drawn(design, n, d, moments, found, said)


def checked(one: Drawn, repeats: int, rng: np.random.Generator) -> tuple[float, float]:
    """Share of releases that are useless by their own verdict, and the worst coverage of the
    coefficients that are spoken about.
    """
    records, useless, hits = records_of(one.d), [], []
    goal = one.moments.theta_hat
    if one.design.target == "unpenalised" and one.moments.without_penalty is not None:
        goal = one.moments.without_penalty.meant
    for _ in range(repeats):
        rows = rng.integers(0, len(records.y), one.n)
        made = private_intervals(records.X[rows], records.y[rows], design=one.design, rng=rng)
        useless.append(made.usefulness.is_useless)
        hits.append((made.low <= goal) & (goal <= made.high))
    told = np.mean(hits, axis=0)[~one.found.is_out_of_reach]
    return float(np.mean(useless)), float(np.min(told, initial=1.0))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cautions", description=__doc__)
    parser.add_argument("--designs", type=int, default=945)
    parser.add_argument("--check", type=int, default=0, metavar="K")
    parser.add_argument("--repeats", type=int, default=60)
    args = parser.parse_args()
    rng = np.random.default_rng(20_261_123)
    drawn = [one for _ in range(args.designs) if (one := draw(rng)) is not None]
    level = drawn[0].design.confidence_level
    for words, count in {
        "can run": len(drawn),
        "with a caution of any kind": sum(bool(one.said) for one in drawn),
        "useless or promising too much": sum(
            one.found.usefulness.is_useless
            or bool((one.found.coverage[~one.found.is_out_of_reach] < level - COVERAGE_SLACK).any())
            for one in drawn
        ),
        "useless": sum(one.found.usefulness.is_useless for one in drawn),
    }.items():
        print(f"{words}: {count} ({count / len(drawn):.0%})")
    gravities = Counter(one.gravity for one in drawn)
    print("gravest caution:", ", ".join(f"{k} {v / len(drawn):.0%}" for k, v in gravities.items()))
    shown = [sum(c.gravity == one.gravity for c in one.said) for one in drawn if one.said]
    print(f"sentences: {np.mean([len(o.said) for o in drawn if o.said]):.2f}, unfolded", end=" ")
    print(f"{np.mean(shown):.2f}")
    small = [one for one in drawn if one.n <= SMALL[0] and one.d <= SMALL[1]][: args.check]
    for one in small:
        useless, worst = checked(one, args.repeats, rng)
        expected = float(np.min(one.found.coverage[~one.found.is_out_of_reach], initial=1.0))
        print(
            f"{one.design.definition} {one.design.mechanism} {one.design.target} "
            f"{one.design.loss.name} n={one.n} d={one.d}: {one.gravity}; useless "
            f"{one.found.usefulness.is_useless}, of releases {useless:.0%}; worst coverage "
            f"{expected:.2f}, of releases {worst:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
