"""What takes longer than a move may, and is found when nothing moves: the animation of the budget's
slider, and the best split.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from typing import cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpci_core import (
    Forecast,
    InfeasibleDesignError,
    StoppedError,
    best_split,
    forecast,
    watched,
)
from dpci_core.base.array import Array, Flags
from dpci_core.design import Design
from dpci_core.planner.search import score
from dpci_core.planner.split import NoSplitError
from dpci_core.privacy.budget import PARTS
from dpci_core.report.words import in_hundred
from dpci_core.solvers.moments import Moments
from ui.controls import currency
from ui.controls.paired import positions
from ui.controls.split import amounts
from ui.explore import finding, remedy
from ui.explore.intervals import marks, ratios
from ui.explore.rows import Rows, rows_of
from ui.explore.totals import (
    MOST_INTERVALS,
    Lengths,
    between,
    free_of_total,
    knots_for,
    lengths_at,
    nearest,
)
from ui.kit import again, streamlit_internals, turns
from ui.kit.picture import Dot, keep_animation
from ui.session import compute, state, text
from ui.session.budget import Split, from_shares, split_of
from ui.session.choices import Combination, distinguishing_labels
from ui.session.results import IntervalRows
from ui.session.settings import LIMITS, Settings
from ui.session.words import in_words

SLIDER = "total_slider"
_WORTH = 0.03
"""A split that is shorter by less is as good: fewer per cent no picture shows."""
_TOWARDS = (Decimal("0.1"), Decimal("0.2"), Decimal("0.5"))
"""So far from a split whose forecast is rough to a usual one."""
_GRADES = ("valid", "rough", "unusable")
_TIMES = (1.0, 2.0, 5.0)
"""So many times the c of a usual split are those at which the best split is looked for, where c
follows the split."""


@dataclass(frozen=True)
class Best:
    """The best split, how much shorter it makes the intervals that can be reported with both, as a
    share, and how many more coefficients can be reported and cover what they promise; words where
    there is none.
    """

    split: Split | None
    gain: float = 0.0
    more: int = 0
    words: str = ""


def here(settings: Settings) -> int:
    """The position of the budget's slider that the page stands on."""
    value, options = _positions(settings)
    return options.index(value)


def _positions(settings: Settings) -> tuple[float, list[float]]:
    value, options = positions(settings.typed_total, currency.total_grid(settings))
    return float(value), [float(x) for x in options]


def animation_version(view: compute.View, units: str) -> str:
    """What the animation of these settings depends on, in few letters: not where the slider stands,
    but for the c that is chosen there, in which what stands still is drawn.
    """
    ways = [outcome.combination.key for outcome in view.drawn]
    asked = free_of_total(view.settings)
    now = view.settings
    return digest(view.records.digest, asked, now.c, units, ways, _positions(now)[1])


def digest(*what: object) -> str:
    return sha256(repr(what).encode()).hexdigest()[:16]


def beside_the_split(view: compute.View) -> DeltaGenerator:
    """The amounts, and the best split with its button, once known; where that will stand."""
    with st.container(key="best_split", horizontal=True, vertical_alignment="center", gap="small"):
        amounts(view.settings)
        return st.container(
            key="best_line",
            horizontal=True,
            vertical_alignment="center",
            gap="small",
            width="content",
        )


def when_quiet(view: compute.View, units: str, place: DeltaGenerator) -> None:
    """Below everything else: the animation and the best split, found where they are not known
    in a run that was asked for when nothing moved.

    place: where the best split is told.
    """
    split_key = ("best split", view.records.digest, repr(compute.free_of(view.settings, "sweep")))
    animation_key = ("explore", animation_version(view, units))
    split: tuple[Wanted, ...] = ((state.curves(), split_key, lambda: _best(view)),)
    moving = (
        state.animations(),
        animation_key,
        lambda: _animation(view, units, animation_key[1]),
    )
    animation, *best = found_when_quiet(moving, *(split if view.drawn else ()))
    if animation is not None:
        keep_animation(SLIDER, cast("dict[str, object]", animation))
    with place:
        if view.drawn:
            _line(cast("Best | None", best[0]) if best else Best(None), view)
        elif (usual := remedy.usual_split(view)) is not None:
            changes = {"split": usual}
            st.button("Use the usual split", key="use_split", on_click=state.update, kwargs=changes)


