"""The tab of coverage: the settings on screen, checked by simulation in the background."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from dpci_core import Design, ExperimentResult
from ui.controls.job_panel import JobPanel
from ui.controls.paired import is_refused, number_field, refusal
from ui.controls.sidebar import current_view, feature_names, is_ready
from ui.evidence.coverage import charts
from ui.evidence.coverage.charts import Comparison
from ui.evidence.coverage.job import Job
from ui.kit import linked
from ui.kit.exports import download
from ui.kit.figure import Meta
from ui.session import compute, jobs, state, text
from ui.session.choices import Combination
from ui.session.settings import Settings, from_query
from ui.session.words import in_words
from ui.views import sweep
from ui.views.show import show
from ui.views.sweep import SWEEP_NAMES, current_value, sweep_control, sweep_curves

_OPENED = "opened_result"
_EFFORT = {"Quick": (1_000, 200), "Usual": (4_000, 500), "As in the paper": (10_000, 1_000)}
_THOROUGH = linked.one_of("effort", _EFFORT, default="Quick", widget="effort")
_LARGEST_SEED = 2**31 - 1
_SEED = linked.whole_number("seed", _LARGEST_SEED, default=1, widget="seed")
MAX_DOCUMENT = 5 * 2**20


@dataclass(frozen=True)
class _Finished:
    """A result to draw, with the settings it belongs to."""

    settings: Settings
    assumptions: str
    digest: str
    combinations: tuple[Combination, ...]
    seed: int
    result: ExperimentResult


def section() -> None:
    """Draw the tab."""
    st.markdown(
        "Explore shows a *forecast*, from theory, in milliseconds. Here the same settings are "
        "**simulated**: the table is resampled again and again, every time the whole private "
        "procedure runs, and we count how often its intervals contain the coefficient."
    )
    if not is_ready():
        return
    view = current_view()
    if view is None:
        return
    found = _finished()
    if found is None or not _is_of(found, view):  # otherwise they stand under the chart
        st.caption(
            f"On screen: {text.plain(text.assumptions(view.effective_settings, view.records))}"
        )
    _start_controls(view)
    _PANEL.watch()
    _results(view)
    _open_again()


def _start_controls(view: compute.View) -> None:
    active = _PANEL.is_active
    left, middle, right = st.columns([3, 2, 2], vertical_alignment="bottom")
    left.segmented_control(
        "How thorough",
        list(_EFFORT),
        **_THOROUGH.bound(),
        help="Quick: 1,000 fits and 200 whole intervals. Usual: 4,000 and 500. The paper used "
        "10,000 and 1,000.",
        disabled=active,
    )
    with middle:
        seed, limits = int(_SEED.value), (0, _LARGEST_SEED)
        number_field("seed", "Seed", seed, _SEED.take, limits=limits, disabled=active)
        refusal("seed")
    too_large = view.records.X.size > jobs.LARGEST_TABLE
    right.button(
        "Start the simulation",
        type="primary",
        key="start",
        on_click=_start,
        args=(view,),
        disabled=active or too_large or is_refused("seed") or not _designs(view),
    )
    if too_large:
        st.warning("This table is too large to be resampled here: take fewer features.")
    for outcome in view.outcomes:
        if outcome.forecast is None:
            st.warning(f"**{outcome.combination.label}**: {text.plain(outcome.refusal)}")
    if problem := state.queue_problem():
        st.warning(problem)


def _designs(view: compute.View) -> dict[Combination, Design]:
    return {o.combination: o.forecast.design for o in view.outcomes if o.forecast is not None}


def _start(view: compute.View) -> None:
    if _PANEL.is_active or is_refused("seed"):
        return  # a double click, or a seed that was typed just before
    m, k = _EFFORT[_THOROUGH.value]
    if not view.settings.is_penalised:
        m = k  # its estimates need the matrices, which only whole intervals have
    designs = _designs(view)
    new = Job(
        settings=view.settings,
        assumptions=text.assumptions(view.effective_settings, view.records),
        digest=view.records.digest,
        combinations=tuple(designs),
        designs=tuple(designs.values()),
        m=m,
        k=k,
        seed=int(_SEED.value),
        is_private_to_session=view.settings.dataset == "upload",
        X=view.records.X,
        y=view.records.y,
        meaning=view.records.meaning,
    )
    if state.submit(_PANEL.name, new):
        st.session_state.pop(_OPENED, None)


def _live(job: Job) -> None:
    now = job.progress
    if now is None:
        st.progress(
            0.0,
            text="Preparing: fitting the table; the first time on a machine the engine is compiled "
            "…",
        )
        return
    st.progress(now.done / now.total, text=f"{now.done:,} of {now.total:,} replicates")
    for combination, coverage, se in zip(
        job.combinations, now.coverage_so_far, now.se, strict=True
    ):
        error = f" ± {100 * se:.1f}" if np.isfinite(se) else ""
        st.markdown(f"{combination.label}: coverage so far **{100 * coverage:.1f}{error} %**")


def _ended(job: Job) -> None:
    if job.state == "cancelled":
        done = job.result.n_done if job.result is not None else 0
        st.info(
            f"Cancelled after {done:,} of {max(job.m, job.k):,} replicates; what is done is shown "
            "below."
        )


_PANEL = JobPanel(
    kind=Job, name="job", running=_live, ended=_ended, stop_key="cancel", where=jobs.where
)


def _finished() -> _Finished | None:
    opened = st.session_state.get(_OPENED)
    if opened is not None:
        return opened  # type: ignore[no-any-return]
    job = _PANEL.job()
    if job is None or job.is_active or job.result is None or not job.result.n_covered:
        return None
    return _Finished(
        job.settings, job.assumptions, job.digest, job.combinations, job.seed, job.result
    )


def _results(view: compute.View) -> None:
    found = _finished()
    if found is None:
        if _PANEL.is_gone:
            st.info(jobs.GONE.format(what="simulation"))
        elif not _PANEL.is_active:
            st.caption("No simulation yet for this session: choose how thorough and start.")
        return
    told = compute.effective_settings(
        found.settings, (made.design for made in found.result.designs)
    )
    st.markdown(f"Result for the {text.covers(told)}.")
    if not _is_of(found, view):
        st.warning(f"**These results are of other settings**: {text.plain(found.assumptions)}.")
        if not state.admissible(found.settings)[1]:
            st.button(
                "Go back to those settings",
                key="restore",
                on_click=state.put,
                args=(found.settings,),
            )
        _document(found, view.records.title)
        return
    rows = _comparisons(found, view)
    level, result = view.settings.level, found.result
    caption = text.assumptions(told, view.records, how=f"simulated, seed {found.seed}")
    meta: Meta = {
        "n": view.settings.n,
        "k": result.n_covered,
        "m": result.n_done,
        "seed": found.seed,
    }
    figure = charts.coverage_comparison(
        rows, level=level, caption=caption, meta=meta, source=view.records.source
    )
    sentence = charts.comparison_sentence(rows, level=level, k=result.n_covered, m=result.n_done)
    title = charts.comparison_title(rows, level=level)
    show("simulation", figure, sentence, charts.comparison_table(rows), title=title)
    _sweep_with_points(view, rows, caption, meta)
    st.caption(
        f"{result.n_covered:,} intervals and {result.n_done:,} fits in {result.seconds:.1f} s."
    )
    _document(found, view.records.title)


def _is_of(found: _Finished, view: compute.View) -> bool:
    """Whether a result is of what is on screen."""
    is_same = (
        _about(found.settings) == _about(view.settings) and found.digest == view.records.digest
    )
    return is_same and set(found.combinations) <= set(_designs(view))


def _about(settings: Settings) -> Settings:
    """What a simulation depends on: not the way the page shows it."""
    return settings.usual("sweep", "units", "currency", "epsilon")


def _comparisons(found: _Finished, view: compute.View) -> list[Comparison]:
    forecasts = {o.combination: o.forecast for o in view.outcomes if o.forecast is not None}
    rows = []
    for combination, one in zip(found.combinations, found.result.designs, strict=True):
        made = forecasts[combination]
        share = one.vi_length_mean_se / one.vi_length_mean if one.vi_length_mean else np.nan
        rows.append(
            Comparison(
                combination=combination,
                names=view.records.feature_names,
                forecast_coverage=made.coverage,
                coverage=one.coverage,
                coverage_se=one.coverage_coefficient_se,
                forecast_ci=made.ci_length,
                ci=one.ci_length,
                ci_sd=one.ci_length_sd,
                forecast_vi=made.vi_length,
                vi=one.vi_length,
                vi_se=one.vi_length * share,
                coverage_mean_se=one.coverage_se,
                n_failed=one.n_failed,
            )
        )
    return rows


def _sweep_with_points(
    view: compute.View, rows: list[Comparison], caption: str, meta: Meta
) -> None:
    settings = view.settings
    name = sweep_control()
    features = len(feature_names())
    curves = sweep_curves(view, name, features)
    figure = sweep.sweep_chart(
        curves,
        x_label=SWEEP_NAMES[name],
        x_log=name in ("total", "n", "c", "h"),
        caption=caption,
        meta={**meta, "sweep": name},
        y_label=sweep.length_label(view.effective_settings, name),
        source=view.records.source,
    )
    here = current_value(settings, name)
    figure = charts.add_points(figure, rows, x=here, first_only=name == "d")
    sentence = (
        f"Curves are forecasts, the large marks at {text.number(here)} are simulated: intervals "
        "with one standard deviation, crosses the variability intervals with two standard errors."
    )
    table = sweep.sweep_table(curves, x_label=SWEEP_NAMES[name])
    show("simulated_sweep", figure, sentence, table, title=charts.lengths_title(rows))


def _document(found: _Finished, title: str) -> None:
    document = {
        "kind": "dpci simulation",
        "settings": found.settings.to_query(),
        "assumptions": found.assumptions,
        "data": title,
        "digest": found.digest,
        "seed": found.seed,
        "combinations": [
            [c.definition, c.mechanism, c.loss, c.calibration] for c in found.combinations
        ],
        "result": found.result.to_record(),
    }
    content = json.dumps(document, indent=1, allow_nan=False).encode()
    download("Download as JSON", content, file="dpci_simulation.json", key="download_simulation")


def _open_again() -> None:
    with st.expander("Open a result you downloaded"):
        file = st.file_uploader("Result file", type=["json"], key="open_result")
        if file is None:
            return
        try:
            found = read_document(file.getvalue())
        except ValueError as problem:
            st.error(f"This file is not a simulation result: {text.plain(in_words(problem))}")
            return
        st.button("Show it", key="show_opened", on_click=_show_opened, args=(found,))


def _show_opened(found: _Finished) -> None:
    st.session_state[_OPENED] = found
    fitting, unfit = state.admissible(found.settings)
    if not unfit:
        state.put(fitting)


def read_document(content: bytes) -> _Finished:
    """Read a downloaded result; raises ValueError with a sentence for anything else."""
    if len(content) > MAX_DOCUMENT:
        raise ValueError("it is larger than 5 MB.")
    try:
        document: Any = json.loads(content.decode(), parse_constant=_no_number)
        assert document["kind"] == "dpci simulation"
        settings, bad = from_query({str(k): str(v) for k, v in document["settings"].items()})
        combinations = tuple(Combination(*map(str, c)) for c in document["combinations"])  # type: ignore[arg-type]
        result = ExperimentResult.from_record(document["result"])
        words, digest, seed = (
            str(document["assumptions"]),
            str(document["digest"]),
            int(document["seed"]),
        )
    except (
        KeyError,
        TypeError,
        AttributeError,
        AssertionError,
        UnicodeDecodeError,
        RecursionError,
        OverflowError,
    ):
        raise ValueError("it is not a document of this page.") from None
    if bad or not _belong_together(settings, combinations, result):
        raise ValueError("its settings and its results do not belong together.")
    return _Finished(settings, words, digest, combinations, seed, result)


def _no_number(text: str) -> float:
    raise ValueError(f"it holds {text}, which is no number.")


def _belong_together(
    settings: Settings, combinations: tuple[Combination, ...], result: ExperimentResult
) -> bool:
    """Whether every result is of the design that these settings make, of as many coefficients."""
    if set(combinations) - set(settings.combinations) or len(combinations) != len(result.designs):
        return False
    p = 1 + (len(settings.names) or settings.d)
    return result.n_covered > 0 and all(
        _is_same(settings.design(combination), one.design) and len(one.theta_hat) == p
        for combination, one in zip(combinations, result.designs, strict=True)
    )


def _is_same(one: Design, other: Design) -> bool:
    """Equal designs, but for the last digits of a paired budget, which machines round
    differently.
    """
    parts = zip(one.budget.parts, other.budget.parts, strict=True)
    is_close = all(math.isclose(a, b, rel_tol=1e-9) for a, b in parts)
    return (
        one.definition == other.definition
        and is_close
        and replace(one, budget=other.budget) == other
    )
