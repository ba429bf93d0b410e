"""A release in which one person may have several rows: counted before the charge, read by their
names, which are kept nowhere, and called one person wherever it is told.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
import yaml

from dpci_core import load_release
from dpci_core.__main__ import main
from dpci_core.base.errors import DataRejectedError, PersonsNotShownError
from dpci_core.datasets.folder import cell_blocks
from dpci_core.ledger import Cap, Ledger
from dpci_core.plan import write_plan
from dpci_core.release import (
    RecordError,
    Release,
    ReleaseFailedError,
    ReleaseRefusedError,
    price_of,
    schema_hash,
    table,
)
from dpci_core.release.once import check_account
from dpci_core.release.table import counted, read_header, read_persons
from dpci_core.schema import Persons, RecordMapper
from tests.refusals import refuses
from tests.release.test_folder import write_parts
from tests.release_example import RHO, SCHEMA, Desk, make_plan, write_table

N, K = 60, 3
WITH = dataclasses.replace(SCHEMA, persons=Persons("name", K))
PLAN = make_plan(schema=WITH, n=N, calibration="sharp")
MARK = "Xanadu-"


def write_visits(path: Path) -> Path:
    """A table of 200 rows, of 60 persons by name and of some without one."""
    write_table(path)
    head, *rows = path.read_text().splitlines()
    whose = np.random.default_rng(4).integers(0, N, len(rows))
    whose[:N] = np.arange(N)
    names = [f" {MARK}{i}" if row % 11 != 10 or row < N else "  " for row, i in enumerate(whose)]
    rows = [f"{row.rsplit(',', 1)[0]},{name}" for row, name in zip(rows, names, strict=True)]
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def desk_at(folder: Path, plan: Any = PLAN) -> Desk:
    ledger = Ledger(folder / "ledger.sqlite")
    ledger.create_dataset(
        "Clinic",
        schema_hash=schema_hash(plan.schema),
        cap=Cap.pure(3),
        **plan.account_unit,
        person="A",
    )
    return Desk(folder, plan, write_visits(folder / "table.csv"), ledger)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Release]:
    desk = desk_at(tmp_path_factory.mktemp("clinic"))
    return desk, desk.release()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return desk_at(tmp_path)


def test_the_record_counts_persons_and_opens_again(done: tuple[Desk, Release]) -> None:
    desk, made = done
    assert made.n_records == N
    assert made.design.rows_per_person == K
    assert made.schema.persons == Persons("name", K)
    assert made.counted_words == f"{N} persons (planned: all of their records complete)"
    assert "one person, in all of its up to 3 rows" in made.guarantee.neighbours
    again = load_release(desk.folder / "out")
    assert again.to_dict() == made.to_dict()
    assert again.protects == "one person with up to 3 rows"
    with pytest.raises(RecordError):
        dataclasses.replace(made, design=dataclasses.replace(made.design, rows_per_person=2))


def test_every_page_calls_it_one_person(done: tuple[Desk, Release]) -> None:
    folder = done[0].folder / "out"
    pages = {path.name: path.read_text() for path in folder.iterdir()}
    for name in ("report.html", "model_card.md", "evaluation.md", "release.json"):
        assert "one person with up to 3 rows" in pages[name], name
        assert "Whose row it is says the column" in pages[name] or name == "report.html"
        assert "value of one record" not in pages[name], name
    entry = yaml.safe_load(pages["deployment.yaml"])
    assert entry["deployment"]["privacy_loss"]["privacy_unit"] == "one person with up to 3 rows"
    assert "protected for each, not for all" not in pages["evaluation.md"]


def test_no_name_of_a_person_is_kept(done: tuple[Desk, Release]) -> None:
    """Nor the number of rows: the record has that of persons alone."""
    desk, made = done
    files = [*(desk.folder / "out").iterdir(), *desk.folder.glob("ledger*")]
    assert len(files) >= 10
    assert not any(MARK.encode() in path.read_bytes() for path in files)
    assert "200" not in json.dumps(made.to_dict()["n_records"])


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parquet unpacked here: what a child process sends is tested elsewhere."""

    def unpacked(file: Path, columns: Any, needed: Any, *, numbers: Any) -> Any:
        rows = pyarrow.parquet.read_metadata(file).num_row_groups
        return cell_blocks(file, columns, needed, groups=range(rows), numbers=numbers)

    monkeypatch.setattr(table, "limited_cell_blocks", unpacked)


