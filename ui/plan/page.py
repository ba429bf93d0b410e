"""The page Plan: the first four steps from a table to its release, one at a time."""

from __future__ import annotations

import streamlit as st

from dpci_core.base.errors import ConvergenceError, DataRejectedError
from ui.controls import plan_file
from ui.controls.given import about_moments
from ui.controls.hints import link_problem, way_out
from ui.plan import approve, choose, describe, goal
from ui.session import state, steps
from ui.session.case import PlannedCase, make_case
from ui.session.words import in_words
from ui.views import path, releases


def page() -> None:
    """Draw the step that somebody is at, and the plan so far."""
    settings = state.settings()  # reads its own part of a link before this page writes to it
    steps.follow(st.query_params.get("step", ""))
    step = steps.now(settings)
    steps.go(step)  # whatever is set here, it is set at this step
    state.mirror_to_link()
    left, right = path.columns(step)
    with left:
        link_problem()
        plan_file.say_opened()
        about_moments(takes_geometry=True)
        top = st.container()
        if step == "describe":
            describe.panel()
            case = path.case_or_none(state.settings(), make_case)
        else:
            case = _case()
            if case is not None:
                {"goal": goal.panel, "choose": choose.panel, "approve": approve.panel}[step](case)
        if case is not None:
            with top:
                is_over = releases.say_released(case)
            if is_over:
                path.show("describe")
    with right:
        path.so_far(case, step, typed=describe.typed_words() if step == "describe" else "")
    state.mirror_to_link()  # a draft that was typed in this run is in the address before a reload


def _case() -> PlannedCase | None:
    """The plan to go on with; None after words on why there is none."""
    settings = state.settings()
    if settings.dataset == "upload" and state.upload() is None:
        st.info("Bring your file at the step Describe, or describe your table there.")
        return None
    try:
        with st.spinner("Fitting …", show_time=True, width="content"):
            return make_case(settings, state.source())
    except (DataRejectedError, ConvergenceError, FileNotFoundError, ValueError) as problem:
        st.error(in_words(problem))
        way_out(problem)
        return None
