"""Whose cap a new account is under: the same people never get a second one unasked."""

from __future__ import annotations

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger.amounts import Cap
from dpci_core.ledger.problems import SamePeopleQuestionError
from dpci_core.ledger.state import Account, LedgerState, whom


def check_declared(cap: Cap) -> None:
    """An amount that says it comes from (epsilon, delta) must be the one that does."""
    if (
        cap.epsilon is not None
        and cap.delta is not None
        and cap != Cap.approx(cap.epsilon, cap.delta, definition=cap.definition)
    ):
        raise LedgerRuleError("cap_not_converted", cap=cap)


def shared_account(
    state: LedgerState, name: str, schema_hash: str, same_people_as: str | None, other_people: bool
) -> Account | None:
    """Return the account whose cap a new one shares, None if its people are others.

    Args:
        state: of the ledger as it is.
        name: of the new account's data set.
        schema_hash: of its declared columns.
        same_people_as: data set whose people these are, all or some of them; None unless said.
        other_people: whether it was said that they are others.

    Raises:  SamePeopleQuestionError until one of both is said; LedgerRuleError.
    """
    namesakes = state.named(name)
    if any(account.schema_hash == schema_hash for account in namesakes):
        raise LedgerRuleError("dataset_exists", dataset=namesakes[0].dataset)
    if same_people_as is not None and other_people:
        raise LedgerRuleError("same_people_and_others")
    if same_people_as is None and not other_people:
        if state.accounts:
            known = dict.fromkeys(account.dataset for account in namesakes or state.accounts)
            raise SamePeopleQuestionError(name, tuple(known))
        return None
    if same_people_as is None:
        if namesakes:
            raise LedgerRuleError("name_taken", dataset=namesakes[0].dataset)
        return None
    other = state.pool(same_people_as)
    if namesakes and namesakes[0].pool_id != other.pool_id:
        raise LedgerRuleError(
            "name_of_other_people", dataset=namesakes[0].dataset, other=other.dataset
        )
    return other


def shared_cap(other: Account, cap: Cap | None, needs_approval: bool) -> Cap:
    """The cap of the same people; another one, or approval where it has none, is refused."""
    if needs_approval and not other.needs_approval:
        raise LedgerRuleError("cap_without_approval", dataset=other.dataset)
    if cap is not None and cap != other.cap:
        raise LedgerRuleError("another_cap", dataset=other.dataset, cap=other.cap)
    return other.cap


def check_same_unit(other: Account, unit: str, *, several_rows: bool) -> None:
    """Raise LedgerRuleError unless an account of the same people protects the same."""
    if (unit, several_rows) != (other.unit, other.several_rows):
        asked = whom(unit, several_rows=several_rows)
        raise LedgerRuleError("unit_differs", unit=asked, wanted=other.protected)
