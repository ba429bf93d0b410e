"""What a view says in one line, and its numbers in a small table. No Streamlit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dpci_core.base.array import Array, Flags
from dpci_core.planner.worlds import AnyForecast
from dpci_core.report.cautions import COVERAGE_SLACK
from dpci_core.report.words import listed, number
from ui.kit.picture import Cell, Style, Table
from ui.session import text
from ui.session.choices import Combination, distinguishing_labels
from ui.session.compute import View, counted
from ui.session.results import SweepCurve
from ui.session.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Means over the counted coefficients that one combination can report.

    private, spread, plain: mean lengths of the released intervals, of the variability intervals,
    and of those without privacy.
    coverage: forecast, on average.  short: effects whose intervals miss more often than they may.
    n: number of reportable coefficients.  n_all: of counted ones (`counted_coefficients`).
    least: coverage below which an interval misses more often than it may.
    cost: how many times as long as without privacy, on average (the function `cost`).
    span: the least and the most that it is of one effect.
    place: among the combinations that are drawn.
    """

    combination: Combination
    place: int
    private: float
    spread: float
    plain: float
    coverage: float
    short: tuple[str, ...]
    n: int
    n_all: int
    least: float
    cost: float
    span: tuple[float, float]
    is_useless: bool

    @property
    def n_short(self) -> int:
        """How many intervals miss more often than they may."""
        return len(self.short)


def numbers(view: View) -> list[Numbers]:
    """Return the numbers of every combination that is drawn and can report a coefficient."""
    found = []
    is_counted = counted_coefficients(view)
    for place, outcome in enumerate(view.drawn):
        assert outcome.forecast is not None
        made = numbers_of(
            outcome.forecast,
            outcome.combination,
            is_counted,
            view.settings,
            view.records.feature_names,
        )
        if made is not None:
            is_useless = outcome.forecast.usefulness.is_useless
            found.append(replace(made, place=place, is_useless=is_useless))
    return found


def numbers_of(
    made: AnyForecast,
    combination: Combination,
    is_counted: Flags,
    settings: Settings,
    names: Sequence[str],
) -> Numbers | None:
    """Return those of one forecast, None where it can report none of the counted coefficients.

    names: of all coefficients (p,).
    """
    counts, least = ~made.is_not_reportable & is_counted, settings.level - COVERAGE_SLACK
    if not counts.any():
        return None
    lengths = (made.ci_length, made.vi_length, made.nonprivate_length)
    private, spread, plain = (float(x[counts].mean()) for x in lengths)
    coverage, is_short = made.coverage[counts], counts & (made.coverage < least)
    return Numbers(
        combination=combination,
        place=0,
        private=private,
        spread=spread,
        plain=plain,
        coverage=float(coverage.mean()),
        short=tuple(name for name, misses in zip(names, is_short, strict=True) if misses),
        least=least,
        n=int(counts.sum()),
        n_all=int(is_counted.sum()),
        cost=cost(made.ci_length[counts], made.nonprivate_length[counts], settings),
        span=span(made.ci_length[counts], made.nonprivate_length[counts]),
        is_useless=False,
    )


def cost(private: Array, plain: Array, settings: Settings) -> float:
    """How many times as long intervals are as without privacy: mean by mean in the paper's terms,
    and the geometric mean of the ratios where effects have units of their own.
    """
    if settings.is_penalised:
        return float(private.mean() / plain.mean())
    return float(np.exp(np.log(private / plain).mean()))


def span(private: Array, plain: Array) -> tuple[float, float]:
    """How many times as long the least and the most lengthened interval is."""
    times = private / plain
    return float(times.min()), float(times.max())


def counted_coefficients(view: View) -> Flags:
    """Return which coefficients (p,) are counted: all, but not the constant where effects are shown
    without penalty.
    """
    return counted(view.settings, view.records)


def title(
    found: Sequence[Numbers], level: float, among: Sequence[Combination] = ()
) -> tuple[str, bool]:
    """The finding, and whether it is to be said loudly: what promises too much comes before how
    long it is.

    among: all combinations that were chosen; one that is left of several is named.
    """
    if not found:
        return "At these settings no effect can be reported", True
    labels = distinguishing_labels([n.combination for n in found], among)
    is_one = max(len(found), len(among)) < 2
    short = min(found, key=lambda n: n.coverage)
    if short.coverage < short.least:
        way = "" if is_one else f" ({labels[found.index(short)]})"
        return (
            f"These intervals promise too much: they cover {percent(short.coverage)} where "
            f"{percent(level, 6)} is promised{way}",
            True,
        )
    if all(n.is_useless for n in found):
        least = min(found, key=lambda n: n.cost)
        return f"Too noisy to be of use: intervals {_against_plain(least)}", True
    worst, words = max(found, key=lambda n: n.n_short), effects_sentence(found, among)
    if worst.n_short:
        way = "" if len(found) < 2 else f" ({labels[found.index(worst)]})"
        named = listed(list(worst.short), 2)
        return f"{words}; {worst.n_short} of {worst.n} promise too much{way}: {named}", True
    return words, False


