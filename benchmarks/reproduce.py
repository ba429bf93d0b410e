"""The published experiments again: Tables 2-6 of Wang, Kifer, Lee, cell by cell.

    python -m benchmarks.reproduce table3 [--where d=10] [-k 1000] [--out data/reproduction.csv]

A cell is one design on one table. Cells of the same table of data (set, n, d) run as one
experiment, because they share its bootstrap replicates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks import study
from benchmarks.study import read_rows
from dpci_core.base.errors import check_choice
from dpci_core.base.places import DATA
from dpci_core.datasets import load
from dpci_core.datasets._paper import encode_paper
from dpci_core.datasets.upload import read_upload
from dpci_core.design import Design, MechanismName
from dpci_core.losses import make_loss
from dpci_core.privacy.budget import PureDP, pair_budget
from dpci_core.schema import Records, propose_schema
from dpci_core.simulation.result import DesignResult, ExperimentResult

PUBLISHED_FILE = DATA / "published_coverage.csv"
RUN_FILE = DATA / "reproduction.csv"
"""Our own full run, committed."""

SETS = {"kddcup99": "kdd99", "adult": "adult", "banking": "bank"}
"""Names of the published table and of our sets; IPUMS sets are the user's own."""
IPUMS = ("ipums_us", "ipums_br")
OUTCOME = "INCOME"
"""Column of an extract; above its median counts as positive."""


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
    coverage: float

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
            n_records=self.n,
            confidence_level=1.0 - self.alpha,
            calibration="published",
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
    return tuple(read_rows(Cell, PUBLISHED_FILE))


def cells_of(name: str) -> tuple[Cell, ...]:
    """The cells of "table2" ... "table6"."""
    check_choice(name, tuple(f"table{number}" for number in "23456"), name="name")
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


def load_ipums(path: Path, *, n_features: int, n_rows: int) -> Records:
    """Return the first rows of a random order and the first features of an extract, `paper`
    encoding.

    Args:
        path: CSV file, plain or gzipped, as IPUMS delivers it; columns in the order in which
            features are taken.
        n_features: the first so many.
        n_rows: of a random order.

    Raises:  ValueError naming the column that is missing or unusable.
    """
    frame = read_upload(path.read_bytes(), path.name)
    if OUTCOME not in frame.columns:
        raise ValueError(f"Expected a column {OUTCOME!r} in {path.name}.")
    frame = frame.dropna().reset_index(drop=True)
    income = pd.to_numeric(frame[OUTCOME], errors="coerce")
    if income.isna().any():
        raise ValueError(f"Expected numbers in the column {OUTCOME!r}.")
    frame[OUTCOME] = (income > income.median()).map({True: "yes", False: "no"})
    chosen = (
        frame.sample(n=min(n_rows, len(frame)), random_state=20_260_102)
        .sort_index()
        .reset_index(drop=True)
    )
    schema = propose_schema(chosen, OUTCOME, "yes")
    return encode_paper(
        chosen,
        schema,
        features=min(n_features, len(schema.feature_names)),
        source="public",
        title="Your IPUMS extract",
    )


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
        sd = found.mean_length_sd
        return Reproduced(
            cell=cell.key,
            coverage=round(found.coverage_mean, 6),
            coverage_se=round(found.coverage_se, 6),
            ci_length=round(found.ci_length_mean, 6),
            ci_length_sd=round(sd, 6),
            ci_length_se=round(float(sd / np.sqrt(result.n_covered)), 6),
            vi_length=round(found.vi_length_mean, 6),
            vi_length_se=round(found.vi_length_mean_se, 6),
            **study.provenance(found, result, seed),
        )


def how(ipums: Path | None = None) -> dict[str, Any]:
    """How `study.run_cells` runs these cells; ipums: an extract for those that need one."""
    return {
        "table_of": attrgetter("dataset", "n", "d"),
        "open_table": lambda cell: Source(records_of(cell, ipums)),
    }


def read_run(path: Path = RUN_FILE) -> dict[str, Reproduced]:
    """Results on file, by cell."""
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
    errors = difference_in_errors(cell.coverage, row)
    return (
        f"{cell.key:<75} coverage {row.coverage:.4f} ± {row.coverage_se:.4f}, length "
        f"{row.ci_length:.4f}, published {cell.coverage:.4f}, difference "
        f"{row.coverage - cell.coverage:+.4f} ({errors:+.1f} errors)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is asked for; exit code 1 after a sentence on the error output."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduce", description=__doc__)
    parser.add_argument("names", nargs="+", help="table2 ... table6")
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
