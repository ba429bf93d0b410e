"""The published experiments again: Tables 2-6 and Figures 1-4 of Wang, Kifer, Lee, cell by cell.

    python -m benchmarks.reproduce table3 [--where d=10] [-k 1000] [--out data/reproduction.csv]

A cell is one design on one table. Cells of the same table of data (set, n, d) run as one
experiment, because they share its bootstrap replicates.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import study
from benchmarks.files import read_rows
from benchmarks.ipums import load_ipums
from dpci_core.base.errors import check_choice
from dpci_core.base.places import DATA
from dpci_core.datasets import load
from dpci_core.design import Design, MechanismName
from dpci_core.losses import make_loss
from dpci_core.privacy.budget import PureDP, pair_budget
from dpci_core.schema import Records
from dpci_core.simulation.result import DesignResult, ExperimentResult

PUBLISHED_FILE = DATA / "published_coverage.csv"
RUN_FILE = DATA / "reproduction.csv"
"""Our own full run, committed."""

SETS = {"kddcup99": "kdd99", "adult": "adult", "banking": "bank"}
"""Names of the published table and of our sets; IPUMS sets are the user's own."""
IPUMS = ("ipums_us", "ipums_br")
_COMBINATIONS = tuple(
    (privacy, mechanism, loss)
    for privacy in ("pure", "zcdp")
    for mechanism in ("objective", "output")
    for loss in ("logistic", "huber_svm")
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One design on one table; epsilons are pure, a zCDP cell spends rho_k = epsilon_k^2/2.
    coverage: as published.
    """

    table: str
    dataset: str
    privacy: str
    mechanism: MechanismName
    loss: str
    n: int
    d: int
    epsilon_1: str
    epsilon_2: str
    epsilon_3: str
    c: float
    h: float
    alpha: float
    coverage: float | None

    @property
    def key(self) -> str:
        """Name of the cell in files."""
        parts = (self.table, self.dataset, self.privacy, self.mechanism, self.loss, self.n, self.d)
        return "/".join(map(str, (*parts, self.epsilon_1, self.epsilon_2, self.epsilon_3)))

    def design(self) -> Design:
        """The design of the cell, published calibration."""
        pure = PureDP(model=self.epsilon_1, hessian=self.epsilon_2, covariance=self.epsilon_3)
        return Design(
            loss=make_loss(self.loss, self.h),
            mechanism=self.mechanism,
            budget=pure
            if self.privacy == "pure"
            else pair_budget(pure, rule="paper", delta="1e-6"),
            regularization=self.c,
            confidence_level=1.0 - self.alpha,
        )


@dataclass(frozen=True, slots=True)
class Reproduced:
    """A cell as recomputed: coverage, mean lengths of the shown coefficients, and Monte Carlo
    standard errors.
    """

    cell: str
    coverage: float
    coverage_se: float
    ci_length: float
    ci_length_sd: float
    ci_length_se: float
    vi_length: float
    vi_length_se: float
    n_failed: int
    k: int
    m: int
    seed: int
    date: str
    versions: str


@lru_cache(maxsize=1)
def published_cells() -> tuple[Cell, ...]:
    """All 376 published cells of Tables 2-6."""
    with PUBLISHED_FILE.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    return tuple(
        Cell(
            table=row["table"],
            dataset=row["dataset"],
            privacy=row["privacy"],
            mechanism=row["mechanism"],
            loss=row["loss"],
            n=int(row["n"]),
            d=int(row["d"]),
            epsilon_1=row["epsilon_1"],
            epsilon_2=row["epsilon_2"],
            epsilon_3=row["epsilon_3"],
            c=float(row["c"]),
            h=float(row["h"]),
            alpha=float(row["alpha"]),
            coverage=float(row["coverage"]),
        )
        for row in rows
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel of a figure: what is swept on which set, for which losses and combinations.

    The plotted numbers were never published; the loss of single panels of Figures 2-4 is not
    stated, so both are run, and so is the set of the panels over d, taken from Figure 1.
    """

    name: str
    dataset: str
    losses: tuple[str, ...]
    swept: str
    compares: str

    @property
    def values(self) -> tuple[str, ...]:
        """The swept values."""
        return _SWEPT[self.swept]


_BOTH = ("logistic", "huber_svm")
_SWEPT = {
    "n": tuple(str(50_000 * i) for i in range(1, 10)),
    "d": tuple(map(str, range(1, 11))),
    "epsilon_1": ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"),
    "epsilon_2": ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"),
    "epsilon_3": ("0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"),
}
_LETTERS: dict[str, tuple[tuple[str, str, tuple[str, ...], str], ...]] = {
    "1": (
        ("a", "kddcup99", ("logistic",), "n"),
        ("b", "adult", ("logistic",), "d"),
        ("c", "adult", ("huber_svm",), "d"),
        ("d", "banking", ("logistic",), "epsilon_1"),
        ("e", "banking", ("huber_svm",), "epsilon_1"),
        ("f", "ipums_br", ("logistic",), "epsilon_1"),
        ("g", "ipums_us", ("logistic",), "epsilon_2"),
        ("h", "ipums_us", ("huber_svm",), "epsilon_2"),
        ("i", "ipums_br", ("huber_svm",), "epsilon_3"),
    ),
    "2": (
        ("ab", "kddcup99", _BOTH, "n"),
        ("cd", "adult", _BOTH, "d"),
        ("e", "adult", _BOTH, "epsilon_1"),
        ("f", "ipums_us", _BOTH, "epsilon_1"),
        ("g", "ipums_us", _BOTH, "epsilon_2"),
        ("h", "ipums_br", _BOTH, "epsilon_3"),
        ("i", "banking", _BOTH, "epsilon_3"),
    ),
    "3": (
        ("ab", "kddcup99", _BOTH, "n"),
        ("cd", "adult", _BOTH, "d"),
        ("e", "adult", _BOTH, "epsilon_1"),
        ("f", "ipums_us", _BOTH, "epsilon_1"),
        ("gh", "ipums_us", _BOTH, "epsilon_2"),
        ("i", "ipums_br", _BOTH, "epsilon_3"),
        ("i2", "banking", _BOTH, "epsilon_3"),
    ),
    "4": (
        ("ab", "kddcup99", _BOTH, "n"),
        ("cd", "adult", _BOTH, "d"),
        ("ef", "banking", _BOTH, "epsilon_1"),
        ("g", "adult", _BOTH, "epsilon_2"),
        ("h", "adult", _BOTH, "epsilon_3"),
        ("i", "ipums_us", _BOTH, "epsilon_3"),
    ),
}
_COMPARES = {"1": "objective", "2": "output", "3": "pure", "4": "zcdp"}
PANELS = tuple(
    Panel(f"figure{figure}{letter}", dataset, losses, swept, _COMPARES[figure])
    for figure, letters in _LETTERS.items()
    for letter, dataset, losses, swept in letters
)
_ROWS = {
    "adult": 30_162,
    "banking": 45_211,
    "kddcup99": 450_000,
    "ipums_us": 39_928,
    "ipums_br": 38_000,
}


def panel_cells(panel: Panel) -> tuple[Cell, ...]:
    """The cells of one panel: both definitions or both mechanisms at every swept value."""
    cells = []
    for value in panel.values:
        for privacy, mechanism, loss in _COMBINATIONS:
            if panel.compares not in (privacy, mechanism) or loss not in panel.losses:
                continue
            cell = Cell(
                table=panel.name,
                dataset=panel.dataset,
                privacy=privacy,
                mechanism=mechanism,
                loss=loss,
                n=_ROWS[panel.dataset],
                d=10,
                epsilon_1="0.5",
                epsilon_2="0.25",
                epsilon_3="0.25",
                c=0.001,
                h=1.0,
                alpha=0.05,
                coverage=None,
            )
            change = int(value) if panel.swept in ("n", "d") else value
            cells.append(replace(cell, **{panel.swept: change}))  # type: ignore[arg-type]
    return tuple(cells)


def cells_of(name: str) -> tuple[Cell, ...]:
    """The cells of "table2" ... "table6" or of a panel such as "figure1b"."""
    panels = {panel.name: panel for panel in PANELS}
    tables = {f"table{number}" for number in "23456"}
    check_choice(name, (*sorted(tables), *panels), name="name")
    if name in panels:
        return panel_cells(panels[name])
    return tuple(cell for cell in published_cells() if cell.table == name.removeprefix("table"))


def records_of(cell: Cell, ipums: Path | None = None) -> Records:
    """The table of a cell: the first n rows of a fixed random order and the first d columns,
    `paper` encoding.

    Raises:  FileNotFoundError saying how to get the set; IPUMS terms of use do not allow a copy
             here.
    """
    if cell.dataset in IPUMS:
        if ipums is None:
            raise FileNotFoundError(
                f"{cell.dataset} needs your own extract from ipums.org: its terms do not allow a "
                "copy here."
            )
        return load_ipums(ipums, n_features=cell.d, n_rows=cell.n)
    return load(SETS[cell.dataset], encoding="paper", features=cell.d, n_rows=cell.n)


@dataclass(frozen=True)
class Source:
    """The table of some cells."""

    records: Records

    def design(self, cell: Cell) -> Design:
        """The design of a cell."""
        return cell.design()

    def row(
        self, cell: Cell, found: DesignResult, result: ExperimentResult, seed: int
    ) -> Reproduced:
        """One row of results."""
        return reproduced(cell, found, result, seed)


def how(ipums: Path | None = None) -> dict[str, Any]:
    """How `study.run_cells` runs these cells; ipums: an extract for those that need one."""
    return {
        "table_of": attrgetter("dataset", "n", "d"),
        "open_table": lambda cell: Source(records_of(cell, ipums)),
    }


def reproduced(cell: Cell, found: DesignResult, result: ExperimentResult, seed: int) -> Reproduced:
    """One row of results; where d is swept, lengths are the first coefficient's, as in the paper's
    figures.
    """
    root = np.sqrt(result.n_covered)
    first_only = any(p.name == cell.table and p.swept == "d" for p in PANELS)
    share = float(found.vi_length_mean_se / found.vi_length_mean)
    vi = float(found.vi_length[0]) if first_only else found.vi_length_mean
    sd = float(found.ci_length_sd[0]) if first_only else found.mean_length_sd
    return Reproduced(
        cell=cell.key,
        coverage=round(found.coverage_mean, 6),
        coverage_se=round(found.coverage_se, 6),
        ci_length=round(float(found.ci_length[0]) if first_only else found.ci_length_mean, 6),
        ci_length_sd=round(sd, 6),
        ci_length_se=round(float(sd / root), 6),
        vi_length=round(vi, 6),
        vi_length_se=round(share * vi, 6),
        **study.provenance(found, result, seed),
    )


def read_run(path: Path = RUN_FILE) -> dict[str, Reproduced]:
    """Results on file, by cell; an unfinished last line, left by a kill, is passed over."""
    return {row.cell: row for row in read_rows(Reproduced, path)}


PUBLISHED_K = 1_000
"""Bootstrap replicates behind a published coverage, whose own Monte Carlo error enters every
comparison.
"""


def difference_in_errors(published: float, found: Reproduced) -> float:
    """(found - published) in standard errors of the difference; the published value has ours, at
    its own k.
    """
    own = max(found.coverage_se, 1e-4)
    theirs = own * np.sqrt(found.k / PUBLISHED_K)
    return float((found.coverage - published) / np.hypot(own, theirs))


def line(cell: Cell, row: Reproduced) -> str:
    """A row in print, beside its published value."""
    said = (
        f"{cell.key:<75} coverage {row.coverage:.4f} ± {row.coverage_se:.4f}, length "
        f"{row.ci_length:.4f}"
    )
    if cell.coverage is None:
        return f"{said}, variability {row.vi_length:.4f}"
    errors = difference_in_errors(cell.coverage, row)
    return (
        f"{said}, published {cell.coverage:.4f}, difference {row.coverage - cell.coverage:+.4f} "
        f"({errors:+.1f} errors)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; exit code 1 after a sentence on the error output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument("names", nargs="+", help="table2 ... table6, or a panel such as figure1b")
    parser.add_argument(
        "--where", action="append", default=[], metavar="FIELD=VALUE", help="like n=50000 or d=10"
    )
    parser.add_argument("--ipums", type=Path, help="your own IPUMS extract, for tables 5 and 6")
    study.add_options(parser, seed=1)
    options = parser.parse_args(arguments)
    cells = [cell for name in options.names for cell in cells_of(name)]
    for field, _, value in (condition.partition("=") for condition in options.where):
        cells = [cell for cell in cells if str(getattr(cell, field)) == value]
    on_file = read_run(options.out) if options.out else {}
    key = attrgetter("key")
    return study.carry_out(
        cells, on_file, options, kind=Reproduced, key=key, line=line, **how(options.ipums)
    )


if __name__ == "__main__":
    sys.exit(main())
