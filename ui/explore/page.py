"""The Explore page: controls beside three charts, pins to compare, downloads."""

from __future__ import annotations

import streamlit as st

from dpci_core import remedies
from dpci_core.mechanisms.objective import NOT_REVIEWED
from dpci_core.report.answers import shortfall
from dpci_core.report.cautions import silent
from ui.controls import hints
from ui.controls.sidebar import current_view, feature_names, is_ready
from ui.explore import pins, wasted
from ui.kit import live
from ui.session import compute, state, text
from ui.session.results import SweepCurve
from ui.views import intervals, live_intervals, sweep
from ui.views.show import show
from ui.views.sweep import SWEEP_NAMES, current_value, sweep_control, sweep_curves

NOISE_DOMINATES = 10.0
"""A private interval this many times as long as the non-private one is called useless in words."""
UNITS = {"scaled": "Scaled", "original": "Original units", "odds": "Odds ratios"}


def page() -> None:
    """Draw the page."""
    st.title("Explore")
    st.markdown(
        "Publishing a model about people with a privacy guarantee means adding noise. **Move the "
        "budget and see how long the confidence intervals of the coefficients become**, next to "
        f"the shortest they could be. Everything that can be moved is in {text.SETTINGS_PANEL}."
    )
    if not is_ready():
        return
    with st.spinner("Fitting …", show_time=True, width="content"):
        view = current_view()
    if view is None:
        return
    with live.waits("headline"):
        _warnings(view)
        _headline(view)
    _charts(view, len(feature_names()))
    pins.panel(view)


def _warnings(view: compute.View) -> None:
    if len(set(view.records.y.tolist())) == 1:
        st.warning(
            "All rows of this table belong to one class. The method works, but there is nothing to "
            "tell apart."
        )
    for note in view.records.notes:
        st.caption(note)
    advised = next((o for o in view.drawn if o.forecast and o.forecast.usefulness.is_useless), None)
    for outcome in view.outcomes:
        name = outcome.combination.label
        if outcome.forecast is None:
            st.warning(f"**{name}**: {outcome.refusal}")
        elif outcome.forecast.validity.grade == "unusable":
            reasons = " ".join(outcome.forecast.validity.reasons)
            st.warning(
                f"**{name}: this forecast cannot be used, so no interval is drawn.** {reasons}"
            )
            continue
        elif outcome.forecast.validity.grade == "rough":
            reasons = " ".join(outcome.forecast.validity.reasons)
            st.info(f"**{name}: rough forecast.** {reasons}")
        if outcome.forecast is not None:
            _noise_warning(outcome, with_advice=outcome is advised)
    _out_of_reach_warning(view)
    if any(o.forecast and o.forecast.design.status for o in view.outcomes):
        st.caption(f"Sharp objective perturbation under zCDP: **{NOT_REVIEWED}**")


def _noise_warning(outcome: compute.Outcome, *, with_advice: bool) -> None:
    """Loud where the intervals are useless, with what helps if wanted (it takes a while); plain
    where noise only dominates."""
    made, moments, name = outcome.forecast, outcome.moments, outcome.combination.label
    assert made is not None
    assert moments is not None
    if made.usefulness.is_useless:
        key = ("remedies", moments.theta_hat.tobytes(), repr(made.design), made.n_records)
        advice = ""
        if with_advice:
            found = state.curves().get(
                key, lambda: remedies(moments, design=made.design, n_records=made.n_records)
            )
            advice = found.sentence
        st.warning(f"**{name}: useless.** {made.usefulness.sentence} {advice}", icon="🚫")
    elif made.ci_length_mean > NOISE_DOMINATES * made.nonprivate_length_mean:
        times = made.ci_length_mean / made.nonprivate_length_mean
        st.warning(
            f"**{name}: the privacy noise dominates.** The intervals are {text.number(times, 2)} "
            "times as long as without privacy. More records, a larger budget or a larger c help, "
            "in this order."
        )


def _out_of_reach_warning(view: compute.View) -> None:
    """Coefficients that intervals without penalty do not reach."""
    lost: dict[str, None] = {}
    for outcome in view.drawn:
        assert outcome.forecast is not None
        pairs = zip(view.records.feature_names, outcome.forecast.is_out_of_reach, strict=True)
        lost |= dict.fromkeys(name for name, is_lost in pairs if is_lost)
    if lost:
        st.warning(f"{text.plain(silent(list(lost)))} {text.WHY_OUT_OF_REACH}")


