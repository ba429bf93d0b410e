"""Errors of the ledger that a caller may want to tell apart; each message says what to do."""

from __future__ import annotations

from dpci_core.base.errors import LedgerError


class UnknownDatasetError(LedgerError):
    """No account has this name."""


class SchemaChangedError(LedgerError):
    """The data set has accounts, but none with this schema hash: are these still the same
    people?
    """

    def __init__(self, dataset: str, schema_hash: str) -> None:
        super().__init__(
            f"The data set {dataset!r} was declared with another schema, so nothing was booked. If "
            "the new schema describes the same people, add it as the same people: it shares their "
            "budget. If they are other people, create a data set of another name."
        )
        self.dataset = dataset
        self.schema_hash = schema_hash


class SamePeopleQuestionError(LedgerError):
    """A new account beside others needs an answer: the same people as one of `candidates`, or other
    people?
    """

    def __init__(self, dataset: str, candidates: tuple[str, ...]) -> None:
        super().__init__(
            f"Are the people in {dataset!r} the same as in {' or '.join(map(repr, candidates))}, "
            "all or some of them? Then name that data set: they share one budget. If they are "
            "other people, say so; the answer is kept."
        )
        self.dataset = dataset
        self.candidates = candidates


class LedgerBusyError(LedgerError):
    """Another process held the ledger for too long; trying again is safe."""


class LedgerDamagedError(LedgerError):
    """The file, its entries or its key are not what this program wrote; nothing is booked on it."""
