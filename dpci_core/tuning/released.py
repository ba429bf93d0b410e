"""How a candidate is trained in earnest: as a release is, with a certified minimiser and noise from
the operating system.
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from dpci_core.base.array import Array
from dpci_core.base.limits import BUDGET_PART
from dpci_core.design import Design
from dpci_core.intervals.certified import GRID, check_feasible, draw_coefficients
from dpci_core.mechanisms.shares import TAU, share_out
from dpci_core.privacy.budget import ZCDP, Amount, Budget, PureDP, to_float_down
from dpci_core.privacy.randomness import SystemSource
from dpci_core.tuning.choose import Candidate
from dpci_core.tuning.learners import Learner, learner_noise
from dpci_core.tuning.selection import (
    Score,
    SelectionMethod,
    Spending,
    check_work,
    checked_score,
    rounding_error,
    spend,
)

CURRENCIES: dict[str, type[Budget]] = {kind.symbol: kind for kind in (PureDP, ZCDP)}
"""What a training is paid in."""


def for_coefficients_alone(kind: type[Budget], amount: Decimal) -> Budget:
    """Return a budget of which the coefficients have this amount, for a fit that releases no
    matrix.

    The other two parts are never spent; they stand at the smallest amount a design may have.
    """
    unspent = Decimal(repr(BUDGET_PART[0]))
    return kind(model=amount, hessian=unspent, covariance=unspent)


def spending_of_release(
    method: SelectionMethod,
    *,
    candidates: tuple[Candidate, ...],
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    n_records: int,
    n_features: int,
    validation_share: Amount = "0.1",
    score: Score | None = None,
) -> Spending:
    """Return what a release by a method spends, after every refusal that public numbers decide.

    Raises:  InfeasibleDesignError, ValueError.
    """
    checked = checked_score(method, score)
    widest = max(_dim(candidate, n_features) for candidate in candidates)

    def solver_error(c: float) -> float:
        off = 0.0 if checked == "mistakes" else rounding_error(widest, checked)
        return (TAU / c + GRID * math.sqrt(widest)) * (1.0 + 2.0**-40) + off

    spending = spend(
        method,
        epsilon=epsilon,
        rho=rho,
        learners=[candidate.learner for candidate in candidates],
        n_records=n_records,
        validation_share=validation_share,
        score=score,
        solver_error=solver_error,
    )
    check_work(spending, n_records * n_features, candidates)
    kind = CURRENCIES[spending.currency]
    check_each(candidates, n_features, spending.train, spending.n_train, kind)
    return spending


def certifiable_kinds(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Return the candidates, none of which is trained as [CMS] only do."""
    if any(candidate.learner.method == "objective" for candidate in candidates):
        raise ValueError(
            'Expected method "output" or "objective_tight": "objective" is for comparisons with '
            "[CMS] only."
        )
    return candidates


def _dim(candidate: Candidate, n_features: int) -> int:
    return n_features if candidate.features is None else candidate.features.n_components


def check_each(
    candidates: tuple[Candidate, ...],
    n_features: int,
    amount: Decimal,
    n: int,
    kind: type[Budget] = PureDP,
) -> None:
    """Raise InfeasibleDesignError unless every candidate can be trained as a release is."""
    for candidate in candidates:
        design = design_of(candidate.learner, amount, n, kind)
        check_feasible(design, dim=_dim(candidate, n_features))


def certified(
    A: Array,
    learner: Learner,
    amount: Decimal,
    source: SystemSource,
    kind: type[Budget] = PureDP,
) -> Array:
    """Return the coefficients (p,) of a learner as a release draws them."""
    shares = share_out(design_of(learner, amount, len(A), kind))
    return draw_coefficients(A, shares=shares, source=source)[0]


def design_of(
    learner: Learner, amount: Decimal, n_records: int, kind: type[Budget] = PureDP
) -> Design:
    """The design whose coefficients are what a learner trains, at the penalty that it may raise."""
    at: dict[str, Any] = {kind.symbol: to_float_down(amount)}
    noise = learner_noise(learner, n_records=n_records, **at)
    return Design(
        loss=learner.loss,
        mechanism="output" if learner.method == "output" else "objective",
        budget=for_coefficients_alone(kind, amount),
        regularization=noise.regularization,
        n_records=n_records,
        calibration="published",  # whose noise `learner_noise` counts
    )
