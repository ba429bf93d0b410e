"""The standard encoding set by hand: one radius and limit, or bounds instead."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpci_core.schema import Schema
from dpci_core.schema.declare import RADIUS
from dpci_core.schema.numeric import LIMIT
from ui.controls.shape import encode_by
from ui.kit.bound import among, bound
from ui.session.compute import usual_encoding

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
        left.number_input(
            "Row radius R, in spreads",
            RADIUS[0],
            1e3,
            step=None,
            format="%.6g",
            **bound(
                "standard_radius", now.shape, lambda r: encode_by(replace(now, shape=float(r)))
            ),
            help="Rows longer than R count less. A small R needs less noise, and adds bias.",
        )
    right.number_input(
        "Limit, in spreads",
        LIMIT[0],
        1e3,
        step=None,
        format="%.6g",
        **bound("standard_limit", now.limit, lambda x: encode_by(replace(now, limit=float(x)))),
        help="Values further from the typical one count as that far.",
    )
