"""The end of a ledger, kept once more in a file beside it: an older copy that is put back, a
write-ahead log that is lost, cut or left behind, and a ledger that vanished are noticed before
anything is booked. It is there before the first byte of a ledger, so one without it is refused.

Two heads stand in the file. What is booked next is written down before it is committed, so that a
full disk refuses the booking instead of leaving the anchor behind; what was committed is written
down after. A ledger has to hold the second; the first may be missing, where a crash came between.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger.entries import NO_HEAD
from dpci_core.ledger.folder import alone_in, sync_folder
from dpci_core.ledger.problems import LedgerDamagedError
from dpci_core.ledger.verify import HEAD, RecordedHead

_LAYOUT = re.compile(r"dpci-ledger-head (\S+) (\S+)\n")
_MOST_BYTES = 1000
END = ".head"
"""After the name of the ledger."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """One such file.

    path: of the file.
    busy_seconds: patience with another process that writes it.
    """

    path: Path
    busy_seconds: float

    def told(self) -> RecordedHead:
        """The end of what was committed: a ledger that is read later has to hold it.

        Raises:
            LedgerDamagedError: if the file cannot be read.
        """
        return self._record((self._read() or (NO_HEAD, NO_HEAD))[0])

    @property
    def is_there(self) -> bool:
        """Whether there is such a file."""
        return os.path.lexists(self.path)

    def begin(self, head: str) -> None:
        """Write down what is about to be committed.

        Raises:
            LedgerRuleError: if it cannot be written; then nothing may be committed.
        """
        with self._written(), self._alone():
            heads = self._read() or (NO_HEAD, NO_HEAD)
            self._write(heads[0], head)

    def adopt(self, head: str) -> None:
        """Write down, where there was nothing, that this was committed.

        Raises:
            LedgerRuleError: if it cannot be written.
        """
        with self._written(), self._alone():
            if not self.is_there:
                self._write(head, head)

    def settle(self, head: str) -> None:
        """Write down that it was committed. A failure leaves a weaker anchor, not a false one."""
        with suppress(OSError, LedgerRuleError), self._alone():
            told, begun = self._read() or (NO_HEAD, NO_HEAD)
            if self._record(head).sequence > self._record(told).sequence:
                self._write(head, begun)

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Turn what the system raises into a sentence."""
        try:
            yield
        except OSError as error:
            problem = error.strerror
            raise LedgerRuleError("anchor_not_writable", path=self.path, problem=problem) from None

    def _record(self, head: str) -> RecordedHead:
        return RecordedHead(head, source=str(self.path))

    def _read(self) -> tuple[str, str] | None:
        try:
            # a pipe would keep the ledger's lock for ever
            if self.path.exists() and not self.path.is_file():
                raise LedgerDamagedError("not_an_anchor", path=self.path)
            with self.path.open("rb") as file:
                found = _LAYOUT.fullmatch(file.read(_MOST_BYTES).decode("ascii", "replace"))
        except FileNotFoundError:
            return None
        except OSError as error:
            problem = error.strerror
            raise LedgerDamagedError("anchor_unreadable", path=self.path, problem=problem) from None
        heads = () if found is None else found.groups()
        if not heads or not all(head == NO_HEAD or HEAD.fullmatch(head) for head in heads):
            raise LedgerDamagedError("not_an_anchor", path=self.path)
        return heads[0], heads[1]

    def _write(self, told: str, begun: str) -> None:
        descriptor, name = tempfile.mkstemp(prefix=f"{self.path.name}.new-", dir=self.path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                self._give_to_the_owner(file.fileno())
                file.write(f"dpci-ledger-head {told} {begun}\n".encode("ascii"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path)
        except BaseException:
            with suppress(OSError):
                os.unlink(name)
            raise
        sync_folder(self.path.parent)

    def _give_to_the_owner(self, descriptor: int) -> None:
        """What root writes stays readable for the ledger's owner, as SQLite does with its files."""
        if os.name == "posix" and os.geteuid() == 0:
            with suppress(OSError):
                found = os.stat(self.path.with_name(self.path.name.removesuffix(END)))
                os.fchown(descriptor, found.st_uid, found.st_gid)

    def _alone(self) -> AbstractContextManager[None]:
        """One process at a time: bookings may end in another order than they were committed."""
        return alone_in(self.path.parent, path=self.path, busy_seconds=self.busy_seconds)
