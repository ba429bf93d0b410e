"""Whoever has the folder of a release can tell whether it is what was released."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from dpci_core.__main__ import main
from dpci_core.ledger import Ledger, LedgerError, PublicKey, SigningKey
from dpci_core.ledger.draw import is_drawing
from dpci_core.release import (
    ReleasePausedError,
    SignatureCheck,
    check_signature,
    load_release,
)
from dpci_core.release.signature import SIGNATURE_NAME, signature_text
from tests.ledger_vectors import FILE
from tests.release_example import Desk


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PublicKey]:
    desk = Desk.at(tmp_path_factory.mktemp("desk"))
    desk.release()
    return desk.folder / "out", desk.ledger.public_key()


@pytest.fixture
def folder(released: tuple[Path, PublicKey], tmp_path: Path) -> Path:
    return Path(shutil.copytree(released[0], tmp_path / "copy"))


def codes(found: SignatureCheck) -> list[str]:
    return [problem.code for problem in found.problems]


def test_a_release_is_signed_and_anyone_can_check_a_copy(folder, released, capsys) -> None:
    own = released[1]
    found = check_signature(folder)
    assert (found.is_good, found.n_files) == (True, len(list(folder.iterdir())) - 1)
    assert found.checked_with.code == "release_with_named"
    assert check_signature(folder, public_key=own).checked_with.code == "release_with_pinned"
    assert main(["verify", str(folder), "--public-key", own.text]) == 0
    assert "All files (8) are as they were released." in capsys.readouterr().out
    assert main(["verify", str(folder / "release.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_good"]
    assert main(["verify", str(folder / "none" / "x")]) == 1
    assert f"There is nothing at {folder / 'none' / 'x'}." in capsys.readouterr().err
    assert main(["verify", str(folder), "--public-key", "x"]) == 1


def test_the_signature_holds_hashes_and_nothing_else(folder, released) -> None:
    """It tells nothing that the files do not: no time, no nonce; the same files, the same text."""
    text = (folder / SIGNATURE_NAME).read_text()
    made = json.loads(text)
    assert set(made) == {"format", "files", "public_key", "signature"}
    assert made["public_key"] == released[1].text
    assert made["files"] == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != SIGNATURE_NAME
    }
    files = {name: (folder / name).read_bytes().decode() for name in made["files"]}
    key = SigningKey(bytes(32))
    assert signature_text(files, key) == signature_text(dict(reversed(files.items())), key)


def _edit(folder: Path, change: Callable[[dict], object]) -> None:
    made = json.loads((folder / SIGNATURE_NAME).read_text())
    change(made)
    (folder / SIGNATURE_NAME).write_text(json.dumps(made))


def _rewrite(folder: Path, old: bytes, new: bytes) -> None:
    content = (folder / SIGNATURE_NAME).read_bytes()
    (folder / SIGNATURE_NAME).write_bytes(content.replace(old, new, 1))


@pytest.mark.parametrize(
    "name", ["release.json", "report.html", "intervals.csv", "model_card.md", "plan.yaml"]
)
def test_any_file_that_was_edited_is_named(folder, name, capsys) -> None:
    path = folder / name
    path.write_bytes(path.read_bytes() + b"\n")
    (problem,) = check_signature(folder).problems
    assert (problem.code, problem.facts["name"]) == ("signed_file_changed", name)
    assert main(["verify", str(folder)]) == 1
    said = capsys.readouterr().out
    assert f"{name} is not as it was released" in said
    assert "NOT what was released" in said


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda f: (f / "report.html").unlink(), ["signed_file_missing"]),
        (lambda f: (f / "second.html").write_text("x"), ["file_not_signed"]),
        (lambda f: (f / "more").mkdir(), ["file_not_signed"]),
        (lambda f: (f / SIGNATURE_NAME).unlink(), ["no_signature"]),
        (lambda f: (f / SIGNATURE_NAME).write_text("{"), ["signature_unreadable"]),
        (lambda f: _edit(f, lambda m: m.update(more=1)), ["signature_unreadable"]),
        (lambda f: _rewrite(f, b"{", b'{"format": "x",'), ["signature_unreadable"]),
        (lambda f: _rewrite(f, b"{", b"\xff{"), ["signature_unreadable"]),
        (lambda f: _edit(f, lambda m: m.update(files={})), ["signature_unreadable"]),
        (lambda f: _edit(f, lambda m: m.update(public_key="x")), ["signature_unreadable"]),
        (lambda f: _edit(f, lambda m: m.update(signature="0" * 128)), ["signature_invalid"]),
        (
            lambda f: _edit(f, lambda m: m["files"].pop("report.html")),
            ["signature_invalid", "file_not_signed"],
        ),
        (
            lambda f: _edit(f, lambda m: m.update(public_key=SigningKey(bytes(32)).public.text)),
            ["signature_invalid"],
        ),
    ],
)
def test_what_else_was_done_to_the_folder_is_said(folder, change, wanted) -> None:
    change(folder)
    found = check_signature(folder)
    assert (codes(found), found.is_good) == (wanted, False)


def test_names_of_strange_files_do_not_write_on_the_terminal(folder, capsys) -> None:
    (folder / "\x1b[2JAll 8 files\nare as they were \u202ereleased").touch()
    _edit(folder, lambda made: made["files"].update({"\ud800": "0"}))
    assert main(["verify", str(folder)]) == 1
    said = capsys.readouterr().out
    assert r"'\x1b[2JAll 8 files\nare as they were \u202ereleased'" in said
    assert r"'\ud800'" in said
    assert not {"\x1b", "\u202e"} & set(said)


def test_a_pipe_in_the_place_of_the_signature_is_not_waited_for(folder) -> None:
    (folder / SIGNATURE_NAME).unlink()
    os.mkfifo(folder / SIGNATURE_NAME)
    assert codes(check_signature(folder)) == ["signature_unreadable"]


def test_one_signed_anew_is_told_by_the_pinned_key(folder, released) -> None:
    (folder / "report.html").write_text("<p>Another</p>")
    files = {p.name: p.read_text() for p in folder.iterdir() if p.name != SIGNATURE_NAME}
    (folder / SIGNATURE_NAME).write_text(signature_text(files, SigningKey(bytes(32))))
    assert check_signature(folder).is_good  # as the check says of a key that it did not know
    assert codes(check_signature(folder, public_key=released[1])) == ["release_of_another_key"]


def test_a_release_without_a_signature_opens_and_is_said_to_be_unsigned(tmp_path, capsys) -> None:
    fixture = Path(__file__).resolve().parents[1] / "fixtures" / "release_standard.json"
    shutil.copy(fixture, tmp_path / "release.json")
    assert load_release(tmp_path).dataset
    assert main(["verify", str(tmp_path)]) == 1
    assert "There is no signature.json" in capsys.readouterr().out


def test_a_ledger_that_cannot_sign_pauses_before_the_draw(desk, monkeypatch) -> None:
    def lost(self: Ledger) -> None:
        raise LedgerError

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "signing_key", lost)
        with pytest.raises(ReleasePausedError):
            desk.release()
    assert desk.ledger.find("r1").may_go_on
    desk.release()
    assert check_signature(desk.folder / "out", public_key=desk.ledger.public_key()).is_good
    assert is_drawing() is False


def test_a_stranger_checks_the_vector_with_the_standard_library_and_an_ed25519() -> None:
    vector = json.loads(FILE.read_text(encoding="ascii"))["release"]
    made = json.loads(vector["signature.json"])
    for name, text in vector["files"].items():
        assert made["files"][name] == hashlib.sha256(text.encode()).hexdigest()
    signature = bytes.fromhex(made.pop("signature"))
    signed = json.dumps(made, sort_keys=True, separators=(",", ":")).encode("ascii")
    assert signed.decode() == vector["signed"]
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(made["public_key"])).verify(signature, signed)
