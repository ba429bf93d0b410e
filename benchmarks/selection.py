"""Error against epsilon for every way to choose privately: `python -m benchmarks.selection adult`.

Prints a table for each run, with its seconds; `--out data/selection_run.csv` keeps it, as the file
in the repository was made. `--seed 20261122` and the usual numbers of divisions are the defaults.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.stats import beta, rankdata

from benchmarks import study
from benchmarks.files import append_rows
from dpci_core import Logistic, datasets
from dpci_core.base.array import Array, Integers
from dpci_core.base.batches import as_table
from dpci_core.base.errors import (
    check_choice,
    check_count,
    check_generator,
    check_range,
)
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
from dpci_core.tuning.histograms import (
    bin_numbers,
    checked_bins,
    histogram_score,
    noisy_counts,
    spend_histogram,
)
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

RUNS = ("adult", "adult_scaled", "adult_small", "census", "histogram")
"""Adult in the encoding "paper"; its columns scaled by their standard deviations to rows of norm 1,
no constant; "paper" with smaller penalties; the simulated census; a histogram of draws from a
known density.
"""
PUBLISHED_PENALTIES = tuple(0.001 if i == 0 else round(0.001 + i * 0.111, 3) for i in range(10))
"""Lambda of the ten candidates, from memory of [CV13]'s text: 0.001 to 1 in equal steps."""


@dataclass(frozen=True, slots=True)
class SelectionRate:
    """One point of a run, and how it was made.

    error, error_se: prediction error, or integrated squared error, with its Monte Carlo error.
    auc, auc_se: area under the ROC curve; 0 for a histogram.
    gap, gap_se: in error to Control on the same rows.
    candidates, chosen: penalties Lambda or numbers of bins, and the chance of each; with blanks
        between.
    train: epsilon of one training.
    """

    run: str
    method: str
    epsilon: str
    error: float
    error_se: float
    auc: float
    auc_se: float
    gap: float
    gap_se: float
    constant_error: float
    candidates: str
    chosen: str
    train: str
    n_train: int
    n_validation: int
    divisions: int
    seed: int
    date: str
    versions: str


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
) -> list[SelectionPoint]:
    """Return a point for every method and epsilon.

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
        b = self._unit(X.shape[1], len(self.candidates), 0) / noise.rate
        risk = PenalisedRisk(as_table(y[:, None] * X), loss, noise.regularization, b)
        theta = minimise(risk, Quick(_TOLERANCE)).theta
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


HISTOGRAM_METHODS: tuple[CurveMethod, ...] = CURVE_METHODS[:-1]
"""There is no default number of bins."""
BINS = (2, 4, 8, 16, 32, 64, 128, 256)
"""Candidates of the runs on file."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """A density on [0, 1]: Beta densities (weight, a, b) whose weights add up to 1.

    >>> round(float(Mixture().squared), 3)
    1.579
    """

    parts: tuple[tuple[float, float, float], ...] = ((0.6, 2.0, 8.0), (0.4, 30.0, 12.0))

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Return n values."""
        weights = [weight for weight, _, _ in self.parts]
        which = rng.choice(len(self.parts), size=n, p=weights)
        a, b = (np.array([part[j] for part in self.parts])[which] for j in (1, 2))
        return np.asarray(rng.beta(a, b))

    def density(self, x: Array) -> Array:
        """Return the density at x."""
        return np.asarray(sum(w * beta(a, b).pdf(x) for w, a, b in self.parts))

    def shares(self, bins: int) -> Array:
        """Return what each of equal bins holds, (bins,)."""
        edges = np.linspace(0.0, 1.0, bins + 1)
        return np.diff(sum(w * beta(a, b).cdf(edges) for w, a, b in self.parts))

    @property
    def squared(self) -> float:
        """The integral of the squared density."""
        middle = (np.arange(200_000) + 0.5) / 200_000
        return float((self.density(middle) ** 2).mean())


