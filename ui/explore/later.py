"""What takes longer than a move may, and is found when nothing moves: the animation of the budget's
slider, and the best split.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpci_core import InfeasibleDesignError, StoppedError, best_split, watched
from dpci_core.base.array import Array, Flags
from dpci_core.planner.split import NoSplitError
from dpci_core.privacy.budget import PARTS
from ui.controls import currency
from ui.controls.paired import positions
from ui.controls.split import split_controls
from ui.explore import finding
from ui.explore.intervals import marks
from ui.explore.rows import rows_of
from ui.explore.totals import MOST_INTERVALS, between, free_of_total, knots_for, lengths_at
from ui.kit import again, live, streamlit_internals, turns
from ui.kit.picture import keep_animation
from ui.session import compute, state, text
from ui.session.budget import Split, split_of
from ui.session.choices import distinguishing_labels
from ui.session.results import IntervalRows
from ui.session.settings import Settings
from ui.session.words import in_words

SLIDER = "total_slider"
_WORTH = 0.01
"""A split that is shorter by less is as good."""


@dataclass(frozen=True)
class Best:
    """The best split, how much shorter it is as a share, and what it is for; words where there is
    none.
    """

    split: Split | None
    gain: float = 0.0
    words: str = ""


def here(settings: Settings) -> int:
    """The position of the budget's slider that the page stands on."""
    value, options = _positions(settings)
    return options.index(value)


def _positions(settings: Settings) -> tuple[float, list[float]]:
    value, options = positions(settings.typed_total, currency.total_grid(settings))
    return float(value), [float(x) for x in options]


def animation_version(view: compute.View, units: str) -> str:
    """What the animation of these settings depends on, in few letters: not where the
    slider stands.
    """
    ways = [outcome.combination.key for outcome in view.drawn]
    asked = free_of_total(view.settings)
    return _digest(view.records.digest, asked, units, ways, _positions(view.settings)[1])


def _digest(*what: object) -> str:
    return sha256(repr(what).encode()).hexdigest()[:16]


def beside_the_split(view: compute.View) -> DeltaGenerator:
    """The best split with its button, once known, and the amounts; where the first will stand."""
    with st.container(key="best_split", horizontal=True, vertical_alignment="center", gap="small"):
        place = st.container(
            key="best_line",
            horizontal=True,
            vertical_alignment="center",
            gap="small",
            width="content",
        )
        with st.popover("Amounts, locks", type="tertiary", key="amounts"):
            split_controls(view.settings)
    return place


def when_quiet(view: compute.View, units: str, place: DeltaGenerator) -> None:
    """Below everything else: the animation and the best split, found where they are not known
    in a run that was asked for when nothing moved. Whatever moves then comes first.

    place: where the best split is told.
    """
    split_key = ("best split", view.records.digest, repr(compute.free_of(view.settings, "sweep")))
    animation_key = ("explore", animation_version(view, units))
    version = _digest(*split_key, *animation_key)
    animations, curves = state.animations(), state.curves()
    animation = animations.peek(animation_key)
    best = curves.peek(split_key) if view.drawn else Best(None)
    if (animation is None or best is None) and again.is_asked(version):
        turns.give_way()
        with suppress(StoppedError), watched(should_stop=streamlit_internals.is_over):
            animation = animations.get(
                animation_key, lambda: _animation(view, units, animation_key[1])
            )
            best = best or curves.get(split_key, lambda: _best(view))
    elif animation is None or best is None:
        again.want(again.QUIET, version)
    if animation is not None:
        keep_animation(SLIDER, cast("dict[str, object]", animation))
    with place:
        _line(best if isinstance(best, Best) else None, view)


def _best(view: compute.View) -> Best:
    """For the mean length of the first combination that is drawn; what is locked stays."""
    outcome, now = view.drawn[0], view.settings.split
    assert outcome.moments is not None
    assert outcome.forecast is not None
    design = outcome.forecast.design
    if outcome.combination.definition != view.settings.own_definition:
        return Best(None, words="")
    parts = zip(PARTS, design.budget.parts, now.locked, strict=True)
    locked = {name: part for name, part, is_locked in parts if is_locked}
    try:
        found = best_split(outcome.moments, design=design, n_records=view.settings.n, locked=locked)
    except (NoSplitError, InfeasibleDesignError, ValueError) as problem:
        return Best(None, words=in_words(problem))
    if found.forecast.is_not_reportable.all():
        return Best(None, words="No split brings any of these coefficients within reach.")
    return Best(split_of(found.design.budget, now), found.gain)


