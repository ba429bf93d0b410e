"""A folder that is there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from dpci_core.ledger.folder import sync_folder

_ROOM_TO_TRY = 1024**2
"""Bytes; a release of a hundred coefficients is about as large."""


def try_place(place: Path) -> None:
    """Raise OSError if files could not be written beside the wanted place; nothing is left.

    The folder tried has a name as long as the unfinished one of `write_folder`, and as much in it
    as a large release.
    """
    part = Path(tempfile.mkdtemp(prefix=f".{place.name}.", suffix="-try.part", dir=place.parent))
    try:
        with (part / "release.json").open("wb") as out:
            out.write(bytes(_ROOM_TO_TRY))
            out.flush()
            os.fsync(out.fileno())
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_folder(
    place: Path, files: dict[str, str], *, owner: str, dated: str, reached: Callable[[str], None]
) -> None:
    """Write all files beside the wanted place, put them on the disk, and give them their name in
    one step.

    Args:    owner: names the unfinished folder, so that two of them never meet.  dated: the time
             that files and folder carry, ISO; when they were written tells how long the records
             took, to whoever gets a copy.
             reached: told after each step.
    Raises:  OSError, also if the place is taken by now; then nothing is left.
    """
    mark = hashlib.sha256(owner.encode()).hexdigest()[:12]
    part = place.with_name(f".{place.name}.{mark}.part")
    part.mkdir()
    try:
        for name, text in files.items():
            with (part / name).open("w", encoding="utf-8", newline="") as out:
                out.write(text)
                out.flush()
                os.fsync(out.fileno())
            reached(f"wrote {name}")
        moment = datetime.fromisoformat(dated).timestamp()
        for path in (*part.iterdir(), part):
            os.utime(path, (moment, moment))
        sync_folder(part)
        part.rename(place)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    reached("renamed")
    with suppress(OSError):  # the result is there; only a power cut now could lose its name
        sync_folder(place.parent)
