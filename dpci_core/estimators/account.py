"""Who pays for a draw outside a release: an account of a ledger, as `ledger=` of an estimator.

docs/operations.md, "Fits and other draws", has the argument.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpci_core.base.errors import Finding
from dpci_core.estimators.settings import written_call
from dpci_core.ledger import Charge, Cost, Ledger, LedgerError
from dpci_core.ledger.draw import Draw, check_approval
from dpci_core.privacy.randomness import NoiseSource, SystemSource
from dpci_core.report.words import UNBOOKED_MARK

Made = TypeVar("Made")


@dataclass(frozen=True, kw_only=True, slots=True)
class LedgerAccount:
    """The account of a ledger that pays for draws with noise from the operating system.

    Args:
        ledger: where it stands.
        dataset: name of the account.
        schema_hash: of its declared columns.
        unit: whom one row stands for, in the words of the account: what is drawn protects a row.
        person: who spends.
        request_id: of a single draw, which is then made once, however often it is asked for. None
            makes a new one for each, so that two fits are two charges. Where another person has to
            approve each charge, one has to be given: the first time it is proposed, and once
            approved it is drawn for.

    Privacy: a draw is booked before its noise exists, and drawn for once.
    """

    ledger: Ledger = field(repr=False)
    dataset: str
    schema_hash: str
    unit: str
    person: str
    request_id: str | None = None

    def draw(
        self,
        draw: Callable[[], Made],
        *,
        cost: Cost,
        purpose: str,
        plan_hash: str,
        result_hash: Callable[[Made], str],
    ) -> tuple[Made, Charge]:
        """Return what `draw` returns and the charge, which was on disk before it was called.

        Args:
            draw: draws all noise, and refuses nothing that could have been refused before.
            cost: of everything it draws.
            purpose: one line of text.
            plan_hash: of what is drawn.
            result_hash: of what was drawn, from released numbers alone.

        Raises:  ValueError for another unit, for that of plans in which a person has rows, and
                 without request_id where each charge needs approval; LedgerError
                 (BudgetExceededError, NotApprovedError, ...) before any draw; afterwards
                 what `draw` raises, with the charge noted as failed. Where the ledger cannot note
                 an end, the charge stays booked: it is spent alike.
        """
        account = self.ledger.account(self.dataset)
        unit = account.unit
        if account.several_rows:
            raise ValueError(
                f"Expected an account whose unit is a row: in {self.dataset!r} it is {unit!r}, who "
                "may have several, and what is drawn here protects one."
            )
        if unit != self.unit.strip():
            raise ValueError(
                f"Expected unit={self.unit!r} to be that of the account {self.dataset!r}: {unit!r}."
            )
        if account.needs_approval and self.request_id is None:
            raise ValueError(
                f"Expected request_id of LedgerAccount: another person has to approve each charge "
                f"of {self.dataset!r}, and it names what was approved."
            )
        asked: dict[str, Any] = {
            "schema_hash": self.schema_hash,
            "cost": cost,
            "purpose": purpose,
            "plan_hash": plan_hash,
            "person": self.person,
            "request_id": secrets.token_hex(16) if self.request_id is None else self.request_id,
        }
        check_approval(self.ledger, self.dataset, asked)
        booked = self.ledger.book(self.dataset, **asked, draws_later=True)
        with Draw(self.ledger, booked) as paid:
            paid.begin()
            try:
                made = draw()
            except BaseException as error:
                with suppress(LedgerError, OSError):
                    paid.fail(Finding("broken_off", problem=type(error).__name__))
                raise
            with suppress(LedgerError, OSError):
                paid.finish(result_hash(made))
        return made, paid.charge


def drawn_by(
    account: LedgerAccount | None,
    draw: Callable[[], Made],
    *,
    cost: Callable[[], Cost],
    name: str,
    settings: Mapping[str, object],
    released: Callable[[Made], tuple[npt.ArrayLike, ...]],
) -> tuple[Made, Charge | None]:
    """What `draw` returns, paid by an account where there is one.

    Args:
        name: of the function that draws.
        settings: everything that decides what is drawn: the ledger keeps it written out, and its
            hash, so that whoever approves reads it.
    """
    if account is None:
        return draw(), None
    purpose = written_call(name, settings)
    return account.draw(
        draw,
        cost=cost(),
        purpose=purpose,
        plan_hash=hashlib.sha256(purpose.encode()).hexdigest(),
        result_hash=lambda made: numbers_hash(*released(made)),
    )


def payer(ledger: object, source: NoiseSource | None = None) -> LedgerAccount | None:
    """The account that `ledger=` names, None if it names none.

    Raises:  ValueError for anything else, and beside noise that can be drawn again: a simulation
             costs nobody anything, and a charge would make it look like a release.
    """
    if ledger is None:
        return None
    if not isinstance(ledger, LedgerAccount):
        raise ValueError(
            f"Expected ledger to be a LedgerAccount or None, got {type(ledger).__name__}."
        )
    if source is not None and not isinstance(source, SystemSource):
        raise ValueError(
            "Expected random_state=None beside ledger: noise from a seed is a simulation, and "
            "nothing is booked for one."
        )
    return ledger


def check_labels_declared(account: LedgerAccount | None, classes: object) -> None:
    """Raise ValueError for labels read from the records where a ledger pays."""
    if account is not None and classes is None:
        raise ValueError(
            "Expected classes= beside ledger: labels read from y would be in the result, and no "
            "charge covers that."
        )


def numbers_hash(*arrays: npt.ArrayLike) -> str:
    """SHA-256 of numbers as little-endian doubles, one array after the other, row by row."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(np.asarray(array), dtype="<f8").tobytes())
    return found.hexdigest()


class Payable:
    """What estimators that take `ledger` share."""

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """scikit-learn's, and whether the fit was paid for."""
        text: str = super().__repr__(N_CHAR_MAX)  # type: ignore[call-arg]
        privacy = getattr(self, "privacy_", None)
        if privacy is None or privacy.is_simulation or privacy.charge is not None:
            return text
        return f"{text}  # {UNBOOKED_MARK}"
