"""What the Published or sharp page takes from the results on file: groups, targets, sentences, tables. No Streamlit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Literal

import numpy as np
import pandas as pd

from dpci_core.compare import PREVALENT_PERCENT, SETS, Compared, Comparison, DataTable
from ui.palette import ALL_COMBINATIONS, Combination
from ui.text import number

Target = Literal["coverage", "prevalent", "smallest", "length", "shorter"]
Groups = dict[Combination, dict[str, Compared]]
"""By combination, then by the label of the calibration."""

COVERAGE_RANGE = (0.945, 0.965)
SMALLEST_PREVALENT = 0.93
SMALLEST = 0.91
LENGTH_RATIO, LENGTH_RATIO_LARGE = 1.05, 1.12
LARGE_D = 33
"""From so many features on the length may be a larger multiple of the variability interval."""
CLOSE = 2.0
"""A verdict is close if the number is within so many of its Monte Carlo standard errors of the limit."""
SHOWN = ("published", "sharp", "best_split")
"""The calibrations drawn side by side."""
CALIBRATION_WORDS = {
    "published": "published",
    "sharp": "sharp",
    "best_split": "sharp, best split",
    "sharp_reviewed": "sharp without the new result",
}
DATASET_WORDS = {
    "census": "Simulated census",
    "adult": "Adult",
    "bank": "Bank Marketing",
    "kdd99": "KDD Cup 1999",
}


def combination_of(cell: Comparison) -> Combination:
    """How the cell's design is drawn elsewhere."""
    loss: Literal["logistic", "huber_svm"] = "logistic" if cell.loss == "logistic" else "huber_svm"
    return Combination(cell.privacy, cell.mechanism, loss)


def tables_on_file(rows: Iterable[Compared]) -> dict[str, DataTable]:
    """The tables of data with results, by a name that the command takes where it knows the table; in its order."""
    found = dict.fromkeys(row.table for row in rows)
    known = {name: table for name, table in SETS.items() if table in found}
    others = [table for table in found if table not in SETS.values()]
    return known | {f"{t.dataset}-{t.n}-{t.d}": t for t in others}


def table_words(table: DataTable) -> str:
    """A table of data in words."""
    name = DATASET_WORDS.get(table.dataset, table.dataset)
    return f"{name}, n = {table.n:,}, {table.d} features"


def groups_of(rows: Iterable[Compared], table: DataTable) -> Groups:
    """The rows of one table of data, combinations in the order of the palette."""
    found: Groups = {}
    for row in rows:
        if row.table == table:
            found.setdefault(combination_of(row), {})[row.calibration] = row
    return {c: found[c] for c in ALL_COMBINATIONS if c in found}


def source_of(table: DataTable) -> str:
    """Which badge the chart carries."""
    return "simulated" if table.dataset == "census" else "public"


# --- how much shorter --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """The mean length of a calibration relative to published, minus 1, with its Monte Carlo standard error."""

    combination: Combination
    value: float
    se: float


def changes(groups: Groups, label: str) -> list[Change]:
    """Of every combination that has both rows; the error leaves out that both ran on the same replicates."""
    found = []
    for combination, rows in groups.items():
        if label in rows and "published" in rows and rows["published"].ci_length > 0:
            value, se = _quotient(rows[label], rows["published"])
            found.append(Change(combination, value - 1.0, se))
    return found


def _quotient(row: Compared, base: Compared) -> tuple[float, float]:
    ratio = row.ci_length / base.ci_length
    parts = (row.ci_length_se / row.ci_length if row.ci_length else 0.0, base.ci_length_se / base.ci_length)
    return ratio, ratio * math.hypot(*parts)


def ratio_se(row: Compared) -> float:
    """Monte Carlo standard error of the length in variability intervals; not a number where there is no ratio."""
    if not (math.isfinite(row.ratio) and row.ci_length and row.vi_length):
        return math.nan
    return row.ratio * math.hypot(row.ci_length_se / row.ci_length, row.vi_length_se / row.vi_length)


def signed_percent(change: float) -> str:
    """A relative change with its sign, a proper minus; what rounds to nothing has none."""
    text = f"{100 * change:.1f}"
    return "0 %" if text in ("0.0", "-0.0") else f"{100 * change:+.1f} %".replace("-", "−")


