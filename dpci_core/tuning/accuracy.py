"""Test error of any training by simulation: of a learner, of the coefficients of a design, or of
one without privacy.

Fit i has random streams of its own, one for its training rows and one for its noise, spawned by its
number: a result depends on no batch, and every training and n meets the same rows and the same unit
noise.

Not private: the result describes the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array, Flags, Single
from dpci_core.base.batches import as_table
from dpci_core.base.errors import check_count, check_generator, check_range
from dpci_core.privacy.laws import unit_vector
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.replicates import MOST_RECORDS, Table, fit_replicates
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning.training import HeldOut, Measured, Point, Training

_BATCH_NUMBERS = 2**22
"""Counts held by one batch of fits."""
_ROWS, _NOISE = 0, 1
"""Streams of a fit."""


def accuracy_curve(
    split: HeldOut,
    *,
    points: Sequence[Point],
    n_fits: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[Measured]:
    """Return the mean test error at every point, on common rows and common unit noise; the first
    ones if stopped.

    Args:
        split: rows for training and for the test.
        points: a training each, with its n.
        n_fits: draws of noise, and of rows where n_records is below the table's; one where neither
            is drawn. Beyond the table's rows every row is used once with the noise of n_records, so
            the part of the error that more records would remove stays in.
        progress: called with (points done, points).
        should_stop: asked between batches of fits.

    Raises:  ValueError naming the argument; ConvergenceError.

    >>> from dpci_core.tuning import Learner
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(-0.7, 0.7, (3000, 1)), np.full(3000, 0.7)]
    >>> y = np.where(rng.random(3000) < 0.5 + X[:, 0] / 2, 1, -1)
    >>> split = HeldOut.of(X, y, test_share=0.2, rng=rng)
    >>> from dpci_core.losses import Logistic
    >>> learner = Learner(loss=Logistic(), method="output", regularization=0.01)
    >>> points = [Point(Training.of_learner(learner, epsilon=0.1, n_records=n), n)
    ...           for n in (1_000, 100_000)]
    >>> [round(found.error, 2)
    ...  for found in accuracy_curve(split, points=points, n_fits=50, rng=rng)]
    [0.44, 0.32]
    """
    check_generator(rng)
    check_count(n_fits=n_fits)
    seed = int(rng.integers(2**63))
    found: dict[Point, Measured] = {}
    for k, point in enumerate(points):
        check_count(n_records=point.n_records)
        if (
            point not in found
        ):  # equal trainings meet equal noise: small penalties that Algorithm 2 raises to one
            errors = _measure(split, point, n_fits, seed, should_stop)
            if errors is None:
                return [found[done] for done in points[:k]]
            found[point] = _mean(errors)
        if progress is not None:
            progress(k + 1, len(points))
    return [found[point] for point in points]


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares over the test table, one for each fit (B,): mistakes, and mistakes among the two
    classes (NaN if absent).

    A fit that could not be made counts as all wrong.
    """

    error: Array
    false_positive: Array
    false_negative: Array
    n_failed: int


def _measure(
    split: HeldOut, point: Point, n_fits: int, seed: int, should_stop: Callable[[], bool] | None
) -> Errors | None:
    """Errors of single fits; None if stopped between two batches."""
    is_fixed = point.training.noise is None and point.n_records >= len(split.A)
    pieces = []
    if should_stop is not None and should_stop():
        return None
    for theta in trained_models(
        split.A, point.training, 1 if is_fixed else n_fits, seed, point.n_records
    ):
        pieces.append(errors_of(theta, split.X_test, split.y_test))
        if should_stop is not None and should_stop():
            return None
    return Errors(
        error=np.concatenate([piece.error for piece in pieces]),
        false_positive=np.concatenate([piece.false_positive for piece in pieces]),
        false_negative=np.concatenate([piece.false_negative for piece in pieces]),
        n_failed=sum(piece.n_failed for piece in pieces),
    )


def trained_models(
    A: Array, training: Training, n_fits: int, seed: int, n_records: int
) -> Iterator[Array]:
    """Yield batches of coefficients (b, p) trained on rows of A = y X, NaN for a fit that failed.

    seed: of the streams of all fits; equal seeds are equal rows and equal unit noise, whatever the
    training.
    """
    p, noise = A.shape[1], training.noise
    n_rows = min(n_records, len(A))
    size = max(1, min(64, _BATCH_NUMBERS // len(A)))
    needs_fits = training.perturbs_objective or n_rows < len(A)
    table = (
        Table.of(A, loss=training.loss, regularization=training.regularization)
        if needs_fits
        else None
    )
    exact = (
        minimise(
            PenalisedRisk(as_table(A), loss=training.loss, regularization=training.regularization)
        ).theta
        if table is None
        else None
    )
    for first in range(0, n_fits, size):
        numbers = range(first, min(first + size, n_fits))
        drawn = np.zeros((len(numbers), p))
        if noise is not None:
            drawn = noise.scale * np.array(
                [unit_vector(noise.law, p, _stream(seed, i, _NOISE)) for i in numbers]
            )
        if table is None:
            assert exact is not None
            yield exact + drawn
            continue
        counts = np.array([_chosen(len(A), n_rows, _stream(seed, i, _ROWS)) for i in numbers])
        # The objective has the noise vector over the records it is for; here it is divided by the
        # rows at hand.
        noise_vector = drawn * (n_rows / n_records) if training.perturbs_objective else None
        fits = fit_replicates(table, counts, n_records=n_rows, noise_vector=noise_vector)
        theta = fits.theta if training.perturbs_objective else fits.theta + drawn
        yield np.where(fits.converged[:, None], theta, np.nan)


def _stream(seed: int, number: int, kind: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, kind)))


def _chosen(n_rows: int, n_records: int, rng: np.random.Generator) -> Single:
    """1 for the rows of a random training table, 0 for the others."""
    check_range((1, MOST_RECORDS - 1), n_records=n_rows)
    counts = np.ones(n_rows, dtype=np.float32)
    if n_records < n_rows:
        counts[rng.permutation(n_rows)[n_records:]] = 0.0
    return counts


def errors_of(theta: Array, X_test: Array, y_test: Array) -> Errors:
    """Return the errors of models (B, p), of which NaN stands for one that failed."""
    failed = np.isnan(theta[:, 0])
    is_positive = y_test > 0.0
    wrong: Flags = (theta @ X_test.T > 0.0) != is_positive
    wrong[failed] = True
    n_positive = int(is_positive.sum())
    n_negative = len(y_test) - n_positive
    positives, negatives = wrong[:, is_positive].sum(axis=1), wrong[:, ~is_positive].sum(axis=1)
    return Errors(
        error=wrong.mean(axis=1),
        false_positive=negatives / n_negative if n_negative else np.full(len(theta), np.nan),
        false_negative=positives / n_positive if n_positive else np.full(len(theta), np.nan),
        n_failed=int(failed.sum()),
    )


def _mean(errors: Errors) -> Measured:
    n = len(errors.error)
    sd = float(errors.error.std(ddof=1)) if n > 1 else 0.0
    return Measured(
        error=float(errors.error.mean()),
        error_se=sd / float(np.sqrt(n)),
        error_sd=sd,
        false_positive=float(errors.false_positive.mean()),
        false_negative=float(errors.false_negative.mean()),
        n_fits=n,
        n_failed=errors.n_failed,
    )
