"""Mapped batches that are kept, in memory or in a folder, give the numbers of batches that are
mapped again; a file of the cache that is not whole, or of another table, is written anew.
"""

from __future__ import annotations

import gc
import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from dpci_core import Design, Logistic, PureDP
from dpci_core.base import packed
from dpci_core.base.batch import BatchError, MemoryBatch
from dpci_core.base.batches import RecordBatches
from dpci_core.base.packed import _Held
from dpci_core.base.rows import signed
from dpci_core.datasets import folder as folders
from dpci_core.datasets import row_cache
from dpci_core.datasets.folder import folder_batches, read_folder
from dpci_core.intervals.draw import draw_release
from dpci_core.release.table import read_header, read_records
from dpci_core.schema import (
    CategoricalColumn,
    NumericColumn,
    RecordMapper,
    Schema,
    StandardEncoding,
)
from dpci_core.schema.mapping import Coded
from dpci_core.solvers.batch_sums import Derivatives
from tests.refusals import refuses

SCHEMA = Schema(
    features=(
        NumericColumn("age", 0, 100),
        NumericColumn("pay", 1, 10**6, typical=10.0, spread=3.0, transform="log"),
        CategoricalColumn("city", ("a", "b", "c"), shares=(0.5, 0.25, 0.25)),
    ),
    target="sick",
    positive="yes",
)
STANDARD = replace(SCHEMA, standard=StandardEncoding(shape=2.0))
U = ((0.6, 0.2, 0.1, 0.0, 0.1), (0.5, -0.2, 0.1, 0.0), (0.7, 0.3, 0.1), (0.5, 0.1), (0.4,))
MAPPED = replace(SCHEMA, standard=StandardEncoding(shape=U))
N = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files with missing cells, and numbers close together and far apart."""
    found = tmp_path / "table"
    found.mkdir()
    for part in range(2):
        rng = np.random.default_rng(part)
        table = {
            "age": pyarrow.array(rng.integers(-5, 6, N), mask=rng.random(N) < 0.1),
            "pay": pyarrow.array(rng.lognormal(3.0, 4.0, N)),
            "city": pyarrow.array(rng.choice(["a", "b ", "x"], N), mask=rng.random(N) < 0.1),
            "sick": pyarrow.array(rng.choice(["yes", "no"], N)),
        }
        path = found / f"part-{part}.parquet"
        pyarrow.parquet.write_table(pyarrow.table(table), path, row_group_size=100)
    return found


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six of them, each a row group."""
    monkeypatch.setattr(folders, "BATCH_ROWS", 150)


def batches(folder: Path, schema: Schema = SCHEMA, **given: object) -> RecordBatches:
    return folder_batches(read_folder(folder), schema, **given)  # type: ignore[arg-type]


def sums(table: RecordBatches) -> bytes:
    """Every bit of the sums over a table."""
    measure = Derivatives(np.array([0.3, -0.2, 0.5, 0.1, 0.2]), Logistic())
    return b"".join(part.tobytes() for part in table.total(measure))


@pytest.mark.parametrize("first", [-3, 0, 126, 2**31, 2**53 - 1, 2**53 + 1, 2**62])
def test_whole_numbers_close_together_are_read_as_they_are(first: int) -> None:
    numbers = [first + k % 5 for k in range(60)] + [None] * 4
    kinds = [pyarrow.int64(), pyarrow.uint64()] + ([pyarrow.int8()] if first < 100 else [])
    for kind in kinds:
        if first < 0 and kind == pyarrow.uint64():
            continue
        cells = folders._cells_of(pyarrow.array(numbers, kind), True)
        found = [float("nan") if cell is None else float(cell) for cell in cells]
        wanted = [float("nan") if cell is None else float(cell) for cell in numbers]
        assert np.array_equal(found, wanted, equal_nan=True)
        assert isinstance(cells, Coded) == (first + 4 <= 2**53)


