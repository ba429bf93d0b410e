"""Files of plans and releases as they were written once, and when those of a release were."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from dpci_core.ledger import RecordedHead
from dpci_core.plan import as_json, as_yaml, read_plan
from dpci_core.release import load_release
from tests.datasets.test_hostile_uploads import mutant
from tests.release_example import Desk

FIXTURES = Path(__file__).parents[1] / "fixtures"


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("plan_*")), ids=lambda path: path.stem)
def test_kept_plans_open_and_are_written_as_they_were(path: Path) -> None:
    plan, again = read_plan(path), as_json if path.suffix == ".json" else as_yaml
    assert again(plan).encode() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("release_*")), ids=lambda path: path.stem)
def test_kept_releases_open_and_are_written_as_they_were(path: Path) -> None:
    assert load_release(path).to_json().encode() == path.read_bytes()


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("[rp]*")), ids=lambda path: path.name)
def test_mutants_of_records_and_plans_open_or_are_refused(path: Path, tmp_path: Path) -> None:
    opened = load_release if path.name.startswith("release") else read_plan
    rng, file = random.Random(5), tmp_path / path.name
    for _ in range(50):
        file.write_bytes(mutant(rng, [path.read_bytes()]))
        with suppress(ValueError):
            opened(file)


def test_a_record_is_known_to_its_ledger(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    desk.release()
    record = desk.folder / "out" / "release.json"
    assert json.loads(record.read_text())["version"] == 1
    found = desk.ledger.verify([RecordedHead.from_record(record)])
    assert (found.is_good, found.remarks) == (True, ())


def test_files_of_a_release_carry_the_hour_of_its_booking(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    made = desk.release()
    assert made.released_at == desk.ledger.history()[0].booked_at
    assert made.released_at.endswith(":00:00+00:00")
    folder = desk.folder / "out"
    assert {path.stat().st_mtime % 3600 for path in (folder, *folder.iterdir())} == {0.0}
