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
from typing import NamedTuple

import platformdirs
import streamlit as st

from dpci_core.ledger import Charge, Ledger
from dpci_core.plan import AnyPlan
from dpci_core.release.record import RECORD_NAME
from ui.controls import plan_file
from ui.kit.exports import MIME
from ui.session import access
from ui.session.case import PlannedCase
from ui.session.compute import DECLARED
from ui.session.text import plain
from ui.views import ledger_text

FOLDER_VARIABLE = "DPCI_RELEASES"
"""Names the folder of finished releases in the environment."""
_BUSY_SECONDS = 0.2
"""For which a page that only tells of a release waits for the ledger."""


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


def say_released(case: PlannedCase) -> bool:
    """That the plan of a case was released already; whether the way to a next study was taken."""
    if case.settings.dataset != DECLARED or (known := _known()) is None:
        return False
    try:
        found = known.released.get(plan_file.bare_plan(case).digest)
    except ValueError:  # what is wrong with the plan is said where it is approved
        return False
    if found is None:
        return False
    booked_at, dataset = found
    with st.container(border=True):
        st.markdown(
            f"**This plan was released** on {booked_at[:10]}. A change makes another plan "
            "of the same table."
        )
        return plan_file.ask_next(dataset, is_spent=dataset in known.spent)


def is_released(plan: AnyPlan, *, is_last: bool = False) -> bool:
    """Whether a plan was released.

    is_last: and whether no other release of it can be approved.
    """
    if (known := _known()) is None or (found := known.released.get(plan.digest)) is None:
        return False
    return not (is_last and found[1] in known.each)


def left_to(dataset: str | None) -> str:
    """What is left to the people of a data set; empty for none, or where the ledger is not asked
    here.
    """
    known = None if dataset is None else _known()
    left = None if known is None else known.left.get(str(dataset))
    return "" if left is None else f"The people of “{plain(str(dataset))}”: {left}"


class _Known(NamedTuple):
    """What a ledger has: when plans were last released and from which data set, by their digests;
    what is left to each data set, to which nothing is, and where each release is approved.
    """

    released: dict[str, tuple[str, str]]
    left: dict[str, str]
    spent: frozenset[str]
    each: frozenset[str]


def _known() -> _Known | None:
    """What the ledger has; None where it is not asked here, or cannot be read."""
    if not access.has_ledger():
        return None
    try:
        file = Ledger(read_only=True, busy_seconds=_BUSY_SECONDS).path
        return _read(file, tuple(_seen(file.with_name(file.name + end)) for end in ("", "-wal")))
    except (ValueError, OSError):  # what is wrong with it is said where it is asked to book
        return None


@lru_cache(maxsize=4)
def _read(file: Path, seen: object) -> _Known:
    """What a ledger has, read again when its files were written to."""
    ledger = Ledger(file, read_only=True, busy_seconds=_BUSY_SECONDS)
    done = (c for c in ledger.history() if c.state == "done")
    accounts = ledger.accounts()
    return _Known(
        {c.plan_hash: (c.booked_at, c.dataset) for c in done},
        {account.dataset: ledger_text.left(account) for account in accounts},
        frozenset(account.dataset for account in accounts if not account.remaining),
        frozenset(account.dataset for account in accounts if account.needs_approval),
    )
