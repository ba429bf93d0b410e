"""The pictures of Learn: a screen's numbers in, a picture out. No Streamlit, no maths."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import pandas as pd

from ui.kit.palette import BLUE, GREEN, ORANGE, QUIET
from ui.kit.picture import Axis, Bar, Dot, Panel, Picture, Point, Style
from ui.kit.ticks import written
from ui.learn.numbers import N_SWAPS, Numbers
from ui.session.text import at_most, number

PRIVATE, OTHER, THIRD = BLUE, ORANGE, GREEN
_DASHES = ("", "9 4", "2 4")
_MARKERS = ("circle", "diamond", "square")
_COEFFICIENT = "coefficient of education"
_STUDIES = Axis(low=-2.0, high=103.0, title="study")


def _around(centre: float, *values: Iterable[float]) -> tuple[float, float]:
    """Ends of an axis around a centre that reaches to the next power of four beyond all values: it
    stands still while they move a little.
    """
    farthest = max(abs(float(value) - centre) for some in values for value in some)
    reach = 4.0 ** math.ceil(math.log(1.02 * farthest, 4.0))
    return centre - reach, centre + reach


def _beyond(
    values: Sequence[float], title: str, *, is_log: bool = False, room: float = 0.05
) -> Axis:
    """An axis that goes a little beyond values on both sides."""
    low, high = min(values), max(values)
    if is_log:
        more = (high / low) ** room
        return Axis(low=low / more, high=high * more, is_log=True, title=title)
    more = room * ((high - low) or abs(high))
    return Axis(low=low - more, high=high + more, title=title)


def _across(axis: Axis, up: Axis) -> tuple[Panel]:
    return (Panel(**vars(axis) | {"up": up}),)


def _dots(x: Iterable[float], y: Iterable[float], style: int) -> list[Dot]:
    return [(float(a), float(b), style) for a, b in zip(x, y, strict=True)]


def _points(x: Iterable[float], y: Iterable[float]) -> list[Point]:
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


# --- replayed studies -----------------------------------------------------------------------------


def promise(numbers: Numbers) -> Picture:
    """One interval per study; those that miss the truth are thick, in another colour, and end in
    crosses.
    """
    table, truth = numbers.table, numbers.facts["truth"]
    rows = zip(
        *(table[c] for c in ("study", "low", "high", "holds the truth")),
        strict=True,
    )
    missed = table[~table["holds the truth"]]
    low, high = _around(truth, table["low"], table["high"])
    return Picture(
        panels=_across(Axis(low=low, high=high, title=_COEFFICIENT), _STUDIES),
        styles=(
            Style(colour=PRIVATE, width=1.6),
            Style(colour=OTHER, width=3.5, marker="x", size=3.5),
        ),
        bars=[(float(y), float(a), float(b), int(not hit)) for y, a, b, hit in rows],
        dots=[d for end in ("low", "high") for d in _dots(missed[end], missed["study"], 1)],
        key=[("bar", 0, "holds the truth"), ("bar", 1, "misses it")],
        uprights=[(truth, "the truth", "")],
    )


def noise(numbers: Numbers) -> Picture:
    """Every release as a dot, around the estimate and its band of sampling error."""
    centre, reach = numbers.facts["estimate"], 1.96 * numbers.facts["sampling_sd"]
    x, y = (numbers.table[c] for c in ("published", "release"))
    low, high = _around(centre, x, [centre + reach])
    return Picture(
        panels=_across(
            Axis(low=low, high=high, title=f"published {_COEFFICIENT}"),
            Axis(low=-2.0, high=103.0, title="release"),
        ),
        styles=(Style(colour=PRIVATE, size=3.5),),
        dots=_dots(x, y, 0),
        shades=[(centre - reach, centre + reach, "sampling error, 95 %")],
        key=[("dot", 0, "one release")],
        uprights=[(centre, "without noise", "")],
    )


def spread(numbers: Numbers) -> Picture:
    """The estimates of all studies, and under them the three intervals drawn to the same scale."""
    facts, table = numbers.facts, numbers.table
    truth, inside = facts["truth"], table["inside the variability interval"]
    lengths = [facts[key] for key in ("non-private", "variability", "private")]
    bars = [
        (y, truth - length / 2, truth + length / 2, kind)
        for kind, (y, length) in enumerate(zip((-8.0, -16.0, -24.0), lengths, strict=True), start=2)
    ]
    low, high = _around(truth, table["published"], [end for bar in bars for end in bar[1:3]])
    ticks = [(float(study), str(study)) for study in (1, 50, 100)]
    return Picture(
        panels=_across(
            Axis(low=low, high=high, title=_COEFFICIENT),
            Axis(low=-30.0, high=103.0, title="study", ticks=ticks),
        ),
        styles=(
            Style(colour=PRIVATE, size=3.0),
            Style(colour=OTHER, size=3.0, marker="x"),
            Style(colour=QUIET, width=3.0),
            Style(colour=PRIVATE, width=5.0),
            Style(colour=THIRD, width=11.0),
        ),
        bars=bars,
        dots=[
            dot
            for kind, rows in enumerate((table[inside], table[~inside]))
            for dot in _dots(rows["published"], rows["study"], kind)
        ],
        key=[
            ("dot", 0, "private estimate, inside"),
            ("dot", 1, "outside"),
            ("bar", 2, "non-private interval"),
            ("bar", 3, "variability interval"),
            ("bar", 4, "private interval"),
        ],
        uprights=[(truth, "the truth", "")],
    )


# --- one person -----------------------------------------------------------------------------------


def neighbours(numbers: Numbers) -> Picture:
    """A dot per person, below the bound that holds for everybody."""
    x, y = (numbers.table[c] for c in ("person replaced", "coefficients move by"))
    bound = numbers.facts["bound"]
    up = Axis(low=4e-4, high=7.0, is_log=True, title="how far the coefficients move")
    end = N_SWAPS + 1.0
    return Picture(
        panels=_across(Axis(low=0.0, high=end, title="person"), up),
        styles=(Style(colour=PRIVATE), Style(colour=OTHER, width=2.5, dash="9 4")),
        dots=_dots(x[y > 0], y[y > 0], 0),
        lines=[(1, [(0.0, bound), (end, bound)])],
        key=[("dot", 0, "one person replaced"), ("bar", 1, "nobody can move them further")],
        hover=(
            "x",
            [
                (float(a), [f"person {a}", f"moves them by {number(b)}"])
                for a, b in zip(x, y, strict=True)
            ],
        ),
    )


def odds(numbers: Numbers) -> Picture:
    """Sure after against sure before, and the diagonal of learning nothing."""
    before, after = (numbers.table[c] for c in numbers.table.columns)
    ticks = [(share / 100, f"{share} %") for share in range(0, 101, 20)]
    return Picture(
        panels=_across(
            Axis(low=0.0, high=1.04, title="how sure before", ticks=ticks),
            Axis(low=0.0, high=1.04, title="how sure after, at most", ticks=ticks),
        ),
        styles=(
            Style(dash="9 4"),
            Style(colour=PRIVATE, width=3.0, size=3.5),
            Style(colour=OTHER, size=6.5),
        ),
        lines=[(0, [(0.0, 0.0), (1.0, 1.0)]), (1, _points(before, after))],
        dots=[*_dots(before, after, 1), (0.5, numbers.facts["even"], 2)],
        key=[
            ("bar", 0, "learns nothing"),
            ("bar", 1, "maximum certainty afterwards"),
            ("dot", 2, "from an even guess"),
        ],
        hover=(
            "x",
            [
                (float(a), [f"{100 * a:.3g} % before", f"at most {at_most(b)} after"])
                for a, b in zip(before, after, strict=True)
            ],
        ),
    )


def clouds(numbers: Numbers) -> Picture:
    """Both mechanisms' releases in the plane of the two coefficients."""
    exact = [numbers.facts[name] for name in ("education", "intercept")]
    groups = [rows for _, rows in numbers.table.groupby("mechanism", sort=True)]
    found = pd.concat(groups)
    apart = [*(found["education"] - exact[0]), *(found["intercept"] - exact[1])]
    low, high = _around(0.0, apart)
    return Picture(
        panels=_across(
            Axis(low=exact[0] + low, high=exact[0] + high, title=_COEFFICIENT),
            Axis(low=exact[1] + low, high=exact[1] + high, title="intercept"),
        ),
        styles=(
            Style(colour=PRIVATE, size=3.5),
            Style(colour=OTHER, size=3.5, marker="diamond"),
            Style(colour=THIRD, size=7.0, marker="x"),
        ),
        dots=[
            *(
                d
                for k, rows in enumerate(groups)
                for d in _dots(rows["education"], rows["intercept"], k)
            ),
            (exact[0], exact[1], 2),
        ],
        key=[
            *(("dot", k, str(rows["mechanism"].iloc[0])) for k, rows in enumerate(groups)),
            ("dot", 2, "exact"),
        ],
        is_square=True,
    )


