"""Reading a file of the user's own: what is accepted, and sentences without cell values for the
rest.
"""

from __future__ import annotations

import io
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets import read_upload, upload_rules
from dpci_core.report.refusals import said
from dpci_core.schema import encode, propose_schema
from tests.refusals import refuses

GOOD = "age,name,paid\n31,Ann,yes\n45,Bob,no\n28,?,yes\n"


def rejected(data: bytes, name: str = "t.csv") -> str:
    with pytest.raises(DataRejectedError) as caught:
        read_upload(data, name)
    message = said(caught.value)
    assert message.endswith(".")
    assert "SECRET" not in message
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return message


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_csv_dialects(delimiter: str, encoding: str) -> None:
    frame = read_upload(GOOD.replace(",", delimiter).encode(encoding), "t.csv")
    assert list(frame.columns) == ["age", "name", "paid"]
    assert frame["age"].tolist() == [31, 45, 28]
    assert frame["name"].isna().tolist() == [False, False, True]


def test_latin_1_fallback_quotes_and_blank_lines() -> None:
    data = '\n"na;me";city\r\n"Zo\u00eb ""Z""\nsecond line";"K\u00f6ln"\r\n\r\nx;y\r\n'.encode(
        "latin-1"
    )
    frame = read_upload(data, "t.txt")
    assert frame.to_dict("list") == {
        "na;me": ['Zo\u00eb "Z"\nsecond line', "x"],
        "city": ["K\u00f6ln", "y"],
    }


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_decimal_commas_where_no_comma_separates(delimiter: str) -> None:
    rows = ["a;b;c;d;e", "1,5;2;1,5;1.234,5;", "-,5;3,25e1;x;2,5;", ";?;1,5;2,5;"]
    frame = read_upload("\n".join(rows).replace(";", delimiter).encode(), "t.csv")
    np.testing.assert_array_equal(frame["a"], [1.5, -0.5, np.nan])
    np.testing.assert_array_equal(frame["b"], [2.0, 32.5, np.nan])
    assert frame["c"].tolist() == ["1,5", "x", "1,5"]
    assert frame["d"].tolist() == ["1.234,5", "2,5", "2,5"]
    assert frame["e"].isna().all()


def test_quoted_commas_stay_texts_where_commas_separate() -> None:
    frame = read_upload(b'a,b\n"1,5",2\n', "t.csv")
    assert frame["a"].tolist() == ["1,5"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"\n\n", "no line with column names"),
        (b"a,b\n", "no rows"),
        (b"a,b\nSECRET,2\n3\n", "Line 3 has another number of fields (1) than the first line (2)"),
        (b"a,b\n1,2\n1,SECRET,3\n", "Line 3 has another number of fields (3)"),
        (b"a,b,a\n1,2,3\n", "Columns 1 and 3 have the same name"),
        (b"a, a\n1,2\n", "Columns 1 and 2 have the same name"),
        (b"a,,c\n1,2,3\n", "Column 2 has no name"),
        (b"1,2\n3,4\n", "must hold the column names"),
        (b'a,b\n1,"SECRET\n2,3\n', "Line 3 has another|quotation"),
        (b"a,b\n1,\0SECRET\n", "neither text nor Parquet"),
        (bytes(range(256)), "neither text nor Parquet"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"a,b\n1," + b"SECRET" * 40_000 + b"\n", "quotation marks"),
    ],
)
def test_bad_csv(data: bytes, words: str) -> None:
    message = rejected(data)
    assert any(word in message for word in words.split("|")), message


def test_row_of_a_ragged_line_is_its_line_in_the_file() -> None:
    with refuses(DataRejectedError, match="Line 5") as caught:
        read_upload(b'a,b\n"x\ny",1\n\n1\n', "t.csv")
    assert caught.value.row == 5


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (upload_rules.MAX_UPLOAD_BYTES, upload_rules.MAX_UPLOAD_COLUMNS) == (
        200 * 1024 * 1024,
        2_000,
    )
    wide = ",".join(f"c{i}" for i in range(2_001))
    assert "2,001 columns" in rejected(f"{wide}\n".encode())
    just = ",".join(f"c{i}" for i in range(2_000))
    assert read_upload(f"{just}\n{'1,' * 1_999}1\n".encode(), "t.csv").shape == (1, 2_000)
    monkeypatch.setattr(upload_rules, "MAX_UPLOAD_CELLS", 8)
    assert read_upload(b"a,b\n" + b"1,2\n" * 4, "t.csv").shape == (4, 2)
    assert "more than 8 cells" in rejected(b"a,b\n" + b"1,2\n" * 5)
    monkeypatch.setattr(upload_rules, "MAX_UPLOAD_ROWS", 3)
    assert read_upload(b"a,b\n" + b"1,2\n" * 3, "t.csv").shape == (3, 2)
    assert "more than 3 rows" in rejected(b"a,b\n" + b"1,2\n" * 4)
    monkeypatch.setattr(upload_rules, "MAX_UPLOAD_BYTES", 1024**2)
    assert "2 MB, more than 1" in rejected(b"x" * 2 * 1024**2)


