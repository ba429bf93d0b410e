"""Test error against n under private tuning, as in Figures 4 and 5 of [CMS].

In one permutation of the table some rows test, as many others are what a candidate is chosen with,
and every candidate trains on rows of its own. In one run each candidate is trained once on its n
rows, and the exponential mechanism chooses among them [CMS Algorithm 4]. Without privacy every
candidate trains on the rows of all of them, and the one with the fewest mistakes is taken. Not
private: the result describes the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

import numpy as np
import numpy.typing as npt

from dpci_core.base.array import Array, Integers, Positions
from dpci_core.base.errors import check_count, check_generator
from dpci_core.base.validation import check_unit_records
from dpci_core.losses import Loss
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down
from dpci_core.studies.accuracy.curve import Errors, errors_of, trained_models
from dpci_core.tuning.choose import chosen
from dpci_core.tuning.learners import Learner, Method
from dpci_core.tuning.training import Training, constant_error


@dataclass(frozen=True, kw_only=True, slots=True)
class TuningProtocol:
    """How a curve is measured.

    sizes: rows that train one candidate.
    n_held_out: rows a choice is made with, and as many that test it.
    n_permutations: of the table, at least 2, between which the Monte Carlo error is seen.
    n_runs: in each of them.
    """

    sizes: tuple[int, ...]
    n_held_out: int
    n_permutations: int
    n_runs: int

    def __post_init__(self) -> None:
        if not self.sizes:
            raise ValueError("Expected sizes to hold at least one.")
        for size in self.sizes:
            check_count(size=size)
        check_count(
            n_held_out=self.n_held_out, n_runs=self.n_runs, n_permutations=self.n_permutations
        )
        if self.n_permutations < 2:
            raise ValueError(f"Expected n_permutations={self.n_permutations} >= 2.")


@dataclass(frozen=True, slots=True)
class Division:
    """Numbers of the rows that test, of those a choice is made with, and of those that train each
    candidate.
    """

    test: Positions
    validation: Positions
    train: tuple[Positions, ...]


def divide(
    n_rows: int, *, n_candidates: int, size: int, n_held_out: int, rng: np.random.Generator
) -> Division:
    """Return disjoint parts of a table, in random order: two of n_held_out rows and one of `size`
    for each candidate.

    Raises:  ValueError if the table has too few rows.
    """
    most = (n_rows - 2 * n_held_out) // n_candidates
    if size > most:
        raise ValueError(
            f"Expected size={size} <= {most}: {n_rows} rows, {n_candidates} candidates."
        )
    test, validation, rest = np.split(rng.permutation(n_rows), [n_held_out, 2 * n_held_out])
    return Division(
        test, validation, tuple(rest[i * size : (i + 1) * size] for i in range(n_candidates))
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TunedPoint:
    """Mean test error of what was chosen, over permutations and runs.

    epsilon: of training and choice together; None without privacy.
    n_train: rows behind one candidate; without privacy all candidates have the rows of all.
    error_se: from the spread of the permutations' means.
    error_sd: spread of single runs.
    best_error: of the candidate that is best on average, had one known it.
    chosen: how often each candidate was.
    constant_error: of always naming the commoner class.
    """

    method: Method
    epsilon: str | None
    n_train: int
    error: float
    error_se: float
    error_sd: float
    false_positive: float
    false_negative: float
    best_error: float
    constant_error: float
    chosen: tuple[int, ...]
    n_failed: int


def tuned_curve(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    loss: Loss,
    regularizations: Sequence[float],
    epsilons: Sequence[Amount],
    protocol: TuningProtocol,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[TunedPoint]:
    """Return the points for each size: without privacy, then Algorithms 1 and 2 at each epsilon.

    Args:
        X, y: as for `private_intervals`.
        loss: of all learners.
        regularizations: c of each candidate.
        epsilons: of training and choice together.
        protocol: sizes, held-out rows and repetitions.
        rng: equal rows and equal unit noise behind all points of a permutation, so that differences
            are surer than each by itself.
        progress: called with (permutations done, permutations).

    Raises:  ValueError naming the argument; DataRejectedError.
    Source:  CMS section 7.3.
    """
    check_generator(rng)
    features, labels = check_unit_records(X, y)
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    private: list[tuple[Method, Decimal | None]] = list(product(("output", "objective"), amounts))
    asked = [(size, *how) for size in protocol.sizes for how in [("non_private", None), *private]]
    found: list[list[_Runs]] = [[] for _ in asked]
    for done in range(protocol.n_permutations):
        table = _Permuted.of(features, labels, len(regularizations), protocol, rng)
        for runs, (size, method, amount) in zip(found, asked, strict=True):
            learners = [
                Learner(loss=loss, method=method, regularization=c) for c in regularizations
            ]
            runs.append(_tuned(table, learners, size, amount))
        if progress is not None:
            progress(done + 1, protocol.n_permutations)
    return [_averaged(runs, *one) for runs, one in zip(found, asked, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class _Permuted:
    """A permutation of the table, and the random numbers of its runs.

    train: rows y x (size, p) of each candidate.
    seeds: of each candidate's noise.
    uniform: (runs,), of the choices.
    """

    train: list[Array]
    validation: tuple[Array, Array]
    test: tuple[Array, Array]
    seeds: list[int]
    uniform: Array

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        n_candidates: int,
        protocol: TuningProtocol,
        rng: np.random.Generator,
    ) -> _Permuted:
        size, n_held_out = max(protocol.sizes), protocol.n_held_out
        parts = divide(len(y), n_candidates=n_candidates, size=size, n_held_out=n_held_out, rng=rng)
        return cls(
            train=[y[part, None] * X[part] for part in parts.train],
            validation=(X[parts.validation], y[parts.validation]),
            test=(X[parts.test], y[parts.test]),
            seeds=[int(seed) for seed in rng.integers(2**63, size=n_candidates)],
            uniform=rng.random(protocol.n_runs),
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Runs:
    """What the runs of one permutation chose, (B,), its errors on the test rows, and each
    candidate's, (m,).
    """

    index: Positions
    error: Array
    false_positive: Array
    false_negative: Array
    candidates: Array
    constant_error: float
    n_failed: int


def _tuned(
    table: _Permuted, learners: Sequence[Learner], size: int, amount: Decimal | None
) -> _Runs:
    """All runs of one permutation at one size; a single one without privacy, where nothing is
    drawn.
    """
    epsilon = None if amount is None else to_float_down(amount)
    n_runs = 1 if epsilon is None else len(table.uniform)
    parts = [part[:size] for part in table.train]
    together = np.concatenate(parts) if epsilon is None else None
    mistakes, tested = np.empty((n_runs, len(learners)), dtype=np.int64), []
    for i, learner in enumerate(learners):
        A = parts[i] if together is None else together
        training = Training.of_learner(learner, epsilon=epsilon, n_records=len(A))
        theta = np.concatenate(list(trained_models(A, training, n_runs, table.seeds[i], len(A))))
        wrong = errors_of(theta, *table.validation).error
        mistakes[:, i] = np.rint(wrong * len(table.validation[1]))
        tested.append(errors_of(theta, *table.test))
    return _chosen(tested, _choice(mistakes, epsilon, table.uniform), table.test[1])


def _choice(mistakes: Integers, epsilon: float | None, uniform: Array) -> Positions:
    """The candidate that each run chooses (B,): by the exponential mechanism, or without privacy
    the best.
    """
    if epsilon is None:
        return np.asarray(np.argmin(mistakes, axis=1))
    return chosen(mistakes, epsilon=epsilon, uniform=uniform)


def _chosen(tested: Sequence[Errors], index: Positions, y_test: Array) -> _Runs:
    """The errors of the chosen candidates, picked out of those of all."""
    runs = np.arange(len(index))
    return _Runs(
        index=index,
        error=np.array([one.error for one in tested])[index, runs],
        false_positive=np.array([one.false_positive for one in tested])[index, runs],
        false_negative=np.array([one.false_negative for one in tested])[index, runs],
        candidates=np.array([one.error.mean() for one in tested]),
        constant_error=constant_error(y_test),
        n_failed=sum(one.n_failed for one in tested),
    )


def _averaged(
    permutations: Sequence[_Runs], size: int, method: Method, amount: Decimal | None
) -> TunedPoint:
    errors = np.array([runs.error for runs in permutations])
    candidates = np.array([runs.candidates for runs in permutations])
    index = np.concatenate([runs.index for runs in permutations])
    return TunedPoint(
        method=method,
        epsilon=None if amount is None else str(amount),
        n_train=size,
        error=float(errors.mean()),
        error_se=float(errors.mean(axis=1).std(ddof=1) / np.sqrt(len(errors))),
        error_sd=float(errors.std(ddof=1)),
        false_positive=float(np.mean([runs.false_positive for runs in permutations])),
        false_negative=float(np.mean([runs.false_negative for runs in permutations])),
        best_error=float(candidates.mean(axis=0).min()),
        constant_error=float(np.mean([runs.constant_error for runs in permutations])),
        chosen=tuple(np.bincount(index, minlength=candidates.shape[1]).tolist()),
        n_failed=sum(runs.n_failed for runs in permutations),
    )