def histogram_curve(
    *,
    mixture: Mixture,
    n_records: int,
    validation_share: Amount = "0.2",
    methods: Sequence[CurveMethod] = HISTOGRAM_METHODS,
    candidates: Sequence[int] = BINS,
    epsilons: Sequence[Amount],
    n_draws: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> list[SelectionPoint]:
    """Return the integrated squared error (as `error`) of every method at every epsilon.

    Args:
        mixture: what is drawn from.
        n_records: of both parts together.
        n_draws: of the table and of all noise, at least 2.
        others: as for `tuning.histograms.spend_histogram`.

    Raises:  ValueError naming the argument.
    """
    check_generator(rng)
    check_count(n_draws=n_draws)
    if n_draws < 2:
        raise ValueError(f"Expected n_draws={n_draws} >= 2.")
    for method in methods:
        check_choice(method, HISTOGRAM_METHODS, name="method")
    bins, truth = checked_bins(candidates), _Truth.of(mixture, checked_bins(candidates))
    amounts = [to_decimal(epsilon, name="epsilon") for epsilon in epsilons]
    asked = [(method, amount) for method in methods for amount in amounts]
    spendings = [
        spend_histogram(
            _named(method),
            epsilon=amount,
            candidates=bins,
            n_records=n_records,
            validation_share=validation_share,
        )
        for method, amount in asked
    ]
    found: list[list[tuple[float, Array]]] = [[] for _ in asked]
    for done in range(n_draws):
        x = mixture.draw(n_records, rng)
        for outcomes, (method, _), spending in zip(found, asked, spendings, strict=True):
            outcomes.append(_one(x, bins, method, spending, truth, rng))
        if progress is not None:
            progress(done + 1, n_draws)
    by_place = dict(zip(asked, found, strict=True))
    return [
        _averaged_histogram(method, amount, spending, outcomes, by_place.get(("control", amount)))
        for (method, amount), spending, outcomes in zip(asked, spendings, found, strict=True)
    ]


def _named(method: CurveMethod) -> SelectionMethod:
    """The method whose trainings are those of a curve's."""
    return "random" if method == "control" or method == "default" else method


@dataclass(frozen=True, slots=True)
class _Truth:
    """Shares of the bins of every candidate, and the integral of the squared density."""

    shares: dict[int, Array]
    squared: float

    @classmethod
    def of(cls, mixture: Mixture, bins: Sequence[int]) -> _Truth:
        return cls({one: mixture.shares(one) for one in bins}, mixture.squared)

    def error(self, counts: Integers) -> float:
        """The integrated squared error of released counts."""
        k, total = len(counts), counts.sum()
        shares = counts / total if total else np.full(k, 1.0 / k)
        return float(k * (shares @ shares - 2.0 * shares @ self.shares[k]) + self.squared)


def _one(
    x: Array,
    bins: Sequence[int],
    method: CurveMethod,
    spending: Spending,
    truth: _Truth,
    rng: np.random.Generator,
) -> tuple[float, Array]:
    """Error and chances of one method on one table, its choice summed out."""
    n_pool = spending.n_train * (len(bins) if method == "data_split" else 1)
    T, V = x[:n_pool], x[n_pool:]
    k, size = len(bins), spending.n_train

    def counts_of(values: Array, i: int) -> Integers:
        place = bin_numbers(values, low=0.0, high=1.0, bins=bins[i])
        return np.bincount(place, minlength=bins[i]).astype(np.int64)

    def noisy(i: int) -> Integers:
        rows = T[i * size : (i + 1) * size] if method == "data_split" else T
        return noisy_counts(counts_of(rows, i), epsilon=spending.train, source=rng)

    runs = list(range(k))
    if method == "random_stopping":
        runs = [int(i) for i in rng.integers(k, size=int(rng.geometric(1.0 / spending.runs)))]
    models = [noisy(i) for i in runs]
    held = [counts_of(V, i) for i in range(k)] if k > 1 else []
    scores = [
        histogram_score(model, held[i], n_train=size)
        for i, model in zip(runs if k > 1 else [], models, strict=False)
    ]
    if method == "random" or k == 1:
        chances = np.full(k, 1.0 / k)
    elif method == "control":
        chances = np.eye(k)[int(np.argmax(scores))]
    else:
        assert spending.scale is not None
        chances = noisy_max_probabilities(scores, scale=spending.scale, noise=spending.noise)
    if spending.plan is not None and spending.plan.releases == "retrained":
        models = [noisy(i) for i in runs]
    errors = np.array([truth.error(model) for model in models])
    chosen = np.zeros(k)
    np.add.at(chosen, runs, chances)
    return float(chances @ errors), chosen


def _averaged_histogram(
    method: CurveMethod,
    amount: Decimal,
    spending: Spending,
    outcomes: Sequence[tuple[float, Array]],
    control: Sequence[tuple[float, Array]] | None,
) -> SelectionPoint:
    errors = np.array([error for error, _ in outcomes])
    root = np.sqrt(len(errors))
    gaps = None if control is None else errors - np.array([error for error, _ in control])
    return SelectionPoint(
        method=method,
        epsilon=f"{amount:f}",
        error=float(errors.mean()),
        error_se=float(errors.std(ddof=1) / root),
        auc=None,
        auc_se=None,
        gap=None if gaps is None else float(gaps.mean()),
        gap_se=None if gaps is None else float(gaps.std(ddof=1) / root),
        chosen=tuple(float(share) for share in np.mean([c for _, c in outcomes], axis=0)),
        train=f"{spending.train:.6g}",
        constant_error=None,
    )


EPSILONS = ("0.03", "0.1", "0.3", "1", "3", "10", "30")
CENSUS_ROWS = 400_000
HISTOGRAM_ROWS = 20_000
DIVISIONS = {"adult": 20, "adult_scaled": 20, "adult_small": 20, "census": 3, "histogram": 200}


def table_of(run: str) -> tuple[Array, Array]:
    """The records of a run."""
    if run == "census":
        found = datasets.load("census", features=11, n_rows=CENSUS_ROWS)
        return found.unweighted, found.y
    found = datasets.load("adult", encoding="paper")
    if run != "adult_scaled":
        return found.unweighted, found.y
    # Standard deviations are read from the table: it is a public one.
    X = found.unweighted
    X = X[:, X.std(axis=0) > 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X / np.linalg.norm(X, axis=1)[:, None], found.y


def penalties_of(run: str) -> list[float]:
    """Lambda of the candidates."""
    if run == "adult_small":
        return [float(f"{x:.3g}") for x in np.logspace(-4, -1, 10)]
    if run == "census":
        return [float(f"{x:.3g}") for x in np.logspace(-2.5, -0.5, 10)]
    return list(PUBLISHED_PENALTIES)


def measured(
    run: str, divisions: int, seed: int
) -> tuple[list[SelectionPoint], list[float], int, int]:
    """Points of a run, its candidates, and the rows that train and score."""
    rng = np.random.default_rng(seed)
    if run == "histogram":
        points = histogram_curve(
            mixture=Mixture(), n_records=HISTOGRAM_ROWS, epsilons=EPSILONS, n_draws=divisions,
            rng=rng, progress=said,
        )  # fmt: skip
        return points, [float(b) for b in BINS], HISTOGRAM_ROWS * 4 // 5, HISTOGRAM_ROWS // 5
    X, y = table_of(run)
    penalties = penalties_of(run)
    candidates = [
        Candidate(
            learner=Learner(loss=Logistic(), method="objective_tight", regularization=Lambda / 2)
        )
        for Lambda in penalties
    ]
    protocol = SelectionProtocol(n_divisions=divisions)
    points = selection_curve(
        X, y, candidates=candidates, epsilons=EPSILONS, protocol=protocol, rng=rng, progress=said
    )
    rest = len(y) - round(protocol.test_share * len(y))
    n_validation = int(float(protocol.validation_share) * rest)
    return points, penalties, rest - n_validation, n_validation


def said(done: int, total: int) -> None:
    """Progress on the error output."""
    print(f"\r{done} of {total}", end="", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.selection", description=__doc__)
    parser.add_argument("runs", nargs="*", choices=(*RUNS, []), default=[], help="default: all")
    parser.add_argument("--divisions", type=int, help="of the table (or draws of a histogram)")
    parser.add_argument("--seed", type=int, default=20_261_122)
    parser.add_argument("--out", type=Path, help="CSV file that the results are added to")
    options = parser.parse_args()
    _compile()
    for run in options.runs or RUNS:
        started, cpu = time.perf_counter(), time.process_time()
        divisions = options.divisions or DIVISIONS[run]
        points, candidates, n_train, n_validation = measured(run, divisions, options.seed)
        seconds, used = time.perf_counter() - started, time.process_time() - cpu
        print(f"\n{run}: {divisions} divisions, {seconds:.0f} s ({used:.0f} s of one core)")
        show(points, run)
        rows = [
            rate(point, run, candidates, n_train, n_validation, divisions, options.seed)
            for point in points
        ]
        if options.out is not None:
            append_rows(rows, options.out, SelectionRate)


def _compile() -> None:
    """So that the seconds are those of the measurement."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 3))
    learners = [
        Learner(loss=Logistic(), method="objective_tight", regularization=c) for c in (0.1, 1.0)
    ]
    selection_curve(
        X,
        np.sign(X[:, 0]),
        candidates=[Candidate(learner=learner) for learner in learners],
        epsilons=["1"],
        protocol=SelectionProtocol(n_divisions=2),
        rng=np.random.default_rng(0),
    )


def show(points: list[SelectionPoint], run: str) -> None:
    """A table, methods down and epsilon across."""
    epsilons = list(dict.fromkeys(point.epsilon for point in points))
    print("| method | " + " | ".join(f"ε={e}" for e in epsilons) + " |")
    print("|---" * (len(epsilons) + 1) + "|")
    for method in dict.fromkeys(point.method for point in points):
        cells = [
            f"{point.error:.3f}±{point.error_se:.3f}"
            + ("" if point.auc is None else f" ({point.auc:.3f})")
            for point in points
            if point.method == method
        ]
        print(f"| {method} | " + " | ".join(cells) + " |")


def rate(
    point: SelectionPoint,
    run: str,
    candidates: list[float],
    n_train: int,
    n_validation: int,
    divisions: int,
    seed: int,
) -> SelectionRate:
    """A row of the file."""
    return SelectionRate(
        run=run,
        method=point.method,
        epsilon=point.epsilon,
        error=round(point.error, 6),
        error_se=round(point.error_se, 6),
        auc=round(point.auc or 0.0, 6),
        auc_se=round(point.auc_se or 0.0, 6),
        gap=round(point.gap or 0.0, 6),
        gap_se=round(point.gap_se or 0.0, 6),
        constant_error=round(point.constant_error or 0.0, 6),
        candidates=" ".join(f"{x:g}" for x in candidates),
        chosen=" ".join(f"{share:.4f}" for share in point.chosen),
        train=point.train,
        n_train=n_train,
        n_validation=n_validation,
        divisions=divisions,
        **study.how_made(seed),
    )


if __name__ == "__main__":
    main()
