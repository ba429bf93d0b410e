"""Published against sharp: which cells there are, what a row holds, and a run that is stopped and
taken up again.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from dpci_core import ZCDP, HuberSVM, PureDP, fit_moments, forecast
from dpci_core.__main__ import main
from dpci_core.design import Calibration
from dpci_core.simulation.run import run_experiment
from dpci_core.studies import compare
from dpci_core.studies.compare import (
    ALONE,
    BEST_SPLITS,
    CALIBRATIONS,
    LADDER,
    SETS,
    Comparison,
    DataTable,
    append_comparisons,
    cells_of,
    missing_sets,
    prevalent_columns,
    read_comparisons,
    run_comparisons,
)
from dpci_core.studies.reproduce import read_run
from tests.studies.test_reproduce import needs_data

ALL = [cell for name in SETS for cell in cells_of(name)]
SMALL = DataTable("census", 2_000, 10)
N_DESIGNS = 8
"""Definitions times mechanisms times losses."""
CENSUS = 4 * N_DESIGNS + 4
"""Cells of the census: four labels of every design, two more where the new theorem acts."""


def small_cells(*labels: str) -> list[Comparison]:
    """Cells of the small census, pure and zCDP objective perturbation with the logistic loss."""
    cells = [dataclasses.replace(c, n=SMALL.n) for c in cells_of("census-10")]
    return [
        c
        for c in cells
        if c.calibration in labels and (c.mechanism, c.loss) == ("objective", "logistic")
    ]


@pytest.fixture(scope="module")
def rows():
    return list(
        run_comparisons(small_cells("published", "sharp", "best_split"), k=20, m=20, seed=7)
    )


@pytest.fixture(scope="module")
def experiment():
    """The same cells without the command's room."""
    records = SMALL.records()
    return run_experiment(
        records.X,
        records.y,
        designs=[
            compare._Background(records).design(c)
            for c in small_cells("published", "sharp", "best_split")
        ],
        n_variability=20,
        n_coverage=20,
        rng=np.random.default_rng(7),
    )


def test_the_cells_are_complete_and_unique():
    assert len(ALL) == len(set(ALL)) == 348
    for name, table in SETS.items():
        cells = cells_of(name)
        assert {c.table for c in cells} == {table}
        count = {label: sum(c.calibration == label for c in cells) for label in CALIBRATIONS}
        expected = dict.fromkeys(CALIBRATIONS, 0) | {"published": N_DESIGNS, "sharp": N_DESIGNS}
        expected |= dict.fromkeys(compare.REVIEWED, 2)
        expected["best_split"] = N_DESIGNS
        expected |= dict.fromkeys((*LADDER, *ALONE), N_DESIGNS if name == "adult-10" else 0)
        expected["only split"] = N_DESIGNS
        expected |= dict.fromkeys(compare.SHAPED, N_DESIGNS // 2 if name == "adult-10" else 0)
        assert count == expected
        assert len({(c.privacy, c.mechanism, c.loss) for c in cells}) == N_DESIGNS
    reviewed = [c for c in ALL if c.calibration in compare.REVIEWED]
    assert {(c.privacy, c.mechanism) for c in reviewed} == {("zcdp", "objective")}
    assert not any(c.design().status for c in reviewed)
    assert {(t.dataset, t.n, t.d) for t in SETS.values()} == {
        ("census", 30_000, 10),
        ("adult", 30_162, 10),
        ("adult", 30_162, 36),
        ("bank", 45_211, 10),
        ("bank", 45_211, 33),
        ("kdd99", 50_000, 10),
        ("kdd99", 450_000, 10),
    }
    with pytest.raises(ValueError, match="set='adult'"):
        cells_of("adult")


def test_every_cell_of_a_definition_has_exactly_the_same_total():
    background = compare._Background(SMALL.records())
    for privacy, total in (("pure", Decimal(1)), ("zcdp", Decimal("0.1875"))):
        cells = [c for c in ALL if c.privacy == privacy]
        assert {c.design().budget.total for c in cells} == {total}
        for label in BEST_SPLITS if privacy == "zcdp" else BEST_SPLITS[:2]:
            split = next(
                c
                for c in cells_of("adult-10")
                if (c.privacy, c.loss, c.calibration) == (privacy, "logistic", label)
            )
            design = background.design(split)
            assert design.budget.total == total
            assert design.budget != split.design().budget
            assert design.switches == CALIBRATIONS[label]


def test_noise_shaped_like_the_records_is_planned_for_the_objective_only():
    background = compare._Background(SMALL.records())
    for label in compare.SHAPED:
        cells = [c for c in cells_of("adult-10") if c.calibration == label]
        assert {c.mechanism for c in cells} == {"objective"}
        for cell in cells:
            design = background.design(cell)
            assert design.budget.total == cell.design().budget.total
            assert design.switches == CALIBRATIONS[label]


def test_a_cell_is_the_design_it_names():
    cell = Comparison("adult", 30_162, 10, "huber_svm", "zcdp", "objective", "sharp")
    design = cell.design()
    assert (design.loss, design.mechanism, design.switches) == (
        HuberSVM(h=1.0),
        "objective",
        Calibration.sharp(),
    )
    assert (design.regularization, design.confidence_level) == (0.001, 0.95)
    published = dataclasses.replace(cell, calibration="published", privacy="pure")
    assert published.design().budget == PureDP(model="0.5", hessian="0.25", covariance="0.25")
    assert published.design().switches == Calibration.published()
    reviewed = dataclasses.replace(cell, calibration="sharp_reviewed").design()
    assert reviewed.switches == Calibration(gaussian_objective=False)
    assert reviewed.budget == ZCDP(model="0.125", hessian="0.03125", covariance="0.03125")


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0},
        {"d": 1.5},
        {"loss": "hinge"},
        {"privacy": "rdp"},
        {"mechanism": "x"},
        {"calibration": "x"},
    ],
)
def test_a_cell_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        dataclasses.replace(ALL[0], **wrong)


