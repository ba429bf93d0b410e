"""This project's intervals beside noisy gradient descent and noisy Newton: length and coverage of
the penalised logistic coefficient, same table, same total, same replicates.

    python -m benchmarks.rivals [--runs 500] [--only adult-10 ...] [--rho 0.1875 ...] [--write]

prints the table of `data/rivals.csv`; with --write it first measures what is missing there. A
Newton is searched and measured in a minute, a gradient descent in three. docs/rivals.md says what
the methods are.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks import study
from benchmarks.compare import CONFIDENCE_LEVEL, REGULARIZATION, SETS
from benchmarks.rivals_steps import (
    LOSS,
    Batch,
    Coded,
    Settings,
    TunedGradient,
    TunedNewton,
    release,
)
from benchmarks.study import append_rows, read_rows
from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_choice, check_count
from dpci_core.base.places import DATA
from dpci_core.base.rows import signed
from dpci_core.design import Calibration, Design
from dpci_core.planner import best_geometry, best_split, shares_of
from dpci_core.privacy.budget import ZCDP
from dpci_core.schema import Records
from dpci_core.simulation.run import replicate_bits, run_experiment
from dpci_core.solvers.moments import fit_moments
from dpci_core.solvers.replicates import Table, draw_counts

RIVALS_FILE = DATA / "rivals.csv"
"""The run of this project."""
Cell = tuple[str, str]
"""A table of data by its name in `compare.SETS`, and the total rho as a decimal."""
CELLS: tuple[Cell, ...] = (
    ("adult-10", "0.1875"),
    ("adult-10", "0.5"),
    ("adult-10", "0.02436"),
    ("bank-10", "0.1875"),
    ("bank-10", "0.02436"),
    ("census-10", "0.1875"),
    ("census-10", "0.02436"),
)
"""0.1875 is the total of the published split, 0.02436 is (1, 1e-6)."""
OURS = ("published", "sharp", "best_split", "shaped")
"""The published method and the sharp one at the published split, the sharp one at the best split,
and with noise shaped like the records.
"""
RIVALS = ("newton_coded", "newton_tuned", "gradient_coded", "gradient_tuned")
METHODS = (*OURS, *RIVALS)
"""In the order of a table."""


@dataclass(frozen=True)
class Measured:
    """One method on one table at one total, for the penalised logistic coefficient.

    table, rho: the cell.
    settings: of a rival, or the shares of model, Hessian and covariance.
    coverage, coverage_smallest: mean over coefficients and the smallest; a release that is no
        number is a miss.
    ci_length: mean over releases and coefficients.
    n_failed: releases that were no numbers.
    """

    table: str
    rho: str
    method: str
    settings: str
    coverage: float
    coverage_se: float
    coverage_smallest: float
    ci_length: float
    ci_length_se: float
    n_failed: int
    k: int
    seed: int
    date: str
    versions: str

    @property
    def cell(self) -> Cell:
        """Where it was measured."""
        return self.table, self.rho


def read_measured(path: Path = RIVALS_FILE) -> dict[tuple[Cell, str], Measured]:
    """Results on file by cell and method, the latest of each; no file is none.

    Raises:  ValueError naming the file or the line that is no row.
    """
    return {(row.cell, row.method): row for row in read_rows(Measured, path)}


def append_measured(rows: Iterable[Measured], path: Path = RIVALS_FILE) -> None:
    """Add rows to a file of results."""
    append_rows(rows, path, Measured)


WANTED_MEAN, WANTED_SMALLEST = 0.944, 0.91
"""The mean coverage, and that of the worst coefficient, that settings have to reach in the
search.
"""
Looks = tuple[tuple[int, int], ...]
"""Replicates of each look at the settings, and how many settings are left after it."""
LOOKS: Looks = ((32, 5), (160, 1))
LOOKS_AT_MANY: Looks = ((32, 12), (240, 1))
"""For a method with more candidates than `_FEW`."""
_FEW = 10
_BATCH = 64
_ALLOWED = 0.015
"""How much less coverage a look other than the last forgives, for its few replicates."""


@dataclass(frozen=True)
class Outcome:
    """Releases of one method: whether each interval holds its coefficient, and its length, arrays
    (k, p).
    """

    inside: Flags
    length: Array

    @property
    def coverage(self) -> float:
        """Mean over coefficients; a release that is no number is a miss."""
        return float(self.inside.mean())

    @property
    def smallest(self) -> float:
        """The smallest coverage of a coefficient."""
        return float(self.inside.mean(axis=0).min())

    @property
    def mean_length(self) -> float:
        """Of the releases that are numbers; infinite without any."""
        return float(np.mean(self.length[self.is_number])) if self.is_number.any() else np.inf

    @property
    def is_number(self) -> Flags:
        """Which releases (k,) are numbers throughout."""
        return np.asarray(np.isfinite(self.length).all(axis=1))


def candidates(method: str) -> tuple[Settings, ...]:
    """Return the settings among which a rival is searched."""
    check_choice(method, RIVALS, name="method")
    if method == "newton_coded":
        return tuple(Coded("newton", T) for T in (2, 3, 4, 5, 8))
    if method == "gradient_coded":
        return tuple(Coded("gradient", T) for T in (100, 200, 400))
    if method == "newton_tuned":
        early, shares = (
            ("0.06", "0.12", "0.24", "0.36"),
            (("0.03", "0.06", "0.12"), ("0.05", "0.1")),
        )
        return tuple(TunedNewton(*s) for s in product((3, 4), early, (0.1, 0.3), *shares))
    return tuple(
        TunedGradient(T, step, averaged, "0.04", "0.08")
        for T, step in product((200, 400), (4.0, 7.5))
        for averaged in (1, T // 3)
    )


@dataclass(frozen=True)
class Population:
    """A table to draw replicates of, at one total; the fitted table is what is covered."""

    records: Records
    fitted: Table
    rho: Decimal

    @classmethod
    def of(cls, records: Records, rho: str) -> Population:
        """Fit the records (n, p), dense."""
        rows = signed(records.X, records.y)
        fitted = Table.of(rows, loss=LOSS, regularization=REGULARIZATION)
        return cls(records, fitted, Decimal(rho))

    def designs(self) -> dict[str, Design]:
        """This project's methods, by label."""
        small = (self.rho / 6).quantize(Decimal("1e-12"), rounding=ROUND_DOWN)
        published = Design(
            loss=LOSS,
            mechanism="objective",
            budget=ZCDP(model=self.rho - 2 * small, hessian=small, covariance=small),
            regularization=REGULARIZATION,
            n_records=len(self.records.X),
            confidence_level=CONFIDENCE_LEVEL,
            calibration="published",
        )
        sharp = replace(published, calibration=Calibration.sharp())
        moments = fit_moments(
            self.records.X, self.records.y, loss=LOSS, regularization=REGULARIZATION
        )
        best = best_split(moments, design=sharp).design
        shaped = best_geometry(self.records.X, self.records.y, design=sharp).design
        return dict(zip(OURS, (published, sharp, best, shaped), strict=True))

    def outcome(self, settings: Settings, *, k: int, seed: int) -> Outcome:
        """Releases of a rival on the replicates of an experiment with this seed."""
        n = self.fitted.columns.shape[1]
        inside, length = [], []
        for first in range(0, k, _BATCH):
            which = range(first, min(first + _BATCH, k))
            counts = np.empty((len(which), n), dtype=np.float32)
            for row, i in zip(counts, which, strict=True):
                draw_counts(row, n, replicate_bits(seed, i))
            noise = tuple(
                np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i, 1))) for i in which
            )
            theta, half = release(
                Batch(self.fitted, counts, n, noise),
                settings,
                rho=self.rho,
                level=CONFIDENCE_LEVEL,
            )
            inside.append(np.abs(theta - self.fitted.theta_hat) <= half)
            length.append(2.0 * half)
        return Outcome(np.concatenate(inside), np.concatenate(length))


