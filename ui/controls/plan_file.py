"""A plan to keep: as a file, as code, as a page for a board; and a file back into the page."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from dpci_core import Plan, read_plan
from dpci_core.plan import AnyPlan, as_json, as_yaml, notebook_text, to_html, to_script
from dpci_core.plan.base import Planned
from dpci_core.plan.moments_file import NamedMoments, moments_of
from dpci_core.report.cautions import Caution, sentences
from dpci_core.report.words import counted_as
from ui.controls import declare
from ui.kit.exports import download
from ui.session import state, steps, text
from ui.session.case import PlannedCase
from ui.session.compute import DECLARED, ImportedFit, declared_table
from ui.session.plan_settings import plan_of, settings_of
from ui.session.settings import START, Settings
from ui.session.words import in_words
from ui.session.worlds import worlds_of_case

MOST_BYTES = 5_000_000
"""Of a file that is opened."""
MOST_BYTES_OF_A_PLAN = 1_000_000
MOST_OF_A_TITLE = 200
"""Characters."""
_APPROVED, _READ = "plan_approved", "plan_warnings_read"


def numbers_of(case: PlannedCase, plan: AnyPlan) -> Planned:
    """What a plan promises in every world."""
    return state.memo().get(
        ("numbers", plan.digest), lambda: plan.numbers(worlds_of_case(case, state.source()))
    )


def title_of(case: PlannedCase) -> str:
    """The title that was typed, or what the plan is about; it heads the report."""
    if typed := steps.TITLE.value:
        return typed
    if case.settings.dataset != DECLARED:
        return f"{case.records.title}, {case.n:,} records"[-MOST_OF_A_TITLE:]
    schema = declared_table(case.settings.declared).schema
    counted = counted_as(None if schema.persons is None else schema.persons.rows)
    return f"{schema.outcome_words}, from {case.n:,} {counted}"[-MOST_OF_A_TITLE:]


def current_plan(case: PlannedCase) -> AnyPlan:
    """The plan of a case with its title, its notes, and the approval of it, if there is one.

    Raises:  ValueError in words.
    """
    plan = bare_plan(case)
    return replace(plan, approved=steps.approval(plan.digest))


def bare_plan(case: PlannedCase) -> AnyPlan:
    """The plan of a case before its approval, which is given for this one.

    Raises:  ValueError in words.
    """
    plan = plan_of(case, title_of(case), steps.NOTES.value)
    goal = plan.goal if steps.has_goal() else None
    return replace(plan, publish_if=steps.rule(), goal=goal)


def keep_approved(case: PlannedCase) -> None:
    """Keep the plan that was just approved in this session, to come back to."""
    st.session_state[_APPROVED] = state.settings(), current_plan(case), steps.TITLE.value


def has_approved() -> bool:
    """Whether this session keeps the plan that the approval is of."""
    _, plan, _ = st.session_state.get(_APPROVED, (None, None, ""))
    return plan is not None and bool(steps.approval(plan.digest))


def note_read(plan: AnyPlan, person: str, said: Sequence[Caution]) -> None:
    """Note in this session that somebody read what speaks against a plan."""
    st.session_state[_READ] = plan.digest, person, frozenset(sentences(said))


def has_read(plan: AnyPlan, person: str, said: Sequence[Caution]) -> bool:
    """Whether this person read exactly these, of this very plan, in this session."""
    of, who, read = st.session_state.get(_READ, ("", "", frozenset()))
    return (of, who) == (plan.digest, person) and read.issuperset(sentences(said))


def ask_next(dataset: str, *, is_spent: bool) -> bool:
    """The ways to the study after one that was released from this data set; whether one was
    taken.

    is_spent: whether nothing is left of its budget, so that no other study of it can be released.
    """
    with st.container(horizontal=True):
        is_same = not is_spent and st.button("Another study of this table", key="same_table")
        is_new = st.button("New study", key="new_study")
    if is_same:  # as it is described, for the same goal, with no budget or design yet
        _new_study(declare.anew(state.settings()))
        steps.METHOD.take("chosen")
        st.session_state[steps.PEOPLE] = dataset
    elif is_new:
        _new_study(START)
        st.session_state.pop(steps.PEOPLE, None)
    return is_same or is_new


def _new_study(first: Settings) -> None:
    """Begin with these settings: nothing else of the plan on screen stays there; what was released
    of it is in the ledger and its files.
    """
    state.put(first)
    steps.begin_anew()
    for key in [key for key in st.session_state if str(key).startswith("describe_")]:
        if key != "describe_next":  # no card gets the number of one before
            del st.session_state[key]
    for key in (_APPROVED, _READ):
        st.session_state.pop(key, None)
    steps.describe()


def back_to_approved() -> None:
    """Plan with what was approved again."""
    settings, plan, title = st.session_state[_APPROVED]
    _plan_with(settings, plan)
    steps.TITLE.take(title)  # one that nobody typed would head other plans too


def _plan_with(wanted: Settings, plan: AnyPlan) -> None:
    """Take settings and words; drafts that were about others are none any more."""
    if wanted.declared != state.settings().declared:
        steps.DRAFT.take("")
    steps.GOAL_DRAFT.take("")
    state.put(wanted)
    steps.take_words(plan)


def file_name(title: str) -> str:
    """What files of a plan are called, without an ending: what of its title every system
    allows.

    >>> file_name("Readmission, ward 7/8"), file_name("…")
    ('readmission-ward-7-8', 'plan')
    """
    kept = re.sub(r"[^\w]+", "-", title.lower()).strip("-_")
    return kept[:60] or "plan"


def downloads(plan: AnyPlan, case: PlannedCase) -> None:
    """The plan as a file, as a page, as code."""
    with st.container(horizontal=True):
        for place, (label, ending, make) in enumerate(KINDS):
            download(
                label,
                partial(_encoded, make, plan, case),
                file=f"{file_name(plan.title)}.{ending}",
                key=f"plan_as_{ending}",
                is_main=place == 0,
            )


def _encoded(
    make: Callable[[AnyPlan, PlannedCase], str], plan: AnyPlan, case: PlannedCase
) -> bytes:
    return make(plan, case).encode()


KINDS: tuple[tuple[str, str, Callable[[AnyPlan, PlannedCase], str]], ...] = (
    (
        "Download plan (YAML)",
        "yaml",
        lambda plan, case: as_yaml(plan),
    ),
    (
        "JSON",
        "json",
        lambda plan, case: as_json(plan),
    ),
    (
        "Page for the board (HTML)",
        "html",
        lambda plan, case: to_html(plan, numbers_of(case, plan)),
    ),
    (
        "Python script",
        "py",
        lambda plan, case: to_script(plan),
    ),
    (
        "Notebook",
        "ipynb",
        lambda plan, case: notebook_text(plan),
    ),
)


def opener() -> None:
    """A plan file, or moments with their plan, into the page."""
    st.file_uploader(
        "Open a plan, or moments of a public table (`dpci moments`)",
        type=["yaml", "yml", "json"],
        key="plan_open",
        on_change=_take_file,
        max_upload_size=MOST_BYTES // 10**6,
    )
    say_refused()


def say_refused() -> None:
    """Why a file was not opened, told once."""
    if refused := st.session_state.pop("plan_refused", None):
        st.error(text.plain(refused))


def say_opened() -> None:
    """That a plan was opened, told once, at the step where it leads."""
    if opened := st.session_state.pop("plan_opened", None):
        st.success(text.plain(opened))


def _take_file() -> None:
    """Replace the settings by those of the file, or say what is wrong with it."""
    if (file := st.session_state["plan_open"]) is not None:
        take(file.getvalue())


def take(raw: bytes) -> bool:
    """Whether a file was opened; why not is said at `opener`."""
    try:
        plan, found = _read(raw)
        asked = settings_of(plan)
        wanted, bad = state.admissible(asked)
        if bad:
            raise ValueError(
                f"The table “{asked.dataset}”, or a part of it, is not on this machine "
                f"({', '.join(bad)})."
            )
    except ValueError as problem:  # UnicodeDecodeError is one
        words = (
            "It is not text in UTF-8."
            if isinstance(problem, UnicodeDecodeError)
            else in_words(problem)
        )
        st.session_state["plan_refused"] = f"This file cannot be opened. {words}"
        return False
    _plan_with(wanted, plan)
    st.session_state.pop(steps.PEOPLE, None)  # those of another table
    table = (wanted.dataset, wanted.declared, wanted.encoding)
    state.set_given(None if found is None else ImportedFit(found.moments, found.names, *table))
    steps.METHOD.take("own")
    steps.FIND.take("precision")  # a plan has its budget and records
    steps.go("choose")
    st.session_state["plan_opened"] = f"Opened “{plan.title}”."
    return True


def _read(raw: bytes) -> tuple[AnyPlan, NamedMoments | None]:
    """A plan, or moments with theirs, which must give a forecast."""
    if len(raw) > MOST_BYTES:
        raise ValueError(f"It is larger than {MOST_BYTES:,} bytes.")
    if b'"theta_hat"' not in raw:
        if len(raw) > MOST_BYTES_OF_A_PLAN:
            raise ValueError(f"It is larger than {MOST_BYTES_OF_A_PLAN:,} bytes, and no plan is.")
        return read_plan(raw.decode("utf-8") + "\n"), None
    found = moments_of(raw)
    if found.plan is None:
        raise ValueError("It has moments and no plan: write it again with `dpci moments`.")
    plan = read_plan(json.dumps(found.plan) + "\n").expected(Plan)
    moments = found.moments
    plan.check_moments(moments, found.names)
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            made = plan.numbers(moments)
    except (ArithmeticError, np.linalg.LinAlgError):
        raise ValueError("Its moments give no forecast.") from None
    if not np.isfinite(made.scaled.ci_length).all():
        raise ValueError("Its moments give no forecast.")
    return plan, found