def test_what_is_measured_alone_turns_one_switch():
    turned = []
    for calibration in ALONE.values():
        chosen, none = dataclasses.asdict(calibration), dataclasses.asdict(Calibration.published())
        turned.append([name for name in chosen if chosen[name] != none[name]])
    assert sorted(name for names in turned for name in names) == sorted(
        dataclasses.asdict(Calibration.sharp())
    )
    assert turned.count([]) == 2  # the split and the shape of the noise are no switches


def test_the_ladder_turns_one_switch_a_step():
    steps = [Calibration.published(), *LADDER.values(), Calibration.sharp()]
    turned = []
    for below, above in itertools.pairwise(steps):
        before, after = dataclasses.asdict(below), dataclasses.asdict(above)
        (switch,) = (name for name in before if before[name] != after[name])
        turned.append(switch)
    assert turned == [
        "covariance_floor",
        "tight_sensitivity",
        "symmetric_noise",
        "huber_corner",
        "gaussian_objective",
        "noise_aware",
    ]
    words = [label.split("+") for label in LADDER]
    assert words == [words[-1][: i + 1] for i in range(len(LADDER))]


def test_prevalence_is_the_share_of_records_with_an_entry():
    X = np.zeros((140, 5))  # 0.05 * 140 is above 7 in floating point
    X[:7, 0] = 1e-9
    X[:6, 1] = 1.0
    X[:4, 2], X[4:7, 2] = -0.5, 0.5
    X[:, 4] = 0.1
    assert prevalent_columns(X).tolist() == [True, False, True, False, True]
    assert prevalent_columns(np.zeros((140, 2))).tolist() == [False, True]


