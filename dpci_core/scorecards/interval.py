"""An interval for the error of a rule from a noisy count of its mistakes on other records."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from dpci_core.base.errors import check_count, check_probability
from dpci_core.base.roots import find_root
from dpci_core.privacy.budget import Amount
from dpci_core.scorecards.spending import CardSpending

_TAIL = 1e-13
"""Mass of the binomial law that is left out, far below any level."""


def error_interval(
    noisy_mistakes: int,
    *,
    n_holdout: int,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    confidence_level: float = 0.95,
) -> tuple[float, float]:
    """Return (low, high) for the error of a rule in the population the records are drawn from.

    Args:
        noisy_mistakes: of the rule on records that did not choose it, plus the noise of
            `CardSpending.add_to_count`; may lie below 0 or above n_holdout.
        n_holdout: how many records these are, public.
        epsilon, rho: of the count, one of them.
        confidence_level: like 0.95.

    Privacy: post-processing of a released number.
    Source:  own; docs/proofs/selection.md#cards. The count is binomial and the law of its noise
             known, so both tails are inverted exactly; coverage is at least the level.

    >>> low, high = error_interval(60, n_holdout=300, epsilon=1)
    >>> round(low, 3), round(high, 3)
    (0.155, 0.251)
    """
    spending = CardSpending.of(epsilon=epsilon, rho=rho)
    return interval_of(noisy_mistakes, n_holdout, spending, confidence_level)


def interval_of(
    noisy_mistakes: int, n_holdout: int, spending: CardSpending, confidence_level: float
) -> tuple[float, float]:
    """`error_interval` for a spending."""
    check_count(n_holdout=n_holdout)
    check_probability(confidence_level=confidence_level)
    seen = min(max(int(noisy_mistakes), 0), n_holdout)
    alpha = (1.0 - confidence_level) / 2.0

    def at_least(error: float) -> float:  # P(noisy count, brought within 0 and n, >= seen)
        return _tail(error, seen, n_holdout, spending)

    def at_most(error: float) -> float:
        return 1.0 - _tail(error, seen + 1, n_holdout, spending)

    low = 0.0
    if seen > 0 and at_least(0.0) < alpha:
        low = find_root(lambda e: at_least(e) - alpha, 0.0, 1.0, xtol=1e-12)
    high = 1.0
    if seen < n_holdout and at_most(1.0) < alpha:
        high = find_root(lambda e: at_most(e) - alpha, 0.0, 1.0, xtol=1e-12)
    return low, high


def _tail(error: float, least: int, n: int, spending: CardSpending) -> float:
    """P(Binomial(n, error) + noise >= least)."""
    first, last = binom.ppf([_TAIL, 1.0 - _TAIL], n, error)
    count = np.arange(max(0.0, first - 1.0), min(float(n), last + 1.0) + 0.5)
    chance = binom.pmf(count, n, error)
    return float(chance @ spending.noise_at_least(least - count) / chance.sum())
