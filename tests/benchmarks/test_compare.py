"""Published against sharp: which cells there are, what a row holds, and a run that is stopped and
taken up again.
"""

from __future__ import annotations

import dataclasses
import itertools
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare, study
from benchmarks.compare import (
    ALONE,
    CALIBRATIONS,
    LADDER,
    SETS,
    Comparison,
    DataTable,
    cells_of,
    main,
    prevalent_columns,
    read_comparisons,
)
from benchmarks.reproduce import read_run
from dpci_core import ZCDP, HuberSVM, PureDP, fit_moments, forecast
from dpci_core.design import Calibration
from dpci_core.simulation.run import run_experiment
from tests.benchmarks.test_reproduce import needs_data

ALL = [cell for name in SETS for cell in cells_of(name)]
SMALL = DataTable("census", 2_000, 10)
N_DESIGNS = 8
"""Definitions times mechanisms times losses."""


def small_cells(*labels: str) -> list[Comparison]:
    """Cells of the small census, pure and zCDP objective perturbation with the logistic loss."""
    cells = [dataclasses.replace(c, n=SMALL.n) for c in cells_of("census-10")]
    return [
        c
        for c in cells
        if c.calibration in labels and (c.mechanism, c.loss) == ("objective", "logistic")
    ]


def measured(cells: list[Comparison], **how) -> list[compare.Compared]:
    settings = {"k": 20, "m": 20, "seed": 7} | compare.HOW | how
    return [row for _, row in study.run_cells(cells, **settings)]


@pytest.fixture(scope="module")
def rows():
    return measured(small_cells("published", "sharp", "best_split"))


@pytest.fixture(scope="module")
def background():
    return compare.Background(small_cells("sharp")[0])


@pytest.fixture(scope="module")
def experiment(background):
    """The same cells without the shared loop."""
    records = background.records
    return run_experiment(
        records.X,
        records.y,
        designs=[background.design(c) for c in small_cells("published", "sharp", "best_split")],
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


def test_every_cell_of_a_definition_has_exactly_the_same_total(background):
    for privacy, total in (("pure", Decimal(1)), ("zcdp", Decimal("0.1875"))):
        cells = [c for c in ALL if c.privacy == privacy]
        assert {c.design().budget.total for c in cells} == {total}
        moved = [label for label in CALIBRATIONS if "split" in label]
        for label in moved if privacy == "zcdp" else moved[:2]:
            split = next(
                c
                for c in cells_of("adult-10")
                if (c.privacy, c.loss, c.calibration) == (privacy, "logistic", label)
            )
            design = background.design(split)
            assert design.budget.total == total
            assert design.budget != split.design().budget
            assert design.switches == CALIBRATIONS[label]


def test_noise_shaped_like_the_records_is_planned_for_the_objective_only(background):
    for label in compare.SHAPED:
        cells = [c for c in cells_of("adult-10") if c.calibration == label]
        assert {c.mechanism for c in cells} == {"objective"}
        ends = (cells[0], cells[-1])
        assert len({c.privacy for c in ends}) == len({c.loss for c in ends}) == 2
        for cell in ends:
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
        "exact_slope_bound",
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


def test_a_row_is_what_the_experiment_and_the_forecast_give(rows, experiment, background):
    cells = small_cells("published", "sharp", "best_split")
    assert [row.cell for row in rows] == cells
    records = background.records
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
    (again,) = measured([rows[0].cell])
    assert again.coverage_smallest == pytest.approx(coverage.min())
    assert again.coverage_prevalent == pytest.approx(coverage.max())


def test_a_cell_run_later_is_on_the_same_replicates(rows):
    (alone,) = measured([rows[-1].cell], n_jobs=2)
    assert dataclasses.replace(alone, date=rows[-1].date) == rows[-1]


@needs_data
def test_published_cells_are_those_of_the_reproduction():
    cell = Comparison("adult", 30_162, 10, "logistic", "pure", "output", "published")
    on_file = read_run()["3/adult/pure/output/logistic/30162/10/0.5/0.25/0.25"]
    (found,) = measured([cell], k=on_file.k, m=on_file.m, seed=on_file.seed)
    for name in ("coverage", "ci_length", "vi_length"):
        assert getattr(found, name) == pytest.approx(getattr(on_file, name), rel=1e-4)


def test_a_run_of_nothing_is_refused():
    with pytest.raises(ValueError, match="k=0"):
        measured(small_cells("published"), k=0)


# --- the command ----------------------------------------------------------------------------------


COMMAND = ["small", "--jobs", "1", "-k", "20", "-m", "20"]


@pytest.fixture
def small(monkeypatch):
    """A set of the published and the sharp cells of few rows."""
    chosen = small_cells("published", "sharp")
    monkeypatch.setattr(compare, "cells_of", {"small": chosen}.__getitem__)
    return chosen


def test_the_command_takes_up_where_it_was_killed(small, tmp_path: Path, capsys):
    file = tmp_path / "rows.csv"
    assert main([*COMMAND, "--out", str(file)]) == 0
    first = capsys.readouterr().out
    assert "4 of 4 cells to run; k = 20, m = 20." in first
    rows = read_comparisons(file)
    assert list(rows) == small
    assert {row.seed for row in rows.values()} == {20_261_121}
    for row in rows.values():
        assert f"coverage {row.coverage:.4f} ± {row.coverage_se:.4f}" in first
    assert "stored" not in first

    file.write_bytes(file.read_bytes()[:-9])
    assert main([*COMMAND, "--out", str(file)]) == 0
    second = capsys.readouterr().out
    assert "1 of 4 cells to run" in second
    assert second.count("stored") == 3
    assert read_comparisons(file) == rows


def test_a_run_computes_what_it_is_asked_for(small, tmp_path: Path, capsys):
    """Stored rows answer only for the k, the m and the seed that they are of; without a file, none
    do, whatever the project holds.
    """
    file = tmp_path / "rows.csv"
    assert main([*COMMAND, "--out", str(file)]) == 0
    kept = file.read_bytes()
    capsys.readouterr()
    out = ["--out", str(file)]
    for asked in ([], [*out, "--seed", "8"], [*out, "-k", "19"], [*out, "-m", "21"]):
        file.write_bytes(kept)
        assert main([*COMMAND, *asked]) == 0
        told = capsys.readouterr().out
        assert "4 of 4 cells to run" in told
        assert "stored" not in told
    assert main([*COMMAND, *out, "-m", "21"]) == 0
    told = capsys.readouterr().out
    assert "0 of 4 cells to run" in told
    assert told.count("stored") == 4


def test_what_cannot_be_is_said_before_any_work(small, tmp_path: Path, capsys):
    other = tmp_path / "other.csv"
    other.write_text("something,else\n1,2\n")
    for arguments, words in (
        (["-k", "0"], "k=0"),
        (["--out", str(tmp_path / "no" / "folder.csv")], "folder.csv"),
    ):
        assert main([*COMMAND, *arguments]) == 1
        assert words in capsys.readouterr().err
    with pytest.raises(ValueError, match=r"other\.csv"):
        main([*COMMAND, "--out", str(other)])
    assert other.read_text() == "something,else\n1,2\n"
