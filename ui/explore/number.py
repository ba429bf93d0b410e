"""Explore where the outcome is a number: the same sliders and charts of a linear regression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar, cast

import numpy as np
import streamlit as st

from dpci_core.base.array import Array, Flags
from dpci_core.base.errors import ConvergenceError
from dpci_core.intervals.forecast import N_DRAWS
from dpci_core.plan import LinearPlan
from dpci_core.planner.worlds import AnyForecast, drawn, foreseen
from dpci_core.regression.forecast import LinearForecast, PlanningRows
from dpci_core.report.cautions import not_reportable
from dpci_core.schema import Records
from ui.controls import hints
from ui.explore import finding, later, lines, sentences, tabs
from ui.explore.finding import Numbers
from ui.explore.intervals import ChartText, interval_picture, styles_of
from ui.explore.totals import free_of_total, lengths_of
from ui.kit.bound import among, bound
from ui.kit.exports import download_csv
from ui.kit.picture import Picture, draw, keep_animation
from ui.session import state, text
from ui.session.case import plan_of_number
from ui.session.choices import LINEAR
from ui.session.compute import contrast_matrix, effect_label
from ui.session.results import SOME_MISS, IntervalRows, SweepCurve
from ui.session.settings import LIMITS, Settings
from ui.session.words import in_words
from ui.views.sweep import SWEEP_NAMES

T = TypeVar("T")
TABS = {"intervals": "Intervals", "total": "By budget", "n": "By records", "table": "Table"}
_MANY = 21
_POINTS = {False: 25, True: 7}
"""Of a curve of lengths; fewer where there are many coefficients."""
_DRAWS = 16
"""Of the noise behind each of them, counted as those of a penalised model."""


@dataclass(frozen=True, kw_only=True)
class NumberView:
    """A linear regression under these settings.

    made: the forecast of the effects for the steps of their columns, the intercept last.
    names: of the effects, with their steps.
    """

    settings: Settings
    plan: LinearPlan
    records: Records
    moments: PlanningRows
    made: LinearForecast
    names: tuple[str, ...]

    @property
    def unit(self) -> str:
        """Of an effect."""
        return self.plan.outcome.units or f"units of {self.plan.outcome.name}"

    @property
    def is_told(self) -> Flags:
        """Which effects (k,) can be reported; the intercept is nobody's."""
        return np.asarray(~self.made.is_not_reportable[:-1])

    @property
    def is_counted(self) -> Flags:
        """All coefficients (p,) but the intercept."""
        return np.arange(len(self.names)) < len(self.names) - 1

    @property
    def numbers(self) -> list[Numbers]:
        """Their means, where there are any."""
        found = finding.numbers_of(self.made, LINEAR, self.is_counted, self.settings, self.names)
        return [] if found is None else [found]

    @property
    def rows(self) -> list[IntervalRows]:
        """Chart 1."""
        made = self.made
        return [
            IntervalRows(
                combination=LINEAR,
                names=self.names,
                estimate=made.estimate,
                ci_length=made.length,
                vi_length=made.vi_length,
                nonprivate_length=made.nonprivate_length,
                is_not_reportable=made.is_not_reportable,
            )
        ]


def current() -> NumberView | None:
    """The forecast of the settings; None after words on why there is none."""
    try:
        return _view(state.settings())
    except (ConvergenceError, ValueError) as problem:
        st.error(text.plain(in_words(problem)))
        hints.way_out(problem)
        return None


def _view(settings: Settings) -> NumberView:
    plan, records = plan_of_number(settings)
    moments, columns = plan.moments_of(records), plan.schema.features
    L = contrast_matrix(records, columns)
    made = _kept(
        ("a number", records.digest, repr(plan.design)),
        lambda: foreseen(
            moments, design=plan.design, contrasts=L, n_draws=_draws(len(records.feature_names))
        ),
    )
    return NumberView(
        settings=settings,
        plan=plan,
        records=records,
        moments=moments,
        made=cast(LinearForecast, made),
        names=tuple(effect_label(name, columns) for name in records.feature_names),
    )


def _draws(p: int) -> int:
    return _DRAWS if p > _MANY else N_DRAWS


def _kept(key: tuple[object, ...], make: Callable[[], T]) -> T:
    return state.curves().get(key, make)


def when_quiet(view: NumberView) -> None:
    """Below everything else: what the picture is at every position of the budget's slider."""
    key = ("explore a number", _version(view))
    (moving,) = later.found_when_quiet((state.animations(), key, lambda: _moving(view)))
    if moving is not None:
        keep_animation(later.SLIDER, cast("dict[str, object]", moving))


def _version(view: NumberView) -> str:
    """What the animation depends on, in few letters: without locks not where the slider stands."""
    asked = free_of_total(view.settings)
    return later.digest(view.records.digest, asked, view.names)


def _moving(view: NumberView) -> dict[str, object]:
    rows, p = view.rows, len(view.names)
    lengths = later.over_totals(
        view.settings,
        rows,
        lambda _, knots: lengths_of(view.settings, knots, p, partial(_made, view)),
    )
    return later.animation_of(
        view.settings,
        rows,
        lengths,
        view.is_counted,
        units="original",
        version=_version(view),
        is_plain=True,
    )


