"""The Explore page: controls beside three charts, pins to compare, downloads."""

from __future__ import annotations

import time
from functools import partial

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from dpci_core import datasets, remedies
from dpci_core.design import NOT_REVIEWED
from dpci_core.errors import ConvergenceError, DataRejectedError
from ui import (
    charts,
    compute,
    controls,
    declare,
    deployments,
    hints,
    live,
    live_intervals,
    pins,
    state,
    sweep_chart,
    text,
    upload,
    wasted,
)
from ui.exports import csv_bytes
from ui.figure import Figure, Written, in_colour, plot_config
from ui.refusals import in_words
from ui.settings import SWEEPS, Settings
from ui.split_controls import split_controls

SWEEP_NAMES = {
    "total": "Total budget",
    "model": "Share for the coefficients (%)",
    "hessian": "Share for the curvature (%)",
    "covariance": "Share for the gradient covariance (%)",
    "n": "Records n",
    "d": "Features d",
    "c": "Penalty c",
    "h": "Huber width h",
}
NOISE_DOMINATES = 10.0
"""A private interval this many times as long as the non-private one is called useless in words."""
_MOSTLY = 0.5
"""A coefficient is named when so many releases would mark it."""
UNITS = {"scaled": "Scaled", "original": "Original units", "odds": "Odds ratios"}


def page() -> None:
    """Draw the page."""
    settings = state.settings()
    st.title("Explore")
    st.markdown(
        "Publishing a model about people with a privacy guarantee means adding noise. **Move the budget and see how "
        "long the confidence intervals of the coefficients become**, next to the shortest they could be. Everything "
        f"that can be moved is in {text.SETTINGS_PANEL}."
    )
    controls.link_problem()
    with st.sidebar:
        ready = sidebar()
    if not ready:
        st.info(text.BRING_YOUR_FILE)
        return
    started = time.perf_counter()
    try:
        with st.spinner("Fitting …", show_time=True, width="content"):
            view = compute.compute(settings, state.source())
    except (DataRejectedError, ConvergenceError, FileNotFoundError) as problem:
        st.error(in_words(str(problem)))
        return
    with live.waits("headline"):
        _warnings(view)
        _headline(view)
    _charts(view, len(feature_names()))
    pins.panel(view)
    st.caption(f"{text.PRIVACY_UNIT} Computed in {time.perf_counter() - started:.2f} s.")


def current_view() -> compute.View | None:
    """The forecasts of the settings; None after words on why there are none."""
    try:
        return compute.compute(state.settings(), state.source())
    except (DataRejectedError, ConvergenceError, FileNotFoundError) as problem:
        st.error(in_words(str(problem)))
        return None


def sidebar(*, one_design: bool = False) -> bool:
    """All controls; False while an upload that should be explored is still missing.

    one_design: a choice instead of a comparison of models, and the `schema` encoding only.
    """
    _data_controls(has_encodings=not one_design)
    settings = state.settings()
    if settings.dataset == "upload" and state.upload() is None:
        return False
    _other_controls(settings, feature_names(), one_design=one_design)
    return True


def feature_names() -> tuple[str, ...]:
    """The features on offer in the chosen table."""
    if state.settings().dataset == "upload":
        kept = state.upload()
        return kept.schema.feature_names if kept else ()
    if state.settings().dataset == compute.DECLARED:
        return compute.declared_table(state.settings().declared).schema.feature_names
    return datasets.feature_names(state.settings().dataset)


def _data_controls(*, has_encodings: bool) -> None:
    """Data set and encoding."""
    settings = state.settings()
    left, right = st.columns(2)
    left.button("The paper's settings", on_click=state.paper_preset, key="preset_paper", width="stretch")
    right.button("Reset", on_click=state.reset, key="reset", width="stretch")
    infos = {info.key: info for info in datasets.list_datasets()}
    st.session_state["dataset"] = settings.dataset
    st.selectbox(
        "Data",
        [*infos, compute.DECLARED, "upload"],
        format_func=lambda key: _dataset_label(infos, key),
        key="dataset",
        on_change=_take_dataset,
    )
    if settings.dataset == "upload":
        upload.panel()
        return
    if settings.dataset == compute.DECLARED:
        st.caption(text.DECLARED_SENTENCE)
        if has_encodings:
            st.page_link("../pages/plan.py", label="Change its description on the page Plan →")
        return
    info = infos[settings.dataset]
    st.caption(info.sentence)
    if missing := st.session_state.pop("missing_dataset", None):
        st.warning(missing)
    if has_encodings and len(info.encodings) > 1:
        st.session_state["encoding"] = settings.encoding
        words = {"schema": "by declared bounds (usable on private data)", "paper": "as in the paper (public data only)"}
        st.radio(
            "Encoding",
            list(info.encodings),
            format_func=words.__getitem__,
            key="encoding",
            on_change=lambda: state.update(encoding=st.session_state["encoding"]),
            help="The paper scales columns by their largest value and rows by their length, which reads the data; "
            "a release may only use bounds that were declared beforehand. The difference in length is its cost.",
        )


