"""The folders of finished releases, as the pages Release and Ledger find them."""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import platformdirs

from dpci_core.ledger import Charge
from dpci_core.release.record import RECORD_NAME
from ui.kit.exports import MIME

FOLDER_VARIABLE = "DPCI_RELEASES"
"""Names the folder of finished releases in the environment."""


def releases_folder() -> Path:
    """The folder of finished releases."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else platformdirs.user_data_path("dpci") / "releases"


def folder_of(request_id: str) -> Path:
    """The folder of one release that a page made."""
    account, digest, attempt = request_id.split("/")
    return releases_folder() / f"{account}-{digest[:16]}-{attempt}"


def kept(charge: Charge) -> Path | None:
    """The folder here whose record is the one that the ledger knows of a charge; None without."""
    return _folder_by(charge, _hash_of)


def listed(charge: Charge) -> Path | None:
    """The same for a list: a record whose time and size are as they were is not read again. That is
    no proof, so that what is handed out is `kept`.
    """
    return _folder_by(charge, lambda record: _known_hash(record, *_seen(record)))


def _folder_by(charge: Charge, hash_of: Callable[[Path], str]) -> Path | None:
    if charge.state != "done" or charge.request_id.count("/") != 2:
        return None
    folder = folder_of(charge.request_id)
    try:
        found = hash_of(folder / RECORD_NAME)
    except OSError:
        return None
    return folder if found == charge.result_hash else None


def _hash_of(record: Path) -> str:
    return hashlib.sha256(record.read_bytes()).hexdigest()


def _seen(record: Path) -> tuple[int, int, int]:
    """What the system says of a file without opening it: its number, time and size."""
    at = record.stat()
    return at.st_ino, at.st_mtime_ns, at.st_size


@lru_cache(maxsize=10_000)
def _known_hash(record: Path, *seen: int) -> str:
    return _hash_of(record)


def files_in(folder: Path) -> list[Path]:
    """The files of a release."""
    return sorted(file for file in folder.iterdir() if file.suffix[1:] in MIME and file.is_file())


def zipped(folder: Path) -> bytes:
    """The files of a release in one archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files_in(folder):
            archive.write(file, file.name)
    return out.getvalue()
