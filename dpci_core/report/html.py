"""Self-contained pages for other people: a skeleton, a table and an interval chart, with no script
and no link.

Templates are in `dpci_core/report/templates`; everything that enters one is escaped. A page is one
file: styles and pictures are inside, and its content policy forbids the browser to load or run
anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpci_core.base.errors import check_count

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

Bounds = tuple[float, float]

_WIDTH = 440
_AXIS = 34
"""Height under the last row, for ticks, their numbers and what is measured."""
_KEY = 22
"""Height of the key above the first row."""
_TICKS = 7
_CHARACTER = 0.56
"""Mean width of a character against the size of the font, for room and for shortening labels."""
_LABEL_SHARE = 0.42
"""The widest that labels may get, of the width of the chart."""


@dataclass(frozen=True, slots=True)
class Line:
    """How a series is drawn: it can be told by its colour, by its dashes, and by its width."""

    colour: str
    dashes: str
    width: float


LINES = (
    Line("#0072b2", "", 3.4),
    Line("#d55e00", "7 3", 2.4),
    Line("#3d3d3d", "2 2.5", 2.2),
    Line("#007a5a", "9 3 2 3", 2.4),
)
"""One for each series, at most so many; distinct under every common colour blindness and in
grey.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class IntervalRow:
    """A row of an interval chart: a label, a mark (an estimate, or the centre), and an interval or
    None a series.

    series: the place of the series of each interval, where a series has several in a row; default
    one each.
    """

    label: str
    centre: float | None = None
    intervals: tuple[Bounds | None, ...]
    series: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        ends = [end for bounds in self.intervals if bounds is not None for end in bounds]
        if self.centre is not None:
            ends.append(self.centre)
        if not all(map(math.isfinite, ends)):
            raise ValueError(f"Expected finite ends and centre in row {self.label!r}.")
        if any(bounds is not None and bounds[0] > bounds[1] for bounds in self.intervals):
            raise ValueError(f"Expected low <= high in every interval of row {self.label!r}.")


def render(template: str, **values: Any) -> str:
    """Return a template of `dpci_core/report/templates` filled in; texts are escaped, an unknown
    name raises.
    """
    return _environment().get_template(template).render(**values)


def table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    caption: str = "",
    numeric_from: int = 1,
) -> Markup:
    """Return a table with escaped cells; columns from `numeric_from` on are set to the right.

    A cell with only empty ones behind it is a remark, and reaches over them.

    Raises:  ValueError if a row has another number of cells than there are columns.
    """
    for index, row in enumerate(rows):
        if len(row) != len(columns):
            raise ValueError(f"Expected {len(columns)} cells in row {index}, got {len(row)}.")
    kept = [
        tuple(row[: 1 + max(j for j, x in enumerate(row) if x != "" or j == 0)]) for row in rows
    ]
    return _marked(
        "table.html", columns=columns, rows=kept, caption=caption, numeric_from=numeric_from
    )


def interval_chart(
    rows: Sequence[IntervalRow],
    *,
    series: Sequence[str],
    title: str,
    description: str,
    axis: str = "",
    is_odds: bool = False,
) -> Markup:
    """Return intervals as an inline SVG picture on a light background, with zero marked where it is
    in sight.

    Args:
        rows: at least one, top down; each with one interval a series.
        series: names for the key, at most `len(LINES)`.
        title, description: what a screen reader says: what is shown, and what can be seen.
        axis: what is measured.
        is_odds: whether ends are log odds that are shown as factors on the odds, on a logarithmic
            axis with 1 in sight.

    Raises:  ValueError naming the row whose number of intervals is not that of the series.
    """
    check_count(rows=len(rows), series=len(series))
    if len(series) > len(LINES):
        raise ValueError(f"Expected at most {len(LINES)} series, got {len(series)}.")
    for row in rows:
        if len(row.intervals) != len(row.series or series):
            raise ValueError(
                f"Expected {len(series)} intervals in row {row.label!r}, got {len(row.intervals)}."
            )
    return _marked(
        "intervals.svg",
        title=title,
        description=description,
        axis=axis,
        **_layout(rows, series, is_odds=is_odds),
    )


