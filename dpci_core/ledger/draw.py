"""A draw that a ledger pays for: approved where the account asks for that, booked, begun, ended; in
this order and once, for a release and for a fit alike.

docs/proofs/release.md#booking and docs/operations.md say why.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from dpci_core.base.errors import Finding, LedgerError, without_frames
from dpci_core.ledger.key import SigningKey
from dpci_core.ledger.ledger import Ledger
from dpci_core.ledger.state import Charge
from dpci_core.report.refusals import said


def check_approval(ledger: Ledger, dataset: str, asked: Mapping[str, Any]) -> None:
    """Propose what another person has to approve, and refuse it until that is done; nothing where
    the account needs no approval.

    Args:
        asked: what `Ledger.book` is asked for.

    Raises:  LedgerError, NotApprovedError where it waits.
    """
    if ledger.account(dataset).needs_approval:
        proposal = ledger.propose(dataset, **asked)
        if proposal.state == "proposed":  # it may be booked: by another process, or before a stop
            raise proposal.waiting()
        ledger.check_approved(dataset, **asked)


class Draw:
    """The right to draw for a charge that was booked with `draws_later`, which the ledger gives to
    one call of `begin`.

    As a context it lasts until the draw is over, whatever became of it; arithmetic within neither
    warns nor raises, which would tell of rows.

    charge: as the ledger knows it last.
    is_begun: whether this one has the right.
    key: that signs files; None until the draw has begun.
    problem: why the right was not given.
    """

    def __init__(self, ledger: Ledger, charge: Charge) -> None:
        self.ledger, self.charge = ledger, charge
        self.is_begun = False
        self.problem: LedgerError | None = None
        self.key: SigningKey | None = None
        self._quiet = np.errstate(all="ignore")

    def begin(self) -> None:
        """Take the right; no second time."""
        _under_way(self, True)
        try:
            self.key = self.ledger.signing_key()  # what is drawn must not fail for want of it
            self.charge = self.ledger.begin_draw(self.charge.charge_id)
        except LedgerError as error:
            _under_way(self, False)
            self.problem = without_frames(error)
            raise
        self.is_begun = True

    def fail(self, reason: Finding | Exception) -> None:
        """Note that it ended without a result; LedgerError where that cannot be noted."""
        self.charge = self.ledger.fail(
            self.charge.charge_id, reason=said(reason), is_drawn=self.is_begun
        )

    def finish(self, result_hash: str) -> None:
        """Note its result; LedgerError where that cannot be noted."""
        self.charge = self.ledger.finish(self.charge.charge_id, result_hash=result_hash)

    def __enter__(self) -> Self:
        self._quiet.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._quiet.__exit__(*error)
        _under_way(self, False)


_DRAWS: set[Draw] = set()
_CHANGED = threading.Condition()


def _under_way(draw: Draw, is_drawing: bool) -> None:
    with _CHANGED:
        (_DRAWS.add if is_drawing else _DRAWS.discard)(draw)
        _CHANGED.notify_all()


def is_drawing() -> bool:
    """Whether a draw of this process has begun and is not over yet."""
    return bool(_DRAWS)


def wait_for_draws(seconds: float) -> bool:
    """Return whether every draw that began is over, after waiting for it so long at most.

    A process that is told to end waits here: what has not begun to draw goes on with the same
    request later, what has begun cannot.
    """
    with _CHANGED:
        return _CHANGED.wait_for(lambda: not _DRAWS, seconds)