def sentence(groups: Groups) -> str:
    """The takeaway of the first chart."""
    pairs = changes(groups, "sharp")
    if not pairs:
        return "Published and sharp are not both on file for any combination of this table yet."
    gains = -100 * np.array([p.value for p in pairs])
    sharp = [groups[p.combination]["sharp"] for p in pairs]
    published = [groups[p.combination]["published"] for p in pairs]
    coverage = [row.coverage for row in sharp]
    best = changes(groups, "best_split")
    more = f", and {-100 * np.mean([b.value for b in best]):.0f} % shorter at the best split" if best else ""
    return (
        f"Sharp intervals are on average {gains.mean():.0f} % shorter than published ones at the same split "
        f"(from {gains.min():.0f} to {gains.max():.0f} % over {_many(pairs)}){more}. At the published split they are "
        f"on average {_mean_ratio(sharp)} times as long as the variability interval, the published ones "
        f"{_mean_ratio(published)} times. Their mean coverage lies between {100 * min(coverage):.1f} and "
        f"{100 * max(coverage):.1f} % (Monte Carlo error at most {100 * max(r.coverage_se for r in sharp):.1f} "
        "points); promised are 95 %."
    )


def _many(items: list[Change]) -> str:
    return f"{len(items)} combination{'s' * (len(items) > 1)}"


def _mean_ratio(rows: Iterable[Compared]) -> str:
    ratios = [row.ratio for row in rows if math.isfinite(row.ratio)]
    return f"{np.mean(ratios):.2f}" if ratios else "-"


def change_sentence(name: str, found: list[Change]) -> str:
    """The takeaway of one improvement alone."""
    best = min(found, key=lambda c: c.value)
    worst = max(found, key=lambda c: c.value)
    if signed_percent(best.value) == signed_percent(worst.value) == "0 %":
        return f"{name} alone changes no mean length by as much as 0.1 %."
    helped = sum(c.value < -0.005 for c in found)
    return (
        f"{name} alone: {helped} of {_many(found)} become more than half a percent shorter, most of all "
        f"{best.combination.label} ({signed_percent(best.value)}); the other end is {worst.combination.label} "
        f"({signed_percent(worst.value)})."
    )


def results_table(groups: Groups) -> pd.DataFrame:
    """Every number of the calibrations side by side."""
    return pd.DataFrame(
        [
            {
                "combination": combination.label,
                "calibration": words,
                "coverage": row.coverage,
                "coverage s.e.": row.coverage_se,
                "smallest coefficient": row.coverage_smallest,
                "smallest prevalent": row.coverage_prevalent,
                "length": row.ci_length,
                "length s.e.": row.ci_length_se,
                "variability length": row.vi_length,
                "variability s.e.": row.vi_length_se,
                "length / variability": row.ratio,
                "forecast length": row.forecast_length,
                "forecast coverage": row.forecast_coverage,
                "shares of model, Hessian, covariance": row.shares,
                "failed fits": row.n_failed,
            }
            for combination, rows in groups.items()
            for label, words in CALIBRATION_WORDS.items()
            if (row := rows.get(label)) is not None
        ]
    )


def changes_table(found: list[Change]) -> pd.DataFrame:
    """One improvement alone as numbers."""
    return pd.DataFrame(
        [
            {"combination": c.combination.label, "change of mean length (%)": 100 * c.value, "s.e. (%)": 100 * c.se}
            for c in found
        ]
    )


def everything(rows: Iterable[Compared], table: DataTable) -> pd.DataFrame:
    """The rows of one table of data as they are on file."""
    columns = [f.name for f in fields(Compared)]
    return pd.DataFrame([asdict(row) for row in rows if row.table == table], columns=columns)


