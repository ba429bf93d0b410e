"""The ledger when things go wrong: processes that race or die, full or locked disks, wrong files;
always a sentence.
"""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dpci_core.ledger import (
    Cap,
    Charge,
    Cost,
    Ledger,
    LedgerBusyError,
    LedgerDamagedError,
    LedgerError,
    database,
)
from dpci_core.report.refusals import said
from tests.processes import found_by
from tests.refusals import refuses

posix = pytest.mark.skipif(os.name != "posix", reason="needs fork and file modes")


def opened(path: Path, **other: Any) -> Ledger:
    """A ledger with one data set and one charge."""
    ledger = Ledger(path, **other)
    create(ledger)
    book(ledger, "first")
    return ledger


def create(ledger: Ledger, name: str = "Census", **other: Any) -> None:
    what = {
        "cap": Cap.zcdp("1"),
        "unit": "one row is one person",
        "person": "Ada",
        "schema_hash": "s",
    } | other
    ledger.create_dataset(name, **what)


def book(ledger: Ledger, request: str, purpose: str = "model") -> Charge:
    cost = Cost(definition="zcdp", amount="0.1")
    return ledger.book(
        "Census",
        schema_hash="s",
        cost=cost,
        purpose=purpose,
        plan_hash="p",
        person="Ada",
        request_id=request,
    )


happened = partial(found_by, "tests.ledger_processes")


@posix
def test_processes_that_race_for_the_last_of_a_budget_never_overspend(tmp_path: Path) -> None:
    assert happened("race", tmp_path, 12) == {"won": [3], "left": ["0.1"], "codes": [0]}


@posix
def test_processes_that_approve_withdraw_and_book_at_once_book_what_is_approved(
    tmp_path: Path,
) -> None:
    found = happened("approvals", tmp_path, 5)
    assert found.pop("faults") == 0
    assert all(found.values())


@posix
def test_a_process_killed_at_any_moment_loses_nothing_it_was_told(tmp_path: Path) -> None:
    found = happened("kill", tmp_path, 25)
    assert found["faults"] == []
    assert found["said"] > 0


@pytest.mark.soak
@posix
def test_a_thousand_kills(memory: Path, record_property: Callable[[str, object], None]) -> None:
    found = happened("kill", memory, 1_000)
    record_property("found", found)
    assert found["faults"] == []
    assert found["said"] > 0


@posix
def test_a_process_killed_at_each_step_books_once_or_not_at_all(tmp_path: Path) -> None:
    found = happened("stages", tmp_path, 1)
    assert len(found) == 7
    for stage, (code, is_good, kept, n_charges, remaining, is_good_after) in found.items():
        assert (code, is_good, is_good_after) == (-9, True, True), stage
        assert (n_charges, remaining) == (1, "0.99"), stage
        assert kept == (stage == "after book"), stage


