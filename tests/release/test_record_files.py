"""Files of plans and releases as they were written once, and when those of a release were."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest

from dpci_core import ZCDP, PureDP
from dpci_core.ledger import Cap, RecordedHead
from dpci_core.plan import as_json, as_yaml, read_plan
from dpci_core.release import load_release
from dpci_core.release.evaluation import EVALUATION_NAME, REGISTRY_NAME
from tests.datasets.test_hostile_uploads import mutant
from tests.release_example import PURE, RHO, Desk, make_plan

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


@pytest.mark.parametrize(
    ("budget", "cap", "together"),
    [
        (PURE, None, "2-differentially private (pure epsilon): 50 % → at most 88.1 %."),
        (RHO, None, "1-zCDP (rho)."),
        (PURE, Cap.zcdp(1), "1-zCDP (rho)."),
    ],
)
def test_a_second_release_of_a_plan_names_the_first_and_what_they_are_together(
    tmp_path: Path, budget: PureDP | ZCDP, cap: Cap | None, together: str
) -> None:
    """Whoever has the second alone would take its own budget for all that was said of a person."""
    desk = Desk.at(tmp_path, plan=make_plan(budget), cap=cap)
    first, second = desk.release(), desk.release("r2", to="again")
    assert (second.so_far.earlier, second.so_far.same_plan) == (1, first.charge_id)
    assert load_release(tmp_path / "again").so_far == second.so_far
    named = f"1 earlier release was paid for, of this same plan (entry {first.charge_id})"
    for name in ("report.html", "model_card.md", EVALUATION_NAME, REGISTRY_NAME):
        before, after = (
            " ".join((tmp_path / folder / name).read_text().split()) for folder in ("out", "again")
        )
        assert "the ledger has no earlier one about the same" in before, name
        assert "Not the first" not in before, name
        assert named in after, name
        assert f"Together with this one they are {together}" in after, name
    assert desk.release().so_far == first.so_far, "what came later is in no record"


def test_files_of_a_release_carry_the_hour_of_its_booking(tmp_path: Path) -> None:
    desk = Desk.at(tmp_path)
    made = desk.release()
    assert made.released_at == desk.ledger.history()[0].booked_at
    assert made.released_at.endswith(":00:00+00:00")
    folder = desk.folder / "out"
    assert {path.stat().st_mtime % 3600 for path in (folder, *folder.iterdir())} == {0.0}
