"""The standard encoding set by hand: row radius and limit, or bounds instead."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from dpci_core.schema import Schema, StandardEncoding
from dpci_core.schema.declare import RADIUS
from dpci_core.schema.numeric import LIMIT
from ui.controls import declare
from ui.kit.bound import among, bound
from ui.session import state
from ui.session.compute import DECLARED, declared_table, packed_table

ENCODINGS = {True: "By typical value and spread", False: "By bounds"}


def encode_by(encoding: StandardEncoding | None) -> None:
    """Use this encoding for the table of the settings."""
    settings = state.settings()
    if settings.dataset == DECLARED:
        table = declared_table(settings.declared)
        schema = replace(table.schema, standard=encoding)
        state.update(declared=packed_table(replace(table, schema=schema)))
    elif (kept := state.upload()) is not None and kept.schema.standard != encoding:
        state.set_upload(replace(kept, schema=replace(kept.schema, standard=encoding)))


def controls(schema: Schema) -> None:
    """How columns are scaled, and the numbers of it."""
    now = schema.standard
    usual = declare.usual_encoding(schema)
    st.radio(
        "Columns are scaled",
        **among(ENCODINGS),
        **bound("is_standard", now is not None, lambda is_on: encode_by(usual if is_on else None)),
        horizontal=True,
    )
    if now is None:
        return
    left, right = st.columns(2)
    if now.shape is not None:
        left.caption("Rows outside the ellipsoid that was chosen count less.")
    else:
        left.number_input(
            "Row radius R, in spreads",
            RADIUS[0],
            1e3,
            step=None,
            format="%.6g",
            **bound(
                "standard_radius", now.radius, lambda r: encode_by(replace(now, radius=float(r)))
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
