"""What an accuracy experiment is made of: how a model is trained, for how many records, on which
rows; its errors.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Positions
from dpci_core.base.errors import check_generator
from dpci_core.base.validation import check_unit_records
from dpci_core.losses import Loss
from dpci_core.privacy.laws import NoiseLaw
from dpci_core.tuning.learners import Learner, learner_noise


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


@dataclass(frozen=True, slots=True)
class Point:
    """A training, and the number of records it is for."""

    training: Training
    n_records: int


@dataclass(frozen=True, slots=True, eq=False)
class HeldOut:
    """Rows y_i x_i to train on, (n, p), and records never trained on to test with, (m, p) and
    (m,).
    """

    A: Array
    X_test: Array
    y_test: Array

    @classmethod
    def of(
        cls, X: npt.ArrayLike, y: npt.ArrayLike, *, test_share: float, rng: np.random.Generator
    ) -> HeldOut:
        """Divide a table at random.

        Raises:  ValueError naming the argument; DataRejectedError.
        """
        features, labels = check_unit_records(X, y)
        train, test = divide_rows(len(labels), test_share=test_share, rng=rng)
        return cls(labels[train, None] * features[train], features[test], labels[test])


def divide_rows(
    n_rows: int,
    *,
    test_share: float,
    rng: np.random.Generator,
) -> tuple[Positions, Positions]:
    """Return the numbers of the rows to train on and of those to test with, in random order.

    Args:
        n_rows: of the table.
        test_share: of the rows that are tested with.
        rng: draws the division.

    Raises:  ValueError unless 0 < test_share < 1 leaves a row on both sides.
    """
    check_generator(rng)
    if not 0.0 < test_share < 1.0:
        raise ValueError(f"Expected 0 < test_share={test_share} < 1.")
    n_test = max(1, round(test_share * n_rows))
    if n_test >= n_rows:
        raise ValueError(f"Expected more than {n_rows} rows to divide at test_share={test_share}.")
    test, train = np.split(rng.permutation(n_rows), [n_test])
    return train, test


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Mean test error of a training at one n; the fields of `Accuracy`.

    A fit that could not be made counts as all wrong.
    """

    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    n_fits: int
    n_failed: int
