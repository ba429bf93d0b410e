"""Private tuning in earnest: `tuning.tune_privately` and `select_privately` with noise from the
operating system and certified minimisers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy.typing as npt

from dpci_core.base.array import Array
from dpci_core.base.errors import DataRejectedError
from dpci_core.base.validation import check_unit_records
from dpci_core.estimators.account import LedgerAccount, drawn_by, payer
from dpci_core.estimators.settings import table_of
from dpci_core.estimators.unpaid import warn_if_unpaid
from dpci_core.ledger import Cost
from dpci_core.privacy.budget import Amount, to_decimal
from dpci_core.privacy.randomness import SystemSource
from dpci_core.tuning.choose import Candidate, TuningResult, checked_candidates, rows_each, tune_by
from dpci_core.tuning.released import (
    CURRENCIES,
    certifiable_kinds,
    certified,
    check_each,
    spending_of_release,
)
from dpci_core.tuning.selection import (
    Score,
    SelectionMethod,
    SelectionResult,
    checked_score,
    distinct_candidates,
    select_by,
    total_of,
)


def tune_for_release(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount,
    ledger: LedgerAccount | None = None,
) -> TuningResult:
    """Return the candidate that the exponential mechanism chooses, with its coefficients.

    Args:
        X, y, candidates: as for `tuning.tune_privately`; methods "output" and "objective_tight".
            Records have been encoded by a fixed public map, as `RecordMapper` does: a record that
            breaks a rule is refused here, which would tell about it.
        epsilon: for everything.
        ledger: the account that pays, before anything is drawn. None books nothing, and the result
            says so.

    Privacy: epsilon-DP for replace-one neighbours, n public. Each candidate is trained as the
             coefficients of a release are (docs/proofs/release.md#coefficients) on records that no
             other candidate and not the choice sees.
    Raises:  InfeasibleDesignError before anything is drawn, from public numbers only; ValueError;
             DataRejectedError; LedgerError.
    Source:  CMS Algorithm 4 with the constants of WKL Theorem 1.
    """
    amount = to_decimal(epsilon, name="epsilon")
    listed = certifiable_kinds(checked_candidates(candidates))
    features, labels = _encoded(X, y)
    n, source = rows_each(len(labels), len(listed)), SystemSource()
    check_each(listed, features.shape[1], amount, n)
    account = payer(ledger)
    warn_if_unpaid(account, source)
    made, charge = drawn_by(
        account,
        lambda: tune_by(
            features,
            labels,
            candidates=listed,
            epsilon=amount,
            source=source,
            trainer=lambda A, learner: certified(A, learner, amount, source),
        ),
        cost=lambda: Cost(definition="pure", amount=amount, lines=[("model and choice", amount)]),
        name="tune_for_release",
        settings=table_of(X, y, features.shape) | {"candidates": listed, "epsilon": amount},
        released=lambda made: (made.index, made.theta),
    )
    return made if charge is None else replace(made, charge_id=charge.charge_id)


def _encoded(X: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Array, Array]:
    """The records; a message about what a record holds names no row."""
    try:
        return check_unit_records(X, y)
    except DataRejectedError as error:
        if error.row is None:
            raise
    raise DataRejectedError("record_not_encoded")


def select_for_release(
    X: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    candidates: Sequence[Candidate],
    epsilon: Amount | None = None,
    rho: Amount | None = None,
    method: SelectionMethod = "stability",
    validation_share: Amount = "0.1",
    score: Score | None = None,
    ledger: LedgerAccount | None = None,
) -> SelectionResult:
    """Return what `tuning.select_privately` does, with noise from the operating system.

    Args:
        X, y, candidates: as for `tune_for_release`.
        epsilon, rho: for everything, one of them.
        ledger: as for `tune_for_release`.
        method, validation_share, score: as for `tuning.select_privately`.

    Privacy: epsilon-DP or rho-zCDP for replace-one neighbours, n public. Every training is a
             release's (docs/proofs/release.md#coefficients), the choice is drawn exactly, and what
             minimisers are off by is in the bounds of the scores
             (docs/proofs/selection.md#linear-classifiers). With noise in the objective a training
             may end with an error, each with a probability of at most 2^-200 besides.
    Raises:  InfeasibleDesignError before anything is drawn, from public numbers only; ValueError;
             DataRejectedError; LedgerError.
    """
    amount, currency = total_of(method, epsilon=epsilon, rho=rho)
    listed = certifiable_kinds(distinct_candidates(candidates))
    features, labels = _encoded(X, y)
    spending = spending_of_release(
        method,
        candidates=listed,
        epsilon=epsilon,
        rho=rho,
        n_records=len(labels),
        n_features=features.shape[1],
        validation_share=validation_share,
        score=score,
    )
    source, scored, kind = SystemSource(), checked_score(method, score), CURRENCIES[currency]
    account = payer(ledger)
    warn_if_unpaid(account, source)
    made, charge = drawn_by(
        account,
        lambda: select_by(
            features,
            labels,
            candidates=listed,
            total=amount,
            spending=spending,
            score=scored,
            source=source,
            trainer=lambda A, learner, share: certified(A, learner, share, source, kind),
        ),
        cost=lambda: Cost(
            definition="pure" if currency == "epsilon" else "zcdp",
            amount=amount,
            lines=[("model and choice", amount)],
        ),
        name="select_for_release",
        settings=table_of(X, y, features.shape)
        | {"candidates": listed, currency: amount, "method": method}
        | {"validation_share": validation_share, "score": score},
        released=lambda made: (made.index, made.theta),
    )
    return made if charge is None else replace(made, charge_id=charge.charge_id)
