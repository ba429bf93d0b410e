"""`DPHistogram`: a private histogram of one column as a scikit-learn density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count
from dpci_core.estimators.account import (
    LedgerAccount,
    Payable,
    drawn_by,
    payer,
)
from dpci_core.estimators.input import check_features
from dpci_core.estimators.settings import settings_of, table_of
from dpci_core.estimators.statement import ChoiceStatement, noise_source
from dpci_core.estimators.unpaid import warn_if_unpaid
from dpci_core.ledger import Cost
from dpci_core.privacy.budget import Amount, to_decimal
from dpci_core.privacy.randomness import SystemSource
from dpci_core.tuning.histograms import (
    bin_numbers,
    checked_bins,
    checked_bounds,
    select_histogram,
    spend_histogram,
)


class DPHistogram(Payable, DensityMixin, BaseEstimator):
    """The density of one column on declared bounds, the number of bins given or chosen privately.

    Args:
        bounds: (low, high), declared beforehand; values outside count as the nearer one. `fit`
            refuses without.
        epsilon: of counts and choice together; `fit` refuses without.
        bins: how many, if `candidates` is None.
        candidates: numbers of bins to choose from, or None.
        validation_share: of the rows, that score the candidates.
        column: of X, that is counted; the others are not looked at.
        random_state: None draws from the operating system's entropy. A seed or a generator makes
            the fit a SIMULATION.
        ledger: as for `DPLogisticRegression`.

    Shapes:  `density_` (bins,), per unit of the column; `edges_` (bins + 1,); `n_bins_`;
             `privacy_`.
    Privacy: epsilon-DP, replace-one neighbours, n public, no delta
    (docs/proofs/selection.md#histograms).
    Raises:  ValueError from `fit`; no message holds a value.

    >>> rng = np.random.default_rng(0)
    >>> age = rng.gamma(9.0, 5.0, (20_000, 1))
    >>> model = DPHistogram(bounds=(0, 128), epsilon=1, candidates=(4, 8, 16, 32, 64),
    ...                     random_state=1).fit(age)
    >>> model.n_bins_, round(float(model.density_.sum() * 128 / model.n_bins_), 9)
    (16, 1.0)
    """

    def __init__(
        self,
        *,
        bounds: Any = None,
        epsilon: Amount | None = None,
        bins: int = 32,
        candidates: Sequence[int] | None = None,
        validation_share: Amount = "0.1",
        column: int = 0,
        random_state: Any = None,
        ledger: LedgerAccount | None = None,
    ) -> None:
        self.bounds = bounds
        self.epsilon = epsilon
        self.bins = bins
        self.candidates = candidates
        self.validation_share = validation_share
        self.column = column
        self.random_state = random_state
        self.ledger = ledger

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count, choose and keep released numbers only.

        Args:
            X: (n, d), or (n,) for a single column; finite numbers.
            y: not used.

        Privacy: `privacy_`.
        """
        if self.bounds is None:
            raise ValueError(
                "Expected bounds=(low, high), declared from what is known beforehand. Bounds read "
                "from the data would reveal its extremes."
            )
        if self.epsilon is None:
            raise ValueError("Expected epsilon. There is no default for how private to be.")
        check_count(bins=self.bins)
        candidates = checked_bins((self.bins,) if self.candidates is None else self.candidates)
        x = self._column(X, reset=True)
        if len(x) == 1 and len(candidates) > 1:
            raise ValueError("Expected more than one sample: one cannot be counted and score too.")
        source = noise_source(self.random_state)
        account = payer(self.ledger, source)
        total = to_decimal(self.epsilon, name="epsilon")
        asked: dict[str, Any] = {
            "candidates": candidates,
            "epsilon": total,
            "validation_share": self.validation_share,
        }
        checked_bounds(self.bounds)
        spend_histogram("stability", n_records=len(x), **asked)  # refuses before it is booked
        warn_if_unpaid(account, source)
        found, charge = drawn_by(
            account,
            lambda: select_histogram(x, bounds=self.bounds, source=source, **asked),
            cost=lambda: Cost(definition="pure", amount=total, lines=[("histogram", total)]),
            name="DPHistogram.fit",
            settings=table_of(X, None, (len(x), self.n_features_in_)) | settings_of(self),
            released=lambda made: (made.counts,),
        )
        self.density_, self.edges_, self.n_bins_ = found.density, found.edges, found.n_bins
        self.privacy_ = ChoiceStatement(
            amount=found.epsilon,
            noise="system" if isinstance(source, SystemSource) else "seeded",
            charge=charge,
        )
        return self

    def _column(self, X: Any, *, reset: bool) -> Array:
        given = X
        if not hasattr(X, "iloc") and np.ndim(X) == 1 and np.asarray(X).dtype.kind in "biuf":
            given = np.asarray(X)[:, None]
        features = check_features(self, given, reset=reset)
        place: object = self.column
        if isinstance(place, bool) or not isinstance(place, int | np.integer):
            raise ValueError(f"Expected column={place!r} to be a whole number.")
        if not 0 <= place < features.shape[1]:
            raise ValueError(f"Expected 0 <= column={place} < {features.shape[1]}.")
        return features[:, int(place)]

    def score_samples(self, X: Any) -> Array:
        """Return the logarithm of the density at each value (n,); minus infinity where it is 0 and
        outside the bounds.
        """
        check_is_fitted(self)
        x = self._column(X, reset=False)
        low, high = float(self.edges_[0]), float(self.edges_[-1])
        density = self.density_[bin_numbers(x, low=low, high=high, bins=self.n_bins_)]
        with np.errstate(divide="ignore"):
            return np.where((x >= low) & (x <= high), np.log(density), -np.inf)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`; of public values, as it is not private."""
        return float(self.score_samples(X).mean())
