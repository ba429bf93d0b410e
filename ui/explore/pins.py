"""Pinned settings, up to three, side by side."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpci_core import ConvergenceError, DataRejectedError
from ui.session import compute, state, text
from ui.session.compute import View
from ui.session.words import in_words


def panel(view: View) -> None:
    """The pin button and the pinned settings beside each other."""
    st.header("Compare")
    pins = state.pins()
    full = len(pins) >= state.MAX_PINS
    st.button(
        "Pin these settings",
        key="pin",
        on_click=_pin,
        args=(view,),
        disabled=full or not view.drawn,
        help="Keeps the present numbers so that you can move on and compare. At most "
        f"{state.MAX_PINS}.",
    )
    if not pins:
        st.caption("Pin a setting, change something, pin again: they stand here side by side.")
        return
    pins[:] = [pin if pin.assumptions else _numbered(pin) for pin in pins]
    for index, (column, pin) in enumerate(zip(st.columns(max(2, len(pins))), pins, strict=False)):
        with column.container(border=True):
            st.markdown(f"**{pin.name}**")
            st.caption(pin.assumptions)
            for row in pin.rows:
                st.markdown(row)
            st.button(
                "Go back to it", key=f"pin_use_{index}", on_click=state.put, args=(pin.settings,)
            )
            st.button("Remove", key=f"pin_drop_{index}", on_click=_drop, args=(index,))


def _drop(index: int) -> None:
    state.pins().pop(index)


def _pin(view: View) -> None:
    pins = state.pins()
    if len(pins) >= state.MAX_PINS:
        return
    number = 1 + max((int(p.name.split()[-1]) for p in pins), default=0)
    pins.append(_of(view, f"Setting {number}"))


def _numbered(pin: state.Pin) -> state.Pin:
    """A pin of a link with its numbers, or the reason why it has none."""
    try:
        view = compute.compute(pin.settings, compute.TableSource(compute.PUBLIC))
    except (DataRejectedError, ConvergenceError, FileNotFoundError) as problem:
        return replace(pin, assumptions=in_words(problem))
    return _of(view, pin.name)


def _of(view: View, name: str) -> state.Pin:
    rows = tuple(
        f"{o.combination.short}: **{text.number(o.forecast.ci_length_mean)}** long, "
        f"{o.forecast.ci_length_mean / o.forecast.vi_length_mean:.2f}× the variability interval of "
        f"{text.number(o.forecast.vi_length_mean)}; coverage {100 * o.forecast.coverage_mean:.1f} %"
        for o in view.drawn
        if o.forecast is not None
    )
    return state.Pin(name, view.settings, text.assumptions(view.settings, view.records), rows)
