"""What a card costs: its choice on one part of the rows and the count of its mistakes on the other,
which are two sides of a maximum.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

import numpy as np
from scipy.special import ndtr

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count, expect
from dpci_core.base.limits import BUDGET_PART
from dpci_core.privacy.budget import (
    Amount,
    check_amount,
    to_decimal,
    to_float_down,
    zcdp_to_pure_epsilon,
)
from dpci_core.privacy.choice import ChoiceNoise
from dpci_core.privacy.randomness import NoiseSource, SystemSource

Definition = Literal["pure", "zcdp"]
_UP = 1.0 + 2.0**-50
"""Noise is rounded up by it."""


@dataclass(frozen=True)
class CardSpending(ABC):
    """A budget as the noise of both parts; each part costs all of it.

    amount: epsilon or rho, exact.
    """

    amount: Decimal
    definition: ClassVar[Definition]
    noise: ClassVar[ChoiceNoise]
    """Of the choice: exponential noise has no price of its own in zCDP, Gumbel noise has."""

    @staticmethod
    def of(*, epsilon: Amount | None = None, rho: Amount | None = None) -> CardSpending:
        """Return the spending of exactly one amount.

        Raises:  ValueError for both or neither, or for what is no number within BUDGET_PART.
        """
        expect(
            (epsilon is None) != (rho is None),
            "Expected epsilon or rho, one of them. There is no default for how private to be.",
        )
        if epsilon is not None:
            amount = to_decimal(epsilon, name="epsilon")
            check_amount(BUDGET_PART, epsilon=amount)
            return PureSpending(amount)
        assert rho is not None
        amount = to_decimal(rho, name="rho")
        check_amount(BUDGET_PART, rho=amount)
        return ConcentratedSpending(amount)

    @property
    @abstractmethod
    def pure_epsilon(self) -> float:
        """The epsilon of the choice in pure privacy, rounded down."""

    def choice_scale(self, moves: float = 1.0) -> float:
        """Return the scale of the noise on scores that one record moves by at most `moves`."""
        return 2.0 * moves / self.pure_epsilon * _UP

    @property
    @abstractmethod
    def count_scale(self) -> float:
        """Scale of the discrete Laplace noise, or standard deviation of the Gaussian noise, on a
        count.
        """

    @abstractmethod
    def add_to_count(self, count: int, source: NoiseSource) -> int:
        """Return a count with noise, a whole number."""

    @abstractmethod
    def noise_at_least(self, k: Array) -> Array:
        """Return P(noise >= k) of the noise on a count, for whole numbers k."""


@dataclass(frozen=True)
class PureSpending(CardSpending):
    """Permute-and-flip and discrete Laplace noise."""

    definition: ClassVar[Definition] = "pure"
    noise: ClassVar[ChoiceNoise] = "exponential"

    @property
    def pure_epsilon(self) -> float:
        return to_float_down(self.amount)

    @property
    def count_scale(self) -> float:
        return 1.0 / to_float_down(self.amount) * _UP

    def add_to_count(self, count: int, source: NoiseSource) -> int:
        if isinstance(source, SystemSource):
            given = np.array([count], dtype=np.int64)
            (noisy,) = source.add_discrete_laplace(
                given, scale=self.count_scale, sensitivity=1, epsilon=self.amount
            )
            return int(noisy)
        up, down = source.geometric(-math.expm1(-1.0 / self.count_scale), 2)
        return count + int(up) - int(down)

    def noise_at_least(self, k: Array) -> Array:
        q = math.exp(-1.0 / self.count_scale)
        tail = np.exp(-np.maximum(np.where(k >= 1, k, 1.0 - k), 1.0) / self.count_scale) / (1.0 + q)
        return np.where(k >= 1, tail, 1.0 - tail)


@dataclass(frozen=True)
class ConcentratedSpending(CardSpending):
    """The exponential mechanism and Gaussian noise, rounded to whole numbers."""

    definition: ClassVar[Definition] = "zcdp"
    noise: ClassVar[ChoiceNoise] = "gumbel"

    @property
    def pure_epsilon(self) -> float:
        return 2.0 * zcdp_to_pure_epsilon(self.amount)

    @property
    def count_scale(self) -> float:
        return 1.0 / zcdp_to_pure_epsilon(self.amount) * _UP

    def add_to_count(self, count: int, source: NoiseSource) -> int:
        if isinstance(source, SystemSource):
            given, rho = np.array([float(count)]), to_float_down(self.amount)
            (noisy,) = source.add_gaussian(
                given, sd=self.count_scale, sensitivity=1.0, rho=rho, exponent=0
            )
            return int(noisy)
        return count + round(float(source.normal(0.0, self.count_scale)))

    def noise_at_least(self, k: Array) -> Array:
        return np.asarray(ndtr(-(k - 0.5) / self.count_scale))


def parts_of(n_records: int, holdout: Amount) -> tuple[int, int]:
    """Return how many rows choose and how many are held out.

    Args:
        n_records: n, public.
        holdout: share held out, in (0, 1).

    Raises:  ValueError if a part would be empty.
    """
    check_count(n_records=n_records)
    share = to_decimal(holdout, name="holdout")
    n_holdout = int(share * n_records)
    expect(
        share < 1 and 1 <= n_holdout < n_records,
        f"Expected holdout={holdout} in (0, 1) to leave records on both sides of n_records="
        f"{n_records}.",
    )
    return n_records - n_holdout, n_holdout
