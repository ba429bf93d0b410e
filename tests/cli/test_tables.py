"""Tables in batches on the command line: simulated, summed up, compared and released."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from dpci_core import Design, Logistic, Plan, PureDP, fit_moments, write_plan
from dpci_core.__main__ import main
from dpci_core.cli.engines import engine_named, workers_named
from dpci_core.datasets import census_files, load, simulate_census
from dpci_core.plan import PublicTable
from dpci_core.solvers.moments_file import moments_of, moments_record, read_moments, write_moments

PLAN = Plan(
    title="People",
    source=PublicTable(key="census", n_rows=1500),
    features=4,
    design=Design(
        loss=Logistic(),
        mechanism="output",
        budget=PureDP(model=1, hessian=1, covariance=1),
        regularization=0.01,
    ),
    n_records=1500,
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