def test_a_row_is_what_the_experiment_and_the_forecast_give(rows, experiment):
    cells = small_cells("published", "sharp", "best_split")
    assert [row.cell for row in rows] == cells
    records = SMALL.records()
    prevalent = (records.X != 0).mean(axis=0) >= 0.05
    assert 1 < prevalent.sum() < len(prevalent)
    for row, found in zip(rows, experiment.designs, strict=True):
        expected = forecast(
            fit_moments(records.X, records.y, loss=found.design.loss, regularization=0.001),
            design=found.design,
        )
        numbers = {
            "coverage": found.coverage_mean,
            "coverage_se": found.coverage_se,
            "coverage_prevalent": found.coverage[prevalent].min(),
            "coverage_smallest": found.coverage.min(),
            "ci_length": found.ci_length_mean,
            "ci_length_se": found.ci_length_mean_se,
            "vi_length": found.vi_length_mean,
            "vi_length_se": found.vi_length_mean_se,
            "ratio": found.ci_length_mean / found.vi_length_mean,
            "forecast_length": expected.ci_length_mean,
            "forecast_coverage": expected.coverage_mean,
        }
        assert {name: getattr(row, name) for name in numbers} == pytest.approx(numbers, abs=1e-6)
        assert (row.n_failed, row.k, row.m, row.seed) == (0, 20, 20, 7)
        assert len(row.shares.split()) == 3
        assert "numpy" in row.versions
    by_label = {row.calibration: row.ci_length for row in rows if row.privacy == "zcdp"}
    assert by_label["sharp"] < by_label["published"]


def test_the_smallest_coverages_are_of_their_own_columns(rows, experiment, monkeypatch):
    coverage = experiment.designs[0].coverage
    assert coverage.min() < coverage.max()
    monkeypatch.setattr(compare, "prevalent_columns", lambda X: coverage == coverage.max())
    (again,) = run_comparisons([rows[0].cell], k=20, m=20, seed=7)
    assert again.coverage_smallest == pytest.approx(coverage.min())
    assert again.coverage_prevalent == pytest.approx(coverage.max())


def test_a_cell_run_later_is_on_the_same_replicates(rows):
    (alone,) = run_comparisons([rows[-1].cell], k=20, m=20, seed=7, n_jobs=2)
    assert dataclasses.replace(alone, date=rows[-1].date) == rows[-1]


def test_rows_on_file_survive_a_kill(rows, tmp_path: Path):
    file = tmp_path / "rows.csv"
    append_comparisons(rows[:2], file)
    append_comparisons(rows[2:], file)
    assert read_comparisons(file) == {row.cell: row for row in rows}
    content = file.read_bytes()
    file.write_bytes(content[:-40])
    assert list(read_comparisons(file)) == [row.cell for row in rows[:-1]]
    append_comparisons(rows[-1:], file)
    assert file.read_bytes() == content
    longer = dataclasses.replace(rows[0], k=5_000)
    append_comparisons([longer], file)
    assert read_comparisons(file)[longer.cell] == longer


@needs_data
def test_published_cells_are_those_of_the_reproduction():
    cell = Comparison("adult", 30_162, 10, "logistic", "pure", "output", "published")
    on_file = read_run()["3/adult/pure/output/logistic/30162/10/0.5/0.25/0.25"]
    (found,) = run_comparisons([cell], k=on_file.k, m=on_file.m, seed=on_file.seed)
    for name in ("coverage", "ci_length", "vi_length"):
        assert getattr(found, name) == pytest.approx(getattr(on_file, name), rel=1e-4)


def test_a_run_says_how_far_it_is_and_can_be_stopped():
    seen = []
    (cell, *_) = small_cells("published")
    assert list(run_comparisons([cell], k=5, m=5, seed=1, should_stop=lambda: True)) == []
    list(
        run_comparisons(
            [cell], k=5, m=5, seed=1, progress=lambda table, state: seen.append((table, state.done))
        )
    )
    assert seen[-1] == (SMALL, 5)
    with pytest.raises(ValueError, match="k=0"):
        next(run_comparisons([cell], k=0, m=5, seed=1))


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def no_public_sets(monkeypatch, tmp_path: Path):
    monkeypatch.delenv("DPCI_SHARED_DATA", raising=False)
    monkeypatch.setenv("DPCI_DATA_DIR", str(tmp_path / "nothing"))
    monkeypatch.setitem(SETS, "census-10", SMALL)


