"""A ledger whose locks lie is refused: eighteen of twenty races on one overspent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import Ledger, locks
from tests.ledger.test_faults import book, create, opened, posix
from tests.refusals import refuses

LOCAL = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def mounted(folder: Path, *lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's list of file systems."""
    listed = folder / "mountinfo"
    listed.write_text("\n".join((LOCAL, *lines)) + "\n")
    monkeypatch.setattr(locks, "MOUNTS", listed)


def line(place: Path, kind: str, more: str = "rw") -> str:
    return f"40 21 0:40 / {str(place).replace(' ', chr(92) + '040')} rw shared:9 - {kind} x {more}"


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.rclone", "virtiofs", "ceph"]
)
def test_nothing_is_created_or_booked_where_other_machines_may_book(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = tmp_path / "a share"
    share.mkdir()
    before = opened(share / "old.sqlite")
    mounted(tmp_path, line(share, kind), monkeypatch=monkeypatch)
    with refuses(LedgerRuleError, match="other machines may use"):
        create(Ledger(share / "new" / "ledger.sqlite"))
    assert not (share / "new").exists()
    with refuses(LedgerRuleError, match=f"DPCI_LEDGER_SOUND_LOCKS={kind}"):
        book(before, "x")
    assert len(before.history()) == 1
    monkeypatch.setenv(locks.VARIABLE, "yes")
    with refuses(LedgerRuleError, match="other machines"):
        book(before, "x")
    monkeypatch.setenv(locks.VARIABLE, f"zfs, {kind}")
    assert book(before, "x").is_new


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "fuse.fuse-overlayfs", "apfs"])
def test_a_local_disk_within_a_share_is_local(kind: str, tmp_path: Path, monkeypatch) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted(tmp_path, line(tmp_path, "nfs4"), line(disk, kind), monkeypatch=monkeypatch)
    assert locks.file_system(disk / "ledger.sqlite") == kind
    create(Ledger(disk / "ledger.sqlite"))


def test_an_overlay_is_what_it_writes_to(tmp_path: Path, monkeypatch) -> None:
    upper, top = tmp_path / "upper", tmp_path / "top"
    upper.mkdir()
    top.mkdir()
    overlay = line(top, "overlay", f"rw,lowerdir=/l,upperdir={upper},workdir=/w")
    mounted(tmp_path, line(upper, "nfs"), overlay, monkeypatch=monkeypatch)
    assert locks.file_system(top / "ledger.sqlite") == "nfs"
    mounted(tmp_path, line(top, "overlay", "rw,upperdir=/not/here"), monkeypatch=monkeypatch)
    assert locks.file_system(top) == "overlay"
    itself = line(top, "overlay", f"rw,upperdir={top}")
    mounted(tmp_path, itself, monkeypatch=monkeypatch)
    assert locks.file_system(top) == "overlay"


@posix
def test_a_link_into_a_share_is_on_the_share(tmp_path: Path, monkeypatch) -> None:
    share = tmp_path / "share"
    share.mkdir()
    os.symlink(share, tmp_path / "here")
    mounted(tmp_path, line(share, "cifs"), monkeypatch=monkeypatch)
    assert locks.file_system(tmp_path / "here" / "ledger.sqlite") == "cifs"


@posix
@pytest.mark.parametrize("lie", ["granted", "kept"])
def test_locks_that_lie_between_two_processes_are_found(lie, tmp_path: Path, monkeypatch) -> None:
    import fcntl

    real = fcntl.lockf

    def lies(file: int, how: int) -> None:
        if (how == fcntl.LOCK_UN) is (lie == "granted"):
            real(file, how)

    monkeypatch.setattr(locks, "_SOUND", set())
    monkeypatch.setattr(fcntl, "lockf", lies)
    with refuses(LedgerRuleError, match="lock that the first one holds"):
        create(Ledger(tmp_path / "ledger.sqlite"))
    monkeypatch.setattr(fcntl, "lockf", real)
    create(Ledger(tmp_path / "ledger.sqlite"))
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".dpci-lock")]
    monkeypatch.setattr(locks, "_second", None)  # tried once for a device
    create(Ledger(tmp_path / "second.sqlite"))