def search(
    population: Population,
    settings: Sequence[Settings],
    *,
    seed: int,
    looks: Looks | None = None,
) -> Settings:
    """Return the settings with the shortest mean length among those that cover as asked for, or,
    where none does, with the largest mean coverage.

    Args:
        population: the table and the total.
        settings: candidates.
        seed: of the replicates of the search.
        looks: `LOOKS` or `LOOKS_AT_MANY` if None; the last leaves one.
    """
    left = list(settings)
    looks = looks or (LOOKS if len(left) <= _FEW else LOOKS_AT_MANY)
    for look, (k, kept) in enumerate(looks):
        allowed = _ALLOWED if look < len(looks) - 1 else 0.0
        scored = []
        for one in left:
            found = population.outcome(one, k=k, seed=seed)
            is_enough = (
                found.coverage >= WANTED_MEAN - allowed
                and found.smallest >= WANTED_SMALLEST - 4.0 * allowed
            )
            score = (False, found.mean_length) if is_enough else (True, -found.coverage)
            scored.append((score, one))
        scored.sort(key=lambda pair: pair[0])
        left = [one for _, one in scored[:kept]]
    return left[0]


def measure(
    cell: Cell,
    population: Population,
    methods: Sequence[str],
    *,
    k: int,
    seed: int,
    looks: Looks | None = None,
) -> list[Measured]:
    """Return one row for each method, all on the same k replicates.

    Args:
        cell: the name of the table and the total, for the rows.
        population: the same.
        methods: labels of `OURS` and `RIVALS`.
        k: replicates.
        seed: of the run; methods measured later are on the same replicates.
        looks: of the search for settings.
    """
    check_count(k=k)
    for method in methods:
        check_choice(method, (*OURS, *RIVALS), name="method")
    seeds = np.random.default_rng(seed)
    run_seed, search_seed = (int(seeds.integers(2**63)) for _ in range(2))
    rows = []
    mine = [method for method in methods if method in OURS]
    if mine:
        designs = population.designs()
        result = run_experiment(
            population.records.X,
            population.records.y,
            designs=[designs[method] for method in mine],
            n_variability=max(k, 2),
            n_coverage=k,
            rng=np.random.default_rng(seed),
        )
        assert result.seed == run_seed
        for method, found in zip(mine, result.designs, strict=True):
            rows.append(
                _row(
                    cell,
                    method,
                    " ".join(f"{share:.4f}" for share in shares_of(found.design.budget)),
                    coverage=(found.coverage_mean, found.coverage_se, float(found.coverage.min())),
                    length=(found.ci_length_mean, found.ci_length_mean_se),
                    n_failed=found.n_failed,
                    k=k,
                    seed=seed,
                )
            )
    for method in methods:
        if method in RIVALS:
            chosen = search(population, candidates(method), seed=search_seed, looks=looks)
            got = population.outcome(chosen, k=k, seed=run_seed)
            of_each, lengths = got.inside.mean(axis=1), got.length[got.is_number].mean(axis=1)
            rows.append(
                _row(
                    cell,
                    method,
                    str(chosen),
                    coverage=(got.coverage, _se(of_each), got.smallest),
                    length=(got.mean_length, _se(lengths)),
                    n_failed=int(k - got.is_number.sum()),
                    k=k,
                    seed=seed,
                )
            )
    return rows


