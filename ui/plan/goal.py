"""Step 2: what the intervals are for, asked in odds ratios for the step of a column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import streamlit as st

from dpci_core import DeclaredTable
from dpci_core.base.errors import expect
from dpci_core.schema import CONSTANT
from ui.kit.bound import among
from ui.plan import numbers, words
from ui.session import state, steps, text
from ui.session.case import Case, make_target, place_of, unit_of
from ui.session.compute import DECLARED, declared_table, packed_table
from ui.session.settings import Settings
from ui.session.words import in_words
from ui.views import goals, path

_SAID = "goal_said"
_FEW = 8
MEAN = "mean"
KINDS = {
    "zero": "Detect an effect: the interval leaves out “no effect” (power)",
    "length": "Know an effect closely",
    MEAN: "Short intervals on average, over all coefficients",
}


def panel(case: Case) -> None:
    """Kind of goal, coefficient, amount and chance; taken over where somebody goes on."""
    st.title("What do you need from the intervals?")
    _begin(case)
    kind = st.radio("Goal", **among(KINDS), key="goal", index=None)
    if kind in ("zero", "length"):
        on = _which(case)
        if on is not None:
            _amount(case, kind, on)
    elif kind == MEAN:
        _number(
            "goal_mean", "Longest acceptable mean length (scaled coefficients)", words.GOAL_HELP
        )
    if kind is not None:
        chances = sorted({*words.CHANCES, st.session_state["goal_chance"]})
        st.select_slider(
            "With probability",
            chances,
            format_func=lambda chance: words.chance_words(str(kind), chance),
            key="goal_chance",
            help="The noise differs from release to release, and with it the length: ask for more "
            "than an even chance if you have only one release.",
        )
    path.problems(st.session_state.pop(_SAID, ()))
    st.button("Continue", key="goal_continue", type="primary", on_click=_take, args=(case,))


def _begin(case: Case) -> None:
    """The goal that was set, on its widgets; nothing where none was."""
    if "goal" in st.session_state and "goal_chance" in st.session_state:
        return
    settings, said = case.settings, st.session_state
    place = place_of(settings, case.records)
    is_set = goals.is_set(settings)
    said["goal"] = None
    said["goal_chance"] = settings.goal_chance if is_set else words.USUAL_CHANCE["zero"]
    if not is_set:
        return
    said["goal"] = MEAN if place is None else settings.goal
    if place is None:
        said["goal_mean"] = settings.goal_length
        return
    name = case.records.feature_names[place]
    said["goal_on"] = name
    value = settings.goal_value if settings.goal == "zero" else settings.goal_length
    said[_key(settings.goal, name)] = _shown(settings.goal, value, has_odds=goals.has_odds(case))


def _shown(kind: str, value: float, *, has_odds: bool) -> float | None:
    """A value or a length as it is typed: an odds ratio, or the factor of an interval."""
    if not has_odds:
        return value
    try:
        return float(f"{math.exp(value if kind == 'zero' else value / 2.0):.9g}")
    except OverflowError:
        return None


def _key(kind: str, name: str) -> str:
    return f"goal_{kind}_{name}"


def _which(case: Case) -> str | None:
    """The coefficient, with what its effect is told for."""
    names = [name for name in case.records.feature_names if name != CONSTANT]
    if not case.design.loss.is_log_odds or st.session_state.get("goal_on") == CONSTANT:
        names.append(CONSTANT)
    if st.session_state.get("goal_on") not in names:
        st.session_state["goal_on"] = None
    asked = case.settings.goal_on
    if asked and asked not in case.records.feature_names:
        st.warning(
            f"Your goal was about “{text.plain(asked)}”, which is not among the coefficients."
        )
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
    )
    return None if chosen is None else str(chosen)


def _amount(case: Case, kind: str, on: str) -> None:
    there = _about(case, kind, on)
    has_odds, unit = goals.has_odds(there), goals.unit_words(there)
    if kind == "zero":
        label = "Smallest odds ratio worth detecting" if has_odds else f"Smallest effect ({unit})"
        example = "1.2" if has_odds else ""
        note = "If the true odds ratio is this one, the interval should leave out 1."
    else:
        label = "To within a factor of" if has_odds else f"Longest acceptable interval ({unit})"
        example = "1.5" if has_odds else ""
        note = "An odds ratio of 1.2 to within a factor of 1.5 reads 0.8 to 1.8."
    _number(_key(kind, on), text.plain(label), note if has_odds else words.GOAL_HELP, example)
    value = st.session_state.get(_key(kind, on))
    if has_odds and value and value > 0:
        told = goals.effect_words(there, on)
        st.caption(f"{text.plain(told)}: log odds of {text.number(math.log(value))}.")


def _number(key: str, label: str, help: str, example: str = "") -> None:
    st.number_input(
        label, value=None, step=None, format="%.9g", key=key, help=help, placeholder=example
    )


def _about(case: Case, kind: str, on: str) -> Case:
    """The case with a goal about another coefficient."""
    settings = replace(case.settings, goal=kind, goal_on=on)  # type: ignore[arg-type]
    return replace(case, settings=settings)


def _take(case: Case) -> None:
    """Take the goal over and go on, or say what is missing."""
    said = st.session_state
    kind, on = said.get("goal"), said.get("goal_on")
    if kind is None:
        said[_SAID] = ["Choose what you need."]
        return
    if kind != MEAN and on is None:
        said[_SAID] = ["Choose the effect that it is about."]
        return
    typed = said.get("goal_mean" if kind == MEAN else _key(kind, str(on)))
    try:
        changes = _changes(case, kind, "" if kind == MEAN else str(on), typed)
    except ValueError as problem:
        said[_SAID] = [in_words(problem)]
        return
    state.update(
        **changes, goal_chance=said["goal_chance"], declared=_assuming(case.settings, changes)
    )
    steps.go("choose")


def _assuming(now: Settings, goal: dict[str, Any]) -> str:
    """The description with the effect that is to be detected as the guess, where nobody guessed
    one: intervals are called useless or not beside what the table would show.
    """
    if now.dataset != DECLARED:
        return now.declared
    table = declared_table(now.declared)
    known = dict(table.guesses.effects)
    if known and known != _guess(table, now.goal_on, now.goal_value):
        return now.declared
    effects = {}
    if goal["goal"] == "zero":
        effects = _guess(table, goal["goal_on"], goal["goal_value"])
    try:
        guesses = replace(table.guesses, effects=effects)
        return packed_table(replace(table, guesses=guesses))
    except ValueError:  # an effect too large for any table
        return now.declared


def _guess(table: DeclaredTable, name: str, value: float) -> dict[str, float]:
    """The effect of a goal as a guess, per unit of its column."""
    column = next((c for c in table.schema.features if name in c.feature_names), None)
    return {} if column is None else {name: float(f"{value / column.step_size:.10g}")}


def _changes(case: Case, kind: str, on: str, typed: float | None) -> dict[str, Any]:
    """The settings that say a goal.

    Raises:  ValueError in words.
    """
    goal = "length" if kind == MEAN else kind
    there = _about(case, goal, on)
    has_odds, name = goals.has_odds(there), "goal_value" if goal == "zero" else "goal_length"
    if typed is None:
        what = "the odds ratio" if has_odds and goal == "zero" else "the factor"
        raise ValueError(f"Type {what if has_odds else 'the number'}.")
    if has_odds:
        expect(
            goal != "zero" or 0 < typed != 1,
            "The odds ratio has to be above 0 and another than 1.",
        )
        expect(goal != "length" or typed > 1, "The factor has to be above 1.")
        value = math.log(typed) * (1.0 if goal == "zero" else 2.0)
    else:
        value = float(typed)
        if value == 0 or (goal == "length" and value < 0):
            rule = "another number than 0" if goal == "zero" else "a length above 0"
            raise ValueError(f"Give {rule}.")
    expect(numbers.in_limits(name, value), "Give a number up to a thousand million.")
    changes: dict[str, Any] = {"goal": goal, "goal_on": on, name: float(f"{value:.12g}")}
    wanted = replace(case.settings, **changes)
    place = place_of(wanted, case.records)
    make_target(wanted, place, unit_of(case.records, place, case.columns))
    return changes