Wanted = tuple[compute.LRU, Hashable, Callable[[], object]]


def found_when_quiet(*wanted: Wanted) -> list[object]:
    """What is kept under these keys; what is not is None, but where this run was asked for because
    nothing moved: then it is made. Whatever moves then comes first.
    """
    found = [store.peek(key) for store, key, _ in wanted]
    if all(one is not None for one in found):
        return found
    version = digest(*[key for _, key, _ in wanted])
    if again.is_asked(version):
        turns.give_way()
        with suppress(StoppedError), watched(should_stop=streamlit_internals.is_over):
            return [store.get(key, make) for store, key, make in wanted]
    else:
        again.want(again.QUIET, version)
    return found


def _best(view: compute.View) -> Best:
    """For the mean length of the first combination that is drawn; what is locked stays."""
    outcome, now = view.drawn[0], view.settings.split
    assert outcome.moments is not None
    assert outcome.forecast is not None
    if outcome.combination.definition != view.settings.own_definition:
        return Best(None, words="")
    counted, names = finding.counted_coefficients(view), view.records.feature_names

    def cost(made: Forecast) -> tuple[int, int, float]:
        found = finding.numbers_of(made, outcome.combination, counted, view.settings, names)
        grade = _GRADES.index(made.validity.grade)
        relied = 0 if found is None or grade else found.n - found.n_short
        return -relied, grade, score(made, made.design.confidence_level)

    try:
        tried = _splits(view, outcome)
    except (NoSplitError, InfeasibleDesignError, ValueError) as problem:
        return Best(None, words=in_words(problem))
    split, made = min(tried.items(), key=lambda one: cost(one[1]))
    if made.is_not_reportable.all():
        return Best(None, words="No split brings any of these coefficients within reach.")
    more = cost(outcome.forecast)[0] - cost(made)[0]
    both = counted & ~made.is_not_reportable & ~outcome.forecast.is_not_reportable
    gain = 0.0
    if both.any():
        gain = float(1.0 - made.ci_length[both].mean() / outcome.forecast.ci_length[both].mean())
    if split == now or (more <= 0 and gain < _WORTH):
        return Best(None, words="No split is better on average.")
    return Best(split, gain, more)


def _splits(view: compute.View, outcome: compute.Outcome) -> dict[Split, Forecast]:
    """The split that stands and the shortest ones, with their forecasts. Where c follows the split
    each has the c that goes with it, and is the shortest at one of several c: so which are tried
    does not hang on the split that stands.
    """
    now = view.settings
    assert outcome.forecast is not None
    tried = {now.split: outcome.forecast}

    def at(here: Settings) -> tuple[Moments, Design]:
        moments = view.moments_at(outcome, here.c)
        return moments, compute.designed(here, outcome.combination, moments)

    def beside(split: Split) -> Settings:
        return replace(now, split=split).settled()

    def added(split: Split) -> Forecast:
        if split not in tried:
            moments, design = at(beside(split))
            tried[split] = forecast(moments, design=design)
        return tried[split]

    begun = [now]
    plain = now.split if any(now.split.locked) else from_shares(now.split.total)
    with suppress(InfeasibleDesignError, ValueError):  # too small a c for it
        added(plain)
    if now.settled().penalty == "chosen":
        usual = beside(plain)
        begun = [usual.swept("c", min(usual.c * times, LIMITS["c"][1])) for times in _TIMES]
    for here in begun:
        moments, design = at(here)
        parts = zip(PARTS, design.budget.parts, here.split.locked, strict=True)
        locked = {name: part for name, part, is_locked in parts if is_locked}
        found = best_split(moments, design=design, locked=locked)
        split = split_of(found.design.budget, now.split)
        if added(split).validity.grade != "valid":
            for towards in _TOWARDS:
                added(_mixed(split, plain, towards))
    return tried


