"""The file of results: which methods are compared on what, and what a row holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dpci_core.base.places import DATA
from dpci_core.studies._runs import append_rows, read_rows

RIVALS_FILE = DATA / "rivals.csv"
"""The run of this project."""
Cell = tuple[str, str]
"""A table of data by its name in `compare.SETS`, and the total rho as a decimal."""
CELLS: tuple[Cell, ...] = (
    ("adult-10", "0.1875"),
    ("adult-10", "0.5"),
    ("adult-10", "0.02436"),
    ("bank-10", "0.1875"),
    ("bank-10", "0.02436"),
    ("census-10", "0.1875"),
    ("census-10", "0.02436"),
)
"""0.1875 is the total of the published split, 0.02436 is (1, 1e-6)."""
OURS = ("published", "sharp", "best_split", "shaped")
"""The published method and the sharp one at the published split, the sharp one at the best split,
and with noise shaped like the records.
"""
RIVALS = ("newton_coded", "newton_tuned", "gradient_coded", "gradient_tuned")
METHODS = (*OURS, *RIVALS)
"""In the order of a table."""


@dataclass(frozen=True)
class Measured:
    """One method on one table at one total, for the penalised logistic coefficient.

    table, rho: the cell.
    settings: of a rival, or the shares of model, Hessian and covariance.
    coverage, coverage_smallest: mean over coefficients and the smallest; a release that is no
        number is a miss.
    ci_length: mean over releases and coefficients.
    n_failed: releases that were no numbers.
    """

    table: str
    rho: str
    method: str
    settings: str
    coverage: float
    coverage_se: float
    coverage_smallest: float
    ci_length: float
    ci_length_se: float
    n_failed: int
    k: int
    seed: int
    date: str
    versions: str

    @property
    def cell(self) -> Cell:
        """Where it was measured."""
        return self.table, self.rho


def read_measured(path: Path = RIVALS_FILE) -> dict[tuple[Cell, str], Measured]:
    """Results on file by cell and method, the latest of each; no file is none.

    Raises:  ValueError naming the file or the line that is no row.
    """
    return {(row.cell, row.method): row for row in read_rows(Measured, path)}


def append_measured(rows: Iterable[Measured], path: Path = RIVALS_FILE) -> None:
    """Add rows to a file of results."""
    append_rows(rows, path, Measured)
