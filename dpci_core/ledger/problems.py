"""Errors of the ledger that a caller may want to tell apart."""

from __future__ import annotations

from dpci_core.base.errors import LedgerRuleError


class UnknownDatasetError(LedgerRuleError):
    """No account has this name."""


class SchemaChangedError(LedgerRuleError):
    """The data set has accounts, but none with this schema hash: are these still the same
    people?
    """

    def __init__(self, dataset: str, schema_hash: str) -> None:
        super().__init__("schema_changed", dataset=dataset)
        self.dataset = dataset
        self.schema_hash = schema_hash


class SamePeopleQuestionError(LedgerRuleError):
    """A new account beside others needs an answer: the same people as one of `candidates`, or other
    people?
    """

    def __init__(self, dataset: str, candidates: tuple[str, ...]) -> None:
        super().__init__(
            "same_people_or_others", dataset=dataset, others=" or ".join(map(repr, candidates))
        )
        self.dataset = dataset
        self.candidates = candidates


class DrawBegunError(LedgerRuleError):
    """Somebody draws for this charge, or has drawn."""


class NotApprovedError(LedgerRuleError):
    """Another person has to approve the charge first; nothing was booked, so nothing is drawn."""


class LedgerBusyError(LedgerRuleError):
    """Another process held the ledger for too long; trying again is safe."""


class LedgerDamagedError(LedgerRuleError):
    """The file, its entries or its key are not what this program wrote; nothing is booked on it."""