@pytest.mark.parametrize("schema", [SCHEMA, STANDARD, MAPPED])
def test_rows_by_code_are_the_rows_of_the_encoding(schema: Schema, folder: Path) -> None:
    header = read_header(folder)
    X, y, _ = read_records(header, RecordMapper(schema))
    A = signed(X, y)
    assert sums(batches(folder, schema)) == sums(
        RecordBatches.listed([MemoryBatch(A[k : k + 100]) for k in range(0, 2 * N, 100)])
    )


@pytest.mark.parametrize("schema", [SCHEMA, STANDARD, MAPPED])
def test_what_is_kept_changes_no_bit(schema: Schema, folder: Path, tmp_path: Path) -> None:
    """On workers: tests/solvers/test_batches.py."""
    cache = tmp_path / "cache"
    expected = sums(batches(folder, schema, most_kept=0))
    for given in ({}, {"most_kept": 3_000}, {"cache": cache}, {"cache": cache, "most_kept": 0}):
        table = batches(folder, schema, **given)
        assert [sums(table), sums(table)] == [expected] * 2
    assert len(list(cache.iterdir())) == 6


def test_a_batch_is_kept_only_where_there_is_room(folder: Path) -> None:
    before = _Held.in_use
    table = batches(folder, most_kept=before + 3_000)
    sums(table)
    kept = [batch.kept._held for batch in table.batches]  # type: ignore[attr-defined]
    assert kept[0] is not None
    assert kept[-1] is None
    assert before < _Held.in_use <= before + 3_000
    assert pickle.loads(pickle.dumps(table.batches[0])).kept._held is None  # travels empty
    del table, kept
    gc.collect()
    assert _Held.in_use == before


def test_a_file_that_changes_is_found_though_its_rows_are_kept(folder: Path) -> None:
    table = batches(folder)
    sums(table)
    os.utime(folder / "part-1.parquet", ns=(1, 1))
    with refuses(BatchError, match="changed"):
        sums(table)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-200] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lie(path: Path) -> None:
    """Content that is no rows, under its own right digest."""
    content = path.read_bytes()
    head = content[: len(row_cache._MARK) + 32]
    body = head + (10**6).to_bytes(8, "little") + b"[]"
    path.write_bytes(body + sha256(body).digest())


@pytest.mark.parametrize("harm", [cut, flip, empty, lie])
def test_a_harmed_file_is_written_anew(
    harm: Callable[[Path], None], folder: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    expected = sums(batches(folder, cache=cache))
    path = sorted(cache.iterdir())[0]
    before = path.read_bytes()
    harm(path)
    assert sums(batches(folder, cache=cache)) == expected
    assert path.read_bytes() == before


def test_the_cache_of_a_table_that_changed_is_written_anew(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = sums(batches(folder, cache=cache))
    path = folder / "part-0.parquet"
    pyarrow.parquet.write_table(
        pyarrow.parquet.read_table(path).take(list(range(N))[::-1]), path, row_group_size=100
    )
    assert sums(batches(folder, cache=cache)) == sums(batches(folder)) != before
    assert len(list(cache.iterdir())) == 6


def test_a_writer_that_breaks_off_leaves_no_file_and_two_at_once_agree(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    with monkeypatch.context() as small:
        small.setattr(packed, "CHUNK_ROWS", 50)
        small.setattr(folders, "_READ_ROWS", 50)
        assert len(next(batches(folder, cache=cache).batches[0].chunks())) == 50
    gc.collect()
    assert not [path for path in cache.iterdir() if path.suffix == ".rows"]
    found: list[bytes] = []
    writers = [
        threading.Thread(target=lambda: found.append(sums(batches(folder, cache=cache))))
        for _ in range(2)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert found == [sums(batches(folder))] * 2
    assert {path.suffix for path in cache.iterdir()} == {".rows"}


def test_a_release_refuses_a_cache_and_a_folder_that_cannot_be_written_says_so(
    folder: Path, tmp_path: Path
) -> None:
    design = Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=0.01,
        n_records=N,
    )
    with refuses(ValueError, match="without a cache"):
        draw_release(batches(folder, cache=tmp_path / "cache"), design=design)
    assert not (tmp_path / "cache").exists()
    (tmp_path / "file").write_text("")
    with refuses(BatchError, match="cannot be written"):
        sums(batches(folder, cache=tmp_path / "file"))
