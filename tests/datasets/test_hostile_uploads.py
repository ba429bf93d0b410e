"""Any bytes end in a table or in a sentence without cell values: never in a trace, a hang or more
than 2 GB.
"""

from __future__ import annotations

import io
import json
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets import _unpack as unpack
from dpci_core.datasets import read_upload
from dpci_core.schema import CategoricalColumn, Schema, propose_schema
from tests.hostile import SECRET, Reader, corpus, ending, parquet, with_lie
from tests.refusals import refuses

ROOT = Path(__file__).resolve().parents[2]
MOST_GIGABYTES = 2.0
CASES = corpus()
TOKENS = [
    b"\x00",
    b'"',
    b'""',
    b"\r",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"PAR1",
    b"PK\x03\x04",
]
TOKENS += [
    b"?",
    b"1e999",
    b"nan",
    b"-inf",
    b"=1+1",
    b"\xe2\x80\xae",
    b"2147483648",
    b"9" * 400,
    b" ",
    b"\x1a",
    b"\x85",
]


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    process = Reader()
    yield process
    process.close()


def check(found: dict[str, object]) -> None:
    """What must hold for any bytes whatever."""
    shown = json.dumps(found)
    assert found["kind"] in ("table", "sentence"), shown
    assert SECRET not in shown
    assert SECRET.strip(string.ascii_letters) not in shown
    assert found["gigabytes"] < MOST_GIGABYTES
    if found["kind"] == "sentence":
        assert str(found["text"]).endswith(".")


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_file_ends_as_it_should(name: str, reader: Reader) -> None:
    case = CASES[name]
    found = reader.read(case.data, case.name)
    check(found)
    assert found["kind"] == ("table" if case.words is None else "sentence"), found
    assert case.words is None or case.words in str(found["text"]), found
    assert case.row is None or found["row"] == case.row