def _dataset_label(infos: dict[str, datasets.DatasetInfo], key: str) -> str:
    if key == "upload":
        return "Your own file …"
    if key == compute.DECLARED:
        return "A table you describe (no file needed)"
    info = infos[key]
    return f"{info.title} ({info.source})" if info.available else f"{info.title} (not on this machine)"


def _take_dataset() -> None:
    key = st.session_state["dataset"]
    if key == "upload":
        state.update(dataset="upload", names=(), encoding="schema")
        return
    if state.settings().dataset == "upload":
        state.put(state.settings().without_table())
    if key == compute.DECLARED:
        declare.take(declare.example())
        return
    info = {i.key: i for i in datasets.list_datasets()}[key]
    if not info.available:
        st.session_state["missing_dataset"] = f"{info.title} is not on this machine. Get it with `{info.how_to_get}`."
        return
    encoding = state.settings().encoding if state.settings().encoding in info.encodings else info.encodings[0]
    state.update(dataset=key, names=(), d=min(10, info.max_features), n=info.n_rows, encoding=encoding)


def _other_controls(settings: Settings, names: tuple[str, ...], *, one_design: bool) -> None:
    st.header("Privacy budget")
    controls.currency_control(settings)
    controls.total_control(settings)
    with live.waits("split"):
        with st.expander("Split of the budget", expanded=True):
            split_controls(settings)
        hints.expander("How the numbers convert", text.conversion_details(settings))
        deployments.panel(settings)
    st.header("Study")
    kept = state.upload()
    controls.n_control(
        settings, len(kept.frame) if kept and settings.dataset == "upload" else compute.table_rows(settings)
    )
    controls.d_control(settings, names)
    st.header("Model")
    if one_design:
        controls.design_controls(settings)
    else:
        controls.combination_controls(settings)
    controls.model_controls(settings)
    controls.target_control(settings)
    st.header("Pictures")
    st.segmented_control(
        "A chart's camera button saves",
        ["svg", "png"],
        format_func=str.upper,
        default="svg",
        key="picture",
        persist_state="session",
    )


def _warnings(view: compute.View) -> None:
    if len(set(view.records.y.tolist())) == 1:
        st.warning("All rows of this table belong to one class. The method works, but there is nothing to tell apart.")
    for note in view.records.notes:
        st.caption(note)
    advised = next((o for o in view.drawn if o.forecast and o.forecast.usefulness.is_useless), None)
    for outcome in view.outcomes:
        name = outcome.combination.label
        if outcome.forecast is None:
            st.warning(f"**{name}**: {outcome.refusal}")
        elif outcome.forecast.validity.grade == "unusable":
            reasons = " ".join(outcome.forecast.validity.reasons)
            st.warning(f"**{name}: this forecast cannot be used, so no interval is drawn.** {reasons}")
            continue
        elif outcome.forecast.validity.grade == "rough":
            reasons = " ".join(outcome.forecast.validity.reasons)
            st.info(f"**{name}: rough forecast.** {reasons}")
        if outcome.forecast is not None:
            _noise_warning(outcome, with_advice=outcome is advised)
    _flat_warning(view)
    if any(o.forecast and o.forecast.design.status for o in view.outcomes):
        st.caption(f"Sharp objective perturbation under zCDP: **{NOT_REVIEWED}**")


