"""One connection per operation: open, lock, check what the file is, do, commit; every failure
becomes a sentence.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.errors import Finding, LedgerError, LedgerRuleError
from dpci_core.ledger.entries import COLUMNS, Entry, from_rows
from dpci_core.ledger.folder import alone_in, sync_folder
from dpci_core.ledger.place import BESIDE, check_names, check_network, check_owners
from dpci_core.ledger.problems import LedgerBusyError, LedgerDamagedError
from dpci_core.ledger.tables import APPLICATION_ID, TABLES, VERSION

SETTINGS = ("PRAGMA foreign_keys = ON", "PRAGMA synchronous = FULL", "PRAGMA trusted_schema = OFF")
"""Of every connection that writes: references are checked, and what is committed has reached the
disk.
"""
_PAUSE_SECONDS = 0.01
_SMALLEST_DATABASE = 512
"""Bytes; SQLite itself would take a smaller file of anything for an empty database, and write over
it.
"""
_GUARDS = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"


@dataclass(frozen=True, slots=True)
class Database:
    """The file of a ledger; it exists from the first write on.

    Only SQLite opens it. When a process closes any handle of a file, the system drops all locks the
    process has on it: a look into the file by other means, in one thread, would let other processes
    write into the work of another thread.
    """

    path: Path
    busy_seconds: float

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """A read-only view of one moment, None where there is no ledger yet."""
        with _translated(self.path):
            # of a file without a byte SQLite would remove the log, which may hold what was told
            if not (self._exists() and self.is_begun):
                yield None
                return
            check_names(self.path)
            with closing(self._connect_to_read()) as connection:
                yield connection if _is_made(connection, self.path) else None

    @property
    def is_begun(self) -> bool:
        """Whether the file has a byte."""
        try:
            return self.path.stat().st_size > 0
        except OSError:
            return False

    @contextmanager
    def writing(self, begin: Callable[[], None]) -> Iterator[sqlite3.Connection]:
        """A connection that alone may write; it commits at the end, or leaves no trace after any
        exception.

        Args:
            begin: done before the first byte is written, and by several processes at once where
                they find none.
        """
        with _translated(self.path):
            check_network(self.path)
            self._make_file()
            check_names(self.path)
            check_owners(self.path, BESIDE)
            if not self.is_begun:
                begin()
            with closing(self._connect("rw")) as connection:
                connection.execute("BEGIN")
                # before anything is changed, should it be somebody else's file
                _is_made(connection, self.path)
                connection.execute("COMMIT")
                for setting in SETTINGS:
                    connection.execute(setting)
                self._begin(connection)
                try:
                    if not _is_made(connection, self.path):
                        _make(connection)
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise

    def _exists(self) -> bool:
        if self.path.is_dir():
            raise LedgerRuleError("ledger_is_folder", path=self.path)
        if not self.path.exists():
            return False
        if not self.path.is_file():
            raise LedgerRuleError("ledger_not_a_file", path=self.path)
        if 0 < (size := self.path.stat().st_size) < _SMALLEST_DATABASE:
            raise LedgerDamagedError("too_short", path=self.path, size=size)
        return True

    def _make_file(self) -> None:
        """An empty file that its owner alone can read, and the folder around it; SQLite fills
        it.
        """
        if self._exists():
            return
        folder = self.path.parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with alone_in(folder, path=self.path, busy_seconds=self.busy_seconds):
            if os.path.lexists(self.path):  # another process was faster, or a link leads nowhere
                return
            descriptor, name = tempfile.mkstemp(prefix=f"{self.path.name}.new-", dir=folder)
            os.close(descriptor)  # before it has its name: see the class
            os.rename(name, self.path)
            sync_folder(folder)

    def _connect_to_read(self) -> sqlite3.Connection:
        """A view that nobody else's writing moves.

        What a crash left half-written only a connection that may write can put right. In a folder
        where nothing can be written SQLite cannot share a write-ahead log; where there is none, the
        file can be read as it is.
        """
        modes = ["ro", "rw"]
        if not any(
            self.path.with_name(self.path.name + end).exists() for end in ("-wal", "-journal")
        ):
            modes.append("ro&immutable=1")
        while True:
            try:
                return self._begin_to_read(modes.pop(0))
            except sqlite3.OperationalError as error:
                if not modes or not _name(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
                    raise

    def _begin_to_read(self, mode: str) -> sqlite3.Connection:
        connection = self._connect(mode)
        try:
            connection.execute("BEGIN")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection

    def _connect(self, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            uri=True,
            isolation_level=None,
            timeout=self.busy_seconds,
        )

    def _begin(self, connection: sqlite3.Connection) -> None:
        """Take the write lock; SQLite does not wait by itself while another process turns the
        write-ahead log on.
        """
        deadline = time.monotonic() + self.busy_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if not _name(error).startswith("SQLITE_BUSY") or time.monotonic() >= deadline:
                    raise
                time.sleep(_PAUSE_SECONDS)


def read_entries(connection: sqlite3.Connection) -> tuple[Entry, ...]:
    """Every entry in order."""
    return _read(connection, "ORDER BY sequence")


def _read(connection: sqlite3.Connection, which: str, *values: int) -> tuple[Entry, ...]:
    query = f"SELECT {', '.join(COLUMNS)} FROM entries {which}"
    return from_rows(connection.execute(query, values).fetchall())


def add_entry(connection: sqlite3.Connection, entry: Entry) -> None:
    """Add one entry to the open transaction, and see that it is there: a foreign trigger could have
    swallowed it.
    """
    values = {name: value for name in COLUMNS if (value := getattr(entry, name)) is not None}
    names, places = ", ".join(values), ", ".join("?" * len(values))
    connection.execute(f"INSERT INTO entries ({names}) VALUES ({places})", list(values.values()))
    if _read(connection, "WHERE sequence = ?", entry.sequence) != (entry,):
        raise LedgerDamagedError("writing_not_kept")


def changed_guards(connection: sqlite3.Connection) -> list[Finding]:
    """Each table, index, trigger or view that is not as this program makes it, and damaged pages.

    A trigger that was added could change what others write, so it counts; an added view or table
    does not.
    """
    state = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
    problems = [] if state == "ok" else [Finding("database_damaged", problem=state)]
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        _make(fresh)
        wanted, found = (dict(c.execute(_GUARDS).fetchall()) for c in (fresh, connection))
    problems += [
        Finding("guard_changed", name=name) for name in wanted if found.get(name) != wanted[name]
    ]
    added = [name for name in found if name not in wanted and name.startswith("trigger ")]
    return problems + [Finding("guard_added", name=name) for name in added]


def _is_made(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is a ledger, False for an empty one; anything else is refused."""
    number = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (number, version, n_tables) == (0, 0, 0):
        return False
    if (number, version) != (APPLICATION_ID, VERSION) or not n_tables:
        raise LedgerDamagedError("not_a_ledger", path=path)
    return True


