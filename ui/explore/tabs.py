"""One chart in tabs, with its numbers beside it; or the numbers as tables, or the code."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd
import streamlit as st

from dpci_core.mechanisms.objective import NOT_REVIEWED
from dpci_core.report.answers import shortfall
from dpci_core.report.cautions import not_reportable
from ui.controls.sidebar import feature_names
from ui.explore import code, finding, later, lines, pinned, remedy, sentences, wasted
from ui.explore.intervals import ChartText, SpanOf, interval_picture, styles_of
from ui.kit import linked
from ui.kit.bound import bound
from ui.kit.exports import download_csv
from ui.kit.picture import Picture, Table, draw
from ui.session import compute, state, text
from ui.session.choices import distinguishing_labels
from ui.session.results import IntervalRows, SweepCurve
from ui.session.settings import Settings
from ui.views import sweep
from ui.views.sweep import SWEEP_NAMES, current_value, sweep_curves

TABS = {"intervals": "Intervals", "total": "By budget", "coverage": "Coverage"}
FURTHER = {
    "n": "By records",
    "more": "By split, d, c",
    "table": "Table",
    "code": "Code",
}
TAB = linked.one_of("tab", {**TABS, **FURTHER}, default="intervals", widget="tab")
_REST = "rest"
"""Stands for the further tabs, which a list beside the others has."""
UNITS = {"scaled": "On one scale", "original": "Original units", "odds": "Odds ratios"}
_MORE = ("model", "hessian", "covariance", "d", "c", "h")


def units_of(view: compute.View) -> str:
    return view.settings.units if view.settings.units in _unit_options(view) else "scaled"


def _unit_options(view: compute.View) -> list[str]:
    if view.records.to_original is None:
        return ["scaled"]
    settings = view.settings
    is_log_odds = all(settings.loss(name).is_log_odds for name in settings.losses)
    return [u for u in UNITS if u != "odds" or is_log_odds]


def line(view: compute.View, units: str) -> str:
    """Which picture; in its row also what belongs to it, undo and compare."""
    with st.container(horizontal=True, key="tabs", vertical_alignment="center", gap="small"):
        tab = TAB.value
        st.segmented_control(
            "What is shown",
            [*TABS, _REST],
            format_func={**TABS, _REST: "More"}.__getitem__,
            required=True,
            label_visibility="collapsed",
            **bound("tab", tab if tab in TABS else _REST, _take_tab),
        )
        if tab in FURTHER:
            st.selectbox(
                "What else is shown",
                list(FURTHER),
                format_func=FURTHER.__getitem__,
                label_visibility="collapsed",
                width=160,
                **bound("further_tab", tab, TAB.take),
            )
        options = _unit_options(view)
        if tab == "intervals" and len(options) > 1:
            st.selectbox(
                "Units of the coefficients",
                options,
                format_func=UNITS.__getitem__,
                label_visibility="collapsed",
                width=140,
                **state.bound("units", units),
            )
        if tab == "more":
            _more_control(view.settings)
        st.space("stretch")
        pinned.controls(has_numbers=bool(finding.numbers(view)))
        undo_button()
    return tab


def undo_button() -> None:
    st.button(
        "Undo",
        key="undo",
        on_click=state.undo,
        disabled=not state.can_undo(),
        help="Takes back the last change of a setting."
        if state.can_undo()
        else "Nothing has been changed yet.",
    )


def _take_tab(chosen: object) -> None:
    TAB.take(next(iter(FURTHER)) if chosen == _REST else chosen)


def _more_control(settings: Settings) -> None:
    options = [name for name in _MORE if name != "h" or settings.has_width]
    st.selectbox(
        "How length depends on",
        options,
        format_func=SWEEP_NAMES.__getitem__,
        label_visibility="collapsed",
        width=280,
        **state.bound("sweep", _swept(settings, "more")),
    )


def _swept(settings: Settings, tab: str) -> str:
    """The control that a tab of lengths runs along."""
    if tab in ("total", "n"):
        return tab
    fits = settings.sweep in _MORE and (settings.sweep != "h" or settings.has_width)
    return settings.sweep if fits else "model"


def content(view: compute.View, tab: str, units: str) -> None:
    if tab == "code":
        code.panel(view)
        return
    if tab == "table":
        _tables(view, units)
        return
    found = finding.numbers(view)
    rows = compute.interval_rows(view, units)
    if not rows:
        st.info("Nothing to draw at these settings: see the notes above for what helps.")
        return
    others, among = pinned.pinned(units), view.settings.combinations
    styles = styles_of(rows)
    beside = (
        [finding.numbers_table(found, styles, is_odds=units == "odds", among=among)]
        if found
        else []
    )
    compared = pinned.table(others, view.settings, found)
    beside += [compared] if compared else []
    if tab == "intervals":
        picture = _intervals(view, rows, found, others, units)
    elif tab == "coverage":
        picture = _coverage(view, rows, found)
    else:
        picture = _curves(view, tab, others)
    _put(view, tab, units, picture, tuple(beside))


def _lost_names(view: compute.View) -> list[str]:
    """Effects that are not reportable with some release on the chart."""
    lost: dict[str, None] = {}
    for outcome in view.drawn:
        assert outcome.forecast is not None
        is_lost = outcome.forecast.is_not_reportable & finding.counted_coefficients(view)
        pairs = zip(view.records.feature_names, is_lost, strict=True)
        lost |= dict.fromkeys(name for name, is_out in pairs if is_out)
    return list(lost)


def _lost(view: compute.View) -> tuple[str, ...]:
    """These effects, why, and what helps."""
    if not (lost := _lost_names(view)):
        return ()
    designs = [o.forecast.design for o in view.drawn if o.forecast]
    key = ("what helps", view.records.digest, repr(designs))
    helps = state.curves().get(key, lambda: remedy.sentence(view))
    return (f"{not_reportable(lost)} {text.WHY_NOT_REPORTABLE} {helps}",)


def _useless(view: compute.View, labels: list[str], *, with_help: bool) -> list[str]:
    """Which designs on the chart, by their labels, make intervals of no use; and what helps."""
    said, first = [], None
    for outcome, label in zip(view.drawn, labels, strict=True):
        assert outcome.forecast is not None
        if words := outcome.forecast.usefulness.sentence:
            about = "" if len(labels) == 1 else f"{label.capitalize()}: "
            said.append(f"{about}{text.lowered(words) if about else words}")
            first = first or outcome
    return [*said, _what_helps(view, first)] if first and with_help else said


def _what_helps(view: compute.View, useless: compute.Outcome) -> str:
    if not view.settings.is_penalised:
        return text.WHAT_HELPS
    assert useless.forecast is not None
    key = ("of use", view.records.digest, repr(useless.forecast.design))
    return state.curves().get(key, lambda: remedy.of_use(view, useless))


def _remarks(view: compute.View) -> tuple[str, ...]:
    """What has to be known beside the numbers."""
    lost, names = _lost(view), view.records.feature_names
    labels = distinguishing_labels([o.combination for o in view.drawn])
    said = [*_useless(view, labels, with_help=not lost), *lost, *view.records.notes]
    for outcome, label in zip(view.drawn, labels, strict=True):
        made, about = outcome.forecast, "" if len(labels) == 1 else f"{label.capitalize()}: "
        assert made is not None
        if made.validity.grade == "rough":
            # advice for one ratio may be against what lets effects be reported
            reasons = made.validity.reasons_of(names, with_advice=not lost)
            said.append(f"{about}rough forecast. {' '.join(reasons)}")
        if made.shortfall and not made.is_not_reportable.all():
            why = made.shortfall
            said.append(f"{about}{shortfall(why.ratio, why.usual, why.is_hessian)}")
    if any(o.forecast and o.forecast.design.status for o in view.outcomes):
        said.append(f"Sharp objective perturbation under zCDP: {NOT_REVIEWED}")
    if view.settings.n > len(view.records.y):
        said.append(text.n_sentence(view.settings, len(view.records.y), with_help=False))
    return tuple(said)


def _put(
    view: compute.View, tab: str, units: str, picture: Picture, beside: tuple[Table, ...]
) -> None:
    draw(
        "intervals" if tab == "intervals" else tab,
        replace(picture, tables=beside, remarks=(*picture.remarks, *_remarks(view))),
        slider=later.SLIDER,
        here=later.here(view.settings),
        animation=later.animation_version(view, units),
        isAnimated=tab == "intervals",
        isFilling=True,
    )


def _meta(view: compute.View, **more: object) -> dict[str, object]:
    settings = view.settings
    meta = {
        "settings": settings.to_query(),
        "total": float(settings.split.total),
        "n": settings.n,
        "c": settings.c,
    }
    return meta | more


def _intervals(
    view: compute.View,
    rows: list[IntervalRows],
    found: list[finding.Numbers],
    others: list[pinned.Pinned],
    units: str,
) -> Picture:
    title, is_loud = finding.title(found, view.settings.level, view.settings.combinations)
    level = finding.percent(view.settings.level, 6)
    around = ChartText(
        title=title,
        sub=f"{level} confidence intervals{_of_what(view)}"
        + (", all columns in one model" if units == "odds" else ""),
        alt=sentences.interval_sentence(rows, units),
        footer=finding.footer(view),
        meta=_meta(view, units=units),
        is_loud=is_loud,
    )
    return interval_picture(
        rows,
        pinned.intervals(others, rows),
        around,
        units=units,
        span_of=span_of(view.records.digest),
    )


def _of_what(view: compute.View) -> str:
    """What intervals are for, where that is no effect as people mean it."""
    asked = view.effective_settings
    is_usual = asked.is_plain and not asked.is_shaped
    return "" if is_usual else f" for the {text.covers(asked)}"


def span_of(table: str) -> SpanOf:
    """The ends of axes of a table, which stay as they are while they can."""
    spans = st.session_state.setdefault("spans", {})

    def ends(what: tuple[object, ...], low: float, high: float) -> tuple[float, float]:
        key = (table, *what)
        spans[key] = steady(spans.get(key), low, high)
        return cast("tuple[float, float]", spans[key])

    return ends


_ROOM = 0.3
"""Free space on each side of intervals, in units of their width."""
_TOO_SMALL = 0.35
"""Intervals that fill less of their axis get a new one."""


def steady(before: tuple[float, float] | None, low: float, high: float) -> tuple[float, float]:
    """The ends of an axis: as before while intervals fit and can be read, so that lengths can be
    seen to change.

    >>> first = steady(None, -1.0, 1.0)
    >>> first, steady(first, -1.4, 1.2) == first, steady(first, -2.0, 2.0)
    ((-1.6, 1.6), True, (-3.2, 3.2))

    >>> wide = (-10.0, 10.0)
    >>> steady(wide, -3.6, 3.6) == wide, steady(wide, -3.4, 3.4) == wide
    (True, False)
    """
    low, high = min(low, 0.0), max(high, 0.0)
    if before is not None:
        fits = before[0] <= low and high <= before[1]
        if fits and high - low >= _TOO_SMALL * (before[1] - before[0]):
            return before
    room = _ROOM * (high - low)
    return (low - room, high + room)


def _coverage(
    view: compute.View, rows: list[IntervalRows], found: list[finding.Numbers]
) -> Picture:
    level = view.settings.level
    title, is_loud = finding.coverage_title(found, level)
    shares = [o.forecast.coverage for o in view.drawn if o.forecast is not None]
    said = [(row.combination, row.names, share) for row, share in zip(rows, shares, strict=True)]
    around = ChartText(
        title=title,
        sub=f"How often {finding.percent(level, 6)} intervals{_of_what(view)} would be right, by "
        "forecast",
        alt=sentences.coverage_sentence(said, level=level),
        footer=finding.footer(view),
        meta=_meta(view),
        is_loud=is_loud,
    )
    return lines.coverage_picture(rows, shares, level, around)


def _curves(view: compute.View, tab: str, others: list[pinned.Pinned]) -> Picture:
    settings = view.settings
    name = _swept(settings, tab)
    curves = sweep_curves(view, name, len(feature_names()))
    now = current_value(settings, name)
    about = (
        f". Fitted on the first {min(compute.SUBSAMPLE, len(view.records.y)):,} rows of the table"
        if name in ("c", "h", "d")
        else ""
    )
    around = ChartText(
        title=finding.curve_title(curves[0], name, now),
        sub=sweep.length_label(view.effective_settings, name) + about,
        alt=sweep.sweep_sentence(curves, x_label=SWEEP_NAMES[name]),
        footer=finding.footer(view),
        meta=_meta(view, sweep=name),
    )
    points = [
        (current_value(each.settings, name), same.private)
        for first in finding.numbers(view)[:1]
        for each in others
        if (same := each.of(first)) is not None and name != "d"
    ]
    picture = lines.curve_picture(
        curves,
        points,
        around,
        names=distinguishing_labels([c.combination for c in curves]),
        x_label=SWEEP_NAMES[name],
        y_label="length",
        is_log=name in ("total", "n", "c", "h"),
        here=now,
    )
    wastes = wasted.sentences(view, curves, now) if name == "total" else []
    return replace(picture, remarks=(*picture.remarks, *wastes))


def _tables(view: compute.View, units: str) -> None:
    """The numbers of the charts, each with its file."""
    rows = compute.interval_rows(view, units)
    if not rows:
        st.info("Nothing to draw at these settings: see the notes above for what helps.")
        return
    level = view.settings.level
    shares = [o.forecast.coverage for o in view.drawn if o.forecast is not None]
    table = sentences.interval_table(rows)
    table["forecast coverage"] = np.concatenate(shares)
    if units == "odds":
        st.caption("Logarithms of the odds ratios, for the step beside each name.")
    said = [(row.combination, row.names, share) for row, share in zip(rows, shares, strict=True)]
    coverage = sentences.coverage_sentence(said, level=level)
    _table("intervals", table, f"{sentences.interval_sentence(rows, units)} {coverage}")
    name = _swept(view.settings, "more") if view.settings.sweep in _MORE else "total"
    with st.container(horizontal=True):
        name = st.selectbox(
            "Lengths by",
            ["total", "n", *_MORE[: 6 if view.settings.has_width else 5]],
            format_func=SWEEP_NAMES.__getitem__,
            key="table_sweep",
            width=280,
        )
    curves: list[SweepCurve] = sweep_curves(view, name, len(feature_names()))
    label = SWEEP_NAMES[name]
    alt = sweep.sweep_sentence(curves, x_label=label)
    _table("sweep", sweep.sweep_table(curves, x_label=label), alt)


def _table(key: str, table: pd.DataFrame, alt: str) -> None:
    st.dataframe(table, hide_index=True, alt=alt, key=f"{key}_table")
    download_csv("Download CSV", table, name=key)