# --- targets -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """One target held against one row: the number, its Monte Carlo error, and the limits it has to keep."""

    row: Compared
    target: Target
    value: float
    se: float
    low: float = -math.inf
    high: float = math.inf

    @property
    def combination(self) -> Combination:
        """Of the row."""
        return combination_of(self.row)

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
    """Hold a row against the targets; "never longer than published" only where the published row is there."""
    found = [
        Check(row, "coverage", row.coverage, row.coverage_se, *COVERAGE_RANGE),
        Check(row, "prevalent", row.coverage_prevalent, _share_se(row.coverage_prevalent, row.k), SMALLEST_PREVALENT),
        Check(row, "smallest", row.coverage_smallest, _share_se(row.coverage_smallest, row.k), SMALLEST),
        Check(row, "length", row.ratio, ratio_se(row), high=length_limit(row.d)),
    ]
    if published is not None and published.ci_length:
        value, se = _quotient(row, published)
        found.append(Check(row, "shorter", value, se, high=1.0))
    return tuple(found)


def _share_se(share: float, k: int) -> float:
    """Of a coverage counted in k replicates."""
    return math.sqrt(max(share * (1.0 - share), 0.0) / k)


def all_checks(groups: Groups, label: str) -> list[Check]:
    """The targets of one calibration over the combinations that have it."""
    return [
        check
        for rows in groups.values()
        if label in rows
        for check in check_targets(rows[label], rows.get("published"))
    ]


def target_words(d: int) -> dict[Target, str]:
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
        return f"{signed_percent(check.value - 1)} ± {100 * check.se:.1f}"
    return f"{100 * check.value:.1f} ± {100 * check.se:.1f} %"


def checks_matrix(checks: list[Check]) -> pd.DataFrame:
    """A row a combination, a column a target: a tick or a cross, the number, its error; ≈ where the call is close."""
    rows: dict[str, dict[str, str]] = {}
    for check in checks:
        mark = ("✓" if check.is_reached else "✗") + (" ≈" if check.is_close else "")
        heading = target_words(check.row.d)[check.target]
        row = rows.setdefault(check.combination.label, {"combination": check.combination.label})
        row[heading] = f"{mark}  {value_words(check)}"
    return pd.DataFrame(list(rows.values()))


def checks_table(checks: list[Check]) -> pd.DataFrame:
    """The same for a file: a row a verdict."""
    return pd.DataFrame(
        [
            {
                "combination": check.combination.label,
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
    is_pure_objective = (row.privacy, row.mechanism) == ("pure", "objective")
    if row.calibration == "best_split" and check.target == "length":
        return (
            "the best split gives the coefficients more of the budget and the two matrices less: the estimates "
            "themselves scatter less, the interval becomes the shortest of the three, but it is a larger multiple of "
            "a variability interval that shrank even more"
        )
    if row.calibration == "sharp" and is_pure_objective:
        return (
            "under pure objective perturbation the noise on the Hessian, from which the lengths are computed, "
            "dominates at the published split"
        )
    if row.privacy == "pure" and row.d >= LARGE_D:
        return (
            f"under pure ε the noise on the two matrices grows with their size, here {row.d + 1} × {row.d + 1}, and "
            "there is no budget left to estimate them better"
        )
    if check.is_close:
        return "the gap is within two Monte Carlo standard errors, so more replicates might turn the verdict"
    return "the reason has not been established"


def missed_words(checks: list[Check]) -> list[str]:
    """One sentence for the cells that miss the same target for the same reason."""
    grouped: dict[tuple[Target, str], list[Check]] = {}
    for check in checks:
        if not check.is_reached:
            grouped.setdefault((check.target, why_missed(check)), []).append(check)
    return [
        f"**{target_words(missed[0].row.d)[target].capitalize()}** is missed by "
        + "; ".join(f"{c.combination.label} ({value_words(c)}{', close' if c.is_close else ''})" for c in missed)
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


def without_new_result(groups: Groups) -> str:
    """What sharp loses where the result that is not peer-reviewed is left out."""
    parts = [
        f"{combination.label}: {number(rows['sharp'].ci_length)} with it, "
        f"{number(rows['sharp_reviewed'].ci_length)} without, {number(rows['published'].ci_length)} as published"
        for combination, rows in groups.items()
        if {"sharp", "sharp_reviewed", "published"} <= rows.keys()
    ]
    return "Mean length: " + "; ".join(parts) + "." if parts else ""


def prevalent_words() -> str:
    """What "prevalent" means."""
    return f"Prevalent: at least {PREVALENT_PERCENT} % of the records have a nonzero entry in the column."
