"""What a page leaves for later: until nobody has moved anything for a while, or a pointer comes to
a slider whose film is wanted then.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

_JS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_component = st.components.v2.component(
    "dpci_quiet", html="<span hidden></span>", js=_JS, isolate_styles=False
)
WAIT = 450
"""Milliseconds without a move."""


def asked(key: str) -> tuple[str, str]:
    """For which versions it has become quiet, and a pointer has come to the slider."""
    told = st.session_state.get(f"{key}_told", {})
    return told.get("quiet", ""), told.get("reached", "")


def is_over() -> bool:
    """Whether somebody has moved something meanwhile, or left: a move waits until this run ends.

    Streamlit ends no run for the sake of a fragment's, and does not say that one waits.
    """
    running = get_script_run_ctx(suppress_warning=True)
    requests = running.script_requests if running is not None else None
    return getattr(requests, "_state", None) in (ScriptRequestType.RERUN, ScriptRequestType.STOP)


def watch(
    key: str,
    *,
    slider: str,
    version: str,
    is_quiet: bool,
    film_version: str,
    film: Mapping[str, object] | None,
) -> None:
    """Have the browser say so.

    is_quiet: nothing is left to do in this version once it has become quiet.
    film: words and bars of every position of the slider, for `picture.js`; None while nobody asked.
    """

    def tell(name: str) -> None:
        told = st.session_state.setdefault(f"{key}_told", {})
        told[name] = getattr(st.session_state.get(key), name, None) or told.get(name, "")

    with st.container(key=f"{key}_watch"):
        _component(
            data={
                "slider": slider,
                "version": version,
                "isQuiet": is_quiet,
                "wait": WAIT,
                "filmVersion": film_version,
                "film": film,
            },
            key=key,
            on_quiet_change=lambda: tell("quiet"),
            on_reached_change=lambda: tell("reached"),
        )
