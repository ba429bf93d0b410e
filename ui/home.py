"""The start page: one slider, one chart, one sentence; then where to go."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ui import charts, compute, controls, deployments, hints, live, live_intervals, state, text
from ui.explore import show
from ui.settings import Settings


def page() -> None:
    """Draw the page: the demo stands on the simulated census with the session's own budget."""
    st.header("How long will my confidence intervals be under differential privacy?")
    st.markdown(
        "Suppose you publish how age, education or working hours go with a high income, learnt from records of "
        "real people. **Differential privacy** adds noise so that nobody can tell what one person's record said. "
        "The noise makes every confidence interval longer. **How much longer is up to the privacy budget: move it.**"
    )
    demo = _demo_settings(state.settings())
    controls.link_problem()
    left, right = st.columns([2, 3], gap="large")
    with left:
        controls.total_control(demo)
        hints.expander(
            "What is a privacy budget?",
            "A number, ε, that limits what any single record can change. Near 0 the published result would look "
            "almost the same whatever one person's record said; at 1, an even guess about a record can become at "
            "most 73 % sure; at 10, nearly certain. The budget covers everything that is published.",
        )
        with live.waits("others_chose"):
            deployments.panel(demo)
    view = compute.compute(demo, compute.Source(compute.PUBLIC))
    with left:
        with live.waits("summary"):
            _summary(view)
        st.page_link("../pages/explore.py", label="**Explore everything →** data, model, split, n, c …")
    with right:
        rows = compute.interval_rows(view, "scaled")
        if rows:
            caption = text.assumptions(demo, view.records)
            meta: charts.Meta = {"total": float(demo.split.total)}
            figure = charts.interval_chart(rows, caption=caption, meta=meta, source=view.records.source, odds=False)
            reel = live_intervals.total_reel(view, "scaled", rows)
            show("home_intervals", figure, charts.interval_sentence(rows), charts.interval_table(rows), reel=reel)
        else:
            st.info("At this budget the noise drowns the data: give more budget, or explore a larger table.")


def _demo_settings(now: Settings) -> Settings:
    """The session's budget on the simulated census, everything else at its default."""
    fixed = Settings()
    return replace(
        fixed,
        currency=now.currency,
        epsilon=now.epsilon,
        delta=now.delta,
        split=now.split,
        definitions=(now.own_definition,),
        mechanisms=("objective",),
        results=now.results,
        d=6,
    )


def _summary(view: compute.View) -> None:
    outcome = view.outcomes[0]
    if outcome.forecast is None:
        st.warning(outcome.refusal)
        return
    made = outcome.forecast
    if made.validity.grade != "valid":
        st.info(" ".join(made.validity.reasons))
    a, b = st.columns(2)
    a.metric("Mean interval length", text.number(made.ci_length_mean))
    b.metric("Without privacy", text.number(made.nonprivate_length_mean))
    st.markdown(
        f"That is **{made.ci_length_mean / made.nonprivate_length_mean:.1f} times** as long as without privacy, and "
        f"**{made.ci_length_mean / made.vi_length_mean:.2f} times** the spread of the private estimates themselves, "
        "below which no valid interval around them can go on average."
    )
