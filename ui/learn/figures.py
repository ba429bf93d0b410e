"""The pictures of Learn: a screen's numbers in, a picture out. No Streamlit, no maths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

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
_FRAME = 3.0
"""How far the clouds are drawn to all sides."""
_STUDIES = Axis(low=-2.0, high=103.0, title="study")


def _around(centre: float, reach: float, title: str) -> Axis:
    """An axis that stands still while a control moves: what grows or shrinks is then seen to."""
    return Axis(low=centre - reach, high=centre + reach, title=title)


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


def _with_open(colour: str, marker: str) -> tuple[Style, Style]:
    """Of dots in their place, and of dots that lie beyond the edge on which they are drawn."""
    style = Style(colour=colour, size=3.5, marker=marker)
    return style, replace(style, marker=f"{marker}-open")


def _across(axis: Axis, up: Axis) -> tuple[Panel]:
    return (Panel(**vars(axis) | {"up": up}),)


def _dots(x: Iterable[float], y: Iterable[float], style: int) -> list[Dot]:
    return [(float(a), float(b), style) for a, b in zip(x, y, strict=True)]


def _points(x: Iterable[float], y: Iterable[float]) -> list[Point]:
    return [(float(a), float(b)) for a, b in zip(x, y, strict=True)]


def _held(x: pd.Series, y: pd.Series, axis: Axis, up: Axis, style: int) -> tuple[list[Dot], str]:
    """Dots, those beyond an end of an axis on it and in the next style, and how many these are."""
    at = x.clip(axis.low, axis.high), y.clip(up.low, up.high)
    is_beyond = (at[0] != x) | (at[1] != y)
    dots = [
        (float(a), float(b), style + int(out)) for a, b, out in zip(*at, is_beyond, strict=True)
    ]
    return dots, f"{is_beyond.sum()} of {len(x)}"


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
    return Picture(
        panels=_across(_around(truth, 0.75, _COEFFICIENT), _STUDIES),
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
    """Every release as a dot, around the estimate and its band of sampling error; those beyond an
    end of the axis are open dots on that end.
    """
    centre, reach = numbers.facts["estimate"], 1.96 * numbers.facts["sampling_sd"]
    axis = _around(centre, 3.2, f"published {_COEFFICIENT}")
    up = Axis(low=-2.0, high=103.0, title="release")
    dots, beyond = _held(numbers.table["published"], numbers.table["release"], axis, up, 0)
    return Picture(
        panels=_across(axis, up),
        styles=(*_with_open(PRIVATE, "circle"), Style(width=12.0, opacity=0.25)),
        dots=dots,
        shades=[(centre - reach, centre + reach, "")],
        key=[
            ("dot", 0, "one release"),
            ("dot", 1, f"beyond the edge: {beyond}"),
            ("bar", 2, "sampling error, 95 %"),
        ],
        uprights=[(centre, "without noise", "")],
        alt=f"Beyond the edge of the picture: {beyond}.",
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
    ticks = [(float(study), str(study)) for study in (1, 50, 100)]
    return Picture(
        panels=_across(
            _around(truth, 2.7, _COEFFICIENT),
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
    """Both mechanisms' releases around the exact answer, the larger cloud below; those beyond the
    frame are open marks on it.
    """
    frame = Axis(low=-_FRAME, high=_FRAME)
    (objective, first), (output, second) = (
        _held(rows["education"], rows["intercept"], frame, frame, style)
        for style, (_, rows) in zip((0, 2), numbers.table.groupby("mechanism"), strict=True)
    )
    axes = (_around(0.0, 1.1 * _FRAME, f"{n}, minus exact") for n in ("education", "intercept"))
    corners = [(-1, -1), (-1, 1), (1, 1), (1, -1), (-1, -1)]
    return Picture(
        panels=_across(*axes),
        styles=(
            *_with_open(PRIVATE, "circle"),
            *_with_open(OTHER, "diamond"),
            Style(colour=THIRD, size=5.0, marker="x"),
            Style(width=1.0),
        ),
        lines=[(5, [(_FRAME * a, _FRAME * b) for a, b in corners])],
        dots=[*output, *objective, (0.0, 0.0, 4)],
        key=[
            ("dot", 0, f"objective perturbation, {first} beyond the frame"),
            ("dot", 2, f"output perturbation, {second} beyond the frame"),
            ("dot", 4, "exact"),
        ],
        is_square=True,
        alt=f"Beyond the frame: {first} under objective, {second} under output perturbation.",
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
        lengths = [numbers.facts[str(column.name)] for column in columns] if at else []
        below, bars = _below(lengths, columns[0], up) if at else ((), [])
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
                *(Style(colour=colour, width=5.0, ends=6.0) for colour in colours),
            ),
            bars=bars,
            alt="".join(f"Below, {panel.title}." for panel in below),
            lines=[(k, _points(first, column)) for k, column in enumerate(columns)],
            dots=[dot for k, column in enumerate(columns) for dot in _dots(first, column, k)],
            key=[("bar", k, name) for k, name in enumerate(called)],
            uprights=[(numbers.value, "you are here", "")] if at else [],
            hover=("x", [_row(x, called, row) for x, *row in zip(first, *columns, strict=True)]),
        )

    return make


def _below(lengths: Sequence[float], along: pd.Series, up: Axis) -> tuple[tuple[Panel], list[Bar]]:
    """Intervals of these lengths around one place, under an axis upwards that has no zero; their
    styles are those after the lines'. The scale holds along the control: where its longest would
    leave no room for the others, it ends at four times the median, and arrows lead on.
    """
    step = 0.12 * (up.high - up.low)
    reach = 0.51 * float(min(along.max(), 4.0 * along.median()))
    title, n_beyond = "these intervals, to scale", sum(length / 2 > reach for length in lengths)
    if n_beyond:
        title += f"; beyond the edge: {n_beyond} of {len(lengths)}"
    panel = Panel(low=-reach, high=reach, rows=(-step * len(lengths), 0.0), title=title)
    bars = [
        (-step * (k + 0.5), -length / 2, length / 2, k + len(lengths))
        for k, length in enumerate(lengths)
    ]
    return (panel,), bars


def _row(x: float, names: Sequence[str], row: Sequence[float]) -> tuple[float, list[str]]:
    """What is said of one place on the axis."""
    said = [f"{name}: {number(value)}" for name, value in zip(names, row, strict=True)]
    return float(x), [written(float(f"{x:.4g}")), *said]
