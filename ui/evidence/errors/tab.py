"""The tab of prediction error: test error beside interval length for the settings on screen, and
published error rates.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
import streamlit as st

from dpci_core.base.rows import WeightedRows
from dpci_core.tuning.training import Measured
from ui.controls import hints
from ui.controls.job_panel import JobPanel
from ui.controls.sidebar import current_view, feature_names, is_ready
from ui.evidence.errors import chart, published
from ui.evidence.errors.chart import BAND, ErrorCurve, LengthCurve, percent, points
from ui.evidence.errors.job import AccuracyJob
from ui.evidence.errors.numbers import EFFORT, Answer, Request, Sweep, grid, present, request
from ui.kit import linked
from ui.kit.bound import among
from ui.kit.figure import Meta
from ui.kit.palette import Combination
from ui.session import compute, jobs, state, text
from ui.session.compute import LRU
from ui.views.show import show
from ui.views.sweep import SWEEP_NAMES

_SHARED = LRU(60)
"""Answers about public and simulated tables, for all sessions; those about an uploaded one stay in
its session.
"""
PATIENCE = 0.7
"""Seconds for which an answer is waited for before the page goes on and polls."""
_CARDS_IN_A_ROW = 4

VIEWS = {"total": "Over budget", "n": "Over records", "published": "Published rates"}
_VIEW = linked.one_of("errors", VIEWS, default="total", widget="errors_view")

LEAD = """
Privacy has two prices: the model can be **wrong about more people**, and its coefficients
are **known less well**. Both are shown here.
"""

HOW = """
The table is divided at random: four fifths to train on, one fifth, never trained on, to test with. Every model is
trained again and again, each time with new noise (and, where n is below the rows at hand, on other rows), and each
time the test rows it gets wrong are counted. A line is the mean of those shares; its band is where the mean of
endless repetitions would lie with 95 %. Single models scatter more: the table has their standard deviation. All lines
meet the same rows and the same noise, scaled, so that differences between them are surer than each by itself.

A design spends the share of the budget that is for the coefficients, as a release would; the Hessian and the
gradient covariance make intervals, not predictions.

Because one class is commoner, a heavily disturbed model can do worse than guessing, and the error need not fall
steadily: the table splits it into false positives and false negatives.

