"""Budget that comes back is noticed: an older copy, a lost log, a ledger that vanished."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import Ledger, LedgerBusyError, LedgerDamagedError, anchor
from dpci_core.ledger import ledger as ledger_module
from dpci_core.ledger.entries import NO_HEAD, Entry
from tests.ledger.test_faults import book, create, opened, posix
from tests.refusals import refuses

ENDS = ("", "-wal", "-shm")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return opened(tmp_path / "ledger.sqlite")


def beside(ledger: Ledger, end: str) -> Path:
    return ledger.path.with_name(ledger.path.name + end)


def heads(ledger: Ledger) -> list[str]:
    return beside(ledger, ".head").read_text().split()[1:]


def put_back(ledger: Ledger, folder: Path) -> None:
    for end in ENDS:
        beside(ledger, end).unlink(missing_ok=True)
        if (kept := folder / f"{ledger.path.name}{end}").exists():
            shutil.copy(kept, ledger.path.parent)


def copy(ledger: Ledger, folder: Path) -> Path:
    folder.mkdir()
    for end in ENDS:
        if beside(ledger, end).exists():
            shutil.copy(beside(ledger, end), folder)
    return folder


def test_it_holds_the_end_after_every_booking(ledger: Ledger) -> None:
    assert heads(ledger) == [ledger.head(), ledger.head()]
    charge = book(ledger, "second")
    assert heads(ledger) == [charge.head, charge.head]
    assert book(ledger, "second").charge_id == charge.charge_id  # nothing was written
    ledger.finish(charge.charge_id, result_hash="r")
    assert heads(ledger) == [ledger.head(), ledger.head()]
    assert ledger.verify().is_good


def test_an_older_copy_is_noticed_before_anything_is_booked(ledger: Ledger, tmp_path: Path) -> None:
    kept = copy(ledger, tmp_path / "kept")
    book(ledger, "second")
    put_back(ledger, kept)
    assert not ledger.verify().is_good
    assert ledger.find("second") is None
    for write in (
        lambda: book(ledger, "third"),
        lambda: create(ledger, "Other", other_people=True),
        ledger.accounts,
    ):
        with refuses(LedgerDamagedError, match="was written when the ledger had 3 entries"):
            write()
    assert ledger.find("third") is None
    with refuses(LedgerDamagedError, match="was written when the ledger had 3 entries"):
        ledger.adopt()
    beside(ledger, ".head").unlink()  # on purpose, after the records were compared
    assert ledger.adopt() == ledger.head()
    book(ledger, "third")
    assert ledger.verify().is_good


def test_another_ledger_of_the_same_key_in_its_place_is_noticed(
    ledger: Ledger, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    twin = Ledger(tmp_path / "other" / ledger.path.name, key_path=ledger.key_path)
    beside(twin, ".head").write_text("dpci-ledger-head 0 0\n")
    create(twin)
    book(twin, "first")
    book(twin, "second")
    put_back(ledger, tmp_path / "other")
    with refuses(LedgerDamagedError, match="is not the one that"):
        book(ledger, "third")


def test_a_lost_write_ahead_log_is_noticed(ledger: Ledger) -> None:
    reader = ledger._database._connect_to_read()  # keeps the log from being written back
    for k in range(3):
        book(ledger, f"more {k}")
    assert beside(ledger, "-wal").stat().st_size > 0
    content = ledger.path.read_bytes()
    reader.close()
    for end in ("-wal", "-shm"):
        beside(ledger, end).unlink(missing_ok=True)
    ledger.path.write_bytes(content)
    assert ledger.find("more 2") is None
    assert not ledger.verify().is_good
    with refuses(LedgerDamagedError, match="entries"):
        book(ledger, "after")


@pytest.mark.parametrize("gone", [("",), ("", ".head")])
def test_a_ledger_that_vanished_beside_its_key_is_not_begun_anew(
    ledger: Ledger, gone: tuple[str, ...]
) -> None:
    for end in (*gone, "-wal", "-shm"):
        beside(ledger, end).unlink(missing_ok=True)
    said = "ledger is empty or gone" if ".head" in gone else "was written when the ledger had 2"
    for _ in range(2):
        with refuses(LedgerDamagedError, match=said):
            create(ledger)
    (remark,) = ledger.verify().remarks
    assert (remark.code, remark.facts["path"]) == ("key_without_entries", ledger.key_path)
    beside(ledger, ".head").unlink(missing_ok=True)
    ledger.key_path.rename(ledger.key_path.with_suffix(".old"))
    create(ledger)
    assert ledger.verify().is_good


def without_one(ledger: Ledger) -> None:
    """Refused by whatever is asked, and left as it was."""
    before = ledger.entries()
    assert [problem.code for problem in ledger.verify().problems] == ["no_anchor"]
    for write in (
        lambda: book(ledger, "more"),
        lambda: create(ledger, "Other", other_people=True),
        lambda: ledger.rotate_key(person="Ada"),
        ledger.accounts,  # what is left may be too much
        lambda: ledger.remaining("Census"),
    ):
        with refuses(LedgerDamagedError, match="is not there, which holds the end"):
            write()
    assert ledger.entries() == before
    assert not beside(ledger, ".head").exists()


def test_a_ledger_without_one_is_refused_until_it_is_adopted(ledger: Ledger) -> None:
    beside(ledger, ".head").unlink()
    without_one(ledger)
    for _ in range(2):
        assert ledger.adopt() == ledger.head()
        assert heads(ledger) == [ledger.head(), ledger.head()]
    assert ledger.verify().is_good
    book(ledger, "second")
    assert heads(ledger) == [ledger.head(), ledger.head()]


def test_an_adoption_that_cannot_be_written_down_is_none(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside(ledger, ".head").unlink()
    monkeypatch.setattr(anchor.os, "replace", full)
    with refuses(LedgerRuleError, match="No space left on device"):
        ledger.adopt()
    without_one(ledger)


_TELL_AND_DIE = """
import os, sqlite3, sys
from pathlib import Path
from contextlib import suppress
from dpci_core.ledger import Ledger, UnknownDatasetError
from tests.ledger.test_faults import book, create
ledger = Ledger(Path(sys.argv[1]))
if sys.argv[2] == "account":
    create(ledger)
