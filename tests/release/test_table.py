"""From a private file to records: nothing refused, every record for itself, nothing read below the
header before.
"""

from __future__ import annotations

import csv
import io
import math
import os
import tracemalloc
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core.base.batches import BatchError
from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets import _unpack, folder
from dpci_core.datasets.upload import read_upload
from dpci_core.release import table as tables
from dpci_core.release.table import read_cells, read_header, read_records
from dpci_core.schema import CategoricalColumn, NumericColumn, RecordMapper, Schema, encode
from dpci_core.schema.spelling import level_of, number_of, spellings
from tests.refusals import refuses

SCHEMA = Schema(
    features=(
        NumericColumn("age", 0, 100),
        CategoricalColumn("city", ("a", "b", "rest"), other="rest"),
        NumericColumn("income", -10, 10),
        CategoricalColumn("grade", ("1", "2")),
    ),
    target="y",
    positive="yes",
)
HEADER = b"age,city,income,grade,y\n"


def mapped(
    content: bytes, folder: Path, *, schema: Schema = SCHEMA, name: str = "t.csv", **options
):
    path = folder / name
    path.write_bytes(content)
    return read_records(read_header(path, **options), RecordMapper(schema))


def test_a_clean_table_is_encoded_like_a_public_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    n = 9000  # more than a block
    frame = pd.DataFrame(
        {
            "age": rng.uniform(0, 100, n),
            "city": rng.choice(["a", "b", "rest"], n),
            "income": rng.integers(-10, 11, n),
            "grade": rng.integers(1, 3, n),
            "y": rng.choice(["yes", "no"], n),
        }
    )
    content = frame.to_csv(index=False).encode()
    public = encode(read_upload(content, "t.csv"), SCHEMA, source="simulated", title="t")
    X, y, note = mapped(content, tmp_path)
    assert np.array_equal(X, public.X)
    assert np.array_equal(y, public.y)
    assert np.array_equal(RecordMapper(SCHEMA).to_original, public.to_original)
    assert note.sentences() == ()
    assert note.n_records == n
    frame.to_parquet(tmp_path / "t.parquet")
    Xp, yp, _ = read_records(read_header(tmp_path / "t.parquet"), RecordMapper(SCHEMA))
    assert np.array_equal(X, Xp)
    assert np.array_equal(y, yp)


def test_every_kind_of_odd_cell_has_its_fixed_meaning(tmp_path: Path) -> None:
    rows = [
        b"50,a,0,1,yes",  # as declared
        b"1e9,b,-1e9,2.0,no",  # clipped; 2.0 is the level 2
        b"old,nowhere,,3,",  # no number, unknown levels, missing target
        b"50,a",  # short
        b"50,a,0,1,yes,more,and more",  # long
        b"50,\xff,0,1,yes",  # no UTF-8
        b'"' + b"9" * 200_000 + b'",a,0,1,yes',  # a cell the reader gives up on
        b"inf,a,nan,1,YES",
        b"inf,a,-3,1.0, YES ",
        b"0,a,0,1,no answer",
        b"0,a,0,1,No",
    ]
    schema = replace(SCHEMA, negative=("no",))
    X, y, note = mapped(HEADER + b"\n".join(rows) + b"\n\n", tmp_path, schema=schema)
    s = (1 - 1e-12) / math.sqrt(8)
    low, middle, one, zero = -s, 0.0, s, 0.0
    expected = {
        0: [middle, zero, zero, middle, zero],
        1: [one, one, zero, low, one],
        4: [middle, zero, zero, middle, zero],
        5: [middle, zero, one, middle, zero],  # an unknown city is the declared other
        8: [one, zero, zero, -0.3 * s, zero],
        10: [low, zero, zero, middle, zero],
    }
    for i, row in expected.items():
        np.testing.assert_allclose(X[i, :-1], row, atol=1e-15)
    left_out = [i for i in range(len(rows)) if i not in expected]
    assert not X[left_out].any()
    np.testing.assert_allclose(X[[*expected], -1], (1 - 1e-12) / math.sqrt(2))
    assert y.tolist() == [1, -1, 1, 1, 1, 1, 1, 1, 1, 1, -1]
    assert note.sentences() == (
        "2 of 11 cells of age: missing or no number.",
        "3 of 11 cells of age: outside the bounds, clipped.",
        "3 of 11 cells of city: missing or not declared, counted as rest.",
        "3 of 11 cells of grade: missing or not declared.",
        "4 of 11 cells of income: missing or no number.",
        "1 of 11 cells of income: outside the bounds, clipped.",
        "4 of 11 cells of y: missing or none of its declared codes.",
        "5 of 11 records have a missing cell and count for nothing.",
    )


