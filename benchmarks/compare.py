"""Published against sharp, cell by cell: what the switches of a `Calibration` and the split are
worth, measured.

    python -m benchmarks.compare [adult-10 ...] [-k 1000] [--out data/published_or_sharp.csv]

A cell is one calibration of one design on one table of data. The cells of a table run as one
experiment, on the same bootstrap replicates and fits, so that their differences have less Monte
Carlo error than each of them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields, replace
from decimal import Decimal
from operator import attrgetter
from pathlib import Path

import numpy as np

from benchmarks import study
from benchmarks.study import read_rows
from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import check_choice, check_count
from dpci_core.base.places import DATA
from dpci_core.datasets import load
from dpci_core.design import Calibration, Definition, Design, Geometry, MechanismName
from dpci_core.intervals.forecast import forecast
from dpci_core.losses import HuberSVM, Logistic, Loss
from dpci_core.mechanisms.mechanism import mechanism_named
from dpci_core.planner import best_geometry, best_split, shaped, shares_of
from dpci_core.privacy.budget import DEFINITIONS, Parts
from dpci_core.schema import Records
from dpci_core.simulation.result import DesignResult, ExperimentResult
from dpci_core.solvers.moments import Moments, fit_moments

COMPARISON_FILE = DATA / "published_or_sharp.csv"
"""The run of this project."""
REGULARIZATION = 0.001
CONFIDENCE_LEVEL = 0.95
LOSSES: dict[str, Loss] = {"logistic": Logistic(), "huber_svm": HuberSVM(h=1.0)}
MECHANISMS: tuple[MechanismName, ...] = ("objective", "output")
PUBLISHED_PARTS: dict[Definition, Parts] = {
    "pure": (Decimal("0.5"), Decimal("0.25"), Decimal("0.25")),
    "zcdp": (Decimal("0.125"), Decimal("0.03125"), Decimal("0.03125")),
}
"""Model, Hessian and covariance as the paper splits them; its zCDP parts are the halved squares of
the pure ones.
"""
PREVALENT_PERCENT = 5
"""A column counts as prevalent if this share of the records has a nonzero entry in it."""

_FLOOR = Calibration.published(covariance_floor="zero")
_TIGHT = replace(_FLOOR, tight_sensitivity=True)
_SYMMETRIC = replace(_TIGHT, symmetric_noise=True)
_SMOOTHING = replace(_SYMMETRIC, exact_slope_bound=True)
_GAUSSIAN = replace(_SMOOTHING, gaussian_objective=True)
LADDER = {
    "floor": _FLOOR,
    "floor+tight": _TIGHT,
    "floor+tight+symmetric": _SYMMETRIC,
    "floor+tight+symmetric+smoothing": _SMOOTHING,
    "floor+tight+symmetric+smoothing+gaussian": _GAUSSIAN,
}
"""From published, one switch more each; the next step, noise-aware half-widths, is sharp.

