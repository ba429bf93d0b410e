"""The numbers of Explore in sentences and as a table. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpci_core.base.array import Array
from dpci_core.report.words import called, number, percent
from dpci_core.schema import CONSTANT
from ui.explore.finding import is_spread, ratio, span_words, times_as_long
from ui.session.choices import Combination
from ui.session.results import IntervalRows

CoverageRow = tuple[Combination, tuple[str, ...], Array]

NOT_REPORTABLE = "not reportable"


def shrunk(share: float) -> str:
    """What a penalty leaves of a coefficient."""
    if share < 0.0:
        return "shrunk past zero"
    return f"shrunk to {percent(share)}" if share <= 1.0 else f"grown to {percent(share)}"


def interval_sentence(rows: Sequence[IntervalRows], units: str) -> str:
    """What the intervals are; as odds ratios they exclude 1 where the coefficients exclude zero."""
    none = "1" if units == "odds" else "zero"
    return "; ".join(_said(item, none) for item in rows) + "."


def _said(item: IntervalRows, none: str) -> str:
    """One combination; coefficients that cannot be reported are named and counted nowhere."""
    is_odds, label = none == "1", item.combination.label
    counts = item.counts & np.array([not is_odds or name != CONSTANT for name in item.names])
    lost = [
        called(name)
        for name, is_reached in zip(item.names, item.counts, strict=True)
        if not is_reached and not (is_odds and name == CONSTANT)
    ]
    named = f"; not reportable: {', '.join(lost)}" if lost else ""
    if not counts.any():
        return f"{label}: no coefficient can be reported"
    ci, vi, plain = (
        float(lengths[counts].mean())
        for lengths in (item.ci_length, item.vi_length, item.nonprivate_length)
    )
    clear = int((np.abs(item.estimate) > item.ci_length / 2)[counts].sum())
    if is_odds:  # no mean of lengths in units of their own
        ratios = (item.ci_length / item.nonprivate_length)[counts]
        ends = float(ratios.min()), float(ratios.max())
        times = times_as_long(float(np.exp(np.log(ratios).mean())))
        return (
            f"{label}: privacy makes the intervals "
            f"{span_words(*ends) if is_spread(*ends) else times} ({clear} of "
            f"{int(counts.sum())} exclude 1){named}"
        )
    return (
        f"{label}: the private intervals are on average {number(ci)} long, "
        f"{ratio(ci / vi):.2f} times the spread of the private estimates and "
        f"{ratio(ci / plain):.1f} times as long as without privacy "
        f"({clear} of {int(counts.sum())} exclude {none}){named}"
    )


def interval_table(rows: Sequence[IntervalRows]) -> pd.DataFrame:
    """The intervals as numbers."""
    frames = [
        pd.DataFrame(
            {
                "combination": item.combination.label,
                "coefficient": [called(name) for name in item.names],
                "estimate": item.estimate,
                "private low": item.estimate - item.ci_length / 2,
                "private high": item.estimate + item.ci_length / 2,
                "private length": item.ci_length,
                "variability length": item.vi_length,
                "non-private length": item.nonprivate_length,
                "private / variability": item.ci_length / item.vi_length,
            }
            | ({} if item.left is None else {"share without penalty": item.left})
            | ({} if item.counts.all() else {NOT_REPORTABLE: ~item.counts})
        )
        for item in rows
    ]
    return pd.concat(frames, ignore_index=True)


def coverage_sentence(rows: Sequence[CoverageRow], *, level: float) -> str:
    """How often the intervals are right, and which least often."""
    parts = []
    for combination, names, coverage in rows:
        worst = int(np.argmin(coverage))
        parts.append(
            f"{combination.label}: on average {100 * coverage.mean():.1f} %, lowest "
            f"{100 * coverage[worst]:.1f} % ({called(names[worst])})"
        )
    return f"Expected coverage against the promised {100 * level:g} %. " + "; ".join(parts) + "."
