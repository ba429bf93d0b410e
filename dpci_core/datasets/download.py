"""Downloads of the public sets through scikit-learn's fetchers, turned into the table the original
files give.
"""

from __future__ import annotations

import socket
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from dpci_core.base.errors import CodedError, DataRejectedError, Finding, without_frames
from dpci_core.datasets.files import cache_dir, write_table
from dpci_core.datasets.public import (
    ADULT_COLUMNS,
    BANK_COLUMNS,
    KDD_TEXT,
    PUBLIC_SETS,
    PublicSet,
    check_table,
    compact_kdd99,
)

SOURCES = {
    "adult": "OpenML",
    "adult_test": "OpenML",
    "bank": "OpenML",
    "kdd99": "scikit-learn's file server",
}
"""Where each set comes from, for the progress line."""
TIMEOUT_SECONDS = 60.0
"""Longest silence of a server; the fetchers themselves would wait for ever."""
_BANK_CLASSES = {"1": "no", "2": "yes"}


class DownloadError(CodedError, RuntimeError):
    """A set could not be fetched, kept, or is not what was expected."""

    def __init__(self, code: str, **facts: object) -> None:
        super().__init__(code, **facts)


def download(key: str, *, say: Callable[[Finding], None]) -> Path:
    """Fetch a public set, check it and write it to the cache; return the file's path.

    Args:
        say: takes each step.

    Raises:  DownloadError: no network, a changed table, a folder that cannot be written.
    """
    chosen = PUBLIC_SETS[key]
    say(Finding("fetching", title=chosen.title, source=SOURCES[key]))
    raw = _fetch(chosen)
    say(Finding("checking_rows", n_rows=len(raw)))
    try:
        frame = _NORMALISERS[key](chosen, raw)
        check_table(chosen, frame)
    except DataRejectedError as error:
        reason = without_frames(error)
        raise DownloadError("download_unusable", title=chosen.title, reason=reason) from None
    except (KeyError, ValueError, TypeError):
        raise DownloadError("download_without_columns", title=chosen.title) from None
    try:
        path = write_table(key, frame)
    except OSError as error:
        raise DownloadError(
            "cache_not_writable", folder=cache_dir(), problem=error.strerror
        ) from None
    say(Finding("kept_rows", n_rows=len(frame), title=chosen.title, path=path))
    return path


def _fetch(chosen: PublicSet) -> pd.DataFrame:
    """The fetcher's table; its own files go to a folder that is removed again."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_SECONDS)
    try:
        with tempfile.TemporaryDirectory(prefix="dpci-fetch-") as home, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fetchers announce each retry as a warning
            return FETCHERS[chosen.key](home)
    except Exception as error:  # fetchers raise anything from OSError to ValueError
        problem = type(error).__name__
        raise DownloadError("not_downloaded", title=chosen.title, problem=problem) from None
    finally:
        socket.setdefaulttimeout(before)


def fetch_adult(home: str) -> pd.DataFrame:
    """OpenML's Adult, version 2: both parts in one table of 48,842 rows."""
    from sklearn.datasets import fetch_openml

    frame: pd.DataFrame = fetch_openml(
        "adult", version=2, as_frame=True, data_home=home, n_retries=1
    ).frame
    return frame


def fetch_bank(home: str) -> pd.DataFrame:
    """OpenML's Bank Marketing: columns V1 to V16 and Class, classes 1 and 2."""
    from sklearn.datasets import fetch_openml

    frame: pd.DataFrame = fetch_openml(
        data_id=1461, as_frame=True, data_home=home, n_retries=1
    ).frame
    return frame


def fetch_kdd99(home: str) -> pd.DataFrame:
    """KDD Cup 1999, 10 %, texts as bytes."""
    from sklearn.datasets import fetch_kddcup99

    frame: pd.DataFrame = fetch_kddcup99(
        percent10=True, as_frame=True, data_home=home, n_retries=1
    ).frame
    return frame


FETCHERS: dict[str, Callable[[str], pd.DataFrame]] = {
    "adult": fetch_adult,
    "adult_test": fetch_adult,
    "bank": fetch_bank,
    "kdd99": fetch_kdd99,
}
"""Fetcher of each set; takes a folder for its own files."""


def normalise_adult(chosen: PublicSet, raw: pd.DataFrame) -> pd.DataFrame:
    """The asked part, found by its fingerprint: in OpenML's table the test part stands first."""
    frame = raw.rename(columns=lambda name: str(name).replace("-", "_")).rename(
        columns={"class": "income"}
    )
    frame = _plain(
        frame[list(ADULT_COLUMNS)], texts=tuple(c for c in ADULT_COLUMNS if c not in _ADULT_NUMBERS)
    )
    n_rows = chosen.fingerprint.n_rows
    for part in (frame.tail(n_rows), frame.head(n_rows)):
        candidate = part.reset_index(drop=True)
        if (
            chosen.fingerprint.first_difference(
                candidate, chosen.schema.target, chosen.schema.positive
            )
            is None
        ):
            return candidate
    raise DataRejectedError("no_training_part", n_rows=n_rows, found=len(frame))


def normalise_bank(chosen: PublicSet, raw: pd.DataFrame) -> pd.DataFrame:
    """Columns and classes by their original names."""
    if len(raw.columns) != len(BANK_COLUMNS):
        raise DataRejectedError(
            "another_number_of_columns", found=len(raw.columns), wanted=len(BANK_COLUMNS)
        )
    frame = raw.set_axis(list(BANK_COLUMNS), axis=1)
    numbers = tuple(name for name, _ in chosen.fingerprint.sums)
    frame = _plain(frame, texts=tuple(name for name in BANK_COLUMNS if name not in numbers))
    return frame.assign(y=frame["y"].map(lambda value: _BANK_CLASSES.get(value, value)))


def normalise_kdd99(_chosen: PublicSet, raw: pd.DataFrame) -> pd.DataFrame:
    """Texts from bytes, numbers as numbers, the label as normal or attack."""
    frame = raw.rename(columns={"labels": "label"})
    columns: dict[str, Any] = {}
    for name in frame.columns:
        if name not in KDD_TEXT:
            columns[name] = pd.to_numeric(frame[name])
            continue
        columns[name] = pd.Categorical(frame[name]).rename_categories(_text)
    return compact_kdd99(pd.DataFrame(columns))


def _text(value: object) -> str:
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


def _plain(frame: pd.DataFrame, *, texts: tuple[str, ...]) -> pd.DataFrame:
    """Texts as texts (missing ones stay missing), everything else as whole numbers."""
    columns: dict[str, Any] = {}
    for name in frame.columns:
        if name in texts:
            columns[name] = (
                pd.Series(pd.Categorical(frame[name])).astype(object).map(_text, na_action="ignore")
            )
        else:
            columns[name] = pd.to_numeric(frame[name].reset_index(drop=True)).astype("int64")
    return pd.DataFrame(columns)


_ADULT_NUMBERS = frozenset(name for name, _ in PUBLIC_SETS["adult"].fingerprint.sums)
_NORMALISERS: dict[str, Callable[[PublicSet, pd.DataFrame], pd.DataFrame]] = {
    "adult": normalise_adult,
    "adult_test": normalise_adult,
    "bank": normalise_bank,
    "kdd99": normalise_kdd99,
}
