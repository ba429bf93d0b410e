"""Records and plans of earlier versions: they open, and those that must not be published say so."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from dpci_core.__main__ import main
from dpci_core.ledger import Ledger, RecordedHead
from dpci_core.plan import as_json, as_yaml, read_plan
from dpci_core.release import load_release
from dpci_core.report.refusals import said
from tests.release_desk import Desk, write_table

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("kind", ["pure", "zcdp"])
def test_a_record_of_version_1_opens_and_says_what_must_be_known(kind: str, tmp_path: Path) -> None:
    path = FIXTURES / f"release_v1_{kind}.json"
    made = load_release(path)
    assert json.loads(made.to_json()) == json.loads(path.read_text())
    assert (made.caution is not None and "withdraw it" in said(made.caution)) == (kind == "pure")
    remarks = Ledger(tmp_path / "ledger.sqlite").verify([RecordedHead.from_record(path)]).remarks
    assert any(
        "Do not publish it" in said(remark) and path.name in said(remark) for remark in remarks
    ) == (kind == "pure")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("plan_*")), ids=lambda path: path.stem)
def test_plans_of_earlier_days_open_and_are_written_as_they_were(path: Path) -> None:
    plan, again = read_plan(path), as_json if path.suffix == ".json" else as_yaml
    assert again(plan).encode() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("release_*")), ids=lambda path: path.stem)
def test_releases_of_earlier_days_are_written_as_they_were(path: Path) -> None:
    assert load_release(path).to_json().encode() == path.read_bytes()


def test_predict_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write_table(tmp_path / "table.csv", 5)
    record = tmp_path / "release.json"
    shutil.copy(FIXTURES / "release_v1_pure.json", record)
    assert main(["predict", str(record), str(table)]) == 0
    said = capsys.readouterr()
    assert "Do not publish it" in said.err
    assert len(said.out.splitlines()) == 6


def test_new_records_need_no_caution(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    assert desk.release().caution is None
    record = desk.folder / "out" / "release.json"
    assert json.loads(record.read_text())["version"] == 3
    assert desk.ledger.verify([RecordedHead.from_record(record)]).remarks == ()


def test_files_of_a_release_carry_the_hour_of_its_booking(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    made = desk.release()
    assert made.released_at == desk.ledger.history()[0].booked_at
    assert made.released_at.endswith(":00:00+00:00")
    folder = desk.folder / "out"
    assert {path.stat().st_mtime % 3600 for path in (folder, *folder.iterdir())} == {0.0}