def _noise_warning(outcome: compute.Outcome, *, with_advice: bool) -> None:
    """Loud where the intervals are useless, with what helps if wanted (it takes a while); plain where noise only
    dominates."""
    made, moments, name = outcome.forecast, outcome.moments, outcome.combination.label
    assert made is not None
    assert moments is not None
    if made.usefulness.is_useless:
        key = ("remedies", moments.theta_hat.tobytes(), repr(made.design), made.n_records)
        advice = ""
        if with_advice:
            found = state.curves().get(key, lambda: remedies(moments, design=made.design, n_records=made.n_records))
            advice = found.sentence
        st.warning(f"**{name}: useless.** {made.usefulness.sentence} {advice}", icon="🚫")
    elif made.ci_length_mean > NOISE_DOMINATES * made.nonprivate_length_mean:
        times = made.ci_length_mean / made.nonprivate_length_mean
        st.warning(
            f"**{name}: the privacy noise dominates.** The intervals are {text.number(times, 2)} times as long as "
            "without privacy. More records, a larger budget or a larger c help, in this order."
        )


def _flat_warning(view: compute.View) -> None:
    """Coefficients for which an unpenalised target is out of reach."""
    flat: dict[str, None] = {}
    for outcome in view.drawn:
        assert outcome.forecast is not None
        marked = outcome.forecast.flat_share > _MOSTLY
        flat |= dict.fromkeys(n for n, m in zip(view.records.feature_names, marked, strict=True) if m)
    if flat:
        st.warning(text.flat_words(list(flat)))


def _headline(view: compute.View) -> None:
    if not view.drawn:
        return
    for outcome, column in zip(view.drawn, st.columns(len(view.drawn), gap="small"), strict=True):
        made = outcome.forecast
        assert made is not None
        ratio = made.ci_length_mean / made.vi_length_mean
        with column.container(border=True):
            st.markdown(f"**{outcome.combination.label}**")
            st.metric("Mean interval length", text.number(made.ci_length_mean))
            st.markdown(
                f"**{ratio:.2f}×** the variability interval ({text.number(made.vi_length_mean)}), "
                f"**{made.ci_length_mean / made.nonprivate_length_mean:.1f}×** the non-private one "
                f"({text.number(made.nonprivate_length_mean)}). Forecast coverage "
                f"**{100 * made.coverage_mean:.1f}\u00a0%**. "
                f"{text.budget_words(made.design, float(view.settings.delta))}"
            )
            if made.shortfall:
                st.caption(f"Longer than sharp intervals usually are: {made.shortfall}")


def _charts(view: compute.View, max_features: int) -> None:
    settings = view.settings
    caption = text.assumptions(settings, view.records)
    meta = {"settings": settings.to_query(), "total": float(settings.split.total), "n": settings.n, "c": settings.c}
    _interval_chart(view, caption, meta)
    with live.waits("others"):
        _sweep_chart(view, caption, meta, max_features)
        _coverage_chart(view, caption, meta)


def _interval_chart(view: compute.View, caption: str, meta: dict[str, object]) -> None:
    st.header("Each coefficient's interval")
    units = _units_control(view)
    hints.expander("How to read this chart", text.HOW_TO_READ)
    rows = compute.interval_rows(view, units)
    if not rows:
        st.info("Nothing to draw at these settings: see the notes above for what helps.")
        return
    figure = charts.interval_chart(
        rows, caption=caption, meta={**meta, "units": units}, source=view.records.source, odds=units == "odds"
    )
    reel = live_intervals.total_reel(view, units, rows)
    show("intervals", figure, charts.interval_sentence(rows), charts.interval_table(rows), reel=reel)


def _units_control(view: compute.View) -> str:
    if view.records.to_original is None:
        st.caption(
            "Original units need the encoding by declared bounds: the paper's row scaling has no exact way back."
        )
        return "scaled"
    options = [u for u in UNITS if u != "odds" or view.settings.losses == ("logistic",)]
    chosen = view.settings.units if view.settings.units in options else "scaled"
    st.session_state["units"] = chosen
    st.segmented_control(
        "Units of the coefficients",
        options,
        format_func=UNITS.__getitem__,
        key="units",
        on_change=lambda: state.update(units=st.session_state["units"] or "scaled"),
    )
    return chosen


