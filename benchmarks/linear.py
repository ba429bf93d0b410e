"""Linear regression by clipped steps: length, coverage and forecast, beside no privacy and beside
what was published.

    python -m benchmarks.linear [--runs 300] [--only binagg worlds together]

BinAgg (AISTATS 2026, arXiv 2510.16974) in the setting of its replication: X uniform on (0, 10)^3,
beta (1.5, -2, .5), errors of standard deviation 1, n = 2,000, mu-GDP, 95 %. A line is runs of this
project's function on new tables; coverage is that of each slope.

`worlds` plans from a declaration alone and releases from fresh rows of every world that it allows,
and of two more; its lines are those of `benchmarks.bars`. `together` is two columns with r = .99
and effects of ten spreads: who reports, how often what is reported holds, and how often a release
reports an interval that misses.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pandas as pd

from benchmarks.bars import FRESH, LOWEST_REPORTED, Kept, by_chance, error, twin
from dpci_core.base.array import Array
from dpci_core.base.batches import MemoryTable
from dpci_core.base.rows import WeightedRows
from dpci_core.estimators.encoding import OutcomeEncoding
from dpci_core.estimators.scaling import Standardisation
from dpci_core.plan import DeclaredTable, LinearPlan
from dpci_core.planner import Target, WorldMoments
from dpci_core.planner.targets import outcome_of
from dpci_core.planner.worlds import drawn
from dpci_core.privacy.budget import GDP, ApproxDP
from dpci_core.regression.design import LinearDesign
from dpci_core.regression.fit import linear_fit
from dpci_core.regression.forecast import forecast_linear
from dpci_core.schema import (
    CategoricalColumn,
    NumericColumn,
    Schema,
    StandardEncoding,
    to_original,
    worlds_of,
)
from dpci_core.schema.twin import twin_records

SHARES = ("0.7", "0.2", "0.1")
BETA = np.array([1.5, -2.0, 0.5])
SPREAD = 10.0 / np.sqrt(12.0)
PUBLISHED = {
    "0.5": (0.518, 0.917),
    "1": (0.291, 0.931),
    "2": (0.181, 0.934),
    "5": (0.103, 0.918),
}
"""BinAgg's mean length and coverage by mu."""
_PLANNING = 20_000


@dataclass(frozen=True)
class Declared:
    """What is declared of a table: features, by typical value and spread, and the outcome."""

    typical: Array
    spread: Array
    outcome: NumericColumn

    def times(self, factor: float) -> Declared:
        """The same with spreads that are wrong by a factor."""
        y = self.outcome
        assert y.spread is not None
        wrong = NumericColumn(y.name, y.low, y.high, typical=y.typical, spread=y.spread * factor)
        return Declared(self.typical, self.spread * factor, wrong)

    def table(self, X: Array, y: Array) -> tuple[MemoryTable, Array]:
        """The rows [t, x], and L for slopes in the units of the table."""
        d = X.shape[1]
        scaling = Standardisation.of(self.typical, self.spread, n_features=d, limit=6.0, shape=1.0)
        rows = OutcomeEncoding(scaling, self.outcome).encoded(X, y)
        return MemoryTable(rows), self.outcome.unit * scaling.to_original[:-1]


UNIFORM = Declared(
    np.full(3, 5.0), np.full(3, SPREAD), NumericColumn("y", -500, 500, typical=0, spread=7.4)
)


