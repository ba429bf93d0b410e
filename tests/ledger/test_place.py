"""Where a ledger may be: one name, one mount, one machine, one owner."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from dpci_core.base.errors import LedgerRuleError
from dpci_core.ledger import Ledger, LedgerDamagedError, place
from tests.ledger.test_faults import book, create, opened, posix
from tests.refusals import refuses

LOCAL = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw"


def mounted(folder: Path, *lines: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel's list of file systems."""
    listed = folder / "mountinfo"
    listed.write_text("\n".join((LOCAL, *lines)) + "\n")
    monkeypatch.setattr(place, "MOUNTS", listed)


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
    with refuses(LedgerRuleError, match="other machines may use"):
        book(before, "x")
    assert len(before.history()) == 1


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "fuse.fuse-overlayfs", "apfs"])
def test_a_local_disk_within_a_share_is_local(kind: str, tmp_path: Path, monkeypatch) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted(tmp_path, line(tmp_path, "nfs4"), line(disk, kind), monkeypatch=monkeypatch)
    assert place.file_system(disk / "ledger.sqlite") == kind
    create(Ledger(disk / "ledger.sqlite"))


def test_an_overlay_is_what_it_writes_to(tmp_path: Path, monkeypatch) -> None:
    upper, top = tmp_path / "upper", tmp_path / "top"
    upper.mkdir()
    top.mkdir()
    overlay = line(top, "overlay", f"rw,lowerdir=/l,upperdir={upper},workdir=/w")
    mounted(tmp_path, line(upper, "nfs"), overlay, monkeypatch=monkeypatch)
    assert place.file_system(top / "ledger.sqlite") == "nfs"
    mounted(tmp_path, line(top, "overlay", "rw,upperdir=/not/here"), monkeypatch=monkeypatch)
    assert place.file_system(top) == "overlay"
    itself = line(top, "overlay", f"rw,upperdir={top}")
    mounted(tmp_path, itself, monkeypatch=monkeypatch)
    assert place.file_system(top) == "overlay"


@posix
def test_a_link_into_a_share_is_on_the_share(tmp_path: Path, monkeypatch) -> None:
    share = tmp_path / "share"
    share.mkdir()
    os.symlink(share, tmp_path / "here")
    mounted(tmp_path, line(share, "cifs"), monkeypatch=monkeypatch)
    assert place.file_system(tmp_path / "here" / "ledger.sqlite") == "cifs"


@posix
@pytest.mark.parametrize("end", ["", "-wal", ".head"])
def test_a_ledger_with_a_second_name_is_not_opened(end: str, tmp_path: Path) -> None:
    """Killed after a charge, its log would lie beside one name only."""
    (tmp_path / "one").mkdir()
    ledger = opened(tmp_path / "one" / "ledger.sqlite")
    with closing(sqlite3.connect(ledger.path)) as reader:  # which keeps the write-ahead log
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM entries").fetchone()
        assert book(ledger, "told").is_new
        other = tmp_path / f"two{end}"
        os.link(f"{ledger.path}{end}", other)
        names = [ledger] if end else [ledger, Ledger(other)]
        for name in names:
            for refused in (name.accounts, name.verify, lambda it=name: book(it, "again")):
                with refuses(LedgerRuleError, match="has a second name"):
                    refused()
        other.unlink()
    assert len(ledger.history()) == 2