CELL = st.one_of(
    st.sampled_from(
        [
            "",
            "NA",
            "1",
            "1.0",
            "0x10",
            "1e999",
            "-1e999",
            "a",
            "b",
            "yes",
            "Yes",
            "?",
            "=1+1",
            "  a ",
            "²",
        ]
    ),
    st.text(
        alphabet=st.characters(exclude_characters='"\r\n', exclude_categories=["Cs"]), max_size=8
    ),
    st.floats().map(repr),
    st.integers().map(str),
)
ROW = st.lists(CELL, min_size=1, max_size=7).filter(lambda row: any(row))


def written(rows: list[list[str]]) -> bytes:
    lines = [",".join('"' + cell + '"' for cell in row) for row in rows]
    return HEADER + "\n".join(lines).encode()


@settings(derandomize=True, max_examples=150, deadline=None)
@given(rows=st.lists(ROW, min_size=1, max_size=6), other=ROW, place=st.integers(0, 5))
def test_changing_one_row_changes_one_record(tmp_path_factory, rows, other, place) -> None:
    folder = tmp_path_factory.mktemp("t")
    place %= len(rows)
    neighbour = [other if i == place else row for i, row in enumerate(rows)]
    (X, y, _), (X2, y2, _) = (mapped(written(table), folder) for table in (rows, neighbour))
    assert len(X) == len(X2) == len(rows)
    rest = np.arange(len(rows)) != place
    assert np.array_equal(X[rest], X2[rest])
    assert np.array_equal(y[rest], y2[rest])
    assert (np.einsum("ij,ij->i", X, X) <= 1.0).all()
    assert np.isfinite(X).all()
    assert set(y) <= {-1.0, 1.0}


def test_zeros_of_both_signs_do_not_answer_for_each_other() -> None:
    """They are equal, and different texts: which comes first must not matter to the other."""
    schema = Schema((CategoricalColumn("a", ("x", "0.0", "-0.0")),), "y", "1")
    records = [
        RecordMapper(schema).features_of({"a": cells}) for cells in ([0.0, -0.0], [-0.0, 0.0])
    ]
    np.testing.assert_array_equal(records[0], records[1][::-1])
    assert not np.array_equal(records[0][0], records[0][1])


def test_blocks_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    odd = ["", "1", "1.0", "x", "1e400", "a", "True"]
    rows = [[str(cell) for cell in rng.choice(odd, 5)] for _ in range(50)]
    whole = mapped(written(rows), tmp_path)
    monkeypatch.setattr(tables, "BLOCK_ROWS", 3)
    parts = mapped(written(rows), tmp_path)
    assert np.array_equal(whole[0], parts[0])
    assert np.array_equal(whole[1], parts[1])
    assert whole[2] == parts[2]


@pytest.mark.parametrize(
    ("cell", "number"),
    [
        (np.int64(3), 3.0),
        (np.float32(0.5), 0.5),
        (np.True_, 1.0),
        (10**400, math.inf),
        (-(10**400), -math.inf),
        (Decimal("1.5"), 1.5),
        (Decimal("sNaN"), math.nan),
        ("9" * 401, math.nan),
        (b"1", math.nan),
        (pd.NA, math.nan),
        ([1], math.nan),
    ],
)
def test_numbers_of_cells(cell: object, number: float) -> None:
    np.testing.assert_equal(number_of(cell), number)


def test_levels_of_cells() -> None:
    assert level_of(math.nan, spellings(("a",))) == -1
    assert level_of(math.inf, spellings(("a",))) == -1
    assert level_of("nan", spellings(("b", "nan"))) == 1
    assert level_of(np.float64(4.0), spellings(("b", "4"))) == 1
    assert level_of(True, spellings(("1",))) == -1


# --- the header -----------------------------------------------------------------------------------


