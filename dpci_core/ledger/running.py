"""The sums after the last entry, sealed with the ledger's key: a booking on a long ledger goes on
from them, and does not begin at the first entry again.

docs/ledger.md says what such a booking still finds and what only `verify` does.
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass

from dpci_core.ledger.books import Books
from dpci_core.ledger.database import last_sequence, read_some
from dpci_core.ledger.entries import Entry, digest_of
from dpci_core.ledger.key import Key
from dpci_core.ledger.verify import last_key

FORMAT = "dpci-ledger-running-2"
"""Stands in what is sealed, so that it can pass for no entry."""
CHECKED_WHOLE = 1_000
"""A ledger of so many entries is checked from the first on at each booking."""
WINDOW = 500
"""Entries of a longer one that each booking checks besides, in turn."""


@dataclass(frozen=True, slots=True)
class Running:
    """Where a booking goes on.

    books: the accounts with their sums; charges are looked up.
    last: the last entry.
    n_checked: entries up to which the turn has come.
    """

    books: Books
    last: Entry
    n_checked: int


def keep(
    connection: sqlite3.Connection, key: Key, books: Books, last: Entry, n_checked: int
) -> None:
    """Put the sums after the last entry into the open transaction."""
    content = json.dumps(
        {
            "format": FORMAT,
            "head": last.head,
            "n_checked": n_checked,
            "accounts": digest_of(_declared(connection)),
            "sums": books.sums,
        },
        sort_keys=True,
    )
    connection.execute(
        "INSERT OR REPLACE INTO running (one, content, mac) VALUES (1, ?, ?)",
        (content, key.seal_text(content.encode())),
    )


def go_on(connection: sqlite3.Connection, key: Key) -> Running | None:
    """Where to go on, None where the whole ledger has to be checked: it is short, or something is
    not as it was left, which the whole check names.
    """
    n_entries = last_sequence(connection)
    kept = connection.execute("SELECT content, mac FROM running").fetchone()
    if n_entries <= CHECKED_WHOLE or kept is None:
        return None
    content, mac = map(str, kept)
    if not key.holds(content.encode(errors="replace"), mac):
        return None
    state, declared = json.loads(content), _declared(connection)
    (last,) = sealed(connection, key, "sequence = ?", n_entries) or (None,)
    if last is None or last.head != state["head"] or digest_of(declared) != state["accounts"]:
        return None
    low = max(state["n_checked"], _n_unsigned(declared))
    high = min(low + WINDOW, n_entries)
    if not _is_whole(connection, key, low, high):
        return None
    accounts = (entry for entry in declared if entry.kind == "account")
    books = Books.with_sums(accounts, state["sums"])
    return Running(books, last, high if high < n_entries else 0)


def entries_since(
    connection: sqlite3.Connection, key: Key, sequence: int, last: int
) -> tuple[Entry, ...] | None:
    """The entries after one that was checked, up to the last one, whose own seal was checked: read
    by their numbers, without an index. None where one is missing or changed.

    Of what an earlier version sealed the hash of it all tells where one of its entries is checked.
    """
    low = max(sequence, _n_unsigned(_declared(connection)))
    found = _following(connection, key, low, last)
    if found is None:
        return None
    return (*read_some(connection, "sequence > ? AND sequence <= ?", sequence, low), *found)


def _declared(connection: sqlite3.Connection) -> tuple[Entry, ...]:
    """The caps, and the keys that check what others sealed."""
    return read_some(connection, "kind IN ('account', 'key')")


def _n_unsigned(declared: tuple[Entry, ...]) -> int:
    """How many entries an earlier version sealed with a secret, which a signature took over."""
    return next((entry.sequence - 1 for entry in declared if entry.history is not None), 0)


def _is_whole(connection: sqlite3.Connection, key: Key, low: int, high: int) -> bool:
    """Whether the entries after `low` up to `high` follow one another: in turn all do, up to the
    last one of the ledger, whose seal is checked at each booking.
    """
    return _following(connection, key, low, high) is not None


def _following(
    connection: sqlite3.Connection, key: Key, low: int, high: int
) -> tuple[Entry, ...] | None:
    """The entries after `low` up to `high`, None unless each follows the one before."""
    previous = "".join(entry.mac for entry in read_some(connection, "sequence = ?", low))
    found = read_some(connection, "sequence > ? AND sequence <= ?", low, high)
    if [entry.sequence for entry in found] != list(range(low + 1, high + 1)):
        return None
    for entry in found:
        if not key.follows(entry, previous):
            return None
        previous = entry.mac
    return found


def sealed(
    connection: sqlite3.Connection, key: Key, which: str, *values: int | str
) -> tuple[Entry, ...] | None:
    """Some entries, each the one that was written at its place after the one before; else None."""
    found = read_some(connection, which, *values)
    before = dict(
        connection.execute(
            "SELECT sequence + 1, mac FROM entries WHERE sequence IN "
            f"(SELECT sequence - 1 FROM entries WHERE {which})",
            values,
        ).fetchall()
    )
    for entry in found:
        previous = before.get(entry.sequence, "" if entry.sequence == 1 else None)
        if not isinstance(previous, str) or not _holds(connection, key, entry, previous):
            return None
    return found


def _holds(connection: sqlite3.Connection, key: Key, entry: Entry, previous: str) -> bool:
    """Whether the key of its time sealed an entry; the keys of others stand in the hash of what was
    declared.
    """
    if entry.key_id == key.key_id:
        return key.is_sealed(entry, previous)
    if entry.signature is None:
        moved = read_some(connection, "history IS NOT NULL AND sequence > ?", entry.sequence)
        return bool(moved) and moved[0].history == digest_of(
            read_some(connection, "sequence < ?", moved[0].sequence)
        )
    named = read_some(connection, "public_key IS NOT NULL AND sequence <= ?", entry.sequence)
    key_then = last_key(named)
    return key_then is not None and key_then.is_sealed(entry, previous)
