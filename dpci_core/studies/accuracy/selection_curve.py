"""Prediction error against epsilon for every way to choose among private models, at equal privacy.

In one division of the table some rows test, some score, the rest trains. What a method chooses is
summed out exactly: an error is the mean over candidates, each with the chance that its score wins.
Not private: the result describes the table. So "control", which chooses by the scores themselves,
is measured here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from dpci_core.base.array import Array
from dpci_core.base.batches import as_table
from dpci_core.base.errors import check_choice, check_count, check_generator, check_range
from dpci_core.base.validation import check_unit_records
from dpci_core.design import Design
from dpci_core.estimators.defaults import default_regularization
from dpci_core.privacy.budget import Amount, PureDP, to_decimal, to_float_down
from dpci_core.privacy.choice import noisy_max_probabilities
from dpci_core.privacy.noise import sample_spherical_laplace
from dpci_core.solvers.minimise import Quick, minimise
from dpci_core.solvers.replicates import Table, fit_replicates
from dpci_core.solvers.risk import PenalisedRisk
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner, learner_noise
from dpci_core.tuning.released import for_coefficients_alone
from dpci_core.tuning.selection import (
    SELECTION_METHODS,
    Score,
    SelectionMethod,
    Spending,
    checked_score,
    distinct_candidates,
    mean_score,
    spend,
)

CurveMethod = Literal[
    "control",
    "stability",
    "stability_published",
    "alpha_split",
    "data_split",
    "random_stopping",
    "random",
    "default",
]
CURVE_METHODS: tuple[CurveMethod, ...] = ("control", *SELECTION_METHODS, "default")
"""Control is not private; "default" trains at `estimators.default_regularization`, a function of
public numbers, on all rows but the test's.
"""
_TOLERANCE = 1e-5
"""On the gradient norm of a fit: errors of prediction do not see more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionProtocol:
    """How a curve is measured.

    n_divisions: of the table, at least 2, between which the Monte Carlo error is seen.
    test_share: of all rows.
    validation_share: of the others.
    """

    n_divisions: int
    test_share: float = 0.1
    validation_share: str = "0.111"

    def __post_init__(self) -> None:
        check_count(n_divisions=self.n_divisions)
        if self.n_divisions < 2:
            raise ValueError(f"Expected n_divisions={self.n_divisions} >= 2.")
        check_range((0.001, 0.9), test_share=self.test_share)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionPoint:
    """Means over the divisions of a table.

    error, auc: of what was chosen, on the test rows, with Monte Carlo standard errors.
    gap: in error to Control, on the same rows; None where Control was not measured.
    chosen: chance of each candidate (empty for the default); of random stopping, its share of runs
        that win.
    train: epsilon of one training.
    constant_error: of always naming the commoner class.
    A histogram has its integrated squared error as `error`, and no auc and no constant_error.
    """

    method: CurveMethod
    epsilon: str
    error: float
    error_se: float
    auc: float | None
    auc_se: float | None
    gap: float | None
    gap_se: float | None
    chosen: tuple[float, ...]
    train: str
    constant_error: float | None

    @property
    def is_private(self) -> bool:
        """Whether the choice protects anybody, if its noise could not be predicted."""
        return self.method != "control"