def _mixed(one: Split, other: Split, towards: Decimal) -> Split:
    """A split so far from one towards another of the same total, with the same locked parts."""
    first, second, third = (
        a + towards * (b - a) for a, b in zip(one.parts, other.parts, strict=True)
    )
    return replace(one, parts=(first, second, third), chosen=None)


def shares_of(split: Split) -> str:
    """The shares in per cent, as "60/25/15"."""
    return "/".join(in_hundred(split.parts, 0))


def _line(best: Best | None, view: compute.View) -> None:
    """What the best split is and what it would bring, with a button that sets it."""
    if best is None:
        st.markdown("Looking for the best split …" if view.drawn else "")
    elif best.split is None:
        st.markdown(text.plain(best.words))
    else:
        labels = distinguishing_labels([o.combination for o in view.drawn])
        about = f" ({labels[0]})" if len(labels) > 1 else ""
        st.button(
            "Use the best split",
            key="use_split",
            on_click=lambda: state.update(split=best.split),
            help="The most coefficients that can be reported and cover what they promise, then the "
            "shortest intervals on average. “Best for this goal” on Plan is another one: for one "
            "goal, in every table that a description allows.",
        )
        gain = f"{100 * best.gain:.0f}\N{NARROW NO-BREAK SPACE}% shorter on average"
        if best.more > 0:
            gain = f"{best.more} more can be relied on"
        where = ", as described" if view.settings.dataset == compute.DECLARED else ""
        st.markdown(f"{shares_of(best.split)}: **{gain}**{where}{about}")


# --- the animation --------------------------------------------------------------------------------


def _animation(view: compute.View, units: str, version: str) -> dict[str, object]:
    rows = compute.interval_rows(view, units)
    is_drawn = bool(rows) and sum(len(item.names) for item in rows) <= MOST_INTERVALS
    lengths = []
    if is_drawn:
        asked = free_of_total(view.settings)
        lengths = over_totals(
            view.settings, rows, lambda item, knots: lengths_at(view, item, asked, knots, units)
        )
    told = finding.counted_coefficients(view)
    return animation_of(view.settings, rows, lengths, told, units=units, version=version)


def animation_of(
    settings: Settings,
    rows: list[IntervalRows],
    lengths: list[Lengths],
    told: Flags,
    *,
    units: str,
    version: str,
    is_plain: bool = False,
) -> dict[str, object]:
    """Words at every position of the slider, and the bars that move, where there are lengths.

    told: which coefficients (k,) the words count.
    is_plain: whether a length is told against that without privacy in any units.
    """
    _, options = _positions(settings)
    is_odds = units == "odds"
    placed = (
        rows_of(rows, [""] * len(rows[0].names), is_scaled=units == "scaled") if lengths else None
    )
    words: list[dict[str, object] | None] = []
    frames: list[Frame | None] = []
    for i, total in enumerate(options):
        frames.append(None)
        try:
            odds = finding.odds(currency.at_total(settings, total))
        except ValueError:  # the locked parts leave nothing here
            words.append({"title": "Not possible here: let go to read why"})
            continue
        said: dict[str, object] = {"odds": odds}
        here = [
            Lengths(one.private[i], one.variability[i], one.plain[i], one.is_reported[i])
            for one in lengths
        ]
        if placed is None:  # letting go draws it
            pass
        elif all(np.isfinite((one.private, one.variability)).all() for one in here):
            said |= _said(settings, rows, here, told)
            frames[-1] = _frame(rows, here, placed, is_odds=is_odds, is_plain=is_odds or is_plain)
        else:
            said["title"] = "Not possible here: let go to read why"
        words.append(said)
    return {"version": version, "words": words} | _moving(frames)