class ReportableEffects(Protocol):
    """How many effects of a combination can be reported, n of n_all; their `cost` and `span`."""

    @property
    def combination(self) -> Combination: ...
    @property
    def n(self) -> int: ...
    @property
    def n_all(self) -> int: ...
    @property
    def cost(self) -> float: ...
    @property
    def span(self) -> tuple[float, float]: ...


def effects_sentence(found: Sequence[ReportableEffects], among: Sequence[Combination] = ()) -> str:
    """How many effects can be reported, where that is not all, and what privacy costs those."""
    said = [n.combination for n in found]
    if len(found) == 1 and is_spread(*found[0].span):
        costs = f"Privacy makes intervals {span_words(*found[0].span)}"
    else:
        costs = length_ratio_sentence(said, [n.cost for n in found], among)
    is_left = len(found) == 1 < len(among)
    way = f" ({distinguishing_labels(said, among)[0]})" if is_left else ""
    first = min(found, key=lambda n: n.n)
    if first.n == first.n_all:
        return f"{costs}{way}"
    if len(found) > 1:
        return f"{costs}; not every effect can be reported"
    kind = "its interval is" if first.n == 1 else "their intervals are"
    return (
        f"{first.n} of {first.n_all} effects can be reported; {kind} {_against_plain(first)}{way}"
    )


def length_ratio_sentence(
    combinations: Sequence[Combination],
    costs: Sequence[float],
    among: Sequence[Combination] = (),
) -> str:
    """How much longer privacy makes intervals on average.

    >>> length_ratio_sentence([Combination("pure", "output", "logistic")], [4.04])
    'Privacy makes intervals 4.0 times as long on average'
    """
    if len(costs) == 1:
        return f"Privacy makes intervals {times_as_long(costs[0])} on average"
    if len(costs) == 2:
        first, second = distinguishing_labels(combinations, among)
        once, again = map(times_as_long, costs)
        return f"Privacy makes intervals {once} ({first}) or {again} ({second}) on average"
    if not is_longer(max(costs)):
        return f"Privacy makes intervals {times_as_long(max(costs))} on average"
    return f"Privacy makes intervals {factor(min(costs))} to {times_as_long(max(costs))} on average"


_ALIKE = 1.1
"""Effects whose factors differ by less are told by their average."""


def is_spread(least: float, most: float) -> bool:
    """Whether one factor for all effects would be untrue of some."""
    return ratio(most) > _ALIKE * ratio(least)


def span_words(least: float, most: float) -> str:
    """The factors of effects that differ.

    >>> span_words(1.08, 1.63), span_words(0.99, 31.2)
    ('1.1 to 1.6 times as long', '1.0 to 31 times as long')
    """
    low, high = (f"{x:.1f}" if x < 9.95 else number(x, 2) for x in map(ratio, (least, most)))
    return f"{low} to {high} times as long"


def factor(x: float) -> str:
    """A factor in words (`ratio`).

    >>> factor(4.04), factor(31.2), factor(1.052), factor(0.98), factor(0.9)
    ('4.0', '31', '1.05', '1.00', '0.90')
    """
    x = ratio(x)
    return f"{x:.2f}" if x < 1.995 else f"{x:.1f}" if x < 9.95 else number(x, 2)


_AS_GOOD_AS_ONE = 0.95
"""Noise shortens no interval: a ratio that is as far below 1 at most is one of two estimates."""


def ratio(x: float) -> float:
    """A ratio of lengths; 1 where it is below by no more than two estimates may be apart."""
    return max(x, 1.0) if x >= _AS_GOOD_AS_ONE else x


def is_longer(cost: float) -> bool:
    """Whether a factor is told as one."""
    return factor(cost) != "1.00"


def times_as_long(cost: float) -> str:
    """How long against the same without privacy, to stand after "intervals"."""
    return f"{factor(cost)} times as long" if is_longer(cost) else "hardly longer"


def _against_plain(found: ReportableEffects) -> str:
    if is_spread(*found.span):
        return f"{span_words(*found.span)} as without privacy"
    as_or_than = "as" if is_longer(found.cost) else "than"
    return f"{times_as_long(found.cost)} {as_or_than} without privacy"


def percent(share: float, digits: int = 3) -> str:
    """A share with a space that does not break.

    >>> percent(0.95).encode()
    b'95.0\\xe2\\x80\\xaf%'
    """
    shown = f"{100 * share:.1f}" if digits == 3 else f"{100 * share:g}"
    return f"{shown}\N{NARROW NO-BREAK SPACE}%"


