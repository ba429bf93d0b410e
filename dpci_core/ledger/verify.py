"""Whether a ledger is what was written: every seal, every total, and the heads that records carried
away.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.errors import Finding, LedgerRuleError
from dpci_core.ledger.entries import NO_HEAD, Entry
from dpci_core.ledger.key import PublicKey
from dpci_core.ledger.problems import LedgerDamagedError
from dpci_core.ledger.state import LedgerState

HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{16}):([0-9a-f]{64})")
_MOST_BYTES = 100_000_000
_TO_THE_HOUR = len("2026-03-01T12")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What was found, as codes and facts; `report.refusals.said` has the sentences.

    problems: what is wrong with the ledger.
    record_problems: with the given records, where the ledger itself is whole.
    remarks: what is only unusual.
    checked_with: whose key the seals were held against; None where there was nothing to check.
    """

    problems: tuple[Finding | LedgerDamagedError, ...]
    n_entries: int
    n_records: int = 0
    record_problems: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()
    checked_with: Finding | None = None

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong, neither with the ledger nor with a record."""
        return not self.problems and not self.record_problems

    @property
    def verdict(self) -> Finding:
        """The outcome of it all."""
        given = {"n_entries": self.n_entries, "n_records": self.n_records}
        if self.problems:
            return Finding("ledger_or_record_changed" if self.n_records else "ledger_changed")
        if self.record_problems:
            return Finding("record_changed", found=len(self.record_problems), **given)
        if not self.n_entries:
            return Finding("ledger_empty")
        if not self.n_records:
            return Finding("ledger_whole", n_entries=self.n_entries)
        return Finding("ledger_whole_with_records", **given)


@dataclass(frozen=True, slots=True)
class RecordedHead:
    """The end of the ledger as a record saw it: whatever is there now must still contain this
    entry.

    Args:
        head: as `Ledger.head` and `Charge.head` give it.
        source: names the record in sentences.
        result_hash: SHA-256 of the record's file, which a charge of the ledger must have as its
            result; None where only the head is at hand.
    """

    head: str
    source: str = "a record"
    result_hash: str | None = None

    def __post_init__(self) -> None:
        if self.head != NO_HEAD and not (isinstance(self.head, str) and HEAD.fullmatch(self.head)):
            raise LedgerRuleError("no_head", source=self.source)

    @property
    def sequence(self) -> int:
        """The number of the entry, 0 for an empty ledger."""
        return int(self.head.partition(":")[0])

    @classmethod
    def from_record(cls, path: Path) -> RecordedHead:
        """Read a release.json."""
        try:
            with path.open("rb") as file:
                content = file.read(_MOST_BYTES)
        except OSError as error:
            raise LedgerRuleError("record_unreadable", path=path, problem=error.strerror) from None
        return cls.from_content(content, source=str(path))

    @classmethod
    def from_content(cls, content: bytes, *, source: str) -> RecordedHead:
        """Read `ledger.head` of the bytes of a release.json, and take their SHA-256."""
        try:
            head = json.loads(content)["ledger"]["head"]
        except (ValueError, LookupError, TypeError, RecursionError):
            head = ""
        return cls(
            head if isinstance(head, str) else "", source, hashlib.sha256(content).hexdigest()
        )


def broken_seal(entries: Sequence[Entry]) -> Finding | None:
    """The first entry that does not follow from the one before, signed by the key of its time; None
    if all do.
    """
    previous, by = "", _named(entries[0]) if entries else None
    for place, entry in enumerate(entries, start=1):
        if entry.sequence != place:
            return Finding("entry_missing", entry=place)
        if entry.kind == "key":
            if place == 1 or by is None or not by.vouches(entry, previous):
                return Finding("seal_broken", entry=place)
            by = _named(entry)
        if by is None or entry.key_id != by.key_id:
            wanted = "none" if by is None else by.key_id
            return Finding("entry_of_another_key", entry=place, found=entry.key_id, wanted=wanted)
        if not by.is_sealed(entry, previous):
            return Finding("seal_broken", entry=place)
        previous = entry.seal
    return None


def _named(entry: Entry) -> PublicKey | None:
    """The public key that an entry names."""
    try:
        return PublicKey.of(entry.public_key or "")
    except LedgerRuleError:
        return None


def last_key(entries: Sequence[Entry]) -> PublicKey | None:
    """The public key that checks what is signed next; None where nothing is signed yet."""
    named = [entry for entry in entries if entry.public_key is not None]
    return _named(named[-1]) if named else None


def check_entries(entries: Sequence[Entry], key: PublicKey) -> LedgerState:
    """Return the state after entries that are all in order, or raise LedgerDamagedError.

    Args:
        entries: from the first to the last.
        key: that has to be the one which signs now.
    """
    problem = broken_seal(entries)
    own = last_key(entries)
    if problem is None and entries and own != key:
        place, found = entries[-1].sequence, entries[-1].key_id
        problem = Finding("entry_of_another_key", entry=place, found=found, wanted=key.key_id)
    if problem is not None:
        raise LedgerDamagedError("not_trusted", problem=problem)
    return LedgerState.of(entries)


def missing_head(entries: Sequence[Entry], record: RecordedHead) -> Finding | None:
    """That the entry that a record was written after is no longer in the ledger, if so."""
    if record.head == NO_HEAD:
        return None
    named = {"source": record.source, "entry": record.sequence}
    if record.sequence > len(entries):
        return Finding("entries_removed", n_entries=len(entries), **named)
    if entries[record.sequence - 1].head != record.head:
        return Finding("entry_replaced", **named)
    return None


def unknown_result(entries: Sequence[Entry], record: RecordedHead) -> Finding | None:
    """That no charge has the file of a record as its result, if so.

    Only the hash decides: what an edited file says of its own charge counts for nothing.
    """
    results = {entry.result_hash for entry in entries if entry.kind == "done"}
    if record.result_hash is None or record.result_hash in results:
        return None
    return Finding("result_unknown", source=record.source, digest=record.result_hash[:12])


def clock_remarks(entries: Sequence[Entry]) -> list[Finding]:
    """Each entry dated an hour or more before an earlier one.

    The order is that of the numbers, so nothing is lost. What becomes of a charge has the time of
    its booking.
    """
    remarks, latest = [], ""
    for entry in entries:
        hour = entry.written_at[:_TO_THE_HOUR]
        if entry.kind not in ("drawing", "done", "failed") and hour < latest:
            dated = {"dated": entry.written_at, "latest": latest}
            remarks.append(Finding("clock_set_back", entry=entry.sequence, **dated))
        latest = max(latest, hour)
    return remarks
