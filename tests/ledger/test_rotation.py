"""A key takes the place of another: whoever had the old one can do nothing more with it."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import Ledger, LedgerDamagedError, transaction, verify
from dpci_core.ledger.database import add_entry
from dpci_core.ledger.entries import COLUMNS, Entry
from dpci_core.ledger.key import SigningKey, read_key
from dpci_core.ledger.keyring import Keyring
from tests.ledger.test_anchor import beside
from tests.ledger.test_faults import book, create, opened
from tests.ledger.test_signatures import codes
from tests.refusals import refuses


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of keys of each test's own."""
    monkeypatch.setenv("DPCI_LEDGER_KEYS", str(tmp_path / "keys"))
    return tmp_path / "keys"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    (tmp_path / "desk").mkdir()
    return opened(tmp_path / "desk" / "ledger.sqlite")


def added(ledger: Ledger, entry: Entry) -> None:
    """An entry that somebody put into the file, who adjusts the `.head` file, too."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    add_entry(connection, entry)
    connection.close()
    beside(ledger, ".head").write_text("dpci-ledger-head 0 0\n")


def test_the_next_key_signs_and_the_old_one_vouches_for_it(ledger: Ledger, keys: Path) -> None:
    old = ledger.public_key()
    new = ledger.rotate_key(person="Ada")
    assert ledger.public_key() == new != old
    assert ledger.public_keys() == ((1, old), (3, new))
    assert ledger.key_path == keys / f"{new.key_id}.key"
    booked = book(ledger, "second")
    assert ledger.finish(booked.charge_id, result_hash="r").state == "done"
    ledger.finish(2, result_hash="r")  # booked when the other key signed
    assert ledger.verify(public_key=new).is_good
    assert codes(ledger.verify(public_key=old)) == ["pinned_key_replaced"]
    last = ledger.rotate_key(person="Ada")
    (keys / f"{old.key_id}.key").unlink()
    (keys / f"{new.key_id}.key").unlink()
    assert book(ledger, "third").is_new
    assert ledger.verify(public_key=last).is_good


def test_a_stolen_old_key_adds_nothing_that_verifies(ledger: Ledger) -> None:
    stolen = read_key(ledger.key_path)
    ledger.rotate_key(person="Ada")
    *_, booked, change = ledger.entries()
    line = replace(
        booked, sequence=4, request_id="more", signature="", seal="", key_id=change.key_id
    )
    for entry in (line, replace(line, key_id=stolen.key_id)):
        folder = ledger.path.parent.parent / entry.key_id
        shutil.copytree(ledger.path.parent, folder)
        forged = Ledger(folder / ledger.path.name, key_path=ledger.key_path)
        added(forged, stolen.sealed(entry, change.seal))
        assert len(forged.verify().problems) == 1
        with refuses(LedgerDamagedError, match="Entry 4 was"):
            book(forged, "next")


def named_by(ledger: Ledger, key: SigningKey, *, agreed: SigningKey, sealed: SigningKey) -> Entry:
    """An entry that names a key, agreed to and sealed by whom it may be."""
    last = ledger.entries()[-1]
    entry = Entry(
        sequence=last.sequence + 1,
        kind="key",
        written_at=last.written_at,
        key_id=key.key_id,
        person="Eve",
        nonce="0" * 32,
        public_key=key.public.text,
    )
    return sealed.sealed(agreed.agreed(entry, last.seal), last.seal)


def test_only_the_present_key_names_the_next_and_only_with_its_consent(ledger: Ledger) -> None:
    """Nor can a forger's ledger end with the key of somebody else, who would go on with it."""
    own, strangers = read_key(ledger.key_path), SigningKey(bytes(32))
    for agreed, sealed, named in (
        (strangers, strangers, strangers),
        (strangers, own, own),
        (own, own, strangers),
        (own, strangers, own),
    ):
        entry = named_by(ledger, named, agreed=agreed, sealed=sealed)
        assert verify.broken_seal([*ledger.entries(), entry]).code == "seal_broken"
    entry = named_by(ledger, strangers, agreed=own, sealed=strangers)
    assert verify.broken_seal([*ledger.entries(), entry]) is None


def test_any_field_of_an_entry_that_names_a_key_is_sealed(ledger: Ledger) -> None:
    ledger.rotate_key(person="Ada")
    entries = ledger.entries()
    assert verify.broken_seal(entries) is None
    last = entries[-1]
    for name in COLUMNS:
        now = getattr(last, name)
        other = now + 1 if isinstance(now, int) else ("1" if now is None else f"{now}0")
        changed = [*entries[:-1], replace(last, **{name: other})]
        assert verify.broken_seal(changed) is not None, name


