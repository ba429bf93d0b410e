"""Variability intervals and coverage by brute force: the whole release repeated on bootstrap
replicates of a table.

The table is the population. Replicate i has a random stream of its own, spawned from one seed by
its number, so a result depends on neither batches nor workers. Everything that designs can share is
shared: the bootstrap counts, the non-private fits (which no budget touches), the perturbed fits and
moments of equal noise rates, and the unit noise that each design scales for itself.

Not private: the result describes the table, and the generator is not one for releases.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from numbers import Integral

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import RecordBatches, as_table, table_of
from dpci_core.base.batches import Table as RowTable
from dpci_core.base.errors import check_count, check_generator, check_range
from dpci_core.base.limits import MOST_RECORDS as MOST_OF_A_TABLE
from dpci_core.base.limits import TOLERANCE as TOLERANCES
from dpci_core.base.linalg import symmetrise
from dpci_core.base.metric import Metric
from dpci_core.base.rows import Meaning, WeightedRows
from dpci_core.design import Design, check_design
from dpci_core.intervals.estimands import estimand_of
from dpci_core.intervals.half_widths import private_half_widths
from dpci_core.losses import Loss
from dpci_core.mechanisms.matrices import covariance_noise, hessian_noise, unit_noise
from dpci_core.mechanisms.mechanism import mechanism_of, model_noise, train_private
from dpci_core.mechanisms.metric import metric_noise
from dpci_core.privacy.laws import LAWS, Law, NoiseLaw, unit_vector
from dpci_core.simulation.result import (
    DesignResult,
    ExperimentResult,
    Progress,
    summarise,
    versions,
)
from dpci_core.solvers.batch_replicates import (
    BatchTable,
    DrawnCounts,
    drawn_moments,
    fit_drawn,
    second_moments,
)
from dpci_core.solvers.kernels import Counts
from dpci_core.solvers.metric import metric_of
from dpci_core.solvers.moments import unweighted_minimiser
from dpci_core.solvers.one_step import has_one_step_point, one_step_point
from dpci_core.solvers.replicates import (
    MOST_RECORDS,
    TOLERANCE,
    Moment,
    Replicates,
    Table,
    draw_counts,
    fit_replicates,
    replicate_moments,
)

_BATCH_NUMBERS = 2**21
"""Counts held by one batch of replicates; decides how many replicates that is, which changes no
result.
"""
_STREAMED = 32
"""Replicates of a table in batches that share their passes; changes no result."""
MatrixKind = tuple[Law, bool]
"""Law of the noise on a matrix and whether it is drawn symmetric."""
_MATRIX_KINDS: tuple[MatrixKind, ...] = tuple(
    (law, symmetric) for symmetric in (False, True) for law in LAWS
)


@dataclass(frozen=True)
class _Job:
    """One design with what it runs on."""

    design: Design
    table: Table | BatchTable
    noise: NoiseLaw
    goal: Array

    @property
    def perturbs_objective(self) -> bool:
        """Whether the noise is in the objective, or added to its minimiser."""
        return mechanism_of(self.design).perturbs_objective

    @property
    def has_minimiser(self) -> bool:
        """Whether noise and minimiser can be drawn apart; steps have noise in each of them."""
        return mechanism_of(self.design).has_minimiser

    @property
    def metric_key(self) -> tuple[object, ...]:
        """Designs with equal keys have the same metrics."""
        geometry, budget = self.design.geometry, self.design.budget
        return geometry, (budget.law, budget.metric) if geometry else None

    @property
    def fit_key(self) -> tuple[object, ...]:
        """Designs with equal keys have the same fits."""
        if not self.has_minimiser:
            return id(self.table), self.design
        noise = self.noise if self.perturbs_objective else None
        return id(self.table), noise, self.metric_key

    @property
    def moments_key(self) -> tuple[object, ...]:
        """Designs with equal keys release the same coefficients, and H at the same point."""
        at = has_one_step_point(self.design)
        return id(self.table), self.design.mechanism, self.noise, at, self.metric_key, self.fit_key


@dataclass(frozen=True)
class _Plan:
    """Everything a worker needs."""

    jobs: tuple[_Job, ...]
    seed: int
    n_coverage: int
    tolerance: float
    basis: Array | None = None
    constant: float | None = None

    @property
    def n_records(self) -> int:
        """Size of a replicate, that of every design."""
        return self.jobs[0].design.n_records

    def named(self, theta: Array) -> Array:
        """The coefficients that results are about, (..., p)."""
        return theta if self.basis is None else theta @ self.basis.T

    def __sizeof__(self) -> int:
        """With its tables: joblib's Dask backend scatters what is large once for all batches."""
        tables = {id(job.table): job.table for job in self.jobs}.values()
        return sum(t.columns.nbytes + t.single.nbytes for t in tables if isinstance(t, Table))

    @property
    def has_metric(self) -> bool:
        """Whether a design releases the second moment."""
        return any(job.design.geometry is not None for job in self.jobs)


