"""What forecasts rest on, where somebody opened moments that were computed elsewhere."""

from __future__ import annotations

import streamlit as st

from dpci_core.losses import make_loss
from ui.controls.sidebar import feature_names
from ui.session import state


def about_moments(*, takes_geometry: bool = False) -> None:
    """That forecasts rest on them, or what they are for where the settings are others.

    takes_geometry: whether the page fits with the weights of an opened shape.
    """
    settings, store = state.settings(), state.given()
    given = store and store.given
    if not given or not given.is_of(settings):
        return
    found = given.moments
    names = settings.names or feature_names()[: settings.d]
    is_used = all(
        given.fits(
            (*names, given.names[-1]),
            make_loss(combination.loss, settings.h),
            settings.c,
            with_spread=settings.is_shaped,
            geometry=found.geometry if takes_geometry and settings.opened else None,
        )
        for combination in settings.combinations
    )
    n = f"{found.n_records:,} records, computed elsewhere"
    with st.container(horizontal=True, vertical_alignment="center", key="moments_given"):
        if is_used:
            st.caption(f"Forecasts rest on the moments of {n}.")
        else:
            st.caption(
                f"The moments of {n}, are for another design: {found.loss.title}, "
                f"c = {found.regularization:g}, {len(given.names) - 1} features. Here a sample "
                "stands in."
            )
        st.button(
            "Forget them",
            key="moments_forget",
            on_click=state.set_given,
            args=(None,),
            type="tertiary",
        )
