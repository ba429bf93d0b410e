"""Test error of the learners of [CMS] against epsilon and against n, as in their section 7."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dpci_core.base.errors import check_count, check_generator, check_range
from dpci_core.base.validation import check_unit_records
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.studies.accuracy.curve import accuracy_curve
from dpci_core.tuning.learners import Learner, Method, learner_noise
from dpci_core.tuning.training import HeldOut, Point, Training


@dataclass(frozen=True, kw_only=True, slots=True)
class Accuracy:
    """Mean test error of one learner at one epsilon and n.

    error_se: Monte Carlo error of the mean, from the draws of noise and training rows; 0 where
        nothing is drawn.
    error_sd: spread of single fits.
    false_positive, false_negative: mistakes among negatives and among positives.
    regularization: c that was used; is_raised where Algorithm 2 raised it.
    epsilon: None without privacy.
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
        return {
            k: None if isinstance(v, float) and np.isnan(v) else v for k, v in asdict(self).items()
        }


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
    """Return the mean test error of every learner at every epsilon and number of training records,
    in that order.

    Args:
        X, y, X_test, y_test: as for `private_intervals`.
        learners: method, loss and c of each.
        epsilons: amounts, each for one whole training; a non-private learner appears once for each
            n.
        n_fits: draws of noise, and of rows where n is below the table's.
        rng: of the rows and the noise.
        n_records: sizes of training tables, drawn without replacement (default: the whole table).

    Raises:  ValueError naming the argument; DataRejectedError.

    >>> from dpci_core.losses import Logistic
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.uniform(-0.7, 0.7, (3000, 1)), np.full(3000, 0.7)]
    >>> y = np.where(rng.random(3000) < 0.5 + X[:, 0] / 2, 1, -1)
    >>> learners = [Learner(loss=Logistic(), method=m, regularization=0.01)
    ...             for m in ("non_private", "objective")]
    >>> rows = accuracy_experiment(X[:2000], y[:2000], X[2000:], y[2000:], learners=learners,
    ...                            epsilons=["0.1"], n_fits=50, rng=np.random.default_rng(1))
    >>> [(row.method, round(row.error, 3)) for row in rows]
    [('non_private', 0.327), ('objective', 0.336)]
    """
    check_generator(rng)
    check_count(n_fits=n_fits)
    features, labels = check_unit_records(X, y)
    split = HeldOut(labels[:, None] * features, *check_unit_records(X_test, y_test))
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    sizes = [len(labels)] if n_records is None else list(n_records)
    for size in sizes:
        check_count(n_records=size)
        check_range((1, len(labels)), n_records=size)
    asked = [
        (learner, amount, size)
        for size in sizes
        for learner in learners
        for amount in ([None] if learner.method == "non_private" else amounts)
    ]
    points = [Point(_of(Training.of_learner, *one), one[2]) for one in asked]
    found = accuracy_curve(split, points=points, n_fits=n_fits, rng=rng)
    rows = []
    for (learner, amount, size), measured in zip(asked, found, strict=True):
        law = _of(learner_noise, learner, amount, size)
        rows.append(
            Accuracy(
                loss=learner.loss.name,
                method=learner.method,
                epsilon=None if amount is None else str(amount),
                n_records=size,
                regularization=law.regularization,
                is_raised=law.is_raised,
                **asdict(measured),
            )
        )
    return rows


Made = TypeVar("Made")


def _of(
    make: Callable[..., Made], learner: Learner, amount: Decimal | None, n_records: int
) -> Made:
    """What a learner comes to at an exact epsilon, which kernels get as a float rounded to the
    private side.
    """
    return make(
        learner, epsilon=None if amount is None else to_float_down(amount), n_records=n_records
    )
