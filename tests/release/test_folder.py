"""A folder of Parquet files is one table: read as one, refused before booking where its files do
not go together, and released once whatever happens to a file or a worker on the way.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from dpci_core import Logistic, Processes, dask_workers, fit_moments, write_plan
from dpci_core.__main__ import main
from dpci_core.base import packed
from dpci_core.base.batch import BatchError
from dpci_core.base.batches import RecordBatches
from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets import folder as folders
from dpci_core.datasets.folder import ParquetBatch, PartFile, folder_batches, read_folder
from dpci_core.release import (
    ReleaseFailedError,
    ReleaseLostError,
    ReleaseRefusedError,
    check_header,
    once,
    run,
)
from dpci_core.release.table import read_header, read_records
from dpci_core.schema import RecordMapper
from tests.refusals import refuses
from tests.release_example import SCHEMA, Desk, N
from tests.solvers.batch_measures import Deadly

PARTS = 4


def write_parts(folder: Path, *, of: Path, rows_of_group: int = 30) -> Path:
    """The records of a CSV file as Parquet files, whose names are in their order."""
    folder.mkdir()
    frame = pd.read_csv(of)
    cuts = np.linspace(0, len(frame), PARTS + 1).astype(int)
    for k, (low, high) in enumerate(pairwise(cuts)):
        table = pyarrow.Table.from_pandas(frame.iloc[low:high], preserve_index=False)
        pyarrow.parquet.write_table(
            table, folder / f"part-{k}.parquet", row_group_size=rows_of_group
        )
    return folder


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """Its file is a folder."""
    found = Desk.at(tmp_path)
    found.file = write_parts(tmp_path / "table", of=found.file)
    return found


def test_a_folder_is_the_table_of_its_files(desk: Desk) -> None:
    mapper = RecordMapper(SCHEMA)
    whole = read_records(read_header(desk.folder / "table.csv"), mapper)
    header = read_header(desk.file)
    assert (header.kind, header.n_records) == ("folder", N)
    X, y, _ = read_records(header, RecordMapper(SCHEMA))
    assert np.array_equal(X, whole[0])
    assert np.array_equal(y, whole[1])
    batches = folder_batches(header.parts, SCHEMA)
    assert [batch.n_rows for batch in batches.batches] == [50] * PARTS
    in_memory = RecordBatches.of(X, y, batch_rows=50)
    one, other = (
        fit_moments(table, loss=Logistic(), regularization=0.01) for table in (batches, in_memory)
    )
    assert (one.theta_hat == other.theta_hat).all()
    assert (one.hessian == other.hessian).all()


def test_small_row_groups_go_together_and_chunks_do_not_follow_them(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = read_folder(desk.file)
    monkeypatch.setattr(folders, "BATCH_ROWS", 29)
    sizes = [batch.n_rows for batch in folder_batches(files, SCHEMA).batches]
    assert sizes == [30, 20] * PARTS
    monkeypatch.setattr(packed, "CHUNK_ROWS", 7)
    batch = ParquetBatch(files[0], 0, 2, SCHEMA, SCHEMA.feature_names)
    assert [len(chunk) for chunk in batch.chunks()] == [7] * 7 + [1]


HOSTILE = {
    "age": [
        pyarrow.array([2**62, None, 7, -3], pyarrow.int64()),
        pyarrow.array([math.nan, None, math.inf, 50.0]),
        pyarrow.array([1.5, None, 3.0, 4.0], pyarrow.float16()),
        pyarrow.array(["50", None, " 7 ", "1_0"]),
        pyarrow.array([True, None, False, True]),
        pyarrow.array([Decimal("1.5"), None, Decimal("99.5"), Decimal("7.0")]),
        pyarrow.nulls(4),
    ],
    "city": [
        pyarrow.array(["a", "b ", None, "c"]),
        pyarrow.array([0.0, -0.0, 1.0, None]),
        pyarrow.array([0, 1, None, 2], pyarrow.uint8()),
        pyarrow.array(["b", None, "a", "b"]).dictionary_encode(),
    ],
}


@pytest.mark.parametrize("place", range(7))
def test_cells_that_are_read_at_once_map_like_cells_one_by_one(place: int, tmp_path: Path) -> None:
    age, city = HOSTILE["age"][place], HOSTILE["city"][place % 4]
    sick = pyarrow.array(["yes", None, "no", "yes"])
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"age": age, "city": city, "sick": sick}), path)
    age_column, city_column = SCHEMA.features
    cities = replace(city_column, levels=("a", "0", "-0.0", "b"))
    levels = replace(SCHEMA, features=(age_column, cities))
    fast, slow = RecordMapper(levels), RecordMapper(levels)
    X, y, _ = read_records(read_header(path), fast)
    table = pyarrow.parquet.read_table(path)
    cells = {name: table.column(name).to_pylist() for name in slow.needed}
    Xs, ys = slow.records_of(cells)
    assert np.array_equal(X, Xs)
    assert np.array_equal(y, ys)
    assert fast.note.sentences() == slow.note.sentences()


def add_text_ages(folder: Path) -> None:
    frame = pd.read_parquet(folder / "part-1.parquet").astype({"age": str})
    frame.to_parquet(folder / "part-1.parquet")


def drop_a_column(folder: Path) -> None:
    pd.read_parquet(folder / "part-1.parquet").drop(columns="name").to_parquet(
        folder / "part-1.parquet"
    )


def link_a_file(folder: Path) -> None:
    os.link(folder / "part-1.parquet", folder / "part-9.parquet")


def add_another_file(folder: Path) -> None:
    (folder / "read-me.csv").write_text("age\n1\n")


def empty(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (add_text_ages, "folder_files_differ"),
        (drop_a_column, "folder_files_differ"),
        (link_a_file, "folder_file_twice"),
        (add_another_file, "folder_of_other_files"),
        (empty, "folder_empty"),
    ],
)
def test_files_that_do_not_go_together_are_refused_before_booking(
    harm: Callable[[Path], None], code: str, desk: Desk
) -> None:
    harm(desk.file)
    with pytest.raises(DataRejectedError) as refused:
        desk.release()
    assert refused.value.code == code
    assert desk.ledger.history() == ()


def test_a_file_without_a_value_in_a_column_goes_with_the_others(desk: Desk) -> None:
    """Writers infer that type, so that it depends on the records."""
    path = desk.file / "part-1.parquet"
    table = pyarrow.parquet.read_table(path)
    place = table.schema.get_field_index("age")
    bare = table.set_column(place, "age", pyarrow.nulls(len(table)))
    pyarrow.parquet.write_table(bare, path)
    assert len(read_folder(desk.file)) == PARTS


def test_no_record_is_made_before_the_charge(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look counts cells that fit, and is over before anything is booked."""
    seen: list[str] = []
    blocks, reached, packed = folders.cell_blocks, once.reached, RecordMapper.packed
    monkeypatch.setattr(
        folders, "cell_blocks", lambda *a, **k: (seen.append("cells"), blocks(*a, **k))[1]
    )
    monkeypatch.setattr(RecordMapper, "packed", lambda *a: (seen.append("records"), packed(*a))[1])
    monkeypatch.setattr(once, "reached", lambda stage: (seen.append(stage), reached(stage))[1])
    made = desk.release()
    assert made.n_records == N
    looked = seen.index("before booking")
    assert set(seen[:looked]) == {"cells"}
    assert seen[looked + 1] == "booked"
    assert seen.index("booked") < seen.index("records")
    assert made.note is None