def selection_curve(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    methods: Sequence[CurveMethod] = CURVE_METHODS,
    candidates: Sequence[Candidate],
    epsilons: Sequence[Amount],
    protocol: SelectionProtocol,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> list[SelectionPoint]:
    """Return a point for every method and epsilon; none if stopped.

    Args:
        X, y: as for `private_intervals`; a public or simulated table.
        methods: some of `CURVE_METHODS`.
        candidates: as for `tuning.select_privately`, of one loss and kind of noise.
        epsilons: of everything.
        protocol: rows and repetitions.
        rng: a division has equal rows and equal unit noise for all methods and budgets.
        progress: called with (divisions done, divisions).

    Raises:  ValueError naming the argument; DataRejectedError.
    """
    check_generator(rng)
    for method in methods:
        check_choice(method, CURVE_METHODS, name="method")
    listed = distinct_candidates(candidates)
    features, labels = check_unit_records(X, y)
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    found: dict[tuple[CurveMethod, Decimal], list[_Outcome]] = {
        (method, amount): [] for method in methods for amount in amounts
    }
    constant = []
    for done in range(protocol.n_divisions):
        if should_stop is not None and should_stop():
            return []
        division = _Division.of(features, labels, listed, protocol, rng)
        constant.append(division.constant_error)
        for (method, amount), outcomes in found.items():
            outcomes.append(division.outcome(method, amount))
        if progress is not None:
            progress(done + 1, protocol.n_divisions)
    return [
        _averaged(
            method, amount, outcomes, found.get(("control", amount)), float(np.mean(constant))
        )
        for (method, amount), outcomes in found.items()
    ]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Of one method in one division."""

    error: float
    auc: float
    chosen: Array
    train: str


@dataclass(eq=False)
class _Division:
    """One division of the table, with the fits that its methods share."""

    candidates: tuple[Candidate, ...]
    train: tuple[Array, Array]
    validation: tuple[Array, Array]
    test: tuple[Array, Array]
    validation_share: str
    seed: int
    _tables: dict[object, Table] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        X: Array,
        y: Array,
        candidates: tuple[Candidate, ...],
        protocol: SelectionProtocol,
        rng: np.random.Generator,
    ) -> _Division:
        order = rng.permutation(len(y))
        n_test = max(1, round(protocol.test_share * len(y)))
        test, rest = order[:n_test], order[n_test:]
        n_train = spend(
            "alpha_split",
            epsilon=1,
            learners=[one.learner for one in candidates],
            n_records=len(rest),
            validation_share=protocol.validation_share,
        ).n_train
        T, V = rest[:n_train], rest[n_train:]
        return cls(
            candidates,
            (X[T], y[T]),
            (X[V], y[V]),
            (X[test], y[test]),
            protocol.validation_share,
            int(rng.integers(2**62)),
        )

    @property
    def constant_error(self) -> float:
        share = float(np.mean(self.test[1] > 0))
        return min(share, 1.0 - share)

    def outcome(self, method: CurveMethod, epsilon: Decimal) -> _Outcome:
        if method == "default":
            return self._default(epsilon)
        learners = [one.learner for one in self.candidates]
        name: SelectionMethod = "random" if method == "control" else method
        spending = spend(
            name,
            epsilon=epsilon,
            learners=learners,
            n_records=len(self.train[1]) + len(self.validation[1]),
            validation_share=self.validation_share,
        )
        runs = self._runs(spending) if method == "random_stopping" else range(len(learners))
        models = self._models(runs, spending)
        score = checked_score(name, None)
        chances = self._chances(method, spending, runs, models, score)
        again = spending.plan is not None and spending.plan.releases == "retrained"
        tested = self._models(runs, spending, draw=1) if again else models
        errors, aucs = self._tested(runs, tested)
        chosen = np.zeros(len(learners))
        np.add.at(chosen, list(runs), chances)
        return _Outcome(
            float(chances @ errors), float(chances @ aucs), chosen, f"{spending.train:.6g}"
        )

    def _runs(self, spending: Spending) -> list[int]:
        """The candidates of random stopping, K drawn by its law."""
        rng = np.random.default_rng([self.seed % 2**32, 7, int(spending.train * 10**9) % 2**32])
        times = int(rng.geometric(1.0 / spending.runs))
        return [int(i) for i in rng.integers(len(self.candidates), size=times)]

    def _chances(
        self,
        method: CurveMethod,
        spending: Spending,
        runs: Sequence[int],
        models: Sequence[Array],
        score: Score,
    ) -> Array:
        """The chance of every run to be what is chosen."""
        if method == "random":
            return np.full(len(runs), 1.0 / len(runs))
        X, y = self.validation
        mapped = {i: self.candidates[i].map(X) for i in dict.fromkeys(runs)}
        scores = [
            mean_score(model, mapped[i], y, score) for i, model in zip(runs, models, strict=True)
        ]
        if method == "control":
            chances = np.zeros(len(runs))
            chances[int(np.argmax(scores))] = 1.0
            return chances
        assert spending.scale is not None
        return noisy_max_probabilities(scores, scale=spending.scale, noise=spending.noise)

    def _models(self, runs: Sequence[int], spending: Spending, draw: int = 0) -> list[Array]:
        """Coefficients of every run; run j of a candidate has the same unit noise in every method
        and at every epsilon.
        """
        at = to_float_down(spending.train)
        found: list[Array | None] = [None] * len(runs)
        for i in dict.fromkeys(runs):
            places = [j for j, run in enumerate(runs) if run == i]
            learner, n = self.candidates[i].learner, spending.n_train
            noise = learner_noise(learner, epsilon=at, n_records=n)
            start = i * n if spending.method == "data_split" else 0
            table = self._table(i, learner, noise.regularization, start, n)
            p = len(table.theta_hat)
            assert noise.rate is not None
            drawn = (
                np.array([self._unit(p, i, 100_000 * draw + d) for d in range(len(places))])
                / noise.rate
            )
            if noise.perturbs_objective:
                theta = _perturbed(table, drawn)
            else:
                theta = table.theta_hat + drawn
            for place, model in zip(places, theta, strict=True):
                found[place] = model
        return [model for model in found if model is not None]

    def _unit(self, dim: int, candidate: int, draw: int) -> Array:
        stream = np.random.SeedSequence(self.seed, spawn_key=(candidate, draw))
        return sample_spherical_laplace(dim, rate=1.0, rng=np.random.default_rng(stream))

    def _table(self, i: int, learner: Learner, c: float, start: int, n: int) -> Table:
        candidate = self.candidates[i]
        key = (candidate.features, learner.loss, c, start, n)
        if key not in self._tables:
            X, y = (part[start : start + n] for part in self.train)
            A = y[:, None] * candidate.map(X)
            self._tables[key] = Table.of(A, loss=learner.loss, regularization=c)
        return self._tables[key]

    def _tested(self, runs: Sequence[int], models: Sequence[Array]) -> tuple[Array, Array]:
        X, y = self.test
        mapped = {i: self.candidates[i].map(X) for i in dict.fromkeys(runs)}
        found = [_measured(mapped[i] @ model, y) for i, model in zip(runs, models, strict=True)]
        return np.array([e for e, _ in found]), np.array([a for _, a in found])

    def _default(self, epsilon: Decimal) -> _Outcome:
        """The penalty of public numbers, on T and V; WKL's constant, no kernel."""
        X, y = (np.concatenate(pair) for pair in zip(self.train, self.validation, strict=True))
        loss = self.candidates[0].learner.loss
        design = Design(
            loss=loss,
            mechanism="objective",
            budget=for_coefficients_alone(PureDP, epsilon),
            regularization=1.0,
        )
        c = default_regularization(design, n_records=len(y), n_coefficients=X.shape[1])
        learner = Learner(loss=loss, method="objective_tight", regularization=c)
        noise = learner_noise(learner, epsilon=to_float_down(epsilon), n_records=len(y))
        assert noise.rate is not None
        theta = minimise(
            PenalisedRisk(
                as_table(y[:, None] * X),
                loss=loss,
                regularization=noise.regularization,
                noise_vector=self._unit(X.shape[1], len(self.candidates), 0) / noise.rate,
            ),
            Quick(_TOLERANCE),
        ).theta
        error, auc = _measured(self.test[0] @ theta, self.test[1])
        return _Outcome(error, auc, np.empty(0), f"{epsilon:.6g}")


def _perturbed(table: Table, noise_vector: Array) -> Array:
    n = table.columns.shape[1]
    counts = np.ones((len(noise_vector), n), dtype=np.float32)
    fits = fit_replicates(
        table, counts, n_records=n, noise_vector=noise_vector, tolerance=_TOLERANCE
    )
    return np.where(fits.converged[:, None], fits.theta, np.nan)


def _measured(margins: Array, y: Array) -> tuple[float, float]:
    """Share of mistakes, and the area under the ROC curve; a model that is no number is all
    wrong.
    """
    if np.isnan(margins).any():
        return 1.0, 0.5
    error = float(np.mean((margins > 0.0) != (y > 0.0)))
    n_pos = int((y > 0).sum())
    n_neg = len(y) - n_pos
    if not n_pos or not n_neg:
        return error, 0.5
    above = float(rankdata(margins)[y > 0].sum()) - n_pos * (n_pos + 1) / 2.0
    return error, above / (n_pos * n_neg)


def _averaged(
    method: CurveMethod,
    amount: Decimal,
    outcomes: Sequence[_Outcome],
    control: Sequence[_Outcome] | None,
    constant_error: float,
) -> SelectionPoint:
    root = np.sqrt(len(outcomes))
    error = np.array([one.error for one in outcomes])
    auc = np.array([one.auc for one in outcomes])
    gaps = None if control is None else error - np.array([one.error for one in control])
    chosen = np.mean([one.chosen for one in outcomes], axis=0)
    return SelectionPoint(
        method=method,
        epsilon=f"{amount:f}",
        error=float(error.mean()),
        error_se=float(error.std(ddof=1) / root),
        auc=float(auc.mean()),
        auc_se=float(auc.std(ddof=1) / root),
        gap=None if gaps is None else float(gaps.mean()),
        gap_se=None if gaps is None else float(gaps.std(ddof=1) / root),
        chosen=tuple(float(share) for share in chosen),
        train=outcomes[0].train,
        constant_error=constant_error,
    )
