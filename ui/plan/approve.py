"""Step 4: the page for the board, as it will be printed, and who approved the plan, and when."""

from __future__ import annotations

import streamlit as st

from dpci_core.plan import AnyPlan, to_html
from dpci_core.plan.acceptance import STAYS_SPENT
from dpci_core.plan.goals import missed
from dpci_core.report.cautions import Caution, stopping
from ui.controls import plan_file
from ui.session import access, state, steps, text
from ui.session.case import PlannedCase
from ui.session.words import in_words
from ui.views import path, releases
from ui.views.board import board
from ui.views.cautions import box

_SAID = "approve_said"


def panel(case: PlannedCase) -> None:
    """Title and notes, the page for the board, the files, and the approval."""
    st.title("Approve the plan", anchor=False)
    left, right = st.columns(2)
    left.text_input(
        "Title",
        **steps.TITLE.bound(),
        help="Heads the report; files are named after it.",
        placeholder=plan_file.title_of(case),
    )
    right.text_area("Notes for whoever reads it", **steps.NOTES.bound(), height=80)
    _rule(case)
    try:
        plan = approved(case)
    except ValueError as problem:
        st.warning(in_words(problem))
        return
    path.waiting(case.settings)
    board(_page(case, plan))
    plan_file.downloads(plan, case)
    _approval(case)


def _rule(case: PlannedCase) -> None:
    """What a release has to meet to be published."""
    with st.expander("Publish only what is good enough", expanded=steps.rule_is_typed()):
        left, right = st.columns(2)
        if case.design.measures == "odds" or steps.WITHIN.value.strip():
            left.text_input(
                "Each odds ratio to within a factor of", **steps.WITHIN.bound(), placeholder="any"
            )
            left = right
        left.text_input("Effects reported, at least", **steps.REPORTED.bound(), placeholder="any")
        st.caption(f"Decided now, checked after the draw on what it released. {STAYS_SPENT}")


def approved(case: PlannedCase) -> AnyPlan:
    """The plan with its title, its notes and its approval.

    Raises:  ValueError in words.
    """
    return plan_file.current_plan(case)


def _page(case: PlannedCase, plan: AnyPlan) -> str:
    """The page for the board."""
    return state.memo().get(
        ("board", plan.digest, plan.approved),
        lambda: to_html(plan, plan_file.numbers_of(case, plan)),
    )


def _stops(case: PlannedCase, plan: AnyPlan) -> tuple[Caution, ...]:
    """What asks for a tick before the plan is approved."""
    numbers = plan_file.numbers_of(case, plan)
    return missed(plan, numbers) + stopping(numbers.cautions(plan.design))


def _approval(case: PlannedCase) -> None:
    bare = plan_file.bare_plan(case)
    said = steps.approval(bare.digest)
    if not said and releases.is_released(bare, is_last=True):
        return
    with st.container(border=True):
        if said:
            st.success(text.plain(said))
            left, right = st.columns(2)
            if left.button("Go to the release", key="approve_go", type="primary"):
                path.show("release")
            if not releases.is_released(bare):
                right.button("Withdraw the approval", key="withdraw", on_click=steps.withdraw)
                st.caption(
                    "Withdrawing takes it from this page. A link or a file that was handed out "
                    "keeps it, and what is proposed is withdrawn on the page Ledger."
                )
            return
        if known := access.person():
            st.text_input("Approved by", known, disabled=True, key="approve_known")
        else:
            st.text_input("Approved by", key="approve_person", max_chars=100)
        typed = "" if known else " Without a login that is whichever name is typed."
        st.caption(
            f"Name and today's date are added to the plan; its hash stays that of the page.{typed}"
        )
        stops = _stops(case, bare)
        box(stops)
        if lacking := path.nothing_taken(case.settings):
            st.warning(lacking)
        is_read = not (stops or lacking) or st.checkbox(
            "I have read this and approve all the same", key="approve_read"
        )
        path.problems(st.session_state.pop(_SAID, ()))
        if st.button("Approve and go to the release", key="approve", type="primary"):
            name = known or str(st.session_state.get("approve_person") or "").strip()
            asked = [] if name else ["Say who approves the plan."]
            asked += [] if is_read else ["Tick that you have read what speaks against the plan."]
            if asked:
                st.session_state[_SAID] = asked
                st.rerun()
            plan_file.note_read(bare, name, stops)
            steps.approve(name, bare.digest)
            plan_file.keep_approved(case)
            path.show("release")
