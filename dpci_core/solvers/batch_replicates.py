"""Bootstrap replicates of a table in batches: counts are drawn where a batch is read, again in
every pass, so that memory holds one batch and its counts.

How many of a replicate's n records a batch gives is drawn first, so that they are n in all; which
of its rows they are has a stream of the replicate and the batch alone. A result depends on where
batches end and on nothing else of how a table is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpci_core.base.array import Array, Integers
from dpci_core.base.batch import Batch, Block, MemoryBatch, aligned
from dpci_core.base.batches import Place, RecordBatches, View
from dpci_core.base.errors import ConvergenceError
from dpci_core.base.linalg import symmetrise
from dpci_core.base.metric import Metric
from dpci_core.base.rows import plain, stacked, unit_rows, weights_of
from dpci_core.losses import Loss
from dpci_core.solvers.kernels import Counts
from dpci_core.solvers.metric import weighted
from dpci_core.solvers.minimise import Quick, minimise
from dpci_core.solvers.replicates import (
    TOLERANCE,
    Moment,
    Replicates,
    draw_counts,
    moment_sums,
    moments_of_sums,
    slope_sums,
    updated,
)
from dpci_core.solvers.risk import PenalisedRisk

_MAX_PASSES = 25
_STALLED = 0.5
"""A step that leaves more than this share of the gradient norm, twice, hands the replicate to
`minimise`.
"""


@dataclass(frozen=True, slots=True, eq=False)
class BatchTable:
    """A table in batches to resample, with the fit that all its replicates start from."""

    batches: RecordBatches
    theta_hat: Array
    inverse_hessian: Array
    loss: Loss
    regularization: float

    @classmethod
    def of(cls, batches: RecordBatches, *, loss: Loss, regularization: float) -> BatchTable:
        """Fit the table itself, exactly."""
        risk = PenalisedRisk(batches, loss, regularization)
        theta = minimise(risk).theta
        H = risk.hessian(theta)
        inverse = symmetrise(np.asarray(np.linalg.inv(H)))
        return cls(batches, theta, inverse, loss, regularization)


@dataclass(frozen=True)
class DrawnCounts:
    """How often each row is drawn in replicates first .. last - 1, as streams and not as numbers.

    splits: records that each batch gives to each replicate, (B, K).
    metric: whose weights rows have in each replicate, a stack, or None for those they have.
    """

    seed: int
    first: int
    splits: Integers
    metric: Metric | None = None

    @classmethod
    def of(
        cls, table: RecordBatches, *, seed: int, first: int, last: int, n_records: int
    ) -> DrawnCounts:
        """Draw how many of its n records each replicate has from each batch."""
        sizes = np.array([batch.n_rows for batch in table.batches], dtype=np.float64)
        splits = [
            np.random.Generator(_bits(seed, i, 0)).multinomial(n_records, sizes / sizes.sum())
            for i in range(first, last)
        ]
        return cls(seed, first, np.array(splits, dtype=np.int64))

    def __len__(self) -> int:
        return len(self.splits)

    def __getitem__(self, chosen: slice) -> DrawnCounts:
        """The first so many replicates."""
        assert not chosen.start
        assert chosen.step is None
        metric = None if self.metric is None else self.metric[chosen]
        return replace(self, splits=self.splits[chosen], metric=metric)

    def within(self, metric: Metric | None) -> DrawnCounts:
        """Return the same draws, where rows have the weights of each replicate's metric."""
        return replace(self, metric=metric)

    def of_one(self, b: int, index: int, n_rows: int) -> Counts:
        """The counts (n_rows,) of replicate b in a batch."""
        counts = np.empty(n_rows, dtype=np.float32)
        bits = _bits(self.seed, self.first + b, 1 + index)
        draw_counts(counts, int(self.splits[b, index]), bits)
        return counts


def _bits(seed: int, replicate: int, part: int) -> np.random.SFC64:
    """The stream of a replicate for its split (0) or for one batch (1 + index)."""
    return np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(replicate, part)))


@dataclass(frozen=True, eq=False)
class _Drawn:
    """A batch with its counts, where it is read.

    which: the replicates that are asked for.
    """

    drawn: DrawnCounts
    loss: Loss
    theta: Array
    which: Integers

    def rows(self, place: Place) -> Block:
        return stacked(list(place.chunks()))

    def counted(self, rows: Block, place: Place) -> Iterator[tuple[int, Counts, Array | None]]:
        """Place, counts and weights of each replicate that is asked for."""
        for k, b in enumerate(self.which):
            counts = self.drawn.of_one(int(b), place.index, len(rows))
            metric = self.drawn.metric
            found = rows if metric is None else weighted(rows, metric[int(b)])
            yield k, counts, weights_of(found)


class _Slopes(_Drawn):
    """Sums (B, p) of w f'(z) a, each replicate at its own theta (B, p)."""

    def __call__(self, place: Place) -> Array:
        rows = self.rows(place)
        columns, sums = aligned(plain(rows).T), np.empty(self.theta.shape)
        for k, counts, w in self.counted(rows, place):
            times = counts if w is None else np.asarray(counts * w, dtype=np.float32)
            sums[k] = slope_sums(columns, self.loss, self.theta[k : k + 1], times[None])[0]
        return sums


