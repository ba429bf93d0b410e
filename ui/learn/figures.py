"""The pictures of Learn: a screen's numbers in, a Plotly figure or the frames of an animation out.
No Streamlit, no maths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import plotly.graph_objects as go

from ui.kit import live
from ui.kit.palette import BLUE, GREEN, GRID, ORANGE, QUIET
from ui.kit.ticks import logarithmic
from ui.learn.model import Control
from ui.learn.numbers import Numbers
from ui.session.text import number

PRIVATE, OTHER, THIRD = BLUE, ORANGE, GREEN
_DASHES = ("solid", "dash", "dot")
_MARKERS = ("circle", "diamond", "square")


def _axes(
    fig: go.Figure, x: str, y: str = "", *, x_log: bool = False, y_log: bool = False
) -> go.Figure:
    kinds = {True: "log", False: "linear"}
    fig.update_xaxes(
        title={"text": x, "standoff": 4}, type=kinds[x_log], gridcolor=GRID, zeroline=False
    )
    fig.update_yaxes(
        title={"text": y}, type=kinds[y_log], gridcolor=GRID, zeroline=False, automargin=True
    )
    if x_log:
        fig.update_xaxes(**_round_ticks(fig, "x"))
    if y_log:
        fig.update_yaxes(**_round_ticks(fig, "y"))
    return fig


def _round_ticks(fig: go.Figure, axis: str) -> dict[str, object]:
    """Ticks written out, also a little beyond what is drawn."""
    values = np.concatenate([np.asarray(trace[axis], dtype=np.float64) for trace in fig.data])
    ticks = logarithmic(values[values > 0].min() / 1.2, 1.2 * values.max())
    return {
        "tickvals": [value for value, _ in ticks],
        "ticktext": [words for _, words in ticks],
        "dtick": None,
    }


def _upright(fig: go.Figure, x: float, text: str, dash: str = "dot") -> None:
    fig.add_vline(x=x, line={"color": QUIET, "width": 2, "dash": dash}, annotation_text=text)


# --- replayed studies -----------------------------------------------------------------------------


def promise(numbers: Numbers) -> go.Figure:
    """One interval per study; those that miss the truth are thick, in another colour, and end in
    crosses.
    """
    fig = go.Figure()
    for hit, name, colour, size in (
        (True, "holds the truth", PRIVATE, 1.6),
        (False, "misses it", OTHER, 3.5),
    ):
        rows = numbers.table[numbers.table["holds the truth"] == hit]
        x = [
            v
            for low, high in zip(rows["low"], rows["high"], strict=True)
            for v in (low, high, None)
        ]
        y = [v for study in rows["study"] for v in (study, study, None)]
        marks = {"symbol": "circle" if hit else "x", "size": 0 if hit else 7, "color": colour}
        dress = {"color": colour, "width": size}
        fig.add_scatter(
            x=x, y=y, mode="lines+markers", line=dress, marker=marks, name=name, hoverinfo="skip"
        )
    _upright(fig, numbers.facts["truth"], "the truth")
    return _axes(fig, "coefficient of education", "study")


def noise(numbers: Numbers) -> go.Figure:
    """Every release as a dot, around the estimate and its band of sampling error."""
    fig = go.Figure()
    centre, sd = numbers.facts["estimate"], numbers.facts["sampling_sd"]
    fig.add_vrect(
        x0=centre - 1.96 * sd, x1=centre + 1.96 * sd, fillcolor=QUIET, opacity=0.25, line_width=0
    )
    fig.add_scatter(
        x=numbers.table["published"],
        y=numbers.table["release"],
        mode="markers",
        marker={"color": PRIVATE, "size": 7, "opacity": 0.8},
        name="one release (grey band: sampling error, 95 %)",
    )
    _upright(fig, centre, "without noise")
    return _axes(fig, "published coefficient of education", "release")


def spread(numbers: Numbers) -> go.Figure:
    """The estimates of all studies, and under them the three intervals drawn to the same scale."""
    fig = go.Figure()
    facts, table = numbers.facts, numbers.table
    for inside, name, symbol, colour in (
        (True, "inside", "circle", PRIVATE),
        (False, "outside", "x", OTHER),
    ):
        rows = table[table["inside the variability interval"] == inside]
        marks = {"color": colour, "symbol": symbol, "size": 6, "opacity": 0.8}
        fig.add_scatter(
            x=rows["published"],
            y=rows["study"],
            mode="markers",
            marker=marks,
            name=f"private estimate, {name}",
        )
    bars = (
        ("non-private interval", "plain", -8, QUIET, 3),
        ("variability interval", "vi", -16, PRIVATE, 5),
    )
    for name, key, y, colour, size in (*bars, ("private interval", "ci", -24, THIRD, 11)):
        ends = [facts["truth"] - facts[key] / 2, facts["truth"] + facts[key] / 2]
        fig.add_scatter(
            x=ends, y=[y, y], mode="lines", line={"color": colour, "width": size}, name=name
        )
    _upright(fig, facts["truth"], "the truth")
    fig.update_yaxes(tickvals=[1, 50, 100])
    return _axes(fig, "coefficient of education", "study")


def promise_animation(compute: Callable[[float], Numbers]) -> Callable[[Control], live.Animation]:
    """The intervals of all studies stretch as the level moves."""

    def make(control: Control) -> live.Animation:
        found = [compute(value) for value in control.values]
        frames = []
        for numbers in found:
            rows = zip(
                *(numbers.table[c] for c in ("study", "low", "high", "holds the truth")),
                strict=True,
            )
            bars = tuple(
                (float(y), float(low), float(high), 0 if hit else 1) for y, low, high, hit in rows
            )
            words = (
                f"{control.show(numbers.value)}: {numbers.facts['hits']:.0f} of {len(bars)} hold "
                "the truth"
            )
            frames.append(live.Frame(words, bars))
        widest = found[-1].table
        return live.Animation(
            frames=tuple(frames),
            strokes=(live.Stroke(PRIVATE, 1.6), live.Stroke(OTHER, 3.5)),
            x_title="coefficient of education",
            span=(float(widest["low"].min()), float(widest["high"].max())),
            rows=(-2.0, 103.0),
            lines=(found[0].facts["truth"],),
        )

    return make


def noise_animation(compute: Callable[[float], Numbers]) -> Callable[[Control], live.Animation]:
    """The releases draw together as the budget grows; the axis is that of the middle position."""

    def make(control: Control) -> live.Animation:
        found = [compute(value) for value in control.values]
        frames = []
        for numbers in found:
            rows = zip(numbers.table["published"], numbers.table["release"], strict=True)
            dots = tuple((float(x), float(y), 0) for x, y in rows)
            words = (
                f"{control.show(numbers.value)}: noise ±{number(numbers.facts['noise_sd'], 2)} "
                "(one sd)"
            )
            frames.append(live.Frame(words, dots=dots))
        middle = found[len(found) // 2].table["published"]
        reach = 1.2 * float((middle - found[0].facts["estimate"]).abs().max())
        centre = found[0].facts["estimate"]
        return live.Animation(
            frames=tuple(frames),
            strokes=(live.Stroke(PRIVATE, 7.0, 0.8),),
            x_title="published coefficient of education",
            span=(centre - reach, centre + reach),
            rows=(-2.0, 103.0),
            lines=(centre,),
        )

    return make


# --- one person -----------------------------------------------------------------------------------


def neighbours(numbers: Numbers) -> go.Figure:
    """A dot per person, below the bound that holds for everybody."""
    fig = go.Figure()
    x, y = (numbers.table[c] for c in ("person replaced", "coefficients move by"))
    fig.add_scatter(
        x=x, y=y, mode="markers", marker={"color": PRIVATE, "size": 9}, name="one person replaced"
    )
    limit, dress = [numbers.facts["bound"]] * 2, {"color": OTHER, "width": 2.5, "dash": "dash"}
    fig.add_scatter(
        x=[0, len(x) + 1], y=limit, mode="lines", line=dress, name="nobody can move them further"
    )
    _axes(fig, "person", "how far the coefficients move", y_log=True)
    reach = [np.log10(y[y > 0].min()) - 0.2, np.log10(limit[0]) + 0.2]
    return fig.update_yaxes(range=reach)


def odds(numbers: Numbers) -> go.Figure:
    """Sure after against sure before, and the diagonal of learning nothing."""
    fig = go.Figure()
    before, after = (numbers.table[c] for c in numbers.table.columns)
    fig.add_scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        line={"color": QUIET, "dash": "dash"},
        name="learns nothing",
    )
    line, marks = {"color": PRIVATE, "width": 3}, {"size": 7}
    fig.add_scatter(
        x=before,
        y=after,
        mode="lines+markers",
        cliponaxis=False,
        line=line,
        marker=marks,
        name="at most so sure afterwards",
    )
    even = numbers.facts["even"]
    fig.add_scatter(
        x=[0.5],
        y=[even],
        mode="markers",
        marker={"color": OTHER, "size": 13},
        name="from an even guess",
    )
    _axes(fig, "how sure before", "how sure after, at most")
    fig.update_xaxes(tickformat=".0%", range=[0, 1.04], dtick=0.2)
    return fig.update_yaxes(tickformat=".0%", range=[0, 1.02])


def clouds(numbers: Numbers) -> go.Figure:
    """Both mechanisms' releases in the plane of the two coefficients."""
    fig = go.Figure()
    for place, (name, rows) in enumerate(numbers.table.groupby("mechanism", sort=True)):
        marks = {
            "color": (PRIVATE, OTHER)[place],
            "symbol": ("circle", "diamond")[place],
            "size": 7,
            "opacity": 0.7,
        }
        fig.add_scatter(
            x=rows["education"], y=rows["intercept"], mode="markers", marker=marks, name=str(name)
        )
    centre = {"x": [numbers.facts["education"]], "y": [numbers.facts["intercept"]]}
    fig.add_scatter(
        **centre,
        mode="markers",
        marker={"symbol": "cross", "size": 15, "color": THIRD},
        name="exact",
    )
    _axes(fig, "coefficient of education", "intercept")
    return fig.update_yaxes(scaleanchor="x", scaleratio=1)


