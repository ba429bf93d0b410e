"""Where the files of the public sets are, whether they are the right ones, and how the cache is
written.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import platformdirs

from dpci_core.base.errors import DataRejectedError
from dpci_core.base.extras import named_extras

SHARED_VARIABLE = "DPCI_SHARED_DATA"
"""Environment variable: a folder with the original files, only ever read."""
CACHE_VARIABLE = "DPCI_DATA_DIR"
"""Environment variable: the folder that downloads go to; default under the user's cache folder."""


@dataclass(frozen=True, slots=True)
class Original:
    """An original file: path inside a data folder, and the SHA-256 of its content (of the .gz file
    itself for gzip).
    """

    path: str
    sha256: str


ORIGINALS = {
    "adult": Original(
        "adult/adult.data.xz", "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d"
    ),
    "adult_test": Original(
        "adult/adult.test.xz", "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05"
    ),
    "bank": Original(
        "bank/bank-full.csv.xz", "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d"
    ),
    "kdd99": Original(
        "kdd99/kddcup.data_10_percent.gz",
        "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    ),
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a table must have to be the set it claims to be: rows, positives, and sums of
    whole-number columns.
    """

    n_rows: int
    positives: int
    sums: tuple[tuple[str, int], ...]

    def first_difference(self, frame: pd.DataFrame, target: str, positive: str) -> str | None:
        """A phrase naming the first check that fails, or None."""
        if len(frame) != self.n_rows:
            return f"{len(frame):,} rows instead of {self.n_rows:,}"
        if int((frame[target] == positive).sum()) != self.positives:
            return f"another number of rows with {target} {positive!r} than {self.positives:,}"
        for column, total in self.sums:
            if int(frame[column].astype("int64").sum()) != total:
                return f"a column {column} that does not add up to {total:,}"
        return None


def cache_dir() -> Path:
    """The folder for downloads and compact copies."""
    given = os.environ.get(CACHE_VARIABLE)
    return Path(given) if given else platformdirs.user_cache_path("dpci")


def table_path(key: str) -> Path:
    """Return the path of the downloaded or compact table of a set; the file need not exist."""
    return cache_dir() / key / f"{key}.parquet"


def original_path(key: str) -> Path | None:
    """The set's original file, from the shared folder or the cache; None where there is none."""
    folders = [os.environ.get(SHARED_VARIABLE), str(cache_dir())]
    candidates = (Path(folder) / ORIGINALS[key].path for folder in folders if folder)
    return next((path for path in candidates if path.is_file()), None)


def is_available(key: str) -> bool:
    """Whether the set can be read without a download."""
    return original_path(key) is not None or table_path(key).is_file()


def read_original(key: str, path: Path) -> io.BytesIO:
    """Return the uncompressed content of an original file, its checksum verified."""
    try:
        packed = path.read_bytes()
        content = lzma.decompress(packed) if path.suffix == ".xz" else gzip.decompress(packed)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise DataRejectedError(
            "cannot_be_unpacked", file=path.name, problem=type(error).__name__
        ) from None
    checked = content if path.suffix == ".xz" else packed
    if hashlib.sha256(checked).hexdigest() != ORIGINALS[key].sha256:
        raise DataRejectedError("not_the_original", file=path.name)
    return io.BytesIO(content)


def read_table(key: str, columns: tuple[str, ...] | None = None) -> pd.DataFrame | None:
    """Return a table from the cache, or None where it is absent or damaged."""
    if not table_path(key).is_file():
        return None
    with named_extras():
        import pyarrow
    try:
        return pd.read_parquet(table_path(key), columns=None if columns is None else list(columns))
    except (OSError, ValueError, pyarrow.ArrowException):
        return None


def write_table(key: str, frame: pd.DataFrame) -> Path:
    """Write a table to the cache, in one step: readers see the old file or the whole new one."""
    path = table_path(key)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    os.close(handle)
    try:
        frame.to_parquet(name, index=False, compression="zstd")
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)
    return path