@dataclass(frozen=True, eq=False)
class _Moments(_Drawn):
    """Sums (B, p, p) of w f'' a a' and of w^2 f'^2 a a'."""

    of: tuple[Moment, ...]

    def __call__(self, place: Place) -> tuple[Array, Array]:
        rows = self.rows(place)
        columns = aligned(plain(rows).T)
        found = []
        for k, counts, w in self.counted(rows, place):
            once, twice = (
                counts if w is None else np.asarray(counts * w**power, dtype=np.float32)
                for power in (1, 2)
            )
            at = self.theta[k : k + 1]
            found.append(moment_sums(columns, self.loss, at, once[None], twice[None], of=self.of))
        curved, squared = zip(*found, strict=True)
        return np.concatenate(curved), np.concatenate(squared)


class _SecondMoments(_Drawn):
    """Sums (B, p, p) of w a a'."""

    def __call__(self, place: Place) -> Array:
        rows = self.rows(place)
        unit = aligned(unit_rows(rows))
        found = np.empty((len(self.which), unit.shape[1], unit.shape[1]))
        for k, counts, _ in self.counted(rows, place):
            found[k] = aligned(unit * counts[:, None]).T @ unit
        return found


def second_moments(table: BatchTable, drawn: DrawnCounts, *, n_records: int) -> Array:
    """Return the second moment (B, p, p) of each replicate."""
    every = np.arange(len(drawn))
    measure = _SecondMoments(drawn, table.loss, np.empty((0, 0)), every)
    return np.asarray(table.batches.total(measure) / n_records)


def drawn_moments(
    table: BatchTable,
    drawn: DrawnCounts,
    theta: Array,
    *,
    n_records: int,
    of: tuple[Moment, ...] = ("hessian", "covariance"),
) -> tuple[Array, Array]:
    """Return H and S of each replicate at its own theta (B, p); as `replicate_moments` does."""
    measure = _Moments(drawn, table.loss, theta, np.arange(len(theta)), of)
    curved, squared = table.batches.total(measure)
    return moments_of_sums(
        curved, squared, theta, n_records=n_records, regularization=table.regularization
    )


def fit_drawn(
    table: BatchTable,
    drawn: DrawnCounts,
    *,
    n_records: int,
    noise_vector: Array | None = None,
    tolerance: float = TOLERANCE,
) -> Replicates:
    """Return the minimiser of J on each replicate, as `fit_replicates` does, a pass over the table
    for a step of all.

    Args:
        table: batches, loss and penalty.
        drawn: the replicates.
        n_records: size of a replicate.
        noise_vector: the noise b of objective perturbation, (B, p).
        tolerance: bound on each gradient norm, > 0.
    """
    theta = np.tile(table.theta_hat, (len(drawn), 1))
    inverse = np.tile(table.inverse_hessian, (len(drawn), 1, 1))
    gradient = _gradients(table, drawn, theta, np.arange(len(drawn)), n_records, noise_vector)
    norm = np.linalg.norm(gradient, axis=1)
    stalls = np.zeros(len(drawn), dtype=np.int64)
    for _ in range(_MAX_PASSES):
        active = np.flatnonzero((norm > tolerance) & (stalls < 2))
        if not len(active):
            break
        step = -np.einsum("bij,bj->bi", inverse[active], gradient[active])
        theta[active] += step
        moved = _gradients(table, drawn, theta[active], active, n_records, noise_vector)
        inverse[active] = updated(inverse[active], step, moved - gradient[active])
        gradient[active] = moved
        size = np.linalg.norm(moved, axis=1)
        stalls[active] += ~(size <= _STALLED * norm[active])
        norm[active] = size
    for b in np.flatnonzero(~(norm <= tolerance)):
        one = None if noise_vector is None else noise_vector[b]
        theta[b], norm[b] = _solve_one(table, drawn, int(b), one, tolerance)
    return Replicates(theta, norm, norm <= tolerance)


def _gradients(
    table: BatchTable,
    drawn: DrawnCounts,
    theta: Array,
    which: Integers,
    n_records: int,
    noise_vector: Array | None,
) -> Array:
    sums = table.batches.total(_Slopes(drawn, table.loss, theta, which))
    noise = 0.0 if noise_vector is None else noise_vector[which] / n_records
    return np.asarray(sums / n_records + noise + 2.0 * table.regularization * theta)


@dataclass(frozen=True, slots=True, eq=False)
class _Repeated(Batch):
    """The rows of a batch as often as a replicate has them."""

    place: Place
    drawn: DrawnCounts
    b: int

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return int(self.drawn.splits[self.b, self.place.index])

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.place.batch.dim

    @property
    def is_weighted(self) -> bool:  # type: ignore[override]
        return self.drawn.metric is not None or self.place.batch.is_weighted

    def chunks(self) -> Iterator[Block]:
        rows = stacked(list(self.place.chunks()))
        if self.drawn.metric is not None:
            rows = weighted(rows, self.drawn.metric[self.b])
        times = self.drawn.of_one(self.b, self.place.index, len(rows)).astype(np.int64)
        yield from MemoryBatch(rows[np.repeat(np.arange(len(rows)), times)]).chunks()


def _solve_one(
    table: BatchTable, drawn: DrawnCounts, b: int, noise_vector: Array | None, tolerance: float
) -> tuple[Array, float]:
    """One replicate by itself, read here; infinite gradient norm if that fails."""
    views: tuple[View, ...] = table.batches.views
    parts, first = [], 0
    for index, batch in enumerate(table.batches.batches):
        if drawn.splits[b, index]:
            parts.append(_Repeated(Place(batch, index, first, views), drawn, b))
        first += batch.n_rows
    try:
        fit = minimise(
            PenalisedRisk(
                RecordBatches.listed(parts), table.loss, table.regularization, noise_vector
            ),
            Quick(tolerance),
        )
    except ConvergenceError:
        return table.theta_hat, np.inf
    return fit.theta, fit.gradient_norm