def peeking(numbers: Numbers) -> Picture:
    """The budget that each possible record of one person leads to."""
    person, picked = (numbers.table[c] for c in numbers.table.columns)
    ticks = [(float(k), str(k)) for k in person]
    up = Axis(low=0.5, high=len(person) + 0.5, title="possible record of one person", ticks=ticks)
    return Picture(
        panels=_across(_beyond([*picked], "budget ε that the rule picks"), up),
        styles=(Style(colour=PRIVATE, size=6.0),),
        dots=_dots(picked, person, 0),
        key=[("dot", 0, "budget picked if that is the record")],
        hover=(
            "y",
            [
                (float(k), [f"record {k}", f"ε = {e:g}"])
                for k, e in zip(person, picked, strict=True)
            ],
        ),
    )


# --- lines along a control ------------------------------------------------------------------------


def lines(
    x_title: str,
    y_title: str,
    *,
    x_log: bool = True,
    y_log: bool = True,
    at: bool = True,
    names: Sequence[str] = (),
    reach: Sequence[float] = (),
) -> Callable[[Numbers], Picture]:
    """The columns of the table over its first one; `at` marks the control's value on the axis, and
    the intervals at that value lie below, to scale. `reach` is for the axis upwards of a table that
    the control changes.
    """

    def make(numbers: Numbers) -> Picture:
        first, *columns = (numbers.table[name] for name in numbers.table.columns)
        called = names or [f"{column.name} interval" for column in columns]
        up = _beyond(reach or [*pd.concat(columns)], y_title, is_log=y_log)
        panels = _across(_beyond([*first], x_title, is_log=x_log, room=0.03), up)
        colours = (PRIVATE, OTHER, QUIET)[: len(columns)]
        below, bars = _below([numbers.facts[str(c.name)] for c in columns], up) if at else ((), [])
        return Picture(
            panels=(*panels, *below),
            styles=(
                *(
                    Style(
                        colour=colour,
                        width=3.0 - k / 2,
                        dash=_DASHES[k],
                        marker=_MARKERS[k],
                        size=3.5,
                    )
                    for k, colour in enumerate(colours)
                ),
                *(Style(colour=colour, width=8.0) for colour in colours),
            ),
            bars=bars,
            lines=[(k, _points(first, column)) for k, column in enumerate(columns)],
            dots=[dot for k, column in enumerate(columns) for dot in _dots(first, column, k)],
            key=[("bar", k, name) for k, name in enumerate(called)],
            uprights=[(numbers.value, "you are here", "")] if at else [],
            hover=("x", [_row(x, called, row) for x, *row in zip(first, *columns, strict=True)]),
        )

    return make


def _below(lengths: Sequence[float], up: Axis) -> tuple[tuple[Panel], list[Bar]]:
    """Intervals of these lengths around one place, under an axis upwards that has no zero; their
    styles are those after the lines'.
    """
    step = 0.12 * (up.high - up.low)
    low, high = _around(0.0, [max(lengths) / 2])
    panel = Panel(
        low=low, high=high, rows=(-step * len(lengths), 0.0), title="these intervals, to scale"
    )
    bars = [
        (-step * (k + 0.5), -length / 2, length / 2, k + len(lengths))
        for k, length in enumerate(lengths)
    ]
    return (panel,), bars


def _row(x: float, names: Sequence[str], row: Sequence[float]) -> tuple[float, list[str]]:
    """What is said of one place on the axis."""
    said = [f"{name}: {number(value)}" for name, value in zip(names, row, strict=True)]
    return float(x), [written(float(f"{x:.4g}")), *said]
