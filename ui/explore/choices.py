"""The line of choices: what is computed, each behind a word that says what is chosen."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from ui.controls import currency, declare, design, linear, upload
from ui.controls.sidebar import data_controls, dataset_words
from ui.kit.bound import among, bound
from ui.session import state
from ui.session.budget import from_shares
from ui.session.choices import CALIBRATIONS, EVERY_MECHANISM, LOSSES, labels_of
from ui.session.settings import START, Settings, for_outcome

MECHANISM_WORDS = {n: one.word.capitalize() for n, one in EVERY_MECHANISM.items()}
METHOD_WORDS = {n: w.partition(" ")[0] for n, w in labels_of(CALIBRATIONS).items()}
LOSS_WORDS = {n: w.partition(" ")[0] for n, w in labels_of(LOSSES).items()}


TERMS = {"plain": "In plain terms", "paper": "As in the paper"}
_TERMS_HELP = (
    "Plain: odds ratios, each for a step of its own column. As in the paper: another estimate with "
    "other intervals, coefficients of columns on one scale, shrunk by a penalty."
)


OUTCOMES = {"codes": "Yes or no", "number": "A number"}


def line(names: tuple[str, ...]) -> None:
    """Every choice that is no number of the sliders; `names` are the features on offer."""
    settings = state.settings()
    with st.container(horizontal=True, key="choices", gap="small"):
        with st.popover(dataset_words(settings), key="choice_data"):
            _data(settings, names)
        _outcome(settings)  # before the method, whose words are long: a phone shows what is first
        with st.popover(f"Method: {_method(settings)}", key="choice_method"):
            _design(settings)
        st.space("stretch")
        if settings.outcome is not None:
            return
        st.segmented_control(
            "Terms",
            list(TERMS),
            format_func=TERMS.__getitem__,
            required=True,
            label_visibility="collapsed",
            help=_TERMS_HELP,
            **bound(
                "terms",
                "paper" if settings.is_penalised else "plain",
                lambda chosen: _take_terms(chosen, names),
            ),
        )


def _outcome(settings: Settings) -> None:
    """Whether the outcome is a yes or a number."""
    st.segmented_control(
        "Outcome",
        **among(OUTCOMES),
        required=True,
        label_visibility="collapsed",
        help="Yes or no: a logistic regression or an SVM. A number: a linear regression, of a "
        "table that you describe; at first, made-up patients and their blood pressure.",
        **bound("outcome", "codes" if settings.outcome is None else "number", _take_outcome),
    )


def _take_outcome(chosen: object) -> None:
    now, own = state.settings(), "codes" if state.settings().outcome is None else "number"
    if chosen == own or chosen not in OUTCOMES:
        return
    left = st.session_state.setdefault("left_with", {})
    left[own] = now
    if chosen in left:  # as it was left, a table of one's own too
        state.put(left[chosen])
        return
    if chosen == "codes":
        now = replace(
            now.without_table(),
            names=START.names,
            d=START.d,
            encoding=START.encoding,
            split=from_shares(now.split.total),
        )
    else:
        now = declare.with_table(now, declare.example_of_a_number())
    state.put(for_outcome(now))


def _take_terms(chosen: object, names: tuple[str, ...]) -> None:
    now = state.settings()
    if chosen not in TERMS:
        return
    if chosen == "paper":
        st.session_state["left_plain"] = now
        moved = now.in_paper_terms()
    else:
        moved, left = now.in_plain_terms(), st.session_state.get("left_plain")
        if left is not None and left.declared == now.declared and left.dataset == now.dataset:
            own = {name: getattr(left, name) for name in ("penalty", "c", "mechanisms")}
            moved = replace(moved, **own).settled()
    if moved.has_own_order != now.has_own_order and not now.names:
        moved = replace(moved, names=names[: now.d])  # the same features, in whatever terms
    state.put(moved)
    if now.dataset == "upload" and (kept := state.upload()) is not None:
        standard = upload.standard_in_terms(kept.schema)
        state.set_upload(replace(kept, schema=replace(kept.schema, standard=standard)))


def _design(settings: Settings) -> None:
    """Model, mechanism, definition, intervals, level and target."""
    left, right = st.columns(2, gap="medium")  # with more, the mechanisms are cut off
    if settings.outcome is not None:
        with left:
            currency.currency_control(settings, linear.NUMBER_CURRENCIES)
        with right:
            linear.method_controls(settings)
        return
    with left:
        design.loss_control(settings)
        if settings.has_width:
            design.smoothing_control()
        design.mechanism_control(settings)
        currency.currency_control(settings)
        design.definition_control(settings)
    with right:
        design.method_control(settings)
        design.level_control(settings)
        design.target_control()


def _data(settings: Settings, names: tuple[str, ...]) -> None:
    data_controls(has_upload=False)
    if names:
        design.names_control(settings, names)


def _listed(words: dict[str, str], chosen: tuple[str, ...]) -> str:
    said = " + ".join(words[name] for name in words if name in chosen)
    return said[0] + said[1:].lower() if " + " in said and "SVM" not in said else said


def _definition(settings: Settings) -> str:
    own = settings.typed.label
    return f"{own} + compared" if settings.is_compared or len(settings.definitions) > 1 else own


def _method(settings: Settings) -> str:
    """What is chosen, in few words."""
    level = f"{100 * settings.level:g}\N{NARROW NO-BREAK SPACE}%"
    if settings.outcome is not None:
        return " · ".join(("Linear regression", settings.typed.label, level))
    shaped = ["shaped noise"] if settings.is_shaped else []
    said = (
        _listed(LOSS_WORDS, settings.losses),
        _listed(MECHANISM_WORDS, settings.mechanisms).lower(),
        _definition(settings),
        _listed(METHOD_WORDS, settings.calibrations).lower(),
        *shaped,
        level,
    )
    return " · ".join(said)
