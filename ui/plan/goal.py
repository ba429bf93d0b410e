"""Step 2: what the intervals are for: every odds ratio closely, or something else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import streamlit as st

from dpci_core import DeclaredTable
from dpci_core.plan.link import pack, unpack
from dpci_core.report.words import MEAN_COUNTS_ALL
from dpci_core.schema import CONSTANT
from ui.kit.bound import among
from ui.plan import words
from ui.plan.draft import is_text
from ui.session import state, steps, text
from ui.session.case import PlannedCase, make_target, place_of, target_of_all, unit_of
from ui.session.compute import DECLARED, declared_table, packed_table
from ui.session.forms import text_of
from ui.session.settings import PRECISION, Settings
from ui.session.typed import number_in, written
from ui.session.words import in_words
from ui.views import goals, path

_OF, _SAID, _BEGUN = "goal_of", "goal_said", "goal_begun"
_FEW = 8
_DIGITS = 9
"""Of a number that was set, as it stands in its field: 1.2 is not 1.19999999999."""
ALL, OTHER, MEAN = "all", "other", "mean"
FIRST = {ALL: "Know every effect closely", OTHER: "Another goal"}
KINDS = {
    "zero": "Detect one effect: tell it from none",
    "length": "Know one effect closely",
    MEAN: "Short intervals on average",
}


def panel(case: PlannedCase) -> None:
    """Kind of goal, coefficient, amount and chance; taken over where somebody goes on."""
    st.title("How exact must the results be?", anchor=False)
    _begin(case)
    kind = st.radio(
        "Goal",
        **among(FIRST),
        key="goal_first",
        label_visibility="collapsed",
        persist_state="session",
    )
    if kind == OTHER:
        kind = st.radio(
            "Which goal?", **among(KINDS), key="goal", index=None, persist_state="session"
        )
    if kind == ALL:
        _amount(case, ALL, "")
        if per := goals.steps_words(_about(case, ALL, "")):
            st.caption(text.plain(per))
    elif kind in ("zero", "length"):
        on = _which(case)
        if on is not None:
            _amount(case, str(kind), on)
    elif kind == MEAN:
        _number(
            _about(case, "length", ""),
            "goal_mean",
            "Longest acceptable mean length (columns on one scale)",
            f"{words.GOAL_HELP} {MEAN_COUNTS_ALL}",
        )
    if kind is not None:
        chances = sorted({*words.CHANCES, st.session_state["goal_chance"]})
        st.select_slider(
            "How surely",
            chances,
            format_func=lambda chance: words.chance_words(str(kind), chance),
            key="goal_chance",
            persist_state="session",
            help="Noise makes some releases less precise, and you may have only one.",
        )
    _keep(case)
    path.problems(st.session_state.pop(_SAID, ()))
    st.button("Continue", key="goal_continue", type="primary", on_click=_take, args=(case,))


def _begin(case: PlannedCase) -> None:
    """The goal that was set, on its widgets; what is typed stays while goal and table are the
    same.
    """
    settings, said = case.settings, st.session_state
    named = (getattr(settings, name) for name in ("dataset", "encoding", *PRECISION))
    of = (*named, _outcome(settings), case.columns, case.names, case.effect)
    if said.get(_OF) == of:
        return
    is_first = _OF not in said
    for key in [key for key in said if str(key).startswith("goal")]:
        del said[key]
    said[_OF] = of
    _as_set(case)
    said[_BEGUN] = _packed(case)
    if is_first:
        said.update(_drafted(case))


def _as_set(case: PlannedCase) -> None:
    """Put the goal of the settings on the widgets."""
    settings, said = case.settings, st.session_state
    place = place_of(settings, case.records)
    said["goal_first"] = ALL if settings.goal == ALL else OTHER
    said["goal_chance"] = settings.goal_chance
    if settings.goal == ALL:
        said[_key(ALL, "")] = written(goals.as_number(case, settings.goal_length), _DIGITS)
        return
    said["goal"] = MEAN if place is None else settings.goal
    if place is None:
        said["goal_mean"] = written(settings.goal_length, _DIGITS)
        return
    name = case.names[place]
    said["goal_on"] = name
    value = settings.goal_value if settings.goal == "zero" else settings.goal_length
    said[_key(settings.goal, name)] = written(goals.as_number(case, value), _DIGITS)


def _is_typed(case: PlannedCase, key: object, value: object) -> bool:
    """Whether a widget of this step may hold this."""
    if key in ("goal_first", "goal"):
        return value in (FIRST if key == "goal_first" else KINDS)
    if key == "goal_on":
        return value in case.names
    if key == "goal_chance":
        chances = (*words.CHANCES, case.settings.goal_chance)
        return isinstance(value, float) and value in chances
    numbers = {"goal_mean", _key(ALL, "")}
    numbers |= {_key(kind, name) for kind in KINDS for name in case.names}
    return key in numbers and value != "" and is_text(value)


def _packed(case: PlannedCase) -> str:
    """What stands on the widgets, for an address; empty where it is too long for one."""
    typed = {str(k): v for k, v in st.session_state.items() if _is_typed(case, k, v)}
    try:
        return pack(typed)
    except ValueError:
        return ""


def _keep(case: PlannedCase) -> None:
    """Keep what stands there, where it is another goal than is set."""
    packed = _packed(case)
    steps.GOAL_DRAFT.take("" if packed == st.session_state[_BEGUN] else packed)


def _drafted(case: PlannedCase) -> dict[str, Any]:
    """What the address has of a draft, as far as widgets may hold it."""
    try:
        found = unpack(steps.GOAL_DRAFT.value)
    except ValueError:
        return {}
    kept = found if isinstance(found, dict) else {}
    return {key: value for key, value in kept.items() if _is_typed(case, key, value)}


def _key(kind: str, name: str) -> str:
    return f"goal_{kind}_{name}"


def _outcome(settings: Settings) -> str:
    """What the effects are on, where a table is described."""
    if settings.dataset != DECLARED:
        return ""
    return declared_table(settings.declared).schema.outcome_words


def _which(case: PlannedCase) -> str | None:
    """The coefficient, with what its effect is told for."""
    names = [name for name in case.names if name != CONSTANT]
    if case.design.measures == "score" or st.session_state.get("goal_on") == CONSTANT:
        names.append(CONSTANT)
    if st.session_state.get("goal_on") not in names:
        st.session_state["goal_on"] = None
    asked = case.settings.goal_on
    if asked and asked not in case.names:
        st.warning(f"Your goal was about “{text.plain(text.called(asked))}”: not in the model.")
    pick: Any = st.radio if len(names) <= _FEW else st.selectbox
    chosen = pick(
        "The effect of",
        names,
        index=None,
        format_func=lambda name: (
            text.plain(goals.effect_words(case, name))
            if pick is st.radio
            else goals.effect_words(case, name)
        ),
        key="goal_on",
        persist_state="session",
    )
    return None if chosen is None else str(chosen)


def _amount(case: PlannedCase, kind: str, on: str) -> None:
    there = _about(case, kind, on)
    how = goals.told(there)
    label, example, note = how.asks_all if kind == ALL else how.asks, how.example, how.note
    if kind == "zero":
        label, example, note = "Smallest effect ({unit})", "", words.GOAL_HELP
        if how.is_factor:
            label, example = "Smallest odds ratio worth detecting", "1.2"
            note = "If the true odds ratio is this one, the interval should leave out 1."
    unit = goals.unit_words(there) if kind == "zero" else how.unit
    _number(there, _key(kind, on), label.format(unit=text.plain(unit)), note, example)


def _number(case: PlannedCase, key: str, label: str, help: str, example: str = "") -> None:
    """The number of a goal, and what is wrong with it unless the button says it."""
    typed = st.text_input(
        label,
        key=key,
        persist_state="session",
        help=help,
        placeholder=example,
    )
    if typed and _SAID not in st.session_state:
        try:
            changes_by(case, number_in(typed))
        except ValueError as problem:
            st.error(in_words(problem))


def _about(case: PlannedCase, kind: str, on: str) -> PlannedCase:
    """The case with a goal of another kind, or about another coefficient."""
    settings = replace(case.settings, goal=kind, goal_on=on)  # type: ignore[arg-type]
    return replace(case, settings=settings)


def _take(case: PlannedCase) -> None:
    """Take the goal over and go on, or say what is missing."""
    said = st.session_state
    kind = said.get("goal_first")
    kind, on = (said.get("goal"), said.get("goal_on")) if kind == OTHER else (kind, "")
    if kind is None:
        said[_SAID] = ["Choose what you need."]
        return
    on = "" if kind == MEAN else on
    if on is None:
        said[_SAID] = ["Choose the effect that it is about."]
        return
    there = _about(case, "length" if kind == MEAN else kind, on)
    typed = text_of(said.get("goal_mean" if kind == MEAN else _key(kind, on)))
    try:
        changes = changes_by(there, number_in(typed) if typed else None)
    except ValueError as problem:
        said[_SAID] = [in_words(problem)]
        return
    state.update(**changes, goal_chance=said["goal_chance"])
    steps.GOAL_DRAFT.take("")
    steps.GOAL.take("set")
    steps.go("choose")


def changes_by(case: PlannedCase, typed: float | None) -> dict[str, Any]:
    """The settings that say the goal of a case with another number.

    Raises:  ValueError in words.
    """
    now = case.settings
    changes: dict[str, Any] = {"goal": now.goal, "goal_on": now.goal_on}
    changes |= goals.from_number(case, typed)
    wanted = replace(now, **changes)
    if wanted.goal == ALL:
        are_told = case.design.measures != "score"
        target_of_all(wanted, case.records, case.columns, are_told=are_told)
    else:
        place = place_of(wanted, case.records)
        make_target(wanted, place, unit_of(case.records, place, case.columns))
    return changes | {"declared": _assuming(now, wanted)}


def _assuming(now: Settings, wanted: Settings) -> str:
    """The description with the effect that is to be detected as the guess, where nobody guessed
    one: intervals are called useless or not beside what the table would show.
    """
    now = state.settings() if now.dataset == DECLARED else now
    if now.dataset != DECLARED:
        return now.declared
    table = declared_table(now.declared)
    known = dict(table.guesses.effects)
    if known and (now.goal != "zero" or known != _guess(table, now.goal_on, now.goal_value)):
        return now.declared
    effects = {}
    if wanted.goal == "zero":
        effects = _guess(table, wanted.goal_on, wanted.goal_value)
    try:
        guesses = replace(table.guesses, effects=effects)
        return packed_table(replace(table, guesses=guesses))
    except ValueError:  # an effect too large for any table
        return now.declared


def _guess(table: DeclaredTable, name: str, value: float) -> dict[str, float]:
    """The effect of a goal as a guess, per unit of its column."""
    column = next((c for c in table.schema.features if name in c.feature_names), None)
    return {} if column is None else {name: float(f"{value / column.step_size:.10g}")}
