"""Bringing a table of one's own: declaration first, then the file, then its schema. Private tables
are not opened.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import streamlit as st

from dpci_core.base.errors import DataRejectedError
from dpci_core.datasets import read_upload
from dpci_core.datasets.upload_rules import most_features
from dpci_core.report.words import many
from dpci_core.schema import (
    CategoricalColumn,
    Provenance,
    Schema,
    StandardEncoding,
    as_text,
    encode,
    propose_schema,
    propose_standard,
)
from dpci_core.schema.spelling import no_first
from ui.controls import plan_file
from ui.session import quota, state, steps
from ui.session.compute import Upload, usual_encoding
from ui.session.forms import FORMS
from ui.session.text import plain
from ui.session.words import in_words

NOT_YET = "Choose what is in the file first."
PUBLIC, SYNTHETIC, PRIVATE = "declared public", "declared synthetic", "private"
KINDS = {
    PUBLIC: "Public: anyone may see it",
    SYNTHETIC: "Synthetic: made up, no real person in it",
    PRIVATE: "Private records of people",
}
WHY_NOT = """
**A private file is not opened here.** Moving a budget until the intervals of a private table look good is already a
look at the private table, and nothing in the guarantee would account for it.

**Do this instead:** describe it. Names, bounds and levels of its columns are enough to plan with, and to release from.
Or plan on a stand-in, a public or synthetic table that resembles it: the privacy guarantee holds whatever the stand-in
was; the lengths are only as good as the resemblance.
"""  # noqa: E501 - Markdown
DEMO_ONLY = (
    "Uploads are switched off on this public demo. Run the dashboard on your own machine to bring "
    "a file."
)


@dataclass(frozen=True)
class _Choice:
    target: str
    positive: str


def panel() -> None:
    """Declaration, uploader, target and schema; puts an `Upload` into the session when all is in
    order.
    """
    if quota.is_public_demo():
        st.info(DEMO_ONLY)
        return
    kind = st.radio(
        "What is in the file?",
        list(KINDS),
        index=None,
        format_func=KINDS.__getitem__,
        key="upload_kind",
    )
    if kind is None:
        state.forget_file()
        st.caption(NOT_YET)
        return
    if kind == PRIVATE:
        state.forget_file()
        state.set_upload(None)
        st.warning(WHY_NOT)
        if st.button(
            "Describe my table instead (no file needed)", key="describe_instead", type="primary"
        ):
            steps.describe()
            state.put(state.settings().without_table())
            st.switch_page("../pages/plan.py")
        return
    file = st.file_uploader(
        "CSV or Parquet, up to 200 MB, or moments of a larger table (`dpci moments`)",
        type=["csv", "tsv", "txt", "parquet", "json", "xlsx", "xls"],  # the last: with words
        key="upload_file",
    )
    if file is None:
        state.forget_file()
        if state.upload() is not None:
            state.set_upload(None)
        return
    if file.name.lower().endswith(".json"):
        if plan_file.take(file.getvalue()):
            st.rerun()
        plan_file.say_refused()
        return
    try:
        frame = _frame(file)
        choice = _choose_target(frame)
        if choice is not None:
            _accept(frame, choice, "declared public" if kind == PUBLIC else "declared synthetic")
    except (DataRejectedError, ValueError) as problem:
        state.set_upload(None)
        st.error(f"This file cannot be used: {plain(in_words(problem))}")


def _frame(file: Any) -> pd.DataFrame:
    """The parsed file, kept in this session while it is the one in the uploader."""
    kept = state.file_read()
    if kept is not None and kept[0] == file.file_id:
        return kept[1]
    frame = read_upload(file.getvalue(), file.name)
    state.keep_file(file.file_id, frame)
    return frame


def _choose_target(frame: pd.DataFrame) -> _Choice | None:
    """Which column is predicted, and which of its values counts as +1."""
    columns = [str(c) for c in frame.columns]
    target = st.selectbox("Column to predict", columns, index=None, key="upload_target")
    if target is None:
        st.caption("Choose the column whose value the model predicts.")
        return None
    levels = sorted({as_text(v) for v in frame[target].dropna().unique()[:50]})
    positive = st.selectbox(
        "Its value that counts as “yes”", levels, index=None, key=f"upload_positive_{target}"
    )
    if positive is None:
        st.caption("Everything else counts as “no”.")
        return None
    return _Choice(target, positive)


def _accept(frame: pd.DataFrame, choice: _Choice, kind: Provenance) -> None:
    now = state.upload()
    proposed = propose_standard(
        frame,
        _no_first(propose_schema(frame, choice.target, choice.positive)),
        StandardEncoding(),  # any: what is usual in a column does not depend on it
    )
    schema = _edited(proposed)
    schema = replace(schema, standard=now.schema.standard if now else standard_in_terms(schema))
    if now is None or now.schema != schema or now.frame is not frame or now.source != kind:
        title = "Your file"
        # refuses a bad schema before it is kept
        encode(frame.head(50), schema, features=None, title=title, source=kind)
        state.set_upload(Upload(frame, schema, title, kind))
        count = len(schema.feature_names)
        d = min(10, count, most_features(len(frame)))
        state.update(names=(), d=d, n=max(100, min(len(frame), 1_000_000)), encoding="schema")
        st.rerun()
    st.success(
        f"{many(len(frame), 'row')}, {many(len(schema.feature_names), 'feature')} after encoding."
    )


def _no_first(schema: Schema) -> Schema:
    """The schema with a “no” before its “yes”, however often each occurs: effects are told against
    the first.
    """
    features = tuple(
        replace(one, levels=tuple(one.levels[place] for place in no_first(one.levels)))
        if isinstance(one, CategoricalColumn)
        else one
        for one in schema.features
    )
    return replace(schema, features=features)


def standard_in_terms(schema: Schema) -> StandardEncoding | None:
    """The encoding that goes with the terms of the settings: none where a penalty stays."""
    return None if state.settings().is_penalised else usual_encoding(schema)


def _edited(proposed: Schema) -> Schema:
    """Numbers as the person wants them; proposed ones come from the file, which is fine for a
    public file only.
    """
    numeric = [c for c in proposed.features if FORMS[type(c)].has_bounds]
    with st.expander("Columns and bounds"):
        st.caption(
            "All of it was proposed from the file, which is all right because you declared it "
            "public or synthetic. For a private table it must come from knowledge you had before "
            "you saw it."
        )
        table = pd.DataFrame(
            {
                "column": [c.name for c in numeric],
                **{name: [getattr(c, field) for c in numeric] for name, field in _EDITED.items()},
            }
        ).astype(dict.fromkeys(_EDITED, "Float64"))
        edited = st.data_editor(
            table,
            disabled=["column"],
            hide_index=True,
            key=f"upload_bounds_{hash(proposed)}",
            alt="Bounds, typical value, spread and step of each column; can be changed",
        )
        levels = [f"{c.name} ({len(c.texts)})" for c in proposed.features if c.texts]
        if levels:
            st.caption(f"Levels: {plain('; '.join(levels))}")
    typed = {str(row["column"]): row for row in edited.to_dict("records")}
    features = tuple(
        replace(c, **_given(typed[c.name])) if c.name in typed else c for c in proposed.features
    )
    return Schema(features=features, target=proposed.target, positive=proposed.positive)


_EDITED = {
    "low": "low",
    "high": "high",
    "typical": "typical",
    "spread": "spread",
    "told per": "step",
}
"""Fields of a number that may be changed, by the heading above them."""


def _given(row: dict[Any, Any]) -> dict[str, Any]:
    """Fields of a number; an empty cell is None."""
    cells = {field: row[name] for name, field in _EDITED.items()}
    return {field: None if pd.isna(cell) else float(cell) for field, cell in cells.items()}
