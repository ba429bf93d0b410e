"""A key takes the place of another: whoever had the old one can do nothing more with it."""

from __future__ import annotations

import shutil
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import Ledger, LedgerDamagedError, page, running, verify
from dpci_core.ledger import ledger as ledger_module
from dpci_core.ledger.database import add_entry
from dpci_core.ledger.entries import COLUMNS, Entry
from dpci_core.ledger.key import Key, SigningKey, read_key
from dpci_core.ledger.keyring import Keyring
from tests.ledger.test_anchor import beside
from tests.ledger.test_faults import book, create, opened
from tests.ledger.test_signatures import codes, of_version_6
from tests.ledger_lab import charge
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


@pytest.fixture
def moved(tmp_path: Path) -> Ledger:
    """A ledger of an earlier version that is signed from its eighth entry on."""
    (tmp_path / "old").mkdir()
    made = of_version_6(tmp_path / "old" / "ledger.sqlite")
    made.rotate_key(person="Ada")
    return made


def every_booking_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "CHECKED_WHOLE", 2)
    monkeypatch.setattr(ledger_module, "CHECKED_WHOLE", 2)
    monkeypatch.setattr(running, "WINDOW", 2)


def added(ledger: Ledger, entry: Entry) -> None:
    """An entry that somebody put into the file, who adjusts the `.head` file, too."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    add_entry(connection, entry)
    connection.close()
    beside(ledger, ".head").unlink(missing_ok=True)


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
        booked, sequence=4, request_id="more", signature=None, mac="", key_id=change.key_id
    )
    for entry in (line, replace(line, key_id=stolen.key_id)):
        folder = ledger.path.parent.parent / entry.key_id
        shutil.copytree(ledger.path.parent, folder)
        forged = Ledger(folder / ledger.path.name, key_path=ledger.key_path)
        added(forged, stolen.sealed(entry, change.mac))
        assert len(forged.verify().problems) == 1
        with refuses(LedgerDamagedError, match="Entry 4 was"):
            book(forged, "next")


def named_by(
    ledger: Ledger, key: SigningKey, *, agreed: Key, sealed: Key, history: str | None = None
) -> Entry:
    """An entry that names a key, agreed to and sealed by whom it may be."""
    last = ledger.entries()[-1]
    entry = Entry(
        sequence=last.sequence + 1,
        kind="key",
        written_at=last.written_at,
        key_id=key.key_id,
        person="Eve",
        public_key=key.public.text,
        history=history,
    )
    return sealed.sealed(agreed.agreed(entry, last.mac), last.mac)


def test_only_the_present_key_names_the_next_and_only_with_its_consent(ledger: Ledger) -> None:
    """Nor can a forger's ledger end with the key of somebody else, who would go on with it."""
    own, strangers = read_key(ledger.key_path), SigningKey(bytes(32))
    assert isinstance(own, SigningKey)
    for agreed, sealed, named in (
        (strangers, strangers, strangers),
        (strangers, own, own),
        (own, own, strangers),
        (own, strangers, own),
    ):
        entry = named_by(ledger, named, agreed=agreed, sealed=sealed)
        assert verify.broken_seal([*ledger.entries(), entry]).code == "seal_broken"
    history = verify.digest_of(ledger.entries())  # of a ledger that is signed already
    entry = named_by(ledger, strangers, agreed=own, sealed=strangers, history=history)
    assert verify.broken_seal([*ledger.entries(), entry]).code == "seal_broken"
    entry = named_by(ledger, strangers, agreed=own, sealed=strangers)
    assert verify.broken_seal([*ledger.entries(), entry]) is None


def test_any_field_of_an_entry_that_names_a_key_is_sealed(ledger: Ledger, moved: Ledger) -> None:
    ledger.rotate_key(person="Ada")
    secret = read_key(beside(moved, ".key"))
    for entries, held in ((ledger.entries(), None), (moved.entries(), secret)):
        assert verify.broken_seal(entries, held) is None
        last = entries[-1]
        for name in COLUMNS:
            now = getattr(last, name)
            other = now + 1 if isinstance(now, int) else ("1" if now is None else f"{now}0")
            changed = [*entries[:-1], replace(last, **{name: other})]
            assert verify.broken_seal(changed, held) is not None, name


