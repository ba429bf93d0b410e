"""Private tuning in earnest: `tuning.tune_privately` with noise from the operating system and
certified minimisers.
"""

from __future__ import annotations

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
    from dpci_core.intervals.draw import check_feasible, draw_coefficients
    from dpci_core.mechanisms.shares import share_out

    amount = to_decimal(epsilon, name="epsilon")
    listed = checked_candidates(candidates)
    if any(candidate.learner.method == "objective" for candidate in listed):
        raise ValueError(
            'Expected method "output" or "objective_tight": "objective" is for comparisons with '
            "[CMS] only."
        )
    features, labels = check_unit_records(X, y)
    n, source = rows_each(len(labels), len(listed)), SystemSource()
    for candidate in listed:
        dim = features.shape[1] if candidate.features is None else candidate.features.n_components
        check_feasible(_design(candidate.learner, amount, n), n_records=n, dim=dim)

    def trained(A: Array, learner: Learner) -> Array:
        return draw_coefficients(A, shares=share_out(_design(learner, amount, n)), source=source)[0]

    return tune_by(
        features, labels, candidates=listed, epsilon=amount, source=source, trainer=trained
    )


def _design(learner: Learner, epsilon: Decimal, n_records: int) -> Design:
    """The design whose coefficients are what a learner trains, at the penalty that it may raise."""
    noise = learner_noise(learner, epsilon=to_float_down(epsilon), n_records=n_records)
    return Design(
        loss=learner.loss,
        mechanism="output" if learner.method == "output" else "objective",
        budget=for_coefficients_alone(PureDP, epsilon),
        regularization=noise.regularization,
    )
