"""Where the key of a ledger is: apart from it, in a folder of keys, unless a file was named."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from dpci_core.ledger.key import (
    SigningKey,
    ledgers_of,
    new_key,
    note_ledger,
    read_key,
    write_key,
)

FOLDER_VARIABLE = "DPCI_LEDGER_KEYS"
"""Environment variable: the folder of the keys of new ledgers; default `keys` in the user's
configuration folder.
"""


@dataclass(frozen=True, slots=True)
class Keyring:
    """The keys of one ledger.

    Args:
        ledger: its file, links followed.
        path: the same file as it was named.
        named: the file of its key, None for the default.
        folder: of the keys that are named by what they check.
    """

    ledger: Path
    path: Path
    named: Path | None
    folder: Path

    def file_of(self, key_id: str) -> Path:
        """Return the path of the file of a key."""
        return self.named or self.folder / f"{key_id}.key"

    def kept(self) -> Path | None:
        """The file of a key that was made for this ledger; asked while the ledger has no entry."""
        if self.named is None:
            return self._made_for_it()
        with suppress(OSError):
            if self.named.stat().st_size > 0:
                return self.named
        return None

    def first(self) -> SigningKey:
        """The key of a ledger without entries: the one that was made for it, or a new one."""
        kept = self.kept()
        if kept is not None:
            return read_key(kept)
        key = new_key()
        return write_key(self.file_of(key.key_id), key, self.ledger)

    def note(self, key: SigningKey) -> None:
        """Say in the file of a key that signs that it does so here, before it does: no other ledger
        is then begun in this place. Where the file cannot be written it stays as it is.
        """
        if self.named is None:
            with suppress(OSError):
                note_ledger(self.file_of(key.key_id), self._addresses)

    @property
    def _addresses(self) -> set[str]:
        """The addresses of the ledger's file and of the name that leads to it: whoever may write
        there can lay a link.
        """
        return {self.ledger.as_uri(), self.path.as_uri()}

    def _made_for_it(self) -> Path | None:
        """A key that says it signed a ledger at this place."""
        here = self._addresses
        with suppress(OSError):
            for path in sorted(self.folder.glob("*.key")):
                if not here.isdisjoint(ledgers_of(path)):
                    return path
        return None


def keys_folder() -> Path:
    """The folder of the keys."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given is not None and given.strip():
        return Path(os.path.abspath(os.path.expanduser(given)))
    return platformdirs.user_config_path("dpci") / "keys"