def test_a_long_ledger_goes_on_after_a_change_of_keys(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_booking_goes_on(monkeypatch)
    book(ledger, "second")
    new = ledger.rotate_key(person="Ada")
    monkeypatch.setattr(ledger_module, "check_entries", None)
    for k in range(4):
        book(ledger, f"later {k}")
    assert not book(ledger, "second").is_new
    assert ledger.finish(3, result_hash="r").state == "done"
    assert ledger.verify(public_key=new).is_good


# --- from a secret to signatures ------------------------------------------------------------------


def test_a_ledger_of_an_earlier_version_is_signed_from_here_on(moved: Ledger) -> None:
    *before, change = moved.entries()
    new = moved.public_key()
    assert (change.sequence, change.kind, change.key_id) == (8, "key", new.key_id)
    assert {entry.signature for entry in before} == {None}
    assert moved.finish(7, result_hash="r").state == "done"
    assert charge(moved, "more").is_new
    assert moved.verify().is_good
    assert moved.verify(public_key=new).is_good
    beside(moved, ".key").unlink()
    assert moved.verify(public_key=new).is_good  # the signature vouches for what was before
    assert codes(moved.verify()) == ["old_secret_missing"]
    assert charge(moved, "still").is_new


@pytest.mark.parametrize("has_secret", [True, False])
def test_what_was_before_the_signatures_is_not_edited_unseen(
    moved: Ledger, has_secret: bool
) -> None:
    new = moved.public_key()
    if not has_secret:
        beside(moved, ".key").unlink()
    connection = sqlite3.connect(moved.path, isolation_level=None)
    guard = "SELECT sql FROM sqlite_master WHERE name = 'entries_are_never_changed'"
    (sql,) = connection.execute(guard).fetchone()
    connection.execute("DROP TRIGGER entries_are_never_changed")
    connection.execute("UPDATE entries SET person = 'Eve' WHERE sequence = 2")
    connection.execute(sql)
    connection.close()
    assert codes(moved.verify(public_key=new)) == ["seal_broken"]
    with refuses(LedgerDamagedError, match="was changed"):
        book(moved, "more")


def test_nobody_without_the_secret_moves_a_ledger_to_a_key_of_their_own(tmp_path: Path) -> None:
    ledger = of_version_6(tmp_path / "ledger.sqlite")
    strangers = SigningKey(bytes(32))
    entries = ledger.entries()
    history = verify.digest_of(entries)
    entry = named_by(ledger, strangers, agreed=strangers, sealed=strangers, history=history)
    secret = read_key(beside(ledger, ".key"))
    assert verify.broken_seal([*entries, entry], secret).code == "seal_broken"
    added_to_newest(ledger, entry)
    assert "seal_broken" in codes(ledger.verify())
    with refuses(LedgerDamagedError, match="is missing"):
        book(ledger, "more")


def added_to_newest(ledger: Ledger, entry: Entry) -> None:
    create(ledger, "Others", other_people=True)
    last = ledger.entries()[-1]
    strangers = SigningKey(bytes(32))
    entry = replace(
        entry, sequence=last.sequence + 1, history=verify.digest_of(ledger.entries()), vouched=None
    )
    added(ledger, strangers.sealed(strangers.agreed(entry, last.mac), last.mac))


def test_a_long_ledger_goes_on_after_it_was_signed(
    moved: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    every_booking_goes_on(monkeypatch)
    monkeypatch.setattr(ledger_module, "check_entries", None)
    for k in range(4):
        charge(moved, f"later {k}")
    assert not charge(moved, "later 1").is_new
    assert moved.finish(7, result_hash="r").state == "done"  # booked under the secret
    assert moved.verify().is_good


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
    ledger = of_version_6(tmp_path / "ledger.sqlite")
    with monkeypatch.context() as patch:
        patch.setattr(page, "add_entry", died)
        with pytest.raises(KeyboardInterrupt):
            ledger.rotate_key(person="Ada")
    assert charge(ledger, "more").is_new
    ledger.rotate_key(person="Ada")
    assert ledger.verify().is_good


def died(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("link", ["ledger.sqlite", ""], ids=["file", "folder"])
def test_a_link_does_not_lead_a_signed_ledger_back_to_a_secret(
    ledger: Ledger, tmp_path: Path, link: str
) -> None:
    """Whoever may write the folder lays a link to a ledger that a secret of theirs seals."""
    path, folder = ledger.path, tmp_path / "desk"
    book(ledger, "second")
    shutil.rmtree(folder)
    (tmp_path / "forged").mkdir()
    of_version_6(tmp_path / "forged" / "ledger.sqlite")
    if link:
        folder.mkdir()
        path.symlink_to(tmp_path / "forged" / "ledger.sqlite")
        shutil.copy2(tmp_path / "forged" / "ledger.sqlite.key", beside(ledger, ".key"))
    else:
        folder.symlink_to(tmp_path / "forged")
    with refuses(LedgerDamagedError, match="signed"):
        charge(Ledger(path), "more")


def test_where_a_moved_ledger_is_signed_no_secret_takes_its_place(
    ledger: Ledger, tmp_path: Path
) -> None:
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
        of_version_6(there.path)
        with refuses(LedgerDamagedError, match="signed"):
            charge(Ledger(there.path), "more")
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

    def busy(self: Keyring, key: Key) -> None:
        if key.public != before:
            raise LedgerRuleError("reading_only", path=ledger.path)
        noted(self, key)

    monkeypatch.setattr(Keyring, "note", busy)
    made = ledger.rotate_key(person="Ada")
    assert made == ledger.public_key() != before
