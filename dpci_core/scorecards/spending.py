"""What a card costs: its choice on one part of the rows and the count of its mistakes on the other,
which are two sides of a maximum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import numpy as np
from scipy.special import ndtr

from dpci_core.base.array import Array
from dpci_core.base.errors import check_count
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down, zcdp_to_pure_run
from dpci_core.privacy.choice import ChoiceNoise
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.tuning.choose import choice_scale

Definition = Literal["pure", "zcdp"]
_UP = 1.0 + 2.0**-50
"""Noise is rounded up by it."""


@dataclass(frozen=True, slots=True)
class CardSpending:
    """A budget as the noise of both parts; each part costs all of it.

    definition: "pure" or "zcdp".
    amount: epsilon or rho, exact.
    """

    definition: Definition
    amount: Decimal

    @classmethod
    def of(cls, *, epsilon: Amount | None = None, rho: Amount | None = None) -> CardSpending:
        """Return the spending of exactly one amount.

        Raises:  ValueError for both or neither, or for what is no positive number.
        """
        if (epsilon is None) == (rho is None):
            raise ValueError(
                "Expected epsilon or rho, one of them. There is no default for how private to be."
            )
        if epsilon is not None:
            return cls("pure", to_decimal(epsilon, name="epsilon"))
        assert rho is not None
        return cls("zcdp", to_decimal(rho, name="rho"))

    @property
    def noise(self) -> ChoiceNoise:
        """Of the choice: exponential noise has no price of its own in zCDP, Gumbel noise has."""
        return "exponential" if self.definition == "pure" else "gumbel"

    def choice_scale(self, moves: float = 1.0) -> float:
        """Return the scale of the noise on scores that one record moves by at most `moves`."""
        if self.definition == "pure":
            return choice_scale(self.amount, moves=moves)
        return moves / zcdp_to_pure_run(self.amount) * _UP

    @property
    def count_scale(self) -> float:
        """Scale of the discrete Laplace noise, or standard deviation of the Gaussian noise, on a
        count.
        """
        if self.definition == "pure":
            return 1.0 / to_float_down(self.amount) * _UP
        return 1.0 / zcdp_to_pure_run(self.amount) * _UP

    def add_to_count(self, count: int, source: NoiseSource) -> int:
        """Return a count with noise, a whole number."""
        scale = self.count_scale
        if isinstance(source, SystemSource):
            if self.definition == "pure":
                noisy = source.add_discrete_laplace(
                    np.array([count], dtype=np.int64),
                    scale=scale,
                    sensitivity=1,
                    epsilon=self.amount,
                )
                return int(noisy[0])
            rounded = source.add_gaussian(
                np.array([float(count)]),
                sd=scale,
                sensitivity=1.0,
                rho=to_float_down(self.amount),
                exponent=0,
            )
            return int(rounded[0])
        if self.definition == "pure":
            up, down = source.geometric(-math.expm1(-1.0 / scale), 2)
            return count + int(up) - int(down)
        return count + round(float(source.normal(0.0, scale)))

    def noise_at_least(self, k: Array) -> Array:
        """Return P(noise >= k) of the noise on a count, for whole numbers k."""
        if self.definition == "zcdp":
            return np.asarray(ndtr(-(k - 0.5) / self.count_scale))
        q = math.exp(-1.0 / self.count_scale)
        return np.where(
            k >= 1,
            np.exp(-np.maximum(k, 1.0) / self.count_scale) / (1.0 + q),
            1.0 - np.exp(-np.maximum(1.0 - k, 1.0) / self.count_scale) / (1.0 + q),
        )


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
    if share >= 1 or not 1 <= n_holdout < n_records:
        raise ValueError(
            f"Expected holdout={holdout} in (0, 1) to leave records on both sides of n_records="
            f"{n_records}."
        )
    return n_records - n_holdout, n_holdout