@pytest.mark.usefixtures("in_process")
def test_persons_are_counted_alike_in_every_kind_of_file(desk: Desk) -> None:
    folder = write_parts(desk.folder / "parts", of=desk.file)
    parquet = desk.folder / "table.parquet"
    pd.read_csv(desk.file).to_parquet(parquet)
    found = []
    for file in (desk.file, parquet, folder):
        header = counted(read_header(file), PLAN.persons)
        assert (header.n_persons, header.n_records) == (N, 200)
        _, _, numbers, note = read_persons(header, RecordMapper(WITH), Persons("name", K))
        assert note.n_records == 200
        found.append(numbers)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    assert (found[0] == -1).sum() == 13
    assert desk.release(file=folder).n_records == N


def test_another_number_of_persons_is_refused_before_booking(desk: Desk) -> None:
    cut = desk.folder / "cut.csv"
    cut.write_text("\n".join(desk.file.read_text().splitlines()[:51]) + "\n")
    with refuses(ReleaseRefusedError, match="persons is 50.*declares 60 and allows 54 to 66"):
        desk.release(file=cut)
    nameless = desk.folder / "nameless.csv"
    nameless.write_text("age,city,sick,name\n" + "1,a,yes, \n" * 70)
    with refuses(ReleaseRefusedError, match="persons is 0,"):
        desk.release(file=nameless)
    missing = desk.folder / "missing.csv"
    missing.write_text("age,city,sick\n" + "1,a,yes\n" * 70)
    with pytest.raises(DataRejectedError, match="name"):
        desk.release(file=missing)
    assert desk.spent == "0"


def test_a_file_that_changes_after_the_count_fails_without_a_name(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = desk.file.read_text().splitlines()
    lines[1] = lines[1].rsplit(",", 1)[0] + f",{MARK}99"  # a person more, as many rows
    lines[70] = lines[71]

    def change(stage: str) -> None:
        if stage == "booked":
            desk.file.write_text("\n".join(lines) + "\n")

    monkeypatch.setattr("dpci_core.release.once.reached", change)
    with pytest.raises(ReleaseFailedError) as failed:
        desk.release()
    assert "changed" in str(failed.value)
    assert MARK not in str(failed.value)
    assert desk.spent == "1"


def test_parquet_that_cannot_be_unpacked_is_no_refusal_before_the_charge(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What unpacking takes depends on cells, so it may only end a release that was paid for."""
    parquet = desk.folder / "table.parquet"
    pd.read_csv(desk.file).to_parquet(parquet)

    def broken(*_: object, **__: object) -> Any:
        raise table.BatchError("unpacking_too_large")

    monkeypatch.setattr(table, "limited_cell_blocks", broken)
    assert counted(read_header(parquet), PLAN.persons).n_persons is None
    with pytest.raises(ReleaseFailedError):
        desk.release(file=parquet)
    assert desk.spent == "1"


@pytest.mark.parametrize(
    "given",
    [
        {"unit": "one person", "several_rows": False},
        {"unit": "one person, with several rows", "several_rows": False},
        {"unit": "one patient", "several_rows": True},
    ],
)
def test_another_unit_or_single_rows_pay_for_no_plan_of_persons(tmp_path, given) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    whose = schema_hash(PLAN.schema)
    ledger.create_dataset("Clinic", schema_hash=whose, cap=Cap.pure(3), person="A", **given)
    with refuses(ReleaseRefusedError, match="'one person, with several rows'"):
        check_account(ledger, "Clinic", PLAN)


def test_what_is_not_shown_for_persons_is_refused() -> None:
    plan = make_plan(RHO, schema=WITH, n=N, mechanism="objective", calibration="sharp")
    with pytest.raises(PersonsNotShownError):
        price_of(plan, allow_unreviewed=True)
    blank = dataclasses.replace(WITH, persons=Persons(" name", K))
    with refuses(ReleaseRefusedError, match=" name"):
        price_of(make_plan(schema=blank, n=N))


def test_the_command_line_says_it(
    desk: Desk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = desk.folder / "plan.yaml"
    write_plan(PLAN, plan)
    assert main(["release", str(plan), "--check", "--ledger", str(desk.ledger.path)]) == 0
    said = capsys.readouterr().out
    assert "one person with up to 3 rows" in said
    assert "Planned lengths for 60 persons" in said
    assert "as if every person had one row" in said
