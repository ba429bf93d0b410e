"""What the tab of lengths takes from the results on file: groups, changes, sentences,
tables. No Streamlit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

import numpy as np
import pandas as pd

from dpci_core.base.places import DATA
from dpci_core.datasets import list_datasets
from dpci_core.report.words import many
from ui.session.choices import ALL_COMBINATIONS, Combination
from ui.session.text import number_at_most

COMPARISON_FILE = DATA / "published_or_sharp.csv"
"""Made by `benchmarks.compare`, which says what the labels of the calibrations are."""
PREVALENT_PERCENT = 5
"""A column counts as prevalent if this share of the records has a nonzero entry in it."""


@dataclass(frozen=True)
class DataTable:
    """One table of data: a set, its number of records and of features before the intercept."""

    dataset: str
    n: int
    d: int

    @property
    def words(self) -> str:
        """The data, n and the number of features in words, for readers."""
        return f"{data_words(self.dataset)}, n = {self.n:,}, {many(self.d, 'feature')}"


@dataclass(frozen=True)
class Compared:
    """One calibration of one design on one table, as measured: means over coefficients where
    nothing else is said, with Monte Carlo standard errors.

    shares: of model, Hessian and covariance in the total.
    coverage_prevalent, coverage_smallest: the smallest of a coefficient, among prevalent columns
        and among all.
    vi_length: variability interval of this mechanism and calibration; ratio: ci_length to it.
    """

    dataset: str
    n: int
    d: int
    loss: str
    privacy: str
    mechanism: str
    calibration: str
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
    def table(self) -> DataTable:
        """What it was measured on."""
        return DataTable(self.dataset, self.n, self.d)

    @property
    def combination(self) -> Combination:
        """How the design is drawn elsewhere."""
        return Combination(self.privacy, self.mechanism, self.loss)


Groups = dict[Combination, dict[str, Compared]]
"""By combination, then by the label of the calibration."""

CALIBRATION_WORDS = {
    "published": "published",
    "sharp_reviewed": "sharp without the new theorem",
    "sharp": "sharp",
    "only split": "published, best split",
    "best_split_reviewed": "sharp without the new theorem, best split",
    "best_split": "sharp, best split",
    "shaped": "sharp, shaped like the data",
}
SPLITS = {
    "published": ("published", "sharp_reviewed", "sharp"),
    "best": ("only split", "best_split_reviewed", "best_split"),
}
"""Splits, each the same for all that is drawn: the labels of published intervals, of sharp ones
without the theorem that is not peer-reviewed, and of sharp ones.
"""
SIDES = {
    "published": "published",
    "reviewed": "sharp, reviewed only",
    "new": "sharp, new theorem",
}
"""What is drawn side by side; the last only where the theorem acts."""


def tables_on_file(rows: Iterable[Compared]) -> dict[str, DataTable]:
    """The tables of data with results, by the name that the script takes."""
    found = list(dict.fromkeys(row.table for row in rows))
    pairs = [(table.dataset, table.d) for table in found]
    return {
        f"{t.dataset}-{t.d}" + (f"-{t.n}" if pairs.count((t.dataset, t.d)) > 1 else ""): t
        for t in found
    }


def data_words(key: str) -> str:
    """The name of a data set."""
    return next((info.title for info in list_datasets() if info.key == key), key)


def groups_of(rows: Iterable[Compared], table: DataTable) -> Groups:
    """The rows of one table of data, combinations in the order of the palette."""
    found: Groups = {}
    for row in rows:
        if row.table == table:
            found.setdefault(row.combination, {})[row.calibration] = row
    return {c: found[c] for c in ALL_COMBINATIONS if c in found}


def sides_of(groups: Groups, split: str) -> Groups:
    """What is compared at one split, labelled as `SIDES`: a sharp design that needs no unreviewed
    theorem counts among the reviewed.
    """
    published, reviewed, sharp = SPLITS[split]
    found: Groups = {}
    for combination, rows in groups.items():
        is_new = reviewed in rows  # measured only where the theorem acts
        labels = {"published": published, "reviewed": reviewed if is_new else sharp}
        if is_new:
            labels["new"] = sharp
        found[combination] = {side: rows[label] for side, label in labels.items() if label in rows}
    return found


def source_of(table: DataTable) -> str:
    """Which badge the chart carries."""
    found = (info.source for info in list_datasets() if info.key == table.dataset)
    return next(found, "public")


# --- how much shorter -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """The mean length of a calibration relative to published, minus 1, with its Monte Carlo
    standard error.
    """

    combination: Combination
    value: float
    se: float


def changes(groups: Groups, label: str) -> list[Change]:
    """Return the change of every combination that has both rows; its error does not count that both
    ran on the same replicates.
    """
    found = []
    for combination, rows in groups.items():
        if label in rows and "published" in rows and rows["published"].ci_length > 0:
            value, se = quotient(rows[label], rows["published"])
            found.append(Change(combination, value - 1.0, se))
    return found


def quotient(row: Compared, base: Compared) -> tuple[float, float]:
    """The mean length in units of that of another row, with its Monte Carlo standard error."""
    ratio = row.ci_length / base.ci_length
    parts = (
        row.ci_length_se / row.ci_length if row.ci_length else 0.0,
        base.ci_length_se / base.ci_length,
    )
    return ratio, ratio * math.hypot(*parts)


def ratio_se(row: Compared) -> float:
    """Monte Carlo standard error of the length in variability intervals; not a number where there
    is no ratio.
    """
    if not (math.isfinite(row.ratio) and row.ci_length and row.vi_length):
        return math.nan
    return row.ratio * math.hypot(
        row.ci_length_se / row.ci_length, row.vi_length_se / row.vi_length
    )


def signed_percent(change: float) -> str:
    """A relative change with its sign, a proper minus; what rounds to nothing has none."""
    text = f"{100 * change:.1f}"
    return "0 %" if text in ("0.0", "-0.0") else f"{100 * change:+.1f} %".replace("-", "−")


def sharpest(sides: Groups) -> Groups:
    """Published beside the shortest sharp intervals, which use the new theorem where it acts."""
    return {
        combination: {
            "published": rows["published"],
            "sharp": rows.get("new") or rows["reviewed"],
        }
        for combination, rows in sides.items()
        if "published" in rows and rows.keys() & {"reviewed", "new"}
    }


def sentence(sides: Groups, split: str) -> str:
    """The takeaway of the first chart."""
    pairs, every = changes(sides, "reviewed"), changes(sharpest(sides), "sharp")
    if not pairs:
        return _NOTHING
    gains = -100 * np.array([p.value for p in pairs])
    sharp = [row for rows in sides.values() for side, row in rows.items() if side != "published"]
    published = [sides[p.combination]["published"] for p in pairs]
    return (
        f"{_SAME_SPLIT[split]}, sharp intervals are on average {gains.mean():.0f} % shorter than "
        f"published ones from reviewed results alone (from {gains.min():.0f} to {gains.max():.0f} "
        f"% over {_many(pairs)}){_with_new(sides, every)}. Sharp intervals are on average "
        f"{_mean_ratio(sharp)} times as long as the variability interval, the published ones "
        f"{_mean_ratio(published)} times. Mean coverage lies between {_coverages(sharp)}, of the "
        f"published between {_coverages(published)} (Monte Carlo error at most "
        f"{number_at_most(100 * max(r.coverage_se for r in (*sharp, *published)), 2)} points); "
        "promised are 95 %."
    )


_NOTHING = "Published and sharp are not both on file for this table and split yet"
_SAME_SPLIT = {"published": "At the published split", "best": "Each at its own best split"}


def _with_new(sides: Groups, every: list[Change]) -> str:
    """What the new theorem adds to a sentence about reviewed results."""
    count = sum("new" in rows for rows in sides.values())
    if not count:
        return ""
    return (
        f", and {-100 * np.mean([one.value for one in every]):.0f} % shorter with the new theorem, "
        f"which is not peer-reviewed and acts on {count} of them"
    )


def _coverages(rows: Iterable[Compared]) -> str:
    coverage = [100 * row.coverage for row in rows]
    return f"{min(coverage):.1f} and {max(coverage):.1f} %"


def _many(items: list[Change]) -> str:
    return f"{len(items)} combination{'s' * (len(items) > 1)}"


def _mean_ratio(rows: Iterable[Compared]) -> str:
    ratios = [row.ratio for row in rows if math.isfinite(row.ratio)]
    return f"{np.mean(ratios):.2f}" if ratios else "-"


def finding(sides: Groups, split: str) -> str:
    """The first chart in one line: what is reviewed first, what rests on the new theorem apart."""
    reviewed, every = changes(sides, "reviewed"), changes(sharpest(sides), "sharp")
    if not reviewed:
        return _NOTHING
    said = f"{_SAME_SPLIT[split]}, sharp intervals are {_mean_percent(reviewed)} shorter"
    if any("new" in rows for rows in sides.values()):
        said += f", {_mean_percent(every)} with a theorem not yet peer-reviewed"
    return said


def _mean_percent(found: list[Change]) -> str:
    return f"{-100 * np.mean([one.value for one in found]):.0f}\u202f%"


Heat = dict[str, list[Change]]
"""By the name of an improvement: its changes, alone."""


def heat_finding(heat: Heat) -> str:
    """The table of improvements in one line."""
    name, best = max(heat.items(), key=lambda item: -min(c.value for c in item[1]))
    most = min(c.value for c in best)
    return f"Alone, “{name}” shortens most: by up to {-100 * most:.0f}\u202f% of the mean length"


def heat_sentence(heat: Heat) -> str:
    """Every improvement with its two ends."""
    return "; ".join(change_sentence(name, found) for name, found in heat.items()) + "."


def change_sentence(name: str, found: list[Change]) -> str:
    """The two ends of one improvement alone."""
    best, worst = (f(found, key=lambda c: c.value) for f in (min, max))
    ends = [signed_percent(best.value), signed_percent(worst.value)]
    if ends[0] == ends[1]:
        return f"“{name}” changes every mean length by {ends[0]}"
    return (
        f"“{name}” changes the mean length by {ends[0]} ({best.combination.plain}) to {ends[1]} "
        f"({worst.combination.plain})"
    )


def results_table(groups: Groups) -> pd.DataFrame:
    """Every number of the calibrations side by side."""
    return pd.DataFrame(
        [
            {
                "combination": combination.plain,
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


def heat_table(heat: Heat) -> pd.DataFrame:
    """Every improvement alone as numbers."""
    return pd.DataFrame(
        [
            {
                "improvement": name,
                "combination": c.combination.plain,
                "change of mean length (%)": 100 * c.value,
                "s.e. (%)": 100 * c.se,
            }
            for name, found in heat.items()
            for c in found
        ]
    )


def everything(rows: Iterable[Compared], table: DataTable) -> pd.DataFrame:
    """The rows of one table of data as they are on file."""
    columns = [f.name for f in fields(Compared)]
    return pd.DataFrame([asdict(row) for row in rows if row.table == table], columns=columns)
