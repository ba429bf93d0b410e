"""Whatever the cells of a table hold, a release of it ends as done: docs/operations.md, "After the
draw is announced".
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpci_core.ledger import Cap, Ledger
from dpci_core.release import once, schema_hash
from dpci_core.release.run import PlanRelease
from dpci_core.schema import NumericColumn, Persons, StandardEncoding
from tests.release_example import RHO, SCHEMA, Desk, make_plan

CELLS = (
    "", "nan", "-inf", "1e999", "5e-324", "-1e308", "1_0", "0x10", "1,5", "\u0661", "9" * 5000,
    "a", "A ", "=1+1", "\x00\x1b", "\ud7ff\ufffe", "True", "yes", "z" * 140_000,
)  # fmt: skip
N = 4 * len(CELLS)
STANDARD = dataclasses.replace(
    SCHEMA,
    features=(NumericColumn("age", 0, 100, typical=50, spread=20), SCHEMA.features[1]),
    standard=StandardEncoding(shape=3.0),
)
PLANS = {
    "plain": make_plan(n=N),
    "objective": make_plan(n=N, mechanism="objective", calibration="sharp", regularization=0.5),
    "zcdp": make_plan(RHO, n=N),
    "standard": make_plan(schema=STANDARD, n=N, target="unpenalised", calibration="sharp"),
}
PERSONS = make_plan(
    schema=dataclasses.replace(SCHEMA, persons=Persons("name", 2)), n=N // 4, calibration="sharp"
)


def hostile() -> pd.DataFrame:
    """Every cell in every column, and rows of one cell throughout."""
    cells = np.array(CELLS, dtype=object)
    turned = [np.concatenate([np.roll(cells, k * j) for j in range(4)]) for k in range(3)]
    columns = dict(zip(("age", "city", "sick"), turned, strict=True))
    return pd.DataFrame(columns | {"name": [f"p{i // 4}" for i in range(N)]})


def as_csv(folder: Path) -> Path:
    frame = hostile().replace("\x00\x1b", "\x1b")
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


def as_parquet(folder: Path) -> Path:
    hostile().to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def as_folder(folder: Path) -> Path:
    (folder / "t").mkdir()
    for k, part in enumerate(np.array_split(np.arange(N), 3)):
        hostile().iloc[part].to_parquet(folder / "t" / f"{k}.parquet")
    return folder / "t"


def at_desk(plan: Any, folder: Path, file: Path) -> Desk:
    ledger = Ledger(folder / "ledger.sqlite")
    ledger.create_dataset(
        "Clinic",
        schema_hash=schema_hash(plan.schema),
        cap=Cap.zcdp(5),
        **plan.account_unit,
        person="A",
    )
    return Desk(folder, plan, file, ledger)


@pytest.mark.parametrize("write", [as_csv, as_parquet, as_folder])
@pytest.mark.parametrize("name", [*PLANS, "persons"])
def test_no_cell_ends_a_release(name, write, tmp_path, monkeypatch) -> None:
    """From the booking on arithmetic raises, as some programs ask NumPy to."""
    if name == "persons" and write is as_folder:
        pytest.skip("persons are not released from a folder")
    desk = at_desk(PERSONS if name == "persons" else PLANS[name], tmp_path, write(tmp_path))
    monkeypatch.setattr(PlanRelease, "look", lambda *_: None)  # it would refuse most of them
    monkeypatch.setattr(
        once, "reached", lambda stage: np.seterr(all="raise") if stage == "booked" else None
    )
    with np.errstate():
        made = desk.release()
    assert made.n_records == desk.plan.n_records
    assert [(one.state, one.draw) for one in desk.ledger.history()] == [("done", "begun")]
