"""Tables in batches on the command line: simulated, summed up, compared and released."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dpci_core import Design, Logistic, Plan, PureDP, RecordBatches, fit_moments, write_plan
from dpci_core.__main__ import main
from dpci_core.base.batches import Place
from dpci_core.base.engine_names import engine_named, workers_named
from dpci_core.cli.engines import Watched, progress_line
from dpci_core.datasets import census_files, load, simulate_census
from dpci_core.plan import PublicTable
from dpci_core.plan.moments_file import moments_of, moments_record, read_moments, write_moments
from dpci_core.release.table import read_header, read_records
from dpci_core.schema import CategoricalColumn, NumericColumn, RecordMapper, Schema
from tests.refusals import refuses
from tests.release.test_standard import PLAN as STANDARD

PLAN = Plan(
    title="People",
    source=PublicTable(key="census", n_rows=1500),
    features=4,
    design=Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=0.01,
        n_records=1500,
    ),
    delta="1e-6",  # type: ignore[arg-type]
)


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpci_core.datasets._census.BLOCK_ROWS", 500)
    monkeypatch.setattr(census_files, "GROUP_ROWS", 500)
    monkeypatch.setattr(census_files, "FILE_ROWS", 1000)


def simulated(folder: Path, *more: str) -> list[str]:
    return ["data", "simulate", "census", "--rows", "1_500", "--folder", str(folder), *more]


@pytest.mark.usefixtures("small_files")
def test_a_census_in_files_has_the_people_of_the_census(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "census"
    assert main(simulated(folder)) == 0
    assert "1,500 of 1,500 rows" in capsys.readouterr().err
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["part-000000.parquet", "part-000001.parquet"]
    found = pd.concat([pd.read_parquet(folder / name) for name in names], ignore_index=True)
    wanted = simulate_census(1500)
    assert (found.astype(str) == wanted.astype(str)).all().all()
    assert main(simulated(folder)) == 1
    assert main(["data", "simulate", "census", "--rows", "0", "--folder", f"{tmp_path}/x"]) == 1


@pytest.mark.usefixtures("small_files")
def test_moments_of_a_folder_are_those_of_its_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, folder, output = (str(tmp_path / name) for name in ("plan.yaml", "census", "m.json"))
    write_plan(PLAN, plan)
    assert main(simulated(Path(folder))) == 0
    command = ["moments", plan, "--file", folder, "--output", output]
    assert main(command) == 1
    assert "--public" in capsys.readouterr().err
    assert main([*command, "--public"]) == 0
    found = read_moments(output)
    assert found.names == PLAN.names
    wanted = PLAN.moments()
    assert found.moments.theta_hat == pytest.approx(wanted.theta_hat, rel=1e-6, abs=1e-9)
    assert found.moments.hessian == pytest.approx(wanted.hessian, rel=1e-6)
    capsys.readouterr()
    assert main(["moments", plan, "--file", folder, "--public"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(Path(output).read_text())
    assert main([*command, "--public"]) == 1


def test_a_plan_is_shown_by_moments_from_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, file = str(tmp_path / "plan.yaml"), str(tmp_path / "m.json")
    write_plan(PLAN, plan)
    write_moments(PLAN.moments(), file, names=PLAN.names)
    shown = []
    for more in ([], ["--moments", file]):
        assert main(["plan", "show", plan, "--json", *more]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    assert shown[0] == shown[1]
    write_plan(replace(PLAN, design=replace(PLAN.design, regularization=0.02)), f"{plan}.yaml")
    assert main(["plan", "show", f"{plan}.yaml", "--moments", file]) == 1
    assert "regularization" in capsys.readouterr().err


def test_moments_of_rows_that_are_encoded_otherwise_are_refused() -> None:
    """A release takes map and constant from the plan, so forecasts may rest on no others."""
    moments = STANDARD.moments()
    STANDARD.check_moments(moments, STANDARD.names)
    for name in ("basis", "constant"):
        with refuses(ValueError, match=name):
            STANDARD.check_moments(replace(moments, **{name: None}), STANDARD.names)  # type: ignore[arg-type]


def test_moments_come_back_from_their_file_as_they_were() -> None:
    records = load("census", features=3, n_rows=900)
    design = PLAN.design
    moments = fit_moments(
        records.X,
        records.y,
        loss=design.loss,
        regularization=0.01,
        target="unpenalised",
        with_spread=True,
    )
    names = records.feature_names
    record = moments_record(moments, names=names)
    back = moments_of(json.dumps(record).encode())
    assert moments_record(back.moments, names=back.names) == record
    with pytest.raises(ValueError, match="4 names"):
        moments_record(moments, names=names[:2])


@pytest.fixture(scope="module")
def good() -> dict[str, object]:
    return moments_record(replace(PLAN.moments(), drift=None), names=PLAN.names)


@pytest.mark.parametrize(
    "harm",
    [
        {"version": 2},
        {"theta_hat": [1.0]},
        {"hessian": [[1.0, 2.0], [3.0]]},
        {"covariance": [[float(i * 5 + j) for j in range(5)] for i in range(5)]},
        {"n_records": -3},
        {"regularization": "1"},
        {"names": ["a"] * 5},
        {"loss": {"name": "square"}},
        {"loss": {"name": "huber_svm", "h": -1.0}},
        {"more": 1},
    ],
)
def test_what_is_no_file_of_moments_is_refused(
    harm: dict[str, object], good: dict[str, object]
) -> None:
    assert moments_of(json.dumps(good).encode()).names == PLAN.names
    with pytest.raises(ValueError, match=r"^(No file of moments|Expected)"):
        moments_of(json.dumps(good | harm).encode())
    with pytest.raises(ValueError, match="No file of moments"):
        moments_of(b"[1, NaN")


SCHEMA = Schema(
    features=(NumericColumn("age", 0, 100), CategoricalColumn("city", ("a", "1", "1,5"))),
    target="sick",
    positive="yes",
    negative=("no",),
)
CSV = """age,city, sick
050, a ,yes
1e1,1.0,no
,"1,5","y
es"
"4,5"
"""


@pytest.mark.parametrize("decimal", [None, "comma"])
def test_a_csv_file_as_a_folder_has_the_same_records(
    decimal: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zeros in front, spaces, quotation marks, short records; semicolons and decimal commas."""
    monkeypatch.setattr("dpci_core.release.convert.BATCH_ROWS", 2)
    monkeypatch.setattr("dpci_core.release.table.BLOCK_ROWS", 1)
    monkeypatch.setattr("dpci_core.release.convert.FILE_ROWS", 2)
    file, folder = tmp_path / "t.csv", tmp_path / "t"
    text = CSV if decimal is None else "age;city;sick\n4,5;a;yes\n 1,5e1;a;no\n7;x;no\n"
    file.write_text(text, encoding="utf-8")
    command = ["data", "convert", str(file), "--folder", str(folder)]
    if decimal is not None:
        assert main(command) == 1
        assert sorted(tmp_path.iterdir()) == [file]
        command += ["--decimal", decimal]
    assert main(command) == 0
    wanted, found = (read_records(read_header(p), RecordMapper(SCHEMA)) for p in (file, folder))
    assert len(list(folder.iterdir())) == 2
    assert np.array_equal(found[0], wanted[0])
    assert np.array_equal(found[1], wanted[1])
    assert main(command) == 1  # the folder is there


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n", b"a,a\n1,2\n", b"PAR1", b"%PDF-1.4\n", b"a,b\n\xff\x00"]
)
def test_what_is_no_table_leaves_no_folder(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(content)
    command = ["data", "convert", str(file), "--folder", str(tmp_path / "t")]
    assert main(command) == (0 if content.endswith(b"\x00") else 1)
    assert len(list(tmp_path.iterdir())) == 1 + content.endswith(b"\x00")


def test_a_single_file_is_told_the_command_that_makes_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan, file = tmp_path / "plan.yaml", tmp_path / "t.csv"
    write_plan(PLAN, plan)
    file.write_text(CSV)
    assert main(["moments", str(plan), "--file", str(file), "--public"]) == 1
    assert f"dpci data convert {file}" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [plan, file]


def test_progress_is_one_line_on_a_terminal_and_gone_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with progress_line("moments") as told:
        table = RecordBatches.of(np.full((4, 1), 0.5), np.ones(4), batch_rows=1)
        replace(table, engine=Watched(table.engine, told)).total(len_of)
    shown = capsys.readouterr().err
    assert shown.split("\r")[1].endswith("moments:  25 % of a pass, batch 1 of 4")
    assert shown.split("\r")[-2:] == ["\033[Kmoments: 100 % of a pass, batch 4 of 4", "\033[K"]
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress_line("release", in_logs=False) as told:
        told(1.0, "")
    assert capsys.readouterr().err == ""


def len_of(place: Place) -> int:
    return place.batch.n_rows


def test_engines_by_name() -> None:
    with engine_named("processes:2", elsewhere=False) as engine:
        assert engine.n_workers == 2  # type: ignore[attr-defined]
    with workers_named("here", 3) as n_jobs:
        assert n_jobs == 3
    with workers_named("processes:2", 1) as n_jobs:
        assert n_jobs == 2
    for name in ("processes:0", "threads", "dask:", "tcp://127.0.0.1:1"):
        with pytest.raises(ValueError, match="engine="), engine_named(name, elsewhere=False):
            pass
