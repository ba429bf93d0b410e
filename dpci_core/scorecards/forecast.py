"""How good the card will be that is drawn: exactly, from the mistakes of all, and without data."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpci_core.base.errors import check_count, check_positive, check_probability
from dpci_core.privacy.budget import Amount
from dpci_core.privacy.choice import noisy_max_probabilities
from dpci_core.scorecards.spending import CardSpending
from dpci_core.tuning.choose import utility_bound


@dataclass(frozen=True, kw_only=True, slots=True)
class ChoiceForecast:
    """The law of the drawn card's error on the rows that choose; exact, nothing is simulated.

    expected_error: share of mistakes, or of cost, on average over draws.
    best_error: of the best card.
    within_one_point: chance that the drawn card errs for at most one of a hundred records more.
    excess_95: share above the best that is not exceeded in 95 of 100 draws.
    n_rules: how many cards are drawn from.
    """

    expected_error: float
    best_error: float
    within_one_point: float
    excess_95: float
    n_rules: int


def scorecard_forecast(
    mistakes: npt.ArrayLike,
    *,
    n_records: int,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    as_if: int | None = None,
    largest_cost: int = 1,
) -> ChoiceForecast:
    """Return the exact law of the error of the card that permute-and-flip (for epsilon) or the
    exponential mechanism (for rho) chooses.

    Args:
        mistakes: (n_rules,) of all cards, from `mistakes_of_all`.
        n_records: behind them.
        epsilon, rho: of the choice, one of them.
        as_if: a number of records in the same proportions, instead of n_records.
        largest_cost: max(cost) where mistakes have costs; shares are then of it.

    Privacy: none; it reads the mistakes, so for public and simulated tables only.

    >>> scorecard_forecast([10, 20, 20], n_records=100, epsilon="0.5").expected_error.__round__(6)
    0.107984
    """
    check_count(n_records=n_records, largest_cost=largest_cost)
    distinct, counts = np.unique(np.asarray(mistakes), return_counts=True)
    n = n_records if as_if is None else as_if
    check_count(as_if=n)
    spending = CardSpending.of(epsilon=epsilon, rho=rho)
    shares = distinct / (n_records * largest_cost)
    law = noisy_max_probabilities(
        -shares, scale=spending.choice_scale() / n, noise=spending.noise, counts=counts
    )
    excess = shares - shares[0]
    upto = np.cumsum(law)
    return ChoiceForecast(
        expected_error=float(law @ shares),
        best_error=float(shares[0]),
        within_one_point=min(1.0, float(law[excess <= 0.01 * (1.0 + 1e-12)].sum())),
        excess_95=float(excess[min(int(np.searchsorted(upto, 0.95)), len(excess) - 1)]),
        n_rules=int(counts.sum()),
    )


def excess_bound(
    *,
    n_rules: int,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    probability: float = 0.95,
) -> float:
    """Return how many mistakes above the best card's the drawn one makes at most, with this
    probability and whatever the data are.

    Args:
        n_rules: how many cards are drawn from; public.
        epsilon, rho: of the choice, one of them.
        probability: in (0, 1).

    Source:  `tuning.utility_bound`; for rho at the epsilon = sqrt(8 rho) of the same choice.

    >>> round(excess_bound(n_rules=61_088, epsilon=1), 2)
    28.03
    """
    check_count(n_rules=n_rules)
    check_probability(probability=probability)
    pure = CardSpending.of(epsilon=epsilon, rho=rho).pure_epsilon
    return utility_bound(n_candidates=n_rules, epsilon=pure, delta=1.0 - probability)


def records_for(
    excess_share: float,
    *,
    n_rules: int,
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    probability: float = 0.95,
) -> int:
    """Return how many records must choose so that the drawn card's share of mistakes is at most so
    much above the best card's, with this probability and whatever the data are.

    Args:
        excess_share: in (0, 1), 0.01 for one point.
        n_rules, epsilon, rho, probability: as for `excess_bound`.

    >>> records_for(0.01, n_rules=61_088, epsilon=1)
    2804
    """
    check_positive(excess_share=excess_share)
    bound = excess_bound(n_rules=n_rules, epsilon=epsilon, rho=rho, probability=probability)
    return math.ceil(bound / excess_share)
