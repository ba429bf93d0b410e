"""Whose cap a new account is under: the same people never get a second one unasked."""

from __future__ import annotations

from dpci_core.base.errors import LedgerError
from dpci_core.ledger.amounts import Cap
from dpci_core.ledger.books import Account, Books
from dpci_core.ledger.problems import SamePeopleQuestionError


def check_declared(cap: Cap) -> None:
    """A rho that says it comes from (epsilon, delta) must be the one that does."""
    if (
        cap.epsilon is not None
        and cap.delta is not None
        and cap != Cap.approx(cap.epsilon, cap.delta)
    ):
        raise LedgerError(f"Expected the cap {cap.sentence} to be what Cap.approx makes of it.")


def shared_account(
    books: Books, name: str, schema_hash: str, same_people_as: str | None, other_people: bool
) -> Account | None:
    """The account whose cap a new one shares, None if its people are others; raises until that is
    said.
    """
    namesakes = books.named(name)
    if any(account.schema_hash == schema_hash for account in namesakes):
        raise LedgerError(
            f"The data set {namesakes[0].dataset!r} exists already with this schema. Use it as it "
            "is; names that differ only in case, blanks or punctuation are one name."
        )
    if same_people_as is not None and other_people:
        raise LedgerError(
            "Say either that the people are the same or that they are others, not both."
        )
    if same_people_as is None and not other_people:
        if books.accounts:
            known = dict.fromkeys(account.dataset for account in namesakes or books.accounts)
            raise SamePeopleQuestionError(name, tuple(known))
        return None
    if same_people_as is None:
        if namesakes:
            raise LedgerError(
                f"The name {namesakes[0].dataset!r} belongs to other people already. Choose "
                "another name for these."
            )
        return None
    other = books.pool(same_people_as)
    if namesakes and namesakes[0].pool_id != other.pool_id:
        raise LedgerError(
            f"The name {namesakes[0].dataset!r} belongs to other people than {other.dataset!r}. "
            "Choose another name."
        )
    return other


def shared_cap(other: Account, cap: Cap | None, unit: str) -> Cap:
    """The cap of the same people; another one, or another unit, is refused."""
    if cap is not None and cap != other.cap:
        raise LedgerError(
            f"The people of {other.dataset!r} have the cap {other.cap.sentence}, which is never "
            "changed. Leave the cap out to share it."
        )
    if unit != other.unit:
        raise LedgerError(
            f"The same people share one unit. Expected unit={unit!r} to be {other.unit!r}."
        )
    return other.cap