def _sweep_chart(view: compute.View, caption: str, meta: dict[str, object], max_features: int) -> None:
    st.header("What one control does over its whole range")
    settings = view.settings
    options = [s for s in SWEEPS if s != "h" or "huber_svm" in settings.losses]
    name = sweep_control(options)
    curves = sweep_curves(view, name, max_features)
    note = ""
    if name in ("c", "h", "d"):
        note = f"Curves fitted on the first {min(compute.SUBSAMPLE, len(view.records.y)):,} rows of the table."
    if name == "d":
        note += " Shown is the first coefficient, because the others change with d."
    y_label = "Length for the first coefficient" if name == "d" else "Mean length over coefficients"
    figure = sweep_chart.sweep_chart(
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
    sentence = sweep_chart.sweep_sentence(curves, x_label=SWEEP_NAMES[name], current=current_value(settings, name))
    show("sweep", figure, sentence, sweep_chart.sweep_table(curves, x_label=SWEEP_NAMES[name]))


def _say_if_budget_is_wasted(view: compute.View, curves: list[sweep_chart.SweepCurve]) -> None:
    for sentence in wasted.sentences(view, curves, current_value(view.settings, "total")):
        st.info(sentence)
        st.page_link("../pages/plan.py", label="Find the best split on Plan →")


def sweep_control(options: list[str]) -> str:
    """Which control is swept."""
    name = state.settings().sweep if state.settings().sweep in options else "total"
    st.session_state["sweep"] = name
    st.selectbox(
        "Sweep",
        options,
        format_func=SWEEP_NAMES.__getitem__,
        key="sweep",
        on_change=lambda: state.update(sweep=st.session_state["sweep"]),
    )
    return name


def sweep_curves(view: compute.View, name: str, max_features: int) -> list[sweep_chart.SweepCurve]:
    """Forecast curves, remembered."""
    asked = compute.free_of(view.settings, name)
    return state.curves().get(
        ("sweep", view.records.digest, name, repr(asked), max_features),
        lambda: compute.sweep(asked, state.source(), name, max_features),
    )


def current_value(settings: Settings, name: str) -> float:
    """Where a swept control stands now."""
    if name == "total":
        return float(settings.epsilon) if settings.currency == "approx" else float(settings.split.total)
    if name in ("model", "hessian", "covariance"):
        return settings.split.share(("model", "hessian", "covariance").index(name))
    if name == "d":
        return float(len(settings.names) or settings.d)
    return float(getattr(settings, name))


def _coverage_chart(view: compute.View, caption: str, meta: dict[str, object]) -> None:
    st.header("Coverage: how often the interval contains the coefficient")
    hints.expander("What coverage means", text.HOW_COVERAGE)
    rows = [
        (o.combination, view.records.feature_names, o.forecast.coverage) for o in view.drawn if o.forecast is not None
    ]
    if not rows:
        st.info("Nothing to draw at these settings: see the notes above for what helps.")
        return
    level = view.settings.level
    figure = charts.coverage_chart(rows, level=level, caption=caption, meta=meta, source=view.records.source)
    show("coverage", figure, charts.coverage_sentence(rows, level=level), charts.coverage_table(rows), is_plain=True)


def show(
    key: str,
    figure: Figure | go.Figure,
    sentence: str,
    table: pd.DataFrame,
    *,
    is_plain: bool = False,
    reel: live.Reel | None = None,
) -> None:
    """A chart with its sentence, its table and the table's download; a reel covers it while its slider is dragged.

    is_plain: the sentence holds names that somebody typed, and no Markdown that is meant.
    """
    drawn: Figure = figure.to_dict() if isinstance(figure, go.Figure) else figure
    # Streamlit paints a chart's words in a grey that is hard to read: take the page's own text colour instead.
    if (theme := st.context.theme.type) and (colour := st.get_option(f"theme.{theme}.textColor")):
        drawn = in_colour(drawn, colour)
    with live.covering(key, reel):
        st.plotly_chart(
            Written(drawn),
            key=f"chart_{key}",
            config=plot_config(key, st.session_state.get("picture") or "svg"),
            alt=sentence,
        )
    with live.waits(key):
        _words_and_numbers(key, text.plain(sentence) if is_plain else sentence, sentence, table)


def _words_and_numbers(key: str, words: str, sentence: str, table: pd.DataFrame) -> None:
    st.markdown(words)
    with st.expander("The numbers as a table"):
        st.dataframe(table, hide_index=True, alt=sentence, key=f"{key}_table")
        st.download_button(
            "Download CSV",
            partial(csv_bytes, table),  # made when somebody asks
            file_name=f"dpci_{key}.csv",
            mime="text/csv",
            on_click="ignore",
            key=f"{key}_csv",
        )