def test_the_command_takes_up_where_it_was_killed(no_public_sets, tmp_path: Path, capsys):
    file = tmp_path / "rows.csv"
    command = [
        "compare",
        "--sets",
        "census-10",
        "--k",
        "20",
        "--m",
        "20",
        "--output",
        str(file),
        "--jobs",
        "1",
    ]
    assert main([*command, "--json"]) == 0
    first = capsys.readouterr()
    assert f"{CENSUS} of {CENSUS} cells to run; k = 20, m = 20." in first.err
    assert f"20 of 20 replicates of {CENSUS} cells" in first.err
    printed = json.loads(first.out)
    assert [row["calibration"] for row in printed[:3]] == ["published", "only split", "sharp"]
    assert set(printed[0]) == {f.name for f in dataclasses.fields(compare.Compared)}
    assert len(printed) == len(read_comparisons(file)) == CENSUS
    assert {row["seed"] for row in printed} == {20_261_121}

    file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:20])[:-9])
    assert main([*command, "--json"]) == 0
    second = capsys.readouterr()
    assert f"{CENSUS - 18} of {CENSUS} cells to run" in second.err  # 18 whole rows, one cut
    assert [{**row, "date": ""} for row in json.loads(second.out)] == [
        {**row, "date": ""} for row in printed
    ]

    assert main(command) == 0
    third = capsys.readouterr()
    assert f"0 of {CENSUS} cells to run" in third.err
    assert third.out.count("published  ") == N_DESIGNS
    assert third.out.count("stored, ") == CENSUS
    assert "census, n = 2,000, d = 10: zcdp, objective, huber_svm" in third.out
    assert all(row["shares"] in third.out for row in printed)


def test_a_run_computes_what_it_is_asked_for(no_public_sets, rows, tmp_path: Path, capsys):
    """Stored rows answer only for the k, the m and the seed that they are of; without a file, none
    do, whatever the project holds.
    """
    file = tmp_path / "rows.csv"
    append_comparisons(rows, file)
    command = ["compare", "--sets", "census-10", "--jobs", "1", "--m", "20"]
    for asked in (
        ["--k", "20"],
        ["--k", "20", "--seed", "8", "--output", str(file)],
        ["--k", "19", "--seed", "7", "--output", str(file)],
        ["--k", "20", "--m", "21", "--seed", "7", "--output", str(file)],
    ):
        file.write_bytes(b"")
        append_comparisons(rows, file)
        assert main([*command, *asked]) == 0
        told = capsys.readouterr()
        assert f"{CENSUS} of {CENSUS} cells to run" in told.err
        assert "stored" not in told.out
    assert main([*command, "--k", "20", "--m", "21", "--seed", "7", "--output", str(file)]) == 0
    told = capsys.readouterr()
    assert f"0 of {CENSUS} cells to run" in told.err
    assert told.out.count("stored, ") == CENSUS


def test_sets_that_are_missing_are_named_with_the_way_to_get_them(
    no_public_sets, tmp_path: Path, capsys
):
    file = tmp_path / "rows.csv"
    assert main(["compare", "--k", "2", "--m", "2", "--output", str(file), "--json"]) == 1
    told = capsys.readouterr()
    for name, table in SETS.items():
        if table.dataset != "census":
            assert f"{name} is left out" in told.err
            assert f"python -m dpci_core data get {table.dataset}" in told.err
    assert f"{CENSUS} of 348 cells to run" in told.err
    assert len(read_comparisons(file)) == CENSUS  # what can be run is
    assert len(json.loads(told.out)) == CENSUS
    assert "NaN" not in told.out
    assert set(missing_sets(SETS)) == set(SETS) - {"census-10"}


def test_what_cannot_be_is_said_before_any_work(no_public_sets, tmp_path: Path, capsys):
    other = tmp_path / "other.csv"
    other.write_text("something,else\n1,2\n")
    for arguments, words in (
        (["--sets", "adult-11"], "set='adult-11'"),
        (["--sets", "census-10", "--k", "0", "--output", str(tmp_path / "a.csv")], "k=0"),
        (["--sets", "census-10", "--output", str(tmp_path / "no" / "folder.csv")], "folder.csv"),
        (["--sets", "census-10", "--output", str(other)], "other.csv"),
    ):
        assert main(["compare", *arguments]) == 1
        told = capsys.readouterr()
        assert words in told.err
        assert told.out == ""
    assert other.read_text() == "something,else\n1,2\n"
