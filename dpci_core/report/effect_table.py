"""Effects as the table of a paper has them: one row each, for the step of its column, with what
privacy costs; planned or released, on pages and in reports alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dpci_core.report.html import Bounds, IntervalRow, interval_chart, table
from dpci_core.report.words import joined, many, number, number_at_most, odds_alike

PLANNED_REASON = "penalty or noise decides it, by the plan"
"""Why the effect of a penalised model is not reportable by the plan."""
DRAWN_REASON = "penalty or noise decides it, in the released matrices"
"""Why one is not that the plan called reportable."""
LARGEST_LOG_ODDS = 10.0
"""Beyond it a factor on the odds is a number that nobody can read."""
_MOST_RATIO = 100.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """What effects are told in.

    heading: over their column.  goes: what goes up or down, with its verb.  is_odds: whether they
    are factors on the odds.  is_number: whether they are differences of a number, each told with
    the decimals that its own interval needs.  planned_reason, drawn_reason: why an effect is not
    reportable by the plan, and why one is not that the plan called reportable.
    """

    heading: str
    goes: str
    is_odds: bool = False
    is_number: bool = False
    planned_reason: str = PLANNED_REASON
    drawn_reason: str = DRAWN_REASON

    @classmethod
    def of_number(cls, units: str) -> Scale:
        """That of an outcome that is a number in these units."""
        return cls(
            heading=f"Difference in {units}" if units else "Difference",
            goes="{} goes",
            is_number=True,
            planned_reason="clips or noise decide it, by the plan",
            drawn_reason="noise, or what the steps left, is most of it",
        )

    @property
    def told(self) -> str:
        """One of them in a sentence."""
        return self.heading[0].lower() + self.heading[1:]

    @property
    def sign(self) -> str:
        """Before how well one is known."""
        return "a factor of " if self.is_odds else "±"


SCALES = {
    "odds": Scale(heading="Odds ratio", goes="odds of {} go", is_odds=True),
    "score": Scale(heading="Score", goes="score for {} goes"),
}
"""Of an outcome with codes, by what the effects of a design are told in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectRow:
    """One effect for the step of its column, in log odds, or in scores or units of a number.

    name: of the effect in a sentence, like "age" or "city = b".
    label: name and step, like "age, per 10 years".
    interval: estimate, low and high; None where nothing was released yet.
    half: half the length of its interval, released or planned.
    without: the same without privacy noise; 0 of a release, whose matrices tell it too loosely.
    at_worst: the same, expected in the least favourable table that was checked; 0 where only one
        was, infinite where the effect may not be reportable in another.
    reason: why it is not reportable; empty where it is.
    """

    name: str
    label: str
    interval: tuple[float, float, float] | None
    half: float
    without: float
    at_worst: float = 0.0
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class EffectTable:
    """The effects of a plan or of a release.

    outcome: whose odds, like "sick = yes", or the number.  level: of the intervals.  scale: what
    effects are told in.  worst: of a plan the assumption under which the longest is longest; empty
    where only one table was checked.
    """

    rows: tuple[EffectRow, ...]
    outcome: str
    level: float
    scale: Scale
    worst: str = ""

    @property
    def is_odds(self) -> bool:
        """Whether effects are factors on the odds."""
        return self.scale.is_odds

    @property
    def told(self) -> tuple[EffectRow, ...]:
        """The effects that are reportable."""
        return tuple(row for row in self.rows if not row.reason)

    @property
    def is_released(self) -> bool:
        """Whether there are estimates."""
        return any(row.interval is not None for row in self.rows)

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of the columns of `cells`."""
        what = self.scale.heading
        if self.is_released:
            return "Effect", f"{what} ({100.0 * self.level:.10g} % interval)"
        within = f"{what} known to {'within × or ÷' if self.is_odds else 'within ±'}"
        if self.worst:
            worst = "Least favourable case"
            return "Effect", f"{within}, as described", "Without privacy", worst
        return "Effect", within, "Without privacy", "Times as long as without privacy"

    @property
    def cells(self) -> tuple[tuple[str, ...], ...]:
        """A row of texts for each effect, those with a factor with the same decimals; of one that
        is not reportable the reason and no number.
        """
        tell = self._teller()
        is_number = self.scale.is_number
        return tuple(
            self._cells(row, tell_alike(2.0 * row.half) if is_number and row.interval else tell)
            for row in self.rows
        )

    def _cells(self, row: EffectRow, tell: Callable[[float], str]) -> tuple[str, ...]:
        if row.reason:
            return row.label, f"not reportable: {row.reason}", *[""] * (len(self.heads) - 2)
        if row.interval is not None:
            estimate, low, high = map(tell, row.interval)
            return row.label, f"{estimate} ({low} to {high})"
        if self.worst:
            last = tell(row.at_worst) if row.at_worst < math.inf else "may not be reportable"
        else:
            ratio = row.half / row.without if row.without > 0.0 else math.inf
            last = f"{ratio:.2f}" if ratio < _MOST_RATIO else f"over {_MOST_RATIO:g}"
        return row.label, tell(row.half), tell(row.without), last

    def _teller(self) -> Callable[[float], str]:
        """How a value on the scale of the rows is told, with the same decimals in every row; a
        planned one never as less than it is.
        """
        if not self.is_odds:
            return number if self.is_released else number_at_most
        ends = (row.interval[1:] if row.interval else (-row.half, row.half) for row in self.told)
        tell = odds_alike(
            ((_factor(low), _factor(high)) for low, high in ends), is_up=not self.is_released
        )
        return lambda x: tell(_factor(x)) if abs(x) <= LARGEST_LOG_ODDS else f"e^{number(x)}"

    def html(self, *, caption: str) -> str:
        """The table for a page; an interval stays in one line."""
        cells = [
            cells if row.reason else (cells[0], *(x.replace(" ", "\u00a0") for x in cells[1:]))
            for row, cells in zip(self.rows, self.cells, strict=True)
        ]
        return table(self.heads, cells, caption=caption)

    def saying(self) -> str:
        """What can be said: after a release which way effects go, before one how well they will be
        known.
        """
        lost = joined([row.name for row in self.rows if row.reason])
        said = [self._directions() if self.is_released else self._precision()]
        if lost:
            said.append(f"Not reportable: {lost}.")
        return " ".join(filter(None, said))

    def _directions(self) -> str:
        ways: dict[str, list[str]] = {"higher": [], "lower": [], "": []}
        for row in self.told:
            assert row.interval is not None
            _, low, high = row.interval
            ways["higher" if low > 0.0 else "lower" if high < 0.0 else ""].append(row.name)
        what = self.scale.goes.format(self.outcome)
        found = [
            f"{way} {what} with {joined(ways[way])}" for way in ("higher", "lower") if ways[way]
        ]
        said = [f"{found[0][0].upper()}{'; '.join(found)[1:]}."] if found else []
        if ways[""]:
            said.append(f"The direction is not established for {joined(ways[''])}.")
        return " ".join(said)

    def _precision(self) -> str:
        if not self.told:
            return ""
        tell = self._teller()
        halves = sorted(row.half for row in self.told)
        bare = sorted(row.without for row in self.told)
        what = self.scale
        within = f"to within {what.sign}{_range(tell(halves[0]), tell(halves[-1]))}"
        without = f"without privacy {_range(tell(bare[0]), tell(bare[-1]))}"
        each = f"each {'' if len(self.told) == len(self.rows) else 'reportable '}{what.told}"
        if not self.worst:
            return f"{each[0].upper()}{each[1:]} {within}, {without}."
        sure = [row.at_worst for row in self.told if row.at_worst < math.inf]
        longest = ""
        if sure:
            which = "" if len(sure) == len(self.told) else ", of those that can be reported there"
            longest = (
                f" If {self.worst}, the longest to within {what.sign}{tell(max(sure))}{which}."
            )
        return f"If the table is as described, {each} {within}, {without}.{longest}"

    def chart(self, *, title: str, most: int | None = None) -> str:
        """The reportable effects as a picture, at most so many: released intervals, or planned
        lengths with and without privacy, which lie around nothing; empty where there is none.
        """
        told = self.told[:most]
        if not told:
            return ""
        rows = []
        for row in told:
            at, low, high = (None, 0.0, row.half) if row.interval is None else row.interval
            label = row.label if row.label.startswith(row.name) else row.name
            shown: tuple[Bounds | None, ...] = ((low, high),)
            if row.interval is None:
                shown += ((0.0, row.without),)
            if self.worst:
                shown += ((0.0, row.at_worst) if row.at_worst < math.inf else None,)
            rows.append(IntervalRow(label=label, centre=at, intervals=shown))
        level = f"{100.0 * self.level:.10g} %"
        scale = self.scale.told
        if self.is_released:
            series: tuple[str, ...] = (f"{level} interval",)
            axis, none = f"{scale}, for the step of each column", "1" if self.is_odds else "0"
            n_apart = sum(end[0] > 0.0 or end[1] < 0.0 for end in (r.intervals[0] for r in rows))  # type: ignore[index]
            exclude = "excludes" if n_apart == 1 else "exclude"
            description = f"{n_apart} of {many(len(rows), 'interval')} {exclude} {none}."
        else:
            series = (
                "with privacy",
                "without privacy",
                *(("least favourable case",) if self.worst else ()),
            )
            axis = f"{scale} known to within {self.scale.sign.strip()}"
            description = self._precision()
        return interval_chart(
            rows,
            series=series,
            title=title,
            description=description,
            axis=axis,
            is_odds=self.is_odds,
        )


def tell_alike(length: float) -> Callable[[float], str]:
    """How the numbers of one effect are told: with the decimals that the length of its interval
    needs.

    >>> tell_alike(1.8)(4.1234), tell_alike(1.8)(5.0), tell_alike(0.024)(0.052)
    ('4.1', '5.0', '0.052')
    """
    digits = max(0, 1 - math.floor(math.log10(length))) if length > 0.0 else _MOST_DIGITS
    return lambda x: f"{x:,.{digits}f}" if digits <= _MOST_DIGITS else number(x)


_MOST_DIGITS = 6


def _factor(x: float) -> float:
    """exp(x), which no end of an interval makes overflow."""
    return math.exp(min(max(x, -700.0), 700.0))


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
