"""Error of a private histogram against epsilon, for every way to choose its bins, on draws from a
density that is known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from scipy.stats import beta

from dpci_core.base.array import Array, Integers
from dpci_core.base.errors import check_choice, check_count, check_generator
from dpci_core.privacy.budget import Amount, to_decimal
from dpci_core.privacy.choice import noisy_max_probabilities
from dpci_core.studies.accuracy.selection_curve import CURVE_METHODS, CurveMethod, SelectionPoint
from dpci_core.tuning.histograms import (
    bin_numbers,
    checked_bins,
    histogram_score,
    noisy_counts,
    spend_histogram,
)
from dpci_core.tuning.selection import SelectionMethod, Spending

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
    should_stop: Callable[[], bool] | None = None,
) -> list[SelectionPoint]:
    """Return the integrated squared error (as `error`) of every method at every epsilon; none if
    stopped.

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
        if should_stop is not None and should_stop():
            return []
        x = mixture.draw(n_records, rng)
        for outcomes, (method, _), spending in zip(found, asked, spendings, strict=True):
            outcomes.append(_one(x, bins, method, spending, truth, rng))
        if progress is not None:
            progress(done + 1, n_draws)
    by_place = dict(zip(asked, found, strict=True))
    return [
        _averaged(method, amount, spending, outcomes, by_place.get(("control", amount)))
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


def _averaged(
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
