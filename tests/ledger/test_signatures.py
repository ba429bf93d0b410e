"""Whoever has the public key can check a ledger, and only whoever has the other can write one."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import Ledger, LedgerDamagedError, PublicKey
from dpci_core.ledger.entries import sealed_bytes
from dpci_core.ledger.key import SIGNED, SigningKey, seal_of
from tests.ledger.test_anchor import beside
from tests.ledger.test_faults import book, change, opened, posix
from tests.ledger_vectors import FILE, vectors
from tests.refusals import refuses

VECTORS = json.loads(FILE.read_text(encoding="ascii"))


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of keys of this test's own."""
    folder = tmp_path / "keys"
    monkeypatch.setenv("DPCI_LEDGER_KEYS", str(folder))
    return folder


@pytest.fixture
def ledger(tmp_path: Path, keys: Path) -> Ledger:
    (tmp_path / "desk").mkdir()
    return opened(tmp_path / "desk" / "ledger.sqlite")


def codes(found) -> list[str]:
    return [problem.code for problem in found.problems]


# --- the format -----------------------------------------------------------------------------------


def test_a_stranger_checks_the_vectors_with_the_standard_library_and_an_ed25519() -> None:
    """As the package `dpci_core.ledger` says it, without any code of ours."""
    public = bytes.fromhex(VECTORS["public_key"])
    assert hashlib.sha256(public).hexdigest()[:16] == VECTORS["key_id"]
    assert VECTORS["entries"][0]["entry"]["public_key"] == public.hex()
    previous, key_id = "", VECTORS["key_id"]
    for number, row in enumerate(VECTORS["entries"], start=1):
        entry = row["entry"]
        if entry["kind"] == "key":
            agreed = {name: value for name, value in entry.items() if name != "vouched"}
            message = {"format": "dpci-ledger-1-next-key", "previous": previous, "entry": agreed}
            content = json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")
            vouched = bytes.fromhex(entry["vouched"])
            Ed25519PublicKey.from_public_bytes(public).verify(vouched, content)
            public = bytes.fromhex(entry["public_key"])
            key_id = hashlib.sha256(public).hexdigest()[:16]
        message = {"format": "dpci-ledger-1", "previous": previous, "entry": entry}
        signed = json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")
        assert (signed.decode(), entry["sequence"]) == (row["signed"], number)
        Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(row["signature"]), signed)
        previous = hashlib.sha256(signed + row["signature"].encode()).hexdigest()
        assert row["seal"] == previous
        assert row["head"] == f"{number}:{key_id}:{previous}"
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(public).verify(bytes(64), signed)


def test_the_program_writes_the_vectors(tmp_path: Path) -> None:
    assert vectors(tmp_path) == VECTORS


# --- checking without the secret ------------------------------------------------------------------


def test_no_secret_is_needed_to_check(ledger: Ledger, keys: Path) -> None:
    shutil.rmtree(keys)
    own = ledger.public_key()
    found = ledger.verify()
    assert (found.is_good, found.checked_with.code) == (True, "checked_with_named")
    found = ledger.verify(public_key=own)
    assert (found.is_good, found.checked_with.code) == (True, "checked_with_pinned")
    with refuses(LedgerDamagedError, match="is missing"):
        book(ledger, "second")


