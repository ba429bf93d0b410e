"""The keys of a ledger: one that signs, in a file that its owner alone can read, and the public one
that checks.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger.entries import Entry, sealed_bytes
from dpci_core.ledger.folder import sync_folder
from dpci_core.ledger.place import check_owners
from dpci_core.ledger.problems import LedgerDamagedError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

KEY_BYTES = 32
SIGNED = "dpci-ledger-1"
"""The format of what is signed."""
NEXT_KEY = "dpci-ledger-1-next-key"
"""The format of what a key signs that gives its place to another."""
_LAYOUT = re.compile(
    rb"dpci-ledger-signing-key ([0-9a-f]{64})\n((?:ledger file://[!-~]+\n)*)[ -~]*"
)
_PUBLIC = re.compile(r"(?:dpci-ledger-public-key )?([0-9a-f]{64})\n?")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")
_MOST_BYTES = 20_000
_MOST_NOTED = 16_000
"""Beyond it no further place of a ledger that moves and moves is added to its key."""


@dataclass(frozen=True)
class PublicKey:
    """Checks signatures and cannot make any.

    >>> PublicKey(bytes(32)).key_id
    '66687aadf862bd77'
    """

    raw: bytes

    @property
    def key_id(self) -> str:
        """The short name that entries carry: the first 16 digits of the SHA-256 of the 32 bytes."""
        return hashlib.sha256(self.raw).hexdigest()[:16]

    @property
    def text(self) -> str:
        """The 32 bytes in hexadecimal."""
        return self.raw.hex()

    @classmethod
    def of(cls, text: str) -> PublicKey:
        """Return the key that somebody gave: 64 hexadecimal digits, or the line that `ledger
        public-key` prints.

        Raises:  LedgerRuleError.
        """
        found = _PUBLIC.fullmatch(text.strip())
        if found is None:
            raise LedgerRuleError("not_a_public_key")
        return cls(bytes.fromhex(found[1]))

    def holds(self, content: bytes, signature: str) -> bool:
        """Whether that is the signature of something that names its format."""
        from cryptography.exceptions import InvalidSignature

        if not _SIGNATURE.fullmatch(signature):
            return False
        try:
            self._library.verify(bytes.fromhex(signature), content)
        except InvalidSignature:
            return False
        return True

    def is_sealed(self, entry: Entry, previous: str) -> bool:
        """Whether whoever has the key sealed this entry after the one with that seal."""
        content = sealed_bytes(entry, previous, SIGNED)
        signature = entry.signature
        return entry.seal == seal_of(content, signature) and self.holds(content, signature)

    def vouches(self, entry: Entry, previous: str) -> bool:
        """Whether whoever has the key agreed that the one of this entry takes its place."""
        return self.holds(_vouched_bytes(entry, previous), entry.vouched or "")

    @cached_property
    def _library(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.raw)


@dataclass(frozen=True)
class SigningKey:
    """Signs with Ed25519 (RFC 8032); `secret` is its 32 random bytes, never shown."""

    secret: bytes

    def __repr__(self) -> str:
        return f"SigningKey({self.key_id})"

    @property
    def key_id(self) -> str:
        """That of its public key."""
        return self.public.key_id

    @cached_property
    def public(self) -> PublicKey:
        """What others can check with."""
        return PublicKey(self._library.public_key().public_bytes_raw())

    def sign(self, content: bytes) -> str:
        """The signature of something that names its format."""
        return self._library.sign(content).hex()

    def sealed(self, entry: Entry, previous: str) -> Entry:
        """The entry with its signature and its seal, after the one with that seal."""
        content = sealed_bytes(entry, previous, SIGNED)
        signature = self.sign(content)
        return replace(entry, signature=signature, seal=seal_of(content, signature))

    def agreed(self, entry: Entry, previous: str) -> Entry:
        """An entry that gives this key's place to another, with what `vouches` asks for."""
        return replace(entry, vouched=self.sign(_vouched_bytes(entry, previous)))

    @cached_property
    def _library(self) -> Ed25519PrivateKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        return Ed25519PrivateKey.from_private_bytes(self.secret)


def _vouched_bytes(entry: Entry, previous: str) -> bytes:
    return sealed_bytes(replace(entry, vouched=None), previous, NEXT_KEY)


def seal_of(content: bytes, signature: str) -> str:
    """The seal of an entry: SHA-256 of what is signed and of the signature's digits."""
    return hashlib.sha256(content + signature.encode()).hexdigest()


def new_key() -> SigningKey:
    """A key that nobody has yet."""
    return SigningKey(secrets.token_bytes(KEY_BYTES))


def read_key(path: Path) -> SigningKey:
    """Return the key, or raise LedgerRuleError saying why this file cannot be used."""
    try:
        if path.exists() and not path.is_file():
            raise LedgerDamagedError("key_not_a_file", path=path)
        check_owners(path)
        with path.open("rb") as file:
            found, content = os.fstat(file.fileno()), file.read(_MOST_BYTES)
    except FileNotFoundError:
        raise LedgerDamagedError("key_missing", path=path) from None
    except OSError as error:
        raise LedgerDamagedError("key_unreadable", path=path, problem=error.strerror) from None
    if os.name == "posix" and stat.S_IMODE(found.st_mode) & 0o077:
        raise LedgerDamagedError("key_open_to_others", path=path)
    if found.st_nlink > 1:
        raise LedgerDamagedError("key_with_two_names", path=path)
    parts = _LAYOUT.fullmatch(content)
    if parts is None:
        raise LedgerDamagedError("not_a_key", path=path)
    return SigningKey(bytes.fromhex(parts[1].decode()))


def ledgers_of(path: Path) -> list[str]:
    """The addresses of the ledger that a file of a key was made for: wherever it signed."""
    try:
        with path.open("rb") as file:
            found = _LAYOUT.fullmatch(file.read(_MOST_BYTES))
    except OSError:
        return []
    return found[2].decode().split()[1::2] if found else []


def write_key(path: Path, key: SigningKey, ledger: Path | None) -> SigningKey:
    """Return the key that is in the file now: this one, or the one that was there; call it under
    the ledger's write lock only.

    An empty file is what a crash right after its creation leaves: it gets the key.
    """
    try:
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if not path.is_file() or path.stat().st_size > 0:
                return read_key(path)
            descriptor = os.open(path, os.O_WRONLY)
        with os.fdopen(descriptor, "wb") as file:
            if os.name == "posix":
                os.fchmod(file.fileno(), 0o600)
            file.write(f"dpci-ledger-signing-key {key.secret.hex()}\n".encode("ascii"))
            if ledger is not None:
                file.write(_note(ledger.as_uri()))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LedgerRuleError("key_not_writable", path=path, problem=error.strerror) from None
    sync_folder(path.parent)
    return key


def note_ledger(path: Path, addresses: Iterable[str]) -> None:
    """Add to the file of a key where the ledger is that it signs; call it under the ledger's write
    lock only.
    """
    notes = b"".join(map(_note, sorted(set(addresses) - set(ledgers_of(path)))))
    if not notes or path.stat().st_size + len(notes) > _MOST_NOTED:
        return
    with path.open("r+b") as file:
        kept = file.read()
        file.truncate(kept.rindex(b"\n") + 1)  # what a crash has left of a line
        file.seek(0, os.SEEK_END)
        file.write(notes)
        file.flush()
        os.fsync(file.fileno())


def _note(address: str) -> bytes:
    return f"ledger {address}\n".encode("ascii")