@posix
@pytest.mark.parametrize("end", ["", "-wal", "-shm", ".head"])
def test_a_file_that_is_mounted_by_itself_is_not_opened(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    ledger = opened(folder / "ledger.sqlite")
    with closing(sqlite3.connect(ledger.path)) as reader:
        reader.execute("SELECT count(*) FROM entries").fetchone()
        mounted(tmp_path, line(folder, "ext4"), monkeypatch=monkeypatch)
        assert book(ledger, "beside").is_new
        alone = line(Path(f"{ledger.path}{end}"), "ext4")
        mounted(tmp_path, alone, monkeypatch=monkeypatch)
        for refused in (ledger.accounts, lambda: book(ledger, "again")):
            with refuses(LedgerRuleError, match="mounted by itself"):
                refused()


@posix
def test_without_a_list_of_mounts_another_disk_tells(tmp_path: Path, monkeypatch) -> None:
    ledger = opened(tmp_path / "ledger.sqlite")
    monkeypatch.setattr(place, "MOUNTS", tmp_path / "none")
    assert len(ledger.history()) == 1
    monkeypatch.setattr(place, "_device", lambda folder: -1)
    with refuses(LedgerRuleError, match="mounted by itself"):
        ledger.history()


@posix
def test_files_and_folders_that_everybody_may_write_are_refused(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    ledger = opened(tmp_path / "own" / "ledger.sqlite", key_path=keys / "one.key")
    head = tmp_path / "own" / "ledger.sqlite.head"
    for path, opened_up, kept in (
        (ledger.path, 0o666, 0o600),
        (head, 0o602, 0o600),
        (ledger.path.parent, 0o777, 0o700),
        (keys, 0o703, 0o700),
    ):
        path.chmod(opened_up)
        with refuses(LedgerRuleError, match=f"chmod go-w '{path}'"):
            book(ledger, "x")
        path.chmod(0o1777 if path.is_dir() else kept)  # as /tmp is
    assert book(ledger, "x").is_new


@posix
@pytest.mark.parametrize("kind", ["ledger", "keys"])
def test_a_folder_above_that_everybody_may_write_is_refused(kind: str, tmp_path: Path) -> None:
    """Whoever may rename what lies between puts a folder of their own in its place."""
    places = {name: tmp_path / name / "a" / "b" for name in ("ledger", "keys")}
    ledger = opened(places["ledger"] / "ledger.sqlite", key_path=places["keys"] / "one.key")
    above = tmp_path / kind
    above.chmod(0o777)
    with refuses(LedgerRuleError, match=f"chmod go-w '{above}'"):
        book(ledger, "x")
    above.chmod(0o1777)
    assert book(ledger, "x").is_new


@posix
def test_a_key_with_a_second_name_is_refused(tmp_path: Path) -> None:
    key = tmp_path / "one.key"
    ledger = opened(tmp_path / "ledger.sqlite", key_path=key)
    other = tmp_path / "two.key"
    os.link(key, other)
    with refuses(LedgerDamagedError, match="has a second name"):
        book(ledger, "x")
    other.unlink()
    assert book(ledger, "x").is_new


class System:
    """The system's word on owners, as it would be for another user."""

    def __init__(self, me: int, owners: dict[Path, int]) -> None:
        self.me, self.owners = me, owners

    def __getattr__(self, name: str) -> object:
        return getattr(os, name)

    def geteuid(self) -> int:
        return self.me

    def stat(self, path: str) -> SimpleNamespace:
        found = os.stat(path)
        same = {name: getattr(found, name) for name in ("st_mode", "st_nlink", "st_dev")}
        return SimpleNamespace(st_uid=self.owners.get(Path(path), self.me), **same)


@posix
def test_files_of_another_user_are_refused(tmp_path: Path, monkeypatch) -> None:
    keys = tmp_path / "keys"
    ledger = opened(tmp_path / "own" / "ledger.sqlite", key_path=keys / "one.key")
    head = tmp_path / "own" / "ledger.sqlite.head"
    files = (ledger.path, head, ledger.key_path)
    for me, paths in ((1000, (*files, keys, keys.parent / "own")), (0, files)):
        for path in paths:
            monkeypatch.setattr(place, "os", System(me, {path: 12345}))
            with refuses(LedgerRuleError, match=rf"number 12345.*chown .* '{path}'"):
                book(ledger, "x")
            assert ledger.verify().is_good  # reading spends nothing


@posix
def test_root_may_work_for_the_owner_of_a_folder_and_what_root_owns_is_trusted(
    tmp_path: Path, monkeypatch
) -> None:
    own, keys = tmp_path / "own", tmp_path / "keys"
    ledger = opened(own / "ledger.sqlite", key_path=keys / "one.key")
    everything = dict.fromkeys((own, ledger.path, keys, ledger.key_path), 12345)
    monkeypatch.setattr(place, "os", System(0, everything))
    assert book(ledger, "x").is_new
    monkeypatch.setattr(place, "os", System(1000, dict.fromkeys(everything, 0)))
    assert book(ledger, "y").is_new
