"""What the system says of the place of a ledger: names, mounts, owners and modes.

docs/operations.md, "Where a ledger may be", says why each of these is refused.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from dpci_core.base.errors import LedgerRuleError

MOUNTS = Path("/proc/self/mountinfo")
BESIDE = ("", "-wal", "-shm", "-journal", ".head")
"""The files of a ledger: its own name and what is added to it."""
_SHARED = frozenset(
    [
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "ncpfs",
        "afs",
        "coda",
        "9p",
        "virtiofs",
        "vboxsf",
        "vmhgfs",
        "prl_fs",
        "drvfs",
        "davfs",
        "ceph",
        "lustre",
        "gfs",
        "gfs2",
        "ocfs2",
        "gpfs",
        "glusterfs",
        "beegfs",
        "orangefs",
        "pvfs2",
        "acfs",
        "fuse",
    ]
)
_LOCAL_FUSE = frozenset({"fuse.fuse-overlayfs", "fuse.ntfs-3g"})
_LAYERS = 8
"""Overlays on overlays that are looked through."""


class _Mount(NamedTuple):
    """One line of the kernel's list."""

    point: Path
    kind: str
    options: str


def check_names(path: Path) -> None:
    """Refuse a ledger that may be open under another name, where its write-ahead log would be
    another file.

    Raises:
        LedgerRuleError: if it or a file beside it has a further hard link, or is mounted by itself.
    """
    wanted = os.path.realpath(path)
    mounts = _mounts()
    points = {str(mount.point) for mount in mounts}
    device = _device(os.path.dirname(wanted))
    for end in BESIDE:
        name = wanted + end
        try:
            found = os.stat(name)
        except FileNotFoundError:
            continue
        if found.st_nlink > 1 and stat.S_ISREG(found.st_mode):
            raise LedgerRuleError("file_with_two_names", path=name)
        # without the kernel's list, a mount from the same disk is not recognised
        if name in points or (not mounts and found.st_dev != device):
            raise LedgerRuleError("file_is_mounted", path=name)


def check_network(path: Path) -> None:
    """Refuse a file on a file system that other machines may share."""
    kind = file_system(path)
    if kind is None:
        return
    if kind in _SHARED or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
        raise LedgerRuleError("on_a_network", path=path, kind=kind)


def check_owners(path: Path, beside: tuple[str, ...] = ("",)) -> None:
    """Refuse files that another user could change; those that are not there are passed over.

    Args:
        path: of a file.
        beside: what to add to its name for every file that is meant.

    Raises:
        LedgerRuleError: if one of them or their folder belongs to another user than this process's
            or root, or if everybody may write to it or to a folder above it. Of root's processes
            the owner of the folder is taken for the one whom root works for.
    """
    if os.name != "posix":
        return
    wanted = os.path.realpath(path)
    folder = os.path.dirname(wanted)
    above = [str(parent) for parent in Path(folder).parents]
    trusted = {0, os.geteuid()}
    for name in (folder, *(wanted + end for end in beside), *above):
        try:
            found = os.stat(name)
        except FileNotFoundError:
            continue
        if name == folder and os.geteuid() == 0:
            trusted.add(found.st_uid)
        if name not in above and found.st_uid not in trusted:
            raise LedgerRuleError("owned_by_another", path=name, owner=found.st_uid)
        # in a sticky folder, as /tmp, nobody renames or removes what others own
        if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
            raise LedgerRuleError("open_to_others", path=name)


def file_system(path: Path, layers: int = _LAYERS) -> str | None:
    """Return the kind of file system that a file is on, or will be; of an overlay the one that is
    written to, where it can be seen. None where the system does not tell.
    """
    wanted = Path(os.path.realpath(path))
    around = [mount for mount in _mounts() if wanted.is_relative_to(mount.point)]
    if not around:
        return None
    depth = max(len(mount.point.parts) for mount in around)
    best = [mount for mount in around if len(mount.point.parts) == depth][-1]  # it lies on top
    upper = re.search(r"(?:^|,)upperdir=([^,]+)", best.options)
    if best.kind == "overlay" and upper and layers and os.path.isdir(upper[1]):
        return file_system(Path(upper[1]), layers - 1) or best.kind
    return best.kind


def _mounts() -> list[_Mount]:
    """The kernel's list, empty where there is none."""
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        place, _, about = line.partition(" - ")
        fields, kinds = place.split(" "), about.split(" ")
        if len(fields) >= 5 and len(kinds) >= 3:
            found.append(_Mount(Path(_plain(fields[4])), kinds[0], _plain(kinds[2])))
    return found


def _plain(text: str) -> str:
    """A name of the kernel's list, its blanks and backslashes written out."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _device(folder: str) -> int | None:
    try:
        return os.stat(folder).st_dev
    except OSError:
        return None