def mutant(rng: random.Random, seeds: list[bytes]) -> bytes:
    """A file with a few of its bytes changed, cut, doubled, or mixed with another's."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.randint(1, 6)):
        start = rng.randrange(len(data) + 1)
        stop = min(len(data), start + rng.choice([1, 2, 8, 64, 512]))
        kind = rng.randrange(6)
        if kind == 0 and stop > start:
            data[start] = rng.randrange(256)
        elif kind == 1:
            data[start:start] = rng.choice(TOKENS) * rng.choice([1, 1, 2, 50])
        elif kind == 2:
            del data[start:stop]
        elif kind == 3:
            data[start:start] = data[start:stop] * rng.choice([1, 3, 40])
        elif kind == 4:
            other = rng.choice(seeds)
            data[start:stop] = other[start : start + 64]
        else:
            data[start:stop] = rng.randbytes(stop - start)
    return bytes(data)


SMALL = [case for case in CASES.values() if 0 < len(case.data) < 100_000]
TEXTS = [case.data for case in SMALL if not case.data.startswith(b"PAR1")]
PARQUETS = [case.data for case in SMALL if case.data.startswith(b"PAR1")]


def check_mutants(reader: Reader, seeds: list[bytes], count: int, seed: int) -> set[object]:
    """Read so many mutants; return the kinds of ends they came to."""
    rng = random.Random(seed)
    kinds = set()
    for _ in range(count):
        data = mutant(rng, seeds)
        found = reader.read(data, "t.csv")
        kinds.add(found["kind"])
        check(found)
    return kinds


def test_mutated_texts(reader: Reader) -> None:
    assert check_mutants(reader, TEXTS, 400, seed=1) == {"table", "sentence"}


def test_mutated_parquet(reader: Reader) -> None:
    assert "sentence" in check_mutants(reader, [CASES["parquet"].data], 8, seed=2)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_mutated_texts_for_minutes(reader: Reader, seed: int) -> None:
    assert check_mutants(reader, TEXTS, 20_000, seed=100 + seed) == {"table", "sentence"}


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_mutated_parquet_for_minutes(reader: Reader, seed: int) -> None:
    assert check_mutants(reader, PARQUETS, 300, seed=200 + seed) == {"table", "sentence"}


CELLS = st.text(
    alphabet=st.characters(codec="utf-8", categories=("L", "N", "P", "Z", "S", "Cc", "Cf")),
    max_size=8,
)


@settings(derandomize=True, max_examples=80, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=5),
    st.sampled_from(",;\t"),
)
def test_any_cells_stay_out_of_the_sentence(rows: list[list[str]], delimiter: str) -> None:
    text = "\n".join(delimiter.join([*row, SECRET]) for row in rows)
    found = ending(f"a{delimiter}b\n{text}\n".encode(), "t.csv")
    check({**found, "gigabytes": 0.0})


@settings(derandomize=True, max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_after_a_header(data: bytes) -> None:
    check({**ending(b"a,b\n1," + SECRET.encode() + b"\n" + data, "t.csv"), "gigabytes": 0.0})


@pytest.fixture(scope="module")
def page_bomb() -> bytes:
    """One page of 200 MB in a small file, with a footer that promises little."""
    length = 50_000_000
    data = parquet(
        pa.table({"a": ["z" * length] * 4}),
        use_dictionary=False,
        compression="zstd",
        data_page_size=2**31 - 1,
    )
    metadata = pa.parquet.read_metadata(io.BytesIO(data))
    size = metadata.row_group(0).total_byte_size
    assert len(data) < length / 100
    return with_lie(data, size, 100)


def test_a_page_that_explodes_is_stopped_by_the_limit_of_its_process(
    page_bomb: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refuses(DataRejectedError, match="holds a text longer"):
        read_upload(
            page_bomb, "t.parquet"
        )  # fits below the limit, so it is read, and then refused for its cells
    monkeypatch.setattr(unpack, "MOST_MEMORY", 100 * 2**20)
    with refuses(DataRejectedError, match="needs more memory to unpack"):
        read_upload(page_bomb, "t.parquet")


def test_a_file_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "MOST_SECONDS", 0.0)
    with refuses(DataRejectedError, match="took more than"):
        read_upload(CASES["parquet"].data, "t.parquet")


@pytest.mark.soak
@pytest.mark.parametrize(
    ("body", "times"),
    [
        (b"1,1\n", 24_900_000),
        (b"x,y\n", 24_900_000),
        (b'"\n\n",', 33_000_000),
        (b",", 200_000_000),
        (b"1," + "😀".encode() * 9 + b"\n", 4_900_000),
        (b"1,2\n3,4\n", 2_450_000),
    ],
    ids=["numbers", "letters", "a record over lines", "commas", "emoji", "as many rows as may be"],
)
def test_the_largest_files_stay_below_two_gigabytes(
    reader: Reader, body: bytes, times: int, record_property: Callable[[str, object], None]
) -> None:
    found = reader.read(b"a,b\n" + body * times, "t.csv", is_fitted=True)
    record_property("gigabytes", {k: round(v, 2) for k, v in found.items() if isinstance(v, float)})
    check(found)


@pytest.mark.soak
def test_a_csv_of_as_many_cells_as_may_be(
    reader: Reader, record_property: Callable[[str, object], None]
) -> None:
    rows = "".join(
        ",".join(f"{(7 * i + j) % 97}" for j in range(10)) + "\n" for i in range(970)
    ).encode()
    found = reader.read(b"a,b,c,d,e,f,g,h,i,j\n" + rows * 4_000, "t.csv", is_fitted=True)
    record_property("gigabytes", {k: round(v, 2) for k, v in found.items() if isinstance(v, float)})
    check(found)
    assert found["kind"] == "table"


@pytest.mark.soak
@pytest.mark.parametrize(
    "columns",
    [
        {f"c{i}": lambda i=i: np.random.default_rng(i).integers(0, 9, 4_990_000) for i in range(2)},
        {f"c{i}": lambda i=i: np.random.default_rng(i).integers(0, 9, 4_990_000) for i in range(8)},
        {
            f"c{i}": lambda i=i: np.random.default_rng(i).integers(0, 9, 4_990_000)
            for i in range(10)
        },
        {"a": lambda: [f"{i:090d}" for i in range(4_990_000)]},
        {name: lambda: [f"{i:0400d}" for i in range(610_000)] for name in "ab"},
        {name: lambda: [f"{i % 7}" for i in range(4_990_000)] for name in "abcdefghij"},
    ],
    ids=["two numbers", "eight numbers", "ten numbers", "texts", "long texts", "levels"],
)
def test_the_largest_parquet_stays_below_two_gigabytes(
    reader: Reader,
    columns: dict[str, Callable[[], object]],
    record_property: Callable[[str, object], None],
) -> None:
    data = parquet(pa.table({name: make() for name, make in columns.items()}), compression="zstd")
    found = reader.read(data, "t.parquet", is_fitted=True)
    record_property("gigabytes", {k: round(v, 2) for k, v in found.items() if isinstance(v, float)})
    check(found)


def test_levels_never_stand_in_a_refused_schema() -> None:
    columns = CategoricalColumn("a", ("x", f"b={SECRET}")), CategoricalColumn("a=b", ("x", SECRET))
    with pytest.raises(ValueError, match="column 'a' and 'a=b' make the same one") as caught:
        Schema(columns, "t", "1")
    assert SECRET not in str(caught.value)


def test_a_column_of_long_texts_is_left_out() -> None:
    data = "a,b,t\n" + "".join(f"{i},{'xy'[i % 2] * 201},{'yn'[i % 2]}\n" for i in range(10))
    schema = propose_schema(read_upload(data.encode(), "t.csv"), "t", "y")
    assert schema.feature_names == ("a",)
    assert schema.notes == ("Column 'b' is left out: it holds texts of more than 200 characters.",)


PAGE = [
    "mixed",
    "ragged",
    "huge cell",
    "right to left",
    "nul far down",
    "parquet, structs",
    "spreadsheet",
    "open quote",
]


@pytest.fixture(scope="module")
def page() -> AppTest:
    app = AppTest.from_file(str(ROOT / "ui" / "shell.py"), default_timeout=60).run()
    app.switch_page(str(ROOT / "pages" / "explore.py")).run()
    app.selectbox(key="dataset").set_value("upload").run()
    return app.radio(key="upload_kind").set_value("declared synthetic").run()


@pytest.mark.parametrize("name", PAGE)
def test_the_page_shows_a_sentence(page: AppTest, name: str) -> None:
    case = CASES[name]
    page.file_uploader(key="upload_file").upload(case.name, case.data, "text/csv").run()
    assert not page.exception
    assert len(page.error) == 1
    assert str(case.words) in page.error[0].value.replace("\\", "")
    assert SECRET not in page.error[0].value
