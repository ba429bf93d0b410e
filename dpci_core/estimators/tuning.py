"""Private tuning in earnest: `tuning.tune_privately` and `select_privately` with noise from the
operating system and certified minimisers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.validation import check_unit_records
from dpci_core.design import Design
from dpci_core.estimators.released import for_coefficients_alone
from dpci_core.privacy.budget import Amount, PureDP, to_decimal, to_float_down
from dpci_core.privacy.randomness import SystemSource
from dpci_core.tuning.choose import Candidate, TuningResult, checked_candidates, rows_each, tune_by
from dpci_core.tuning.learners import Learner, learner_noise
from dpci_core.tuning.selection import (
    Score,
    SelectionMethod,
    SelectionResult,
    Spending,
    check_work,
    checked_score,
    distinct_candidates,
    rounding_error,
    select_by,
    spend,
)


def tune_for_release(
    X: npt.ArrayLike, y: npt.ArrayLike, *, candidates: Sequence[Candidate], epsilon: Amount
) -> TuningResult:
    """Return the candidate that the exponential mechanism chooses, with its coefficients.

    Args:
        X, y, candidates: as for `tuning.tune_privately`; methods "output" and "objective_tight".
            Records have been encoded by a fixed public map, as `RecordMapper` does: a record that
            breaks a rule is refused here, which would tell about it.
        epsilon: for everything; book it before the call, as one amount.

    Privacy: epsilon-DP for replace-one neighbours, n public. Each candidate is trained as the
             coefficients of a release are (docs/release.md, section 2) on records that no other
             candidate and not the choice sees.
    Raises:  InfeasibleDesignError before anything is drawn, from public numbers only; ValueError;
             DataRejectedError.
    Source:  CMS Algorithm 4 with the constants of WKL Theorem 1.
    """
    amount = to_decimal(epsilon, name="epsilon")
    listed = _certifiable_kinds(checked_candidates(candidates))
    features, labels = check_unit_records(X, y)
    n, source = rows_each(len(labels), len(listed)), SystemSource()
    _check_each(listed, features.shape[1], amount, n)
    return tune_by(
        features,
        labels,
        candidates=listed,
        epsilon=amount,
        source=source,
        trainer=lambda A, learner: certified(A, learner, amount, source),
    )


def select_for_release(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount,
    method: SelectionMethod = "stability",
    validation_share: Amount = "0.1",
    score: Score | None = None,
) -> SelectionResult:
    """Return what `tuning.select_privately` does, with noise from the operating system.

    Args:
        X, y, candidates: as for `tune_for_release`.
        epsilon: for everything; book it before the call, as one amount.
        method, validation_share, score: as for `tuning.select_privately`.

    Privacy: epsilon-DP for replace-one neighbours, n public. Every training is a release's
             (docs/release.md, section 2), the choice is drawn exactly, and what minimisers are off
             by is in the bounds of the scores (docs/selection.md, section 2).
    Raises:  InfeasibleDesignError before anything is drawn, from public numbers only; ValueError;
             DataRejectedError.
    """
    amount = to_decimal(epsilon, name="epsilon")
    listed = _certifiable_kinds(distinct_candidates(candidates))
    features, labels = check_unit_records(X, y)
    spending = spending_of_release(
        method,
        candidates=listed,
        epsilon=amount,
        n_records=len(labels),
        n_features=features.shape[1],
        validation_share=validation_share,
        score=score,
    )
    source = SystemSource()
    return select_by(
        features,
        labels,
        candidates=listed,
        epsilon=amount,
        spending=spending,
        score=checked_score(method, score),
        source=source,
        trainer=lambda A, learner, share: certified(A, learner, share, source),
    )


def spending_of_release(
    method: SelectionMethod,
    *,
    candidates: tuple[Candidate, ...],
    epsilon: Amount,
    n_records: int,
    n_features: int,
    validation_share: Amount = "0.1",
    score: Score | None = None,
) -> Spending:
    """Return what a release by a method spends, after every refusal that public numbers decide.

    Raises:  InfeasibleDesignError, ValueError.
    """
    from dpci_core.intervals.draw import GRID
    from dpci_core.mechanisms.shares import TAU

    checked = checked_score(method, score)
    widest = max(_dim(candidate, n_features) for candidate in candidates)

    def solver_error(c: float) -> float:
        off = 0.0 if checked == "mistakes" else rounding_error(widest, checked)
        return (TAU / c + GRID * math.sqrt(widest)) * (1.0 + 2.0**-40) + off

    spending = spend(
        method,
        epsilon=epsilon,
        learners=[candidate.learner for candidate in candidates],
        n_records=n_records,
        validation_share=validation_share,
        score=score,
        solver_error=solver_error,
    )
    check_work(spending, n_records * n_features, candidates)
    _check_each(candidates, n_features, spending.train, spending.n_train)
    return spending


def _certifiable_kinds(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    if any(candidate.learner.method == "objective" for candidate in candidates):
        raise ValueError(
            'Expected method "output" or "objective_tight": "objective" is for comparisons with '
            "[CMS] only."
        )
    return candidates


def _dim(candidate: Candidate, n_features: int) -> int:
    return n_features if candidate.features is None else candidate.features.n_components


def _check_each(
    candidates: tuple[Candidate, ...], n_features: int, epsilon: Decimal, n: int
) -> None:
    """Raise InfeasibleDesignError unless every candidate can be trained as a release is."""
    from dpci_core.intervals.draw import check_feasible

    for candidate in candidates:
        design = _design(candidate.learner, epsilon, n)
        check_feasible(design, n_records=n, dim=_dim(candidate, n_features))


def certified(A: Array, learner: Learner, epsilon: Decimal, source: SystemSource) -> Array:
    """Return the coefficients (p,) of a learner as a release draws them."""
    from dpci_core.intervals.draw import draw_coefficients
    from dpci_core.mechanisms.shares import share_out

    return draw_coefficients(A, shares=share_out(_design(learner, epsilon, len(A))), source=source)[
        0
    ]


def _design(learner: Learner, epsilon: Decimal, n_records: int) -> Design:
    """The design whose coefficients are what a learner trains, at the penalty that it may raise."""
    noise = learner_noise(learner, epsilon=to_float_down(epsilon), n_records=n_records)
    return Design(
        loss=learner.loss,
        mechanism="output" if learner.method == "output" else "objective",
        budget=for_coefficients_alone(PureDP, epsilon),
        regularization=noise.regularization,
    )