def vanish(folder: Path) -> None:
    (folder / "part-2.parquet").unlink()


def truncate(folder: Path) -> None:
    """Pages of zeros, and a footer and a time that are the old ones."""
    path = folder / "part-2.parquet"
    state, content = path.stat(), bytearray(path.read_bytes())
    content[4 : len(content) // 3] = bytes(len(content) // 3 - 4)
    path.write_bytes(content)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


def change(folder: Path) -> None:
    drop_a_column(folder)


def shorten(folder: Path) -> None:
    """Other rows than were declared, and the time of the old ones."""
    path = folder / "part-2.parquet"
    state = path.stat()
    pd.read_parquet(path).iloc[:-1].to_parquet(path)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize("harm", [vanish, truncate, change, shorten])
def test_a_file_that_breaks_after_booking_costs_the_charge_and_draws_nothing(
    harm: Callable[[Path], None], desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reached(stage: str) -> None:
        if stage == "booked":
            harm(desk.file)

    draws: list[int] = []
    take = run.draw_release
    monkeypatch.setattr(once, "reached", reached)

    def drawn(*given: Any, **named: Any) -> Any:
        found = take(*given, **named)
        draws.append(1)
        return found

    monkeypatch.setattr(run, "draw_release", drawn)
    with pytest.raises(ReleaseFailedError) as failed:
        desk.release()
    assert isinstance(failed.value.facts["reason"], BatchError)
    assert failed.value.facts["reason"].code in ("batch_unreadable", "file_changed")
    monkeypatch.setattr(once, "reached", lambda stage: None)
    with pytest.raises(ReleaseLostError):
        desk.release()
    assert draws == []
    assert [charge.state for charge in desk.ledger.history()] == ["failed"]
    assert not (desk.folder / "out").exists()


def test_rows_that_are_not_those_of_the_footer_are_found(desk: Desk) -> None:
    files = read_folder(desk.file)
    lying = replace(files[0], group_rows=(30, 21))
    batches = folder_batches((lying, *files[1:]), SCHEMA)
    with pytest.raises(BatchError) as error:
        fit_moments(batches, loss=Logistic(), regularization=0.01)
    assert error.value.code == "batch_of_another_size"


@dataclass
class Losing:
    """An engine that loses a worker in the middle of its second sum over the table; the sum before
    them tries the workers.
    """

    engine: Any
    marker: Path
    n_sums: int = 0

    def total(self, batches: Any, measure: Any, **given: Any) -> Any:
        self.n_sums += 1
        if self.n_sums == 3:
            measure = Deadly(measure, self.marker)
        return self.engine.total(batches, measure, **given)


class Broken:
    """An engine whose workers cannot start."""

    def total(self, *_: object, **__: object) -> Any:
        raise OSError("AF_UNIX path too long")


def test_workers_that_cannot_start_are_found_before_anything_is_spent(desk: Desk) -> None:
    with refuses(ReleaseRefusedError, match=r"cannot start \(OSError\)\. Nothing was booked"):
        desk.release(engine=Broken())
    assert desk.ledger.history() == ()


@pytest.mark.parametrize("kind", ["processes", "dask"])
def test_a_lost_worker_costs_no_second_draw_and_leaves_no_value(
    kind: str,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Unmistakable cells are in the table, and in no file, message or log afterwards."""
    if kind == "dask":
        pytest.importorskip("distributed", reason="the extra dpci[dask] is not installed")
    path = desk.file / "part-0.parquet"
    pd.read_parquet(path).assign(age=31.337031337, city="Xanadu-31337").to_parquet(path)
    kept: list[bytes] = []
    scratch = desk.folder / "scratch"
    scratch.mkdir()
    if kind == "dask":  # processes write nothing, and the path of their socket must stay short
        monkeypatch.setattr("tempfile.tempdir", str(scratch))
    draws: list[int] = []
    take = run.draw_release
    monkeypatch.setattr(run, "draw_release", lambda *a, **k: (draws.append(1), take(*a, **k))[1])
    caplog.set_level(logging.DEBUG)
    with Processes(2) if kind == "processes" else dask_workers(2) as engine:
        losing = Losing(engine, desk.folder / "marker")
        made = desk.release(engine=losing, accept=["many_incomplete"])
        kept += [file.read_bytes() for file in scratch.rglob("*") if file.is_file()]
    assert losing.marker.exists()
    assert draws == [1]
    assert made.n_records == N
    assert desk.release().charge_id == made.charge_id
    assert [charge.state for charge in desk.ledger.history()] == ["done"]
    outside = [path for path in desk.folder.iterdir() if not path.name.startswith("table")]
    files = [file for path in outside for file in (path, *path.rglob("*")) if file.is_file()]
    kept += [file.read_bytes() for file in files]
    kept.append("".join([*capfd.readouterr(), caplog.text]).encode())
    marks = (b"Xanadu", b"337031337")  # fewer digits stand in noise now and then
    assert not any(mark in content for mark in marks for content in kept)


def test_a_check_opens_footers_alone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "cell_blocks", None)
    header = check_header(run.PlanRelease(plan=desk.plan), desk.file)
    assert header.n_records == N
    assert all(isinstance(part, PartFile) for part in header.parts)
    with pytest.raises(DataRejectedError, match="has no column"):
        folder_batches(header.parts, replace(SCHEMA, target="healthy"))


def test_the_command_releases_a_folder_and_names_its_engines(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = desk.folder / "plan.yaml"
    write_plan(desk.plan, plan)
    command = [
        *("release", str(plan), "--file", str(desk.file), "--dataset", "Clinic"),
        *("--folder", str(desk.folder / "made"), "--confirm", "Clinic", "--accept-warnings"),
        *("--ledger", str(desk.ledger.path)),
    ]
    assert main([*command, "--engine", "tcp://10.0.0.1:8786"]) == 1
    assert "processes:N" in capsys.readouterr().err
    assert desk.ledger.history() == ()
    assert main(command) == 0
    assert "Written to" in capsys.readouterr().out
    assert [charge.state for charge in desk.ledger.history()] == ["done"]
