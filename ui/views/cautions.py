"""What speaks against a design, in the words of the board's page, wherever it is decided on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from dpci_core.report.cautions import Caution, Gravity, gravest, smaller_points
from ui.session.text import plain

_BOXES: dict[Gravity, Callable[[str], object]] = {
    "stops": st.warning,
    "weigh": st.info,
    "know": st.caption,
}


def box(said: Sequence[Caution]) -> None:
    """The gravest in full, the rest behind a click; nothing where nothing speaks against it."""
    if not said:
        return
    grave, smaller = gravest(said)
    _BOXES[grave[0].gravity](_listed(grave))
    if smaller:
        with st.expander(smaller_points(len(smaller))):
            st.markdown(_listed(smaller))


def _listed(said: Sequence[Caution]) -> str:
    return "\n".join(f"- {plain(one.sentence)}" for one in said)
