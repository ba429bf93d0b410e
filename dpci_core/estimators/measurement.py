"""A private fit as an OpenDP measurement, to run in their Context beside counts and sums."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
from sklearn.base import clone

from dpci_core.base.array import Array
from dpci_core.base.decimals import UP
from dpci_core.base.extras import named_extras
from dpci_core.estimators.linear import PrivateLinearClassifier
from dpci_core.estimators.unpaid import UnpaidFitWarning
from dpci_core.privacy.budget import ZCDP, Budget, PureDP

_COUNTED: dict[type[Budget], tuple[str, int]] = {
    PureDP: ("max_divergence", 1),
    ZCDP: ("zero_concentrated_divergence", 2),
}
"""Definitions that OpenDP counts too: its measure, and the power of k in the loss of k records."""


def make_private_fit(
    input_domain: Any, input_metric: Any, estimator: PrivateLinearClassifier
) -> Any:
    """Return an `opendp.Measurement` from a table to the estimator fitted to it.

    `opendp.prelude.register(make_private_fit)` makes it a query of a Context,
    `context.query().private_fit(estimator)`, which then counts what is spent.

    Args:
        input_domain: `dp.numpy.array2_domain(T=float, size=n, num_columns=d + 1, nan=False)`. The
            last column is the outcome: 1 is True, whatever else is there is False.
        input_metric: `dp.change_one_distance()`, or `dp.symmetric_distance()`, where each two begun
            count as one record changed, because n is public.
        estimator: `DPLogisticRegression` or `DPLinearSVC` with a budget of `PureDP` or `ZCDP` and
            declared columns. `random_state`, `ledger` and `classes` stay None: the noise is the
            operating system's, the Context pays, and the classes are False and True.

    Privacy: the budget's total epsilon, or rho, for one record changed; k epsilon, or k^2 rho, for
             k records. No record is refused: an infinite cell counts as the bound on its side,
             and one that is not a number, outside the domain, as 0. Not counted is the 2^-200
             with which a noise vector is too long for a certified fit, and ends it.
    Raises:  ValueError naming the argument and the rule; InfeasibleDesignError; ExtraNeededError
             without opendp. All of them here, before a table is seen.
    Source:  OpenDP's `make_user_measurement`, whose features "contrib" and "honest-but-curious" it
             asks for.
    """
    with named_extras():
        import opendp.prelude as dp  # 1.5 seconds that nobody else needs

    if input_metric not in (dp.change_one_distance(), dp.symmetric_distance()):
        raise ValueError(
            "Expected input_metric to be change_one_distance() or symmetric_distance(), got "
            f"{input_metric}."
        )
    n, d = _shape(input_domain)
    fitted_later = _ready(estimator, n, d)
    budget = fitted_later._declared_budget()
    is_symmetric = input_metric == dp.symmetric_distance()

    def function(table: Array) -> PrivateLinearClassifier:
        cells = np.nan_to_num(table)
        fitted: PrivateLinearClassifier = clone(fitted_later)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnpaidFitWarning)  # the Context counts it
            return fitted.fit(cells[:, :-1], table[:, -1] == 1.0)

    def privacy_map(d_in: int) -> float:
        records = -(-d_in // 2) if is_symmetric else d_in
        return _loss_of(budget, records)

    measure = getattr(dp, _COUNTED[type(budget)][0])()
    return dp.m.make_user_measurement(
        input_domain, input_metric, measure, function, privacy_map, TO="ExtrinsicObject"
    )


def _shape(domain: Any) -> tuple[int, int]:
    """The records n and features d of a domain of arrays."""
    wanted = "dp.numpy.array2_domain(T=float, size=n, num_columns=d + 1, nan=False)"
    told = getattr(domain, "descriptor", None)
    if not str(domain).startswith("NPArray2Domain") or told is None:
        raise ValueError(f"Expected input_domain to be {wanted}, got {domain}.")
    size, columns = told.size or 0, told.num_columns or 0
    if str(told.T) != "f64" or told.nan is not False or size < 1 or columns < 2:
        raise ValueError(f"Expected input_domain to be {wanted} with n and d given, got {domain}.")
    return size, columns - 1


def _ready(estimator: Any, n: int, d: int) -> PrivateLinearClassifier:
    """A copy of the estimator with declared classes, for which a fit to (n, d) features refuses
    nothing.
    """
    if not isinstance(estimator, PrivateLinearClassifier):
        raise ValueError(
            "Expected estimator to be a DPLogisticRegression or a DPLinearSVC, got "
            f"{type(estimator).__name__}."
        )
    for name in ("random_state", "ledger", "classes"):
        if getattr(estimator, name) is not None:
            raise ValueError(f"Expected {name} of estimator to be None: see make_private_fit.")
    if type(estimator.budget) not in _COUNTED:
        raise ValueError(
            "Expected budget of estimator to be PureDP or ZCDP, which OpenDP counts too, got "
            f"{type(estimator.budget).__name__}."
        )
    ready: PrivateLinearClassifier = clone(estimator).set_params(classes=(False, True))
    ready._designs(  # which refuses what cannot run
        ready._declared_budget(),
        1,
        ready._declared_scaling(d),
        is_exact=True,
        n_records=n,
        n_coefficients=d + 1,
    )
    return ready


def _loss_of(budget: Budget, records: int) -> float:
    """The smallest float that is not below the loss for so many records changed."""
    loss = UP.multiply(budget.total, Decimal(records ** _COUNTED[type(budget)][1]))
    nearest = float(loss)
    return nearest if Decimal(nearest) >= loss else math.nextafter(nearest, math.inf)
