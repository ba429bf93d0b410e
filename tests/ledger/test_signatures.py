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
from dpci_core.ledger import Ledger, LedgerDamagedError, PublicKey, running
from dpci_core.ledger import ledger as ledger_module
from dpci_core.ledger.key import SigningKey
from tests.ledger.test_anchor import beside
from tests.ledger.test_faults import book, change, create, opened, posix
from tests.ledger_vectors import FILE, vectors
from tests.refusals import refuses

VECTORS = json.loads(FILE.read_text(encoding="ascii"))
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


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
    """As docs/ledger.md says it, without any code of ours."""
    public = bytes.fromhex(VECTORS["public_key"])
    assert hashlib.sha256(public).hexdigest()[:16] == VECTORS["key_id"]
    assert VECTORS["entries"][0]["entry"]["public_key"] == public.hex()
    previous, key_id = "", VECTORS["key_id"]
    for number, row in enumerate(VECTORS["entries"], start=1):
        entry = row["entry"]
        if entry["kind"] == "key":
            agreed = {name: value for name, value in entry.items() if name != "vouched"}
            message = {"format": "dpci-ledger-2-next-key", "previous": previous, "entry": agreed}
            content = json.dumps(message, sort_keys=True, separators=(",", ":")).encode("ascii")
            vouched = bytes.fromhex(entry["vouched"])
            Ed25519PublicKey.from_public_bytes(public).verify(vouched, content)
            public = bytes.fromhex(entry["public_key"])
            key_id = hashlib.sha256(public).hexdigest()[:16]
        message = {"format": "dpci-ledger-2", "previous": previous, "entry": entry}
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
    assert ledger.verify().is_good  # as docs/ledger.md says of a key that the ledger names itself
    assert codes(ledger.verify(public_key=own)) == ["pinned_key_differs"]
    with refuses(LedgerDamagedError, match="is missing"):
        book(ledger, "second")
    beside(ledger, "").unlink()
    assert codes(Ledger(ledger.path).verify(public_key=own)) == [
        "entries_removed",
        "pinned_key_differs",
    ]


def test_a_signed_ledger_is_not_replaced_by_one_with_a_secret_beside_it(
    ledger: Ledger, keys: Path
) -> None:
    for end in ("", "-wal", "-shm", ".head"):
        beside(ledger, end).unlink(missing_ok=True)
    old = of_version_6(ledger.path)
    with refuses(LedgerDamagedError, match="somebody put another ledger in its place"):
        book(old, "more")
    assert codes(old.verify()) == ["signed_before"]
    named = Ledger(ledger.path, key_path=next(keys.iterdir()))
    with refuses(LedgerDamagedError, match="another key"):
        book(named, "more")


def edited(ledger: Ledger, sequence: int, *, all_later: bool) -> None:
    """Another person in one entry, by somebody without the key who makes its seal anew, and those
    of later entries.
    """
    entries, strangers = list(ledger.entries()), SigningKey(bytes(32))
    previous = entries[sequence - 2].mac if sequence > 1 else ""
    entries[sequence - 1] = replace(entries[sequence - 1], person="Eve")
    statements = [f"UPDATE entries SET person = 'Eve' WHERE sequence = {sequence}"]
    for entry in entries[sequence - 1 : None if all_later else sequence]:
        made = strangers.sealed(entry, previous)
        previous = made.mac
        statements.append(
            f"UPDATE entries SET mac = '{made.mac}', signature = '{made.signature}' "
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
    edited(ledger, sequence, all_later=True)
    beside(ledger, ".head").unlink()
    entry = ledger.entries()[sequence - 1]
    public = ledger.public_key()
    assert public.follows(entry, "" if sequence == 1 else ledger.entries()[sequence - 2].mac)
    assert codes(ledger.verify()) == ["seal_broken"]
    with refuses(LedgerDamagedError, match="was changed after it was written"):
        book(ledger, "third")


def test_a_long_ledger_tells_them_too(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHECKED_WHOLE", 3)
    monkeypatch.setattr(ledger_module, "CHECKED_WHOLE", 3)
    monkeypatch.setattr(running, "WINDOW", 2)
    for k in range(3):
        book(ledger, f"r{k}")
    edited(ledger, 3, all_later=False)
    with monkeypatch.context() as patch, refuses(LedgerDamagedError, match="Entry 3 was changed"):
        patch.setattr(running, "_is_whole", lambda *_: True)  # its turn is another day
        ledger.finish(3, result_hash="x")
    with refuses(LedgerDamagedError, match="was changed"):
        for k in range(4):  # in turn
            book(ledger, f"later {k}")
    assert codes(ledger.verify()) == ["seal_broken"]


@pytest.mark.parametrize("text", ["", "x", "0" * 63, "dpci-ledger-key " + "0" * 64])
def test_what_is_no_public_key_is_refused(text: str) -> None:
    with refuses(LedgerRuleError, match="64 hexadecimal digits"):
        PublicKey.of(text)


def test_a_signature_is_over_its_bytes_and_by_its_key_alone() -> None:
    key = SigningKey(bytes(range(32)))
    signature = key.seal_text(b"content")
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


# --- ledgers of an earlier version ----------------------------------------------------------------


def of_version_6(path: Path) -> Ledger:
    """The ledger that version 6 wrote, with its secret beside it."""
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / "ledger_v6.sql").read_text(encoding="utf-8"))
    connection.execute("PRAGMA user_version = 6")
    connection.execute(f"PRAGMA application_id = {0x64706369}")
    connection.close()
    secret = path.with_name(f"{path.name}.key")
    secret.write_text(
        "dpci-ledger-key 95ddfdec8405221f0b575f87a964504f3e53dafc07219f37969932528c47bf22\n"
    )
    secret.chmod(0o600)
    return Ledger(path)


def test_an_old_ledger_is_read_checked_and_booked_on_as_it_is(tmp_path: Path, keys: Path) -> None:
    ledger = of_version_6(tmp_path / "ledger.sqlite")
    before = ledger.entries()
    found = ledger.verify()
    assert (found.is_good, found.n_entries) == (True, 7)
    assert found.checked_with.code == "checked_with_secret"
    assert ledger.public_key() is None
    charge = book(ledger, "more")
    assert ledger.finish(charge.charge_id, result_hash="r").state == "done"
    assert ledger.verify().is_good
    after = ledger.entries()
    assert after[:7] == before
    assert {entry.key_id for entry in after} == {before[0].key_id}
    assert {entry.signature for entry in after} == {None}
    assert ledger.key_path == beside(ledger, ".key")
    assert not keys.exists()
    own = PublicKey(bytes(32))
    assert codes(ledger.verify(public_key=own)) == ["pinned_key_differs"]
    beside(ledger, ".key").unlink()
    assert codes(ledger.verify()) == ["key_missing"]


def test_an_edited_old_ledger_is_refused(tmp_path: Path, keys: Path) -> None:
    ledger = of_version_6(tmp_path / "ledger.sqlite")
    create(ledger, "Others", other_people=True)
    change(
        ledger,
        "DROP TRIGGER entries_are_never_changed",
        "UPDATE entries SET signature = printf('%0128d', 0) WHERE sequence = 2",
    )
    assert "seal_broken" in codes(ledger.verify())
    with refuses(LedgerDamagedError, match="Entry 2 was changed"):
        book(ledger, "more")
