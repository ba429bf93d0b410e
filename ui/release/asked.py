"""What is asked of the private table: the release of a plan."""

from __future__ import annotations

import streamlit as st

from dpci_core import Plan
from dpci_core.release import PlanRelease
from ui.release import words
from ui.session import state
from ui.session.text import plain
from ui.session.words import in_words


def step(plan: Plan) -> PlanRelease | None:
    """What would be released, every check that needs no file passed; None while something is
    missing.
    """
    try:
        asked = _plan_release(plan)
        if asked is None:
            return None
        return state.memo().get(("price", asked.digest), lambda: _priced(asked))
    except (ValueError, ArithmeticError) as problem:
        st.error(plain(in_words(problem)))
        return None


def _priced(asked: PlanRelease) -> PlanRelease:
    """Return the release after its price was computed, which keeps its forecast."""
    asked.price()
    return asked


def _plan_release(plan: Plan) -> PlanRelease | None:
    """None until a result that is not peer-reviewed is allowed, where the plan rests on one."""
    if not plan.design.status:
        return PlanRelease(plan=plan)
    st.warning(plan.design.status)
    # a key for each plan: what is accepted for one is not accepted for the next
    key = f"release_unreviewed_{plan.digest[:16]}"
    if not st.checkbox(words.ALLOW, key=key, persist_state="session"):
        st.caption(words.OTHERWISE)
        return None
    return PlanRelease(plan=plan, allow_unreviewed=True)
