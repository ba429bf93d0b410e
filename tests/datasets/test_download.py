"""`python -m dpci_core data ...`: downloads in the shape of the fetchers, failures as one sentence,
no trace.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from dpci_core.cli import main as command
from dpci_core.datasets import download, files, load, public
from dpci_core.datasets._declared import KDD_COLUMNS

needs_originals = pytest.mark.skipif(
    "DPCI_SHARED_DATA" not in os.environ, reason="DPCI_SHARED_DATA is not set: no original files"
)
Fetch = Callable[[str], pd.DataFrame]


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path / "cache"))


@pytest.fixture
def no_originals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPCI_SHARED_DATA", raising=False)


def openml_adult(train: pd.DataFrame, test: pd.DataFrame) -> pd.DataFrame:
    """Both parts as OpenML has them: hyphens, `class`, categories with missing values."""
    frame = pd.concat([test, train], ignore_index=True)
    for name in frame.columns:
        if frame[name].dtype.kind not in "iu":
            frame[name] = frame[name].astype("category")
    return frame.rename(columns=lambda name: name.replace("_", "-")).rename(
        columns={"income": "class"}
    )


def small_adult(n: int, *, positives: int, age: int) -> pd.DataFrame:
    rows = {name: ["Private"] * n for name in public.ADULT_COLUMNS}
    numbers = {name: [age] * n for name, _ in public.PUBLIC_SETS["adult"].fingerprint.sums}
    income = [">50K"] * positives + ["<=50K"] * (n - positives)
    return pd.DataFrame({**rows, **numbers, "income": income})


def expect(monkeypatch: pytest.MonkeyPatch, key: str, frame: pd.DataFrame, positives: int) -> None:
    """Make the fingerprint of a set that of a small stand-in."""
    old = public.PUBLIC_SETS[key]
    sums = tuple((name, int(frame[name].astype("int64").sum())) for name, _ in old.fingerprint.sums)
    fake = replace(old, fingerprint=files.Fingerprint(len(frame), positives, sums))
    monkeypatch.setitem(public.PUBLIC_SETS, key, fake)


def use(monkeypatch: pytest.MonkeyPatch, key: str, fetch: Fetch) -> None:
    monkeypatch.setitem(download.FETCHERS, key, fetch)


@pytest.mark.usefixtures("no_originals")
@pytest.mark.parametrize("key", ["adult", "bank", "kdd99"])
@pytest.mark.parametrize(
    "error", [URLError("no route"), ValueError("checksum"), TimeoutError(), KeyError("x")]
)
def test_no_internet_is_one_sentence(
    key: str, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_home: str) -> pd.DataFrame:
        raise error

    use(monkeypatch, key, fail)
    assert command.main(["data", "get", key]) == 1
    shown = capsys.readouterr()
    assert shown.err.count("\n") == 1
    assert "could not be downloaded" in shown.err
    assert "Traceback" not in shown.err
    assert shown.out.startswith("Fetching")
    assert not files.table_path(key).exists()


@pytest.mark.usefixtures("no_originals")
@pytest.mark.parametrize("is_train_last", [True, False])
def test_adult_keeps_the_training_part(
    is_train_last: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train, test = small_adult(30, positives=10, age=40), small_adult(20, positives=4, age=30)
    expect(monkeypatch, "adult", train, 10)
    parts = (train, test) if is_train_last else (test, train)
    use(monkeypatch, "adult", lambda _home: openml_adult(*parts))
    assert command.main(["data", "get", "adult"]) == 0
    out = capsys.readouterr().out
    assert "Checking 50 rows" in out
    assert "Kept 30 rows of Adult" in out
    stored = files.read_table("adult")
    assert stored is not None
    assert (stored["age"] == 40).all()
    assert not list(files.table_path("adult").parent.glob("*.part"))
    assert command.main(["data", "get", "adult"]) == 0
    assert "already" in capsys.readouterr().out


@pytest.mark.usefixtures("no_originals")
@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.head(49),  # neither part is at an end any more
        lambda f: f.drop(columns="age"),
        lambda f: f.assign(age=f["age"] + 1),
        lambda f: f.assign(**{"class": "<=50K"}),
        lambda f: f.assign(fnlwgt="many"),
    ],
)
def test_another_table_is_refused(
    change: Callable[[pd.DataFrame], pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    train, test = small_adult(30, positives=10, age=40), small_adult(20, positives=4, age=30)
    expect(monkeypatch, "adult", train, 10)
    use(monkeypatch, "adult", lambda _home: change(openml_adult(train, test)))
    assert command.main(["data", "get", "adult"]) == 1
    assert "cannot be used" in capsys.readouterr().err
    assert not files.table_path("adult").exists()


@pytest.mark.usefixtures("no_originals")
def test_bank_gets_its_names_and_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 24
    frame = pd.DataFrame({name: ["no"] * n for name in public.BANK_COLUMNS})
    for i, (name, _) in enumerate(public.PUBLIC_SETS["bank"].fingerprint.sums):
        frame[name] = np.arange(n) + i
    frame["pdays"] = np.arange(n) - 1
    frame["month"] = (list(public.MONTHS) * 2)[:n]
    expect(monkeypatch, "bank", frame, 5)
    raw = frame.assign(y=["2"] * 5 + ["1"] * (n - 5))
    raw = raw.set_axis([*(f"V{i}" for i in range(1, 17)), "Class"], axis=1)
    use(
        monkeypatch,
        "bank",
        lambda _home: raw.astype({"V11": "category", "V1": float, "Class": "category"}),
    )
    assert command.main(["data", "get", "bank"]) == 0
    stored = public.read_public(public.PUBLIC_SETS["bank"], ("month", "contacted", "y"))
    assert stored["month"].tolist() == list(range(1, 13)) * 2
    assert stored["contacted"].tolist() == [0] + [1] * (n - 1)
    assert (stored["y"] == "yes").sum() == 5


@pytest.mark.usefixtures("no_originals")
def test_kdd99_bytes_become_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 12
    frame = pd.DataFrame({name: [1] * n for name in KDD_COLUMNS}, dtype=object)
    frame = frame.assign(
        protocol_type=b"tcp", service=b"http", flag=b"SF", labels=[b"normal.", b"smurf."] * 6
    )
    frame["serror_rate"] = pd.Series([0.25] * n, dtype=object)
    expect(monkeypatch, "kdd99", frame, 6)
    use(monkeypatch, "kdd99", lambda _home: frame.astype(object))
    assert command.main(["data", "get", "kdd99"]) == 0
    stored = files.read_table("kdd99")
    assert stored is not None
    assert stored["service"].unique().tolist() == ["http"]
    assert stored["label"].tolist() == ["normal", "attack"] * 6
    assert stored["serror_rate"].unique().tolist() == [0.25]


@pytest.mark.usefixtures("no_originals")
def test_a_folder_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path / "file"))
    train = small_adult(30, positives=10, age=40)
    expect(monkeypatch, "adult", train, 10)
    use(monkeypatch, "adult", lambda _home: openml_adult(train, train))
    assert command.main(["data", "get", "adult"]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.usefixtures("no_originals")
def test_damaged_download_says_so() -> None:
    files.table_path("bank").parent.mkdir(parents=True)
    files.table_path("bank").write_bytes(b"PAR1")
    with pytest.raises(FileNotFoundError, match="damaged in the cache"):
        load("bank")


def test_a_failed_write_leaves_the_old_table(monkeypatch: pytest.MonkeyPatch) -> None:
    files.write_table("bank", pd.DataFrame({"a": [1]}))

    def fail(*_args: object) -> None:
        raise OSError(28, "No space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        files.write_table("bank", pd.DataFrame({"a": [2]}))
    assert [path.name for path in files.table_path("bank").parent.iterdir()] == ["bank.parquet"]
    kept = files.read_table("bank")
    assert kept is not None
    assert kept["a"].tolist() == [1]


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["data", "list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [item["key"] for item in listed] == ["census", "breast_cancer", "adult", "bank", "kdd99"]
    assert command.main(["data", "list"]) == 0
    assert "494,021 rows" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        command.main(["data", "get", "iris"])


def _as_fetched(key: str) -> pd.DataFrame:
    """The original files in the shape of the fetchers."""
    folder = Path(os.environ["DPCI_SHARED_DATA"])
    chosen = public.PUBLIC_SETS[key]
    original = chosen.parse(folder / files.ORIGINALS[key].path)
    if key == "adult":
        test = pd.read_csv(
            folder / "adult" / "adult.test.xz",
            names=list(public.ADULT_COLUMNS),
            skiprows=1,
            skipinitialspace=True,
            na_values="?",
        )
        return openml_adult(original, test.assign(income=test["income"].str.rstrip(".")))
    if key == "bank":
        raw = original.assign(y=original["y"].map({"no": "1", "yes": "2"}))
        raw = raw.set_axis([*(f"V{i}" for i in range(1, 17)), "Class"], axis=1)
        return raw.astype(
            {name: "category" for name in raw.columns if raw[name].dtype.kind not in "iu"}
        )
    raw = original.rename(columns={"label": "labels"}).astype(object)
    for name in ("protocol_type", "service", "flag", "labels"):
        raw[name] = [
            f"{text}.".encode() if name == "labels" else text.encode() for text in raw[name]
        ]
    return raw


@needs_originals
@pytest.mark.parametrize("key", ["adult", "bank", "kdd99"])
def test_download_and_original_give_the_same_records(
    key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = {
        encoding: load(key, encoding=encoding, features=12).digest
        for encoding in ("schema", "paper")
    }  # type: ignore[arg-type]
    raw = _as_fetched(key)
    monkeypatch.delenv("DPCI_SHARED_DATA")
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path / "fresh"))
    use(monkeypatch, key, lambda _home: raw)
    lines: list[str] = []
    download.download(key, say=lines.append)
    assert len(lines) == 3
    got = {
        encoding: load(key, encoding=encoding, features=12).digest
        for encoding in ("schema", "paper")
    }  # type: ignore[arg-type]
    assert got == expected


def test_fetchers_ask_for_the_right_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    import sklearn.datasets

    asked: list[dict[str, Any]] = []

    def note(*args: object, **options: Any) -> Any:
        asked.append({"args": args, **options})
        return type("Bunch", (), {"frame": pd.DataFrame()})

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", note)
    monkeypatch.setattr(sklearn.datasets, "fetch_kddcup99", note)
    for key in ("adult", "bank", "kdd99"):
        download.FETCHERS[key]("home")
    assert [a.get("version") or a.get("data_id") or a.get("percent10") for a in asked] == [
        2,
        1461,
        True,
    ]
    assert asked[0]["args"] == ("adult",)
    assert all(a["as_frame"] and a["data_home"] == "home" for a in asked)


def test_originals_may_lie_in_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DPCI_SHARED_DATA", raising=False)
    path = files.cache_dir() / files.ORIGINALS["adult"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(lzma.compress(b""))
    assert files.original_path("adult") == path