def test_a_ledger_does_not_begin_with_a_key_that_vouches_for_itself(ledger: Ledger) -> None:
    own = read_key(ledger.key_path)
    entry = replace(named_by(ledger, own, agreed=own, sealed=own), sequence=1)
    assert verify.broken_seal([own.sealed(own.agreed(entry, ""), "")]).code == "seal_broken"


# --- where the keys are ---------------------------------------------------------------------------


def test_a_lost_key_cannot_name_the_next_one(ledger: Ledger) -> None:
    ledger.key_path.unlink()
    with refuses(LedgerDamagedError, match="is missing"):
        ledger.rotate_key(person="Ada")
    assert len(ledger.history()) == 1
    assert ledger.verify().is_good


def test_a_named_key_is_followed_by_a_named_one_in_a_new_file(tmp_path: Path, keys: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite", key_path=tmp_path / "first")
    with refuses(LedgerRuleError, match="Name a new file for the new key"):
        ledger.rotate_key(person="Ada")
    with refuses(LedgerRuleError, match="There is a .*first already"):
        ledger.rotate_key(person="Ada", new_key_path=tmp_path / "first")
    ledger.rotate_key(person="Ada", new_key_path=tmp_path / "second")
    with refuses(LedgerDamagedError, match="another key"):
        book(ledger, "second")
    assert book(Ledger(ledger.path, key_path=tmp_path / "second"), "second").is_new
    assert not keys.exists()
    with refuses(LedgerRuleError, match="no entry yet"):
        Ledger(tmp_path / "none.sqlite").rotate_key(person="Ada")


def test_one_that_dies_on_the_way_leaves_the_old_key_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    with monkeypatch.context() as patch:
        patch.setattr(transaction, "add_entry", died)
        with pytest.raises(KeyboardInterrupt):
            ledger.rotate_key(person="Ada")
    assert book(ledger, "more").is_new
    ledger.rotate_key(person="Ada")
    assert ledger.verify().is_good


def died(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("link", ["ledger.sqlite", ""], ids=["file", "folder"])
@pytest.mark.parametrize("is_empty", [True, False])
def test_a_link_does_not_lead_to_another_ledger(
    ledger: Ledger, tmp_path: Path, link: str, is_empty: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever may write the folder lays a link to a ledger of their own."""
    path, folder, forged = ledger.path, tmp_path / "desk", tmp_path / "forged"
    book(ledger, "second")
    shutil.rmtree(folder)
    forged.mkdir()
    if not is_empty:
        with monkeypatch.context() as patch:
            patch.setenv("DPCI_LEDGER_KEYS", str(tmp_path / "their keys"))
            opened(forged / "ledger.sqlite")
    elif link:
        (forged / "ledger.sqlite").touch()
    if link:
        folder.mkdir()
        path.symlink_to(forged / "ledger.sqlite")
    else:
        folder.symlink_to(forged)
    with refuses(LedgerDamagedError, match="is empty or gone" if is_empty else "is missing"):
        create(Ledger(path), "Another", other_people=True)


def test_where_a_moved_ledger_is_signed_none_is_begun_anew(ledger: Ledger, tmp_path: Path) -> None:
    """The key learns of the new place at the first booking there; also of one that it has never
    heard of, as after a stop at the end of a change of keys, and after half a line.
    """
    (file,) = (tmp_path / "keys").iterdir()
    secret = file.read_bytes().split(b"\n")[0]
    for name, left in (("first", b"\n"), ("second", b"\nledger fi")):
        file.write_bytes(secret + left)
        moved = tmp_path / name
        shutil.copytree(ledger.path.parent, moved)
        there = Ledger(moved / "ledger.sqlite")
        book(there, f"{name} there")
        shutil.rmtree(moved)
        moved.mkdir()
        with refuses(LedgerDamagedError, match="is empty or gone"):
            create(Ledger(there.path))
    assert b"ledger fi\n" not in file.read_bytes()
    assert isinstance(read_key(file), SigningKey)


def test_a_file_with_a_word_too_many_is_no_key_and_said_so_at_once(
    ledger: Ledger, tmp_path: Path
) -> None:
    (file,) = (tmp_path / "keys").iterdir()
    file.write_bytes(file.read_bytes() + b"a remark of whoever keeps this key, and the end\n")
    with refuses(LedgerDamagedError, match="is not a key of a ledger"):
        book(ledger, "more")


def test_a_change_of_keys_that_cannot_be_noted_is_one(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place of the new key is noted by the next that books."""
    before, noted = ledger.public_key(), Keyring.note

    def busy(self: Keyring, key: SigningKey) -> None:
        if key.public != before:
            raise LedgerRuleError("reading_only", path=ledger.path)
        noted(self, key)

    monkeypatch.setattr(Keyring, "note", busy)
    made = ledger.rotate_key(person="Ada")
    assert made == ledger.public_key() != before