def _line(best: Best | None, view: compute.View) -> None:
    """What the best split is and what it would bring, with a button that sets it."""
    if best is None:
        st.markdown("Looking for the best split …" if view.drawn else "")
    elif best.split is None:
        st.markdown(text.plain(best.words))
    elif best.gain < _WORTH:
        st.markdown("This is the best split, or as good.")
    else:
        labels = distinguishing_labels([o.combination for o in view.drawn])
        about = f" ({labels[0]})" if len(labels) > 1 else ""
        shares = " / ".join(f"{best.split.share(i):.2g}" for i in range(3))
        st.button(
            "Use the best split",
            key="use_split",
            on_click=lambda: state.update(split=best.split),
            help=f"{shares} %: the shortest mean interval among splits that keep the coverage of "
            "every coefficient within half a point of the level.",
        )
        st.markdown(f"**{100 * best.gain:.0f}\N{NARROW NO-BREAK SPACE}% shorter**{about}")


# --- the animation --------------------------------------------------------------------------------


def _animation(view: compute.View, units: str, version: str) -> dict[str, object]:
    """Words at every position of the slider, and the bars that move."""
    settings = view.settings
    _, options = _positions(settings)
    rows = compute.interval_rows(view, units)
    found = finding.numbers(view)
    is_drawn = bool(found) and sum(len(item.names) for item in rows) <= MOST_INTERVALS
    private, spread = _lengths(view, rows, units, np.array(options)) if is_drawn else ([], [])
    placed = (
        rows_of(rows, [""] * len(rows[0].names), is_scaled=units == "scaled") if is_drawn else None
    )
    words: list[dict[str, object] | None] = []
    bars: list[list[live.Bar] | None] = []
    for i, total in enumerate(options):
        try:
            odds = finding.odds(currency.at_total(settings, total))
        except ValueError:  # the locked parts leave nothing here
            words.append({"title": "Not possible here: let go to read why"})
            bars.append(None)
            continue
        said: dict[str, object] = {"odds": odds}
        if placed is None:  # letting go draws it
            bars.append(None)
        elif all(np.isfinite(p[i]).all() for p in (*private, *spread)):
            said |= _said(rows, finding.told(view), [p[i] for p in private], [s[i] for s in spread])
            bars.append(
                marks(
                    rows, [p[i] for p in private], [s[i] for s in spread], placed, units == "odds"
                )[0]
            )
        else:
            said["title"] = "Not possible here: let go to read why"
            bars.append(None)
        words.append(said)
    return {"version": version, "words": words} | _moving(bars)


def _lengths(
    view: compute.View, rows: list[IntervalRows], units: str, options: Array
) -> tuple[list[Array], list[Array]]:
    """Private and variability lengths at every position, interpolated between a dozen forecasts."""
    grid = currency.total_grid(view.settings)
    many = sum(len(item.names) for item in rows)
    knots = np.array(sorted({*grid[:: -(-len(grid) // knots_for(many))], grid[-1]}))
    asked = free_of_total(view.settings)
    found = [lengths_at(view, item, asked, knots, units) for item in rows]
    return (
        [between(knots, item.private, options) for item in found],
        [between(knots, item.variability, options) for item in found],
    )


def _said(
    rows: list[IntervalRows],
    told: Flags,
    private: list[Array],
    spread: list[Array],
) -> dict[str, object]:
    """The finding, the numbers and the ratios of one frame, of what can be reported here."""
    reached = [item.counts & told for item in rows]
    own, shortest, plain = (
        [x[keep] for x, keep in zip(many, reached, strict=True) if keep.any()]
        for many in (private, spread, [item.nonprivate_length for item in rows])
    )
    costs = [float(a.mean() / b.mean()) for a, b in zip(own, plain, strict=True)]
    some = [item.combination for item, keep in zip(rows, reached, strict=True) if keep.any()]
    return {
        "title": finding.cost_words(some, costs),
        "cells": finding.live_cells(own, shortest, plain),
    }


def _moving(frames: list[list[live.Bar] | None]) -> dict[str, object]:
    """Bars that stand still once, of the others where they are and their ends in every frame."""
    shown = [frame for frame in frames if frame]
    if not shown:
        return {"frames": None}
    moves = [i for i in range(len(shown[0])) if len({frame[i][1:3] for frame in shown}) > 1]
    return {
        "still": [bar for i, bar in enumerate(shown[0]) if i not in set(moves)],
        "places": [[shown[0][i][0], shown[0][i][3]] for i in moves],
        "frames": [
            frame and {"ends": [float(f"{x:.5g}") for i in moves for x in frame[i][1:3]]}
            for frame in frames
        ],
    }
