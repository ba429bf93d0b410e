"""The path from a table to its release: at which step somebody is, and what the plan is called and
approved by.

All of it stands in the address, so that a link, a reload and another tab are at the same step of
the same plan: title and approval are part of its digest, by which the ledger knows it again.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal, cast

import streamlit as st

from dpci_core.plan import Acceptance, AnyPlan
from dpci_core.plan.approval import approval_of, is_of_another
from dpci_core.plan.link import MOST_IN_LINK
from ui.kit import linked
from ui.session.choices import MECHANISMS
from ui.session.settings import Settings

Step = Literal["describe", "goal", "choose", "approve", "release"]
STEPS: dict[Step, str] = {
    "describe": "Describe",
    "goal": "Goal",
    "choose": "Choose",
    "approve": "Approve",
    "release": "Release",
}
_STEP = linked.one_of("step", tuple(STEPS)[:-1], default="", widget="path_step")
HOW = linked.one_of("how", ("type", "here", "file", "plan"), default="", widget="describe_how")
"""How a table is described."""
METHOD = linked.one_of("method", ("chosen", "own"), default="own", widget="method")
"""Whether encoding, penalty and split are searched for, or set by hand."""
FIND = linked.one_of("find", ("budget", "records", "precision"), default="budget", widget="find")
"""Which of the three quantities is the answer of the step Choose."""
MECHANISM = linked.one_of("by", ("", *MECHANISMS), default="", widget="by")
"""Which mechanism a searched design has; "" for the better one."""
SPLIT = linked.one_of("parts", ("best", "own"), default="best", widget="parts")
"""Whether the split is searched for too."""
KEPT = linked.text("kept", 4_000, widget="kept")
"""The design beside which others are looked at, as the parameters of a link."""
TITLE = linked.text("title", 200, widget="plan_title")
NOTES = linked.text("notes", 4_000, widget="plan_notes")
WITHIN = linked.text("publish_within", 24, widget="plan_publish_within")
REPORTED = linked.text("publish_reported", 4, widget="plan_publish_reported")
"""The rule of the plan about what may be published, as typed; empty for none."""
GOAL = linked.one_of("aim", ("set", "none"), default="set", widget="aim")
"""Whether the plan has the goal of the settings; one that was opened without a goal has none until
somebody takes one.
"""
PEOPLE = "people_before"
"""The session's name of the data set whose table is studied again."""
_WRITTEN, _ANEW = "step_written", "step_begun_anew"
USED = "plan_used"
"""The session's name of the settings that a design was used with."""
_RETURNS = "describe_returns"
_APPROVED = linked.text("approved", 200, widget="approved")
_ANOTHER = "another"
_OF = linked.text("approved_plan", 64, widget="approved_plan")
DRAFT = linked.text("draft", MOST_IN_LINK, widget="describe_draft")
"""What is typed at the step Describe and not taken over yet."""
GOAL_DRAFT = linked.text("goal_draft", 2_000, widget="draft_of_goal")
"""The same at the step Goal."""


def now(settings: Settings) -> Step:
    """The step of the page Plan; settings that came with a link, or from another page, are there to
    choose a budget for. Who began a study of her own stays at its table until that is there.
    """
    if st.session_state.get(_ANEW) and settings.dataset not in ("declared", "upload"):
        return "describe"
    return cast("Step", _STEP.value or ("choose" if settings.to_query() else "describe"))


def is_chosen(settings: Settings) -> bool:
    """Whether encoding, penalty and split are searched for: for a table whose columns are
    declared.
    """
    return METHOD.value == "chosen" and settings.dataset in ("declared", "upload")


def go(step: Step) -> None:
    """Show another step of the page Plan from its next run on."""
    _STEP.take(step)


def follow(asked: str) -> None:
    """Go to the step of the address, where it is another than was last written there: Back, or
    Forward.
    """
    if asked and asked != st.session_state.get(_WRITTEN, asked):
        _STEP.take(asked)


def written() -> None:
    """Note that the address says the step."""
    st.session_state[_WRITTEN] = _STEP.value


def return_to_choose() -> None:
    """Come back to the step Choose from the description: its goal is known."""
    st.session_state[_RETURNS] = True


def after_describe(*, is_goal_known: bool) -> None:
    """Go on to the goal; where it is known, and Choose asked for more of the table, back to
    Choose.
    """
    is_asked = st.session_state.pop(_RETURNS, False)
    go("choose" if is_asked and is_goal_known else "goal")


def describe() -> None:
    """Show the empty description of a table: the door for whoever has a private one."""
    HOW.take("type")
    go("describe")


def study(settings: Settings) -> None:
    """Show where somebody plans a study of her own: the step at which she is, or that description,
    with her draft.
    """
    if settings.dataset not in ("declared", "upload"):
        describe()


def begin_anew() -> None:
    """Forget every choice and word of the study so far."""
    for choice in (METHOD, FIND, MECHANISM, SPLIT, KEPT, TITLE, NOTES, WITHIN, REPORTED, DRAFT):
        choice.take(choice.default)
    for taken in (GOAL, GOAL_DRAFT):
        taken.take(taken.default)
    withdraw()
    st.session_state.pop(USED, None)
    st.session_state[_ANEW] = True


def has_goal() -> bool:
    """Whether somebody set the goal of the plan."""
    return GOAL.value == "set"


def rule() -> Acceptance | None:
    """The rule about what may be published, None where nothing is typed.

    Raises:  ValueError in words.
    """
    within, reported = WITHIN.value.strip().replace(",", "."), REPORTED.value.strip()
    if not rule_is_typed():
        return None
    try:
        factor, least = float(within) if within else None, int(reported) if reported else 1
    except ValueError:
        raise ValueError(
            "To publish only what is good enough, type a factor like 1.2, a number of effects like "
            "5, or both."
        ) from None
    return Acceptance(within=factor, reported=least)


def rule_is_typed() -> bool:
    """Whether there is something in the place of the rule."""
    return bool(WITHIN.value.strip() or REPORTED.value.strip())


def take_words(plan: AnyPlan) -> None:
    """Take what a plan says besides its settings: title, notes, rule and approval, and whether it
    has a goal.
    """
    GOAL.take("set" if plan.goal else "none")
    TITLE.take(plan.title)
    NOTES.take(plan.notes)
    rule = plan.publish_if
    factor = None if rule is None else rule.within
    WITHIN.take("" if factor is None else repr(factor).removesuffix(".0"))
    REPORTED.take("" if rule is None else str(rule.reported))
    is_another = is_of_another(plan.approved, plan.digest)
    _note(plan.approved, _ANOTHER if is_another else plan.digest)


def approve(person: str, digest: str) -> None:
    """Note who approved the plan with this digest, today; a file that is changed afterwards shows
    it.
    """
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    _note(approval_of(digest, person=person, day=day), digest)


def withdraw() -> None:
    """Forget the approval."""
    _note("", "")


def _note(said: str, digest: str) -> None:
    """Keep an approval with what it is of; none where it cannot stand in an address."""
    _APPROVED.take("")
    _APPROVED.take(said)
    _OF.take(digest if _APPROVED.value else "")


def approval(digest: str) -> str:
    """Who approved the plan with this digest, and when; empty where nobody did, or where it was
    changed since.
    """
    return _APPROVED.value if _OF.value == digest else ""


def approval_of_another(digest: str) -> str:
    """Who approved another plan than the one with this digest, and when; empty where nobody did."""
    return _APPROVED.value if _OF.value != digest else ""