def test_the_same_click_in_two_threads_is_one_charge(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    found: list[Charge] = []
    for k in range(10):
        barrier = threading.Barrier(4)

        def click(request: str = f"click {k}", barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            found.append(book(ledger, request))

        threads = [threading.Thread(target=click) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if k == 8:
            break  # nine clicks and the first charge are the whole cap
    assert [charge.is_new for charge in found].count(True) == 9
    assert len({charge.charge_id for charge in found}) == 9
    assert (len(found), ledger.remaining("Census")) == (36, 0)


def test_a_full_disk_books_nothing_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    head = ledger.head()
    monkeypatch.setattr(database, "SETTINGS", (*database.SETTINGS, "PRAGMA max_page_count = 1"))
    full = r"disk of the ledger .* is full, and nothing was booked\. Free space"
    with refuses(LedgerError, match=full):
        for k in range(9):
            book(ledger, f"{k}", purpose="x" * 490)
            head = ledger.head()
    monkeypatch.undo()
    assert ledger.head() == head
    assert ledger.verify().is_good
    assert book(ledger, "again").is_new


def test_a_disk_full_at_the_first_write_leaves_an_empty_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "SETTINGS", (*database.SETTINGS, "PRAGMA max_page_count = 3"))
    ledger = Ledger(tmp_path / "ledger.sqlite")
    with refuses(LedgerError, match="full"):
        create(ledger)
    assert ledger.verify().n_entries == 0
    monkeypatch.undo()
    create(ledger)
    assert ledger.verify().n_entries == 1


def test_a_ledger_opened_for_reading_reads_and_never_writes(tmp_path: Path) -> None:
    opened(tmp_path / "ledger.sqlite")
    reader = Ledger(tmp_path / "ledger.sqlite", read_only=True)
    assert (len(reader.history()), reader.verify().is_good) == (1, True)
    for write in (
        lambda: book(reader, "x"),
        lambda: create(reader, "y"),
        lambda: reader.finish(2, result_hash="r"),
    ):
        with refuses(LedgerError, match="reading only"):
            write()
    absent = Ledger(tmp_path / "absent.sqlite", read_only=True)
    assert absent.accounts() == ()
    assert not absent.path.exists()


def test_a_file_that_can_only_be_read_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    real = database.Database._connect
    monkeypatch.setattr(
        database.Database, "_connect", lambda self, mode: real(self, "ro")
    )  # tests may run as root
    with refuses(LedgerError, match=r"can only be read, and nothing was booked\. Ask its owner"):
        book(ledger, "x")
    assert len(ledger.history()) == 1


@pytest.fixture
def nobody() -> Iterator[Path]:
    """A folder of ours in which this process, as somebody else, may read and nothing more."""
    folder = Path(tempfile.mkdtemp(prefix="dpci-ledger-"))
    opened(folder / "ledger.sqlite")
    (folder / "ledger.sqlite").chmod(0o644)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    shutil.rmtree(folder)


@posix
def test_where_nothing_can_be_written_the_ledger_is_still_read(nobody: Path) -> None:
    ledger = Ledger(nobody / "ledger.sqlite")
    assert len(ledger.history()) == 1
    for other in ("other.sqlite", "deeper/other.sqlite"):
        with refuses(LedgerError, match="folder you may write to"):
            create(Ledger(nobody / other))


def test_a_write_that_broke_off_half_way_is_undone_by_the_next_reader(tmp_path: Path) -> None:
    """Of another client, in the older journal mode: its journal is left beside the file, as a crash
    leaves it.
    """
    ledger = opened(tmp_path / "ledger.sqlite")
    other = sqlite3.connect(ledger.path, isolation_level=None)
    for statement in (
        "PRAGMA journal_mode = DELETE",
        "PRAGMA cache_size = 1",
        "BEGIN",
        "CREATE TABLE mine (a)",
    ):
        other.execute(statement)
    other.execute("DROP TRIGGER entries_are_never_deleted")
    other.execute("DELETE FROM entries WHERE sequence = 2")
    other.executemany("INSERT INTO mine VALUES (?)", [("x" * 900,)] * 100)
    (tmp_path / "after").mkdir()
    for end in ("", "-journal", ".head"):
        shutil.copy(f"{ledger.path}{end}", tmp_path / "after")
    other.close()
    after = Ledger(tmp_path / "after" / "ledger.sqlite")
    assert (len(after.history()), after.verify().is_good) == (1, True)
    assert book(after, "second").is_new


def test_a_ledger_locked_for_too_long_is_a_sentence(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite", busy_seconds=0.05)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with refuses(LedgerBusyError, match=r"Another process .* try again"):
        book(ledger, "x")
    assert len(ledger.history()) == 1  # readers never wait
    other.execute("ROLLBACK")
    other.close()
    assert book(ledger, "x").is_new


@pytest.mark.parametrize(
    "content",
    [
        b"not a database at all, but quite long " * 99,
        b"x",
        b"x" * 511,
        b"x" * 600,
        b"SQLite format 3\0",
        b"SQLite format 3\0" + b"\xff" * 5000,
    ],
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(content)
    ledger = Ledger(path)
    with refuses(LedgerDamagedError, match="damaged or not a ledger"):
        create(ledger)
    with refuses(LedgerDamagedError, match="damaged or not a ledger"):
        ledger.accounts()
    assert not ledger.verify().is_good
    assert path.read_bytes() == content
    assert ledger._keys.kept() is None


def test_somebody_else_s_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE entries (a)")
    another_format = opened(tmp_path / "other.sqlite").path
    with closing(sqlite3.connect(another_format)) as other:
        other.execute("PRAGMA user_version = 2")
    for file in (path, another_format):
        content = file.read_bytes()
        for do in (Ledger(file).accounts, lambda file=file: create(Ledger(file))):
            with refuses(LedgerDamagedError, match="not a ledger of this .* left as it is"):
                do()
        assert file.read_bytes() == content


def ask(ledger: Ledger, query: str) -> list[Any]:
    connection = sqlite3.connect(ledger.path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def change(ledger: Ledger, *statements: str) -> None:
    """What somebody with any SQLite client can do."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    try:
        for statement in statements:
            connection.execute(statement)
    finally:
        connection.close()


@pytest.mark.parametrize("is_whole", [True, False])
def test_only_damage_that_is_found_twice_is_called_damage(is_whole, tmp_path, monkeypatch) -> None:
    """A short read that passes said "damaged", and to put a backup back: that loses charges."""
    ledger = opened(tmp_path / "ledger.sqlite")
    if not is_whole:
        content = bytearray(ledger.path.read_bytes())
        content[2000:] = bytes(len(content) - 2000)

    def fails(*what: object) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorname = "SQLITE_CORRUPT"
        if not is_whole:
            ledger.path.write_bytes(content)
        raise error

    monkeypatch.setattr("dpci_core.ledger.ledger.read_entries", fails)
    with pytest.raises(LedgerError) as refused:
        book(ledger, "x")
    assert (refused.value.code == "disk_failed") is is_whole
    assert ("Put no backup back" in said(refused.value)) is is_whole
    assert ("Only if that finds the same again" in said(refused.value)) is not is_whole


def test_a_missing_key_is_named_and_nothing_is_booked(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    missing = ledger.key_path
    missing.rename(tmp_path / "elsewhere")
    with refuses(LedgerDamagedError, match=r"key .* is missing\. Put it back"):
        book(ledger, "x")
    assert not missing.exists()
    assert len(ledger.history()) == 1
    assert ledger.verify().is_good  # which needs none
    assert book(Ledger(ledger.path, key_path=tmp_path / "elsewhere"), "x").is_new


def test_another_ledger_s_key_is_recognised(tmp_path: Path) -> None:
    ledger, other = opened(tmp_path / "ledger.sqlite"), opened(tmp_path / "other.sqlite")
    shutil.copy(other.key_path, ledger.key_path)
    with refuses(LedgerDamagedError, match="another key"):
        book(ledger, "x")
    assert len(ledger.history()) == 1


@posix
def test_a_key_that_others_can_read_is_refused_until_it_is_closed(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    for path in (ledger.path, ledger.key_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ledger.key_path.chmod(0o640)
    with refuses(LedgerDamagedError, match=r"open to other users.*chmod 600"):
        book(ledger, "x")
    ledger.key_path.chmod(0o600)
    assert book(ledger, "x").is_new


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"dpci-ledger-key abc\n", b"dpci-ledger-key " + b"0" * 64]
)
def test_a_file_that_is_no_key_is_never_replaced_while_entries_exist(
    tmp_path: Path, content: bytes
) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    ledger.key_path.write_bytes(content)
    with refuses(LedgerDamagedError, match="not a key"):
        book(ledger, "x")
    assert ledger.key_path.read_bytes() == content


def test_a_foreign_file_in_the_key_s_place_is_never_overwritten(tmp_path: Path) -> None:
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("years of work")
    thesis.chmod(0o600)
    with refuses(LedgerDamagedError, match="not a key"):
        create(Ledger(tmp_path / "ledger.sqlite", key_path=thesis))
    assert thesis.read_text() == "years of work"
    (tmp_path / "folder").mkdir()
    with refuses(LedgerError, match="is not a file"):
        create(Ledger(tmp_path / "ledger.sqlite", key_path=tmp_path / "folder"))


def test_the_key_is_nowhere_but_in_its_file(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    secret = bytes.fromhex(ledger.key_path.read_text().split()[1])
    assert ledger.key_path.parent != tmp_path
    for path in tmp_path.iterdir():
        assert secret not in path.read_bytes()
        assert secret.hex().encode() not in path.read_bytes()


def test_nobody_but_sqlite_opens_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing a second handle would drop the locks of every other thread's connection."""
    path, seen = tmp_path / "ledger.sqlite", []
    for module in (os, io):

        def watched(name: Any, *arguments: Any, real: Any = module.open, **named: Any) -> Any:
            seen.append(str(name))
            assert str(name) != str(path)
            return real(name, *arguments, **named)

        monkeypatch.setattr(module, "open", watched)
    ledger = opened(path)
    of_the_key = seen.count(str(ledger.key_path))
    assert of_the_key >= 2  # made, read for the charge
    assert ledger.verify().is_good
    assert seen.count(str(ledger.key_path)) == of_the_key
    assert sorted(p.name for p in tmp_path.iterdir() if "-" not in p.name) == [
        "ledger.sqlite",
        "ledger.sqlite.head",
    ]


def test_paths_that_cannot_be_a_ledger_are_sentences(tmp_path: Path) -> None:
    with refuses(LedgerError, match="is a folder"):
        Ledger(tmp_path).accounts()
    with refuses(LedgerError, match="is a folder"):
        create(Ledger(tmp_path))
    (tmp_path / "file").write_text("")
    with refuses(LedgerError, match="cannot be opened"):
        create(Ledger(tmp_path / "file" / "ledger.sqlite"))
    with refuses(LedgerError, match="cannot be the same file"):
        Ledger(tmp_path / "a", key_path=tmp_path / "a")
    with refuses(LedgerError, match="empty"):
        Ledger("")  # type: ignore[arg-type]


@posix
def test_a_pipe_in_the_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with refuses(LedgerError, match="not a file"):
        Ledger(tmp_path / "pipe").accounts()
    with refuses(LedgerError, match="not a file"):
        create(Ledger(tmp_path / "ledger.sqlite", key_path=tmp_path / "pipe"))


def test_a_booking_that_a_foreign_trigger_swallows_is_no_charge(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    change(ledger, "CREATE TRIGGER mine BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END")
    with refuses(LedgerDamagedError, match="did not keep what was written"):
        book(ledger, "second")
    change(ledger, "DROP TRIGGER mine")
    assert book(ledger, "second").is_new


@pytest.mark.parametrize("name", ["a?mode=memory", "a#b", "a%20b", "Bücher für alle", "a;b 'c'"])
def test_any_file_name_is_taken_literally(tmp_path: Path, name: str) -> None:
    opened(tmp_path / "new folder" / name)
    assert (tmp_path / "new folder" / name).stat().st_size > 0


def test_any_client_reads_what_happened(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    ledger.finish(book(ledger, "second").charge_id, result_hash="r")
    rows = ask(ledger, "SELECT charge, dataset, state, spent_of_cap, result_hash FROM charges")
    assert rows == [(2, "Census", "booked", "0.1", None), (3, "Census", "done", "0.1", "r")]
    assert ask(ledger, "SELECT dataset, cap_definition, cap_amount, people FROM datasets") == [
        ("Census", "zcdp", "1", "first")
    ]


_LINE = "INSERT INTO entries (sequence, kind, written_at, key_id, nonce, signature, seal"
_BOOKED = (
    f"{_LINE}, person, account, cost_definition, cost_amount, cost_lines, spent, purpose, "
    "plan_hash, request_id)"
)
_NEW = "'p', 'p', 'new'"
_SEALED = "'t', 'k', printf('%032d', 0), printf('%0128d', 0), printf('%064d', 0)"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spent = '0.01' WHERE sequence = 2",
        "DELETE FROM entries WHERE sequence = 2",
        "REPLACE INTO entries SELECT * FROM entries WHERE sequence = 2",
        f"{_LINE}) VALUES (3, 'other', {_SEALED})",
        f"{_LINE}) VALUES (3, 'done', {_SEALED})",
        f"{_LINE}, charge, result_hash) VALUES (3, 'done', {_SEALED}, 1, 'r')",
        f"{_LINE}, charge, result_hash) VALUES (4, 'done', {_SEALED}, 2, 'r')",
        f"{_BOOKED} VALUES (3, 'booked', {_SEALED}, 'p', 1, 'zcdp', '1', '[]', '-1', {_NEW})",
        f"{_BOOKED} VALUES (3, 'booked', {_SEALED}, 'p', 1, 'zcdp', '1', '[]', '0.0', {_NEW})",
        f"{_BOOKED} VALUES (3, 'booked', {_SEALED}, 'p', 1, 'zcdp', '1', '[]', '1', 'p', 'p', "
        "'first')",
        f"{_BOOKED} VALUES (3, 'booked', {_SEALED}, 'p', 2, 'zcdp', '1', '[]', '1', {_NEW})",
    ],
)
def test_the_database_itself_refuses_what_no_ledger_does(tmp_path: Path, statement: str) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    with pytest.raises(sqlite3.IntegrityError):
        change(ledger, "PRAGMA foreign_keys = ON", statement)
    assert ledger.verify().n_entries == 2


def test_the_database_takes_a_line_that_is_in_order(tmp_path: Path) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    change(
        ledger,
        f"{_BOOKED} VALUES (3, 'booked', {_SEALED}, 'p', 1, 'zcdp', '1', '[]', '1', {_NEW})",
    )
    assert (
        ledger.verify().problems[0].code == "entry_of_another_key"
    )  # so the refusals above are for the right reason