def peeking(numbers: Numbers) -> go.Figure:
    """The budget that each possible record of one person leads to."""
    fig = go.Figure()
    person, picked = (numbers.table[c] for c in numbers.table.columns)
    marks = {"color": PRIVATE, "size": 12}
    fig.add_scatter(
        x=picked, y=person, mode="markers", marker=marks, name="budget picked if that is the record"
    )
    _axes(fig, "budget ε that the rule picks", "possible record of one person")
    return fig.update_yaxes(dtick=1)


# --- lines along a control ------------------------------------------------------------------------


def lines(
    x_title: str,
    y_title: str,
    *,
    x_log: bool = True,
    y_log: bool = True,
    at: bool = True,
    names: Sequence[str] = (),
) -> Callable[[Numbers], go.Figure]:
    """The columns of the table over its first one; `at` marks the control's value on the axis."""

    def make(numbers: Numbers) -> go.Figure:
        fig, table = go.Figure(), numbers.table
        x = table[table.columns[0]]
        for place, name in enumerate(table.columns[1:]):
            colour = (PRIVATE, OTHER, QUIET)[place]
            fig.add_scatter(
                x=x,
                y=table[name],
                mode="lines+markers",
                line={"color": colour, "width": 3 - place / 2, "dash": _DASHES[place]},
                marker={"symbol": _MARKERS[place], "size": 7},
                name=names[place] if names else f"{name} interval",
            )
        if at:
            fig.add_vline(x=numbers.value, line={"color": QUIET, "width": 2, "dash": "dot"})
            where = float(np.log10(numbers.value)) if x_log else numbers.value
            end = "right" if numbers.value > float(x.median()) else "left"
            fig.add_annotation(
                text="you are here", x=where, y=0.97, yref="paper", xanchor=end, showarrow=False
            )
        return _axes(fig, x_title, y_title, x_log=x_log, y_log=y_log)

    return make