def _make(connection: sqlite3.Connection) -> None:
    """Make an empty file a ledger."""
    for statement in TABLES:
        connection.execute(statement)


def _name(error: sqlite3.Error) -> str:
    """SQLite's own name of what went wrong, empty where Python raised."""
    return str(getattr(error, "sqlite_errorname", ""))


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the system raise into an error of the ledger."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translation(_name(error), path) from None
    except UnicodeError:  # damaged bytes that SQLite quotes in its message
        raise LedgerDamagedError("damaged", path=path, problem="unreadable text") from None
    except OSError as error:
        raise LedgerRuleError("cannot_be_opened", path=path, problem=error.strerror) from None


def _is_whole(path: Path) -> bool:
    """Whether a second look finds the database in order: then what was found damaged was the
    reading of it.
    """
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as again:
            number = again.execute("PRAGMA application_id").fetchone()[0]
            state = again.execute("PRAGMA integrity_check(1)").fetchone()[0]
            return bool(number == APPLICATION_ID and state == "ok")
    except (sqlite3.Error, UnicodeError):
        return False


def _translation(name: str, path: Path) -> LedgerError:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerBusyError("busy", path=path)
    if name.startswith("SQLITE_FULL"):
        return LedgerRuleError("disk_full", path=path)
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH")):
        return LedgerRuleError("not_writable", path=path)
    if name.startswith("SQLITE_CANTOPEN"):
        return LedgerRuleError("not_openable", path=path)
    is_unreadable = name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
    if name.startswith("SQLITE_IOERR") or (is_unreadable and _is_whole(path)):
        return LedgerRuleError("disk_failed", path=path)
    return LedgerDamagedError("damaged", path=path, problem=name or "unreadable text")