class Watched:
    """A raw file that remembers how far it was read."""

    def __init__(self, raw) -> None:
        self.raw, self.furthest = raw, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.raw.close()

    def read(self, size=-1):
        data = self.raw.read(size)
        self.furthest = max(self.furthest, self.raw.tell())
        return data


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\r"])
def test_not_one_byte_below_the_header_is_read(
    tmp_path: Path, ending: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    line = b'\xef\xbb\xbf age ;"ci\nty";y' + ending
    path.write_bytes(line + b"1;a;yes" + ending)
    opened = []
    original = Path.open

    def watch(self, mode="r", buffering=-1, **options):
        raw = original(self, mode, buffering, **options)
        assert buffering == 0
        opened.append(Watched(raw))
        return opened[-1]

    monkeypatch.setattr(Path, "open", watch)
    header = read_header(path)
    monkeypatch.undo()
    assert header.columns == ("age", "ci\nty", "y")
    assert header.delimiter == ";"
    assert [file.furthest for file in opened] == [len(line) - (ending == b"\r\n")]
    schema = Schema((NumericColumn("age", 0, 2),), "y", "yes")
    X, y, _ = read_records(header, RecordMapper(schema))
    assert X.shape == (1, 2)
    assert y.tolist() == [1.0]


COMMAS = Schema(
    (NumericColumn("age", 0, 10), CategoricalColumn("step", ("0,5", "1,5"))), "y", "1,5"
)
ROWS = ("3,5;1,5;1,5", "3.5;1,5;1,5", "3,5,0;1,5;1.5", "1.003,5;0,5;", " ,5;1.5;1,5")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_decimal_comma_where_no_comma_separates(tmp_path: Path, delimiter: str) -> None:
    """In numbers only: a level is compared as it stands."""
    path = tmp_path / "t.csv"
    path.write_text("\n".join(("age;step;y", *ROWS)).replace(";", delimiter))
    header, mapper = read_header(path), RecordMapper(COMMAS)
    X, y, _ = read_records(header, mapper)
    expected = mapper.features_of(
        {"age": [3.5, 3.5, None, None, 0.5], "step": ["1,5", "1,5", "1,5", "0,5", "1.5"]}
    )
    np.testing.assert_array_equal(X, expected)
    assert X.any(axis=1).tolist() == [True, True, False, False, False]
    assert y.tolist() == [1.0, 1.0, 1.0, 1.0, 1.0]
    assert header.has_decimal_comma
    assert read_cells(header, mapper)["age"] == ["3.5", "3.5", "3,5,0", "1.003,5", " .5"]


def test_no_decimal_comma_where_commas_separate(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('age,step,y\n"3,5","1,5","1,5"\n')
    header, mapper = read_header(path), RecordMapper(COMMAS)
    X, y, _ = read_records(header, mapper)
    np.testing.assert_array_equal(X, mapper.features_of({"age": [None], "step": ["1,5"]}))
    assert y.tolist() == [1.0]
    assert not header.has_decimal_comma


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        (b'age,5" pipe,y\n', ("age", '5" pipe', "y")),
        (b'\xef\xbb\xbf"a,b","c""\n""d",y\n', ("a,b", 'c"\n"d', "y")),
        (b'"",a""b,y\n', ("", 'a""b', "y")),
    ],
)
def test_a_mark_within_a_name_does_not_lead_below_the_header(
    tmp_path: Path, line: bytes, columns
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(line + b'1,"secret",yes\n')
    header = read_header(path)
    assert (header.columns, header.first_line) == (columns, line)


@pytest.mark.parametrize(
    "rows", [b'1,"secret",yes\n', b'1,secret 5",yes\n', b'1,"",secret"\n', b'"secret"\n']
)
def test_no_name_is_made_of_private_cells(tmp_path: Path, rows: bytes) -> None:
    """An opening mark that the header forgot to close."""
    path = tmp_path / "t.csv"
    path.write_bytes(b'age,"city,y\n' + rows)
    with pytest.raises(DataRejectedError) as refused:
        read_header(path)
    assert "secret" not in str(refused.value)


def test_the_operating_system_confirms_it(tmp_path: Path) -> None:
    """A pipe gives every byte once: what the reader took is gone, what it left is still there."""
    pipe = tmp_path / "t.csv"
    os.mkfifo(pipe)
    both_ends = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    os.write(both_ends, HEADER + b"secret")
    header = read_header(pipe)
    left = os.read(both_ends, 100)
    os.close(both_ends)
    assert header.first_line == HEADER
    assert left == b"secret"


@pytest.mark.parametrize(
    ("content", "name", "sentence"),
    [
        (b"", "t.csv", "no line of column names"),
        (b"age,city", "t.csv", "no line of column names"),
        (b'"age\n1\n', "t.csv", "no line of column names"),
        (b",,\n1,2,3\n", "t.csv", "no column names"),
        (b"\xff\xfea\x00g\x00\n\x00", "t.csv", "no CSV file"),
        ("größe,y\n1,2\n".encode("latin-1"), "t.csv", "latin-1"),
        (b"age,y\n1,2\n", "t.parquet", "named Parquet"),
        (b"PAR1 and then nothing of the kind PAR1", "t.parquet", "cannot be read"),
        (b"PK\x03\x04 and no line end", "t.xlsx", "is a spreadsheet"),
        (b'PK\x03\x04;" and one within a mark\n', "t.xlsx", "is a spreadsheet"),
    ],
)
def test_headers_that_are_refused(tmp_path: Path, content: bytes, name: str, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with refuses(DataRejectedError, match=sentence):
        read_header(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with refuses(DataRejectedError, match="There is no .*none.csv"):
        read_header(tmp_path / "none.csv")
    with refuses(ValueError, match="latin-1"):
        read_header(tmp_path / "none.csv", encoding="utf-7")


def test_columns_that_the_schema_declares(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,city,age,grade,y\n1,2\n")
    header = read_header(path)
    with refuses(DataRejectedError, match="2 columns 'age'"):
        header.check_has(("age",))
    with refuses(DataRejectedError, match="no column 'income'"):
        header.check_has(RecordMapper(SCHEMA).needed)
    with refuses(DataRejectedError, match="no columns 'income' and 'height'"):
        header.check_has(("income", "city", "height"))
    header.check_has(RecordMapper(SCHEMA, ("grade=2",)).needed)


def test_latin_1_when_it_is_declared(tmp_path: Path) -> None:
    schema = Schema((CategoricalColumn("city", ("x", "Zürich")),), "y", "yes")
    content = "city,y\nZürich,yes\n".encode("latin-1")
    assert mapped(content, tmp_path, schema=schema, encoding="latin-1")[0][0, 0] > 0.0
    assert mapped(content, tmp_path, schema=schema)[0][0, 0] == 0.0


def test_parquet_cells_are_plain_or_refused_by_their_type(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    broken = pyarrow.array([b"\xff\xfe", b"a", None]).cast(pyarrow.binary())
    text = pyarrow.Array.from_buffers(pyarrow.string(), 3, broken.buffers(), null_count=1)
    columns = {
        "age": pyarrow.array([2**62, None, 7], pyarrow.int64()),
        "city": text,
        "income": pyarrow.array([Decimal("1.5"), None, Decimal("99.5")], pyarrow.decimal128(5, 1)),
        "grade": pyarrow.array([1.0, 2.0, math.nan]),
        "y": pyarrow.array(["yes", "no", None]).dictionary_encode(),
        "when": pyarrow.array([10**9, 0, 1], pyarrow.timestamp("s")),
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    X, y, note = read_records(read_header(path), RecordMapper(SCHEMA))
    s = (1 - 1e-12) / math.sqrt(8)
    np.testing.assert_allclose(X[0, :-1] / s, [1.0, 0.0, 1.0, 0.15, 0.0])
    assert not X[1:].any()  # without age, and without grade and outcome
    assert y.tolist() == [1, 1, 1]
    assert (note.n_records, note.n_incomplete) == (3, 2)
    with refuses(DataRejectedError, match="'when' holds values that are not plain"):
        read_header(path).check_has(("when",))


def test_a_table_without_rows(tmp_path: Path) -> None:
    with refuses(DataRejectedError, match="no rows"):
        mapped(HEADER, tmp_path)
    with refuses(DataRejectedError, match="no rows"):
        mapped(HEADER + b"\n\n", tmp_path)


def test_the_limit_of_the_csv_reader_is_the_documented_one() -> None:
    assert csv.field_size_limit() == 131_072


def peak_megabytes(content: bytes, folder: Path, name: str) -> tuple[np.ndarray, float]:
    """X of a table in a file, and the memory that reading it took besides."""
    path = folder / name
    path.write_bytes(content)
    header, mapper = read_header(path), RecordMapper(SCHEMA)
    tracemalloc.start()
    X = read_records(header, mapper)[0]
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return X, peak


LONG_TAILS = {
    "a cell": b"x" * 20_000_000,
    "cells": b",ab" * 5_000_000,
    "a cell in marks": b'"' + b"x" * 20_000_000 + b'"',
    "lines in marks": b'"' + b"0,a,1,1,yes\n" * 1_000_000 + b'"',
    "cells in marks": b'"' + b'","'.join([b"x\n"] * 300_000) + b'"',
    "texts in marks": b",".join([b'"' + b"x" * 120_000 + b'"'] * 40),
    "a long cell, then lines": b'"' + b"x" * 131_073 + b"\n" + b"0,a,1,1,yes\n" * 5_000 + b'"',
    "marks in marks": b'"' + b'""' * 600_000 + b'\n0,a,1,1,yes\n"',
}


@pytest.mark.parametrize("tail", LONG_TAILS.values(), ids=LONG_TAILS)
def test_a_record_costs_no_more_than_its_cap_and_touches_no_other(
    tail: bytes, tmp_path: Path
) -> None:
    rows = [b"10,a,1,1,yes,", b"20,a,2,2,no,", b"30,b,3,1,yes,"]
    plain, _ = peak_megabytes(HEADER + b"\n".join(rows) + b"\n", tmp_path, "plain.csv")
    for end in (b"\n", b"\r\n", b"\r") if len(tail) < 1_000_000 else (b"\n",):
        X, peak = peak_megabytes(
            HEADER + end.join([rows[0], rows[1] + tail, rows[2]]) + end, tmp_path, "t.csv"
        )
        assert len(X) == 3
        assert np.array_equal(X[[0, 2]], plain[[0, 2]])
        assert peak < 40


def test_a_record_longer_than_its_cap_has_missing_cells(tmp_path: Path) -> None:
    row = b"20,a,2,2,yes"
    room = tables.LONGEST_RECORD - len(row) - 1
    rows = [row + b"," * room, row + b"," * (room + 1), b",", row]
    X, y, _ = mapped(HEADER + b"\n".join(rows) + b"\n", tmp_path)
    assert np.array_equal(X[0], X[3])
    assert np.array_equal(X[1], X[2])
    assert y.tolist() == [1.0, 1.0, 1.0, 1.0]
    assert not X[1].any()


CELL = st.text(st.sampled_from("ab\"',;\r\n "), max_size=6)


@settings(max_examples=400, derandomize=True, deadline=None)
@given(
    st.lists(st.lists(CELL, min_size=1, max_size=4), max_size=6),
    st.sampled_from(",;"),
    st.integers(1, 9),
)
def test_records_are_cut_where_the_reader_of_cells_would(rows, delimiter: str, part: int) -> None:
    """Whatever stands in a file, written well or not, gives the rows that `csv` reads where nothing
    is too long.
    """
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    ragged = "\n".join(delimiter.join(row) for row in rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_PART", part)
        for text in (out.getvalue(), ragged):
            wanted = [
                row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row
            ]
            found = tables._records(
                io.TextIOWrapper(io.BytesIO(text.encode()), newline=""), delimiter
            )
            assert list(tables._rows(found, delimiter)) == wanted


def parquet(columns: dict[str, object], path: Path, **options: object) -> None:
    pyarrow.parquet.write_table(pyarrow.table(columns), path, **options)


@pytest.mark.parametrize(
    "kind", [pyarrow.string(), pyarrow.large_string()], ids=["string", "large"]
)
def test_a_long_text_of_a_parquet_file_is_missing_and_others_stay(kind, tmp_path: Path) -> None:
    limit = tables.LONGEST_CELL
    cities = ["a", "b" + " " * (limit - 1), "b" + " " * limit, None, "é"]
    parquet(
        {
            "age": [10.0] * 5,
            "city": pyarrow.array(cities, kind),
            "income": [1.0] * 5,
            "grade": ["1"] * 5,
            "y": ["yes"] * 5,
        },
        tmp_path / "t.parquet",
    )
    header = read_header(tmp_path / "t.parquet")
    cells = read_cells(header, RecordMapper(SCHEMA))["city"]
    assert [cells[0], cells[1].strip(), *cells[2:]] == ["a", "b", None, None, "é"]


def test_a_text_that_many_rows_of_a_parquet_file_share_is_held_once(tmp_path: Path) -> None:
    n = 3000
    shared = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * n, pyarrow.int32()), ["z" * 2**20]
    )
    columns = {
        "age": [10.0] * n,
        "city": shared,
        "income": [1.0] * n,
        "grade": ["1"] * n,
        "y": ["yes"] * n,
    }
    parquet(columns, tmp_path / "t.parquet", dictionary_pagesize_limit=2**30)
    before = pyarrow.default_memory_pool().max_memory()
    X, peak = peak_megabytes((tmp_path / "t.parquet").read_bytes(), tmp_path, "u.parquet")
    assert len(X) == n
    assert peak < 20
    assert pyarrow.default_memory_pool().max_memory() - before < 100 * 2**20


def test_a_page_that_explodes_ends_in_a_child_and_not_in_this_process(tmp_path, monkeypatch):
    """1 kB took 4.7 GB of the server, which unpacked the page itself."""
    n, secret = 4, "z" * 50_000_000
    columns = {
        "age": [10.0] * n,
        "city": [secret] * n,
        "income": [1.0] * n,
        "grade": ["1"] * n,
        "y": ["yes"] * n,
    }
    whole = {"use_dictionary": False, "data_page_size": 2**31 - 1}
    parquet(columns, tmp_path / "t.parquet", compression="zstd", **whole)
    content = (tmp_path / "t.parquet").read_bytes()
    assert len(content) < 2**16
    before = pyarrow.default_memory_pool().max_memory()
    monkeypatch.setattr(_unpack, "MOST_MEMORY", 100 * 2**20)
    header = read_header(tables.MemoryFile("t.parquet", content))
    with refuses(BatchError, match="needs more memory to unpack"):
        read_cells(header, RecordMapper(SCHEMA))
    assert pyarrow.default_memory_pool().max_memory() == before
    monkeypatch.setattr(folder, "MOST_MEMORY", 100 * 2**20)
    (part,) = folder.read_folder(tmp_path)
    with refuses(BatchError, match="needs more memory to unpack"):
        next(folder.cell_blocks(part.path, part.columns, ("city",), groups=range(1)))


@pytest.mark.parametrize("seconds", [0.0, 60.0])
def test_a_file_of_rows_that_is_cut_or_slow_is_refused_in_words(seconds, tmp_path, monkeypatch):
    columns = {"age": [10.0], "city": ["a"], "income": [1.0], "grade": ["1"], "y": ["yes"]}
    parquet(columns, tmp_path / "t.parquet")
    header = read_header(tmp_path / "t.parquet")
    if seconds:
        (tmp_path / "t.parquet").write_bytes(b"PAR1" + bytes(400))
    monkeypatch.setattr(_unpack, "MOST_SECONDS", seconds)
    with refuses(BatchError, match="cannot be read" if seconds else "took more than"):
        read_cells(header, RecordMapper(SCHEMA))


def test_a_header_at_the_limit_is_read_in_one_pass_over_its_bytes():
    """A copy of the line at every byte took minutes for it, at every key press on the page."""
    n_names = tables.LONGEST_HEADER // 10 - 1
    names = b",".join(b"column_%02d" % (i % 100) for i in range(n_names)) + b"\n"
    assert 0.99 * tables.LONGEST_HEADER < len(names) < tables.LONGEST_HEADER
    assert len(read_header(tables.MemoryFile("t.csv", names + b"1,yes\n")).columns) == n_names
    with pytest.raises(DataRejectedError, match="no line of column names"):
        read_header(tables.MemoryFile("t.csv", b"a" * (tables.LONGEST_HEADER + 1) + b"\n1\n"))


def test_a_byte_order_mark_may_stand_before_a_quoted_name():
    marked = read_header(tables.MemoryFile("t.csv", b'\xef\xbb\xbf"a,b",y\n1,yes\n'))
    assert marked.columns == ("a,b", "y")