def uniform(rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """BinAgg's table."""
    X = rng.uniform(0, 10, (n, 3))
    return X, X @ BETA + rng.standard_normal(n)


def plain_lengths(X: Array, y: Array) -> Array:
    """Lengths (d,) of robust intervals of plain least squares, without privacy."""
    x = np.c_[X, np.ones(len(X))]
    inverse = np.linalg.inv(x.T @ x)
    residuals = y - x @ (inverse @ (x.T @ y))
    moves = x * residuals[:, None]
    variance = np.diagonal(inverse @ (moves.T @ moves) @ inverse)[:-1]
    return np.asarray(2.0 * 1.959964 * np.sqrt(variance))


def binagg(runs: int) -> None:
    """The published comparison, with spreads that are right, 4 times too large, and half."""
    n = 2_000
    for mu, (published, covered) in PUBLISHED.items():
        print(f"mu {mu}: BinAgg {published} at {covered}")
        for factor in (1.0, 4.0, 0.5):
            design = LinearDesign(budget=GDP.of(mu, shares=SHARES), n_records=n)
            title, declared = f"  ours, spreads times {factor:g}", UNIFORM.times(factor)
            A, L = declared.table(*uniform(np.random.default_rng([n, *title.encode()]), _PLANNING))
            planned = forecast_linear(A, design=design, contrasts=L)
            lengths, inside, plain = [], [], []
            for run in range(runs):
                X, y = uniform(rng := np.random.default_rng([n, run, *title.encode()]), n)
                A, L = declared.table(X, y)
                fit = linear_fit(A, design=design, source=rng)
                widths = fit.half_widths(L)
                lengths.append(2.0 * widths.half_width)
                inside.append(np.abs(L @ fit.theta - BETA) <= widths.half_width)
                plain.append(plain_lengths(X, y))
            length, of_run = np.mean(lengths, axis=0), np.mean(lengths, axis=1)
            ratio = length / planned.length
            print(
                f"{title:<34} {length.mean():.4f} ±{np.std(of_run) / np.sqrt(runs):.4f}"
                f"  plain {np.mean(plain):.4f}"
                f"  coverage {' '.join(f'{one:.3f}' for one in np.mean(inside, axis=0))}"
                f" ±{error(0.95, runs):.3f}  over forecast {ratio.min():.3f}-{ratio.max():.3f}",
                flush=True,
            )


WARD = Schema(
    (
        NumericColumn("age", 18, 98, typical=60, spread=15, step=10),
        NumericColumn("bmi", 15, 60, typical=27, spread=5, step=5),
        CategoricalColumn("sex", ("f", "m"), shares=(0.5, 0.5)),
        CategoricalColumn("smoker", ("no", "yes")),
    ),
    outcome=NumericColumn("pressure", 60, 250, typical=130, spread=18, units="mmHg"),
    standard=StandardEncoding(shape=4.0),
)
"""A declaration with no guess at all."""


def ward(n: int, epsilon: str) -> LinearPlan:
    """The plan of a linear regression from a declaration alone, with (epsilon, 1e-6)."""
    budget = ApproxDP(epsilon, "1e-6", SHARES).to_gdp()
    design = LinearDesign(budget=budget, n_records=n)
    return LinearPlan(
        title="Ward", source=DeclaredTable(schema=WARD), design=design, delta=Decimal("1e-6")
    )


def fresh(plan: LinearPlan) -> Iterator[tuple[str, pd.DataFrame]]:
    """New rows of every world, and of two more: gross errors in a twentieth of the outcomes, and an
    outcome that varies twice as much as declared beside columns that vary half as much.
    """
    source, outcome = plan.source, plan.outcome
    assert isinstance(source, DeclaredTable)
    made = {one.name: one.guesses for one in worlds_of(source.schema, source.guesses)}
    for name, guesses in made.items():
        yield name, twin(plan.schema, guesses)
    frame, rng = twin(plan.schema, made["as declared"]), np.random.default_rng(0)
    off = 5.0 * outcome.unit * rng.standard_normal(FRESH) * (rng.random(FRESH) < 0.05)
    yield "gross errors", frame.assign(**{outcome.name: frame[outcome.name] + off})
    half, wide = made["half spreads"], made["twice the spreads, outcome"].of(outcome)
    yield "two at once", twin(plan.schema, half.about({outcome: wide}))


def kept(plan: LinearPlan, frame: pd.DataFrame, runs: int, within: Array, seed: int) -> Kept:
    """Simulated releases of a plan from rows of a frame; lengths (d,) promised with 90 %."""
    rows = plan.moments_of(twin_records(frame, plan.schema)).table.memory
    assert isinstance(rows, WeightedRows)
    L = plan.contrasts[len(plan.names) : -1]
    truth = L @ np.linalg.lstsq(rows.rows[:, 1:], rows.rows[:, 0], rcond=None)[0]
    reported, held, length = (np.zeros((runs, len(truth))) for _ in range(3))
    for k in range(runs):
        rng = np.random.default_rng([seed, k])
        records = MemoryTable(rows[rng.integers(0, len(rows), plan.n_records)])
        fit = linear_fit(records, design=plan.design, source=rng)
        widths = fit.half_widths(L)
        reported[k] = ~widths.is_not_estimable
        held[k] = np.abs(L @ fit.theta - truth) <= widths.half_width
        length[k] = 2.0 * widths.half_width
    return Kept(reported, held, np.asarray(length <= within, dtype=float), length)


def within_of(plan: LinearPlan, given: Sequence[WorldMoments]) -> Array:
    """Lengths (d,) that nine of ten releases keep, in the least favourable world."""
    there = replace(plan.design, n_records=plan.fewest)
    unit = np.diag(to_original(plan.schema))[:-1]
    asked = [Target(1.0, coefficient=j, probability=0.9) for j in range(len(unit))]
    made = [drawn(one.moments, design=there) for one in given]
    found = [[outcome_of(one, target).within_reach for target in asked] for one in made]
    return np.asarray(unit * np.max(found, axis=0))


def worlds(runs: int) -> None:
    """Is what is promised of a declaration kept?"""
    for n, epsilon in ((2_000, "4"), (8_000, "1")):
        plan = ward(n, epsilon)
        given = plan.worlds()
        promised, within = plan.promise(given), within_of(plan, given)
        sure = np.flatnonzero(promised.chance >= LOWEST_REPORTED)
        print(
            f"n {n:,}, ({epsilon}, 1e-6): promised {len(sure)} of {len(promised.chance)} with "
            f"{promised.fewest:,} records; of the worst: reported, coverage least, most, mean, "
            "90 % length kept"
        )
        covered: list[float] = []
        for place, (name, frame) in enumerate(fresh(plan) if len(sure) else ()):
            found = kept(plan, frame, runs, within, place)
            print(f"  {name:<34} {found.line(sure)}", flush=True)
            covered += found.covered(sure).tolist()
        if covered:
            chance = by_chance(min(covered), runs, len(covered))
            print(f"  as small by chance where each is covered in .93: {chance:.0%}")


def together(runs: int) -> None:
    """Two columns that nearly are one, with effects of ten spreads of the outcome."""
    declared = Declared(np.zeros(2), np.ones(2), NumericColumn("y", -500, 500, typical=0, spread=1))
    for n, mu in ((1_000, "1"), (1_500, "1"), (2_000, "0.5"), (4_000, "0.3")):
        for beta in (np.array([10.0, 10.0]), np.array([10.0, -10.0])):
            design = LinearDesign(budget=GDP.of(mu, shares=SHARES), n_records=n)
            told, held = np.zeros((2, runs, 2), dtype=bool)
            for k in range(runs):
                rng = np.random.default_rng([n, k])
                X = rng.standard_normal((n, 2))
                X[:, 1] = 0.99 * X[:, 0] + np.sqrt(1.0 - 0.99**2) * X[:, 1]
                A, L = declared.table(X, X @ beta + rng.standard_normal(n))
                fit = linear_fit(A, design=design, source=rng)
                widths = fit.half_widths(L)
                told[k] = ~widths.is_not_estimable
                held[k] = np.abs(L @ fit.theta - beta) <= widths.half_width
            inside, missed = held[told], float((told & ~held).mean())
            share = float(inside.mean()) if len(inside) else 1.0
            print(
                f"n {n:,}, mu {mu}, effects {beta[0]:g} and {beta[1]:g}: reported {told.mean():.3f}"
                f", of those held {share:.3f} ±{error(share, max(len(inside) // 2, 1)):.3f}, of "
                f"all held {held.mean():.3f}, reported and missed {missed:.3f} "
                f"±{error(missed, runs):.3f}",
                flush=True,
            )


PARTS = {
    "binagg": binagg,
    "worlds": worlds,
    "together": together,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--only", nargs="*", choices=tuple(PARTS), default=tuple(PARTS))
    given = parser.parse_args(arguments)
    for name in given.only:
        print(f"\n{name}")
        PARTS[name](given.runs)


if __name__ == "__main__":
    main()
