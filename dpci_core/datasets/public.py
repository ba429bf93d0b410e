"""Readers of the public sets: the original file or the downloaded table, to one and the same
table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets._declared import ADULT, BANK, KDD99, KDD_COLUMNS
from dpci_core.datasets.files import (
    Fingerprint,
    original_path,
    read_original,
    read_table,
    table_path,
    write_table,
)
from dpci_core.schema import Schema

ADULT_COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
)
BANK_COLUMNS = (
    "age",
    "job",
    "marital",
    "education",
    "default",
    "balance",
    "housing",
    "loan",
    "contact",
    "day",
    "month",
    "duration",
    "campaign",
    "pdays",
    "previous",
    "poutcome",
    "y",
)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
KDD_TEXT = ("protocol_type", "service", "flag", "label")


@dataclass(frozen=True, kw_only=True, slots=True)
class PublicSet:
    """A public set: its schema, the table it must be, how its original file is read and its table
    made ready.
    """

    key: str
    title: str
    schema: Schema
    fingerprint: Fingerprint
    parse: Callable[[Path], pd.DataFrame]
    prepare: Callable[[pd.DataFrame], pd.DataFrame]
    is_large: bool = False


def read_public(chosen: PublicSet, columns: tuple[str, ...]) -> pd.DataFrame:
    """Return the columns of a public set, ready to be encoded.

    Raises:  FileNotFoundError with the command that downloads the set; DataRejectedError for a
             wrong file.
    """
    if chosen.is_large:
        compact = read_table(chosen.key, columns)
        if compact is not None and len(compact) == chosen.fingerprint.n_rows:
            return compact
    path = original_path(chosen.key)
    frame = read_table(chosen.key) if path is None else chosen.parse(path)
    if frame is None:
        state = (
            "damaged in the cache" if table_path(chosen.key).is_file() else "not on this machine"
        )
        raise FileNotFoundError(
            f"{chosen.title} is {state}; get it with `python -m dpci_core data get {chosen.key} "
            "--again`."
        )
    check_table(chosen, frame)
    if chosen.is_large and path is not None:
        _keep(chosen.key, frame)
    return chosen.prepare(frame)[list(columns)]


def check_table(chosen: PublicSet, frame: pd.DataFrame) -> None:
    """Raise DataRejectedError unless the table is the set it claims to be."""
    difference = chosen.fingerprint.first_difference(
        frame, chosen.schema.target, chosen.schema.positive
    )
    if difference is not None:
        raise DataRejectedError("another_table", title=chosen.title, difference=difference)


def _keep(key: str, frame: pd.DataFrame) -> None:
    """Keep a compact copy for the next read; a cache that cannot be written is no reason to
    stop.
    """
    try:
        write_table(key, frame)
    except OSError:
        return


def parse_adult(path: Path) -> pd.DataFrame:
    """The training part, 32,561 rows, `?` as missing."""
    return pd.read_csv(
        read_original("adult", path),
        names=list(ADULT_COLUMNS),
        skipinitialspace=True,
        na_values="?",
        encoding="ascii",
    )


def parse_adult_test(path: Path) -> pd.DataFrame:
    """The test part, 16,281 rows: a first line that is no row, labels with a full stop."""
    frame = pd.read_csv(
        read_original("adult_test", path),
        names=list(ADULT_COLUMNS),
        skiprows=1,
        skipinitialspace=True,
        na_values="?",
        encoding="ascii",
    )
    return frame.assign(income=frame["income"].str.rstrip("."))


def prepare_adult(frame: pd.DataFrame) -> pd.DataFrame:
    """Complete rows only, as the papers do: 30,162."""
    return frame.dropna(ignore_index=True)


def parse_bank(path: Path) -> pd.DataFrame:
    """The full file, 45,211 rows; `unknown` is a level like any other."""
    return pd.read_csv(
        read_original("bank", path), sep=";", encoding="ascii", keep_default_na=False
    )


def prepare_bank(frame: pd.DataFrame) -> pd.DataFrame:
    """The month as a number, and whether the person was contacted before (pdays is not -1)."""
    numbers = {name: i for i, name in enumerate(MONTHS, start=1)}
    return frame.assign(
        month=frame["month"].astype(str).map(numbers).astype("int64"),
        contacted=(frame["pdays"] != -1).astype("int64"),
    )


def parse_kdd99(path: Path) -> pd.DataFrame:
    """The 10 % file, 494,021 rows; texts as categories, the label as normal or attack."""
    names = [*KDD_COLUMNS, "label"]
    content = read_original("kdd99", path)
    frame = pd.read_csv(content, names=names, dtype=dict.fromkeys(KDD_TEXT, "category"))
    return compact_kdd99(frame)


def compact_kdd99(frame: pd.DataFrame) -> pd.DataFrame:
    """Label as normal or attack, whole numbers in 32 bits: all of them fit, and the table is half
    as large.
    """
    is_normal = frame["label"].astype(str).str.rstrip(".") == "normal"
    whole = {name: "int32" for name in frame.columns if frame[name].dtype.kind == "i"}
    texts = dict.fromkeys(KDD_TEXT[:-1], "category")
    label = pd.Categorical.from_codes(
        (~is_normal).astype("int8"), dtype=pd.CategoricalDtype(["normal", "attack"])
    )
    return frame.astype({**whole, **texts}).assign(label=label)


def _same(frame: pd.DataFrame) -> pd.DataFrame:
    return frame


PUBLIC_SETS = {
    "adult": PublicSet(
        key="adult",
        title="Adult",
        schema=ADULT,
        fingerprint=Fingerprint(
            32_561,
            7_841,
            (
                ("age", 1_256_257),
                ("fnlwgt", 6_179_373_392),
                ("education_num", 328_237),
                ("capital_gain", 35_089_324),
                ("capital_loss", 2_842_700),
                ("hours_per_week", 1_316_684),
            ),
        ),
        parse=parse_adult,
        prepare=prepare_adult,
    ),
    "adult_test": PublicSet(
        key="adult_test",
        title="Adult, test part",
        schema=ADULT,
        fingerprint=Fingerprint(
            16_281,
            3_846,
            (
                ("age", 631_173),
                ("fnlwgt", 3_084_202_270),
                ("education_num", 163_997),
                ("capital_gain", 17_614_497),
                ("capital_loss", 1_431_088),
                ("hours_per_week", 657_626),
            ),
        ),
        parse=parse_adult_test,
        prepare=prepare_adult,
    ),
    "bank": PublicSet(
        key="bank",
        title="Bank Marketing",
        schema=BANK,
        fingerprint=Fingerprint(
            45_211,
            5_289,
            (
                ("age", 1_850_767),
                ("balance", 61_589_682),
                ("day", 714_624),
                ("duration", 11_671_811),
                ("campaign", 124_956),
                ("pdays", 1_817_384),
                ("previous", 26_237),
            ),
        ),
        parse=parse_bank,
        prepare=prepare_bank,
    ),
    "kdd99": PublicSet(
        key="kdd99",
        title="KDD Cup 1999 (10 %)",
        schema=KDD99,
        fingerprint=Fingerprint(
            494_021,
            396_743,
            (
                ("duration", 23_702_783),
                ("src_bytes", 1_494_715_024),
                ("dst_bytes", 429_073_257),
                ("count", 164_156_109),
                ("srv_count", 144_701_990),
                ("dst_host_count", 114_845_446),
            ),
        ),
        parse=parse_kdd99,
        prepare=_same,
        is_large=True,
    ),
}
"""The public sets by key."""
