"""What a private choice among trained models costs and leaves: public numbers only, no record.

The rows are divided by a draw that looks at nothing: T trains every candidate, V scores them. A
record lies on one side, so a release costs the larger of what either side pays, not the sum.
Neighbours replace one record; n of both sides is public. docs/proofs/selection.md has every proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Literal

from dpci_core.base.decimals import DOWN, EXACT, UP
from dpci_core.base.errors import (
    check_choice,
    check_count,
    check_positive,
)
from dpci_core.privacy.budget import Amount, to_decimal, to_float_down

Released = Literal["winner", "retrained"]
"""The model that won, or another one of the same candidate, trained again with fresh noise."""
Accounting = Literal["sharp", "published"]
_UP = 1.0 + 2.0**-48
"""Relative margin for the few floating-point operations of a bound or a scale."""
_LARGEST_SHARE = Decimal("0.5")
"""Of the budget of T, that the choice may take."""


@dataclass(frozen=True, slots=True)
class ScoreBounds:
    """How far one record moves the score of a candidate, in the units of the score.

    training: a record of T, at equal noise of the training (beta_T).
    validation: a record of V (beta_V).
    """

    training: float
    validation: float

    def __post_init__(self) -> None:
        check_positive(training=self.training, validation=self.validation)


def linear_score_bounds(
    *,
    n_train: int,
    n_validation: int,
    regularization: float,
    slope: float = 0.5,
    solver_error: float = 0.0,
) -> ScoreBounds:
    """Return the bounds of minus the mean ramp loss of a linear classifier, in [-1, 0].

    Args:
        n_train, n_validation: rows of T and V (>= 1).
        regularization: the smallest c that a candidate trains at, raised ones as raised.
        slope: of the ramp (`Ramp`).
        solver_error: how far the errors of two solutions can be apart, in |theta|.

    Privacy: for every loss with |f'| <= 1 and noise in the objective or on the minimiser: at equal
             noise the minimisers of neighbours are 1/(n c) apart. No delta: the ramp is bounded.
    Source:  docs/proofs/selection.md#linear-classifiers; Chaudhuri and Vinterbo 2013, Theorem 4,
             have 2 slope/(Lambda n) with Lambda = 2 c, the same.

    >>> found = linear_score_bounds(
    ...     n_train=24_130, n_validation=3_016, regularization=0.0005, slope=1.0)
    >>> round(found.training, 5), round(found.validation, 5)
    (0.08288, 0.00033)
    """
    check_count(n_train=n_train, n_validation=n_validation)
    check_positive(regularization=regularization, slope=slope)
    if not 0.0 <= solver_error < math.inf:
        raise ValueError(f"Expected solver_error={solver_error!r} >= 0.")
    training = slope * (1.0 / (n_train * regularization) + solver_error) * _UP
    return ScoreBounds(min(training, 1.0), 1.0 / n_validation * _UP)


def histogram_score_bounds(*, n_train: int, n_validation: int, narrowest: float) -> ScoreBounds:
    """Return the bounds of minus the integrated squared error of a histogram, on a range of length
    1, up to a constant.

    Args:
        n_train, n_validation: rows of T and V (>= 1).
        narrowest: width of the narrowest bins among the candidates, in (0, 1/2].

    Raises:  ValueError naming the argument.
    Source:  docs/proofs/selection.md#histograms; Chaudhuri and Vinterbo 2013, Theorem 6, have 6 in
             the place of 4, and divide noisy counts by their own total, which needs a delta.

    >>> found = histogram_score_bounds(n_train=16_000, n_validation=4_000, narrowest=1 / 256)
    >>> round(found.training, 12), round(found.validation, 12)
    (0.064, 0.128)
    """
    check_count(n_train=n_train, n_validation=n_validation)
    if not 0.0 < narrowest <= 0.5:
        raise ValueError(f"Expected 0 < narrowest={narrowest!r} <= 0.5.")
    return ScoreBounds(4.0 / (narrowest * n_train) * _UP, 2.0 / (narrowest * n_validation) * _UP)


def _quotient(moved: float, scale: float) -> Decimal:
    """moved / scale, rounded up."""
    return UP.divide(Decimal(moved), Decimal(scale))


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """How a budget is spent on training and choice.

    epsilon: of everything.
    train: of one training, exact.
    scale: mean of the exponential noise on each score, in its units.
    """

    epsilon: Decimal
    train: Decimal
    scale: float
    releases: Released = "winner"
    accounting: Accounting = "sharp"

    def __post_init__(self) -> None:
        check_positive(scale=self.scale)
        check_choice(self.releases, ("winner", "retrained"), name="releases")
        check_choice(self.accounting, ("sharp", "published"), name="accounting")
        if not 0 < self.train <= self.epsilon:
            raise ValueError(f"Expected 0 < train={self.train} <= epsilon={self.epsilon}.")

    def price(self, bounds: ScoreBounds, *, n_candidates: int | None = None) -> Decimal:
        """Return the epsilon of choice and model, rounded up: the larger of what a record of T and
        one of V pays.

        Args:
            bounds: of the scores.
            n_candidates: if given, the price may be that of so many trainings instead.
        """
        times, others = (1, -1) if self.releases == "winner" else (2, 0)
        chosen = _quotient(times * bounds.training, self.scale)
        if n_candidates is not None:
            check_count(n_candidates=n_candidates)
            chosen = min(chosen, UP.multiply(self.train, Decimal(n_candidates + others)))
        on_training = UP.add(self.train, chosen)
        return max(on_training, _quotient(2.0 * bounds.validation, self.scale))


def plan_selection(
    *,
    epsilon: Amount,
    bounds: ScoreBounds,
    accounting: Accounting = "sharp",
    releases: Released | None = None,
) -> SelectionPlan:
    """Return the training budget and the noise of the choice for a total epsilon.

    "published": half for each training, half for the choice, retrained.  "sharp": as T and V are
    disjoint, the choice has the whole epsilon of V and a share s = min(1/2, w beta_T / (2 beta_V))
    of the epsilon of T, w = 1 for the winner, 2 for a retrained model; training has the rest.

    Args:
        epsilon: of everything (> 0).
        bounds: of the scores.
        releases: "winner" or "retrained" (default: "winner", and "retrained" if published).

    Privacy: epsilon-DP.
    Source:  docs/proofs/selection.md#training-and-choice.

    >>> bounds = linear_score_bounds(n_train=24_130, n_validation=3_016, regularization=0.0005)
    >>> plan = plan_selection(epsilon=1, bounds=bounds)
    >>> plan.train, round(plan.scale, 5)
    (Decimal('0.5'), 0.08288)
    """
    total = to_decimal(epsilon, name="epsilon")
    check_choice(accounting, ("sharp", "published"), name="accounting")
    at = to_float_down(total)
    if accounting == "published":
        kind = "retrained" if releases is None else releases
        train = DOWN.divide(total, Decimal(2))
        scale = 4.0 * max(bounds.training, bounds.validation) / at * _UP
        return SelectionPlan(total, train, scale, kind, "published")
    kind = "winner" if releases is None else releases
    times = 1.0 if kind == "winner" else 2.0
    share = min(times * bounds.training / (2.0 * bounds.validation), 0.5)
    taken = UP.multiply(total, min(_LARGEST_SHARE, Decimal(share)))
    train = EXACT.subtract(total, taken)
    # With this share it is never below what V asks for, 2 beta_V / epsilon.
    scale = times * bounds.training / to_float_down(taken) * _UP
    return SelectionPlan(total, train, scale, kind, "sharp")


@dataclass(frozen=True, slots=True)
class ConcentratedPlan:
    """How a rho is spent on training and choice under zCDP: the scores get Gumbel noise, and the
    chosen candidate is trained again.

    rho: of everything.
    train: of one training, exact.
    scale: of the Gumbel noise on each score.
    """

    rho: Decimal
    train: Decimal
    scale: float
    releases: ClassVar[Released] = "retrained"

    def price(self, bounds: ScoreBounds) -> Decimal:
        """Return the rho of choice and model, rounded up: the larger of train + beta_T^2 / (2
        scale^2) and beta_V^2 / (2 scale^2).
        """
        on_training, on_validation = (
            UP.divide(UP.power(_quotient(beta, self.scale), 2), Decimal(2))
            for beta in (bounds.training, bounds.validation)
        )
        return max(UP.add(self.train, on_training), on_validation)


def plan_concentrated_selection(*, rho: Amount, bounds: ScoreBounds) -> ConcentratedPlan:
    """Return training budget and Gumbel scale for a total rho: the share of the choice on T is
    min(1/2, (beta_T / beta_V)^2).

    Privacy: rho-zCDP; the choice is the exponential mechanism, whose privacy loss has a bounded
             range. Exponential noise would cost up to four times as much.
    Source:  docs/proofs/selection.md#training-and-choice.
    """
    total = to_decimal(rho, name="rho")
    share = min((bounds.training / bounds.validation) ** 2, 0.5)
    taken = UP.multiply(total, min(_LARGEST_SHARE, Decimal(share)))
    scale = bounds.training / math.sqrt(2.0 * to_float_down(taken)) * _UP
    return ConcentratedPlan(total, EXACT.subtract(total, taken), scale)