def numbers_table(
    found: Sequence[Numbers],
    styles: Sequence[Style],
    *,
    is_odds: bool,
    among: Sequence[Combination] = (),
) -> Table:
    """One row for each combination, which is also the key of the chart's colours; of odds ratios,
    whose lengths have no mean, what privacy costs and how often they are right.
    """
    rows = []
    labels = distinguishing_labels([n.combination for n in found], among)
    for k, (n, way) in enumerate(zip(found, labels, strict=True)):
        cells = {
            "": Cell(text=way, style=styles[1 + 2 * n.place]),
            "mean length": Cell(text=number(n.private), is_bold=True, live=f"length {k}"),
            "÷ without privacy": Cell(text=cost_words(n), live=f"cost {k}"),
            "÷\N{NO-BREAK SPACE}variability": Cell(
                text=f"{ratio(n.private / n.spread):.2f}×", live=f"ratio {k}"
            ),
            "coverage": Cell(
                text=percent(n.coverage),
                live=f"coverage {k}",
                is_loud=n.coverage < n.least or n.n_short > 0,
            ),
        }
        if is_odds:
            del cells["mean length"], cells["÷\N{NO-BREAK SPACE}variability"]
        rows.append(cells)
    return Table(head=tuple(rows[0]), rows=tuple(tuple(row.values()) for row in rows))


def cost_words(n: ReportableEffects) -> str:
    """What privacy costs, and of how many effects that is the average where it is not of all."""
    of = "" if n.n == n.n_all else f" ({n.n} of {n.n_all} effects)"
    return f"{factor(n.cost)}×{of}"


def live_cells(
    private: Sequence[Array], spread: Sequence[Array], found: Sequence[ReportableEffects]
) -> dict[str, str]:
    """Return the cells of the table in one frame of the animation; coverage is not known there."""
    cells = {}
    for k, (ci, vi, reach) in enumerate(zip(private, spread, found, strict=True)):
        cells[f"length {k}"] = number(float(ci.mean()))
        cells[f"cost {k}"] = cost_words(reach)
        cells[f"ratio {k}"] = f"{ratio(float(ci.mean() / vi.mean())):.2f}×"
    return cells


def footer(view: View) -> str:
    """Data, settings, and that it is a forecast."""
    kind = {
        "simulated": "made-up people",
        "public": "public data",
        "declared public": "your file, declared public",
        "declared synthetic": "your file, declared synthetic",
    }[view.records.source]
    return f"{text.assumptions(view.effective_settings, view.records)}. {kind.capitalize()}."


def odds(settings: Settings) -> str:
    """What the budget lets somebody learn, which is what the name of it means; in the paper's terms
    also as which amount it counts.
    """
    said = (text.risk_sentence if settings.is_plain else text.budget_sentence)(settings)
    return f"Differential privacy: {text.lowered(said)}".replace("**", "")


def curve_title(curve: SweepCurve, name: str, here: float) -> str:
    """What one control does to the length of the first combination."""
    finite, firm = np.isfinite(curve.ci_length), curve.is_firm
    if not firm.any():
        return "No length here can be relied on"
    x, y = curve.x[finite], curve.ci_length[finite]
    labels = {"c": "c = ", "h": "h = ", "n": "n = ", "total": "a budget of "}
    if name in ("total", "n"):
        is_last = 2 * here > x[-1] * (1 + 1e-9)
        there = here / 2 if is_last else 2 * here
        if min(here, there) < x[0]:  # more never makes them longer: none is best
            return f"There are intervals from {labels[name]}{number(float(curve.x[firm][0]), 2)} on"
        lengths = np.exp(np.interp(np.log([here, there]), np.log(x), np.log(y)))
        gain = abs(1.0 - float(lengths[1] / lengths[0]))
        times, changes = ("Half", "longer") if is_last else ("Twice", "shorter")
        what = "the budget" if name == "total" else "as many records"
        if gain > 0.005:
            return f"{times} {what} would make intervals {_whole(gain)} {changes}"
        return f"{times} {what} would not make intervals {changes}"
    if name == "d":
        grows = times_as_long(float(y[-1] / y[0]))
        return f"From {x[0]:g} to {x[-1]:g} features the interval becomes {grows}"
    best = curve.x[firm][np.argmin(curve.ci_length[firm])]
    label = labels.get(name, "a share of ")
    unit = "" if name in labels else "\N{NARROW NO-BREAK SPACE}%"
    return f"Intervals are shortest at {label}{number(float(best), 2)}{unit}"


def _whole(share: float) -> str:
    return f"{100 * share:.0f}\N{NARROW NO-BREAK SPACE}%"


def coverage_title(found: Sequence[Numbers], level: float) -> tuple[str, bool]:
    """How often the intervals contain what they are for."""
    if not found:
        return "At these settings no effect can be reported", True
    low, high = (end(n.coverage for n in found) for end in (min, max))
    worst = max(found, key=lambda n: n.n_short)
    n_short = worst.n_short
    least, most = percent(low), percent(high)
    span = most if least == most else f"{100 * low:.1f} to {most}"
    promised = f"where {percent(level, 6)} is promised"
    if n_short:
        named = listed(list(worst.short), 2)
        return (
            f"{n_short} of {worst.n} intervals cover too rarely ({named}): {span} on average "
            f"{promised}",
            True,
        )
    return f"Intervals cover {span} on average {promised}", False
