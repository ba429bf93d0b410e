"""What a fit can know by itself about others that nobody pays for, and says at the call."""

from __future__ import annotations

import warnings
from itertools import count

from dpci_core.estimators.account import LedgerAccount
from dpci_core.privacy.randomness import NoiseSource, SystemSource

_UNPAID = (
    "No ledger paid for this fit, and it is not the first of this process with noise from the "
    "operating system: if both are about the same people, their budgets add up. cross_val_score "
    "and GridSearchCV fit once for each fold and candidate. A seed, like random_state=0, makes a "
    "simulation; ledger= counts every fit. Which people a table is about, and what other "
    "processes drew, cannot be known here."
)
_before = count()
"""Of unpaid fits with the system's noise; a fit cannot tell whether their people are the same."""


class UnpaidFitWarning(UserWarning):
    """A process fits again with noise from the operating system, and no ledger adds it up."""


def warn_if_unpaid(
    account: LedgerAccount | None, source: NoiseSource, *, stacklevel: int = 3
) -> None:
    """Warn, before anything is drawn, of the second unpaid fit of this process and of each after.

    Args:
        account: that pays, or None.
        source: of the noise; a simulation costs nobody anything.
        stacklevel: of the caller's caller, as `warnings.warn` counts.

    Privacy: tells nothing about records; X is not looked at.
    """
    if account is None and isinstance(source, SystemSource) and next(_before):
        warnings.warn(_UNPAID, UnpaidFitWarning, stacklevel=stacklevel)
