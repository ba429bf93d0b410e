"""What is asked of the private table: the release of a plan."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dpci_core.plan import AnyPlan
from dpci_core.release import ModelTask, task_of
from ui.release import words
from ui.session import state
from ui.session.text import plain
from ui.session.words import in_words


def step(plan: AnyPlan) -> ModelTask[Any] | None:
    """What would be released, every check that needs no file passed; None while something is
    missing.
    """
    try:
        asked = _plan_release(plan)
        if asked is None:
            return None
        key = ("price", asked.digest, plan.approved)  # the release writes who approved it
        return state.memo().get(key, lambda: _priced(asked))
    except (ValueError, ArithmeticError) as problem:
        st.error(plain(in_words(problem)))
        return None


def _priced(asked: ModelTask[Any]) -> ModelTask[Any]:
    """Return the release after its price was computed, which keeps its forecast."""
    asked.price()
    return asked


def _plan_release(plan: AnyPlan) -> ModelTask[Any] | None:
    """None until a result that is not peer-reviewed is allowed, where the plan rests on one."""
    if not plan.design.status:
        return task_of(plan)
    st.warning(plan.design.status)
    # a key for each plan: what is accepted for one is not accepted for the next
    key = f"release_unreviewed_{plan.digest[:16]}"
    if not st.checkbox(words.ALLOW, key=key, persist_state="session"):
        st.caption(words.OTHERWISE)
        return None
    return task_of(plan, allow_unreviewed=True)