Some steps change nothing by construction: the bound on the Huber slope acts at h > 1 only, the
Gaussian noise vector under zCDP objective perturbation only, and symmetric Gaussian noise has the
law it had.
"""
ALONE = {
    "only floor": _FLOOR,
    "only tight": Calibration.published(tight_sensitivity=True),
    "only symmetric": Calibration.published(symmetric_noise=True),
    "only smoothing": Calibration.published(exact_slope_bound=True),
    "only gaussian": Calibration.published(gaussian_objective=True),
    "only aware": Calibration.published(noise_aware=True),
    "only split": Calibration.published(),
    "only shaped": Calibration.published(),
}
"""From published, one improvement each; the last is the published calibration at its own best
split.
"""
BEST_SPLITS = ("only split", "best_split", "best_split_reviewed")
"""Labels whose split `best_split` finds on the moments of the table, which is public or
simulated.
"""
SHAPED = ("only shaped", "shaped")
"""Labels whose noise is shaped like the records, in the objective only: at the published split, and
with the best ridge, leverage and split. The second moment is released, at a price.
"""
CALIBRATIONS = {
    "published": Calibration.published(),
    **LADDER,
    **ALONE,
    "sharp": Calibration.sharp(),
    "sharp_reviewed": Calibration(gaussian_objective=False),
    "best_split": Calibration.sharp(),
    "best_split_reviewed": Calibration(gaussian_objective=False),
    "shaped": Calibration.sharp(),
}
"""By label: those of `REVIEWED` leave out Gaussian objective perturbation, which is not
peer-reviewed; best_split moves the split as well.
"""
REVIEWED = ("sharp_reviewed", "best_split_reviewed")
"""Labels that differ from sharp and best_split under zCDP objective perturbation only."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """One table of data: a set, its number of records and of features before the constant
    column.
    """

    dataset: str
    n: int
    d: int

    def records(self) -> Records:
        """The records in the `paper` encoding."""
        return load(self.dataset, encoding="paper", features=self.d, n_rows=self.n)


SETS = {
    "census-10": DataTable("census", 30_000, 10),
    "adult-10": DataTable("adult", 30_162, 10),
    "adult-36": DataTable("adult", 30_162, 36),
    "bank-10": DataTable("bank", 45_211, 10),
    "bank-33": DataTable("bank", 45_211, 33),
    "kdd99-10-50000": DataTable("kdd99", 50_000, 10),
    "kdd99-10-450000": DataTable("kdd99", 450_000, 10),
}
"""The tables compared on, by the name the command takes."""
LADDER_SET = "adult-10"
"""The one that has the ladder and the improvements alone."""


@dataclass(frozen=True)
class Comparison:
    """One calibration of one design on one table of data.

    Raises:  ValueError naming the field.
    """

    dataset: str
    n: int
    d: int
    loss: str
    privacy: Definition
    mechanism: MechanismName
    calibration: str

    def __post_init__(self) -> None:
        check_count(n=self.n, d=self.d)
        check_choice(self.loss, tuple(LOSSES), name="loss")
        check_choice(self.privacy, tuple(PUBLISHED_PARTS), name="privacy")
        check_choice(self.mechanism, MECHANISMS, name="mechanism")
        check_choice(self.calibration, tuple(CALIBRATIONS), name="calibration")

    @property
    def table(self) -> DataTable:
        """The table of data it runs on."""
        return DataTable(self.dataset, self.n, self.d)

    def design(self) -> Design:
        """The design of the cell, at the published split."""
        model, hessian, covariance = PUBLISHED_PARTS[self.privacy]
        kind = DEFINITIONS[self.privacy]
        return Design(
            loss=LOSSES[self.loss],
            mechanism=self.mechanism,
            budget=kind(model=model, hessian=hessian, covariance=covariance),
            regularization=REGULARIZATION,
            n_records=self.n,
            confidence_level=CONFIDENCE_LEVEL,
            calibration=CALIBRATIONS[self.calibration],
        )


@dataclass(frozen=True)
class Compared(Comparison):
    """A cell as measured, with Monte Carlo standard errors; means over coefficients where nothing
    else is said.

    shares: of model, Hessian and covariance in the total.
    coverage_prevalent, coverage_smallest: the smallest coverage of a coefficient, among prevalent
        columns and among all.
    vi_length: variability interval of this mechanism and calibration.
    ratio: ci_length to it.
    forecast_length, forecast_coverage: `forecast` at the moments of the table.
    """

    shares: str
    coverage: float
    coverage_se: float
    coverage_prevalent: float
    coverage_smallest: float
    ci_length: float
    ci_length_se: float
    vi_length: float
    vi_length_se: float
    ratio: float
    forecast_length: float
    forecast_coverage: float
    n_failed: int
    k: int
    m: int
    seed: int
    date: str
    versions: str

    @property
    def cell(self) -> Comparison:
        """The cell without its results."""
        return Comparison(**{f.name: getattr(self, f.name) for f in fields(Comparison)})


def cells_of(name: str) -> tuple[Comparison, ...]:
    """The cells of one of `SETS`, calibrations of one design side by side."""
    check_choice(name, tuple(SETS), name="set")
    table = SETS[name]
    return tuple(
        Comparison(table.dataset, table.n, table.d, loss, privacy, mechanism, label)
        for privacy in PUBLISHED_PARTS
        for mechanism in MECHANISMS
        for loss in LOSSES
        for label in CALIBRATIONS
        if _is_compared(name, privacy, mechanism, label)
    )


def _is_compared(name: str, privacy: Definition, mechanism: MechanismName, label: str) -> bool:
    if label in SHAPED and not mechanism_named(mechanism).perturbs_objective:
        return False
    if label in LADDER or label in SHAPED or (label in ALONE and label != "only split"):
        return name == LADDER_SET
    return label not in REVIEWED or (privacy, mechanism) == ("zcdp", "objective")


def prevalent_columns(X: Array) -> Flags:
    """Which columns (p,) of records X (n, p) are prevalent; the constant, which comes last, always
    is.
    """
    prevalent = 100 * np.count_nonzero(X, axis=0) >= PREVALENT_PERCENT * len(
        X
    )  # whole numbers: 5 % exactly counts
    prevalent[-1] = True
    return np.asarray(prevalent)


class Background:
    """What the cells of a table share besides the experiment."""

    def __init__(self, cell: Comparison) -> None:
        table = cell.table
        self.records = table.records()
        self._moments: dict[tuple[Loss, Geometry | None], Moments] = {}

    def design(self, cell: Comparison) -> Design:
        """The design of a cell, with the split that its label asks for."""
        design = cell.design()
        if cell.calibration in BEST_SPLITS:
            design = best_split(self.moments(design), design=design).design
        if cell.calibration == "only shaped":
            design = shaped(self.moments(design), design=design) or design
        if cell.calibration == "shaped":
            design = best_geometry(self.records.X, self.records.y, design=design).design
        return design

    def moments(self, design: Design) -> Moments:
        """Those of the table, fitted once a loss and geometry."""
        key = (design.loss, design.geometry)
        if key not in self._moments:
            self._moments[key] = fit_moments(
                self.records.X,
                self.records.y,
                loss=design.loss,
                regularization=REGULARIZATION,
                geometry=design.geometry,
                with_spread=True,
            )
        return self._moments[key]

    def row(
        self, cell: Comparison, found: DesignResult, result: ExperimentResult, seed: int
    ) -> Compared:
        """One row of results."""
        prevalent = prevalent_columns(self.records.unweighted)
        expected = forecast(self.moments(found.design), design=found.design)
        vi_length = found.vi_length_mean
        numbers = {
            "coverage": found.coverage_mean,
            "coverage_se": found.coverage_se,
            "coverage_prevalent": found.coverage[prevalent].min(),
            "coverage_smallest": found.coverage.min(),
            "ci_length": found.ci_length_mean,
            "ci_length_se": found.ci_length_mean_se,
            "vi_length": vi_length,
            "vi_length_se": found.vi_length_mean_se,
            "ratio": found.ci_length_mean / vi_length if vi_length else float("nan"),
            "forecast_length": expected.ci_length_mean,
            "forecast_coverage": expected.coverage_mean,
        }
        return Compared(
            **asdict(cell),
            shares=" ".join(f"{share:.4f}" for share in shares_of(found.design.budget)),
            **{name: round(float(value), 6) for name, value in numbers.items()},
            **study.provenance(found, result, seed),
        )


HOW = {"table_of": attrgetter("table"), "open_table": Background}
"""How `study.run_cells` runs these cells."""


def read_comparisons(path: Path = COMPARISON_FILE) -> dict[Comparison, Compared]:
    """Results on file, by cell, the latest of a cell."""
    return {row.cell: row for row in read_rows(Compared, path)}


def line(cell: Comparison, row: Compared) -> str:
    """A row in print."""
    what = " ".join(map(str, astuple(cell)))
    return (
        f"{what:<80} shares {row.shares}, coverage {row.coverage:.4f} ± {row.coverage_se:.4f} "
        f"(smallest {row.coverage_smallest:.3f}), length {row.ci_length:.4f} ({row.ratio:.3f} × "
        f"variability), forecast {row.forecast_length:.4f}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; exit code 1 after a sentence on the error output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help="like adult-10 (default: all)")
    study.add_options(parser, seed=20_261_121)
    options = parser.parse_args(arguments)
    cells = [cell for name in options.sets or SETS for cell in cells_of(name)]
    on_file = read_comparisons(options.out) if options.out else {}
    return study.carry_out(
        cells, on_file, options, kind=Compared, key=lambda cell: cell, line=line, **HOW
    )


if __name__ == "__main__":
    sys.exit(main())
