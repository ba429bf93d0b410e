"""The panel of settings: data, budget, study, model and pictures, the same on every page that has
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dpci_core import datasets
from dpci_core.base.errors import ConvergenceError, DataRejectedError, InfeasibleDesignError
from ui.controls import currency, declare, deployments, design, hints, upload
from ui.controls.split import split_controls
from ui.kit.bound import bound
from ui.session import compute, state, text
from ui.session.settings import START, Settings
from ui.session.words import in_words

_REFUSALS = (ConvergenceError, DataRejectedError, FileNotFoundError, InfeasibleDesignError)
"""Why a table has no forecast. Any other error is one of ours, and no page explains it away."""


def is_ready() -> bool:
    """Draw the panel behind a click; False, and words below it, while an upload that should be
    explored is still missing.
    """
    hints.link_problem()
    places = st.expander("Settings").columns(3, gap="large")
    with places[0]:
        data_controls()
    settings = state.settings()
    if is_whole := settings.dataset != "upload" or state.upload() is not None:
        _other_controls(settings, feature_names(), places)
    if not is_whole:
        st.info(text.BRING_YOUR_FILE)
    return is_whole


def current_view() -> compute.View | None:
    """The forecasts of the settings; None after words on why there are none."""
    if state.settings().outcome is not None:
        st.error(compute.OF_A_NUMBER)
        return None
    try:
        return compute.compute(state.settings(), state.source())
    except _REFUSALS as problem:
        st.error(text.plain(in_words(problem)))
        return None


def feature_names() -> tuple[str, ...]:
    """The features on offer in the chosen table."""
    if state.settings().dataset == "upload":
        kept = state.upload()
        return kept.schema.feature_names if kept else ()
    if state.settings().dataset == compute.DECLARED:
        return compute.declared_table(state.settings().declared).schema.feature_names
    return state.settings().ordered(datasets.feature_names(state.settings().dataset))


def data_controls(*, has_upload: bool = True) -> None:
    """Data set and encoding; the upload beside them, unless it stands elsewhere."""
    settings = state.settings()
    left, right = st.columns(2)
    left.button(
        "The paper's settings", on_click=state.paper_preset, key="preset_paper", width="stretch"
    )
    right.button("Reset", on_click=state.reset, key="reset", width="stretch")
    infos = {info.key: info for info in datasets.list_datasets()}
    st.selectbox(
        "Data",
        [*infos, compute.DECLARED, "upload"],
        format_func=lambda key: dataset_label(infos, key),
        **bound("dataset", settings.dataset, take_dataset),
    )
    if settings.dataset == "upload":
        if has_upload:
            upload.panel()
        return
    if settings.dataset == compute.DECLARED:
        st.caption(text.DECLARED_SENTENCE)
        st.page_link("../pages/plan.py", label="Change its description on the page Plan →")
        return
    info = infos[settings.dataset]
    st.caption(info.sentence)
    if missing := st.session_state.pop("missing_dataset", None):
        st.warning(missing)
    if len(info.encodings) > 1:
        words = {
            "schema": "by declared bounds (usable on private data)",
            "standard": "by typical values and spreads (usable on private data)",
            "paper": "as in the paper (public data only)",
        }
        st.radio(
            "Columns are scaled",
            list(info.encodings),
            format_func=words.__getitem__,
            **state.bound("encoding"),
            help="The paper reads the scales off the data; a release may only use what was "
            "declared beforehand, which lengthens intervals.",
        )


def dataset_words(settings: Settings) -> str:
    """The chosen table, in few words."""
    if settings.dataset == "upload":
        return "Your own file"
    if settings.dataset == compute.DECLARED:
        is_example = declare.is_example(compute.declared_table(settings.declared))
        return "Made-up patients" if is_example else "A table you describe"
    return next(i.title for i in datasets.list_datasets() if i.key == settings.dataset)


def dataset_label(infos: dict[str, datasets.DatasetInfo], key: str) -> str:
    """A table in the list of them."""
    if key == "upload":
        return "Your own file …"
    if key == compute.DECLARED:
        return "A table you describe (no file needed)"
    info = infos[key]
    if not info.available:
        return f"{info.title}, not on this machine"
    return info.title if info.source in info.title.lower() else f"{info.title}, {info.source}"


def take_dataset(key: str) -> None:
    """Take another table."""
    if key == "upload":
        state.update(dataset="upload", names=(), encoding="schema")
        return
    if state.settings().dataset == "upload":
        state.put(state.settings().without_table())
    if key == compute.DECLARED:
        known = state.settings().declared
        declare.take(compute.declared_table(known) if known else declare.example())
        return
    info = {i.key: i for i in datasets.list_datasets()}[key]
    if not info.available:
        st.session_state["missing_dataset"] = (
            f"{info.title} is not on this machine. Get it with `{info.how_to_get}`."
        )
        return
    now = state.settings()
    if now.dataset == compute.DECLARED:  # its goal is about its columns
        now = now.without_table()
    own = now.encoding if now.encoding in info.encodings else info.encodings[0]
    state.put(
        replace(
            now,
            dataset=key,
            names=() if now.is_penalised or key != START.dataset else START.names,
            d=min(10, info.max_features),
            n=info.n_rows,
            encoding=own if now.is_penalised else START.encoding,
        )
    )


def _other_controls(
    settings: Settings, names: tuple[str, ...], places: Sequence[DeltaGenerator]
) -> None:
    """Budget, study and model."""
    with places[0]:
        st.header("Privacy budget")
        currency.currency_control(settings)
        currency.total_control(settings)
    with places[1]:
        with st.expander("Split of the budget", expanded=True):
            split_controls(settings)
        hints.expander("How the numbers convert", text.conversion_details(settings))
        deployments.panel(settings)
    kept = state.upload()
    rows = (
        len(kept.frame) if kept and settings.dataset == "upload" else compute.table_rows(settings)
    )
    with places[1]:
        st.header("Study")
        design.n_control(settings, rows)
        design.d_control(settings, names)
    with places[2]:
        st.header("Model")
        design.combination_controls(settings)
        design.model_controls(settings)
        design.target_control()