def _se(values: Array) -> float:
    """Monte Carlo standard error of a mean."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.inf


def _row(
    cell: Cell,
    method: str,
    settings: str,
    *,
    coverage: tuple[float, float, float],
    length: tuple[float, float],
    n_failed: int,
    k: int,
    seed: int,
) -> Measured:
    return Measured(
        *cell,
        method=method,
        settings=settings,
        coverage=round(coverage[0], 6),
        coverage_se=round(coverage[1], 6),
        coverage_smallest=round(coverage[2], 6),
        ci_length=round(length[0], 6),
        ci_length_se=round(length[1], 6),
        n_failed=n_failed,
        k=k,
        **study.how_made(seed),
    )


SEED = 20_261_122


def table() -> list[str]:
    """What is on file, in Markdown: mean length / mean coverage / smallest coverage."""
    rows = read_measured()
    lines = [f"| table, ρ | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for cell in CELLS:
        found = [rows.get((cell, method)) for method in METHODS]
        told = (
            f"{row.ci_length:.4f} / {row.coverage:.3f} / {row.coverage_smallest:.3f}" if row else ""
            for row in found
        )
        lines.append(f"| {cell[0]}, {cell[1]} | {' | '.join(told)} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rivals", description=__doc__)
    parser.add_argument("--runs", type=int, default=500, metavar="K")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", nargs="+", choices=sorted({name for name, _ in CELLS}))
    parser.add_argument("--rho", nargs="+", choices=sorted({rho for _, rho in CELLS}))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--write", action="store_true", help="measure what is missing")
    options = parser.parse_args()
    for cell in CELLS if options.write else ():
        if cell[0] not in (options.only or cell) or cell[1] not in (options.rho or cell):
            continue
        missing = [m for m in options.methods if (cell, m) not in read_measured()]
        if missing:
            population = Population.of(SETS[cell[0]].records(), cell[1])
            for method in missing:
                began = time.monotonic()
                rows = measure(cell, population, [method], k=options.runs, seed=options.seed)
                append_measured(rows)
                print(f"{cell} {method}: {time.monotonic() - began:.0f} s", flush=True)
    print("\n".join(table()))


if __name__ == "__main__":
    main()
