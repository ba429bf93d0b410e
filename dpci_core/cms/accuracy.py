"""Test error of private and non-private learners by simulation, against epsilon and against n [CMS section 7].

Fit i has random streams of its own, one for its training rows and one for its noise, spawned by its number: a result
depends on no batch, and every learner and epsilon meets the same rows and the same unit noise.

Not private: the result describes the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.batched import MOST_RECORDS, Table, fit_replicates
from dpci_core.cms.learners import Learner, Method, learner_noise
from dpci_core.design import Design, check_design
from dpci_core.erm import solve
from dpci_core.errors import check_count, check_generator, check_range
from dpci_core.losses import Loss
from dpci_core.noise import sample_gaussian, sample_spherical_laplace
from dpci_core.perturbation import ModelNoise, model_noise
from dpci_core.privacy import Amount, to_decimal, to_float_down
from dpci_core.validation import check_records

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_BATCH_NUMBERS = 2**22
"""Counts held by one batch of fits."""
_ROWS, _NOISE = 0, 1
"""Streams of a fit."""


@dataclass(frozen=True, slots=True)
class Training:
    """How one model is trained: loss, penalty c, and noise that tilts the objective or is added to its minimiser."""

    loss: Loss
    regularization: float
    noise: ModelNoise | None
    is_tilt: bool

    @classmethod
    def of_learner(cls, learner: Learner, *, epsilon: float | None, n_records: int) -> Training:
        """As [CMS] trains, at the c that Algorithm 2 may have raised."""
        law = learner_noise(learner, epsilon=epsilon, n_records=n_records)
        noise = None if law.rate is None else ModelNoise(rate=law.rate)
        return cls(learner.loss, law.regularization, noise, law.is_tilt)

    @classmethod
    def of_design(cls, design: Design, *, n_records: int) -> Training:
        """The coefficients of a design, so that their accuracy can stand beside the length of its intervals."""
        check_design(design)
        is_tilt = design.mechanism == "objective"
        return cls(design.loss, design.regularization, model_noise(design, n_records), is_tilt)


@dataclass(frozen=True, slots=True)
class Errors:
    """Shares over the test table, one for each fit (B,): mistakes, and mistakes among the two classes (NaN if absent).

    A fit that could not be made counts as all wrong.
    """

    error: Array
    false_positive: Array
    false_negative: Array
    n_failed: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """Mean test error of one learner at one epsilon and n.

    error_se: Monte Carlo error of the mean, from the draws of noise and training rows; 0 where nothing is drawn.
    error_sd: spread of single fits.  false_positive, false_negative: mistakes among negatives and among positives.
    regularization: c that was used; is_raised where Algorithm 2 raised it.  epsilon: None without privacy.
    """

    loss: str
    method: Method
    epsilon: str | None
    n_records: int
    regularization: float
    is_raised: bool
    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    n_fits: int
    n_failed: int

    def to_record(self) -> dict[str, object]:
        """One tidy row of plain values; NaN as None."""
        return {k: None if isinstance(v, float) and np.isnan(v) else v for k, v in asdict(self).items()}


def accuracy_experiment(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    X_test: npt.ArrayLike,
    y_test: npt.ArrayLike,
    *,
    learners: Sequence[Learner],
    epsilons: Sequence[Amount],
    n_fits: int,
    rng: np.random.Generator,
    n_records: Sequence[int] | None = None,
) -> list[Accuracy]:
    """Return the mean test error of every learner at every epsilon and number of training records, in that order.

    Args:    X, y, X_test, y_test: as for `private_intervals`.  epsilons: amounts, each for one whole training; a
             non-private learner appears once for each n.  n_fits: draws of noise, and of rows where n is below the
             table's.  n_records: sizes of training tables, drawn without replacement (default: the whole table).
    Raises:  ValueError naming the argument; DataRejectedError.

    >>> from dpci_core.losses import Logistic
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(-0.7, 0.7, (3000, 1)), np.full(3000, 0.7)]
    >>> y = np.where(rng.random(3000) < 0.5 + X[:, 0] / 2, 1, -1)
    >>> learners = [Learner(loss=Logistic(), method=m, regularization=0.01) for m in ("non_private", "objective")]
    >>> rows = accuracy_experiment(X[:2000], y[:2000], X[2000:], y[2000:], learners=learners, epsilons=["0.1"],
    ...                            n_fits=50, rng=np.random.default_rng(1))
    >>> [(row.method, round(row.error, 3)) for row in rows]
    [('non_private', 0.327), ('objective', 0.336)]
    """
    check_generator(rng)
    check_count(n_fits=n_fits)
    features, labels = check_records(X, y)
    test = check_records(X_test, y_test)
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    sizes = [len(labels)] if n_records is None else list(n_records)
    for size in sizes:
        check_count(n_records=size)
        check_range((1, len(labels)), n_records=size)
    A = labels[:, None] * features
    seed = int(rng.integers(2**63))
    found = []
    for size in sizes:
        for learner in learners:
            for amount in [None] if learner.method == "non_private" else amounts:
                epsilon = None if amount is None else to_float_down(amount)
                law = learner_noise(learner, epsilon=epsilon, n_records=size)
                training = Training.of_learner(learner, epsilon=epsilon, n_records=size)
                errors = train_and_test(A, *test, training=training, n_fits=n_fits, seed=seed, n_records=size)
                text = None if amount is None else str(amount)
                found.append(_summary(learner, text, size, law.regularization, law.is_raised, errors))
    return found


def train_and_test(
    A: Array, X_test: Array, y_test: Array, *, training: Training, n_fits: int, seed: int, n_records: int
) -> Errors:
    """Train so many models on rows of A = y X and test each; one fit is enough where nothing is random."""
    is_fixed = training.noise is None and n_records == len(A)
    pieces = [
        _errors(theta, X_test, y_test) for theta in _models(A, training, 1 if is_fixed else n_fits, seed, n_records)
    ]
    return Errors(
        error=np.concatenate([piece.error for piece in pieces]),
        false_positive=np.concatenate([piece.false_positive for piece in pieces]),
        false_negative=np.concatenate([piece.false_negative for piece in pieces]),
        n_failed=sum(piece.n_failed for piece in pieces),
    )


def _models(A: Array, training: Training, n_fits: int, seed: int, n_records: int) -> Iterator[Array]:
    """Batches of coefficients (b, p), NaN for a fit that failed."""
    p, noise = A.shape[1], training.noise
    size = max(1, min(64, _BATCH_NUMBERS // len(A)))
    needs_fits = training.is_tilt or n_records < len(A)
    table = Table.of(A, loss=training.loss, regularization=training.regularization) if needs_fits else None
    exact = solve(A, loss=training.loss, regularization=training.regularization).theta if table is None else None
    for first in range(0, n_fits, size):
        numbers = range(first, min(first + size, n_fits))
        drawn = np.zeros((len(numbers), p))
        if noise is not None:
            drawn = noise.scale * np.array([_unit_noise(noise, p, _stream(seed, i, _NOISE)) for i in numbers])
        if table is None:
            assert exact is not None
            yield exact + drawn
            continue
        counts = np.array([_chosen(len(A), n_records, _stream(seed, i, _ROWS)) for i in numbers])
        fits = fit_replicates(table, counts, n_records=n_records, tilt=drawn if training.is_tilt else None)
        theta = fits.theta if training.is_tilt else fits.theta + drawn
        yield np.where(fits.converged[:, None], theta, np.nan)


def _stream(seed: int, number: int, kind: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(number, kind)))


def _unit_noise(noise: ModelNoise, p: int, rng: np.random.Generator) -> Array:
    if noise.kind == "pure":
        return sample_spherical_laplace(p, rate=1.0, rng=rng)
    return sample_gaussian(p, sd=1.0, rng=rng)


def _chosen(n_rows: int, n_records: int, rng: np.random.Generator) -> npt.NDArray[np.float32]:
    """1 for the rows of a random training table, 0 for the others."""
    check_range((1, MOST_RECORDS - 1), n_records=n_rows)
    counts = np.ones(n_rows, dtype=np.float32)
    if n_records < n_rows:
        counts[rng.permutation(n_rows)[n_records:]] = 0.0
    return counts


def _errors(theta: Array, X_test: Array, y_test: Array) -> Errors:
    """Errors of a batch of models."""
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


def _summary(
    learner: Learner, epsilon: str | None, n_records: int, regularization: float, is_raised: bool, errors: Errors
) -> Accuracy:
    n = len(errors.error)
    sd = float(errors.error.std(ddof=1)) if n > 1 else 0.0
    return Accuracy(
        loss=learner.loss.name,
        method=learner.method,
        epsilon=epsilon,
        n_records=n_records,
        regularization=regularization,
        is_raised=is_raised,
        error=float(errors.error.mean()),
        error_se=sd / float(np.sqrt(n)),
        error_sd=sd,
        false_positive=float(errors.false_positive.mean()),
        false_negative=float(errors.false_negative.mean()),
        n_fits=n,
        n_failed=errors.n_failed,
    )
