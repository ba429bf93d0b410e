"""Whether a ledger is what was written: every seal, every total, and the heads that records carried away."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dpci_core.errors import LedgerError
from dpci_core.ledger.books import Books
from dpci_core.ledger.entries import NO_HEAD, Entry, is_sealed
from dpci_core.ledger.key import Key
from dpci_core.ledger.problems import LedgerDamagedError

_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{16}):([0-9a-f]{64})")
_MOST_BYTES = 100_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What was found: sentences about what is wrong, remarks on what is only unusual, and the number of entries."""

    is_good: bool
    problems: tuple[str, ...]
    n_entries: int
    n_records: int = 0
    remarks: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if not self.is_good:
            return "The ledger is NOT as it was written. Put the newest backup back and verify that one."
        if not self.n_entries:
            return "The ledger has no entries."
        reach = (
            f"It contains what {self.n_records} given record(s) were written after."
            if self.n_records
            else "Entries cut off its end would not show: give the release.json files of its releases."
        )
        return f"All {self.n_entries} entries are as they were written, in order. {reach}"


@dataclass(frozen=True, slots=True)
class RecordedHead:
    """The end of the ledger as a record saw it: whatever is there now must still contain this entry.

    Args:    head: as `Ledger.head` and `Charge.head` give it.  source: names the record in sentences.
    """

    head: str
    source: str = "a record"

    def __post_init__(self) -> None:
        if self.head != NO_HEAD and not (isinstance(self.head, str) and _HEAD.fullmatch(self.head)):
            raise LedgerError(f"{self.source} has no head of a ledger. Name a release.json that this program wrote.")

    @property
    def sequence(self) -> int:
        """The number of the entry, 0 for an empty ledger."""
        return int(self.head.partition(":")[0])

    @classmethod
    def from_record(cls, path: Path) -> RecordedHead:
        """Read `ledger.head` of a release.json."""
        try:
            with path.open("rb") as file:
                content = file.read(_MOST_BYTES)
        except OSError as error:
            raise LedgerError(f"{path} cannot be read ({error.strerror}). Name an existing release.json.") from None
        return cls.from_content(content, source=str(path))

    @classmethod
    def from_content(cls, content: bytes, *, source: str) -> RecordedHead:
        """Read `ledger.head` of the bytes of a release.json."""
        try:
            head = json.loads(content)["ledger"]["head"]
        except (ValueError, LookupError, TypeError, RecursionError):
            head = ""
        return cls(head if isinstance(head, str) else "", source)


def broken_seal(entries: Sequence[Entry], key: Key) -> str | None:
    """A sentence about the first entry that does not follow from the one before, None if all do."""
    previous = ""
    for place, entry in enumerate(entries, start=1):
        if entry.sequence != place:
            return f"Entry {place} is missing."
        if entry.key_id != key.key_id:
            return (
                f"Entry {place} was sealed with another key ({entry.key_id}) than the one that is here ({key.key_id}): "
                f"either the wrong key file is in place, or the entry is forged. Put the ledger's own key back."
            )
        if not is_sealed(entry, previous, key.secret):
            return f"Entry {place} was changed after it was written, or one before it was changed, moved or removed."
        previous = entry.mac
    return None


def check_entries(entries: Sequence[Entry], key: Key) -> Books:
    """Return the books of entries that are all in order, or raise LedgerDamagedError."""
    problem = broken_seal(entries, key)
    if problem is not None:
        raise LedgerDamagedError(
            f"{problem} The ledger cannot be trusted, and nothing is booked on it. Put the newest backup back, and "
            f"compare it with your records: `python -m dpci_core ledger verify --against release.json ...`."
        )
    return Books.of(entries)


def missing_heads(entries: Sequence[Entry], against: Sequence[RecordedHead]) -> list[str]:
    """A sentence for each record whose entry is no longer in the ledger."""
    problems = []
    for record in against:
        if record.head == NO_HEAD:
            continue
        if record.sequence > len(entries):
            problems.append(
                f"{record.source} was written when the ledger had {record.sequence} entries, and it has "
                f"{len(entries)}: entries were removed from its end, or this is an older copy or another ledger."
            )
        elif entries[record.sequence - 1].head != record.head:
            problems.append(
                f"Entry {record.sequence} is not the one that {record.source} was written after: entries were "
                f"replaced, or this is another ledger."
            )
    return problems


def clock_remarks(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each entry dated before an earlier one; the order is that of the numbers, so nothing is lost."""
    remarks, latest = [], ""
    for entry in entries:
        if entry.written_at < latest:
            remarks.append(
                f"Entry {entry.sequence} is dated {entry.written_at}, before an earlier entry ({latest}): the clock "
                f"was set back."
            )
        latest = max(latest, entry.written_at)
    return remarks
