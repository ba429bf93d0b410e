"""The page Plan: say how long an interval may be, get the budget, the number of records or the
split.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from dpci_core.base.errors import ConvergenceError, DataRejectedError
from ui.controls import declare, plan_file
from ui.controls.sidebar import is_ready
from ui.kit.bound import among, bound
from ui.plan import answers, bounds, numbers, pictures, standard, words
from ui.session import state, text
from ui.session.case import Case, PrecisionError, make_case, make_target, place_of
from ui.session.compute import DECLARED
from ui.session.settings import PRECISION, Settings
from ui.session.words import in_words

MEAN = ""
"""The precision target about the mean over all coefficients."""


def page() -> None:
    """Draw the page."""
    settings = state.settings()
    st.title("Plan")
    st.markdown(
        "Before anyone opens the real table: **say what your intervals should be able to do, and "
        "see what it takes** in privacy budget or in records. Everything here is computed on a "
        "stand-in, never on private records."
    )
    if not is_ready(one_design=True):
        return
    if settings.dataset == DECLARED:
        declare.panel()
    try:
        with st.spinner("Fitting …", show_time=True, width="content"):
            case = make_case(settings, state.source())
    except (DataRejectedError, ConvergenceError, FileNotFoundError, ValueError) as problem:
        st.error(in_words(problem))
        if isinstance(problem, PrecisionError):
            usual = settings.usual(*PRECISION)
            st.button(
                "Take the usual target", key="usual_target", on_click=state.put, args=(usual,)
            )
        return
    if settings.dataset == DECLARED and case.records.encoding == "schema":
        bounds.panel(case)
    _target(case)
    standard.panel(case)
    if _is_wanted(case):
        work = answers.cards(case)
        pictures.panel(case, work)
    plan_file.panel(case)


# --- the target -----------------------------------------------------------------------------------


def _target(case: Case) -> None:
    """What the intervals should be able to do."""
    settings = case.settings
    with st.container(border=True):
        st.header(f"What should intervals for the {text.covers(settings)} be able to do?")
        left, right = st.columns(2, gap="medium")
        with left:
            st.radio(
                "The precision target",
                **among(words.GOALS),
                **bound("goal", settings.goal, _take_goal),
                label_visibility="collapsed",
            )
            _which(case)
        with right:
            _amount(case)
            _chance(settings)


def _take_goal(goal: str) -> None:
    state.update(goal=goal, goal_chance=words.USUAL_CHANCE[goal])


def _which(case: Case) -> None:
    names = list(case.records.feature_names)
    options = names if case.settings.goal == "zero" else [MEAN, *names]
    place = place_of(case.settings, case.records)
    shown = MEAN if place is None else names[place]
    st.selectbox(
        "Which coefficient",
        options,
        format_func=lambda name: name or "the mean over all coefficients",
        **bound("goal_on", shown, lambda name: state.update(**numbers.moved_target(case, name))),
    )
    _say_if_gone(case, shown)


def _say_if_gone(case: Case, shown: str) -> None:
    """A target about a coefficient that another table, or other features, do not have, is about
    another one now.
    """
    asked = case.settings.goal_on
    if asked in (MEAN, shown):
        return
    now = f"“{text.plain(shown)}”" if shown else "the mean over all coefficients"
    st.warning(
        f"Your target was about “{text.plain(asked)}”, which is not among the coefficients. It is "
        f"about {now} for now, with the same number in its units."
    )
    st.button("Keep it so", key="keep_which", on_click=lambda: state.update(goal_on=shown))


def _amount(case: Case) -> None:
    settings, unit = case.settings, words.goal_unit(case)
    name = "goal_length" if settings.goal == "length" else "goal_value"
    st.number_input(
        f"At most so long ({text.plain(unit)})"
        if settings.goal == "length"
        else f"True value to tell from zero ({text.plain(unit)})",
        value=None,
        step=None,
        format="%.6g",
        **bound(name, getattr(settings, name), lambda value: _take_amount(case, name, value)),
        help=words.GOAL_HELP[settings.goal],
    )
    if settings.goal == "zero" and unit.startswith("log odds") and settings.goal_value <= 20.0:
        st.caption(f"That is odds × {text.number(math.exp(settings.goal_value))}.")
    if refused := st.session_state.pop("goal_refused", None):
        st.warning(refused)


def _take_amount(case: Case, name: str, value: float) -> None:
    if not numbers.in_limits(name, value) or value == 0:
        rule = "longer than 0" if name == "goal_length" else "another number than 0"
        st.session_state["goal_refused"] = f"Give {rule}, up to a thousand million."
        return
    try:
        make_target(
            replace(case.settings, **cast("dict[str, Any]", {name: float(value)})),
            case.target.coefficient,
            case.scale,
        )
    except PrecisionError as problem:
        st.session_state["goal_refused"] = in_words(problem)
        return
    state.update(**{name: float(value)})


def _chance(settings: Settings) -> None:
    choices = sorted({*words.CHANCES, settings.goal_chance})
    st.select_slider(
        "How surely",
        choices,
        format_func=lambda chance: words.chance_words(settings.goal, chance),
        **state.bound("goal_chance"),
        help="The noise differs from release to release, and with it the length: ask for more than "
        "an even chance if you have only one release.",
    )


def _is_wanted(case: Case) -> bool:
    """Whether to compute; with many coefficients only if asked, because it takes minutes."""
    p = len(case.records.feature_names)
    if p <= numbers.MANY:
        return True
    return st.toggle(
        f"Compute the answers for {p} coefficients, which takes minutes", key="many_coefficients"
    )
