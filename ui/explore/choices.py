"""The line of choices: what is computed, each behind a word that says what is chosen."""

from __future__ import annotations

import streamlit as st

from ui.controls import currency, design
from ui.controls.sidebar import data_controls, dataset_words
from ui.session import state
from ui.session.choices import CALIBRATIONS, LOSSES, MECHANISMS, TARGETS, labels_of
from ui.session.settings import Settings

MECHANISM_WORDS = {n: w.partition(" ")[0] for n, w in labels_of(MECHANISMS).items()}
METHOD_WORDS = {n: w.partition(" ")[0] for n, w in labels_of(CALIBRATIONS).items()}
LOSS_WORDS = {n: w.partition(" ")[0] for n, w in labels_of(LOSSES).items()}


def line(names: tuple[str, ...]) -> None:
    """Every choice that is no number of the sliders; `names` are the features on offer."""
    settings = state.settings()
    with st.container(horizontal=True, key="choices", gap="small"):
        with st.popover(dataset_words(settings), key="choice_data"):
            _data(settings, names)
        with st.popover(_listed(LOSS_WORDS, settings.losses), key="choice_model"):
            design.loss_control(settings)
            if settings.has_width:
                design.smoothing_control()
        with st.popover(_listed(MECHANISM_WORDS, settings.mechanisms), key="choice_mechanism"):
            design.mechanism_control(settings)
        with st.popover(_definition(settings), key="choice_definition"):
            currency.currency_control(settings)
            design.definition_control(settings)
        with st.popover(_method(settings), key="choice_method"):
            design.method_control(settings)
        with st.popover(
            f"{100 * settings.level:g}\N{NARROW NO-BREAK SPACE}% level", key="choice_level"
        ):
            design.level_control(settings)
        with st.popover(TARGETS[settings.target].word, key="choice_target"):
            design.target_control()


def _data(settings: Settings, names: tuple[str, ...]) -> None:
    data_controls(has_encodings=True, has_upload=False)
    if names:
        design.names_control(settings, names)


def _listed(words: dict[str, str], chosen: tuple[str, ...]) -> str:
    said = " + ".join(words[name] for name in words if name in chosen)
    return said[0] + said[1:].lower() if " + " in said and "SVM" not in said else said


def _definition(settings: Settings) -> str:
    own = settings.typed.label
    return f"{own} + compared" if settings.is_compared or len(settings.definitions) > 1 else own


def _method(settings: Settings) -> str:
    named = _listed(METHOD_WORDS, settings.calibrations)
    return f"{named}, shaped noise" if settings.is_shaped else f"{named} intervals"