def test_a_ledger_written_anew_with_another_key_is_told_by_the_pinned_one(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ledger.public_key()
    (tmp_path / "elsewhere").mkdir()
    with monkeypatch.context() as patch:
        patch.setenv("DPCI_LEDGER_KEYS", str(tmp_path / "elsewhere" / "keys"))
        forged = opened(tmp_path / "elsewhere" / "ledger.sqlite")
    for end in ("", ".head"):
        shutil.copy(beside(forged, end), ledger.path.parent)
    for end in ("-wal", "-shm"):
        beside(ledger, end).unlink(missing_ok=True)
    assert ledger.verify().is_good  # a key that the ledger names itself
    assert codes(ledger.verify(public_key=own)) == ["pinned_key_differs"]
    with refuses(LedgerDamagedError, match="is missing"):
        book(ledger, "second")
    beside(ledger, "").unlink()
    assert codes(Ledger(ledger.path).verify(public_key=own)) == [
        "entries_removed",
        "pinned_key_differs",
    ]


def edited(ledger: Ledger, sequence: int) -> None:
    """Another person in one entry, by somebody without the key who makes its seal anew, and those
    of later entries.
    """
    entries, strangers = list(ledger.entries()), SigningKey(bytes(32))
    previous = entries[sequence - 2].seal if sequence > 1 else ""
    entries[sequence - 1] = replace(entries[sequence - 1], person="Eve")
    statements = [f"UPDATE entries SET person = 'Eve' WHERE sequence = {sequence}"]
    for entry in entries[sequence - 1 :]:
        made = strangers.sealed(entry, previous)
        previous = made.seal
        statements.append(
            f"UPDATE entries SET seal = '{made.seal}', signature = '{made.signature}' "
            f"WHERE sequence = {made.sequence}"
        )
    guards = _rows(ledger, "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    drops = [f"DROP TRIGGER {name}" for name, _ in guards]
    change(ledger, *drops, *statements, *(sql for _, sql in guards))


def _rows(ledger: Ledger, query: str) -> list[tuple[str, ...]]:
    connection = sqlite3.connect(ledger.path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.parametrize("sequence", [1, 2, 3])
def test_seals_that_anybody_can_compute_do_not_pass_for_signed_ones(
    ledger: Ledger, sequence: int
) -> None:
    book(ledger, "second")
    edited(ledger, sequence)
    beside(ledger, ".head").write_text("dpci-ledger-head 0 0\n")
    entry = ledger.entries()[sequence - 1]
    previous = "" if sequence == 1 else ledger.entries()[sequence - 2].seal
    assert entry.seal == seal_of(sealed_bytes(entry, previous, SIGNED), entry.signature)
    assert codes(ledger.verify()) == ["seal_broken"]
    with refuses(LedgerDamagedError, match="was changed after it was written"):
        book(ledger, "third")
    beside(ledger, ".head").unlink()
    with refuses(LedgerDamagedError, match="was changed after it was written"):
        ledger.adopt()


@pytest.mark.parametrize("text", ["", "x", "0" * 63, "dpci-ledger-key " + "0" * 64])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with refuses(LedgerRuleError, match="64 hexadecimal digits"):
        PublicKey.of(text)


def test_a_signature_is_over_its_bytes_and_by_its_key_alone() -> None:
    key = SigningKey(bytes(range(32)))
    signature = key.sign(b"content")
    assert key.public.holds(b"content", signature)
    assert not key.public.holds(b"contents", signature)
    assert not key.public.holds(b"content", signature.upper())
    assert not key.public.holds(b"content", "")
    assert not SigningKey(bytes(32)).public.holds(b"content", signature)
    assert key.secret.hex() not in repr(key)


# --- where the key is -----------------------------------------------------------------------------


@posix
def test_the_key_is_apart_from_the_ledger_and_for_its_owner_alone(
    ledger: Ledger, keys: Path
) -> None:
    (path,) = keys.iterdir()
    assert path == ledger.key_path == keys / f"{ledger.public_key().key_id}.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(keys.stat().st_mode) == 0o700
    assert not list(ledger.path.parent.glob("*.key"))
    assert os.path.realpath(ledger.path) in path.read_text()


def test_each_ledger_has_a_key_of_its_own_and_may_be_moved(
    ledger: Ledger, keys: Path, tmp_path: Path
) -> None:
    opened(tmp_path / "second.sqlite")
    assert len(list(keys.iterdir())) == 2
    (tmp_path / "moved").mkdir()
    for path in ledger.path.parent.iterdir():
        path.rename(tmp_path / "moved" / path.name)
    moved = Ledger(tmp_path / "moved" / ledger.path.name)
    assert book(moved, "second").is_new
    assert moved.verify().is_good