def _marked(template: str, **values: Any) -> Markup:
    from markupsafe import Markup

    return Markup(render(template, **values))


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _layout(rows: Sequence[IntervalRow], series: Sequence[str], *, is_odds: bool) -> dict[str, Any]:
    """Every position of the picture, rounded to a tenth."""
    n_lanes = max(len(row.intervals) for row in rows)
    lane = 7.0 if len(rows) * n_lanes <= 50 else 4.2
    size = 12.0 if lane > 5 or n_lanes > len(LINES) else 10.0
    height = max(lane * (n_lanes + 1.2), 1.25 * size)
    left = 12 + min(_LABEL_SHARE * _WIDTH, max(len(row.label) for row in rows) * _CHARACTER * size)
    low, high = _range(rows)
    if is_odds:
        low, high = min(low, -0.05 * (high - low)), max(high, 0.05 * (high - low))
    scale = (_WIDTH - 16 - left) / (high - low)

    def x(value: float) -> float:
        return round(left + (value - low) * scale, 1)

    drawn = []
    for index, row in enumerate(rows):
        top = _KEY + index * height
        first = top + (height - lane * (len(row.intervals) - 1)) / 2.0
        places = [round(first + k * lane, 1) for k in range(len(row.intervals))]
        kinds = row.series or range(len(series))
        drawn.append(
            {
                "label": _shortened(row.label, left - 12, size),
                "full": row.label,
                "middle": round(top + height / 2.0, 1),
                "top": round(top + 2.0, 1),
                "bottom": round(top + height - 2.0, 1),
                "centre": None if row.centre is None else x(row.centre),
                "lines": [
                    (x(bounds[0]), x(bounds[1]), y, LINES[k])
                    for k, bounds, y in zip(kinds, row.intervals, places, strict=True)
                    if bounds is not None
                ],
            }
        )
    bottom = round(_KEY + len(rows) * height, 1)
    keys, place = [], 8.0
    for name, line in zip(series, LINES, strict=False):
        keys.append((name, place, line))
        place = round(place + 44 + len(name) * _CHARACTER * 12, 1)
    return {
        "width": _WIDTH,
        "height": round(bottom + _AXIS, 1),
        "bottom": bottom,
        "left": round(left, 1),
        "right": _WIDTH - 16,
        "size": size,
        "rows": drawn,
        "keys": keys,
        "ticks": [(x(tick), text) for tick, text in _told_ticks(low, high, is_odds=is_odds)],
        "zero": x(0.0) if low <= 0.0 <= high else None,
        "top": _KEY,
    }


def _range(rows: Sequence[IntervalRow]) -> Bounds:
    """What the axis spans: every end and centre with a little air."""
    ends = [end for row in rows for bounds in row.intervals if bounds is not None for end in bounds]
    ends += [row.centre for row in rows if row.centre is not None]
    low, high = min(ends, default=-1.0), max(ends, default=1.0)
    air = 0.03 * (high - low) or 0.5 * (abs(low) or 1.0)
    return low - air, high + air


def _told_ticks(low: float, high: float, *, is_odds: bool) -> list[tuple[float, str]]:
    """Places on the axis with what stands there; of log odds the factor on the odds."""
    if not is_odds:
        return [(tick, f"{tick:g}") for tick in ticks(low, high)]
    if high - low < _LINEAR_ODDS:
        factors = ticks(math.exp(low), math.exp(high))
    else:
        step = max(1, math.ceil((high - low) / math.log(10.0) / _TICKS))
        digits = (1, 2, 5) if high - low < _TICKS / 2.0 else (1,)
        first, last = math.floor(low / math.log(10.0)), math.ceil(high / math.log(10.0))
        powers = [e for e in range(first, last + 1) if e % step == 0]
        factors = [float(f"{digit}e{e}") for e in powers for digit in digits]
    found = [(math.log(factor), f"{factor:g}") for factor in factors if factor > 0.0]
    return [one for one in found if low <= one[0] <= high]


_LINEAR_ODDS = math.log(4.0)
"""Up to so many log odds factors at equal distances are marked, beyond it powers of ten and between
them.
"""


def ticks(low: float, high: float, most: int = _TICKS) -> list[float]:
    """Return round numbers in [low, high], at most so many, a step of 1, 2 or 5 times a power of
    ten apart.

    >>> ticks(-0.32, 1.07)
    [-0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    power = math.floor(math.log10((high - low) / most))
    for digits in (1, 2, 5, 10, 20):
        step = digits * 10.0**power
        first, last = math.ceil(low / step), math.floor(high / step)
        if last - first < most:
            break
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def _shortened(label: str, room: float, size: float) -> str:
    """A label that fits, cut in the middle where names differ least often."""
    most = max(4, int(room / (_CHARACTER * size)))
    if len(label) <= most:
        return label
    return f"{label[: (most - 1) // 2]}…{label[len(label) - most // 2 :]}"