else:  # whose file has a first page and no table
    with suppress(UnknownDatasetError):
        book(ledger, "refused")
reader = ledger._database._connect_to_read()
if sys.argv[2] == "nothing":
    create(ledger)
print(book(ledger, "told").is_new, flush=True)
os.kill(os.getpid(), 9)
"""


@posix
@pytest.mark.parametrize("in_file", ["nothing", "account"])
@pytest.mark.parametrize("moved", [("",), ("", "-wal", "-shm"), ("", ".head")])
def test_a_file_that_is_moved_after_a_kill_forgets_no_charge(
    tmp_path: Path, in_file: str, moved: tuple[str, ...]
) -> None:
    """What was told may stand in the log alone, which has the name of the place it was left at."""
    old, new = (tmp_path / name / "ledger.sqlite" for name in ("old", "new"))
    old.parent.mkdir()
    new.parent.mkdir()
    command = [sys.executable, "-c", _TELL_AND_DIE, str(old), in_file]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "True\n"
    for end in moved:
        Path(f"{old}{end}").rename(f"{new}{end}")
    ledger = Ledger(new)
    if ".head" in moved:
        assert not ledger.verify().is_good
        for write in (lambda: book(ledger, "more"), lambda: create(ledger), ledger.adopt):
            with refuses(LedgerDamagedError, match="was written when the ledger had 2 entries"):
                write()
        return
    without_one(ledger)
    with refuses(LedgerDamagedError, match="was written when the ledger had 2 entries"):
        create(Ledger(old))  # nor is one begun where it was, and the log stays
    assert Ledger(old).entries() == ()
    for end in {"-wal", "-shm", ".head"} - set(moved):
        Path(f"{old}{end}").rename(f"{new}{end}")
    assert ledger.verify().is_good
    assert not book(ledger, "told").is_new


def test_a_backup_as_the_document_has_it_goes_on(ledger: Ledger, tmp_path: Path) -> None:
    """The end is copied first: a booking in between is in the copy and not in its end."""
    kept = Ledger(tmp_path / "copy.sqlite", key_path=ledger.key_path)
    shutil.copy(beside(ledger, ".head"), beside(kept, ".head"))
    book(ledger, "second")
    source, target = sqlite3.connect(ledger.path), sqlite3.connect(kept.path)
    source.backup(target)
    source.close()
    target.close()
    kept.path.chmod(0o600)
    assert kept.verify().is_good
    assert not book(kept, "second").is_new
    assert book(kept, "third").is_new


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("content", [b"", b"dpci-ledger-head 0\n", b"\xff" * 3000, b"nonsense\n"])
def test_one_that_says_something_else_is_refused(ledger: Ledger, content: bytes) -> None:
    beside(ledger, ".head").write_bytes(content)
    with refuses(LedgerDamagedError, match="holds something else"):
        book(ledger, "second")
    assert not ledger.verify().is_good
    assert ledger.find("second") is None


def test_a_crash_between_is_no_lost_charge(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    before = ledger.head()
    with monkeypatch.context() as patch:  # dies before the commit
        patch.setattr(anchor.Anchor, "begin", begin_and_die)
        with pytest.raises(KeyboardInterrupt):
            book(ledger, "second")
    assert heads(ledger)[0] == before == ledger.head()
    assert heads(ledger)[1] != before
    with monkeypatch.context() as patch:  # dies after it
        patch.setattr(anchor.Anchor, "settle", lambda *_: None)
        charge = book(ledger, "third")
    assert heads(ledger) == [before, charge.head]
    assert ledger.verify().is_good
    book(ledger, "fourth")
    assert heads(ledger) == [ledger.head(), ledger.head()]


_BEGIN = anchor.Anchor.begin


def begin_and_die(self: anchor.Anchor, head: str) -> None:
    _BEGIN(self, head)
    raise KeyboardInterrupt


def test_bookings_that_end_in_another_order_leave_the_later_end(ledger: Ledger) -> None:
    kept = anchor.Anchor(beside(ledger, ".head"), 1.0)
    first = ledger.head()
    second = book(ledger, "second").head
    kept.settle(first)
    assert heads(ledger) == [second, second]
    kept.settle(NO_HEAD)
    assert heads(ledger) == [second, second]


def test_what_cannot_be_written_down_is_not_booked(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = heads(ledger)
    monkeypatch.setattr(anchor.os, "replace", full)
    with refuses(LedgerRuleError, match="No space left on device.*nothing was booked"):
        book(ledger, "second")
    monkeypatch.undo()
    assert ledger.find("second") is None
    assert heads(ledger) == before
    assert not [p for p in ledger.path.parent.iterdir() if ".new-" in p.name]
    book(ledger, "second")


@posix
def test_only_its_owner_reads_it(ledger: Ledger) -> None:
    assert os.stat(beside(ledger, ".head")).st_mode & 0o077 == 0


@posix
def test_root_leaves_it_to_the_owner_of_the_ledger(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = []
    monkeypatch.setattr(anchor.os, "geteuid", lambda: 0)
    monkeypatch.setattr(anchor.os, "fchown", lambda _, *owner: given.append(owner))
    book(ledger, "second")
    owner = os.stat(ledger.path)
    assert set(given) == {(owner.st_uid, owner.st_gid)}


def test_a_booking_while_it_is_verified_is_no_damage(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Ledger(ledger.path)
    read = ledger_module.read_entries

    def and_another_books(connection: sqlite3.Connection) -> tuple[Entry, ...]:
        entries = read(connection)
        monkeypatch.setattr(ledger_module, "read_entries", read)
        book(other, "meanwhile")
        return entries

    monkeypatch.setattr(ledger_module, "read_entries", and_another_books)
    assert ledger.verify().is_good
    assert other.find("meanwhile") is not None


@posix
def test_a_fork_in_the_middle_does_not_keep_the_lock(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    held = []
    real = fcntl.flock

    def and_fork(descriptor: int, how: int) -> None:
        real(descriptor, how)
        if not held and how & fcntl.LOCK_EX:
            held.append(os.dup(descriptor))  # what a forked process has

    monkeypatch.setattr(fcntl, "flock", and_fork)
    quick = Ledger(ledger.path, busy_seconds=0.2)
    try:
        charge = book(quick, "second")
        assert book(quick, "third").charge_id != charge.charge_id
    finally:
        os.close(held[0])


@posix
def test_who_holds_the_folder_refuses_a_booking_and_cannot_hold_it_up(ledger: Ledger) -> None:
    import fcntl

    folder = os.open(ledger.path.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        with refuses(LedgerBusyError, match="nothing was booked"):
            book(Ledger(ledger.path, busy_seconds=0.1), "second")
    finally:
        os.close(folder)
    assert ledger.find("second") is None
    book(ledger, "second")


@posix
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_pipe_or_folder_in_its_place_is_refused(
    ledger: Ledger, make: Callable[[Path], None]
) -> None:
    beside(ledger, ".head").unlink()
    make(beside(ledger, ".head"))
    with refuses(LedgerDamagedError, match="holds something else"):
        book(ledger, "second")
    assert not ledger.verify().is_good


@posix
def test_a_link_to_a_ledger_has_the_same_end(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "mine.sqlite"
    link.symlink_to(ledger.path)
    kept = copy(ledger, tmp_path / "kept")
    book(Ledger(link, key_path=ledger.key_path), "second")
    assert heads(ledger) == [ledger.head(), ledger.head()]
    put_back(ledger, kept)
    with refuses(LedgerDamagedError, match="was written when the ledger had"):
        book(ledger, "third")
