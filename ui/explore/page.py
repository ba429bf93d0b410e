"""The Explore page: what moves, and one chart that it moves, on one screen."""

from __future__ import annotations

import html
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.controls import currency, deployments, design, hints, upload
from ui.controls.given import about_moments
from ui.controls.sidebar import current_view, feature_names
from ui.controls.split import amounts, split_slider
from ui.explore import choices, finding, later, number, tabs
from ui.explore.style import SHEET
from ui.kit.style import themed
from ui.session import compute, state, steps, text
from ui.session.served import served
from ui.session.settings import Settings

T = TypeVar("T")


def page() -> None:
    """Draw the page."""
    st.html(themed(SHEET))
    _header()
    hints.link_problem()
    names = feature_names()
    choices.line(names)
    settings = state.settings()
    if settings.outcome is not None:
        with served(compute.most_features(settings)):
            _of_a_number()
        return
    if settings.dataset == "upload":
        with st.expander("Your file", expanded=state.upload() is None):
            upload.panel()
        names = feature_names()
        if state.upload() is None:
            return
    _moving()


def _moving() -> None:
    """The sliders and the chart."""
    with served(compute.most_features(state.settings())):
        _moved()


def _moved() -> None:
    about_moments()
    view = current_view()
    if view is None:
        return
    units = tabs.units_of(view)
    place = _controls(view.settings, partial(later.beside_the_split, view))
    _warnings(view)
    tab = tabs.line(view, units)
    with _picture():
        tabs.content(view, tab, units)
        later.when_quiet(view, units, place)


def _of_a_number() -> None:
    """The same where the outcome is a number."""
    view = number.current()
    if view is None:
        return
    _controls(view.settings, partial(amounts, view.settings))
    tab = number.line()
    with _picture():
        number.content(view, tab)
        number.when_quiet(view)


def _picture() -> DeltaGenerator:
    """Where the chart is, and what comes for it later: that would else take the place of what
    stands below, which would be gone for as long, and the chart taller.
    """
    return st.container(key="explore")


def _controls(settings: Settings, beside_the_split: Callable[[], T]) -> T:
    """The sliders; returns what stands beside the split."""
    with st.container(key="controls", gap="small"):
        left, right = st.columns([13, 9], gap="medium", vertical_alignment="center")
        with left:
            currency.quick_total(settings)
        with right, st.container(key="about_budget", gap=None):
            _odds(settings)
            with st.popover("How is it read?", type="tertiary", key="read_budget"):
                _budget_details(settings)
        with st.container(key="sheet", gap="small"):
            left, right = st.columns([13, 9], gap="medium", vertical_alignment="center")
            with left:
                split_slider(settings)
            with right:
                place = beside_the_split()
            design.quick_controls(settings, feature_names())
        st.checkbox("Settings", key="sheet_open", on_change="ignore")
    return place


def _odds(settings: Settings) -> None:
    """What the budget means, in as much room as at the end of the slider, where most is said: else
    all below would move with the slider.
    """
    at_end = settings
    with suppress(ValueError):  # the parts are locked, and so is the slider
        at_end = currency.at_total(settings, float(currency.total_grid(settings)[-1]))
    said, most = (html.escape(finding.odds(one)) for one in (settings, at_end))
    st.html(f'<div class="odds_room" data-most="{most}"><p class="odds">{said}</p></div>')


def _header() -> None:
    with st.container(horizontal=True, key="head", vertical_alignment="center", gap="small"):
        st.title("What privacy costs a confidence interval")
        if st.button("Plan a study", key="door_plan"):
            steps.study(state.settings())
            st.switch_page("../pages/plan.py")
        if st.button("Publish my table", key="door_private"):
            steps.describe()
            st.switch_page("../pages/plan.py")
        if st.button("Understand", key="door_learn"):
            st.switch_page("../pages/learn.py")


def _budget_details(settings: Settings) -> None:
    hints.to_about()
    st.markdown(text.privacy_unit(settings))
    counted = (text.conversion_details(settings), text.exact_sentence(settings))
    st.markdown(" ".join(filter(None, counted)))
    st.markdown("**How others chose**")
    st.markdown("\n".join(deployments.lines(settings)))
    st.caption(deployments.CAVEAT)


def _warnings(view: compute.View) -> None:
    """What cannot be drawn."""
    if len(set(view.records.complete().y.tolist())) == 1:
        st.warning(
            "All rows of this table belong to one class. The method works, but there is nothing to "
            "tell apart."
        )
    for outcome in view.outcomes:
        name, made = outcome.combination.label, outcome.forecast
        if made is None:
            st.warning(f"**{name}**: {text.plain(outcome.refusal)}")
        elif made.validity.grade == "unusable":
            reasons = " ".join(made.validity.reasons_of(view.records.feature_names))
            st.warning(
                f"**{name}: this forecast cannot be used, so no interval is drawn as one.** "
                f"{text.plain(reasons)}"
            )