def as_parquet(table: pa.Table | pd.DataFrame) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table if isinstance(table, pa.Table) else pa.Table.from_pandas(table), sink)
    return sink.getvalue()


def test_parquet_round_trip_into_records() -> None:
    n = 200
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "color": rng.choice(["red", "blue"], n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, rng.random(n)),
            "flag": rng.random(n) < 0.5,
            "t": rng.choice(["y", "n"], n),
        },
        index=np.arange(n) * 2,
    )
    got = read_upload(as_parquet(frame), "t.parquet")
    assert len(got) == n
    assert (got["color"].astype(str).to_numpy() == frame["color"].to_numpy()).all()
    schema = propose_schema(got, "t", "y")
    assert {"age", "color", "pay", "flag"} <= {column.name for column in schema.features}
    records = encode(got, schema, source="declared synthetic", title="t.parquet")
    is_whole = frame["pay"].notna().to_numpy()
    assert ((records.unweighted == 0.0).all(axis=1) == ~is_whole).all()
    assert (records.y[is_whole] == np.where(frame["t"][is_whole] == "y", 1.0, -1.0)).all()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"PAR1 SECRET", "cannot be read as Parquet"),
        (as_parquet(pa.table({"a": [1, 2]}))[:-20], "cannot be read as Parquet"),
        (
            as_parquet(pa.table({"a": [1], "b": [[1, 2]]})),
            "Column 2 holds values that are not plain",
        ),
        (as_parquet(pa.table({"a": [b"SECRET"]})), "Column 1 holds values that are not plain"),
        (as_parquet(pa.table([[1], [2]], names=["a", "a"])), "Columns 1 and 2 have the same name"),
        (as_parquet(pa.table({"a": pa.array([], pa.int64())})), "no rows"),
    ],
)
def test_bad_parquet(data: bytes, words: str) -> None:
    assert words in rejected(data, "t.parquet")


def test_records_that_would_take_too_much_memory_are_refused_before_they_are_made() -> None:
    upload_rules.check_records(4_000_000, 9)  # ten coefficients
    upload_rules.check_records(0, 9)
    with refuses(DataRejectedError, match="at most 9 features with 4,000,000 rows, got 10"):
        upload_rules.check_records(4_000_000, 10)


def test_parquet_by_name_only() -> None:
    assert "does not start like" in rejected(b"a,b\n1,2\n", "t.PARQUET")


def test_parquet_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    many = as_parquet(pa.table({"a": pa.array(np.zeros(60_000_000, dtype=np.int8))}))
    assert len(many) < 300_000  # a small file ...
    assert "more than 5,000,000 rows" in rejected(many, "t.parquet")
    monkeypatch.setattr(upload_rules, "MAX_UNPACKED_BYTES", 1024**2)
    long = as_parquet(pa.table({"a": ["SECRET" * 50_000 + str(i) for i in range(20)]}))
    assert "unpacks to more than 1 MB" in rejected(long, "t.parquet")


def test_repeated_long_texts_stay_small() -> None:
    texts = pa.DictionaryArray.from_arrays(
        np.arange(100_000, dtype=np.int32) % 2, ["x" * 100_000, "y"]
    )
    sink = io.BytesIO()
    pq.write_table(
        pa.table({"a": texts}), sink, store_schema=False
    )  # plain texts for whoever reads it
    data = sink.getvalue()  # 5 GB if every row had its own copy
    frame = read_upload(data, "t.parquet")
    assert isinstance(frame["a"].dtype, pd.CategoricalDtype)


def accepted(data: bytes, name: str) -> int | None:
    """Rows of the table, or None where it is refused with a sentence; anything else is raised."""
    try:
        return len(read_upload(data, name))
    except DataRejectedError as error:
        return None if said(error).endswith(".") else 0


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(["t.csv", "t.parquet"]))
def test_any_bytes_give_a_table_or_a_sentence(data: bytes, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert accepted(data, name) != 0


@settings(derandomize=True, max_examples=300, deadline=None)
@given(st.text(alphabet='ab1,;\t"\n\r .?', max_size=60))
def test_any_text_gives_a_table_or_a_sentence(body: str) -> None:
    assert accepted(("a,b\n" + body).encode(), "t.csv") != 0
