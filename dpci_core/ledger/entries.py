"""One line of the ledger, and the bytes that its seal is over: itself and the seal of the line
before.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Literal

from dpci_core.ledger.problems import LedgerDamagedError

Kind = Literal[
    "account", "proposed", "approved", "withdrawn", "booked", "drawing", "done", "failed", "key"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One line, its fields the columns of the database; what a kind does not use is None.

    sequence: 1, 2, 3, ... without gaps.  written_at: the hour on the clock of the machine, UTC, and
    for the end of a charge that of its booking.  key_id: names the key.
    nonce: drawn for this line, so that no two lines have one seal, written in the same hour or not.
    rows: "several a person" in an account that pays where a person may have more than one row.
    account: sequence of the account a charge is booked on, or of the one whose cap a new account
    shares.
    charge: sequence of the booking that this line is about.  spent: the cost in the currency of the
    cap.
    draw: "announced" in a booking whose draw gets a line of its own ("drawing") before it begins.
    public_key: that checks the signatures from this line on, in hexadecimal; in the first line and
    where a key takes the place of another ("key").
    vouched: the signature of the key whose place is taken.
    approval: "another person" in an account whose charges need one.
    proposal: sequence of the proposal that this line approves or withdraws.
    signature: Ed25519 in hexadecimal.
    seal: SHA-256 of what is signed and of the signature.
    """

    sequence: int
    kind: str
    written_at: str
    key_id: str
    nonce: str
    person: str | None = None
    dataset: str | None = None
    schema_hash: str | None = None
    unit: str | None = None
    rows: str | None = None
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
    draw: str | None = None
    public_key: str | None = None
    vouched: str | None = None
    approval: str | None = None
    proposal: int | None = None
    signature: str = ""
    seal: str = ""

    @property
    def head(self) -> str:
        """The line in one word: sequence, key and seal, as records carry it."""
        return f"{self.sequence}:{self.key_id}:{self.seal}"


COLUMNS = tuple(field.name for field in fields(Entry))
NO_HEAD = "0"
"""The head of a ledger without entries."""
_SEALS = ("signature", "seal")


def sealed_bytes(entry: Entry, previous: str, form: str) -> bytes:
    """What a seal is over: JSON of the format, the seal before and every field that is set, by name
    in ASCII.

    JSON tells text from numbers and quotes what would end a text, so no two lines give the same
    bytes. The format stands in everything that is sealed, so that a seal says nothing about another
    program or format.
    """
    content = {
        name: value
        for name in COLUMNS
        if name not in _SEALS and (value := getattr(entry, name)) is not None
    }
    return canonical({"format": form, "previous": previous, "entry": content})


def canonical(message: dict[str, object]) -> bytes:
    """JSON in ASCII, its names in order and without blanks."""
    text = json.dumps(message, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return text.encode("ascii")


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


_WHOLE = {"sequence", "account", "charge", "proposal"}
_ALWAYS = {"sequence", "kind", "written_at", "key_id", "nonce", "signature", "seal"}
