"""The key that seals entries: 256 bits in a file of its own, readable by its owner only."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger.problems import LedgerDamagedError

KEY_BYTES = 32
_LAYOUT = re.compile(rb"dpci-ledger-key ([0-9a-f]{64})\n")
_MOST_BYTES = 1000


@dataclass(frozen=True, slots=True)
class Key:
    """The secret, never shown, and the short name that entries carry to say which key sealed
    them.
    """

    secret: bytes

    def __repr__(self) -> str:
        return f"Key({self.key_id})"

    @property
    def key_id(self) -> str:
        """16 hexadecimal digits; they say nothing about the secret."""
        return hashlib.sha256(b"dpci-ledger-key-id" + self.secret).hexdigest()[:16]


def read_key(path: Path) -> Key:
    """Return the key, or raise LedgerDamagedError saying why this file cannot be used."""
    try:
        if path.exists() and not path.is_file():
            raise LedgerDamagedError("key_not_a_file", path=path)
        with path.open("rb") as file:
            mode, content = os.fstat(file.fileno()).st_mode, file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise LedgerDamagedError("key_missing", path=path) from None
    except OSError as error:
        raise LedgerDamagedError("key_unreadable", path=path, problem=error.strerror) from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise LedgerDamagedError("key_open_to_others", path=path)
    found = _LAYOUT.fullmatch(content)
    if found is None:
        raise LedgerDamagedError("not_a_key", path=path)
    return Key(bytes.fromhex(found[1].decode()))


def make_key(path: Path) -> Key:
    """Return the key in the file, or of a new one where there is none; call it under the ledger's
    write lock only.

    An empty file is what a crash right after its creation leaves: it becomes a key.
    """
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if not path.is_file() or path.stat().st_size > 0:
                return read_key(path)
            descriptor = os.open(path, os.O_WRONLY)
        key = Key(secrets.token_bytes(KEY_BYTES))
        with os.fdopen(descriptor, "wb") as file:
            if os.name == "posix":
                os.fchmod(file.fileno(), 0o600)
            file.write(b"dpci-ledger-key %s\n" % key.secret.hex().encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LedgerRuleError("key_not_writable", path=path, problem=error.strerror) from None
    sync_folder(path.parent)
    return key


def sync_folder(folder: Path) -> None:
    """Make a new file's name survive a power cut, where the system can."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
