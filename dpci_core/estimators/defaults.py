"""A penalty from public quantities, for those who do not choose one."""

from __future__ import annotations

import math

from dpci_core.design import Mechanism
from dpci_core.errors import check_choice, check_count
from dpci_core.limits import REGULARIZATION
from dpci_core.losses import Loss
from dpci_core.privacy import Budget, PureDP, to_float_down, zcdp_to_pure_run

_BY_MECHANISM = {"objective": 0.5, "output": 2.0}
"""Penalty for each unit of sqrt(p) / (n epsilon)."""
_WITHOUT_PRIVACY = 0.01
"""Penalty times n where the budget is unlimited, so that separable classes have a minimiser."""


def default_regularization(
    *, loss: Loss, budget: Budget, mechanism: Mechanism, n_records: int, n_coefficients: int
) -> float:
    """Return c = ((k sqrt(p) + t) / epsilon + 0.01) / n, with epsilon the model's share and t the loss's curvature.

    The noise on a score is about sqrt(p) / (n epsilon c) against a signal that c shrinks, so c falls with n and with
    the budget; t keeps objective perturbation feasible at every budget. A rho counts as epsilon = sqrt(2 rho).
    Privacy: n, p and the budget are public; nothing is read off the records.
    Source:  own, chosen on the simulated census.

    >>> from dpci_core.losses import Logistic
    >>> budget = PureDP(model="1", hessian="1", covariance="1")
    >>> round(default_regularization(loss=Logistic(), budget=budget, mechanism="objective", n_records=1000,
    ...                              n_coefficients=4), 6)
    0.00126
    """
    check_choice(mechanism, tuple(_BY_MECHANISM), name="mechanism")
    check_count(n_records=n_records, n_coefficients=n_coefficients)
    epsilon = to_float_down(budget.model) if isinstance(budget, PureDP) else zcdp_to_pure_run(budget.model)
    wanted = (_BY_MECHANISM[mechanism] * math.sqrt(n_coefficients) + loss.max_curvature) / epsilon + _WITHOUT_PRIVACY
    low, high = REGULARIZATION
    return min(max(wanted / n_records, low), high)
