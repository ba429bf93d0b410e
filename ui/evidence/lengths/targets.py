"""What sharp intervals are held to, and which rows keep it. No Streamlit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from dpci_core.mechanisms.mechanism import mechanism_named
from dpci_core.privacy.budget import DEFINITIONS
from ui.evidence.lengths.rows import (
    CALIBRATION_WORDS,
    PREVALENT_PERCENT,
    Compared,
    Groups,
    quotient,
    ratio_se,
    signed_percent,
)
from ui.session.choices import Combination

Criterion = Literal["coverage", "prevalent", "smallest", "length", "shorter"]

COVERAGE_RANGE = (0.945, 0.965)
SMALLEST_PREVALENT = 0.93
SMALLEST = 0.91
LENGTH_RATIO, LENGTH_RATIO_LARGE = 1.05, 1.12
LARGE_D = 33
"""From so many features on the length may be a larger multiple of the variability interval."""
CLOSE = 2.0
"""A verdict is close if the number is within so many of its Monte Carlo standard errors of the
limit.
"""


@dataclass(frozen=True)
class Check:
    """One target held against one row: the number, its Monte Carlo error, and the limits it has to
    keep.
    """

    row: Compared
    target: Criterion
    value: float
    se: float
    low: float = -math.inf
    high: float = math.inf

    @property
    def combination(self) -> Combination:
        """The combination of the row."""
        return self.row.combination

    @property
    def is_reached(self) -> bool:
        """Whether the number as measured keeps the limits; not a number keeps none."""
        return self.low <= self.value <= self.high

    @property
    def is_close(self) -> bool:
        """Whether Monte Carlo error could have turned the verdict."""
        return min(abs(self.value - self.low), abs(self.value - self.high)) < CLOSE * self.se


def length_limit(d: int) -> float:
    """How many variability intervals the mean length may have."""
    return LENGTH_RATIO_LARGE if d >= LARGE_D else LENGTH_RATIO


def check_targets(row: Compared, published: Compared | None) -> tuple[Check, ...]:
    """Hold a row against the targets; "never longer than published" only where the published row is
    there.
    """
    found = [
        Check(row, "coverage", row.coverage, row.coverage_se, *COVERAGE_RANGE),
        Check(
            row,
            "prevalent",
            row.coverage_prevalent,
            _share_se(row.coverage_prevalent, row.k),
            SMALLEST_PREVALENT,
        ),
        Check(
            row,
            "smallest",
            row.coverage_smallest,
            _share_se(row.coverage_smallest, row.k),
            SMALLEST,
        ),
        Check(row, "length", row.ratio, ratio_se(row), high=length_limit(row.d)),
    ]
    if published is not None and published.ci_length:
        value, se = quotient(row, published)
        found.append(Check(row, "shorter", value, se, high=1.0))
    return tuple(found)


def _share_se(share: float, k: int) -> float:
    """Return the standard error of a coverage that was counted in k replicates."""
    return math.sqrt(max(share * (1.0 - share), 0.0) / k)


def all_checks(groups: Groups, label: str) -> list[Check]:
    """The targets of one calibration over the combinations that have it."""
    return [
        check
        for rows in groups.values()
        if label in rows
        for check in check_targets(rows[label], rows.get("published"))
    ]


def target_words(d: int) -> dict[Criterion, str]:
    """The targets in words."""
    return {
        "coverage": f"mean coverage {100 * COVERAGE_RANGE[0]:g} to {100 * COVERAGE_RANGE[1]:g} %",
        "prevalent": f"no prevalent coefficient below {100 * SMALLEST_PREVALENT:g} %",
        "smallest": f"no coefficient below {100 * SMALLEST:g} %",
        "length": f"length at most {length_limit(d):g} × variability",
        "shorter": "never longer than published",
    }


def value_words(check: Check) -> str:
    """The number with its Monte Carlo error."""
    if not math.isfinite(check.value):
        return "not measured"
    if check.target == "length":
        return f"{check.value:.3f} ± {check.se:.3f}"
    if check.target == "shorter":
        return f"{signed_percent(check.value - 1)} ± {100 * check.se:.1g}"
    return f"{100 * check.value:.1f} ± {100 * check.se:.1f} %"


def checks_matrix(checks: list[Check]) -> pd.DataFrame:
    """A row a combination, a column a target: a tick or a cross, the number, its error, and whether
    it is close.
    """
    rows: dict[str, dict[str, str]] = {}
    for check in checks:
        mark, close = "✓" if check.is_reached else "✗", ", close" * check.is_close
        heading = target_words(check.row.d)[check.target]
        row = rows.setdefault(check.combination.plain, {"combination": check.combination.plain})
        row[heading] = f"{mark} {value_words(check)}{close}"
    return pd.DataFrame(list(rows.values()))


def checks_table(checks: list[Check]) -> pd.DataFrame:
    """Return the checks as a table for a file, with a row for each verdict."""
    return pd.DataFrame(
        [
            {
                "combination": check.combination.plain,
                "calibration": CALIBRATION_WORDS[check.row.calibration],
                "target": target_words(check.row.d)[check.target],
                "reached": "yes" if check.is_reached else "no",
                "within two standard errors of the limit": "yes" if check.is_close else "no",
                "value": check.value,
                "Monte Carlo s.e.": check.se,
            }
            for check in checks
        ]
    )


def why_missed(check: Check) -> str:
    """The reason of a miss as far as it is known."""
    row = check.row
    if not math.isfinite(check.value):
        return "there is no number, because too few fits were made"
    is_laplace = DEFINITIONS[row.privacy].law == "laplace"
    perturbs_objective = mechanism_named(row.mechanism).perturbs_objective
    if row.calibration == "best_split" and check.target == "length":
        return (
            "the best split gives the coefficients more of the budget and the two matrices less: "
            "the estimates themselves scatter less and the interval becomes shorter, but it is a "
            "larger multiple of a variability interval that shrank even more"
        )
    if row.calibration == "sharp" and is_laplace and perturbs_objective:
        return (
            "under pure objective perturbation the noise on the Hessian, from which the lengths "
            "are computed, dominates at the published split"
        )
    if is_laplace and row.d >= LARGE_D:
        return (
            f"under pure ε the noise on the two matrices grows with their size, here {row.d + 1} × "
            f"{row.d + 1}, and there is no budget left to estimate them better"
        )
    if check.is_close:
        return (
            "the gap is within two Monte Carlo standard errors, so more replicates might turn the "
            "verdict"
        )
    return "the reason has not been established"


def missed_words(checks: list[Check]) -> list[str]:
    """One sentence for the cells that miss the same target for the same reason."""
    grouped: dict[tuple[Criterion, str], list[Check]] = {}
    for check in checks:
        if not check.is_reached:
            grouped.setdefault((check.target, why_missed(check)), []).append(check)
    return [
        f"**{target_words(missed[0].row.d)[target].capitalize()}** is missed by "
        + "; ".join(
            f"{c.combination.plain} ({value_words(c)}{', close' if c.is_close else ''})"
            for c in missed
        )
        + f". Reason: {reason}."
        for (target, reason), missed in grouped.items()
    ]


def verdict(checks: Mapping[str, list[Check]]) -> str:
    """How many targets are reached, for each calibration by its name in words."""
    parts = [
        f"{sum(c.is_reached for c in found)} of {len(found)} reached {words}"
        for words, found in checks.items()
        if found
    ]
    return "; ".join(parts) + "." if parts else "No sharp row of this table is on file."


def prevalent_words() -> str:
    """What "prevalent" means."""
    return (
        f"Prevalent: at least {PREVALENT_PERCENT} % of the records have a nonzero entry in the "
        "column."
    )
