"""The standard encoding set by hand: one radius and limit, or bounds instead."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpci_core.schema import Schema
from dpci_core.schema.declare import RADIUS
from dpci_core.schema.numeric import LIMIT
from ui.controls.paired import number_field, refusal
from ui.controls.shape import encode_by
from ui.kit.bound import among, bound
from ui.session.compute import usual_encoding

_MOST = 1e3
ENCODINGS = {True: "By typical value and spread", False: "By bounds"}


def controls(schema: Schema) -> None:
    """How columns are scaled, and the numbers of it."""
    now = schema.standard
    usual = usual_encoding(schema)
    st.radio(
        "Columns are scaled",
        **among(ENCODINGS),
        **bound("is_standard", now is not None, lambda is_on: encode_by(usual if is_on else None)),
        horizontal=True,
    )
    if now is None:
        return
    left, right = st.columns(2)
    if isinstance(now.shape, tuple):
        left.caption("Rows outside the crowd of the planning rows count less.")
    else:
        with left:
            number_field(
                "standard_radius",
                "Row radius R, in spreads",
                now.shape,
                lambda radius: encode_by(replace(now, shape=radius)),
                limits=(RADIUS[0], _MOST),
                is_shown=False,
                help="Rows longer than R count less. A small R needs less noise, and adds bias.",
            )
            refusal("standard_radius")
    with right:
        number_field(
            "standard_limit",
            "Limit, in spreads",
            now.limit,
            lambda limit: encode_by(replace(now, limit=limit)),
            limits=(LIMIT[0], _MOST),
            is_shown=False,
            help="Values further from the typical one count as that far.",
        )
        refusal("standard_limit")
