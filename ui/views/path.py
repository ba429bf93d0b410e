"""The five steps from a table to its release, and the plan so far beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import streamlit as st

from dpci_core.report.words import counted_as, in_hundred, many, one_is, plainly, protected
from dpci_core.schema.worlds import untold
from ui.controls import declare
from ui.kit.top import begin_at_top, told_here
from ui.session import state, steps, text
from ui.session.case import PlannedCase
from ui.session.compute import DECLARED, declared_table
from ui.session.settings import LINEAR_SHARES, Settings
from ui.session.steps import STEPS, Step
from ui.session.text import plain, risk_approx_short, risk_pure_short
from ui.views import goals, releases

_CSS = """<style>
.st-key-steps > :last-child { margin-left: auto }
.st-key-steps button { padding: 0.25rem 0.6rem; min-height: 2.25rem }
@media (min-width: 900px) {
  .stColumn:has(> .stVerticalBlock > .st-key-so_far, > * > .st-key-so_far, .st-key-so_far) {
    position: sticky; top: 4.5rem; align-self: flex-start } }
</style>"""

_PRESSED = "step_pressed"


def columns(step: Step) -> list[Any]:
    """Draw the steps, and make a wide column for this one and a narrow one for the plan so far."""
    if (pressed := st.session_state.pop(_PRESSED, None)) is not None:
        show(pressed)
    st.html(_CSS)
    begin_at_top(step)
    with st.container(horizontal=True, key="steps", gap="small", vertical_alignment="center"):
        for place, (name, word) in enumerate(STEPS.items(), start=1):
            is_here = "release" not in (step, name)  # no other page: its address keeps its step
            st.button(
                f"{place} {word}",
                key=f"step_{name}",
                type="primary" if name == step else "tertiary",
                on_click=steps.go if is_here else _press,
                args=(name,),
            )
        st.page_link("../pages/ledger.py", label="Ledger")
    return st.columns([3, 1] if step == "choose" else [5, 3], gap="large")


def _press(step: Step) -> None:
    """Have the next run show a step of another page: the one that answers may be cut short before
    it comes to the button.
    """
    st.session_state[_PRESSED] = step


def show(step: Step) -> None:
    """Show a step; ends this run of the page."""
    if step == "release":
        st.switch_page("../pages/release.py")
    steps.go(step)
    st.switch_page("../pages/plan.py")


def problems(said: Sequence[str], what: str = "Before you can go on:") -> None:
    """What is missing or wrong, at the button that was pressed."""
    if said:
        lines = "\n".join(f"- {plain(sentence)}" for sentence in said)
        told_here(f"**{what}**\n{lines}")


FOUND = "plan_found"
"""The session's name of the settings that an answer on Choose is for, of what it says, and of the
records that it asks for, where it is about them.
"""


_ARTICLE = re.compile(r"(?:one|an?|1)\s+", re.I)
_MOST = 4
"""Columns that a line of the plan so far names."""


def waiting(settings: Settings, *, approved: str = "") -> None:
    """What was typed or found at earlier steps and is not in the plan with these settings.

    approved: who approved that plan.
    """
    drafts = {"Describe": steps.DRAFT.value, "Goal": steps.GOAL_DRAFT.value}
    said = [
        f"What is typed at the step {name} is not in this plan: “Continue” there takes it over."
        for name, typed in drafts.items()
        if typed
    ]
    of, found, _ = st.session_state.get(FOUND, (None, "", None))
    if of == settings and found:
        said.append(f"{found} “Use this design” at the step Choose takes it over.")
    elif lacking := nothing_taken(settings):
        said.append(lacking)
    used = st.session_state.get(steps.USED)
    is_moved = used not in (None, settings) and used.declared == settings.declared
    if is_moved:
        said.append(
            "This is not the design that was used at the step Choose: something was changed since, "
            "here or on another page, such as Explore."
        )
    if said and approved:
        said.insert(0, f"What is released is the plan as it is here. {plain(approved)}")
    if said:
        st.warning(" ".join(said))
    if is_moved:
        st.button("Take that design back", key="take_back", on_click=state.put, args=(used,))


def nothing_taken(settings: Settings) -> str:
    """That no design which is found for the goal is in a plan that asks for one; empty where there
    is. By what every address tells, so that a reload knows it too.
    """
    if not steps.is_chosen(settings):
        return ""
    if settings.outcome is None:
        is_taken = settings.penalty == "typed" and not settings.is_penalised
    else:
        shares = [float(100 * share) for share in LINEAR_SHARES]
        is_same = all(abs(settings.split.share(i) - shares[i]) < 0.05 for i in range(3))
        is_taken = not is_same or settings != settings.usual("steps", "clip", "row_clip")
    if is_taken:
        return ""
    typed = settings.typed
    return (
        f"No design that was found for your goal is in this plan: {typed.letter} = "
        f"{text.number(settings.typed_total)} and its split are as they were before a search for "
        "it. “Use this design” at the step Choose takes what is found there."
    )


def is_begun(settings: Settings) -> bool:
    """Whether there is a table to plan for: one that was described or brought, or a set that
    somebody chose something for.
    """
    return bool(settings.to_query())


def so_far(case: PlannedCase | None, step: Step, *, typed: str = "") -> None:
    """The plan so far: what is known of it, the more the further the step.

    typed: what is typed and not taken over yet.
    """
    with st.container(border=True, key="so_far"):
        st.markdown("**Your plan so far**")
        if typed:
            st.caption(typed)
        if case is None:
            if not typed:
                st.caption("Nothing yet. What you decide appears here.")
            return
        st.markdown("\n".join(f"- {text.unbroken(line)}" for line in _lines(case, step)))
        if left := releases.left_to(st.session_state.get(steps.PEOPLE)):
            st.caption(left)
        if assumed := assumptions(case.settings):
            st.caption(f"It rests on {text.unbroken('; '.join(assumed))}.")
        if case.settings.dataset == DECLARED and declare.is_example(
            declared_table(case.settings.declared)
        ):
            st.info("This is the built-in example, made-up from end to end.")


def _lines(case: PlannedCase, step: Step) -> list[str]:
    settings = case.settings
    of, _, asked = st.session_state.get(FOUND, (None, "", None))
    is_asked = step == "choose" and of == settings and asked is not None
    found = [_count_words(settings, asked if is_asked else settings.n), _table_words(case)]
    if step == "describe":
        return found
    per = "" if step == "choose" else goals.steps_words(case)  # it stands on the card there
    goal = goals.goal_words(case) + (f" ({per})" if per else "")
    found.append(f"Goal: {plain(goal) if steps.has_goal() else 'none set'}")
    if step in ("approve", "release"):
        found += [budget_words(settings), method_words(case)]
    return found


def assumptions(settings: Settings) -> list[str]:
    """What the promise of a described table rests on, in few words."""
    if settings.dataset != DECLARED:
        return []
    table = declared_table(settings.declared)
    schema, guesses = table.schema, table.guesses
    columns = (*schema.features, *filter(None, [schema.outcome]))
    typed = [c.name for c in columns if c.has_usual and c.name not in schema.suggested]
    names_by = {
        "unsaid shares of": untold(schema, guesses),
        "suggested values of": schema.suggested,
        "typed values of": typed,
    }
    found = [f"{words} {named(names)}" for words, names in names_by.items() if names]
    if schema.outcome is None:
        ends = " to ".join(dict.fromkeys(f"{100.0 * rate:.4g}" for rate in guesses.rates))
        found.append(f"“yes” in {ends} % of records")
    if schema.complete < 1.0:
        found.append(f"{100.0 * schema.complete:.4g} % complete rows")
    return found


def named(names: Sequence[str]) -> str:
    """The first names, and how many more."""
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{', '.join(plain(plainly(name)) for name in names[:_MOST])}{more}"


def _count_words(settings: Settings, n: int) -> str:
    """How many records or persons there are, or an answer asks for, and what each is."""
    unit, persons = _unit(settings), settings.persons
    most = None if persons is None else persons.rows
    count = f"**{n:,} {counted_as(most)}**"
    if n != settings.n:
        count += f", as this answer asks (the plan has {settings.n:,})"
    if most is None:
        return f"{count}, one per {plain(_ARTICLE.sub('', one_is(unit), count=1))}"
    return f"{count} ({plain(protected(unit, most))})"


def _unit(settings: Settings) -> str:
    if settings.dataset == DECLARED:
        return declared_table(settings.declared).unit
    return "one person"


def _table_words(case: PlannedCase) -> str:
    settings, count = case.settings, len(case.names) - 1
    if settings.dataset == DECLARED:
        schema = declared_table(settings.declared).schema
        k = len(schema.features)
        return (
            f"{plain(plainly(schema.outcome_words))}, by {many(k, 'column')} "
            f"({many(count, 'coefficient')} and the intercept)"
        )
    return f"{plain(case.records.title)}, {many(count, 'feature')}"


def budget_words(settings: Settings) -> str:
    """The total, and what it means for one person."""
    total = text.as_typed(settings.typed_total)
    if not settings.kind.has_delta:
        return f"{settings.typed.letter} = **{total}**. {risk_pure_short(settings.typed_total)}"
    delta = float(settings.delta)
    return (
        f"{settings.typed.letter} = **{total}**, δ = {settings.delta}. "
        f"{risk_approx_short(settings.own_epsilon, delta)}"
    )


def method_words(case: PlannedCase) -> str:
    """Model, mechanism and what the intervals are for."""
    design = case.design
    shares = " / ".join(f"{part} %" for part in in_hundred(design.budget.parts))
    noise = text.noise_sentence(design)
    covers = text.covers_of(design)
    return (
        f"{text.method(design)}, split {shares}; {100 * design.confidence_level:g} % intervals for "
        f"the {covers}{f'. {noise}' if noise else ''}"
    )


def case_or_none(settings: Settings, make: Any) -> PlannedCase | None:
    """The case of the settings, None where there is none yet, or none can be made."""
    if not is_begun(settings):
        return None
    try:
        found: PlannedCase = make(settings, state.source())
    except (ValueError, FileNotFoundError):
        return None
    return found