The interval lengths below are forecasts, as on Explore. In the grey part of the chart n is beyond the rows to train
on: the noise there is that of n, but what more records would improve besides is left out.
"""  # noqa: E501 - Markdown


def section() -> None:
    """Draw the tab."""
    st.segmented_control(
        "Prediction error",
        **among(VIEWS),
        required=True,
        label_visibility="collapsed",
        **_VIEW.bound(),
    )
    if _VIEW.value == "published":
        published.section()
        return
    view = current_view() if is_ready(is_folded=True) else None
    if view is not None and isinstance(view.records.X, WeightedRows):
        st.info(NOT_WEIGHTED)
    elif view is not None:
        st.markdown(LEAD)
        _live(view, "n" if _VIEW.value == "n" else "total")


NOT_WEIGHTED = (
    "Test errors are measured under the encoding by bounds only: in the standard encoding some "
    "rows count less. Choose another table, or scale the columns by their bounds on the page Plan."
)


# --- what is asked, and its answer ----------------------------------------------------------------


def _answers() -> LRU:
    return state.memo() if state.settings().dataset == "upload" else _SHARED


def _known(asked: Request) -> Answer | None:
    return _answers().peek(("accuracy", asked.key))  # type: ignore[return-value]


def _live(view: compute.View, sweep: Sweep) -> None:
    quick, thorough = (
        request(view.settings, view.records, effort=effort, sweep=sweep) for effort in EFFORT
    )
    answer = _known(thorough)
    asked = quick if answer is None else thorough
    if answer is None and _known(quick) is None:
        _ask_quick(quick, view)
    _collect()
    answer = _known(thorough) or _known(quick)
    if answer is not None:
        _headline(view, asked, answer, sweep)
        _chart(view, asked, answer, sweep)
        hints.expander("How this is measured", HOW)
    _thorough_control(thorough, view)
    _watch(quick)


def _ask_quick(asked: Request, view: compute.View) -> None:
    """Have a picture measured on some of the rows; one that is no longer wanted is given up."""
    job = _QUICK.job()
    if job is not None and job.request.key == asked.key:
        return
    if job is not None and job.is_active:
        jobs.QUICK.cancel(job)
    if state.submit(_QUICK.name, _job_of(asked, view), jobs.QUICK):
        end = time.monotonic() + PATIENCE
        while _QUICK.is_active and time.monotonic() < end:
            time.sleep(0.01)


def _job_of(asked: Request, view: compute.View) -> AccuracyJob:
    is_private = view.settings.dataset == "upload"
    records = view.records.complete()
    return AccuracyJob(
        request=asked, is_private_to_session=is_private, X=records.unweighted, y=records.y
    )


def _start(asked: Request, view: compute.View) -> None:
    if not _THOROUGH.is_active:  # no double click
        state.submit(_THOROUGH.name, _job_of(asked, view))


def _collect() -> None:
    """Keep the answers of jobs that are done."""
    for job in (_QUICK.job(), _THOROUGH.job()):
        if job is not None and (answer := job.answer) is not None:
            _answers().put(("accuracy", job.request.key), answer)


def _watch(asked: Request) -> None:
    """The jobs that run or have failed; only live ones are polled, and the end of one redraws the
    page once.
    """
    if problem := state.queue_problem():
        st.warning(problem)
    if _THOROUGH.is_gone:
        st.info(jobs.GONE.format(what="measurement"))
    quick = _QUICK.job()
    if quick is not None and (quick.is_active or quick.request.key == asked.key):
        _QUICK.watch()
    _THOROUGH.watch()


def _running(job: AccuracyJob, words: str) -> None:
    total = len(job.request.points)
    if job.done == 0:
        st.progress(0.0, text="Preparing; the first time on a machine the engine is compiled …")
    else:
        st.progress(job.done / total, text=f"Measuring {words}: {job.done} of {total} points")


def _ended(job: AccuracyJob, words: str) -> None:
    if job.state == "cancelled":
        st.info(
            f"The measurement {words} was cancelled. Change a setting, or measure thoroughly, to "
            "see errors."
        )


def _panel(name: str, words: str, stop_key: str) -> JobPanel[AccuracyJob]:
    return JobPanel(
        kind=AccuracyJob,
        name=name,
        running=partial(_running, words=words),
        failed=st.warning,
        ended=partial(_ended, words=words),
        stop_key=stop_key,
        poll=0.5,
    )


_QUICK = _panel("accuracy_quick", "on some of the rows", "cancel_quick")
_THOROUGH = _panel("accuracy_job", "thoroughly", "cancel_accuracy")


def _thorough_control(thorough: Request, view: compute.View) -> None:
    if _known(thorough) is not None:
        return
    is_too_large = view.records.X.size > jobs.LARGEST_TABLE
    st.button(
        f"Measure thoroughly: all rows, {thorough.n_fits} draws",
        key="measure_accuracy",
        on_click=_start,
        args=(thorough, view),
        disabled=is_too_large or _THOROUGH.is_active,
    )
    if is_too_large:
        st.warning(
            "This table is too large to be trained on again and again here: take fewer features."
        )


# --- the picture ----------------------------------------------------------------------------------


def _error_curves(asked: Request, answer: Answer) -> list[ErrorCurve]:
    return [ErrorCurve(line, answer.errors(line)) for line in asked.lines]


def _headline(view: compute.View, asked: Request, answer: Answer, sweep: Sweep) -> None:
    """One card for each learner at the settings themselves."""
    curves = _error_curves(asked, answer)
    here = present(view.settings, sweep)
    plain = {
        c.line.points[0].training.loss: c
        for c in curves
        if not c.line.is_private and c.line.points[0]
    }
    made = {o.combination: o.forecast for o in view.drawn}
    private = [c for c in curves if c.line.is_private]
    for start in range(0, len(private), _CARDS_IN_A_ROW):
        row = private[start : start + _CARDS_IN_A_ROW]
        for curve, column in zip(row, st.columns(len(row), gap="small"), strict=True):
            with column.container(border=True):
                st.markdown(f"**{curve.line.name}**")
                found = chart.at(curve, here)
                point = curve.line.points[curve.line.x.index(here)]
                if found is None or point is None:
                    st.markdown(
                        "Cannot be trained at these settings; Explore says what would help."
                    )
                    continue
                st.metric("Wrong for", percent(found.error))
                without = chart.at(plain[point.training.loss], here)
                assert without is not None
                st.markdown(
                    f"{_more(found, without)} without privacy ({percent(without.error)}); guessing "
                    f"is wrong for {percent(answer.constant_error)}. One model varies by ± "
                    f"{points(found.error_sd)}."
                )
                forecast = (
                    None if curve.line.combination is None else made.get(curve.line.combination)
                )
                if forecast is not None:
                    ratio = forecast.ci_length_mean / forecast.nonprivate_length_mean
                    st.markdown(
                        f"Mean interval length **{text.number(forecast.ci_length_mean)}** for the "
                        f"{text.covers(view.effective_settings)}, "
                        f"**{ratio:.1f}×** the one without privacy."
                    )


def _more(found: Measured, without: Measured) -> str:
    """How much more often than without privacy, where the noise of the measurement lets one
    tell.
    """
    difference = found.error - without.error
    if abs(difference) <= BAND * float(np.hypot(found.error_se, without.error_se)):
        return "As many, within the measurement's noise, as"
    return f"**{points(abs(difference))} {'more' if difference > 0 else 'fewer'}** than"


def _lengths(view: compute.View, asked: Request, sweep: Sweep) -> dict[Combination, LengthCurve]:
    """Forecast lengths of the designs that are drawn, on the same grid."""
    wanted = tuple(line.combination for line in asked.lines if line.combination)
    if not wanted:
        return {}
    x = np.array(grid(view.settings, sweep))
    curves = state.memo().get(
        ("accuracy lengths", view.records.digest, sweep, repr(view.settings.to_query())),
        lambda: compute.sweep(view.settings, state.source(), sweep, len(feature_names()), x),
    )
    made = {o.combination: o.forecast for o in view.outcomes}
    found = {}
    for curve in curves:
        here = made.get(curve.combination)
        if curve.combination in wanted and here is not None:
            n = x if sweep == "n" else np.full(len(x), float(view.settings.n))
            found[curve.combination] = LengthCurve(
                curve, here.nonprivate_length_mean * np.sqrt(here.n_records / n)
            )
    return found


def _chart(view: compute.View, asked: Request, answer: Answer, sweep: Sweep) -> None:
    label = SWEEP_NAMES[sweep]
    errors, lengths = _error_curves(asked, answer), _lengths(view, asked, sweep)
    how = (
        f"{answer.n_train:,} rows to train on, {answer.n_test:,} to test with, {answer.n_fits} "
        "draws"
    )
    sampling = BAND * np.sqrt(answer.constant_error * (1 - answer.constant_error) / answer.n_test)
    caption = (
        f"{text.assumptions(view.effective_settings, view.records)}; errors simulated: {how}; "
        "bands: 95 % for the noise (of lengths: one standard deviation), dotted: your settings; "
        "other test rows would move all lines together by up to about "
        f"{points(float(sampling))}"
    )
    meta: Meta = {
        "settings": view.settings.to_query(),
        "sweep": sweep,
        "fits": answer.n_fits,
        "train": answer.n_train,
    }
    figure = chart.accuracy_chart(
        errors,
        list(lengths.values()),
        x_label=label,
        current=present(view.settings, sweep),
        constant_error=answer.constant_error,
        rows_at_hand=float(answer.n_train) if sweep == "n" else None,
        caption=caption,
        meta=meta,
        source=view.records.source,
    )
    sentence = chart.accuracy_sentence(errors, x_label=label, constant_error=answer.constant_error)
    here = present(view.settings, sweep)
    letter = text.symbol(view.settings) if sweep == "total" else "n"
    show(
        f"accuracy_{sweep}",
        figure,
        sentence,
        chart.accuracy_table(errors, lengths, x_label=label),
        title=chart.accuracy_title(errors, here, f"{letter} = {text.number(here)}"),
    )