@dataclass(frozen=True)
class Frame:
    """What is drawn at one position: every bar that is at any, None for the ends of one that is
    not drawn here; dots; the ratios at the right.
    """

    bars: dict[tuple[float, int], tuple[float, float]]
    dots: list[Dot]
    right: list[str]


def _frame(
    rows: list[IntervalRows], here: list[Lengths], placed: Rows, *, is_odds: bool, is_plain: bool
) -> Frame:
    private, spread = [one.private for one in here], [one.variability for one in here]
    plain, reported = [one.plain for one in here], [one.is_reported for one in here]
    bars, dots = marks(rows, private, spread, placed, is_odds, reported, plain)
    right = ratios(rows, private, plain if is_plain else spread, placed, reported)
    ends = {(y, kind): (low, high) for y, low, high, kind in bars}
    return Frame(ends, dots, [text for _, text in right])


def over_totals(
    settings: Settings,
    rows: list[IntervalRows],
    at_knots: Callable[[IntervalRows, Array], Lengths],
) -> list[Lengths]:
    """Lengths at every position, interpolated between a dozen forecasts, and what the nearest of
    them can report.
    """
    grid, options = currency.total_grid(settings), np.array(_positions(settings)[1])
    many = sum(len(item.names) for item in rows)
    knots = np.array(sorted({*grid[:: -(-len(grid) // knots_for(many))], grid[-1]}))
    found = [at_knots(item, knots) for item in rows]
    return [
        Lengths(
            between(knots, item.private, options),
            between(knots, item.variability, options),
            between(knots, item.plain, options),
            nearest(knots, item.is_reported, options),
        )
        for item in found
    ]


@dataclass(frozen=True)
class _Reach:
    """The `finding.ReportableEffects` of one combination at one position of the slider."""

    combination: Combination
    n: int
    n_all: int
    cost: float
    span: tuple[float, float]


def _said(
    settings: Settings, rows: list[IntervalRows], here: list[Lengths], told: Flags
) -> dict[str, object]:
    """The finding and the numbers of one frame, of what can be reported there."""
    among = [item.combination for item in rows]
    found, own, shortest = [], [], []
    for item, one in zip(rows, here, strict=True):
        keep = one.is_reported & told
        if keep.any():
            own.append(one.private[keep])
            shortest.append(one.variability[keep])
            lengths = own[-1], one.plain[keep]
            times, span = finding.cost(*lengths, settings), finding.span(*lengths)
            found.append(_Reach(item.combination, int(keep.sum()), int(told.sum()), times, span))
    if not found:
        return {"title": finding.title([], settings.level)[0]}
    cells = finding.live_cells(own, shortest, found)
    return {"title": finding.effects_sentence(found, among), "cells": cells}


def _moving(frames: list[Frame | None]) -> dict[str, object]:
    """Bars that stand still once, of the others where they are and their ends in every frame."""
    shown = [frame for frame in frames if frame]
    if not shown:
        return {"frames": None}
    keys = list(dict.fromkeys(key for frame in shown for key in frame.bars))
    moves = [key for key in keys if len({frame.bars.get(key) for frame in shown}) > 1]
    still = {key: shown[0].bars[key] for key in keys if key not in set(moves)}
    is_same = all(frame.dots == shown[0].dots for frame in shown)
    return {
        "still": [(y, *ends, kind) for (y, kind), ends in still.items()],
        "places": [list(key) for key in moves],
        "frames": [
            frame
            and {
                "ends": [
                    x if x is None else float(f"{x:.5g}")
                    for key in moves
                    for x in frame.bars.get(key, (None, None))
                ],
                "right": frame.right,
            }
            | ({} if is_same else {"dots": frame.dots})
            for frame in frames
        ],
    }
