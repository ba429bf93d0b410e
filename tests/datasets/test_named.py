"""Named sets as records: encodings, shapes, ranks, subsets; the real files where DPCI_SHARED_DATA
has them.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import pytest

from dpci_core.base.errors import DataRejectedError
from dpci_core.base.rows import unit_rows
from dpci_core.datasets import feature_names, files, list_datasets, load, load_cms, schema_of
from dpci_core.datasets._cms import encode_cms
from dpci_core.datasets._paper import encode_paper
from dpci_core.schema import (
    CategoricalColumn,
    Encoding,
    NumericColumn,
    Schema,
    StandardEncoding,
)
from tests.refusals import refuses

needs_originals = pytest.mark.skipif(
    "DPCI_SHARED_DATA" not in os.environ, reason="DPCI_SHARED_DATA is not set: no original files"
)


STANDARD = {"standard": StandardEncoding(shape=8.0)}
"""What an encoding asks for besides."""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path))


def numerical_rank(X: np.ndarray) -> int:
    scaled = X / np.maximum(np.abs(X).max(axis=0), 1e-300)  # tiny columns count like large ones
    return int(np.linalg.matrix_rank(scaled.T @ scaled / len(X), hermitian=True, tol=1e-9))


def test_paper_rows_by_hand() -> None:
    schema = Schema(
        (NumericColumn("a", 0, 1), CategoricalColumn("k", ("x", "y")), NumericColumn("z", 0, 1)),
        "t",
        "1",
    )
    frame = pd.DataFrame(
        {"a": [3.0, -4.0, 2.0], "k": ["x", "y", "y"], "z": [0, 0, 0], "t": [1, 0, 1]}
    )
    records = encode_paper(frame, schema, source="public", title="made up")
    h = math.sqrt(0.5)
    expected = [
        [0.75 / 1.25, 0, 0, 1 / 1.25],
        [-0.5, 0.5, 0, h],
        [0.5 / math.sqrt(2.5), 1 / math.sqrt(2.5), 0, h],
    ]
    np.testing.assert_allclose(records.X, expected, rtol=2e-12, atol=0)
    assert records.y.tolist() == [1, -1, 1]
    assert records.to_original is None
    assert records.encoding == "paper"
    one = encode_paper(frame, schema, features=("a",), source="public", title="made up")
    np.testing.assert_allclose(one.X[1], [-h, h], rtol=2e-12)  # selected before the row norms


def test_information_about_every_set() -> None:
    infos = {info.key: info for info in list_datasets()}
    assert list(infos) == ["census", "breast_cancer", "adult", "bank", "kdd99"]
    features = {key: info.max_features for key, info in infos.items()}
    assert features == {"census": 36, "breast_cancer": 30, "adult": 36, "bank": 33, "kdd99": 118}
    rows = {key: info.n_rows for key, info in infos.items()}
    assert rows == {
        "census": 30_000,
        "breast_cancer": 569,
        "adult": 30_162,
        "bank": 45_211,
        "kdd99": 494_021,
    }
    assert infos["census"].max_rows == 1_000_000
    assert infos["census"].source == "simulated"
    for key, info in infos.items():
        assert len(feature_names(key)) == info.max_features
        assert {*info.encodings, "standard"} == set(get_args(Encoding))


def test_first_ten_features() -> None:
    assert feature_names("adult")[:10] == (
        *("age", "education_num", "hours_per_week", "capital_gain", "capital_loss", "fnlwgt"),
        *(
            "sex=Male",
            "marital_status=Married-civ-spouse",
            "marital_status=Divorced",
            "marital_status=Separated",
        ),
    )
    assert feature_names("census") == feature_names("adult")
    for key in ("bank", "kdd99", "breast_cancer"):
        numeric = {
            column.name for column in schema_of(key).features if isinstance(column, NumericColumn)
        }
        assert set(feature_names(key)[:9]) <= numeric


@pytest.mark.parametrize("encoding", get_args(Encoding))
def test_breast_cancer(encoding: Encoding) -> None:
    records = load("breast_cancer", encoding=encoding, standard=STANDARD.get(encoding))
    assert records.X.shape == (569, 31)
    assert int((records.y == 1).sum()) == 212  # malignant tumours
    assert numerical_rank(unit_rows(records.X)) == 31
    assert all("beyond the limit" in note for note in records.notes)  # none outside the bounds
    assert (records.notes == ()) == (encoding != "standard")
    assert (records.to_original is None) == (encoding == "paper")


def test_subsets_are_fixed_nested_and_in_order() -> None:
    full, half, small = (load("breast_cancer", n_rows=n).X for n in (569, 300, 100))
    rows = [tuple(row) for row in full]
    places = [[rows.index(tuple(row)) for row in part] for part in (half, small)]
    assert all(place == sorted(place) for place in places)
    assert set(places[1]) < set(places[0])
    assert places[1] != list(range(100))
    np.testing.assert_array_equal(load("breast_cancer", n_rows=100).X, small)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="key='iris'"):
        load("iris")
    with pytest.raises(ValueError, match="encoding='raw'"):
        load("census", encoding="raw")  # type: ignore[arg-type]
    for encoding, standard in (("standard", None), ("schema", STANDARD["standard"])):
        with pytest.raises(ValueError, match="Expected standard for encoding='standard' alone"):
            load("census", encoding=encoding, standard=standard)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_rows=570"):
        load("breast_cancer", n_rows=570)
    with pytest.raises(ValueError, match="features=37"):
        load("adult", features=37)


def test_absent_set_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPCI_SHARED_DATA", raising=False)
    assert not next(info for info in list_datasets() if info.key == "bank").available
    with pytest.raises(
        FileNotFoundError,
        match="not on this machine; get it with `python -m dpci_core data get bank",
    ):
        load("bank")


def test_a_changed_original_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import lzma

    monkeypatch.setenv("DPCI_SHARED_DATA", str(tmp_path / "elsewhere"))
    (tmp_path / "adult").mkdir()
    path = tmp_path / files.ORIGINALS["adult"].path
    path.write_bytes(lzma.compress(b"39, Private\n"))
    with refuses(DataRejectedError, match="not the original"):
        load("adult")
    path.write_bytes(b"junk")
    with refuses(DataRejectedError, match="cannot be unpacked"):
        load("adult")


@needs_originals
@pytest.mark.parametrize(
    ("key", "n", "p", "positives"), [("adult", 30_162, 37, 7_508), ("bank", 45_211, 34, 5_289)]
)
@pytest.mark.parametrize("encoding", get_args(Encoding))
def test_originals_have_full_rank(
    key: str, n: int, p: int, positives: int, encoding: Encoding
) -> None:
    records = load(key, encoding=encoding, standard=STANDARD.get(encoding))
    assert records.X.shape == (n, p)
    assert int((records.y == 1).sum()) == positives
    assert numerical_rank(unit_rows(records.X)) == p
    assert np.linalg.norm(unit_rows(records.X), axis=1).max() <= 1.0
    assert all("beyond the limit" in note for note in records.notes)
    assert (records.notes == ()) == (encoding != "standard")


@needs_originals
def test_kdd99_is_collinear_and_read_column_by_column() -> None:
    paper = load("kdd99", encoding="paper", n_rows=494_021)
    assert paper.X.shape == (494_021, 119)
    assert int((paper.y == 1).sum()) == 396_743
    assert numerical_rank(paper.X) == 114
    assert files.table_path("kdd99").is_file()
    del paper
    small = load("kdd99", features=10)
    assert small.X.shape == (494_021, 11)
    assert numerical_rank(small.X) == 11
    assert small.notes == ()
    assert load("kdd99", n_rows=1_000).notes == ()


@needs_originals
def test_kdd99_from_a_read_only_or_damaged_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_text("")
    monkeypatch.setenv("DPCI_DATA_DIR", str(blocked))
    first = load("kdd99", features=2)
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path))
    files.table_path("kdd99").parent.mkdir()
    files.table_path("kdd99").write_bytes(b"PAR1 junk")
    assert load("kdd99", features=2).digest == first.digest
    assert load("kdd99", features=2).digest == first.digest  # now from the compact copy


def test_every_level_is_a_column_and_no_constant_is_added() -> None:
    frame = pd.DataFrame({"a": [0, -2, 1], "b": ["x", "y", "x"], "t": ["no", "yes", "no"]})
    X, y = encode_cms(frame, target="t", positive="yes")
    assert y.tolist() == [-1.0, 1.0, -1.0]
    root = np.sqrt([1.0, 2.0, 1.25])
    expected = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.5, 1.0, 0.0]]) / root[:, None]
    assert pytest.approx(expected, abs=1e-9) == X
    alone, _ = encode_cms(frame, target="t", positive="yes", features=1)
    assert alone[:, 0] == pytest.approx([0.0, -1.0, 0.5])
    census, _ = load_cms("census", n_rows=400)
    assert np.linalg.norm(census, axis=1).max() <= 1.0
    with pytest.raises(ValueError, match="key"):
        load_cms("bank")


@needs_originals
def test_adult_as_in_chaudhuri_is_both_parts() -> None:
    X, y = load_cms("adult")
    assert X.shape == (45_222, 104)
    assert (y > 0).sum() == 11_208
    with pytest.raises(ValueError, match="45222"):
        load_cms("adult", n_rows=45_223)
