"""One line of the ledger and its seal: an HMAC over itself and the seal of the line before."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from dpci_core.ledger.problems import LedgerDamagedError

Kind = Literal["account", "booked", "drawing", "done", "failed"]
FORMAT = "dpci-ledger-1"
"""Stands in everything that is sealed, so that a seal says nothing about another program or a later
format.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line, its fields the columns of the database; what a kind does not use is None.

    sequence: 1, 2, 3, ... without gaps.  written_at: the hour on the clock of the machine, UTC, and
    for the end of a charge that of its booking; entries of earlier versions hold microseconds.
    key_id: names the key.
    account: sequence of the account a charge is booked on, or of the one whose cap a new account
    shares.
    charge: sequence of the booking that this line is about.  spent: the cost in the currency of the
    cap.
    nonce: drawn for this line, so that no two lines have one seal, written in the same hour or not;
    None in entries of earlier versions.
    draw: "announced" in a booking whose draw gets a line of its own ("drawing") before it begins.
    """

    sequence: int
    kind: str
    written_at: str
    key_id: str
    person: str | None = None
    dataset: str | None = None
    schema_hash: str | None = None
    unit: str | None = None
    people: str | None = None
    account: int | None = None
    cap_definition: str | None = None
    cap_amount: str | None = None
    cap_epsilon: str | None = None
    cap_delta: str | None = None
    cost_definition: str | None = None
    cost_amount: str | None = None
    cost_lines: str | None = None
    spent: str | None = None
    purpose: str | None = None
    plan_hash: str | None = None
    request_id: str | None = None
    charge: int | None = None
    result_hash: str | None = None
    reason: str | None = None
    nonce: str | None = None
    draw: str | None = None
    mac: str = ""

    @property
    def head(self) -> str:
        """The line in one word: sequence, key and seal, as records carry it."""
        return f"{self.sequence}:{self.key_id}:{self.mac}"


COLUMNS = tuple(field.name for field in fields(Entry))
NO_HEAD = "0"
"""The head of a ledger without entries."""


def sealed_bytes(entry: Entry, previous: str) -> bytes:
    """What a seal is over: JSON of the format, the seal before and every field that is set, by name
    in ASCII.

    JSON tells text from numbers and quotes what would end a text, so no two lines give the same
    bytes.
    """
    content = {
        name: value
        for name in COLUMNS
        if name != "mac" and (value := getattr(entry, name)) is not None
    }
    message = {"format": FORMAT, "previous": previous, "entry": content}
    return json.dumps(message, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode(
        "ascii"
    )


def seal(entry: Entry, previous: str, key: bytes) -> str:
    """HMAC-SHA256 of a line and the seal before it, in hexadecimal."""
    return seal_of(sealed_bytes(entry, previous), key)


def seal_of(content: bytes, key: bytes) -> str:
    """HMAC-SHA256 in hexadecimal."""
    return hmac.digest(key, content, hashlib.sha256).hex()


def is_sealed(entry: Entry, previous: str, key: bytes) -> bool:
    """Whether the seal is that of this line after that one."""
    return hmac.compare_digest(seal(entry, previous, key).encode(), entry.mac.encode())


def from_rows(rows: Sequence[Sequence[object]]) -> tuple[Entry, ...]:
    """Return entries, or raise LedgerDamagedError at the first value of a type that is never
    written.
    """
    return tuple(_from_row(row) for row in rows)


def _from_row(row: Sequence[object]) -> Entry:
    for name, value in zip(COLUMNS, row, strict=True):
        right = int if name in _WHOLE else str
        if not (isinstance(value, right) or (value is None and name not in _ALWAYS)):
            raise LedgerDamagedError("entry_changed", entry=row[0], name=name)
    return Entry(**dict(zip(COLUMNS, row, strict=True)))  # type: ignore[arg-type]


_WHOLE = {"sequence", "account", "charge"}
_ALWAYS = {"sequence", "kind", "written_at", "key_id", "mac"}
