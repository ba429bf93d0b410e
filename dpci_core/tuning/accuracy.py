"""Test error of any training by simulation: of a learner, of the coefficients of a design, or of
one without privacy.

Fit i has a random stream of its own, spawned by its number: a result depends on no batch, and every
training meets the same unit noise.

Not private: the result describes the tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.base.batches import as_table
from dpci_core.base.errors import check_count, check_generator
from dpci_core.losses import Loss
from dpci_core.privacy.laws import NoiseLaw, unit_vector
from dpci_core.solvers.minimise import minimise
from dpci_core.solvers.replicates import Table, fit_replicates
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning.learners import Learner, learner_noise

_BATCH_NUMBERS = 2**22
"""Counts held by one batch of fits."""
_NOISE = 1
"""The stream of a fit."""


@dataclass(frozen=True, slots=True)
class Training:
    """How one model is trained: loss, penalty c, and noise that perturbs the objective or is added
    to its minimiser.
    """

    loss: Loss
    regularization: float
    noise: NoiseLaw | None
    perturbs_objective: bool

    @classmethod
    def of_learner(cls, learner: Learner, *, epsilon: float | None, n_records: int) -> Training:
        """Return a learner's training as in [CMS], at the c that Algorithm 2 may have raised."""
        law = learner_noise(learner, epsilon=epsilon, n_records=n_records)
        noise = None if law.rate is None else NoiseLaw(rate=law.rate)
        return cls(learner.loss, law.regularization, noise, law.perturbs_objective)


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Rows y_i x_i to train on, (n, p), and records never trained on to test with, (m, p) and
    (m,).
    """

    A: Array
    X_test: Array
    y_test: Array


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Mean test error of a training over fits, with its Monte Carlo error and their spread.

    false_positive, false_negative: mistakes among the records of a class; NaN where it is absent.
    A fit that could not be made counts as all wrong.
    """

    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    n_fits: int
    n_failed: int


def accuracy_curve(
    split: HeldOut, *, trainings: Sequence[Training], n_fits: int, rng: np.random.Generator
) -> list[Measured]:
    """Return the mean test error of every training, on common unit noise.

    Args:
        split: rows for training and for the test.
        trainings: for the number of rows at hand; equal ones are measured once.
        n_fits: draws of noise; a training without noise is fitted once.
        rng: seeds them.

    Raises:  ValueError naming the argument; ConvergenceError.

    >>> from dpci_core.losses import Logistic
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(-0.7, 0.7, (3000, 1)), np.full(3000, 0.7)]
    >>> y = np.where(rng.random(3000) < 0.5 + X[:, 0] / 2, 1, -1)
    >>> split = HeldOut(y[:2400, None] * X[:2400], X[2400:], y[2400:])
    >>> learner = Learner(loss=Logistic(), method="output", regularization=0.01)
    >>> trainings = [Training.of_learner(learner, epsilon=e, n_records=2_400) for e in (0.05, 5)]
    >>> [round(found.error, 2)
    ...  for found in accuracy_curve(split, trainings=trainings, n_fits=50, rng=rng)]
    [0.44, 0.32]
    """
    check_generator(rng)
    check_count(n_fits=n_fits)
    seed = int(rng.integers(2**63))
    found: dict[Training, Measured] = {}
    for one in trainings:
        if one not in found:  # small penalties that Algorithm 2 raises to the same
            theta = trained_models(split.A, one, 1 if one.noise is None else n_fits, seed)
            found[one] = measured(theta, split.X_test, split.y_test)
    return [found[one] for one in trainings]


def trained_models(A: Array, training: Training, n_fits: int, seed: int) -> Array:
    """Return coefficients (n_fits, p) trained on rows A = y X, NaN for a fit that failed; equal
    seeds are equal unit noise, whatever the training.
    """
    p, noise = A.shape[1], training.noise
    drawn = np.zeros((n_fits, p))
    if noise is not None:
        streams = (np.random.SeedSequence(seed, spawn_key=(i, _NOISE)) for i in range(n_fits))
        drawn = noise.scale * np.array(
            [unit_vector(noise.law, p, np.random.default_rng(one)) for one in streams]
        )
    if not training.perturbs_objective:
        risk = PenalisedRisk(as_table(A), training.loss, training.regularization)
        return np.asarray(minimise(risk).theta + drawn)
    table = Table.of(A, loss=training.loss, regularization=training.regularization)
    size = max(1, min(64, _BATCH_NUMBERS // len(A)))
    made = []
    for first in range(0, n_fits, size):
        noise_vector = drawn[first : first + size]
        counts = np.ones((len(noise_vector), len(A)), dtype=np.float32)
        fits = fit_replicates(table, counts, n_records=len(A), noise_vector=noise_vector)
        made.append(np.where(fits.converged[:, None], fits.theta, np.nan))
    return np.concatenate(made)


def measured(theta: Array, X_test: Array, y_test: Array) -> Measured:
    """Return the errors of models (B, p), of which NaN stands for one that failed."""
    failed = np.isnan(theta[:, 0])
    is_positive = y_test > 0.0
    wrong: Flags = (theta @ X_test.T > 0.0) != is_positive
    wrong[failed] = True
    errors, n = wrong.mean(axis=1), len(theta)
    sd = float(errors.std(ddof=1)) if n > 1 else 0.0
    false_positive, false_negative = (
        float(wrong[:, of].mean()) if of.any() else np.nan for of in (~is_positive, is_positive)
    )
    return Measured(
        error=float(errors.mean()),
        error_se=sd / float(np.sqrt(n)),
        error_sd=sd,
        false_positive=false_positive,
        false_negative=false_negative,
        n_fits=n,
        n_failed=int(failed.sum()),
    )
