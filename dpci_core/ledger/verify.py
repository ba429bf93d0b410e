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

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger.books import Books
from dpci_core.ledger.entries import NO_HEAD, Entry, is_sealed
from dpci_core.ledger.key import Key
from dpci_core.ledger.old_records import caution_of
from dpci_core.ledger.problems import LedgerDamagedError

_HEAD = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{16}):([0-9a-f]{64})")
_MOST_BYTES = 100_000_000
_TO_THE_HOUR = len("2026-03-01T12")


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What was found: sentences about what is wrong, remarks on what is only unusual, and the
    number of entries.

    problems: of the ledger.  record_problems: of the given records, where the ledger itself is
    whole.
    """

    problems: tuple[str, ...]
    n_entries: int
    n_records: int = 0
    record_problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong, neither with the ledger nor with a record."""
        return not self.problems and not self.record_problems

    @property
    def sentence(self) -> str:
        """The outcome in words."""
        if self.problems and self.n_records:
            return (
                "The ledger is NOT as it was written, or a given record is edited or of another "
                "ledger. Find out which from what follows: a backup put back for nothing forgets "
                "the charges since."
            )
        if self.problems:
            return (
                "The ledger is NOT as it was written. Put the newest backup back and verify that "
                "one."
            )
        if self.record_problems:
            return (
                f"All {self.n_entries} entries are as they were written, in order, but "
                f"{len(self.record_problems)} of {self.n_records} given record(s) are NOT what was "
                "released."
            )
        if not self.n_entries:
            return "The ledger has no entries."
        reach = (
            f"It contains what {self.n_records} given record(s) were written after, and they are "
            "as released."
            if self.n_records
            else "Entries cut off its end would not show: give the release.json files of its "
            "releases."
        )
        return f"All {self.n_entries} entries are as they were written, in order. {reach}"


@dataclass(frozen=True, slots=True)
class RecordedHead:
    """The end of the ledger as a record saw it: whatever is there now must still contain this
    entry.

    Args:    head: as `Ledger.head` and `Charge.head` give it.  source: names the record in
             sentences.
             result_hash: SHA-256 of the record's file, which a charge of the ledger must have as
             its result; None where only the head is at hand.
             caution: what must be known of records of its kind.
    """

    head: str
    source: str = "a record"
    result_hash: str | None = None
    caution: str = ""

    def __post_init__(self) -> None:
        if self.head != NO_HEAD and not (isinstance(self.head, str) and _HEAD.fullmatch(self.head)):
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
            record = json.loads(content)
            head = record["ledger"]["head"]
        except (ValueError, LookupError, TypeError, RecursionError):
            record, head = {}, ""
        guarantee = record.get("guarantee")
        definition = guarantee.get("definition") if isinstance(guarantee, dict) else None
        caution = caution_of(record.get("version"), definition)
        return cls(
            head if isinstance(head, str) else "",
            source,
            hashlib.sha256(content).hexdigest(),
            caution,
        )


def broken_seal(entries: Sequence[Entry], key: Key) -> str | None:
    """A sentence about the first entry that does not follow from the one before, None if all do."""
    previous = ""
    for place, entry in enumerate(entries, start=1):
        if entry.sequence != place:
            return f"Entry {place} is missing."
        if entry.key_id != key.key_id:
            return (
                f"Entry {place} was sealed with another key ({entry.key_id}) than the one that is "
                f"here ({key.key_id}): either the wrong key file is in place, or the entry is "
                "forged. Put the ledger's own key back."
            )
        if not is_sealed(entry, previous, key.secret):
            return (
                f"Entry {place} was changed after it was written, or one before it was changed, "
                "moved or removed."
            )
        previous = entry.mac
    return None


def check_entries(entries: Sequence[Entry], key: Key) -> Books:
    """Return the books of entries that are all in order, or raise LedgerDamagedError."""
    problem = broken_seal(entries, key)
    if problem is not None:
        raise LedgerDamagedError("not_trusted", problem=problem)
    return Books.of(entries)


def missing_head(entries: Sequence[Entry], record: RecordedHead) -> str | None:
    """A sentence if the entry that a record was written after is no longer in the ledger."""
    if record.head == NO_HEAD:
        return None
    if record.sequence > len(entries):
        return (
            f"{record.source} was written when the ledger had {record.sequence} entries, and it "
            f"has {len(entries)}: entries were removed from its end, or this is an older copy or "
            "another ledger."
        )
    if entries[record.sequence - 1].head != record.head:
        return (
            f"Entry {record.sequence} is not the one that {record.source} was written after: "
            "entries were replaced, or this is another ledger."
        )
    return None


def unknown_result(entries: Sequence[Entry], record: RecordedHead) -> str | None:
    """A sentence if no charge has the file of a record as its result.

    Only the hash decides: what an edited file says of its own charge counts for nothing.
    """
    results = {entry.result_hash for entry in entries if entry.kind == "done"}
    if record.result_hash is None or record.result_hash in results:
        return None
    return (
        f"{record.source} is not what was released: no charge has its SHA-256 "
        f"({record.result_hash[:12]}…) as result. It was edited or saved anew, or never booked "
        "here, or its entry was cut off the ledger's end. If its charge is still booked, the "
        "release stopped before it noted its result: make the same request again, which draws "
        "nothing, and verify once more."
    )


def clock_remarks(entries: Sequence[Entry]) -> list[str]:
    """A sentence for each account or booking dated an hour or more before an earlier one.

    The order is that of the numbers, so nothing is lost. The end of a charge has the time of its
    booking.
    """
    remarks, latest = [], ""
    for entry in entries:
        hour = entry.written_at[:_TO_THE_HOUR]
        if entry.kind in ("account", "booked") and hour < latest:
            remarks.append(
                f"Entry {entry.sequence} is dated {entry.written_at}, before an earlier entry "
                f"({latest} h): the clock was set back."
            )
        latest = max(latest, hour)
    return remarks
