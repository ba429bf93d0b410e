"""The start page: three questions, and one slider, one chart, one sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from dpci_core.base.places import HOME
from ui.controls import currency, deployments, hints
from ui.controls.hints import link_problem
from ui.kit import live
from ui.kit.figure import Meta
from ui.session import compute, state, steps, text
from ui.session.settings import Look, Settings
from ui.views import intervals, live_intervals
from ui.views.show import show

_PAGES = HOME / "pages"


def page() -> None:
    """Draw the page: the demo stands on the simulated census with the session's own budget."""
    st.title("How long will my confidence intervals be under differential privacy?")
    st.markdown(
        "Suppose you publish how age, education or working hours go with a high income, learnt "
        "from records of real people. **Differential privacy** adds noise so that nobody can tell "
        "what one person's record said. The noise makes every confidence interval longer. **How "
        "much longer is up to the privacy budget: move it.**"
    )
    link_problem()
    _questions()
    demo = _demo_settings(state.settings())
    left, right = st.columns([2, 3], gap="large")
    with left:
        currency.total_control(demo)
        hints.expander(
            "What is a privacy budget?",
            "A number, ε, that limits what any single record can change. Near 0 the published "
            "result would look almost the same whatever one person's record said; at 1, an even "
            "guess about a record can become at most 73 % sure; at 10, nearly certain. The budget "
            "covers everything that is published.",
        )
        with live.waits("others_chose"):
            deployments.panel(demo)
    view = compute.compute(demo, compute.TableSource(compute.PUBLIC))
    with left, live.waits("summary"):
        _summary(view)
    with right:
        rows = compute.interval_rows(view, "scaled")
        if rows:
            caption = text.assumptions(demo, view.records)
            meta: Meta = {"total": float(demo.split.total)}
            figure = intervals.interval_chart(
                rows,
                caption=caption,
                meta=meta,
                source=view.records.source,
                covers=text.covers(demo),
            )
            animation = live_intervals.total_animation(view, "scaled", rows)
            show(
                "home_intervals",
                figure,
                intervals.interval_sentence(rows),
                intervals.interval_table(rows),
                animation=animation,
            )
        else:
            st.info(
                "At this budget the noise drowns the data: give more budget, or explore a larger "
                "table."
            )


@dataclass(frozen=True)
class Question:
    """A question people come with, what its page says, and where the page opens.

    look: the closer look of the page Plan that answers it, if one does.
    """

    key: str
    question: str
    answer: str
    page: str
    look: Look | None = None


QUESTIONS = (
    Question(
        "length",
        "How long will my intervals be?",
        "Every coefficient, for any budget, model and table.",
        "explore",
    ),
    Question(
        "split",
        "Which split should I use?",
        "The best division of the budget, and what yours costs.",
        "plan",
        "split",
    ),
    Question(
        "records",
        "How many records do I need?",
        "Records, or budget, for an interval so long.",
        "plan",
    ),
)


def _questions() -> None:
    """The three questions, each one click away from its answer."""
    for question, column in zip(QUESTIONS, st.columns(len(QUESTIONS), gap="small"), strict=True):
        with column:
            if st.button(
                f"**{question.question}**", key=f"question_{question.key}", width="stretch"
            ):
                if question.look:
                    state.update(look=question.look)
                steps.METHOD.take("own")
                steps.go("choose")
                st.switch_page(_PAGES / f"{question.page}.py")
            hints.caption(question.answer)
    if st.button("I have a private table", key="door_private", type="tertiary"):
        steps.describe()
        st.switch_page(_PAGES / "plan.py")


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
        f"That is **{made.ci_length_mean / made.nonprivate_length_mean:.1f} times** as long as "
        f"without privacy, and **{made.ci_length_mean / made.vi_length_mean:.2f} times** the "
        "spread of the private estimates themselves, below which no valid interval around them can "
        "go on average."
    )
    settings = view.settings
    st.caption(
        f"For {settings.n:,} records and {settings.d} features of the simulated census, whatever "
        "you set elsewhere: where Explore starts."
    )