def _headline(view: compute.View) -> None:
    if not view.drawn:
        return
    for outcome, column in zip(view.drawn, st.columns(len(view.drawn), gap="small"), strict=True):
        made = outcome.forecast
        assert made is not None
        counts = ~made.is_out_of_reach
        if not counts.any():
            continue
        private, spread, plain = (
            float(lengths[counts].mean())
            for lengths in (made.ci_length, made.vi_length, made.nonprivate_length)
        )
        with column.container(border=True):
            st.markdown(f"**{outcome.combination.label}**")
            st.metric("Mean interval length", text.number(private))
            st.markdown(
                f"**{private / spread:.2f}×** the variability interval ({text.number(spread)}), "
                f"**{private / plain:.1f}×** the non-private one ({text.number(plain)}). Forecast "
                f"coverage **{100 * made.coverage[counts].mean():.1f}\u00a0%**. "
                f"{text.budget_words(made.design, float(view.settings.delta))}"
            )
            if made.shortfall:
                st.caption(f"Longer than sharp intervals usually are: {shortfall(*made.shortfall)}")


def _charts(view: compute.View, max_features: int) -> None:
    settings = view.settings
    caption = text.assumptions(settings, view.records)
    meta = {
        "settings": settings.to_query(),
        "total": float(settings.split.total),
        "n": settings.n,
        "c": settings.c,
    }
    _interval_chart(view, caption, meta)
    with live.waits("others"):
        _sweep_chart(view, caption, meta, max_features)
        _coverage_chart(view, caption, meta)


def _interval_chart(view: compute.View, caption: str, meta: dict[str, object]) -> None:
    st.header(f"Each interval, for the {text.covers(view.settings)}")
    units = _units_control(view)
    hints.expander("How to read this chart", text.HOW_TO_READ)
    rows = compute.interval_rows(view, units)
    if not rows:
        st.info("Nothing to draw at these settings: see the notes above for what helps.")
        return
    figure = intervals.interval_chart(
        rows,
        caption=caption,
        meta={**meta, "units": units},
        source=view.records.source,
        odds=units == "odds",
        covers=text.covers(view.settings),
    )
    animation = live_intervals.total_animation(view, units, rows)
    show(
        "intervals",
        figure,
        intervals.interval_sentence(rows),
        intervals.interval_table(rows),
        animation=animation,
    )


def _units_control(view: compute.View) -> str:
    if view.records.to_original is None:
        st.caption(
            "Original units need the encoding by declared bounds: the paper's row scaling has no "
            "exact way back."
        )
        return "scaled"
    options = [u for u in UNITS if u != "odds" or view.settings.losses == ("logistic",)]
    chosen = view.settings.units if view.settings.units in options else "scaled"
    st.segmented_control(
        "Units of the coefficients",
        options,
        format_func=UNITS.__getitem__,
        **state.bound("units", chosen, empty="scaled"),
    )
    return chosen


def _sweep_chart(
    view: compute.View, caption: str, meta: dict[str, object], max_features: int
) -> None:
    st.header("What one control does over its whole range")
    settings = view.settings
    name = sweep_control()
    curves = sweep_curves(view, name, max_features)
    note = ""
    if name in ("c", "h", "d"):
        note = (
            f"Curves fitted on the first {min(compute.SUBSAMPLE, len(view.records.y)):,} rows of "
            "the table."
        )
    if name == "d":
        note += " Shown is the first coefficient, because the others change with d."
    y_label = sweep.length_label(settings, name)
    figure = sweep.sweep_chart(
        curves,
        x_label=SWEEP_NAMES[name],
        x_log=name in ("total", "n", "c", "h"),
        current=current_value(settings, name),
        caption=f"{caption}. {note}".strip(),
        meta={**meta, "sweep": name},
        y_label=y_label,
        source=view.records.source,
    )
    if note:
        st.caption(note)
    if name == "total":
        _say_if_budget_is_wasted(view, curves)
    sentence = sweep.sweep_sentence(
        curves, x_label=SWEEP_NAMES[name], current=current_value(settings, name)
    )
    show("sweep", figure, sentence, sweep.sweep_table(curves, x_label=SWEEP_NAMES[name]))


def _say_if_budget_is_wasted(view: compute.View, curves: list[SweepCurve]) -> None:
    for sentence in wasted.sentences(view, curves, current_value(view.settings, "total")):
        st.info(sentence)
        st.page_link("../pages/plan.py", label="Find the best split on Plan →")


def _coverage_chart(view: compute.View, caption: str, meta: dict[str, object]) -> None:
    st.header(f"Coverage: how often it contains the {text.covers(view.settings)}")
    hints.expander("What coverage means", text.HOW_COVERAGE)
    rows = [
        (o.combination, view.records.feature_names, o.forecast.coverage)
        for o in view.drawn
        if o.forecast is not None
    ]
    if not rows:
        st.info("Nothing to draw at these settings: see the notes above for what helps.")
        return
    level = view.settings.level
    figure = intervals.coverage_chart(
        rows, level=level, caption=caption, meta=meta, source=view.records.source
    )
    show(
        "coverage",
        figure,
        intervals.coverage_sentence(rows, level=level),
        intervals.coverage_table(rows),
        is_plain=True,
    )
