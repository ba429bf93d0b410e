"""Finished releases: their folders, as the pages Release and Ledger find them, and what the page
Plan says of them.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import platformdirs
import streamlit as st

from dpci_core.ledger import Charge, Ledger
from dpci_core.release.record import RECORD_NAME
from ui.controls import plan_file
from ui.kit.exports import MIME
from ui.session import access
from ui.session.case import PlannedCase
from ui.session.compute import DECLARED
from ui.views import path

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


def _seen(file: Path) -> tuple[int, ...]:
    """What the system says of a file without opening it: its number, time and size; nothing of one
    that is missing.
    """
    try:
        at = file.stat()
    except FileNotFoundError:
        return ()
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


# --- on the page Plan -----------------------------------------------------------------------------


def say_released(case: PlannedCase) -> None:
    """That the plan of a case was released already, with a way to the next study."""
    if (released := _released(case)) is None:
        return
    booked_at, dataset = released
    with st.container(border=True):
        st.markdown(
            f"**This plan was released** on {booked_at[:10]}. A change makes another plan "
            "of the same table."
        )
        if plan_file.ask_next(dataset):
            path.show("describe")


def _released(case: PlannedCase) -> tuple[str, str] | None:
    """When the plan of a case was last released, and from which data set; None where the ledger is
    not asked here.
    """
    if case.settings.dataset != DECLARED or not access.has_ledger():
        return None
    try:
        digest = plan_file.bare_plan(case).digest
        ledger = Ledger(read_only=True, busy_seconds=path.BUSY_SECONDS)
        seen = tuple(_seen(ledger.path.with_name(ledger.path.name + end)) for end in ("", "-wal"))
        return _booked(ledger.path, seen).get(digest)
    except (ValueError, OSError):  # what is wrong with it is said where it is asked to book
        return None


@lru_cache(maxsize=4)
def _booked(file: Path, seen: object) -> dict[str, tuple[str, str]]:
    """When plans were last released and from which data set, by their digests; read again when the
    ledger's files were written to.
    """
    charges = Ledger(file, read_only=True, busy_seconds=path.BUSY_SECONDS).history()
    return {c.plan_hash: (c.booked_at, c.dataset) for c in charges if c.state == "done"}
