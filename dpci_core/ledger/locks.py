"""Whether the locks of a folder hold: where they do not, two processes book what only one may.

On Linux the kind of the file system is known (`/proc/self/mountinfo`); those of a network are
refused, because nobody here sees what another machine holds. Everywhere two processes try each
other's locks, once for a device.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from dpci_core.base.errors import LedgerRuleError

VARIABLE = "DPCI_LEDGER_SOUND_LOCKS"
"""Environment variable: kinds of file systems, separated by commas, whose locks are known to hold
between all machines that use them.
"""
MOUNTS = Path("/proc/self/mountinfo")
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
_TAKEN = 3
_TRY = f"""
import errno, fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        sys.exit({_TAKEN} if error.errno in (errno.EAGAIN, errno.EACCES) else 4)
"""
_SOUND: set[int] = set()
"""Devices whose locks were tried in this process."""


def check_file_system(path: Path) -> None:
    """Raise LedgerRuleError for a file on a file system that other machines may share."""
    kind = file_system(path)
    known = {name.strip() for name in os.environ.get(VARIABLE, "").split(",")}
    if kind is None or kind in known:
        return
    is_shared = kind in _SHARED or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE)
    if is_shared:
        raise LedgerRuleError("locks_of_a_network", path=path, kind=kind, variable=VARIABLE)


def file_system(path: Path, layers: int = _LAYERS) -> str | None:
    """Return the kind of file system that a file is on, or will be; of an overlay the one that is
    written to, where it can be seen. None where the system does not tell.
    """
    try:
        lines = MOUNTS.read_text(errors="surrogateescape").splitlines()
    except OSError:
        return None
    wanted = Path(os.path.realpath(path))
    best, found = -1, None
    for line in lines:
        place, _, about = line.partition(" - ")
        fields, kinds = place.split(" "), about.split(" ")
        if len(fields) < 5 or len(kinds) < 3:
            continue
        mounted = Path(_plain(fields[4]))
        if wanted.is_relative_to(mounted) and len(mounted.parts) >= best:  # later ones lie on top
            best, found = len(mounted.parts), kinds
    if found is None:
        return None
    upper = re.search(r"(?:^|,)upperdir=([^,]+)", _plain(found[2]))
    if found[0] == "overlay" and upper and layers and os.path.isdir(upper[1]):
        return file_system(Path(upper[1]), layers - 1) or found[0]
    return found[0]


def _plain(text: str) -> str:
    """A name of the kernel's list, its blanks and backslashes written out."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def check_by_trying(folder: Path) -> None:
    """Raise LedgerRuleError if a second process gets a lock that this one holds, or does not get
    one that it gave back. What cannot be tried is not refused here.
    """
    with suppress(OSError, subprocess.SubprocessError, ImportError):
        device = folder.stat().st_dev
        if device in _SOUND:
            return
        if not _do_hold(folder):
            raise LedgerRuleError("locks_do_not_hold", path=folder)
        _SOUND.add(device)


def _do_hold(folder: Path) -> bool:
    import fcntl  # not on Windows

    descriptor, name = tempfile.mkstemp(prefix=".dpci-lock-", dir=folder)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        while_held = _second(name)
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
        return while_held != 0 and _second(name) != _TAKEN
    finally:
        os.close(descriptor)
        os.unlink(name)


def _second(name: str) -> int:
    """What another process found: 0 if it got the lock, `_TAKEN` if it did not."""
    command = [sys.executable, "-I", "-S", "-c", _TRY, name]
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode
