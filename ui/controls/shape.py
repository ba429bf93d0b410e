"""The one choice of how noise is shaped to the columns, for Explore and Plan; and the encoding of a
table of one's own, which holds what comes of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from dpci_core.planner.standard import enclosing
from dpci_core.schema import Schema, StandardEncoding
from ui.kit.bound import among, bound
from ui.session import state, text
from ui.session.compute import (
    DECLARED,
    encoded,
    encoders_of,
    schema_of,
    usual_encoding,
)
from ui.session.settings import Settings
from ui.session.shape import ShapeSource


def shape_control(settings: Settings) -> None:
    """What the noise is shaped by, where there is a choice."""
    schema = schema_of(settings, state.source())
    standard = None if schema is None else schema.standard
    is_standard = settings.encoding == "standard" if schema is None else standard is not None
    offered: list[ShapeSource] = ["declared"]
    if is_standard:
        offered.append("planning")
    if settings.may_pay_for_shape:
        offered.append("released")
    if len(offered) < 2:
        return
    now: ShapeSource = "released" if settings.is_shaped else settings.map_source
    if schema is not None and now != "released":
        now = "planning" if _is_of_rows(standard) else "declared"
    st.radio(
        "Shape the noise to the columns",
        **among({name: text.SHAPES[name] for name in offered}),
        **bound("shape", now, lambda source: _take(source, schema)),
        help=text.SHAPE_HELP,
    )


def _is_of_rows(standard: StandardEncoding | None) -> bool:
    """Whether the map is more than one number, which only rows give."""
    return standard is not None and isinstance(standard.shape, tuple)


def _take(source: ShapeSource, schema: Schema | None) -> None:
    """Use this source; the map of a table of one's own is kept with its declaration."""
    state.update(shape=source, opened="")
    if schema is None or schema.standard is None or source == "released":
        return
    if source == "planning":
        _encode_by_rows(schema, schema.standard)
    else:
        encode_by(replace(schema.standard, shape=usual_encoding(schema).shape))


def _encode_by_rows(schema: Schema, standard: StandardEncoding) -> None:
    """Use the map of the planning rows, of the features that are chosen."""
    settings = state.settings()
    names = settings.names or schema.select(min(settings.d, len(schema.feature_names)))
    encoder = encoders_of(settings, state.source(), names)[0]
    encode_by(replace(standard, shape=enclosing(encoder, limit=standard.limit).shape))


def update_features(**changes: Any) -> None:
    """Choose other features; a map of rows is one for them."""
    state.update(**changes)
    schema = schema_of(state.settings(), state.source())
    if schema is not None and schema.standard is not None and _is_of_rows(schema.standard):
        _encode_by_rows(schema, schema.standard)


def encode_by(encoding: StandardEncoding | None) -> None:
    """Use this encoding for the table of the settings."""
    settings = state.settings()
    if settings.dataset == DECLARED:
        state.update(declared=encoded(settings.declared, encoding))
    elif (kept := state.upload()) is not None and kept.schema.standard != encoding:
        state.set_upload(replace(kept, schema=replace(kept.schema, standard=encoding)))