@dataclass(frozen=True)
class Draws:
    """The randomness of a batch: counts (B, N), or their streams for a table in batches, unit noise
    for the coefficients, for both matrices and for the second moment, by law.
    """

    counts: Counts | DrawnCounts
    model: dict[Law, Array]
    hessian: dict[MatrixKind, Array]
    covariance: dict[MatrixKind, Array]
    metric: dict[Law, Array]


@dataclass(frozen=True)
class Metrics:
    """The metrics of a batch, a stack, with the weights (B, N) that rows have in them; None for a
    table in batches, whose rows have theirs where they are read.
    """

    of: Metric
    weights: Counts | None

    def first(self, n: int) -> Metrics:
        """Return the metrics of the first n replicates."""
        return Metrics(self.of[:n], None if self.weights is None else self.weights[:n])


@dataclass(frozen=True)
class Outcomes:
    """What replicates first .. first + B of one design gave: theta (B, p), inside and length for
    the covered ones.
    """

    theta: Array
    inside: Flags
    length: Array


def run_experiment(
    X: npt.ArrayLike | WeightedRows | RecordBatches,
    y: npt.ArrayLike | None = None,
    *,
    designs: list[Design] | tuple[Design, ...],
    n_variability: int = 10_000,
    n_coverage: int = 1_000,
    rng: np.random.Generator,
    n_jobs: int = 1,
    progress: Callable[[Progress], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
    tolerance: float = TOLERANCE,
    meaning: Meaning | None = None,
) -> ExperimentResult:
    """Measure interval length, coverage and variability intervals of designs on bootstrap
    replicates of a table.

    Args:
        X: records (n, p), row norms at most 1, the constant last; the population of the experiment.
            Or batches, which hold y too and are read in every pass by their engine.
        y: labels (n,), -1 or +1; None with batches.
        designs: any number, answered at once from the same replicates, whose size is their n.
        n_variability: m, fits behind the variability intervals.
        n_coverage: k, whole private intervals; the first k of the m where both are asked.
        rng: seed material is taken from it once.
        n_jobs: workers, as joblib counts them; threads unless a `joblib.parallel_config` says
            otherwise. The result does not depend on it.
        progress: called from one thread after every batch.
        should_stop: asked between batches from any thread; what is done is kept.
        tolerance: bound on the gradient norm of each fit; one that misses it counts as a miss.
        meaning: of the coefficients (`Records.meaning`), which results are about then; None where
            theta itself is meant.

    Returns: results in the order of the designs.
    Privacy: none (module docstring).
    Raises:  DataRejectedError, InfeasibleDesignError, ValueError, all before any work.
    Source:  WKL section 7.1; coverage is of the full table's minimiser, penalised or not as the
             design's target says.
    """
    check_generator(rng)
    _check_designs(designs)
    A = table_of(X, y)
    _check_numbers(
        n_records=designs[0].n_records,
        n_variability=n_variability,
        n_coverage=n_coverage,
        n_jobs=n_jobs,
        tolerance=tolerance,
        most_records=MOST_OF_A_TABLE if A.memory is None else MOST_RECORDS - 1,
    )
    _check_callable(progress=progress, should_stop=should_stop)
    laws = [model_noise(design) for design in designs]
    if A.memory is None and not all(mechanism_of(design).has_minimiser for design in designs):
        raise ValueError("Expected rows in memory for clipped Newton steps, got batches.")
    takes_step = any(estimand_of(design).takes_step for design in designs)
    if takes_step and n_variability > n_coverage:
        raise ValueError(
            f"Expected n_variability={n_variability} <= n_coverage={n_coverage} with an "
            "unpenalised target, whose estimate needs the released matrices."
        )
    tables = _tables(A, tuple(designs))
    meaning = meaning or Meaning()
    in_full = meaning.rows_in_full(y)
    of_all = A if in_full is None else in_full

    @cache
    def unpenalised(loss: Loss) -> Array:
        return unweighted_minimiser(of_all, loss=loss)

    jobs = tuple(
        _job(d, tables[d.loss, d.regularization], law, unpenalised)
        for d, law in zip(designs, laws, strict=True)
    )
    seed = int(rng.integers(2**63))
    plan = _Plan(jobs, seed, n_coverage, tolerance, meaning.basis, meaning.constant)
    total = max(n_variability, n_coverage)
    kept: list[list[Outcomes]] = [[] for _ in jobs]
    started, n_done = time.monotonic(), 0
    for batch in _batches(plan, total, A, n_jobs, should_stop):
        for outcomes, new in zip(kept, batch, strict=True):
            outcomes.append(new)
        n_done += len(batch[0].theta)
        if progress is not None:
            progress(_progress(kept, n_done, total, time.monotonic() - started))
    results = tuple(
        _result(plan, job, outcomes, n_variability)
        for job, outcomes in zip(jobs, kept, strict=True)
    )
    return ExperimentResult(
        designs=results,
        seed=plan.seed,
        versions=versions(),
        n_done=min(n_done, n_variability),
        n_covered=min(n_done, n_coverage),
        n_rows=len(A),
        seconds=time.monotonic() - started,
    )


def _job(
    design: Design, table: Table | BatchTable, noise: NoiseLaw, unpenalised: Callable[[Loss], Array]
) -> _Job:
    """A design on its table; the goal is the coefficient its intervals are for."""
    goal = estimand_of(design).in_table(table.theta_hat, partial(unpenalised, design.loss))
    return _Job(design, table, noise, goal)


def _check_designs(designs: object) -> None:
    if not isinstance(designs, list | tuple):
        raise ValueError(
            f"Expected designs to be a list or tuple of Design, got {type(designs).__name__}."
        )
    if not designs:
        raise ValueError("Expected designs to hold at least one design.")
    for design in designs:
        check_design(design)
    if len({design.n_records for design in designs}) > 1:
        raise ValueError(
            "Expected designs of one n_records: they are answered by the same replicates."
        )


def _check_numbers(
    *,
    n_records: object,
    n_variability: object,
    n_coverage: object,
    n_jobs: object,
    tolerance: object,
    most_records: int,
) -> None:
    """Raise ValueError for a number that would fail, or mean nothing, only after hours of work."""
    check_count(n_records=n_records, n_variability=n_variability, n_coverage=n_coverage)
    check_range((1, most_records), n_records=n_records)
    if n_variability == 1:
        raise ValueError("Expected n_variability=1 >= 2: one fit has no spread.")
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0:
        raise ValueError(f"Expected n_jobs={n_jobs!r} to be a whole number other than 0.")
    check_range(TOLERANCES, tolerance=tolerance)


def _check_callable(**functions: object) -> None:
    for name, function in functions.items():
        if function is not None and not callable(function):
            raise ValueError(f"Expected {name}={function!r} to be a function or None.")


def _tables(
    A: RowTable, designs: tuple[Design, ...]
) -> dict[tuple[object, float], Table | BatchTable]:
    """One fitted table per loss and regularization."""
    pairs = dict.fromkeys((d.loss, d.regularization) for d in designs)
    if isinstance(A, RecordBatches):
        return {(loss, c): BatchTable.of(A, loss=loss, regularization=c) for loss, c in pairs}
    assert A.memory is not None
    rows = A.memory[:]
    return {(loss, c): Table.of(rows, loss=loss, regularization=c) for loss, c in pairs}


def _batches(
    plan: _Plan,
    total: int,
    A: RowTable,
    n_jobs: int,
    should_stop: Callable[[], bool] | None,
) -> Iterator[list[Outcomes]]:
    """Results of batches of replicates, in order, from as many workers as asked; of a table in
    batches one after the other, as its engine has the workers.
    """
    is_streamed = A.memory is None
    size = _STREAMED if is_streamed else max(1, min(64, _BATCH_NUMBERS // len(A)))

    def parts() -> Iterator[tuple[int, int]]:
        for first in range(0, total, size):
            if should_stop is not None and should_stop():
                return
            yield first, min(first + size, total)

    if is_streamed:
        for first, last in parts():
            yield run_batch(plan, first, last)
        return
    # Tables stay in memory: joblib would otherwise write large arrays to a temporary folder for its
    # workers.
    workers = Parallel(
        n_jobs=n_jobs, prefer="threads", return_as="generator", batch_size=1, max_nbytes=None
    )
    yield from workers(delayed(run_batch)(plan, first, last) for first, last in parts())


def replicate_bits(seed: int, i: int) -> np.random.SFC64:
    """Return the stream of replicate i of an experiment with this seed; its counts come first."""
    return np.random.SFC64(np.random.SeedSequence(seed, spawn_key=(i,)))


def replicate_draws(plan: _Plan, first: int, last: int) -> Draws:
    """Return the randomness of replicates first .. last - 1, each from its own stream."""
    table, p = plan.jobs[0].table, len(plan.jobs[0].table.theta_hat)
    counts: Counts | DrawnCounts
    if isinstance(table, BatchTable):
        counts = DrawnCounts.of(
            table.batches, seed=plan.seed, first=first, last=last, n_records=plan.n_records
        )
    else:
        counts = np.empty((last - first, table.columns.shape[1]), dtype=np.float32)
    model: dict[Law, list[Array]] = {law: [] for law in LAWS}
    metric: dict[Law, list[Array]] = {law: [] for law in LAWS}
    matrices: list[dict[MatrixKind, list[Array]]] = [
        {kind: [] for kind in _MATRIX_KINDS} for _ in range(2)
    ]
    for i in range(first, last):
        bits = replicate_bits(plan.seed, i)
        if not isinstance(counts, DrawnCounts):
            draw_counts(counts[i - first], plan.n_records, bits)
        rng = np.random.Generator(bits)
        for law in LAWS:
            model[law].append(unit_vector(law, p, rng))
        # The order is part of the results on file: new kinds of noise go to the end.
        for symmetric in (False, True) if i < plan.n_coverage else ():
            for of_one in matrices:
                for law in LAWS:
                    of_one[law, symmetric].append(
                        unit_noise(p, law=law, rng=rng, symmetric=symmetric)
                    )
        for law in LAWS if plan.has_metric else ():
            metric[law].append(unit_noise(p, law=law, rng=rng, symmetric=True))
    hessian, covariance = (
        {k: np.array(v).reshape(-1, p, p) for k, v in of_one.items()} for of_one in matrices
    )
    return Draws(
        counts,
        {k: np.array(v) for k, v in model.items()},
        hessian,
        covariance,
        {k: np.array(v) for k, v in metric.items()},
    )


def _metrics(plan: _Plan, job: _Job, draws: Draws) -> Metrics | None:
    """The metric that each replicate releases, with its weights."""
    design, geometry, counts = job.design, job.design.geometry, draws.counts
    if geometry is None:
        return None
    law = metric_noise(design)
    M = _second_moments(plan, job, counts)
    metric = metric_of(geometry, symmetrise(M + law.scale * draws.metric[law.law]))
    if isinstance(job.table, BatchTable):
        return Metrics(metric, None)
    columns, w = job.table.columns, job.table.weights
    weights = np.empty((len(counts), columns.shape[1]), dtype=np.float32)
    for b, whiten in enumerate(metric.whiten):
        turned = whiten @ columns
        leverage = np.einsum("ij,ij->j", turned, turned)
        weights[b] = np.minimum(1.0 if w is None else w, 1.0 / np.maximum(leverage, 1.0))
    return Metrics(metric, weights)


def _second_moments(plan: _Plan, job: _Job, counts: Counts | DrawnCounts) -> Array:
    """Return the second moment of the rows of each replicate, (B, p, p)."""
    if isinstance(job.table, BatchTable):
        assert isinstance(counts, DrawnCounts)
        return second_moments(job.table, counts, n_records=plan.n_records)
    assert not isinstance(counts, DrawnCounts)
    columns, w = job.table.columns, job.table.weights
    unit = columns if w is None else columns * np.sqrt(w)
    return np.array([(unit * k) @ unit.T for k in counts]) / plan.n_records


def run_batch(plan: _Plan, first: int, last: int) -> list[Outcomes]:
    """Run replicates first .. last - 1 of every design."""
    draws = replicate_draws(plan, first, last)
    n_covered = max(0, min(last, plan.n_coverage) - first)
    fits: dict[object, Replicates] = {}
    metrics: dict[object, Metrics | None] = {}
    moments: dict[object, tuple[Array | None, Array]] = {}
    results = []
    for job in plan.jobs:
        if (key := (id(job.table), job.metric_key)) not in metrics:
            metrics[key] = _metrics(plan, job, draws)
        metric = metrics[key]
        fit = fits.get(job.fit_key) or _fit(plan, job, draws, metric, first)
        fits[job.fit_key] = fit
        theta = fit.theta
        if job.has_minimiser and not job.perturbs_objective:
            theta = theta + job.noise.scale * draws.model[job.noise.law]
        few = None if metric is None else metric.first(n_covered)
        if n_covered and job.moments_key not in moments:
            moments[job.moments_key] = _moments(plan, job, draws, theta[:n_covered], few)
        estimate, inside, length = _intervals(
            plan, job, draws, theta[:n_covered], moments.get(job.moments_key), few
        )
        failed, theta = ~fit.converged, plan.named(theta)
        if estimand_of(job.design).takes_step:
            theta = np.full_like(theta, np.nan)
            theta[:n_covered] = estimate
        inside[failed[:n_covered]] = False
        length[failed[:n_covered]] = np.nan
        results.append(Outcomes(np.where(failed[:, None], np.nan, theta), inside, length))
    return results


def _fit(plan: _Plan, job: _Job, draws: Draws, metric: Metrics | None, first: int) -> Replicates:
    """Exact fits of the batch, perturbed where the noise is in the objective; or noisy steps."""
    if not job.has_minimiser:
        return _stepped(plan, job, draws, metric, first)
    noise_vector = job.noise.scale * draws.model[job.noise.law] if job.perturbs_objective else None
    if metric is not None:
        assert noise_vector is not None
        noise_vector = metric.of.vector(noise_vector)
    if isinstance(job.table, BatchTable):
        assert isinstance(draws.counts, DrawnCounts)
        return fit_drawn(
            job.table,
            draws.counts.within(None if metric is None else metric.of),
            n_records=plan.n_records,
            noise_vector=noise_vector,
            tolerance=plan.tolerance,
        )
    assert not isinstance(draws.counts, DrawnCounts)
    return fit_replicates(
        job.table,
        draws.counts,
        n_records=plan.n_records,
        noise_vector=noise_vector,
        tolerance=plan.tolerance,
        weights=None if metric is None else metric.weights,
    )


def _stepped(
    plan: _Plan, job: _Job, draws: Draws, metric: Metrics | None, first: int
) -> Replicates:
    """Noisy steps on each replicate of the batch, written out row by row."""
    assert isinstance(job.table, Table)
    assert not isinstance(draws.counts, DrawnCounts)
    assert metric is not None
    assert metric.weights is not None
    theta = np.empty((len(draws.counts), len(job.table.theta_hat)))
    for b, counts in enumerate(draws.counts):
        drawn = np.repeat(np.arange(len(counts)), counts.astype(np.int64))
        rows = WeightedRows(
            np.ascontiguousarray(job.table.columns[:, drawn].T),
            metric.weights[b, drawn].astype(np.float64),
        )
        bits = np.random.SFC64(np.random.SeedSequence(plan.seed, spawn_key=(first + b, 1)))
        theta[b] = train_private(
            as_table(rows),
            design=job.design,
            rng=np.random.Generator(bits),
            metric=metric.of[b],
        ).theta_priv
    return Replicates(theta, np.zeros(len(theta)), np.ones(len(theta), dtype=np.bool_))


def _moments(
    plan: _Plan, job: _Job, draws: Draws, theta: Array, metric: Metrics | None
) -> tuple[Array | None, Array]:
    """H and S at theta, in the metric if there is one; half way H is at another point, known once S
    has its noise.
    """
    if has_one_step_point(job.design):
        _, S = _moments_at(plan, job, draws, theta, metric, of=("covariance",))
        return None, S if metric is None else metric.of.matrix(S)
    H, S = _moments_at(plan, job, draws, theta, metric, of=("hessian", "covariance"))
    return (H, S) if metric is None else (metric.of.matrix(H), metric.of.matrix(S))


def _moments_at(
    plan: _Plan,
    job: _Job,
    draws: Draws,
    theta: Array,
    metric: Metrics | None,
    *,
    of: tuple[Moment, ...],
) -> tuple[Array, Array]:
    """Return the asked moments of the first replicates, each at its own theta."""
    counts, n = draws.counts[: len(theta)], plan.n_records
    if isinstance(job.table, BatchTable):
        assert isinstance(counts, DrawnCounts)
        within = counts.within(None if metric is None else metric.of)
        return drawn_moments(job.table, within, theta, n_records=n, of=of)
    assert not isinstance(counts, DrawnCounts)
    weights = None if metric is None else metric.weights
    return replicate_moments(job.table, counts, theta, n_records=n, weights=weights, of=of)


def _intervals(
    plan: _Plan,
    job: _Job,
    draws: Draws,
    theta: Array,
    moments: tuple[Array | None, Array] | None,
    metric: Metrics | None,
) -> tuple[Array, Flags, Array]:
    """Estimates, whether each interval holds the full table's coefficient, and its length, arrays
    (B, p).
    """
    if moments is None or not len(theta):
        return plan.named(theta), np.empty(theta.shape, dtype=np.bool_), np.empty(theta.shape)
    design = job.design
    key = design.budget.law, design.switches.symmetric_noise
    p = theta.shape[1]
    laws = [covariance_noise(design, float(radius)) for radius in np.linalg.norm(theta, axis=1)]
    scales = np.array([law.scale for law in laws])[:, None, None]
    sds = np.array([law.diagonal_sd(p) for law in laws])
    H, S = moments
    S = symmetrise(S + scales * draws.covariance[key])
    if H is None:
        whiten = None if metric is None else metric.of.whiten
        at = one_step_point(
            theta, S, regularization=design.regularization, matrix_sd=sds, whiten=whiten
        )
        H, _ = _moments_at(plan, job, draws, at, metric, of=("hessian",))
        H = H if metric is None else metric.of.matrix(H)
    widths = private_half_widths(
        symmetrise(H + hessian_noise(design).scale * draws.hessian[key]),
        S,
        design=design,
        noise=job.noise,
        covariance_noise=laws[0],
        theta_priv=theta,
        covariance_sd=sds,
        contrasts=plan.basis,
        metric=None if metric is None else metric.of,
        constant=plan.constant,
    )
    estimate, q = widths.estimate(theta), widths.half_width
    return estimate, np.abs(estimate - plan.named(job.goal)) <= q, 2.0 * q


def _progress(kept: list[list[Outcomes]], n_done: int, total: int, seconds: float) -> Progress:
    """Where the run stands; the coverage is the mean over coefficients, with its standard error."""
    means = [
        np.concatenate([o.inside.mean(axis=1) for o in outcomes if len(o.inside)])
        for outcomes in kept
    ]
    return Progress(
        done=n_done,
        total=total,
        seconds_left=seconds * (total - n_done) / n_done,
        coverage_so_far=tuple(float(m.mean()) for m in means),
        se=tuple(float(m.std(ddof=1) / np.sqrt(len(m))) if len(m) > 1 else np.inf for m in means),
    )


def _result(plan: _Plan, job: _Job, outcomes: list[Outcomes], n_variability: int) -> DesignResult:
    p = len(job.table.theta_hat)
    theta = np.concatenate([o.theta for o in outcomes] or [np.empty((0, p))])
    inside = np.concatenate([o.inside for o in outcomes] or [np.empty((0, p), dtype=np.bool_)])
    length = np.concatenate([o.length for o in outcomes] or [np.empty((0, p))])
    return summarise(
        job.design,
        theta_hat=plan.named(job.goal),
        theta=theta[:n_variability],
        inside=inside,
        length=length,
        n_failed=int(np.isnan(theta[:, 0]).sum()),
    )
