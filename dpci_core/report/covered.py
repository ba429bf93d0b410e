"""What an interval is for, and what was done to the columns before: words that stand in every
title, report and record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from dpci_core.design import ESTIMANDS, Design
from dpci_core.report.words import number, percent


def covered(design: Design, shrinkage: float | None = None) -> str:
    """What an interval of this design covers, to stand after "for the".

    Args:
        design: its target and c count.
        shrinkage: what is left of a coefficient at this c, as a share of the one without penalty,
            the median (`plan.shrinkage_of`); None where nobody knows.

    >>> from dpci_core.losses import Logistic
    >>> from dpci_core.privacy.budget import PureDP
    >>> budget = PureDP(model="0.5", hessian="0.25", covariance="0.25")
    >>> import dpci_core.mechanisms
    >>> design = Design(loss=Logistic(), mechanism="output", budget=budget, regularization=0.001,
    ...                 n_records=1000)
    >>> covered(design, 0.43)
    'coefficient penalised at c = 0.001, typically shrunk to about 43 %'
    """
    geometry = design.geometry
    rows = f", rows of leverage above {number(geometry.leverage)} weighted down" if geometry else ""
    if design.clip < 1.0:
        rows += f", gradients longer than {number(design.clip)} in that metric cut"
    estimand = ESTIMANDS[design.target]
    said = estimand.covers(design.regularization)
    if shrinkage is not None and estimand.is_shrunk:
        said += f", typically shrunk to about {percent(max(shrinkage, 0.0))}"
    return said + rows


def weighted_rows(design: Design, n_weighted: int, n_rows: int) -> tuple[str, ...]:
    """Return what noise shaped like the records does to rows, in a sentence; none without it.

    Args:
        design: whose geometry counts.
        n_weighted: planning rows that count less; never rows of a private table.
        n_rows: planning rows.
    """
    if design.geometry is None:
        return ()
    return (
        "The noise is shaped by a released second moment of the records. Rows whose leverage in "
        f"that metric exceeds {number(design.geometry.leverage)} count less; of {n_rows:,} "
        f"planning rows {n_weighted:,} do.",
    )


class Transformed(Protocol):
    """What a declaration does to values; `schema.Schema.transformations` has it."""

    @property
    def logarithms(self) -> Sequence[str]:
        """Columns of which the logarithm is taken."""

    @property
    def cut(self) -> Sequence[tuple[float, Sequence[str]]]:
        """Limits in spreads, with the columns they cut off."""

    @property
    def radius(self) -> float | None:
        """In spreads, beyond which a row counts less; None where no such number says which do."""

    @property
    def is_shaped(self) -> bool:
        """Whether rows outside an ellipsoid count less."""

    @property
    def filled(self) -> Sequence[tuple[str, str]]:
        """Columns of which a missing cell counts as something, with what that is."""

    @property
    def complete(self) -> float:
        """Expected share of records without a missing cell."""


def transformations(of: Transformed) -> tuple[str, ...]:
    """Return one sentence for each thing that the encoding does to values besides scaling them."""
    found = []
    if of.logarithms:
        found.append(f"{_listed(of.logarithms)}: the logarithm is taken.")
    for limit, names in of.cut:
        found.append(
            f"Values of {_listed(names)} beyond {number(limit)} spreads from the typical count as "
            "that far."
        )
    if of.radius is not None:
        found.append(f"Rows longer than {number(of.radius)} spreads count less.")
    if of.is_shaped:
        found.append(
            "Unusual rows count less: those outside an ellipsoid that was chosen without the table."
        )
    return (*found, missing_cells(of))


def missing_cells(of: Transformed) -> str:
    """Return what becomes of records with a missing cell in a column that is used."""
    share = expected_complete(of.complete)
    rest = f"counts for nothing; the plan expects {share} of the records to be complete."
    if not of.filled:
        return f"A record with a missing cell {rest}"
    values = ", ".join(f"{name} as {value}" for name, value in of.filled)
    return f"Missing cells count as declared: {values}. A record with another missing cell {rest}"


def expected_complete(share: float) -> str:
    """The share of records that a plan expects to be complete, to stand before "of"."""
    return "all" if share == 1.0 else percent(share)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