def _made(view: NumberView, there: Settings) -> AnyForecast:
    """The forecast of the effects with the design of other settings."""
    return foreseen(
        view.moments,
        design=there.linear_design,
        contrasts=contrast_matrix(view.records, view.plan.schema.features),
        n_draws=_draws(len(view.names)),
    )


def line() -> str:
    """Which picture."""
    tab = tabs.TAB.value
    shown = tab if tab in TABS else "intervals"
    with st.container(horizontal=True, key="tabs", vertical_alignment="center", gap="small"):
        st.segmented_control(
            "What is shown",
            **among(TABS),
            required=True,
            label_visibility="collapsed",
            **bound("number_tab", shown, tabs.TAB.take),
        )
        st.space("stretch")
        tabs.undo_button()
    return shown


def content(view: NumberView, tab: str) -> None:
    """The picture of a tab with its numbers beside it, or the numbers as a table."""
    rows, found = view.rows, view.numbers
    if tab == "table":
        table = sentences.interval_table(rows)
        table["forecast coverage"] = view.made.coverage
        st.dataframe(table, hide_index=True, alt=_alt(view), key="intervals_table")
        download_csv("Download CSV", table, name="intervals")
        return
    picture = _intervals(view) if tab == "intervals" else _curves(view, tab)
    beside = [finding.numbers_table(found, styles_of(rows), is_odds=True)] if found else []
    lost = [n for n, is_told in zip(view.names, view.is_told, strict=False) if not is_told]
    said = (not_reportable(lost),) if lost else ()
    draw(
        tab,
        replace(picture, tables=tuple(beside), remarks=(*picture.remarks, *said)),
        slider=later.SLIDER,
        here=later.here(view.settings),
        animation=_version(view),
        isAnimated=tab == "intervals",
        isFilling=True,
    )


def _alt(view: NumberView) -> str:
    """The finding, and which effects are told from zero."""
    made, told = view.made, view.is_told
    is_clear = (np.abs(made.estimate) > made.length / 2.0)[:-1][told]
    return (
        f"{finding.title(view.numbers, view.settings.level)[0]}. {int(is_clear.sum())} of "
        f"{int(told.sum())} intervals exclude zero."
    )


def _around(
    view: NumberView, *, title: str, sub: str, alt: str, is_loud: bool = False
) -> ChartText:
    now, schema = view.settings, view.plan.schema
    return ChartText(
        title=title,
        sub=sub,
        alt=alt,
        footer=f"{schema.outcome_words}, d = {len(view.names) - 1}, n = {now.n:,}, "
        f"{now.typed.letter} = {text.as_typed(now.typed_total)}, δ = {now.delta}. Made-up people.",
        meta={"settings": now.to_query(), "total": float(now.split.total), "n": now.n},
        is_loud=is_loud,
    )


def _intervals(view: NumberView) -> Picture:
    title, is_loud = finding.title(view.numbers, view.settings.level)
    level = finding.percent(view.settings.level, 6)
    around = _around(
        view,
        title=title,
        sub=f"{level} confidence intervals for differences in {view.unit}",
        alt=_alt(view),
        is_loud=is_loud,
    )
    return interval_picture(
        view.rows,
        [],
        around,
        units="original",
        span_of=tabs.span_of(view.records.digest),
        is_cost_beside=True,
    )


def _curves(view: NumberView, name: str) -> Picture:
    """Mean lengths along the budget or the number of records."""
    now = view.settings
    here = now.typed_total if name == "total" else float(now.n)
    low, high = LIMITS[now.currency if name == "total" else name]
    x = np.geomspace(low, high, _POINTS[len(view.names) > _MANY])
    key = ("lengths of a number", name, view.records.digest, repr(view.plan.design), now.currency)
    curve = _kept(key, lambda: _curve(view, name, x))
    sub = f"Mean length in {view.unit}, columns on one scale"
    title = finding.curve_title(curve, name, here)
    if not view.is_told.any():
        title, _ = finding.title([], now.level)
    about = f"Private intervals along {SWEEP_NAMES[name]}, from {curve.ci_length[0]:.3g} to "
    around = _around(
        view,
        title=title,
        sub=sub,
        alt=f"{about}{curve.ci_length[-1]:.3g} {view.unit} long.",
    )
    return lines.curve_picture(
        [curve],
        [],
        around,
        names=["private"],
        x_label=SWEEP_NAMES[name],
        y_label="length",
        is_log=True,
        here=here,
    )


def _curve(view: NumberView, name: str, x: Array) -> SweepCurve:
    now = view.settings
    designs = [now.swept(name, float(value)).linear_design for value in x]
    found = [drawn(view.moments, design=design, n_draws=_DRAWS) for design in designs]
    made_of = cast("list[LinearForecast]", found)
    here = foreseen(view.moments, design=view.plan.design, n_draws=_DRAWS)
    times = np.sqrt(now.n / x) if name == "n" else np.ones(len(x))  # no noise is in it
    return SweepCurve(
        LINEAR,
        x,
        np.array([one.length[:-1].mean() for one in made_of]),
        np.array([one.lengths[:, :-1].mean(axis=1).std() for one in made_of]),
        np.array([one.vi_length[:-1].mean() for one in made_of]),
        tuple(SOME_MISS if one.is_not_reportable[:-1].any() else "valid" for one in made_of),
        nonprivate_length=times * here.nonprivate_length[:-1].mean(),
    )
