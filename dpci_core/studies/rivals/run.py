"""Every method on the same bootstrap replicates of one table, at one total.

The settings of a rival are searched on replicates of their own, in its favour: nobody who releases
a table can search on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Decimal
from itertools import product

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_choice, check_count
from dpci_core.base.rows import signed
from dpci_core.design import Calibration, Design
from dpci_core.planner import best_geometry, best_split, shares_of
from dpci_core.privacy.budget import ZCDP
from dpci_core.schema import Records
from dpci_core.simulation.result import versions
from dpci_core.simulation.run import replicate_bits, run_experiment
from dpci_core.solvers.moments import fit_moments
from dpci_core.solvers.replicates import Table, draw_counts
from dpci_core.studies.compare import CONFIDENCE_LEVEL, REGULARIZATION
from dpci_core.studies.rivals.rows import OURS, RIVALS, Cell, Measured
from dpci_core.studies.rivals.steps import (
    LOSS,
    Batch,
    Coded,
    Settings,
    TunedGradient,
    TunedNewton,
    release,
)

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
        seed=seed,
        date=datetime.now(UTC).date().isoformat(),
        versions=" ".join(f"{name} {number}" for name, number in versions().items()),
    )
